//! The verdict of a comparison: the word, what was declared, the figures, the worst rows.

use serde_json::Value;

use super::{resume, structure};
use crate::doc::{Block, Doc, Fact, Item, Mark, Table, Tone};
use crate::field::{NOT_RECORDED, at, count, flag, list, maybe, scalar, text};
use crate::number;
use crate::picture::{Bin, Histogram, Picture};
use crate::visible::{short_digest, short_id};

/// Worst rows shown of one figure.
const WORST: usize = 5;

pub fn document(v: &Value) -> Doc {
    let verdict = at(v, "verdict").and_then(Value::as_str);
    let post_hoc = flag(v, "post_hoc");
    let (word, tone) = match verdict {
        Some("pass") if of_itself(v) => ("PASS, OF THE REFERENCE WITH ITSELF".to_owned(), Tone::Unsure),
        // Sealed too late, it exits as "cannot tell": neither word nor colour of a result that counts.
        Some("pass") if post_hoc == Some(true) => ("PASS, POST HOC".to_owned(), Tone::Unsure),
        Some("pass") => ("PASS".to_owned(), Tone::Good),
        Some("fail") => ("FAIL".to_owned(), Tone::Bad),
        Some("inconclusive") => ("INCONCLUSIVE".to_owned(), Tone::Unsure),
        Some("not_comparable") => ("NOT COMPARABLE".to_owned(), Tone::Unsure),
        Some("none") => ("exploring: no verdict".to_owned(), Tone::Plain),
        Some(other) => (other.to_uppercase(), Tone::Plain),
        None => ("VERDICT NOT RECORDED".to_owned(), Tone::Plain),
    };
    let mut doc = Doc::titled(word, tone, about(v));
    if post_hoc == Some(true) {
        let why = maybe(v, "post_hoc_because")
            .unwrap_or_else(|| "the criterion was not sealed before this candidate was opened".to_owned());
        doc.blocks.push(Block::Alarm(format!("POST HOC: {why}")));
    }
    if of_itself(v) {
        let what = "The reference is compared with itself: this shows nothing about a rebuilt environment.";
        doc.blocks.push(Block::Alarm(what.to_owned()));
    }
    if let Some(reason) = maybe(v, "reason") {
        doc.say(reason);
    }
    doc.items(list(v, "notes").iter().map(|note| Item::new(Mark::Open, format!("note: {}", scalar(note)))).collect());
    doc.items(structure::obstacles(v));

    let figures = list(v, "figures");
    if !figures.is_empty() {
        doc.table(figure_table(figures));
        doc.table(worst_table(figures));
        let histograms = list(v, "histograms").iter().map(histogram).collect();
        if let Some(picture) = Picture::histograms(histograms) {
            doc.picture = Some(picture);
            doc.blocks.push(Block::Picture);
        }
    }
    let hints = list(v, "hints");
    if !hints.is_empty() {
        doc.say("What the difference looks like; a hint is not a finding:");
        doc.items(hints.iter().map(|hint| Item::new(Mark::Open, text(hint, "text"))).collect());
    }
    doc.facts(circumstances(v, verdict));
    doc.facts(resume::facts(v));
    doc.blocks.push(Block::Fold { summary: "digests and fuel".to_owned(), facts: digests(v) });
    if verdict == Some("pass") {
        doc.blocks.push(Block::Close(closing(post_hoc).to_owned()));
    }
    doc
}

/// Whether what was compared is the reference's own file.
pub fn of_itself(v: &Value) -> bool {
    let (reference, candidate) = (maybe(v, "reference.path"), maybe(v, "candidate.path"));
    flag(v, "of_itself").unwrap_or_else(|| reference.is_some() && reference == candidate)
}

/// What a pass means, and no more.
fn closing(post_hoc: Option<bool>) -> &'static str {
    match post_hoc {
        Some(false) => {
            "Holds under the declared conditions and this criterion; not a promise of identity on any machine."
        }
        Some(true) => {
            "Holds under this criterion, which was chosen after the candidate had been opened; \
             not a promise of identity on any machine."
        }
        None => {
            "Holds under this criterion; whether it was sealed before the candidate was opened is not recorded. \
             Not a promise of identity on any machine."
        }
    }
}

/// `criterion cosine 1.0.0, floor = 0.999`.
fn about(v: &Value) -> String {
    let mut about = format!("criterion {}", text(v, "criterion.name"));
    if let Some(version) = maybe(v, "criterion.version") {
        about.push_str(&format!(" {version}"));
    }
    match at(v, "criterion.parameters") {
        Some(Value::Object(map)) if map.is_empty() => {}
        Some(parameters) => about.push_str(&format!(", {}", scalar(parameters))),
        None => about.push_str(", parameters not recorded"),
    }
    about
}

/// A figure's value; where JSON has no number for it, such as infinity, its text.
fn value(figure: &Value) -> String {
    match (at(figure, "value"), maybe(figure, "text")) {
        (Some(Value::Number(n)), _) => number::measured(n),
        (Some(other), _) => scalar(other),
        (None, Some(text)) => text,
        (None, None) => NOT_RECORDED.to_owned(),
    }
}

fn figure_table(figures: &[Value]) -> Table {
    let row = |figure: &Value| vec![text(figure, "name"), value(figure), text(figure, "unit")];
    Table { caption: String::new(), head: vec!["figure", "value", "unit"], rows: figures.iter().map(row).collect() }
}

fn worst_table(figures: &[Value]) -> Table {
    let mut rows = Vec::new();
    for figure in figures {
        for (i, worst) in list(figure, "worst").iter().take(WORST).enumerate() {
            let name = if i == 0 { text(figure, "name") } else { String::new() };
            let id = at(worst, "id").map_or_else(
                || NOT_RECORDED.to_owned(),
                |id| match id {
                    Value::String(id) => short_id(id),
                    other => scalar(other),
                },
            );
            rows.push(vec![name, value(worst), id]);
        }
    }
    Table { caption: String::new(), head: vec!["worst rows by", "value", "id"], rows }
}

fn histogram(v: &Value) -> Histogram {
    let all = list(v, "bins");
    let bins: Vec<Bin> = all.iter().filter_map(bin).collect();
    Histogram {
        name: maybe(v, "name").unwrap_or_else(|| "a measure whose name is not recorded".to_owned()),
        unit: maybe(v, "unit").unwrap_or_else(|| "unit not recorded".to_owned()),
        undrawn: all.len() - bins.len(),
        bins,
        zeros: at(v, "below").and_then(Value::as_u64).unwrap_or(0),
        threshold: at(v, "threshold").and_then(Value::as_f64).filter(|t| t.is_finite()),
    }
}

/// A bin that has a place on a logarithmic axis.
fn bin(v: &Value) -> Option<Bin> {
    let low = at(v, "low")?.as_f64()?;
    let high = at(v, "high")?.as_f64()?;
    let count = at(v, "count")?.as_u64()?;
    (low > 0.0 && high > low && high.is_finite()).then_some(Bin { low, high, count })
}

/// How the comparison came about, in the order in which one doubts it.
fn circumstances(v: &Value, verdict: Option<&str>) -> Vec<Fact> {
    let name = text(v, "reference.name");
    let identity = maybe(v, "reference.identity").map_or_else(|| NOT_RECORDED.to_owned(), |d| short_digest(&d));
    let mut facts = vec![
        Fact::new("candidate", text(v, "candidate.path")),
        Fact::new("reference", format!("{name} (identity {identity})")),
        Fact::new("structure", structure::summary(v)),
    ];
    if let Some(meaning) = maybe(v, "criterion.meaning") {
        facts.push(Fact::new("criterion", meaning));
    }
    facts.push(Fact::new("declared", declared(v, verdict)));
    if flag(v, "post_hoc").is_none() && verdict != Some("none") {
        facts.push(Fact::new("sealed in time", NOT_RECORDED));
    }
    if at(v, "attempts").and_then(Value::as_u64).is_some_and(|n| n > 1) {
        facts.push(Fact::new("attempts", format!("{}, all of them in the dossier", count(v, "attempts"))));
    }
    if let Some(expected) = maybe(v, "expect").filter(|e| e != "pass") {
        let met = match flag(v, "met") {
            Some(true) => "met",
            Some(false) => "NOT MET",
            None => "whether it was met is not recorded",
        };
        facts.push(Fact::new("expected", format!("{expected}: {met}")));
    }
    facts.push(Fact::new("recorded", recorded(v)));
    facts
}

/// Where the record lies. A record read back from its entry cannot hold the root that its own entry led to.
fn recorded(v: &Value) -> String {
    match (maybe(v, "dossier.entry"), maybe(v, "dossier.root")) {
        (Some(entry), None) => format!("dossier entry {entry}"),
        (entry, root) => {
            let told = |text: Option<String>| text.unwrap_or_else(|| NOT_RECORDED.to_owned());
            format!("dossier entry {}, root {}", told(entry), short_digest(&told(root)))
        }
    }
}

fn declared(v: &Value, verdict: Option<&str>) -> String {
    match at(v, "declaration") {
        Some(declaration) => {
            let wall = maybe(declaration, "wall").map_or_else(String::new, |wall| format!(", {wall}"));
            format!("because “{}” (entry {}{wall})", text(declaration, "because"), text(declaration, "entry"))
        }
        // Written as null: the record says that there was no declaration.
        None if v.get("declaration").is_some() && verdict == Some("none") => "not declared (exploring)".to_owned(),
        None if v.get("declaration").is_some() => "not declared".to_owned(),
        None => NOT_RECORDED.to_owned(),
    }
}

fn digests(v: &Value) -> Vec<Fact> {
    let mut facts = vec![Fact::digest("criterion", text(v, "criterion.digest"))];
    if let Some(source) = maybe(v, "criterion.source_digest") {
        facts.push(Fact::digest("its source", source));
    }
    facts.push(Fact::digest("reference", text(v, "reference.identity")));
    facts.push(Fact::digest("its output", text(v, "reference.sha256")));
    facts.push(Fact::digest("candidate", text(v, "candidate.sha256")));
    if at(v, "fuel").is_some() {
        let fuel = format!("{} units used, {} per row", count(v, "fuel.used"), text(v, "fuel.per_row"));
        facts.push(Fact::new("fuel", fuel));
    }
    if at(v, "dossier.root").is_some() || at(v, "dossier.entry").is_none() {
        facts.push(Fact::digest("dossier root", text(v, "dossier.root")));
    }
    facts
}
