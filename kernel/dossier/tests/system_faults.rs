//! The system calls that make an entry durable fail, one after the other, and the process dies before each of them.
//!
//! strace makes them: `error=` lets a call fail without doing anything, `signal=SIGKILL` ends the process before the
//! call. Between two of these calls nothing changes on disk, so that dying before each is dying after each as well.
//! A disk that is full stays full: ENOSPC holds for all calls from the n-th on; EIO comes once.
//! Not made here: a call that fails after its effect, and a short write. strace's `retval=` would only pretend them.
//! The fault layer within the crate does both at each step (`Mode::All` and `Mode::Half` in src/disk.rs, the tables of
//! src/writer.rs, src/writer/place.rs, src/writer/redact.rs and src/writer/sign.rs).

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

#[path = "common/appender.rs"]
mod appender;
mod common;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use appender::{Appender, Log, PROGRAM, must_hold, report, skip};
use common::copy;

/// The calls that change what is on disk, and those that come before them. A `?` allows a platform to lack one.
const CALLS: [&str; 14] = [
    "openat",
    "write",
    "?pwrite64",
    "fsync",
    "fdatasync",
    "?rename",
    "?renameat",
    "?renameat2",
    "ftruncate",
    "?mkdir",
    "?mkdirat",
    "?unlink",
    "?unlinkat",
    "flock",
];

/// What is done to a call, as strace's `inject` has it.
const FAULTS: [(&str, &str); 3] = [("error=ENOSPC", "+"), ("error=EIO", ""), ("signal=SIGKILL", "")];

/// Entries that a session tries.
const ENTRIES: &str = "entries=3";

fn strace(log: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o"]).arg(log).args(arguments);
    // Stops at the traced calls only, which is faster; but strace 6.1 injects no signal then.
    if !arguments.iter().any(|argument| argument.contains("signal=")) {
        command.arg("--seccomp-bpf");
    }
    command.arg(PROGRAM);
    command
}

/// Why strace cannot be used here, if so.
fn refusal() -> Option<String> {
    let mut trial = Command::new("strace");
    trial.args(["-f", "-qq", "-o", "/dev/null", "-e", "inject=fsync:error=EIO:when=1", "true"]);
    match trial.stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Some(format!("strace: {error}")),
    }
}

/// A dossier that an interrupted append left torn in both files, with a temporary file besides.
fn torn(path: &Path) {
    let ended = Appender::start(Command::new(PROGRAM), path, "before", "entries=2").end();
    assert!(ended.status.success() && ended.acknowledged.len() == 2, "{}", ended.errors);
    for (file, tail) in [("entries.jsonl", "{\"v\":1,\"se"), ("disclosures/values.jsonl", "{\"seq\":3,")] {
        let content = fs::read_to_string(path.join(file)).unwrap();
        fs::write(path.join(file), content + tail).unwrap();
    }
    fs::write(path.join("blobs/tmp/left"), "half a bl").unwrap();
}

/// Which calls of a session that meets no fault concern the dossier: by name, which one of that name.
fn calls(begin: &dyn Fn(&Path), folder: &Path) -> Vec<(String, usize)> {
    let (path, log) = (folder.join("whole.fascicolo"), folder.join("calls"));
    begin(&path);
    let traced = format!("trace={}", CALLS.join(","));
    let ended = Appender::start(strace(&log, &["-y", "-e", &traced]), &path, "s", ENTRIES).end();
    assert!(ended.status.success() && ended.acknowledged.len() == 3, "{}", ended.errors);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut concerned = Vec::new();
    for line in fs::read_to_string(&log).unwrap().lines() {
        let (_, call) = line.split_once(' ').unwrap();
        let Some((name, arguments)) = call.trim_start().split_once('(') else { continue };
        let count = counts.entry(name.to_owned()).or_default();
        *count += 1;
        if arguments.contains(folder.to_str().unwrap()) {
            concerned.push((name.to_owned(), *count));
        }
    }
    concerned
}

/// A folder in memory where the system has one: that a sync takes time matters to no fault.
fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

/// Makes every fault at every call of a session that begins with what `begin` leaves. Returns their number.
fn every_fault(begin: &dyn Fn(&Path), before: &[(u64, u64)]) -> usize {
    let folder = scratch();
    let (path, log) = (folder.path().join("d.fascicolo"), folder.path().join("log"));
    let calls = calls(begin, folder.path());
    let names: Vec<&str> = calls.iter().map(|(name, _)| name.as_str()).collect();
    for needed in ["openat", "write", "fsync", "fdatasync", "flock"] {
        assert!(names.contains(&needed), "no {needed} among {names:?}");
    }
    for (name, n) in &calls {
        for (fault, more) in FAULTS {
            let injection = format!("inject={name}:{fault}:when={n}{more}");
            begin(&path);
            let traced = format!("trace={name}");
            let ended = Appender::start(strace(&log, &["-e", &traced, "-e", &injection]), &path, "s", ENTRIES).end();
            let context =
                format!("{injection}: {} after {:?}; {}", ended.status, ended.acknowledged, ended.errors.trim());
            let said = fs::read_to_string(&log).unwrap();
            let sessions = [("before".to_owned(), before.to_vec()), ("s".to_owned(), ended.acknowledged)].into();
            if fault.starts_with("signal") {
                assert!(ended.status.signal() == Some(9) && said.contains("killed by SIGKILL"), "{context}\n{said}");
                must_hold(&path, &sessions, Log::Prefix, &context);
            } else {
                assert!(matches!(ended.status.code(), Some(0 | 3)) && said.contains("INJECTED"), "{context}\n{said}");
                must_hold(&path, &sessions, Log::Increasing, &context);
            }
            fs::remove_dir_all(&path).unwrap();
        }
    }
    calls.len() * FAULTS.len()
}

#[test]
fn whatever_call_fails_or_is_the_last_one_what_was_acknowledged_stays() {
    if let Some(why) = refusal() {
        return skip("faults injected into system calls", &why);
    }
    let new = every_fault(&|_| (), &[]);
    let template = scratch();
    torn(&template.path().join("torn"));
    let torn = every_fault(&|path| copy(&template.path().join("torn"), path), &[(1, 0), (2, 1)]);
    report(&format!(
        "{new} faults of a new dossier's system calls and {torn} of a torn one's lose nothing acknowledged"
    ));
}
