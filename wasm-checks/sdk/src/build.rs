//! A verdict in the making.

use crate::accumulate::{Shown, Spread};
use crate::contract::{Distribution, Figure, Judgement, Outcome};

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
