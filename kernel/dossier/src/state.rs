//! What is known of a log in memory: its records, the frontier of its tree, where its disclosures stand.

use std::collections::{BTreeMap, BTreeSet};

use crate::disclosure::Disclosure;
use crate::fault::Fault;
use crate::layout::{ENTRIES, VALUES};
use crate::record::{Kind, Record, no_prev};
use crate::tree::{Frontier, Hash, leaf_hash, to_hex};

/// Entry and field of a committed value.
pub(crate) type Key = (u64, String);

/// A run of bytes in a file.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Span {
    pub(crate) at: u64,
    /// Without the newline.
    pub(crate) bytes: u64,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct State {
    pub(crate) records: Vec<Record>,
    pub(crate) frontier: Frontier,
    /// Leaf hash and place of the last entry.
    pub(crate) last: Option<(Hash, Span)>,
    /// Length of `entries.jsonl` as far as it is known, all lines complete.
    pub(crate) entries_bytes: u64,
    /// Where each disclosed value stands in `disclosures/values.jsonl`.
    pub(crate) values: BTreeMap<Key, Span>,
    /// Length of `disclosures/values.jsonl` as far as it is known.
    pub(crate) values_bytes: u64,
    pub(crate) redacted: BTreeSet<Key>,
    /// Origins that the log has had, each with the entry that gives it.
    pub(crate) origins: Vec<(u64, String)>,
}

impl State {
    /// Number of entries.
    pub(crate) fn size(&self) -> u64 {
        self.records.len() as u64
    }

    /// `prev` of the next entry.
    pub(crate) fn prev(&self) -> String {
        self.last.map_or_else(no_prev, |(hash, _)| to_hex(&hash))
    }

    /// Takes in an entry that is known to be in place as the next line.
    pub(crate) fn accept(&mut self, record: Record, hash: Hash, bytes: u64) {
        self.redacted.extend(record.redactions().into_iter().map(|r| (r.seq, r.field)));
        self.origins.extend(record.origin().map(|origin| (record.seq, origin.to_owned())));
        self.records.push(record);
        self.frontier.push(hash);
        self.last = Some((hash, Span { at: self.entries_bytes, bytes }));
        self.entries_bytes += bytes + 1;
    }

    /// Takes in a line that another writer appended, after checking that it continues this log.
    pub(crate) fn accept_line(&mut self, line: &[u8]) -> Result<(), Fault> {
        let seq = self.size();
        let fault = |what: String| Fault { entry: Some(seq), file: ENTRIES.to_owned(), what };
        let record = Record::from_leaf(line).map_err(fault)?;
        if record.seq != seq || record.prev != self.prev() {
            return Err(fault("does not continue the entry before it".to_owned()));
        }
        if !self.has_its_start(&record) || record.kind == Kind::Log {
            return Err(fault("does not stand in its place".to_owned()));
        }
        self.accept(record, leaf_hash(line), line.len() as u64);
        Ok(())
    }

    /// True if the `start` entry that the record names, if any, is one before it; an `end` must name one.
    pub(crate) fn has_its_start(&self, record: &Record) -> bool {
        match record.start {
            None => record.kind != Kind::End,
            Some(start) => usize::try_from(start)
                .ok()
                .and_then(|start| self.records.get(start))
                .is_some_and(|named| named.kind == Kind::Start),
        }
    }

    /// Takes in disclosures that another writer appended. Returns what is left over from an interrupted append.
    pub(crate) fn accept_values(&mut self, tail: &[u8], first_new: usize) -> Result<Option<Leftover>, Fault> {
        let mut leftover: Option<Leftover> = None;
        for line in tail.split_inclusive(|b| *b == b'\n') {
            let bytes = line.len() as u64;
            let read = line.strip_suffix(b"\n").map(|line| (line, Disclosure::from_line(line)));
            match (read, &mut leftover) {
                // Under the lock nobody is writing: an incomplete line is that of a writer who died.
                (None, left) => {
                    left.get_or_insert(Leftover { at: self.values_bytes });
                }
                (Some((_, Some(d))), left) if d.seq == self.size() => {
                    left.get_or_insert(Leftover { at: self.values_bytes });
                }
                (Some((_, Some(d))), _) if d.seq > self.size() => return Err(cut_off(self.size(), d.seq)),
                (Some((line, Some(d))), None) if self.is_open(&d) => {
                    self.values.insert((d.seq, d.field), Span { at: self.values_bytes, bytes: line.len() as u64 });
                    self.values_bytes += bytes;
                }
                (Some((_, disclosure)), _) => {
                    let what = "holds a line that opens no commitment of a new entry".to_owned();
                    return Err(Fault { entry: disclosure.map(|d| d.seq), file: VALUES.to_owned(), what });
                }
            }
        }
        for record in &self.records[first_new..] {
            for (field, committed) in &record.committed {
                let key = (record.seq, field.clone());
                if !committed.blob && !self.values.contains_key(&key) && !self.redacted.contains(&key) {
                    let what = format!("value `{field}` is not disclosed");
                    return Err(Fault { entry: Some(record.seq), file: VALUES.to_owned(), what });
                }
            }
        }
        Ok(leftover)
    }

    fn is_open(&self, d: &Disclosure) -> bool {
        let record = usize::try_from(d.seq).ok().and_then(|seq| self.records.get(seq));
        record.and_then(|r| r.committed.get(&d.field)).is_some_and(|c| d.commitment().as_ref() == Some(&c.commit))
            && !self.values.contains_key(&(d.seq, d.field.clone()))
    }
}

/// Disclosures of an append that was interrupted before its entry: they all belong to the entry that would be next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leftover {
    /// Offset in `disclosures/values.jsonl`; all that follows is left over.
    pub(crate) at: u64,
}

/// What a disclosure of entry `seq` tells of a log that has `entries` entries, fewer than that: nobody writes it
/// before the entry ahead of it is durable.
pub(crate) fn cut_off(entries: u64, seq: u64) -> Fault {
    let what = format!("{}: {VALUES} discloses a value of entry {seq}, written after it", missing(entries, seq));
    Fault { entry: Some(entries), file: ENTRIES.to_owned(), what }
}

/// Says that the entries `from..until` are missing, of entry `from`.
pub(crate) fn missing(from: u64, until: u64) -> String {
    match until - from {
        1 => "is missing".to_owned(),
        n => format!("is missing, and so are the {} entries after it", n - 1),
    }
}
