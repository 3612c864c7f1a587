//! A value that was redacted is gone, and everything else stays as it was.

#![allow(clippy::unwrap_used)]

mod common;

use std::fs;

use common::{files, small};
use fascicolo_dossier::{Dossier, Draft, Kind, verify};

#[test]
fn a_redacted_value_is_in_no_file_and_every_root_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.fascicolo");
    small(&path);
    let before = fs::read(path.join("entries.jsonl")).unwrap();
    let mut dossier = Dossier::open(&path, "s").unwrap();
    let appended = dossier.redact(1, "note", "it named a customer").unwrap();
    dossier.redact(4, "shown", "private").unwrap();
    dossier.write_checkpoint().unwrap();
    assert_eq!(dossier.record(appended.seq).unwrap().kind, Kind::Redact);
    assert_eq!(dossier.value(appended.seq, "why").unwrap().unwrap(), "it named a customer");
    assert!(fs::read(path.join("entries.jsonl")).unwrap().starts_with(&before));
    for view in [&*dossier, &Dossier::read(&path).unwrap(), &*Dossier::open(&path, "t").unwrap()] {
        assert_eq!(view.value(1, "note").unwrap(), None);
        assert_eq!(view.value(4, "shown").unwrap(), None);
        assert_eq!(view.value(1, "ran").unwrap().unwrap(), "let x = \"\u{e9}\n\";");
        assert_eq!(view.value(7, "ran").unwrap().unwrap(), "2");
    }
    for file in files(&path) {
        let content = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
        assert!(!content.contains("\"small\"") && !content.contains(&"x".repeat(100)), "{}", file.display());
    }
    let found = verify(&path).unwrap();
    assert!(found.integrity && found.unproved_tail == 0, "{found:?}");
}

#[test]
fn what_cannot_be_redacted_is_refused_and_nothing_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.fascicolo");
    small(&path);
    let mut dossier = Dossier::open(&path, "s").unwrap();
    let redact = dossier.redact(1, "note", "why").unwrap().seq;
    let size = dossier.size();
    for (seq, field, kind) in [
        (1, "note", "already_redacted"),
        (1, "nothing", "no_such_value"),
        (99, "ran", "no_such_entry"),
        (0, "origin", "no_such_value"),
        (2, "component", "not_redactable"),
        (redact, "why", "not_redactable"),
    ] {
        let error = dossier.redact(seq, field, "why").unwrap_err();
        assert_eq!(error.kind(), kind, "{seq} {field}");
    }
    assert!(dossier.redact(2, "component", "why").unwrap_err().to_string().contains("unsalted"));
    assert_eq!(dossier.size(), size);
    assert!(dossier.append(Draft::new(Kind::Redact)).is_err());
}

/// Two sessions on one folder; each redacts while the other goes on, and an old view still reads what is left.
#[test]
fn a_session_that_is_open_survives_the_redactions_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.fascicolo");
    let value = |i: u64| vec![("ran".to_owned(), format!("value number {i}")), ("zed".to_owned(), "z".repeat(5_000))];
    let mut first = Dossier::open(&path, "first").unwrap();
    for i in 1..=6 {
        first.append(Draft { private: value(i), ..Draft::new(Kind::Start) }).unwrap();
    }
    let mut second = Dossier::open(&path, "second").unwrap();
    let old = Dossier::read(&path).unwrap();
    first.redact(2, "ran", "a").unwrap();
    first.redact(3, "zed", "a").unwrap();
    // Neither has taken in anything yet.
    for view in [&*second, &old] {
        assert_eq!(view.value(5, "ran").unwrap().unwrap(), "value number 5");
        assert_eq!(view.value(2, "ran").unwrap(), None);
        assert_eq!(view.value(3, "zed").unwrap(), None);
    }
    // Twice: the third file may get the number of the first one.
    second.redact(1, "ran", "b").unwrap();
    second.redact(4, "ran", "b").unwrap();
    first.append(Draft { private: value(7), ..Draft::new(Kind::Start) }).unwrap();
    second.append(Draft { private: value(8), ..Draft::new(Kind::Start) }).unwrap();
    first.write_checkpoint().unwrap();
    for view in [&*first, &*second, &Dossier::read(&path).unwrap()] {
        for (seq, left) in [(1, false), (2, false), (3, true), (4, false), (5, true), (6, true)] {
            let expected = left.then(|| format!("value number {seq}"));
            assert_eq!(view.value(seq, "ran").unwrap(), expected, "entry {seq}");
        }
    }
    assert_eq!(first.value(11, "ran").unwrap().unwrap(), "value number 7");
    assert_eq!(first.value(12, "ran").unwrap().unwrap(), "value number 8");
    let found = verify(&path).unwrap();
    assert!(found.integrity && found.unproved_tail == 0, "{found:?}");
}

#[test]
fn verifying_while_another_session_redacts_finds_no_fault() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.fascicolo");
    let mut dossier = Dossier::open(&path, "s").unwrap();
    for i in 0..60 {
        let private = vec![("ran".to_owned(), i.to_string()), ("zed".to_owned(), "z".repeat(5_000))];
        dossier.append(Draft { private, ..Draft::new(Kind::Start) }).unwrap();
    }
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for seq in 1..60 {
                dossier.redact(seq, if seq % 2 == 0 { "ran" } else { "zed" }, "why").unwrap();
            }
            done.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        while !done.load(std::sync::atomic::Ordering::Relaxed) {
            let found = verify(&path).unwrap();
            assert!(found.integrity, "{found:?}");
        }
    });
}
