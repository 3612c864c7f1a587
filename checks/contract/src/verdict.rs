//! What a criterion says of itself, and what it answers.

/// The five endings of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The criterion holds.
    Pass,
    /// The criterion does not hold.
    Fail,
    /// The criterion says that these rows do not allow a decision.
    Inconclusive,
    /// The structure forbids comparing; there are no figures.
    NotComparable,
    /// Figures were looked at without asking for a verdict.
    None,
}

impl Verdict {
    /// The name used in records: `pass`, `fail`, `inconclusive`, `not_comparable`, `none`.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Fail => "fail",
            Verdict::Inconclusive => "inconclusive",
            Verdict::NotComparable => "not_comparable",
            Verdict::None => "none",
        }
    }
}

/// What a criterion itself can conclude.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// It holds.
    Pass,
    /// It does not hold.
    Fail,
    /// The rows do not allow a decision.
    Inconclusive,
}

/// A number that the author of a declaration must choose; there are no defaults.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// As in `--set name=value`.
    pub name: String,
    /// e.g. `unitless`.
    pub unit: String,
    /// What it bounds.
    pub meaning: String,
    /// The smallest value that means anything.
    pub least: Option<f64>,
    /// The largest value that means anything.
    pub most: Option<f64>,
}

/// A measure as a criterion asks for it: its tolerances are still names of parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MeasureAsked {
    /// See [`crate::measure::Measure::Dot`].
    Dot,
    /// See [`crate::measure::Measure::NormReference`].
    NormReference,
    /// See [`crate::measure::Measure::NormCandidate`].
    NormCandidate,
    /// See [`crate::measure::Measure::Cosine`].
    Cosine,
    /// See [`crate::measure::Measure::L2`].
    L2,
    /// See [`crate::measure::Measure::AbsMax`].
    AbsMax,
    /// See [`crate::measure::Measure::RelMax`].
    RelMax,
    /// See [`crate::measure::Measure::RelUndefined`].
    RelUndefined,
    /// See [`crate::measure::Measure::ElementsOver`].
    ElementsOver {
        /// Name of the parameter that holds the absolute tolerance.
        atol: String,
        /// Name of the parameter that holds the relative tolerance.
        rtol: String,
    },
    /// See [`crate::measure::Measure::UlpMax`].
    UlpMax,
    /// See [`crate::measure::Measure::ValueBits`].
    ValueBits,
    /// See [`crate::measure::Measure::NeighboursKept`].
    NeighboursKept(NeighbourNames),
    /// See [`crate::measure::Measure::NeighboursTied`].
    NeighboursTied(NeighbourNames),
    /// See [`crate::measure::Measure::CentroidKept`].
    CentroidKept,
}

/// Names of the parameters that a measure of neighbours takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeighbourNames {
    /// Of the one that holds how many neighbours count.
    pub k: String,
    /// Of the one that holds how many rows are asked for theirs.
    pub queries: String,
}

/// A criterion's own description.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it decides, in a sentence.
    pub meaning: String,
    /// The numbers that a declaration must give.
    pub parameters: Vec<Parameter>,
    /// The host measures it sees for each row.
    pub measures: Vec<MeasureAsked>,
    /// Whether it sees the raw vectors.
    pub wants_vectors: bool,
    /// Whether it sees the reference's labels.
    pub wants_labels: bool,
    /// Whether it sees the candidate's own labels.
    pub wants_candidate_labels: bool,
}

/// A row that stands out.
#[derive(Debug, Clone, PartialEq)]
pub struct WorstRow {
    /// Its id.
    pub id: String,
    /// Its value, in the unit of the figure.
    pub value: f64,
}

/// One number of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// e.g. `cosine.min`.
    pub name: String,
    /// The number.
    pub value: f64,
    /// e.g. `unitless`, `rows`.
    pub unit: String,
    /// The rows behind it, worst first; ties by id, bytewise.
    pub worst: Vec<WorstRow>,
}

/// A class of a distribution: `low <= size < high`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bin {
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// Rows in it.
    pub count: u64,
}

/// How often each size of a per-row value occurred.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    /// e.g. `1 − cosine`.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Rows whose value is exactly 0.
    pub zeros: u64,
    /// The other rows, ascending.
    pub bins: Vec<Bin>,
    /// The bound that the verdict drew, on the same axis.
    pub threshold: Option<f64>,
}

/// A criterion's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// What it concluded.
    pub judgement: Judgement,
    /// One sentence with the figures that decided.
    pub reason: String,
    /// The figures.
    pub figures: Vec<Figure>,
    /// The distributions to draw.
    pub distributions: Vec<Distribution>,
}
