//! `%calibrate`

use clap::Args;
use std::path::PathBuf;

/// See how far honest repeats of the reference lie from it, before a criterion is sealed.
///
/// Each run is compared with the declared reference under the criterion, without a verdict. The figures of all runs stand
/// side by side with their spread. Where one parameter is left open, the strictest number under which every run passes is
/// found by halving, as if a looser number never failed what a stricter one passed. It is where the repeats end, not a
/// bound to seal: leave room for what they did not show, and give `%declare` the reason.
///
///     %calibrate cosine --runs repeat-1.parquet repeat-2.parquet repeat-3.parquet
///     %calibrate allclose --runs repeat-*.parquet --set rtol=0
///
/// A run that was read here was opened: it is not a candidate any more.
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub struct CalibrateArgs {
    /// The criterion: yours, or a standard one (%criterion list)
    pub name: String,
    /// Outputs of repeats of the reference: Parquet files or folders
    #[arg(long, num_args = 1.., required = true, value_name = "FILE")]
    pub runs: Vec<PathBuf>,
    /// A parameter that is not to be proposed (repeatable)
    #[arg(long, value_name = "PARAMETER=NUMBER", value_parser = crate::setting)]
    pub set: Vec<(String, f64)>,
}
