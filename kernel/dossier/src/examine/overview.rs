//! What a verification says of a dossier, whichever of the two examinations found it.

use std::path::Path;

use super::{Examination, Extent, SignatureReport, examine, sound};
use crate::error::Error;
use crate::fault::Fault;
use crate::record::Record;
use crate::sign::AllowedSigners;
use crate::tree::Hash;

/// All that is found of a dossier as a whole.
#[derive(Debug, PartialEq)]
pub(crate) struct Overview {
    /// Number of entries, unreadable ones included.
    pub(crate) entries: u64,
    /// Root over the lines as they stand; `None` if one is missing or unreadable.
    pub(crate) root: Option<Hash>,
    /// Name of the log: that of its last fork, or else of its first entry.
    pub(crate) origin: Option<String>,
    /// Entries that the checkpoint covers; `None` if there is none that can be read.
    pub(crate) checkpoint: Option<u64>,
    /// True if the log ends in an incomplete line that no checkpoint covers.
    pub(crate) torn_entry: bool,
    /// True if the disclosures end in the rest of an interrupted append.
    pub(crate) leftover: bool,
    pub(crate) faults: Vec<Fault>,
    pub(crate) notes: Vec<String>,
    pub(crate) signatures: Vec<SignatureReport>,
    /// The readable entries that [`Record::is_landmark`] tells, in order.
    pub(crate) landmarks: Vec<Record>,
}

/// Reads and checks everything in a dossier. Keys are told apart by the signers allowed.
///
/// Two examinations, one verdict: the fast one answers only if it finds nothing to say against the dossier, and leaves
/// everything else, odd or wrong, to the one that names faults.
pub(crate) fn overview(dossier: &Path, allowed: Option<&AllowedSigners>) -> Result<Overview, Error> {
    match sound::sound(dossier, allowed) {
        Some(overview) => Ok(overview),
        None => Ok(examine(dossier, Extent::All(allowed))?.into()),
    }
}

impl From<Examination> for Overview {
    fn from(found: Examination) -> Self {
        Overview {
            entries: found.entries(),
            root: found.root(),
            origin: found.records().filter_map(|record| record.origin()).last().map(str::to_owned),
            checkpoint: found.checkpoint.as_ref().map(|c| c.size),
            torn_entry: found.torn_entry.is_some(),
            leftover: found.leftover.is_some(),
            landmarks: found.records().filter(|record| record.is_landmark()).cloned().collect(),
            faults: found.faults,
            notes: found.notes,
            signatures: found.signatures,
        }
    }
}
