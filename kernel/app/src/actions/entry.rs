//! The entry that a name means: of this case file, or of a log that was imported into it.
//!
//! Imported logs are whole case files under `parents/`, each in a folder named by the digits of its origin.

use crate::failure::Failure;
use fascicolo_dossier::{Dossier, Kind, Record, View};
use fascicolo_magics::why::EntryName;
use std::path::PathBuf;

/// The folder of imported logs in a case file.
const PARENTS: &str = "parents";

/// An entry, and the log that it stands in.
pub struct Entry<'a> {
    log: Log<'a>,
    seq: u64,
}

enum Log<'a> {
    Own(&'a View),
    /// An imported log.
    Parent(Box<View>),
}

impl Log<'_> {
    fn view(&self) -> &View {
        match self {
            Log::Own(view) => view,
            Log::Parent(view) => view,
        }
    }
}

/// The digits of an origin.
fn digits(origin: &str) -> &str {
    origin.rsplit('/').next().unwrap_or(origin)
}

impl<'a> Entry<'a> {
    /// Looks it up. An entry that repeats one of an imported log means that one: there it came about.
    ///
    /// # Errors
    /// `no_such_log`, `ambiguous_log`, `no_such_entry`, each with what is there; what reading an imported log meets.
    pub fn find(own: &'a View, name: &EntryName) -> Result<Entry<'a>, Failure> {
        let found = Entry::named(own, name)?;
        match found.record().and_then(|record| record.from.as_ref()) {
            // Of a log that is imported here itself: deeper ones lie in that log's own folder.
            Some(from) if name.origin.is_none() => {
                let origin = Some(digits(&from.origin).to_owned());
                Entry::named(own, &EntryName { origin, number: from.seq })
            }
            _ => Ok(found),
        }
    }

    /// Looks it up, as it stands.
    ///
    /// # Errors
    /// As [`Entry::find`].
    pub fn named(own: &'a View, name: &EntryName) -> Result<Entry<'a>, Failure> {
        let log = match &name.origin {
            Some(prefix) => parent(own, prefix)?,
            None => Log::Own(own),
        };
        let view = log.view();
        let Some(record) = view.record(name.number) else {
            let whose = if name.origin.is_some() { digits(view.origin()) } else { "the case file" };
            let what =
                format!("there is no entry {}; {whose} has entries 0 to {}", name.number, view.size().max(1) - 1);
            return Err(Failure::usage("no_such_entry", what, there_is(own)));
        };
        Ok(Entry { seq: record.seq, log })
    }

    /// The log that it stands in.
    pub fn log(&self) -> &View {
        self.log.view()
    }

    /// Its number there.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// As named in results: `entry 12`, or `entry 3f2a51c09b77/12` of an imported log.
    pub fn name(&self) -> String {
        self.name_of(self.seq)
    }

    /// Another entry of the same log.
    pub fn name_of(&self, seq: u64) -> String {
        match &self.log {
            Log::Own(_) => format!("entry {seq}"),
            Log::Parent(log) => {
                let digits = digits(log.origin());
                format!("entry {}/{seq}", digits.get(..12).unwrap_or(digits))
            }
        }
    }

    /// The record itself.
    pub fn record(&self) -> Option<&Record> {
        self.log().record(self.seq)
    }

    /// The record that tells what the entry is about: of the start or the end of a cell, the comparison in it, or the
    /// last thing that read files.
    pub fn subject(&self) -> Option<&Record> {
        let record = self.record()?;
        let start = match record.kind {
            Kind::Start => record.seq,
            Kind::End | Kind::Error => record.start?,
            _ => return Some(record),
        };
        let of_cell = || self.log().records().rev().filter(|r| r.start == Some(start));
        let found = of_cell().find(|r| r.kind == Kind::Verdict).or_else(|| of_cell().find(|r| !r.reads.is_empty()));
        found.or(Some(record))
    }

    /// The record of how the cell of a start ended; otherwise the entry's own.
    pub fn ending(&self) -> Option<&Record> {
        let record = self.record()?;
        let ends = |r: &&Record| r.start == Some(self.seq) && matches!(r.kind, Kind::End | Kind::Error);
        if record.kind == Kind::Start { self.log().records().find(ends).or(Some(record)) } else { Some(record) }
    }
}

/// The imported log whose origin begins so, or this one itself.
fn parent<'a>(own: &'a View, prefix: &str) -> Result<Log<'a>, Failure> {
    let found: Vec<PathBuf> =
        parents(own).into_iter().filter(|(name, _)| name.starts_with(prefix)).map(|p| p.1).collect();
    let is_own = digits(own.origin()).starts_with(prefix);
    match (found.as_slice(), is_own) {
        ([], true) => Ok(Log::Own(own)),
        ([one], false) => Ok(Log::Parent(Box::new(Dossier::read(one)?))),
        ([], false) => {
            let what = format!("no log whose origin begins with {prefix} was imported into this case file");
            Err(Failure::usage("no_such_log", what, there_is(own)))
        }
        _ => {
            let what = format!("more than one log has an origin that begins with {prefix}");
            Err(Failure::usage("ambiguous_log", what, there_is(own)))
        }
    }
}

/// How an imported log is called in the name of one of its entries: as few digits of its origin as tell it apart.
pub fn prefix(own: &View, origin: &str) -> String {
    let digits = self::digits(origin);
    let others: Vec<String> = parents(own)
        .into_iter()
        .map(|(name, _)| name)
        .chain([self::digits(own.origin()).to_owned()])
        .filter(|other| other != digits)
        .collect();
    let alone =
        |length: &usize| digits.get(..*length).is_some_and(|p| !others.iter().any(|other| other.starts_with(p)));
    let length = (4..digits.len()).find(alone).unwrap_or(digits.len());
    digits.get(..length).unwrap_or(digits).to_owned()
}

/// Digits of the origin and folder of each imported log, sorted.
fn parents(own: &View) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(own.path().join(PARENTS)).into_iter().flatten().flatten();
    let named = entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()));
    let is_origin = |name: &str| name.len() == 32 && name.bytes().all(|b| b.is_ascii_hexdigit());
    let mut found: Vec<_> = named.filter(|(name, path)| is_origin(name) && path.is_dir()).collect();
    found.sort();
    found
}

/// What can be named, as a next step.
fn there_is(own: &View) -> String {
    let entries = |view: &View| format!("entries 0 to {}", view.size().max(1) - 1);
    let mut text = format!("name one of this case file's {}", entries(own));
    let parents = parents(own);
    if parents.is_empty() {
        text.push_str("; no other log is imported");
    }
    for (name, path) in parents {
        let short = name.get(..12).unwrap_or(&name).to_owned();
        match Dossier::read(&path) {
            Ok(view) => text.push_str(&format!(", or of {short}/ {}", entries(&view))),
            Err(error) => text.push_str(&format!(", or of {short}/, which cannot be read: {error}")),
        }
    }
    text.push_str("; `%dossier log` lists them");
    text
}
