//! Reading a dossier: records, values, blobs.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::blobs;
use crate::checkpoint::Checkpoint;
use crate::disclosure::{Disclosure, SALT_BYTES};
use crate::disk::{self, io_error};
use crate::error::Error;
use crate::examine::{Extent, examine};
use crate::layout::{ENTRIES, VALUES, at};
use crate::parents::{self, Parent};
use crate::record::Record;
use crate::state::{Key, Span, State};
use crate::tree::to_hex;

/// A dossier as it stood when it was read, or as this session's writer knows it.
#[derive(Debug)]
pub struct View {
    pub(crate) path: PathBuf,
    pub(crate) state: State,
}

impl View {
    /// Reads a log and checks its entries, checkpoint and disclosures; blobs are checked when they are asked for.
    /// Takes no lock, writes nothing, and leaves out an entry that is still being written.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        if !at(path, ENTRIES).is_file() {
            return Err(Error::NotADossier { path: path.to_path_buf(), why: "it has no entries.jsonl" });
        }
        Ok(View { path: path.to_path_buf(), state: examine(path, Extent::Log)?.into_state()? })
    }

    /// The dossier's folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of entries.
    pub fn size(&self) -> u64 {
        self.state.size()
    }

    /// RFC 6962 root over all entries, 64 hexadecimal digits; O(log n).
    pub fn root_hex(&self) -> String {
        to_hex(&self.state.frontier.root())
    }

    /// Name of the log: that of its last fork, or else of its first entry; empty before that.
    pub fn origin(&self) -> &str {
        self.origin_at(self.size())
    }

    /// Name of the log when it had `size` entries.
    pub fn origin_at(&self, size: u64) -> &str {
        self.state.origins.iter().rev().find(|(seq, _)| *seq < size).map_or("", |(_, origin)| origin)
    }

    /// What a checkpoint over all entries states.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint { origin: self.origin().to_owned(), size: self.size(), root: self.state.frontier.root() }
    }

    /// All records, in order.
    pub fn records(&self) -> std::slice::Iter<'_, Record> {
        self.state.records.iter()
    }

    /// One record.
    pub fn record(&self, seq: u64) -> Option<&Record> {
        self.state.records.get(usize::try_from(seq).ok()?)
    }

    /// Gives a private value back after checking it against its commitment; `None` if it was redacted.
    /// # Errors
    /// [`Error::NoSuchEntry`], [`Error::NoSuchValue`]; [`Error::ValueLost`] or [`Error::BlobLost`] if it is
    /// missing or is not the value committed to; [`Error::Io`].
    pub fn value(&self, seq: u64, field: &str) -> Result<Option<String>, Error> {
        let record = self.record(seq).ok_or(Error::NoSuchEntry { seq, size: self.size() })?;
        let committed = record.committed.get(field).ok_or_else(|| record.no_such_value(field))?;
        let key = (seq, field.to_owned());
        if self.state.redacted.contains(&key) {
            return Ok(None);
        }
        let lost = |what| Error::ValueLost { seq, field: field.to_owned(), what };
        let value = if committed.blob {
            let content = match blobs::read(&self.path, &committed.commit) {
                Err(Error::BlobLost { .. }) if self.redacted_since(&key)? => return Ok(None),
                content => content?,
            };
            let value = content.get(SALT_BYTES..).ok_or_else(|| lost("is shorter than its salt"))?;
            String::from_utf8(value.to_vec()).map_err(|_| lost("is not a text"))?
        } else {
            let span = self.state.values.get(&key).ok_or_else(|| lost("is missing"))?;
            let opens = |d: &Disclosure| d.commitment().as_ref() == Some(&committed.commit);
            match self.line_of_values(*span)?.and_then(|line| Disclosure::from_line(&line)).filter(opens) {
                Some(disclosure) => disclosure.value,
                // A redaction by another session moves the lines behind it.
                None => match self.find_value(&key)?.filter(opens) {
                    Some(disclosure) => disclosure.value,
                    None if self.redacted_since(&key)? => return Ok(None),
                    None => return Err(lost("is missing or not the one committed to")),
                },
            }
        };
        if value.len() as u64 == committed.bytes {
            Ok(Some(value))
        } else {
            Err(lost("is not as long as its entry says"))
        }
    }

    /// True if the value was redacted.
    pub fn is_redacted(&self, seq: u64, field: &str) -> bool {
        self.state.redacted.contains(&(seq, field.to_owned()))
    }

    /// The entry that redacted the value; `None` if it was not redacted.
    pub fn redacted_by(&self, seq: u64, field: &str) -> Option<u64> {
        if !self.is_redacted(seq, field) {
            return None;
        }
        let takes_out =
            |record: &&Record| record.redactions().iter().any(|r| (r.seq, r.field.as_str()) == (seq, field));
        self.records().find(takes_out).map(|record| record.seq)
    }

    /// Names of all blobs that entries name, public and private, redacted ones included.
    pub fn blob_names(&self) -> impl Iterator<Item = &str> {
        self.records().flat_map(|record| {
            let private = record.committed.values().filter(|c| c.blob).map(|c| c.commit.as_str());
            record.blobs.values().map(|b| b.blob.as_str()).chain(private)
        })
    }

    /// The logs that were joined to this one, in order: the entry that joined it, what it was then, its folder.
    pub fn parents(&self) -> Vec<Parent> {
        parents::of(&self.path, self.records())
    }

    /// Gives a blob back after checking it against its name, `digest`: 64 hexadecimal digits.
    /// # Errors
    /// [`Error::BlobLost`] if it is missing or was changed; [`Error::Io`].
    pub fn blob(&self, digest: &str) -> Result<Vec<u8>, Error> {
        blobs::read(&self.path, digest)
    }

    /// Looks for a value through the whole file.
    fn find_value(&self, key: &Key) -> Result<Option<Disclosure>, Error> {
        let lines = disk::read_from(&at(&self.path, VALUES), 0)?.unwrap_or_default();
        let mut disclosures = lines.split(|b| *b == b'\n').filter_map(Disclosure::from_line);
        Ok(disclosures.find(|d| (d.seq, &d.field) == (key.0, &key.1)))
    }

    /// True if an entry written after those known here redacts the value.
    fn redacted_since(&self, key: &Key) -> Result<bool, Error> {
        let lines = disk::read_from(&at(&self.path, ENTRIES), self.state.entries_bytes)?.unwrap_or_default();
        let mut records = lines.split(|b| *b == b'\n').filter_map(|line| Record::from_leaf(line).ok());
        Ok(records.any(|record| record.redactions().iter().any(|r| (r.seq, &r.field) == (key.0, &key.1))))
    }

    fn line_of_values(&self, span: Span) -> Result<Option<Vec<u8>>, Error> {
        let path = at(&self.path, VALUES);
        let mut file = File::open(&path).map_err(io_error("open", &path))?;
        file.seek(SeekFrom::Start(span.at)).map_err(io_error("read", &path))?;
        let mut line = Vec::new();
        file.take(span.bytes).read_to_end(&mut line).map_err(io_error("read", &path))?;
        Ok((line.len() as u64 == span.bytes).then_some(line))
    }
}
