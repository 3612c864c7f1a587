//! Files as the actions read them: watched, digested, interruptible.

use crate::failure::Failure;
use crate::front::FrontEnd;
use crate::session::Interrupt;
use fascicolo_dossier::FileSeen;
use fascicolo_embeddings::{Watch, file_digest, files_of};
use std::path::Path;
use std::time::SystemTime;

/// Tells the front end how far a read is, and the read when to stop.
pub struct Watching<'a> {
    /// What is being done.
    pub what: String,
    /// Who is told.
    pub front: &'a dyn FrontEnd,
    /// Who may stop it.
    pub interrupt: Interrupt,
}

impl Watch for Watching<'_> {
    fn progress(&self, done: u64, total: u64) {
        self.front.progress(&self.what, (total > 0).then(|| done as f64 / total as f64));
    }

    fn interrupted(&self) -> bool {
        self.interrupt.is_raised()
    }
}

/// SHA-256 and length of a file; of a folder of parts, over the list of its files' digests and names.
pub fn bytes_digest(path: &Path, watch: &dyn Watch) -> Result<(String, u64), Failure> {
    let whole = seen("", path, watch)?.swap_remove(0);
    Ok((whole.sha256, whole.bytes))
}

/// The file or folder as [`bytes_digest`] has it, first; then each part of a folder, so that a part is known again on its
/// own.
pub fn seen(role: &str, path: &Path, watch: &dyn Watch) -> Result<Vec<FileSeen>, Failure> {
    if !path.is_dir() {
        let (sha256, bytes) = file_digest(path, watch)?;
        return Ok(vec![FileSeen { role: role.to_owned(), sha256, bytes }]);
    }
    let (mut list, mut parts) = (String::new(), Vec::new());
    for file in files_of(path)? {
        let (sha256, bytes) = file_digest(&file, watch)?;
        let name = file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        list.push_str(&format!("{sha256}  {name}\n"));
        parts.push(FileSeen { role: format!("{role}.part"), sha256, bytes });
    }
    let sha256 = fascicolo_criterion::digest(list.as_bytes());
    let bytes = parts.iter().map(|part| part.bytes).sum();
    Ok([vec![FileSeen { role: role.to_owned(), sha256, bytes }], parts].concat())
}

/// What tells whether a file stayed as it was digested: its length, times and, on Unix, which file it is.
#[derive(Debug, PartialEq, Eq)]
pub struct Stamp(u64, Option<SystemTime>, Option<(u64, u64, i64, i64)>);

/// The stamps of a file, or of every part of a folder.
pub fn stamp(path: &Path) -> Vec<Stamp> {
    let files = if path.is_dir() { files_of(path).unwrap_or_default() } else { vec![path.to_owned()] };
    files
        .iter()
        .map(|file| {
            let Ok(about) = std::fs::metadata(file) else { return Stamp(0, None, None) };
            #[cfg(unix)]
            let which = {
                use std::os::unix::fs::MetadataExt;
                Some((about.dev(), about.ino(), about.ctime(), about.ctime_nsec()))
            };
            #[cfg(not(unix))]
            let which = None;
            Stamp(about.len(), about.modified().ok(), which)
        })
        .collect()
}

/// Whether two paths lead to one file or folder, through whatever links.
pub fn same_place(a: &Path, b: &Path) -> bool {
    a == b
        || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
        || matches!((inode(a), inode(b)), (Some(a), Some(b)) if a == b)
}

#[cfg(unix)]
fn inode(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|m| (m.dev(), m.ino()))
}

#[cfg(not(unix))]
fn inode(_path: &Path) -> Option<(u64, u64)> {
    None
}

/// A path for people: as the user wrote it.
pub fn shown(path: &Path) -> String {
    path.display().to_string()
}
