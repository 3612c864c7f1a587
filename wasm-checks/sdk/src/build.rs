//! A verdict in the making.

use crate::accumulate::{Shown, Spread};
use crate::contract::{Distribution, Figure, Judgement, Outcome, Parameter};
use std::ops::{Bound, RangeBounds};

/// A parameter with the range of values that mean anything; an open end of the range is taken as closed.
#[doc(hidden)]
pub fn parameter(name: &str, unit: &str, meaning: &str, range: impl RangeBounds<f64>) -> Parameter {
    let bound = |bound: Bound<&f64>| match bound {
        Bound::Included(&value) | Bound::Excluded(&value) => Some(value),
        Bound::Unbounded => None,
    };
    Parameter {
        name: name.to_owned(),
        unit: unit.to_owned(),
        meaning: meaning.to_owned(),
        least: bound(range.start_bound()),
        most: bound(range.end_bound()),
    }
}

/// A verdict with its reason and figures.
#[derive(Debug, Clone)]
pub struct Answer(Outcome);

/// Pass if `condition` holds, else fail.
pub fn pass_if(condition: bool) -> Answer {
    Answer::new(if condition { Judgement::Pass } else { Judgement::Fail })
}

/// The rows do not allow a decision: too few, or an interval that straddles the bound.
pub fn inconclusive() -> Answer {
    Answer::new(Judgement::Inconclusive)
}

impl Answer {
    fn new(judgement: Judgement) -> Answer {
        Answer(Outcome { judgement, reason: String::new(), figures: Vec::new(), distributions: Vec::new() })
    }

    /// One sentence with the figures that decided.
    pub fn because(mut self, reason: impl Into<String>) -> Answer {
        self.0.reason = reason.into();
        self
    }

    /// Adds a figure: an accumulator brings its worst rows along.
    pub fn figure(mut self, name: &str, unit: &str, shown: &impl Shown) -> Answer {
        self.0.figures.push(Figure {
            name: name.to_owned(),
            value: shown.number(),
            unit: unit.to_owned(),
            worst: shown.rows(),
        });
        self
    }

    /// Adds a distribution to draw, with the bound that the verdict drew on its axis.
    pub fn spread(mut self, name: &str, unit: &str, spread: &Spread, threshold: Option<f64>) -> Answer {
        self.0.distributions.push(Distribution {
            name: name.to_owned(),
            unit: unit.to_owned(),
            zeros: spread.zeros(),
            bins: spread.bins(),
            threshold,
        });
        self
    }

    /// The finished outcome.
    #[doc(hidden)]
    pub fn finish(self) -> Outcome {
        self.0
    }
}
