//! The identity of files and folders by content, read in a stream, with changes under the reader noticed.
//!
//! Owns: what a fingerprint covers and the order of a folder's digest. Must not know: what the files mean.
//! Start at [`fingerprint()`].

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};

use fascicolo_contract::{Explain, Standing};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Bytes read at a time: large enough for a disk, small enough for the processor's cache.
const CHUNK: usize = 256 << 10;

/// The first line of what a folder's digest covers.
const FOLDER: &str = "fascicolo folder v0\n";

/// The identity of a file or folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// The path as it was given.
    pub path: PathBuf,
    /// SHA-256, 64 lower-case hexadecimal digits. Of a file: of its bytes. Of a folder: see [`fingerprint()`].
    pub sha256: String,
    /// Bytes of the file, or of all files of the folder.
    pub bytes: u64,
    /// Files covered; `None` for a single file.
    pub files: Option<u64>,
}

/// Why something has no fingerprint.
#[derive(Debug, thiserror::Error)]
pub enum FingerprintError {
    /// The operating system refused.
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A pipe, socket or device: it has no content of its own.
    #[error("{} is neither a file nor a folder, so it has no content to fingerprint", path.display())]
    NotAFile {
        /// What was named.
        path: PathBuf,
    },
    /// Something wrote to it at the same time.
    #[error("{} changed while it was read: {what}", path.display())]
    Changed {
        /// The file or folder.
        path: PathBuf,
        /// What differs, with figures.
        what: String,
    },
}

impl FingerprintError {
    fn path(&self) -> &Path {
        match self {
            FingerprintError::Unreadable { path, .. }
            | FingerprintError::NotAFile { path }
            | FingerprintError::Changed { path, .. } => path,
        }
    }
}

impl Explain for FingerprintError {
    fn kind(&self) -> &'static str {
        match self {
            FingerprintError::Unreadable { .. } => "unreadable",
            FingerprintError::NotAFile { .. } => "not_a_file",
            FingerprintError::Changed { .. } => "changed_while_read",
        }
    }

    fn place(&self) -> Option<String> {
        Some(self.path().display().to_string())
    }

    fn next_step(&self) -> String {
        match self {
            FingerprintError::Unreadable { .. } => "check the path and the right to read it".into(),
            FingerprintError::NotAFile { .. } => "name the file that holds the content".into(),
            FingerprintError::Changed { .. } => "wait until nothing writes to it, then fingerprint it again".into(),
        }
    }

    fn standing(&self) -> Standing {
        Standing::CannotTell
    }
}

/// The fingerprint of a file or folder; a symbolic link given as `path` is followed.
///
/// A folder's digest is the SHA-256 of the line `fascicolo folder v0` and one line for each file below it, sorted by
/// name bytewise: `file SHA256 SIZE NAME` or, for a symbolic link (which is not followed there), `link TARGET NAME`.
/// Names are relative, with `/` between their parts; `\`, line feeds and blanks are written `\\`, `\n`, `\s`. Empty
/// folders, modes and times do not count. The folder is listed again at the end.
///
/// # Errors
/// `Unreadable`, `NotAFile` (also for a pipe inside a folder), `Changed` if size or time of modification of a file, or
/// the list of a folder, differ before and after.
pub fn fingerprint(path: &Path) -> Result<Fingerprint, FingerprintError> {
    let metadata = std::fs::metadata(path).map_err(|source| unreadable(path, source))?;
    if metadata.is_dir() {
        return folder(path);
    }
    let (sha256, bytes) = file(path)?;
    Ok(Fingerprint { path: path.to_owned(), sha256, bytes, files: None })
}

/// Digest and size of one file.
fn file(path: &Path) -> Result<(String, u64), FingerprintError> {
    let fail = |source| unreadable(path, source);
    // Asked before opening, because opening a pipe waits for a writer.
    if !std::fs::metadata(path).map_err(fail)?.is_file() {
        return Err(FingerprintError::NotAFile { path: path.to_owned() });
    }
    let mut file = File::open(path).map_err(fail)?;
    let before = file.metadata().map_err(fail)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; CHUNK];
    let mut bytes = 0u64;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => {
                hasher.update(&buffer[..n]);
                bytes += n as u64;
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(fail(e)),
        }
    }
    // By name again: the file may have been replaced by another one in the meantime.
    let after = std::fs::metadata(path).map_err(fail)?;
    match difference(&before, &after, bytes) {
        Some(what) => Err(FingerprintError::Changed { path: path.to_owned(), what }),
        None => Ok((hex(&hasher.finalize()), bytes)),
    }
}

/// What shows that the file is not the one whose bytes were read.
fn difference(before: &Metadata, after: &Metadata, read: u64) -> Option<String> {
    if before.len() != after.len() || read != after.len() {
        return Some(format!("{} bytes before, {read} read, {} bytes after", before.len(), after.len()));
    }
    if !same_file(before, after) {
        return Some("another file took its name".into());
    }
    match (before.modified(), after.modified()) {
        (Ok(a), Ok(b)) if a != b => Some("its time of modification moved".into()),
        _ => None,
    }
}

#[cfg(unix)]
fn same_file(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn same_file(_: &Metadata, _: &Metadata) -> bool {
    true
}

fn folder(root: &Path) -> Result<Fingerprint, FingerprintError> {
    let entries = list(root)?;
    let mut hasher = Sha256::new();
    hasher.update(FOLDER);
    let (mut bytes, mut files) = (0, 0);
    for entry in &entries {
        let line = match &entry.link {
            Some(target) => [b"link ".as_slice(), &escaped(target), b" ", &escaped(&entry.name), b"\n"].concat(),
            None => {
                let (sha256, size) = file(&entry.path)?;
                bytes += size;
                files += 1;
                [format!("file {sha256} {size} ").as_bytes(), &escaped(&entry.name), b"\n"].concat()
            }
        };
        hasher.update(line);
    }
    let after = list(root)?;
    if after != entries {
        let what = format!("its list of {} entries before and {} after differ", entries.len(), after.len());
        return Err(FingerprintError::Changed { path: root.to_owned(), what });
    }
    Ok(Fingerprint { path: root.to_owned(), sha256: hex(&hasher.finalize()), bytes, files: Some(files) })
}

/// A file or link below a folder. Compared by all but its full path, which follows from its name.
#[derive(PartialEq)]
struct Entry {
    /// Relative name, parts joined by `/`, in the system's own bytes.
    name: Vec<u8>,
    path: PathBuf,
    /// Where a symbolic link points.
    link: Option<Vec<u8>>,
}

fn list(root: &Path) -> Result<Vec<Entry>, FingerprintError> {
    let mut entries = Vec::new();
    let mut open = vec![(root.to_owned(), Vec::new())];
    while let Some((folder, prefix)) = open.pop() {
        for item in std::fs::read_dir(&folder).map_err(|e| unreadable(&folder, e))? {
            let item = item.map_err(|e| unreadable(&folder, e))?;
            let path = item.path();
            let kind = item.file_type().map_err(|e| unreadable(&path, e))?;
            let mut name: Vec<u8> = prefix.clone();
            name.extend_from_slice(item.file_name().as_encoded_bytes());
            if kind.is_dir() {
                name.push(b'/');
                open.push((path, name));
            } else if kind.is_symlink() {
                let target = std::fs::read_link(&path).map_err(|e| unreadable(&path, e))?;
                entries.push(Entry { name, path, link: Some(target.as_os_str().as_encoded_bytes().to_vec()) });
            } else {
                entries.push(Entry { name, path, link: None });
            }
        }
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

fn escaped(name: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    for byte in name {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b' ' => out.extend_from_slice(b"\\s"),
            other => out.push(*other),
        }
    }
    out
}

fn unreadable(path: &Path, source: std::io::Error) -> FingerprintError {
    FingerprintError::Unreadable { path: path.to_owned(), source }
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|b| [DIGITS[usize::from(b >> 4)], DIGITS[usize::from(b & 15)]]).map(char::from).collect()
}
