//! Commitments to private values and the lines that disclose them.
//!
//! A value is committed as SHA-256(salt ‖ value) with 32 random bytes of salt, so that a short value cannot be
//! guessed from the log. Up to [`INLINE_BYTES`] salt and value stand in `disclosures/values.jsonl`; larger ones
//! form a blob whose content is salt ‖ value, hence whose name is the very commitment.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::record::Committed;
use crate::tree::{Hash, from_hex, sha256, to_hex};

/// Largest value, in bytes, that is disclosed in a line; larger ones are blobs.
pub const INLINE_BYTES: usize = 4_096;

/// Bytes of a salt.
pub(crate) const SALT_BYTES: usize = 32;

/// One line of `disclosures/values.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disclosure {
    /// The entry that commits to the value.
    pub seq: u64,
    /// Its field.
    pub field: String,
    /// 64 hexadecimal digits.
    pub salt: String,
    /// The value.
    pub value: String,
}

impl Disclosure {
    /// Reads a line without its newline; only the one canonical text is taken.
    pub(crate) fn from_line(line: &[u8]) -> Option<Self> {
        let disclosure: Self = serde_json::from_slice(line).ok()?;
        (disclosure.to_line().ok()? == line).then_some(disclosure)
    }

    /// The line without its newline.
    pub(crate) fn to_line(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }

    /// The commitment that this line opens, 64 hexadecimal digits; `None` if the salt is not one.
    pub(crate) fn commitment(&self) -> Option<String> {
        Some(to_hex(&sha256(&salted(&from_hex(&self.salt)?, &self.value))))
    }
}

/// A value with the salt that hides it.
pub(crate) struct Secret {
    pub(crate) field: String,
    pub(crate) salt: Hash,
    pub(crate) value: String,
    pub(crate) committed: Committed,
}

impl Secret {
    /// Commits to a value under a fresh salt.
    pub(crate) fn new(field: String, value: String) -> Result<Self, Error> {
        let mut salt = [0; SALT_BYTES];
        getrandom::fill(&mut salt).map_err(Error::NoRandomness)?;
        let commit = to_hex(&sha256(&salted(&salt, &value)));
        let committed = Committed { commit, bytes: value.len() as u64, blob: value.len() > INLINE_BYTES };
        Ok(Secret { field, salt, value, committed })
    }

    /// The content of its blob: salt ‖ value.
    pub(crate) fn blob(&self) -> Vec<u8> {
        salted(&self.salt, &self.value)
    }

    /// The line that discloses it.
    pub(crate) fn disclosure(&self, seq: u64) -> Disclosure {
        Disclosure { seq, field: self.field.clone(), salt: to_hex(&self.salt), value: self.value.clone() }
    }
}

fn salted(salt: &Hash, value: &str) -> Vec<u8> {
    [salt.as_slice(), value.as_bytes()].concat()
}
