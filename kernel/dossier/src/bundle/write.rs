//! Writing a bundle: plan and hash everything, then write it in one pass that hashes it again.

use std::cell::Cell;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use sha2::{Digest, Sha256};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, System, ZipWriter};

use super::bag::{self, PAYLOAD};
use super::error::{BundleError, NameProblem};
use super::extract::SMALL_BYTES;
use super::names::{self, Names};
use super::plan::{self, Planned};
use crate::checkpoint::Checkpoint;
use crate::disk;
use crate::error::Error;
use crate::layout::{BLOBS, CHECKPOINT, CONTENT, DISCLOSURES, ENTRIES, PARENTS, SIGNATURES, at};
use crate::tree::{Hash, to_hex};

/// The folder of the tiles, below `data/`.
pub(super) const LOG: &str = "log";

/// What one case is made of.
#[derive(Debug, Clone, Default)]
pub struct Case {
    /// Name of the bundle's one folder, e.g. that of the notebook.
    pub name: String,
    /// The dossier; it stands in the bundle under its folder's name.
    pub dossier: PathBuf,
    /// Files beside it.
    pub files: Vec<CaseFile>,
    /// Labels and values of `bag-info.txt`, in order, e.g. `Bagging-Date`; a line each.
    pub info: Vec<(String, String)>,
}

/// A file beside the dossier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseFile {
    /// Its path below `data/`, with `/` between the parts.
    pub path: String,
    /// Where its bytes are.
    pub source: Source,
}

/// Where the bytes of a file are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Here.
    Bytes(Vec<u8>),
    /// In a regular file, which is never held in memory.
    File(PathBuf),
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Bytes of the zip.
    pub bytes: u64,
    /// SHA-256 of the zip, 64 hexadecimal digits.
    pub sha256: String,
    /// Files below `data/`.
    pub payload_files: usize,
    /// Bytes of them, unpacked.
    pub payload_bytes: u64,
    /// Entries of the log.
    pub entries: u64,
    /// RFC 6962 root over them, 64 hexadecimal digits.
    pub root: String,
}

/// Writes a case as a zip. The same case gives the same bytes, on every machine. A file at `out` is replaced only by a
/// whole bundle. Takes no lock and does not change the dossier: write a checkpoint before, and let no session append
/// meanwhile.
///
/// Memory: 64 bytes per entry of the log, the tiles, and 32 MiB at most besides, whatever the size of the files.
/// # Errors
/// [`BundleError::NotCovered`] if the checkpoint is not one over all entries; [`BundleError::Name`],
/// [`BundleError::LinkedSource`], [`BundleError::NotAFile`], [`BundleError::BadInfo`] for what no bundle may hold;
/// [`BundleError::SourceChanged`]; [`BundleError::Dossier`] if there is no dossier; [`BundleError::Io`],
/// [`BundleError::Zip`].
pub fn write(out: &Path, case: &Case) -> Result<Written, BundleError> {
    names::check(&case.name)?;
    if case.name.contains('/') {
        return Err(BundleError::Name { name: case.name.clone(), problem: NameProblem::NotPortable("it is a path") });
    }
    let dossier = case.dossier.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    names::check(&dossier)?;

    let (mut files, log) = plan_log(&case.dossier)?;
    let (entries, root) = (log.size, to_hex(&log.root));
    files.extend(plan_dossier(&case.dossier, &dossier)?);
    files.extend(plan_files(&case.files, &[&dossier, LOG])?);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let (payload_files, payload_bytes) = (files.len(), files.iter().map(|f| f.bytes).sum());

    let info = bag::info(&case.info, &dossier, payload_bytes, payload_files)?;
    let manifest = bag::manifest(files.iter().map(|f| (&f.sha256, f.path.as_str())));
    let mut tags: Vec<Planned> =
        [(bag::INFO, info), (bag::BAGIT, bag::DECLARATION.to_owned()), (bag::MANIFEST, manifest)]
            .into_iter()
            .map(|(name, text)| Planned::of_bytes(name.to_owned(), text.into_bytes()))
            .collect();
    let of_tags = bag::manifest(tags.iter().map(|f| (&f.sha256, f.path.as_str())));
    tags.push(Planned::of_bytes(bag::TAGS.to_owned(), of_tags.into_bytes()));
    files.extend(tags);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let mut seen = Names::default();
    for file in &files {
        seen.add_file(&format!("{}/{}", case.name, file.path))?;
    }

    let temporary = Temporary::beside(out)?;
    write_zip(&temporary.path, &case.name, &files)?;
    let digest = File::open(&temporary.path).and_then(plan::digest);
    let (sha256, bytes) = digest.map_err(BundleError::io("read", &temporary.path))?;
    fs::rename(&temporary.path, out).map_err(BundleError::io("put the bundle in place as", out))?;
    disk::sync_parent(out)?;
    Ok(Written { bytes, sha256: to_hex(&sha256), payload_files, payload_bytes, entries, root })
}

/// The tiles, after comparing log and checkpoint.
fn plan_log(dossier: &Path) -> Result<(Vec<Planned>, plan::Log), BundleError> {
    let entries = at(dossier, ENTRIES);
    if !entries.is_file() {
        let path = dossier.to_path_buf();
        return Err(Error::NotADossier { path, why: "it has no entries.jsonl" }.into());
    }
    let uncovered = |what: String| BundleError::NotCovered { path: dossier.to_path_buf(), what };
    let mut log = plan::scan(&entries).map_err(BundleError::io("read", &entries))?.map_err(uncovered)?;
    let path = at(dossier, CHECKPOINT);
    let text = disk::read_from(&path, 0)?.ok_or_else(|| uncovered("there is none".to_owned()))?;
    let checkpoint = Checkpoint::parse(&text).ok_or_else(|| uncovered("it cannot be read".to_owned()))?;
    if checkpoint.size != log.size || log.size == 0 {
        return Err(uncovered(format!("it covers {} of {} entries", checkpoint.size, log.size)));
    }
    if checkpoint.root != log.root {
        return Err(uncovered("the entries have another root".to_owned()));
    }
    let mut files = std::mem::take(&mut log.files);
    files.push(Planned::of_bytes(CHECKPOINT.to_owned(), text));
    for file in &mut files {
        file.path = format!("{PAYLOAD}/{LOG}/{}", file.path);
    }
    Ok((files, log))
}

/// The files of the dossier that are evidence.
fn plan_dossier(dossier: &Path, name: &str) -> Result<Vec<Planned>, BundleError> {
    let mut found = vec![ENTRIES.to_owned(), CHECKPOINT.to_owned()];
    is_folder(&at(dossier, BLOBS))?;
    for folder in [CONTENT, DISCLOSURES, SIGNATURES, PARENTS] {
        collect(dossier, folder, &mut found)?;
    }
    found.into_iter().map(|path| source(&at(dossier, &path), format!("{PAYLOAD}/{name}/{path}"))).collect()
}

/// Adds all files below a folder of the dossier, by their paths there.
fn collect(dossier: &Path, folder: &str, found: &mut Vec<String>) -> Result<(), BundleError> {
    let path = at(dossier, folder);
    if !is_folder(&path)? {
        return Ok(());
    }
    for item in fs::read_dir(&path).map_err(BundleError::io("list", &path))? {
        let item = item.map_err(BundleError::io("list", &path))?;
        let Ok(name) = item.file_name().into_string() else {
            let name = item.path().to_string_lossy().into_owned();
            return Err(BundleError::Name { name, problem: NameProblem::Encoding });
        };
        let name = format!("{folder}/{name}");
        if item.file_type().map_err(BundleError::io("look at", &item.path()))?.is_dir() {
            collect(dossier, &name, found)?;
        } else {
            found.push(name);
        }
    }
    Ok(())
}

/// True for a folder, false if nothing is there.
fn is_folder(path: &Path) -> Result<bool, BundleError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => Ok(true),
        Ok(metadata) if metadata.is_symlink() => Err(BundleError::LinkedSource { path: path.to_path_buf() }),
        Ok(_) => Err(BundleError::NotAFile { path: path.to_path_buf() }),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(BundleError::io("look at", path)(e)),
    }
}

fn plan_files(files: &[CaseFile], reserved: &[&str]) -> Result<Vec<Planned>, BundleError> {
    let plan = |file: &CaseFile| {
        names::check(&file.path)?;
        let top = file.path.split('/').next().unwrap_or_default().to_lowercase();
        if let Some(folder) = reserved.iter().find(|folder| folder.to_lowercase() == top) {
            let problem = NameProblem::Reserved { folder: (*folder).to_owned() };
            return Err(BundleError::Name { name: file.path.clone(), problem });
        }
        let path = format!("{PAYLOAD}/{}", file.path);
        match &file.source {
            Source::Bytes(bytes) => Ok(Planned::of_bytes(path, bytes.clone())),
            Source::File(from) => source(from, path),
        }
    };
    files.iter().map(plan).collect()
}

/// A regular file on disk.
fn source(from: &Path, path: String) -> Result<Planned, BundleError> {
    let metadata = fs::symlink_metadata(from).map_err(BundleError::io("look at", from))?;
    if metadata.is_symlink() {
        return Err(BundleError::LinkedSource { path: from.to_path_buf() });
    }
    if !metadata.is_file() {
        return Err(BundleError::NotAFile { path: from.to_path_buf() });
    }
    Planned::of_file(path, from.to_path_buf()).map_err(BundleError::io("read", from))
}

/// Larger files get the 64-bit form; below 4 GiB, as deflate can add a little.
const LARGE_BYTES: u64 = 0xf000_0000;

/// A file that shrinks to less than one in so many is stored plainly, so that the limit of [`super::read`] against
/// bombs never meets an honest bundle.
const WRITTEN_RATIO: u64 = 100;

fn write_zip(path: &Path, name: &str, files: &[Planned]) -> Result<(), BundleError> {
    let failed = |source: ZipError| BundleError::Zip { path: path.to_path_buf(), source };
    let file = OpenOptions::new().write(true).read(true).truncate(true).open(path);
    let written = Rc::new(Cell::new(0));
    let counted = Counted { file: file.map_err(BundleError::io("open", path))?, written: Rc::clone(&written) };
    let mut zip = ZipWriter::new(counted);
    // Nothing of the machine, the day or the user, so that the same case gives the same bytes.
    let options = SimpleFileOptions::default()
        .system(System::Unix)
        .unix_permissions(0o644)
        .last_modified_time(DateTime::default());
    for planned in files {
        let options = options.large_file(planned.bytes >= LARGE_BYTES);
        let entry = format!("{name}/{}", planned.path);
        let before = written.get();
        zip.start_file(&entry, options.compression_method(CompressionMethod::Deflated).compression_level(Some(6)))
            .map_err(failed)?;
        copy(planned, &mut zip, path)?;
        // What the encoder still holds back is far less than what such a file is measured by.
        let packed = written.get() - before;
        if planned.bytes > SMALL_BYTES && planned.bytes / packed.max(1) > WRITTEN_RATIO {
            zip.abort_file().map_err(failed)?;
            zip.start_file(&entry, options.compression_method(CompressionMethod::Stored)).map_err(failed)?;
            copy(planned, &mut zip, path)?;
        }
    }
    let Counted { file, .. } = zip.finish().map_err(failed)?;
    file.sync_all().map_err(BundleError::io("make durable", path))
}

/// Writes a file's bytes, and compares them with what was hashed before.
fn copy(planned: &Planned, zip: &mut impl Write, path: &Path) -> Result<(), BundleError> {
    let reading = |e| BundleError::io("read", Path::new(&planned.path))(e);
    let mut reader = planned.open().map_err(reading)?;
    let (mut hasher, mut block) = (Sha256::new(), vec![0; 1 << 16]);
    // A file that grows all the time must not fill the disk.
    let mut left = planned.bytes;
    loop {
        let n = reader.read(&mut block).map_err(reading)?;
        let Some(rest) = left.checked_sub(n as u64) else { break };
        if n == 0 {
            break;
        }
        left = rest;
        hasher.update(&block[..n]);
        zip.write_all(&block[..n]).map_err(BundleError::io("write", path))?;
    }
    let hash: Hash = hasher.finalize().into();
    let whole = left == 0 && hash == planned.sha256 && reader.read(&mut block).map_err(reading)? == 0;
    if whole { Ok(()) } else { Err(BundleError::SourceChanged { name: planned.path.clone() }) }
}

/// A file that counts the bytes that pass to it.
struct Counted {
    file: File,
    written: Rc<Cell<u64>>,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.file.write(bytes)?;
        self.written.set(self.written.get() + n as u64);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Read for Counted {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.file.read(bytes)
    }
}

impl Seek for Counted {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// A file that is removed unless it was renamed.
struct Temporary {
    path: PathBuf,
}

impl Temporary {
    /// An empty file in the folder of `out`.
    fn beside(out: &Path) -> Result<Self, BundleError> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(Error::NoRandomness)?;
        let name = out.file_name().unwrap_or_default().to_string_lossy();
        let path = out.with_file_name(format!(".{name}.{}.tmp", to_hex(&random)));
        let created = OpenOptions::new().write(true).create_new(true).open(&path);
        created.map_err(BundleError::io("create", &path))?;
        Ok(Temporary { path })
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After the rename there is nothing of this name.
        let _ = fs::remove_file(&self.path);
    }
}
