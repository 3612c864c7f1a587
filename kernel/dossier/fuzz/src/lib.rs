//! What the fuzz targets share: the files of a valid dossier, edits of them, and the folder that they are written to.
//!
//! The valid dossier stands in `template/`, so that an input means the same in every run; `examples/template.rs` made
//! it, and `examples/seeds.rs` makes the first inputs from it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use arbitrary::Arbitrary;
use fascicolo_dossier::{Checkpoint, Frontier, leaf_hash, sha256, to_hex};

/// Files by their paths below a folder, with `/` between the parts.
pub type Files = BTreeMap<String, Vec<u8>>;

/// The valid dossier: entries of most kinds, disclosures, blobs, a quarantined tail, two signatures and a note.
pub fn template() -> Files {
    let mut files = Files::new();
    collect(&template_folder(), "", &mut files);
    files
}

/// Where it stands.
pub fn template_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("template")
}

/// Adds all files below a folder.
pub fn collect(folder: &Path, below: &str, files: &mut Files) {
    let items = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for item in items {
        let item = item.unwrap();
        let name = format!("{below}{}", item.file_name().to_string_lossy());
        if item.path().is_dir() {
            collect(&item.path(), &format!("{name}/"), files);
        } else {
            files.insert(name, fs::read(item.path()).unwrap());
        }
    }
}

/// A folder in memory where the system has one.
pub fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.unwrap()
}

/// Makes a folder hold these files and nothing else.
pub fn write(folder: &Path, files: &Files) {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).unwrap();
    for (name, content) in files {
        let path = folder.join(name);
        // A name can be a file's and a folder's at once; then the first one stands.
        if path.parent().is_some_and(|parent| fs::create_dir_all(parent).is_ok()) {
            let _ = fs::write(path, content);
        }
    }
}

/// One change. Places and numbers are taken modulo what there is.
#[derive(Debug, Clone, Arbitrary)]
pub enum Edit {
    /// Changes bits of a byte.
    Xor { file: u8, at: u16, with: u8 },
    /// Inserts bytes.
    Insert { file: u8, at: u16, bytes: Vec<u8> },
    /// Removes bytes.
    Delete { file: u8, at: u16, bytes: u8 },
    /// Puts bytes in place of others.
    Overwrite { file: u8, at: u16, bytes: Vec<u8> },
    /// Inserts what stands elsewhere.
    Splice { file: u8, at: u16, from: u8, begin: u16, bytes: u8 },
    /// Cuts a file.
    Cut { file: u8, at: u16 },
    /// Removes a file.
    Remove { file: u8 },
    /// Copies a file over another one.
    Copy { file: u8, from: u8 },
    /// Swaps two lines.
    SwapLines { file: u8, one: u8, other: u8 },
    /// Repeats a line elsewhere.
    RepeatLine { file: u8, line: u8, at: u8 },
    /// Removes a line.
    DeleteLine { file: u8, line: u8 },
    /// Puts another number in place of the n-th one.
    Number { file: u8, nth: u8, number: u64 },
    /// Puts a text between the n-th pair of quotes.
    Text { file: u8, nth: u8, text: String },
    /// Puts one quoted text in place of another, e.g. a field's name, a digest or a kind.
    Swap { file: u8, nth: u8, from: u8, with: u8 },
}

/// Applies edits to files.
pub fn apply(files: &mut Files, edits: &[Edit]) {
    for edit in edits {
        one(files, edit);
    }
}

/// Largest file that edits make.
const LARGEST: usize = 1 << 18;

fn one(files: &mut Files, edit: &Edit) {
    let names: Vec<String> = files.keys().cloned().collect();
    if names.is_empty() {
        return;
    }
    let name = |n: u8| names[usize::from(n) % names.len()].clone();
    let of = |files: &Files, n: u8| files[&name(n)].clone();
    let changed = match edit {
        Edit::Remove { file } => {
            files.remove(&name(*file));
            return;
        }
        Edit::Copy { file, from } => (*file, of(files, *from)),
        Edit::Xor { file, at, with } => {
            let mut bytes = of(files, *file);
            if !bytes.is_empty() {
                let at = usize::from(*at) % bytes.len();
                bytes[at] ^= with;
            }
            (*file, bytes)
        }
        Edit::Insert { file, at, bytes } => (*file, replaced(of(files, *file), *at, 0, bytes)),
        Edit::Delete { file, at, bytes } => (*file, replaced(of(files, *file), *at, usize::from(*bytes), &[])),
        Edit::Overwrite { file, at, bytes } => (*file, replaced(of(files, *file), *at, bytes.len(), bytes)),
        Edit::Splice { file, at, from, begin, bytes } => {
            let source = of(files, *from);
            let begin = usize::from(*begin) % (source.len() + 1);
            let end = source.len().min(begin + usize::from(*bytes));
            (*file, replaced(of(files, *file), *at, 0, &source[begin..end]))
        }
        Edit::Cut { file, at } => {
            let mut bytes = of(files, *file);
            bytes.truncate(usize::from(*at) % (bytes.len() + 1));
            (*file, bytes)
        }
        Edit::SwapLines { file, one, other } => (
            *file,
            lines(&of(files, *file), |lines| {
                let count = lines.len();
                lines.swap(usize::from(*one) % count, usize::from(*other) % count);
            }),
        ),
        Edit::RepeatLine { file, line, at } => (
            *file,
            lines(&of(files, *file), |lines| {
                let line = lines[usize::from(*line) % lines.len()];
                lines.insert(usize::from(*at) % (lines.len() + 1), line);
            }),
        ),
        Edit::DeleteLine { file, line } => (
            *file,
            lines(&of(files, *file), |lines| {
                lines.remove(usize::from(*line) % lines.len());
            }),
        ),
        Edit::Number { file, nth, number } => {
            let bytes = of(files, *file);
            let places = runs(&bytes, |b| b.is_ascii_digit());
            (*file, put(bytes, &places, *nth, number.to_string().as_bytes()))
        }
        Edit::Text { file, nth, text } => {
            let bytes = of(files, *file);
            let places = texts(&bytes);
            let escaped: Vec<u8> = text.bytes().filter(|b| !matches!(b, b'"' | b'\\' | 0..0x20)).collect();
            (*file, put(bytes, &places, *nth, &escaped))
        }
        Edit::Swap { file, nth, from, with } => {
            let (bytes, source) = (of(files, *file), of(files, *from));
            let (places, texts) = (texts(&bytes), texts(&source));
            let with = texts.get(usize::from(*with) % texts.len().max(1)).map(|(from, to)| source[*from..*to].to_vec());
            (*file, put(bytes, &places, *nth, &with.unwrap_or_default()))
        }
    };
    if changed.1.len() <= LARGEST {
        files.insert(name(changed.0), changed.1);
    }
}

fn replaced(mut bytes: Vec<u8>, at: u16, count: usize, with: &[u8]) -> Vec<u8> {
    let at = usize::from(at) % (bytes.len() + 1);
    let end = bytes.len().min(at + count);
    bytes.splice(at..end, with.iter().copied());
    bytes
}

fn put(mut bytes: Vec<u8>, places: &[(usize, usize)], nth: u8, with: &[u8]) -> Vec<u8> {
    if let Some((from, to)) = places.get(usize::from(nth) % places.len().max(1)) {
        bytes.splice(from..to, with.iter().copied());
    }
    bytes
}

fn lines(bytes: &[u8], change: impl FnOnce(&mut Vec<&[u8]>)) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|b| *b == b'\n').collect();
    if !lines.is_empty() {
        change(&mut lines);
    }
    lines.concat()
}

fn runs(bytes: &[u8], belongs: impl Fn(u8) -> bool) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (at, byte) in bytes.iter().enumerate().filter(|(_, byte)| belongs(**byte)) {
        let _ = byte;
        match runs.last_mut().filter(|(_, to)| *to == at) {
            Some(run) => run.1 = at + 1,
            None => runs.push((at, at + 1)),
        }
    }
    runs
}

/// Between the quotes.
fn texts(bytes: &[u8]) -> Vec<(usize, usize)> {
    let quotes: Vec<usize> = bytes.iter().enumerate().filter(|(_, b)| **b == b'"').map(|(at, _)| at).collect();
    quotes.chunks_exact(2).map(|pair| (pair[0] + 1, pair[1])).collect()
}

/// What a forger does after a change: all links anew.
pub fn relink(files: &mut Files) {
    let Some(entries) = files.get("entries.jsonl") else { return };
    let (mut linked, mut prev) = (Vec::with_capacity(entries.len()), "0".repeat(64));
    for line in entries.split_inclusive(|b| *b == b'\n') {
        let mut line = line.to_vec();
        let member = b"\"prev\":\"";
        if let Some(at) = line.windows(member.len()).position(|window| window == member) {
            let from = at + member.len();
            let to = from + line[from..].iter().position(|b| *b == b'"').unwrap_or(0);
            line.splice(from..to, prev.bytes());
        }
        prev = to_hex(&leaf_hash(line.strip_suffix(b"\n").unwrap_or(&line)));
        linked.extend(line);
    }
    files.insert("entries.jsonl".to_owned(), linked);
}

/// And a checkpoint over all lines, of the origin that the checkpoint named.
pub fn cover(files: &mut Files) {
    let Some(entries) = files.get("entries.jsonl") else { return };
    let lines = entries.split_inclusive(|b| *b == b'\n').filter_map(|line| line.strip_suffix(b"\n"));
    let tree: Frontier = lines.map(leaf_hash).collect();
    let named = files.get("checkpoint").and_then(|text| String::from_utf8(text.clone()).ok()).unwrap_or_default();
    let origin = named.lines().next().unwrap_or_default().to_owned();
    let checkpoint = Checkpoint { origin, size: tree.size(), root: tree.root() };
    files.insert("checkpoint".to_owned(), checkpoint.to_text().into_bytes());
}

/// What stands between two files in a raw input; the byte after it says which file begins.
const BETWEEN: &[u8] = b"\xff\xfe\xff";

/// The files that a raw input can give; blobs go by their content.
const NAMES: [&str; 9] = [
    "entries.jsonl",
    "checkpoint",
    "disclosures/values.jsonl",
    "signatures/1.checkpoint",
    "signatures/note",
    "signatures/sshsig",
    "quarantine/entries-0-0123456789abcdef",
    "place",
    "blob",
];

/// Packs files as a raw input.
pub fn pack(files: &Files) -> Vec<u8> {
    let mut raw = Vec::new();
    for (name, content) in files {
        let which = NAMES.iter().position(|own| own == name).unwrap_or(match name.rsplit('.').next() {
            Some("checkpoint") => 3,
            Some("note") => 4,
            Some("sshsig") => 5,
            _ if name.starts_with("quarantine") => 6,
            _ => 8,
        });
        raw.extend(BETWEEN);
        raw.push(which as u8);
        raw.extend(content);
    }
    raw
}

/// Takes a raw input apart. Signatures take the names that the entries of the template give them.
pub fn unpack(raw: &[u8], template: &Files) -> Files {
    let mut files = Files::new();
    let mut rest = raw;
    while let Some(at) = rest.windows(BETWEEN.len()).position(|window| window == BETWEEN) {
        let Some((which, content)) = rest[at + BETWEEN.len()..].split_first() else { break };
        let end = content.windows(BETWEEN.len()).position(|window| window == BETWEEN).unwrap_or(content.len());
        let (content, after) = content.split_at(end);
        rest = after;
        let name = NAMES[usize::from(*which) % NAMES.len()];
        let like = |end: &str| {
            let mut named = template.keys().filter(|own| own.starts_with("signatures/") && own.ends_with(end));
            let taken = |own: &&String| !files.contains_key(*own);
            named.find(taken).cloned()
        };
        let name = match name {
            "blob" => {
                let digest = to_hex(&sha256(content));
                Some(format!("blobs/sha256/{}/{digest}", &digest[..2]))
            }
            "signatures/1.checkpoint" => like(".checkpoint"),
            "signatures/note" => like(".note"),
            "signatures/sshsig" => like(".sshsig"),
            "quarantine/entries-0-0123456789abcdef" => {
                template.keys().find(|own| own.starts_with("quarantine/")).cloned()
            }
            other => Some(other.to_owned()),
        };
        if let Some(name) = name {
            files.insert(name, content.to_vec());
        }
    }
    files
}
