//! Rust cells: runs the Rust code of a cell through evcxr in a child process, and keeps the kernel alive whatever the
//! cell does.
//!
//! Owns: the thread that holds evcxr's context, the live streams of a cell, what is refused, interrupts, and the
//! account of what a crash or an interrupt lost. Must not know: magics, the dossier, Jupyter.
//! Start at [`RustCells::start`] and [`RustCells::run`]; [`runtime_hook`] comes first in `main`.
//!
//! How a cell runs: [`prepare`] refuses what evcxr would do to the kernel itself and puts one line of our own before
//! the first line of Rust; [`engine`] hands the text to evcxr on its thread; the calling thread passes the streams on
//! ([`streams`]) until evcxr answers, and [`interrupt`] kills the right processes when it is told to.

mod engine;
mod errors;
mod interrupt;
mod prepare;
mod process;
mod render;
mod streams;

use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

pub use errors::RustCellError;
pub use interrupt::InterruptFlag;
pub use process::runtime_hook;

use crate::front::{FrontEnd, MimeBundle};
use engine::{Engine, Failure, Live, Names, Reply, Stage};
use interrupt::Hunt;
use prepare::{Mode, Prepared};
use streams::{Ending, Streams};

/// How long one wait for output lasts before the interrupt flag and standard error are looked at again.
const TICK: Duration = Duration::from_millis(10);
/// How long one wait for the answer lasts when no more output is expected before it.
const AFTER_END: Duration = Duration::from_millis(2);
/// How long the end of standard error is waited for after a cell; only a cell that moved the stream elsewhere needs it.
const STDERR_GRACE: Duration = Duration::from_millis(500);
/// How long a kill may take to show before the next process is sought.
const BETWEEN_KILLS: Duration = Duration::from_millis(60);

/// What a Rust cell came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RustValue {
    /// The value of the last expression by MIME type; empty if there is none, or if it is `()`.
    pub by_mime: MimeBundle,
}

/// The engine of Rust cells. One cell runs at a time; dropping it ends its processes.
pub struct RustCells {
    engine: Engine,
    session: Mutex<Session>,
}

/// What is known from one cell to the next.
struct Session {
    /// Number of the last cell, so that its marks are its own.
    cell: u64,
    /// How values are shown.
    mode: Mode,
}

impl RustCells {
    /// Starts the engine in the background and returns at once. The first cell waits for it.
    ///
    /// The code of cells runs in a new process of this program, which must call [`runtime_hook`] first in `main`.
    pub fn start() -> RustCells {
        match std::env::current_exe() {
            Ok(program) => RustCells::start_with(Command::new(program)),
            // Without a path the start fails with a message of its own, in the first cell.
            Err(_) => RustCells::start_with(Command::new("fascicolo")),
        }
    }

    /// As [`RustCells::start`], with the program (and its environment) that runs the code of cells.
    pub fn start_with(runtime: Command) -> RustCells {
        RustCells { engine: Engine::start(runtime), session: Mutex::new(Session { cell: 0, mode: Mode::Values }) }
    }

    /// Runs the Rust code of one cell and waits for it; its streams go to `front` live, and are complete on return.
    ///
    /// `interrupt` may be raised from another thread at any time, and is lowered when it is heeded.
    ///
    /// # Errors
    /// See [`RustCellError`]. The engine works again after every one of them.
    pub fn run(&self, code: &str, front: &dyn FrontEnd, interrupt: &InterruptFlag) -> Result<RustValue, RustCellError> {
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let cell = session.cell + 1;
        let mode = session.mode;
        let Some(prepared) = prepare::prepare(code, cell, mode, self.engine.nonce())? else {
            return Ok(RustValue::default());
        };
        session.cell = cell;
        session.mode = prepared.mode;
        let live = self.wait_until_ready(front, interrupt)?;
        if prepared.asks_for_crates {
            front.progress("fetching and compiling the crates that the cell asks for", None);
        }
        self.run_prepared(code, cell, &prepared, &live, front, interrupt)
    }

    /// Names of the variables that cells can use, sorted.
    pub fn variables(&self) -> Vec<String> {
        self.engine.names().variables
    }

    /// Names of functions, types, traits, modules and imports that cells can use, sorted.
    pub fn items(&self) -> Vec<String> {
        self.engine.names().items
    }

    /// The crates that cells depend on, as `name = requirement` lines, sorted; those evcxr added itself included.
    pub fn dependencies(&self) -> Vec<String> {
        self.engine.names().dependencies
    }

    fn wait_until_ready(&self, front: &dyn FrontEnd, interrupt: &InterruptFlag) -> Result<Arc<Live>, RustCellError> {
        let mut told = false;
        loop {
            if interrupt.take() {
                let names = self.engine.names();
                return Err(RustCellError::Interrupted { lost: Vec::new(), kept: names.items });
            }
            match self.engine.stage(TICK) {
                Stage::Ready(live) => return Ok(live),
                Stage::Failed(why) => {
                    self.engine.try_again();
                    return Err(why.into_error());
                }
                Stage::Starting if told => {}
                Stage::Starting => {
                    told = true;
                    front.progress("starting the Rust engine", None);
                }
            }
        }
    }

    fn run_prepared(
        &self,
        code: &str,
        cell: u64,
        prepared: &Prepared,
        live: &Live,
        front: &dyn FrontEnd,
        interrupt: &InterruptFlag,
    ) -> Result<RustValue, RustCellError> {
        let before = self.engine.names();
        let mut streams = Streams::new(live, front, self.engine.nonce(), cell);
        let answer = self.engine.submit(prepared.text.clone())?;
        let (mut reply, hunt) = self.follow(&answer, &mut streams, live, interrupt, prepared.has_rust)?;
        let ended_unseen = !matches!(reply.result, Err(Failure::Terminated(_)));
        if hunt.as_ref().is_some_and(Hunt::struck_child) && ended_unseen {
            reply.names = self.replace_child(live, &mut streams)?;
        }
        if prepared.has_rust && reply.result.is_ok() {
            streams.finish(STDERR_GRACE);
        } else {
            streams.drain();
        }
        let lost = before.variables_missing_in(&reply.names);
        let outputs = match reply.result {
            Ok(outputs) => outputs,
            Err(_) if hunt.is_some() => return Err(RustCellError::Interrupted { lost, kept: reply.names.items }),
            Err(failure) => return Err(self.explain(failure, code, prepared, lost, &mut streams)),
        };
        let by_mime = streams.clean(outputs);
        if !prepared.has_rust {
            return Ok(RustValue { by_mime });
        }
        match streams.ending() {
            Some(Ending::Reached) if prepared.watches_question_mark && !reply.reached_end => {
                Err(RustCellError::ReturnedError { message: streams.last_error_line() })
            }
            Some(Ending::Reached) if !streams.garbled() => Ok(RustValue { by_mime }),
            Some(Ending::Panicked) if !streams.garbled() => {
                let panic = streams.panic();
                let line = panic.line.and_then(|at| render::cell_line(&live.folder, at, code));
                Err(RustCellError::Panicked { message: panic.message, line })
            }
            // From here on every answer would belong to the cell before, or variables would be counted on that were
            // never stored: the child is replaced.
            _ => {
                let what = if streams.garbled() {
                    "a `?` left the cell in the middle of a printed line, which hid the error from the engine"
                } else {
                    "it printed a line of the engine's own protocol"
                };
                let after = self.replace_child(live, &mut streams)?;
                Err(RustCellError::Crashed { what: what.to_owned(), lost: before.variables_missing_in(&after) })
            }
        }
    }

    /// Passes output on until evcxr answers; with the hunt, if an interrupt began one meanwhile.
    fn follow<'a>(
        &self,
        answer: &Receiver<Reply>,
        streams: &mut Streams,
        live: &'a Live,
        interrupt: &InterruptFlag,
        prints: bool,
    ) -> Result<(Reply, Option<Hunt<'a>>), RustCellError> {
        let submitted = SystemTime::now();
        let mut hunt: Option<Hunt> = None;
        loop {
            if interrupt.take() {
                hunt.get_or_insert_with(|| Hunt::new(live, submitted));
            }
            if let Some(hunt) = &mut hunt {
                hunt.strike(BETWEEN_KILLS);
            }
            // Once the cell's code has ended, evcxr answers as soon as its channel is empty.
            let wait = if prints && streams.ending().is_none() {
                streams.wait(TICK);
                Duration::ZERO
            } else {
                streams.drain();
                AFTER_END
            };
            match answer.recv_timeout(wait) {
                Ok(reply) => return Ok((reply, hunt)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(RustCellError::engine_gone()),
            }
        }
    }

    fn explain(
        &self,
        failure: Failure,
        code: &str,
        prepared: &Prepared,
        lost: Vec<String>,
        streams: &mut Streams,
    ) -> RustCellError {
        match failure {
            Failure::Compilation(errors) => {
                RustCellError::Compilation(render::diagnostics(&errors, code, prepared.our_line))
            }
            Failure::Terminated(message) => {
                let what = streams.crash(&message);
                RustCellError::Crashed { what, lost }
            }
            Failure::Message(message) => RustCellError::NotRun { message },
            Failure::Engine(message) => RustCellError::EngineFault { message, lost },
        }
    }

    /// Ends the child and lets evcxr notice: it starts another, and forgets the variables.
    fn replace_child(&self, live: &Live, streams: &mut Streams) -> Result<Names, RustCellError> {
        interrupt::kill_all(live);
        // evcxr looks at its child only when it sends it something.
        let answer = self.engine.submit("();".to_owned())?;
        loop {
            streams.drain();
            match answer.recv_timeout(TICK) {
                Ok(reply) => return Ok(reply.names),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(RustCellError::engine_gone()),
            }
        }
    }
}

impl Names {
    fn variables_missing_in(&self, after: &Names) -> Vec<String> {
        self.variables.iter().filter(|name| !after.variables.contains(name)).cloned().collect()
    }
}
