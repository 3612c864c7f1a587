//! `%calibrate`: how far honest repeats of the reference lie from it, so that a bound can be chosen with a reason.

use super::compare::{self, Judged, OfAllRows};
use super::files::{self, Watching};
use super::{Done, criterion, declare};
use crate::failure::Failure;
use crate::front::FrontEnd;
use crate::ledger;
use crate::session::{Fact, Place, Session};
use fascicolo_contract::Standing;
use fascicolo_contract::verdict::{Judgement, Outcome, Parameter};
use fascicolo_criterion::Admitted;
use fascicolo_dossier::{FileSeen, Kind};
use fascicolo_embeddings::Comparison;
use fascicolo_magics::calibrate::CalibrateArgs;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Times that the distance between a number that passes and one that does not is halved, at most.
const HALVINGS: usize = 64;

/// A repeat, ready to be compared again and again.
struct Run {
    path: String,
    comparison: Comparison,
    measured: Option<OfAllRows>,
    figures: BTreeMap<String, (f64, String)>,
}

pub fn perform(
    session: &mut Session,
    args: &CalibrateArgs,
    place: &Place,
    front: &dyn FrontEnd,
) -> Result<Done, Failure> {
    ledger::probe_allows(&session.dossier)?;
    let reference = ledger::reference(&session.dossier).ok_or_else(|| {
        Failure::refused(
            "no_reference",
            "no reference is declared, so there is nothing that a run could repeat",
            "begin with a `%%reference new NAME` cell",
        )
    })?;
    let declared = session.stored(reference.entry)?;
    let found = criterion::find(session, &args.name)?;
    let admitted = &found.admitted;
    let sees = &admitted.description;
    let mut columns = compare::columns_of(&declared);
    if (sees.wants_labels || sees.wants_candidate_labels) && columns.label.is_none() {
        return Err(compare::labels_wanted(&args.name, false));
    }
    columns.candidate_label = sees.wants_candidate_labels;
    let open: Vec<&Parameter> = admitted
        .description
        .parameters
        .iter()
        .filter(|parameter| !args.set.iter().any(|(name, _)| *name == parameter.name))
        .collect();
    let (reference_path, of_reference) = place_of_output(session, &declared, &reference.output, front)?;
    let mut runs = Vec::new();
    let mut reads = Vec::new();
    for path in &args.runs {
        let run =
            open_run(session, path, (&reference_path, &of_reference, &declared, &columns), place, front, &mut reads)?;
        runs.push(run);
    }
    let set = |value: Option<f64>| {
        let mut parameters = args.set.clone();
        for parameter in &open {
            parameters.push((parameter.name.clone(), value.unwrap_or_else(|| compare::harmless(parameter))));
        }
        parameters
    };
    admitted.check_parameters(&set(None))?;
    let proposal = match open.as_slice() {
        [one] => strictest(one, &mut |value| {
            for run in &mut runs {
                if outcome(session, run, admitted, &set(Some(value)), front)?.judgement != Judgement::Pass {
                    return Ok(false);
                }
            }
            Ok(true)
        })?,
        [] => json!({ "because": "every parameter was given" }),
        several => json!({ "because": format!(
            "{} parameters are open; give all but one with --set, and a number for that one is looked for",
            several.len()
        ) }),
    };
    // Some figures depend on a bound: they are those at the number found.
    let at = set(proposal["value"].as_f64());
    for run in &mut runs {
        let outcome = outcome(session, run, admitted, &at, front)?;
        run.figures = outcome.figures.into_iter().map(|f| (f.name, (f.value, f.unit))).collect();
    }
    let result = json!({
        "at": declare::parameters(&at),
        "name": args.name, "digest": found.digest, "set": declare::parameters(&args.set),
        "reference": { "name": reference.name, "identity": reference.identity, "sha256": reference.output },
        "runs": runs.iter().map(|run| run.path.clone()).collect::<Vec<_>>(), "figures": spread(&runs),
        "proposal": proposal,
    });
    let body = json!({
        "what": "calibrate", "name": args.name, "digest": found.digest, "reference": reference.identity,
        "runs": runs.len(),
    });
    session.record(place, Kind::Fact, "calibrate", Fact { body, result, reads, ..Fact::default() })
}

/// Where the declared output lies, and what was read there; it must still be the one that was declared.
fn place_of_output(
    session: &Session,
    declared: &Value,
    output: &str,
    front: &dyn FrontEnd,
) -> Result<(std::path::PathBuf, Vec<FileSeen>), Failure> {
    let named = declared["output"]["path"].as_str().unwrap_or_default();
    let path = session.resolve(Path::new(named));
    let watch = Watching { what: format!("reading {named}"), front, interrupt: session.interrupt.clone() };
    let seen = files::seen("reference", &path, &watch)?;
    if seen[0].sha256 == output {
        return Ok((path, seen));
    }
    Err(Failure {
        place: Some(named.to_owned()),
        ..Failure::refused(
            "not_the_declared_reference",
            format!("{named} is no longer the output that the reference declares"),
            "bring the declared output back, or declare a new reference",
        )
    })
}

fn open_run(
    session: &mut Session,
    path: &Path,
    (reference, of_reference, declared, columns): (&Path, &[FileSeen], &Value, &fascicolo_embeddings::Columns),
    place: &Place,
    front: &dyn FrontEnd,
    reads: &mut Vec<FileSeen>,
) -> Result<Run, Failure> {
    let shown = files::shown(path);
    let run = session.resolve(path);
    let watch = Watching { what: format!("reading {shown}"), front, interrupt: session.interrupt.clone() };
    let of_run = files::seen("candidate", &run, &watch)?;
    if of_run[0].sha256 == of_reference[0].sha256 {
        return Err(Failure {
            place: Some(shown.clone()),
            ..Failure::usage(
                "not_a_repeat",
                format!("{shown} is the reference's own output, byte for byte: it shows nothing of a repeat"),
                "give outputs of other runs",
            )
        });
    }
    let named = Path::new(declared["output"]["path"].as_str().unwrap_or_default());
    compare::opened(session, place, (named, of_reference), (path, &of_run), true)?;
    let comparison = Comparison::open(reference, &run, columns, &watch)?;
    let rows = (comparison.reference_content_digest(), comparison.content_digest());
    compare::rows_opened(session, place, &rows)?;
    if let Some(obstacle) = comparison.structure().obstacles.first() {
        return Err(Failure {
            place: Some(shown.clone()),
            standing: Standing::CannotTell,
            ..Failure::refused(
                "not_comparable",
                format!("{shown} cannot be compared with the reference: {}", obstacle.message),
                obstacle.kind.next_step(),
            )
        });
    }
    reads.extend(of_run);
    Ok(Run { path: shown, comparison, measured: None, figures: BTreeMap::new() })
}

fn outcome(
    session: &Session,
    run: &mut Run,
    criterion: &Admitted,
    parameters: &[(String, f64)],
    front: &dyn FrontEnd,
) -> Result<Outcome, Failure> {
    match compare::judge(session, &run.comparison, criterion, parameters, &mut run.measured, front)? {
        Judged::Finished(finished) => Ok(finished.outcome),
        Judged::Not(obstacles) => {
            let what = obstacles.first().map_or("the rows cannot be compared", |obstacle| obstacle.message.as_str());
            Err(Failure {
                place: Some(run.path.clone()),
                standing: Standing::CannotTell,
                ..Failure::refused("not_comparable", format!("{}: {what}", run.path), "mend that run, or leave it out")
            })
        }
    }
}

/// Each figure's smallest, middle and largest value over the runs.
fn spread(runs: &[Run]) -> Value {
    let mut figures: BTreeMap<&str, (&str, Vec<f64>)> = BTreeMap::new();
    for run in runs {
        for (name, (value, unit)) in &run.figures {
            figures.entry(name).or_insert((unit, Vec::new())).1.push(*value);
        }
    }
    let told = figures.into_iter().map(|(name, (unit, mut values))| {
        values.sort_by(f64::total_cmp);
        json!({
            "name": name, "unit": unit, "runs": values.len(), "least": values.first(), "median": values[values.len() / 2],
            "most": values.last(),
        })
    });
    told.collect()
}

/// The strictest value under which `passes` holds, by halving between the smallest and the largest that mean anything.
/// Floats are halved by their order, so that every size is found in as many steps.
fn strictest(parameter: &Parameter, passes: &mut dyn FnMut(f64) -> Result<bool, Failure>) -> Result<Value, Failure> {
    let (least, most) = (parameter.least.unwrap_or(-f64::MAX), parameter.most.unwrap_or(f64::MAX));
    let name = &parameter.name;
    let told = |value: Value, because: String| json!({ "parameter": name, "unit": parameter.unit, "value": value, "because": because });
    let (mut good, mut bad) = match (passes(least)?, passes(most)?) {
        (true, true) => return Ok(told(Value::Null, format!("every run passes whatever {name} is"))),
        (false, false) => return Ok(told(Value::Null, format!("no {name} was found under which every run passes"))),
        (true, false) => (ordered(least), ordered(most)),
        (false, true) => (ordered(most), ordered(least)),
    };
    let upwards = good < bad;
    for _ in 0..HALVINGS {
        let middle = good / 2 + bad / 2 + (good % 2 + bad % 2) / 2;
        if middle == good || middle == bad {
            break;
        }
        if passes(unordered(middle))? { good = middle } else { bad = middle }
    }
    let value = unordered(good);
    let kind = if upwards { "largest" } else { "smallest" };
    Ok(told(json!(value), format!("the {kind} {name} under which every run passes")))
}

/// Floats in the order of whole numbers.
fn ordered(value: f64) -> i64 {
    let bits = value.to_bits() as i64;
    if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
}

fn unordered(order: i64) -> f64 {
    let bits = if order < 0 { i64::MIN.wrapping_sub(order) } else { order };
    f64::from_bits(bits as u64)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_strictest_number_is_found_from_either_side_and_for_every_size() {
        let parameter =
            |least, most| Parameter { name: "p".into(), unit: "unitless".into(), meaning: String::new(), least, most };
        for bound in [1e-12, 0.25, 0.999_999_9, 7.0e15, -3.0] {
            let found = strictest(&parameter(None, None), &mut |value| Ok(value >= bound)).unwrap();
            assert_eq!(found["value"].as_f64(), Some(bound), "{found}");
            let found = strictest(&parameter(None, None), &mut |value| Ok(value <= bound)).unwrap();
            assert_eq!(found["value"].as_f64(), Some(bound), "{found}");
        }
        let floor = strictest(&parameter(Some(-1.0), Some(1.0)), &mut |value| Ok(value <= 0.875)).unwrap();
        assert_eq!(
            (floor["value"].as_f64(), floor["because"].as_str().unwrap().contains("largest")),
            (Some(0.875), true)
        );
        for always in [true, false] {
            let found = strictest(&parameter(None, None), &mut |_| Ok(always)).unwrap();
            assert!(found["value"].is_null() && found["because"].is_string(), "{found}");
        }
    }

    /// Counts what is told while all rows are compared with each other: once and more for each query.
    #[derive(Default)]
    struct Counting(std::sync::atomic::AtomicUsize);

    impl FrontEnd for Counting {
        fn stream(&self, _: crate::front::Stream, _: &str) {}

        fn display(&self, _: &crate::front::MimeBundle) {}

        fn result(&self, _: u32, _: &crate::front::MimeBundle) {}

        fn progress(&self, what: &str, _: Option<f64>) {
            let counted = usize::from(what == "comparing all rows with each other");
            self.0.fetch_add(counted, std::sync::atomic::Ordering::SeqCst);
        }
    }

    #[test]
    fn a_calibration_compares_all_rows_with_each_other_once_however_often_it_halves() {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../notebooks/data/debian-sections");
        let folder = tempfile::tempdir().unwrap();
        for (from, to) in
            [("reference.parquet", "reference.parquet"), ("candidates/one-bad-row.parquet", "run.parquet")]
        {
            std::fs::copy(data.join(from), folder.path().join(to)).unwrap();
        }
        let mut session = Session::open(&folder.path().join("n.fascicolo"), folder.path()).unwrap();
        let front = Counting::default();
        for code in [
            "%%reference new r\ngoal = 'values'\n[output]\npath = 'reference.parquet'",
            "%calibrate knn --set k=10 --set queries=100 --runs run.parquet",
        ] {
            let request = crate::front::CellRequest { code: code.to_owned(), cell_id: None, execution_count: 1 };
            let ended = session.run_cell(&request, &front);
            assert_eq!(ended, crate::front::CellEnding::Ok);
        }
        let entry = session.dossier.records().find(|r| r.kind == Kind::Fact).unwrap().seq;
        let found = session.stored(entry).unwrap();
        assert!(found["proposal"]["value"].as_f64().is_some_and(|floor| floor > 0.9), "{found}");
        let told = front.0.into_inner();
        assert!((100..200).contains(&told), "told {told} times, 100 and some for each time that the rows are compared");
    }

    #[test]
    fn floats_keep_their_order_as_whole_numbers() {
        let values = [-f64::MAX, -1.0, -f64::MIN_POSITIVE, 0.0, 5e-324, 1e-3, 1.0, f64::MAX];
        assert!(values.windows(2).all(|pair| ordered(pair[0]) < ordered(pair[1])));
        assert!(values.iter().all(|value| unordered(ordered(*value)).to_bits() == value.to_bits()));
    }
}
