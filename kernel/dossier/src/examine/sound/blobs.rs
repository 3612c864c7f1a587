//! Which blobs the entries name, how long each must be, and which of them were redacted.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::Odd;
use super::blocks::threads;
use super::lines::Named;
use crate::blobs::digest_of_file;
use crate::layout::{at, blob_name};
use crate::state::Key;
use crate::tree::{Hash, from_hex, to_hex};

#[derive(Default)]
pub(super) struct Blobs {
    all: HashMap<Hash, Blob>,
    /// Blobs of values that may be redacted, in order of entry: its number, field, digest.
    private: Vec<(u64, u32, Hash)>,
    fields: HashMap<String, u32>,
}

struct Blob {
    bytes: u64,
    named: u32,
    redacted: u32,
}

impl Blobs {
    /// Takes in that an entry names a blob.
    pub(super) fn name(&mut self, seq: u64, field: &str, named: &Named) -> Result<(), Odd> {
        let blob = self.all.entry(named.digest).or_insert(Blob { bytes: named.bytes, named: 0, redacted: 0 });
        blob.named = blob.named.checked_add(1).ok_or(Odd)?;
        if blob.bytes != named.bytes {
            return Err(Odd);
        }
        if named.redactable {
            let next = self.fields.len() as u32;
            let field = match self.fields.get(field) {
                Some(field) => *field,
                None => *self.fields.entry(field.to_owned()).or_insert(next),
            };
            self.private.push((seq, field, named.digest));
        }
        Ok(())
    }

    /// Takes in that a value was redacted, once for each; false if it is not that of a blob.
    pub(super) fn redact(&mut self, (seq, field): &Key) -> bool {
        let Some(field) = self.fields.get(field) else { return false };
        let from = self.private.partition_point(|(at, _, _)| at < seq);
        let mut of_entry = self.private[from..].iter().take_while(|(at, _, _)| at == seq);
        let digest = of_entry.find(|(_, at, _)| at == field).map(|(_, _, digest)| digest);
        let Some(blob) = digest.and_then(|digest| self.all.get_mut(digest)) else { return false };
        blob.redacted += 1;
        true
    }

    /// True if an entry names the blob of this file name.
    pub(super) fn is_named(&self, name: &str) -> bool {
        from_hex(name).is_some_and(|digest| self.all.contains_key(&digest))
    }

    /// Hashes every blob: each must be there, or all of its values be redacted, and not both.
    pub(super) fn check(&self, dossier: &Path) -> Result<(), Odd> {
        let blobs: Vec<(&Hash, &Blob)> = self.all.iter().collect();
        let next = AtomicUsize::new(0);
        let check = || -> Result<(), Odd> {
            while let Some((digest, blob)) = blobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                let name = to_hex(*digest);
                let expected = (blob.redacted < blob.named).then(|| (name.clone(), blob.bytes));
                if digest_of_file(&at(dossier, &blob_name(&name)))? != expected {
                    // The others need not go on.
                    next.store(blobs.len(), Ordering::Relaxed);
                    return Err(Odd);
                }
            }
            Ok(())
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (1..threads().min(blobs.len())).map(|_| scope.spawn(check)).collect();
            let own = check();
            threads.into_iter().map(|thread| thread.join().map_err(|_| Odd)?).fold(own, Result::and)
        })
    }
}
