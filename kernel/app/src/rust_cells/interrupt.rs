//! Stops what a cell started, and nothing else.
//!
//! Start at [`InterruptFlag`], then [`Hunt`]. A cell is either being compiled, by cargo and rustc, or run, by the
//! child. While it is compiled only the compiler is killed, so that variables survive; otherwise the child is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use super::engine::Live;

/// Raised by one thread to stop the cell that another runs. Clones share the flag.
#[derive(Debug, Clone, Default)]
pub struct InterruptFlag(Arc<AtomicBool>);

impl InterruptFlag {
    /// Asks the running cell to stop; seen within about 20 ms.
    pub fn raise(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Forgets a request that came when nothing ran. Call it after a cell.
    pub fn lower(&self) {
        self.0.store(false, Ordering::SeqCst);
    }

    /// True once for each request.
    pub(super) fn take(&self) -> bool {
        self.0.swap(false, Ordering::SeqCst)
    }
}

/// An interrupt being carried out: strikes again until evcxr answers.
pub(super) struct Hunt<'a> {
    live: &'a Live,
    /// When the cell was handed to evcxr.
    submitted: SystemTime,
    last_strike: Option<Instant>,
    struck_child: bool,
}

impl<'a> Hunt<'a> {
    pub(super) fn new(live: &'a Live, submitted: SystemTime) -> Hunt<'a> {
        Hunt { live, submitted, last_strike: None, struck_child: false }
    }

    /// True if the child was killed, and with it all variables.
    pub(super) fn struck_child(&self) -> bool {
        self.struck_child
    }

    /// Kills the compiler if there is one, else the child if it runs the cell; at most once in `interval`.
    ///
    /// Between compilations evcxr analyses on its own, and nothing can be killed until that ends.
    pub(super) fn strike(&mut self, interval: Duration) {
        if self.last_strike.is_some_and(|at| at.elapsed() < interval) {
            return;
        }
        self.last_strike = Some(Instant::now());
        if kill_compilers(self.live) {
            return;
        }
        if self.live.compiled_since(self.submitted) {
            self.struck_child = true;
            kill_child(self.live);
        }
    }
}

/// Ends everything the engine started.
pub(super) fn kill_all(live: &Live) {
    kill_compilers(live);
    kill_child(live);
}

#[cfg(target_os = "linux")]
fn kill_compilers(live: &Live) -> bool {
    linux::kill(|process| process.is_compiler_of(live)) > 0
}

/// Elsewhere a compilation ends by itself; only the child can be stopped.
#[cfg(not(target_os = "linux"))]
fn kill_compilers(_live: &Live) -> bool {
    false
}

#[cfg(target_os = "linux")]
fn kill_child(live: &Live) {
    linux::kill(|process| process.is_child_of(live));
}

#[cfg(not(target_os = "linux"))]
fn kill_child(live: &Live) {
    // evcxr holds the lock while it waits for a child that is ending anyway.
    if let Ok(mut child) = live.child.try_lock() {
        let _ = child.kill();
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::PathBuf;

    use rustix::process::{Pid, Signal, kill_process};

    use super::super::engine::Live;
    use super::super::process::ROLE;

    /// A process as `/proc` shows it.
    pub(super) struct Process {
        id: i32,
        parent: i32,
    }

    impl Process {
        fn folder(&self) -> PathBuf {
            PathBuf::from(format!("/proc/{}", self.id))
        }

        /// cargo runs in the engine's folder, and is a child of this process.
        pub(super) fn is_compiler_of(&self, live: &Live) -> bool {
            self.parent == own_id()
                && !self.is_child_of(live)
                && std::fs::read_link(self.folder().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&live.folder))
        }

        /// The child and what it started carry the engine's mark, even when their parents are gone.
        pub(super) fn is_child_of(&self, live: &Live) -> bool {
            let mark = format!("{ROLE}={}", live.mark);
            self.id != own_id()
                && std::fs::read(self.folder().join("environ"))
                    .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes()))
        }
    }

    fn own_id() -> i32 {
        std::process::id() as i32
    }

    fn processes() -> Vec<Process> {
        let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
        entries
            .flatten()
            .filter_map(|entry| {
                let id: i32 = entry.file_name().to_str()?.parse().ok()?;
                let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
                // The name in parentheses may hold anything; state and parent follow its last parenthesis.
                let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
                let state = fields.next()?;
                let parent = fields.next()?.parse().ok()?;
                (state != "Z" && state != "X").then_some(Process { id, parent })
            })
            .collect()
    }

    /// Kills the processes chosen and all their descendants; returns how many.
    ///
    /// They are stopped first and sought again until no new one appears, so that none escapes by forking.
    pub(super) fn kill(is_root: impl Fn(&Process) -> bool) -> usize {
        let mut found: BTreeSet<i32> = BTreeSet::new();
        loop {
            let all = processes();
            let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
            for process in &all {
                children.entry(process.parent).or_default().push(process.id);
            }
            let mut open: Vec<i32> =
                all.iter().filter(|p| is_root(p)).map(|p| p.id).chain(found.iter().copied()).collect();
            let mut reached: BTreeSet<i32> = BTreeSet::new();
            while let Some(id) = open.pop() {
                if id > 1 && id != own_id() && reached.insert(id) {
                    open.extend(children.get(&id).into_iter().flatten());
                }
            }
            let new: Vec<i32> = reached.difference(&found).copied().collect();
            if new.is_empty() {
                break;
            }
            for id in new {
                signal(id, Signal::STOP);
                found.insert(id);
            }
        }
        for id in &found {
            signal(*id, Signal::KILL);
        }
        found.len()
    }

    fn signal(id: i32, signal: Signal) {
        if let Some(pid) = Pid::from_raw(id) {
            // It may have ended by itself meanwhile.
            let _ = kill_process(pid, signal);
        }
    }
}
