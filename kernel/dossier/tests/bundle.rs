//! A bundle holds the whole case, is the same for the same case, and stock tools can check it.

#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use common::{copy, files, small};
use ct_merkle::mem_backed_tree::MemoryBackedTree;
use fascicolo_dossier::bundle::{self, BundleError, Case, CaseFile, Limits, NameProblem, Source};
use fascicolo_dossier::{Dossier, Draft, Kind};
use sha2::Sha256;
use zip::write::SimpleFileOptions;

/// A small dossier, and a case with two files beside it.
fn case(folder: &Path) -> Case {
    let dossier = folder.join("case.fascicolo");
    small(&dossier);
    let large = folder.join("large.bin");
    fs::write(&large, (0..300_000u32).flat_map(u32::to_le_bytes).collect::<Vec<u8>>()).unwrap();
    Case {
        name: "case".into(),
        dossier,
        files: vec![
            CaseFile { path: "case.ipynb".into(), source: Source::Bytes(b"{\"cells\": []}\n".to_vec()) },
            CaseFile { path: "inputs/été 1.bin".into(), source: Source::File(large) },
        ],
        info: vec![("Bagging-Date".into(), "2026-12-01".into())],
    }
}

/// A dossier of so many entries, with a checkpoint.
fn dossier_of(path: &Path, entries: u64) {
    let mut dossier = Dossier::open(path, "s").unwrap();
    while dossier.size() < entries {
        dossier.append(Draft { body: serde_json::json!({"n": dossier.size()}), ..Draft::new(Kind::Start) }).unwrap();
    }
    dossier.write_checkpoint().unwrap();
}

fn zip_again(folder: &Path, zip: &Path) {
    let mut writer = zip::ZipWriter::new(fs::File::create(zip).unwrap());
    for path in files(folder) {
        let name = path.strip_prefix(folder.parent().unwrap()).unwrap().to_str().unwrap();
        writer.start_file(name, SimpleFileOptions::default()).unwrap();
        writer.write_all(&fs::read(&path).unwrap()).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn what_is_written_is_read_back_and_holds() {
    let folder = tempfile::tempdir().unwrap();
    let case = case(folder.path());
    let zip = folder.path().join("case.zip");
    let written = bundle::write(&zip, &case).unwrap();
    let opened = bundle::read(&zip, &folder.path().join("into"), &Limits::default()).unwrap();
    assert!(opened.integrity() && opened.faults.is_empty(), "{opened:?}");
    assert_eq!((opened.name.as_str(), opened.verification.entries), ("case", written.entries));
    assert_eq!(opened.verification.root.as_ref(), Some(&written.root));
    assert_eq!(opened.verification.unproved_tail, 0);
    assert_eq!(opened.dossier, opened.folder.join("data").join("case.fascicolo"));
    assert_eq!(fs::read(opened.folder.join("data/case.ipynb")).unwrap(), b"{\"cells\": []}\n");
    assert_eq!(
        fs::read(opened.folder.join("data/inputs/été 1.bin")).unwrap(),
        fs::read(folder.path().join("large.bin")).unwrap()
    );
    let view = Dossier::read(&opened.dossier).unwrap();
    assert_eq!(view.value(4, "shown").unwrap().unwrap(), "x".repeat(common::LARGE));
    assert_eq!(written.sha256, fascicolo_dossier::to_hex(&fascicolo_dossier::sha256(&fs::read(&zip).unwrap())));
    assert_eq!(written.bytes, zip.metadata().unwrap().len());
    // What is of this machine only stays here.
    for own in ["lock", "place", "quarantine", "blobs/tmp"] {
        assert!(case.dossier.join(own).exists() || own == "place", "{own}");
        assert!(!opened.dossier.join(own).exists(), "{own}");
    }
    // Nothing else is left beside the zip.
    assert!(!fs::read_dir(folder.path()).unwrap().any(|f| f.unwrap().file_name().to_string_lossy().contains(".tmp")));
}

#[test]
fn the_same_case_gives_the_same_bytes() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let first = case(one.path());
    let second = Case {
        dossier: two.path().join("case.fascicolo"),
        files: first.files.iter().rev().cloned().collect(),
        ..first.clone()
    };
    copy(&first.dossier, &second.dossier);
    std::thread::sleep(std::time::Duration::from_millis(20));
    let (a, b) = (one.path().join("a.zip"), two.path().join("b.zip"));
    assert_eq!(bundle::write(&a, &first).unwrap(), bundle::write(&b, &second).unwrap());
    assert_eq!(fs::read(&a).unwrap(), fs::read(&b).unwrap());
    assert_eq!(bundle::write(&a, &first).unwrap(), bundle::write(&b, &second).unwrap(), "in place of an older one");
}

/// `sha256sum -c` on both manifests.
#[cfg(target_os = "linux")]
fn accepted(bag: &Path) -> bool {
    ["manifest-sha256.txt", "tagmanifest-sha256.txt"].iter().all(|manifest| {
        let mut check = Command::new("sha256sum");
        check.args(["--strict", "--status", "-c", manifest]).current_dir(bag).status().unwrap().success()
    })
}

#[cfg(target_os = "linux")]
#[test]
fn sha256sum_accepts_it_and_rejects_every_file_with_one_flipped_bit() {
    let folder = tempfile::tempdir().unwrap();
    let zip = folder.path().join("case.zip");
    bundle::write(&zip, &case(folder.path())).unwrap();
    let bag = bundle::read(&zip, &folder.path().join("into"), &Limits::default()).unwrap().folder;
    assert!(accepted(&bag));
    for file in files(&bag).into_iter().filter(|f| !f.ends_with("tagmanifest-sha256.txt")) {
        let bytes = fs::read(&file).unwrap();
        let mut changed = bytes.clone();
        changed[bytes.len() / 2] ^= 1;
        fs::write(&file, changed).unwrap();
        assert!(!accepted(&bag), "{}", file.display());
        fs::write(&file, bytes).unwrap();
    }
    assert!(accepted(&bag));
}

#[test]
fn a_changed_removed_or_added_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let zip = folder.path().join("case.zip");
    bundle::write(&zip, &case(folder.path())).unwrap();
    let bag = bundle::read(&zip, &folder.path().join("into"), &Limits::default()).unwrap().folder;
    let again = folder.path().join("again.zip");
    let faults_of = |label: &str| {
        zip_again(&bag, &again);
        let opened = bundle::read(&again, &folder.path().join(label), &Limits::default()).unwrap();
        assert_eq!(opened.integrity(), opened.faults.is_empty() && opened.verification.integrity);
        (opened.faults.into_iter().map(|f| f.to_string()).collect::<Vec<_>>(), opened.verification.integrity)
    };
    assert_eq!(faults_of("same"), (vec![], true));
    for (n, file) in files(&bag).iter().filter(|f| !f.ends_with("bagit.txt")).enumerate() {
        let name = file.strip_prefix(&bag).unwrap().to_str().unwrap().to_owned();
        let bytes = fs::read(file).unwrap();
        let mut changed = bytes.clone();
        changed[bytes.len() / 2] ^= 1;
        fs::write(file, changed).unwrap();
        let (faults, dossier) = faults_of(&format!("changed {n}"));
        // A changed list of tags is told by what it says of them.
        assert!(faults.iter().any(|f| f.contains(&name)), "{name}: {faults:?}");
        assert_eq!(dossier, !name.contains("case.fascicolo"), "{name}");
        fs::remove_file(file).unwrap();
        if !name.ends_with("entries.jsonl") {
            let (faults, _) = faults_of(&format!("removed {n}"));
            assert!(faults.iter().any(|f| f.starts_with(&name) && f.contains("missing")), "{name}: {faults:?}");
        }
        fs::write(file, bytes).unwrap();
    }
    for (n, name) in ["data/more", "more.txt", "data/log/tile/0/001"].iter().enumerate() {
        fs::write(bag.join(name), "x").unwrap();
        let (faults, _) = faults_of(&format!("added {n}"));
        assert!(faults.iter().any(|f| f.starts_with(name) && f.contains("is not listed")), "{name}: {faults:?}");
        fs::remove_file(bag.join(name)).unwrap();
    }
}

#[test]
fn a_bag_made_whole_again_over_other_tiles_does_not_hold() {
    let folder = tempfile::tempdir().unwrap();
    let zip = folder.path().join("case.zip");
    bundle::write(&zip, &case(folder.path())).unwrap();
    let bag = bundle::read(&zip, &folder.path().join("into"), &Limits::default()).unwrap().folder;
    let tile = bag.join("data/log/tile/0/000.p/8");
    let mut bytes = fs::read(&tile).unwrap();
    let before = fascicolo_dossier::to_hex(&fascicolo_dossier::sha256(&bytes));
    bytes[0] ^= 1;
    fs::write(&tile, &bytes).unwrap();
    let hex_of = |bytes: &[u8]| fascicolo_dossier::to_hex(&fascicolo_dossier::sha256(bytes));
    let text = fs::read_to_string(bag.join("manifest-sha256.txt")).unwrap();
    let changed = text.replace(&before, &hex_of(&bytes));
    fs::write(bag.join("manifest-sha256.txt"), &changed).unwrap();
    let tags = fs::read_to_string(bag.join("tagmanifest-sha256.txt")).unwrap();
    let tags = tags.replace(&hex_of(text.as_bytes()), &hex_of(changed.as_bytes()));
    fs::write(bag.join("tagmanifest-sha256.txt"), tags).unwrap();
    let again = folder.path().join("again.zip");
    zip_again(&bag, &again);
    let opened = bundle::read(&again, &folder.path().join("second"), &Limits::default()).unwrap();
    assert!(opened.verification.integrity && !opened.integrity());
    assert_eq!(opened.faults.len(), 1, "{:?}", opened.faults);
    assert_eq!(opened.faults[0].file, "data/log/tile/0/000.p/8");
}

/// The root over some leaves, by another implementation.
fn oracle_root(leaves: &[Vec<u8>]) -> Vec<u8> {
    let mut tree = MemoryBackedTree::<Sha256, Vec<u8>>::new();
    leaves.iter().for_each(|leaf| tree.push(leaf.clone()));
    tree.root().as_bytes().to_vec()
}

#[test]
fn tiles_are_those_of_the_specification_at_every_boundary() {
    let folder = tempfile::tempdir().unwrap();
    for (size, expected) in [
        (1, vec!["0/000.p/1", "entries/000.p/1"]),
        (255, vec!["0/000.p/255", "entries/000.p/255"]),
        (256, vec!["0/000", "1/000.p/1", "entries/000"]),
        (257, vec!["0/000", "0/001.p/1", "1/000.p/1", "entries/000", "entries/001.p/1"]),
        (600, vec!["0/000", "0/001", "0/002.p/88", "1/000.p/2", "entries/000", "entries/001", "entries/002.p/88"]),
    ] {
        let path = folder.path().join(format!("{size}.fascicolo"));
        dossier_of(&path, size);
        let zip = folder.path().join(format!("{size}.zip"));
        let case = Case { name: format!("n{size}"), dossier: path.clone(), ..Case::default() };
        assert_eq!(bundle::write(&zip, &case).unwrap().entries, size);
        let opened = bundle::read(&zip, &folder.path().join(format!("into {size}")), &Limits::default()).unwrap();
        assert!(opened.integrity(), "{opened:?}");
        let log = opened.folder.join("data/log");
        let found = files(&log.join("tile"));
        let found: Vec<&str> =
            found.iter().map(|f| f.strip_prefix(log.join("tile")).unwrap().to_str().unwrap()).collect();
        assert_eq!(found, expected);

        let text = fs::read_to_string(path.join("entries.jsonl")).unwrap();
        let leaves: Vec<Vec<u8>> = text.lines().map(|line| line.as_bytes().to_vec()).collect();
        assert_eq!(leaves.len() as u64, size);
        let checkpoint = fs::read_to_string(log.join("checkpoint")).unwrap();
        let root = BASE64_STANDARD.encode(oracle_root(&leaves));
        assert_eq!(checkpoint.lines().skip(1).collect::<Vec<_>>(), [size.to_string(), root]);
        for name in expected {
            let (level, rest) = name.split_once('/').unwrap();
            let (number, width) = rest.split_once(".p/").unwrap_or((rest, "256"));
            let (n, width): (usize, usize) = (number.parse().unwrap(), width.parse().unwrap());
            let bytes = fs::read(log.join("tile").join(name)).unwrap();
            if level == "entries" {
                let mut rest = bytes.as_slice();
                for leaf in &leaves[n * 256..n * 256 + width] {
                    let (length, after) = rest.split_at(2);
                    let (entry, after) = after.split_at(usize::from(length[0]) * 256 + usize::from(length[1]));
                    assert_eq!(entry, leaf);
                    rest = after;
                }
                assert!(rest.is_empty());
            } else {
                // MTH(D[(n * 256 + i) * 256**l : (n * 256 + i + 1) * 256**l])
                let span = 256usize.pow(level.parse().unwrap());
                let first = n * 256;
                let hashes = (first..first + width).map(|i| oracle_root(&leaves[i * span..(i + 1) * span]));
                assert_eq!(bytes, hashes.flatten().collect::<Vec<u8>>(), "{name} of {size}");
            }
        }
    }
}

#[test]
fn a_log_beyond_its_checkpoint_or_without_one_is_not_exported() {
    let folder = tempfile::tempdir().unwrap();
    let case = case(folder.path());
    let zip = folder.path().join("case.zip");
    let refused = |says: &str| match bundle::write(&zip, &case) {
        Err(e @ BundleError::NotCovered { .. }) => assert!(e.to_string().contains(says), "{e}"),
        other => panic!("{other:?}"),
    };
    Dossier::open(&case.dossier, "later").unwrap().append(Draft::new(Kind::Start)).unwrap();
    refused("it covers 8 of 9 entries");
    let checkpoint = fs::read(case.dossier.join("checkpoint")).unwrap();
    fs::remove_file(case.dossier.join("checkpoint")).unwrap();
    refused("there is none");
    fs::write(case.dossier.join("checkpoint"), "8\n").unwrap();
    refused("it cannot be read");
    let other = String::from_utf8(checkpoint).unwrap().replace("\n8\n", "\n9\n");
    fs::write(case.dossier.join("checkpoint"), other).unwrap();
    refused("the entries have another root");
    fs::OpenOptions::new().append(true).open(case.dossier.join("entries.jsonl")).unwrap().write_all(b"{").unwrap();
    refused("has no end");
    assert!(!zip.exists());
    let none = Case { dossier: folder.path().join("none.fascicolo"), ..case.clone() };
    assert_eq!(bundle::write(&zip, &none).unwrap_err().kind(), "not_a_dossier");
}

#[test]
fn names_that_are_not_safe_everywhere_are_not_exported() {
    let folder = tempfile::tempdir().unwrap();
    let case = case(folder.path());
    let zip = folder.path().join("case.zip");
    let with = |paths: &[&str]| {
        let file = |path: &&str| CaseFile { path: (*path).to_owned(), source: Source::Bytes(vec![1]) };
        let case = Case { files: paths.iter().map(file).collect(), ..case.clone() };
        match bundle::write(&zip, &case) {
            Err(e @ BundleError::Name { .. }) => (e.kind(), e.place().unwrap()),
            other => panic!("{paths:?}: {other:?}"),
        }
    };
    assert_eq!(with(&["../x"]), ("name_traversal", "../x".into()));
    assert_eq!(with(&["/x"]), ("name_absolute", "/x".into()));
    assert_eq!(with(&["C:/x"]), ("name_drive_letter", "C:/x".into()));
    assert_eq!(with(&["a\\b"]), ("name_backslash", "a\\b".into()));
    assert_eq!(with(&["nul.txt"]), ("name_not_portable", "nul.txt".into()));
    assert_eq!(with(&["a", "a"]), ("name_duplicate", "case/data/a".into()));
    assert_eq!(with(&["a", "A"]).0, "name_case");
    assert_eq!(with(&["a", "a/b"]).0, "name_file_and_folder");
    assert_eq!(with(&["log/x"]).0, "name_reserved");
    assert_eq!(with(&["Case.fascicolo/place"]).0, "name_reserved");
    for name in ["", "a/b", "..", "con"] {
        assert!(matches!(
            bundle::write(&zip, &Case { name: name.into(), ..case.clone() }),
            Err(BundleError::Name { problem: NameProblem::NotPortable(_) | NameProblem::Traversal, .. })
        ));
    }
    for (label, value) in [("Payload-Oxum", "1.1"), ("a:b", "x"), ("a", "x\ny: z"), ("", "x"), ("a", "")] {
        let case = Case { info: vec![(label.into(), value.into())], ..case.clone() };
        assert_eq!(bundle::write(&zip, &case).unwrap_err().kind(), "bad_bag_info", "{label}");
    }
    assert!(!zip.exists());
}

#[cfg(unix)]
#[test]
fn links_are_not_exported() {
    let folder = tempfile::tempdir().unwrap();
    let case = case(folder.path());
    let zip = folder.path().join("case.zip");
    let link = |at: PathBuf| std::os::unix::fs::symlink("/etc/hostname", at).unwrap();
    link(folder.path().join("link"));
    let file = CaseFile { path: "x".into(), source: Source::File(folder.path().join("link")) };
    let linked = Case { files: vec![file], ..case.clone() };
    assert!(matches!(bundle::write(&zip, &linked), Err(BundleError::LinkedSource { .. })));
    let file = CaseFile { path: "x".into(), source: Source::File(folder.path().to_path_buf()) };
    assert!(matches!(
        bundle::write(&zip, &Case { files: vec![file], ..case.clone() }),
        Err(BundleError::NotAFile { .. })
    ));
    link(case.dossier.join("disclosures/more"));
    assert!(matches!(bundle::write(&zip, &case), Err(BundleError::LinkedSource { .. })));
    fs::remove_file(case.dossier.join("disclosures/more")).unwrap();
    fs::rename(case.dossier.join("blobs"), folder.path().join("blobs")).unwrap();
    std::os::unix::fs::symlink(folder.path().join("blobs"), case.dossier.join("blobs")).unwrap();
    assert!(matches!(bundle::write(&zip, &case), Err(BundleError::LinkedSource { .. })));
    assert!(!zip.exists());
}

#[test]
fn a_file_of_zeros_is_exported_and_read_back_although_it_would_shrink_a_thousandfold() {
    let folder = tempfile::tempdir().unwrap();
    let mut case = case(folder.path());
    case.files.push(CaseFile { path: "zeros.bin".into(), source: Source::Bytes(vec![0; 3 << 20]) });
    let zip = folder.path().join("case.zip");
    bundle::write(&zip, &case).unwrap();
    let opened = bundle::read(&zip, &folder.path().join("into"), &Limits::default()).unwrap();
    assert!(opened.integrity(), "{opened:?}");
    assert_eq!(fs::read(opened.folder.join("data/zeros.bin")).unwrap(), vec![0; 3 << 20]);
}
