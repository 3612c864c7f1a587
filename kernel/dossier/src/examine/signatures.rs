//! Signed checkpoints against the log, and signatures against their keys.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;

use super::Slot;
use super::chain::{Origins, roots_at};
use crate::checkpoint::Checkpoint;
use crate::disk;
use crate::error::Error;
use crate::fault::Faults;
use crate::layout::{ENTRIES, SIGNATURES, at};
use crate::record::{Kind, Record};
use crate::sign::{AllowedSigners, NAMESPACE, Sshsig, check_note, fingerprint, fingerprint_hex, key_line};
use crate::state::missing;
use crate::tree::Hash;
use crate::writer::{checkpoint_name, note_name, signature_name};

/// What one `sign` entry and its files show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SignatureReport {
    /// Entries that the signed checkpoint covers; the `sign` entry is the last of them.
    pub size: u64,
    /// The public key as a line of OpenSSH, from the signature; empty if that cannot be read.
    pub key: String,
    /// Fingerprint of the key, as the entry names it.
    pub fingerprint: String,
    /// True if the signature holds, is by the key that the entry names, and signs this log's root.
    pub valid: bool,
    /// Whose key it is according to the verifier's own file of allowed signers; `None` if it does not say.
    pub known: Option<String>,
    /// True if there is a signed note besides.
    pub note: bool,
    /// What it shows, or what is wrong, as a sentence.
    pub what: String,
}

/// Why a signature does not hold: the file and what is wrong with it.
type Wrong = (String, String);

/// Checks the files of every `sign` entry.
pub(super) fn check(
    dossier: &Path,
    slots: &[Slot],
    allowed: Option<&AllowedSigners>,
    faults: &mut Faults,
) -> Result<Vec<SignatureReport>, Error> {
    let signs: Vec<(u64, &Record)> = slots
        .iter()
        .enumerate()
        .filter_map(|(seq, slot)| Some((seq, slot.record.as_ref().filter(|record| record.kind == Kind::Sign)?)))
        .filter(|(seq, _)| !faults.of_entry(*seq))
        .map(|(seq, record)| (seq as u64, record))
        .collect();
    let roots = roots_at(slots, &signs.iter().map(|(seq, _)| seq + 1).collect());
    let origins = Origins::of(slots, faults);
    reports(dossier, signs, &roots, |size| origins.at(size).map(|(_, origin)| origin), allowed, faults)
}

/// Checks the files of these `sign` entries, given with their numbers. `roots`, `origin_at`: of the log at a size.
pub(super) fn reports<'a>(
    dossier: &Path,
    signs: Vec<(u64, &Record)>,
    roots: &BTreeMap<u64, Hash>,
    origin_at: impl Fn(u64) -> Option<&'a str>,
    allowed: Option<&AllowedSigners>,
    faults: &mut Faults,
) -> Result<Vec<SignatureReport>, Error> {
    let mut reports = Vec::new();
    for (seq, record) in signs {
        let size = seq + 1;
        let text = |member: &str| record.body.get(member).and_then(|m| m.as_str()).unwrap_or_default().to_owned();
        let note = record.body.get("note").and_then(|note| note.as_bool()).unwrap_or_default();
        let mut report = SignatureReport {
            size,
            key: String::new(),
            fingerprint: text("fingerprint"),
            valid: false,
            known: None,
            note,
            what: String::new(),
        };
        let origin = origin_at(size);
        let result = if text("namespace") == NAMESPACE {
            check_one(dossier, &mut report, origin, roots.get(&size), allowed)?
        } else {
            Err((ENTRIES.to_owned(), format!("signs in another namespace than `{NAMESPACE}`")))
        };
        match result {
            Ok(()) => {
                report.valid = true;
                report.what = match (&report.known, allowed) {
                    (Some(principal), _) => format!("{principal} signed the first {size} entries"),
                    (None, Some(_)) => format!("a key of none of the allowed signers signed the first {size} entries"),
                    (None, None) => {
                        format!("a key signed the first {size} entries; whose it is only allowed signers tell")
                    }
                };
            }
            Err((file, what)) => {
                report.what = if file == ENTRIES { format!("entry {seq} {what}") } else { format!("{file} {what}") };
                faults.add(Some(seq), &file, what);
            }
        }
        reports.push(report);
    }
    Ok(reports)
}

fn check_one(
    dossier: &Path,
    report: &mut SignatureReport,
    origin: Option<&str>,
    root: Option<&Hash>,
    allowed: Option<&AllowedSigners>,
) -> Result<Result<(), Wrong>, Error> {
    let size = report.size;
    let checkpoint_file = checkpoint_name(size);
    let Some(signed) = disk::read_from(&at(dossier, &checkpoint_file), 0)? else {
        return Ok(Err((checkpoint_file, "is missing; it holds what was signed".to_owned())));
    };
    // The entry names the key, and so the file; nothing else in the folder is opened.
    let Some(digest) = hex_of(&report.fingerprint) else {
        return Ok(Err((ENTRIES.to_owned(), "names no fingerprint of a key".to_owned())));
    };
    let signature_file = signature_name(size, &digest);
    let Some(signature) = disk::read_from(&at(dossier, &signature_file), 0)? else {
        return Ok(Err((signature_file, "is missing; it holds the signature".to_owned())));
    };
    let note = if report.note { disk::read_from(&at(dossier, &note_name(size)), 0)? } else { None };
    let verdict = (|| {
        let signature = Sshsig::read(&signature).map_err(|what| (signature_file.clone(), what))?;
        report.key = key_line(signature.key());
        if fingerprint(signature.key()) != report.fingerprint || fingerprint_hex(signature.key()) != digest {
            return Err((signature_file.clone(), "is by another key than its entry names".to_owned()));
        }
        let Some(checkpoint) = Checkpoint::parse(&signed).filter(|checkpoint| checkpoint.size == size) else {
            return Err((checkpoint_file.clone(), "was changed: it is no checkpoint of that size".to_owned()));
        };
        if let Err(what) = signature.check(&signed) {
            // Which of the two was changed the log tells, where it can.
            let as_log = root == Some(&checkpoint.root) && origin == Some(&checkpoint.origin);
            let file = if as_log { &signature_file } else { &checkpoint_file };
            let what = if as_log { what } else { "was changed: its signature does not hold".to_owned() };
            return Err((file.clone(), what));
        }
        if origin.is_some_and(|origin| origin != checkpoint.origin) {
            return Err((checkpoint_file.clone(), "was signed for another log: it names another origin".to_owned()));
        }
        if root.is_some_and(|root| *root != checkpoint.root) {
            let what = format!("was signed for another log: its root is not that of the first {size} entries");
            return Err((checkpoint_file.clone(), what));
        }
        if report.note {
            let Some(note) = &note else {
                return Err((note_name(size), "is missing; it holds the signed note".to_owned()));
            };
            let text = checkpoint.to_text();
            check_note(note, &text, &checkpoint.origin, signature.key()).map_err(|what| (note_name(size), what))?;
        }
        report.known = allowed.and_then(|allowed| allowed.principal(signature.key())).map(str::to_owned);
        Ok(())
    })();
    Ok(verdict)
}

/// The digest behind `SHA256:…` in hexadecimal digits.
fn hex_of(fingerprint: &str) -> Option<String> {
    let fingerprint: ssh_key::Fingerprint = fingerprint.parse().ok()?;
    fingerprint.sha256().map(|digest| crate::tree::to_hex(&digest))
}

/// The size that the name of a signature file tells.
pub(super) fn size_of(name: &str) -> Option<u64> {
    name.split('.').next().and_then(|size| size.parse().ok())
}

/// Looks at signed checkpoints that no entry names. `names`: what the folder held before the entries were read.
///
/// Their files are written just before the entry, so one of them may be left for the entry that would be next. Any
/// other tells of entries that were cut off or replaced.
pub(super) fn check_strays(
    dossier: &Path,
    names: &[String],
    slots: &[Slot],
    faults: &mut Faults,
    notes: &mut Vec<String>,
) -> Result<(), Error> {
    let entries = slots.len() as u64;
    let signed = |size: u64| {
        let slot = size.checked_sub(1).and_then(|seq| slots.get(usize::try_from(seq).ok()?));
        slot.is_some_and(|slot| slot.record.as_ref().is_none_or(|record| record.kind == Kind::Sign))
    };
    let stray: Vec<&String> = names.iter().filter(|name| size_of(name).is_none_or(|size| !signed(size))).collect();
    let mut candidates: Vec<Checkpoint> = Vec::new();
    for name in &stray {
        let Some(size) = size_of(name).filter(|size| **name == format!("{size}.checkpoint")) else { continue };
        let text = disk::read_from(&at(dossier, &checkpoint_name(size)), 0)?.unwrap_or_default();
        let own = |c: &Checkpoint| {
            let mut records = slots.iter().filter_map(|slot| slot.record.as_ref());
            c.size == size && records.any(|record| record.origin() == Some(&c.origin))
        };
        candidates.extend(Checkpoint::parse(&text).filter(own));
    }
    let sizes: BTreeSet<u64> = candidates.iter().map(|c| c.size).collect();
    let roots = roots_at(slots, &sizes);
    for checkpoint in candidates {
        let (size, file) = (checkpoint.size, checkpoint_name(checkpoint.size));
        if size > entries + 1 {
            let what = format!("{}: {file} was signed over {size} entries", missing(entries, size));
            faults.add(Some(entries), ENTRIES, what);
        } else if size <= entries && roots.get(&size).is_some_and(|root| *root != checkpoint.root) {
            let what = format!("was signed for other entries than the first {size} of this log");
            faults.add(Some(size - 1), &file, what);
        }
    }
    if !stray.is_empty() {
        notes.push(format!("{} files in {SIGNATURES} are named by no entry", stray.len()));
    }
    Ok(())
}
