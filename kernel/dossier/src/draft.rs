//! What a caller gives for one entry, and everything of it that can be made ready before a byte is written.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::disclosure::Secret;
use crate::error::Error;
use crate::record::{BlobRef, CellRef, FileSeen, Kind, LEAF_BYTES, Record, Repeated, VERSION};
use crate::state::{Span, State};
use crate::tree::{sha256, to_hex};

/// An entry to append. Secrets in it must have been masked: what is committed cannot be taken back.
#[derive(Debug, Clone)]
pub struct Draft {
    /// What the entry says.
    pub kind: Kind,
    /// The cell it belongs to.
    pub cell: Option<CellRef>,
    /// The number of the `start` entry it belongs to; an `end` must have one.
    pub start: Option<u64>,
    /// How it ended.
    pub status: Option<String>,
    /// Digest of the environment.
    pub environment: Option<String>,
    /// Files read.
    pub reads: Vec<FileSeen>,
    /// Files written.
    pub writes: Vec<FileSeen>,
    /// Private values by field: the leaf holds salted commitments, the values can be redacted later.
    pub private: Vec<(String, String)>,
    /// Public contents by field: the leaf holds their digests.
    pub blobs: Vec<(String, Vec<u8>)>,
    /// Public facts, small: they stand in the leaf for good. `Null` for none.
    pub body: Value,
}

impl Draft {
    /// An entry of this kind that says nothing else yet.
    pub fn new(kind: Kind) -> Self {
        Draft {
            kind,
            cell: None,
            start: None,
            status: None,
            environment: None,
            reads: Vec::new(),
            writes: Vec::new(),
            private: Vec::new(),
            blobs: Vec::new(),
            body: Value::Null,
        }
    }

    /// Checks what needs no knowledge of the log.
    pub(crate) fn check_fields(&self) -> Result<(), Error> {
        let mut fields = BTreeSet::new();
        let all = self.private.iter().map(|(field, _)| field).chain(self.blobs.iter().map(|(field, _)| field));
        match all.into_iter().find(|field| !fields.insert(field.as_str())) {
            Some(field) => Err(Error::DuplicateField { field: field.clone() }),
            None => Ok(()),
        }
    }
}

/// An entry with all its bytes, ready to be written.
pub(crate) struct Prepared {
    pub(crate) record: Record,
    /// The line, newline included.
    pub(crate) line: Vec<u8>,
    /// Digest and content of each blob, public and private.
    pub(crate) blobs: Vec<(String, Vec<u8>)>,
    /// The disclosure lines, newlines included.
    pub(crate) values: Vec<u8>,
    /// Field and place of each disclosure within `values`.
    pub(crate) value_spans: Vec<(String, Span)>,
}

/// Makes an entry ready as the next one of the log. `mono_us`: microseconds since the session opened it.
pub(crate) fn prepare(draft: Draft, state: &State, session: &str, mono_us: u64) -> Result<Prepared, Error> {
    prepare_from(draft, None, state, session, mono_us)
}

/// As [`prepare`], for an entry that repeats one of an imported log.
pub(crate) fn prepare_from(
    draft: Draft,
    from: Option<Repeated>,
    state: &State,
    session: &str,
    mono_us: u64,
) -> Result<Prepared, Error> {
    let seq = state.size();
    let mut secrets = Vec::with_capacity(draft.private.len());
    for (field, value) in draft.private {
        secrets.push(Secret::new(field, value)?);
    }
    // Disclosures stand in the order of entry and field.
    secrets.sort_by(|a, b| a.field.cmp(&b.field));
    let mut blobs = Vec::new();
    let mut public = BTreeMap::new();
    for (field, content) in draft.blobs {
        let reference = BlobRef { blob: to_hex(&sha256(&content)), bytes: content.len() as u64 };
        blobs.push((reference.blob.clone(), content));
        public.insert(field, reference);
    }
    let (mut values, mut value_spans, mut committed) = (Vec::new(), Vec::new(), BTreeMap::new());
    for secret in secrets {
        if secret.committed.blob {
            blobs.push((secret.committed.commit.clone(), secret.blob()));
        } else {
            let line = secret.disclosure(seq).to_line().map_err(Error::Encoding)?;
            let span = Span { at: values.len() as u64, bytes: line.len() as u64 };
            value_spans.push((secret.field.clone(), span));
            values.extend_from_slice(&line);
            values.push(b'\n');
        }
        committed.insert(secret.field, secret.committed);
    }
    let record = Record {
        v: VERSION,
        seq,
        prev: state.prev(),
        kind: draft.kind,
        session: session.to_owned(),
        cell: draft.cell,
        start: draft.start,
        from,
        status: draft.status,
        environment: draft.environment,
        reads: draft.reads,
        writes: draft.writes,
        committed,
        blobs: public,
        body: draft.body,
        wall: chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true),
        mono_us,
    };
    if !state.has_its_start(&record) {
        return Err(Error::NoSuchStart { start: record.start });
    }
    let mut line = record.to_leaf().map_err(Error::Encoding)?;
    if line.len() > LEAF_BYTES {
        return Err(Error::LeafTooLarge { bytes: line.len(), limit: LEAF_BYTES });
    }
    // A record that no reader accepts, e.g. one nested too deeply, would make the whole log unreadable.
    let record = Record::from_leaf(&line).map_err(|why| Error::Unreadable { why })?;
    line.push(b'\n');
    Ok(Prepared { record, line, blobs, values, value_spans })
}
