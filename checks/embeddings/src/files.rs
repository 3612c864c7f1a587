//! From a path to the Parquet files behind it.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::Error;

/// Shortest file that can hold both magic numbers and a footer length.
const SHORTEST: u64 = 12;

/// The files that form the table at `path`: itself, or the `*.parquet` files of a folder in the byte order of their
/// names. Names that begin with `.`, and names that begin with `_` and are no `*.parquet` (`_SUCCESS`, `_metadata`), are
/// left out, as the programs that write them do; anything else in the folder is an error, lest its rows be missed
/// unnoticed.
///
/// # Errors
/// [`Error::Missing`], [`Error::Unreadable`], [`Error::NotAFile`], [`Error::EmptyFolder`], [`Error::StrayEntry`],
/// [`Error::FolderPart`].
pub fn files_of(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let about = std::fs::metadata(path).map_err(|e| failed(path, e))?;
    if about.is_file() {
        return Ok(vec![path.to_path_buf()]);
    }
    if !about.is_dir() {
        return Err(Error::NotAFile { path: path.to_path_buf() });
    }
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(path).map_err(|e| failed(path, e))? {
        entries.push(entry.map_err(|e| failed(path, e))?.path());
    }
    // Before they are looked at, so that of several faults it is always the same one that is told.
    entries.sort_by(|a, b| name(a).cmp(name(b)));
    let mut parts = Vec::new();
    for entry in entries {
        if is_part(&entry)? {
            parts.push(entry);
        }
    }
    if parts.is_empty() {
        return Err(Error::EmptyFolder { path: path.to_path_buf() });
    }
    Ok(parts)
}

/// True for a part, false for what may be left out.
fn is_part(entry: &Path) -> Result<bool, Error> {
    let parquet = entry.extension().is_some_and(|e| e == "parquet");
    match name(entry) {
        [b'.', ..] => Ok(false),
        [b'_', ..] if !parquet => Ok(false),
        _ if !parquet => Err(Error::StrayEntry { path: entry.to_path_buf() }),
        // A link counts as what it leads to.
        _ if std::fs::metadata(entry).map_err(|e| failed(entry, e))?.is_dir() => {
            Err(Error::FolderPart { path: entry.to_path_buf() })
        }
        _ => Ok(true),
    }
}

/// The last component of a path in bytes, on Unix the very ones of the file system.
fn name(path: &Path) -> &[u8] {
    path.file_name().map(|n| n.as_encoded_bytes()).unwrap_or_default()
}

/// Opens one regular file; a pipe or device is refused before it can block.
pub(crate) fn open_file(path: &Path) -> Result<(File, u64), Error> {
    let about = std::fs::metadata(path).map_err(|e| failed(path, e))?;
    if !about.is_file() {
        return Err(Error::NotAFile { path: path.to_path_buf() });
    }
    let file = File::open(path).map_err(|e| failed(path, e))?;
    let bytes = file.metadata().map_err(|e| failed(path, e))?.len();
    Ok((file, bytes))
}

/// Opens a file that begins and ends as a Parquet file does.
pub(crate) fn open_parquet(path: &Path) -> Result<File, Error> {
    let (mut file, bytes) = open_file(path)?;
    let owned = || path.to_path_buf();
    let head = four_bytes(&mut file, SeekFrom::Start(0)).map_err(|e| failed(path, e))?;
    match &head {
        b"PAR1" => {}
        b"PARE" => return Err(Error::Encrypted { path: owned() }),
        _ => return Err(Error::NotParquet { path: owned(), bytes }),
    }
    let tail = four_bytes(&mut file, SeekFrom::End(-4)).map_err(|e| failed(path, e))?;
    if bytes < SHORTEST || &tail != b"PAR1" {
        return Err(Error::Truncated { path: owned(), bytes });
    }
    Ok(file)
}

/// The four bytes at a place; zeros where the file is shorter.
fn four_bytes(file: &mut File, at: SeekFrom) -> std::io::Result<[u8; 4]> {
    let mut four = [0; 4];
    let read = file.seek(at).and_then(|_| file.read_exact(&mut four));
    match read {
        Ok(()) => Ok(four),
        // Seeking before the start of a shorter file is `InvalidInput`.
        Err(e) if matches!(e.kind(), ErrorKind::UnexpectedEof | ErrorKind::InvalidInput) => Ok([0; 4]),
        Err(e) => Err(e),
    }
}

/// The error for what the operating system said about a path.
pub(crate) fn failed(path: &Path, source: std::io::Error) -> Error {
    let path = path.to_path_buf();
    match source.kind() {
        ErrorKind::NotFound => Error::Missing { path },
        _ => Error::Unreadable { path, source },
    }
}
