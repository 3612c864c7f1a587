//! `%declare`: the seal, before the difference is seen.

use super::{Done, criterion};
use crate::failure::Failure;
use crate::ledger;
use crate::session::{Fact, Place, Session};
use fascicolo_dossier::Kind;
use fascicolo_magics::declare::DeclareArgs;
use serde_json::{Map, Value, json};

pub fn perform(session: &mut Session, args: &DeclareArgs, place: &Place) -> Result<Done, Failure> {
    if args.because.trim().is_empty() {
        return Err(Failure::usage("no_reason", "--because is empty", "say why these bounds are right for your use"));
    }
    let found = criterion::find(session, &args.name)?;
    found.admitted.check_parameters(&args.set)?;
    let reference = ledger::reference(&session.dossier).ok_or_else(|| {
        Failure::refused(
            "no_reference",
            "no reference is declared, so there is nothing to seal a criterion for",
            "begin with a `%%reference new NAME` cell",
        )
    })?;
    let earliest = ledger::earliest_seal(&session.dossier, &found.digest, &args.set, &reference);
    // What was redacted is entered afresh; the seal itself stands in the entry and keeps its time.
    let kept = earliest.as_ref().and_then(|seal| Some((seal, session.stored(seal.entry).ok()?)));
    if let Some((seal, mut result)) = kept {
        result["already"] = json!(true);
        if ledger::last_seal(&session.dossier, &args.name).is_some_and(|last| last.same_content(seal)) {
            result["dossier"] = json!({ "entry": seal.entry, "root": session.dossier.root_hex() });
            return Ok(Done::shown("declare", result));
        }
        // Another seal of this name stands between: this one is renewed, and keeps the time of its first.
        let body = session.dossier.record(seal.entry).map(|record| record.body.clone()).unwrap_or_default();
        return session.record(place, Kind::Declare, "declare", Fact { body, result, ..Fact::default() });
    }
    let parameters = parameters(&args.set);
    let opened = ledger::opened(&session.dossier, &reference.output);
    let sealed = json!({
        "criterion": args.name, "digest": found.digest, "parameters": parameters,
        "reference": reference.identity, "output": reference.output,
    });
    let calibrated = ledger::calibrations(&session.dossier, &found.digest, &reference.identity);
    let result = json!({
        "calibrated": calibrated.iter().map(|(entry, runs)| json!({ "entry": entry, "runs": runs })).collect::<Value>(),
        "criterion": args.name, "digest": found.digest, "parameters": parameters, "because": args.because,
        "reference": { "name": reference.name, "identity": reference.identity, "sha256": reference.output },
        "entry": session.dossier.size(), "already": false, "post_hoc_for": opened,
    });
    // The component goes with the seal, so that it can be judged by again whatever the program ships by then.
    let blobs = vec![("component".to_owned(), found.component)];
    let fact = Fact { body: sealed, result, blobs, ..Fact::default() };
    session.record(place, Kind::Declare, "declare", fact)
}

/// Parameters by name, sorted, for the record.
pub fn parameters(set: &[(String, f64)]) -> Value {
    let mut sorted = set.to_vec();
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    Value::Object(sorted.into_iter().map(|(name, value)| (name, json!(value))).collect::<Map<_, _>>())
}
