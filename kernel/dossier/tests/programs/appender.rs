//! Appends numbered entries to a dossier and acknowledges each, for the tests that kill it, starve it or cut its power.
//!
//! `dossier-appender FOLDER SESSION entries=N` or `… milliseconds=N`. Number i has the private value `ran`,
//! `SESSION i`; every second one has the large private value `shown` and the public content `component` besides; after
//! every third the checkpoint is written. For each append that returned it writes `SEQ i` to standard output, a line
//! each: by `writev`, so that a fault injected into `write` concerns the dossier alone. After an error it says so on
//! standard error and goes on with the next number, until the writer has stopped for good. Ends with status 0 if all
//! went well, 3 if anything failed, 2 on bad usage. However short the time, one entry is tried.

use std::io::{self, IoSlice, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use fascicolo_dossier::{Dossier, Draft, Kind};

/// Length of the large private value, in characters: more than a line takes.
const LARGE: usize = 5_000;

fn draft(session: &str, number: u64) -> Draft {
    let mut draft = Draft { private: vec![("ran".into(), format!("{session} {number}"))], ..Draft::new(Kind::Start) };
    if number % 2 == 1 {
        draft.private.push(("shown".into(), format!("{session} {number:>LARGE$}")));
        draft.blobs.push(("component".into(), format!("content {number} of {session}").into_bytes()));
    }
    draft
}

/// Standard output without a buffer.
#[cfg(unix)]
fn acknowledgements() -> io::Result<impl Write> {
    use std::os::fd::AsFd;
    io::stdout().as_fd().try_clone_to_owned().map(std::fs::File::from)
}

/// Standard output, buffered by lines.
#[cfg(not(unix))]
fn acknowledgements() -> io::Result<impl Write> {
    Ok(io::stdout())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, session, until] = &arguments[..] else { return ExitCode::from(2) };
    let (most, time) = match until.split_once('=').map(|(unit, n)| (unit, n.parse::<u64>())) {
        Some(("entries", Ok(n))) => (n, None),
        Some(("milliseconds", Ok(n))) => (u64::MAX, Some(Duration::from_millis(n))),
        _ => return ExitCode::from(2),
    };
    let Ok(mut said) = acknowledgements() else { return ExitCode::from(2) };
    let began = Instant::now();
    // Standard error may be starved as well; the status tells in any case.
    let failed = |error: &fascicolo_dossier::Error| drop(writeln!(io::stderr(), "{}: {error}", error.kind()));
    let mut dossier = match Dossier::open(folder, session.as_str()) {
        Ok(dossier) => dossier,
        Err(error) => {
            failed(&error);
            return ExitCode::from(3);
        }
    };
    let mut status = 0;
    for number in 0..most {
        if number > 0 && time.is_some_and(|time| began.elapsed() > time) {
            break;
        }
        let appended = dossier.append(draft(session, number));
        let checkpoint = if number % 3 == 2 { dossier.write_checkpoint() } else { Ok(()) };
        match &appended {
            Ok(appended) => {
                let line = format!("{} {number}\n", appended.seq);
                if said.write_vectored(&[IoSlice::new(line.as_bytes())]).is_err() {
                    return ExitCode::from(3);
                }
            }
            Err(error) => {
                failed(error);
                // Where all fails, the next try can wait.
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        for error in [appended.err(), checkpoint.err()].into_iter().flatten() {
            status = 3;
            if error.kind() == "writer_stopped" {
                failed(&error);
                return ExitCode::from(status);
            }
        }
    }
    ExitCode::from(status)
}
