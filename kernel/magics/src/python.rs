//! `%%python`

use clap::Args;
use std::path::PathBuf;

/// Run the rest of the cell as a Python program, in a fresh process of the named interpreter.
///
///     %%python --python .venv/bin/python --writes out.parquet
///     import embed
///     embed.main("texts.tsv", "out.parquet")
///
/// Nothing of an earlier cell is there, and nothing of this one is left for a later one but the files. The interpreter
/// is named by its path and never by an activation. Everything else is as with %run (see there): files declared with
/// --reads and --writes, live output, interrupts, status, the phase of the first error. The program comes on standard
/// input, so its first folder for imports is the one that it runs in.
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub struct PythonArgs {
    /// The interpreter [default: python3 on PATH]
    #[arg(long, value_name = "EXE")]
    pub python: Option<PathBuf>,
    /// The folder it runs in [default: the notebook's; in a shell the current one]
    #[arg(long = "in", value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
    /// Files that it reads, from the notebook's folder
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub reads: Vec<PathBuf>,
    /// Files that it writes, from the notebook's folder
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub writes: Vec<PathBuf>,
    /// In a shell: a file with the program [default: standard input]
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
}
