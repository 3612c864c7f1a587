//! What the machine is at one moment, in layers that are read independently: a layer that cannot be read says why and
//! spoils no other.
//!
//! Owns: the layers, where each was read, the digest. Must not know: what a difference between two snapshots means.
//! Start at [`Snapshot::take`]; each layer has a file of its own.
//!
//! Kept out: user and host name. The home folder is written `~`, credentials are masked, and of the environment only
//! an allow-list of variables is read. There are no times in a snapshot: an unchanged machine gives the same digest.

mod determinism;
mod git;
mod interpreter;
mod system;
mod tools;

use std::path::PathBuf;
use std::thread::scope;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use determinism::Determinism;
pub use git::Git;
pub use interpreter::{Framework, Frameworks, Interpreter, Package, Packages, Source, TorchBuild, choose_python};
pub use system::System;
pub use tools::{Tool, Tools};

use crate::fingerprint::hex;
use crate::redaction;

/// What is asked of a snapshot.
#[derive(Debug, Clone)]
pub struct Request {
    /// The interpreter to look into: a path, or a name to find on `PATH`. None: the first `python3` on `PATH`.
    pub python: Option<PathBuf>,
    /// The folder of the work: its git repository is described, and relative paths start there.
    pub folder: PathBuf,
}

/// One layer, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Layer<T> {
    /// It was read.
    Read {
        /// Files, commands and variables it was read from.
        from: Vec<String>,
        /// What was read.
        value: T,
    },
    /// It was not read.
    NotRead {
        /// Why, in a sentence.
        because: String,
    },
}

impl<T> Layer<T> {
    /// The value, if the layer was read.
    pub fn value(&self) -> Option<&T> {
        match self {
            Layer::Read { value, .. } => Some(value),
            Layer::NotRead { .. } => None,
        }
    }

    pub(crate) fn read(from: impl IntoIterator<Item = impl Into<String>>, value: T) -> Self {
        Layer::Read { from: from.into_iter().map(Into::into).collect(), value }
    }

    pub(crate) fn not_read(because: impl Into<String>) -> Self {
        Layer::NotRead { because: because.into() }
    }
}

/// The whole snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The format of this value: [`Snapshot::FORMAT`].
    pub format: String,
    /// Operating system and processor.
    pub system: Layer<System>,
    /// The Python interpreter.
    pub interpreter: Layer<Interpreter>,
    /// Packages that the interpreter sees.
    pub packages: Layer<Packages>,
    /// How torch and numpy were built, read without importing them.
    pub frameworks: Layer<Frameworks>,
    /// Compilers and build tools.
    pub build_tools: Layer<Tools>,
    /// Environment variables that steer results and speed.
    pub determinism: Layer<Determinism>,
    /// Revision and local changes of the code.
    pub git: Layer<Git>,
}

impl Snapshot {
    /// The name of the format written here.
    pub const FORMAT: &str = "fascicolo snapshot v0";

    /// Reads every layer; what cannot be read is [`Layer::NotRead`]. Children have deadlines of 5 to 20 s.
    pub fn take(request: &Request) -> Snapshot {
        let snapshot = scope(|threads| {
            let python = threads.spawn(|| interpreter::read(request));
            let tools = threads.spawn(|| tools::read(&request.folder));
            let git = threads.spawn(|| git::read(&request.folder));
            let system = system::read();
            let determinism = determinism::read(std::env::vars_os());
            let (interpreter, packages, frameworks) = python.join().unwrap_or_else(|_| interpreter::not_read(PANICKED));
            Snapshot {
                format: Snapshot::FORMAT.to_owned(),
                system,
                interpreter,
                packages,
                frameworks,
                build_tools: tools.join().unwrap_or_else(|_| Layer::not_read(PANICKED)),
                determinism,
                git: git.join().unwrap_or_else(|_| Layer::not_read(PANICKED)),
            }
        });
        snapshot.concealed()
    }

    /// Canonical JSON (RFC 8785), one line.
    /// # Errors
    /// Never for a snapshot that [`Snapshot::take`] made: it holds texts, booleans and integers below 2⁵³ only.
    pub fn canonical_json(&self) -> Result<String, serde_json::Error> {
        serde_json_canonicalizer::to_string(self)
    }

    /// SHA-256 of the canonical JSON, 64 lower-case hexadecimal digits.
    /// # Errors
    /// As [`Snapshot::canonical_json`].
    pub fn digest(&self) -> Result<String, serde_json::Error> {
        Ok(hex(&Sha256::digest(self.canonical_json()?)))
    }

    /// The one gate through which every text of a snapshot goes: secrets masked, home folder and names replaced.
    fn concealed(self) -> Snapshot {
        let concealed = serde_json::to_value(&self).and_then(|mut value| {
            redaction::conceal(&mut value, redaction::Personal::here());
            serde_json::from_value(value)
        });
        // A value that does not survive its own format must not be shown uncovered.
        concealed.unwrap_or_else(|e| Snapshot::unreadable(&format!("the snapshot cannot be written as JSON: {e}")))
    }

    fn unreadable(because: &str) -> Snapshot {
        Snapshot {
            format: Snapshot::FORMAT.to_owned(),
            system: Layer::not_read(because),
            interpreter: Layer::not_read(because),
            packages: Layer::not_read(because),
            frameworks: Layer::not_read(because),
            build_tools: Layer::not_read(because),
            determinism: Layer::not_read(because),
            git: Layer::not_read(because),
        }
    }
}

const PANICKED: &str = "reading it failed by a fault of this program";
