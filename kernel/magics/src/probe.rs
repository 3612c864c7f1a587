//! `%probe`

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Probe the machine layer by layer: hardware, driver, the interpreter's framework, a small computation.
///
/// Each stage runs in a process of its own, with a deadline. With --require, the first stage that does not meet the
/// requirement ends the probe: nothing falls back to the CPU, and %compare is refused until a probe meets its
/// requirement. A passed stage stands for nothing but itself: a matrix product says nothing about preprocessing or an
/// extension.
#[derive(Debug, Clone, Args)]
pub struct ProbeArgs {
    /// What must be there
    #[arg(long, value_enum, value_name = "WHAT")]
    pub require: Option<Require>,
    /// The interpreter whose framework is asked [default: python3 on PATH]
    #[arg(long, value_name = "EXE")]
    pub python: Option<PathBuf>,
}

/// What a probe can require.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Require {
    /// An NVIDIA device.
    Cuda,
    /// An AMD device.
    Rocm,
    /// Any accelerator.
    Any,
    /// The processor.
    Cpu,
}
