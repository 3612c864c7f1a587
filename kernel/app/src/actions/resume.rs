//! `%%resume`: a training interrupted and resumed in a fresh process, against the uninterrupted one.
//!
//! The commands run one after the other, each its own entry; the steps of both parts are joined into one log, which is
//! then the candidate of a comparison like any other: same seal, same order of events, same record, with what is
//! particular to resuming beside it.

mod form;
mod joined;

use super::compare::{self, Resuming};
use super::{Done, files, run};
use crate::command::{self, Asked, Ran};
use crate::failure::Failure;
use crate::front::{FrontEnd, Stream};
use crate::ledger;
use crate::session::{Place, Session};
use fascicolo_contract::{Obstacle, ObstacleKind, Side, Standing};
use fascicolo_embeddings::{Columns, Log};
use fascicolo_magics::compare::CompareArgs;
use fascicolo_magics::resume::ResumeArgs;
use form::{Form, Part};
use joined::Joined;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

pub fn perform(
    session: &mut Session,
    args: &ResumeArgs,
    body: &str,
    place: &Place,
    front: &dyn FrontEnd,
) -> Result<Done, Failure> {
    ledger::probe_allows(&session.dossier)?;
    let form = Form::read(body)?;
    let joined_path = form.joined();
    let compared = CompareArgs {
        reference: form.reference.clone(),
        candidate: joined_path.clone(),
        criterion: Some(args.criterion.clone()),
        explore: args.explore,
        set: args.set.clone(),
        expect: args.expect,
        accept_post_hoc: args.accept_post_hoc,
        id: None,
        vector: None,
        label: None,
    };
    // Whatever would be refused afterwards is refused before a training has run for it.
    compare::allowed(session, &compared)?;
    let columns = declared_columns(session)?;
    let reference = Log::read(&session.resolve(&form.reference), &columns)?;

    let repeat = match &form.repeat {
        Some(part) => Some(run_part(session, args, &form, ("repeat", part), &[], place, front)?),
        None => None,
    };
    let first = run_part(session, args, &form, ("first", &form.first), &[&form.checkpoint], place, front)?;
    let checkpoint_written = first.written(&form.checkpoint);
    let mut obstacles = Vec::new();
    let before = log_of(session, ("first", &form.first), &reference, &columns, &mut obstacles)?;
    let mut notes = Vec::new();
    if !first.ran.succeeded() {
        notes.push(format!("the first part {}, as an interrupted one may", first.ended()));
    }
    let (resumed, after) = if checkpoint_written.is_some() {
        let resumed = run_part(session, args, &form, ("resumed", &form.resumed), &[], place, front)?;
        let after = log_of(session, ("resumed", &form.resumed), &reference, &columns, &mut obstacles)?;
        (Some(resumed), Some(after))
    } else {
        obstacles.push(obstacle(
            ObstacleKind::CheckpointNotWritten,
            format!(
                "the first part did not write {}, so there is nothing to resume from",
                files::shown(&form.checkpoint)
            ),
            &[],
        ));
        (None, None)
    };
    let joined = Joined::of(&before, after.as_ref(), form.at, form.first.log == form.resumed.log);
    obstacles.extend(joined.not_resumed(&reference, form.at, &form.checkpoint));
    if joined.lost > 0 {
        notes.push(format!(
            "{} steps of the first part after step {} came after the checkpoint and were lost with the interruption",
            joined.lost, form.at
        ));
    }
    write(&session.resolve(&joined_path), &joined.log.to_csv())?;
    let unknown = form.unknown();
    if !unknown.is_empty() {
        notes.push(format!("not known whether restored: {}", unknown.join(", ")));
    }
    let not_restored = form.not_restored();
    if !not_restored.is_empty() {
        notes.push(format!("not restored, as the author states: {}", not_restored.join(", ")));
    }
    let checkpoint_after = resumed.is_some().then(|| digest_now(session, &form.checkpoint)).flatten();
    let record = json!({
        "at": form.at,
        "checkpoint": {
            "path": files::shown(&form.checkpoint), "written": checkpoint_written.is_some(),
            "sha256": checkpoint_written, "changed_afterwards": match (&checkpoint_written, &checkpoint_after) {
                (Some(before), Some(after)) => json!(before != after),
                _ => Value::Null,
            },
        },
        "first": first.record(&form.first, Some(&before)),
        "resumed": resumed.as_ref().map(|part| part.record(&form.resumed, joined.resumed.as_ref())),
        "repeat": match (&repeat, &form.repeat) {
            (Some(part), Some(of)) => part.record(of, None),
            _ => Value::Null,
        },
        "lost_steps": joined.lost, "joined": files::shown(&joined_path), "state": form.state(),
        "processes": "each command ran in a process of its own; the first part and all that it started had ended before the resumed one began",
    });
    let control = form.repeat.as_ref().map(|part| part.log.clone());
    let resuming = Resuming { at: form.at, record, obstacles, notes, control };
    compare::perform_as(session, &compared, Some(resuming), place, front)
}

/// The columns with which the reference was declared; while exploring without one, whatever the log has.
fn declared_columns(session: &Session) -> Result<Columns, Failure> {
    match ledger::reference(&session.dossier) {
        Some(reference) => Ok(compare::columns_of(&session.stored(reference.entry)?)),
        None => Ok(Columns::default()),
    }
}

/// What a part logged: the reference's scalars, and an obstacle where it has not those and no others.
fn log_of(
    session: &Session,
    (name, part): (&str, &Part),
    reference: &Log,
    columns: &Columns,
    obstacles: &mut Vec<Obstacle>,
) -> Result<Log, Failure> {
    let (log, differ) = Log::read_like(&session.resolve(&part.log), reference, columns)?;
    if let Some(differ) = differ {
        let message = format!("[{name}] {}: {differ}", files::shown(&part.log));
        obstacles.push(obstacle(ObstacleKind::ColumnsDiffer, message, &[]));
    }
    Ok(log.with_scalars(&reference.scalars))
}

/// One command that ran, and its entry.
struct PartRan {
    ran: Ran,
    entry: Option<u64>,
}

impl PartRan {
    fn ended(&self) -> &str {
        self.ran.result["ended"].as_str().unwrap_or_default()
    }

    /// Digest of a declared output that it wrote.
    fn written(&self, path: &Path) -> Option<String> {
        let writes = self.ran.result["writes"].as_array()?;
        let file = writes.iter().find(|file| file["path"] == files::shown(path))?;
        file["sha256"].as_str().map(str::to_owned)
    }

    fn record(&self, part: &Part, log: Option<&Log>) -> Value {
        let steps: Vec<f64> = log.iter().flat_map(|log| &log.rows).filter_map(|(step, _)| *step).collect();
        let of = |pick: fn(f64, f64) -> f64| steps.iter().copied().reduce(pick);
        json!({
            "entry": self.entry, "line": self.ran.result["line"], "ended": self.ended(), "log": files::shown(&part.log),
            "sha256": self.written(&part.log), "wall_ms": self.ran.result["wall_ms"],
            "processor_ms": self.ran.result["processor_ms"], "steps": log.map(|_| steps.len()), "first_step": of(f64::min),
            "last_step": of(f64::max),
        })
    }
}

/// Runs one command and enters it. The first part may end as an interrupted one does; the others must not.
fn run_part(
    session: &mut Session,
    args: &ResumeArgs,
    form: &Form,
    (name, part): (&str, &Part),
    also_writes: &[&PathBuf],
    place: &Place,
    front: &dyn FrontEnd,
) -> Result<PartRan, Failure> {
    let words = part.words(name)?;
    let mut reads = form.reads.clone();
    if name == "resumed" {
        reads.push(form.checkpoint.clone());
    }
    let mut writes = vec![part.log.clone()];
    writes.extend(also_writes.iter().map(|path| (*path).clone()));
    let asked = Asked { words, folder: args.folder.clone(), stdin: Vec::new(), reads, writes };
    front.stream(Stream::Stdout, &format!("[{name}] {}\n", asked.line()));
    let ran = command::run(session, &asked, front)?;
    let mut body = ran.body("run");
    body["part"] = json!(name);
    let what = format!("the command of [{name}]");
    let failure = if ran.stopped || name != "first" { ran.failure(&what) } else { None };
    let log_unwritten = ran.unwritten.iter().find(|file| file.path == part.log);
    let failure = failure.or_else(|| {
        log_unwritten.map(|file| Failure {
            standing: Standing::DoesNotHold,
            ..Failure::refused(
                "output_not_written",
                format!(
                    "{what} {} and did not write its log: {file}",
                    ran.result["ended"].as_str().unwrap_or_default()
                ),
                "correct `log`, or the command; paths start from the notebook's folder",
            )
        })
    });
    let done = run::record(session, place, body, &ran)?;
    match failure {
        Some(failure) => Err(failure),
        None => Ok(PartRan { ran, entry: done.result["dossier"]["entry"].as_u64() }),
    }
}

fn obstacle(kind: ObstacleKind, message: String, ids: &[f64]) -> Obstacle {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    Obstacle { kind, side: Some(Side::Candidate), rows: ids.len() as u64, ids, message }
}

fn digest_now(session: &Session, path: &Path) -> Option<String> {
    fascicolo_environment::fingerprint(&session.resolve(path)).ok().map(|found| found.sha256)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| Failure {
        place: Some(files::shown(path)),
        ..Failure::usage(
            "joined_not_written",
            format!("{} cannot be written: {error}", files::shown(path)),
            "name another place for the joined log: joined = \"…\"",
        )
    })
}
