//! Snapshots of this machine and of environments made here.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use fascicolo_environment::snapshot::{Git, Layer, Packages};
use fascicolo_environment::{Request, Snapshot};

fn take(python: Option<&Path>, folder: &Path) -> Snapshot {
    Snapshot::take(&Request { python: python.map(Path::to_owned), folder: folder.to_owned() })
}

fn git(folder: &Path, args: &[&str]) {
    let settings = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"];
    let done = Command::new("git").args(settings).args(args).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

fn of_git(folder: &Path) -> Git {
    take(Some(Path::new("/nonexistent")), folder).git.value().unwrap().clone()
}

/// A venv without pip, and the folder of its packages.
fn venv(folder: &Path) -> (PathBuf, PathBuf) {
    let venv = folder.join("venv");
    assert!(Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&venv).status().unwrap().success());
    let lib = fs::read_dir(venv.join("lib")).unwrap().next().unwrap().unwrap().path();
    (venv.join("bin/python"), lib.join("site-packages"))
}

fn package(site: &Path, name: &str, version: &str, files: &[(&str, &str)]) {
    let info = site.join(format!("{}-{version}.dist-info", name.replace('-', "_")));
    fs::create_dir_all(&info).unwrap();
    let metadata = format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nName: not this\n");
    fs::write(info.join("METADATA"), metadata).unwrap();
    for (file, text) in files {
        fs::write(info.join(file), text).unwrap();
    }
}

#[test]
fn an_unchanged_machine_gives_the_same_digest() {
    let folder = tempfile::tempdir().unwrap();
    let started = Instant::now();
    let first = take(None, folder.path());
    let took = started.elapsed();
    let second = take(None, folder.path());
    assert_eq!(first.canonical_json().unwrap(), second.canonical_json().unwrap());
    assert_eq!(first.digest().unwrap(), second.digest().unwrap());
    assert_eq!(first.digest().unwrap().len(), 64);
    // Under a second where nothing else runs; the bound leaves room for a busy machine.
    assert!(took < Duration::from_secs(10), "{took:?}");
    println!("snapshot without torch: {took:?}");
}

#[test]
fn a_snapshot_survives_json() {
    let snapshot = take(None, Path::new("."));
    let text = snapshot.canonical_json().unwrap();
    assert_eq!(serde_json::from_str::<Snapshot>(&text).unwrap(), snapshot);
}

#[test]
#[cfg(target_os = "linux")]
fn the_system_layer_agrees_with_other_programs() {
    let said = |program: &str, args: &[&str]| {
        let out = Command::new(program).args(args).output().unwrap().stdout;
        String::from_utf8(out).unwrap().trim().to_owned()
    };
    let snapshot = take(None, Path::new("/"));
    let system = snapshot.system.value().unwrap();
    assert_eq!(system.kernel.as_deref(), Some(said("uname", &["-r"]).as_str()));
    assert_eq!(system.arch, said("uname", &["-m"]));
    assert_eq!(system.cores_usable, said("nproc", &[]).parse().ok());
    assert_eq!(system.libc.as_deref(), Some(said("getconf", &["GNU_LIBC_VERSION"]).as_str()));
    assert!(system.memory_bytes.unwrap() > 1 << 28);
    assert!(system.cpu_flags.as_ref().unwrap().is_sorted());
}

#[test]
fn neither_home_folder_nor_host_name_is_in_a_snapshot() {
    let text = take(None, Path::new(".")).canonical_json().unwrap();
    let home = std::env::var("HOME").unwrap();
    if home.len() > 1 {
        assert!(!text.contains(&format!("{home}/")), "the home folder is shown");
    }
    let host = String::from_utf8(Command::new("uname").arg("-n").output().unwrap().stdout).unwrap();
    assert!(!text.contains(&format!("\"{}\"", host.trim())), "the host name is shown");
}

#[test]
fn a_venv_is_read_by_its_path_without_activation() {
    let folder = tempfile::tempdir().unwrap();
    let (python, site) = venv(folder.path());
    let direct = r#"{"url": "https://ada:s3cret@host/x.git", "vcs_info": {"vcs": "git", "commit_id": "0123abc"}}"#;
    package(&site, "from-git", "1.0", &[("direct_url.json", direct), ("INSTALLER", "uv\n"), ("REQUESTED", "")]);
    let editable = r#"{"url": "file:///srv/work", "dir_info": {"editable": true}}"#;
    package(&site, "Editable.One", "0.1.dev0", &[("direct_url.json", editable), ("INSTALLER", "pip\n")]);
    package(&site, "plain", "2.0+cu130", &[]);
    package(&site, "broken", "1", &[("direct_url.json", "not json")]);

    let snapshot = take(Some(&python), folder.path());
    let interpreter = snapshot.interpreter.value().unwrap();
    assert!(interpreter.is_venv && interpreter.prefix != interpreter.base_prefix);
    assert_eq!(interpreter.sees_base_packages, Some(false));
    assert_eq!(interpreter.chosen, "named by its path");
    let asked =
        Command::new(&python).args(["-c", "import platform; print(platform.python_version())"]).output().unwrap();
    assert_eq!(interpreter.version, String::from_utf8(asked.stdout).unwrap().trim());

    let list = &snapshot.packages.value().unwrap().list;
    let shown: Vec<_> =
        list.iter().map(|p| (p.name.as_str(), p.version.as_deref().unwrap_or(""), p.editable)).collect();
    let expected = [
        ("broken", "1", false),
        ("Editable.One", "0.1.dev0", true),
        ("from-git", "1.0", false),
        ("plain", "2.0+cu130", false),
    ];
    assert_eq!(shown, expected);
    let from_git = &list[2];
    assert_eq!((from_git.installer.as_deref(), from_git.requested), (Some("uv"), true));
    let source = from_git.source.as_ref().unwrap();
    assert_eq!((source.url.as_str(), source.revision.as_deref()), ("https://***@host/x.git", Some("0123abc")));
    assert!(list[0].source.is_none() && list[3].source.is_none());
    assert!(!snapshot.canonical_json().unwrap().contains("s3cret"));
}

#[test]
fn torch_is_described_without_being_imported() {
    let folder = tempfile::tempdir().unwrap();
    let (python, site) = venv(folder.path());
    package(&site, "torch", "2.13.0+rocm6.4", &[]);
    fs::create_dir_all(site.join("torch")).unwrap();
    fs::write(site.join("torch/__init__.py"), "raise SystemExit('torch was imported')").unwrap();
    fs::write(site.join("torch/version.py"), "__version__ = '2.13.0+rocm6.4'\ncuda = None\nhip: str = '6.4.43483'\n")
        .unwrap();
    fs::create_dir_all(site.join("numpy")).unwrap(); // An empty folder is no numpy.

    let snapshot = take(Some(&python), folder.path());
    let frameworks = snapshot.frameworks.value().unwrap();
    assert_eq!(frameworks.torch.as_ref().unwrap().version.as_deref(), Some("2.13.0+rocm6.4"));
    let build = frameworks.torch_build.value().unwrap();
    assert_eq!((build.cuda.as_deref(), build.hip.as_deref()), (None, Some("6.4.43483")));
    assert!(frameworks.numpy.is_none());
}

#[test]
fn what_startup_files_print_does_not_disturb_the_answer() {
    let folder = tempfile::tempdir().unwrap();
    let (python, site) = venv(folder.path());
    fs::write(site.join("noise.pth"), "import sys; sys.stdout.write('fascicolo? {no newline')\n").unwrap();
    assert!(take(Some(&python), folder.path()).interpreter.value().is_some());
}

#[test]
fn an_interpreter_that_cannot_answer_spoils_no_other_layer() {
    let folder = tempfile::tempdir().unwrap();
    let script = |name: &str, body: &str| {
        let file = folder.path().join(name);
        fs::write(&file, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        file
    };
    std::os::unix::fs::symlink("/nonexistent/base/python3", folder.path().join("orphan")).unwrap();
    let cases = [
        (folder.path().join("missing"), "cannot be used"),
        (folder.path().to_owned(), "is a folder; name its interpreter"),
        (PathBuf::from("no-such-python-9"), "none on PATH"),
        (script("crash", "kill -SEGV $$"), "SIGSEGV"),
        (script("old", "echo 'SyntaxError: x' >&2; exit 1"), "SyntaxError: x"),
        (script("silent", "exit 0"), "no answer"),
        (script("garbage", "echo 'fascicolo-interpreter: {]'"), "cannot be read"),
        (folder.path().join("orphan"), "is gone"),
    ];
    for (python, word) in cases {
        let snapshot = take(Some(&python), folder.path());
        match &snapshot.packages {
            Layer::NotRead { because } => assert!(because.contains(word), "{because}"),
            Layer::Read { value: Packages { list }, .. } => panic!("{python:?} gave {} packages", list.len()),
        }
        assert!(snapshot.interpreter.value().is_none() && snapshot.system.value().is_some());
    }
}

#[test]
fn revision_branch_changes_and_remote_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let repository = folder.path();
    git(repository, &["init", "-q"]);
    fs::write(repository.join("a.py"), "x = 1\n").unwrap();
    let before = of_git(repository);
    assert_eq!((before.revision, before.branch.as_deref(), before.untracked_files), (None, Some("main"), 1));

    git(repository, &["add", "."]);
    git(repository, &["commit", "-q", "-m", "one"]);
    git(repository, &["remote", "add", "origin", "https://ada:s3cret@host/x.git"]);
    let clean = of_git(repository);
    assert_eq!(clean.revision.as_ref().unwrap().len(), 40);
    assert!(!clean.dirty && clean.diff_sha256.is_none());
    assert_eq!(clean.remote, Some(("origin".into(), "https://***@host/x.git".into())));

    fs::create_dir(repository.join("sub")).unwrap();
    fs::write(repository.join("a.py"), "x = 2\n").unwrap();
    let changed = of_git(repository);
    assert!(changed.dirty && changed.changed_files == 1 && changed.untracked_files == 0);
    // The same change seen from a folder below, staged, and under settings that alter what `git diff` shows.
    assert_eq!(of_git(&repository.join("sub")).diff_sha256, changed.diff_sha256);
    for setting in
        [["diff.noprefix", "true"], ["diff.context", "0"], ["color.ui", "always"], ["diff.algorithm", "patience"]]
    {
        git(repository, &["config", setting[0], setting[1]]);
    }
    git(repository, &["add", "."]);
    assert_eq!(of_git(repository).diff_sha256, changed.diff_sha256);
    fs::write(repository.join("a.py"), "x = 3\n").unwrap();
    assert_ne!(of_git(repository).diff_sha256, changed.diff_sha256);

    git(repository, &["commit", "-q", "-a", "-m", "two"]);
    git(repository, &["checkout", "-q", "--detach"]);
    assert_eq!(of_git(repository).branch, None);
}

#[test]
fn settings_of_a_repository_start_no_program() {
    let folder = tempfile::tempdir().unwrap();
    let repository = folder.path();
    git(repository, &["init", "-q"]);
    fs::write(repository.join("a.py"), "x = 1\n").unwrap();
    git(repository, &["add", "."]);
    git(repository, &["commit", "-q", "-m", "one"]);
    fs::write(repository.join("a.py"), "x = 2\n").unwrap();
    let trap = format!("touch {}", repository.join("started").display());
    for name in ["core.fsmonitor", "diff.external", "core.pager", "diff.py.textconv"] {
        git(repository, &["config", name, &trap]);
    }
    fs::write(repository.join(".git/info/attributes"), "*.py diff=py\n").unwrap();
    let seen = of_git(repository);
    assert!(seen.diff_sha256.is_some());
    assert!(!repository.join("started").exists(), "a program named in the repository's settings was started");
}

#[test]
fn a_folder_without_repository_is_not_read_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    match take(Some(Path::new("/nonexistent")), folder.path()).git {
        Layer::NotRead { because } => assert_eq!(because, "the folder is in no git repository"),
        Layer::Read { .. } => panic!("a temporary folder is in a repository"),
    }
    match take(Some(Path::new("/nonexistent")), Path::new("/nonexistent/folder")).git {
        Layer::NotRead { because } => assert!(because.contains("is not a folder"), "{because}"),
        Layer::Read { .. } => panic!(),
    }
}
