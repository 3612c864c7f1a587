//! Everything that can go wrong with a criterion, none of which is a verdict.

use fascicolo_contract::{Explain, Standing};

/// One message of the compiler, pointing into the cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Line of the cell, from 1; 0 if the message has no place.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// The message alone.
    pub message: String,
    /// The message as rustc draws it, with the lines of the cell.
    pub rendered: String,
}

/// Why a criterion could not be compiled, admitted or run to its end.
#[derive(Debug, thiserror::Error)]
pub enum CriterionError {
    /// There is no rustc on this machine.
    #[error("no rustc was found, which a criterion in Rust is compiled with")]
    NoCompiler(#[source] std::io::Error),
    /// The wasm32 target is missing and could not be added.
    #[error("rustc has no wasm32-unknown-unknown target, and `rustup target add` did not help: {detail}")]
    NoTarget {
        /// What rustup said.
        detail: String,
    },
    /// Files of the cache or of a temporary folder could not be written.
    #[error("could not {what}")]
    Io {
        /// What was attempted.
        what: String,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// The sdk itself did not compile: the toolchain is not one we know.
    #[error("the criterion sdk does not compile with this rustc: {detail}")]
    SdkDoesNotBuild {
        /// The compiler's output.
        detail: String,
    },
    /// The name is not one a criterion can have.
    #[error("`{name}` cannot name a criterion")]
    BadName {
        /// The name.
        name: String,
    },
    /// The author's code has errors.
    #[error("criterion `{name}` does not compile: {}", first_of(diagnostics))]
    DoesNotCompile {
        /// The criterion.
        name: String,
        /// All errors.
        diagnostics: Vec<Diagnostic>,
    },
    /// The cell would read files while it compiles.
    #[error("criterion `{name}` may not read files: {what}{}", at_line(*line))]
    ReadsFiles {
        /// The criterion.
        name: String,
        /// The construct.
        what: String,
        /// Line of the cell, from 1; 0 if only the compiler's list of read files told.
        line: u32,
    },
    /// The source holds characters that make it read otherwise than it runs.
    #[error("criterion `{name}` has {what} at line {line}, which makes a text read otherwise than it runs")]
    HiddenText {
        /// The criterion.
        name: String,
        /// The character.
        what: String,
        /// Line of the cell, from 1.
        line: u32,
    },
    /// Source or component are beyond what a criterion can need.
    #[error("criterion `{name}` is too large: {what}")]
    TooLarge {
        /// The criterion.
        name: String,
        /// What, with its figure and the limit.
        what: String,
    },
    /// The compiler was stopped.
    #[error("compiling criterion `{name}` was stopped: {why}")]
    CompilerStopped {
        /// The criterion.
        name: String,
        /// The limit, or the signal.
        why: String,
    },
    /// The bytes are no component that we run.
    #[error("criterion `{name}` is not a component that can be run: {why}")]
    NotAComponent {
        /// The criterion.
        name: String,
        /// What the validator said.
        why: String,
    },
    /// The component wants something from outside.
    #[error("criterion `{name}` imports {imports}; a criterion imports nothing")]
    Imports {
        /// The criterion.
        name: String,
        /// What it imports.
        imports: String,
    },
    /// The component speaks another contract.
    #[error("criterion `{name}` does not export fascicolo:criterion/criterion@0.1.0 as this program knows it")]
    OtherContract {
        /// The criterion.
        name: String,
    },
    /// What the component says of itself cannot be.
    #[error("criterion `{name}` describes itself wrongly: {what}")]
    Misdescribed {
        /// The criterion.
        name: String,
        /// What, with its figure.
        what: String,
    },
    /// There is no criterion of this name.
    #[error("there is no criterion `{name}`")]
    Unknown {
        /// The name.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// A parameter is missing, unknown, or not a finite number.
    #[error("criterion `{name}`: {what}")]
    Parameters {
        /// The criterion.
        name: String,
        /// Which parameter, and what about it.
        what: String,
        /// What the criterion takes.
        takes: String,
    },
    /// The fuel is used up.
    #[error("criterion `{name}` used all {fuel} units of fuel it had for {during}")]
    OutOfFuel {
        /// The criterion.
        name: String,
        /// What it had.
        fuel: u64,
        /// `describing itself`, `rows 1 to 1024`, `its verdict`.
        during: String,
        /// The line of its cell that was being computed, where it is known.
        line: Option<u32>,
    },
    /// Memory, tables, instances or results over the limit.
    #[error("criterion `{name}` went over its limit during {during}: {limit}")]
    OverLimit {
        /// The criterion.
        name: String,
        /// Where.
        during: String,
        /// Which limit, with its figure.
        limit: String,
        /// The line of its cell that was being computed, where it is known.
        line: Option<u32>,
    },
    /// The backstop in time.
    #[error("criterion `{name}` was still computing after {seconds} s during {during}")]
    Deadline {
        /// The criterion.
        name: String,
        /// Where.
        during: String,
        /// The backstop.
        seconds: f64,
        /// The line of its cell that was being computed, where it is known.
        line: Option<u32>,
    },
    /// The user interrupted.
    #[error("criterion `{name}` was interrupted during {during}")]
    Interrupted {
        /// The criterion.
        name: String,
        /// Where.
        during: String,
    },
    /// The module trapped.
    #[error("criterion `{name}` trapped during {during}: {why}")]
    Trapped {
        /// The criterion.
        name: String,
        /// Where.
        during: String,
        /// The trap.
        why: String,
        /// The line of its cell that was being computed, where it is known.
        line: Option<u32>,
    },
    /// The criterion's own code raised an exception.
    #[error("criterion `{name}` raised {} during {during}", first_of(std::slice::from_ref(&**diagnostic)))]
    Raised {
        /// The criterion.
        name: String,
        /// Where.
        during: String,
        /// The exception, with its place in the cell.
        diagnostic: Box<Diagnostic>,
    },
    /// The criterion is written for another build of the Python host than this program's.
    #[error("criterion `{name}` runs on the Python host {wants}; this program has {has}")]
    OtherPython {
        /// The criterion.
        name: String,
        /// Digest of the component that it was written for.
        wants: String,
        /// Digest of this program's.
        has: String,
    },
    /// A ready component is not the one that was named.
    #[error("criterion `{name}` has the SHA-256 {has}, and {wants} was given")]
    OtherDigest {
        /// The criterion.
        name: String,
        /// The digest given.
        wants: String,
        /// The file's.
        has: String,
    },
    /// The criterion itself says that it cannot answer.
    #[error("criterion `{name}` cannot answer: {why}")]
    CannotAnswer {
        /// The criterion.
        name: String,
        /// Its own words.
        why: String,
    },
    /// Our runtime is at fault.
    #[error("the WebAssembly runtime failed: {why}")]
    Runtime {
        /// What it said.
        why: String,
    },
}

fn at_line(line: u32) -> String {
    if line > 0 { format!(" at line {line}") } else { String::new() }
}

fn first_of(diagnostics: &[Diagnostic]) -> String {
    match diagnostics.first() {
        Some(d) if d.line > 0 => format!("{} (line {}, column {})", d.message, d.line, d.column),
        Some(d) => d.message.clone(),
        None => "the compiler gave no reason".to_owned(),
    }
}

impl Explain for CriterionError {
    fn kind(&self) -> &'static str {
        match self {
            CriterionError::NoCompiler(_) => "no_compiler",
            CriterionError::NoTarget { .. } => "no_wasm_target",
            CriterionError::Io { .. } => "io",
            CriterionError::SdkDoesNotBuild { .. } => "sdk_does_not_build",
            CriterionError::BadName { .. } => "bad_name",
            CriterionError::DoesNotCompile { .. } => "does_not_compile",
            CriterionError::ReadsFiles { .. } => "reads_files",
            CriterionError::HiddenText { .. } => "hidden_text",
            CriterionError::TooLarge { .. } => "too_large",
            CriterionError::Misdescribed { .. } => "misdescribed",
            CriterionError::CompilerStopped { .. } => "compiler_stopped",
            CriterionError::NotAComponent { .. } => "not_a_component",
            CriterionError::Imports { .. } => "imports",
            CriterionError::OtherContract { .. } => "other_contract",
            CriterionError::Unknown { .. } => "unknown_criterion",
            CriterionError::Parameters { .. } => "parameters",
            CriterionError::OutOfFuel { .. } => "out_of_fuel",
            CriterionError::OverLimit { .. } => "over_limit",
            CriterionError::Deadline { .. } => "deadline",
            CriterionError::Interrupted { .. } => "interrupted",
            CriterionError::Trapped { .. } => "trapped",
            CriterionError::Raised { .. } => "raised",
            CriterionError::OtherPython { .. } => "other_python",
            CriterionError::OtherDigest { .. } => "other_digest",
            CriterionError::CannotAnswer { .. } => "cannot_answer",
            CriterionError::Runtime { .. } => "runtime",
        }
    }

    fn place(&self) -> Option<String> {
        match self {
            CriterionError::DoesNotCompile { name, diagnostics } => {
                let line = diagnostics.first().map_or(0, |d| d.line);
                Some(if line > 0 { format!("criterion {name}, line {line}") } else { format!("criterion {name}") })
            }
            CriterionError::Raised { name, diagnostic, .. } if diagnostic.line > 0 => {
                Some(format!("criterion {name}, line {}", diagnostic.line))
            }
            CriterionError::ReadsFiles { name, line, .. } if *line > 0 => {
                Some(format!("criterion {name}, line {line}"))
            }
            CriterionError::HiddenText { name, line, .. }
            | CriterionError::OutOfFuel { name, line: Some(line), .. }
            | CriterionError::OverLimit { name, line: Some(line), .. }
            | CriterionError::Deadline { name, line: Some(line), .. }
            | CriterionError::Trapped { name, line: Some(line), .. } => Some(format!("criterion {name}, line {line}")),
            CriterionError::BadName { name }
            | CriterionError::ReadsFiles { name, .. }
            | CriterionError::TooLarge { name, .. }
            | CriterionError::Misdescribed { name, .. }
            | CriterionError::CompilerStopped { name, .. }
            | CriterionError::NotAComponent { name, .. }
            | CriterionError::Imports { name, .. }
            | CriterionError::OtherContract { name }
            | CriterionError::Unknown { name, .. }
            | CriterionError::Parameters { name, .. }
            | CriterionError::OutOfFuel { name, .. }
            | CriterionError::OverLimit { name, .. }
            | CriterionError::Deadline { name, .. }
            | CriterionError::Interrupted { name, .. }
            | CriterionError::Trapped { name, .. }
            | CriterionError::Raised { name, .. }
            | CriterionError::OtherPython { name, .. }
            | CriterionError::OtherDigest { name, .. }
            | CriterionError::CannotAnswer { name, .. } => Some(format!("criterion {name}")),
            CriterionError::NoCompiler(_)
            | CriterionError::NoTarget { .. }
            | CriterionError::Io { .. }
            | CriterionError::SdkDoesNotBuild { .. }
            | CriterionError::Runtime { .. } => None,
        }
    }

    fn next_step(&self) -> String {
        match self {
            CriterionError::NoCompiler(_) => {
                "install Rust (rustup.rs), or use a standard criterion, which needs no compiler: see `%criterion list`"
                    .into()
            }
            CriterionError::NoTarget { .. } => {
                "run `rustup target add wasm32-unknown-unknown`; without rustup's server, build the target's libraries \
                 from the distribution's Rust sources (Debian: rust-web-src) with `-Zbuild-std=std,panic_abort`"
                    .into()
            }
            CriterionError::Io { .. } => "check the space and permissions of the folder named".into(),
            CriterionError::SdkDoesNotBuild { .. } => "use rustc 1.85 or newer".into(),
            CriterionError::BadName { .. } => {
                "use letters, digits, `-` and `_`, beginning with a letter, at most 64".into()
            }
            CriterionError::DoesNotCompile { .. } => {
                "mend the line named; `%help criterion` shows a whole criterion".into()
            }
            CriterionError::ReadsFiles { .. } => {
                "pass numbers as parameters; everything else a criterion sees comes from the rows".into()
            }
            CriterionError::HiddenText { .. } => {
                "take it out, or write it as an escape such as `\\u{202e}` inside a text".into()
            }
            CriterionError::TooLarge { .. } => {
                "keep rules in the criterion and numbers in its parameters; everything else comes with the rows".into()
            }
            CriterionError::Misdescribed { .. } => {
                "mend its `describe`: few parameters with short, different names, and finite bounds in order".into()
            }
            CriterionError::CompilerStopped { .. } => {
                "make the cell smaller and its macros, types and constants simpler; on a slow machine set \
                 FASCICOLO_COMPILE_SECONDS to the processor seconds that a cell may take"
                    .into()
            }
            CriterionError::NotAComponent { .. } => {
                "build it for fascicolo:criterion@0.1.0, whose WIT stands in wasm-checks/wit".into()
            }
            CriterionError::OtherContract { .. } => {
                "compile it anew: run its `%%criterion` cell again; or build it for the WIT of this program, in wasm-checks/wit"
                    .into()
            }
            CriterionError::Imports { .. } => {
                "build it for wasm32-unknown-unknown without WASI; it needs no clock, files or randomness".into()
            }
            CriterionError::Unknown { known, .. } if known.is_empty() => "write it in a `%%criterion NAME` cell".into(),
            CriterionError::Unknown { known, .. } => {
                format!("write it in a `%%criterion NAME` cell, or use one of: {}", known.join(", "))
            }
            CriterionError::Parameters { takes, .. } => format!("it takes {takes}"),
            CriterionError::OutOfFuel { .. } => {
                "look for a loop that does not end, or that grows with the square of the rows".into()
            }
            CriterionError::OverLimit { .. } => "keep state in accumulators rather than in lists of rows".into(),
            CriterionError::Deadline { .. } => {
                "let it touch less memory; on a machine that is otherwise idle it may come to its end".into()
            }
            CriterionError::Interrupted { .. } => "run the cell again when you want its answer".into(),
            CriterionError::Trapped { .. } => "look for an index out of range, a division by zero or a panic".into(),
            CriterionError::Raised { .. } => {
                "mend the line named; `%help criterion` says what a criterion in Python has".into()
            }
            CriterionError::OtherPython { .. } => {
                "run its `%%criterion` cell again and seal it anew, or use the version of this program that sealed it"
                    .into()
            }
            CriterionError::OtherDigest { .. } => {
                "get the file that was meant, or find out why it changed before you give this one's digest".into()
            }
            CriterionError::CannotAnswer { .. } => {
                "mend the criterion, for the row where one is named: `%help criterion` says what an answer must have".into()
            }
            CriterionError::Runtime { .. } => "report this with the criterion's source".into(),
        }
    }

    fn standing(&self) -> Standing {
        match self {
            CriterionError::BadName { .. }
            | CriterionError::DoesNotCompile { .. }
            | CriterionError::HiddenText { .. }
            | CriterionError::Unknown { .. }
            | CriterionError::Parameters { .. } => Standing::Usage,
            CriterionError::ReadsFiles { .. } | CriterionError::Imports { .. } | CriterionError::OtherDigest { .. } => {
                Standing::Refused
            }
            CriterionError::Runtime { .. } => Standing::OurFault,
            _ => Standing::CannotTell,
        }
    }
}
