//! `%declare`

use clap::Args;

/// Seal a criterion before the difference is seen.
///
/// The seal holds the criterion's digest, its parameters, the identity of the reference and the digest of its output.
/// A comparison is declared, and not post hoc, if an identical seal stands in the case file before the candidate was
/// first opened. Sealing the same again keeps the earliest seal. Tolerances have no defaults: give every parameter, and
/// the reason for it.
#[derive(Debug, Clone, Args)]
pub struct DeclareArgs {
    /// The criterion: yours, or a standard one (%criterion list)
    pub name: String,
    /// Why these bounds are right for your use
    #[arg(long, value_name = "REASON")]
    pub because: String,
    /// A parameter of the criterion (repeatable)
    #[arg(long, value_name = "PARAMETER=NUMBER", value_parser = crate::setting)]
    pub set: Vec<(String, f64)>,
}
