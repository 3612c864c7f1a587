//! The digest of a file's bytes. That of what they mean is in `content`.

use std::fmt::Write;
use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::files::{failed, open_file};
use crate::{Error, Watch};

/// Bytes read at a time.
const BLOCK: usize = 1 << 20;

/// SHA-256 of one file as 64 lower-case hexadecimal digits, and the number of bytes that were read for it. Streamed:
/// memory does not grow with the file. For a folder of parts, take the digest of each of [`crate::files_of`].
///
/// # Errors
/// [`Error::Missing`], [`Error::Unreadable`], [`Error::NotAFile`] (a folder too), [`Error::Interrupted`].
pub fn file_digest(path: &Path, watch: &dyn Watch) -> Result<(String, u64), Error> {
    let (mut file, total) = open_file(path)?;
    let mut hash = Sha256::new();
    let mut block = vec![0; BLOCK];
    let mut done = 0;
    loop {
        if watch.interrupted() {
            return Err(Error::Interrupted { done, total });
        }
        let read = match file.read(&mut block) {
            Ok(0) => break,
            Ok(read) => read,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(failed(path, e)),
        };
        hash.update(&block[..read]);
        done += read as u64;
        watch.progress(done, total.max(done));
    }
    Ok((hexadecimal(&hash.finalize()), done))
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut hex, byte| {
        // Writing to a String cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
