//! Unpacking a zip of unknown origin: everything is checked by the zip's own directory before the first byte is
//! written, and what unpacks must then be what the directory said.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use zip::{CompressionMethod, ZipArchive};

use super::directory::{self, Unread};
use super::error::{BundleError, NameProblem};
use super::names::Names;

/// How much a bundle may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most files and folders.
    pub entries: u64,
    /// Most bytes of all files together, unpacked.
    pub total_bytes: u64,
    /// How many times its size in the zip a file may unpack to; files of up to 1 MiB may grow more.
    pub ratio: u64,
}

impl Default for Limits {
    /// 200,000 entries, 64 GiB, 200 times.
    fn default() -> Self {
        Limits { entries: 200_000, total_bytes: 64 << 30, ratio: 200 }
    }
}

/// Largest file, in bytes unpacked, that may grow beyond the ratio: short repetitive texts do.
pub(super) const SMALL_BYTES: u64 = 1 << 20;

/// Bits of the flags of an encrypted entry: encrypted, strongly so, with a masked header.
const ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;

/// Bit of the flags that says that the name is in UTF-8.
const UTF_8: u16 = 1 << 11;

/// File type bits of a Unix mode.
const TYPE: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const FOLDER: u32 = 0o040_000;
const LINK: u32 = 0o120_000;

/// Unpacks into the empty folder `into`. Returns the name of the one folder that it holds then.
pub(super) fn extract(zip: &Path, into: &Path, limits: &Limits) -> Result<String, BundleError> {
    must_be_empty(into)?;
    let mut file = File::open(zip).map_err(BundleError::io("open", zip))?;
    let malformed = |what: String| BundleError::NotAZip { path: zip.to_path_buf(), what };
    let listed = directory::read(&mut file, limits.entries).map_err(|unread| match unread {
        Unread::Io(source) => BundleError::io("read", zip)(source),
        Unread::Malformed(what) => malformed(what.to_owned()),
        Unread::TooMany(entries) => BundleError::TooManyEntries { entries, limit: limits.entries },
    })?;
    let names = listed.entries.iter().map(|entry| String::from_utf8(entry.name.clone()));
    let names = names.collect::<Result<Vec<String>, _>>().map_err(|e| bad_encoding(e.as_bytes()))?;
    let root = check_names(&names)?;
    for (name, entry) in names.iter().zip(&listed.entries) {
        // Without that bit other programs read the name in another encoding.
        if !name.is_ascii() && entry.flags & UTF_8 == 0 {
            return Err(bad_encoding(name.as_bytes()));
        }
        if entry.flags & ENCRYPTED != 0 {
            return Err(BundleError::Encrypted { entry: name.clone() });
        }
        if ![0, 8].contains(&entry.method) {
            return Err(BundleError::Unsupported { entry: name.clone(), method: entry.method });
        }
    }
    let mut archive = ZipArchive::new(file).map_err(|e| malformed(e.to_string()))?;
    if archive.offset() != 0 || archive.central_directory_start() != listed.start || archive.len() != names.len() {
        return Err(malformed("it can be read in two ways".to_owned()));
    }
    check_entries(&archive, &names, limits)
        .map_err(|e| e.unwrap_or_else(|| malformed("its directory can be read in two ways".to_owned())))?;
    archive.validate_header_consistency().map_err(|e| malformed(e.to_string()))?;
    for (index, name) in names.iter().enumerate() {
        unpack(&mut archive, index, name, into)?;
    }
    Ok(root)
}

/// Every name is safe and there once, and all stand in one folder, which is returned.
fn check_names(names: &[String]) -> Result<String, BundleError> {
    let root = names.first().and_then(|name| name.split('/').next()).unwrap_or_default().to_owned();
    let mut seen = Names::default();
    let mut folders = std::collections::HashSet::new();
    for name in names {
        match name.strip_suffix('/') {
            Some(folder) if !folders.insert(folder) => {
                return Err(BundleError::Name { name: name.clone(), problem: NameProblem::Duplicate });
            }
            Some(folder) => seen.add_folder(folder)?,
            None => seen.add_file(name)?,
        }
    }
    let inside = |name: &String| name.strip_prefix(&root).is_some_and(|rest| rest.starts_with('/'));
    match names.iter().find(|name| !inside(name)) {
        Some(entry) => Err(BundleError::Outside { entry: entry.clone(), folder: root }),
        None => Ok(root),
    }
}

/// Types and sizes. An error of `None` says that the zip reader sees other entries than the directory lists.
fn check_entries(archive: &ZipArchive<File>, names: &[String], limits: &Limits) -> Result<(), Option<BundleError>> {
    let mut total: u64 = 0;
    for (index, name) in names.iter().enumerate() {
        let entry = archive.by_index_data(index).map_err(|_| None)?;
        if entry.name_raw() != name.as_bytes() {
            return Err(None);
        }
        if entry.name().ok().as_deref() != Some(name.as_str()) {
            return Err(Some(bad_encoding(name.as_bytes())));
        }
        let mode = entry.unix_mode().map_or(0, |mode| mode & TYPE);
        let (packed, bytes) = (entry.compressed_size(), entry.size());
        let folder = name.ends_with('/');
        if entry.is_symlink() || mode == LINK {
            return Err(Some(BundleError::Link { entry: name.clone() }));
        }
        if ![0, if folder { FOLDER } else { REGULAR }].contains(&mode) || (folder && bytes > 0) {
            return Err(Some(BundleError::Special { entry: name.clone() }));
        }
        if !matches!(entry.compression(), CompressionMethod::Stored | CompressionMethod::Deflated) {
            return Err(None);
        }
        if bytes > SMALL_BYTES && bytes / packed.max(1) > limits.ratio {
            return Err(Some(BundleError::Ratio { entry: name.clone(), packed, bytes, limit: limits.ratio }));
        }
        total = total.saturating_add(bytes);
        if total > limits.total_bytes {
            let limit = limits.total_bytes;
            return Err(Some(BundleError::TooLarge { entry: name.clone(), bytes: total, limit }));
        }
    }
    Ok(())
}

fn unpack(archive: &mut ZipArchive<File>, index: usize, name: &str, into: &Path) -> Result<(), BundleError> {
    // The name is known to be relative and without `..`; nothing below `into` is a link, as none was made.
    let target = name.split('/').filter(|part| !part.is_empty()).fold(into.to_path_buf(), |path, part| path.join(part));
    if name.ends_with('/') {
        return fs::create_dir_all(&target).map_err(BundleError::io("create the folder", &target));
    }
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent).map_err(BundleError::io("create the folder", parent))?;
    }
    let mut file =
        OpenOptions::new().write(true).create_new(true).open(&target).map_err(BundleError::io("create", &target))?;
    let bad = |bytes: u64| move |source: io::Error| BundleError::BadContent { entry: name.to_owned(), bytes, source };
    let mut entry = archive.by_index(index).map_err(|e| bad(0)(io::Error::other(e)))?;
    let bytes = entry.size();
    let mut block = vec![0; 1 << 16];
    let mut left = bytes;
    loop {
        let n = entry.read(&mut block).map_err(bad(bytes))?;
        if n == 0 {
            break;
        }
        left = left
            .checked_sub(n as u64)
            .ok_or_else(|| bad(bytes)(io::Error::new(io::ErrorKind::InvalidData, "it holds more")))?;
        io::Write::write_all(&mut file, &block[..n]).map_err(BundleError::io("write", &target))?;
    }
    if left > 0 {
        return Err(bad(bytes)(io::Error::new(io::ErrorKind::UnexpectedEof, format!("{left} bytes are missing"))));
    }
    Ok(())
}

fn must_be_empty(into: &Path) -> Result<(), BundleError> {
    match fs::read_dir(into) {
        Ok(mut items) => match items.next() {
            None => Ok(()),
            Some(_) => Err(BundleError::NotEmpty { path: into.to_path_buf() }),
        },
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(into).map_err(BundleError::io("create the folder", into))
        }
        Err(e) if e.kind() == io::ErrorKind::NotADirectory => Err(BundleError::NotEmpty { path: into.to_path_buf() }),
        Err(e) => Err(BundleError::io("list", into)(e)),
    }
}

fn bad_encoding(name: &[u8]) -> BundleError {
    BundleError::Name { name: String::from_utf8_lossy(name).into_owned(), problem: NameProblem::Encoding }
}
