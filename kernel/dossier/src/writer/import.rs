//! Joining another log as a parent: its folder goes below `parents/`, and the entries that matter here are repeated in
//! this log, in their order, each naming the entry that it repeats. What this log says from then on stands on them.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;

use super::{Appended, Dossier};
use crate::checkpoint::Checkpoint;
use crate::disk::{self, io_error};
use crate::draft::{Draft, prepare, prepare_from};
use crate::error::Error;
use crate::fork::{described, origin_hex, parent_of};
use crate::layout::{CHECKPOINT, CONTENT, DISCLOSURES, ENTRIES, PARENTS, SIGNATURES, TEMPORARY, at};
use crate::record::{Kind, Record, Repeated};
use crate::state::Key;
use crate::tree::to_hex;
use crate::verify::verify;
use crate::view::View;

/// What an import leaves behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The `import` entry; that of an earlier import if this log was joined already.
    pub entry: u64,
    /// The last entry written; `None` if nothing was to be done.
    pub appended: Option<Appended>,
    /// The log that was joined, as it was then.
    pub parent: Checkpoint,
    /// Where it stands now, below the dossier's folder.
    pub folder: String,
    /// Entries that repeat one of its entries, of this import.
    pub repeated: Vec<u64>,
    /// Values that its writer redacted since an earlier import, and that are gone here, too.
    pub redacted: usize,
}

/// What is kept of a log that is joined: what is evidence in it.
const EVIDENCE: [&str; 6] = [ENTRIES, CHECKPOINT, CONTENT, DISCLOSURES, SIGNATURES, PARENTS];

impl Dossier {
    /// Joins the log in the folder `from`, of which nothing is executed. `draft` says what the caller adds to the
    /// `import` entry, of which the body is the log's own. Entries of the kinds `repeat` are repeated here with all that
    /// is disclosed of them. Joining a log again that has grown since repeats what is new; what its writer has redacted
    /// since is taken out here, too. An import that was interrupted is completed by doing it again.
    /// # Errors
    /// [`Error::OlderThanJoined`]; [`Error::NotImportable`] if that log is this one, does not verify, or is another one than was joined under its
    /// origin before; [`Error::NotADossier`]. As [`Dossier::append`] besides.
    pub fn import(&mut self, from: &Path, repeat: &[Kind], draft: Draft) -> Result<Imported, Error> {
        draft.check_fields()?;
        let refuse = |why: String| Error::NotImportable { path: from.to_path_buf(), why };
        let found = verify(from)?;
        if let Some(fault) = found.faults.first() {
            return Err(refuse(format!("it does not verify: {fault}")));
        }
        let parent = View::read(from)?;
        let state = parent.checkpoint();
        let Some(hex) = origin_hex(&state.origin) else {
            return Err(refuse(format!("its origin {:?} is not one that this program gives", state.origin)));
        };
        let folder = format!("{PARENTS}/{hex}");
        self.transaction(|dossier| {
            if dossier.origin() == state.origin {
                return Err(refuse("it is this log itself, or a copy of it".to_owned()));
            }
            let before: Vec<(u64, Checkpoint)> = dossier
                .records()
                .filter(|record| record.kind == Kind::Import && record.from.is_none())
                .filter_map(|record| Some((record.seq, parent_of(record)?)))
                .filter(|(_, before)| before.origin == state.origin)
                .collect();
            if before
                .iter()
                .any(|(_, earlier)| earlier.size <= state.size && !matches!(parent.extends(earlier), Ok(true)))
            {
                return Err(refuse(OTHER.to_owned()));
            }
            let longest = before.iter().max_by_key(|(_, earlier)| earlier.size);
            if let Some((_, longest)) = longest.filter(|(_, earlier)| earlier.size > state.size) {
                let known = View::read(&at(dossier.path(), &folder))?;
                if known.extends(&state)? {
                    let (path, given, known) = (from.to_path_buf(), state.size, longest.size);
                    return Err(Error::OlderThanJoined { path, given, known });
                }
                return Err(refuse(OTHER.to_owned()));
            }
            let known = longest.filter(|(_, earlier)| earlier.size == state.size).map(|(seq, _)| *seq);
            dossier.keep_parent(from, &folder)?;
            let (cell, start) = (draft.cell.clone(), draft.start);
            let (entry, mut appended) = match known {
                Some(seq) => (seq, None),
                None => {
                    let draft =
                        Draft { kind: Kind::Import, body: serde_json::json!({ "parent": described(&state) }), ..draft };
                    let entry = prepare(draft, &dossier.view.state, &dossier.session, dossier.mono_us())?;
                    let appended = dossier.write(entry)?;
                    (appended.seq, Some(appended))
                }
            };
            let there: BTreeSet<u64> = dossier.repeats(&state.origin).map(|(_, theirs)| theirs).collect();
            for record in parent.records().filter(|r| repeat.contains(&r.kind) && !there.contains(&r.seq)) {
                let draft = Draft { cell: cell.clone(), start, ..repetition(&parent, record)? };
                let from = Repeated { origin: state.origin.clone(), seq: record.seq };
                let (view, session) = (&dossier.view.state, &dossier.session);
                let entry = prepare_from(draft, Some(from), view, session, dossier.mono_us())?;
                appended = Some(dossier.write(entry)?);
            }
            let gone = dossier.redacted_since(&parent, &state.origin);
            if !gone.is_empty() {
                appended = Some(dossier.take_out(&gone, "the writer of the imported log took it out there")?);
            }
            let repeated = dossier.repeats(&state.origin).filter(|(_, theirs)| !there.contains(theirs));
            let repeated = repeated.map(|(own, _)| own).collect();
            Ok(Imported {
                entry,
                appended,
                parent: state.clone(),
                folder: folder.clone(),
                repeated,
                redacted: gone.len(),
            })
        })
    }

    /// Own and their number of every entry that repeats one of that log.
    fn repeats<'a>(&'a self, origin: &'a str) -> impl Iterator<Item = (u64, u64)> + 'a {
        self.records().filter_map(move |record| {
            let from = record.from.as_ref().filter(|from| from.origin == origin)?;
            Some((record.seq, from.seq))
        })
    }

    /// Values that stand here and were taken out there.
    fn redacted_since(&self, parent: &View, origin: &str) -> Vec<Key> {
        let fields = |(own, theirs): (u64, u64)| {
            let there = parent.record(theirs).into_iter().flat_map(|record| record.committed.keys());
            there
                .filter(|field| parent.is_redacted(theirs, field))
                .filter(|field| self.record(own).is_some_and(|record| record.committed.contains_key(*field)))
                .filter(|field| !self.is_redacted(own, field))
                .map(|field| (own, field.clone()))
                .collect::<Vec<Key>>()
        };
        self.repeats(origin).flat_map(fields).collect()
    }

    /// Copies the evidence of a log below `parents/`, durably, in place of an earlier state of it. The caller holds the
    /// lock. Interrupted before the entry that names it, it stands there unused.
    fn keep_parent(&self, from: &Path, folder: &str) -> Result<(), Error> {
        let target = at(self.path(), folder);
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(Error::NoRandomness)?;
        let temporary = at(self.path(), TEMPORARY).join(to_hex(&random));
        disk::create_folder(&temporary)?;
        for part in EVIDENCE {
            copy(&at(from, part), &at(&temporary, part))?;
        }
        disk::create_folder(&at(self.path(), PARENTS))?;
        disk::sync_parent(&at(self.path(), PARENTS))?;
        let old = at(self.path(), TEMPORARY).join(format!("{}-old", to_hex(&random)));
        match fs::rename(&target, &old) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            moved => moved.map_err(io_error("move aside", &target))?,
        }
        fs::rename(&temporary, &target).map_err(io_error("put in place", &target))?;
        disk::sync_parent(&target)?;
        if old.is_dir() {
            fs::remove_dir_all(&old).map_err(io_error("remove", &old))?;
        }
        Ok(())
    }
}

const OTHER: &str =
    "it is another log than the one that was joined under its origin before: one of the two was written anew";

/// All that an entry says and discloses, but for its place.
fn repetition(parent: &View, record: &Record) -> Result<Draft, Error> {
    let mut private = Vec::new();
    for field in record.committed.keys() {
        if let Some(value) = parent.value(record.seq, field)? {
            private.push((field.clone(), value));
        }
    }
    let mut blobs = Vec::new();
    for (field, blob) in &record.blobs {
        blobs.push((field.clone(), parent.blob(&blob.blob)?));
    }
    Ok(Draft {
        status: record.status.clone(),
        environment: record.environment.clone(),
        reads: record.reads.clone(),
        writes: record.writes.clone(),
        private,
        blobs,
        body: record.body.clone(),
        ..Draft::new(record.kind)
    })
}

/// Copies a file or folder, durably; links are not followed, and what is not there is left out.
fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    let kind = match fs::symlink_metadata(from) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        metadata => metadata.map_err(io_error("look at", from))?.file_type(),
    };
    if kind.is_dir() {
        disk::create_folder(to)?;
        for name in disk::names(from)? {
            copy(&from.join(&name), &to.join(&name))?;
        }
        return disk::sync_folder(to);
    }
    if !kind.is_file() {
        return Err(Error::NotImportable {
            path: from.to_path_buf(),
            why: "it is a link or a special file".to_owned(),
        });
    }
    if let Some(parent) = to.parent() {
        disk::create_folder(parent)?;
    }
    fs::copy(from, to).map_err(io_error("copy", from))?;
    let file = File::open(to).map_err(io_error("open", to))?;
    disk::sync_data(&file, to)
}
