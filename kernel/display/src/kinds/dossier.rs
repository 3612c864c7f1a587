//! The case file about itself: its state, its entries, and what a verification shows and what it cannot.

use serde_json::Value;

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
        Fact::new("sessions", count(v, "sessions")),
        Fact::new("blobs", format!("{} bytes", count(v, "blobs_bytes"))),
    ];
    match at(v, "verdicts") {
        Some(Value::Array(all)) if all.is_empty() => facts.push(Fact::new("verdicts", "none yet")),
        Some(_) => {}
        None => facts.push(Fact::new("verdicts", NOT_RECORDED)),
    }
    doc.facts(facts);
    let verdicts = list(v, "verdicts");
    let hidden = verdicts.len().saturating_sub(VERDICTS);
    let items = verdicts.iter().skip(hidden).map(|verdict| Item::new(mark(verdict), one_verdict(verdict)));
    doc.items(items.collect());
    if hidden > 0 {
        doc.say(format!("{hidden} earlier verdicts are not shown; %dossier log has them all."));
    }
    doc
}

fn mark(verdict: &Value) -> Mark {
    match verdict.as_str().or_else(|| verdict.get("verdict").and_then(Value::as_str)) {
        Some("pass") => Mark::Passed,
        Some("fail") => Mark::Failed,
        _ => Mark::Open,
    }
}

fn one_verdict(verdict: &Value) -> String {
    let Some(fields) = verdict.as_object() else {
        return scalar(verdict);
    };
    let mut out = text(verdict, "verdict");
    if flag(verdict, "post_hoc") == Some(true) {
        out.push_str(" (POST HOC)");
    }
    for (key, value) in fields.iter().filter(|(key, _)| !matches!(key.as_str(), "verdict" | "post_hoc")) {
        let value = match value {
            Value::Object(inner) => {
                inner.get("name").or_else(|| inner.get("path")).map_or_else(|| scalar(value), scalar)
            }
            Value::String(s) => crate::visible::short_digest(s),
            other => scalar(other),
        };
        out.push_str(&format!(", {key} {value}"));
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
        ["seq", "kind", "status", "wall", "summary"].map(|k| maybe(e, k).unwrap_or_else(|| "–".to_owned())).to_vec()
    };
    let rows = entries.iter().map(row).collect();
    doc.table(Table { caption: String::new(), head: vec!["entry", "kind", "status", "wall time", "summary"], rows });
    doc
}

pub fn verification(v: &Value) -> Doc {
    let holds = flag(v, "holds");
    let (word, tone) = match holds {
        Some(true) => ("INTEGRITY HOLDS", Tone::Good),
        Some(false) => ("INTEGRITY DOES NOT HOLD", Tone::Bad),
        None => ("RESULT NOT RECORDED", Tone::Plain),
    };
    let mut doc = Doc::titled(word, tone, format!("{} entries", count(v, "entries")));
    let faults = list(v, "faults").iter().map(|fault| {
        let what = maybe(fault, "what").unwrap_or_else(|| scalar(fault));
        let mut item = Item::new(Mark::Failed, what);
        let entry = maybe(fault, "entry").map(|entry| format!("entry {entry}"));
        item.aside = entry.into_iter().chain(maybe(fault, "file")).collect::<Vec<_>>().join(", ");
        item
    });
    doc.items(faults.collect());
    doc.facts(vec![Fact::digest("root", text(v, "root")), Fact::new("unproved tail", unproved(v))]);
    doc.items(list(v, "notes").iter().map(|note| Item::new(Mark::Open, scalar(note))).collect());
    if holds == Some(true) {
        // Of what stands beyond the checkpoint, nothing outside the entries themselves is evidence.
        let covered = match at(v, "unproved_tail") {
            Some(tail) if tail.as_u64() == Some(0) || tail.as_bool() == Some(false) => "nothing recorded",
            _ => "nothing that the checkpoint covers",
        };
        doc.blocks.push(Block::Close(format!(
            "This shows integrity: {covered} was changed since it was written. It does not show honesty: \
             without an outside witness, the author could have written the whole dossier anew."
        )));
    }
    doc
}

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
