//! `%compare`: structure, then criterion, then verdict, under the rules of the seal.

use super::files::{self, Watching};
use super::{Done, criterion, declare, figures};
use crate::failure::Failure;
use crate::front::FrontEnd;
use crate::ledger::{self, Reference, Seal};
use crate::session::{Fact, Place, Session};
use fascicolo_contract::measure::{MeasureTrouble, measure_rows};
use fascicolo_contract::verdict::{Judgement, Verdict};
use fascicolo_contract::{Obstacle, Standing};
use fascicolo_criterion::{Admitted, Finished};
use fascicolo_dossier::{Draft, FileSeen, Kind};
use fascicolo_embeddings::{Columns, Comparison};
use fascicolo_magics::compare::CompareArgs;
use serde_json::{Value, json};

/// Rows that a criterion sees at once: with 384 float32 dimensions, both sides fit a processor's second cache.
const BATCH_ROWS: usize = 256;

/// Under which seal a comparison runs.
struct Terms {
    reference: Option<Reference>,
    seal: Option<Seal>,
    parameters: Vec<(String, f64)>,
    /// Parameters that exploring left open; they are shown as 0 and judge nothing.
    open: Vec<String>,
    /// Why the verdict is post hoc, apart from the candidate having been opened.
    changed: Option<String>,
}

pub fn perform(
    session: &mut Session,
    args: &CompareArgs,
    place: &Place,
    front: &dyn FrontEnd,
) -> Result<Done, Failure> {
    ledger::probe_allows(&session.dossier)?;
    let name = args.criterion.as_deref().unwrap_or("cosine");
    let found = criterion::find(session, name)?;
    let terms = if args.explore { exploring(session, args, &found.admitted) } else { declared(session, args, &found)? };
    found.admitted.check_parameters(&terms.parameters)?;

    let (reference, candidate) = (session.resolve(&args.reference), session.resolve(&args.candidate));
    let interrupt = session.interrupt.clone();
    let watching = |what: String| Watching { what, front, interrupt: interrupt.clone() };
    let stamps = (files::stamp(&reference), files::stamp(&candidate));
    let reference_seen =
        files::seen("reference", &reference, &watching(format!("reading {}", files::shown(&args.reference))))?;
    if let Some(declared) = terms.reference.as_ref().filter(|r| !args.explore && r.output != reference_seen.sha256) {
        return Err(Failure {
            place: Some(files::shown(&args.reference)),
            ..Failure::refused(
                "not_the_declared_reference",
                format!(
                    "{} has SHA-256 {}…, but the output that reference `{}` declares has {}…",
                    files::shown(&args.reference),
                    &reference_seen.sha256[..12],
                    declared.name,
                    &declared.output[..declared.output.len().min(12)],
                ),
                "give the declared output, or declare a new reference",
            )
        });
    }
    let candidate_seen =
        files::seen("candidate", &candidate, &watching(format!("reading {}", files::shown(&args.candidate))))?;
    let first_opened = ledger::first_opened(&session.dossier, &candidate_seen.sha256);
    opened(session, place, args, &reference_seen, &candidate_seen)?;

    let columns = Columns { id: args.id.clone(), vector: args.vector.clone(), label: args.label.clone() };
    let comparison = Comparison::open(&reference, &candidate, &columns, &watching("matching rows by id".into()))?;
    let judged = judge(session, &comparison, &found.admitted, &terms.parameters, front)?;
    if stamps != (files::stamp(&reference), files::stamp(&candidate)) {
        return Err(Failure {
            standing: Standing::CannotTell,
            ..Failure::refused(
                "file_changed",
                "a file changed while it was being read",
                "compare again when nothing writes to it",
            )
        });
    }

    let verdict = match (&judged, args.explore) {
        (Judged::Not(_), _) => Verdict::NotComparable,
        (Judged::Finished(_), true) => Verdict::None,
        (Judged::Finished(finished), false) => match finished.outcome.judgement {
            Judgement::Pass => Verdict::Pass,
            Judgement::Fail => Verdict::Fail,
            Judgement::Inconclusive => Verdict::Inconclusive,
        },
    };
    let late = match (&terms.seal, first_opened) {
        (Some(seal), Some(opened)) if opened < seal.entry => {
            Some(format!("the candidate was opened in entry {opened}, before the seal of entry {}", seal.entry))
        }
        _ => None,
    };
    let post_hoc_because = if args.explore { None } else { terms.changed.clone().or(late) };
    let given = Given {
        args,
        name,
        terms: &terms,
        digest: &found.digest,
        admitted: &found.admitted,
        verdict,
        post_hoc_because,
    };
    let fact = given.fact(session, &comparison, &judged, reference_seen, candidate_seen)?;
    let mut done = session.record(place, Kind::Verdict, "verdict", fact)?;
    done.standing = given.standing();
    done.counts = (!args.explore).then_some(done.standing);
    Ok(done)
}

fn exploring(session: &Session, args: &CompareArgs, criterion: &Admitted) -> Terms {
    let mut parameters = args.set.clone();
    let mut open = Vec::new();
    for parameter in &criterion.description.parameters {
        if !parameters.iter().any(|(name, _)| name == &parameter.name) {
            parameters.push((parameter.name.clone(), 0.0));
            open.push(parameter.name.clone());
        }
    }
    Terms { reference: ledger::reference(&session.dossier), seal: None, parameters, open, changed: None }
}

fn declared(session: &Session, args: &CompareArgs, found: &criterion::Found) -> Result<Terms, Failure> {
    let name = &found.admitted.name;
    let not = |what: String| {
        Failure::refused(
            "not_declared",
            what,
            format!(
                "seal it first: `%declare {name} --because \"…\"` with `--set` for each parameter; or look without a verdict: `--explore`"
            ),
        )
    };
    let reference = ledger::reference(&session.dossier).ok_or_else(|| {
        Failure::refused(
            "no_reference",
            "no reference is declared in this case file, so no file can be compared with it",
            "begin with a `%%reference new NAME` cell; or look without a verdict: `--explore`",
        )
    })?;
    let last = ledger::last_seal(&session.dossier, name)
        .ok_or_else(|| not(format!("criterion `{name}` was not declared for this reference")))?;
    if !args.set.is_empty() && declare::parameters(&args.set) != declare::parameters(&last.parameters) {
        return Err(not(format!("criterion `{name}` was declared with other parameters (entry {})", last.entry)));
    }
    if last.reference != reference.identity || last.output != reference.output {
        return Err(not(format!("criterion `{name}` was declared for another reference (entry {})", last.entry)));
    }
    let changed = (last.digest != found.digest)
        .then(|| format!("criterion `{name}` was changed after its seal of entry {}", last.entry));
    // A seal renewed with the same content keeps the time of its first.
    let seal = ledger::earliest_seal(&session.dossier, &last.digest, &last.parameters, &reference).unwrap_or(last);
    let parameters = seal.parameters.clone();
    Ok(Terms { reference: Some(reference), seal: Some(seal), parameters, open: Vec::new(), changed })
}

/// Enters that the candidate's content is read, before anything of it can be seen: a crash cannot hide an attempt.
fn opened(
    session: &mut Session,
    place: &Place,
    args: &CompareArgs,
    reference: &FileSeen,
    candidate: &FileSeen,
) -> Result<(), Failure> {
    let mut draft = Draft::new(Kind::Opened);
    place.mark(&mut draft);
    draft.reads = vec![reference.clone(), candidate.clone()];
    draft.private = vec![
        ("reference.path".to_owned(), files::shown(&args.reference)),
        ("candidate.path".to_owned(), files::shown(&args.candidate)),
    ];
    draft.body = json!({ "explore": args.explore });
    session.dossier.append(draft)?;
    Ok(())
}

/// What came of showing the rows to the criterion.
enum Judged {
    /// The structure, or a measure without a value, forbids it.
    Not(Vec<Obstacle>),
    /// The answer.
    Finished(Finished),
}

fn judge(
    session: &Session,
    comparison: &Comparison,
    criterion: &Admitted,
    parameters: &[(String, f64)],
    front: &dyn FrontEnd,
) -> Result<Judged, Failure> {
    if !comparison.comparable() {
        return Ok(Judged::Not(Vec::new()));
    }
    let measures = criterion.measures(parameters)?;
    let mut fold = criterion.start(parameters, session.interrupt.asked.clone())?;
    let mut batches = comparison.batches(BATCH_ROWS)?;
    let mut batch = batches.buffer();
    let total = batches.rows_left() as f64;
    let mut trouble = MeasureTrouble::default();
    while batches.next_batch(&mut batch)? {
        if session.interrupt.is_raised() {
            return Err(Failure::interrupted("the comparison"));
        }
        let (lists, found) = measure_rows(&batch, &measures);
        trouble.extend(found);
        // Once a measure is missing the answer can only be "not comparable"; the other rows are still looked at.
        if trouble == MeasureTrouble::default() {
            fold.update(&batch, lists)?;
        }
        front.progress("comparing", Some(1.0 - batches.rows_left() as f64 / total));
    }
    let obstacles = trouble.obstacles();
    if obstacles.is_empty() { Ok(Judged::Finished(fold.finish()?)) } else { Ok(Judged::Not(obstacles)) }
}

/// Everything that a verdict's record is made of.
struct Given<'a> {
    args: &'a CompareArgs,
    name: &'a str,
    terms: &'a Terms,
    digest: &'a str,
    admitted: &'a Admitted,
    verdict: Verdict,
    post_hoc_because: Option<String>,
}

impl Given<'_> {
    fn met(&self) -> bool {
        self.verdict.name() == self.args.expect.name()
    }

    /// A verdict as expected holds; a post hoc one that nobody accepted tells nothing.
    fn standing(&self) -> Standing {
        if self.post_hoc_because.is_some() && !self.args.accept_post_hoc {
            return Standing::CannotTell;
        }
        match self.verdict {
            Verdict::None => Standing::Holds,
            _ if self.met() => Standing::Holds,
            Verdict::Pass | Verdict::Fail => Standing::DoesNotHold,
            Verdict::Inconclusive | Verdict::NotComparable => Standing::CannotTell,
        }
    }

    fn fact(
        &self,
        session: &Session,
        comparison: &Comparison,
        judged: &Judged,
        reference: FileSeen,
        candidate: FileSeen,
    ) -> Result<Fact, Failure> {
        let description = &self.admitted.description;
        let parameters = declare::parameters(&self.terms.parameters);
        let criterion = json!({
            "name": self.name, "version": description.version, "digest": self.digest, "parameters": parameters,
            "meaning": description.meaning, "not_given": self.terms.open,
        });
        let (obstacles, figures, histograms, reason, fuel) = match judged {
            Judged::Not(more) => {
                let first = comparison.structure().obstacles.iter().chain(more).next();
                let reason = first.map_or_else(|| "the rows cannot be compared".to_owned(), |o| o.message.clone());
                (more.as_slice(), json!([]), json!([]), reason, Value::Null)
            }
            Judged::Finished(finished) => {
                let per_row = finished.fuel as f64 / finished.rows.max(1) as f64;
                // Exploring judges nothing: a sentence about bounds would be one about bounds nobody chose.
                let reason = if self.args.explore {
                    "exploring: no verdict".to_owned()
                } else {
                    finished.outcome.reason.clone()
                };
                let mut histograms = figures::histograms(&finished.outcome);
                if !self.terms.open.is_empty() {
                    histograms.as_array_mut().into_iter().flatten().for_each(|h| h["threshold"] = Value::Null);
                }
                (
                    &[][..],
                    figures::figures(&finished.outcome),
                    histograms,
                    reason,
                    json!({ "used": finished.fuel, "per_row": per_row }),
                )
            }
        };
        let declaration = match &self.terms.seal {
            Some(seal) => {
                let because = session.stored(seal.entry).ok().map(|sealed| sealed["because"].clone());
                json!({ "entry": seal.entry, "because": because, "wall": seal.wall })
            }
            None => Value::Null,
        };
        let attempts = ledger::attempts(&session.dossier, &candidate.sha256);
        let of_reference = self.terms.reference.as_ref();
        let result = json!({
            "verdict": self.verdict.name(),
            "post_hoc": self.post_hoc_because.is_some(),
            "post_hoc_because": self.post_hoc_because,
            "post_hoc_accepted": self.args.accept_post_hoc,
            "reason": reason,
            "structure": figures::structure(comparison.structure(), obstacles),
            "figures": figures,
            "histograms": histograms,
            "criterion": criterion,
            "declaration": declaration,
            "attempts": attempts,
            "expect": if self.args.explore { Value::Null } else { json!(self.args.expect.name()) },
            "met": if self.args.explore { Value::Null } else { json!(self.met()) },
            "reference": {
                "name": of_reference.map(|r| r.name.clone()), "identity": of_reference.map(|r| r.identity.clone()),
                "path": files::shown(&self.args.reference), "sha256": reference.sha256,
            },
            "candidate": { "path": files::shown(&self.args.candidate), "sha256": candidate.sha256 },
            "fuel": fuel,
            "limits": criterion::limits(),
        });
        let body = json!({
            "verdict": self.verdict.name(), "post_hoc": self.post_hoc_because.is_some(),
            "post_hoc_accepted": self.args.accept_post_hoc, "explore": self.args.explore,
            "criterion": self.name, "digest": self.digest, "parameters": parameters,
            "declare": self.terms.seal.as_ref().map(|s| s.entry), "attempts": attempts,
            "expect": self.args.expect.name(), "met": self.met(),
        });
        Ok(Fact { body, result, reads: vec![reference, candidate], ..Fact::default() })
    }
}
