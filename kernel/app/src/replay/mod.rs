//! `fascicolo replay`: an exported case, verified and then run again in an empty folder.
//!
//! The run gets nothing from here but what is listed before it starts: an environment of a few variables, a home and a
//! temporary folder of its own, and, where the kernel has Landlock, no file but the new folder, the system, the Rust
//! toolchain and the Python interpreter, and no network unless the notebook asks for crates or the user allows it. A
//! variable of an old session or a forgotten file then fails it by name. What each cell showed is compared in [`outputs`].

mod outputs;

use crate::actions::{self, Bound, stored};
use crate::failure::Failure;
use crate::session::{Fact, Place, Session};
use fascicolo_contract::Standing;
use fascicolo_criterion::{Confinement, Fence};
use fascicolo_dossier::{Dossier, Kind, View, bundle};
use outputs::Judged;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Verify an exported case, then run its notebook again in an empty folder.
///
/// Lists what would run and asks first. The verdicts and their figures must come out as they stand in the case: their
/// arithmetic is the same on every machine. What Rust code printed must come out, too, unless the cell says otherwise by
/// one of these tags: `fascicolo:ignore`, `fascicolo:tolerance=1e-6` (share of the larger number), `fascicolo:image` or
/// `fascicolo:image=2` (levels of 255 in the mean), `fascicolo:exact`. The new case file gets an entry that names the case
/// it repeats.
#[derive(Debug, Clone, clap::Args)]
pub struct ReplayArgs {
    /// The file that `dossier export` wrote
    pub case: PathBuf,
    /// The folder to run in: empty, or not there yet
    #[arg(long, value_name = "FOLDER")]
    pub into: PathBuf,
    /// Run without asking
    #[arg(long)]
    pub yes: bool,
    /// Let it use the network; without this only a notebook that asks for crates (`:dep`) may
    #[arg(long)]
    pub network: bool,
}

/// What the case holds besides what is run.
const NOT_RUN: [&str; 4] = ["log", "report.html", "VERIFY.md", "ro-crate-metadata.json"];
/// Variables of the environment that reach the run.
const PASSED_ON: [&str; 5] = ["PATH", "LANG", "LC_ALL", "TZ", "RUSTUP_TOOLCHAIN"];

/// Runs the case again.
pub fn replay(args: &ReplayArgs, as_json: bool) -> Result<Standing, Failure> {
    let io = |what: &str| {
        let what = what.to_owned();
        move |e: std::io::Error| Failure {
            standing: Standing::CannotTell,
            ..Failure::refused("replay_io", format!("{what}: {e}"), "check space and permissions")
        }
    };
    let unpacked = tempfile::tempdir().map_err(io("a temporary folder cannot be made"))?;
    let opened = bundle::read(&args.case, unpacked.path(), &bundle::Limits::default())
        .map_err(|error| Failure::from(error).of_case(unpacked.path(), &args.case))?;
    let bound = actions::must_hold(&args.case, &opened, "run")?;
    let data = opened.folder.join("data");
    let notebook = format!("{}.ipynb", opened.name);
    if !data.join(&notebook).is_file() {
        let what = format!("the case holds no notebook {notebook}, so there is no sequence to repeat");
        return Err(Failure::usage("no_notebook", what, "export it with its notebook"));
    }
    let log = Dossier::read(&opened.dossier)?;
    let parsed: Value = std::fs::read_to_string(data.join(&notebook))
        .map_err(|e| e.to_string())
        .and_then(|text| serde_json::from_str(&text).map_err(|e| e.to_string()))
        .map_err(|e| Failure::usage("not_a_notebook", format!("{notebook} cannot be read: {e}"), "export it again"))?;
    let cells = outputs::cells(&parsed).map_err(|what| {
        Failure::usage("no_such_policy", what, "correct the tag in the notebook and export it again")
    })?;
    let mut isolation = Isolation::here();
    isolation.network = args.network || cells.iter().any(|judged| judged.cell.source.lines().any(is_dependency));
    if !as_json {
        let plan = plan(&cells, &log, &bound, &isolation, &args.into);
        crate::cli::print_result("replay_plan", &json!({ "text": plan }), false);
    }
    if !args.yes {
        agreed(as_json)?;
    }
    let folder = empty(&args.into)?;
    let dossier_name = opened.dossier.file_name().map(ToOwned::to_owned).unwrap_or_default();
    for entry in std::fs::read_dir(&data).map_err(io("the unpacked case cannot be read"))? {
        let entry = entry.map_err(io("the unpacked case cannot be read"))?;
        let name = entry.file_name();
        if name != dossier_name && !NOT_RUN.iter().any(|other| name == *other) {
            copy(&entry.path(), &folder.join(&name)).map_err(io("the case cannot be copied"))?;
        }
    }
    let (run, confined) = run(&folder, &notebook, &isolation)?;
    if let Some(message) = run["error"]["message"].as_str() {
        return Err(Failure {
            place: run["error"]["where"].as_str().map(str::to_owned),
            standing: Standing::DoesNotHold,
            ..Failure::refused(
                "replay_stopped",
                format!("the sequence does not run in an empty folder: {message}"),
                "correct the notebook or export what is missing; a changed procedure is a new reference",
            )
        });
    }
    let again = folder.join(&dossier_name);
    let before = verdicts(&log);
    let now = Dossier::read(&again)?;
    let mut differences = differences(&before, &verdicts(&now));
    let shown = outputs::compare(&cells, &log, &now);
    differences.extend(shown.iter().filter_map(|cell| {
        Some(format!("code cell {}: {} ({})", cell["cell"], cell["differs"].as_str()?, cell["policy"].as_str()?))
    }));
    let mut session = Session::open(&again, &folder)?;
    let result = json!({
        "case": args.case.display().to_string(), "folder": args.into.display().to_string(), "origin": log.origin(),
        "root": log.root_hex(), "entries": log.size(), "verdicts": before.len(), "differences": differences,
        "holds": differences.is_empty(), "isolation": confined, "network": isolation.network, "outputs": shown,
    });
    let body = json!({
        "origin": log.origin(), "root": log.root_hex(), "entries": log.size(), "holds": differences.is_empty(),
        "isolation": confined, "network": isolation.network,
    });
    let done = session.record(&Place::default(), Kind::Replay, "replay", Fact { body, result, ..Fact::default() })?;
    session.close()?;
    crate::cli::print_result(done.shown_as, &done.result, as_json);
    Ok(if differences.is_empty() { Standing::Holds } else { Standing::DoesNotHold })
}

/// The last verdict on each candidate under each criterion: the word and the figures.
fn verdicts(log: &View) -> BTreeMap<String, Value> {
    let mut last = BTreeMap::new();
    for record in log.records().filter(|r| r.kind == Kind::Verdict && r.body["explore"] != true) {
        let candidate =
            record.reads.iter().find(|f| f.role == "candidate").map(|f| f.sha256.as_str()).unwrap_or_default();
        let criterion = record.body["criterion"].as_str().unwrap_or_default();
        // Of a redacted verdict only the word is still there to be compared with.
        let figures = stored(log, record.seq).ok().map(|result| result["figures"].clone());
        let key = format!("{criterion} on {}", candidate.get(..12).unwrap_or(candidate));
        last.insert(key, json!({ "verdict": record.body["verdict"], "figures": figures }));
    }
    last
}

fn differences(before: &BTreeMap<String, Value>, after: &BTreeMap<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    for (key, value) in before {
        match after.get(key) {
            None => found.push(format!("{key}: no verdict this time")),
            Some(again) if again["verdict"] != value["verdict"] => {
                found.push(format!("{key}: {} then, {} now", value["verdict"], again["verdict"]));
            }
            Some(again) if !value["figures"].is_null() && again["figures"] != value["figures"] => {
                found.push(format!("{key}: other figures"))
            }
            Some(_) => {}
        }
    }
    found.extend(after.keys().filter(|key| !before.contains_key(*key)).map(|key| format!("{key}: no verdict then")));
    found
}

/// What the run may read besides its own folder.
struct Isolation {
    readable: Vec<PathBuf>,
    rustup: Option<PathBuf>,
    network: bool,
}

impl Isolation {
    fn here() -> Isolation {
        let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let home = variable("HOME");
        let below_home = |name: &str| home.as_ref().map(|home| home.join(name));
        let rustup = variable("RUSTUP_HOME").or_else(|| below_home(".rustup")).filter(|path| path.is_dir());
        let cargo = variable("CARGO_HOME").or_else(|| below_home(".cargo")).map(|path| path.join("bin"));
        let mut readable: Vec<PathBuf> =
            ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/nix", "/proc", "/sys"]
                .map(PathBuf::from)
                .to_vec();
        readable.extend(rustup.clone().into_iter().chain(cargo));
        // Where cargo itself was found: another CARGO_HOME does not move rustup's programs.
        let path = std::env::var_os("PATH").unwrap_or_default();
        readable.extend(std::env::split_paths(&path).find(|folder| folder.join("cargo").is_file()));
        readable.extend(std::env::current_exe().ok());
        readable.extend(interpreter());
        readable.retain(|path| path.exists());
        // Each place once, and none below another.
        let all = readable.clone();
        let mut at = 0;
        readable.retain(|path| {
            at += 1;
            let earlier = all[..at - 1].contains(path);
            !earlier && !all.iter().any(|other| other != path && path.starts_with(other))
        });
        Isolation { readable, rustup, network: false }
    }
}

/// Where the Python interpreter that a snapshot would find lives.
fn interpreter() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let Ok((python, _)) = fascicolo_environment::snapshot::choose_python(None, Path::new("."), Some(&path)) else {
        return Vec::new();
    };
    let asked = Command::new(&python)
        .args(["-I", "-c", "import sys; print(sys.base_prefix); print(sys.prefix)"])
        .stdin(Stdio::null())
        .output();
    let text = asked.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let shims = python.parent().map(Path::to_owned);
    text.lines().map(PathBuf::from).filter(|path| path.is_absolute()).chain(shims).collect()
}

fn is_dependency(line: &str) -> bool {
    line.trim_start().starts_with(":dep")
}

/// What would run, with what, and what is missing: all that somebody needs who is asked to agree.
fn plan(cells: &[Judged], log: &View, bound: &Bound, isolation: &Isolation, into: &Path) -> String {
    let mut lines = vec!["this would run, in an empty folder:".to_owned()];
    for Judged { cell, policy, .. } in cells {
        if cell.is_redacted() {
            lines.push(format!(
                "  code cell {} was redacted: nothing of it runs, and what it gave cannot come out",
                cell.number
            ));
            continue;
        }
        let rust = if outputs::has_rust(&cell.source) { ", Rust with the rights of this user" } else { "" };
        lines.push(format!("  code cell {}{rust}; {}", cell.number, policy.words()));
        for line in cell.source.lines().filter(|line| !line.trim().is_empty()) {
            let fetched = if is_dependency(line) { "    (fetched from the network)" } else { "" };
            lines.push(format!("    {line}{fetched}"));
        }
    }
    if !bound.unbound.is_empty() {
        lines.push("not bound by the log, so that nothing shows that it is what ran before:".to_owned());
        lines.extend(bound.unbound.iter().map(|what| format!("  {what}")));
    }
    if !bound.absent.is_empty() {
        lines.push("named by the log and not in the case, so that a cell that reads it fails:".to_owned());
        lines.extend(bound.absent.iter().map(|(path, sha256, why)| format!("  {path} (SHA-256 {sha256}): {why}")));
    }
    lines.push(format!("criteria, in a sandbox without files: {}", or_none(&criteria(log))));
    let sources: Vec<&str> = cells.iter().map(|judged| judged.cell.source.as_str()).collect();
    lines.push(format!("interpreters: {}", or_none(&interpreters(&sources))));
    lines.push(if isolation.network { "network: open" } else { "network: closed (TCP)" }.to_owned());
    let readable: Vec<String> = isolation.readable.iter().map(|path| path.display().to_string()).collect();
    lines.push(format!("it may read: {}", readable.join(", ")));
    lines.push(format!("it may write: {} and what is below it, and devices in /dev", into.display()));
    lines.push("both are enforced where the system has Landlock; the result says whether it was".to_owned());
    lines.push(format!("and of the environment: {}", PASSED_ON.join(", ")));
    lines.join("\n")
}

fn or_none(items: &[String]) -> String {
    if items.is_empty() { "none".to_owned() } else { items.join(", ") }
}

/// Criteria that were compiled or sealed, each with the beginning of its digest.
fn criteria(log: &View) -> Vec<String> {
    let told = log.records().filter(|r| matches!(r.kind, Kind::Criterion | Kind::Declare)).map(|record| {
        let name = record.body["name"].as_str().or(record.body["criterion"].as_str()).unwrap_or_default();
        let digest = record.body["digest"].as_str().unwrap_or_default();
        format!("{name} {}", digest.get(..12).unwrap_or(digest))
    });
    told.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
}

/// Interpreters that cells name, and the one that a snapshot would look into.
fn interpreters(sources: &[&str]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in sources.iter().flat_map(|source| source.lines()).filter(|line| line.starts_with('%')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        found.extend(words.windows(2).filter(|pair| pair[0] == "--python").map(|pair| pair[1].to_owned()));
        if ["%snapshot", "%%python"].contains(&words[0]) && !words.contains(&"--python") {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let chosen = fascicolo_environment::snapshot::choose_python(None, Path::new("."), Some(&path));
            found.extend(chosen.map(|(python, _)| python.display().to_string()));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Asks whoever sits there.
fn agreed(as_json: bool) -> Result<(), Failure> {
    let refused = |what: &str, next: &str| Err(Failure::refused("not_agreed", what, next));
    if !std::io::stdin().is_terminal() {
        let next = match as_json {
            true => "read what would run, which the same command without --json lists, then add --yes",
            false => "read what would run, listed above, then add --yes",
        };
        return refused(
            "nothing was run: a replay executes the code of the case, and there is no terminal at which somebody could agree \
             to that; an answer through a pipe, as by `echo y |`, is not taken",
            next,
        );
    }
    let _ = write!(std::io::stdout(), "run it? [y/N] ");
    let _ = std::io::stdout().flush();
    let mut answer = String::new();
    if std::io::stdin().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes") {
        return Ok(());
    }
    refused("nothing was run: it was not agreed to", "answer y to run it, or give --yes")
}

fn empty(folder: &Path) -> Result<PathBuf, Failure> {
    let not = |why: String| Failure {
        place: Some(folder.display().to_string()),
        ..Failure::usage(
            "not_empty",
            format!("{}: {why}", folder.display()),
            "name a folder that is empty or not there yet",
        )
    };
    std::fs::create_dir_all(folder).map_err(|e| not(e.to_string()))?;
    let mut entries = std::fs::read_dir(folder).map_err(|e| not(e.to_string()))?;
    if entries.next().is_some() {
        return Err(not("it is not empty".to_owned()));
    }
    std::fs::canonicalize(folder).map_err(|e| not(e.to_string()))
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    if !from.is_dir() {
        return std::fs::copy(from, to).map(|_| ());
    }
    std::fs::create_dir(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Runs the notebook in a process that has nothing of this one's; its JSON, and what held it.
fn run(folder: &Path, notebook: &str, isolation: &Isolation) -> Result<(Value, &'static str), Failure> {
    let failed = |what: String| Failure {
        standing: Standing::CannotTell,
        ..Failure::refused("replay_not_run", what, "check the space in the folder and that Rust is installed")
    };
    let own = folder.join(".replay");
    for name in ["home", "tmp", "cargo", "cache"] {
        std::fs::create_dir_all(own.join(name)).map_err(|e| failed(format!("{}: {e}", own.display())))?;
    }
    let exe = std::env::current_exe().map_err(|e| failed(e.to_string()))?;
    let mut command = Command::new(exe);
    command.args(["run", notebook, "--json"]).current_dir(folder).env_clear();
    for name in PASSED_ON {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.env("HOME", own.join("home")).env("TMPDIR", own.join("tmp")).env("CARGO_HOME", own.join("cargo"));
    command.env("FASCICOLO_CACHE", own.join("cache"));
    if let Some(rustup) = &isolation.rustup {
        command.env("RUSTUP_HOME", rustup);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    // A Landlock domain belongs to a thread and passes to what it starts.
    let fence = Fence {
        readable: isolation.readable.clone(),
        devices: vec![PathBuf::from("/dev")],
        writable: vec![folder.to_owned()],
        network: isolation.network,
    };
    let joined = std::thread::spawn(move || {
        let confined = match fence.close() {
            Confinement::Enforced => "landlock",
            Confinement::Partial => "landlock, in part; isolation not proved",
            Confinement::None => "isolation not proved",
        };
        command.output().map(|output| (output, confined))
    })
    .join();
    let (output, confined) = match joined {
        Ok(Ok(ended)) => ended,
        Ok(Err(e)) => return Err(failed(format!("the run could not be started: {e}"))),
        Err(_) => return Err(failed("the run could not be started".to_owned())),
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().next_back().unwrap_or_default();
    let result = serde_json::from_str(last).map_err(|_| failed(format!("the run ended without a result: {last}")))?;
    Ok((result, confined))
}
