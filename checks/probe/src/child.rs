//! A child process that cannot outstay its welcome: own process group, deadline, killed with everything it started.
//!
//! Owns: starting, feeding, draining, stopping, killing and reaping. Must not know: what the child computes.
//! Start at [`Child::run`], or at [`Child::run_followed`] for a child that somebody watches. On Windows the child alone
//! is killed, not what it started.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// How long the pipes may stay open after the child's group is gone: only a process that left the group holds them.
const GRACE: Duration = Duration::from_millis(500);
/// How often whoever follows a child is asked whether it should stop.
const TICK: Duration = Duration::from_millis(100);
/// How long a child that was asked to stop may take to tidy up, before its group is killed.
const STOP_GRACE: Duration = Duration::from_millis(1200);

/// A child process to be started once.
#[derive(Debug)]
pub struct Child {
    command: Command,
    stdin: Vec<u8>,
    deadline: Option<Duration>,
    keep: usize,
}

/// Follows a child while it runs. Called on the thread that runs it, in order.
pub trait Follow {
    /// Standard output, as it comes.
    fn stdout(&mut self, bytes: &[u8]);
    /// Standard error, as it comes.
    fn stderr(&mut self, bytes: &[u8]);
    /// True once the child should stop; asked at least ten times a second.
    fn stop(&mut self) -> bool;
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
    /// Processor time, user and system, of the child and of those it started and waited for; where it can be told.
    pub processor: Option<Duration>,
    /// True if it was asked to stop.
    pub stopped: bool,
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
        Child { command, stdin: Vec::new(), deadline: Some(Duration::from_secs(20)), keep: 16 << 20 }
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
        self.deadline = Some(deadline);
        self
    }

    /// Lets it run for as long as it takes: for a child that somebody follows and can stop.
    pub fn without_deadline(mut self) -> Self {
        self.deadline = None;
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
        let mut kept = Kept { keep: self.keep, stdout: Vec::new(), stderr: Vec::new(), truncated: false, sink: None };
        let finished = self.run_followed(&mut kept)?;
        Ok(Finished { stdout: kept.stdout, stderr: kept.stderr, truncated: kept.truncated, ..finished })
    }

    /// Like [`Child::run`], but hands standard output to `sink` as it comes; [`Finished::stdout`] is then empty.
    /// # Errors
    /// Only if it could not be started.
    pub fn run_into(self, sink: &mut dyn FnMut(&[u8])) -> std::io::Result<Finished> {
        let keep = self.keep;
        let mut kept = Kept { keep, stdout: Vec::new(), stderr: Vec::new(), truncated: false, sink: Some(sink) };
        let finished = self.run_followed(&mut kept)?;
        Ok(Finished { stderr: kept.stderr, truncated: kept.truncated, ..finished })
    }

    /// Runs it to its end, to its deadline or until `follow` says stop, and keeps nothing of what it wrote: `follow`
    /// has both streams as they come. A child that writes faster than `follow` takes waits; memory does not grow.
    ///
    /// To stop, its group is interrupted (SIGINT) as from a terminal, and killed if it has not ended soon after.
    /// # Errors
    /// Only if it could not be started.
    pub fn run_followed(mut self, follow: &mut dyn Follow) -> std::io::Result<Finished> {
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

        let mut following = Following { follow, heeding: true, ended: false, closed: 0 };
        let over = |f: &Following<'_>| f.ended || (cfg!(not(unix)) && f.closed == 2);
        let deadline = self.deadline.map(|deadline| started + deadline);
        let mut until = following.until(&inbox, deadline, over);
        let stopped = until == Until::Stop;
        following.heeding = false;
        if stopped {
            group.interrupt();
            until = following.until(&inbox, Some(Instant::now() + STOP_GRACE), over);
        }
        // Whatever the child started must go too, so the group is killed after a good ending as well. The child is
        // reaped only afterwards: until then nobody else can get its number, and its times can be read.
        let processor = processor_time(child.id());
        group.kill(&mut child, until == Until::Done);
        let status = child.wait()?;
        let _ = following.until(&inbox, Some(Instant::now() + GRACE), |f| f.closed == 2);
        let ending = match (until, self.deadline) {
            (Until::Time, Some(deadline)) if !stopped => Ending::Deadline(deadline),
            _ => ending(status),
        };
        let elapsed = started.elapsed();
        let (stdout, stderr, truncated) = (Vec::new(), Vec::new(), false);
        Ok(Finished { ending, stdout, stderr, truncated, elapsed, processor, stopped })
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

/// Follows by keeping, up to a bound.
struct Kept<'a> {
    keep: usize,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    truncated: bool,
    /// Gets standard output instead.
    sink: Option<&'a mut dyn FnMut(&[u8])>,
}

fn keep(into: &mut Vec<u8>, most: usize, bytes: &[u8]) -> bool {
    let room = most.saturating_sub(into.len()).min(bytes.len());
    into.extend_from_slice(&bytes[..room]);
    room < bytes.len()
}

impl Follow for Kept<'_> {
    fn stdout(&mut self, bytes: &[u8]) {
        match &mut self.sink {
            Some(sink) => sink(bytes),
            None => self.truncated |= keep(&mut self.stdout, self.keep, bytes),
        }
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.truncated |= keep(&mut self.stderr, self.keep, bytes);
    }

    fn stop(&mut self) -> bool {
        false
    }
}

struct Following<'a> {
    follow: &'a mut dyn Follow,
    /// Whether a wish to stop is still heeded.
    heeding: bool,
    ended: bool,
    closed: u8,
}

/// Why waiting came to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    /// What was waited for came.
    Done,
    /// The time was up.
    Time,
    /// Whoever follows wants it to stop.
    Stop,
}

impl Following<'_> {
    /// Takes events until `done`, or something else comes first.
    fn until(&mut self, inbox: &Receiver<Event>, end: Option<Instant>, done: impl Fn(&Self) -> bool) -> Until {
        while !done(self) {
            // Asked each time: a child that never stops writing never lets the inbox run empty.
            if self.heeding && self.follow.stop() {
                return Until::Stop;
            }
            let left = end.map_or(TICK, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Until::Time;
            }
            match inbox.recv_timeout(left.min(TICK)) {
                Ok(Event::Out(bytes)) => self.follow.stdout(&bytes),
                Ok(Event::Err(bytes)) => self.follow.stderr(&bytes),
                Ok(Event::Closed) => self.closed += 1,
                Ok(Event::Ended) => self.ended = true,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Until::Time,
            }
        }
        Until::Done
    }
}

/// Processor time of a child that has ended and is not yet reaped, with those that it waited for.
///
/// Source: proc_pid_stat(5), fields 14 to 17, in ticks of which Linux shows programs 100 a second (USER_HZ).
fn processor_time(pid: u32) -> Option<Duration> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything, spaces and brackets too; after the last bracket come numbers.
    let (_, fields) = text.rsplit_once(')')?;
    let ticks: Vec<u64> = fields.split_whitespace().skip(11).take(4).filter_map(|field| field.parse().ok()).collect();
    (ticks.len() == 4).then(|| Duration::from_millis(ticks.iter().sum::<u64>() * 10))
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

    /// As Ctrl-C in a terminal does.
    fn interrupt(&self) {
        if let Some(pid) = self.0 {
            let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::INT);
        }
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

    /// Without a signal for it, a child that should stop is killed after its grace.
    fn interrupt(&self) {}

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
