//! The steps of both parts of an interrupted training as one log.

use super::{files, obstacle};
use fascicolo_contract::{Obstacle, ObstacleKind};
use fascicolo_embeddings::Log;
use std::path::Path;

type Row = (Option<f64>, Vec<Option<f64>>);

/// Both parts, joined.
pub struct Joined {
    /// The first part up to the checkpoint, then the resumed part.
    pub log: Log,
    /// What the resumed part logged, where it ran.
    pub resumed: Option<Log>,
    /// Steps of the first part that came after the checkpoint.
    pub lost: usize,
}

impl Joined {
    /// `at`: the last step that the checkpoint holds. `same_file`: whether both parts log to one file, to which the
    /// resumed one may append.
    pub fn of(first: &Log, after: Option<&Log>, at: f64, same_file: bool) -> Joined {
        let kept = |row: &&Row| row.0.is_none_or(|step| step <= at);
        let mut rows: Vec<Row> = first.rows.iter().filter(kept).cloned().collect();
        let lost = first.rows.len() - rows.len();
        let resumed = after.map(|after| {
            let appended = same_file && after.rows.starts_with(&first.rows);
            let rows = if appended { after.rows[first.rows.len()..].to_vec() } else { after.rows.clone() };
            Log { rows, ..after.clone() }
        });
        rows.extend(resumed.iter().flat_map(|log| log.rows.iter().cloned()));
        Joined { log: Log { rows, ..first.clone() }, resumed, lost }
    }

    /// That the resumed part does not begin with the step after the checkpoint, if it does not.
    pub fn not_resumed(&self, reference: &Log, at: f64, checkpoint: &Path) -> Option<Obstacle> {
        let resumed = self.resumed.as_ref()?;
        let least = |log: &Log, after: f64| {
            let steps = log.rows.iter().filter_map(|(step, _)| *step).filter(|step| *step > after);
            steps.reduce(f64::min)
        };
        let expected = least(reference, at);
        let begins = least(resumed, f64::NEG_INFINITY);
        let not = |message: String, step: &[f64]| Some(obstacle(ObstacleKind::NotResumed, message, step));
        match (expected, begins) {
            (None, _) => {
                not(format!("the uninterrupted log has no step after step {at}: nothing is left to resume"), &[])
            }
            (Some(expected), None) => {
                not(format!("the resumed log has no step; step {expected} should be its first"), &[])
            }
            (Some(expected), Some(begins)) if expected == begins => None,
            (Some(expected), Some(begins)) => {
                let anew = least(reference, f64::NEG_INFINITY) == Some(begins);
                let why = if anew { ", as a training that begins anew does" } else { "" };
                not(
                    format!(
                        "the resumed log begins at step {begins}{why}, not at step {expected}, where {} ended: the checkpoint may \
                         not have been read",
                        files::shown(checkpoint)
                    ),
                    &[begins],
                )
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn log(steps: impl Iterator<Item = u32>) -> Log {
        let rows = steps.map(|step| (Some(f64::from(step)), vec![Some(f64::from(step) / 7.0)])).collect();
        Log { step: "step".into(), scalars: vec!["loss".into()], rows, sparse: Vec::new() }
    }

    fn steps(log: &Log) -> Vec<f64> {
        log.rows.iter().filter_map(|row| row.0).collect()
    }

    #[test]
    fn steps_after_the_checkpoint_are_lost_with_the_interruption() {
        let joined = Joined::of(&log(1..=5), Some(&log(4..=6)), 3.0, false);
        assert_eq!((steps(&joined.log), joined.lost), (vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2));
        assert!(joined.not_resumed(&log(1..=6), 3.0, Path::new("c")).is_none());
    }

    #[test]
    fn a_log_that_the_resumed_part_appends_to_is_parted_again_and_one_that_it_writes_anew_is_not() {
        let joined = Joined::of(&log(1..=3), Some(&log(1..=6)), 3.0, true);
        assert_eq!(steps(&joined.log), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let joined = Joined::of(&log(1..=3), Some(&log(4..=6)), 3.0, true);
        assert_eq!(steps(joined.resumed.as_ref().unwrap()), [4.0, 5.0, 6.0]);
    }

    #[test]
    fn a_training_that_begins_anew_or_elsewhere_was_not_resumed() {
        let reference = log((10..=60).step_by(10));
        for (resumed, says) in [
            (log((10..=60).step_by(10)), Some("begins anew")),
            (log((30..=60).step_by(10)), Some("not at step 40")),
            (log((50..=60).step_by(10)), Some("not at step 40")),
            (log(0..0), Some("no step")),
            (log((40..=60).step_by(10)), None),
        ] {
            let joined = Joined::of(&log((10..=30).step_by(10)), Some(&resumed), 33.0, false);
            let found = joined.not_resumed(&reference, 33.0, Path::new("c"));
            assert_eq!(found.is_some(), says.is_some(), "{found:?}");
            assert!(found.is_none_or(|found| found.message.contains(says.unwrap())));
        }
        let joined = Joined::of(&reference, Some(&log(61..62)), 60.0, false);
        assert!(joined.not_resumed(&reference, 60.0, Path::new("c")).unwrap().message.contains("nothing is left"));
    }
}
