//! Which rows differ between two files of embeddings, where both still hold what was recorded.

use crate::actions::files;
use fascicolo_contract::Vectors;
use fascicolo_embeddings::{Columns, Comparison, Watch};
use std::path::{Path, PathBuf};

/// Larger files are told apart by their digests only: both are held in memory.
const BYTES: u64 = 512 << 20;

/// Rows shown by their ids.
const IDS: usize = 5;

/// A file as it was recorded.
pub struct Recorded<'a> {
    /// As the user wrote it.
    pub path: &'a str,
    /// Of its content then.
    pub sha256: &'a str,
}

/// What differs between the rows of two files, in a sentence; `None` where they are not there any more as they were
/// recorded, are no files of embeddings, or are too large to be read for this.
pub fn differing(a: &Recorded, b: &Recorded, columns: &Columns, folder: &Path, watch: &dyn Watch) -> Option<String> {
    let (a, b) = (still(a, folder, watch)?, still(b, folder, watch)?);
    let comparison = Comparison::open(&a, &b, columns, watch).ok()?;
    let structure = comparison.structure();
    let mut parts = Vec::new();
    for (ids, what) in [(&structure.missing, "only in the first"), (&structure.extra, "only in the second")] {
        if !ids.is_empty() {
            parts.push(format!("{} {what}: {}", rows(ids.len()), first(ids, ids.len())));
        }
    }
    if comparison.comparable() {
        parts.push(values(&comparison)?);
    } else if parts.is_empty() {
        parts.extend(structure.obstacles.first().map(|obstacle| obstacle.message.clone()));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The file, if it is there, not too large, and holds what was recorded.
fn still(recorded: &Recorded, folder: &Path, watch: &dyn Watch) -> Option<PathBuf> {
    let home = fascicolo_environment::redaction::home();
    let path = match (recorded.path.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below),
        _ => folder.join(recorded.path),
    };
    let parts = fascicolo_embeddings::files_of(&path).ok()?;
    let bytes: u64 = parts.iter().filter_map(|part| std::fs::metadata(part).ok()).map(|about| about.len()).sum();
    let digest = (bytes <= BYTES).then(|| files::bytes_digest(&path, watch).ok())?;
    digest.filter(|(sha256, _)| sha256 == recorded.sha256).map(|_| path)
}

/// How many matched rows differ in any bit of their values, which first, and in how many places of a vector.
fn values(comparison: &Comparison) -> Option<String> {
    let mut batches = comparison.batches(256).ok()?;
    let total = batches.rows_left();
    let mut batch = batches.buffer();
    let dims = comparison.structure().dims_reference as usize;
    let mut places = vec![false; dims];
    let (mut differing, mut ids) = (0, Vec::new());
    while batches.next_batch(&mut batch).ok()? {
        for row in 0..batch.rows() {
            let at = row * dims;
            let changed = |place: usize| !same_bits(&batch.reference, &batch.candidate, at + place);
            let before = differing;
            for place in (0..dims).filter(|place| changed(*place)) {
                differing = before + 1;
                places[place] = true;
            }
            if differing > before && ids.len() < IDS {
                ids.push(batch.ids.get(row).to_owned());
            }
        }
    }
    if differing == 0 {
        return Some(format!("all {total} rows hold the same values, bit for bit"));
    }
    let touched = places.iter().filter(|touched| **touched).count();
    Some(format!("{differing} of {total} rows differ, in {touched} of {dims} values a row: {}", first(&ids, differing)))
}

fn same_bits(a: &Vectors, b: &Vectors, at: usize) -> bool {
    match (a, b) {
        (Vectors::F32(a), Vectors::F32(b)) => a.get(at).map(|v| v.to_bits()) == b.get(at).map(|v| v.to_bits()),
        (Vectors::F64(a), Vectors::F64(b)) => a.get(at).map(|v| v.to_bits()) == b.get(at).map(|v| v.to_bits()),
        // Both sides of a batch are of one type.
        (Vectors::F32(_), Vectors::F64(_)) | (Vectors::F64(_), Vectors::F32(_)) => false,
    }
}

fn rows(number: usize) -> String {
    format!("{number} row{}", if number == 1 { "" } else { "s" })
}

/// The first ids, and how many more there are.
fn first(ids: &[String], total: usize) -> String {
    let named: Vec<String> = ids.iter().take(IDS).map(|id| format!("`{id}`")).collect();
    match total - named.len().min(total) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}
