//! `%%reference new`, `%reference show`

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Declare what must be reproduced, or show it.
///
/// `%%reference new NAME` takes a body in TOML:
///
///     goal = "values"                     # categories, values or trajectory
///     preprocessing = "…"
///     [output]                            # one example of a valid output, against which candidates are compared
///     path = "reference.parquet"
///     id = "doc"                          # the id column, if it is not named `id`
///     vector = "emb"                      # the vector column, if there are several
///     label = "section"                   # the label column, for criteria that see labels
///     [code]
///     revision = "3f2a…"
///     entry = "embed.py"
///     [[data]]
///     path = "texts.tsv"                  # fingerprinted now
///     [[weights]]
///     name = "all-MiniLM-L6-v2"
///     revision = "…"                      # or sha256 = "…", or path = "…"
///     [sample]
///     meaning = "400 texts from ten sections"
///     [parameters]
///     batch = 32
///     [[documentation]]                   # what the procedure was taken from
///     title = "Installing PyTorch"
///     version = "2.13"
///     url = "https://…"
///
/// The output may be a training log instead (CSV, JSON lines, Parquet, TensorBoard's event file): `id` is then the column
/// with the step, `vector` the scalars, joined by commas (`%help resume`).
///
/// `access = "…"` under code, data, weights or sample says how to get it: how to ask for a key, never the key itself.
/// An export carries these notes.
///
/// Its identity is the SHA-256 of its content, in which every file stands by its digest and not by its place. Code,
/// data or weights without a revision or fingerprint are accepted with a warning that stays in the case file.
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub struct ReferenceArgs {
    /// What to do
    #[arg(value_enum, value_name = "new|show")]
    pub what: ReferenceWhat,
    /// The reference's name
    #[arg(required_if_eq("what", "new"))]
    pub name: Option<String>,
    /// In a shell: a file with the body [default: standard input]
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
}

/// What to do with references.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReferenceWhat {
    /// Declare one.
    New,
    /// Show the declared one.
    Show,
}
