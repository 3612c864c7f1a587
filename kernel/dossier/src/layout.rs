//! Where things lie in a dossier's folder.

use std::path::{Path, PathBuf};

pub(crate) const ENTRIES: &str = "entries.jsonl";
pub(crate) const CHECKPOINT: &str = "checkpoint";
pub(crate) const DISCLOSURES: &str = "disclosures";
pub(crate) const VALUES: &str = "disclosures/values.jsonl";
pub(crate) const BLOBS: &str = "blobs";
pub(crate) const CONTENT: &str = "blobs/sha256";
pub(crate) const TEMPORARY: &str = "blobs/tmp";
pub(crate) const QUARANTINE: &str = "quarantine";
pub(crate) const SIGNATURES: &str = "signatures";
pub(crate) const PARENTS: &str = "parents";
pub(crate) const PLACE: &str = "place";
pub(crate) const LOCK: &str = "lock";

/// The folders of a dossier, parents first.
pub(crate) const FOLDERS: [&str; 6] = [BLOBS, CONTENT, TEMPORARY, DISCLOSURES, SIGNATURES, QUARANTINE];

/// True for the names that a dossier's folder holds.
pub(crate) fn is_own(name: &str) -> bool {
    [ENTRIES, CHECKPOINT, PLACE, LOCK, BLOBS, DISCLOSURES, SIGNATURES, QUARANTINE, PARENTS].contains(&name)
}

/// The place of a blob below the dossier's folder, with `/` on every platform. `digest`: 64 hexadecimal digits.
pub(crate) fn blob_name(digest: &str) -> String {
    format!("{CONTENT}/{}/{digest}", digest.get(..2).unwrap_or_default())
}

/// Joins a name of this module to the dossier's folder.
pub(crate) fn at(dossier: &Path, name: &str) -> PathBuf {
    name.split('/').fold(dossier.to_path_buf(), |path, part| path.join(part))
}
