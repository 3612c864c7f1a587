//! Two processes append to one dossier at once; one of them may die at any moment.

#![allow(clippy::unwrap_used)]

#[path = "common/appender.rs"]
mod appender;

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use appender::{Acknowledged, Appender, Log, PROGRAM, must_hold, report};

/// How long the writers write, in seconds: `FASCICOLO_WRITERS_SECONDS`, or else `default`.
fn seconds(default: u64) -> Duration {
    let given = std::env::var("FASCICOLO_WRITERS_SECONDS").ok().map(|given| given.parse().unwrap());
    Duration::from_secs(given.unwrap_or(default))
}

/// Whole milliseconds from `from` to below `until`, as chance has it.
fn some_milliseconds(from: u64, until: u64) -> Duration {
    let mut random = [0; 8];
    getrandom::fill(&mut random).unwrap();
    Duration::from_millis(from + u64::from_le_bytes(random) % (until - from))
}

/// A writer, and its sessions one after the other.
struct Writer {
    name: &'static str,
    sessions: u64,
    running: Appender,
}

impl Writer {
    fn start(name: &'static str, dossier: &std::path::Path, sessions: u64, left: Duration) -> Self {
        let (session, until) = (format!("{name} {sessions}"), format!("milliseconds={}", left.as_millis()));
        let mut running = Appender::start(Command::new(PROGRAM), dossier, &session, &until);
        running.wait_for_one();
        Writer { name, sessions, running }
    }
}

/// Lets two processes write, kills one of them now and then if `kills`, and compares. Returns what it has shown.
fn two_processes(time: Duration, kills: bool) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.fascicolo");
    let (began, mut killed) = (Instant::now(), 0);
    let mut sessions: BTreeMap<String, Acknowledged> = BTreeMap::new();
    let mut writers = ["a", "b"].map(|name| Writer::start(name, &path, 0, time));
    let mut collect = |writer: Writer, was_killed: bool| {
        let ended = writer.running.end();
        assert!(was_killed || ended.status.success(), "{}: {}, {}", writer.name, ended.status, ended.errors);
        assert_eq!(ended.errors, "", "{}", writer.name);
        sessions.insert(format!("{} {}", writer.name, writer.sessions), ended.acknowledged);
    };
    while kills && began.elapsed() + Duration::from_secs(2) < time {
        std::thread::sleep(some_milliseconds(50, 900));
        let [first, second] = writers;
        let (mut dying, other) = if killed % 3 == 2 { (second, first) } else { (first, second) };
        dying.running.kill();
        let (name, number) = (dying.name, dying.sessions + 1);
        collect(dying, true);
        killed += 1;
        writers = [Writer::start(name, &path, number, time.saturating_sub(began.elapsed())), other];
    }
    for writer in writers {
        collect(writer, false);
    }
    let acknowledged: usize = sessions.values().map(Vec::len).sum();
    assert!(sessions.values().filter(|list| list.len() > 10).count() >= 2, "the two hardly wrote at all");
    let entries = must_hold(&path, &sessions, Log::Prefix, "two writers");
    format!(
        "two processes appending at once for {} s, {killed} kills: {acknowledged} acknowledged, all there; \
         {entries} entries verify",
        time.as_secs(),
    )
}

#[test]
fn two_processes_that_append_at_once_lose_and_mix_nothing() {
    two_processes(seconds(3), false);
}

#[test]
#[ignore = "takes a minute: tests/run slow"]
fn two_processes_of_which_one_is_killed_now_and_then_lose_nothing_acknowledged() {
    report(&two_processes(seconds(60), false));
    report(&two_processes(seconds(60), true));
}
