//! Whether a dossier is sound throughout, told in one pass that holds little of it in memory and uses every processor.
//!
//! It answers for a dossier in which every check of the slow examination holds and nothing is left to be mended: no torn
//! tail, no redaction half done, no stray file among the signatures. For any other it has no answer, and the slow
//! examination, which names faults, decides. It must never take what that one refuses: where it does not know, it has
//! no answer. Start at [`sound`].
//!
//! [`strict`] reads JSON in its one form, [`lines`] what a block of lines says, [`blocks`] hands blocks to threads,
//! [`blobs`] knows what is to be found in which blob.

mod blobs;
mod blocks;
mod lines;
mod strict;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use blobs::Blobs;
use blocks::{BLOCK_BYTES, Blocks, Pool, threads};
use lines::{Commitment, Entries, Values};

use super::chain::joins;
use super::overview::Overview;
use super::{files, signatures};
use crate::checkpoint::Checkpoint;
use crate::disk;
use crate::error::Error;
use crate::fault::Faults;
use crate::fork::{Fork, origin_hex};
use crate::layout::{CHECKPOINT, ENTRIES, SIGNATURES, VALUES, at};
use crate::record::{FORMATS, Kind, Record};
use crate::sign::AllowedSigners;
use crate::state::Key;
use crate::tree::{Frontier, Hash};

/// Why there is no answer: something is odd, or was not to be read. What it is the slow examination says.
#[derive(Debug)]
struct Odd;

impl From<io::Error> for Odd {
    fn from(_: io::Error) -> Self {
        Odd
    }
}

impl From<Error> for Odd {
    fn from(_: Error) -> Self {
        Odd
    }
}

/// Most values missing for which this pass waits to be told that they were redacted.
const MISSING: usize = 1 << 20;

/// Examines a dossier; `None` if it cannot be told this way.
///
/// As the slow examination it reads in the order opposite to that of writing; entries and disclosures are taken as long
/// as they were when they were opened, the disclosures last.
pub(super) fn sound(dossier: &Path, allowed: Option<&AllowedSigners>) -> Option<Overview> {
    look(dossier, allowed, BLOCK_BYTES).ok()
}

/// `block_bytes`: how much of a file is read at a time.
fn look(dossier: &Path, allowed: Option<&AllowedSigners>, block_bytes: usize) -> Result<Overview, Odd> {
    let signature_names = disk::names(&at(dossier, SIGNATURES))?;
    let checkpoint = match disk::read_from(&at(dossier, CHECKPOINT), 0)? {
        Some(text) => Some(Checkpoint::parse(&text).filter(|c| c.size > 0).ok_or(Odd)?),
        None => None,
    };
    let mut entries = Blocks::open(&at(dossier, ENTRIES), block_bytes, Entries::read)?;
    let values = Blocks::open(&at(dossier, VALUES), block_bytes, Values::read)?;

    let pool = Pool::new(if entries.is_large() || values.is_large() { threads() } else { 0 })?;
    let mut log = Log::new(checkpoint.as_ref().map_or(0, |c| c.size));
    let mut disclosed = Disclosed { blocks: values, block: Values::default(), next: 0 };
    let mut commitments = Commitments::default();
    let mut blobs = Blobs::default();
    while let Some(mut block) = entries.next(&pool)? {
        commitments.compare(&block, &mut disclosed, &pool)?;
        for named in &block.blobs {
            blobs.name(named.seq, block.blob_field(named), named)?;
        }
        log.take(&mut block)?;
    }
    disclosed.peek(&pool)?.is_none().then_some(()).ok_or(Odd)?;
    drop(pool);

    commitments.all_opened_once()?;
    commitments.redact(&log.redactions, &mut blobs)?;
    finish(dossier, allowed, log, checkpoint, blobs, &signature_names)
}

/// All that needs the whole log.
fn finish(
    dossier: &Path,
    allowed: Option<&AllowedSigners>,
    log: Log,
    checkpoint: Option<Checkpoint>,
    blobs: Blobs,
    signature_names: &[String],
) -> Result<Overview, Odd> {
    let entries = log.frontier.size();
    let mut notes = Vec::new();
    match &checkpoint {
        None => notes.push(super::chain::NO_CHECKPOINT.to_owned()),
        Some(c) => {
            let holds = log.roots.get(&c.size) == Some(&c.root) && log.origin_at(c.size) == Some(&c.origin);
            (holds && c.size <= entries).then_some(()).ok_or(Odd)?;
        }
    }
    let signs = || log.landmarks.iter().filter(|record| record.kind == Kind::Sign);
    let sizes: BTreeSet<u64> = signs().map(|record| record.seq + 1).collect();
    if signature_names.iter().any(|name| signatures::size_of(name).is_none_or(|size| !sizes.contains(&size))) {
        return Err(Odd);
    }
    let mut faults = Faults::default();
    let signs = signs().map(|record| (record.seq, record)).collect();
    let origin_at = |size| log.origin_at(size);
    let signatures = signatures::reports(dossier, signs, &log.roots, origin_at, allowed, &mut faults)?;
    blobs.check(dossier)?;
    files::note_others(dossier, |name| blobs.is_named(name), &mut notes)?;
    let records = log.landmarks.iter().map(|record| (record.seq as usize, record));
    files::check_quarantine(dossier, records, &mut faults, &mut notes)?;
    if entries == 0 || !faults.is_empty() {
        return Err(Odd);
    }
    Ok(Overview {
        entries,
        root: Some(log.frontier.root()),
        origin: log.origins.last().map(|(_, origin)| origin.clone()),
        checkpoint: checkpoint.map(|c| c.size),
        torn_entry: false,
        leftover: false,
        faults: Vec::new(),
        notes,
        signatures,
        landmarks: log.landmarks,
    })
}

/// The log as far as it was read.
struct Log {
    /// The size that the checkpoint covers, or 0.
    covered: u64,
    frontier: Frontier,
    last: Option<Hash>,
    format: u8,
    /// A bit for each entry, set for `start`.
    starts: Vec<u64>,
    /// Entries up to the last that is no `recover`.
    settled: u64,
    /// Roots at the sizes that something is compared with.
    roots: BTreeMap<u64, Hash>,
    origins: Vec<(u64, String)>,
    /// What was redacted, each with the first entry that says so.
    redactions: BTreeMap<Key, u64>,
    landmarks: Vec<Record>,
    /// How much of each imported log was joined.
    joined: BTreeMap<String, u64>,
}

impl Log {
    fn new(covered: u64) -> Self {
        Log {
            covered,
            frontier: Frontier::default(),
            last: None,
            format: 0,
            starts: Vec::new(),
            settled: 0,
            roots: BTreeMap::new(),
            origins: Vec::new(),
            redactions: BTreeMap::new(),
            landmarks: Vec::new(),
            joined: BTreeMap::new(),
        }
    }

    /// Takes in the next entries.
    fn take(&mut self, block: &mut Entries) -> Result<(), Odd> {
        let first = self.frontier.size();
        let end = first + block.leaves.len() as u64;
        let continues = block.first == first && block.prev == self.last.unwrap_or_default();
        if !continues || block.formats.0 < self.format {
            return Err(Odd);
        }
        self.format = block.formats.1;
        self.last = block.leaves.last().copied().or(self.last);
        self.starts.resize(end.div_ceil(64) as usize, 0);
        for start in &block.starts {
            self.starts[(start / 64) as usize] |= 1 << (start % 64);
        }
        let is_start = |seq: u64| self.starts.get((seq / 64) as usize).is_some_and(|bits| bits >> (seq % 64) & 1 == 1);
        if block.belonging.iter().any(|(seq, start)| start >= seq || !is_start(*start)) {
            return Err(Odd);
        }
        let mut landmarks = std::mem::take(&mut block.landmarks).into_iter().peekable();
        for (seq, leaf) in (first..).zip(&block.leaves) {
            let landmark = landmarks.next_if(|record| record.seq == seq);
            if (landmark.as_ref().is_some_and(|record| record.kind == Kind::Log)) != (seq == 0) {
                return Err(Odd);
            }
            if let Some(record) = &landmark {
                self.before(record)?;
            }
            self.frontier.push(*leaf);
            let kind = landmark.as_ref().map(|record| record.kind);
            if kind == Some(Kind::Sign) || seq + 1 == self.covered {
                self.roots.insert(seq + 1, self.frontier.root());
            }
            if kind != Some(Kind::Recover) {
                self.settled = seq + 1;
            }
            self.landmarks.extend(landmark);
        }
        Ok(())
    }

    /// What such an entry says, while the log ends before it.
    fn before(&mut self, record: &Record) -> Result<(), Odd> {
        match record.kind {
            Kind::Log => {
                let format = record.body.get("format").and_then(|format| format.as_str());
                if record.origin().is_none() || format != FORMATS.get(usize::from(record.v)).copied() {
                    return Err(Odd);
                }
            }
            Kind::Recover => drop(self.roots.insert(record.seq, self.frontier.root())),
            Kind::Fork => {
                self.roots.insert(record.seq, self.frontier.root());
                let parent = Fork::of(record).parent.ok_or(Odd)?;
                // Only what the copy found interrupted may stand between.
                let between = (self.settled.max(1)..=record.seq).contains(&parent.size);
                let root = self.roots.get(&parent.size) == Some(&parent.root);
                let own = record.origin().is_some_and(|own| origin_hex(own).is_some() && !self.has_had(own));
                if !between || !root || !own || self.origin_at(parent.size) != Some(&parent.origin) {
                    return Err(Odd);
                }
            }
            Kind::Redact => {
                let listed = record.redactions();
                if listed.is_empty() {
                    return Err(Odd);
                }
                for redaction in listed {
                    self.redactions.entry((redaction.seq, redaction.field)).or_insert(record.seq);
                }
            }
            Kind::Import => {
                let parent = joins(record).ok_or(Odd)?;
                let size = self.joined.entry(parent.origin).or_default();
                *size = parent.size.max(*size);
            }
            _ => {}
        }
        if record.from.as_ref().is_some_and(|from| self.joined.get(&from.origin).is_none_or(|size| from.seq >= *size)) {
            return Err(Odd);
        }
        self.origins.extend(record.origin().map(|origin| (record.seq, origin.to_owned())));
        Ok(())
    }

    fn has_had(&self, origin: &str) -> bool {
        self.origins.iter().any(|(_, had)| had == origin)
    }

    /// The origin in force when the log had `size` entries.
    fn origin_at(&self, size: u64) -> Option<&str> {
        self.origins.iter().rev().find(|(seq, _)| *seq < size).map(|(_, origin)| origin.as_str())
    }
}

/// The disclosed values, one after the other.
struct Disclosed {
    blocks: Blocks<Values>,
    block: Values,
    next: usize,
}

impl Disclosed {
    fn peek(&mut self, pool: &Pool) -> Result<Option<(&Values, &lines::Value)>, Odd> {
        while self.next == self.block.lines.len() {
            let Some(block) = self.blocks.next(pool)? else { return Ok(None) };
            (self.block, self.next) = (block, 0);
        }
        Ok(self.block.lines.get(self.next).map(|line| (&self.block, line)))
    }
}

/// What the entries commit to in lines, and which of it is not disclosed.
#[derive(Default)]
struct Commitments {
    /// The first bytes of each commitment: none may open two.
    beginnings: Vec<u64>,
    /// Values that are not there, and whether they may be redacted.
    missing: BTreeMap<Key, bool>,
}

impl Commitments {
    /// Compares commitments with the disclosures, both being in the order of entry and field.
    fn compare(&mut self, block: &Entries, disclosed: &mut Disclosed, pool: &Pool) -> Result<(), Odd> {
        for commitment in &block.committed {
            let Commitment { seq, commit, bytes, redactable, .. } = commitment;
            let field = block.field(commitment);
            let (beginning, _) = commit.split_first_chunk().ok_or(Odd)?;
            self.beginnings.push(u64::from_le_bytes(*beginning));
            match disclosed.peek(pool)? {
                Some((values, value)) if value.seq == *seq && values.field(value) == field => {
                    if value.commit != *commit || value.bytes != *bytes {
                        return Err(Odd);
                    }
                    disclosed.next += 1;
                }
                _ => {
                    self.missing.insert((*seq, field.to_owned()), *redactable);
                    if self.missing.len() > MISSING {
                        return Err(Odd);
                    }
                }
            }
        }
        Ok(())
    }

    /// Two equal commitments, which no two salts give, have equal beginnings.
    fn all_opened_once(&mut self) -> Result<(), Odd> {
        self.beginnings.sort_unstable();
        let twice = self.beginnings.windows(2).any(|pair| pair[0] == pair[1]);
        if twice { Err(Odd) } else { Ok(()) }
    }

    /// Every redaction must name a value before it that is gone, and nothing else may be gone.
    fn redact(&self, redactions: &BTreeMap<Key, u64>, blobs: &mut Blobs) -> Result<(), Odd> {
        for (key, by) in redactions {
            let is_line = self.missing.get(key) == Some(&true);
            if key.0 >= *by || !(is_line || blobs.redact(key)) {
                return Err(Odd);
            }
        }
        if self.missing.keys().all(|key| redactions.contains_key(key)) { Ok(()) } else { Err(Odd) }
    }
}
