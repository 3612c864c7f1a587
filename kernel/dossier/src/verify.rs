//! The verdict on a whole dossier, for whoever receives it.

use std::path::Path;

use serde::Serialize;

use crate::disk;
use crate::error::Error;
use crate::examine::{Overview, SignatureReport, overview};
use crate::fault::Fault;
use crate::layout::{CHECKPOINT, ENTRIES, LOCK, at, is_own};
use crate::parents::{self, Checked, ParentReport};
use crate::record::{Kind, Record};
use crate::sign::AllowedSigners;
use crate::tree::to_hex;
use crate::view::View;

/// What a verification of a dossier shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// Number of entries, unreadable ones included.
    pub entries: u64,
    /// RFC 6962 root over the entries as they stand, 64 hexadecimal digits; `None` if one is missing or unreadable.
    pub root: Option<String>,
    /// Name of the log: that of its last fork, or else of its first entry.
    pub origin: Option<String>,
    /// What is not as it was written.
    pub faults: Vec<Fault>,
    /// True if there is no fault.
    pub integrity: bool,
    /// Entries that the checkpoint covers; `None` if there is none that can be read, so that it cannot be told
    /// whether entries were cut off at the end.
    pub checkpoint: Option<u64>,
    /// Entries after the checkpoint: no root vouches for them yet. All of them if there is no checkpoint.
    pub unproved_tail: u64,
    /// True if an append was interrupted; the next session to open the dossier recovers it.
    pub torn: bool,
    /// The signatures, in the order of their entries. One that is not valid is a fault, too.
    pub signatures: Vec<SignatureReport>,
    /// The logs that were joined to this one. One that is not as it was is a fault, too.
    pub parents: Vec<ParentReport>,
    /// The entries by which a whole log is judged, in order: kinds log, recover, redact, fork, sign, import, declare,
    /// opened, verdict, and what repeats an entry of an imported log. Unreadable ones are not among them.
    #[serde(skip)]
    pub landmarks: Vec<Record>,
    /// What a reader must know besides; the first says what this verification does not show.
    pub notes: Vec<String>,
}

/// What integrity alone does not show.
const INTEGRITY_IS_NOT_HONESTY: &str = "this shows integrity, not honesty: who writes a log can write another one in its \
     place, and only a witness outside it, who saw an earlier root, can tell";

/// Reads and checks everything in a dossier: entries, checkpoint, disclosures, blobs, quarantine, signatures. Writes
/// nothing and takes no lock. Whose keys signed it does not say; see [`verify_signed`].
/// # Errors
/// [`Error::NotADossier`] if there is no log; [`Error::Io`] if a file cannot be read. A fault is not an error.
pub fn verify(path: impl AsRef<Path>) -> Result<Verification, Error> {
    verify_signed(path, None)
}

/// As [`verify`], and names the signers whose keys the verifier knows.
/// # Errors
/// As [`verify`].
pub fn verify_signed(path: impl AsRef<Path>, allowed: Option<&AllowedSigners>) -> Result<Verification, Error> {
    verify_below(path.as_ref(), allowed, 0)
}

/// As [`verify_signed`], `depth` imports below the log that was asked for.
pub(crate) fn verify_below(path: &Path, allowed: Option<&AllowedSigners>, depth: usize) -> Result<Verification, Error> {
    if !at(path, ENTRIES).is_file() && !at(path, CHECKPOINT).is_file() {
        return Err(Error::NotADossier { path: path.to_path_buf(), why: "it has no entries.jsonl" });
    }
    let mut found = overview(path, allowed)?;
    let entries = found.entries;
    if entries == 0 && found.faults.is_empty() {
        let what = "holds no complete entry, not even the one that opens a log".to_owned();
        found.faults.push(Fault { entry: Some(0), file: ENTRIES.to_owned(), what });
    }
    let joined = joined(path, &found, allowed, depth)?;
    found.faults.extend(joined.faults);
    let mut notes = vec![INTEGRITY_IS_NOT_HONESTY.to_owned()];
    let unproved_tail = entries.saturating_sub(found.checkpoint.unwrap_or_default());
    if unproved_tail > 0 {
        notes.push(format!("the last {unproved_tail} of {entries} entries were written after the checkpoint"));
    }
    if found.torn_entry {
        notes.push(format!("{ENTRIES} ends in an incomplete line that no checkpoint covers"));
    }
    notes.append(&mut found.notes);
    notes.extend(joined.notes);
    notes.extend(strangers(path)?);
    Ok(Verification {
        entries,
        root: found.root.map(|root| to_hex(&root)),
        origin: found.origin,
        checkpoint: found.checkpoint,
        integrity: found.faults.is_empty(),
        unproved_tail,
        torn: found.torn_entry || found.leftover,
        signatures: found.signatures,
        parents: joined.reports,
        landmarks: found.landmarks,
        notes,
        faults: found.faults,
    })
}

/// What the joined logs show.
fn joined(path: &Path, found: &Overview, allowed: Option<&AllowedSigners>, depth: usize) -> Result<Checked, Error> {
    let records: Vec<&Record> = found.landmarks.iter().filter(|r| r.kind == Kind::Import || r.from.is_some()).collect();
    // Where the log itself is not sound, its values cannot be read; the joined logs are checked all the same.
    let repeats = records.iter().any(|record| record.from.is_some());
    let log = if repeats && found.faults.is_empty() { View::read(path).ok() } else { None };
    let value = |seq: u64, field: &str| log.as_ref()?.value(seq, field).ok()?;
    parents::check(path, &records, &value, allowed, depth)
}

/// Notes about what does not belong into the folder.
fn strangers(path: &Path) -> Result<Vec<String>, Error> {
    let foreign: Vec<String> = disk::names(path)?.into_iter().filter(|name| !is_own(name)).collect();
    let mut notes = Vec::new();
    if !foreign.is_empty() {
        let names = foreign.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
        notes.push(format!("{} files in the folder do not belong to the dossier: {names}", foreign.len()));
    }
    let bytes = disk::length(&at(path, LOCK))?;
    if bytes > 0 {
        notes.push(format!("{LOCK} holds {bytes} bytes, although nothing is ever written to it"));
    }
    Ok(notes)
}
