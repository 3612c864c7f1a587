//! What a `fork` or `import` entry says of another log: the one it is a copy of, the one that was joined.

use serde_json::{Value, json};

use crate::checkpoint::Checkpoint;
use crate::error::Error;
use crate::record::Record;
use crate::tree::{from_hex, to_hex};

/// The parent of a fork, `None` if the entry names it in no form that can be read.
pub(crate) struct Fork {
    pub(crate) parent: Option<Checkpoint>,
}

impl Fork {
    /// Reads the body of a `fork` entry.
    pub(crate) fn of(record: &Record) -> Self {
        Fork { parent: parent_of(record) }
    }

    /// Writes it, with the log's new origin.
    pub(crate) fn body(parent: &Checkpoint, origin: &str) -> Value {
        json!({ "parent": described(parent), "origin": origin })
    }
}

/// The state of another log that an entry names in its body, if it does.
pub(crate) fn parent_of(record: &Record) -> Option<Checkpoint> {
    let parent = record.body.get("parent")?;
    let origin = parent.get("origin")?.as_str()?.to_owned();
    let root = from_hex(parent.get("root")?.as_str()?)?;
    Some(Checkpoint { origin, size: parent.get("size")?.as_u64()?, root })
}

/// How an entry names it.
pub(crate) fn described(parent: &Checkpoint) -> Value {
    json!({ "origin": parent.origin, "size": parent.size, "root": to_hex(&parent.root) })
}

/// The random part of an origin, 32 hexadecimal digits; `None` if it is not one that this program gives.
pub(crate) fn origin_hex(origin: &str) -> Option<&str> {
    let hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    origin.strip_prefix("fascicolo/").filter(|name| name.len() == 32 && name.chars().all(hex))
}

/// A fresh name for a log.
pub(crate) fn new_origin() -> Result<String, Error> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(Error::NoRandomness)?;
    Ok(format!("fascicolo/{}", to_hex(&random)))
}
