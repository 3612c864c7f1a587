//! Commands that the user gives: run in a process of their own, shown live, their files fingerprinted.
//!
//! Owns: what a command gets (folder, environment, input), how much of its output is shown and kept, and what is
//! recorded of it. Must not know: what the command is for. Start at [`run`].

mod first_error;
mod output;

use crate::actions::shown;
use crate::failure::Failure;
use crate::front::{FrontEnd, Stream};
use crate::session::{Session, mask};
use fascicolo_contract::Standing;
use fascicolo_dossier::FileSeen;
use fascicolo_environment::fingerprint;
use fascicolo_probe::child::{Child, Ending, Finished, Follow, find_on_path, signal_name};
use output::Output;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What is to be run.
#[derive(Default)]
pub struct Asked {
    /// The program and its arguments; never empty.
    pub words: Vec<String>,
    /// The folder it runs in, as the user wrote it.
    pub folder: Option<PathBuf>,
    /// What it gets on standard input.
    pub stdin: Vec<u8>,
    /// Files that it reads, as the user wrote them.
    pub reads: Vec<PathBuf>,
    /// Files that it writes, as the user wrote them.
    pub writes: Vec<PathBuf>,
}

impl Asked {
    /// The command as a shell would take it, without the value of an option that names a secret.
    pub fn line(&self) -> String {
        self.shareable().iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }

    /// The words as they may be recorded. Word by word nobody could tell that one is the secret that the one before
    /// announces; the other rules are applied to every text that is recorded.
    fn shareable(&self) -> Vec<String> {
        let before = std::iter::once(None).chain(self.words.iter().map(Some));
        let masked = |(before, word): (Option<&String>, &String)| match before {
            Some(option) if announces_a_secret(option) => MASKED.to_owned(),
            _ => word.clone(),
        };
        before.zip(&self.words).map(masked).collect()
    }
}

/// What came of it.
pub struct Ran {
    /// How it ended.
    pub ending: Ending,
    /// Whether an interrupt stopped it.
    pub stopped: bool,
    /// The record of it.
    pub result: Value,
    /// Declared inputs, for the entry.
    pub reads: Vec<FileSeen>,
    /// Declared outputs that it wrote, for the entry.
    pub writes: Vec<FileSeen>,
    /// Declared outputs that it did not write.
    pub unwritten: Vec<Unwritten>,
}

/// A declared output that was not written.
pub struct Unwritten {
    /// As the user wrote it.
    pub path: PathBuf,
    /// What is there instead.
    instead: &'static str,
}

impl std::fmt::Display for Unwritten {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", shown(&self.path), self.instead)
    }
}

/// Variables that belong to the kernel and would make a command another one than in a shell. Those of evcxr
/// (`EVCXR_…`) [`Child`] takes away itself.
const KERNELS_OWN: [&str; 3] = ["EVCXR_", "FASCICOLO_", "JPY_"];

/// Runs a command to its end, showing what it writes.
///
/// # Errors
/// If a declared input cannot be read or the command cannot be started. How it ended is no error here.
pub fn run(session: &Session, asked: &Asked, front: &dyn FrontEnd) -> Result<Ran, Failure> {
    let folder = asked.folder.as_ref().map_or_else(|| session.folder.clone(), |folder| session.resolve(folder));
    if !folder.is_dir() {
        let what = format!("{} is no folder to run in", shown(&folder));
        return Err(Failure::usage("no_folder", what, "give a folder that is there with --in"));
    }
    let interrupt = session.interrupt.clone();
    let inputs = inputs(session, &asked.reads, front)?;
    let outputs: Vec<(&PathBuf, Option<Stamped>)> =
        asked.writes.iter().map(|path| (path, stamped(&session.resolve(path)))).collect();
    let line = asked.line();
    let (program, arguments) = asked.words.split_first().ok_or_else(|| {
        Failure::usage("no_command", "there is no command to run", "write the program and its arguments behind `--`")
    })?;
    let removed = kernels_own();
    let mut child = Child::new(program, arguments).folder(&folder).stdin(asked.stdin.clone()).without_deadline();
    for name in &removed {
        child = child.env_remove(name);
    }
    let unbuffered = std::env::var_os("PYTHONUNBUFFERED").is_none();
    if unbuffered {
        child = child.env("PYTHONUNBUFFERED", "1");
    }
    front.progress(&line, None);
    let mut followed = Followed {
        stdout: Output::new(Stream::Stdout, front),
        stderr: Output::new(Stream::Stderr, front),
        interrupt: &interrupt,
    };
    let finished = child.run_followed(&mut followed).map_err(|error| not_started(program, &error))?;
    let Followed { mut stdout, mut stderr, .. } = followed;
    stdout.finish();
    stderr.finish();
    let error = first_error::find(&stderr.kept(), &asked.stdin);

    let (reads, read_facts) = read_again(session, inputs);
    let (writes, unwritten, written_facts) = written(session, outputs);
    let set = if unbuffered { json!({ "PYTHONUNBUFFERED": "1" }) } else { json!({}) };
    let result = json!({
        "command": asked.shareable(), "line": line, "folder": asked.folder.as_deref().map_or_else(|| ".".to_owned(), shown),
        "program": resolved(program, &folder), "stdin_bytes": asked.stdin.len(),
        "environment": { "removed": removed, "set": set },
        "ending": ending(&finished), "ended": words(&finished),
        "wall_ms": milliseconds(finished.elapsed), "processor_ms": finished.processor.map(milliseconds),
        "stdout": stdout.record(), "stderr": stderr.record(),
        "reads": read_facts, "writes": written_facts, "first_error": error,
        "observation": "declared files alone: what else it read or wrote was not observed",
    });
    Ok(Ran { ending: finished.ending, stopped: finished.stopped, result, reads, writes, unwritten })
}

impl Ran {
    /// Whether it ended by itself, with status 0.
    pub fn succeeded(&self) -> bool {
        self.ending == Ending::Exited(0) && !self.stopped
    }

    /// What stands in the entry for good: no path, no word of the command.
    pub fn body(&self, what: &str) -> Value {
        let ending = &self.result["ending"];
        json!({
            "what": what, "name": self.result["ended"], "status": ending["status"], "signal": ending["signal"],
            "interrupted": self.stopped, "wall_ms": self.result["wall_ms"], "processor_ms": self.result["processor_ms"],
            "unwritten": self.unwritten.len(),
        })
    }

    /// Why a cell fails because of it, if it does. `what`: as in "the command".
    pub fn failure(&self, what: &str) -> Option<Failure> {
        let error = &self.result["first_error"];
        if self.stopped {
            let mut failure = Failure::interrupted(what);
            // Where a program hung when it was interrupted is what one wants to know of it.
            if let (Some("KeyboardInterrupt"), Some(phase), Some(by)) =
                (error["type"].as_str(), error["phase"].as_str(), error["phase_by"].as_str())
            {
                failure.message.push_str(&format!(", {phase} ({by})"));
            }
            return Some(failure);
        }
        let stands = |kind: &str, message: String, next: &str| Failure {
            standing: Standing::DoesNotHold,
            ..Failure::refused(kind, message, next)
        };
        if !self.succeeded() {
            let first = match (error["type"].as_str(), error["phase"].as_str()) {
                (Some(kind), Some(phase)) => {
                    let message = error["message"].as_str().unwrap_or_default();
                    let message: String = message.chars().take(200).collect();
                    let colon = if message.is_empty() { "" } else { ": " };
                    format!("; its first error, {phase}: {kind}{colon}{message}")
                }
                _ => String::new(),
            };
            let ended = self.result["ended"].as_str().unwrap_or_default();
            let next =
                "mend what its output names; everything after it would rest on files that it may not have written";
            return Some(stands("command_failed", format!("{what} {ended}{first}"), next));
        }
        let unwritten = self.unwritten.first()?;
        Some(stands(
            "output_not_written",
            format!("{what} ended with status 0 and did not write what it was declared to write: {unwritten}"),
            "correct --writes, or the command; paths start from the notebook's folder",
        ))
    }
}

/// Names of the variables that a command does not get, sorted.
fn kernels_own() -> Vec<String> {
    let all = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut own: Vec<String> = all.filter(|name| KERNELS_OWN.iter().any(|own| name.starts_with(own))).collect();
    own.sort();
    own
}

fn not_started(program: &str, error: &std::io::Error) -> Failure {
    Failure {
        place: Some(program.to_owned()),
        ..Failure::usage(
            "command_not_started",
            format!("`{program}` cannot be started: {error}"),
            "give a program on PATH, or its path; a script needs its interpreter before it",
        )
    }
}

type Inputs<'a> = Vec<(&'a PathBuf, fascicolo_environment::Fingerprint, Stamped)>;

fn inputs<'a>(session: &Session, paths: &'a [PathBuf], front: &dyn FrontEnd) -> Result<Inputs<'a>, Failure> {
    let mut found = Vec::new();
    for path in paths {
        front.progress(&format!("fingerprinting {}", shown(path)), None);
        if session.interrupt.is_raised() {
            return Err(Failure::interrupted("the command"));
        }
        let full = session.resolve(path);
        let stamp = stamped(&full).unwrap_or(Stamped(0, None, None));
        found.push((path, fingerprint(&full)?, stamp));
    }
    Ok(found)
}

/// The declared inputs after the command: for the entry, and what is recorded of each.
fn read_again(session: &Session, inputs: Inputs<'_>) -> (Vec<FileSeen>, Vec<Value>) {
    let mut both = (Vec::new(), Vec::new());
    for (path, before, stamp) in inputs {
        let full = session.resolve(path);
        // A file that was not touched need not be read again; what lies in a folder is not told by the folder.
        let untouched = full.is_file() && stamped(&full) == Some(stamp);
        let now = if untouched { Some(before.sha256.clone()) } else { fingerprint(&full).ok().map(|now| now.sha256) };
        let changed = now.as_ref() != Some(&before.sha256);
        both.1.push(json!({
            "path": shown(path), "sha256": before.sha256, "bytes": before.bytes, "files": before.files,
            "changed": changed, "sha256_after": now.filter(|_| changed),
        }));
        both.0.push(FileSeen { role: "input".to_owned(), sha256: before.sha256, bytes: before.bytes });
    }
    both
}

/// The declared outputs after the command: those written, for the entry; those not written; what is recorded of each.
fn written(
    session: &Session,
    outputs: Vec<(&PathBuf, Option<Stamped>)>,
) -> (Vec<FileSeen>, Vec<Unwritten>, Vec<Value>) {
    let (mut writes, mut unwritten, mut facts) = (Vec::new(), Vec::new(), Vec::new());
    for (path, before) in outputs {
        let full = session.resolve(path);
        let now = stamped(&full);
        if now.is_none() || now == before {
            let instead = if now.is_some() { "an older file is still there" } else { "there is no such file" };
            unwritten.push(Unwritten { path: path.clone(), instead });
            facts.push(json!({ "path": shown(path), "written": false }));
            continue;
        }
        match fingerprint(&full) {
            Ok(found) => {
                facts.push(json!({
                    "path": shown(path), "sha256": found.sha256, "bytes": found.bytes, "files": found.files,
                    "written": true,
                }));
                writes.push(FileSeen { role: "output".to_owned(), sha256: found.sha256, bytes: found.bytes });
            }
            // The run is recorded all the same; without a digest nobody can rest on the file.
            Err(error) => {
                unwritten.push(Unwritten { path: path.clone(), instead: "it is there and cannot be read" });
                facts.push(json!({ "path": shown(path), "written": true, "unreadable": error.to_string() }));
            }
        }
    }
    (writes, unwritten, facts)
}

/// What tells whether a file was written: content, and on Unix which file it is and when its content or place changed.
#[derive(PartialEq)]
struct Stamped(u64, Option<SystemTime>, Option<(u64, i64, i64)>);

fn stamped(path: &Path) -> Option<Stamped> {
    let about = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    let which = {
        use std::os::unix::fs::MetadataExt;
        Some((about.ino(), about.ctime(), about.ctime_nsec()))
    };
    #[cfg(not(unix))]
    let which = None;
    Some(Stamped(about.len(), about.modified().ok(), which))
}

/// Where the program was found, for the record; the name itself where that cannot be told.
fn resolved(program: &str, folder: &Path) -> String {
    if program.contains(['/', '\\']) {
        return shown(&folder.join(program));
    }
    find_on_path(program, std::env::var_os("PATH").as_deref()).map_or_else(|| program.to_owned(), |path| shown(&path))
}

/// What stands in the place of a secret.
const MASKED: &str = "***";

/// Whether what follows this word would be masked as its secret, whatever it is.
fn announces_a_secret(option: &str) -> bool {
    const VALUE: &str = "q7Zr2kLm9x";
    option.starts_with("--") && !option.contains('=') && !mask(&format!("{option} {VALUE}")).ends_with(VALUE)
}

/// A word as a shell would take it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

fn milliseconds(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn ending(finished: &Finished) -> Value {
    match finished.ending {
        Ending::Exited(status) => json!({ "status": status, "signal": null, "interrupted": finished.stopped }),
        Ending::Signalled(signal) => json!({
            "status": null, "signal": signal, "signal_name": signal_name(signal), "interrupted": finished.stopped,
        }),
        // There is none.
        Ending::Deadline(_) => json!({ "status": null, "signal": null, "interrupted": finished.stopped }),
    }
}

/// In words that follow a name.
fn words(finished: &Finished) -> String {
    let words = finished.ending.to_string();
    let words = words.strip_prefix("it ").unwrap_or(&words);
    if finished.stopped { format!("was interrupted, and {words}") } else { words.to_owned() }
}

/// Shows both streams, and stops at the user's interrupt.
struct Followed<'a> {
    stdout: Output<'a>,
    stderr: Output<'a>,
    interrupt: &'a crate::session::Interrupt,
}

impl Follow for Followed<'_> {
    fn stdout(&mut self, bytes: &[u8]) {
        self.stdout.take(bytes);
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.stderr.take(bytes);
    }

    fn stop(&mut self) -> bool {
        self.interrupt.is_raised()
    }
}

#[cfg(test)]
mod tests {
    use super::{Asked, quoted};

    #[test]
    fn the_value_of_an_option_that_names_a_secret_is_not_recorded_whatever_signs_it_holds() {
        let words =
            ["train.py", "--password", "two words 'n more", "--hub-token", "short", "--steps", "60", "--lr=0.1"];
        let asked = Asked { words: words.map(str::to_owned).to_vec(), ..Asked::default() };
        assert_eq!(asked.line(), "train.py --password '***' --hub-token '***' --steps 60 --lr=0.1");
        assert_eq!(asked.shareable()[2], "***");
    }

    #[test]
    fn a_recorded_line_can_be_pasted_into_a_shell() {
        assert_eq!(quoted("--lr=1e-3"), "--lr=1e-3");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }
}
