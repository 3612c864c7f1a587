//! The steps that make something durable, each one named when it fails.
//!
//! A sync that fails is reported as [`Error::NotDurable`] and never tried again: after a failed sync the system
//! may have dropped the data and call the next sync a success.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::layout::{LOCK, TEMPORARY, at};
use crate::tree::to_hex;

/// An exclusive advisory lock, held until dropped.
pub(crate) struct Lock {
    _file: File,
}

/// Waits for the lock of the dossier.
pub(crate) fn lock(dossier: &Path) -> Result<Lock, Error> {
    let path = at(dossier, LOCK);
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(io_error("open the lock", &path))?;
    // Closing the file gives the lock back, also when the process dies.
    file.lock().map_err(io_error("lock", &path))?;
    Ok(Lock { _file: file })
}

/// Creates a folder if it is not there, and its parents.
pub(crate) fn create_folder(path: &Path) -> Result<(), Error> {
    fs::create_dir_all(path).map_err(io_error("create the folder", path))
}

/// Opens a file to append to it, creating it if it is not there.
pub(crate) fn open_to_append(path: &Path) -> Result<File, Error> {
    OpenOptions::new().create(true).append(true).open(path).map_err(io_error("open", path))
}

/// Appends all bytes with a single write, so that no other writer's bytes come between and at most a tail is torn.
pub(crate) fn append_once(file: &mut File, path: &Path, bytes: &[u8]) -> Result<(), Error> {
    #[cfg(test)]
    let bytes = injected::shorten(bytes);
    step("append to", path, || match file.write(bytes)? {
        n if n == bytes.len() => Ok(()),
        n => Err(io::Error::new(io::ErrorKind::WriteZero, format!("{n} of {} bytes were written", bytes.len()))),
    })
}

/// Makes the content of a file durable, its length included.
pub(crate) fn sync_data(file: &File, path: &Path) -> Result<(), Error> {
    sync(path, || file.sync_data())
}

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(path: &Path) -> Result<(), Error> {
    // A folder cannot be opened as a file on Windows, where renames are journalled by the file system itself.
    if cfg!(unix) { sync(path, || File::open(path)?.sync_all()) } else { Ok(()) }
}

/// Makes the name of a file durable, in the folder that holds it.
pub(crate) fn sync_parent(path: &Path) -> Result<(), Error> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    sync_folder(parent.unwrap_or(Path::new(".")))
}

/// Cuts a file to `length` bytes and makes that durable.
pub(crate) fn cut(path: &Path, length: u64) -> Result<(), Error> {
    let file = OpenOptions::new().write(true).open(path).map_err(io_error("open", path))?;
    step("cut", path, || file.set_len(length))?;
    sync_data(&file, path)
}

/// Puts a whole file in place: temporary file, fsync, rename, fsync of the folder. A reader sees all of it or
/// nothing.
pub(crate) fn place(dossier: &Path, target: &Path, content: &[u8]) -> Result<(), Error> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(Error::NoRandomness)?;
    let temporary = at(dossier, TEMPORARY).join(to_hex(&random));
    let mut file =
        OpenOptions::new().create_new(true).write(true).open(&temporary).map_err(io_error("create", &temporary))?;
    #[cfg(test)]
    let content = injected::shorten(content);
    let placed = step("write", &temporary, || file.write_all(content))
        .and_then(|()| sync(&temporary, || file.sync_all()))
        .and_then(|()| step("rename a temporary file to", target, || fs::rename(&temporary, target)));
    if placed.is_err() {
        // On a full disk the space matters more than this file; opening the dossier would remove it otherwise.
        let _ = fs::remove_file(&temporary);
    }
    placed?;
    sync_parent(target)
}

/// Removes a file; one that is not there counts as removed. Not durable before [`sync_parent`].
pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    step("remove", path, || match fs::remove_file(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    })
}

/// What a file holds from `offset` on; `None` if it is shorter than that or not there.
pub(crate) fn read_from(path: &Path, offset: u64) -> Result<Option<Vec<u8>>, Error> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(io_error("open", path)(e)),
    };
    let length = file.metadata().map_err(io_error("look at", path))?.len();
    if length < offset {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    // A sparse file takes no space and can still say that it is larger than any memory: an error, no abort.
    let room = usize::try_from(length - offset).ok().filter(|room| bytes.try_reserve_exact(*room).is_ok());
    if room.is_none() {
        return Err(io_error("hold in memory", path)(io::ErrorKind::OutOfMemory.into()));
    }
    file.seek(SeekFrom::Start(offset)).map_err(io_error("read", path))?;
    file.read_to_end(&mut bytes).map_err(io_error("read", path))?;
    Ok(Some(bytes))
}

/// What tells a file from another one that takes its name: inode and time of birth, which stay when a file system is
/// mounted again as another device; where no birth is told, device and inode; `None` if it is not there. Elsewhere
/// than on Unix, where the standard library does not tell them, the resolved path.
pub(crate) fn identity(path: &Path) -> Result<Option<String>, Error> {
    #[cfg(unix)]
    let found = {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(path).map(|m| {
            let born = m.created().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
            match born.filter(|born| !born.is_zero()) {
                Some(born) => format!("{} born {}", m.ino(), born.as_nanos()),
                None => format!("{} {}", m.dev(), m.ino()),
            }
        })
    };
    #[cfg(not(unix))]
    let found = fs::canonicalize(path).map(|p| p.to_string_lossy().into_owned());
    match found {
        Ok(identity) => Ok(Some(identity)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(io_error("look at", path)(e)),
    }
}

/// Length of a file; 0 if it is not there.
pub(crate) fn length(path: &Path) -> Result<u64, Error> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(metadata.len()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(e) => Err(io_error("look at", path)(e)),
    }
}

/// The names in a folder, sorted; none if it is not there.
pub(crate) fn names(path: &Path) -> Result<Vec<String>, Error> {
    let listing = match fs::read_dir(path) {
        Ok(listing) => listing,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(io_error("list", path)(e)),
    };
    let mut names = Vec::new();
    for item in listing {
        names.push(item.map_err(io_error("list", path))?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// For `map_err`: says what was tried with which file.
pub(crate) fn io_error(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path: PathBuf = path.to_path_buf();
    move |source| Error::Io { what, path, source }
}

fn step<T>(what: &'static str, path: &Path, act: impl FnOnce() -> io::Result<T>) -> Result<T, Error> {
    #[cfg(test)]
    let act = || injected::run(act);
    act().map_err(io_error(what, path))
}

fn sync(path: &Path, act: impl FnOnce() -> io::Result<()>) -> Result<(), Error> {
    #[cfg(test)]
    let act = || injected::run(act);
    act().map_err(|source| Error::NotDurable { path: path.to_path_buf(), source })
}

/// Makes the n-th step of this thread fail, for the table of faults.
#[cfg(test)]
pub(crate) mod injected {
    use std::cell::Cell;
    use std::io;

    /// What a failing step has done by then.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Mode {
        /// Nothing.
        Nothing,
        /// Half of it, where it writes.
        Half,
        /// All of it.
        All,
    }

    thread_local! { static PLAN: Cell<Option<(usize, Mode)>> = const { Cell::new(None) }; }

    /// Lets `steps` steps pass and the next one fail.
    pub(crate) fn fail_after(steps: usize, mode: Mode) {
        PLAN.set(Some((steps, mode)));
    }

    /// Takes the plan back; true if its step was never reached.
    pub(crate) fn clear() -> bool {
        PLAN.take().is_some()
    }

    pub(super) fn shorten(bytes: &[u8]) -> &[u8] {
        if PLAN.get() == Some((0, Mode::Half)) { &bytes[..bytes.len() / 2] } else { bytes }
    }

    pub(super) fn run<T>(act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match PLAN.get() {
            None => act(),
            Some((0, mode)) => {
                PLAN.set(None);
                if mode != Mode::Nothing {
                    act()?;
                }
                Err(io::Error::other("injected"))
            }
            Some((steps, mode)) => {
                PLAN.set(Some((steps - 1, mode)));
                act()
            }
        }
    }
}
