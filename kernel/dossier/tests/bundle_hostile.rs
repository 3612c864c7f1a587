//! A zip made to do harm is refused before anything of it is written, and the entry is named.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{Cursor, Write};

use fascicolo_dossier::bundle::{self, BundleError, Limits};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const LIMITS: Limits = Limits { entries: 20, total_bytes: 4 << 20, ratio: 200 };

fn zip_of(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in entries {
        writer.start_file(name, SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Replaces every occurrence of a run of bytes by another one as long.
fn patched(mut zip: Vec<u8>, from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let places: Vec<usize> = (0..zip.len() - from.len()).filter(|at| zip[*at..].starts_with(from.as_bytes())).collect();
    assert_eq!(places.len(), 2, "local and central header");
    for at in places {
        zip[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    zip
}

/// Writes a 16-bit number into the headers of the n-th entry: at `local` and `central` bytes from their signatures.
fn with_u16(mut zip: Vec<u8>, n: usize, local: Option<usize>, central: usize, value: u16) -> Vec<u8> {
    for (signature, offset) in [(b"PK\x03\x04", local), (b"PK\x01\x02", Some(central))] {
        let Some(offset) = offset else { continue };
        let at = (0..zip.len()).filter(|at| zip[*at..].starts_with(signature)).nth(n).unwrap();
        zip[at + offset..at + offset + 2].copy_from_slice(&value.to_le_bytes());
    }
    zip
}

/// Reads the zip; nothing may be written, nor anywhere else.
fn refused(zip: &[u8]) -> BundleError {
    let folder = tempfile::tempdir().unwrap();
    let (path, into) = (folder.path().join("z.zip"), folder.path().join("deep/er/into"));
    fs::write(&path, zip).unwrap();
    let error = bundle::read(&path, &into, &LIMITS).unwrap_err();
    assert!(fs::read_dir(&into).unwrap().next().is_none(), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    assert!(!error.next_step().is_empty() && !error.to_string().is_empty());
    error
}

fn assert_refused(zip: &[u8], kind: &str, entry: &str) {
    let error = refused(zip);
    assert_eq!((error.kind(), error.place().as_deref()), (kind, Some(entry)), "{error}");
}

#[test]
fn names_that_lead_elsewhere() {
    for (name, kind) in [
        ("../../x", "name_traversal"),
        ("c/../../x", "name_traversal"),
        ("c/./xxx", "name_traversal"),
        ("/etc/xx", "name_absolute"),
        ("\\\\srv\\x", "name_absolute"),
        ("c\\..\\xx", "name_backslash"),
        ("C:/xxxx", "name_drive_letter"),
        ("c/nul.x", "name_not_portable"),
        ("c/x:ads", "name_not_portable"),
        ("c//xxxx", "name_not_portable"),
        ("c/xx\n.x", "name_not_portable"),
        ("other/x", "entry_outside_folder"),
    ] {
        let plain = format!("c/{}", "p".repeat(name.len() - 2));
        let zip = patched(zip_of(&[("c/bagit.txt", b"x"), (&plain, b"x")]), &plain, name);
        assert_refused(&zip, kind, name);
    }
    assert_refused(&zip_of(&[("file", b"x")]), "entry_outside_folder", "file");
}

#[test]
fn names_that_meet() {
    let zip = zip_of(&[("c/bagit.txt", b"x"), ("c/one", b"1"), ("c/two", b"2")]);
    assert_refused(&patched(zip.clone(), "c/two", "c/one"), "name_duplicate", "c/one");
    assert_refused(&patched(zip.clone(), "c/two", "c/oNe"), "name_case", "c/oNe");
    assert_refused(&patched(zip, "c/two", "C/two"), "name_case", "C/two");
    assert_refused(&zip_of(&[("c/a", b"1"), ("c/a/b", b"2")]), "name_file_and_folder", "c/a/b");
}

#[test]
fn names_given_in_two_ways() {
    // Not UTF-8 at all, and UTF-8 that the flag does not announce, which others read as code page 437.
    let mut zip = zip_of(&[("c/bagit.txt", b"x"), ("c/pp", b"x")]);
    for at in (0..zip.len() - 4).filter(|at| zip[*at..].starts_with(b"c/pp")).collect::<Vec<_>>() {
        zip[at + 2] = 0xff;
    }
    assert_refused(&zip, "name_encoding", "c/\u{fffd}p");
    let zip = patched(zip_of(&[("c/bagit.txt", b"x"), ("c/pp", b"x")]), "c/pp", "c/é");
    assert_refused(&zip, "name_encoding", "c/é");
}

#[test]
fn links_devices_encrypted_and_unknown_entries() {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.start_file("c/bagit.txt", SimpleFileOptions::default()).unwrap();
    writer.add_symlink("c/link", "/etc/passwd", SimpleFileOptions::default()).unwrap();
    assert_refused(&writer.finish().unwrap().into_inner(), "entry_is_link", "c/link");

    let zip = zip_of(&[("c/bagit.txt", b"x"), ("c/file", b"content")]);
    for mode in [0o020_644, 0o010_644, 0o140_644, 0o040_755] {
        assert_refused(&with_u16(zip.clone(), 1, None, 40, mode), "entry_is_special", "c/file");
    }
    for flag in [1, 1 | 1 << 6, 1 << 13] {
        assert_refused(&with_u16(zip.clone(), 1, Some(6), 8, flag), "entry_encrypted", "c/file");
    }
    for method in [9, 12, 93, 99] {
        assert_refused(&with_u16(zip.clone(), 1, Some(8), 10, method), "entry_unsupported", "c/file");
    }
}

#[test]
fn bombs_and_sizes() {
    let zeros = vec![0; 2 << 20];
    assert_refused(&zip_of(&[("c/bagit.txt", b"x"), ("c/zeros", &zeros)]), "entry_grows_too_much", "c/zeros");
    let noise: Vec<u8> = (0u64..1 << 18).flat_map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_le_bytes()).collect();
    let zip = zip_of(&[("c/one", &noise), ("c/two", &noise), ("c/three", b"x")]);
    assert_refused(&zip, "bundle_too_large", "c/three");
    let names: Vec<String> = (0..21).map(|i| format!("c/{i}")).collect();
    let many: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), b"x".as_slice())).collect();
    assert!(matches!(refused(&zip_of(&many)), BundleError::TooManyEntries { entries: 21, limit: 20 }));
}

#[test]
fn a_size_that_is_a_lie_is_found_while_unpacking() {
    for declared in [9, 11] {
        for method in [CompressionMethod::Deflated, CompressionMethod::Stored] {
            let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
            writer.start_file("c/file", SimpleFileOptions::default().compression_method(method)).unwrap();
            writer.write_all(b"0123456789").unwrap();
            let zip = with_u16(writer.finish().unwrap().into_inner(), 0, Some(22), 24, declared);
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("z.zip"), zip).unwrap();
            let error = bundle::read(&folder.path().join("z.zip"), &folder.path().join("into"), &LIMITS).unwrap_err();
            assert!(["entry_bad_content", "not_a_zip"].contains(&error.kind()), "{error}");
        }
    }
}

#[test]
fn a_zip_that_can_be_read_in_two_ways() {
    let zip = zip_of(&[("c/bagit.txt", b"x"), ("c/one", b"1"), ("c/two", b"2")]);
    // The local header has another name than the directory.
    let mut other = zip.clone();
    let at = (0..other.len()).find(|at| other[*at..].starts_with(b"c/two")).unwrap();
    other[at + 2] = b'T';
    // Two entries share their bytes.
    let overlap = with_u16(zip.clone(), 2, None, 42, 0);
    let before = [b"#!/bin/sh\n".as_slice(), &zip].concat();
    let after = [&zip, b"more".as_slice()].concat();
    let mut commented = zip.clone();
    let end = commented.len();
    commented[end - 2] = 4;
    commented.extend(b"note");
    // The end record counts fewer entries than the directory holds.
    let mut hidden = zip.clone();
    hidden[end - 14] = 2;
    hidden[end - 12] = 2;
    let cut = zip[..zip.len() - 30].to_vec();
    for zip in [other, overlap, before, after, commented, hidden, cut, Vec::new(), b"PK\x05\x06".to_vec()] {
        assert_eq!(refused(&zip).kind(), "not_a_zip");
    }
}

#[test]
fn every_truncation_and_every_changed_byte_is_an_error_or_a_fault_and_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("z.zip");
    let zip = zip_of(&[("c/bagit.txt", b"BagIt-Version: 1.0\n"), ("c/data/x", b"content content content")]);
    for (n, changed) in (0..zip.len())
        .map(|at| zip[..at].to_vec())
        .chain((0..zip.len() * 8).map(|bit| {
            let mut changed = zip.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            changed
        }))
        .enumerate()
    {
        fs::write(&path, changed).unwrap();
        // No dossier is in it: even where a bit does not matter, it is an error.
        bundle::read(&path, &folder.path().join(format!("into {n}")), &LIMITS).unwrap_err();
    }
}

#[test]
fn a_folder_that_holds_something_is_not_unpacked_into() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("z.zip");
    fs::write(&path, zip_of(&[("c/bagit.txt", b"x")])).unwrap();
    for into in [folder.path(), &path] {
        assert_eq!(bundle::read(&path, into, &LIMITS).unwrap_err().kind(), "folder_not_empty");
    }
}

#[test]
fn what_is_no_bag_or_holds_no_dossier_is_said_to_be_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("z.zip");
    let read = |into: &str| bundle::read(&path, &folder.path().join(into), &LIMITS).unwrap_err().kind();
    fs::write(&path, zip_of(&[("c/data/x", b"x")])).unwrap();
    assert_eq!(read("one"), "not_a_bag");
    fs::write(&path, zip_of(&[("c/bagit.txt", b"x"), ("c/data/x", b"x")])).unwrap();
    assert_eq!(read("two"), "no_dossier_in_bundle");
}
