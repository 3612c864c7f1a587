//! One block of `entries.jsonl`, and one of `disclosures/values.jsonl`: each line alone and against the line before it.

use std::ops::Range;

use super::strict::Cursor;
use crate::disclosure::{Disclosure, SALT_BYTES};
use crate::record::{Kind, LEAF_BYTES, Record, VERSION};
use crate::tree::{Hash, from_hex, leaf_hash, sha256};

/// What later checks need of a run of entries.
#[derive(Default)]
pub(super) struct Entries {
    /// Number of the first.
    pub(super) first: u64,
    /// What the first names as the leaf hash of the entry before it.
    pub(super) prev: Hash,
    /// Format of the first and of the last.
    pub(super) formats: (u8, u8),
    /// Leaf hashes of all.
    pub(super) leaves: Vec<Hash>,
    /// The `start` entries.
    pub(super) starts: Vec<u64>,
    /// Entries that belong to a `start` entry, each with its number.
    pub(super) belonging: Vec<(u64, u64)>,
    /// Commitments to values in lines, in order of entry and field.
    pub(super) committed: Vec<Commitment>,
    /// Blobs named.
    pub(super) blobs: Vec<Named>,
    /// The entries that say something of the log or of other entries.
    pub(super) landmarks: Vec<Record>,
    /// The names of fields.
    names: String,
}

/// A commitment to a value in a line.
pub(super) struct Commitment {
    pub(super) seq: u64,
    field: Range<usize>,
    pub(super) commit: Hash,
    /// Length of the value.
    pub(super) bytes: u64,
    /// False for entries that the log writes about itself.
    pub(super) redactable: bool,
}

/// A blob as an entry names it.
pub(super) struct Named {
    pub(super) seq: u64,
    field: Range<usize>,
    pub(super) digest: Hash,
    /// Length of the blob.
    pub(super) bytes: u64,
    /// True for a private one of an entry whose values may be redacted.
    pub(super) redactable: bool,
}

impl Entries {
    /// Reads lines; `None` if anything about them is odd.
    pub(super) fn read(block: &str) -> Option<Self> {
        let mut entries = Entries::default();
        let mut rest = block;
        while !rest.is_empty() {
            let length = match Sketch::read(rest) {
                Some((sketch, length)) => {
                    entries.add(&sketch, &rest.as_bytes()[..length])?;
                    length
                }
                None => {
                    let length = rest.find('\n')?;
                    let leaf = &rest.as_bytes()[..length];
                    entries.add(&Sketch::of(&Record::from_leaf(leaf).ok()?)?, leaf)?;
                    length
                }
            };
            rest = &rest[length + 1..];
        }
        Some(entries)
    }

    fn add(&mut self, entry: &Sketch<'_>, leaf: &[u8]) -> Option<()> {
        if leaf.len() > LEAF_BYTES
            || entry.v > VERSION
            || (entry.v == 0 && (entry.from || matches!(entry.kind, Kind::Import | Kind::Fact)))
        {
            return None;
        }
        match self.leaves.last() {
            None => (self.first, self.prev, self.formats) = (entry.seq, entry.prev, (entry.v, entry.v)),
            Some(before) => {
                if entry.prev != *before
                    || entry.seq != self.first.wrapping_add(self.leaves.len() as u64)
                    || entry.v < self.formats.1
                {
                    return None;
                }
                self.formats.1 = entry.v;
            }
        }
        match (entry.start, entry.kind) {
            (None, Kind::End) => return None,
            (Some(start), _) => self.belonging.push((entry.seq, start)),
            (None, _) => {}
        }
        if entry.kind == Kind::Start {
            self.starts.push(entry.seq);
        }
        let redactable = entry.kind.is_redactable();
        for (field, commit, bytes, blob) in &entry.committed {
            let (seq, field, digest) = (entry.seq, self.name(field), *commit);
            if *blob {
                let bytes = bytes.saturating_add(SALT_BYTES as u64);
                self.blobs.push(Named { seq, field, digest, bytes, redactable });
            } else {
                self.committed.push(Commitment { seq, field, commit: digest, bytes: *bytes, redactable });
            }
        }
        for (field, digest, bytes) in &entry.blobs {
            let field = self.name(field);
            self.blobs.push(Named { seq: entry.seq, field, digest: *digest, bytes: *bytes, redactable: false });
        }
        if entry.from || entry.kind.is_of_the_log() || entry.kind.is_of_the_order() {
            self.landmarks.push(Record::from_leaf(leaf).ok()?);
        }
        self.leaves.push(leaf_hash(leaf));
        Some(())
    }

    fn name(&mut self, field: &str) -> Range<usize> {
        self.names.push_str(field);
        self.names.len() - field.len()..self.names.len()
    }

    /// The field of a commitment.
    pub(super) fn field(&self, of: &Commitment) -> &str {
        &self.names[of.field.clone()]
    }

    /// The field of a blob.
    pub(super) fn blob_field(&self, of: &Named) -> &str {
        &self.names[of.field.clone()]
    }
}

/// What is needed of one record.
struct Sketch<'a> {
    v: u8,
    seq: u64,
    prev: Hash,
    kind: Kind,
    start: Option<u64>,
    from: bool,
    /// Field, commitment, length, and whether it is a blob.
    committed: Vec<(&'a str, Hash, u64, bool)>,
    blobs: Vec<(&'a str, Hash, u64)>,
}

impl<'a> Sketch<'a> {
    /// Takes it from a record; `None` if a digest is none.
    fn of(record: &'a Record) -> Option<Self> {
        let committed = record.committed.iter();
        let committed = committed.map(|(field, c)| Some((field.as_str(), from_hex(&c.commit)?, c.bytes, c.blob)));
        let blobs = record.blobs.iter().map(|(field, b)| Some((field.as_str(), from_hex(&b.blob)?, b.bytes)));
        Some(Sketch {
            v: record.v,
            seq: record.seq,
            prev: from_hex(&record.prev)?,
            kind: record.kind,
            start: record.start,
            from: record.from.is_some(),
            committed: committed.collect::<Option<_>>()?,
            blobs: blobs.collect::<Option<_>>()?,
        })
    }

    /// Reads the first line of a text in the one form of [`Record::to_leaf`], and tells its length; `None` for a form
    /// that is left to serde.
    fn read(text: &'a str) -> Option<(Self, usize)> {
        let mut line = Cursor::new(text);
        line.expect(r#"{"v":"#)?;
        let v = u8::try_from(line.number()?).ok()?;
        line.expect(r#","seq":"#)?;
        let seq = line.number()?;
        line.expect(r#","prev":"#)?;
        let prev = line.hash()?;
        line.expect(r#","kind":"#)?;
        let kind = kind_of(line.simple()?)?;
        line.expect(r#","session":"#)?;
        line.string()?;
        if line.take(r#","cell":{"#) {
            if line.take(r#""id":"#) {
                line.string()?;
                line.expect(",")?;
            }
            line.expect(r#""n":"#)?;
            u32::try_from(line.number()?).ok()?;
            line.expect("}")?;
        }
        let start = if line.take(r#","start":"#) { Some(line.number()?) } else { None };
        let from = line.take(r#","from":{"origin":"#);
        if from {
            line.string()?;
            line.expect(r#","seq":"#)?;
            line.number()?;
            line.expect("}")?;
        }
        for text in [r#","status":"#, r#","environment":"#] {
            if line.take(text) {
                line.string()?;
            }
        }
        for list in [r#","reads":["#, r#","writes":["#] {
            if line.take(list) {
                files(&mut line)?;
            }
        }
        let (mut committed, mut blobs) = (Vec::new(), Vec::new());
        if line.take(r#","committed":{"#) {
            fields(&mut line, |line, field| {
                line.expect(r#"{"commit":"#)?;
                let commit = line.hash()?;
                line.expect(r#","bytes":"#)?;
                let bytes = line.number()?;
                line.expect(r#","blob":"#)?;
                let blob = line.take("true");
                line.expect(if blob { "}" } else { "false}" })?;
                committed.push((field, commit, bytes, blob));
                Some(())
            })?;
        }
        if line.take(r#","blobs":{"#) {
            fields(&mut line, |line, field| {
                line.expect(r#"{"blob":"#)?;
                let digest = line.hash()?;
                line.expect(r#","bytes":"#)?;
                blobs.push((field, digest, line.number()?));
                line.expect("}")
            })?;
        }
        // A body of null is not written.
        if line.take(r#","body":"#) {
            if line.take("null") {
                return None;
            }
            line.value()?;
        }
        line.expect(r#","wall":"#)?;
        line.string()?;
        line.expect(r#","mono_us":"#)?;
        line.number()?;
        line.expect("}")?;
        let length = line.at();
        line.expect("\n")?;
        Some((Sketch { v, seq, prev, kind, start, from, committed, blobs }, length))
    }
}

/// Files read or written, at least one, after the bracket.
fn files(line: &mut Cursor<'_>) -> Option<()> {
    loop {
        line.expect(r#"{"role":"#)?;
        line.string()?;
        line.expect(r#","sha256":"#)?;
        line.string()?;
        line.expect(r#","bytes":"#)?;
        line.number()?;
        line.expect("}")?;
        if line.take("]") {
            return Some(());
        }
        line.expect(",")?;
    }
}

/// Members of a map, at least one, after the brace: in the order of their names, none twice.
fn fields<'a>(line: &mut Cursor<'a>, mut content: impl FnMut(&mut Cursor<'a>, &'a str) -> Option<()>) -> Option<()> {
    let mut before: Option<&str> = None;
    loop {
        let field = line.simple()?;
        if before.is_some_and(|before| before >= field) {
            return None;
        }
        before = Some(field);
        line.expect(":")?;
        content(line, field)?;
        if line.take("}") {
            return Some(());
        }
        line.expect(",")?;
    }
}

/// The kinds as they are written; `None` for one that only serde knows.
fn kind_of(name: &str) -> Option<Kind> {
    Some(match name {
        "log" => Kind::Log,
        "start" => Kind::Start,
        "end" => Kind::End,
        "error" => Kind::Error,
        "recover" => Kind::Recover,
        "redact" => Kind::Redact,
        "reference" => Kind::Reference,
        "snapshot" => Kind::Snapshot,
        "probe" => Kind::Probe,
        "criterion" => Kind::Criterion,
        "declare" => Kind::Declare,
        "opened" => Kind::Opened,
        "verdict" => Kind::Verdict,
        "fork" => Kind::Fork,
        "replay" => Kind::Replay,
        "fact" => Kind::Fact,
        "sign" => Kind::Sign,
        "import" => Kind::Import,
        _ => return None,
    })
}

/// The values that a run of lines discloses.
#[derive(Default)]
pub(super) struct Values {
    pub(super) lines: Vec<Value>,
    names: String,
}

/// One of them.
pub(super) struct Value {
    pub(super) seq: u64,
    field: Range<usize>,
    /// The commitment that it opens.
    pub(super) commit: Hash,
    /// Length of the value.
    pub(super) bytes: u64,
}

impl Values {
    /// Reads lines; `None` if anything about them is odd.
    pub(super) fn read(block: &str) -> Option<Self> {
        let mut values = Values::default();
        let mut salted = Vec::new();
        let mut rest = block;
        while !rest.is_empty() {
            salted.clear();
            let length = match disclosure(rest, &mut salted) {
                Some((seq, field, length)) => {
                    values.add(seq, field, &salted);
                    length
                }
                None => {
                    salted.clear();
                    let length = rest.find('\n')?;
                    let disclosure = Disclosure::from_line(&rest.as_bytes()[..length])?;
                    salted.extend(from_hex(&disclosure.salt)?);
                    salted.extend(disclosure.value.as_bytes());
                    values.add(disclosure.seq, &disclosure.field, &salted);
                    length
                }
            };
            rest = &rest[length + 1..];
        }
        Some(values)
    }

    fn add(&mut self, seq: u64, field: &str, salted: &[u8]) {
        self.names.push_str(field);
        let field = self.names.len() - field.len()..self.names.len();
        self.lines.push(Value { seq, field, commit: sha256(salted), bytes: (salted.len() - SALT_BYTES) as u64 });
    }

    pub(super) fn field(&self, of: &Value) -> &str {
        &self.names[of.field.clone()]
    }
}

/// Reads the first line of a text in the one form of [`Disclosure::to_line`]: entry, field and the line's length; adds
/// salt and value to `salted`.
fn disclosure<'a>(text: &'a str, salted: &mut Vec<u8>) -> Option<(u64, &'a str, usize)> {
    let mut line = Cursor::new(text);
    line.expect(r#"{"seq":"#)?;
    let seq = line.number()?;
    line.expect(r#","field":"#)?;
    let field = line.simple()?;
    line.expect(r#","salt":"#)?;
    salted.extend(line.hash()?);
    line.expect(r#","value":"#)?;
    line.string()?.decode(salted)?;
    line.expect("}")?;
    let length = line.at();
    line.expect("\n")?;
    Some((seq, field, length))
}
