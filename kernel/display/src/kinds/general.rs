//! Help and errors.

use serde_json::Value;

use crate::doc::{Block, Doc, Fact, Tone};
use crate::field::{maybe, text};

pub fn help(v: &Value) -> Doc {
    Doc { blocks: vec![Block::Verbatim(text(v, "text"))], picture: None }
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
