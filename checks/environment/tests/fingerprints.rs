//! What a fingerprint covers, against `sha256sum` and against known digests.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use fascicolo_contract::Explain;
use fascicolo_environment::{FingerprintError, fingerprint};

fn sha256sum(file: &Path) -> String {
    let out = Command::new("sha256sum").arg(file).output().unwrap().stdout;
    String::from_utf8(out).unwrap().split(' ').next().unwrap().to_owned()
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_has_the_digest_that_sha256sum_gives() {
    let folder = tempfile::tempdir().unwrap();
    // Around the size of what is read at a time.
    for size in [0, 1, (256 << 10) - 1, 256 << 10, (256 << 10) + 1, 3_000_000] {
        let file = folder.path().join("weights.bin");
        let bytes: Vec<u8> = (0..size).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        fs::write(&file, &bytes).unwrap();
        let seen = fingerprint(&file).unwrap();
        assert_eq!((seen.sha256, seen.bytes, seen.files), (sha256sum(&file), u64::from(size), None));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_folder_has_the_digest_that_its_description_gives() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("data");
    fs::create_dir_all(root.join("b/c")).unwrap();
    fs::create_dir_all(root.join("empty")).unwrap();
    fs::write(root.join("b.txt"), "one").unwrap();
    fs::write(root.join("b/a file\n"), "two").unwrap();
    fs::write(root.join("b/c/x"), "").unwrap();
    std::os::unix::fs::symlink("../b.txt", root.join("b/link")).unwrap();
    let line =
        |file: &str, size: u64, name: &str| format!("file {} {size} {name}\n", sha256sum_of(&root.join(file), name));
    // Bytewise: `b.txt` before `b/`, because `.` comes before `/`.
    let text = [
        "fascicolo folder v0\n".to_owned(),
        line("b.txt", 3, "b.txt"),
        line("b/a file\n", 3, "b/a\\sfile\\n"),
        line("b/c/x", 0, "b/c/x"),
        "link ../b.txt b/link\n".to_owned(),
    ]
    .concat();
    let described = folder.path().join("description");
    fs::write(&described, text).unwrap();
    let seen = fingerprint(&root).unwrap();
    assert_eq!((seen.sha256, seen.bytes, seen.files), (sha256sum(&described), 6, Some(3)));
}

/// `sha256sum` puts a backslash before digests of files with odd names.
fn sha256sum_of(file: &Path, _name: &str) -> String {
    sha256sum(file).trim_start_matches('\\').to_owned()
}

#[test]
fn a_folder_is_the_same_wherever_it_is_and_other_when_anything_in_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str| {
        let root = folder.path().join(name);
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::write(root.join("a"), "1").unwrap();
        fs::write(root.join("sub/b"), "2").unwrap();
        root
    };
    let digest = |root: &Path| fingerprint(root).unwrap().sha256;
    let first = digest(&make("first"));
    assert_eq!(digest(&make("second")), first);

    let content = make("content");
    fs::write(content.join("a"), "3").unwrap();
    let renamed = make("renamed");
    fs::rename(renamed.join("a"), renamed.join("c")).unwrap();
    let moved = make("moved");
    fs::rename(moved.join("sub/b"), moved.join("b")).unwrap();
    let more = make("more");
    fs::write(more.join("empty"), "").unwrap();
    let mut digests = vec![first, digest(&content), digest(&renamed), digest(&moved), digest(&more)];
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), 5);
}

#[test]
fn a_file_appended_to_while_it_is_read_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log");
    fs::write(&file, vec![7; 48 << 20]).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let mut end = fs::OpenOptions::new().append(true).open(&file).unwrap();
            while !done.load(Ordering::Relaxed) {
                end.write_all(b"x").unwrap();
                std::thread::yield_now();
            }
        });
        let result = fingerprint(&file);
        done.store(true, Ordering::Relaxed);
        let error = result.unwrap_err();
        assert!(matches!(error, FingerprintError::Changed { .. }), "{error}");
        assert_eq!(error.kind(), "changed_while_read");
        assert!(error.to_string().contains("bytes"), "{error}");
    });
}

#[test]
#[cfg(unix)]
fn a_pipe_is_refused_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(matches!(fingerprint(&pipe).unwrap_err(), FingerprintError::NotAFile { .. }));
    assert!(matches!(fingerprint(folder.path()).unwrap_err(), FingerprintError::NotAFile { .. }));
}

#[test]
fn a_missing_file_is_named_with_what_to_do() {
    let error = fingerprint(Path::new("/nonexistent/weights.bin")).unwrap_err();
    assert_eq!((error.kind(), error.place().as_deref()), ("unreadable", Some("/nonexistent/weights.bin")));
    assert!(!error.next_step().is_empty());
}
