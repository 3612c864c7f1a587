//! `%dossier status|log|verify`: looking at a case file, and checking it.

use super::entry::{self, Entry};
use super::faults::{self, Found, Of};
use super::standing::{self, Here};
use super::{Done, bound};
use crate::failure::Failure;
use crate::ledger;
use crate::session::Session;
use fascicolo_contract::Standing;
use fascicolo_dossier::bundle;
use fascicolo_dossier::sign::{AllowedSigners, SshKeygen};
use fascicolo_dossier::{Checkpoint, Dossier, Fault, Kind, Record, View};
use fascicolo_magics::dossier::DossierWhat;
use fascicolo_magics::why::EntryName;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// What only looks at a case file; it may be anybody's.
pub fn look(what: &DossierWhat, path: &Path, here: &Here<'_>) -> Result<Done, Failure> {
    match what {
        DossierWhat::Status(_) => {
            let result = status(&Dossier::read(path)?, here);
            // The badge answers the question of a status, as the integrity answers that of a verification.
            let standing = match result["validity"]["badge"].as_str() {
                Some("valid") => Standing::Holds,
                Some("stale") => Standing::DoesNotHold,
                _ => Standing::CannotTell,
            };
            Ok(Done { standing, ..Done::shown("dossier_status", result) })
        }
        DossierWhat::Log(_) => Ok(Done::shown("dossier_log", log(&Dossier::read(path)?))),
        DossierWhat::Show { entry, .. } => show(&Dossier::read(path)?, entry),
        // An exported case is a file; what is wanted is the same.
        DossierWhat::Verify { allowed_signers, witness, .. } if path.is_file() => {
            verify_case(path, allowed_signers.as_deref(), witness.as_deref())
        }
        DossierWhat::Verify { allowed_signers, witness, .. } => {
            verify(path, allowed_signers.as_deref(), witness.as_deref())
        }
        DossierWhat::Sign { .. }
        | DossierWhat::Redact { .. }
        | DossierWhat::Export { .. }
        | DossierWhat::Import { .. }
        | DossierWhat::Gc => Err(Failure::usage(
            "writes",
            "this changes or exports a case file",
            "run it in a session of that case file",
        )),
    }
}

/// Signs the log as it stands with the user's ssh key, which never enters it.
pub fn sign(session: &mut Session, key: &Path) -> Result<Done, Failure> {
    let signed = session.dossier.sign(&SshKeygen::new(session.resolve(key)))?;
    Ok(Done::shown(
        "dossier_sign",
        json!({
            "entry": signed.appended.seq, "fingerprint": signed.fingerprint, "entries": signed.checkpoint.size,
            "root": fascicolo_dossier::to_hex(&signed.checkpoint.root), "files": signed.files,
        }),
    ))
}

/// Deletes a value; its commitment stays.
pub fn redact(session: &mut Session, entry: u64, field: &str, because: &str) -> Result<Done, Failure> {
    if because.trim().is_empty() {
        return Err(Failure::usage("no_reason", "--because is empty", "say why the value is taken out"));
    }
    let value = session.dossier.value(entry, field).ok().flatten().unwrap_or_default();
    let appended = session.dossier.redact(entry, field, &crate::session::mask(because)).map_err(|error| {
        let mut failure = Failure::from(error);
        if failure.kind == "no_such_value" {
            failure.next = format!("name one of them; `fascicolo dossier show --entry {entry}` shows what each holds");
        }
        failure
    })?;
    Ok(Done::shown(
        "dossier_redact",
        json!({ "still": still_stands(&session.dossier, &value), "entry": appended.seq, "redacted": { "entry": entry, "field": field }, "because": because, "root": appended.root_hex }),
    ))
}

/// Places of the case file that still disclose a line of a value, as `entry 14, result`; and the notebook, if it does.
fn still_stands(log: &View, value: &str) -> Vec<String> {
    // A short word is in many places and tells nothing.
    let lines: Vec<&str> = value.lines().map(str::trim).filter(|line| line.chars().count() >= 12).collect();
    // As JSON writes them, too.
    let escaped: Vec<String> = lines.iter().map(|line| json!(line).to_string().trim_matches('"').to_owned()).collect();
    let holds =
        |text: &str| lines.iter().any(|l| text.contains(l)) || escaped.iter().any(|l| text.contains(l.as_str()));
    let mut found = Vec::new();
    for record in log.records() {
        for field in record.committed.keys() {
            if log.value(record.seq, field).ok().flatten().is_some_and(|text| holds(&text)) {
                found.push(format!("entry {}, {field}", record.seq));
            }
        }
    }
    let notebook = log.path().with_extension("ipynb");
    if std::fs::read_to_string(&notebook).is_ok_and(|text| holds(&text)) {
        found.push(notebook.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default());
    }
    found
}

/// Removes blobs that no entry names.
pub fn collect(session: &mut Session) -> Result<Done, Failure> {
    let collected = session.dossier.collect_garbage()?;
    Ok(Done::shown("dossier_gc", json!({ "files": collected.files, "bytes": collected.bytes })))
}

/// A file of allowed signers that says whom to know; one that cannot be read in part must not pass for a strict one.
fn known_signers(text: &str) -> Result<AllowedSigners, Failure> {
    let allowed = AllowedSigners::parse(text);
    match allowed.unread().first() {
        None => Ok(allowed),
        Some(line) => Err(Failure::usage(
            "bad_allowed_signers",
            format!("line {line} of the allowed signers file is none that ssh-keygen would write"),
            "give lines of the form `ada@example.org ssh-ed25519 AAAA…`",
        )),
    }
}

fn readable(what: &str, path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|e| Failure {
        place: Some(path.display().to_string()),
        ..Failure::usage("unreadable", format!("{what} {} cannot be read: {e}", path.display()), "check the path")
    })
}

/// Whether the log goes on from a checkpoint that somebody else kept.
fn witnessed(log: &Path, witness: &Path) -> Result<(Value, Option<String>), Failure> {
    let text = readable("the checkpoint", witness)?;
    let checkpoint = Checkpoint::parse(text.as_bytes()).ok_or_else(|| {
        let what = format!("{} is no checkpoint", witness.display());
        Failure::usage("not_a_checkpoint", what, "give the file `checkpoint` of an earlier copy of the case file")
    })?;
    let size = checkpoint.size;
    let view = Dossier::read(log)?;
    if view.size() < size && view.origin() == checkpoint.origin {
        // A copy from before: whether it is a beginning of what the witness saw only the longer log can show.
        return Ok((json!({ "entries": size, "holds": null, "older": true }), None));
    }
    let fault = match view.extends(&checkpoint) {
        Ok(true) => None,
        Ok(false) => Some(format!("it does not go on from the {size} entries that the witness saw")),
        Err(error @ fascicolo_dossier::Error::OtherLog { .. }) => Some(format!("the witness's {error}")),
        Err(error) => return Err(error.into()),
    };
    Ok((json!({ "entries": size, "holds": fault.is_none() }), fault))
}

fn status(log: &View, here: &Here<'_>) -> Value {
    let sessions: BTreeSet<&str> = log.records().map(|r| r.session.as_str()).collect();
    let verdicts: Vec<Value> = log.records().filter(|r| r.kind == Kind::Verdict).map(|r| verdict(log, r)).collect();
    // A calibration reads repeats of the reference and gives no verdict.
    let came = |r: &Record| r.kind == Kind::Verdict || r.kind == Kind::Fact && r.body["what"] == "calibrate";
    let judged = |opened: &Record| log.records().any(|r| came(r) && r.start == opened.start);
    let own = |r: &&Record| r.kind == Kind::Opened && r.from.is_none() && !r.reads.is_empty();
    let unjudged = log.records().filter(own).filter(|r| !judged(r)).count();
    json!({
        "path": log.path().display().to_string(), "origin": log.origin(), "entries": log.size(), "root": log.root_hex(),
        "sessions": sessions.len(), "reference": ledger::reference(log).map(|r| r.name), "verdicts": verdicts,
        "opened_without_verdict": unjudged, "imported": log.parents().len(), "sizes": sizes(log),
        "validity": standing::validity(log, here),
    })
}

/// What the case file weighs, and how it grew: bytes of blobs that each of the last sessions was the first to name.
fn sizes(log: &View) -> Value {
    let path = log.path();
    let length = |name: &str| std::fs::metadata(path.join(name)).map_or(0, |m| m.len());
    let named: BTreeSet<&str> = log.blob_names().collect();
    let contents = path.join("blobs").join("sha256");
    let unnamed = files_of_blobs(&contents).filter(|(name, _)| !named.contains(name.as_str()));
    let (mut seen, mut growth): (BTreeSet<&str>, Vec<(&str, &str, u64)>) = Default::default();
    for record in log.records() {
        let private = record.committed.values().filter(|c| c.blob).map(|c| (c.commit.as_str(), c.bytes));
        let new = record.blobs.values().map(|b| (b.blob.as_str(), b.bytes)).chain(private);
        let new: u64 = new.filter(|(name, _)| seen.insert(name)).map(|(_, bytes)| bytes).sum();
        match growth.iter_mut().rfind(|(session, _, _)| *session == record.session) {
            Some((_, _, bytes)) => *bytes += new,
            None => growth.push((&record.session, &record.wall, new)),
        }
    }
    let last = growth.len().saturating_sub(SESSIONS);
    json!({
        "log_bytes": length("entries.jsonl"), "disclosures_bytes": length("disclosures/values.jsonl"),
        "blobs_bytes": folder_bytes(&path.join("blobs")), "parents_bytes": folder_bytes(&path.join("parents")),
        "unnamed_bytes": unnamed.map(|(_, bytes)| bytes).sum::<u64>(),
        "growth": growth[last..].iter().map(|(_, since, bytes)| json!({ "since": since, "blobs_bytes": bytes })).collect::<Value>(),
    })
}

/// Sessions whose growth a status tells.
const SESSIONS: usize = 5;

/// Name and length of every blob.
fn files_of_blobs(folder: &Path) -> impl Iterator<Item = (String, u64)> {
    let folders = std::fs::read_dir(folder).into_iter().flatten().flatten();
    folders.flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten().flatten()).map(|file| {
        (file.file_name().to_string_lossy().into_owned(), file.metadata().map_or(0, |metadata| metadata.len()))
    })
}

/// A verdict in the words of a status: what was compared, under what, and what came of it.
fn verdict(log: &View, record: &Record) -> Value {
    let body = &record.body;
    json!({
        "entry": record.seq, "verdict": body["verdict"], "post_hoc": body["post_hoc"],
        "post_hoc_accepted": body["post_hoc_accepted"], "explore": body["explore"], "candidate": candidate(log, record),
        "criterion": body["criterion"], "parameters": body["parameters"], "expect": body["expect"], "met": body["met"],
        "when": record.wall, "of_itself": ledger::of_itself(record), "redacted_by": log.redacted_by(record.seq, "result"),
    })
}

/// The candidate as the user named it, where that is still disclosed; else by its digest.
pub(super) fn candidate(log: &View, record: &Record) -> String {
    let opened = if record.kind == Kind::Opened { Some(record) } else { ledger::opening(log, record) };
    let path = opened.and_then(|r| log.value(r.seq, "candidate.path").ok().flatten());
    let digest = record.reads.iter().find(|f| f.role == "candidate").map(|f| short(&f.sha256)).unwrap_or_default();
    path.unwrap_or(digest)
}

/// One entry with everything that is disclosed of it.
fn show(own: &View, name: &EntryName) -> Result<Done, Failure> {
    let found = Entry::named(own, name)?;
    let (log, entry) = (found.log(), found.seq());
    let Some(record) = found.record() else {
        return Err(Failure::usage(
            "no_such_entry",
            format!("there is no {}", found.name()),
            "`%dossier log` lists them",
        ));
    };
    let mut values = Vec::new();
    for field in record.committed.keys() {
        let by = log.redacted_by(entry, field);
        values.push(json!({ "field": field, "value": log.value(entry, field)?, "redacted_by": by }));
    }
    let from = record.from.as_ref().map(|from| format!("{}/{}", entry::prefix(log, &from.origin), from.seq));
    let leaf = record.to_leaf().map(|leaf| fascicolo_dossier::to_hex(&fascicolo_dossier::leaf_hash(&leaf)));
    let result = json!({
        "seq": record.seq, "name": found.name(), "repeats": from, "kind": record.kind, "wall": record.wall, "session": record.session,
        "cell": record.cell.as_ref().map(|c| c.n), "start": record.start, "status": record.status,
        "reads": record.reads, "body": record.body, "values": values, "leaf": leaf.ok(),
    });
    Ok(Done::shown("dossier_entry", result))
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
    let line = |r: &Record| {
        let from = r.from.as_ref().map(|from| format!(" [of an imported case: its entry {}]", from.seq));
        let summary = summary(log, r) + &from.unwrap_or_default();
        json!({ "seq": r.seq, "kind": r.kind, "status": r.status, "wall": r.wall, "summary": summary })
    };
    log.records().map(line).collect()
}

/// One line about an entry, from what is still disclosed.
pub fn summary(log: &View, record: &Record) -> String {
    let body = |key: &str| record.body[key].as_str().unwrap_or_default().to_owned();
    match record.kind {
        Kind::Start => match log.value(record.seq, "ran") {
            Ok(Some(ran)) => {
                // What was done, rather than the comment above it.
                let first = |says: fn(&&str) -> bool| ran.lines().find(says).map(str::to_owned);
                let magic = first(|line| line.starts_with('%'));
                let line = magic.or_else(|| first(|line| !line.trim().is_empty())).unwrap_or_default();
                line.chars().take(100).collect()
            }
            Ok(None) => "(redacted)".to_owned(),
            Err(error) => format!("({error})"),
        },
        Kind::Error => body("kind"),
        Kind::Reference => body("name"),
        Kind::Criterion => format!("{} {}", body("name"), short(&body("digest"))),
        Kind::Declare => format!("{} {}", body("criterion"), record.body["parameters"]),
        Kind::Opened if record.reads.is_empty() => "the rows of both files".to_owned(),
        Kind::Opened => {
            let digest = record.reads.iter().find(|f| f.role == "candidate").map(|f| short(&f.sha256));
            format!("{} ({})", candidate(log, record), digest.unwrap_or_default())
        }
        Kind::Verdict => {
            let (spoken, criterion) = (ledger::spoken(log, record), body("criterion"));
            if log.is_redacted(record.seq, "result") {
                return format!("verdict of {criterion}, {spoken}: {}", candidate(log, record));
            }
            let as_expected = record.body["met"] == true || record.body["explore"] == true;
            let expected = if as_expected { "" } else { ", not as expected" };
            format!("{spoken} by {criterion}: {}{expected}", candidate(log, record))
        }
        Kind::Probe => format!("require {}", body("require")),
        Kind::Snapshot => short(&body("digest")),
        Kind::Replay => format!("of {} {}", body("origin"), short(&body("root"))),
        Kind::Fact => format!("{} {}", body("what"), body("name")),
        Kind::Import => {
            let of = |key: &str| record.body["parent"][key].as_str().unwrap_or_default().to_owned();
            format!("{} {}", of("origin"), short(&of("root")))
        }
        Kind::Log | Kind::End | Kind::Recover | Kind::Redact | Kind::Fork | Kind::Sign => String::new(),
    }
}

fn short(digest: &str) -> String {
    digest.chars().take(12).collect()
}

/// Checks an exported case: unpacks it into a folder of its own, looks, and takes the folder away.
pub fn verify_case(case: &Path, allowed: Option<&Path>, witness: Option<&Path>) -> Result<Done, Failure> {
    if case.is_dir() && !case.join("bagit.txt").is_file() {
        return verify(case, allowed, witness);
    }
    if case.is_dir() {
        return verify_opened(case, &bundle::look(case)?, allowed, witness);
    }
    let folder = tempfile::tempdir().map_err(|e| Failure {
        standing: Standing::CannotTell,
        ..Failure::refused("no_folder", format!("a temporary folder cannot be made: {e}"), "check the space in TMPDIR")
    })?;
    let opened = bundle::read(case, folder.path(), &bundle::Limits::default())
        .map_err(|error| Failure::from(error).of_case(folder.path(), case))?;
    verify_opened(case, &opened, allowed, witness)
}

/// Checks an unpacked case: log, bag, and all that the log binds.
fn verify_opened(
    case: &Path,
    opened: &bundle::Opened,
    allowed: Option<&Path>,
    witness: Option<&Path>,
) -> Result<Done, Failure> {
    let (mut done, mut found) = examine(&opened.dossier, allowed, witness)?;
    done.result["path"] = json!(case.display().to_string());
    done.result["case"] = json!(opened.name);
    done.result["log_alone"] = json!(false);
    let of_log = found.len();
    found.extend(bag_faults(opened));
    let mut notes = Vec::new();
    if opened.verification.integrity {
        let data = opened.folder.join("data");
        let bound = bound::check(&Dossier::read(&opened.dossier)?, &opened.name, &data)?;
        found.extend(bound.faults);
        notes = bound.notes;
        done.result["text_cells"] = json!(bound.text_cells);
        done.result["texts_bound"] = json!(bound.texts_bound);
        done.result["validity"] = bound.validity;
        if bound.untold && done.standing == Standing::Holds {
            done.standing = Standing::CannotTell;
        }
        done.result["untold"] = json!(bound.untold);
    }
    if let Some(all) = done.result["notes"].as_array_mut() {
        all.extend(notes.into_iter().map(Value::String));
    }
    if found.len() > of_log {
        done.result["holds"] = json!(false);
        done.standing = Standing::DoesNotHold;
    }
    let dossier = opened.dossier.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    done.result["faults"] = faults::told(found, &dossier).into();
    Ok(done)
}

/// What the lists and tiles of a bag show.
pub(super) fn bag_faults(opened: &bundle::Opened) -> impl Iterator<Item = Found> {
    opened.faults.iter().map(|f| Found { of: Of::Bag, entry: None, file: f.file.clone(), what: f.what.clone() })
}

/// What the check of a log, and then the rules of the seal, show.
pub(super) fn log_faults(faults: &[Fault], order: &[(u64, String)]) -> Vec<Found> {
    let of =
        |fault: &Fault| Found { of: Of::Log, entry: fault.entry, file: fault.file.clone(), what: fault.what.clone() };
    let broken = order.iter().map(|(entry, what)| {
        let what = format!("the verdict breaks the rule of the seal: {what}");
        Found { of: Of::Log, entry: Some(*entry), file: "entries.jsonl".to_owned(), what }
    });
    faults.iter().map(of).chain(broken).collect()
}

/// Integrity of every byte; then, on a log that has it, the order that its own entries claim.
fn verify(path: &Path, allowed: Option<&Path>, witness: Option<&Path>) -> Result<Done, Failure> {
    let (mut done, found) = examine(path, allowed, witness)?;
    done.result["faults"] = faults::told(found, "").into();
    Ok(done)
}

/// The same, and the faults, which the caller tells.
fn examine(path: &Path, allowed: Option<&Path>, witness: Option<&Path>) -> Result<(Done, Vec<Found>), Failure> {
    let allowed = allowed.map(|file| readable("the allowed signers file", file)).transpose()?;
    let asked = allowed.is_some();
    let allowed = allowed.map(|text| known_signers(&text)).transpose()?;
    let verification = fascicolo_dossier::verify_signed(path, allowed.as_ref())?;
    let (witness, unwitnessed) = match witness.filter(|_| verification.faults.is_empty()) {
        Some(witness) => witnessed(path, witness)?,
        None => (Value::Null, None),
    };
    let older = witness["older"] == true;
    let known = verification.signatures.iter().any(|s| s.valid && s.known.is_some());
    let order = match verification.faults.is_empty() {
        true => ledger::order_faults(verification.landmarks.as_slice()),
        false => Vec::new(),
    };
    let mut faults = log_faults(&verification.faults, &order);
    faults.extend(unwitnessed.map(|what| Found { of: Of::Log, entry: None, file: "entries.jsonl".to_owned(), what }));
    let result = json!({
        "signatures": verification.signatures, "parents": verification.parents, "witness": witness, "holds": faults.is_empty(), "integrity": verification.integrity, "order": verification.integrity && order.is_empty(),
        "path": path.display().to_string(), "origin": verification.origin, "log_alone": true,
        "entries": verification.entries, "root": verification.root,
        // Without a checkpoint, entries may have been cut off and nobody could tell.
        "checkpoint": verification.checkpoint.is_some(),
    "unproved_tail": verification.unproved_tail, "torn": verification.torn, "notes": verification.notes,
    });
    let mut done = Done::shown("dossier_verify", result);
    // What was asked for and could not be shown is not passed over.
    let unsigned = asked && !known;
    done.result["no_known_signer"] = json!(unsigned);
    if verification.checkpoint.is_none() || older || unsigned {
        done.standing = Standing::CannotTell;
    }
    if let Some(first) = faults.first() {
        done.standing = Standing::DoesNotHold;
        done.then_fails = Some(Failure {
            place: Some(path.display().to_string()),
            standing: Standing::DoesNotHold,
            ..Failure::refused(
                "verification_failed",
                format!("{} does not verify: {}", path.display(), first.line()),
                "do not rely on it; compare it with an earlier copy or an export",
            )
        });
    }
    Ok((done, faults))
}
