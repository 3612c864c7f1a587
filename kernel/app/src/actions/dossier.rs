//! `%dossier status|log|verify`: looking at a case file, and checking it.

use super::Done;
use crate::failure::Failure;
use fascicolo_contract::Standing;
use fascicolo_dossier::{Dossier, Kind, RecordV0, View};
use fascicolo_magics::dossier::DossierWhat;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

pub fn perform(what: DossierWhat, path: &Path) -> Result<Done, Failure> {
    match what {
        DossierWhat::Status => Ok(Done::shown("dossier_status", status(&Dossier::read(path)?))),
        DossierWhat::Log => Ok(Done::shown("dossier_log", log(&Dossier::read(path)?))),
        DossierWhat::Verify => verify(path),
    }
}

fn status(log: &View) -> Value {
    let sessions: BTreeSet<&str> = log.records().map(|r| r.session.as_str()).collect();
    let verdicts: Vec<Value> = log
        .records()
        .filter(|r| r.kind == Kind::Verdict)
        .map(|r| {
            json!({
                "entry": r.seq, "verdict": r.body["verdict"], "post_hoc": r.body["post_hoc"],
                "criterion": r.body["criterion"], "wall": r.wall,
            })
        })
        .collect();
    json!({
        "path": log.path().display().to_string(), "origin": log.origin(), "entries": log.size(), "root": log.root_hex(),
        "sessions": sessions.len(), "verdicts": verdicts, "blobs_bytes": folder_bytes(&log.path().join("blobs")),
    })
}

fn folder_bytes(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => folder_bytes(&entry.path()),
            Ok(kind) if kind.is_file() => entry.metadata().map_or(0, |m| m.len()),
            _ => 0,
        })
        .sum()
}

fn log(log: &View) -> Value {
    log.records()
        .map(
            |r| json!({ "seq": r.seq, "kind": r.kind, "status": r.status, "wall": r.wall, "summary": summary(log, r) }),
        )
        .collect()
}

/// One line about an entry, from what is still disclosed.
fn summary(log: &View, record: &RecordV0) -> String {
    let body = |key: &str| record.body[key].as_str().unwrap_or_default().to_owned();
    match record.kind {
        Kind::Start => match log.value(record.seq, "ran") {
            Ok(Some(ran)) => {
                let first = ran.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
                first.chars().take(70).collect()
            }
            Ok(None) => "(redacted)".to_owned(),
            Err(error) => format!("({error})"),
        },
        Kind::Error => body("kind"),
        Kind::Reference => body("name"),
        Kind::Criterion => format!("{} {}", body("name"), short(&body("digest"))),
        Kind::Declare => format!("{} {}", body("criterion"), record.body["parameters"]),
        Kind::Opened => {
            let candidate = record.reads.iter().find(|f| f.role == "candidate");
            candidate.map(|f| format!("candidate {}", short(&f.sha256))).unwrap_or_default()
        }
        Kind::Verdict => {
            let post_hoc = if record.body["post_hoc"] == true { " (post hoc)" } else { "" };
            format!("{}{post_hoc} by {}", body("verdict"), body("criterion"))
        }
        Kind::Probe => format!("require {}", body("require")),
        Kind::Snapshot => short(&body("digest")),
        Kind::Log | Kind::End | Kind::Recover | Kind::Redact | Kind::Fork | Kind::Sign => String::new(),
    }
}

fn short(digest: &str) -> String {
    digest.chars().take(12).collect()
}

fn verify(path: &Path) -> Result<Done, Failure> {
    let verification = fascicolo_dossier::verify(path)?;
    let result = json!({
        "holds": verification.integrity, "path": path.display().to_string(), "origin": verification.origin,
        "entries": verification.entries, "root": verification.root, "faults": verification.faults,
        "unproved_tail": verification.unproved_tail, "torn": verification.torn, "notes": verification.notes,
    });
    let mut done = Done::shown("dossier_verify", result);
    if let Some(fault) = verification.faults.first() {
        done.standing = Standing::DoesNotHold;
        done.then_fails = Some(Failure {
            place: Some(fault.place()),
            standing: Standing::DoesNotHold,
            ..Failure::refused(
                "verification_failed",
                format!("{} of the case file is not as it was written: {fault}", path.display()),
                "do not rely on it; compare it with an earlier copy or an export",
            )
        });
    }
    Ok(done)
}
