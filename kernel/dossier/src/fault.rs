//! What an examination finds wrong.

use std::collections::HashSet;

use serde::Serialize;

use crate::layout::ENTRIES;

/// One thing that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The entry concerned, as far as it can be told.
    pub entry: Option<u64>,
    /// The file, below the dossier's folder.
    pub file: String,
    /// What is wrong, as a sentence that follows the entry's or the file's name.
    pub what: String,
}

impl Fault {
    /// `entry 3 of entries.jsonl`, or the file alone.
    pub fn place(&self) -> String {
        match self.entry {
            Some(entry) => format!("entry {entry} of {}", self.file),
            None => self.file.clone(),
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.entry {
            Some(entry) => write!(f, "{}, entry {entry}: {}", self.file, self.what),
            None => write!(f, "{}: {}", self.file, self.what),
        }
    }
}

/// Faults, at most one for an entry in a file: the first said is the most specific one.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    list: Vec<Fault>,
    known: HashSet<(u64, String)>,
}

impl Faults {
    /// Adds a fault unless one of the same entry and file is known.
    pub(crate) fn add(&mut self, entry: Option<u64>, file: &str, what: impl Into<String>) {
        if entry.is_none_or(|entry| self.known.insert((entry, file.to_owned()))) {
            self.list.push(Fault { entry, file: file.to_owned(), what: what.into() });
        }
    }

    /// True if a fault of this entry in the log itself is known.
    pub(crate) fn of_entry(&self, entry: usize) -> bool {
        !self.list.is_empty() && self.known.contains(&(entry as u64, ENTRIES.to_owned()))
    }

    /// True if none was found.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// All of them, in the order in which they were found.
    pub(crate) fn into_list(self) -> Vec<Fault> {
        self.list
    }
}
