//! What can go wrong with a Rust cell, and what to do then.

use std::path::PathBuf;

use fascicolo_contract::{Explain, Standing};

/// A place in the cell; lines and columns (characters) count from 1, the end is exclusive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellSpan {
    /// Line of the cell on which it begins.
    pub line: usize,
    /// Column at which it begins.
    pub column: usize,
    /// Line on which it ends.
    pub end_line: usize,
    /// Column at which it ends.
    pub end_column: usize,
    /// What the compiler says of this place; may be empty.
    pub label: String,
    /// True for the place the message is about, false for places that explain it.
    pub primary: bool,
}

/// One message of the compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellDiagnostic {
    /// The message, without its places.
    pub message: String,
    /// The compiler's code for it, such as `E0308`.
    pub code: Option<String>,
    /// Places in the cell; empty if the compiler named none there.
    pub spans: Vec<CellSpan>,
    /// What the compiler proposes.
    pub help: Vec<String>,
    /// All of it for people, with the lines of the cell, without colours.
    pub rendered: String,
}

/// Why a Rust cell has no value.
#[derive(Debug, thiserror::Error)]
pub enum RustCellError {
    /// The compiler refused the cell; nothing of it ran.
    #[error("{}", first_message(.0))]
    Compilation(Vec<CellDiagnostic>),
    /// The cell was not run for a reason that is not the compiler's, such as a crate that cannot be fetched.
    #[error("the cell was not run: {message}")]
    NotRun {
        /// The reason in evcxr's or cargo's words.
        message: String,
    },
    /// A panic ended the cell; variables of earlier cells that it did not move are kept.
    #[error("the cell panicked{}: {message}", at_line(*.line))]
    Panicked {
        /// The panic's message.
        message: String,
        /// The line of the cell, where it can be told.
        line: Option<usize>,
    },
    /// A `?` left the cell; variables that it was about to define do not exist.
    #[error("the cell returned an error: {message}")]
    ReturnedError {
        /// The error's last line.
        message: String,
    },
    /// The process that runs the cells ended, and was started anew.
    #[error("the process of the Rust cells ended: {what}; {}", lost_text(.lost))]
    Crashed {
        /// How it ended.
        what: String,
        /// Variables that are lost.
        lost: Vec<String>,
    },
    /// The cell was interrupted.
    #[error("interrupted; {}", lost_text(.lost))]
    Interrupted {
        /// Variables that are lost; empty if the cell was still being compiled.
        lost: Vec<String>,
        /// Functions, types and imports that remain.
        kept: Vec<String>,
    },
    /// A directive that this kernel does not carry out.
    #[error("line {line}: `{directive}` is refused: {why}")]
    RefusedDirective {
        /// The line as written.
        directive: String,
        /// Its number, from 1.
        line: usize,
        /// Why.
        why: String,
    },
    /// A configuration file would change how cells compile without the record showing it.
    #[error("`{}` would change how Rust cells compile without the record showing it", .file.display())]
    HiddenConfiguration {
        /// The file.
        file: PathBuf,
    },
    /// evcxr could not start.
    #[error("the Rust engine did not start: {message}")]
    NoEngine {
        /// The reason.
        message: String,
    },
    /// evcxr itself failed and was started anew.
    #[error("the Rust engine failed: {message}; {}", lost_text(.lost))]
    EngineFault {
        /// What its panic said.
        message: String,
        /// Variables that are lost, with all items.
        lost: Vec<String>,
    },
}

impl RustCellError {
    pub(super) fn engine_gone() -> RustCellError {
        RustCellError::NoEngine { message: "its thread has ended".to_owned() }
    }
}

fn first_message(errors: &[CellDiagnostic]) -> String {
    let Some(first) = errors.first() else { return "the cell does not compile".to_owned() };
    let code = first.code.as_ref().map(|code| format!(" ({code})")).unwrap_or_default();
    let line = first.spans.first().map(|span| format!("line {}: ", span.line)).unwrap_or_default();
    let more = match errors.len() {
        1 => String::new(),
        count => format!(", and {} more", count - 1),
    };
    format!("{line}{}{code}{more}", first.message)
}

fn at_line(line: Option<usize>) -> String {
    line.map(|line| format!(" at line {line}")).unwrap_or_default()
}

fn lost_text(lost: &[String]) -> String {
    match lost {
        [] => "no variable is lost".to_owned(),
        [one] => format!("the variable `{one}` is lost"),
        many => format!("the variables `{}` are lost", many.join("`, `")),
    }
}

impl Explain for RustCellError {
    fn kind(&self) -> &'static str {
        match self {
            RustCellError::Compilation(_) => "rust_does_not_compile",
            RustCellError::NotRun { .. } => "rust_not_run",
            RustCellError::Panicked { .. } => "rust_panicked",
            RustCellError::ReturnedError { .. } => "rust_returned_error",
            RustCellError::Crashed { .. } => "rust_process_ended",
            RustCellError::Interrupted { .. } => "interrupted",
            RustCellError::RefusedDirective { .. } => "directive_refused",
            RustCellError::HiddenConfiguration { .. } => "hidden_configuration",
            RustCellError::NoEngine { .. } => "no_rust_engine",
            RustCellError::EngineFault { .. } => "rust_engine_failed",
        }
    }

    fn place(&self) -> Option<String> {
        match self {
            RustCellError::Compilation(errors) => {
                let span = errors.first()?.spans.first()?;
                Some(format!("line {}, column {}", span.line, span.column))
            }
            RustCellError::Panicked { line, .. } => line.map(|line| format!("line {line}")),
            RustCellError::RefusedDirective { line, .. } => Some(format!("line {line}")),
            RustCellError::HiddenConfiguration { file } => Some(file.display().to_string()),
            RustCellError::NotRun { .. }
            | RustCellError::ReturnedError { .. }
            | RustCellError::Crashed { .. }
            | RustCellError::Interrupted { .. }
            | RustCellError::NoEngine { .. }
            | RustCellError::EngineFault { .. } => None,
        }
    }

    fn next_step(&self) -> String {
        match self {
            RustCellError::Compilation(_) => "correct the cell and run it again; nothing of it has run".to_owned(),
            RustCellError::NotRun { .. } => "change the cell as the message says and run it again".to_owned(),
            RustCellError::Panicked { .. } | RustCellError::ReturnedError { .. } => {
                "look at the message and run the cell again; earlier variables are still there unless the cell moved them"
                    .to_owned()
            }
            RustCellError::Crashed { lost, .. } | RustCellError::Interrupted { lost, .. } if lost.is_empty() => {
                "run the cell again; functions, types and dependencies are still there".to_owned()
            }
            RustCellError::Crashed { .. } | RustCellError::Interrupted { .. } => {
                "run the cells that define the lost variables again; functions, types and dependencies are still there"
                    .to_owned()
            }
            RustCellError::RefusedDirective { directive, .. } if directive.starts_with('!') => {
                "use a terminal for programs; put parentheses around a Rust expression that begins with `!`"
                    .to_owned()
            }
            RustCellError::RefusedDirective { .. } => "remove the line; `:help` lists evcxr's directives".to_owned(),
            RustCellError::HiddenConfiguration { .. } => {
                "move the file away, write what it sets as directives in a cell (such as `:opt 2`), and run the cell again"
                    .to_owned()
            }
            RustCellError::NoEngine { .. } => {
                "check that `rustc` and `cargo` run in a shell (https://rustup.rs installs them), then run the cell again"
                    .to_owned()
            }
            RustCellError::EngineFault { .. } => {
                "run the cells above again; if the same cell fails again, report it with its text".to_owned()
            }
        }
    }

    fn standing(&self) -> Standing {
        match self {
            RustCellError::Compilation(_) => Standing::Usage,
            RustCellError::RefusedDirective { .. } => Standing::Refused,
            RustCellError::EngineFault { .. } => Standing::OurFault,
            RustCellError::NotRun { .. }
            | RustCellError::Panicked { .. }
            | RustCellError::ReturnedError { .. }
            | RustCellError::Crashed { .. }
            | RustCellError::Interrupted { .. }
            | RustCellError::HiddenConfiguration { .. }
            | RustCellError::NoEngine { .. } => Standing::CannotTell,
        }
    }
}
