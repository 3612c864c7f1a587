//! What was compiled once and need not be again, in a folder that only this user can write.
//!
//! What lies there is run without another look, so it is taken only as it was put: under the digest of key and content, in
//! a folder that is this user's and closed to everybody else.

use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A folder that only this user can write.
pub(crate) struct Shelf(PathBuf);

impl Shelf {
    /// The one of this name below the cache folder, made if it is missing; none if somebody else could write there.
    pub fn below(cache: &Path, name: &str) -> Option<Shelf> {
        let folder = cache.join(name);
        if !folder.exists() {
            std::fs::create_dir_all(cache).ok()?;
            let mut builder = std::fs::DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            // Another process may have made it meanwhile; the look below tells whether it is good.
            let _ = builder.create(&folder);
        }
        mine_alone(&folder).then_some(Shelf(folder))
    }

    /// What was kept under this key, if it is still what was put there.
    pub fn get(&self, key: &str) -> Option<Vec<u8>> {
        let kept = std::fs::read(self.0.join(key)).ok()?;
        let (digest, artifact) = kept.split_at_checked(32)?;
        (seal(key, artifact) == digest).then(|| artifact.to_vec())
    }

    /// Whether something is kept under this key; it may still turn out to be of no use.
    pub fn holds(&self, key: &str) -> bool {
        self.0.join(key).is_file()
    }

    /// Keeps it, whole or not at all; without a place for it, it is compiled again next time.
    pub fn put(&self, key: &str, artifact: &[u8]) {
        let written = tempfile::NamedTempFile::new_in(&self.0).and_then(|mut file| {
            file.write_all(&seal(key, artifact))?;
            file.write_all(artifact)?;
            file.persist(self.0.join(key)).map_err(|e| e.error)
        });
        drop(written);
    }
}

fn seal(key: &str, artifact: &[u8]) -> Vec<u8> {
    Sha256::new().chain_update(key).chain_update(artifact).finalize().to_vec()
}

/// Whether a folder is one, is this user's, and nobody else can write in it.
#[cfg(unix)]
fn mine_alone(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::symlink_metadata(folder)
        .is_ok_and(|m| m.is_dir() && m.uid() == rustix::process::geteuid().as_raw() && m.mode() & 0o077 == 0)
}

/// Elsewhere nothing is kept: who can write there is not known.
#[cfg(not(unix))]
fn mine_alone(_folder: &Path) -> bool {
    false
}
