//! Taking private values out again: first the entry that says so, then the value.
//!
//! The leaf keeps the salted commitment, so that every hash and proof stays as it is. Once the salt is gone nobody
//! can tell the value from the commitment. What the disk keeps of deleted bytes is beyond this program.

use serde_json::{Value, json};

use super::{Appended, Dossier};
use crate::blobs;
use crate::disk;
use crate::draft::{Draft, prepare};
use crate::error::Error;
use crate::layout::{VALUES, at, blob_name};
use crate::record::Kind;
use crate::state::{Key, Span, State};

impl Dossier {
    /// Redacts the private value `field` of entry `seq`: appends a `redact` entry, in which `why` is a private value of
    /// its own, and deletes value and salt. All proofs stay valid, and [`View::value`](crate::View::value) gives
    /// `None` from then on. If this is interrupted between the two, the next transaction of any session deletes.
    /// # Errors
    /// [`Error::NoSuchEntry`], [`Error::NoSuchValue`], [`Error::AlreadyRedacted`]; [`Error::NotRedactable`] for a
    /// public content and for the entries that the log writes about itself; [`Error::ValueLost`] or
    /// [`Error::BlobLost`] if the value is not there: nothing was written. As [`Dossier::append`] besides.
    pub fn redact(&mut self, seq: u64, field: &str, why: &str) -> Result<Appended, Error> {
        self.transaction(|dossier| {
            dossier.check_redactable(seq, field)?;
            dossier.take_out(&[(seq, field.to_owned())], why)
        })
    }

    /// Appends the entry that takes out these values, and deletes them. The caller holds the lock.
    pub(super) fn take_out(&mut self, keys: &[Key], why: &str) -> Result<Appended, Error> {
        let redacts: Vec<Value> = keys.iter().map(|(seq, field)| json!({ "seq": seq, "field": field })).collect();
        let draft = Draft {
            private: vec![("why".to_owned(), why.to_owned())],
            body: json!({ "redacts": redacts }),
            ..Draft::new(Kind::Redact)
        };
        let entry = prepare(draft, &self.view.state, &self.session, self.mono_us())?;
        let appended = self.write(entry)?;
        self.finish_redactions()?;
        Ok(appended)
    }

    fn check_redactable(&self, seq: u64, field: &str) -> Result<(), Error> {
        let record = self.record(seq).ok_or(Error::NoSuchEntry { seq, size: self.size() })?;
        let refused = |why| Err(Error::NotRedactable { seq, field: field.to_owned(), why });
        if record.blobs.contains_key(field) {
            return refused(
                "it is a public content, whose unsalted digest stays in the log: whoever guesses the content could \
                 confirm it",
            );
        }
        let Some(committed) = record.committed.get(field) else {
            return Err(record.no_such_value(field));
        };
        if let Some(from) = &record.from {
            let (field, origin) = (field.to_owned(), from.origin.clone());
            return Err(Error::RedactAtItsSource { seq, field, origin });
        }
        if !record.kind.is_redactable() {
            return refused("the entry is one that the log writes about itself");
        }
        if self.view.state.redacted.contains(&(seq, field.to_owned())) {
            return Err(Error::AlreadyRedacted { seq, field: field.to_owned() });
        }
        if committed.blob && !at(self.path(), &blob_name(&committed.commit)).exists() {
            return Err(Error::BlobLost { digest: committed.commit.clone(), what: "is missing" });
        }
        if !committed.blob && !self.view.state.values.contains_key(&(seq, field.to_owned())) {
            return Err(Error::ValueLost { seq, field: field.to_owned(), what: "is missing" });
        }
        Ok(())
    }

    /// Deletes every redacted value that still stands. The caller holds the lock and has moved aside what an
    /// interrupted append left.
    pub(super) fn finish_redactions(&mut self) -> Result<(), Error> {
        self.rewrite_values()?;
        for digest in unneeded_blobs(&self.view.state) {
            if at(self.path(), &blob_name(&digest)).exists() {
                blobs::remove(self.path(), &digest)?;
            }
        }
        self.redacted = self.view.state.redacted.len();
        Ok(())
    }

    /// Puts a file of disclosures without the redacted ones in place of the old one.
    fn rewrite_values(&mut self) -> Result<(), Error> {
        let (path, state) = (&self.view.path, &mut self.view.state);
        if !state.redacted.iter().any(|key| state.values.contains_key(key)) {
            return Ok(());
        }
        let file = at(path, VALUES);
        let old = disk::read_from(&file, 0)?.unwrap_or_default();
        let mut kept = Vec::with_capacity(old.len());
        let mut spans: Vec<(Key, Span)> = Vec::with_capacity(state.values.len());
        // Disclosures stand in the order of entry and field, as the map does.
        for (key, span) in state.values.iter().filter(|(key, _)| !state.redacted.contains(*key)) {
            let line = usize::try_from(span.at).ok().and_then(|from| old.get(from..from + span.bytes as usize + 1));
            let Some(line) = line.filter(|line| line.ends_with(b"\n") && old.len() as u64 == state.values_bytes) else {
                let what = format!("it does not have the {} bytes known of it", state.values_bytes);
                return Err(Error::ChangedUnderneath { path: file, what });
            };
            spans.push((key.clone(), Span { at: kept.len() as u64, bytes: span.bytes }));
            kept.extend_from_slice(line);
        }
        disk::place(path, &file, &kept)?;
        state.values = spans.into_iter().collect();
        state.values_bytes = kept.len() as u64;
        Ok(())
    }
}

/// The blobs of redacted values that no other entry names.
fn unneeded_blobs(state: &State) -> Vec<String> {
    let named = |redacted: bool| {
        let all = state.records.iter().flat_map(|r| r.committed.iter().map(move |(field, c)| (r.seq, field, c)));
        all.filter(move |(seq, field, c)| c.blob && state.redacted.contains(&(*seq, (*field).clone())) == redacted)
            .map(|(_, _, c)| c.commit.as_str())
    };
    if state.redacted.is_empty() {
        return Vec::new();
    }
    let mut unneeded: Vec<&str> = named(true).collect();
    let public = state.records.iter().flat_map(|r| r.blobs.values().map(|b| b.blob.as_str()));
    let needed: std::collections::HashSet<&str> = named(false).chain(public).collect();
    unneeded.retain(|digest| !needed.contains(digest));
    unneeded.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::disk::injected::{self, Mode};
    use crate::verify::verify;
    use crate::writer::tests::full;

    /// Every step of two redactions, of a line and of a blob, is failed before, in the midst of and after its effect,
    /// while a second session stays open.
    #[test]
    fn an_interrupted_redaction_is_nothing_or_is_completed() {
        let mut reached = 0;
        for mode in [Mode::Nothing, Mode::Half, Mode::All] {
            for step in 0.. {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("d.fascicolo");
                let mut dossier = Dossier::open(&path, "s").unwrap();
                for i in 0..3 {
                    dossier.append(full(i)).unwrap();
                }
                let mut other = Dossier::open(&path, "other").unwrap();
                injected::fail_after(step, mode);
                let ending = dossier.redact(1, "ran", "why").and_then(|_| dossier.redact(2, "shown", "why"));
                if injected::clear() {
                    assert!(ending.is_ok());
                    break;
                }
                reached += 1;
                assert!(ending.is_err(), "step {step} {mode:?}");
                let found = verify(&path).unwrap();
                assert!(found.integrity, "step {step} {mode:?}: {found:?}");
                // Every other time the session that was open goes on, else a new one opens.
                let next = if step % 2 == 0 { &mut other } else { &mut Dossier::open(&path, "s").unwrap() };
                next.append(full(9)).unwrap();
                let redacted: Vec<Key> = next.view.state.redacted.iter().cloned().collect();
                for (seq, field) in [(1, "ran"), (2, "shown")] {
                    let value = next.value(seq, field).unwrap();
                    assert_eq!(value.is_none(), redacted.contains(&(seq, field.to_owned())), "step {step} {mode:?}");
                }
                for (seq, value) in [(2, "value 1"), (3, "value 2"), (next.size() - 1, "value 9")] {
                    assert_eq!(next.value(seq, "ran").unwrap().as_deref(), Some(value));
                }
                let values = std::fs::read_to_string(at(&path, VALUES)).unwrap();
                assert_eq!(values.contains("\"value 0\""), !redacted.contains(&(1, "ran".to_owned())));
                let blob = at(&path, &blob_name(&next.record(2).unwrap().committed["shown"].commit));
                assert_eq!(blob.exists(), !redacted.contains(&(2, "shown".to_owned())), "step {step} {mode:?}");
                next.write_checkpoint().unwrap();
                let found = verify(&path).unwrap();
                assert!(found.integrity && !found.torn, "step {step} {mode:?}: {found:?}");
                assert!(!found.notes.iter().any(|n| n.contains("redacted")), "step {step} {mode:?}: {found:?}");
            }
        }
        assert!(reached > 30, "{reached}");
    }
}
