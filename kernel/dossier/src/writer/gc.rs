//! Removing the blobs that no entry names: what an interrupted append left, or somebody put there.

use std::collections::HashSet;

use serde::Serialize;

use super::Dossier;
use crate::blobs;
use crate::disk::{self, io_error};
use crate::error::Error;
use crate::layout::{CONTENT, at};

/// What was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Collected {
    /// How many files.
    pub files: u64,
    /// How many bytes they had.
    pub bytes: u64,
}

impl Dossier {
    /// Removes every blob that no entry names. Under the lock no append stands between its blobs and its entry, so that
    /// what nothing names now nothing will ever name. A folder below `blobs/sha256` that holds something else stays.
    /// # Errors
    /// As [`Dossier::append`].
    pub fn collect_garbage(&mut self) -> Result<Collected, Error> {
        self.transaction(|dossier| {
            let named: HashSet<&str> = dossier.view.blob_names().collect();
            let mut collected = Collected::default();
            for folder in disk::names(&at(dossier.path(), CONTENT))? {
                let path = at(dossier.path(), CONTENT).join(&folder);
                for name in disk::names(&path)?.iter().filter(|name| !named.contains(name.as_str())) {
                    if crate::tree::from_hex(name).is_none() || !name.starts_with(&folder) {
                        continue;
                    }
                    let file = path.join(name);
                    collected.bytes += std::fs::metadata(&file).map_err(io_error("look at", &file))?.len();
                    collected.files += 1;
                    blobs::remove(dossier.path(), name)?;
                }
            }
            Ok(collected)
        })
    }
}
