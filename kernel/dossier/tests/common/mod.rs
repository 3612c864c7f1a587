//! What the suites share: a small dossier with everything in it.

#![allow(dead_code, clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use fascicolo_dossier::{CellRef, Dossier, Draft, FileSeen, Kind};
use serde_json::json;

/// A public content of the small dossier.
pub const COMPONENT: &[u8] = b"\0asm component \xff\xfe";

/// Length of its large private value.
pub const LARGE: usize = 4_100;

/// A small dossier, closed with a checkpoint: 8 entries, commitments in three of them, a private blob, a public one.
pub fn small(path: &Path) {
    let mut dossier = Dossier::open(path, "session-1").unwrap();
    let cell = CellRef { id: Some("a1b2".into()), n: 1 };
    let start = Draft {
        cell: Some(cell.clone()),
        private: vec![("ran".into(), "let x = \"\u{e9}\n\";".into()), ("note".into(), "small".into())],
        ..Draft::new(Kind::Start)
    };
    let start = dossier.append(start).unwrap().seq;
    let criterion = Draft { blobs: vec![("component".into(), COMPONENT.to_vec())], ..Draft::new(Kind::Criterion) };
    dossier.append(criterion.clone()).unwrap();
    let declare = Draft { body: json!({"floor": 0.999, "rows": [1, -2, null, true]}), ..Draft::new(Kind::Declare) };
    dossier.append(declare).unwrap();
    let large = Draft {
        private: vec![("shown".into(), "x".repeat(LARGE)), ("path".into(), "/data/a.parquet".into())],
        reads: vec![FileSeen { role: "candidate".into(), sha256: "ab".repeat(32), bytes: 10 }],
        ..Draft::new(Kind::Verdict)
    };
    dossier.append(large).unwrap();
    dossier.append(criterion).unwrap();
    let end = Draft { start: Some(start), cell: Some(cell), status: Some("ok".into()), ..Draft::new(Kind::End) };
    dossier.append(end).unwrap();
    dossier.append(Draft { private: vec![("ran".into(), "2".into())], ..Draft::new(Kind::Start) }).unwrap();
    dossier.write_checkpoint().unwrap();
}

/// All files below a folder that have content, sorted, but for `place`, which is no evidence.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for item in std::fs::read_dir(folder).unwrap() {
        let path = item.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if !path.ends_with("place") && path.metadata().unwrap().len() > 0 {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Copies a folder.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for item in std::fs::read_dir(from).unwrap() {
        let item = item.unwrap();
        let target = to.join(item.file_name());
        if item.path().is_dir() {
            copy(&item.path(), &target);
        } else {
            std::fs::copy(item.path(), target).unwrap();
        }
    }
}

/// The line that holds byte `at`; a newline belongs to the line it ends.
pub fn line_of(bytes: &[u8], at: usize) -> usize {
    bytes[..at].iter().filter(|b| **b == b'\n').count()
}
