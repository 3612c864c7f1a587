//! A child process that cannot outstay its welcome: own process group, deadline, killed with everything it started.
//!
//! Owns: starting, feeding, draining, killing and reaping. Must not know: what the child computes.
//! Start at [`Child::run`]. On Windows the child alone is killed, not what it started.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// How long the pipes may stay open after the child's group is gone: only a process that left the group holds them.
const GRACE: Duration = Duration::from_millis(500);

/// A child process to be started once.
#[derive(Debug)]
pub struct Child {
    command: Command,
    stdin: Vec<u8>,
    deadline: Duration,
    keep: usize,
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It ended by itself with this status, 0 for success.
    Exited(i32),
    /// A signal of this number ended it.
    Signalled(i32),
    /// It was killed at its deadline.
    Deadline(Duration),
}

/// What is left of a child that ran.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub ending: Ending,
    /// Standard output, at most the bytes asked for.
    pub stdout: Vec<u8>,
    /// Standard error, at most the bytes asked for.
    pub stderr: Vec<u8>,
    /// True if either stream was longer than what was kept.
    pub truncated: bool,
    /// From start to end, wall time.
    pub elapsed: Duration,
}

impl Child {
    /// Prepares `exe` with `args`. Relative programs are looked up on `PATH`; nothing goes through a shell.
    ///
    /// Variables by which the Rust-cell evaluator marks its own processes are removed: a program that inherited them
    /// would take itself for one of those.
    pub fn new<S: AsRef<OsStr>>(exe: impl AsRef<OsStr>, args: impl IntoIterator<Item = S>) -> Self {
        let mut command = Command::new(exe);
        command.args(args);
        for (name, _) in std::env::vars_os() {
            if is_evaluators(&name) {
                command.env_remove(&name);
            }
        }
        Child { command, stdin: Vec::new(), deadline: Duration::from_secs(20), keep: 16 << 20 }
    }

    /// Sets a variable of the child's environment.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Removes a variable from the child's environment.
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Sets the folder it runs in.
    pub fn folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Gives it these bytes on standard input, then the end of the file. Default: nothing.
    pub fn stdin(mut self, bytes: Vec<u8>) -> Self {
        self.stdin = bytes;
        self
    }

    /// Sets how long it may run. Default: 20 s.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Sets how many bytes of each stream are kept; the rest is read and dropped. Default: 16 MiB.
    pub fn keep(mut self, bytes: usize) -> Self {
        self.keep = bytes;
        self
    }

    /// Runs it to its end or to its deadline and collects what it wrote.
    /// # Errors
    /// Only if it could not be started; how it ended is in [`Finished::ending`].
    pub fn run(self) -> std::io::Result<Finished> {
        let keep = self.keep;
        let mut stdout = Vec::new();
        let mut dropped = false;
        let finished = self.run_into(&mut |bytes| {
            let room = keep.saturating_sub(stdout.len()).min(bytes.len());
            stdout.extend_from_slice(&bytes[..room]);
            dropped |= room < bytes.len();
        })?;
        Ok(Finished { stdout, truncated: finished.truncated || dropped, ..finished })
    }

    /// Like [`Child::run`], but hands standard output to `sink` as it comes; [`Finished::stdout`] is then empty.
    /// # Errors
    /// Only if it could not be started.
    pub fn run_into(mut self, sink: &mut dyn FnMut(&[u8])) -> std::io::Result<Finished> {
        let started = Instant::now();
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut self.command, 0);
        let stdin = if self.stdin.is_empty() { Stdio::null() } else { Stdio::piped() };
        let mut child = self.command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;

        let (events, inbox) = sync_channel(64);
        if let Some(mut pipe) = child.stdin.take() {
            let bytes = std::mem::take(&mut self.stdin);
            // A child that ends without reading its input breaks the pipe; that is its right.
            std::thread::spawn(move || pipe.write_all(&bytes));
        }
        if let Some(pipe) = child.stdout.take() {
            drain(pipe, Event::Out, events.clone());
        }
        if let Some(pipe) = child.stderr.take() {
            drain(pipe, Event::Err, events.clone());
        }
        let group = Group::of(&child);
        group.tell_of_the_end(events);

        let mut collected =
            Collected { sink, stderr: Vec::new(), keep: self.keep, truncated: false, ended: false, closed: 0 };
        let in_time =
            collected.until(&inbox, started + self.deadline, |c| c.ended || (cfg!(not(unix)) && c.closed == 2));
        // Whatever the child started must go too, so the group is killed after a good ending as well. The child is
        // reaped only afterwards: until then nobody else can get its number.
        group.kill(&mut child, in_time);
        let status = child.wait()?;
        let _ = collected.until(&inbox, Instant::now() + GRACE, |c| c.closed == 2);
        let ending = if in_time { ending(status) } else { Ending::Deadline(self.deadline) };
        Ok(Finished {
            ending,
            stdout: Vec::new(),
            stderr: collected.stderr,
            truncated: collected.truncated,
            elapsed: started.elapsed(),
        })
    }
}

impl Finished {
    /// The last non-empty line of standard error, where programs say what went wrong; empty if there is none.
    pub fn last_error_line(&self) -> String {
        let text = String::from_utf8_lossy(&self.stderr);
        text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("").to_owned()
    }

    /// True if it ended by itself with status 0.
    pub fn succeeded(&self) -> bool {
        self.ending == Ending::Exited(0)
    }
}

impl std::fmt::Display for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Ending::Exited(status) => write!(f, "it ended with status {status}"),
            Ending::Signalled(signal) => write!(f, "it was ended by signal {} ({signal})", signal_name(*signal)),
            Ending::Deadline(after) => write!(f, "it was killed at its deadline of {} s", after.as_secs_f64()),
        }
    }
}

/// The POSIX name of a signal number, e.g. `SIGSEGV` for 11, or `signal` for one without a common name.
pub fn signal_name(signal: i32) -> &'static str {
    // Numbers shared by Linux and macOS, and the two that differ.
    match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 if cfg!(target_os = "linux") => "SIGBUS",
        10 if cfg!(target_os = "macos") => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        _ => "signal",
    }
}

/// Finds a program as a shell would, in the folders of `path` (the value of a `PATH` variable).
pub fn find_on_path(name: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    let endings: &[&str] = if cfg!(windows) { &[".exe", ".cmd", ".bat"] } else { &[""] };
    std::env::split_paths(path?)
        // An empty entry means the current folder to a shell; programs found there are not the machine's.
        .filter(|folder| folder.is_absolute())
        .flat_map(|folder| endings.iter().map(move |ending| folder.join(format!("{name}{ending}"))))
        .find(|file| is_executable(file))
}

#[cfg(unix)]
fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(file: &Path) -> bool {
    file.is_file()
}

fn is_evaluators(name: &OsString) -> bool {
    name.to_str().is_some_and(|n| n.starts_with("EVCXR_"))
}

enum Event {
    Out(Vec<u8>),
    Err(Vec<u8>),
    Closed,
    Ended,
}

struct Collected<'a> {
    sink: &'a mut dyn FnMut(&[u8]),
    stderr: Vec<u8>,
    keep: usize,
    truncated: bool,
    ended: bool,
    closed: u8,
}

impl Collected<'_> {
    /// Takes events until `done`; false if `end` came first.
    fn until(&mut self, inbox: &Receiver<Event>, end: Instant, done: impl Fn(&Self) -> bool) -> bool {
        while !done(self) {
            // Asked each time: a child that never stops writing never lets the inbox run empty.
            if Instant::now() >= end {
                return false;
            }
            match inbox.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(Event::Out(bytes)) => (self.sink)(&bytes),
                Ok(Event::Err(bytes)) => {
                    let room = self.keep.saturating_sub(self.stderr.len()).min(bytes.len());
                    self.stderr.extend_from_slice(&bytes[..room]);
                    self.truncated |= room < bytes.len();
                }
                Ok(Event::Closed) => self.closed += 1,
                Ok(Event::Ended) => self.ended = true,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return false,
            }
        }
        true
    }
}

fn drain(mut pipe: impl Read + Send + 'static, event: fn(Vec<u8>) -> Event, events: SyncSender<Event>) {
    std::thread::spawn(move || {
        let mut buffer = vec![0; 64 << 10];
        loop {
            match pipe.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => {
                    if events.send(event(buffer[..n].to_vec())).is_err() {
                        return;
                    }
                }
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        let _ = events.send(Event::Closed);
    });
}

#[cfg(unix)]
struct Group(Option<rustix::process::Pid>);

#[cfg(unix)]
impl Group {
    fn of(child: &std::process::Child) -> Self {
        Group(i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw))
    }

    /// Waits in a thread of its own for the child's end, without reaping it.
    fn tell_of_the_end(&self, events: SyncSender<Event>) {
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        let Some(pid) = self.0 else { return };
        std::thread::spawn(move || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while matches!(waitid(WaitId::Pid(pid), options), Err(rustix::io::Errno::INTR)) {}
            let _ = events.send(Event::Ended);
        });
    }

    fn kill(&self, child: &mut std::process::Child, _in_time: bool) {
        if let Some(pid) = self.0 {
            let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
        }
        let _ = child.kill();
    }
}

#[cfg(not(unix))]
struct Group;

#[cfg(not(unix))]
impl Group {
    fn of(_: &std::process::Child) -> Self {
        Group
    }

    /// Without a wait that does not reap, the closing of both streams stands for the end.
    fn tell_of_the_end(&self, _: SyncSender<Event>) {}

    fn kill(&self, child: &mut std::process::Child, in_time: bool) {
        if in_time {
            return;
        }
        let _ = child.kill();
    }
}

#[cfg(unix)]
fn ending(status: ExitStatus) -> Ending {
    match (status.code(), std::os::unix::process::ExitStatusExt::signal(&status)) {
        (Some(code), _) => Ending::Exited(code),
        (None, signal) => Ending::Signalled(signal.unwrap_or(0)),
    }
}

#[cfg(not(unix))]
fn ending(status: ExitStatus) -> Ending {
    Ending::Exited(status.code().unwrap_or(-1))
}
