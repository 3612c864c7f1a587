//! A probe's ladder: every stage with its mark, in the order tried.

use serde_json::Value;

use crate::doc::{Doc, Item, Mark, Tone};
use crate::field::{NOT_RECORDED, at, first, list, maybe, scalar, text};
use crate::number;
use crate::picture::{Picture, Rung};

pub fn document(v: &Value) -> Doc {
    let asked = match maybe(v, "require").as_deref() {
        Some("none") => "no device required".to_owned(),
        Some(device) => format!("{device} required"),
        None => "requirement not recorded".to_owned(),
    };
    let stages: Vec<Stage> = list(v, "stages").iter().map(stage).collect();
    // The record's own word decides; a failed stage alone decides nothing.
    let (word, tone) = match at(v, "conclusion.standing").and_then(Value::as_str) {
        Some("holds") => ("PROBE: HOLDS", Tone::Good),
        Some("does_not_hold") => ("PROBE: DOES NOT HOLD", Tone::Bad),
        Some("cannot_tell") => ("PROBE: CANNOT TELL", Tone::Unsure),
        _ => ("PROBE", Tone::Plain),
    };
    let mut doc = Doc::titled(word, tone, asked);
    doc.say(first(v, &["conclusion.sentence", "conclusion"]).map_or_else(|| NOT_RECORDED.to_owned(), scalar));
    if stages.is_empty() {
        doc.say("Stages: not recorded.");
        return doc;
    }
    doc.picture = Some(Picture::Ladder {
        title: "Device probe, in the order tried".to_owned(),
        rungs: stages.iter().map(Stage::rung).collect(),
    });
    doc.items(stages.into_iter().map(Stage::item).collect());
    doc
}

/// One stage, whatever shape its result has.
struct Stage {
    mark: Mark,
    name: String,
    layer: Option<String>,
    status: String,
    elapsed: Option<String>,
    /// One sentence, where the record has one.
    detail: Option<String>,
    /// Everything else the result says.
    rest: Vec<String>,
}

impl Stage {
    fn aside(&self) -> String {
        let layer = self.layer.as_ref().map(|layer| format!("[{layer}]"));
        layer.iter().chain(Some(&self.status)).chain(&self.elapsed).cloned().collect::<Vec<_>>().join("  ")
    }

    fn rung(&self) -> Rung {
        let state = std::iter::once(&self.status).chain(&self.elapsed).cloned().collect::<Vec<_>>().join(", ");
        let name = self.layer.as_ref().map_or_else(|| self.name.clone(), |layer| format!("{} ({layer})", self.name));
        let detail = self.detail.clone().unwrap_or_else(|| self.rest.join("; "));
        Rung { mark: self.mark, name, state, detail }
    }

    fn item(self) -> Item {
        let mut item = Item::new(self.mark, self.name.clone());
        item.aside = self.aside();
        item.lines = self.detail.into_iter().chain(self.rest).collect();
        item
    }
}

fn stage(v: &Value) -> Stage {
    let result = first(v, &["result", "outcome", "status"]);
    let (status, payload) = match result {
        Some(Value::String(status)) => (status.clone(), Some(v)),
        Some(Value::Object(map)) => match map.get("status").and_then(Value::as_str) {
            Some(status) => (status.to_owned(), result),
            None if map.len() == 1 => map.iter().next().map_or((String::new(), None), |(k, p)| (k.clone(), Some(p))),
            None => (NOT_RECORDED.to_owned(), result),
        },
        Some(other) => (scalar(other), None),
        None => (NOT_RECORDED.to_owned(), None),
    };
    let (detail, rest) = payload.map_or((None, Vec::new()), |payload| findings(payload, v));
    let name = spaced(&text(v, "name"));
    Stage {
        mark: mark(&status),
        layer: maybe(v, "layer").map(|layer| spaced(&layer)).filter(|layer| *layer != name),
        name,
        status: spaced(&status),
        elapsed: at(v, "elapsed_ms").and_then(Value::as_f64).map(number::elapsed),
        detail,
        rest,
    }
}

fn mark(status: &str) -> Mark {
    match status {
        "passed" | "pass" | "found" | "ok" => Mark::Passed,
        "failed" | "fail" | "refused" | "crashed" | "timed_out" => Mark::Failed,
        "absent" | "not_applicable" | "nothing" | "not_found" | "none" => Mark::Absent,
        _ => Mark::Open,
    }
}

/// The sentence of a stage's result, and its other findings as `name: value`.
fn findings(payload: &Value, stage: &Value) -> (Option<String>, Vec<String>) {
    const SENTENCES: [&str; 8] = ["error", "because", "detail", "message", "what", "summary", "reason", "why"];
    const OF_THE_STAGE: [&str; 5] = ["name", "layer", "elapsed_ms", "result", "outcome"];
    let Some(map) = payload.as_object() else {
        return (Some(scalar(payload)), Vec::new());
    };
    let sentence = SENTENCES.iter().find(|key| map.get(**key).is_some_and(Value::is_string));
    let detail = sentence.and_then(|key| map.get(*key)).map(scalar);
    let flat = std::ptr::eq(payload, stage);
    let mut rest = Vec::new();
    for (key, value) in map {
        let told = Some(&key.as_str()) == sentence || key == "status" || flat && OF_THE_STAGE.contains(&key.as_str());
        match (key.as_str(), value) {
            (_, Value::Null) => {}
            _ if told => {}
            ("facts", Value::Object(facts)) => {
                let shown = facts.iter().filter(|(_, fact)| !fact.is_null());
                rest.extend(shown.map(|(name, fact)| format!("{}: {}", spaced(name), scalar(fact))));
            }
            ("layer", layer) => rest.push(format!("points at: {}", spaced(&scalar(layer)))),
            (key, value) => rest.push(format!("{}: {}", spaced(key), scalar(value))),
        }
    }
    (detail, rest)
}

/// `driver_library` as people write it.
fn spaced(name: &str) -> String {
    name.replace('_', " ")
}
