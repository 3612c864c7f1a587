//! Reads two files of embeddings from Parquet, says what can be said of them before any criterion looks at a number,
//! and hands out their rows matched by id.
//!
//! Owns: opening Parquet files and folders of parts, finding the id, vector and label columns, decoding every list
//! layout to contiguous vectors, matching rows, the measures of a row that need all rows (its neighbours, the nearest
//! class centroid), the [`Structure`] of both files, the streamed digest of a file and the
//! digest of what it holds; training logs, read as tables of steps and scalars.
//! Must not know: verdicts, criteria, dossiers, magics, who is watching.
//! Start at [`Comparison::open`]; then `table` (one file), `matching` (ids), `findings` (the structure).

mod centroids;
mod comparison;
mod content;
mod digest;
mod error;
mod files;
mod findings;
mod guard;
mod logs;
mod matching;
mod neighbours;
mod select;
mod table;
mod texts;
mod typename;
mod units;
mod vectors;

pub use comparison::{Batches, Comparison, Named, Resolved};
pub use digest::file_digest;
pub use error::{Error, Role};
pub use files::files_of;
pub use logs::Log;

pub use fascicolo_contract::{AlignedBatch, Obstacle, ObstacleKind, Structure};

/// Which columns to read. A dotted name addresses a field of a struct (`out.embedding`), unless a column of that very
/// name exists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Columns {
    /// The id column; by default the one named `id`. Texts, integers or binary. Of a training log the step, by default
    /// `step`.
    pub id: Option<String>,
    /// The vector column, a list of numbers; by default the only list-of-float column, or where there is none the
    /// only list-of-number column. Of a training log the scalars, joined by commas, by default all that every step has.
    pub vector: Option<String>,
    /// The label column of the reference, texts or integers; by default no labels are read. A null label is the empty
    /// text.
    pub label: Option<String>,
    /// Whether the column named by `label` is read of the candidate too, which then must have it.
    pub candidate_label: bool,
}

/// Whoever waits for a long read. Always called on the thread that started it.
pub trait Watch {
    /// `done` of `total` units: rows of both files together for [`Comparison::open`], bytes for [`file_digest`].
    fn progress(&self, done: u64, total: u64);
    /// True once the work should stop; asked for at each record batch (each MiB of a digest).
    fn interrupted(&self) -> bool;
}
