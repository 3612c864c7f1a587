//! Where the bytes of the files of a bag come from, and what they hash to; in constant memory but for the hash tree
//! of the log.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::tiles::{self, WIDTH};
use crate::record::LEAF_BYTES;
use crate::tree::{Frontier, Hash, leaf_hash, sha256};

/// Where a file's bytes come from.
pub(super) enum Content {
    Memory(Vec<u8>),
    File(PathBuf),
    /// A run of lines of `entries.jsonl`, as an entry bundle.
    Entries {
        /// The file.
        path: PathBuf,
        /// Where its first line begins.
        at: u64,
        /// Bytes of its lines, newlines included.
        bytes: u64,
    },
}

/// A file of the bag.
pub(super) struct Planned {
    /// Its path in the bag.
    pub(super) path: String,
    pub(super) content: Content,
    pub(super) sha256: Hash,
    pub(super) bytes: u64,
}

impl Planned {
    /// A file whose bytes are at hand.
    pub(super) fn of_bytes(path: String, content: Vec<u8>) -> Self {
        let (sha256, bytes) = (sha256(&content), content.len() as u64);
        Planned { path, content: Content::Memory(content), sha256, bytes }
    }

    /// A file on disk; reads it once.
    pub(super) fn of_file(path: String, source: PathBuf) -> io::Result<Self> {
        let (sha256, bytes) = digest(File::open(&source)?)?;
        Ok(Planned { path, content: Content::File(source), sha256, bytes })
    }

    /// The bytes, once more.
    pub(super) fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        match &self.content {
            Content::Memory(bytes) => Ok(Box::new(Cursor::new(bytes))),
            Content::File(path) => Ok(Box::new(File::open(path)?)),
            Content::Entries { path, at, bytes } => {
                let mut file = File::open(path)?;
                file.seek(SeekFrom::Start(*at))?;
                let mut lines = Vec::new();
                file.take(*bytes).read_to_end(&mut lines)?;
                let mut bundle = Vec::with_capacity(lines.len() + 2 * WIDTH);
                for line in lines.split_inclusive(|b| *b == b'\n') {
                    // A line that changed since it was hashed shows in the bundle's digest.
                    tiles::frame(line.strip_suffix(b"\n").unwrap_or(line), &mut bundle);
                }
                Ok(Box::new(Cursor::new(bundle)))
            }
        }
    }
}

/// SHA-256 and length of what a reader gives.
pub(super) fn digest(mut reader: impl Read) -> io::Result<(Hash, u64)> {
    let (mut hasher, mut length, mut block) = (Sha256::new(), 0, vec![0; 1 << 16]);
    loop {
        let n = reader.read(&mut block)?;
        if n == 0 {
            return Ok((hasher.finalize().into(), length));
        }
        hasher.update(&block[..n]);
        length += n as u64;
    }
}

/// A log as its lines stand.
pub(super) struct Log {
    /// Number of complete lines.
    pub(super) size: u64,
    /// RFC 6962 root over them.
    pub(super) root: Hash,
    /// Hash tiles and entry bundles over them, by their paths below the log's prefix; not sorted.
    pub(super) files: Vec<Planned>,
}

/// Reads `entries.jsonl` once. An inner error says why it is no log: a line is too long or has no end.
pub(super) fn scan(path: &Path) -> io::Result<Result<Log, String>> {
    let mut lines = BufReader::with_capacity(1 << 16, File::open(path)?);
    let (mut leaves, mut frontier, mut files) = (Vec::new(), Frontier::default(), Vec::new());
    let (mut line, mut bundle, mut in_bundle) = (Vec::new(), Vec::new(), 0);
    let (mut at, mut next) = (0, 0);
    let mut close = |bundle: &mut Vec<u8>, width: usize, at: u64, next: u64| {
        let content = Content::Entries { path: path.to_path_buf(), at, bytes: next - at };
        let name = tiles::bundle_path((files.len()) as u64, width);
        files.push(Planned { path: name, content, sha256: sha256(bundle), bytes: bundle.len() as u64 });
        bundle.clear();
    };
    loop {
        line.clear();
        let read = (&mut lines).take(LEAF_BYTES as u64 + 1).read_until(b'\n', &mut line)?;
        if read == 0 {
            break;
        }
        let Some(leaf) = line.strip_suffix(b"\n").filter(|leaf| tiles::frame(leaf, &mut bundle)) else {
            let why = if read > LEAF_BYTES { "is longer than a leaf may be" } else { "has no end" };
            return Ok(Err(format!("the line of entry {} {why}", leaves.len())));
        };
        let hash = leaf_hash(leaf);
        frontier.push(hash);
        leaves.push(hash);
        in_bundle += 1;
        next += read as u64;
        if in_bundle == WIDTH {
            close(&mut bundle, in_bundle, at, next);
            (at, in_bundle) = (next, 0);
        }
    }
    if in_bundle > 0 {
        close(&mut bundle, in_bundle, at, next);
    }
    let size = frontier.size();
    files.extend(tiles::hash_tiles(leaves).into_iter().map(|tile| Planned::of_bytes(tile.path, tile.bytes)));
    Ok(Ok(Log { size, root: frontier.root(), files }))
}
