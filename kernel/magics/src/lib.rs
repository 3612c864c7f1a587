//! Text → [`Action`]. One clap declaration per magic gives the parser, the help, the shell's subcommand and what a
//! front end can complete.
//!
//! Owns: the magics' names and options, the split of a cell into magics and Rust. Must not know: how anything is done;
//! there is no input, output or check here. Start at [`cell::split`] and [`Action`].

pub mod calibrate;
pub mod cell;
pub mod compare;
pub mod criterion;
pub mod declare;
pub mod dossier;
pub mod error;
pub mod help;
pub mod probe;
pub mod python;
pub mod reference;
pub mod resume;
pub mod run;
pub mod snapshot;
pub mod why;

pub use cell::{Cell, Magic, split};
pub use error::MagicError;

use clap::{CommandFactory, FromArgMatches, Subcommand};

/// Everything a cell or a command line can ask for besides Rust. A new magic does not compile until it is handled
/// everywhere. Each magic's help is the page of its arguments: a word here would take its place.
#[derive(Debug, Clone, Subcommand)]
#[allow(missing_docs)]
pub enum Action {
    Reference(reference::ReferenceArgs),
    Snapshot(snapshot::SnapshotArgs),
    Probe(probe::ProbeArgs),
    Criterion(criterion::CriterionArgs),
    Calibrate(calibrate::CalibrateArgs),
    Declare(declare::DeclareArgs),
    Compare(compare::CompareArgs),
    Run(run::RunArgs),
    Python(python::PythonArgs),
    Resume(resume::ResumeArgs),
    Why(why::WhyArgs),
    Dossier(dossier::DossierArgs),
    Help(help::HelpArgs),
}

impl Action {
    /// The magic's name, as typed after `%`.
    pub fn name(&self) -> &'static str {
        match self {
            Action::Reference(_) => "reference",
            Action::Snapshot(_) => "snapshot",
            Action::Probe(_) => "probe",
            Action::Criterion(_) => "criterion",
            Action::Calibrate(_) => "calibrate",
            Action::Declare(_) => "declare",
            Action::Compare(_) => "compare",
            Action::Run(_) => "run",
            Action::Python(_) => "python",
            Action::Resume(_) => "resume",
            Action::Why(_) => "why",
            Action::Dossier(_) => "dossier",
            Action::Help(_) => "help",
        }
    }

    /// Whether the magic, as given, needs a body: the rest of a `%%` cell, a file, or standard input.
    pub fn needs_body(&self) -> bool {
        match self {
            Action::Reference(args) => args.what == reference::ReferenceWhat::New,
            Action::Criterion(args) => args.needs_body(),
            Action::Python(_) | Action::Resume(_) => true,
            Action::Snapshot(_)
            | Action::Probe(_)
            | Action::Calibrate(_)
            | Action::Declare(_)
            | Action::Compare(_)
            | Action::Run(_)
            | Action::Why(_)
            | Action::Dossier(_)
            | Action::Help(_) => false,
        }
    }

    /// Parses the words after the `%`, the magic's name first.
    ///
    /// # Errors
    /// [`MagicError`] with clap's own message: unknown magic, unknown option, missing value.
    pub fn parse(words: &[String]) -> Result<Action, MagicError> {
        let matches = grammar().try_get_matches_from(words).map_err(|e| MagicError::from_clap(&e, words))?;
        Action::from_arg_matches(&matches).map_err(|e| MagicError::from_clap(&e, words))
    }
}

/// The whole grammar, for help and completion.
pub fn grammar() -> clap::Command {
    #[derive(clap::Parser)]
    #[command(name = "%", multicall = true, disable_help_subcommand = true)]
    struct Line {
        #[command(subcommand)]
        _action: Action,
    }
    Line::command()
}

/// A command line cut into words as a shell does; `None` where its quotes do not close.
pub fn words(line: &str) -> Option<Vec<String>> {
    shlex::split(line)
}

/// `name=value` with a number for a value.
pub(crate) fn setting(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text.split_once('=').ok_or("give it as name=value")?;
    let value: f64 = value.trim().parse().map_err(|_| format!("`{value}` is not a number"))?;
    if value.is_finite() { Ok((name.trim().to_owned(), value)) } else { Err(format!("`{value}` bounds nothing")) }
}
