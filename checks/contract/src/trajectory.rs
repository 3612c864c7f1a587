//! What a deviation of two training runs looks like: which part of a training's state may not have been restored.
//!
//! As in [`crate::causes`], these are hints and never findings: the same picture can come from something else. They
//! rest on which scalars deviate, from which step on, and whether they repeat the beginning of the training. What a
//! scalar is, is read from its name; thresholds are this module's own.

use crate::causes::Hint;
use crate::table::{AlignedBatch, Vectors};

/// Relative difference from which two scalars count as different here, whatever the criterion allows.
const DEVIATES: f64 = 1e-9;
/// Steps after resuming that must repeat the first ones of the training, to call it a new beginning; and the fewest.
const REPEATED: usize = 8;
const FEWEST: usize = 3;

/// What a scalar is, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The learning rate.
    LearningRate,
    /// Which data a step saw.
    Data,
    /// A draw of a random generator.
    Random,
    /// Anything that depends on data and model: losses, norms, accuracies.
    Other,
}

fn role(name: &str) -> Role {
    let name = name.to_ascii_lowercase();
    let parts: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let has = |words: &[&str]| parts.iter().any(|part| words.contains(part));
    if has(&["lr", "lrs"]) || name.contains("learning_rate") || name.contains("learning rate") {
        Role::LearningRate
    } else if has(&["rng", "random", "noise", "dropout", "mask", "augment", "augmentation"]) {
        Role::Random
    } else if has(&["batch", "sample", "samples", "index", "indices", "order", "shuffle", "data", "sampler"]) {
        Role::Data
    } else {
        Role::Other
    }
}

/// Both runs of a training, step by step.
#[derive(Debug, Clone, Default)]
pub struct Trajectory {
    names: Vec<String>,
    /// Step, reference's scalars, candidate's scalars; ascending by step once [`Trajectory::hints`] looks at them.
    steps: Vec<(f64, Vec<f64>, Vec<f64>)>,
}

impl Trajectory {
    /// Of scalars with these names, in the order of a row's values.
    pub fn new(names: &[String]) -> Self {
        Trajectory { names: names.to_vec(), steps: Vec::new() }
    }

    /// Takes in steps. Rows whose id is no number are none.
    pub fn see(&mut self, batch: &AlignedBatch) {
        for row in 0..batch.rows() {
            let Ok(step) = batch.ids.get(row).parse::<f64>() else { continue };
            let side = |values: &Vectors| -> Vec<f64> {
                let range = row * batch.dims..(row + 1) * batch.dims;
                match values {
                    Vectors::F32(values) => values.get(range).into_iter().flatten().map(|v| f64::from(*v)).collect(),
                    Vectors::F64(values) => values.get(range).into_iter().flatten().copied().collect(),
                }
            };
            self.steps.push((step, side(&batch.reference), side(&batch.candidate)));
        }
    }

    /// The hints, the most telling first. `at`: the last step before the interruption, where there was one.
    pub fn hints(mut self, at: Option<f64>) -> Vec<Hint> {
        self.steps.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut hints = Vec::new();
        let firsts: Vec<Option<usize>> = (0..self.names.len()).map(|scalar| self.first_deviation(scalar)).collect();
        let Some(first) = firsts.iter().flatten().min().copied() else { return hints };
        let mut hint = |cause, text: String| hints.push(Hint { cause, text });
        let place = |i: usize| self.steps.get(i).map_or(f64::NAN, |step| step.0);
        let Some(at) = at else {
            hint("deviates", format!("{} at step {}", self.deviating(&firsts, first), place(first)));
            return hints;
        };
        if place(first) <= at {
            hint(
                "before_interruption",
                format!(
                    "{} already at step {}, before the interruption after step {at}: the two runs differ without any resuming, \
                     in seed, data, environment or operations that are not deterministic",
                    self.deviating(&firsts, first),
                    place(first)
                ),
            );
            return hints;
        }
        let resumed = self.steps.partition_point(|step| step.0 <= at);
        let names = &self.names;
        let of = |wanted: Role| (0..names.len()).filter(move |&i| role(&names[i]) == wanted);
        let deviates = |i: &usize| firsts[*i].is_some();
        let mut told = false;
        for (wanted, cause, what, again) in [
            (
                Role::LearningRate,
                "scheduler",
                "the scheduler's state, or the step that it counts from, may not have been restored",
                "the scheduler may have started anew",
            ),
            (
                Role::Data,
                "data_order",
                "the order of the data or the sampler's position may not have been restored",
                "the sampler may have started anew",
            ),
            (
                Role::Random,
                "rng",
                "the state of a random generator may not have been restored",
                "the generator may have been seeded anew",
            ),
        ] {
            let Some(scalar) = of(wanted).filter(deviates).min_by_key(|&i| firsts[i]) else { continue };
            let Some(from) = firsts[scalar] else { continue };
            told = true;
            let name = &self.names[scalar];
            let repeats = self.repeats_the_beginning(scalar, resumed);
            let also =
                if repeats { format!(" and repeats that of the first steps: {again}") } else { format!(": {what}") };
            hint(cause, format!("`{name}` deviates from step {} on{also}", place(from)));
        }
        if told {
            return hints;
        }
        // Only what depends on model and data deviates; the step at which it begins tells the two apart.
        let others: Vec<usize> = of(Role::Other).filter(deviates).collect();
        let Some(&scalar) = others.iter().min_by_key(|&&i| firsts[i]) else { return hints };
        let Some(from) = firsts[scalar] else { return hints };
        let name = &self.names[scalar];
        let rate = of(Role::LearningRate)
            .next()
            .map_or_else(|| "no learning rate is logged".to_owned(), |i| format!("`{}` does not", self.names[i]));
        if from == resumed && self.repeats_the_beginning(scalar, resumed) {
            hint(
                "model",
                format!(
                    "`{name}` after step {at} repeats that of the first steps: the model may not have been restored"
                ),
            );
        } else if from == resumed {
            hint(
                "data_or_rng",
                format!(
                    "`{name}` deviates from the first resumed step on, {}, and {rate}: the order of the data, or the state of a \
                     random generator, may not have been restored",
                    place(from)
                ),
            );
        } else {
            hint(
                "optimizer",
                format!(
                    "`{name}` is the same at the first resumed step and deviates from step {} on, and {rate}: the model was \
                     restored, and what makes its updates (the optimizer's state, a gradient scaler) may not have been",
                    place(from)
                ),
            );
        }
        hints
    }

    fn differs(r: f64, c: f64) -> bool {
        (c - r).abs() > DEVIATES * r.abs().max(c.abs())
    }

    fn first_deviation(&self, scalar: usize) -> Option<usize> {
        self.steps.iter().position(|(_, r, c)| match (r.get(scalar), c.get(scalar)) {
            (Some(&r), Some(&c)) => Trajectory::differs(r, c),
            _ => false,
        })
    }

    /// Whether what the candidate logs after resuming is what the reference logs from its first step on, and varies
    /// enough to tell.
    fn repeats_the_beginning(&self, scalar: usize, resumed: usize) -> bool {
        let value = |side: &[f64]| side.get(scalar).copied().unwrap_or(f64::NAN);
        let after: Vec<f64> = self.steps.iter().skip(resumed).take(REPEATED).map(|(_, _, c)| value(c)).collect();
        let before: Vec<f64> = self.steps.iter().take(after.len()).map(|(_, r, _)| value(r)).collect();
        let varies = before.windows(2).any(|pair| Trajectory::differs(pair[0], pair[1]));
        after.len() >= FEWEST && varies && before.iter().zip(&after).all(|(r, c)| !Trajectory::differs(*r, *c))
    }

    /// `loss` and `lr` deviate
    fn deviating(&self, firsts: &[Option<usize>], at: usize) -> String {
        let names: Vec<String> =
            self.names.iter().zip(firsts).filter(|(_, f)| **f == Some(at)).map(|(n, _)| format!("`{n}`")).collect();
        format!("{} {}", names.join(", "), if names.len() == 1 { "deviates" } else { "deviate" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Texts;

    const AT: usize = 10;

    /// Scalars of a training of 20 steps, interrupted after step 10: a loss that falls, a learning rate that rises and
    /// falls, a number that tells the batch.
    fn reference(step: usize) -> Vec<f64> {
        let s = step as f64;
        vec![2.0 / s + 0.01 * (s * 7.0).sin(), 0.1 * (s / 20.0 * 3.0).sin(), ((step * 37) % 101) as f64]
    }

    fn causes(names: [&str; 3], candidate: impl Fn(usize) -> Vec<f64>) -> Vec<&'static str> {
        let mut ids = Texts::default();
        (1..=20).for_each(|step| ids.push(&step.to_string()));
        let both = |f: &dyn Fn(usize) -> Vec<f64>| Vectors::F64((1..=20).flat_map(f).collect());
        let batch = AlignedBatch {
            ids,
            labels: Texts::default(),
            candidate_labels: Texts::default(),
            dims: 3,
            reference: both(&reference),
            candidate: both(&candidate),
        };
        let mut trajectory = Trajectory::new(&names.map(str::to_owned));
        trajectory.see(&batch);
        trajectory.hints(Some(AT as f64)).iter().map(|hint| hint.cause).collect()
    }

    fn changed(from: usize, scalars: &[usize]) -> impl Fn(usize) -> Vec<f64> {
        let scalars = scalars.to_vec();
        move |step| {
            let mut row = reference(step);
            if step >= from {
                scalars.iter().for_each(|&scalar| row[scalar] *= 1.01);
            }
            row
        }
    }

    #[test]
    fn each_part_of_the_state_has_its_picture_and_equal_runs_have_none() {
        let names = ["train/loss", "lr", "batch_checksum"];
        assert_eq!(causes(names, reference), [""; 0]);
        assert_eq!(causes(names, changed(5, &[0])), ["before_interruption"]);
        assert_eq!(causes(names, changed(11, &[0, 1])), ["scheduler"]);
        assert_eq!(causes(names, changed(13, &[1])), ["scheduler"]);
        assert_eq!(causes(names, changed(11, &[0, 2])), ["data_order"]);
        assert_eq!(causes(["loss", "lr", "dropout_mean"], changed(11, &[0, 2])), ["rng"]);
        assert_eq!(causes(names, changed(11, &[0])), ["data_or_rng"]);
        assert_eq!(causes(names, changed(12, &[0])), ["optimizer"]);
        let anew = |step: usize| {
            let mut row = reference(step);
            if step > AT {
                row[0] = reference(step - AT)[0];
            }
            row
        };
        assert_eq!(causes(names, anew), ["model"]);
    }

    #[test]
    fn a_scalar_that_begins_anew_is_told_so() {
        let mut trajectory = Trajectory::new(&["loss".to_owned(), "lr".to_owned(), "batch".to_owned()]);
        for step in 1..=20 {
            let mut row = reference(step);
            if step > AT {
                row[1] = reference(step - AT)[1];
            }
            trajectory.steps.push((step as f64, reference(step), row));
        }
        let hints = trajectory.hints(Some(AT as f64));
        assert!(hints.len() == 1 && hints[0].text.contains("`lr` deviates from step 11 on and repeats"), "{hints:?}");
    }

    #[test]
    fn what_a_scalar_is_is_read_from_whole_words_of_its_name() {
        for (name, expected) in [
            ("lr", Role::LearningRate),
            ("lr-AdamW/pg1", Role::LearningRate),
            ("train.learning_rate", Role::LearningRate),
            ("clr_loss", Role::Other),
            ("batch_checksum", Role::Data),
            ("dropout_mean", Role::Random),
            ("train/loss", Role::Other),
            ("metadata", Role::Other),
        ] {
            assert_eq!(role(name), expected, "{name}");
        }
    }
}
