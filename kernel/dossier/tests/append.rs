//! What is appended is there, for this session and for others.

#![allow(clippy::unwrap_used)]

mod common;

use std::fs;

use common::{COMPONENT, LARGE, files, small};
use fascicolo_dossier::{Dossier, Draft, Error, INLINE_BYTES, Kind, LEAF_BYTES, verify};
use serde_json::{Value, json};

#[test]
fn two_writers_interleave_whole_entries() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.fascicolo");
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let path = &path;
            scope.spawn(move || {
                let mut dossier = Dossier::open(path, format!("writer {writer}")).unwrap();
                for i in 0..200 {
                    let private = vec![("ran".into(), format!("{writer} {i}"))];
                    let start = dossier.append(Draft { private, ..Draft::new(Kind::Start) }).unwrap().seq;
                    assert_eq!(dossier.value(start, "ran").unwrap().unwrap(), format!("{writer} {i}"));
                }
            });
        }
    });
    let mut dossier = Dossier::open(&path, "after").unwrap();
    assert_eq!(dossier.size(), 401);
    for writer in 0..2 {
        let own = dossier.records().filter(|r| r.session == format!("writer {writer}") && r.kind == Kind::Start);
        let values: Vec<String> = own.map(|r| dossier.value(r.seq, "ran").unwrap().unwrap()).collect();
        assert_eq!(values, (0..200).map(|i| format!("{writer} {i}")).collect::<Vec<_>>());
    }
    dossier.write_checkpoint().unwrap();
    let found = verify(&path).unwrap();
    assert!(found.integrity && found.unproved_tail == 0, "{found:?}");
}

#[test]
fn values_and_blobs_are_read_back_equal_and_large_values_stand_in_blobs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.fascicolo");
    small(&path);
    let dossier = Dossier::read(&path).unwrap();
    assert_eq!(dossier.value(1, "ran").unwrap().unwrap(), "let x = \"\u{e9}\n\";");
    assert_eq!(dossier.value(4, "shown").unwrap().unwrap(), "x".repeat(LARGE));
    assert_eq!(dossier.value(4, "path").unwrap().unwrap(), "/data/a.parquet");
    let large = &dossier.record(4).unwrap().committed["shown"];
    assert!(large.blob && large.bytes == LARGE as u64 && !dossier.record(4).unwrap().committed["path"].blob);
    // Salt, then value: the file's own SHA-256 is the commitment.
    let content = dossier.blob(&large.commit).unwrap();
    assert_eq!(&content[32..], "x".repeat(LARGE).as_bytes());
    assert_eq!(dossier.blob(&dossier.record(2).unwrap().blobs["component"].blob).unwrap(), COMPONENT);
    assert!(matches!(dossier.value(1, "other"), Err(Error::NoSuchValue { .. })));
    assert!(matches!(dossier.value(99, "ran"), Err(Error::NoSuchEntry { .. })));
    // No private value stands in the log.
    let log = fs::read_to_string(path.join("entries.jsonl")).unwrap();
    assert!(!log.contains("let x") && !log.contains("a.parquet") && !log.contains("xxx"));
}

#[test]
fn the_limit_between_line_and_blob_is_exact() {
    let folder = tempfile::tempdir().unwrap();
    let mut dossier = Dossier::open(folder.path().join("d.fascicolo"), "s").unwrap();
    let private = vec![("at".into(), "y".repeat(INLINE_BYTES)), ("over".into(), "y".repeat(INLINE_BYTES + 1))];
    let seq = dossier.append(Draft { private, ..Draft::new(Kind::Start) }).unwrap().seq;
    let committed = &dossier.record(seq).unwrap().committed;
    assert!(!committed["at"].blob && committed["over"].blob);
}

#[test]
fn a_changed_value_or_blob_is_not_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.fascicolo");
    small(&path);
    let dossier = Dossier::read(&path).unwrap();
    let values = path.join("disclosures/values.jsonl");
    fs::write(&values, fs::read_to_string(&values).unwrap().replace("small", "smell")).unwrap();
    assert!(matches!(dossier.value(1, "note"), Err(Error::ValueLost { seq: 1, .. })));
    assert!(dossier.value(1, "ran").unwrap().is_some());
    for blob in files(&path.join("blobs")) {
        fs::write(blob, "else").unwrap();
    }
    assert!(matches!(dossier.value(4, "shown"), Err(Error::BlobLost { .. })));
    assert!(matches!(dossier.blob(&dossier.record(2).unwrap().blobs["component"].blob), Err(Error::BlobLost { .. })));
}

#[test]
fn a_refused_entry_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.fascicolo");
    small(&path);
    let mut dossier = Dossier::open(&path, "s").unwrap();
    let contents = || files(&path).into_iter().map(|f| (fs::read(&f).unwrap(), f)).collect::<Vec<_>>();
    let before = contents();
    let full = || Draft {
        private: vec![("a".into(), "small".into()), ("b".into(), "z".repeat(10_000))],
        blobs: vec![("c".into(), vec![7; 100])],
        ..Draft::new(Kind::Probe)
    };
    let nested = (0..200).fold(Value::Null, |inner, _| json!([inner]));
    let refused = [
        (Draft { body: json!("q".repeat(LEAF_BYTES)), ..full() }, "entry_too_large"),
        (Draft { body: nested, ..full() }, "entry_unreadable"),
        (Draft { blobs: vec![("a".into(), vec![1])], ..full() }, "duplicate_field"),
        (Draft { start: Some(2), ..full() }, "no_such_start"),
        (Draft { start: Some(500), ..full() }, "no_such_start"),
        (Draft { kind: Kind::End, ..full() }, "no_such_start"),
        (Draft { kind: Kind::Log, ..full() }, "reserved_kind"),
        (Draft { kind: Kind::Recover, ..full() }, "reserved_kind"),
        (Draft { kind: Kind::Redact, ..full() }, "reserved_kind"),
        (Draft { kind: Kind::Sign, ..full() }, "reserved_kind"),
        (Draft { kind: Kind::Fork, ..full() }, "reserved_kind"),
        (Draft { kind: Kind::Import, ..full() }, "reserved_kind"),
    ];
    for (draft, kind) in refused {
        let error = dossier.append(draft).unwrap_err();
        assert_eq!(error.kind(), kind);
        assert!(!error.next_step().is_empty() && !error.to_string().is_empty());
        assert!(contents() == before, "{kind} wrote something");
    }
    // The largest leaf there may be is taken.
    let room = LEAF_BYTES - serde_json::to_vec(dossier.records().next().unwrap()).unwrap().len();
    let (mut low, mut high) = (0, room + 1_000);
    while high - low > 1 {
        let middle = (low + high) / 2;
        match dossier.append(Draft { body: json!("q".repeat(middle)), ..Draft::new(Kind::Probe) }) {
            Ok(_) => low = middle,
            Err(_) => high = middle,
        }
    }
    let longest = fs::read(path.join("entries.jsonl")).unwrap().split(|b| *b == b'\n').map(<[u8]>::len).max().unwrap();
    assert!(longest <= LEAF_BYTES && longest > LEAF_BYTES - 8, "{longest}");
    dossier.write_checkpoint().unwrap();
    assert!(verify(&path).unwrap().integrity);
}

#[test]
fn records_say_when_and_by_whom_and_the_root_grows_with_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.fascicolo");
    let mut dossier = Dossier::open(&path, "s").unwrap();
    let origin = dossier.origin().to_owned();
    assert!(origin.len() == "fascicolo/".len() + 32 && origin.starts_with("fascicolo/"));
    let mut oracle = vec![];
    for _ in 0..20 {
        let appended = dossier.append(Draft::new(Kind::Start)).unwrap();
        oracle.push(appended.root_hex.clone());
        assert_eq!(appended.root_hex, dossier.root_hex());
    }
    let log = fs::read(path.join("entries.jsonl")).unwrap();
    let mut tree = ct_merkle::mem_backed_tree::MemoryBackedTree::<sha2::Sha256, Vec<u8>>::new();
    let mut roots = vec![];
    for line in log.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
        tree.push(line.to_vec());
        roots.push(fascicolo_dossier::to_hex(tree.root().as_bytes()));
    }
    assert_eq!(roots[1..], oracle);
    let record = dossier.record(3).unwrap();
    assert_eq!(record.session, "s");
    assert!(record.wall.len() == "2026-01-01T00:00:00.000Z".len() && record.wall.ends_with('Z'), "{}", record.wall);
    assert!(dossier.records().zip(dossier.records().skip(1)).all(|(a, b)| a.mono_us <= b.mono_us));
    dossier.write_checkpoint().unwrap();
    let checkpoint = fs::read_to_string(path.join("checkpoint")).unwrap();
    assert!(checkpoint.starts_with(&format!("{origin}\n21\n")));
    assert_eq!(verify(&path).unwrap().root.unwrap(), dossier.root_hex());
}

#[test]
fn a_blob_is_stored_once_and_named_by_its_content() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.fascicolo");
    let mut dossier = Dossier::open(&path, "s").unwrap();
    let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    for _ in 0..2 {
        let blobs = vec![("x".into(), b"abc".to_vec())];
        let seq = dossier.append(Draft { blobs, ..Draft::new(Kind::Criterion) }).unwrap().seq;
        assert_eq!(dossier.record(seq).unwrap().blobs["x"].blob, digest);
    }
    assert_eq!(files(&path.join("blobs")).len(), 1);
    // One that was changed is never silently referred to again.
    fs::write(path.join("blobs/sha256/ba").join(digest), "other").unwrap();
    let blobs = vec![("x".into(), b"abc".to_vec())];
    assert!(matches!(dossier.append(Draft { blobs, ..Draft::new(Kind::Criterion) }), Err(Error::BlobLost { .. })));
}

#[test]
fn a_folder_that_holds_something_else_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("thesis.tex"), "…").unwrap();
    assert!(matches!(Dossier::open(folder.path(), "s"), Err(Error::NotADossier { .. })));
    assert!(matches!(Dossier::open(folder.path().join("thesis.tex"), "s"), Err(Error::NotADossier { .. })));
    assert!(matches!(Dossier::read(folder.path()), Err(Error::NotADossier { .. })));
    assert!(matches!(verify(folder.path()), Err(Error::NotADossier { .. })));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn blobs_that_no_entry_names_are_collected_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.fascicolo");
    common::small(&path);
    let named = files(&path.join("blobs"));
    let unnamed = path.join("blobs/sha256/00").join("00".repeat(32));
    fs::create_dir_all(unnamed.parent().unwrap()).unwrap();
    fs::write(&unnamed, "left over").unwrap();
    fs::write(path.join("blobs/sha256/00/notes.txt"), "not a blob").unwrap();
    let mut dossier = Dossier::open(&path, "s").unwrap();
    let collected = dossier.collect_garbage().unwrap();
    assert_eq!((collected.files, collected.bytes), (1, 9));
    fs::remove_file(path.join("blobs/sha256/00/notes.txt")).unwrap();
    assert_eq!(files(&path.join("blobs")), named);
    assert_eq!(dossier.collect_garbage().unwrap(), fascicolo_dossier::Collected::default());
    assert!(verify(&path).unwrap().integrity);
}
