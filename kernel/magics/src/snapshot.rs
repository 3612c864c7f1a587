//! `%snapshot`

use clap::Args;
use std::path::PathBuf;

/// Record what is really there: system, interpreter, packages, build tools, determinism settings, git state.
///
/// The interpreter is named by its path and never by an activation. The inventory is an observation, not a lock.
/// Credentials in URLs are masked, environment variables are read by an allow-list.
#[derive(Debug, Clone, Args)]
pub struct SnapshotArgs {
    /// The interpreter to look at [default: python3 on PATH]
    #[arg(long, value_name = "EXE")]
    pub python: Option<PathBuf>,
}
