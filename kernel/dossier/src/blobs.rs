//! Contents named by their SHA-256.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::disk;
use crate::error::Error;
use crate::layout::{CONTENT, at, blob_name};
use crate::tree::{Hash, from_hex, to_hex};

/// Stores `content` under `digest`, its SHA-256, and makes it durable. One that is there already is checked instead.
pub(crate) fn store(dossier: &Path, digest: &str, content: &[u8]) -> Result<(), Error> {
    let target = at(dossier, &blob_name(digest));
    match read(dossier, digest) {
        // Whoever put it there may have died before its name was durable: the folders are synced all the same.
        Ok(_) => disk::sync_parent(&target)?,
        Err(Error::BlobLost { what: MISSING, .. }) => {
            if let Some(folder) = target.parent() {
                disk::create_folder(folder)?;
            }
            disk::place(dossier, &target, content)?;
        }
        Err(other) => return Err(other),
    }
    disk::sync_folder(&at(dossier, CONTENT))
}

/// Gives a blob back after comparing its content with its name.
pub(crate) fn read(dossier: &Path, digest: &str) -> Result<Vec<u8>, Error> {
    let lost = |what| Error::BlobLost { digest: digest.to_owned(), what };
    let name = from_hex(digest).ok_or_else(|| lost("is not named by a SHA-256"))?;
    let content = disk::read_from(&at(dossier, &blob_name(digest)), 0)?.ok_or_else(|| lost(MISSING))?;
    if crate::tree::sha256(&content) == name { Ok(content) } else { Err(lost("is not what its name says")) }
}

/// Removes a blob, durably; one that is gone already counts as removed.
pub(crate) fn remove(dossier: &Path, digest: &str) -> Result<(), Error> {
    let path = at(dossier, &blob_name(digest));
    disk::remove(&path)?;
    disk::sync_parent(&path)
}

/// Digest and length of a file, in constant memory; `None` if it is not there.
pub(crate) fn digest_of_file(path: &Path) -> Result<Option<(String, u64)>, Error> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(disk::io_error("open", path)(e)),
    };
    let (mut hasher, mut length, mut block) = (Sha256::new(), 0, vec![0; 1 << 16]);
    loop {
        let n = file.read(&mut block).map_err(disk::io_error("read", path))?;
        if n == 0 {
            break;
        }
        hasher.update(&block[..n]);
        length += n as u64;
    }
    let hash: Hash = hasher.finalize().into();
    Ok(Some((to_hex(&hash), length)))
}

const MISSING: &str = "is missing";
