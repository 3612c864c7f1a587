//! Attacks: cells and components that mean harm. Each is refused or stopped in its own words within seconds, leaves
//! nothing behind, and an honest criterion judges right afterwards as if nothing had been.
//!
//! `cells` are compiled by the real rustc. `modules/*.wat` are texts, whose first line says what comes of them: a file
//! holds a whole component, or only the functions in which it differs from a module that keeps the contract. `bytes`
//! are too large, too deep or too broken for a text.
#![allow(clippy::unwrap_used, missing_docs)]

mod bytes;
mod cells;
mod module;
mod smith;
mod texts;

use fascicolo_contract::measure::measure_rows;
use fascicolo_contract::{AlignedBatch, Explain, Texts, Vectors};
use fascicolo_criterion::{Admitted, CriterionError, Finished, Host, Isolation, Launcher, standard};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What an attack must come to.
pub struct Attack {
    pub name: String,
    /// The error's kind.
    pub kind: String,
    /// Part of its message.
    pub says: String,
}

impl Attack {
    pub fn new(name: impl Into<String>, kind: &str, says: &str) -> Attack {
        Attack { name: name.into(), kind: kind.to_owned(), says: says.to_owned() }
    }
}

/// Time that an attack may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// Processor time of this process and the children it waited for, where the system tells it: on a machine that has other
/// work, the wall clock measures that work too.
fn computed() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name, in brackets, may hold spaces; after it stand utime, stime, cutime and cstime as fields 12 to 15, in
    // hundredths of a second.
    let ticks = stat.rsplit(')').next()?.split_whitespace().skip(11).take(4).map(|field| field.parse::<u64>());
    Some(Duration::from_millis(10 * ticks.sum::<Result<u64, _>>().ok()?))
}

/// Runs the test of this name again in a process of its own, whose temporary and current folder is an empty one, and
/// checks that it leaves nothing there. True in that process.
pub fn alone(test: &str) -> bool {
    const MARK: &str = "FASCICOLO_ATTACKS_ALONE";
    if std::env::var_os(MARK).is_some() {
        return true;
    }
    // One after the other: what is measured is the attack, not its neighbours.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    std::fs::create_dir(&home).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--include-ignored"])
        .env(MARK, "1")
        .env("TMPDIR", folder.path())
        .env("FASCICOLO_CACHE", folder.path().join("cache"))
        .current_dir(&home)
        .output()
        .unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{test}: {}\n{said}", output.status);
    said.lines().filter(|line| line.starts_with("shown: ")).for_each(|line| println!("{line}"));
    let left = |folder: &Path| -> Vec<String> {
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect()
    };
    assert_eq!(left(&home), Vec::<String>::new(), "{test} wrote into its current folder");
    let mut beside = left(folder.path());
    beside.retain(|name| name != "home" && name != "cache");
    assert_eq!(beside, Vec::<String>::new(), "{test} left something in the temporary folder");
    false
}

/// The engine of this process, and what an honest criterion answers on it.
pub struct Court {
    pub host: Host,
    criterion: Admitted,
    honest: Finished,
    slowest: (Duration, String),
    judged: usize,
    wrong: Vec<String>,
}

impl Court {
    pub fn new() -> Court {
        let launcher = Launcher { exe: env!("CARGO_BIN_EXE_compile-component").into(), args: Vec::new() };
        let cache = std::env::var_os("FASCICOLO_CACHE").map(PathBuf::from);
        let host = Host::isolated(Isolation::new(launcher, cache)).unwrap();
        let criterion = host.admit("cosine", standard::find("cosine").unwrap().component).unwrap();
        let honest = fold(&criterion, &[("floor", 0.5)]).unwrap();
        Court { host, criterion, honest, slowest: (Duration::ZERO, String::new()), judged: 0, wrong: Vec::new() }
    }

    /// Lets an attack do what it does, and checks what comes of it.
    pub fn judge(&mut self, attack: &Attack, act: impl FnOnce(&Host) -> Result<Finished, CriterionError>) {
        let name = &attack.name;
        let (started, before) = (Instant::now(), computed());
        let ended = act(&self.host);
        let spent = computed().zip(before).map(|(now, before)| now.saturating_sub(before));
        let took = spent.map_or(started.elapsed(), |spent| spent.min(started.elapsed()));
        let wrong = match &ended {
            Ok(finished) => Some(format!("it got through with {finished:?}")),
            Err(error) => unlike(attack, error),
        };
        let late = (took >= PATIENCE).then(|| format!("it took {took:?}"));
        self.wrong.extend(wrong.into_iter().chain(late).map(|what| format!("{name}: {what}")));
        if took > self.slowest.0 {
            self.slowest = (took, name.clone());
        }
        self.judged += 1;
        if std::env::var_os("FASCICOLO_ATTACKS_SHOWN").is_some() {
            let ended = ended.map_or_else(|error| format!("{}: {error}", error.kind()), |_| "no error".to_owned());
            eprintln!("{name}: {} ms: {ended}", took.as_millis());
        }
        self.honest_as_ever(name);
    }

    /// The honest criterion gives the same answer, for the same fuel, as before.
    pub fn honest_as_ever(&self, after: &str) {
        let again = fold(&self.criterion, &[("floor", 0.5)]).unwrap();
        assert_eq!((&again.outcome, again.fuel), (&self.honest.outcome, self.honest.fuel), "after {after}");
    }

    /// One line about all of it.
    pub fn close(mut self, what: &str, at_least: usize) {
        self.criterion = self.host.admit("cosine", standard::find("cosine").unwrap().component).unwrap();
        self.honest_as_ever("all of them, compiled anew");
        assert!(self.wrong.is_empty(), "{} of {} {what}:\n{}", self.wrong.len(), self.judged, self.wrong.join("\n"));
        assert!(self.judged >= at_least, "only {} {what}", self.judged);
        let (took, name) = self.slowest;
        println!("shown: {} {what}, each stopped; the slowest, `{name}`, after {} ms", self.judged, took.as_millis());
    }
}

/// What is not as it should be about the error that an attack ended with.
fn unlike(attack: &Attack, error: &CriterionError) -> Option<String> {
    let message = error.to_string();
    // Which of two limits is met first may depend on the machine.
    if !attack.kind.split('/').any(|kind| kind == error.kind()) || !message.contains(&attack.says) {
        return Some(format!("{}: `{message}`, not {} with `{}`", error.kind(), attack.kind, attack.says));
    }
    if message.len() > 2_500 {
        return Some(format!("a message of {} bytes", message.len()));
    }
    if message.contains(|c: char| c.is_control() && c != '\n') {
        return Some(format!("{message:?} steers a terminal"));
    }
    (error.next_step().is_empty() || error.place().is_none()).then(|| format!("`{message}` without place or next step"))
}

/// Three rows of four values.
pub fn three_rows() -> AlignedBatch {
    let mut ids = Texts::default();
    ["a", "b", "c"].iter().for_each(|id| ids.push(id));
    let reference: Vec<f32> = (0..12).map(|i| (i as f32 * 0.37).sin()).collect();
    let candidate = reference.iter().map(|value| value + 1e-3).collect();
    AlignedBatch {
        ids,
        labels: Texts::default(),
        candidate_labels: Texts::default(),
        dims: 4,
        reference: Vectors::F32(reference),
        candidate: Vectors::F32(candidate),
    }
}

/// Everything a host does with a component: admits it, shows it rows, takes its state out, merges it, takes its answer.
pub fn run(host: &Host, name: &str, component: &[u8], given: &[(&str, f64)]) -> Result<Finished, CriterionError> {
    fold(&host.admit(name, component)?, given)
}

fn fold(criterion: &Admitted, given: &[(&str, f64)]) -> Result<Finished, CriterionError> {
    let given: Vec<(String, f64)> = given.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    let flag = Arc::new(AtomicBool::new(false));
    let batch = three_rows();
    let measures = measure_rows(&batch, &criterion.measures(&given)?).0;
    let mut part = criterion.start(&given, flag.clone())?;
    part.update(&batch, measures)?;
    let state = part.state()?;
    let mut whole = criterion.start(&given, flag)?;
    whole.merge(&state, 3)?;
    whole.finish()
}
