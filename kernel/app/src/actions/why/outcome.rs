//! What came of two entries, and whether it is the same: the effect, which is told before any cause.

use super::rows::{self, Recorded};
use crate::actions::entry::Entry;
use crate::actions::stored;
use crate::ledger;
use fascicolo_dossier::{Kind, Record};
use fascicolo_embeddings::{Columns, Watch};
use serde_json::{Value, json};
use std::path::Path;

/// Whether two outcomes are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcomes {
    /// All that is recorded of them.
    Same,
    /// Something is not.
    Differ,
    /// They have nothing in common that could be compared.
    Unknown,
}

impl Outcomes {
    /// As in a record.
    pub fn key(self) -> &'static str {
        match self {
            Outcomes::Same => "same",
            Outcomes::Differ => "differ",
            Outcomes::Unknown => "unknown",
        }
    }
}

/// What came of one entry, part by part; a part that it does not have, or that was redacted, is `None`.
#[derive(Debug, Default)]
struct Outcome {
    /// How it ended.
    ended: Option<String>,
    /// SHA-256 of the candidate; of a reference, of its output.
    candidate: Option<String>,
    /// Digest of the candidate's rows, however they are stored.
    rows: Option<String>,
    verdict: Option<String>,
    /// The entry that took the verdict out: without its figures its word is nothing to compare.
    redacted_by: Option<u64>,
    figures: Option<String>,
    /// Files written, and what was shown.
    products: Option<String>,
    path: Option<String>,
    columns: Columns,
}

impl Outcome {
    fn of(entry: &Entry) -> Outcome {
        let mut outcome = Outcome::default();
        let Some(record) = entry.subject() else { return outcome };
        let log = entry.log();
        outcome.ended = ended(entry);
        let role = if record.kind == Kind::Reference { "reference" } else { "candidate" };
        outcome.candidate = record.reads.iter().find(|f| f.role == role).map(|f| f.sha256.clone());
        outcome.rows = outcome.candidate.as_ref().and_then(|_| rows_of(entry, record));
        if record.kind == Kind::Reference {
            let output = stored(log, record.seq).ok().map(|reference| reference["output"].clone()).unwrap_or_default();
            outcome.path = output["path"].as_str().map(str::to_owned);
        } else if outcome.candidate.is_some() {
            let opened = ledger::opening(log, record);
            outcome.path = opened.and_then(|r| log.value(r.seq, "candidate.path").ok().flatten());
        }
        if record.kind == Kind::Verdict {
            // Exploring gives none.
            outcome.redacted_by = log.redacted_by(record.seq, "result");
            let word = record.body["verdict"].as_str().filter(|v| *v != "none" && outcome.redacted_by.is_none());
            outcome.verdict = word.map(str::to_owned);
            if let Ok(verdict) = stored(log, record.seq) {
                outcome.figures = Some(verdict["figures"].to_string());
                let column = |name: &str| verdict["candidate"]["columns"][name].as_str().map(str::to_owned);
                outcome.columns = Columns { id: column("id"), vector: column("vector"), ..Columns::default() };
            }
        } else {
            outcome.products = products(entry);
        }
        outcome
    }
}

const NO_ERROR: &str = "no error";

/// How the entry, or the cell that it begins, ended; a result that stands by itself did without an error.
fn ended(entry: &Entry) -> Option<String> {
    let record = entry.ending()?;
    match record.kind {
        Kind::Error => {
            let told = entry.log().value(record.seq, "error").ok().flatten();
            let error: Value = told.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
            let message = error["message"].as_str().map(|message| format!(": {message}")).unwrap_or_default();
            Some(format!("the error {}{message}", record.body["kind"].as_str().unwrap_or("of no name")))
        }
        Kind::End | Kind::Verdict => Some(NO_ERROR.to_owned()),
        _ => None,
    }
}

/// Digest of the candidate's rows: of the comparison that the record opened or judged.
fn rows_of(entry: &Entry, record: &Record) -> Option<String> {
    let told = |r: &&Record| r.kind == Kind::Opened && r.start == record.start && r.body["rows"].is_object();
    let log = entry.log();
    let of = match record.kind {
        Kind::Opened => log.records().filter(|r| r.seq >= record.seq).find(told),
        _ => log.records().rev().filter(|r| r.seq <= record.seq).find(told),
    };
    of.and_then(|r| r.body["rows"]["candidate"].as_str()).map(str::to_owned)
}

/// Files written and texts shown by a cell, as one text to compare.
fn products(entry: &Entry) -> Option<String> {
    let record = entry.ending()?;
    let mut parts: Vec<String> = record.writes.iter().map(|f| format!("{} {}", f.role, f.sha256)).collect();
    let shown = |field: &str| field == "stdout" || field.starts_with("output.");
    for field in record.committed.keys().filter(|field| shown(field)) {
        parts.push(format!("{field} {}", entry.log().value(record.seq, field).ok().flatten()?));
    }
    (!parts.is_empty()).then(|| parts.join("\n"))
}

/// Compares what came of two entries.
pub fn compare(a: &Entry, b: &Entry, folder: &Path, watch: &dyn Watch) -> (Outcomes, Value) {
    let (of_a, of_b) = (Outcome::of(a), Outcome::of(b));
    let mut parts: Vec<(bool, String)> = Vec::new();
    let mut detail = None;
    let is_reference = |entry: &Entry| entry.subject().is_some_and(|r| r.kind == Kind::Reference);
    let files = if is_reference(a) || is_reference(b) { "the outputs" } else { "the candidates" };
    if let (Some(one), Some(other)) = (&of_a.ended, &of_b.ended)
        && one != other
    {
        parts.push((false, format!("{} ended with {one}, {} with {other}", a.name(), b.name())));
    }
    if let (Some(one), Some(other)) = (&of_a.candidate, &of_b.candidate) {
        parts.push(match (one == other, &of_a.rows, &of_b.rows) {
            (true, _, _) => (true, format!("{files} are the same bytes")),
            (false, Some(one), Some(other)) if one == other => {
                (true, format!("{files} are different files with the same rows, bit for bit"))
            }
            (false, _, _) => {
                let file = |outcome: &Outcome, sha256: &String| Some((outcome.path.clone()?, sha256.clone()));
                if let (Some(one), Some(other)) = (file(&of_a, one), file(&of_b, other)) {
                    let (one, other) =
                        (Recorded { path: &one.0, sha256: &one.1 }, Recorded { path: &other.0, sha256: &other.1 });
                    detail = rows::differing(&one, &other, &of_a.columns, folder, watch);
                }
                (false, format!("{files} differ"))
            }
        });
    }
    if let (Some(one), Some(other)) = (&of_a.verdict, &of_b.verdict) {
        parts.push(match one == other {
            true => (true, format!("both verdicts are {one}")),
            false => (false, format!("the verdicts differ: {one}, {other}")),
        });
    }
    for (one, other, what) in
        [(&of_a.figures, &of_b.figures, "figures"), (&of_a.products, &of_b.products, "written files and shown texts")]
    {
        if let (Some(one), Some(other)) = (one, other) {
            parts.push((one == other, format!("the {what} {}", if one == other { "are the same" } else { "differ" })));
        }
    }
    // That two things ended without an error does not make them the same; that both met the same error does.
    if let Some(error) =
        of_a.ended.as_deref().filter(|e| parts.is_empty() && *e != NO_ERROR && of_a.ended == of_b.ended)
    {
        parts.push((true, format!("both ended with {error}")));
    }
    let state = match parts.iter().all(|(same, _)| *same) {
        _ if parts.is_empty() => Outcomes::Unknown,
        true => Outcomes::Same,
        false => Outcomes::Differ,
    };
    let mut said: Vec<String> = parts.into_iter().map(|(_, part)| part).collect();
    if said.is_empty() {
        said.push("these entries have no outcome that could be compared".to_owned());
    }
    for (entry, outcome) in [(a, &of_a), (b, &of_b)] {
        said.extend(
            outcome.redacted_by.map(|by| format!("the verdict of {} was redacted by entry {by}", entry.name())),
        );
    }
    let sentence = said.join("; ");
    let side =
        |outcome: &Outcome| json!({ "verdict": outcome.verdict, "candidate": outcome.candidate, "path": outcome.path });
    let value = json!({
        "state": state.key(), "sentence": sentence, "detail": detail, "a": side(&of_a), "b": side(&of_b),
    });
    (state, value)
}
