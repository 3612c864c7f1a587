//! Every change of a byte is found and charged to the entry that it concerns.

#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeSet;
use std::fs;

use common::{files, line_of, small};
use fascicolo_dossier::{Dossier, Draft, Error, Kind, verify};

/// Changes that turn digits into others, letters into the other case, bytes into newlines and into no UTF-8.
const FLIPS: [u8; 9] = [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff];

#[test]
fn one_byte_changed_anywhere_is_found_and_its_entry_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.fascicolo");
    small(&path);
    let clean = verify(&path).unwrap();
    assert!(clean.integrity && !clean.torn && clean.unproved_tail == 0, "{clean:?}");
    assert_eq!(clean.entries, 8);
    let log: Vec<serde_json::Value> = fs::read_to_string(path.join("entries.jsonl"))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let last = clean.entries - 1;
    let (mut tried, mut seen) = (0, BTreeSet::new());
    for file in files(&path) {
        let name = file.strip_prefix(&path).unwrap().to_str().unwrap().to_owned();
        let original = fs::read(&file).unwrap();
        let lines: Vec<&[u8]> = original.split(|b| *b == b'\n').collect();
        let mut changed = original.clone();
        for at in 0..original.len() {
            let line = line_of(&original, at);
            // Which entries may be named, and which must be.
            let (must, may): (u64, BTreeSet<u64>) = match name.as_str() {
                "entries.jsonl" => (line as u64, [line as u64].into()),
                "checkpoint" => (last, [last].into()),
                "disclosures/values.jsonl" => {
                    let seq = |line: &[u8]| serde_json::from_slice::<serde_json::Value>(line).ok()?["seq"].as_u64();
                    let own = seq(lines[line]).unwrap();
                    // A newline stands between two disclosures: without it neither can be read.
                    let next = (original[at] == b'\n').then(|| lines.get(line + 1).and_then(|l| seq(l))).flatten();
                    (own, [own].into_iter().chain(next).collect())
                }
                blob => {
                    let digest = blob.rsplit('/').next().unwrap();
                    let naming: BTreeSet<u64> = log
                        .iter()
                        .filter(|e| e.to_string().contains(digest))
                        .map(|e| e["seq"].as_u64().unwrap())
                        .collect();
                    (*naming.first().unwrap(), naming)
                }
            };
            // All bytes of a blob count alike: fewer changes of a large one do.
            let large_blob = original.len() > 4_000 && name.starts_with("blobs");
            for flip in if large_blob { &[0x01, 0x20, 0x80][..] } else { &FLIPS[..] } {
                changed[at] = original[at] ^ flip;
                fs::write(&file, &changed).unwrap();
                let found = verify(&path).unwrap();
                let context =
                    || format!("{name}, byte {at} ({:?}) ^ {flip:#x}: {:#?}", original[at] as char, found.faults);
                assert!(!found.integrity, "{}", context());
                let named: BTreeSet<u64> = found.faults.iter().filter_map(|f| f.entry).collect();
                assert!(named.contains(&must) && named.is_subset(&may), "{}", context());
                assert!(found.faults.iter().all(|f| f.entry.is_some()), "{}", context());
                let in_file = found.faults.iter().any(|f| f.file == name);
                // The last entry and the root over it vouch for each other only.
                assert!(in_file || (name == "entries.jsonl" && must == last), "{}", context());
                tried += 1;
            }
            // A session never goes on from it.
            if !name.starts_with("blobs") && at % 7 == 0 {
                assert!(matches!(Dossier::open(&path, "s"), Err(Error::Tampered { .. })), "{name}, byte {at}");
                assert!(matches!(Dossier::read(&path), Err(Error::Tampered { .. })), "{name}, byte {at}");
            }
            changed[at] = original[at];
        }
        fs::write(&file, &original).unwrap();
        seen.insert(name);
    }
    assert!(verify(&path).unwrap().integrity);
    assert_eq!(seen.len(), 5, "{seen:?}");
    assert!(tried > 20_000, "{tried}");
}

/// Removing, repeating and swapping whole lines, checkpoint and all other files untouched.
#[test]
fn lines_removed_repeated_or_swapped_are_located() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.fascicolo");
    small(&path);
    for name in ["entries.jsonl", "disclosures/values.jsonl"] {
        let file = path.join(name);
        let original = fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = original.split_inclusive('\n').collect();
        let seq = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["seq"].as_u64().unwrap();
        for i in 0..lines.len() {
            let mut removed = lines.clone();
            removed.remove(i);
            let mut repeated = lines.clone();
            repeated.insert(i, lines[i]);
            let mut swapped = lines.clone();
            swapped.swap(i, (i + 1) % lines.len());
            for (what, changed) in [("removed", removed), ("repeated", repeated), ("swapped", swapped)] {
                fs::write(&file, changed.concat()).unwrap();
                let found = verify(&path).unwrap();
                assert!(!found.integrity, "{name} line {i} {what}");
                let near = |n: u64| n.abs_diff(seq(lines[i])) <= 1 || what == "swapped";
                assert!(
                    found.faults.iter().any(|f| f.entry.is_some_and(near)),
                    "{name} {i} {what}: {:?}",
                    found.faults
                );
                assert!(Dossier::open(&path, "s").is_err());
            }
        }
        fs::write(&file, &original).unwrap();
    }
}

#[test]
fn a_missing_file_is_a_fault_of_the_entries_that_need_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.fascicolo");
    small(&path);
    for file in files(&path) {
        let content = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        let found = verify(&path).unwrap();
        if file.ends_with("checkpoint") {
            // It is derived; without it the last entries are unproved, which is said.
            assert!(found.integrity && found.unproved_tail == found.entries, "{found:?}");
        } else {
            assert!(!found.integrity && found.faults.iter().all(|f| f.entry.is_some()), "{file:?}: {found:?}");
        }
        fs::write(&file, content).unwrap();
    }
}

#[test]
fn a_blob_that_no_entry_names_is_a_note_and_a_name_leads_out_of_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.fascicolo");
    small(&path);
    fs::create_dir_all(path.join("blobs/sha256/00")).unwrap();
    fs::write(path.join("blobs/sha256/00").join("00".repeat(32)), "stray").unwrap();
    let found = verify(&path).unwrap();
    assert!(found.integrity && found.notes.iter().any(|n| n.starts_with("1 files below blobs/sha256")), "{found:?}");
    assert!(found.notes[0].contains("integrity, not honesty"));
    let dossier = Dossier::read(&path).unwrap();
    assert!(matches!(dossier.blob("../../entries.jsonl"), Err(Error::BlobLost { .. })));
}

/// Whoever changes an entry and everything after it, but not the checkpoint, is found by its root.
#[test]
fn a_rebuilt_chain_does_not_meet_its_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.fascicolo");
    small(&path);
    let log = fs::read_to_string(path.join("entries.jsonl")).unwrap();
    let mut rebuilt = String::new();
    let mut prev = "0".repeat(64);
    for line in log.lines() {
        let mut record = fascicolo_dossier::Record::from_leaf(line.as_bytes()).unwrap();
        record.prev = prev;
        if record.seq == 3 {
            record.body["floor"] = 0.5.into();
        }
        let leaf = record.to_leaf().unwrap();
        prev = fascicolo_dossier::to_hex(&fascicolo_dossier::leaf_hash(&leaf));
        rebuilt += std::str::from_utf8(&leaf).unwrap();
        rebuilt.push('\n');
    }
    fs::write(path.join("entries.jsonl"), rebuilt).unwrap();
    let found = verify(&path).unwrap();
    assert!(!found.integrity);
    assert_eq!(found.faults[0].file, "checkpoint");
}

/// Disclosures that are left over belong to the one entry that would be next; any later one tells of a cut.
#[test]
fn entries_cut_off_are_missed_even_without_a_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.fascicolo");
    let mut dossier = Dossier::open(&path, "s").unwrap();
    for i in 0..71 {
        let private = if i % 3 == 0 { vec![("ran".to_owned(), i.to_string())] } else { Vec::new() };
        dossier.append(Draft { private, ..Draft::new(Kind::Start) }).unwrap();
    }
    dossier.write_checkpoint().unwrap();
    assert_eq!(verify(&path).unwrap().checkpoint, Some(72));
    fs::remove_file(path.join("checkpoint")).unwrap();
    let found = verify(&path).unwrap();
    assert!(found.integrity && found.checkpoint.is_none(), "{found:?}");
    let whole = fs::read_to_string(path.join("entries.jsonl")).unwrap();
    let cut: String = whole.split_inclusive('\n').take(20).collect();
    for tail in ["", "{\"v\":0"] {
        fs::write(path.join("entries.jsonl"), format!("{cut}{tail}")).unwrap();
        let found = verify(&path).unwrap();
        assert_eq!(found.faults.len(), 1, "{found:?}");
        assert_eq!((found.faults[0].entry, found.faults[0].file.as_str()), (Some(20), "entries.jsonl"), "{found:?}");
        assert!(found.faults[0].what.starts_with("is missing, and so are the 49 entries after it"), "{found:?}");
        for refused in [Dossier::open(&path, "s").map(drop), Dossier::read(&path).map(drop)] {
            assert!(matches!(&refused, Err(Error::Tampered { fault, .. }) if fault.entry == Some(20)), "{refused:?}");
        }
    }
}

#[test]
fn verifying_while_another_session_appends_finds_no_cut() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("busy.fascicolo");
    let mut dossier = Dossier::open(&path, "s").unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for i in 0..600 {
                dossier
                    .append(Draft { private: vec![("ran".into(), i.to_string())], ..Draft::new(Kind::Start) })
                    .unwrap();
            }
            done.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        while !done.load(std::sync::atomic::Ordering::Relaxed) {
            let found = verify(&path).unwrap();
            assert!(found.integrity, "{found:?}");
        }
    });
}

#[test]
fn foreign_files_and_a_written_lock_are_noted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.fascicolo");
    small(&path);
    assert!(!verify(&path).unwrap().notes.iter().any(|n| n.contains("belong") || n.starts_with("lock")));
    fs::write(path.join("thesis.tex"), "…").unwrap();
    fs::write(path.join("lock"), "pid 7").unwrap();
    let found = verify(&path).unwrap();
    assert!(found.integrity);
    assert!(found.notes.iter().any(|n| n.contains("do not belong") && n.contains("thesis.tex")), "{found:?}");
    assert!(found.notes.iter().any(|n| n.starts_with("lock holds 5 bytes")), "{found:?}");
}

/// An older checkpoint is a true one: what it leaves uncovered is said. That the whole log was taken back to it nobody can
/// see who did not keep a later checkpoint.
#[test]
fn an_older_checkpoint_vouches_for_less_and_only_a_witness_misses_what_was_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.fascicolo");
    small(&path);
    let files = ["entries.jsonl", "disclosures/values.jsonl", "checkpoint"];
    let old = files.map(|file| fs::read(path.join(file)).unwrap());
    let mut dossier = Dossier::open(&path, "s").unwrap();
    for i in 0..3 {
        dossier.append(Draft { private: vec![("ran".into(), i.to_string())], ..Draft::new(Kind::Start) }).unwrap();
    }
    dossier.write_checkpoint().unwrap();
    let kept = dossier.checkpoint();
    drop(dossier);

    fs::write(path.join("checkpoint"), &old[2]).unwrap();
    let found = verify(&path).unwrap();
    assert!(found.integrity, "{found:?}");
    assert_eq!((found.checkpoint, found.unproved_tail, found.entries), (Some(8), 3, 11));
    assert!(found.notes.iter().any(|n| n.contains("the last 3 of 11 entries were written after the checkpoint")));
    assert!(Dossier::read(&path).unwrap().extends(&kept).unwrap());

    for (file, content) in files.iter().zip(&old) {
        fs::write(path.join(file), content).unwrap();
    }
    let found = verify(&path).unwrap();
    assert!(found.integrity && found.unproved_tail == 0, "{found:?}");
    assert!(found.notes[0].contains("only a witness"), "{found:?}");
    assert!(!Dossier::read(&path).unwrap().extends(&kept).unwrap());
}

/// Both logs are linked and covered by a checkpoint as they should be; only the length of one line differs.
#[test]
fn a_leaf_of_65_535_bytes_is_read_and_one_of_65_536_is_refused() {
    for (bytes, holds) in [(65_535, true), (65_536, false)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.fascicolo");
        drop(Dossier::open(&path, "s").unwrap());
        let log = fs::read_to_string(path.join("entries.jsonl")).unwrap();
        let first = log.trim_end();
        let hash = |leaf: &str| fascicolo_dossier::leaf_hash(leaf.as_bytes());
        let prev = fascicolo_dossier::to_hex(&hash(first));
        let of = |body: &str| {
            format!(
                r#"{{"v":1,"seq":1,"prev":"{prev}","kind":"start","session":"s","body":"{body}","wall":"2026-01-01T00:00:00.000Z","mono_us":1}}"#
            )
        };
        let second = of(&"q".repeat(bytes - of("").len()));
        assert_eq!(second.len(), bytes);
        fs::write(path.join("entries.jsonl"), format!("{first}\n{second}\n")).unwrap();
        let tree: fascicolo_dossier::Frontier = [hash(first), hash(&second)].into_iter().collect();
        let origin =
            serde_json::from_str::<serde_json::Value>(first).unwrap()["body"]["origin"].as_str().unwrap().to_owned();
        let checkpoint = fascicolo_dossier::Checkpoint { origin, size: 2, root: tree.root() };
        fs::write(path.join("checkpoint"), checkpoint.to_text()).unwrap();
        let found = verify(&path).unwrap();
        assert_eq!(found.integrity, holds, "{bytes}: {found:?}");
        if !holds {
            assert_eq!((found.faults.len(), found.faults[0].entry), (1, Some(1)), "{found:?}");
            assert!(found.faults[0].what.contains("65536 bytes"), "{found:?}");
        }
        assert_eq!(Dossier::open(&path, "s").is_ok(), holds);
    }
}

/// Every entry that is missing is accounted for; a few lines must not make that millions.
#[test]
fn a_short_log_of_many_jumps_does_not_take_the_memory_of_a_long_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.fascicolo");
    drop(Dossier::open(&path, "s").unwrap());
    let first = fs::read_to_string(path.join("entries.jsonl")).unwrap();
    let line = |seq: u64| {
        let prev = "0".repeat(64);
        format!(r#"{{"v":1,"seq":{seq},"prev":"{prev}","kind":"start","session":"s","wall":"w","mono_us":1}}"#) + "\n"
    };
    let jumps = 1..=100u64;
    for log in [
        jumps.clone().map(|i| line(i * 99_000) + &line(i * 99_000 + 1)).collect::<String>(),
        jumps.clone().map(|i| "?\n".to_owned() + &line(i * 99_000)).collect(),
    ] {
        fs::write(path.join("entries.jsonl"), first.clone() + &log).unwrap();
        let found = verify(&path).unwrap();
        assert!(!found.integrity && found.entries <= 100_000 + 201, "{} entries", found.entries);
    }
}

/// Only a file system in memory takes a file of that length.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_says_to_be_larger_than_any_memory_is_an_error() {
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else { return };
    let path = folder.path().join("d.fascicolo");
    small(&path);
    for name in ["entries.jsonl", "checkpoint", "disclosures/values.jsonl"] {
        let file = fs::OpenOptions::new().write(true).open(path.join(name)).unwrap();
        let length = file.metadata().unwrap().len();
        if file.set_len(1 << 50).is_ok() {
            assert!(matches!(verify(&path), Err(Error::Io { .. })), "{name}");
            assert!(matches!(Dossier::open(&path, "s"), Err(Error::Io { .. })), "{name}");
        }
        file.set_len(length).unwrap();
    }
    assert!(verify(&path).unwrap().integrity);
}
