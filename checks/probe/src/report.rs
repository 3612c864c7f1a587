//! What a probe says: stages, their results and the conclusion. Plain values, in and out of JSON.

use std::collections::BTreeMap;
use std::str::FromStr;

use fascicolo_contract::Standing;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the user says must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Require {
    /// Nothing: look and tell.
    #[default]
    None,
    /// An NVIDIA device that CUDA reaches.
    Cuda,
    /// An AMD device that ROCm reaches.
    Rocm,
    /// A device that either of the two reaches.
    Any,
    /// The CPU, as a target of its own.
    Cpu,
}

impl Require {
    /// True if a GPU must be there, so that no CPU result may be shown in its place.
    pub fn wants_gpu(self) -> bool {
        matches!(self, Require::Cuda | Require::Rocm | Require::Any)
    }

    /// The word of the command line.
    pub fn name(self) -> &'static str {
        match self {
            Require::None => "none",
            Require::Cuda => "cuda",
            Require::Rocm => "rocm",
            Require::Any => "any",
            Require::Cpu => "cpu",
        }
    }
}

impl FromStr for Require {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        [Require::None, Require::Cuda, Require::Rocm, Require::Any, Require::Cpu]
            .into_iter()
            .find(|r| r.name() == word)
            .ok_or_else(|| format!("`{word}` cannot be required; choose none, cuda, rocm, any or cpu"))
    }
}

/// The layer of the machine that a stage looks at, or that a failure points at; lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Devices on the bus.
    Hardware,
    /// The kernel module and its device nodes.
    KernelDriver,
    /// The vendor's library that programs load.
    UserDriver,
    /// The interpreter and the framework installed in it.
    Framework,
    /// A small computation.
    Computation,
    /// The probe's own processes.
    Probe,
}

/// Named observations of a stage.
pub type Facts = BTreeMap<String, Value>;

/// How one stage ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum StageResult {
    /// It was checked and is there.
    Passed {
        /// What was seen.
        facts: Facts,
    },
    /// It was checked and is broken, or is required and absent.
    Failed {
        /// The first error, in a sentence.
        error: String,
        /// A stable name for programs, such as `cuda_803`, `no_library`, `SIGSEGV`.
        code: String,
        /// The layer the error points at, which may lie below the stage's own.
        layer: Layer,
        /// What to do now.
        next: String,
    },
    /// It was not checked.
    NotRun {
        /// Why.
        because: String,
    },
    /// There is nothing to check here, and nothing was required.
    NotApplicable {
        /// Why.
        because: String,
    },
}

impl StageResult {
    /// The word shown for it: `passed`, `failed`, `not run`, `not applicable`.
    pub fn word(&self) -> &'static str {
        match self {
            StageResult::Passed { .. } => "passed",
            StageResult::Failed { .. } => "failed",
            StageResult::NotRun { .. } => "not run",
            StageResult::NotApplicable { .. } => "not applicable",
        }
    }

    /// True for [`StageResult::Failed`].
    pub fn is_failed(&self) -> bool {
        matches!(self, StageResult::Failed { .. })
    }

    pub(crate) fn not_applicable(because: impl Into<String>) -> Self {
        StageResult::NotApplicable { because: because.into() }
    }

    pub(crate) fn failed(layer: Layer, code: &str, error: impl Into<String>, next: impl Into<String>) -> Self {
        StageResult::Failed { error: error.into(), code: code.to_owned(), layer, next: next.into() }
    }
}

/// One rung of the ladder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// `hardware`, `driver_library`, `interpreter_framework` or `computation`.
    pub name: String,
    /// The layer it looks at.
    pub layer: Layer,
    /// How it ended.
    pub result: StageResult,
    /// Wall time, milliseconds.
    pub elapsed_ms: u64,
}

/// What the stages together say about the requirement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conclusion {
    /// How the requirement stands.
    pub standing: Requirement,
    /// The first stage that failed.
    pub stopped_at: Option<String>,
    /// The whole conclusion in a sentence, with what it does not show.
    pub sentence: String,
}

/// How the requirement stands after the probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Requirement {
    /// Every stage that the requirement needs passed.
    Holds,
    /// A stage failed.
    DoesNotHold,
    /// No stage failed, but one that the requirement needs was not run.
    CannotTell,
}

/// A whole probe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// What was required.
    pub require: Require,
    /// The stages, lowest layer first; all of them, run or not.
    pub stages: Vec<Stage>,
    /// What follows.
    pub conclusion: Conclusion,
}

impl Report {
    /// How the ending stands towards the question asked, for the exit status.
    pub fn standing(&self) -> Standing {
        match self.conclusion.standing {
            Requirement::Holds => Standing::Holds,
            Requirement::DoesNotHold => Standing::DoesNotHold,
            Requirement::CannotTell => Standing::CannotTell,
        }
    }

    /// The stage of this name.
    pub fn stage(&self, name: &str) -> Option<&Stage> {
        self.stages.iter().find(|s| s.name == name)
    }
}
