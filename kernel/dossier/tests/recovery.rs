//! What is acknowledged survives; what was interrupted is moved aside and logged; what was cut is refused.

#![allow(clippy::unwrap_used)]

mod common;

use std::fs;

use common::{copy, small};
use fascicolo_dossier::{Dossier, Draft, Error, Kind, verify};

#[test]
fn a_log_cut_beyond_its_checkpoint_recovers_and_cut_within_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("whole.fascicolo");
    small(&path);
    let covered = fs::read(path.join("entries.jsonl")).unwrap().len();
    let checkpoint_size = verify(&path).unwrap().entries;
    let mut dossier = Dossier::open(&path, "session-2").unwrap();
    for i in 0..3 {
        let private = vec![("ran".to_owned(), format!("value {i}"))];
        dossier.append(Draft { private, ..Draft::new(Kind::Start) }).unwrap();
    }
    drop(dossier);
    let whole = fs::read(path.join("entries.jsonl")).unwrap();
    let before = Dossier::read(&path).unwrap();
    let trial = folder.path().join("trial.fascicolo");
    copy(&path, &trial);
    // The trial stands for the original here, not for a copy that goes on elsewhere: it is told where it lies, and the
    // entry that says so is written over below.
    drop(Dossier::open(&trial, "settles").unwrap());
    let values = fs::read(path.join("disclosures/values.jsonl")).unwrap();
    for cut in 0..=whole.len() {
        fs::write(trial.join("entries.jsonl"), &whole[..cut]).unwrap();
        let log_cut = verify(&trial).unwrap();
        let opened = Dossier::open(&trial, "session-3");
        if cut < covered {
            assert!(matches!(opened, Err(Error::Tampered { .. })), "cut at {cut}");
            assert!(!log_cut.integrity, "cut at {cut}");
            let complete = whole[..cut].iter().filter(|b| **b == b'\n').count() as u64;
            let expected = Some(complete);
            assert_eq!(log_cut.faults[0].entry, expected, "cut at {cut}: {:?}", log_cut.faults);
            continue;
        }
        let complete = whole[..cut].iter().filter(|b| **b == b'\n').count() as u64;
        if complete < checkpoint_size + 2 {
            // The values of later entries are still there: no interrupted append leaves that.
            let Err(Error::Tampered { fault, .. }) = opened else { panic!("cut at {cut}: {opened:?}") };
            assert_eq!(fault.entry, Some(complete), "cut at {cut}: {fault:?}");
            assert_eq!((&log_cut.faults[..], log_cut.integrity), (&[fault][..], false), "cut at {cut}");
            assert!(matches!(Dossier::read(&trial), Err(Error::Tampered { .. })));
            continue;
        }
        let mut opened = opened.unwrap();
        assert!(log_cut.integrity, "cut at {cut}: {:?}", log_cut.faults);
        assert!(before.records().take(complete as usize).eq(opened.records().take(complete as usize)));
        assert_eq!(log_cut.torn, cut < whole.len(), "cut at {cut}");
        if cut < whole.len() {
            // Entry and disclosures, or the disclosures alone, were left over.
            let recover = opened.records().last().unwrap().clone();
            assert_eq!((recover.kind, recover.seq), (Kind::Recover, complete));
        }
        for seq in checkpoint_size..complete {
            assert_eq!(opened.value(seq, "ran").unwrap().unwrap(), format!("value {}", seq - checkpoint_size));
        }
        opened.append(Draft::new(Kind::Start)).unwrap();
        opened.write_checkpoint().unwrap();
        let after = verify(&trial).unwrap();
        assert!(after.integrity && !after.torn, "cut at {cut}: {after:?}");
        fs::copy(path.join("checkpoint"), trial.join("checkpoint")).unwrap();
        fs::write(trial.join("disclosures/values.jsonl"), &values).unwrap();
        fs::remove_dir_all(trial.join("quarantine")).unwrap();
    }
}

#[test]
fn disclosures_cut_before_their_entry_was_written_are_moved_aside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.fascicolo");
    small(&path);
    let before = fs::read(path.join("disclosures/values.jsonl")).unwrap();
    let entries = fs::read(path.join("entries.jsonl")).unwrap();
    let mut dossier = Dossier::open(&path, "s").unwrap();
    let private = vec![("a".to_owned(), "first\nline".to_owned()), ("b".to_owned(), "second".to_owned())];
    dossier.append(Draft { private, ..Draft::new(Kind::Start) }).unwrap();
    drop(dossier);
    let after = fs::read(path.join("disclosures/values.jsonl")).unwrap();
    for cut in before.len()..=after.len() {
        fs::write(path.join("entries.jsonl"), &entries).unwrap();
        fs::write(path.join("disclosures/values.jsonl"), &after[..cut]).unwrap();
        let found = verify(&path).unwrap();
        assert!(found.integrity && found.torn == (cut > before.len()), "cut at {cut}: {found:?}");
        let opened = Dossier::open(&path, "s").unwrap();
        assert_eq!(fs::read(path.join("disclosures/values.jsonl")).unwrap(), before);
        let recovered = opened.records().last().unwrap();
        assert_eq!(recovered.kind == Kind::Recover, cut > before.len(), "cut at {cut}");
        assert!(verify(&path).unwrap().integrity);
        fs::remove_dir_all(path.join("quarantine")).unwrap();
    }
}

#[test]
fn a_session_that_stays_open_recovers_what_another_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.fascicolo");
    let mut dossier = Dossier::open(&path, "s").unwrap();
    dossier.append(Draft::new(Kind::Start)).unwrap();
    // Another process died in the middle of its append.
    for (file, tail) in [("entries.jsonl", "{\"v\":0,\"se"), ("disclosures/values.jsonl", "{\"seq\":2,\"fie")] {
        let content = fs::read_to_string(path.join(file)).unwrap();
        fs::write(path.join(file), content + tail).unwrap();
    }
    let appended = dossier.append(Draft { start: Some(1), ..Draft::new(Kind::End) }).unwrap();
    assert_eq!(appended.seq, 3);
    assert_eq!(dossier.record(2).unwrap().kind, Kind::Recover);
    assert_eq!(dossier.record(2).unwrap().body["moved"].as_array().unwrap().len(), 2);
    dossier.write_checkpoint().unwrap();
    let found = verify(&path).unwrap();
    assert!(found.integrity && !found.torn, "{found:?}");
    // The quarantine is vouched for, too.
    let moved = common::files(&path.join("quarantine"));
    assert_eq!(moved.len(), 2);
    fs::write(&moved[0], "else").unwrap();
    let found = verify(&path).unwrap();
    assert_eq!(found.faults[0].entry, Some(2), "{found:?}");
}

#[test]
fn a_dossier_cut_or_replaced_under_a_session_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.fascicolo");
    let mut dossier = Dossier::open(&path, "s").unwrap();
    dossier.append(Draft::new(Kind::Start)).unwrap();
    let entries = fs::read(path.join("entries.jsonl")).unwrap();
    fs::write(path.join("entries.jsonl"), &entries[..entries.len() - 1]).unwrap();
    assert!(matches!(dossier.append(Draft::new(Kind::Start)), Err(Error::ChangedUnderneath { .. })));
    fs::write(path.join("entries.jsonl"), &entries).unwrap();
    dossier.append(Draft::new(Kind::Start)).unwrap();
    fs::remove_dir_all(&path).unwrap();
    Dossier::open(&path, "other").unwrap();
    assert!(matches!(dossier.append(Draft::new(Kind::Start)), Err(Error::ChangedUnderneath { .. })));
    fs::remove_dir_all(&path).unwrap();
    assert!(matches!(dossier.append(Draft::new(Kind::Start)), Err(Error::ChangedUnderneath { .. })));
}
