//! Where the log lies, so that a copy that goes on elsewhere becomes a fork and never passes for the original.
//!
//! The file `place` names inode and birth of `entries.jsonl` (elsewhere than on Unix its resolved path). A copy
//! has others, a moved folder on the same file system keeps it. The file is no part of the evidence: changed
//! or gone, as in a fresh checkout or an unpacked export, it only leads to a fork.

use super::Dossier;
use crate::checkpoint::Checkpoint;
use crate::disk;
use crate::error::Error;
use crate::fork::{Fork, new_origin};
use crate::layout::{ENTRIES, PLACE, at};
use crate::record::Kind;

impl Dossier {
    /// True if `entries.jsonl` is another file than the one this session knows.
    pub(super) fn moved(&self) -> Result<bool, Error> {
        Ok(disk::identity(&at(self.path(), ENTRIES))? != self.place)
    }

    /// Appends a `fork` entry if the log lies elsewhere than its `place` says, and records where it lies now. `parent`:
    /// the log as it was found, before anything was recovered. The caller holds the lock.
    pub(super) fn settle(&mut self, parent: Checkpoint) -> Result<(), Error> {
        let (place, file) = (disk::identity(&at(self.path(), ENTRIES))?, at(self.path(), PLACE));
        let here = place.clone().unwrap_or_default() + "\n";
        let recorded = disk::read_from(&file, 0)?;
        if recorded.as_deref() != Some(here.as_bytes()) {
            // First the entry: interrupted here, the next session forks once more, which is harmless; the other way
            // round two logs would have one origin.
            if parent.size > 0 {
                self.write_own(Kind::Fork, Fork::body(&parent, &new_origin()?))?;
            }
            disk::place(self.path(), &file, here.as_bytes())?;
        }
        self.place = place;
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::disk::injected::{self, Mode};
    use crate::verify::verify;

    /// Each step of a fork is failed: no session ever writes on under the parent's origin.
    #[test]
    fn an_interrupted_fork_never_keeps_the_origin_of_its_parent() {
        for mode in [Mode::Nothing, Mode::Half, Mode::All] {
            for step in 0.. {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("d.fascicolo");
                let parent = Dossier::open(&path, "s").unwrap().origin().to_owned();
                let log = at(&path, ENTRIES);
                std::fs::copy(&log, folder.path().join("copy")).unwrap();
                std::fs::rename(folder.path().join("copy"), &log).unwrap();
                injected::fail_after(step, mode);
                let first = Dossier::open(&path, "s").map(drop);
                let done = injected::clear();
                assert_eq!(first.is_ok(), done, "step {step} {mode:?}");
                let mut dossier = Dossier::open(&path, "s").unwrap();
                assert_ne!(dossier.origin(), parent, "step {step} {mode:?}");
                dossier.write_checkpoint().unwrap();
                let found = verify(&path).unwrap();
                assert!(found.integrity && found.origin.as_deref() == Some(dossier.origin()), "{found:?}");
                if done {
                    break;
                }
            }
        }
    }
}
