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
pub fn content_digest(path: &Path, watch: &dyn Watch) -> Result<(String, u64), Failure> {
    if !path.is_dir() {
        return Ok(file_digest(path, watch)?);
    }
    let (mut list, mut bytes) = (String::new(), 0);
    for file in files_of(path)? {
        let (sha256, length) = file_digest(&file, watch)?;
        let name = file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        list.push_str(&format!("{sha256}  {name}\n"));
        bytes += length;
    }
    Ok((fascicolo_criterion::digest(list.as_bytes()), bytes))
}

/// As [`content_digest`], for the case file.
pub fn seen(role: &str, path: &Path, watch: &dyn Watch) -> Result<FileSeen, Failure> {
    let (sha256, bytes) = content_digest(path, watch)?;
    Ok(FileSeen { role: role.to_owned(), sha256, bytes })
}

/// Length and time of change of every file, to tell whether they stayed as they were digested.
pub fn stamp(path: &Path) -> Vec<(u64, Option<SystemTime>)> {
    let files = if path.is_dir() { files_of(path).unwrap_or_default() } else { vec![path.to_owned()] };
    files.iter().map(|file| std::fs::metadata(file).map_or((0, None), |m| (m.len(), m.modified().ok()))).collect()
}

/// A path for people: as the user wrote it.
pub fn shown(path: &Path) -> String {
    path.display().to_string()
}
