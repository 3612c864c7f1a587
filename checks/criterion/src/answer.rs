//! Takes over what a component says of itself and what it answers, if it can be taken: bounded, finite, in order.

use crate::error::CriterionError;
use crate::host::wire;
use crate::words::plain;
use fascicolo_contract::verdict::{
    Bin, Description, Distribution, Figure, Judgement, MeasureAsked, NeighbourNames, Outcome, Parameter, WorstRow,
};

/// Takes over a criterion's description, under the name that the host knows it by.
pub fn description(name: &str, d: wire::Description) -> Result<Description, CriterionError> {
    // Class centroids are of the reference's labels.
    let by_class = d.measures.iter().any(|m| matches!(m, wire::Measure::CentroidKept));
    let description = Description {
        name: name.to_owned(),
        version: d.version,
        meaning: d.meaning,
        parameters: d
            .parameters
            .into_iter()
            .map(|p| Parameter { name: p.name, unit: p.unit, meaning: p.meaning, least: p.least, most: p.most })
            .collect(),
        measures: d
            .measures
            .into_iter()
            .map(|m| match m {
                wire::Measure::Dot => MeasureAsked::Dot,
                wire::Measure::NormReference => MeasureAsked::NormReference,
                wire::Measure::NormCandidate => MeasureAsked::NormCandidate,
                wire::Measure::Cosine => MeasureAsked::Cosine,
                wire::Measure::L2 => MeasureAsked::L2,
                wire::Measure::AbsMax => MeasureAsked::AbsMax,
                wire::Measure::RelMax => MeasureAsked::RelMax,
                wire::Measure::RelUndefined => MeasureAsked::RelUndefined,
                wire::Measure::ElementsOver(names) => MeasureAsked::ElementsOver { atol: names.atol, rtol: names.rtol },
                wire::Measure::UlpMax => MeasureAsked::UlpMax,
                wire::Measure::ValueBits => MeasureAsked::ValueBits,
                wire::Measure::NeighboursKept(n) => {
                    MeasureAsked::NeighboursKept(NeighbourNames { k: n.k, queries: n.queries })
                }
                wire::Measure::NeighboursTied(n) => {
                    MeasureAsked::NeighboursTied(NeighbourNames { k: n.k, queries: n.queries })
                }
                wire::Measure::CentroidKept => MeasureAsked::CentroidKept,
            })
            .collect(),
        wants_vectors: d.wants.vectors,
        wants_labels: d.wants.labels || by_class,
        wants_candidate_labels: d.wants.candidate_labels,
    };
    match misdescribed(&description) {
        Some(what) => Err(CriterionError::Misdescribed { name: name.to_owned(), what }),
        None => Ok(description),
    }
}

/// Parameters and measures of a criterion, and the bytes of what it says about them.
const PARAMETERS: usize = 64;
const MEASURES: usize = 64;
const MEANING_BYTES: usize = 4096;

/// What is wrong with a description.
fn misdescribed(d: &Description) -> Option<String> {
    for (count, limit, what) in [
        (d.parameters.len(), PARAMETERS, "parameters"),
        (d.measures.len(), MEASURES, "measures"),
        (d.meaning.len(), MEANING_BYTES, "bytes of meaning"),
        (d.version.len(), NAME_BYTES, "bytes of version"),
    ] {
        if count > limit {
            return Some(format!("it has {count} {what}; the limit is {limit}"));
        }
    }
    for (i, p) in d.parameters.iter().enumerate() {
        // A name stands in `--set name=value`.
        if p.name.is_empty() || p.name.len() > NAME_BYTES || p.name.contains(|c: char| c == '=' || c.is_whitespace()) {
            return Some(format!("`{}` cannot name a parameter", plain(&p.name)));
        }
        if p.unit.len() > NAME_BYTES || p.meaning.len() > MEANING_BYTES {
            return Some(format!("parameter `{}` has a unit or a meaning of too many bytes", plain(&p.name)));
        }
        if d.parameters[..i].iter().any(|earlier| earlier.name == p.name) {
            return Some(format!("it has two parameters named `{}`", plain(&p.name)));
        }
        let bounds = [p.least, p.most];
        if let Some(bound) = bounds.iter().flatten().find(|bound| bound.is_nan()) {
            return Some(format!("parameter `{}` has the bound {bound}", plain(&p.name)));
        }
        if let [Some(least), Some(most)] = bounds
            && least > most
        {
            return Some(format!("parameter `{}` is at least {least} and at most {most}", plain(&p.name)));
        }
    }
    None
}

/// Takes over an answer, if it is one.
pub fn outcome(name: &str, o: wire::Outcome) -> Result<Outcome, CriterionError> {
    let outcome = Outcome {
        judgement: match o.judgement {
            wire::Judgement::Pass => Judgement::Pass,
            wire::Judgement::Fail => Judgement::Fail,
            wire::Judgement::Inconclusive => Judgement::Inconclusive,
        },
        reason: o.reason,
        figures: o
            .figures
            .into_iter()
            .map(|f| Figure {
                name: f.name,
                value: f.value,
                unit: f.unit,
                worst: f.worst.into_iter().map(|w| WorstRow { id: w.id, value: w.value }).collect(),
            })
            .collect(),
        distributions: o
            .distributions
            .into_iter()
            .map(|d| Distribution {
                name: d.name,
                unit: d.unit,
                zeros: d.zeros,
                bins: d.bins.into_iter().map(|b| Bin { low: b.low, high: b.high, count: b.count }).collect(),
                threshold: d.threshold,
            })
            .collect(),
    };
    match unusable(&outcome) {
        Some(why) => Err(none(name, &why)),
        None => Ok(outcome),
    }
}

/// A criterion gives no answer, in its own words or ours.
pub fn none(name: &str, why: &str) -> CriterionError {
    CriterionError::CannotAnswer { name: name.to_owned(), why: plain(why) }
}

/// Figures, rows behind each, distributions and their classes that an answer may have, and the bytes of its texts.
const FIGURES: usize = 64;
const WORST: usize = 1_000;
const DISTRIBUTIONS: usize = 16;
const CLASSES: usize = 20_000;
const REASON_BYTES: usize = 4096;
const NAME_BYTES: usize = 256;

/// Why an answer is none: a verdict without a finite figure behind it would be taken on trust.
fn unusable(outcome: &Outcome) -> Option<String> {
    if outcome.figures.is_empty() {
        return Some("it gives no figure for its verdict".to_owned());
    }
    if let Some(figure) = outcome.figures.iter().find(|f| !f.value.is_finite()) {
        return Some(format!(
            "its figure `{}` is {}: an accumulator may have seen no row",
            plain(&figure.name),
            figure.value
        ));
    }
    let mut names: Vec<&str> = outcome.figures.iter().map(|f| f.name.as_str()).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Some(format!("it gives two figures named `{}`", plain(pair[0])));
    }
    let figures = &outcome.figures;
    let classes: usize = outcome.distributions.iter().map(|d| d.bins.len()).sum();
    for (count, limit, what) in [
        (figures.len(), FIGURES, "figures"),
        (figures.iter().map(|f| f.worst.len()).max().unwrap_or(0), WORST, "rows behind one figure"),
        (outcome.distributions.len(), DISTRIBUTIONS, "distributions"),
        (classes, CLASSES, "classes of distributions"),
        (outcome.reason.len(), REASON_BYTES, "bytes of reason"),
    ] {
        if count > limit {
            return Some(format!("it gives {count} {what}; the limit is {limit}"));
        }
    }
    let named = figures.iter().flat_map(|f| [&f.name, &f.unit]);
    let names = named.chain(outcome.distributions.iter().flat_map(|d| [&d.name, &d.unit]));
    if let Some(long) = names.into_iter().find(|name| name.len() > NAME_BYTES) {
        return Some(format!("it gives a name or unit of {} bytes; the limit is {NAME_BYTES}", long.len()));
    }
    if let Some(figure) = figures.iter().find(|f| f.worst.iter().any(|row| row.value.is_nan())) {
        return Some(format!("a row behind its figure `{}` has no number", plain(&figure.name)));
    }
    outcome.distributions.iter().find_map(|d| Some(format!("its distribution `{}` {}", plain(&d.name), undrawable(d)?)))
}

/// Why a distribution cannot be drawn.
fn undrawable(d: &Distribution) -> Option<&'static str> {
    if d.threshold.is_some_and(|t| !t.is_finite()) {
        return Some("has a threshold that is no finite number");
    }
    if d.bins.iter().any(|b| !(b.low.is_finite() && b.high.is_finite() && b.low <= b.high)) {
        return Some("has a class without finite bounds in order");
    }
    if d.bins.windows(2).any(|pair| pair[1].low < pair[0].high) {
        return Some("has classes that overlap or do not ascend");
    }
    let rows = d.bins.iter().try_fold(d.zeros, |sum, b| sum.checked_add(b.count));
    rows.is_none().then_some("counts more rows than there can be")
}
