//! Which line is which entry, also where lines were split, merged, removed, repeated or made unreadable.

use super::Slot;
use crate::checkpoint::Checkpoint;
use crate::fault::Faults;
use crate::layout::ENTRIES;
use crate::record::{NOT_CANONICAL, Record};
use crate::state::{Span, missing};
use crate::tree::leaf_hash;

/// Most entries that are taken to be missing, all gaps together; a larger jump is taken as a changed number. Each takes
/// memory, so that a short log of many jumps must not ask for more than that.
const LARGEST_GAP: u64 = 100_000;

pub(super) struct Lines {
    pub(super) slots: Vec<Slot>,
    /// Offset of what follows the last newline, if anything does.
    pub(super) tail: Option<u64>,
}

struct Line<'a> {
    span: Span,
    bytes: &'a [u8],
    record: Result<Record, String>,
}

impl Line<'_> {
    fn seq(&self) -> Option<u64> {
        self.record.as_ref().ok().map(|r| r.seq)
    }
}

/// Gives every complete line its number. The position decides; the numbers in the lines tell where it fails.
pub(super) fn read(entries: &[u8], checkpoint: Option<&Checkpoint>, faults: &mut Faults) -> Lines {
    let (lines, tail) = split(entries);
    let covered = checkpoint.map_or(0, |c| c.size);
    let mut slots: Vec<Slot> = Vec::with_capacity(lines.len());
    let mut next = 0;
    let mut room = LARGEST_GAP;
    let mut lines = lines.into_iter().peekable();
    while let Some(line) = lines.next() {
        next += 1;
        let expected = slots.len() as u64;
        let entry = Some(expected);
        match &line.record {
            Ok(record) if record.seq == expected => slots.push(slot(line, expected, faults)),
            Ok(record) => {
                let seq = record.seq;
                let after = lines.peek().map(Line::seq);
                let follows = |last: u64| after.map_or(covered == last + 1, |after| after == Some(last + 1));
                if after == Some(Some(expected)) || (seq < expected && after.is_none() && covered <= expected) {
                    faults.add(entry, ENTRIES, format!("line {next} repeats entry {seq} or brings it out of order"));
                } else if seq > expected && seq - expected <= room && follows(seq) && !follows(expected) {
                    faults.add(entry, ENTRIES, missing(expected, seq));
                    room -= seq - expected;
                    slots.resize_with(slots.len() + (seq - expected) as usize, Slot::default);
                    slots.push(slot(line, seq, faults));
                } else {
                    faults.add(entry, ENTRIES, format!("calls itself entry {seq}"));
                    slots.push(slot(line, expected, faults));
                }
            }
            Err(why) => {
                let mut run = 1;
                while lines.next_if(|l| l.record.is_err()).is_some() {
                    run += 1;
                }
                next += run as usize - 1;
                // How many entries the unreadable lines stood for: as many as the next readable number or, at the end,
                // the checkpoint leaves room for; a newline changed to or from another byte makes that differ.
                let until = match lines.peek().and_then(Line::seq) {
                    Some(seq) if seq >= expected && seq - expected <= room + run => seq,
                    None if covered > expected && covered - expected <= run + 1 => covered,
                    _ => expected + run,
                };
                room -= room.min((until - expected).saturating_sub(run));
                let what = match until.saturating_sub(expected) {
                    0 => "an unreadable line stands before it".to_owned(),
                    1 => why.clone(),
                    n => format!("{why}; the {n} entries from here cannot be told apart"),
                };
                faults.add(entry, ENTRIES, what);
                slots.resize_with(until as usize, Slot::default);
            }
        }
    }
    Lines { slots, tail }
}

fn slot(line: Line<'_>, entry: u64, faults: &mut Faults) -> Slot {
    let Ok(record) = line.record else { return Slot::default() };
    if !record.is_written_as(line.bytes) {
        faults.add(Some(entry), ENTRIES, NOT_CANONICAL);
    }
    let hash = Some(leaf_hash(line.bytes));
    Slot { span: Some(line.span), record: Some(record), stored: hash, original: hash }
}

fn split(entries: &[u8]) -> (Vec<Line<'_>>, Option<u64>) {
    let mut lines = Vec::new();
    let mut at = 0;
    for piece in entries.split_inclusive(|b| *b == b'\n') {
        let Some(bytes) = piece.strip_suffix(b"\n") else { return (lines, Some(at)) };
        let span = Span { at, bytes: bytes.len() as u64 };
        lines.push(Line { span, bytes, record: Record::from_json(bytes) });
        at += piece.len() as u64;
    }
    (lines, None)
}
