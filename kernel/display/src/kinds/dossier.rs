//! The case file about itself: its state, its entries, and what a verification shows and what it cannot.

use serde_json::Value;

use super::validity;
use crate::doc::{Block, Doc, Fact, Item, Mark, Table, Tone};
use crate::field::{NOT_RECORDED, at, count, flag, list, maybe, scalar, text};

/// Verdicts shown in a status.
const VERDICTS: usize = 20;

pub fn status(v: &Value) -> Doc {
    let mut doc = Doc::titled("DOSSIER", Tone::Plain, text(v, "path"));
    let mut facts = vec![
        Fact::new("origin", text(v, "origin")),
        Fact::new("entries", count(v, "entries")),
        Fact::digest("root", text(v, "root")),
        Fact::new("reference", text(v, "reference")),
        Fact::new("sessions", count(v, "sessions")),
        Fact::new("size", sizes(v)),
    ];
    match at(v, "verdicts") {
        Some(Value::Array(all)) if all.is_empty() => facts.push(Fact::new("verdicts", "none yet")),
        Some(_) => {}
        None => facts.push(Fact::new("verdicts", NOT_RECORDED)),
    }
    let badge = at(v, "validity");
    facts.extend(badge.map(validity::fact));
    doc.facts(facts);
    let verdicts = list(v, "verdicts");
    let hidden = verdicts.len().saturating_sub(VERDICTS);
    let items = verdicts.iter().skip(hidden).map(|verdict| Item::new(mark(verdict), one_verdict(verdict)));
    doc.items(items.collect());
    if let Some(opened) = at(v, "opened_without_verdict").and_then(Value::as_u64).filter(|&n| n > 0) {
        doc.say(format!(
            "{opened} more opened without a verdict: an error ended the comparison. %dossier log names them."
        ));
    }
    if hidden > 0 {
        doc.say(format!("{hidden} earlier verdicts are not shown; %dossier log has them all."));
    }
    if let Some(badge) = badge {
        doc.say("Does the notebook still stand for what ran?");
        doc.blocks.extend(at(badge, "notebook").and_then(validity::passed_over));
        validity::answers(badge, &mut doc);
    }
    doc
}

/// What the case file weighs and how it grew.
fn sizes(v: &Value) -> String {
    let bytes = |key: &str| at(v, &format!("sizes.{key}")).and_then(Value::as_u64);
    let Some(log) = bytes("log_bytes") else { return NOT_RECORDED.to_owned() };
    let mut parts = vec![format!("log {}", readable(log + bytes("disclosures_bytes").unwrap_or_default()))];
    for (name, key) in [("blobs", "blobs_bytes"), ("imported cases", "parents_bytes")] {
        parts.extend(bytes(key).filter(|n| *n > 0).map(|n| format!("{name} {}", readable(n))));
    }
    let growth: Vec<u64> = list(v, "sizes.growth").iter().filter_map(|g| at(g, "blobs_bytes")?.as_u64()).collect();
    if growth.len() > 1 && growth.iter().any(|bytes| *bytes > 0) {
        let one = |bytes| if bytes == 0 { "nothing".to_owned() } else { readable(bytes) };
        let growth: Vec<String> = growth.into_iter().map(one).collect();
        parts.push(format!("blobs grew in the last sessions by {}", growth.join(", ")));
    }
    if let Some(unnamed) = bytes("unnamed_bytes").filter(|n| *n > 0) {
        parts.push(format!("{} that no entry names: %dossier gc removes them", readable(unnamed)));
    }
    parts.join("; ")
}

/// Bytes in the unit that leaves one to three digits before the point.
fn readable(bytes: u64) -> String {
    let (mut value, mut unit) = (bytes as f64, "B");
    for next in ["KiB", "MiB", "GiB", "TiB"] {
        if value < 1024.0 {
            break;
        }
        (value, unit) = (value / 1024.0, next);
    }
    if unit == "B" { format!("{bytes} B") } else { format!("{value:.1} {unit}") }
}

/// A tick is for a pass that counts.
fn mark(verdict: &Value) -> Mark {
    let counts = flag(verdict, "post_hoc") == Some(false) && !super::verdict::of_itself(verdict);
    if at(verdict, "redacted_by").is_some() {
        return Mark::Open;
    }
    match verdict.as_str().or_else(|| verdict.get("verdict").and_then(Value::as_str)) {
        Some("pass") if counts => Mark::Passed,
        Some("fail") => Mark::Failed,
        _ => Mark::Open,
    }
}

/// `pass: batch-1.parquet, by cosine (floor = 0.9), entry 18, 2026-…`
fn one_verdict(verdict: &Value) -> String {
    if !verdict.is_object() {
        return scalar(verdict);
    }
    let mut out = match (flag(verdict, "explore"), maybe(verdict, "redacted_by")) {
        (_, Some(by)) => format!("redacted by entry {by}"),
        (Some(true), None) => "explored, no verdict".to_owned(),
        (_, None) => text(verdict, "verdict"),
    };
    if super::verdict::of_itself(verdict) {
        out.push_str(", of the reference with itself");
    }
    if flag(verdict, "post_hoc") == Some(true) {
        out.push_str(if flag(verdict, "post_hoc_accepted") == Some(true) {
            " (POST HOC, accepted)"
        } else {
            " (POST HOC)"
        });
    }
    if let Some(candidate) = maybe(verdict, "candidate") {
        out.push_str(&format!(": {candidate}"));
    }
    if let Some(criterion) = maybe(verdict, "criterion") {
        let parameters = maybe(verdict, "parameters").map(|p| format!(" ({p})")).unwrap_or_default();
        out.push_str(&format!(", by {criterion}{parameters}"));
    }
    let hidden = at(verdict, "redacted_by").is_some();
    match (maybe(verdict, "expect").filter(|_| !hidden).as_deref(), flag(verdict, "met"), flag(verdict, "explore")) {
        (Some(expected), Some(false), Some(false) | None) => out.push_str(&format!(", not as expected ({expected})")),
        (Some(expected), Some(true), Some(false) | None) if expected != "pass" => out.push_str(", as expected"),
        _ => {}
    }
    for key in ["entry", "when"] {
        if let Some(value) = maybe(verdict, key) {
            out.push_str(&format!(", {}{value}", if key == "entry" { "entry " } else { "" }));
        }
    }
    out
}

pub fn log(v: &Value) -> Doc {
    let entries = v.as_array().map_or_else(|| list(v, "entries"), Vec::as_slice);
    let about = match entries.len() {
        1 => "1 entry".to_owned(),
        n => format!("{n} entries"),
    };
    let mut doc = Doc::titled("DOSSIER LOG", Tone::Plain, about);
    let row = |e: &Value| {
        let cell = |key: &str| maybe(e, key).unwrap_or_else(|| "–".to_owned());
        ["seq", "kind", "status", "wall", "summary"].map(cell).to_vec()
    };
    let rows = entries.iter().map(row).collect();
    doc.table(Table { caption: String::new(), head: vec!["entry", "kind", "status", "when (UTC)", "what"], rows });
    doc
}

pub fn signed(v: &Value) -> Doc {
    let mut doc = Doc::titled("SIGNED", Tone::Good, format!("{} entries", count(v, "entries")));
    doc.facts(vec![
        Fact::new("key", text(v, "fingerprint")),
        Fact::digest("root", text(v, "root")),
        Fact::new("files", text(v, "files")),
    ]);
    doc.say("A signature tells who vouches for the log as it stands. It does not tell that the log is honest.");
    doc
}

pub fn redacted(v: &Value) -> Doc {
    let about = format!("{} of entry {}", text(v, "redacted.field"), text(v, "redacted.entry"));
    let mut doc = Doc::titled("REDACTED", Tone::Plain, about);
    doc.facts(vec![
        Fact::new("because", text(v, "because")),
        Fact::new("recorded", format!("entry {}", text(v, "entry"))),
    ]);
    let still = list(v, "still");
    if !still.is_empty() {
        let shown: Vec<String> = still.iter().take(12).map(scalar).collect();
        let more = still.len().saturating_sub(shown.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        doc.blocks.push(Block::Alarm(format!("Parts of it still stand in: {}{more}.", shown.join("; "))));
        doc.say("Redact these too. An export leaves the redacted cell and its outputs out of the notebook; your own file keeps them.");
    }
    doc.say("The value is deleted here, not in copies that were made before. Its commitment stays, and every proof still verifies.");
    doc
}

pub fn replay(v: &Value) -> Doc {
    let (word, tone) = match flag(v, "holds") {
        Some(true) => ("REPLAYED", Tone::Good),
        Some(false) => ("REPLAY DIFFERS", Tone::Bad),
        None => ("REPLAY NOT RECORDED", Tone::Plain),
    };
    let mut doc = Doc::titled(word, tone, format!("{} verdicts of {}", count(v, "verdicts"), text(v, "origin")));
    doc.items(list(v, "differences").iter().map(|d| Item::new(Mark::Failed, scalar(d))).collect());
    doc.facts(vec![
        Fact::new("folder", text(v, "folder")),
        Fact::new("held by", text(v, "isolation")),
        Fact::digest("root of the case", text(v, "root")),
    ]);
    if flag(v, "holds") == Some(true) {
        doc.blocks.push(Block::Close(
            "The sequence ran again in an empty folder with the same verdicts and figures, on this machine. It shows that \
             nothing outside the case was needed but what was listed; not that another machine computes the candidates alike."
                .to_owned(),
        ));
    }
    doc
}

pub fn exported(v: &Value) -> Doc {
    let mut doc = Doc::titled("EXPORTED", Tone::Good, text(v, "output"));
    doc.blocks.extend(validity::passed_over(v));
    // It travels under the case's name, whatever it is called here.
    let taken = match (maybe(v, "taken"), maybe(v, "notebook")) {
        (Some(taken), Some(name)) if taken != name => format!(" (made of {taken})"),
        _ => String::new(),
    };
    doc.facts(vec![
        Fact::new("files", count(v, "files")),
        Fact::new("size", format!("{} bytes", count(v, "bytes"))),
        Fact::new(
            "notebook",
            maybe(v, "notebook").map_or_else(
                || "none was found beside the case file".to_owned(),
                |name| match maybe(v, "validity") {
                    Some(says) => format!("{name}, {says}{taken}"),
                    None => format!("{name}{taken}"),
                },
            ),
        ),
        Fact::new("secrets masked", count(v, "masked")),
    ]);
    let left = list(v, "left_out")
        .iter()
        .map(|f| Item::new(Mark::Open, format!("{} goes by its digest only: {}", text(f, "path"), text(f, "because"))));
    doc.items(left.collect());
    doc.facts(vec![Fact::digest("SHA-256", text(v, "sha256")), Fact::digest("root", text(v, "root"))]);
    doc
}

pub fn imported(v: &Value) -> Doc {
    let word = if flag(v, "already") == Some(true) { "IMPORTED BEFORE" } else { "IMPORTED" };
    let mut doc = Doc::titled(word, Tone::Good, text(v, "name"));
    let mut facts = vec![
        Fact::new("case", text(v, "case")),
        Fact::new("origin", text(v, "origin")),
        Fact::new("entries", format!("{}, {} of them entered here again", count(v, "entries"), count(v, "repeated"))),
        Fact::digest("root", text(v, "root")),
        Fact::new("reference", maybe(v, "reference.name").unwrap_or_else(|| "none".to_owned())),
        Fact::new("verdicts there", count(v, "verdicts")),
        Fact::new("its files are in", text(v, "folder")),
    ];
    if let Some(gone) = at(v, "redacted").and_then(Value::as_u64).filter(|n| *n > 0) {
        facts.push(Fact::new("redacted there since", format!("{gone} values, now gone here, too")));
    }
    doc.facts(facts);
    let seals = list(v, "seals").iter().map(|seal| {
        let parameters = maybe(seal, "parameters").map(|p| format!(" ({p})")).unwrap_or_default();
        Item::new(Mark::Open, format!("sealed there: {}{parameters}", text(seal, "criterion")))
    });
    doc.items(seals.collect());
    doc.say(
        "It was verified and nothing of it was executed. Its reference, criteria and seals count here from now on; a \
         candidate that was opened here before is post hoc under them.",
    );
    if let (Some(prefix), Some(example)) = (maybe(v, "prefix"), maybe(v, "example")) {
        doc.say(format!(
            "Its entries are named with {prefix}/ before their number: `%dossier show --entry {prefix}/{example}` shows one, \
             and `%why {prefix}/{example} NUMBER` compares it with an entry of this case file."
        ));
    }
    doc.say("Next: `%snapshot` and `%probe` here, before the candidate is opened; then `%compare`.");
    doc
}

pub fn collected(v: &Value) -> Doc {
    let what = match at(v, "files").and_then(Value::as_u64) {
        Some(0) => "nothing: every content is named by an entry".to_owned(),
        Some(1) => format!("1 content that no entry names, {} bytes", count(v, "bytes")),
        _ => format!("{} contents that no entry names, {} bytes", count(v, "files"), count(v, "bytes")),
    };
    let mut doc = Doc::titled("REMOVED", Tone::Plain, what);
    doc.say(
        "It looked below blobs/sha256 only. The log, what its entries name, disclosures, signatures and imported cases stay; \
         blobs/tmp, where interrupted writes leave files, was emptied when this session opened the case file.",
    );
    doc
}

/// One entry, with everything that is disclosed of it.
pub fn entry(v: &Value) -> Doc {
    let name =
        maybe(v, "name").map_or_else(|| format!("ENTRY {}", text(v, "seq")), |name| name.replacen("entry", "ENTRY", 1));
    let mut doc = Doc::titled(name, Tone::Plain, text(v, "kind"));
    let mut facts: Vec<Fact> = ["wall", "session", "cell", "start", "status", "repeats"]
        .iter()
        .filter_map(|key| Some(Fact::new(*key, maybe(v, key)?)))
        .collect();
    let files = list(v, "reads").iter().map(|f| Fact::digest(text(f, "role"), text(f, "sha256")));
    facts.extend(files);
    facts.push(Fact::digest("leaf hash", text(v, "leaf")));
    doc.facts(facts);
    if let Some(body) = at(v, "body") {
        doc.say("Public facts:");
        doc.blocks.push(Block::Verbatim(serde_json::to_string_pretty(body).unwrap_or_default()));
    }
    for value in list(v, "values") {
        doc.say(format!("{}:", text(value, "field")));
        let shown = match (maybe(value, "value"), maybe(value, "redacted_by")) {
            (Some(value), _) => value,
            (None, Some(by)) => format!("(redacted by entry {by})"),
            (None, None) => "(redacted)".to_owned(),
        };
        doc.blocks.push(Block::Verbatim(shown));
    }
    doc
}

pub fn verification(v: &Value) -> Doc {
    let holds = flag(v, "holds");
    let (word, tone) = match holds {
        Some(true) if at(v, "checkpoint") == Some(&Value::Bool(false)) || flag(v, "untold") == Some(true) => {
            ("CANNOT TELL", Tone::Unsure)
        }
        Some(true) => ("INTEGRITY HOLDS", Tone::Good),
        Some(false) => ("INTEGRITY DOES NOT HOLD", Tone::Bad),
        None => ("RESULT NOT RECORDED", Tone::Plain),
    };
    let mut doc = Doc::titled(word, tone, format!("{} entries", count(v, "entries")));
    let texts = list(v, "text_cells");
    doc.blocks.extend(validity::free_text(texts.len(), texts, maybe(v, "texts_bound")).map(Block::Say));
    doc.items(faults(list(v, "faults")));
    let mut facts = vec![Fact::digest("root", text(v, "root"))];
    if holds == Some(true) {
        facts.push(Fact::new("unproved tail", unproved(v)));
    }
    facts.extend(at(v, "validity").map(validity::fact));
    doc.facts(facts);
    if flag(v, "log_alone") == Some(true) {
        doc.say("This looked at the log alone, not at the notebook, the data or a report beside it.");
    }
    let sound = flag(v, "integrity") != Some(false);
    let signatures = list(v, "signatures").iter().map(|s| {
        let known = maybe(s, "known");
        let mark = match (flag(s, "valid"), &known) {
            (Some(true), Some(_)) if sound => Mark::Passed,
            (Some(true), _) => Mark::Open,
            _ => Mark::Failed,
        };
        let who = known.unwrap_or_else(|| "a key that this check does not know".to_owned());
        let but = if sound { "" } else { "; what stands there now is not as it was" };
        Item::new(mark, format!("signed over {} entries by {who}, {}{but}", count(s, "size"), text(s, "fingerprint")))
    });
    doc.items(signatures.collect());
    let parents = list(v, "parents").iter().map(|p| {
        let (mark, word) = match flag(p, "integrity") {
            Some(true) => (Mark::Passed, "is as it was"),
            _ => (Mark::Failed, "is not as it was"),
        };
        let signed: Vec<String> = list(p, "signatures").iter().filter_map(|s| maybe(s, "known")).collect();
        let signed = if signed.is_empty() { String::new() } else { format!(", signed by {}", signed.join(", ")) };
        let what = format!(
            "the case imported in entry {}, {} entries of {}, {word}{signed}",
            text(p, "entry"),
            count(p, "entries"),
            text(p, "origin")
        );
        Item::new(mark, what)
    });
    doc.items(parents.collect());
    if flag(v, "no_known_signer") == Some(true) {
        doc.blocks.push(Block::Alarm("No key of the allowed signers file signed this.".to_owned()));
    }
    if flag(v, "witness.older") == Some(true) {
        let seen = count(v, "witness.entries");
        doc.blocks.push(Block::Alarm(format!(
            "This copy is older than what the witness saw, {seen} entries: whether it is their beginning cannot be told."
        )));
    }
    if flag(v, "witness.holds") == Some(true) {
        let seen = format!("goes on from the {} entries that an outside witness saw", count(v, "witness.entries"));
        doc.items(vec![Item::new(Mark::Passed, seen)]);
    }
    // The first is said at the end, in whole sentences.
    let notes = list(v, "notes").iter().filter(|note| !scalar(note).starts_with("this shows integrity"));
    doc.items(notes.map(|note| Item::new(Mark::Open, scalar(note))).collect());
    if holds == Some(true) && tone == Tone::Good {
        // Of what stands beyond the checkpoint, nothing outside the entries themselves is evidence.
        let covered = match at(v, "unproved_tail") {
            Some(tail) if tail.as_u64() == Some(0) || tail.as_bool() == Some(false) => "nothing recorded",
            _ => "nothing that the checkpoint covers",
        };
        let honesty = match flag(v, "witness.holds") {
            Some(true) => format!(
                "What the witness saw, the first {} entries, cannot have been written anew since; what came after rests on its \
                 author.",
                count(v, "witness.entries")
            ),
            _ => "It does not show honesty: without an outside witness, the author could have written the whole dossier anew."
                .to_owned(),
        };
        doc.blocks
            .push(Block::Close(format!("This shows integrity: {covered} was changed since it was written. {honesty}")));
    }
    doc
}

/// Each cause, and how many more faults come from it, by their files.
fn faults(all: &[Value]) -> Vec<Item> {
    let follows = |fault: &Value| at(fault, "follows").and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
    let causes = all.iter().enumerate().filter(|(_, fault)| follows(fault).is_none_or(|n| n >= all.len()));
    let one = |(place, fault): (usize, &Value)| {
        let what = maybe(fault, "what").unwrap_or_else(|| scalar(fault));
        let entry = maybe(fault, "entry").map(|entry| format!("entry {entry}"));
        let where_ = entry.into_iter().chain(maybe(fault, "file")).collect::<Vec<_>>().join(", ");
        let mut item = Item::new(Mark::Failed, if where_.is_empty() { what } else { format!("{where_}: {what}") });
        let mut files: Vec<(String, u64)> = Vec::new();
        for more in all.iter().filter(|more| follows(more) == Some(place)) {
            let file = text(more, "file");
            match files.iter_mut().find(|(other, _)| *other == file) {
                Some((_, n)) => *n += 1,
                None => files.push((file, 1)),
            }
        }
        let total: u64 = files.iter().map(|(_, n)| n).sum();
        if total > 0 {
            let named =
                files.iter().take(FILES).map(|(file, n)| if *n > 1 { format!("{file} ({n})") } else { file.clone() });
            let named = named.collect::<Vec<_>>().join(", ");
            let rest = if files.len() > FILES { ", …" } else { "" };
            item.lines.push(format!("and {total} more of the same cause, as far as can be told: {named}{rest}"));
        }
        item
    };
    causes.map(one).collect()
}

/// Files that are named behind a cause.
const FILES: usize = 6;

/// Entries that no checkpoint covers yet.
fn unproved(v: &Value) -> String {
    match at(v, "unproved_tail") {
        Some(Value::Number(n)) if n.as_u64() == Some(0) => "none: the checkpoint covers every entry".to_owned(),
        Some(Value::Number(_)) => format!("{} entries beyond the checkpoint", count(v, "unproved_tail")),
        Some(Value::Bool(true)) => "yes: entries beyond the checkpoint".to_owned(),
        Some(Value::Bool(false)) => "none: the checkpoint covers every entry".to_owned(),
        Some(other) => scalar(other),
        None => NOT_RECORDED.to_owned(),
    }
}
