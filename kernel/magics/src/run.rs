//! `%run`

use clap::Args;
use std::path::PathBuf;

/// Run a command, and record what it was, what it read and wrote, and how it ended.
///
///     %run --reads texts.tsv --writes out.parquet -- python3 embed.py --batch 32
///
/// What stands behind `--` is the program and its arguments; no shell reads them, so `|`, `>` and `*` mean nothing: `--
/// sh -c "…"` asks for one. It runs in a process of its own, with nothing on standard input, and shows its output as it
/// comes; an interrupt stops it with all that it started. Whatever it leaves running is ended with it.
///
/// Files named with --reads are fingerprinted before it starts, and again afterwards; those named with --writes
/// afterwards. A declared output that was not written is an error, and so is a status other than 0. What else it read
/// or wrote is not observed, and the record says so. Of a Python program's first error the record keeps the phase:
/// importing, loading data, transferring to a device, or an operation, as the files and lines of the traceback suggest;
/// of one that hangs, too, once it is interrupted.
///
/// Variables that belong to the kernel (EVCXR_…, FASCICOLO_…, JPY_…) are taken from its environment, and
/// PYTHONUNBUFFERED=1 is set unless it is set already, so that its lines arrive when they are printed.
///
/// In a shell, `fascicolo run NOTEBOOK` runs a notebook, and `fascicolo run -- CMD…` a command.
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub struct RunArgs {
    /// The folder it runs in [default: the notebook's; in a shell the current one]
    #[arg(long = "in", value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
    /// Files that it reads, from the notebook's folder
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub reads: Vec<PathBuf>,
    /// Files that it writes, from the notebook's folder
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub writes: Vec<PathBuf>,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<String>,
}
