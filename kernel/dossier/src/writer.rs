//! Appending, and the order of writes that makes an acknowledged entry durable and an interrupted one harmless.

mod gc;
mod import;
mod place;
mod redact;
mod sign;

use std::ops::Deref;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use crate::blobs;
use crate::disk::{self, Lock};
use crate::draft::{Draft, Prepared, prepare};
use crate::error::Error;
use crate::examine::{Extent, Moved, examine, stray_quarantine};
use crate::fork::new_origin;
use crate::layout::{CHECKPOINT, ENTRIES, FOLDERS, QUARANTINE, TEMPORARY, VALUES, at, is_own};
use crate::record::{FORMAT, Kind};
use crate::state::{Leftover, Span};
use crate::tree::{leaf_hash, sha256, to_hex};
use crate::view::View;

pub use gc::Collected;
pub use import::Imported;
pub use sign::Signed;
pub(crate) use sign::{checkpoint_name, note_name, signature_name};

/// A dossier open for appending. Any number of them, in any number of processes, may be open on one folder: each
/// append is a transaction under the folder's lock that first takes in what the others appended.
#[derive(Debug)]
pub struct Dossier {
    view: View,
    session: String,
    opened: Instant,
    /// How many of the known redactions are carried out, the places of the other values being known since.
    redacted: usize,
    /// What `entries.jsonl` is told by from a copy of it.
    place: Option<String>,
    /// The sync failure after which nothing is written any more.
    stopped: Option<String>,
}

/// What an append leaves behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// Number of the entry.
    pub seq: u64,
    /// Its leaf hash, 64 hexadecimal digits.
    pub leaf_hash: String,
    /// Root over all entries up to this one, 64 hexadecimal digits.
    pub root_hex: String,
}

impl Deref for Dossier {
    type Target = View;
    fn deref(&self) -> &View {
        &self.view
    }
}

impl Dossier {
    /// Opens a dossier to append to it; creates folder and first entry if they are not there. What an interrupted
    /// append left is moved to the quarantine and a `recover` entry says so. `session` is written into every
    /// entry.
    /// # Errors
    /// [`Error::Tampered`] if anything else is not as it was written; [`Error::NotADossier`] if the folder holds
    /// something else; [`Error::Io`], [`Error::NotDurable`].
    pub fn open(path: impl AsRef<Path>, session: impl Into<String>) -> Result<Self, Error> {
        let path = path.as_ref();
        create_folders(path)?;
        let _lock = disk::lock(path)?;
        remove_temporaries(path)?;
        let found = examine(path, Extent::Log)?;
        let (torn, leftover) = (found.torn_entry, found.leftover);
        let view = View { path: path.to_path_buf(), state: found.into_state()? };
        let unlogged = stray_quarantine(path, view.records())?;
        // Both files must have a durable name before the first append, which syncs their content only.
        for file in [ENTRIES, VALUES] {
            let file = at(path, file);
            disk::open_to_append(&file)?;
            disk::sync_parent(&file)?;
        }
        let (opened, stopped) = (Instant::now(), None);
        let mut dossier = Dossier { view, session: session.into(), opened, redacted: 0, place: None, stopped };
        let parent = dossier.checkpoint();
        if parent.size == 0 {
            // Before the first entry: interrupted here or later, a new log never takes itself for a copy.
            dossier.settle(parent.clone())?;
        }
        let moved = unlogged.iter().map(|name| dossier.moved_before(name)).collect::<Result<Vec<_>, _>>()?;
        dossier.recover(moved, torn, leftover)?;
        dossier.finish_redactions()?;
        dossier.settle(parent)?;
        Ok(dossier)
    }

    /// Reads a dossier without locking or writing; see [`View`].
    /// # Errors
    /// [`Error::NotADossier`], [`Error::Tampered`], [`Error::Io`].
    pub fn read(path: impl AsRef<Path>) -> Result<View, Error> {
        View::read(path.as_ref())
    }

    /// The session's name, as it stands in the entries.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Appends an entry. When this returns, the entry and all that it refers to are durable.
    /// # Errors
    /// [`Error::LeafTooLarge`], [`Error::DuplicateField`], [`Error::NoSuchStart`], [`Error::ReservedKind`],
    /// [`Error::Unreadable`]: nothing was written. [`Error::NotDurable`]: the writer stops, and every later call
    /// gives [`Error::Stopped`]. [`Error::Io`]: the next append cleans up. [`Error::Tampered`],
    /// [`Error::ChangedUnderneath`].
    pub fn append(&mut self, draft: Draft) -> Result<Appended, Error> {
        match draft.kind {
            Kind::Log => return Err(Error::ReservedKind { kind: "log" }),
            Kind::Recover => return Err(Error::ReservedKind { kind: "recover" }),
            Kind::Redact => return Err(Error::ReservedKind { kind: "redact" }),
            Kind::Sign => return Err(Error::ReservedKind { kind: "sign" }),
            Kind::Fork => return Err(Error::ReservedKind { kind: "fork" }),
            Kind::Import => return Err(Error::ReservedKind { kind: "import" }),
            _ => draft.check_fields()?,
        }
        self.transaction(|dossier| {
            let entry = prepare(draft, &dossier.view.state, &dossier.session, dossier.mono_us())?;
            dossier.write(entry)
        })
    }

    /// Takes in what other writers appended, and writes the checkpoint over all entries.
    /// # Errors
    /// As [`Dossier::append`].
    pub fn write_checkpoint(&mut self) -> Result<(), Error> {
        self.transaction(|dossier| {
            let path = &dossier.view.path;
            disk::place(path, &at(path, CHECKPOINT), dossier.checkpoint().to_text().as_bytes())
        })
    }

    /// Runs `act` under the lock, with the log as it now stands; remembers a failed sync for good.
    fn transaction<T>(&mut self, act: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        if let Some(first) = &self.stopped {
            return Err(Error::Stopped { first: first.clone() });
        }
        let lock = match disk::lock(&self.view.path) {
            Err(Error::Io { path, source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                return Err(Error::ChangedUnderneath { path, what: "its folder is gone".to_owned() });
            }
            lock => lock?,
        };
        let result = self.catch_up(&lock).and_then(|()| act(self));
        if let Err(error @ Error::NotDurable { source, .. }) = &result {
            self.stopped = Some(format!("{error}: {source}"));
        }
        result
    }

    /// Writes an entry. The caller holds the lock.
    fn write(&mut self, entry: Prepared) -> Result<Appended, Error> {
        let path = &self.view.path;
        // 1. Blobs, each by temporary file, fsync, rename, fsync of its folder. Interrupted here, a file that nothing
        //    names is left.
        for (digest, content) in &entry.blobs {
            blobs::store(path, digest, content)?;
        }
        // 2. Disclosures: one write, fdatasync. They come before the entry, so that no entry ever stands without them.
        //    Interrupted here, lines for an entry that does not exist are left, which the next transaction moves aside.
        if !entry.values.is_empty() {
            let name = at(path, VALUES);
            let mut file = disk::open_to_append(&name)?;
            disk::append_once(&mut file, &name, &entry.values)?;
            disk::sync_data(&file, &name)?;
        }
        // 3. The leaf: one write, fdatasync. The entry exists from here on. Interrupted within the write, an incomplete
        //    line is left, which the next transaction moves aside.
        let name = at(path, ENTRIES);
        let mut file = disk::open_to_append(&name)?;
        disk::append_once(&mut file, &name, &entry.line)?;
        disk::sync_data(&file, &name)?;
        // 4. Memory, which follows the disk and never leads it.
        let state = &mut self.view.state;
        let leaf = &entry.line[..entry.line.len() - 1];
        let (seq, hash) = (entry.record.seq, leaf_hash(leaf));
        for (field, span) in entry.value_spans {
            state.values.insert((seq, field), Span { at: state.values_bytes + span.at, bytes: span.bytes });
        }
        state.values_bytes += entry.values.len() as u64;
        state.accept(entry.record, hash, leaf.len() as u64);
        Ok(Appended { seq, leaf_hash: to_hex(&hash), root_hex: to_hex(&state.frontier.root()) })
    }

    /// Takes in what others appended since the last transaction. Reads the last known line and what follows it, no
    /// more.
    fn catch_up(&mut self, _lock: &Lock) -> Result<(), Error> {
        let path = self.view.path.clone();
        let (entries, values) = (at(&path, ENTRIES), at(&path, VALUES));
        let state = &mut self.view.state;
        let changed = |path: &Path, what: String| Error::ChangedUnderneath { path: path.to_path_buf(), what };
        let short = |known: u64| format!("it is shorter than the {known} bytes known of it, or gone");
        let mut first_new = state.records.len();
        let (hash, span) = state.last.unwrap_or_default();
        let Some(bytes) = disk::read_from(&entries, span.at)?.filter(|b| b.len() as u64 > span.bytes) else {
            return Err(changed(&entries, short(state.entries_bytes)));
        };
        let (last, tail) = bytes.split_at(span.bytes as usize + 1);
        if last.split_last().is_none_or(|(end, leaf)| *end != b'\n' || leaf_hash(leaf) != hash) {
            return Err(changed(&entries, "its last known entry is another one".to_owned()));
        }
        let mut torn = None;
        for line in tail.split_inclusive(|b| *b == b'\n') {
            match line.strip_suffix(b"\n") {
                Some(line) => state.accept_line(line).map_err(|fault| Error::Tampered { fault, others: 0 })?,
                None => torn = Some(state.entries_bytes),
            }
        }
        let redactions = state.redacted.len() != self.redacted;
        if redactions {
            // Another session took values out, or an earlier try did: the lines behind them moved.
            state.values.clear();
            (state.values_bytes, first_new) = (0, 0);
        }
        let Some(tail) = disk::read_from(&values, state.values_bytes)? else {
            return Err(changed(&values, short(state.values_bytes)));
        };
        let leftover = state.accept_values(&tail, first_new);
        let leftover = leftover.map_err(|fault| Error::Tampered { fault, others: 0 })?;
        let parent = if self.moved()? { Some(self.checkpoint()) } else { None };
        self.recover(Vec::new(), torn, leftover)?;
        if redactions {
            self.finish_redactions()?;
        }
        parent.map_or(Ok(()), |parent| self.settle(parent))
    }

    /// Moves aside what an interrupted append left, opens the log if it has no entry, and logs what was moved,
    /// together with `moved`, what an earlier recovery moved without coming to log it. The caller holds the lock.
    fn recover(&mut self, mut moved: Vec<Moved>, torn: Option<u64>, leftover: Option<Leftover>) -> Result<(), Error> {
        self.remove_unused_signature()?;
        let entries = self.size();
        if let Some(offset) = torn {
            moved.push(self.move_aside(ENTRIES, "entries", offset)?);
        }
        if let Some(leftover) = leftover {
            moved.push(self.move_aside(VALUES, "values", leftover.at)?);
        }
        if entries == 0 {
            self.write_own(Kind::Log, json!({"origin": new_origin()?, "format": FORMAT}))?;
        }
        if moved.is_empty() {
            return Ok(());
        }
        self.write_own(Kind::Recover, json!({"moved": moved}))
    }

    fn write_own(&mut self, kind: Kind, body: Value) -> Result<(), Error> {
        let draft = Draft { body, ..Draft::new(kind) };
        let entry = prepare(draft, &self.view.state, &self.session, self.mono_us())?;
        self.write(entry).map(drop)
    }

    /// Copies the end of a file to the quarantine, durably, and only then cuts it off.
    fn move_aside(&self, file: &str, stem: &str, offset: u64) -> Result<Moved, Error> {
        let (dossier, source) = (&self.view.path, at(&self.view.path, file));
        let tail = disk::read_from(&source, offset)?.unwrap_or_default();
        let sha256 = to_hex(&sha256(&tail));
        let to = format!("{QUARANTINE}/{stem}-{offset}-{}", &sha256[..16]);
        disk::place(dossier, &at(dossier, &to), &tail)?;
        disk::cut(&source, offset)?;
        Ok(Moved { from: file.to_owned(), at: offset, bytes: tail.len() as u64, sha256, to })
    }

    /// Describes a file of the quarantine from its name and content.
    fn moved_before(&self, to: &str) -> Result<Moved, Error> {
        let (sha256, bytes) = blobs::digest_of_file(&at(&self.view.path, to))?.unwrap_or_default();
        let mut parts = to.trim_start_matches("quarantine/").split('-');
        let from = if parts.next() == Some("values") { VALUES } else { ENTRIES };
        let offset = parts.next().and_then(|offset| offset.parse().ok()).unwrap_or_default();
        Ok(Moved { from: from.to_owned(), at: offset, bytes, sha256, to: to.to_owned() })
    }

    fn mono_us(&self) -> u64 {
        u64::try_from(self.opened.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

/// Creates the folders of a dossier, unless the place is taken by something else.
fn create_folders(path: &Path) -> Result<(), Error> {
    let taken = || Error::NotADossier { path: path.to_path_buf(), why: "it holds other files" };
    if path.exists() && !path.is_dir() {
        return Err(taken());
    }
    if !at(path, ENTRIES).exists() && disk::names(path)?.iter().any(|name| !is_own(name)) {
        return Err(taken());
    }
    disk::create_folder(path)?;
    for folder in FOLDERS {
        let folder = at(path, folder);
        disk::create_folder(&folder)?;
        disk::sync_parent(&folder)?;
    }
    disk::sync_parent(path)
}

/// Removes what interrupted writes left; under the lock no other writer has a temporary file.
fn remove_temporaries(path: &Path) -> Result<(), Error> {
    let folder = at(path, TEMPORARY);
    for name in disk::names(&folder)? {
        let file = folder.join(name);
        // An interrupted import leaves a folder.
        let removed = if file.is_dir() { std::fs::remove_dir_all(&file) } else { std::fs::remove_file(&file) };
        removed.map_err(disk::io_error("remove", &file))?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests {
    pub(crate) use super::sign::tests::InMemory;
    use super::*;
    use crate::disk::injected::{self, Mode};
    use crate::verify::verify;

    pub(crate) fn full(i: usize) -> Draft {
        Draft {
            private: vec![("ran".into(), format!("value {i}")), ("shown".into(), format!("{i:5000}"))],
            blobs: vec![("component".into(), format!("content {i}").into_bytes())],
            ..Draft::new(Kind::Start)
        }
    }

    /// Each step of opening, appending and writing a checkpoint is failed in three ways: before, in the midst of
    /// and after its effect.
    #[test]
    fn whatever_step_fails_what_was_acknowledged_stays_and_the_rest_recovers() {
        let mut reached = 0;
        for mode in [Mode::Nothing, Mode::Half, Mode::All] {
            for step in 0.. {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("d.fascicolo");
                injected::fail_after(step, mode);
                let mut acknowledged = Vec::new();
                let ending = (|| -> Result<(), Error> {
                    let mut dossier = Dossier::open(&path, "s")?;
                    for i in 0..2 {
                        acknowledged.push(dossier.append(full(i))?.seq);
                        dossier.write_checkpoint()?;
                    }
                    Ok(())
                })();
                if injected::clear() {
                    assert!(ending.is_ok());
                    break;
                }
                reached += 1;
                assert!(ending.is_err(), "step {step} {mode:?}");
                let mut dossier = Dossier::open(&path, "s").unwrap();
                for (i, seq) in acknowledged.iter().enumerate() {
                    assert_eq!(dossier.value(*seq, "ran").unwrap().unwrap(), format!("value {i}"));
                    assert_eq!(dossier.value(*seq, "shown").unwrap().unwrap(), format!("{i:5000}"));
                }
                dossier.append(full(9)).unwrap();
                dossier.write_checkpoint().unwrap();
                let found = verify(&path).unwrap();
                assert!(found.integrity && !found.torn && found.unproved_tail == 0, "step {step} {mode:?}: {found:?}");
            }
        }
        assert!(reached > 120, "{reached}");
    }

    /// Recovery itself is failed at each step: no tail is lost unlogged.
    #[test]
    fn an_interrupted_recovery_is_taken_up_again() {
        for mode in [Mode::Nothing, Mode::Half, Mode::All] {
            for step in 0.. {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("d.fascicolo");
                drop(Dossier::open(&path, "s").unwrap());
                for (file, tail) in [(ENTRIES, "{\"v\":0"), (VALUES, "{\"seq\":1")] {
                    let content = std::fs::read_to_string(at(&path, file)).unwrap();
                    std::fs::write(at(&path, file), content + tail).unwrap();
                }
                injected::fail_after(step, mode);
                let first = Dossier::open(&path, "s").map(drop);
                if injected::clear() {
                    assert!(first.is_ok());
                    break;
                }
                let dossier = Dossier::open(&path, "s").unwrap();
                let listed: Vec<String> = dossier.records().flat_map(Moved::listed_in).map(|moved| moved.to).collect();
                let listed = |stem: &str| listed.iter().any(|to| to.starts_with(&format!("quarantine/{stem}-")));
                assert!(listed("entries") && listed("values"), "step {step} {mode:?}");
                let found = verify(&path).unwrap();
                assert!(found.integrity && !found.torn, "step {step} {mode:?}: {found:?}");
            }
        }
    }

    #[test]
    fn a_failed_sync_stops_the_writer_for_good_and_a_failed_write_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.fascicolo");
        let mut dossier = Dossier::open(&path, "s").unwrap();
        // Step 0 is the write of the leaf, step 1 its fdatasync.
        injected::fail_after(0, Mode::Half);
        assert!(matches!(dossier.append(Draft::new(Kind::Start)), Err(Error::Io { .. })));
        let next = dossier.append(Draft::new(Kind::Start)).unwrap();
        assert_eq!(dossier.record(next.seq - 1).unwrap().kind, Kind::Recover);
        injected::fail_after(1, Mode::Nothing);
        assert!(matches!(dossier.append(Draft::new(Kind::Start)), Err(Error::NotDurable { .. })));
        for _ in 0..2 {
            assert!(matches!(dossier.append(Draft::new(Kind::Start)), Err(Error::Stopped { .. })));
            assert!(matches!(dossier.write_checkpoint(), Err(Error::Stopped { .. })));
            assert!(matches!(dossier.collect_garbage(), Err(Error::Stopped { .. })));
        }
        assert!(verify(&path).unwrap().integrity);
    }

    #[test]
    fn errors_say_where_and_what_next() {
        let error = Dossier::read("nowhere.fascicolo").unwrap_err();
        assert_eq!((error.kind(), error.place().unwrap()), ("not_a_dossier", "nowhere.fascicolo".to_owned()));
        assert!(error.next_step().starts_with("name the folder"));
    }
}
