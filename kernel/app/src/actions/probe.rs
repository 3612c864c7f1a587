//! `%probe`

use super::Done;
use crate::failure::Failure;
use crate::front::FrontEnd;
use crate::session::{Fact, Place, Session};
use fascicolo_contract::Standing;
use fascicolo_dossier::Kind;
use fascicolo_magics::probe::{ProbeArgs, Require as Asked};
use fascicolo_probe::{Launcher, Report, Request, Require};
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;

/// The hidden subcommand under which this program runs one stage in a process of its own.
pub const STAGE_COMMAND: &str = "__probe-stage";
const DEADLINE: Duration = Duration::from_secs(10);

pub fn perform(session: &mut Session, args: &ProbeArgs, place: &Place, front: &dyn FrontEnd) -> Result<Done, Failure> {
    let require = match args.require {
        None => Require::None,
        Some(Asked::Cuda) => Require::Cuda,
        Some(Asked::Rocm) => Require::Rocm,
        Some(Asked::Any) => Require::Any,
        Some(Asked::Cpu) => Require::Cpu,
    };
    front.progress("probing the machine layer by layer", None);
    let exe = std::env::current_exe().map_err(|e| Failure {
        standing: Standing::OurFault,
        ..Failure::refused("no_program", format!("this program cannot find itself: {e}"), "start it by its full path")
    })?;
    // Chosen as a snapshot chooses it: by path, or the first on PATH; never one that only an activation would name.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let python = fascicolo_environment::snapshot::choose_python(args.python.as_deref(), &session.folder, Some(&path));
    let python = match (python, &args.python) {
        (Ok((exe, _)), _) => Some(exe),
        // An interpreter that was named must be there; the stage says that it is not.
        (Err(_), named) => named.clone(),
    };
    let report = fascicolo_probe::run(&Request {
        require,
        python,
        launcher: Launcher { exe, args: vec![STAGE_COMMAND.to_owned()] },
        root: PathBuf::from("/"),
        deadline: DEADLINE,
    });
    let standing = report.standing();
    let mut result = serde_json::to_value(&report).map_err(|e| Failure {
        standing: Standing::OurFault,
        ..Failure::refused("probe_not_json", format!("the report has no JSON form: {e}"), "report this")
    })?;
    crate::session::conceal(&mut result);
    let stages: Vec<_> = report.stages.iter().map(|s| json!({ "name": s.name, "result": s.result.word() })).collect();
    let body = json!({ "require": require.name(), "met": standing == Standing::Holds, "stages": stages });
    let mut done = session.record(place, Kind::Probe, "probe", Fact { body, result, ..Fact::default() })?;
    done.standing = standing;
    if require != Require::None && standing != Standing::Holds {
        done.then_fails = Some(unmet(&report, standing));
    }
    Ok(done)
}

/// An unmet requirement ends the cell, and with it a run of the notebook: nothing goes on with another device.
fn unmet(report: &Report, standing: Standing) -> Failure {
    Failure {
        place: report.conclusion.stopped_at.clone(),
        standing,
        ..Failure::refused(
            "requirement_not_met",
            report.conclusion.sentence.clone(),
            "mend the layer named; `%compare` is refused in this case file until a probe meets its requirement",
        )
    }
}
