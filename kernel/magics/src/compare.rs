//! `%compare`

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Compare the embeddings of a candidate with those of the reference.
///
/// Rows are matched by id, never by position. The structure is checked first (dimensions, types, nulls, values that
/// are not finite, missing, extra and duplicate ids); if it does not allow a comparison, there are no figures. Then the
/// criterion sees the rows, under the parameters that were declared for it.
///
/// Beside a verdict other than pass stand hints at what the difference looks like: rows in another order, a missing
/// normalisation, half precision, one class alone. A hint is not a finding, and no verdict depends on it.
///
/// The verdict is pass, fail, inconclusive or not_comparable. It is post hoc, and says so everywhere, if the criterion
/// was not sealed (%declare) before this candidate was first opened in this case file.
#[derive(Debug, Clone, Args)]
pub struct CompareArgs {
    /// Parquet file or folder with the reference's output
    pub reference: PathBuf,
    /// Parquet file or folder with the output under examination
    pub candidate: PathBuf,
    /// The criterion: yours, or a standard one (%criterion list)
    #[arg(long, value_name = "NAME", required_unless_present = "explore")]
    pub criterion: Option<String>,
    /// Only look: figures without a verdict. Counts as opening the candidate
    #[arg(long)]
    pub explore: bool,
    /// With --explore: a parameter of the criterion (repeatable). Otherwise parameters come from the declaration
    #[arg(long, value_name = "PARAMETER=NUMBER", value_parser = crate::setting)]
    pub set: Vec<(String, f64)>,
    /// The verdict that you expect; a run of the notebook succeeds if every verdict is as expected
    #[arg(long, value_enum, default_value = "pass", value_name = "VERDICT")]
    pub expect: Expect,
    /// Accept a post hoc verdict; recorded
    #[arg(long)]
    pub accept_post_hoc: bool,
    /// With --explore: the column with the rows' ids. Otherwise the reference's declaration names the columns
    #[arg(long, value_name = "COLUMN")]
    pub id: Option<String>,
    /// With --explore: the column with the vectors [default: the only list of floats]
    #[arg(long, value_name = "COLUMN")]
    pub vector: Option<String>,
    /// With --explore: the column with labels, for criteria that see them
    #[arg(long, value_name = "COLUMN")]
    pub label: Option<String>,
}

/// What a verdict is expected to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Expect {
    /// The criterion holds.
    Pass,
    /// It does not.
    Fail,
    /// The rows do not allow a decision.
    Inconclusive,
    /// The structure does not allow a comparison.
    NotComparable,
}

impl Expect {
    /// As in a record's `verdict`.
    pub fn name(self) -> &'static str {
        match self {
            Expect::Pass => "pass",
            Expect::Fail => "fail",
            Expect::Inconclusive => "inconclusive",
            Expect::NotComparable => "not_comparable",
        }
    }
}
