//! The two examinations against each other: whatever the fast one takes, the slow one finds the same of.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::super::{Extent, examine};
use super::look;
use crate::checkpoint::Checkpoint;
use crate::draft::Draft;
use crate::examine::overview::Overview;
use crate::layout::{CHECKPOINT, ENTRIES, VALUES, at};
use crate::record::{CellRef, FileSeen, Kind, Record, Repeated};
use crate::tree::{Frontier, leaf_hash, to_hex};
use crate::writer::Dossier;
use crate::writer::tests::InMemory;

/// Sizes of blocks: less than a line, a few lines, everything.
const BLOCKS: [usize; 3] = [64, 1_500, 1 << 20];

fn slow(path: &Path) -> Overview {
    examine(path, Extent::All(None)).unwrap().into()
}

/// What the fast examination says; whatever it says, the slow one says too.
fn fast(path: &Path, block_bytes: usize, context: &str) -> Option<Overview> {
    let found = look(path, None, block_bytes).ok();
    if let Some(found) = &found {
        assert_eq!(*found, slow(path), "{context}");
    }
    found
}

fn assert_sound(path: &Path) -> Overview {
    let all: Vec<Overview> =
        BLOCKS.iter().map(|bytes| fast(path, *bytes, "a sound dossier").expect("it is sound")).collect();
    assert!(all.iter().all(|found| *found == all[0] && found.faults.is_empty()));
    assert_eq!(super::super::overview(path, None).unwrap(), all[0]);
    slow(path)
}

/// Entries of many kinds, with values, blobs and cells.
fn append_some(dossier: &mut Dossier, round: usize) {
    let cell = CellRef { id: (round.is_multiple_of(2)).then(|| "a1\n\u{e9}".to_owned()), n: round as u32 };
    let start = Draft {
        cell: Some(cell.clone()),
        private: vec![
            ("ran".into(), format!("let x = \"\u{e9}\n\u{1}\";{round}")),
            ("shown".into(), "z".repeat(4_200 + round)),
        ],
        ..Draft::new(Kind::Start)
    };
    let start = dossier.append(start).unwrap().seq;
    let read = FileSeen { role: "candidate".into(), sha256: "ab".repeat(32), bytes: 10 };
    let declare = Draft {
        body: json!({"floor": 0.999, "rows": [1, -2, null, true, 1e300], "why": "a \"b\" \\ \u{7f}", "in": {"floor": 1}}),
        blobs: vec![("component".into(), b"\0asm \xff".to_vec()), ("other".into(), vec![round as u8; 9])],
        reads: vec![read.clone(), read.clone()],
        writes: vec![read],
        environment: Some("cd".repeat(32)),
        ..Draft::new(Kind::Declare)
    };
    dossier.append(declare).unwrap();
    let end = Draft {
        start: Some(start),
        cell: Some(cell),
        status: Some("ok".into()),
        private: vec![("text/plain".into(), "2".into())],
        ..Draft::new(Kind::End)
    };
    dossier.append(end).unwrap();
}

/// A dossier with everything in it, closed with a checkpoint.
fn rich(path: &Path) {
    let mut dossier = Dossier::open(path, "session \"1\"").unwrap();
    append_some(&mut dossier, 0);
    append_some(&mut dossier, 1);
    dossier.redact(1, "ran", "a name").unwrap();
    dossier.redact(4, "shown", "a name").unwrap();
    let other = path.with_extension("other");
    append_some(&mut Dossier::open(&other, "elsewhere").unwrap(), 3);
    dossier.import(&other, &[Kind::Declare], Draft::new(Kind::Import)).unwrap();
    dossier.sign(&InMemory::new(1)).unwrap();
    drop(dossier);
    // A torn tail, a recovery, and a copy that goes on.
    for (file, tail) in [(ENTRIES, "{\"v\":1"), (VALUES, "{\"seq\":1")] {
        let content = fs::read_to_string(at(path, file)).unwrap();
        fs::write(at(path, file), content + tail).unwrap();
    }
    fs::copy(at(path, ENTRIES), at(path, "copy")).unwrap();
    fs::rename(at(path, "copy"), at(path, ENTRIES)).unwrap();
    let mut dossier = Dossier::open(path, "session 2").unwrap();
    append_some(&mut dossier, 2);
    dossier.sign(&InMemory::new(2)).unwrap();
    dossier.write_checkpoint().unwrap();
    let kinds: BTreeSet<String> = dossier.records().map(|r| format!("{:?}", r.kind)).collect();
    for kind in ["Recover", "Fork", "Redact", "Sign", "Import"] {
        assert!(kinds.contains(kind), "{kinds:?}");
    }
}

fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(at(path, ENTRIES)).unwrap().lines().map(str::to_owned).collect()
}

/// Writes lines as a log whose links and checkpoint hold, as far as the lines have a link.
fn rebuild(path: &Path, origin: &str, lines: &[String]) {
    let (mut text, mut tree, mut prev) = (String::new(), Frontier::default(), "0".repeat(64));
    for line in lines {
        let mut line = line.clone();
        if let Some(from) = line.find("\"prev\":\"").map(|at| at + 8).filter(|from| line.is_char_boundary(from + 64)) {
            line.replace_range(from..from + 64, &prev);
        }
        let hash = leaf_hash(line.as_bytes());
        tree.push(hash);
        prev = to_hex(&hash);
        text += &line;
        text.push('\n');
    }
    fs::write(at(path, ENTRIES), text).unwrap();
    let checkpoint = Checkpoint { origin: origin.to_owned(), size: tree.size(), root: tree.root() };
    fs::write(at(path, CHECKPOINT), checkpoint.to_text()).unwrap();
}

/// All files that are evidence.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for item in fs::read_dir(folder).unwrap() {
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

/// Numbers below a limit, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

#[test]
fn sound_dossiers_are_told_as_the_slow_examination_tells_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.fascicolo");
    let mut dossier = Dossier::open(&path, "s").unwrap();
    // Without a checkpoint, with one that covers all, with one that does not.
    for _ in 0..2 {
        assert_sound(&path);
        append_some(&mut dossier, 0);
        assert_sound(&path);
        dossier.write_checkpoint().unwrap();
        assert_eq!(assert_sound(&path).checkpoint, Some(dossier.size()));
    }
    fs::create_dir_all(at(&path, "blobs/sha256/00")).unwrap();
    fs::write(at(&path, "blobs/sha256/00").join("00".repeat(32)), "stray").unwrap();
    fs::write(at(&path, "blobs/tmp/x"), "stray").unwrap();
    fs::write(at(&path, "quarantine/x"), "stray").unwrap();
    assert_eq!(assert_sound(&path).notes.len(), 3);
    let path = folder.path().join("rich.fascicolo");
    rich(&path);
    let found = assert_sound(&path);
    assert!(found.signatures.len() == 2 && found.signatures.iter().all(|s| s.valid));
    let apart = |record: &&Record| record.from.is_some() || record.kind != Kind::Declare;
    let kinds: Vec<Kind> = found.landmarks.iter().filter(apart).map(|record| record.kind).collect();
    let expected = [
        Kind::Log,
        Kind::Redact,
        Kind::Redact,
        Kind::Import,
        Kind::Declare,
        Kind::Sign,
        Kind::Recover,
        Kind::Fork,
        Kind::Sign,
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn logs_of_both_formats_and_entries_that_repeat_others_are_sound() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.fascicolo");
    let mut dossier = Dossier::open(&path, "s").unwrap();
    append_some(&mut dossier, 0);
    append_some(&mut dossier, 1);
    let (origin, original) = (dossier.origin().to_owned(), lines(&path));
    let old = |line: &String| line.replacen("{\"v\":1", "{\"v\":0", 1).replace("dossier/v1", "dossier/v0");
    let all_old: Vec<String> = original.iter().map(old).collect();
    rebuild(&path, &origin, &all_old);
    assert_sound(&path);
    let half_old: Vec<String> = all_old[..3].iter().chain(&original[3..]).cloned().collect();
    rebuild(&path, &origin, &half_old);
    assert_sound(&path);
    // A body that only serde reads, and an entry of another log.
    let records: Vec<Record> = original.iter().map(|line| Record::from_leaf(line.as_bytes()).unwrap()).collect();
    let wide: serde_json::Map<String, serde_json::Value> = (0..90).map(|i| (format!("k{i}"), i.into())).collect();
    let mut changed = records.clone();
    changed[2].body = wide.into();
    let other = Checkpoint { origin: format!("fascicolo/{}", "1".repeat(32)), size: 8, root: [7; 32] };
    (changed[3].kind, changed[3].body) = (Kind::Import, json!({ "parent": crate::fork::described(&other) }));
    changed[5].from = Some(Repeated { origin: other.origin, seq: 7 });
    let changed: Vec<String> = changed.iter().map(|r| String::from_utf8(r.to_leaf().unwrap()).unwrap()).collect();
    rebuild(&path, &origin, &changed);
    assert_eq!(assert_sound(&path).landmarks.iter().map(|r| r.seq).collect::<Vec<_>>(), [0, 2, 3, 5]);
}

#[test]
fn no_byte_changed_anywhere_is_taken_as_sound() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.fascicolo");
    rich(&path);
    assert_sound(&path);
    let mut tried = 0;
    // The joined log is verified as a dossier of its own.
    for file in files(&path).into_iter().filter(|file| !file.starts_with(path.join("parents"))) {
        let original = fs::read(&file).unwrap();
        let mut changed = original.clone();
        // All bytes of a blob count alike.
        let step = if original.len() > 4_000 && file.to_string_lossy().contains("blobs") { 50 } else { 1 };
        for byte in (0..original.len()).step_by(step) {
            for flip in [0x01, 0x04, 0x20, 0x80] {
                changed[byte] = original[byte] ^ flip;
                fs::write(&file, &changed).unwrap();
                let context = format!("{} byte {byte} ^ {flip:#x}", file.display());
                assert!(fast(&path, BLOCKS[tried % 3], &context).is_none(), "{context}");
                tried += 1;
            }
            changed[byte] = original[byte];
        }
        fs::write(&file, &original).unwrap();
        // Cut anywhere, and gone.
        for length in (0..original.len()).step_by(7 * step) {
            fs::write(&file, &original[..length]).unwrap();
            fast(&path, BLOCKS[tried % 3], &format!("{} cut at {length}", file.display()));
            tried += 1;
        }
        fs::remove_file(&file).unwrap();
        fast(&path, 1 << 20, &format!("{} gone", file.display()));
        fs::write(&file, &original).unwrap();
    }
    assert!(tried > 25_000, "{tried}");
    assert_sound(&path);
}

/// What an author who hashes everything again can write: the links and the checkpoint hold, so that nothing but the
/// content of the entries tells.
#[test]
fn whatever_is_rebuilt_around_a_change_both_examinations_agree_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.fascicolo");
    let mut dossier = Dossier::open(&path, "s").unwrap();
    append_some(&mut dossier, 0);
    append_some(&mut dossier, 1);
    dossier.redact(1, "ran", "a name").unwrap();
    dossier.redact(4, "shown", "a name").unwrap();
    drop(dossier);
    fs::copy(at(&path, ENTRIES), at(&path, "copy")).unwrap();
    fs::rename(at(&path, "copy"), at(&path, ENTRIES)).unwrap();
    let mut dossier = Dossier::open(&path, "s").unwrap();
    append_some(&mut dossier, 2);
    dossier.redact(11, "text/plain", "a name").unwrap_err();
    let origin = dossier.origin().to_owned();
    let (original, values) = (lines(&path), fs::read_to_string(at(&path, VALUES)).unwrap());
    rebuild(&path, &origin, &original);
    // The fork names a root, which stays the same as nothing was changed before it.
    assert_sound(&path);
    let mut random = Random(11);
    let pieces = [
        "\"",
        "\\",
        ",",
        ":",
        "{",
        "}",
        "[",
        "]",
        "0",
        "1",
        "9",
        "-",
        ".",
        "e",
        "a",
        "u",
        " ",
        "\n",
        "\u{1}",
        "\u{e9}",
        "null",
        "true",
        "\"start\":1,",
        "\"v\":0",
        "\\u00e9",
        "\\n",
        "$",
        "\"body\":{},",
        "\"reads\":[],",
    ];
    let words = [
        ("\"kind\":\"start\"", "\"kind\":\"end\""),
        ("\"kind\":\"end\"", "\"kind\":\"start\""),
        ("\"kind\":\"declare\"", "\"kind\":\"redact\""),
        ("\"kind\":\"redact\"", "\"kind\":\"verdict\""),
        ("\"kind\":\"fork\"", "\"kind\":\"recover\""),
        ("\"kind\":\"declare\"", "\"kind\":\"fork\""),
        ("\"kind\":\"end\"", "\"kind\":\"log\""),
        ("\"kind\":\"end\"", "\"kind\":\"replay\""),
        ("\"blob\":true", "\"blob\":false"),
        ("\"blob\":false", "\"blob\":true"),
        ("\"seq\":1,\"field\"", "\"seq\":4,\"field\""),
        ("\"field\":\"ran\"", "\"field\":\"shown\""),
        ("\"start\":1", "\"start\":2"),
        ("\"start\":1", "\"start\":4"),
        ("\"start\":4", "\"start\":9"),
        ("\"v\":1", "\"v\":0"),
        ("\"ran\"", "\"ran \""),
        ("\"ran\"", "\"\\u0001\""),
        ("\"size\":", "\"size\":1"),
        ("\"bytes\":", "\"bytes\":1"),
        ("ab", "ac"),
        ("0.999", "0.9990"),
        ("0.999", "1e2"),
        ("fascicolo/", "fascicolo/0"),
        ("\"session\":\"s\"", "\"session\":\"t\""),
        ("\"mono_us\":", "\"mono_us\":1"),
    ];
    let (mut sound, mut odd) = (0, 0);
    for round in 0..6_000 {
        let mut changed = original.clone();
        let mut changed_values: Vec<String> = values.lines().map(str::to_owned).collect();
        for _ in 0..1 + random.below(2) {
            let at = random.below(changed.len());
            match random.below(10) {
                0 => drop(changed.remove(at)),
                1 => changed.insert(at, changed[at].clone()),
                2 => {
                    let next = (at + 1) % changed.len();
                    changed.swap(at, next);
                }
                3 => {
                    let line = random.below(changed_values.len());
                    let other = random.below(changed_values.len());
                    match random.below(3) {
                        0 => drop(changed_values.remove(line)),
                        1 => changed_values.insert(line, changed_values[other].clone()),
                        _ => changed_values.swap(line, other),
                    }
                }
                4 | 5 => {
                    let mut letters: Vec<char> = changed[at].chars().collect();
                    let from = random.below(letters.len());
                    let until = (from + random.below(3)).min(letters.len());
                    let piece = pieces[random.below(pieces.len())].chars().take(random.below(12));
                    letters.splice(from..until, piece.collect::<Vec<_>>());
                    changed[at] = letters.into_iter().collect();
                }
                6 => {
                    let mut record = Record::from_leaf(original[at % original.len()].as_bytes()).unwrap();
                    record.v = u8::from(random.below(3) > 0);
                    record.start = (random.below(2) == 0).then(|| random.below(16) as u64);
                    let of_other = Record::from_leaf(original[random.below(original.len())].as_bytes()).unwrap();
                    match random.below(4) {
                        0 => record.committed = of_other.committed,
                        1 => record.kind = of_other.kind,
                        2 => record.body = of_other.body,
                        _ => record.blobs = of_other.blobs,
                    }
                    if let Some(line) = changed.get_mut(at) {
                        *line = String::from_utf8(record.to_leaf().unwrap()).unwrap();
                    }
                }
                _ => {
                    let (old, new) = words[random.below(words.len())];
                    let line = (0..changed.len()).map(|i| (at + i) % changed.len()).find(|i| changed[*i].contains(old));
                    if let Some(line) = line {
                        changed[line] = changed[line].replacen(old, new, 1);
                    }
                }
            }
        }
        rebuild(&path, &origin, &changed);
        fs::write(at(&path, VALUES), changed_values.iter().map(|line| format!("{line}\n")).collect::<String>())
            .unwrap();
        match fast(&path, BLOCKS[round % 3], &format!("round {round}: {changed:#?}")) {
            Some(_) => sound += 1,
            None => odd += 1,
        }
    }
    assert!(sound > 100 && odd > 3_000, "{sound} taken, {odd} not");
}

/// Redactions that were interrupted, values gone without one, an incomplete line: all left to the other examination.
#[test]
fn what_is_to_be_mended_is_left_to_the_slow_examination() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.fascicolo");
    let mut dossier = Dossier::open(&path, "s").unwrap();
    append_some(&mut dossier, 0);
    let kept: Vec<(PathBuf, Vec<u8>)> =
        files(&path).into_iter().map(|file| (file.clone(), fs::read(&file).unwrap())).collect();
    dossier.redact(1, "ran", "a name").unwrap();
    dossier.redact(1, "shown", "a name").unwrap();
    let done = assert_sound(&path);
    assert!(done.notes.len() == 1, "{done:?}");
    for (file, content) in kept.iter().filter(|(file, _)| !file.exists()) {
        fs::write(file, content).unwrap();
        assert!(fast(&path, 1 << 20, "a blob stands again").is_none());
        assert!(slow(&path).faults.is_empty());
        fs::remove_file(file).unwrap();
    }
    let values = fs::read_to_string(at(&path, VALUES)).unwrap();
    let old = kept.iter().find(|(file, _)| file.ends_with("values.jsonl")).unwrap();
    let first = std::str::from_utf8(&old.1).unwrap().split_inclusive('\n').next().unwrap();
    fs::write(at(&path, VALUES), format!("{first}{values}")).unwrap();
    assert!(fast(&path, 1 << 20, "a value stands again").is_none());
    assert!(slow(&path).faults.is_empty());
    fs::write(at(&path, VALUES), format!("{values}{{\"seq\"")).unwrap();
    assert!(fast(&path, 1 << 20, "a torn value").is_none() && slow(&path).leftover);
}

/// One salt and one value in two entries: no writer does that, and which of the two a line opens cannot be told.
#[test]
fn a_commitment_that_stands_twice_is_not_taken_as_sound() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.fascicolo");
    let mut dossier = Dossier::open(&path, "s").unwrap();
    let draft = || Draft { private: vec![("ran".into(), "same".into())], ..Draft::new(Kind::Start) };
    dossier.append(draft()).unwrap();
    dossier.append(draft()).unwrap();
    let (origin, original) = (dossier.origin().to_owned(), lines(&path));
    let mut second = Record::from_leaf(original[2].as_bytes()).unwrap();
    second.committed = Record::from_leaf(original[1].as_bytes()).unwrap().committed;
    let changed = [original[0].clone(), original[1].clone(), String::from_utf8(second.to_leaf().unwrap()).unwrap()];
    rebuild(&path, &origin, &changed);
    let values = fs::read_to_string(at(&path, VALUES)).unwrap();
    let first = values.lines().next().unwrap();
    fs::write(at(&path, VALUES), format!("{first}\n{}\n", first.replace("\"seq\":1", "\"seq\":2"))).unwrap();
    assert!(!slow(&path).faults.is_empty());
    assert!(fast(&path, 1 << 20, "twice").is_none());
}

/// Writes one change of a log and its disclosures; both examinations must refuse it.
fn assert_refused(path: &Path, what: &str, origin: &str, entries: &[String], values: &[String]) {
    rebuild(path, origin, entries);
    fs::write(at(path, VALUES), values.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    assert!(!slow(path).faults.is_empty(), "{what}");
    for block_bytes in BLOCKS {
        assert!(fast(path, block_bytes, what).is_none(), "{what}");
    }
}

/// Each change breaks one rule and keeps all others, links, checkpoint and disclosures included.
#[test]
fn each_rule_of_the_log_is_kept_by_both_examinations() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.fascicolo");
    let mut dossier = Dossier::open(&path, "s").unwrap();
    append_some(&mut dossier, 0);
    append_some(&mut dossier, 1);
    dossier.redact(1, "ran", "a name").unwrap();
    dossier.redact(3, "text/plain", "a name").unwrap();
    append_some(&mut dossier, 2);
    let (origin, original) = (dossier.origin().to_owned(), lines(&path));
    let values: Vec<String> = fs::read_to_string(at(&path, VALUES)).unwrap().lines().map(str::to_owned).collect();
    rebuild(&path, &origin, &original);
    assert_sound(&path);

    let record = |seq: usize| Record::from_leaf(original[seq].as_bytes()).unwrap();
    let committed = &record(4).committed;
    let [ran, shown] = ["ran", "shown"].map(|f| format!("\"{f}\":{}", serde_json::to_string(&committed[f]).unwrap()));
    let both = format!("{ran},{shown}");
    for (what, seq, old, new) in [
        ("fields out of order", 4, both.as_str(), format!("{shown},{ran}")),
        ("a field twice", 4, &both, format!("{ran},{both}")),
        ("a member of a body twice", 5, "\"floor\":0.999", "\"floor\":0.999,\"floor\":0.999".to_owned()),
        ("an end without a start", 6, "\"start\":4,", String::new()),
        ("an end of what is no start", 6, "\"start\":4,", "\"start\":5,".to_owned()),
        ("an end of a later start", 6, "\"start\":4,", "\"start\":9,".to_owned()),
        ("a start of its own", 4, ",\"committed\"", ",\"start\":4,\"committed\"".to_owned()),
        ("two lengths of a blob", 5, "\"bytes\":6}", "\"bytes\":7}".to_owned()),
        ("another length of a value", 6, "\"bytes\":1,\"blob\"", "\"bytes\":2,\"blob\"".to_owned()),
        ("an older format", 5, "\"v\":1", "\"v\":0".to_owned()),
        ("a newer format", 5, "\"v\":1", "\"v\":2".to_owned()),
        ("a second log", 5, "\"kind\":\"declare\"", "\"kind\":\"log\"".to_owned()),
        ("no log at the beginning", 0, "\"kind\":\"log\"", "\"kind\":\"declare\"".to_owned()),
        ("a log without an origin", 0, "\"origin\"", "\"name\"".to_owned()),
        ("a log of another format", 0, "dossier/v1", "dossier/v0".to_owned()),
        ("an empty body", 6, ",\"wall\"", ",\"body\":null,\"wall\"".to_owned()),
        ("an empty list", 6, ",\"committed\"", ",\"reads\":[],\"committed\"".to_owned()),
        ("another number", 6, "\"seq\":6", "\"seq\":7".to_owned()),
        ("a space", 6, ",\"kind\"", ", \"kind\"".to_owned()),
        ("a letter written as an escape", 6, "\"status\":\"ok\"", "\"status\":\"\\u006fk\"".to_owned()),
        ("an import of nothing", 5, "\"kind\":\"declare\"", "\"kind\":\"import\"".to_owned()),
        (
            "an entry of a log that was not joined",
            5,
            "\"environment\"",
            format!("\"from\":{{\"origin\":\"fascicolo/{}\",\"seq\":1}},\"environment\"", "1".repeat(32)),
        ),
        ("a redaction of nothing", 7, "\"redacts\"", "\"redact\"".to_owned()),
        ("a redaction of no such value", 7, "\"redacts\":[", "\"redacts\":[{\"seq\":2,\"field\":\"ran\"},".to_owned()),
        (
            "a redaction of a public content",
            7,
            "\"redacts\":[",
            "\"redacts\":[{\"seq\":2,\"field\":\"other\"},".to_owned(),
        ),
    ] {
        let mut changed = original.clone();
        assert!(changed[seq].contains(old), "{what}: {}", changed[seq]);
        changed[seq] = changed[seq].replacen(old, &new, 1);
        assert_refused(&path, what, &origin, &changed, &values);
    }
    // Values that are gone: without a redaction, by one that came before the value, and of an entry that is none of the
    // author's.
    for (what, by, seq, field) in [
        ("a value gone", None, 4, "ran"),
        ("a value redacted before it was there", Some(7), 9, "ran"),
        ("the reason of a redaction redacted", Some(8), 7, "why"),
    ] {
        let mut changed = original.clone();
        if let Some(by) = by {
            let new = format!("\"redacts\":[{{\"seq\":{seq},\"field\":\"{field}\"}},");
            changed[by] = changed[by].replacen("\"redacts\":[", &new, 1);
        }
        let gone = format!("{{\"seq\":{seq},\"field\":\"{field}\"");
        let kept: Vec<String> = values.iter().filter(|line| !line.starts_with(&gone)).cloned().collect();
        assert_eq!(kept.len() + 1, values.len(), "{what}");
        assert_refused(&path, what, &origin, &changed, &kept);
    }
    // Forks.
    let root_at =
        |size: usize| original[..size].iter().map(|line| leaf_hash(line.as_bytes())).collect::<Frontier>().root();
    let new = format!("fascicolo/{}", "7".repeat(32));
    let size = original.len();
    let fork = |parent: &str, size: usize, root: usize, own: &str| {
        let parent = Checkpoint { origin: parent.to_owned(), size: size as u64, root: root_at(root) };
        let mut fork = record(size.min(original.len() - 1));
        (fork.seq, fork.kind, fork.body) = (original.len() as u64, Kind::Fork, crate::fork::Fork::body(&parent, own));
        (fork.start, fork.committed, fork.blobs) = (None, Default::default(), Default::default());
        let line = String::from_utf8(fork.to_leaf().unwrap()).unwrap();
        original.iter().cloned().chain([line]).collect::<Vec<String>>()
    };
    for (what, own, changed) in [
        ("an origin that it had", &origin, fork(&origin, size, size, &origin)),
        ("no origin", &"fascicolo/7".to_owned(), fork(&origin, size, size, "fascicolo/7")),
        ("another parent", &new, fork(&new, size, size, &new)),
        ("another root", &new, fork(&origin, size, size - 1, &new)),
        ("a parent with entries between", &new, fork(&origin, size - 1, size - 1, &new)),
        ("an empty parent", &new, fork(&origin, 0, 0, &new)),
    ] {
        assert_refused(&path, what, own, &changed, &values);
    }
    rebuild(&path, &new, &fork(&origin, size, size, &new));
    assert_eq!(assert_sound(&path).origin, Some(new));
}
