//! `%%criterion`, `%criterion show|list`

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Compile a criterion of your own, or show and list criteria.
///
/// `%%criterion NAME` compiles the rest of the cell to a WebAssembly component that imports nothing. It sees the
/// rows and answers with a verdict and figures. A whole one in Rust:
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
///         text from the label column of the reference; needs label = "…" in its [output]; a null is ""
///     candidate_label
///         text from the same column of the candidate, which then must have it
///     neighbours_kept(k, queries), neighbours_tied(k, queries)
///         share of the row's k nearest rows that the candidate keeps, and 1.0 where ids decided
///         between equally near ones; None for a row that is no query; needs all rows
///     centroid_kept
///         1.0 where the nearest class centroid is the same on both sides; needs labels
///     reference, candidate
///         the raw vectors: len(), get(i), iter(), a.zip(b), argmax() (the first of equals; None without values); values as f64
///
/// State lives in accumulators, which give the same bits in any order of rows:
///     Count    add(), add_if(condition), add_many(n); value() is a u64
///     Sum, Mean    add(value); value(); exact, rounded once at the end
///     Lowest, Highest    add(value, row.id); value(); keeps the 5 most extreme rows (Lowest<2> for 2), of which at most 5 are shown
///     Spread    add(value); a histogram over any range
///     Tally    add(key), add_pair(key, key); count(key), count_pair(key, key); at most 1,024 different keys;
///         entries() gives (&str, &str, u64) ascending: a key, the second key of a pair or "", and its rows
///     Sample    add(p.rows, row.id, row.reference, row.candidate); reference(), candidate(), ids(); both sides of the
///         rows whose ids have the smallest SHA-256, for what needs many rows at once: matrices with row(i), centred(),
///         norm(), times(&b), rows_by_rows(&b), columns_by_columns(&b), nearest_orthogonal()
///
/// The verdict is pass_if(condition) or inconclusive(), followed by .because(text), .figure(name, unit, &accumulator)
/// at least once, and .spread(name, unit, &spread, Some(threshold)) for a picture, whose classes are its own. A figure
/// may also be a number, &(a / b), or a count with the rows behind it, &(&state.count, &state.rows). A figure that is not finite (a
/// Mean, Lowest or Highest that saw no row) makes the whole answer an error, never a pass. Parameters may name the range that means
/// something: floor["unitless", -1.0..=1.0] "…"; they are numbers (f64), their names letters, digits and _. After `meaning`
/// may come `version: "1.0.0",`; lines that begin with //! describe the whole. State holds accumulators only.
///
/// The same in Python, with `%%criterion tail-floor --lang python`; it needs no compiler. Rows, accumulators and
/// verdict have the names above; `.value` is a number without brackets, what Rust gives as None is None, vectors are
/// lists of floats, Lowest(20) keeps 20 rows, figure(name, unit, number, rows=accumulator) shows another one's rows:
///
///     meaning = "no row turns away from its reference by more than the floor allows"
///     parameters = {"floor": ("unitless", -1.0, 1.0, "smallest cosine that is still the same row")}
///     sees = ["cosine"]
///     state = {"least": Lowest(), "mean": Mean()}
///
///     def row(state, row, p):
///         state.least.add(row.cosine, row.id)
///         state.mean.add(row.cosine)
///
///     def verdict(state, p):
///         least = state.least.value
///         return (
///             pass_if(least >= p.floor, because=f"the smallest is {least}, the floor {p.floor}")
///             .figure("cosine.min", "unitless", state.least)
///             .figure("cosine.mean", "unitless", state.mean)
///         )
///
/// A parameter is (unit, meaning) or (unit, least, most, meaning), None for an open end; what takes parameters is written
/// "elements_over(atol, rtol)". Of modules there are math, cmath, itertools, functools, operator, collections, bisect and
/// heapq. There is no numpy, whose results depend on the machine; no file, clock, randomness or network can be reached.
/// A row costs some hundred times what it costs in Rust: for many rows of vectors, write Rust.
///
/// `%%criterion NAME --lang wat` takes WebAssembly's text: a `(component …)`, or a `(module …)` that exports
/// "fascicolo:criterion/criterion@0.1.0#describe" and so on as the component model flattens them, with "memory" and
/// "cabi_realloc"; wasm-checks/wit/criterion.wit is the contract. `%criterion NAME --component FILE.wasm --sha256 HEX`
/// takes a ready component from any language; one with another digest is refused. Neither may import anything.
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
    /// Without a body: a ready component of fascicolo:criterion, from whatever language
    #[arg(long, value_name = "FILE.wasm", conflicts_with_all = ["lang", "file"])]
    pub component: Option<PathBuf>,
    /// With `--component`: its SHA-256, without which any file would do
    #[arg(long, value_name = "HEX", requires = "component", value_parser = sha256)]
    pub sha256: Option<String>,
}

/// 64 hexadecimal digits, in lower case.
fn sha256(text: &str) -> Result<String, String> {
    let digits = text.len() == 64 && text.chars().all(|c| c.is_ascii_hexdigit());
    if digits { Ok(text.to_ascii_lowercase()) } else { Err("a SHA-256 has 64 hexadecimal digits".to_owned()) }
}

impl CriterionArgs {
    /// Whether the cell defines a criterion.
    pub fn defines(&self) -> bool {
        !matches!(self.what.as_str(), "show" | "list" | "help")
    }

    /// Whether what it defines stands in a body.
    pub fn needs_body(&self) -> bool {
        self.defines() && self.component.is_none()
    }
}

/// Languages a criterion can be written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// Rust with the criterion sdk.
    Rust,
    /// Python with lists and `math`.
    Python,
    /// WebAssembly's text: a `(component …)`, or a `(module …)` with the contract's functions.
    Wat,
}

impl Language {
    /// As in `--lang` and in records.
    pub fn name(self) -> &'static str {
        match self {
            Language::Rust => "rust",
            Language::Python => "python",
            Language::Wat => "wat",
        }
    }
}
