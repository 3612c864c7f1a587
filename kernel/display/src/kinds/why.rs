//! What a difference comes from: what came of both entries, the conclusion, then software, inputs and running
//! conditions with their evidence.

use serde_json::Value;

use crate::doc::{Block, Doc, Item, Mark, Table, Tone};
use crate::field::{NOT_RECORDED, at, list, maybe, scalar, text};
use crate::visible::short_digest;

pub fn document(v: &Value) -> Doc {
    let about = format!("{}, against {}", entry(v, "b"), entry(v, "a"));
    let (word, tone) = match (maybe(v, "outcome.state").as_deref(), maybe(v, "attributed")) {
        (Some("same"), _) => ("NO DIFFERENCE".to_owned(), Tone::Plain),
        (_, Some(class)) => (name(&class).to_uppercase(), Tone::Plain),
        (_, None) if v.get("attributed").is_some() => ("CANNOT TELL".to_owned(), Tone::Unsure),
        (_, None) => ("CONCLUSION NOT RECORDED".to_owned(), Tone::Plain),
    };
    let mut doc = Doc::titled(word, tone, about);
    doc.say(format!("Outcomes: {}.", text(v, "outcome.sentence")));
    if let Some(detail) = maybe(v, "outcome.detail") {
        doc.say(format!("Of their rows, {detail}."));
    }
    doc.say(text(v, "conclusion"));
    for class in list(v, "classes") {
        doc.items(vec![heading(class)]);
        doc.table(evidence(class));
    }
    let not_recorded = list(v, "not_recorded");
    if !not_recorded.is_empty() {
        let all = not_recorded.iter().map(scalar).collect::<Vec<_>>().join("; ");
        doc.blocks.push(Block::Close(format!("Not recorded, and possibly different: {all}.")));
    }
    doc
}

/// `entry 31 (verdict)`.
fn entry(v: &Value, side: &str) -> String {
    let kind = maybe(v, &format!("{side}.kind")).map(|kind| format!(" ({kind})")).unwrap_or_default();
    format!("{}{kind}", text(v, &format!("{side}.name")))
}

fn name(class: &str) -> &str {
    match class {
        "conditions" => "running conditions",
        other => other,
    }
}

fn heading(class: &Value) -> Item {
    let (mark, word) = match maybe(class, "state").as_deref() {
        Some("differs") => (Mark::Failed, "differs"),
        Some("equal") => (Mark::Passed, "equal as far as recorded"),
        Some("cannot_tell") => (Mark::Open, "cannot tell"),
        _ => (Mark::Open, NOT_RECORDED),
    };
    let mut item = Item::new(mark, format!("{}: {word}", name(&text(class, "class"))));
    item.aside = maybe(class, "because").unwrap_or_default();
    item.lines = list(class, "missing").iter().map(|why| format!("missing: {}", shortened(&scalar(why)))).collect();
    item
}

fn evidence(class: &Value) -> Table {
    let mut rows = Vec::new();
    for difference in list(class, "differences") {
        let (from_a, from_b) = (text(difference, "read_from.a"), text(difference, "read_from.b"));
        let from = if from_a == from_b { from_a } else { format!("{from_a}; {from_b}") };
        let value =
            |side: &str| at(difference, side).map_or_else(|| NOT_RECORDED.to_owned(), |v| shortened(&scalar(v)));
        rows.push(vec![text(difference, "what"), value("a"), value("b"), from]);
        if let Some(detail) = maybe(difference, "detail") {
            rows.push(vec![String::new(), String::new(), String::new(), detail]);
        }
    }
    Table { caption: String::new(), head: vec!["what", "first", "second", "read from"], rows }
}

/// With every digest in it by its beginning; the record holds them whole.
fn shortened(text: &str) -> String {
    let short = |word: &str| if word.len() == 64 { short_digest(word) } else { word.to_owned() };
    text.split(' ').map(short).collect::<Vec<_>>().join(" ")
}
