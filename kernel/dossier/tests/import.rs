//! Another log is joined as a parent: verified, kept whole, and what it says counts here in its order.

#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::path::Path;

use common::{copy, files, small};
use fascicolo_dossier::{Dossier, Draft, Error, Imported, Kind, verify};

const REPEATED: [Kind; 3] = [Kind::Criterion, Kind::Declare, Kind::Verdict];

fn join(own: &Path, theirs: &Path) -> Result<Imported, Error> {
    let mut dossier = Dossier::open(own, "b")?;
    let start = dossier.append(Draft::new(Kind::Start))?.seq;
    let imported = dossier.import(theirs, &REPEATED, Draft { start: Some(start), ..Draft::new(Kind::Import) });
    dossier.write_checkpoint()?;
    imported
}

/// A log `a` and an empty one, `b`.
fn two(folder: &Path) -> (std::path::PathBuf, std::path::PathBuf) {
    let (a, b) = (folder.join("a.fascicolo"), folder.join("b.fascicolo"));
    small(&a);
    (a, b)
}

#[test]
fn what_a_joined_log_says_is_repeated_in_its_order_with_all_that_it_discloses() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = two(folder.path());
    let imported = join(&b, &a).unwrap();
    let (own, theirs) = (Dossier::read(&b).unwrap(), Dossier::read(&a).unwrap());
    assert_eq!(imported.parent, theirs.checkpoint());
    let repeated: Vec<_> = own.records().filter_map(|r| Some((r, r.from.as_ref()?))).collect();
    let of: Vec<u64> = repeated.iter().map(|(_, from)| from.seq).collect();
    let wanted: Vec<u64> = theirs.records().filter(|r| REPEATED.contains(&r.kind)).map(|r| r.seq).collect();
    assert_eq!(of, wanted);
    for (record, from) in repeated {
        let original = theirs.record(from.seq).unwrap();
        assert_eq!((record.kind, &record.body, &record.reads), (original.kind, &original.body, &original.reads));
        assert_eq!(record.start, Some(imported.entry - 1));
        for field in original.committed.keys() {
            assert_eq!(own.value(record.seq, field).unwrap(), theirs.value(from.seq, field).unwrap());
            // A salt is never used twice.
            assert_ne!(record.committed[field].commit, original.committed[field].commit);
        }
        for blob in original.blobs.values() {
            assert_eq!(own.blob(&blob.blob).unwrap(), theirs.blob(&blob.blob).unwrap());
        }
    }
    let found = verify(&b).unwrap();
    assert!(found.integrity, "{found:?}");
    assert_eq!((found.parents[0].entries, found.parents[0].integrity), (theirs.size(), true));
    assert_eq!(Dossier::read(&own.parents()[0].folder).unwrap().root_hex(), theirs.root_hex());
}

#[test]
fn any_byte_changed_in_a_joined_log_is_found_and_named_with_the_entry_that_joined_it() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = two(folder.path());
    let entry = join(&b, &a).unwrap().entry;
    let mut tried = 0;
    for file in files(&b.join("parents")) {
        let content = fs::read(&file).unwrap();
        for at in 0..content.len() {
            // Every byte of the log and its disclosures, the borders of the rest.
            if content.len() > 4_000 && at % 97 > 0 {
                continue;
            }
            let mut changed = content.clone();
            changed[at] ^= 1;
            fs::write(&file, &changed).unwrap();
            let found = verify(&b).unwrap();
            assert!(!found.integrity && !found.parents[0].integrity, "{} byte {at}", file.display());
            let fault = &found.faults[0];
            assert_eq!(fault.entry, Some(entry), "{found:?}");
            assert!(fault.file.starts_with("parents/"), "{fault:?}");
            tried += 1;
        }
        fs::write(&file, &content).unwrap();
    }
    assert!(tried > 1_000, "{tried}");
    fs::remove_dir_all(b.join("parents")).unwrap();
    let found = verify(&b).unwrap();
    assert!(found.faults[0].what.contains("is missing"), "{found:?}");
}

#[test]
fn a_log_that_grew_is_joined_again_and_only_what_is_new_is_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = two(folder.path());
    let first = join(&b, &a).unwrap();
    let again = join(&b, &a).unwrap();
    assert_eq!((again.entry, again.appended, again.repeated.len()), (first.entry, None, 0));
    let mut theirs = Dossier::open(&a, "a").unwrap();
    theirs.append(Draft { status: Some("later".into()), ..Draft::new(Kind::Declare) }).unwrap();
    theirs.redact(1, "note", "not yours").unwrap();
    theirs.redact(4, "path", "not yours").unwrap();
    theirs.write_checkpoint().unwrap();
    let grown = join(&b, &a).unwrap();
    let own = Dossier::read(&b).unwrap();
    assert_eq!((grown.repeated.len(), grown.redacted), (1, 1));
    assert_eq!(own.record(grown.repeated[0]).unwrap().status.as_deref(), Some("later"));
    let verdict = own.records().find(|r| r.kind == Kind::Verdict).unwrap().seq;
    assert_eq!(own.value(verdict, "path").unwrap(), None);
    let all = files(&b).iter().map(|f| fs::read(f).unwrap()).collect::<Vec<_>>().concat();
    assert!(!all.windows(15).any(|w| w == b"/data/a.parquet"));
    let found = verify(&b).unwrap();
    assert!(found.integrity && found.parents.iter().all(|p| p.integrity), "{found:?}");
    assert_eq!(found.parents.len(), 2);
}

#[test]
fn an_own_value_that_came_from_another_log_is_redacted_there_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = two(folder.path());
    join(&b, &a).unwrap();
    let mut own = Dossier::open(&b, "b").unwrap();
    let verdict = own.records().find(|r| r.kind == Kind::Verdict).unwrap().seq;
    assert!(matches!(own.redact(verdict, "path", "why"), Err(Error::RedactAtItsSource { .. })));
}

#[test]
fn what_is_not_another_sound_log_is_not_joined_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = two(folder.path());
    join(&b, &a).unwrap();
    let before = (Dossier::read(&b).unwrap().size(), files(&b.join("parents")));
    // One that was changed; one written anew under a known origin; this one itself; a shorter state of a known one.
    let changed = folder.path().join("changed.fascicolo");
    copy(&a, &changed);
    let log = fs::read_to_string(changed.join("entries.jsonl")).unwrap();
    fs::write(changed.join("entries.jsonl"), log.replacen("session-1", "session-2", 1)).unwrap();
    let anew = folder.path().join("anew.fascicolo");
    small(&anew);
    let own_copy = folder.path().join("copy.fascicolo");
    copy(&b, &own_copy);
    let earlier = folder.path().join("earlier.fascicolo");
    copy(&a, &earlier);
    Dossier::open(&a, "a").unwrap().append(Draft::new(Kind::Start)).unwrap();
    join(&b, &a).unwrap();
    let older = "were joined before";
    for (path, kind, word) in [
        (&changed, "not_importable", "does not verify"),
        (&own_copy, "not_importable", "itself"),
        (&earlier, "older_than_joined", older),
    ] {
        let refused = join(&b, path).unwrap_err();
        assert_eq!(refused.kind(), kind, "{refused}");
        assert!(refused.to_string().contains(word), "{refused}");
    }
    assert!(matches!(join(&b, folder.path()), Err(Error::NotADossier { .. })));
    let found = verify(&b).unwrap();
    assert!(found.integrity && found.notes.iter().all(|n| !n.contains("joined by no entry")), "{found:?}");
    assert!(before.0 < found.entries && !before.1.is_empty());
    assert!(join(&b, &anew).is_ok(), "a log of another origin is one more parent");
}

#[test]
fn a_repeated_entry_that_does_not_say_what_the_joined_log_says_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = two(folder.path());
    let mut theirs = Dossier::open(&a, "a").unwrap();
    theirs.append(Draft { status: Some("strict".into()), ..Draft::new(Kind::Declare) }).unwrap();
    theirs.write_checkpoint().unwrap();
    join(&b, &a).unwrap();
    // Whoever writes the whole log anew can make its hashes fit; the joined log still says otherwise.
    let log = fs::read_to_string(b.join("entries.jsonl")).unwrap();
    let (mut text, mut prev) = (String::new(), "00".repeat(32));
    for line in log.lines() {
        let at = line.find("\"prev\":\"").unwrap() + 8;
        let line = format!("{}{prev}{}", &line[..at], &line[at + 64..]).replace("\"strict\"", "\"loose!\"");
        prev = fascicolo_dossier::to_hex(&fascicolo_dossier::leaf_hash(line.as_bytes()));
        text += &(line + "\n");
    }
    assert!(text.contains("loose!"));
    fs::write(b.join("entries.jsonl"), text).unwrap();
    fs::remove_file(b.join("checkpoint")).unwrap();
    let found = verify(&b).unwrap();
    let fault = found.faults.iter().find(|f| f.what.contains("does not say the same"));
    assert!(fault.is_some(), "{found:?}");
}

#[test]
fn joined_logs_that_joined_others_are_checked_to_the_bottom() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = two(folder.path());
    join(&b, &a).unwrap();
    let c = folder.path().join("c.fascicolo");
    join(&c, &b).unwrap();
    assert!(verify(&c).unwrap().integrity);
    let inner = files(&c)
        .into_iter()
        .find(|f| f.to_string_lossy().matches("/parents/").count() == 2 && f.ends_with("entries.jsonl"));
    let inner = inner.unwrap();
    let log = fs::read_to_string(&inner).unwrap();
    fs::write(&inner, log.replacen("0.999", "0.111", 1)).unwrap();
    let found = verify(&c).unwrap();
    assert!(found.faults[0].what.matches("parents/").count() == 1, "{found:?}");
}
