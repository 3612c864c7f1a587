//! The plain types that the checks share: matched rows, their structure, per-row measures, what a criterion asks
//! for and what it answers.
//!
//! Owns: [`table::AlignedBatch`], [`structure::Structure`], [`measure::Measure`] and its arithmetic,
//! [`verdict::Outcome`], and what a difference looks like ([`causes`],
//! [`trajectory`]). Must not know: wasmtime, Parquet, dossier records, magics, MIME types, file paths.
//! Start at [`table`], then [`measure`], then [`verdict`].

pub mod causes;
pub mod explain;
pub mod measure;
pub mod structure;
pub mod table;
pub mod trajectory;
pub mod verdict;

pub use explain::{Explain, Standing};
pub use structure::{Obstacle, ObstacleKind, Structure};
pub use table::{AlignedBatch, Side, Texts, Vectors};
