//! What a `fork` entry says of the log that it is a copy of.

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
        let read = || {
            let parent = record.body.get("parent")?;
            let origin = parent.get("origin")?.as_str()?.to_owned();
            let root = from_hex(parent.get("root")?.as_str()?)?;
            Some(Checkpoint { origin, size: parent.get("size")?.as_u64()?, root })
        };
        Fork { parent: read() }
    }

    /// Writes it, with the log's new origin.
    pub(crate) fn body(parent: &Checkpoint, origin: &str) -> Value {
        json!({
            "parent": {"origin": parent.origin, "size": parent.size, "root": to_hex(&parent.root)},
            "origin": origin,
        })
    }
}

/// A fresh name for a log.
pub(crate) fn new_origin() -> Result<String, Error> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(Error::NoRandomness)?;
    Ok(format!("fascicolo/{}", to_hex(&random)))
}
