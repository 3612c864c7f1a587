//! What a large dossier costs: verifying it, appending to it, exporting it.
//!
//! Questions, inputs and units stand before each figure. Times depend on the machine and on what else it does: beside
//! each stands its ratio to `sha256sum` and `openssl dgst -sha256`, which in the same run read the same bytes. What
//! is judged are the bounds; if one is missed the exit status is 1. Every measurement is a process of its own, so that
//! its peak memory is that of the measured work alone.
//!
//! `cargo bench -p fascicolo-dossier` runs all, `… -- verify` (or `append`, `export`) one of them. Needs 4 GB of disk
//! and, for the append to 10^6 entries, 4 GB of memory.

#![allow(clippy::unwrap_used, missing_docs)]

mod inputs;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use fascicolo_dossier::bundle::{self, Case};
use fascicolo_dossier::{Dossier, Draft, Kind, verify};
use serde_json::{Value, json};

const ENTRIES: u64 = 1_000_000;
const VERIFY_SECONDS: f64 = 2.0;
const PEAK_BYTES: f64 = 200e6;
const APPEND_MICROSECONDS: f64 = 50.0;
/// Most that an append to 10^6 entries may cost of one to 10^3, to be called flat.
const FLAT: f64 = 1.5;
const RUNS: usize = 3;
const APPENDS: usize = 4_000;
const APPENDS_TO_DISK: usize = 300;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    if let [flag, what, path] = &arguments[..]
        && flag == "--child"
    {
        println!("{}", child(what, Path::new(path)));
        return ExitCode::SUCCESS;
    }
    let wanted = |name: &str| arguments.is_empty() || arguments.iter().any(|a| a == name);
    let mut report = Report { missed: 0, unjudged: 0 };
    let folder = tempfile::tempdir().unwrap();
    println!("SHA-256 instructions of the processor: {}", if sha_instructions() { "yes" } else { "no" });
    let log = folder.path().join("log.fascicolo");
    if wanted("verify") || wanted("export") {
        inputs::log(&log, ENTRIES, 1_024);
    }
    if wanted("verify") {
        measure_verify(&mut report, &log);
    }
    if wanted("export") {
        measure_export(&mut report, &log, "a log of 10^6 entries of 1 KB");
        fs::remove_dir_all(&log).unwrap();
        let blobs = folder.path().join("blobs.fascicolo");
        inputs::blobs(&blobs, 16, 64_000_000);
        measure_export(&mut report, &blobs, "16 blobs of 64 MB, 1 GB in all");
    }
    if wanted("append") {
        measure_append(&mut report, folder.path());
    }
    println!("\nbounds missed: {}, not judged: {}", report.missed, report.unjudged);
    if report.missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

struct Report {
    missed: usize,
    unjudged: usize,
}

impl Report {
    fn question(&self, question: &str, input: &str) {
        println!("\n{question}\n  input: {input}");
    }

    fn figure(&self, what: &str, value: &str) {
        println!("  {what:<44} {value}");
    }

    /// A figure with its bound; `judged`: false where this machine cannot meet it.
    fn bound(&mut self, what: &str, value: f64, unit: &str, bound: f64, judged: bool) {
        let verdict = match (value < bound, judged) {
            (true, _) => "holds",
            (false, true) => "MISSED",
            (false, false) => "not judged on this machine as it is",
        };
        self.missed += usize::from(verdict == "MISSED");
        self.unjudged += usize::from(value >= bound && !judged);
        println!("  {what:<44} {value:.2} {unit} (bound {bound} {unit}: {verdict})");
    }

    fn memory(&mut self, peak_bytes: Option<f64>) {
        match peak_bytes {
            Some(peak) => self.bound("peak memory of the process (VmHWM)", peak / 1e6, "MB", PEAK_BYTES / 1e6, true),
            None => self.figure("peak memory of the process (VmHWM)", "not told by this system"),
        }
    }
}

fn measure_verify(report: &mut Report, log: &Path) {
    let files = [log.join("entries.jsonl"), log.join("disclosures/values.jsonl")];
    let bytes: u64 = files.iter().map(|file| file.metadata().unwrap().len()).sum();
    report.question(
        "How long does verifying a whole log take, and in how much memory?",
        &format!("10^6 entries of 1,024 bytes, a disclosed value for each; {} MB in two files", bytes / 1_000_000),
    );
    let (sha256sum, openssl) = stock_tools(&files);
    let busy = busy();
    let cost = best("verify", log);
    // Whoever shares the processors prolongs the wall time; the time that the work itself took of them tells then.
    let shared = busy && cost.processor_seconds.is_some_and(|seconds| seconds / 2.0 < VERIFY_SECONDS);
    let judged = sha_instructions() && !shared;
    report.bound("verify, wall time on two processors", cost.seconds, "s", VERIFY_SECONDS, judged);
    if let Some(seconds) = cost.processor_seconds {
        let others = if busy { "; others keep the processors busy" } else { "" };
        report.figure("  its time on the processors, of all threads", &format!("{seconds:.2} s{others}"));
    }
    report.memory(cost.peak_bytes);
    ratios(report, cost.seconds, sha256sum, openssl);
}

fn measure_export(report: &mut Report, dossier: &Path, input: &str) {
    report.question("Does an export stream, however large the dossier is?", input);
    let mut files = Vec::new();
    inputs::files(dossier, &mut files);
    let (sha256sum, openssl) = stock_tools(&files);
    let cost = run("export", dossier);
    report.figure("export, wall time", &format!("{:.2} s", cost.seconds));
    report.memory(cost.peak_bytes);
    ratios(report, cost.seconds, sha256sum, openssl);
}

/// In memory an fsync costs next to nothing; what it does cost there is measured beside the appends, and taken off.
fn measure_append(report: &mut Report, disk: &Path) {
    let memory = Path::new("/dev/shm");
    let memory = if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() };
    report.question(
        "What does an append cost besides its fsyncs, and does that grow with the log?",
        &format!(
            "logs of 10^3 to 10^6 entries in {}; {APPENDS} appends with a private value",
            memory.path().parent().unwrap().display()
        ),
    );
    let mut costs = Vec::new();
    for entries in [1_000, 10_000, 100_000, 1_000_000] {
        let path = memory.path().join("log.fascicolo");
        inputs::log(&path, entries, 400);
        let figures = child_process("append", &path);
        let figure = |name: &str| figures[name].as_f64().unwrap();
        let cost = figure("median_us") - figure("fsyncs_us");
        report.bound(&format!("append to {entries} entries, median"), cost, "us", APPEND_MICROSECONDS, true);
        report.figure("  at most, 99 of 100", &format!("{:.2} us", figure("p99_us")));
        report.figure("  its two fsyncs here, taken off", &format!("{:.2} us", figure("fsyncs_us")));
        costs.push(cost);
        fs::remove_dir_all(&path).unwrap();
    }
    report.bound("cost at 10^6 entries to that at 10^3", costs[3] / costs[0], "x", FLAT, true);
    let path = disk.join("append.fascicolo");
    inputs::log(&path, 1_000, 400);
    let figures = child_process("append-to-disk", &path);
    let (append, writes) = (figures["median_us"].as_f64().unwrap(), figures["writes_us"].as_f64().unwrap());
    report.figure("append on the disk, median", &format!("{append:.1} us"));
    report.figure("  to its two writes with fdatasync alone", &format!("{:.2} x ({writes:.1} us)", append / writes));
}

/// What a process of its own does and prints.
fn child(what: &str, path: &Path) -> Value {
    let begin = Instant::now();
    match what {
        "verify" => {
            let found = verify(path).unwrap();
            assert!(found.integrity && found.unproved_tail == 0, "{found:?}");
        }
        "export" => {
            let out = path.with_extension("zip");
            let case = Case { name: "case".to_owned(), dossier: path.to_path_buf(), ..Case::default() };
            bundle::write(&out, &case).unwrap();
            fs::remove_file(out).unwrap();
        }
        "append" => return appends(path, APPENDS),
        "append-to-disk" => return appends(path, APPENDS_TO_DISK),
        _ => unreachable!("no such measurement: {what}"),
    }
    json!({
        "seconds": begin.elapsed().as_secs_f64(), "processor_seconds": processor_seconds(), "peak_bytes": peak_bytes(),
    })
}

/// Appends, and after each the same two writes with fdatasync to files of their own, so that both meet the same disk.
fn appends(path: &Path, count: usize) -> Value {
    let mut dossier = Dossier::open(path, "bench").unwrap();
    let mut plain = ["plain.1", "plain.2"].map(|name| File::create(path.with_extension(name)).unwrap());
    let (mut appends, mut writes, mut fsyncs) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..count {
        let private = vec![("ran".to_owned(), format!("let x = {i};"))];
        let draft = Draft { private, body: json!({"floor": 0.999, "rows": i}), ..Draft::new(Kind::Start) };
        let begin = Instant::now();
        dossier.append(draft).unwrap();
        appends.push(microseconds(begin));
        let (begin, mut synced) = (Instant::now(), 0.0);
        for file in &mut plain {
            file.write_all(&[b'x'; 300]).unwrap();
            let begin = Instant::now();
            file.sync_data().unwrap();
            synced += microseconds(begin);
        }
        writes.push(microseconds(begin));
        fsyncs.push(synced);
    }
    let p99 = nth(&mut appends, 99);
    json!({
        "median_us": nth(&mut appends, 50), "p99_us": p99, "writes_us": nth(&mut writes, 50),
        "fsyncs_us": nth(&mut fsyncs, 50),
    })
}

fn microseconds(since: Instant) -> f64 {
    since.elapsed().as_nanos() as f64 / 1e3
}

fn nth(times: &mut [f64], percent: usize) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() * percent / 100]
}

/// What a run cost; `None` for what the system does not tell.
struct Cost {
    seconds: f64,
    processor_seconds: Option<f64>,
    peak_bytes: Option<f64>,
}

/// The shortest of a few runs, with the highest peak of all.
fn best(what: &str, path: &Path) -> Cost {
    let mut runs: Vec<Cost> = (0..RUNS).map(|_| run(what, path)).collect();
    let peak_bytes = runs.iter().filter_map(|cost| cost.peak_bytes).reduce(f64::max);
    runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    Cost { peak_bytes, ..runs.swap_remove(0) }
}

fn run(what: &str, path: &Path) -> Cost {
    let figures = child_process(what, path);
    let figure = |name: &str| figures[name].as_f64();
    let (processor_seconds, peak_bytes) = (figure("processor_seconds"), figure("peak_bytes"));
    Cost { seconds: figure("seconds").unwrap(), processor_seconds, peak_bytes }
}

/// Runs one measurement; on two processors where there are more and the system can be told so.
fn child_process(what: &str, path: &Path) -> Value {
    let own = std::env::current_exe().unwrap();
    let many = std::thread::available_parallelism().is_ok_and(|n| n.get() > 2);
    let mut command = if many && exists("taskset") {
        let mut command = Command::new("taskset");
        command.args(["-c", "0,1"]).arg(own);
        command
    } else {
        Command::new(own)
    };
    let output = command.args(["--child", what]).arg(path).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "{what} ended with {}", output.status);
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Seconds that the stock tools take for these files, the shortest of a few runs; `None` where one is not installed.
fn stock_tools(files: &[PathBuf]) -> (Option<f64>, Option<f64>) {
    let time = |program: &str, arguments: &[&str]| {
        let once = || {
            let begin = Instant::now();
            // More files than fit on one command line are of no interest here.
            let status = Command::new(program).args(arguments).args(files).stdout(Stdio::null()).status().unwrap();
            assert!(status.success());
            begin.elapsed().as_secs_f64()
        };
        exists(program).then(|| (0..RUNS).map(|_| once()).fold(f64::INFINITY, f64::min))
    };
    (time("sha256sum", &[]), time("openssl", &["dgst", "-sha256"]))
}

fn ratios(report: &Report, seconds: f64, sha256sum: Option<f64>, openssl: Option<f64>) {
    for (name, stock) in [("sha256sum", sha256sum), ("openssl dgst -sha256", openssl)] {
        let what = format!("to {name} of the same bytes");
        match stock {
            Some(stock) => report.figure(&what, &format!("{:.2} x ({stock:.2} s)", seconds / stock)),
            None => report.figure(&what, "is not installed"),
        }
    }
}

fn exists(program: &str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

fn sha_instructions() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("sha");
    #[cfg(target_arch = "aarch64")]
    return std::arch::is_aarch64_feature_detected!("sha2");
    #[allow(unreachable_code)]
    false
}

/// Peak of the memory that this process held; `None` where the system does not tell.
fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? * 1_024)
}

/// Time that the threads of this process had a processor.
fn processor_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // Behind the name, which may hold anything: user and system time in hundredths of a second.
    let fields: Vec<&str> = stat.rsplit(") ").next()?.split(' ').collect();
    Some((fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?) / 100.0)
}

/// True if other programs want the processors, too: this one alone has kept one of them at work so far.
fn busy() -> bool {
    let load = fs::read_to_string("/proc/loadavg").ok().and_then(|load| load.split(' ').next()?.parse::<f64>().ok());
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as f64;
    load.is_some_and(|load| load > processors)
}
