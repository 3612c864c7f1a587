//! Each entry against its neighbours, and all against the checkpoint.
//!
//! Entry k + 1 names entry k by its leaf hash. Where they disagree one of them was changed: if entry k + 1, with
//! its link set to what entry k hashes to, is the one that entry k + 2 or the checkpoint knows, its link was
//! changed; else entry k.

use std::collections::{BTreeMap, BTreeSet};

use super::Slot;
use crate::checkpoint::Checkpoint;
use crate::fault::Faults;
use crate::fork::{Fork, origin_hex, parent_of};
use crate::layout::{CHECKPOINT, ENTRIES};
use crate::record::{FORMATS, Kind, Record, Redaction, no_prev};
use crate::state::missing;
use crate::tree::{Frontier, Hash, from_hex, leaf_hash, to_hex};

/// What is noted where there is none.
pub(super) const NO_CHECKPOINT: &str = "there is no checkpoint: nothing vouches for the last entry";

/// Follows the links and gives every slot the hash it originally had, as far as that can be told.
pub(super) fn links(slots: &mut [Slot], checkpoint: Option<&Checkpoint>, faults: &mut Faults) {
    for k in 0..slots.len() {
        let Some(record) = &slots[k].record else { continue };
        let Some(before) = k.checked_sub(1) else {
            if record.prev != no_prev() {
                faults.add(Some(0), ENTRIES, "names an entry before it, although it is the first");
            }
            continue;
        };
        let named = from_hex(&record.prev);
        match slots[before].original {
            Some(hash) if named == Some(hash) => {}
            // Nothing readable stands there, or it is known to be changed: its successor tells what it was.
            None => slots[before].original = named,
            Some(_) if faults.of_entry(before) => slots[before].original = named,
            Some(hash) => {
                let relinked = with_prev(record, &hash);
                if relinked.is_some_and(|relinked| known(slots, checkpoint, k, relinked)) {
                    faults.add(
                        Some(k as u64),
                        ENTRIES,
                        "was changed: its link to the entry before it is not the one written",
                    );
                    slots[k].original = relinked;
                    continue;
                }
                let found = to_hex(&hash);
                let certain = {
                    let as_named = std::mem::replace(&mut slots[before].original, named);
                    let certain = slots[k].stored.is_some_and(|stored| known(slots, checkpoint, k, stored));
                    slots[before].original = if certain { named } else { as_named };
                    certain
                };
                let what = if certain {
                    format!("was changed: its bytes hash to {found}, the entry after it names another")
                } else {
                    format!("was changed (it hashes to {found}), or else the link of the entry after it was")
                };
                faults.add(Some(before as u64), ENTRIES, what);
                slots[before].original = named;
            }
        }
    }
}

/// True if entry `k` with this leaf hash is the one that its successor names or, at its end, the checkpoint covers.
fn known(slots: &[Slot], checkpoint: Option<&Checkpoint>, k: usize, hash: Hash) -> bool {
    if let Some(next) = slots.get(k + 1) {
        return next.record.as_ref().is_some_and(|next| from_hex(&next.prev) == Some(hash));
    }
    let Some(checkpoint) = checkpoint.filter(|c| c.size == k as u64 + 1) else { return false };
    let leaves = slots[..k].iter().map(|slot| slot.original).chain([Some(hash)]);
    leaves.collect::<Option<Frontier>>().is_some_and(|tree| tree.root() == checkpoint.root)
}

fn with_prev(record: &Record, prev: &Hash) -> Option<Hash> {
    let relinked = Record { prev: to_hex(prev), ..record.clone() };
    Some(leaf_hash(&relinked.to_leaf().ok()?))
}

/// Compares the log with its checkpoint, byte for byte. Returns true if `tail`, the offset of an incomplete last
/// line, is one that no checkpoint covers.
pub(super) fn against_checkpoint(
    slots: &[Slot],
    text: Option<&[u8]>,
    checkpoint: Option<&Checkpoint>,
    tail: Option<u64>,
    faults: &mut Faults,
    notes: &mut Vec<String>,
) -> bool {
    let entries = slots.len() as u64;
    let Some(text) = text else {
        notes.push(NO_CHECKPOINT.to_owned());
        return tail.is_some();
    };
    let Some(checkpoint) = checkpoint.filter(|c| c.size > 0) else {
        faults.add(entries.checked_sub(1), CHECKPOINT, "is not a checkpoint of this log: it was changed");
        return tail.is_some();
    };
    let size = checkpoint.size;
    let last = Some(size.min(entries).saturating_sub(1));
    let roots = || {
        let leaves = slots.iter().map_while(|slot| slot.original);
        leaves.scan(Frontier::default(), |tree, leaf| {
            tree.push(leaf);
            Some((tree.size(), tree.root()))
        })
    };
    if let Some((seq, origin)) = Origins::of(slots, faults).at(size).filter(|(_, origin)| *origin != checkpoint.origin)
    {
        let what = format!("was changed: it names another origin than {origin}, which entry {seq} gives");
        faults.add(last, CHECKPOINT, what);
    }
    if size > entries {
        if let Some((other, _)) = roots().find(|(_, root)| *root == checkpoint.root) {
            let what = format!("was changed: its root is that of {other} entries, not of {size}");
            faults.add(Some(other - 1), CHECKPOINT, what);
            return tail.is_some();
        }
        let what = match tail {
            Some(_) => "is incomplete, although the checkpoint covers it".to_owned(),
            None => missing(entries, size),
        };
        faults.add(Some(entries), ENTRIES, what);
        return false;
    }
    let covered = &slots[..size as usize];
    let Some(tree) = covered.iter().map(|slot| slot.original).collect::<Option<Frontier>>() else {
        notes.push("the checkpoint's root cannot be compared: an entry that it covers cannot be read".to_owned());
        return tail.is_some();
    };
    let own = Checkpoint { origin: checkpoint.origin.clone(), size, root: tree.root() };
    // A last entry known to be changed has no successor that tells what it was.
    if own.to_text().as_bytes() != text && !faults.of_entry(covered.len() - 1) {
        let (entry, what) = match roots().find(|(_, root)| *root == checkpoint.root) {
            Some((other, _)) => {
                (Some(other - 1), format!("was changed: its root is that of {other} entries, not of {size}"))
            }
            None if size == entries => {
                let entry = size - 1;
                (last, format!("its root is not that of the {size} entries: it was changed, or else entry {entry} was"))
            }
            None => (last, format!("was changed: its root is not that of the first {size} entries")),
        };
        faults.add(entry, CHECKPOINT, what);
    }
    tail.is_some()
}

/// What must stand where: `log` first and only there, a `start` before what belongs to it.
pub(super) fn places(slots: &[Slot], faults: &mut Faults) {
    if slots.is_empty() {
        return;
    }
    for (seq, slot) in slots.iter().enumerate() {
        let Some(record) = slot.record.as_ref().filter(|_| !faults.of_entry(seq)) else { continue };
        let entry = Some(seq as u64);
        if seq == 0 {
            if record.kind != Kind::Log
                || record.origin().is_none()
                || record.body.get("format").and_then(|f| f.as_str()) != FORMATS.get(usize::from(record.v)).copied()
            {
                faults.add(entry, ENTRIES, format!("does not open a log of format {}", FORMATS.join(" or ")));
            }
        } else if record.kind == Kind::Log {
            faults.add(entry, ENTRIES, "opens a log, although it is not the first");
        }
        let before = seq.checked_sub(1).and_then(|before| slots[before].record.as_ref());
        if before.is_some_and(|before| before.v > record.v) {
            faults.add(entry, ENTRIES, format!("is of format v{}, older than the entry before it", record.v));
        }
        let Some(start) = record.start else {
            if record.kind == Kind::End {
                faults.add(entry, ENTRIES, "is an end without a start");
            }
            continue;
        };
        let named = usize::try_from(start).ok().filter(|start| *start < seq);
        let known_to_be_wrong = named.is_some_and(|s| slots[s].record.is_none() || faults.of_entry(s));
        let is_start = named.and_then(|s| slots[s].record.as_ref()).is_some_and(|r| r.kind == Kind::Start);
        if !is_start && !known_to_be_wrong {
            faults.add(entry, ENTRIES, format!("belongs to entry {start}, which is not a start before it"));
        }
    }
}

/// The origins that the log has had.
pub(super) struct Origins<'a> {
    /// Each with the entry that gives it.
    given: Vec<(u64, &'a str)>,
    /// The first entry that may give one and cannot be trusted.
    unsure: u64,
}

impl<'a> Origins<'a> {
    pub(super) fn of(slots: &'a [Slot], faults: &Faults) -> Self {
        let mut origins = Origins { given: Vec::new(), unsure: u64::MAX };
        for (seq, slot) in slots.iter().enumerate() {
            // One that was changed may have given an origin before, whatever it is now.
            match slot.record.as_ref().filter(|_| !faults.of_entry(seq)) {
                Some(record) => origins.given.extend(record.origin().map(|origin| (seq as u64, origin))),
                None => origins.unsure = origins.unsure.min(seq as u64),
            }
        }
        origins
    }

    /// The origin in force when the log had `size` entries and the entry that gives it; `None` if it cannot be told.
    pub(super) fn at(&self, size: u64) -> Option<(u64, &'a str)> {
        let known = self.unsure >= size;
        self.given.iter().rev().find(|(seq, _)| *seq < size).filter(|_| known).copied()
    }
}

/// Roots of the log at these sizes, as far as its entries tell.
pub(super) fn roots_at(slots: &[Slot], sizes: &BTreeSet<u64>) -> BTreeMap<u64, Hash> {
    let mut roots = BTreeMap::new();
    let until = sizes.last().map_or(0, |size| usize::try_from(*size).map_or(slots.len(), |size| size.min(slots.len())));
    let mut tree = Frontier::default();
    for leaf in slots[..until].iter().map_while(|slot| slot.original) {
        tree.push(leaf);
        if sizes.contains(&tree.size()) {
            roots.insert(tree.size(), tree.root());
        }
    }
    roots
}

/// What a fork says of its parent must be what this log was there; its own origin must be a new one.
pub(super) fn forks(slots: &[Slot], faults: &mut Faults) {
    let forks: Vec<(usize, Fork)> = slots
        .iter()
        .enumerate()
        .filter_map(|(seq, slot)| Some((seq, slot.record.as_ref().filter(|r| r.kind == Kind::Fork)?)))
        .map(|(seq, record)| (seq, Fork::of(record)))
        .collect();
    let sizes = forks.iter().filter_map(|(_, fork)| Some(fork.parent.as_ref()?.size)).collect();
    let roots = roots_at(slots, &sizes);
    let known = Origins::of(slots, faults);
    let mut origins: Vec<&str> = slots.first().and_then(|slot| slot.record.as_ref()?.origin()).into_iter().collect();
    for (seq, fork) in &forks {
        let own = slots[*seq].record.as_ref().and_then(Record::origin);
        let entry = Some(*seq as u64);
        if faults.of_entry(*seq) {
            continue;
        }
        match own {
            Some(own) if origin_hex(own).is_some() && !origins.contains(&own) => origins.push(own),
            _ => faults.add(entry, ENTRIES, "forks the log, but gives it no origin of its own"),
        }
        let Some(parent) = fork.parent.as_ref().filter(|parent| (1..=*seq as u64).contains(&parent.size)) else {
            faults.add(entry, ENTRIES, "forks the log, but names no parent before it");
            continue;
        };
        // Only what the copy found interrupted may stand between.
        let between = &slots[parent.size as usize..*seq];
        let recovered = between.iter().filter_map(|slot| slot.record.as_ref()).all(|r| r.kind == Kind::Recover);
        let origin = known.at(parent.size).is_none_or(|(_, origin)| origin == parent.origin);
        if !recovered || !origin || roots.get(&parent.size).is_some_and(|root| *root != parent.root) {
            faults.add(entry, ENTRIES, "forks the log from a parent that it is no copy of");
        }
    }
}

/// The log that an `import` entry joins. What a joined log joined itself stands there, and is not joined by repetition.
pub(super) fn joins(record: &Record) -> Option<Checkpoint> {
    let named = |parent: &Checkpoint| parent.size > 0 && origin_hex(&parent.origin).is_some();
    parent_of(record).filter(|parent| record.from.is_none() && named(parent))
}

/// An import names the log that it joins; an entry repeats only what a log joined before it holds.
pub(super) fn imports(slots: &[Slot], faults: &mut Faults) {
    let mut joined: BTreeMap<String, u64> = BTreeMap::new();
    let mut unsure = false;
    for (seq, slot) in slots.iter().enumerate() {
        let Some(record) = slot.record.as_ref().filter(|_| !faults.of_entry(seq)) else {
            // It may have been an import before it was changed.
            unsure = true;
            continue;
        };
        let entry = Some(seq as u64);
        if record.kind == Kind::Import {
            match joins(record) {
                Some(parent) => {
                    let size = joined.entry(parent.origin).or_default();
                    *size = parent.size.max(*size);
                }
                None => faults.add(entry, ENTRIES, "imports a log, but does not name it, or repeats such an entry"),
            }
        }
        if let Some(from) = record.from.as_ref().filter(|_| !unsure)
            && joined.get(&from.origin).is_none_or(|size| from.seq >= *size)
        {
            let what = format!("repeats entry {} of {}, which no import before it joined", from.seq, from.origin);
            faults.add(entry, ENTRIES, what);
        }
    }
}

/// What a redaction names must be a private value of an entry before it.
pub(super) fn redactions(slots: &[Slot], faults: &mut Faults) {
    for (seq, slot) in slots.iter().enumerate() {
        let redacts = slot.record.as_ref().filter(|record| record.kind == Kind::Redact && !faults.of_entry(seq));
        let Some(record) = redacts else { continue };
        let listed = record.redactions();
        if listed.is_empty() {
            faults.add(Some(seq as u64), ENTRIES, "redacts nothing that can be read");
        }
        for Redaction { seq: named, field } in listed {
            let before = usize::try_from(named).ok().filter(|named| *named < seq);
            let unreadable = before.is_some_and(|before| slots[before].record.is_none() || faults.of_entry(before));
            let holds = before
                .and_then(|before| slots[before].record.as_ref())
                .is_some_and(|record| record.committed.contains_key(&field) && record.kind.is_redactable());
            if !holds && !unreadable {
                let what = format!("redacts `{field}` of entry {named}, which holds no such value before it");
                faults.add(Some(seq as u64), ENTRIES, what);
            }
        }
    }
}
