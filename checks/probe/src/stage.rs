//! Both ends of a stage's child process: what the parent sends and reads, and what the child does.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::child::{Child, Ending, signal_name};
use crate::driver::{self, Api};
use crate::report::{Layer, StageResult};
use crate::{Launcher, computation, hardware};

/// Libraries may print what they like; only a line that begins so is the answer.
const MARK: &str = "fascicolo-stage: ";

/// What every stage is given, on standard input.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Input {
    /// The folder below which `sys` and `dev` are looked at.
    pub root: PathBuf,
}

/// Runs one native stage in a child process and reads its answer; everything else that can happen is a failure of
/// the stage.
pub(crate) fn in_child<T: DeserializeOwned>(
    launcher: &Launcher,
    stage: &str,
    layer: Layer,
    input: &Input,
    deadline: Duration,
) -> Result<T, StageResult> {
    let ours = |code: &str, error: String| {
        StageResult::failed(
            Layer::Probe,
            code,
            error,
            "this is a fault of the program or of how it is started; report it",
        )
    };
    let input = serde_json::to_vec(input).map_err(|e| ours("bad_input", e.to_string()))?;
    let args = launcher.args.iter().map(String::as_str).chain([stage]);
    let finished =
        Child::new(&launcher.exe, args).stdin(input).deadline(deadline).keep(1 << 20).run().map_err(|e| {
            ours("cannot_start", format!("stage {stage}: {} could not be started: {e}", launcher.exe.display()))
        })?;
    let text = String::from_utf8_lossy(&finished.stdout);
    let answer = text.lines().rev().find_map(|line| line.strip_prefix(MARK));
    match (answer, finished.ending) {
        (_, Ending::Deadline(after)) => Err(StageResult::failed(
            layer,
            "deadline",
            format!("stage {stage} did not answer within {} s and was killed", after.as_secs_f64()),
            "look at the kernel's log: a driver call that never returns often waits for a lost device",
        )),
        (_, Ending::Signalled(signal)) => Err(StageResult::failed(
            layer,
            signal_name(signal),
            format!("stage {stage} was ended by signal {} ({signal})", signal_name(signal)),
            "reinstall the library that the stage loads; it crashed in a process of its own",
        )),
        (Some(answer), Ending::Exited(0)) => {
            serde_json::from_str(answer).map_err(|e| ours("bad_answer", format!("stage {stage}: {e}")))
        }
        (_, Ending::Exited(status)) => Err(ours(
            "no_answer",
            format!("stage {stage} ended with status {status} and no answer: {}", finished.last_error_line()),
        )),
    }
}

/// The child's side: does one stage, prints its answer as one marked line and returns the exit status.
pub(crate) fn main(stage: &str) -> i32 {
    die_with_parent();
    let input: Input = match serde_json::from_reader(std::io::stdin().lock()) {
        Ok(input) => input,
        Err(e) => {
            eprintln!("stage {stage}: its input cannot be read: {e}");
            return 2;
        }
    };
    let answer = match stage {
        "hardware" => serde_json::to_string(&hardware::look(&input.root)),
        "driver-cuda" => serde_json::to_string(&driver::look(Api::Cuda, &input.root)),
        "driver-hip" => serde_json::to_string(&driver::look(Api::Hip, &input.root)),
        "computation" => serde_json::to_string(&computation::compute()),
        _ => {
            eprintln!("there is no stage `{stage}`");
            return 2;
        }
    };
    match answer {
        Ok(answer) => {
            // A parent that is gone reads nothing, and then there is nobody to tell.
            i32::from(writeln!(std::io::stdout(), "\n{MARK}{answer}").is_err())
        }
        Err(e) => {
            eprintln!("stage {stage}: {e}");
            70
        }
    }
}

/// A stage must not outlive the program that asked, even if that program is killed.
fn die_with_parent() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
}
