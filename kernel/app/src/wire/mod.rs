//! Speaks the Jupyter protocol (5.5) over ZeroMQ: the only place of the product that knows either.
//!
//! Owns: sockets, signatures, message texts, the order of what the front end sees, one thread that runs cells, and
//! the numbering and history of executions. Must not know: magics, dossier, evcxr, how a result is made.
//! Start at [`serve`] and [`CellRunner`]; a request's way is `envelope` → `serving` → `cells` or `editing` → `publish`.
//!
//! Threads: the async runtime moves messages and answers what needs no cell; the thread `cells` runs one cell at a
//! time; the thread `editing` completes and inspects. So kernel_info is answered at once while a cell runs.

mod cells;
mod editing;
mod envelope;
mod history;
mod messages;
mod publish;
mod serving;
mod showing;
mod sockets;
#[cfg(all(test, unix))]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fascicolo_contract::{Explain, Standing};

use crate::front::{CellEnding, CellRequest, FrontEnd, MimeBundle};

/// The protocol version that every message states.
pub const PROTOCOL_VERSION: &str = "5.5";

/// What the wire serves: whoever runs cells. All methods may be called while a cell runs, from other threads, except
/// that `run_cell` itself is never called twice at a time.
pub trait CellRunner: Send + Sync + 'static {
    /// Runs one cell to its end, and shows what it makes through `front`. Blocks the thread `cells`.
    /// A panic is caught and shown as an error; the kernel lives on.
    fn run_cell(&self, request: CellRequest, front: &dyn FrontEnd) -> CellEnding;

    /// Asks the running cell to stop. Called between the moment before `run_cell` is entered and the moment after it
    /// returns, perhaps more than once; the next cell does not begin before this returns, so that an interrupt never
    /// hits the cell after. A runner that keeps a flag therefore clears it when its cell ends, not when one begins.
    fn interrupt(&self);

    /// What could stand at the cursor. `cursor_chars` counts characters (Unicode scalar values), not bytes.
    fn complete(&self, code: &str, cursor_chars: usize) -> Completion {
        let _ = code;
        Completion { matches: Vec::new(), start: cursor_chars, end: cursor_chars }
    }

    /// What is known of the thing at the cursor, if anything is. `cursor_chars` counts characters.
    fn inspect(&self, code: &str, cursor_chars: usize) -> Option<MimeBundle> {
        let _ = (code, cursor_chars);
        None
    }

    /// Whether a console may send the text, or should ask for a further line.
    fn is_complete(&self, code: &str) -> IsComplete {
        let _ = code;
        IsComplete::Unknown
    }

    /// The documentation that a cell asks for instead of running anything (`?name`), shown in the front end's pager.
    /// Such a cell is not handed to [`CellRunner::run_cell`].
    fn page(&self, code: &str) -> Option<MimeBundle> {
        let _ = code;
        None
    }

    /// Closes what must be closed. Called once, after the running cell was interrupted and given two seconds to end;
    /// `restart` says that the front end will start a fresh kernel at once.
    fn shutdown(&self, restart: bool);
}

/// Texts that could stand in place of the characters `start..end`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Completion {
    /// Each a whole replacement for `start..end`, best first.
    pub matches: Vec<String>,
    /// First character to replace.
    pub start: usize,
    /// One past the last character to replace.
    pub end: usize,
}

/// Whether a text can be run as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IsComplete {
    /// It can.
    Complete,
    /// More lines must follow; the next begins with this indentation.
    Incomplete {
        /// Spaces to begin the next line with.
        indent: String,
    },
    /// No further line can make it right.
    Invalid,
    /// Nobody looked.
    Unknown,
}

/// Why the kernel could not begin to serve.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The connection file cannot be read.
    #[error("the connection file {} cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The connection file is not one.
    #[error("{} is not a Jupyter connection file: {source}", path.display())]
    NotAConnection {
        /// The file.
        path: PathBuf,
        /// Where the text departs from the format.
        source: serde_json::Error,
    },
    /// The messages would have to be signed in a way that is not known here.
    #[error("the connection file asks for signatures by `{scheme}`; only `hmac-sha256` is known")]
    UnknownSignature {
        /// The scheme named in the file.
        scheme: String,
    },
    /// A socket could not be opened where the connection file says.
    #[error("the {channel} socket cannot be opened at {endpoint}: {reason}")]
    Bind {
        /// shell, control, stdin, iopub or heartbeat.
        channel: &'static str,
        /// The address.
        endpoint: String,
        /// What the socket library said.
        reason: String,
    },
    /// The system gave no thread or no event queue.
    #[error("the kernel's threads cannot be started: {0}")]
    Threads(#[source] std::io::Error),
}

impl Explain for WireError {
    fn kind(&self) -> &'static str {
        match self {
            WireError::Unreadable { .. } => "connection_file_unreadable",
            WireError::NotAConnection { .. } => "not_a_connection_file",
            WireError::UnknownSignature { .. } => "unknown_signature_scheme",
            WireError::Bind { .. } => "socket_not_opened",
            WireError::Threads(_) => "threads_not_started",
        }
    }

    fn place(&self) -> Option<String> {
        match self {
            WireError::Unreadable { path, .. } | WireError::NotAConnection { path, .. } => {
                Some(path.display().to_string())
            }
            WireError::Bind { endpoint, .. } => Some(endpoint.clone()),
            WireError::UnknownSignature { .. } | WireError::Threads(_) => None,
        }
    }

    fn next_step(&self) -> String {
        match self {
            WireError::Unreadable { .. } | WireError::NotAConnection { .. } => {
                "let Jupyter start the kernel (`fascicolo install`, then choose it), or name the file that Jupyter wrote"
            }
            WireError::UnknownSignature { .. } => {
                "set `Session.signature_scheme` of the Jupyter server to `hmac-sha256`, its default"
            }
            WireError::Bind { .. } => "start the kernel again: Jupyter then chooses other ports",
            WireError::Threads(_) => "end other programs of this user, then start the kernel again",
        }
        .to_owned()
    }

    fn standing(&self) -> Standing {
        match self {
            WireError::Unreadable { .. } | WireError::NotAConnection { .. } | WireError::UnknownSignature { .. } => {
                Standing::Usage
            }
            WireError::Bind { .. } | WireError::Threads(_) => Standing::OurFault,
        }
    }
}

/// Serves a Jupyter front end until it asks for the end, until SIGTERM, or until the Jupyter process that started the
/// kernel is gone. Blocks.
///
/// The caller must not be inside an async runtime.
/// # Errors
/// The connection file is unreadable or wrong, or a socket cannot be opened. Once it serves, nothing that arrives
/// ends it but a shutdown.
pub fn serve(connection_file: &Path, runner: Arc<dyn CellRunner>) -> Result<(), WireError> {
    let info = sockets::read_connection(connection_file)?;
    serving::serve(info, runner)
}
