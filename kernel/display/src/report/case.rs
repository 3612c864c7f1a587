//! Reads the records of a case: which entry each one is, and what a verdict may be counted as.
//!
//! Must not know: HTML, sentences of the page.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::field::{NOT_RECORDED, at, first, flag, list, maybe, text};
use crate::kinds::verdict::of_itself;

/// One record with the entry that holds it.
#[derive(Clone, Copy)]
pub struct Kept<'v> {
    whole: &'v Value,
    pub result: &'v Value,
}

/// The records under `part`, in the order given.
pub fn kept<'v>(case: &'v Value, part: &str) -> Vec<Kept<'v>> {
    list(case, part).iter().map(|whole| Kept { whole, result: at(whole, "result").unwrap_or(&Value::Null) }).collect()
}

impl Kept<'_> {
    pub fn number(&self) -> Option<u64> {
        at(self.whole, "entry").and_then(Value::as_u64)
    }

    /// `entry 14`, and when.
    pub fn dated(&self) -> String {
        let wall = maybe(self.whole, "wall").map_or_else(String::new, |wall| format!(", {wall}"));
        format!("{}{wall}", self.entry())
    }

    pub fn entry(&self) -> String {
        format!("entry {}", text(self.whole, "entry"))
    }

    pub fn own(&self, field: &str) -> Option<String> {
        maybe(self.whole, field)
    }

    /// The record, knowing its own entry: where it lies was not yet known when it was written.
    pub fn placed(&self) -> Value {
        let mut record = self.result.clone();
        if let (Some(map), Some(entry)) = (record.as_object_mut(), at(self.whole, "entry")) {
            map.entry("dossier").or_insert_with(|| serde_json::json!({ "entry": entry }));
        }
        record
    }
}

/// What a verdict's record may be counted as.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judged {
    /// Under a seal that stood before the candidate was opened; the verdict's word.
    InTime(String),
    /// Post hoc, by its own record.
    Late,
    /// Of a reference with another identity than the case's.
    OtherReference,
    /// The record does not say that a seal stood before.
    Unsealed,
    /// Taken out of the log: nobody can tell what it said.
    Redacted,
    /// Of the reference with itself: of no candidate.
    OfItself,
    Explored,
}

pub fn judged(verdict: &Value, reference: Option<&Value>) -> Judged {
    let identity = |of: Option<&Value>, path: &str| of.and_then(|v| maybe(v, path));
    let (own, other) = (identity(reference, "identity"), identity(Some(verdict), "reference.identity"));
    match (maybe(verdict, "verdict"), flag(verdict, "post_hoc")) {
        (Some(word), _) if word == "none" => Judged::Explored,
        _ if at(verdict, "redacted_by").is_some() => Judged::Redacted,
        _ if of_itself(verdict) => Judged::OfItself,
        (_, Some(true)) => Judged::Late,
        _ if own.is_some() && other.is_some() && own != other => Judged::OtherReference,
        (Some(word), Some(false)) if at(verdict, "declaration").is_some() => Judged::InTime(word),
        _ => Judged::Unsealed,
    }
}

/// A candidate's file, known by its content, with every verdict on it.
#[derive(Default)]
pub struct Candidate<'v> {
    pub verdicts: Vec<(Judged, &'v Value)>,
}

/// All candidates of a case. Two names of the same bytes are one candidate; a name with new bytes is another.
pub fn candidates<'v>(case: &'v Value, reference: Option<&Value>) -> BTreeMap<String, Candidate<'v>> {
    let mut all: BTreeMap<String, Candidate> = BTreeMap::new();
    for (i, verdict) in kept(case, "verdicts").into_iter().enumerate() {
        let known = first(verdict.result, &["candidate.sha256", "candidate.path"]).and_then(Value::as_str);
        // Of a candidate that the record does not name nobody can say that it is one of the others.
        let key = known.map_or_else(|| format!("unnamed {i}"), |known| format!("named {known}"));
        all.entry(key).or_default().verdicts.push((judged(verdict.result, reference), verdict.result));
    }
    all
}

/// Probes whose required device was not found.
pub fn unmet(case: &Value) -> Vec<(Kept<'_>, String)> {
    kept(case, "probes")
        .into_iter()
        .filter(|probe| maybe(probe.result, "conclusion.standing").as_deref() == Some("does_not_hold"))
        .filter_map(|probe| Some((probe, maybe(probe.result, "require").filter(|device| device != "none")?)))
        .collect()
}

/// `criterion cosine, floor = 0.999`.
pub fn criterion_of(name: &str, parameters: Option<String>) -> String {
    let parameters = match parameters.as_deref() {
        Some("none") => "no parameters".to_owned(),
        Some(parameters) => parameters.to_owned(),
        None => format!("parameters {NOT_RECORDED}"),
    };
    format!("criterion {name}, {parameters}")
}
