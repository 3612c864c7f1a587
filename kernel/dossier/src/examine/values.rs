//! Disclosed values against the commitments of the entries.

use std::collections::{BTreeMap, HashMap};

use super::{Commitments, Slot};
use crate::disclosure::Disclosure;
use crate::fault::Faults;
use crate::layout::VALUES;
use crate::record::Committed;
use crate::state::{Key, Leftover, Span, cut_off};

pub(super) struct Disclosed {
    pub(super) found: BTreeMap<Key, Span>,
    pub(super) leftover: Option<Leftover>,
}

/// Lines that cannot be read, one after the other, and the disclosures around them.
struct Unreadable {
    line: usize,
    count: usize,
    at: u64,
    complete: bool,
    after: Option<Key>,
    before: Option<Key>,
}

/// Checks every line and every commitment. A line is known by the commitment that it opens, so that a line moved to
/// another entry is charged to the entry that it belongs to. `settled`: bytes of `values` that stood there before the
/// entries were read.
pub(super) fn check(
    values: &[u8],
    settled: u64,
    slots: &[Slot],
    commitments: &Commitments,
    faults: &mut Faults,
    notes: &mut Vec<String>,
) -> Disclosed {
    let expected = expected(slots);
    let by_commitment: HashMap<&str, &Key> = expected.iter().map(|(key, c)| (c.commit.as_str(), key)).collect();
    let mut found: BTreeMap<Key, Span> = BTreeMap::new();
    let mut accounted: BTreeMap<Key, ()> = BTreeMap::new();
    let mut unreadable: Vec<Unreadable> = Vec::new();
    let mut leftover: Option<Leftover> = None;
    let mut previous: Option<Key> = None;
    let mut broken = false;
    let mut highest = 0;
    let mut at = 0;
    for (number, piece) in values.split_inclusive(|b| *b == b'\n').enumerate() {
        let start = at;
        at += piece.len() as u64;
        let line = piece.strip_suffix(b"\n");
        let Some(d) = line.and_then(Disclosure::from_line) else {
            match unreadable.last_mut().filter(|_| broken) {
                Some(run) => {
                    run.count += 1;
                    run.complete = line.is_some();
                }
                None => unreadable.push(Unreadable {
                    line: number + 1,
                    count: 1,
                    at: start,
                    complete: line.is_some(),
                    after: previous.clone(),
                    before: None,
                }),
            }
            broken = true;
            continue;
        };
        let named = (d.seq, d.field.clone());
        let opened = d.commitment().and_then(|c| by_commitment.get(c.as_str()).map(|key| (*key).clone()));
        let unjudged = usize::try_from(d.seq).ok().and_then(|s| slots.get(s).map(|slot| (s, slot)));
        if let Some(key) = &opened {
            if *key != named {
                let what =
                    format!("the disclosure of value `{}` was changed to entry {}, value `{}`", key.1, d.seq, d.field);
                faults.add(Some(key.0), VALUES, what);
            } else if found.contains_key(key) {
                faults.add(Some(key.0), VALUES, format!("value `{}` is disclosed twice", key.1));
            } else if previous.as_ref().is_some_and(|p| p > key) || leftover.is_some() {
                faults.add(Some(key.0), VALUES, format!("value `{}` is disclosed out of order", key.1));
            } else if expected.get(key).is_some_and(|c| c.bytes != d.value.len() as u64) {
                faults.add(Some(key.0), VALUES, format!("value `{}` is not as long as its entry says", key.1));
            } else {
                found.insert(key.clone(), Span { at: start, bytes: piece.len() as u64 - 1 });
            }
            accounted.insert(key.clone(), ());
        } else if expected.contains_key(&named) {
            faults.add(Some(d.seq), VALUES, format!("value `{}` is not the one committed to", d.field));
            accounted.insert(named.clone(), ());
        } else if d.seq >= slots.len() as u64 {
            leftover.get_or_insert(Leftover { at: start });
            // What was appended while the entries were read may belong to entries that came meanwhile.
            if d.seq > slots.len() as u64 && at <= settled {
                highest = highest.max(d.seq);
            }
        } else if unjudged.is_some_and(|(seq, slot)| slot.record.is_some() && !faults.of_entry(seq)) {
            faults.add(
                Some(d.seq),
                VALUES,
                format!("value `{}` is disclosed, but its entry does not hold it", d.field),
            );
        }
        if let Some(run) = unreadable.last_mut().filter(|_| broken) {
            run.before = Some(opened.clone().unwrap_or_else(|| named.clone()));
        }
        broken = false;
        previous = Some(opened.unwrap_or(named));
    }

    let mut missing: BTreeMap<&Key, ()> = expected
        .keys()
        .filter(|key| !accounted.contains_key(*key) && !commitments.redacted.contains(*key))
        .map(|key| (key, ()))
        .collect();
    for run in unreadable {
        let gap: Vec<&Key> = missing
            .keys()
            .copied()
            .filter(|key| run.after.as_ref().is_none_or(|a| a < *key) && run.before.as_ref().is_none_or(|b| *key < b))
            .collect();
        let lines = if run.count == 1 { format!("line {}", run.line) } else { format!("lines from {} on", run.line) };
        if gap.is_empty() {
            if run.complete || run.count > 1 {
                faults.add(None, VALUES, format!("{lines} cannot be read and belong to no entry"));
            } else {
                leftover.get_or_insert(Leftover { at: run.at });
            }
        }
        for key in gap {
            faults.add(
                Some(key.0),
                VALUES,
                format!("{lines}, which should disclose value `{}`, cannot be read", key.1),
            );
            missing.remove(key);
        }
    }
    for (seq, field) in missing.into_keys() {
        if commitments.unsure {
            notes.push(format!("value `{field}` of entry {seq} is missing; whether it was redacted cannot be told"));
        } else {
            faults.add(
                Some(*seq),
                VALUES,
                format!("value `{field}` is missing, and no entry says that it was redacted"),
            );
        }
    }
    let kept = found.keys().filter(|key| commitments.redacted.contains(*key)).count();
    if kept > 0 {
        notes.push(format!("{kept} redacted values still stand in {VALUES}; the next session removes them"));
    }
    if highest > 0 {
        let fault = cut_off(slots.len() as u64, highest);
        faults.add(fault.entry, &fault.file, fault.what);
    } else if leftover.is_some() {
        notes.push(format!("{VALUES} holds the rest of an interrupted append"));
    }
    Disclosed { found, leftover }
}

/// The commitments whose values stand in lines.
fn expected(slots: &[Slot]) -> BTreeMap<Key, &Committed> {
    let numbered = slots.iter().enumerate().filter_map(|(seq, slot)| Some((seq as u64, slot.record.as_ref()?)));
    numbered
        .flat_map(|(seq, record)| record.committed.iter().map(move |(field, c)| ((seq, field.clone()), c)))
        .filter(|(_, committed)| !committed.blob)
        .collect()
}
