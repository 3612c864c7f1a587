//! Runs `dossier-appender` and compares what is in the dossier afterwards with what it acknowledged.

#![allow(dead_code)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;

use fascicolo_dossier::{Dossier, Draft, Kind, verify};

/// The program.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_dossier-appender");

/// Length of the large value of every second entry.
const LARGE: usize = 5_000;

/// The session that compares.
const AFTER: &str = "after";

/// What one session was told: the place in the log of each number that was acknowledged, in order.
pub type Acknowledged = Vec<(u64, u64)>;

/// A session that appends.
pub struct Appender {
    child: Child,
    /// What it acknowledged and nobody has taken yet.
    said: Receiver<(u64, u64)>,
    /// Reads what it says on standard error: a full pipe would hold it up.
    errors: JoinHandle<String>,
    acknowledged: Acknowledged,
}

/// How a session ended.
pub struct Ended {
    pub acknowledged: Acknowledged,
    pub status: ExitStatus,
    /// What it said on standard error.
    pub errors: String,
}

impl Appender {
    /// Starts the program, or one that runs it. `until`: `entries=N` or `milliseconds=N`.
    pub fn start(mut command: Command, dossier: &Path, session: &str, until: &str) -> Self {
        command.arg(dossier).args([session, until]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (tell, said) = std::sync::mpsc::channel();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            let mut line = String::new();
            // A line that was cut off is no acknowledgement.
            while lines.read_line(&mut line).is_ok() && line.ends_with('\n') && tell.send(pair(&line)).is_ok() {
                line.clear();
            }
        });
        let mut errors = child.stderr.take().unwrap();
        let errors = std::thread::spawn(move || {
            let mut text = Vec::new();
            errors.read_to_end(&mut text).unwrap();
            String::from_utf8_lossy(&text).into_owned()
        });
        Appender { child, said, errors, acknowledged: Vec::new() }
    }

    /// Waits for the next acknowledgement.
    pub fn wait_for_one(&mut self) {
        self.acknowledged.push(self.said.recv().expect("the session ended before it acknowledged an entry"));
    }

    /// What it has acknowledged by now.
    pub fn by_now(&mut self) -> Acknowledged {
        self.acknowledged.extend(self.said.try_iter());
        self.acknowledged.clone()
    }

    /// Ends the program at once, as a crash does.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
    }

    /// Waits for its end, reading all that it acknowledges until then.
    pub fn end(mut self) -> Ended {
        self.acknowledged.extend(self.said.iter());
        let status = self.child.wait().unwrap();
        let errors = self.errors.join().unwrap();
        Ended { acknowledged: self.acknowledged, status, errors }
    }
}

fn pair(line: &str) -> (u64, u64) {
    let (seq, number) = line.trim_end().split_once(' ').unwrap();
    (seq.parse().unwrap(), number.parse().unwrap())
}

/// What the log must hold of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Log {
    /// All numbers from 0 on without a gap, up to the last one acknowledged or the one after it: the session was killed,
    /// or ended well.
    Prefix,
    /// The same, but any number of entries may follow those that are known to be acknowledged.
    LongerPrefix,
    /// Each number once, in order; some may be missing that were not acknowledged: the session went on after errors.
    Increasing,
}

/// Opens the dossier as the next session would, and compares: each acknowledged entry stands where it was said to, with
/// all its values; every session's numbers are as `log` says; nothing but a copy is forked; it verifies and can be appended to.
/// Returns the number of entries.
pub fn must_hold(dossier: &Path, sessions: &BTreeMap<String, Acknowledged>, log: Log, context: &str) -> u64 {
    // A log that nobody has come to open yet is none.
    if let Some(before) = verify(dossier).ok().filter(|before| before.entries > 0) {
        assert!(before.integrity, "{context}: before the next session: {:?}", before.faults);
    }
    let mut opened = Dossier::open(dossier, AFTER).unwrap_or_else(|e| panic!("{context}: not opened again: {e}"));
    let mut found: BTreeMap<&str, Vec<(u64, u64)>> = BTreeMap::new();
    for (place, record) in opened.records().enumerate() {
        assert_eq!(record.seq, place as u64, "{context}");
        match record.kind {
            Kind::Log if place == 0 => continue,
            Kind::Recover => continue,
            // What began as a copy of an earlier session's dossier goes on as one; nothing else is forked.
            Kind::Fork if sessions.get("before").is_some_and(|before| !before.is_empty()) => continue,
            // What an earlier comparison appended.
            Kind::Start if record.session == AFTER => continue,
            Kind::Start => {}
            other => panic!("{context}: entry {place} is of kind {other:?}"),
        }
        let value = |field: &str| opened.value(record.seq, field).unwrap_or_else(|e| panic!("{context}: {e}")).unwrap();
        let (session, ran) = (record.session.as_str(), value("ran"));
        let number = ran.strip_prefix(session).unwrap_or_else(|| panic!("{context}: entry {place} holds {ran:?}"));
        let number: u64 = number.trim().parse().unwrap();
        assert_eq!(ran, format!("{session} {number}"), "{context}");
        if number % 2 == 1 {
            assert_eq!(value("shown"), format!("{session} {number:>LARGE$}"), "{context}");
            let component = opened.blob(&record.blobs["component"].blob).unwrap_or_else(|e| panic!("{context}: {e}"));
            assert_eq!(component, format!("content {number} of {session}").into_bytes(), "{context}");
        }
        found.entry(session).or_default().push((record.seq, number));
    }
    for session in found.keys() {
        assert!(sessions.contains_key(*session), "{context}: nobody wrote as session {session:?}");
    }
    for (session, acknowledged) in sessions {
        let stands = found.remove(session.as_str()).unwrap_or_default();
        for entry in acknowledged {
            assert!(stands.contains(entry), "{context}: {session}, number {} at {} is lost", entry.1, entry.0);
        }
        let numbers = stands.iter().map(|(_, number)| *number);
        match log {
            Log::Prefix | Log::LongerPrefix => {
                assert!(numbers.eq(0..stands.len() as u64), "{context}: {session} has gaps: {stands:?}");
                let unacknowledged = stands.len() - acknowledged.len();
                assert!(
                    unacknowledged <= 1 || log == Log::LongerPrefix,
                    "{context}: {session} has {unacknowledged} entries never acknowledged"
                );
            }
            Log::Increasing => assert!(numbers.is_sorted_by(|a, b| a < b), "{context}: {session}: {stands:?}"),
        }
    }
    opened.append(Draft::new(Kind::Start)).unwrap_or_else(|e| panic!("{context}: not appended to again: {e}"));
    opened.write_checkpoint().unwrap_or_else(|e| panic!("{context}: {e}"));
    let after = verify(dossier).unwrap_or_else(|e| panic!("{context}: {e}"));
    assert!(after.integrity && !after.torn && after.unproved_tail == 0, "{context}: {after:?}");
    assert_eq!(after.entries, opened.size(), "{context}");
    after.entries
}

/// Says on standard error, also where a harness holds back what passing tests print, what a run has shown.
pub fn report(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "\nshown: {line}");
}

/// Says why something was not tried here.
pub fn skip(what: &str, why: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "\nskipped: {what}: {why}");
}
