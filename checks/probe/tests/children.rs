//! What the runner of child processes promises.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use fascicolo_probe::child::{Child, Ending, Follow};

fn sh(script: &str) -> Child {
    Child::new("/bin/sh", ["-c", script])
}

fn lives(pid: &str) -> bool {
    // A killed grandchild may stay as a zombie until init reaps it.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|s| !s.contains(") Z "))
}

#[test]
fn a_child_is_killed_at_its_deadline_with_all_it_started() {
    let started = Instant::now();
    let finished = sh("sleep 100 & echo $!; sleep 100").deadline(Duration::from_millis(300)).run().unwrap();
    assert_eq!(finished.ending, Ending::Deadline(Duration::from_millis(300)));
    assert!(started.elapsed() < Duration::from_secs(3));
    let grandchild = String::from_utf8(finished.stdout).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    assert!(!lives(grandchild.trim()), "the grandchild lives on");
}

#[test]
fn what_a_child_leaves_behind_is_killed_when_it_ends_well() {
    let started = Instant::now();
    let finished = sh("sleep 100 & echo $!").run().unwrap();
    assert!(finished.succeeded());
    assert!(started.elapsed() < Duration::from_secs(3), "the open pipe of the grandchild was waited for");
    std::thread::sleep(Duration::from_millis(50));
    assert!(!lives(String::from_utf8(finished.stdout).unwrap().trim()));
}

#[test]
fn a_child_that_never_stops_writing_is_killed_at_its_deadline() {
    let finished = sh("while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done")
        .deadline(Duration::from_millis(400))
        .keep(1000)
        .run()
        .unwrap();
    assert!(matches!(finished.ending, Ending::Deadline(_)));
    assert!(finished.elapsed < Duration::from_secs(3));
    assert_eq!(finished.stdout.len(), 1000);
    assert!(finished.truncated);
}

#[test]
fn input_output_status_and_signals_arrive() {
    let big = vec![b'x'; 3 << 20];
    let finished = sh("cat; echo gone wrong >&2; exit 3").stdin(big.clone()).run().unwrap();
    assert_eq!((finished.ending, finished.stdout), (Ending::Exited(3), big));
    assert_eq!(String::from_utf8(finished.stderr).unwrap(), "gone wrong\n");
    assert_eq!(sh("kill -SEGV $$").run().unwrap().ending, Ending::Signalled(11));
    // A child that does not read its input is no failure.
    assert!(sh("exit 0").stdin(vec![0; 3 << 20]).run().unwrap().succeeded());
}

#[test]
fn a_program_that_is_not_there_is_an_error() {
    assert!(Child::new("/nonexistent/program", [""; 0]).run().is_err());
}

/// Counts what comes, and wants to stop once it has seen enough of it.
struct Watcher {
    stdout: Vec<u8>,
    seen: usize,
    enough: usize,
}

impl Follow for Watcher {
    fn stdout(&mut self, bytes: &[u8]) {
        self.seen += bytes.len();
        self.stdout.extend_from_slice(&bytes[..bytes.len().min(100)]);
    }

    fn stderr(&mut self, _: &[u8]) {}

    fn stop(&mut self) -> bool {
        self.seen >= self.enough
    }
}

#[test]
fn a_followed_child_that_is_stopped_may_tidy_up_and_then_goes_with_all_it_started() {
    let mut watcher = Watcher { stdout: Vec::new(), seen: 0, enough: 1 };
    let script = "trap 'echo tidied; exit 7' INT; sleep 100 & echo $!; wait";
    let finished = sh(script).without_deadline().run_followed(&mut watcher).unwrap();
    assert_eq!((finished.stopped, finished.ending), (true, Ending::Exited(7)));
    let text = String::from_utf8(watcher.stdout).unwrap();
    let (grandchild, after) = text.split_once('\n').unwrap();
    assert_eq!(after, "tidied\n");
    std::thread::sleep(Duration::from_millis(50));
    assert!(!lives(grandchild), "the grandchild lives on");
}

#[test]
fn a_followed_child_that_does_not_heed_an_interrupt_is_killed() {
    let started = Instant::now();
    let mut watcher = Watcher { stdout: Vec::new(), seen: 0, enough: 1 << 20 };
    let finished = sh("trap '' INT; while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done")
        .without_deadline()
        .run_followed(&mut watcher)
        .unwrap();
    assert_eq!((finished.stopped, finished.ending), (true, Ending::Signalled(9)));
    assert!(started.elapsed() < Duration::from_secs(8));
}

#[cfg(target_os = "linux")]
#[test]
fn processor_time_counts_what_a_child_and_its_children_worked_and_not_what_they_slept() {
    let work = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
    let worked = sh(&format!("({work}); sleep 0.2")).run().unwrap();
    let processor = worked.processor.unwrap();
    assert!(processor >= Duration::from_millis(20), "{processor:?}");
    assert!(processor < worked.elapsed, "{processor:?} of {:?}", worked.elapsed);
    assert!(sh("sleep 0.3").run().unwrap().processor.unwrap() < Duration::from_millis(100));
}
