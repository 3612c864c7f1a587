//! Help and errors.

use serde_json::Value;

use crate::doc::{Block, Doc, Fact, Tone};
use crate::field::{maybe, text};

pub fn help(v: &Value) -> Doc {
    Doc { blocks: vec![Block::Verbatim(text(v, "text"))], picture: None }
}

/// A record that was taken out: neither missing nor what it said.
pub fn redacted(v: &Value) -> Doc {
    let entry = maybe(v, "entry").map_or_else(String::new, |entry| format!("entry {entry}"));
    let mut doc = Doc::titled("REDACTED", Tone::Plain, entry);
    doc.say(format!(
        "What was recorded here was taken out by entry {}. The entry itself, its commitment and its public facts stay in the \
         log, and every proof still verifies.",
        text(v, "redacted_by")
    ));
    doc
}

pub fn error(v: &Value) -> Doc {
    let mut doc = Doc::titled("ERROR", Tone::Bad, text(v, "kind"));
    doc.say(text(v, "message"));
    let mut facts = Vec::new();
    if let Some(place) = maybe(v, "where") {
        facts.push(Fact::new("where", place));
    }
    facts.push(Fact::new("next", text(v, "next")));
    doc.facts(facts);
    doc
}
