//! What can be said of two files before any criterion looks at a number.

use crate::table::Side;

/// The structure of both files, and of their rows matched by id. Filled for every comparison, comparable or not.
#[derive(Debug, Clone, PartialEq)]
pub struct Structure {
    /// Rows of the reference file.
    pub rows_reference: u64,
    /// Rows of the candidate file.
    pub rows_candidate: u64,
    /// Ids that stand in both files.
    pub matched: u64,
    /// Ids of the reference that the candidate lacks, sorted bytewise.
    pub missing: Vec<String>,
    /// Ids of the candidate that the reference lacks, sorted bytewise.
    pub extra: Vec<String>,
    /// Ids that stand more than once in either file, sorted bytewise.
    pub duplicate_ids: Vec<String>,
    /// True if the matched rows come in another order in the candidate than in the reference.
    pub reordered: bool,
    /// Values per row of the reference (0 if it has no rows or its rows differ in length).
    pub dims_reference: u64,
    /// Values per row of the candidate (0 if it has no rows or its rows differ in length).
    pub dims_candidate: u64,
    /// Type of the reference's vector column in pyarrow's notation, e.g. `list<element: float>`.
    pub type_reference: String,
    /// Type of the candidate's vector column.
    pub type_candidate: String,
    /// Null ids, null vectors and null elements of both files.
    pub null_values: u64,
    /// NaN and infinite values of both files.
    pub nonfinite_values: u64,
    /// Why no criterion may judge these files; empty if they are comparable.
    pub obstacles: Vec<Obstacle>,
}

/// One reason why two files cannot be compared row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct Obstacle {
    /// What kind of reason it is.
    pub kind: ObstacleKind,
    /// The file it was found in, if it is one file's.
    pub side: Option<Side>,
    /// How many rows (or ids) are concerned.
    pub rows: u64,
    /// The first ids concerned, sorted bytewise, at most [`Obstacle::IDS`].
    pub ids: Vec<String>,
    /// The whole finding in a sentence, with its figures.
    pub message: String,
}

impl Obstacle {
    /// How many ids an obstacle names.
    pub const IDS: usize = 20;
}

/// The kinds of reasons that stand before any criterion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObstacleKind {
    /// A file has no rows.
    NoRows,
    /// Vectors of no values.
    NoDimensions,
    /// Rows of one file differ in length.
    Ragged,
    /// The two files' vectors differ in length.
    DimensionsDiffer,
    /// The ids of the two files are of kinds that cannot be matched, such as integers and texts.
    IdTypesDiffer,
    /// Null ids.
    NullId,
    /// Null vectors or null elements in them.
    NullVector,
    /// One id stands more than once.
    DuplicateId,
    /// Ids of the reference without a row in the candidate.
    MissingRows,
    /// Ids of the candidate without a row in the reference.
    ExtraRows,
    /// NaN or infinite values.
    NonFinite,
    /// A vector without direction, where the criterion asks for one (cosine).
    ZeroNorm,
    /// A measure that a criterion asks for overflows float64 although every value is finite.
    MeasureOverflow,
    /// Two training logs do not have the same scalars.
    ColumnsDiffer,
    /// The interrupted part of a training left no checkpoint.
    CheckpointNotWritten,
    /// The resumed part of a training does not go on where the checkpoint ended.
    NotResumed,
}

impl ObstacleKind {
    /// The stable name used in records.
    pub fn name(self) -> &'static str {
        match self {
            ObstacleKind::NoRows => "no_rows",
            ObstacleKind::NoDimensions => "no_dimensions",
            ObstacleKind::Ragged => "ragged",
            ObstacleKind::DimensionsDiffer => "dimensions_differ",
            ObstacleKind::IdTypesDiffer => "id_types_differ",
            ObstacleKind::NullId => "null_id",
            ObstacleKind::NullVector => "null_vector",
            ObstacleKind::DuplicateId => "duplicate_id",
            ObstacleKind::MissingRows => "missing_rows",
            ObstacleKind::ExtraRows => "extra_rows",
            ObstacleKind::NonFinite => "non_finite",
            ObstacleKind::ZeroNorm => "zero_norm",
            ObstacleKind::MeasureOverflow => "measure_overflow",
            ObstacleKind::ColumnsDiffer => "columns_differ",
            ObstacleKind::CheckpointNotWritten => "checkpoint_not_written",
            ObstacleKind::NotResumed => "not_resumed",
        }
    }

    /// What the reader can do about it.
    pub fn next_step(self) -> &'static str {
        match self {
            ObstacleKind::NoRows => "check that the sample run wrote its output, then compare again",
            ObstacleKind::NoDimensions | ObstacleKind::Ragged => {
                "write vectors of one fixed length, and look at the rows named"
            }
            ObstacleKind::DimensionsDiffer => "check that both files come from the same model and layer",
            ObstacleKind::IdTypesDiffer => "write the same id column, of the same type, in both files",
            ObstacleKind::NullId => "give every row an id",
            ObstacleKind::NullVector => {
                "find out why the sample run produced no value there; nulls are never taken as zeros"
            }
            ObstacleKind::DuplicateId => "make the ids unique, or name another id column with --id",
            ObstacleKind::MissingRows => "run the whole sample, or revise the reference to a smaller one",
            ObstacleKind::ExtraRows => "run only the declared sample, or revise the reference to a larger one",
            ObstacleKind::NonFinite => "look for overflow or a division by zero in the rows named",
            ObstacleKind::ZeroNorm => "choose a criterion without cosine for such rows, or find out why they are zero",
            ObstacleKind::MeasureOverflow => "choose a criterion that does not square such values",
            ObstacleKind::ColumnsDiffer => "log the same scalars in both runs, or name those to compare",
            ObstacleKind::CheckpointNotWritten => "let the first part save its checkpoint before it ends",
            ObstacleKind::NotResumed => {
                "give the resumed command the checkpoint, and as `at` the last step that the checkpoint holds"
            }
        }
    }
}
