//! `%run` and `%%python`: the application sample, in a process of its own.

use super::Done;
use crate::command::{self, Asked, Ran};
use crate::failure::Failure;
use crate::front::FrontEnd;
use crate::ledger;
use crate::session::{Fact, Place, Session};
use fascicolo_contract::Standing;
use fascicolo_dossier::Kind;
use fascicolo_magics::python::PythonArgs;
use fascicolo_magics::run::RunArgs;
use serde_json::{Value, json};

/// `%run`
pub fn perform(session: &mut Session, args: &RunArgs, place: &Place, front: &dyn FrontEnd) -> Result<Done, Failure> {
    ledger::probe_allows(&session.dossier)?;
    let asked = Asked {
        words: args.command.clone(),
        folder: args.folder.clone(),
        stdin: Vec::new(),
        reads: args.reads.clone(),
        writes: args.writes.clone(),
    };
    let ran = command::run(session, &asked, front)?;
    finish(session, place, "run", ran)
}

/// `%%python`
pub fn python(
    session: &mut Session,
    args: &PythonArgs,
    body: &str,
    place: &Place,
    front: &dyn FrontEnd,
) -> Result<Done, Failure> {
    ledger::probe_allows(&session.dossier)?;
    let path = std::env::var_os("PATH");
    let (python, chosen) =
        fascicolo_environment::snapshot::choose_python(args.python.as_deref(), &session.folder, path.as_deref())
            .map_err(|what| {
                Failure::usage("no_interpreter", what, "name the interpreter with --python, by its path")
            })?;
    // Where the program comes on standard input, its traceback would name no file that is gone by then.
    let asked = Asked {
        words: vec![python.to_string_lossy().into_owned(), "-".to_owned()],
        folder: args.folder.clone(),
        stdin: if body.is_empty() { b"\n".to_vec() } else { body.as_bytes().to_vec() },
        reads: args.reads.clone(),
        writes: args.writes.clone(),
    };
    let mut ran = command::run(session, &asked, front)?;
    ran.result["interpreter"] = json!({ "path": python.display().to_string(), "chosen": chosen });
    ran.result["program_sha256"] = json!(fascicolo_criterion::digest(body.as_bytes()));
    finish(session, place, "python", ran)
}

fn finish(session: &mut Session, place: &Place, what: &str, ran: Ran) -> Result<Done, Failure> {
    let failure = ran.failure("the command");
    let body = ran.body(what);
    let mut done = record(session, place, body, &ran)?;
    if let Some(failure) = &failure {
        done.standing = failure.standing;
    }
    done.then_fails = failure;
    Ok(done)
}

/// Enters a command that ran.
pub(super) fn record(session: &mut Session, place: &Place, body: Value, ran: &Ran) -> Result<Done, Failure> {
    let (reads, writes) = (ran.reads.clone(), ran.writes.clone());
    let fact = Fact { body, result: ran.result.clone(), reads, writes, ..Fact::default() };
    let mut done = session.record(place, Kind::Fact, "run", fact)?;
    done.standing = Standing::Holds;
    Ok(done)
}
