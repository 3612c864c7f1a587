//! Stage `interpreter_framework`: what torch in the chosen interpreter says of itself.
//!
//! The interpreter is the child; a crash or hang while importing is this stage's result and nothing more.
//! `torch.version.cuda` and `torch.version.hip` are read apart: the device name `cuda` says nothing of the maker.

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use crate::child::{Child, Ending, signal_name};
use crate::report::{Facts, Layer, Require, StageResult};

/// Importing torch from a cold disk takes tens of seconds.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

const SCRIPT: &str = include_str!("framework.py");
const MARK: &str = "fascicolo-framework: ";

/// What the script answers.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer {
    python: String,
    torch: Option<Torch>,
    error: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Torch {
    version: String,
    cuda: Option<String>,
    hip: Option<String>,
    available: bool,
    devices: i64,
    file: Option<String>,
    /// Why torch reaches no device, in its own words.
    reason: Option<String>,
}

/// Asks the interpreter and judges its answer.
pub(crate) fn probe(python: Option<&Path>, require: Require, deadline: Duration) -> StageResult {
    let Some(python) = python else {
        let because = "no Python interpreter was named or found";
        return if require.wants_gpu() {
            StageResult::failed(Layer::Framework, "no_interpreter", because, "name one with --python")
        } else {
            StageResult::not_applicable(because)
        };
    };
    match ask(python, deadline) {
        Ok(answer) => judge(&answer, require),
        Err(failed) => failed,
    }
}

fn ask(python: &Path, deadline: Duration) -> Result<Answer, StageResult> {
    let shown = python.display();
    // Not isolated (`-I`): cells of this interpreter see PYTHONPATH and the user's packages, and so must the probe.
    let run = Child::new(python, ["-c", SCRIPT]).deadline(deadline).keep(1 << 20).run();
    let finished = run.map_err(|e| {
        StageResult::failed(
            Layer::Framework,
            "cannot_start",
            format!("{shown} could not be started: {e}"),
            "name an interpreter that runs here with --python",
        )
    })?;
    let text = String::from_utf8_lossy(&finished.stdout);
    let answer = text.lines().rev().find_map(|line| line.strip_prefix(MARK));
    // An answer counts only from a process that also ended well: torch can crash while it unloads.
    if let (Some(answer), true) = (answer, finished.succeeded()) {
        return serde_json::from_str(answer).map_err(|e| {
            StageResult::failed(
                Layer::Probe,
                "bad_answer",
                format!("{shown} answered what cannot be read: {e}"),
                "report this",
            )
        });
    }
    let said = finished.last_error_line();
    let said = if said.is_empty() { String::new() } else { format!("; its last words: {said}") };
    let (code, next) = match finished.ending {
        Ending::Deadline(_) => {
            ("deadline".to_owned(), "run `import torch` by hand there, and look at what it waits for")
        }
        Ending::Signalled(n) => (signal_name(n).to_owned(), "reinstall torch there: a library that it loads crashed"),
        Ending::Exited(_) => ("no_answer".to_owned(), "run `import torch` by hand there"),
    };
    Err(StageResult::failed(
        Layer::Framework,
        &code,
        format!("{shown} gave no answer about torch: {}{said}", finished.ending),
        next,
    ))
}

fn judge(answer: &Answer, require: Require) -> StageResult {
    if let Some(error) = &answer.error {
        return StageResult::failed(
            Layer::Framework,
            "import_error",
            format!("torch is installed but cannot be imported: {error}"),
            "install what the error names, or reinstall torch in this interpreter",
        );
    }
    let Some(torch) = &answer.torch else {
        let because = format!("Python {} has no torch", answer.python);
        return if require.wants_gpu() {
            StageResult::failed(
                Layer::Framework,
                "no_framework",
                because,
                "install torch there, or name another interpreter with --python",
            )
        } else {
            StageResult::not_applicable(because)
        };
    };
    if require.wants_gpu()
        && let Some(failed) = unmet(torch, require)
    {
        return failed;
    }
    StageResult::Passed {
        facts: Facts::from([
            ("python_version".into(), json!(answer.python)),
            ("torch_version".into(), json!(torch.version)),
            ("torch_version_cuda".into(), json!(torch.cuda)),
            ("torch_version_hip".into(), json!(torch.hip)),
            ("torch_reaches_a_gpu".into(), json!(torch.available && torch.devices > 0)),
            ("torch_devices".into(), json!(torch.devices)),
            ("torch_file".into(), json!(torch.file)),
        ]),
    }
}

fn unmet(torch: &Torch, require: Require) -> Option<StageResult> {
    let fail = |code: &str, error: String, next: &str| Some(StageResult::failed(Layer::Framework, code, error, next));
    let version = &torch.version;
    match (require, &torch.cuda, &torch.hip) {
        (_, None, None) => fail(
            "framework_for_cpu",
            format!("torch {version} is a build for the CPU: torch.version.cuda and torch.version.hip are both None"),
            "install a torch build for the required device",
        ),
        (Require::Cuda, _, Some(hip)) => fail(
            "framework_for_rocm",
            format!(
                "torch {version} is a build for ROCm (torch.version.hip is {hip}); its devices are called `cuda` all the same"
            ),
            "install a torch build for CUDA, or require rocm",
        ),
        (Require::Rocm, Some(cuda), _) => fail(
            "framework_for_cuda",
            format!("torch {version} is a build for CUDA (torch.version.cuda is {cuda})"),
            "install a torch build for ROCm, or require cuda",
        ),
        _ if !torch.available || torch.devices == 0 => {
            let reason = torch.reason.as_deref().unwrap_or("it gives no reason");
            fail(
                "framework_sees_no_device",
                format!(
                    "torch {version} reaches no device (is_available {}, {} devices): {reason}",
                    torch.available, torch.devices
                ),
                "compare the driver's version with what this torch build needs, and the variables that hide devices",
            )
        }
        _ => None,
    }
}
