//! `%why`: what a difference between two entries comes from, as far as the case file tells.
//!
//! It only reads. Start at [`look`]: [`Entry`] finds the two, `outcome` tells what came of them, `conditions` under what,
//! `table` says which of those things belong to software, inputs or running conditions, `attribution` concludes.

mod asset;
mod attribution;
mod conditions;
mod outcome;
mod rows;
mod table;

use super::Done;
use super::entry::Entry;
use crate::failure::Failure;
use asset::Asset;
use attribution::{Attribution, Gap, State};
use conditions::Conditions;
use fascicolo_dossier::View;
use fascicolo_embeddings::{Columns, Watch};
use fascicolo_magics::why::WhyArgs;
use rows::Recorded;
use serde_json::{Value, json};
use std::path::Path;
use table::Class;

/// Nobody waits who could be told or could interrupt.
pub struct Unwatched;

impl Watch for Unwatched {
    fn progress(&self, _done: u64, _total: u64) {}

    fn interrupted(&self) -> bool {
        false
    }
}

/// Attributes the difference. `folder`: where the paths of the case file start.
pub fn look(log: &View, args: &WhyArgs, folder: &Path, watch: &dyn Watch) -> Result<Done, Failure> {
    let (a, b) = (Entry::find(log, &args.a)?, Entry::find(log, &args.b)?);
    let (outcomes, outcome) = outcome::compare(&a, &b, folder, watch);
    let (of_a, of_b) = (Conditions::of(&a), Conditions::of(&b));
    let rows = |one: &Asset, other: &Asset| differing_rows(one, other, &of_a.columns, folder, watch);
    let found = Attribution::of(&of_a, &of_b, &rows);
    let conclusion = found.conclude(outcomes);
    let classes: Vec<Value> = Class::ALL.into_iter().map(|class| told(class, &found)).collect();
    let result = json!({
        "a": named(&a), "b": named(&b), "outcome": outcome, "classes": classes,
        "not_recorded": found.not_recorded, "attributed": conclusion.attributed.map(Class::key),
        "conclusion": conclusion.sentence,
    });
    Ok(Done { standing: conclusion.standing, ..Done::shown("why", result) })
}

/// Which entry it is.
fn named(entry: &Entry) -> Value {
    let record = entry.record();
    json!({
        "entry": entry.seq(), "log": entry.log().origin(), "name": entry.name(),
        "kind": record.map(|r| r.kind), "when": record.map(|r| r.wall.clone()),
        "summary": record.map(|r| super::dossier::summary(entry.log(), r)),
    })
}

/// One class with its evidence.
fn told(class: Class, found: &Attribution) -> Value {
    let state = found.state(class);
    let gaps: Vec<String> = found.gaps.iter().filter(|gap| gap.class == class).map(Gap::sentence).collect();
    let differences: Vec<Value> = found
        .differences
        .iter()
        .filter(|difference| difference.class == class)
        .map(|d| {
            json!({
                "what": d.what, "a": d.a, "b": d.b, "read_from": { "a": d.from_a, "b": d.from_b }, "detail": d.detail,
            })
        })
        .collect();
    let because = match state {
        State::Differs => match differences.len() {
            1 => "1 thing is recorded as different".to_owned(),
            n => format!("{n} things are recorded as different"),
        },
        State::Equal => "all that is recorded of it is equal".to_owned(),
        State::CannotTell => "nothing is recorded as different, but not all of it was recorded".to_owned(),
    };
    json!({
        "class": class.key(), "state": state.key(), "because": because, "differences": differences, "missing": gaps,
    })
}

/// Which rows of two files differ, if both still hold what was recorded.
fn differing_rows(one: &Asset, other: &Asset, named: &Value, folder: &Path, watch: &dyn Watch) -> Option<String> {
    let recorded = |asset: &Asset| Some((asset.path.clone()?, asset.sha256.clone()?));
    let (one_file, other_file) = (recorded(one)?, recorded(other)?);
    let column = |name: &str| named[name].as_str().map(str::to_owned).filter(|_| one.role == "output");
    let columns = Columns { id: column("id"), vector: column("vector"), ..Columns::default() };
    let (one, other) =
        (Recorded { path: &one_file.0, sha256: &one_file.1 }, Recorded { path: &other_file.0, sha256: &other_file.1 });
    rows::differing(&one, &other, &columns, folder, watch)
}
