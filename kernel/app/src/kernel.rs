//! The kernel that Jupyter starts: a session behind the wire.

use crate::failure::Failure;
use crate::front::{CellEnding, CellRequest, FrontEnd, MimeBundle};
use crate::rust_cells::RustCells;
use crate::session::{Interrupt, Session};
use crate::wire::{self, CellRunner, Completion, IsComplete};
use fascicolo_contract::Standing;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Serves until the front end shuts the kernel down.
pub fn serve(connection_file: &Path, dossier: Option<&Path>) -> Result<Standing, Failure> {
    let folder = std::env::current_dir()
        .map_err(|e| Failure::usage("no_folder", format!("the current folder is gone: {e}"), "restart the kernel"))?;
    let runner = Arc::new(Runner::new(dossier.map_or_else(|| default_dossier(&folder), Path::to_owned), folder));
    checkpoint_when_idle(&runner);
    wire::serve(connection_file, runner)?;
    Ok(Standing::Holds)
}

/// Keeps the checkpoint off the path of a cell and yet never long behind it: a kernel that is killed leaves a log whose
/// end can be told.
fn checkpoint_when_idle(runner: &Arc<Runner>) {
    let runner = Arc::downgrade(runner);
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(IDLE);
            let Some(runner) = runner.upgrade() else { return };
            let Ok(mut session) = runner.session.try_lock() else { continue };
            // A failure is told by the next cell, which cannot be entered either.
            if let Some(session) = session.as_mut().filter(|session| session.has_tail()) {
                let _ = session.close();
            }
        }
    });
}

/// How often a kernel looks whether it is idle.
const IDLE: std::time::Duration = std::time::Duration::from_secs(2);

/// `NAME.fascicolo` beside the notebook `NAME.ipynb`, whose path the Jupyter server tells; else `session.fascicolo`.
fn default_dossier(folder: &Path) -> PathBuf {
    let notebook = std::env::var_os("JPY_SESSION_NAME").map(PathBuf::from);
    let notebook = notebook.filter(|path| path.extension().is_some_and(|e| e == "ipynb"));
    match notebook.as_deref().and_then(Path::file_stem) {
        // The kernel runs in the notebook's folder, whatever the server's own root is.
        Some(stem) => folder.join(Path::new(stem).with_extension("fascicolo")),
        None => folder.join("session.fascicolo"),
    }
}

/// A session that opens its case file with the first cell, so that a front end that only looks writes nothing.
pub struct Runner {
    dossier: PathBuf,
    folder: PathBuf,
    rust: Arc<RustCells>,
    session: Mutex<Option<Session>>,
    interrupt: Mutex<Interrupt>,
}

impl Runner {
    /// Starts warming up the Rust engine, and answers meanwhile.
    fn new(dossier: PathBuf, folder: PathBuf) -> Runner {
        let rust = Arc::new(RustCells::start());
        Runner { dossier, folder, rust, session: Mutex::default(), interrupt: Mutex::default() }
    }
}

impl CellRunner for Runner {
    fn run_cell(&self, request: CellRequest, front: &dyn FrontEnd) -> CellEnding {
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        if session.is_none() {
            match Session::open(&self.dossier, &self.folder) {
                Ok(opened) => {
                    *self.interrupt.lock().unwrap_or_else(PoisonError::into_inner) = opened.interrupt.clone();
                    *session = Some(opened.with_rust(self.rust.clone()));
                }
                Err(failure) => return CellEnding::Error(failure.shown()),
            }
        }
        match session.as_mut() {
            Some(session) => session.run_cell(&request, front),
            None => CellEnding::Ok,
        }
    }

    fn interrupt(&self) {
        self.interrupt.lock().unwrap_or_else(PoisonError::into_inner).raise();
    }

    /// Names of magics after `%`; of variables and items in Rust. The session may be busy and is not asked.
    fn complete(&self, code: &str, cursor_chars: usize) -> Completion {
        let before: String = code.chars().take(cursor_chars).collect();
        let line = before.lines().last().unwrap_or_default();
        let is_name = |c: &char| c.is_alphanumeric() || *c == '_';
        let word: String = before.chars().rev().take_while(is_name).collect::<Vec<_>>().into_iter().rev().collect();
        let magic = line.trim_start_matches('%') == word && line.starts_with('%');
        let names: Vec<String> = if magic {
            fascicolo_magics::grammar().get_subcommands().map(|c| c.get_name().to_owned()).collect()
        } else if word.is_empty() || line.starts_with('%') {
            Vec::new()
        } else {
            self.rust.variables().into_iter().chain(self.rust.items()).collect()
        };
        let mut matches: Vec<String> = names.into_iter().filter(|name| name.starts_with(&word)).collect();
        matches.sort();
        matches.dedup();
        Completion { matches, start: cursor_chars - word.chars().count(), end: cursor_chars }
    }

    /// A `%%` cell ends with a blank line; other cells when every bracket and quote is closed.
    fn is_complete(&self, code: &str) -> IsComplete {
        if code.trim_start().starts_with("%%") {
            return if code.ends_with("\n\n") {
                IsComplete::Complete
            } else {
                IsComplete::Incomplete { indent: String::new() }
            };
        }
        let rust: String = code.lines().filter(|line| !line.starts_with('%')).map(|line| format!("{line}\n")).collect();
        if rust.parse::<proc_macro2::TokenStream>().is_ok() {
            return IsComplete::Complete;
        }
        // Closing what is open makes it a stream of tokens: then only an end is missing.
        let mut open = Vec::new();
        for c in rust.chars() {
            match c {
                '(' => open.push(')'),
                '[' => open.push(']'),
                '{' => open.push('}'),
                ')' | ']' | '}' if open.last() == Some(&c) => {
                    open.pop();
                }
                _ => {}
            }
        }
        let depth = open.len();
        let closing: String = open.into_iter().rev().collect();
        if format!("{rust}{closing}").parse::<proc_macro2::TokenStream>().is_ok() {
            IsComplete::Incomplete { indent: "    ".repeat(depth) }
        } else {
            IsComplete::Invalid
        }
    }

    /// The page of the magic under the cursor.
    fn inspect(&self, code: &str, cursor_chars: usize) -> Option<MimeBundle> {
        let at = code.char_indices().nth(cursor_chars).map_or(code.len(), |(at, _)| at);
        let start = code[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let name =
            code[start..].lines().next()?.strip_prefix('%')?.trim_start_matches('%').split_whitespace().next()?;
        let text = fascicolo_magics::help::page(&[name])?;
        Some(MimeBundle::from([("text/plain".to_owned(), text)]))
    }

    /// The page of a magic for `%name?` and `?%name`.
    fn page(&self, code: &str) -> Option<MimeBundle> {
        let name = code.trim().strip_suffix('?').or(code.trim().strip_prefix('?'))?;
        let text = fascicolo_magics::help::page(&[name.trim()])?;
        Some(MimeBundle::from([("text/plain".to_owned(), text)]))
    }

    fn shutdown(&self, _restart: bool) {
        // A cell that does not end keeps the session; its case file is then found without a checkpoint over its tail.
        if let Ok(mut session) = self.session.try_lock()
            && let Some(mut session) = session.take()
            && let Err(failure) = session.close()
        {
            eprintln!("{}", failure.line());
        }
    }
}
