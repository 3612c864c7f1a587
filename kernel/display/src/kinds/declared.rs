//! What is said before a candidate is seen: the reference, a criterion, and the seal on both.

use serde_json::{Map, Value};

use crate::doc::{Block, Doc, Fact, Item, Mark, Table, Tone};
use crate::field::{NOT_RECORDED, at, count, first, flag, list, maybe, scalar, text};
use crate::number;
use crate::visible::short_digest;

pub fn reference(v: &Value) -> Doc {
    let mut doc = Doc::titled("REFERENCE", Tone::Plain, text(v, "name"));
    let output = format!(
        "{}: {} rows of {} values, {}",
        text(v, "output.path"),
        count(v, "output.rows"),
        count(v, "output.dims"),
        text(v, "output.type")
    );
    let mut facts = vec![Fact::new("goal", text(v, "goal")), Fact::new("expected output", output)];
    for part in ["sample", "code", "data", "weights", "parameters", "preprocessing"] {
        facts.push(Fact::new(part, part_of_reference(v, part)));
    }
    if !list(v, "documentation").is_empty() {
        facts.push(Fact::new("documentation", documentation(v)));
    }
    doc.facts(facts);
    doc.facts(vec![
        Fact::digest("identity", text(v, "identity")),
        Fact::digest("output, SHA-256", text(v, "output.sha256")),
    ]);
    doc.items(warnings(v));
    doc
}

/// `Installing PyTorch, version 2.13, https://…`
fn documentation(v: &Value) -> String {
    let one = |d: &Value| {
        let url = maybe(d, "url").map(|url| format!(", {url}")).unwrap_or_default();
        format!("{}, version {}{url}", text(d, "title"), text(d, "version"))
    };
    list(v, "documentation").iter().map(one).collect::<Vec<_>>().join("; ")
}

fn part_of_reference(v: &Value, part: &str) -> String {
    match at(v, part) {
        Some(Value::Array(entries)) if !entries.is_empty() => entries
            .iter()
            .map(|entry| entry.as_object().map_or_else(|| scalar(entry), object))
            .collect::<Vec<_>>()
            .join("; "),
        Some(Value::Object(map)) => object(map),
        Some(other) => scalar(other),
        None => NOT_RECORDED.to_owned(),
    }
}

/// What a thing is called, and by what it is known again; whatever else is recorded of it behind.
fn object(map: &Map<String, Value>) -> String {
    let short = |v: &Value| v.as_str().map_or_else(|| scalar(v), short_digest);
    let told = |key: &str| map.get(key).filter(|value| !value.is_null());
    let mut parts: Vec<String> =
        ["name", "entry", "path"].iter().find_map(|key| told(key)).map(scalar).into_iter().collect();
    parts.extend(told("meaning").map(scalar));
    parts.extend(told("sha256").map(|digest| format!("SHA-256 {}", short(digest))));
    parts.extend(told("revision").map(|revision| format!("revision {}", scalar(revision))));
    let known = ["name", "entry", "path", "meaning", "sha256", "revision", "bytes"];
    let rest = map.iter().filter(|(key, value)| !known.contains(&key.as_str()) && !value.is_null());
    parts.extend(rest.map(|(key, value)| format!("{key} = {}", scalar(value))));
    if parts.is_empty() { NOT_RECORDED.to_owned() } else { parts.join(", ") }
}

/// The range of a parameter that means something.
fn range(parameter: &Value) -> String {
    match (maybe(parameter, "least"), maybe(parameter, "most")) {
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (Some(least), None) => format!("at least {least}"),
        (None, Some(most)) => format!("at most {most}"),
        (None, None) => "any".to_owned(),
    }
}

fn warnings(v: &Value) -> Vec<Item> {
    list(v, "warnings").iter().map(|w| Item::new(Mark::Open, format!("warning: {}", scalar(w)))).collect()
}

pub fn criterion(v: &Value) -> Doc {
    let version = maybe(v, "version").map_or_else(String::new, |version| format!(" {version}"));
    let mut doc = Doc::titled("CRITERION", Tone::Plain, format!("{}{version}", text(v, "name")));
    doc.say(text(v, "meaning"));
    let row = |p: &Value| vec![text(p, "name"), text(p, "unit"), range(p), text(p, "meaning")];
    let rows = list(v, "parameters").iter().map(row).collect();
    doc.table(Table { caption: String::new(), head: vec!["parameter", "unit", "range", "meaning"], rows });
    let mut facts = vec![];
    // What a row carries: a list that is there and empty is an answer too.
    for (path, name) in [("measures", "sees measures"), ("wants", "sees besides")] {
        facts.push(Fact::new(name, text(v, path)));
    }
    // An interpreter runs the source itself: there is no component of its own.
    let interpreted = maybe(v, "python_host_digest");
    facts.extend(maybe(v, "language").map(|language| Fact::new("language", language)));
    if at(v, "bytes").is_some() && interpreted.is_none() {
        facts.push(Fact::new("component", format!("{} bytes", count(v, "bytes"))));
    }
    if let Some(elapsed) = at(v, "compile_ms").and_then(Value::as_f64) {
        facts.push(Fact::new("compiled in", number::elapsed(elapsed)));
    }
    let digest = if interpreted.is_some() { "digest of source and host" } else { "component digest" };
    facts.push(Fact::digest(digest, text(v, "digest")));
    facts.extend(interpreted.map(|digest| Fact::digest("Python host digest", digest)));
    if maybe(v, "language").as_deref() != Some("component") {
        facts.push(Fact::digest("source digest", text(v, "source_digest")));
    }
    if at(v, "sha256_given") == Some(&Value::Bool(false)) {
        facts.push(Fact::new("taken", "without --sha256: give the component digest there to have no other file taken"));
    }
    doc.facts(facts);
    if let Some(source) = maybe(v, "source") {
        doc.blocks.push(Block::Verbatim(source));
    }
    doc
}

pub fn calibration(v: &Value) -> Doc {
    let runs = list(v, "runs");
    let counted = if runs.len() == 1 { "1 run".to_owned() } else { format!("{} runs", runs.len()) };
    let about = format!("criterion {}, {counted} against reference {}", text(v, "name"), text(v, "reference.name"));
    let mut doc = Doc::titled("CALIBRATION", Tone::Plain, about);
    let row = |f: &Value| ["name", "least", "median", "most", "unit"].map(|key| text(f, key)).to_vec();
    let rows = list(v, "figures").iter().map(row).collect();
    doc.table(Table { caption: String::new(), head: vec!["figure", "least", "median", "most", "unit"], rows });
    match (maybe(v, "proposal.value"), maybe(v, "proposal.because")) {
        (Some(value), Some(because)) => {
            doc.facts(vec![Fact::new(text(v, "proposal.parameter"), format!("{value} ({because})"))]);
            doc.blocks.push(Block::Close(
                "This is where these repeats end, not a bound to seal: leave room for what they did not show, and say why in \
                 the declaration."
                    .to_owned(),
            ));
        }
        (None, Some(because)) => doc.say(format!("No number is proposed: {because}.")),
        (_, None) => doc.say(format!("No number is proposed: {NOT_RECORDED}.")),
    }
    doc.facts(vec![
        Fact::new("figures at", text(v, "at")),
        Fact::new("runs", runs.iter().map(scalar).collect::<Vec<_>>().join(", ")),
        Fact::digest("criterion digest", text(v, "digest")),
    ]);
    doc
}

/// On how many repeats of the reference the criterion was looked at before.
fn calibrated(v: &Value) -> String {
    let repeats = |c: &Value| if count(c, "runs") == "1" { "repeat" } else { "repeats" };
    let one = |c: &Value| format!("on {} {} (entry {})", count(c, "runs"), repeats(c), text(c, "entry"));
    match at(v, "calibrated") {
        Some(Value::Array(all)) if !all.is_empty() => all.iter().map(one).collect::<Vec<_>>().join(", "),
        Some(Value::Array(_)) => "on no repeat of the reference".to_owned(),
        _ => NOT_RECORDED.to_owned(),
    }
}

pub fn declaration(v: &Value) -> Doc {
    let criterion = match at(v, "criterion") {
        Some(Value::Object(map)) => map.get("name").map_or_else(|| NOT_RECORDED.to_owned(), scalar),
        Some(other) => scalar(other),
        None => NOT_RECORDED.to_owned(),
    };
    let parameters = maybe(v, "parameters").map_or_else(
        || "parameters not recorded".to_owned(),
        |p| match p.as_str() {
            "none" => "no parameters".to_owned(),
            _ => p,
        },
    );
    let mut doc = Doc::titled("DECLARED", Tone::Good, format!("criterion {criterion}, {parameters}"));
    let late = list(v, "post_hoc_for");
    if !late.is_empty() {
        let which = late.iter().map(scalar).collect::<Vec<_>>().join(", ");
        doc.blocks.push(Block::Alarm(format!(
            "POST HOC: already opened before this declaration, so that verdicts on it stay post hoc: {which}"
        )));
    }
    if flag(v, "already") == Some(true) {
        doc.say("An identical declaration was sealed earlier; the earlier one is kept.");
    }
    let reference = match at(v, "reference") {
        Some(Value::Object(_)) => {
            let identity = maybe(v, "reference.identity").map_or_else(|| NOT_RECORDED.to_owned(), |d| short_digest(&d));
            format!("{} (identity {identity})", text(v, "reference.name"))
        }
        Some(other) => scalar(other),
        None => NOT_RECORDED.to_owned(),
    };
    doc.facts(vec![
        Fact::new("because", text(v, "because")),
        Fact::new("calibrated", calibrated(v)),
        Fact::new("reference", reference),
        Fact::new("dossier entry", text(v, "entry")),
        Fact::digest(
            "criterion component",
            first(v, &["digest", "criterion.digest"]).map_or_else(|| NOT_RECORDED.to_owned(), scalar),
        ),
    ]);
    doc
}
