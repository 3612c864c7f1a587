//! Action → what was done: one file for each magic.

mod bound;
mod calibrate;
mod compare;
mod crate_metadata;
mod criterion;
mod declare;
mod dossier;
mod entry;
mod export;
mod faults;
mod figures;
mod files;
mod import;
mod probe;
mod reference;
mod snapshot;
mod standing;
mod why;

pub use bound::{Bound, must_hold};
pub use dossier::verify_case;
pub use probe::STAGE_COMMAND as PROBE_STAGE;

use crate::failure::Failure;
use crate::front::FrontEnd;
use crate::session::{Interrupt, Place, Session};
use fascicolo_contract::Standing;
use fascicolo_dossier::{Dossier, View};
use fascicolo_magics::dossier::DossierWhat;
use fascicolo_magics::reference::ReferenceWhat;
use fascicolo_magics::{Action, Magic};
use serde_json::{Value, json};
use standing::Here;
use std::path::{Path, PathBuf};

/// The result of an earlier entry, read back and checked against its commitment.
pub fn stored(log: &View, entry: u64) -> Result<Value, Failure> {
    let text = log.value(entry, "result")?.ok_or_else(|| {
        Failure::refused("redacted", format!("the result of entry {entry} was redacted"), "run its cell again")
    })?;
    serde_json::from_str(&text).map_err(|e| Failure {
        standing: Standing::OurFault,
        ..Failure::refused("unreadable_result", format!("the result of entry {entry} is not JSON: {e}"), "report this")
    })
}

/// What an action did: the record of it, and how it is shown.
pub struct Done {
    /// The kind that the display knows.
    pub shown_as: &'static str,
    /// From the case file, where it was recorded.
    pub result: Value,
    /// For the shell's exit status.
    pub standing: Standing,
    /// Set if a run of the notebook is judged by it.
    pub counts: Option<Standing>,
    /// Set if the cell fails after showing the result.
    pub then_fails: Option<Failure>,
}

impl Done {
    /// A result that holds.
    pub fn shown(shown_as: &'static str, result: Value) -> Done {
        Done { shown_as, result, standing: Standing::Holds, counts: None, then_fails: None }
    }
}

/// Carries an action out.
pub fn perform(session: &mut Session, magic: &Magic, place: &Place, front: &dyn FrontEnd) -> Result<Done, Failure> {
    let body = magic.body.as_deref().unwrap_or_default();
    match &magic.action {
        Action::Reference(args) => reference::perform(session, args, body, place, front),
        Action::Snapshot(args) => snapshot::perform(session, args, place, front),
        Action::Probe(args) => probe::perform(session, args, place, front),
        Action::Criterion(args) => criterion::perform(session, args, body, place, front),
        Action::Calibrate(args) => calibrate::perform(session, args, place, front),
        Action::Declare(args) => declare::perform(session, args, place),
        Action::Compare(args) => compare::perform(session, args, place, front),
        Action::Why(args) => {
            let what = "looking for differing rows".to_owned();
            let watch = files::Watching { what, front, interrupt: session.interrupt.clone() };
            why::look(&session.dossier, args, &session.folder, &watch)
        }
        Action::Dossier(args) => {
            // What was written so far is under a checkpoint before anybody looks at it.
            session.close()?;
            let path = args.what.place().map_or_else(|| session.dossier.path().to_owned(), |p| session.resolve(p));
            match &args.what {
                DossierWhat::Sign { ssh } => dossier::sign(session, ssh),
                DossierWhat::Redact { entry, field, because } => dossier::redact(session, *entry, field, because),
                DossierWhat::Import { case, into } => import::perform(session, case, into.as_deref(), place, front),
                DossierWhat::Gc => dossier::collect(session),
                DossierWhat::Export { output, notebook, data_limit_mib } => {
                    let data_limit_bytes = data_limit_mib.saturating_mul(1 << 20);
                    export::perform(
                        session,
                        &export::Request { output, notebook: notebook.as_deref(), data_limit_bytes },
                        place,
                    )
                }
                DossierWhat::Status(_)
                | DossierWhat::Log(_)
                | DossierWhat::Show { .. }
                | DossierWhat::Verify { .. } => {
                    let watch = files::Watching {
                        what: "comparing the files that the case names".to_owned(),
                        front,
                        interrupt: session.interrupt.clone(),
                    };
                    let own = args.what.place().is_none();
                    let folders = if own { vec![session.folder.clone()] } else { folders_of(&path) };
                    let session = own.then(|| session.dossier.session().to_owned());
                    dossier::look(&args.what, &path, &Here { folders, session, watch: &watch })
                }
            }
        }
        Action::Help(args) => help(&args.magic),
    }
}

/// Actions of the shell that only read: they open no case file for writing. `None` for all others.
pub fn perform_reading(action: &Action, default_dossier: &Path, front: &dyn FrontEnd) -> Option<Result<Done, Failure>> {
    match action {
        Action::Dossier(args) if args.what.only_reads() => {
            let path = args.what.place().cloned().unwrap_or_else(|| default_dossier.to_owned());
            let watch = files::Watching {
                what: "comparing the files that the case names".to_owned(),
                front,
                interrupt: Interrupt::default(),
            };
            let folders = folders_of(&path);
            Some(dossier::look(&args.what, &path, &Here { folders, session: None, watch: &watch }))
        }
        Action::Help(args) => Some(help(&args.magic)),
        Action::Why(args) => Some(
            Dossier::read(default_dossier)
                .map_err(Failure::from)
                .and_then(|log| why::look(&log, args, Path::new(""), &why::Unwatched)),
        ),
        Action::Criterion(args) if !args.defines() => Some(criterion::look(args, read(default_dossier).as_ref())),
        Action::Reference(args) if args.what == ReferenceWhat::Show => Some(
            Dossier::read(default_dossier)
                .map_err(Failure::from)
                .and_then(|log| reference::show(&log, args.name.as_deref())),
        ),
        Action::Reference(_)
        | Action::Snapshot(_)
        | Action::Probe(_)
        | Action::Criterion(_)
        | Action::Calibrate(_)
        | Action::Declare(_)
        | Action::Compare(_)
        | Action::Dossier(_) => None,
    }
}

/// Where the paths in a case file may start from: the folder that it stands in, as beside a notebook, or the current one,
/// as in a shell.
fn folders_of(dossier: &Path) -> Vec<PathBuf> {
    let dossier = std::path::absolute(dossier).unwrap_or_else(|_| dossier.to_owned());
    let beside = dossier.parent().map(Path::to_owned);
    let current = std::env::current_dir().ok();
    beside.into_iter().chain(current).collect()
}

/// The case file, if there is one.
fn read(dossier: &Path) -> Option<View> {
    Dossier::read(dossier).ok()
}

fn help(words: &[String]) -> Result<Done, Failure> {
    match fascicolo_magics::help::page(words) {
        Some(text) => Ok(Done::shown("help", json!({ "text": text }))),
        None => {
            let what = format!("there is no page of help for `{}`", words.join(" "));
            Err(Failure::usage("unknown_magic", what, "`%help` lists all magics"))
        }
    }
}
