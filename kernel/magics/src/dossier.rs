//! `%dossier`

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Look at the case file, or verify it.
///
/// Every cell and every shell command is entered in an append-only file beside the notebook before it runs, and again
/// when it has ended. `verify` recomputes every hash: entries, tree, checkpoint, disclosures and blobs. It shows
/// integrity; without an outside witness it cannot show that the whole file was not written anew.
#[derive(Debug, Clone, Args)]
pub struct DossierArgs {
    /// What to do
    #[arg(value_enum, value_name = "status|log|show|verify")]
    pub what: DossierWhat,
    /// Another case file than this notebook's or folder's
    #[arg(value_name = "FOLDER")]
    pub path: Option<PathBuf>,
    /// With `show`: the entry's number
    #[arg(long, value_name = "NUMBER", required_if_eq("what", "show"))]
    pub entry: Option<u64>,
}

/// What to do with a case file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DossierWhat {
    /// What it holds.
    Status,
    /// Its entries, one a line.
    Log,
    /// One entry with everything that is disclosed of it: what ran, sources, results.
    Show,
    /// Whether anything in it was changed.
    Verify,
}
