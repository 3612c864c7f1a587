//! Dossiers of every format that was ever written are read for good: each golden one was made by the program of its
//! time, and what it holds is stated here by hand.

#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::copy;
use ct_merkle::mem_backed_tree::MemoryBackedTree;
use fascicolo_dossier::sign::AllowedSigners;
use fascicolo_dossier::{Dossier, Draft, Kind, Record, verify_signed};
use sha2::Sha256;

/// A golden dossier and what it holds.
struct Golden {
    name: &'static str,
    version: u8,
    origin: &'static str,
    entries: u64,
    /// Entry, field and value of one small and one redacted private value.
    value: (u64, &'static str, &'static str),
    redacted: (u64, &'static str),
    signatures: usize,
    parents: usize,
}

const GOLDEN: [Golden; 2] = [V0, V1];
include!("golden/facts.rs");

fn place(golden: &Golden) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(golden.name)
}

#[test]
fn every_golden_dossier_verifies_and_holds_what_it_held() {
    for golden in &GOLDEN {
        let path = place(golden);
        let allowed = AllowedSigners::parse(include_str!("golden/allowed_signers"));
        let found = verify_signed(&path, Some(&allowed)).unwrap();
        assert!(found.integrity && found.unproved_tail == 0, "{}: {found:?}", golden.name);
        assert_eq!((found.entries, found.origin.as_deref()), (golden.entries, Some(golden.origin)));
        let known = found.signatures.iter().filter(|s| s.known.as_deref() == Some("ada@example.org")).count();
        assert_eq!((known, found.parents.len()), (golden.signatures, golden.parents), "{found:?}");
        let log = Dossier::read(&path).unwrap();
        let (seq, field, value) = golden.value;
        assert_eq!(log.value(seq, field).unwrap().as_deref(), Some(value));
        assert_eq!(log.value(golden.redacted.0, golden.redacted.1).unwrap(), None);
        assert!(log.records().all(|record| record.v == golden.version));

        // The root by another implementation, over the lines as they stand.
        let text = fs::read(path.join("entries.jsonl")).unwrap();
        let mut tree = MemoryBackedTree::<Sha256, Vec<u8>>::new();
        for line in text.strip_suffix(b"\n").unwrap().split(|b| *b == b'\n') {
            tree.push(line.to_vec());
            assert_eq!(Record::from_leaf(line).unwrap().to_leaf().unwrap(), line, "written again, it is the same line");
        }
        assert_eq!(tree.root().as_bytes().as_slice(), fascicolo_dossier::from_hex(&log.root_hex()).unwrap());
    }
}

#[test]
fn an_old_dossier_goes_on_in_the_format_of_today_and_never_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.fascicolo");
    copy(&place(&GOLDEN[0]), &path);
    let mut dossier = Dossier::open(&path, "later").unwrap();
    dossier.append(Draft::new(Kind::Start)).unwrap();
    dossier.write_checkpoint().unwrap();
    let log = Dossier::read(&path).unwrap();
    let versions: Vec<u8> = log.records().map(|record| record.v).collect();
    assert!(versions.is_sorted() && versions.first() == Some(&0) && versions.last() == Some(&1), "{versions:?}");
    assert!(fascicolo_dossier::verify(&path).unwrap().integrity);

    // Appended by hand in the old format, behind the new one.
    let last = log.records().last().unwrap().clone();
    let prev = fascicolo_dossier::to_hex(&log.leaf_hash(last.seq).unwrap());
    let line = Record { v: 0, seq: last.seq + 1, prev, ..last }.to_leaf().unwrap();
    let entries = path.join("entries.jsonl");
    let text = [fs::read(&entries).unwrap(), line, b"\n".to_vec()].concat();
    fs::write(&entries, text).unwrap();
    let found = fascicolo_dossier::verify(&path).unwrap();
    assert!(found.faults[0].what.contains("older than the entry before it"), "{found:?}");
}
