//! Dossiers written straight to their files: a million appends would each wait for the disk.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use fascicolo_dossier::{
    BlobRef, Checkpoint, Committed, Disclosure, FORMAT, Frontier, Kind, Record, leaf_hash, sha256, to_hex,
};
use serde_json::{Value, json};

const ORIGIN: &str = "fascicolo/00112233445566778899aabbccddeeff";

/// Numbers that no compression shortens, the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.chunks_mut(8).for_each(|chunk| chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]));
        bytes
    }
}

/// A dossier as it is written: folder, entries, disclosures, tree.
struct Writer {
    folder: PathBuf,
    entries: BufWriter<File>,
    values: BufWriter<File>,
    tree: Frontier,
    prev: String,
}

impl Writer {
    fn new(folder: &Path) -> Self {
        for below in ["blobs/sha256", "blobs/tmp", "disclosures", "signatures", "quarantine"] {
            fs::create_dir_all(folder.join(below)).unwrap();
        }
        let create = |name| BufWriter::with_capacity(1 << 20, File::create(folder.join(name)).unwrap());
        let (entries, values) = (create("entries.jsonl"), create("disclosures/values.jsonl"));
        let mut writer =
            Writer { folder: folder.to_path_buf(), entries, values, tree: Frontier::default(), prev: "0".repeat(64) };
        let mut log = writer.record(Kind::Log);
        log.body = json!({"origin": ORIGIN, "format": FORMAT});
        writer.add(&log);
        writer
    }

    fn record(&self, kind: Kind) -> Record {
        Record {
            v: 1,
            seq: self.tree.size(),
            prev: self.prev.clone(),
            kind,
            session: "kernel-4242".to_owned(),
            cell: None,
            start: None,
            from: None,
            status: None,
            environment: None,
            reads: Vec::new(),
            writes: Vec::new(),
            committed: BTreeMap::new(),
            blobs: BTreeMap::new(),
            body: Value::Null,
            wall: "2026-01-01T00:00:00.000Z".to_owned(),
            mono_us: 17 * self.tree.size(),
        }
    }

    fn add(&mut self, record: &Record) {
        let leaf = record.to_leaf().unwrap();
        self.entries.write_all(&leaf).unwrap();
        self.entries.write_all(b"\n").unwrap();
        let hash = leaf_hash(&leaf);
        self.prev = to_hex(&hash);
        self.tree.push(hash);
    }

    fn finish(mut self) {
        self.entries.flush().unwrap();
        self.values.flush().unwrap();
        let checkpoint = Checkpoint { origin: ORIGIN.to_owned(), size: self.tree.size(), root: self.tree.root() };
        fs::write(self.folder.join("checkpoint"), checkpoint.to_text()).unwrap();
    }
}

/// A log of so many entries whose lines have `line_bytes` bytes: cells that begin and end, each entry with a value.
pub fn log(folder: &Path, entries: u64, line_bytes: usize) {
    let mut writer = Writer::new(folder);
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    while writer.tree.size() < entries {
        let seq = writer.tree.size();
        let mut record = writer.record(if seq % 2 == 1 { Kind::Start } else { Kind::End });
        record.start = (record.kind == Kind::End).then(|| seq - 1);
        record.status = (record.kind == Kind::End).then(|| "ok".to_owned());
        let salt: [u8; 32] = random.bytes();
        let value = format!("let rows = load(\"part-{seq}\");\nrows.len()");
        let commit = to_hex(&sha256(&[&salt[..], value.as_bytes()].concat()));
        record.committed.insert("ran".to_owned(), Committed { commit, bytes: value.len() as u64, blob: false });
        let disclosure = Disclosure { seq, field: "ran".to_owned(), salt: to_hex(&salt), value };
        serde_json::to_writer(&mut writer.values, &disclosure).unwrap();
        writer.values.write_all(b"\n").unwrap();
        // Filled with digests and figures, as outputs are, up to the length wanted.
        record.body = json!({"rows": seq, "floor": 0.999, "outputs": [], "note": ""});
        let room = (line_bytes - 1).saturating_sub(record.to_leaf().unwrap().len());
        let outputs: Vec<Value> = (0..room / 120)
            .map(|_| json!({"sha256": to_hex(&random.bytes::<32>()), "bytes": random.next() >> 40}))
            .collect();
        record.body["outputs"] = outputs.into();
        let room = (line_bytes - 1).saturating_sub(record.to_leaf().unwrap().len());
        record.body["note"] = "n".repeat(room).into();
        writer.add(&record);
    }
    writer.finish();
}

/// A dossier with so many blobs of so many bytes.
pub fn blobs(folder: &Path, count: usize, blob_bytes: usize) {
    let mut writer = Writer::new(folder);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..count {
        let mut content = vec![0; blob_bytes];
        content.chunks_mut(8).for_each(|chunk| chunk.copy_from_slice(&random.bytes::<8>()[..chunk.len()]));
        let digest = to_hex(&sha256(&content));
        let place = folder.join("blobs/sha256").join(&digest[..2]);
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join(&digest), content).unwrap();
        let mut record = writer.record(Kind::Snapshot);
        record.blobs.insert("content".to_owned(), BlobRef { blob: digest, bytes: blob_bytes as u64 });
        writer.add(&record);
    }
    writer.finish();
}

/// All files below a folder.
pub fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for item in fs::read_dir(folder).unwrap() {
        let path = item.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}
