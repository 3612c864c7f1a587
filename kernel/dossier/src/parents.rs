//! Logs that were joined to this one: where they stand, and whether they and what is repeated of them are as they were.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::checkpoint::Checkpoint;
use crate::disk;
use crate::error::Error;
use crate::examine::SignatureReport;
use crate::fault::Fault;
use crate::fork::{origin_hex, parent_of};
use crate::layout::{ENTRIES, PARENTS, at};
use crate::record::{Kind, Record};
use crate::sign::AllowedSigners;
use crate::tree::to_hex;
use crate::verify::verify_below;
use crate::view::View;

/// Joined logs may have joined others; deeper than this they are not looked into.
const DEEPEST: usize = 16;

/// A log that was joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parent {
    /// The entry that joined it.
    pub entry: u64,
    /// What it was then; a later import may have brought more of it.
    pub state: Checkpoint,
    /// Its folder, a dossier; [`crate::Dossier::read`] opens it.
    pub folder: PathBuf,
}

/// What a verification shows of a joined log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParentReport {
    /// The entry that joined it.
    pub entry: u64,
    /// Its origin.
    pub origin: String,
    /// Its entries then.
    pub entries: u64,
    /// Its root then, 64 hexadecimal digits.
    pub root: String,
    /// True if it is as it was, with all that it holds.
    pub integrity: bool,
    /// Who signed it.
    pub signatures: Vec<SignatureReport>,
}

/// The joined logs that these records name.
pub(crate) fn of<'a>(dossier: &Path, records: impl Iterator<Item = &'a Record>) -> Vec<Parent> {
    let joined = records.filter(|record| record.kind == Kind::Import && record.from.is_none()).filter_map(|record| {
        let state = parent_of(record)?;
        let folder = at(dossier, &format!("{PARENTS}/{}", origin_hex(&state.origin)?));
        Some(Parent { entry: record.seq, state, folder })
    });
    joined.collect()
}

/// What the joined logs show.
#[derive(Default)]
pub(crate) struct Checked {
    pub(crate) reports: Vec<ParentReport>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) notes: Vec<String>,
}

/// Verifies every joined log, and compares what is repeated of it. `records`: at least those of kind `import` and those
/// that repeat an entry. `values`: gives a private value of this log, `None` where it cannot be told.
pub(crate) fn check(
    dossier: &Path,
    records: &[&Record],
    value: &dyn Fn(u64, &str) -> Option<String>,
    allowed: Option<&AllowedSigners>,
    depth: usize,
) -> Result<Checked, Error> {
    let mut checked = Checked::default();
    let mut logs: BTreeMap<String, View> = BTreeMap::new();
    let mut broken: Vec<String> = Vec::new();
    let joined = of(dossier, records.iter().copied());
    for parent in &joined {
        let Checkpoint { origin, size, root } = &parent.state;
        let name = format!("{PARENTS}/{}", origin_hex(origin).unwrap_or_default());
        let mut report = ParentReport {
            entry: parent.entry,
            origin: origin.clone(),
            entries: *size,
            root: to_hex(root),
            integrity: false,
            signatures: Vec::new(),
        };
        let mut fault =
            |what: String| checked.faults.push(Fault { entry: Some(parent.entry), file: name.clone(), what });
        if depth >= DEEPEST {
            fault(format!("is joined more than {DEEPEST} logs deep, which is not looked into"));
        } else if std::fs::symlink_metadata(&parent.folder).is_ok_and(|m| m.is_symlink()) {
            fault("is a link, not the log that was joined".to_owned());
        } else if !at(&parent.folder, ENTRIES).is_file() {
            fault("is missing: the log that was joined is not there".to_owned());
        } else {
            let found = verify_below(&parent.folder, allowed, depth + 1)?;
            report.signatures = found.signatures;
            for inner in &found.faults {
                fault(format!("was changed: {inner}"));
            }
            if found.integrity {
                let log = View::read(&parent.folder)?;
                report.integrity = log.extends(&parent.state).unwrap_or(false);
                logs.insert(origin.clone(), log);
            }
            if found.integrity && !report.integrity {
                fault("is not the log that was joined: it has another root".to_owned());
            }
        }
        if !report.integrity {
            broken.push(origin.clone());
        }
        checked.reports.push(report);
    }
    for record in records {
        let Some(from) = record.from.as_ref().filter(|from| !broken.contains(&from.origin)) else { continue };
        // What no import names is a fault of the log itself, found there.
        let Some(theirs) = logs.get(&from.origin).and_then(|log| Some((log, log.record(from.seq)?))) else { continue };
        if let Some(what) = differs(record, theirs, value) {
            let what = format!("repeats entry {} of {}, but {what}", from.seq, from.origin);
            checked.faults.push(Fault { entry: Some(record.seq), file: ENTRIES.to_owned(), what });
        }
    }
    let names = disk::names(&at(dossier, PARENTS))?;
    let known = |name: &String| joined.iter().any(|p| origin_hex(&p.state.origin) == Some(name.as_str()));
    let strays = names.iter().filter(|name| !known(name)).count();
    if strays > 0 {
        checked.notes.push(format!("{strays} folders in {PARENTS} were joined by no entry"));
    }
    Ok(checked)
}

/// What of a repeated entry is not as in the log that it comes from.
fn differs(
    own: &Record,
    (log, theirs): (&View, &Record),
    value: &dyn Fn(u64, &str) -> Option<String>,
) -> Option<String> {
    let public = own.kind == theirs.kind
        && own.status == theirs.status
        && own.environment == theirs.environment
        && own.reads == theirs.reads
        && own.writes == theirs.writes
        && own.blobs == theirs.blobs
        && own.body == theirs.body;
    if !public {
        return Some("does not say the same".to_owned());
    }
    if let Some(field) = own.committed.keys().find(|field| !theirs.committed.contains_key(*field)) {
        return Some(format!("holds a value `{field}`, which that one does not"));
    }
    for (field, committed) in &theirs.committed {
        match own.committed.get(field) {
            None if log.is_redacted(theirs.seq, field) => {}
            None => return Some(format!("leaves out the value `{field}`")),
            Some(copy) if copy.bytes != committed.bytes => {
                return Some(format!("its value `{field}` has another length"));
            }
            Some(_) => {
                let there = log.value(theirs.seq, field).ok().flatten();
                let here = value(own.seq, field);
                if here.is_some() && there.is_some() && here != there {
                    return Some(format!("its value `{field}` is another one"));
                }
            }
        }
    }
    None
}
