//! Blobs and quarantined tails against the entries that name them.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Commitments, Slot};
use crate::blobs::digest_of_file;
use crate::disclosure::SALT_BYTES;
use crate::disk;
use crate::error::Error;
use crate::fault::Faults;
use crate::layout::{CONTENT, ENTRIES, QUARANTINE, TEMPORARY, at, blob_name};
use crate::record::{Kind, Record};
use crate::tree::from_hex;

/// A tail that was moved aside, as a `recover` entry lists it under `moved`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Moved {
    /// File below the dossier's folder that it stood in.
    pub(crate) from: String,
    /// Offset there.
    pub(crate) at: u64,
    /// Length in bytes.
    pub(crate) bytes: u64,
    /// SHA-256 of it.
    pub(crate) sha256: String,
    /// File below the dossier's folder that holds it now.
    pub(crate) to: String,
}

impl Moved {
    /// What a `recover` entry lists.
    pub(crate) fn listed_in(record: &Record) -> Vec<Moved> {
        if record.kind != Kind::Recover {
            return Vec::new();
        }
        let list = record.body.get("moved").and_then(|m| m.as_array());
        list.into_iter().flatten().filter_map(|item| Moved::deserialize(item).ok()).collect()
    }
}

/// Files of the quarantine that no entry lists: recovery was interrupted before it was logged.
pub(crate) fn stray_quarantine<'a>(
    dossier: &Path,
    records: impl Iterator<Item = &'a Record>,
) -> Result<Vec<String>, Error> {
    let listed: Vec<String> = records.flat_map(Moved::listed_in).map(|moved| moved.to).collect();
    let names = disk::names(&at(dossier, QUARANTINE))?;
    Ok(names.into_iter().map(|name| format!("{QUARANTINE}/{name}")).filter(|name| !listed.contains(name)).collect())
}

/// Compares quarantined tails with what the readable entries, given with their numbers, say of them.
pub(super) fn check_quarantine<'a>(
    dossier: &Path,
    records: impl Iterator<Item = (usize, &'a Record)> + Clone,
    faults: &mut Faults,
    notes: &mut Vec<String>,
) -> Result<(), Error> {
    let present = disk::names(&at(dossier, QUARANTINE))?;
    for (seq, record) in records.clone() {
        if faults.of_entry(seq) {
            continue;
        }
        for moved in Moved::listed_in(record) {
            // Only what the folder itself lists is opened: a name in an entry leads nowhere else.
            let name = moved.to.strip_prefix("quarantine/").filter(|name| present.iter().any(|p| p == name));
            match name.map(|name| digest_of_file(&at(dossier, QUARANTINE).join(name))).transpose()?.flatten() {
                Some((digest, _)) if digest == moved.sha256 => {}
                Some(_) => faults.add(Some(seq as u64), &moved.to, "was changed after it was moved aside"),
                None => notes.push(format!("{}, which entry {seq} moved aside, is gone", moved.to)),
            }
        }
    }
    let stray = stray_quarantine(dossier, records.map(|(_, record)| record))?;
    if !stray.is_empty() {
        notes.push(format!("{} files in {QUARANTINE} are listed by no entry", stray.len()));
    }
    Ok(())
}

struct Named {
    entry: u64,
    field: String,
    bytes: u64,
    redacted: bool,
}

/// Hashes every blob once and compares it with all the entries that name it.
pub(super) fn check_blobs(
    dossier: &Path,
    slots: &[Slot],
    commitments: &Commitments,
    faults: &mut Faults,
    notes: &mut Vec<String>,
) -> Result<(), Error> {
    let mut named: BTreeMap<&str, Vec<Named>> = BTreeMap::new();
    for (seq, slot) in slots.iter().enumerate() {
        let Some(record) = &slot.record else { continue };
        let public = record.blobs.iter().map(|(field, b)| (field, b.blob.as_str(), b.bytes));
        let private = record.committed.iter().filter(|(_, c)| c.blob);
        let private = private.map(|(field, c)| (field, c.commit.as_str(), c.bytes.saturating_add(SALT_BYTES as u64)));
        for (field, digest, bytes) in public.chain(private) {
            let entry = seq as u64;
            // Checked before it becomes part of a path.
            if from_hex(digest).is_none() {
                faults.add(
                    Some(entry),
                    ENTRIES,
                    format!("names the blob of `{field}` by something that is not a SHA-256"),
                );
                continue;
            }
            let redacted = commitments.redacted.contains(&(entry, field.clone()));
            named.entry(digest).or_default().push(Named { entry, field: field.clone(), bytes, redacted });
        }
    }
    let mut kept = 0;
    for (digest, references) in &named {
        let name = blob_name(digest);
        let found = digest_of_file(&at(dossier, &name))?;
        kept += usize::from(found.is_some() && references.iter().all(|named| named.redacted));
        for Named { entry, field, bytes, redacted } in references {
            match &found {
                Some((content, _)) if content != digest => {
                    faults.add(
                        Some(*entry),
                        &name,
                        format!("holds `{field}` and was changed: its SHA-256 is {content}"),
                    );
                }
                Some((_, length)) if length != bytes => {
                    faults.add(Some(*entry), &name, format!("has {length} bytes where `{field}` has {bytes}"));
                }
                Some(_) => {}
                None if *redacted => {}
                None if commitments.unsure => {
                    notes.push(format!(
                        "{name} is missing; whether `{field}` of entry {entry} was redacted cannot be told"
                    ));
                }
                None => {
                    faults.add(
                        Some(*entry),
                        &name,
                        format!("is missing; it holds `{field}`, and no entry says that it was redacted"),
                    );
                }
            }
        }
    }
    if kept > 0 {
        notes.push(format!("{kept} blobs of redacted values are not yet removed; the next session does that"));
    }
    note_others(dossier, |name| named.contains_key(name), notes)
}

/// Notes the files among the blobs that no entry names.
pub(super) fn note_others(
    dossier: &Path,
    is_named: impl Fn(&str) -> bool,
    notes: &mut Vec<String>,
) -> Result<(), Error> {
    let mut unnamed = 0;
    for folder in disk::names(&at(dossier, CONTENT))? {
        let names = disk::names(&at(dossier, CONTENT).join(&folder))?;
        unnamed += names.iter().filter(|name| !is_named(name) || !name.starts_with(&folder)).count();
    }
    if unnamed > 0 {
        notes.push(format!("{unnamed} files below {CONTENT} are named by no entry"));
    }
    let temporary = disk::names(&at(dossier, TEMPORARY))?.len();
    if temporary > 0 {
        notes.push(format!("{temporary} temporary files of interrupted writes stand in {TEMPORARY}"));
    }
    Ok(())
}
