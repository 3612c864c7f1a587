//! `%%criterion`, `%criterion show|list`

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Compile a criterion of your own, or show and list criteria.
///
/// `%%criterion NAME` compiles the rest of the cell to a WebAssembly component that imports nothing. It sees the
/// rows and answers with a verdict and figures. A whole one:
///
///     %%criterion tail-floor
///     criterion! {
///         meaning: "no row turns away from its reference by more than the floor allows",
///         parameters: { floor["unitless"] "smallest cosine that is still the same row" },
///         sees: { cosine },
///         state: { least: Lowest, mean: Mean },
///         row: |state, row, _p| {
///             state.least.add(row.cosine, row.id);
///             state.mean.add(row.cosine);
///         },
///         verdict: |state, p| {
///             pass_if(state.least.value() >= p.floor)
///                 .because(format!("the smallest cosine is {}, the floor {}", state.least.value(), p.floor))
///                 .figure("cosine.min", "unitless", &state.least)
///                 .figure("cosine.mean", "unitless", &state.mean)
///         },
///     }
///
/// A row has `row.id` (text), and what `sees` asks for:
///     cosine, l2, dot, norm_reference, norm_candidate, abs_max, rel_max, rel_undefined, elements_over(atol, rtol)
///         measures of the row in float64, computed by the host; the last one names two of the parameters
///     ulp_max, value_bits
///         largest distance in units in the last place, and of which type: 32 for float32, 64 for float64
///     label
///         text from the label column of the reference; needs label = "…" in its [output]
///     candidate_label
///         text from the same column of the candidate, which then must have it
///     neighbours_kept(k, queries), neighbours_tied(k, queries)
///         share of the row's k nearest rows that the candidate keeps, and 1.0 where ids decided
///         between equally near ones; None for a row that is no query; needs all rows
///     centroid_kept
///         1.0 where the nearest class centroid is the same on both sides; needs labels
///     reference, candidate
///         the raw vectors: len(), get(i), iter(), a.zip(b), argmax(); values as f64
///
/// State lives in accumulators, which give the same bits in any order of rows:
///     Count    add(), add_if(condition), add_many(n); value() is a u64
///     Sum, Mean    add(value); value(); exact, rounded once at the end
///     Lowest, Highest    add(value, row.id); value(); the 5 most extreme rows (Lowest<20> for 20)
///     Spread    add(value); a histogram over any range
///     Tally    add(key), add_pair(key, key); count(key), entries(); at most 1,024 different keys
///     Sample    add(p.rows, row.id, row.reference, row.candidate); reference(), candidate(), ids(); both sides of the
///         rows whose ids have the smallest SHA-256, for what needs many rows at once: matrices with row(i), centred(),
///         norm(), times(&b), rows_by_rows(&b), columns_by_columns(&b), nearest_orthogonal()
///
/// The verdict is pass_if(condition) or inconclusive(), followed by .because(text), .figure(name, unit, &accumulator)
/// at least once, and .spread(name, unit, &spread, Some(threshold)) for a picture. A figure that is not finite (an
/// accumulator that saw no row) makes the whole answer an error, never a pass. Parameters may name the range that means
/// something: floor["unitless", -1.0..=1.0] "…".
///
/// Standard criteria need no compiler; `%criterion show NAME` gives formula, units and traps of each:
///     cosine      every row keeps its direction
///     norm        every row keeps its length
///     abs, rel    every element is within an absolute, a relative distance
///     ulp         every element is within a distance counted in units in the last place
///     labels      every row has the label it had
///     knn         rows keep their nearest neighbours
///     centroid    every row is given the same label by the nearest class centroid
///     topk        rows of class scores put the same classes first
///     procrustes  a sample is the reference's at most rotated and rescaled; raw, rescaled, rotated side by side
///     cka         the rows of a sample are as alike as in the reference
///     drift       mean, covariance and MMD² of a sample stay as they were
///     metric      the mean of a score a row is equivalent within a margin (TOST); may be inconclusive
///     allclose    every element is close as numpy.allclose and torch.allclose define it
///     trajectory  every logged scalar of every step is close; for %%resume and training logs
/// Whether files have the same rows, dimensions and finite values is always looked at first, before any criterion.
/// No tolerance has a default. These are the defaults of others for allclose, to be written out by whoever wants them:
///     numpy.allclose                          --set rtol=1e-5    --set atol=1e-8
///     torch.testing.assert_close, float16     --set rtol=1e-3    --set atol=1e-5
///     torch.testing.assert_close, bfloat16    --set rtol=1.6e-2  --set atol=1e-5
///     torch.testing.assert_close, float32     --set rtol=1.3e-6  --set atol=1e-5
///     torch.testing.assert_close, float64     --set rtol=1e-7    --set atol=1e-7
/// Sources: numpy.org/doc/stable/reference/generated/numpy.allclose.html, docs.pytorch.org/docs/stable/testing.html
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub struct CriterionArgs {
    /// The criterion's name (with a body), or `show`, `list`, `help`
    #[arg(value_name = "NAME|show|list|help")]
    pub what: String,
    /// With `show`: whose source and parameters
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// The language of the body
    #[arg(long, value_enum, default_value = "rust")]
    pub lang: Language,
    /// In a shell: a file with the body [default: standard input]
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
}

impl CriterionArgs {
    /// Whether the cell defines a criterion.
    pub fn defines(&self) -> bool {
        !matches!(self.what.as_str(), "show" | "list" | "help")
    }
}

/// Languages a criterion can be written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// Rust with the criterion sdk.
    Rust,
}
