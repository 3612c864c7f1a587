//! Which layer between a program and its device is broken: probed stage by stage, each in a process that may crash
//! or hang without harm, and never papered over by another device.
//!
//! Owns: the stages, their children and their words; the product's only hand-written unsafe code (`ffi`).
//! Must not know: dossiers, magics, MIME types. Start at [`run`]; [`child_main`] is the other end of each child.
//!
//! Rules kept here: a GPU library is never loaded into the calling process; without a requirement an absent GPU is
//! "not applicable", never passed; with one, the first failed stage ends the probe, and no CPU result is shown.

pub mod child;
mod codes;
mod computation;
mod driver;
mod ffi;
mod framework;
mod hardware;
mod report;
mod stage;

use std::path::PathBuf;
use std::time::{Duration, Instant};

pub use report::{Conclusion, Facts, Layer, Report, Require, Requirement, Stage, StageResult};

use driver::Api;
use hardware::Hardware;

/// What is asked of a probe.
#[derive(Debug, Clone)]
pub struct Request {
    /// What must be there.
    pub require: Require,
    /// The interpreter whose torch is asked; none: that stage does not apply.
    pub python: Option<PathBuf>,
    /// How a native stage's child is started.
    pub launcher: Launcher,
    /// The folder that holds `sys` and `dev`: `/` on a real machine.
    pub root: PathBuf,
    /// How long each native stage may take. The interpreter has at least 60 s, for a cold import of torch.
    pub deadline: Duration,
}

/// The program that runs one stage: `exe args… STAGE` must end in [`child_main`]`(STAGE)`.
#[derive(Debug, Clone)]
pub struct Launcher {
    /// The program, usually the running one.
    pub exe: PathBuf,
    /// Arguments before the stage's name.
    pub args: Vec<String>,
}

/// The child's side of a stage: reads its input from standard input, prints one line, returns the exit status.
pub fn child_main(stage: &str) -> i32 {
    stage::main(stage)
}

/// Probes the machine. Every stage is in the report, run or not; nothing that a stage does can fail this call.
pub fn run(request: &Request) -> Report {
    let mut ladder = Ladder { request, stages: Vec::new() };
    let mut seen = Hardware::default();
    ladder.climb("hardware", Layer::Hardware, |r| hardware_stage(r, &mut seen));
    ladder.climb("driver_library", Layer::UserDriver, |r| driver_stage(r, &seen));
    ladder.climb("interpreter_framework", Layer::Framework, |r| {
        framework::probe(r.python.as_deref(), r.require, r.deadline.max(framework::DEADLINE))
    });
    ladder.climb("computation", Layer::Computation, computation_stage);
    let conclusion = conclude(request.require, &ladder.stages);
    Report { require: request.require, stages: ladder.stages, conclusion }
}

struct Ladder<'a> {
    request: &'a Request,
    stages: Vec<Stage>,
}

impl Ladder<'_> {
    fn climb(&mut self, name: &str, layer: Layer, stage: impl FnOnce(&Request) -> StageResult) {
        let started = Instant::now();
        let failed = self.stages.iter().find(|s| s.result.is_failed());
        let result = match failed {
            // Without a requirement nothing rests on a lower stage, and every layer is worth a look.
            Some(failed) if self.request.require != Require::None => {
                StageResult::NotRun { because: format!("stage {} failed before it", failed.name) }
            }
            _ => stage(self.request),
        };
        let elapsed_ms = started.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
        self.stages.push(Stage { name: name.to_owned(), layer, result, elapsed_ms });
    }
}

fn input(request: &Request) -> stage::Input {
    stage::Input { root: request.root.clone() }
}

fn hardware_stage(request: &Request, seen: &mut Hardware) -> StageResult {
    if request.require == Require::Cpu {
        return hardware::judge(seen, Require::Cpu);
    }
    match stage::in_child(&request.launcher, "hardware", Layer::Hardware, &input(request), request.deadline) {
        Ok(found) => {
            *seen = found;
            hardware::judge(seen, request.require)
        }
        Err(failed) => failed,
    }
}

fn driver_stage(request: &Request, seen: &Hardware) -> StageResult {
    let required = request.require.wants_gpu();
    let apis: Vec<(Api, bool)> = match request.require {
        Require::Cpu => {
            return StageResult::not_applicable("the CPU is required, so no GPU's library was loaded");
        }
        Require::Cuda => vec![(Api::Cuda, true)],
        Require::Rocm => vec![(Api::Hip, true)],
        Require::Any | Require::None => [(Api::Cuda, seen.shows_nvidia()), (Api::Hip, seen.shows_amd())]
            .into_iter()
            // Of two makers' libraries, only those of a maker whose device was seen can meet a requirement.
            .filter(|(_, shown)| *shown || !required)
            .collect(),
    };
    let results = apis.into_iter().map(|(api, hardware)| {
        match stage::in_child(&request.launcher, api.stage(), Layer::UserDriver, &input(request), request.deadline) {
            Ok(outcome) => driver::judge(api, &outcome, required, hardware),
            Err(failed) => failed,
        }
    });
    together(results.collect(), required)
}

/// One result of both makers' libraries. Required: one that passes is enough. Not required: one that is broken is told.
fn together(results: Vec<StageResult>, required: bool) -> StageResult {
    let mut facts = Facts::new();
    let mut reasons = Vec::new();
    let mut failed = None;
    for result in results {
        match result {
            StageResult::Passed { facts: more } => facts.extend(more),
            StageResult::Failed { .. } => failed = failed.or(Some(result)),
            StageResult::NotRun { because } | StageResult::NotApplicable { because } => reasons.push(because),
        }
    }
    match failed {
        Some(failed) if facts.is_empty() || !required => failed,
        _ if !facts.is_empty() => StageResult::Passed { facts },
        _ => StageResult::not_applicable(reasons.join("; ")),
    }
}

fn computation_stage(request: &Request) -> StageResult {
    if request.require.wants_gpu() {
        return StageResult::NotRun {
            because: "a GPU is required, and a product on the CPU must not be shown in its place".into(),
        };
    }
    match stage::in_child(&request.launcher, "computation", Layer::Computation, &input(request), request.deadline) {
        Ok(product) => computation::judge(&product),
        Err(failed) => failed,
    }
}

fn conclude(require: Require, stages: &[Stage]) -> Conclusion {
    let failed = stages.iter().find_map(|s| match &s.result {
        StageResult::Failed { error, .. } => Some((s, error)),
        _ => None,
    });
    if let Some((stage, error)) = failed {
        let what = match require {
            Require::None => "nothing was required, but a layer is broken".to_owned(),
            _ => format!("the requirement `{}` is not met", require.name()),
        };
        return Conclusion {
            standing: Requirement::DoesNotHold,
            stopped_at: Some(stage.name.clone()),
            sentence: format!("{what}: stage {} failed: {error}", stage.name),
        };
    }
    let (standing, sentence) = match require {
        Require::Cuda | Require::Rocm | Require::Any => (
            Requirement::CannotTell,
            format!(
                "device, driver library and framework are there as `{}` requires, but no computation was run on the device",
                require.name()
            ),
        ),
        Require::Cpu => (Requirement::Holds, format!("the requirement `cpu` is met; {}", computation::DOES_NOT_SHOW)),
        Require::None => {
            (Requirement::Holds, format!("nothing was required, and no stage failed; {}", computation::DOES_NOT_SHOW))
        }
    };
    Conclusion { standing, stopped_at: None, sentence }
}
