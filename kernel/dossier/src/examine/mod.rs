//! Reads a whole dossier without writing to it and says what is not as it was written, and which entry it concerns.
//!
//! Order: lines to entries ([`lines`]), each entry to its neighbours and all to the checkpoint ([`chain`]),
//! disclosures to commitments ([`values`]), blobs and quarantine to what names them ([`files`]), signatures to keys and
//! roots ([`signatures`]). Start at
//! [`examine`]. It holds the whole log in memory to say of every fault which entry it concerns; [`overview`] asks first
//! whether all is sound, which [`sound`] tells faster and in little memory.

mod chain;
mod files;
mod lines;
mod overview;
mod signatures;
mod sound;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::checkpoint::Checkpoint;
use crate::disk;
use crate::error::Error;
use crate::fault::{Fault, Faults};
use crate::layout::{CHECKPOINT, ENTRIES, SIGNATURES, VALUES, at};
use crate::record::{Kind, Record};
use crate::sign::AllowedSigners;
use crate::state::{Key, Leftover, Span, State};
use crate::tree::Hash;

pub(crate) use files::{Moved, stray_quarantine};
pub(crate) use overview::{Overview, overview};
pub use signatures::SignatureReport;

/// One number of the log and what stands there.
#[derive(Debug, Default)]
struct Slot {
    span: Option<Span>,
    /// `None` if nothing readable stands there.
    record: Option<Record>,
    /// Leaf hash of the line as it stands.
    stored: Option<Hash>,
    /// Leaf hash that the entry had, as far as its line or its neighbours tell.
    original: Option<Hash>,
}

/// What an examination found.
pub(crate) struct Examination {
    pub(crate) faults: Vec<Fault>,
    pub(crate) notes: Vec<String>,
    pub(crate) checkpoint: Option<Checkpoint>,
    /// Offset of an incomplete last line that no checkpoint covers.
    pub(crate) torn_entry: Option<u64>,
    pub(crate) leftover: Option<Leftover>,
    /// True if a value was redacted since the entries were read.
    overtaken: bool,
    pub(crate) signatures: Vec<SignatureReport>,
    slots: Vec<Slot>,
    values: BTreeMap<Key, Span>,
    values_bytes: u64,
}

/// How much of a dossier is examined.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Extent<'a> {
    /// The log and the disclosures.
    Log,
    /// Every blob, quarantined tail and signature, too; keys are told apart by these signers.
    All(Option<&'a AllowedSigners>),
}

/// Examines a dossier.
///
/// Takes no lock. It reads checkpoint, entries, disclosures, blobs in the order opposite to that in which they are
/// written: what is read later holds all that what was read before refers to, even while somebody appends.
pub(crate) fn examine(dossier: &Path, extent: Extent<'_>) -> Result<Examination, Error> {
    for _ in 0..READINGS {
        let found = examine_once(dossier, extent)?;
        if found.faults.is_empty() || !found.overtaken {
            return Ok(found);
        }
    }
    examine_once(dossier, extent)
}

/// How often an examination that found a fault while a redaction went on is made again: a redaction takes out what
/// was read as there a moment before.
const READINGS: usize = 32;

fn examine_once(dossier: &Path, extent: Extent<'_>) -> Result<Examination, Error> {
    let mut faults = Faults::default();
    let mut notes = Vec::new();
    let before = disk::identity(&at(dossier, VALUES))?;
    let signature_names = disk::names(&at(dossier, SIGNATURES))?;
    let settled = disk::length(&at(dossier, VALUES))?;
    let checkpoint_text = disk::read_from(&at(dossier, CHECKPOINT), 0)?;
    let entries = disk::read_from(&at(dossier, ENTRIES), 0)?.unwrap_or_default();
    let values = disk::read_from(&at(dossier, VALUES), 0)?.unwrap_or_default();

    let checkpoint = checkpoint_text.as_deref().and_then(Checkpoint::parse);
    let lines::Lines { mut slots, tail } = lines::read(&entries, checkpoint.as_ref(), &mut faults);
    chain::links(&mut slots, checkpoint.as_ref(), &mut faults);
    let torn = chain::against_checkpoint(
        &slots,
        checkpoint_text.as_deref(),
        checkpoint.as_ref(),
        tail,
        &mut faults,
        &mut notes,
    );
    chain::places(&slots, &mut faults);
    chain::redactions(&slots, &mut faults);
    chain::forks(&slots, &mut faults);
    chain::imports(&slots, &mut faults);

    let commitments = Commitments::of(&slots, &faults);
    let disclosed = values::check(&values, settled, &slots, &commitments, &mut faults, &mut notes);
    signatures::check_strays(dossier, &signature_names, &slots, &mut faults, &mut notes)?;
    let mut signatures = Vec::new();
    if let Extent::All(allowed) = extent {
        signatures = signatures::check(dossier, &slots, allowed, &mut faults)?;
        files::check_blobs(dossier, &slots, &commitments, &mut faults, &mut notes)?;
        let records = slots.iter().enumerate().filter_map(|(seq, slot)| Some((seq, slot.record.as_ref()?)));
        files::check_quarantine(dossier, records, &mut faults, &mut notes)?;
    }
    let redacts = |line: &[u8]| Record::from_leaf(line).is_ok_and(|record| record.kind == Kind::Redact);
    let since = disk::read_from(&at(dossier, ENTRIES), tail.unwrap_or(entries.len() as u64))?.unwrap_or_default();
    Ok(Examination {
        overtaken: since.split(|b| *b == b'\n').any(redacts) || before != disk::identity(&at(dossier, VALUES))?,
        faults: faults.into_list(),
        notes,
        checkpoint,
        torn_entry: if torn { tail } else { None },
        leftover: disclosed.leftover,
        signatures,
        slots,
        values: disclosed.found,
        values_bytes: disclosed.leftover.map_or(values.len() as u64, |l| l.at),
    })
}

impl Examination {
    /// Number of entries, unreadable ones included.
    pub(crate) fn entries(&self) -> u64 {
        self.slots.len() as u64
    }

    /// Records that can be read.
    pub(crate) fn records(&self) -> impl Iterator<Item = &Record> {
        self.slots.iter().filter_map(|slot| slot.record.as_ref())
    }

    /// Root over the lines as they stand; `None` if one is missing or unreadable.
    pub(crate) fn root(&self) -> Option<Hash> {
        Some(self.slots.iter().map(|slot| slot.stored).collect::<Option<crate::tree::Frontier>>()?.root())
    }

    /// The state to go on from; an error if anything was found wrong.
    pub(crate) fn into_state(self) -> Result<State, Error> {
        let mut faults = self.faults.into_iter();
        if let Some(fault) = faults.next() {
            return Err(Error::Tampered { fault, others: faults.len() });
        }
        let mut state = State { values: self.values, values_bytes: self.values_bytes, ..State::default() };
        for slot in self.slots {
            if let (Some(record), Some(hash), Some(span)) = (slot.record, slot.stored, slot.span) {
                state.accept(record, hash, span.bytes);
            }
        }
        Ok(state)
    }
}

/// What the entries commit to and what was taken out again.
struct Commitments {
    redacted: BTreeSet<Key>,
    /// True if an entry that may be a redaction cannot be trusted: then a missing value may be a redacted one.
    unsure: bool,
}

impl Commitments {
    fn of(slots: &[Slot], faults: &Faults) -> Self {
        let mut commitments = Commitments { redacted: BTreeSet::new(), unsure: false };
        for (seq, slot) in slots.iter().enumerate() {
            match &slot.record {
                None => commitments.unsure = true,
                Some(record) if record.kind == Kind::Redact && faults.of_entry(seq) => commitments.unsure = true,
                Some(record) => {
                    commitments.redacted.extend(record.redactions().into_iter().map(|r| (r.seq, r.field)));
                }
            }
        }
        commitments
    }
}
