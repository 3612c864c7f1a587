//! The kernel that Jupyter starts: a session behind the wire.

use crate::failure::Failure;
use crate::front::{CellEnding, CellRequest, FrontEnd};
use crate::session::{Interrupt, Session};
use crate::wire::{self, CellRunner};
use fascicolo_contract::Standing;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Serves until the front end shuts the kernel down.
pub fn serve(connection_file: &Path, dossier: Option<&Path>) -> Result<Standing, Failure> {
    let folder = std::env::current_dir()
        .map_err(|e| Failure::usage("no_folder", format!("the current folder is gone: {e}"), "restart the kernel"))?;
    let runner = Runner::new(dossier.map_or_else(|| default_dossier(&folder), Path::to_owned), folder);
    wire::serve(connection_file, Arc::new(runner))?;
    Ok(Standing::Holds)
}

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
    session: Mutex<Option<Session>>,
    interrupt: Mutex<Interrupt>,
}

impl Runner {
    fn new(dossier: PathBuf, folder: PathBuf) -> Runner {
        Runner { dossier, folder, session: Mutex::default(), interrupt: Mutex::default() }
    }
}

impl CellRunner for Runner {
    fn run_cell(&self, request: CellRequest, front: &dyn FrontEnd) -> CellEnding {
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        if session.is_none() {
            match Session::open(&self.dossier, &self.folder) {
                Ok(mut opened) => {
                    *self.interrupt.lock().unwrap_or_else(PoisonError::into_inner) = opened.interrupt.clone();
                    opened.warm_up();
                    *session = Some(opened);
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

    fn shutdown(&self, _restart: bool) {
        // A cell that does not end keeps the session; its case file is then found without a checkpoint over its tail.
        if let Ok(mut session) = self.session.try_lock() {
            if let Some(mut session) = session.take() {
                if let Err(failure) = session.close() {
                    eprintln!("{}", failure.line());
                }
            }
        }
    }
}
