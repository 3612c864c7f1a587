//! The record behind one entry, format v1, and the one way it is written as a leaf. FORMAT.md beside this crate says
//! the same for whoever reads a log with a program of their own.
//!
//! A leaf is the JSON of [`Record`] without spaces, members in the order of its declaration. There is exactly one
//! such text for a record, so a duplicated member, a space or another order is told apart from a change of content.
//!
//! v1 is frozen: tests/golden holds logs that every later version must read. v0, which came before it, knows neither
//! `import` nor `from`; a log that began as v0 goes on as v1.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tree::to_hex;

/// Most bytes of a leaf: the limit of the entry bundles of C2SP tiles, whose length prefix is a 16-bit number.
pub const LEAF_BYTES: usize = 65_535;

/// The format named in the first entry of a new log.
pub const FORMAT: &str = "fascicolo-dossier/v1";

/// The formats that are read.
pub(crate) const FORMATS: [&str; 2] = ["fascicolo-dossier/v0", FORMAT];

/// Version of the records written here.
pub(crate) const VERSION: u8 = 1;

/// One entry of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Version of this format: 1; 0 in what was written before it was frozen.
    pub v: u8,
    /// Number of the entry, from 0 without gaps.
    pub seq: u64,
    /// Leaf hash of the entry before, 64 hexadecimal digits; zeros in the first.
    pub prev: String,
    /// What the entry says.
    pub kind: Kind,
    /// The session that wrote it, as the caller named it.
    pub session: String,
    /// The cell it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<CellRef>,
    /// The number of the `start` entry it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<u64>,
    /// The entry of an imported log that this one repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Repeated>,
    /// How it ended, in the caller's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Digest of the environment it ran in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// Files read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<FileSeen>,
    /// Files written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<FileSeen>,
    /// Private values, by field: the leaf holds commitments only.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub committed: BTreeMap<String, Committed>,
    /// Public content kept beside the log, by field. A field stands in `committed` or here, not in both.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub blobs: BTreeMap<String, BlobRef>,
    /// Public facts.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub body: Value,
    /// When it was written: RFC 3339, UTC, milliseconds.
    pub wall: String,
    /// Microseconds since the session opened the dossier, from a clock that never goes back.
    pub mono_us: u64,
}

/// What an entry says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The first entry: origin and format of the log.
    Log,
    /// Something begins; durable before it does.
    Start,
    /// It ended.
    End,
    /// It was refused, or an error stopped it.
    Error,
    /// What an interrupted append left behind was moved aside.
    Recover,
    /// Values were taken out of the disclosures; see [`Record::redactions`].
    Redact,
    /// A reference was declared.
    Reference,
    /// The environment was recorded.
    Snapshot,
    /// Devices were probed.
    Probe,
    /// A criterion was compiled.
    Criterion,
    /// Criterion, parameters and reference were sealed.
    Declare,
    /// The content of a candidate was read.
    Opened,
    /// A comparison ended.
    Verdict,
    /// The log goes on elsewhere than the one it is a copy of, under an origin of its own.
    Fork,
    /// A case was run again from its beginning.
    Replay,
    /// A checkpoint was signed.
    Sign,
    /// Something else was found; the caller's words in the body say what. Kinds that this format does not name come as
    /// this one, so that a log with them is read by every program that reads v1.
    Fact,
    /// Another log was joined as a parent; entries of it follow, each with [`Record::from`].
    Import,
}

/// An entry of an imported log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repeated {
    /// Origin of that log, as an `import` entry before names it.
    pub origin: String,
    /// Number of the entry there.
    pub seq: u64,
}

/// The cell of a notebook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellRef {
    /// The notebook's id of the cell, where the front end tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The number shown beside the cell.
    pub n: u32,
}

/// A file by its content; its path is private and goes into a committed value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSeen {
    /// What the file was to the entry, e.g. `candidate`.
    pub role: String,
    /// SHA-256 of its content, 64 hexadecimal digits.
    pub sha256: String,
    /// Its length in bytes.
    pub bytes: u64,
}

/// A commitment to a private value: SHA-256(salt ‖ value), the salt being 32 random bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Committed {
    /// The digest, 64 hexadecimal digits.
    pub commit: String,
    /// Length of the value in bytes of UTF-8, without the salt.
    pub bytes: u64,
    /// True if salt and value are the blob named by `commit`; false if they stand in the disclosures.
    pub blob: bool,
}

/// A public content named by its SHA-256, unsalted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlobRef {
    /// The digest, 64 hexadecimal digits.
    pub blob: String,
    /// Length in bytes.
    pub bytes: u64,
}

/// One field whose value was taken out, as the body of a `redact` entry names it: `{"redacts":[{"seq","field"}]}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redaction {
    /// The entry that holds the commitment.
    pub seq: u64,
    /// Its field, of `committed`.
    pub field: String,
}

impl Kind {
    /// True for what says something of the log, or of other entries than its own.
    pub(crate) fn is_of_the_log(self) -> bool {
        matches!(self, Kind::Log | Kind::Recover | Kind::Redact | Kind::Fork | Kind::Sign | Kind::Import)
    }

    /// True for what the order of events is judged by: what was sealed, when what was opened, what came of it.
    pub(crate) fn is_of_the_order(self) -> bool {
        matches!(self, Kind::Declare | Kind::Opened | Kind::Verdict)
    }

    /// True if private values of such an entry may be redacted; not of those that the log writes about itself.
    pub(crate) fn is_redactable(self) -> bool {
        !matches!(self, Kind::Log | Kind::Redact | Kind::Sign)
    }
}

impl Record {
    /// Reads a leaf.
    /// # Errors
    /// What is wrong, as a sentence, if the text is not the canonical form of a record.
    pub fn from_leaf(leaf: &[u8]) -> Result<Self, String> {
        let record = Self::from_json(leaf)?;
        if record.is_written_as(leaf) { Ok(record) } else { Err(NOT_CANONICAL.to_owned()) }
    }

    /// Reads the JSON of a record, canonical or not.
    pub(crate) fn from_json(leaf: &[u8]) -> Result<Self, String> {
        if leaf.len() > LEAF_BYTES {
            return Err(format!("has {} bytes, the limit is {LEAF_BYTES}", leaf.len()));
        }
        let record: Self = serde_json::from_slice(leaf).map_err(|e| format!("is not a record: {e}"))?;
        match record.v {
            0 if record.from.is_some() || matches!(record.kind, Kind::Import | Kind::Fact) => {
                Err("says what format v0 has no words for".to_owned())
            }
            0..=VERSION => Ok(record),
            newer => Err(format!("is of format v{newer}, this program reads up to v{VERSION}")),
        }
    }

    /// True if `leaf` is the canonical text of this record.
    pub(crate) fn is_written_as(&self, leaf: &[u8]) -> bool {
        self.to_leaf().is_ok_and(|own| own == leaf)
    }

    /// The bytes of the leaf.
    /// # Errors
    /// None in practice: every member has a JSON form.
    pub fn to_leaf(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }

    /// That it commits to no such field, and to which it does.
    pub(crate) fn no_such_value(&self, field: &str) -> crate::Error {
        let has = self.committed.keys().cloned().collect();
        crate::Error::NoSuchValue { seq: self.seq, field: field.to_owned(), has }
    }

    /// What a `redact` entry takes out; empty for other kinds.
    pub fn redactions(&self) -> Vec<Redaction> {
        if self.kind != Kind::Redact {
            return Vec::new();
        }
        let list = self.body.get("redacts").and_then(Value::as_array);
        list.into_iter().flatten().filter_map(|item| Redaction::deserialize(item).ok()).collect()
    }

    /// True for the entries that a whole log is judged by: those that say something of it or of other entries, those
    /// that the order of events is judged by, and those that repeat one of an imported log.
    pub(crate) fn is_landmark(&self) -> bool {
        self.from.is_some() || self.kind.is_of_the_log() || self.kind.is_of_the_order()
    }

    /// The origin that a `log` or `fork` entry gives to the log from here on.
    pub fn origin(&self) -> Option<&str> {
        if matches!(self.kind, Kind::Log | Kind::Fork) { self.body.get("origin")?.as_str() } else { None }
    }
}

/// What is said of a leaf that parses, but is not written in the one canonical way.
pub(crate) const NOT_CANONICAL: &str =
    "is not in canonical form: a member is duplicated or out of order, or spaces were added";

/// `prev` of the first entry.
pub(crate) fn no_prev() -> String {
    to_hex(&[0; 32])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const LEAF: &str = r#"{"v":0,"seq":1,"prev":"00","kind":"end","session":"s","start":0,"body":{"b":1,"a":[1.5]},"wall":"w","mono_us":7}"#;

    #[test]
    fn a_leaf_is_read_and_written_as_the_same_bytes() {
        let record = Record::from_leaf(LEAF.as_bytes()).unwrap();
        assert_eq!((record.kind, record.start), (Kind::End, Some(0)));
        assert_eq!(record.to_leaf().unwrap(), LEAF.as_bytes());
    }

    #[test]
    fn a_duplicated_member_is_refused_at_every_depth() {
        for (old, new) in [
            (r#""start":0,"#, r#""start":0,"start":0,"#),
            (r#"{"b":1"#, r#"{"b":1,"b":1"#),
            (r#""session":"s","#, r#""session":"s","cell":{"n":1,"n":1},"#),
            (
                r#""body""#,
                r#""committed":{"x":{"commit":"","bytes":0,"blob":true},"x":{"commit":"","bytes":0,"blob":true}},"body""#,
            ),
        ] {
            let changed = LEAF.replacen(old, new, 1);
            assert_ne!(changed, LEAF);
            assert!(Record::from_leaf(changed.as_bytes()).is_err(), "{changed}");
        }
    }

    #[test]
    fn an_unknown_member_an_empty_one_and_another_version_are_refused() {
        for (old, new) in [
            (r#""start":0,"#, r#""start":0,"extra":1,"#),
            (r#""start":0,"#, r#""start":null,"#),
            (r#""start":0,"#, r#""start":0,"reads":[],"#),
            (r#"{"v":0"#, r#"{"v":2"#),
            (r#""start":0,"#, r#""start":0,"from":{"origin":"o","seq":1},"#),
            (r#""kind":"end""#, r#""kind":"import""#),
            (r#""kind":"end""#, r#""kind":"fact""#),
            (r#"{"v":0"#, r#"{ "v":0"#),
        ] {
            let changed = LEAF.replacen(old, new, 1);
            assert_ne!(changed, LEAF);
            assert!(Record::from_leaf(changed.as_bytes()).is_err(), "{changed}");
        }
    }
}
