//! `fascicolo why`: what a difference between two entries is attributed to, and when it is not.
#![cfg(unix)]
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{Desk, Ended, sample};

/// The program with variables of its own; those that steer threads are unset otherwise, whoever runs the tests.
fn run(desk: &Desk, args: &[&str], stdin: &str, variables: &[(&str, &str)]) -> Ended {
    desk.run_among(args, stdin, |command| {
        command.env_remove("OMP_NUM_THREADS").envs(variables.iter().copied());
    })
}

/// An empty environment with one package: its interpreter.
fn environment(folder: &Path, name: &str, package: &str, version: &str) -> PathBuf {
    let venv = folder.join(name);
    let made = Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&venv).status().unwrap();
    assert!(made.success());
    let lib = std::fs::read_dir(venv.join("lib")).unwrap().next().unwrap().unwrap().path();
    let info = lib.join(format!("site-packages/{package}-{version}.dist-info"));
    std::fs::create_dir_all(&info).unwrap();
    let metadata = format!("Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n");
    std::fs::write(info.join("METADATA"), metadata).unwrap();
    venv.join("bin/python")
}

/// A case with all that can be recorded: code in git, data and weights with fingerprints, two environments.
struct Case {
    desk: Desk,
    /// Interpreter with `tinypkg` 1.0.
    python: PathBuf,
    environments: tempfile::TempDir,
}

const WEIGHTS: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

impl Case {
    fn new() -> Case {
        let desk = Desk::new();
        for args in [&["init", "-q"][..], &["add", "."], &["commit", "-q", "-m", "one"]] {
            std::fs::write(desk.path().join("embed.py"), "print('x')\n").unwrap();
            std::fs::write(desk.path().join(".gitignore"), "session.fascicolo\n*.parquet\n").unwrap();
            let settings = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
            let done = Command::new("git").args(settings).args(args).current_dir(desk.path()).output().unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        }
        let environments = tempfile::tempdir().unwrap();
        let python = environment(environments.path(), "first", "tinypkg", "1.0");
        let case = Case { desk, python, environments };
        std::fs::copy(sample("reference.parquet"), case.desk.path().join("data.parquet")).unwrap();
        case.reference("data.parquet");
        assert_eq!(case.desk.run(&["probe", "--require", "cpu", "--json"]).status, 0);
        case.snapshot(&case.python, &[]);
        case
    }

    /// Declares the reference whose data are this file.
    fn reference(&self, data: &str) {
        let form = format!(
            "goal = \"values\"\npreprocessing = \"none\"\n[output]\npath = {:?}\n[[data]]\nname = \"texts\"\n\
             path = {data:?}\n[[weights]]\nname = \"model\"\nsha256 = {WEIGHTS:?}\n[parameters]\nbatch = 32\n",
            sample("reference.parquet")
        );
        let ended = self.desk.run_with(&["reference", "new", "sample"], &form);
        assert_eq!(ended.status, 0, "{}", ended.stderr);
    }

    fn snapshot(&self, python: &Path, variables: &[(&str, &str)]) {
        let ended = run(&self.desk, &["snapshot", "--python", python.to_str().unwrap()], "", variables);
        assert_eq!(ended.status, 0, "{}", ended.stderr);
    }

    /// Looks at a candidate; the number of the entry.
    fn compare(&self, candidate: &str) -> String {
        entry(&self.desk, candidate)
    }

    fn why(&self, a: &str, b: &str) -> Why {
        why(&self.desk, a, b)
    }
}

fn entry(desk: &Desk, candidate: &str) -> String {
    let ended = desk.compare(candidate, &["--explore", "--criterion", "cosine"]);
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    ended.json()["dossier"]["entry"].to_string()
}

fn why(desk: &Desk, a: &str, b: &str) -> Why {
    let ended = desk.run(&["why", a, b, "--json"]);
    assert_eq!(ended.stderr, "");
    Why { status: ended.status, result: ended.json() }
}

struct Why {
    status: i32,
    result: Value,
}

impl Why {
    /// `software`, `inputs` and `conditions`, in this order.
    fn states(&self) -> [&str; 3] {
        let classes = self.result["classes"].as_array().unwrap();
        assert_eq!(classes.iter().map(|c| c["class"].as_str().unwrap()).collect::<Vec<_>>(), NAMES);
        [0, 1, 2].map(|i| classes[i]["state"].as_str().unwrap())
    }

    fn differences(&self, class: usize) -> &[Value] {
        self.result["classes"][class]["differences"].as_array().unwrap()
    }

    fn missing(&self, class: usize) -> String {
        self.result["classes"][class]["missing"].to_string()
    }

    fn concludes(&self, fragment: &str) {
        let conclusion = self.result["conclusion"].as_str().unwrap();
        assert!(conclusion.contains(fragment), "{fragment:?} is not in {conclusion:?}");
    }
}

const NAMES: [&str; 3] = ["software", "inputs", "conditions"];
const SOFTWARE: usize = 0;
const INPUTS: usize = 1;
const CONDITIONS: usize = 2;

#[test]
fn a_swapped_package_is_attributed_to_the_software_with_both_versions_and_where_they_were_read() {
    let case = Case::new();
    let a = case.compare("batch-1");
    let other = environment(case.environments.path(), "second", "tinypkg", "1.1");
    case.snapshot(&other, &[]);
    let b = case.compare("bf16");
    let found = case.why(&a, &b);
    assert_eq!((found.status, found.states()), (0, ["differs", "equal", "equal"]), "{:#}", found.result);
    assert_eq!(found.result["attributed"], "software");
    found.concludes("The only thing recorded as different is the software (package tinypkg).");
    found.concludes("If what was not recorded was equal");
    // The interpreter's place changed too, and is no cause.
    let [one] = found.differences(SOFTWARE) else { panic!("{:#}", found.result) };
    assert_eq!((&one["what"], &one["a"], &one["b"]), (&json!("package tinypkg"), &json!("1.0"), &json!("1.1")));
    assert!(one["read_from"]["b"].as_str().unwrap().contains("importlib.metadata"), "{one}");
    assert_eq!(found.result["outcome"]["state"], "differ");
    let back = case.why(&b, &a);
    assert_eq!((&back.differences(SOFTWARE)[0]["a"], back.status), (&json!("1.1"), 0));
}

#[test]
fn another_thread_count_is_attributed_to_the_running_conditions() {
    let case = Case::new();
    let a = case.compare("batch-1");
    case.snapshot(&case.python, &[("OMP_NUM_THREADS", "1")]);
    let b = case.compare("bf16");
    let found = case.why(&a, &b);
    assert_eq!((found.status, found.states()), (0, ["equal", "equal", "differs"]), "{:#}", found.result);
    let [one] = found.differences(CONDITIONS) else { panic!("{:#}", found.result) };
    assert_eq!((&one["what"], &one["a"], &one["b"]), (&json!("OMP_NUM_THREADS"), &json!("not set"), &json!("1")));
    found.concludes("the running conditions (OMP_NUM_THREADS)");
    // The candidates are still there: how many rows differ is known from numpy (all of them, in expected.jsonl).
    let detail = found.result["outcome"]["detail"].as_str().unwrap();
    assert!(detail.starts_with("393 of 393 rows differ"), "{detail}");
    let shown = case.desk.run(&["why", &a, &b]);
    assert_eq!(shown.status, 0);
    assert!(shown.stdout.starts_with("RUNNING CONDITIONS"), "{}", shown.stdout);
    let line = shown.stdout.lines().find(|line| line.contains("OMP_NUM_THREADS  not set")).unwrap();
    assert!(line.contains("environment of this process, by an allow-list"), "{line}");
}

#[test]
fn a_changed_row_of_the_data_is_attributed_to_the_inputs_and_named_while_both_files_are_there() {
    let case = Case::new();
    let a = case.compare("batch-1");
    std::fs::copy(sample("candidates/one-bad-row.parquet"), case.desk.path().join("changed.parquet")).unwrap();
    case.reference("changed.parquet");
    let b = case.compare("bf16");
    let found = case.why(&a, &b);
    assert_eq!((found.status, found.states()), (0, ["equal", "differs", "equal"]), "{:#}", found.result);
    let [one] = found.differences(INPUTS) else { panic!("{:#}", found.result) };
    assert_eq!(one["what"], "data `texts`");
    // The row that was given another's vector.
    assert_eq!(one["detail"], "1 of 393 rows differ, in 384 of 384 values a row: `elpa-page-break-lines`");
    // Changed since: only the digests are left.
    std::fs::copy(sample("candidates/f16.parquet"), case.desk.path().join("changed.parquet")).unwrap();
    let found = case.why(&a, &b);
    assert_eq!((found.status, &found.differences(INPUTS)[0]["detail"]), (0, &Value::Null));
    assert!(found.differences(INPUTS)[0]["b"].as_str().unwrap().contains("SHA-256 "));
}

#[test]
fn the_same_data_at_another_place_are_no_cause() {
    let case = Case::new();
    let a = case.compare("batch-1");
    std::fs::rename(case.desk.path().join("data.parquet"), case.desk.path().join("moved.parquet")).unwrap();
    case.reference("moved.parquet");
    let b = case.compare("bf16");
    let found = case.why(&a, &b);
    assert_eq!((found.status, found.states()), (3, ["equal"; 3]), "{:#}", found.result);
}

#[test]
fn two_that_differ_together_are_both_named_and_neither_is_chosen() {
    let case = Case::new();
    let a = case.compare("batch-1");
    let other = environment(case.environments.path(), "second", "tinypkg", "1.1");
    case.snapshot(&other, &[("OMP_NUM_THREADS", "1")]);
    let b = case.compare("bf16");
    let found = case.why(&a, &b);
    assert_eq!((found.status, found.states()), (3, ["differs", "equal", "differs"]), "{:#}", found.result);
    assert_eq!(found.result["attributed"], Value::Null);
    found
        .concludes("the software and the running conditions differ together; to tell them apart, change one at a time");
    std::fs::copy(sample("candidates/one-bad-row.parquet"), case.desk.path().join("changed.parquet")).unwrap();
    case.reference("changed.parquet");
    let found = case.why(&a, &case.compare("f16"));
    assert_eq!((found.status, found.states()), (3, ["differs"; 3]), "{:#}", found.result);
}

#[test]
fn where_nothing_recorded_differs_it_says_so_and_what_was_not_recorded() {
    let case = Case::new();
    let a = case.compare("batch-1");
    let b = case.compare("bf16");
    let found = case.why(&a, &b);
    assert_eq!((found.status, found.states()), (3, ["equal"; 3]), "{:#}", found.result);
    found.concludes("Cannot say: everything recorded is equal.");
    let not_recorded = found.result["not_recorded"].to_string();
    for what in ["container", "any change after the snapshot of entry", "the run that made the candidate"] {
        assert!(not_recorded.contains(what), "{what} is not in {not_recorded}");
    }
}

#[test]
fn a_missing_snapshot_probe_or_fingerprint_is_never_taken_for_equal() {
    let desk = Desk::new();
    let form = |data: &str| format!("goal = \"values\"\n[output]\npath = {:?}\n{data}", sample("reference.parquet"));
    let declare = |data: &str| assert_eq!(desk.run_with(&["reference", "new", "sample"], &form(data)).status, 0);
    declare("[[data]]\nname = \"texts\"\n");
    let a = entry(&desk, "batch-1");
    assert_eq!(run(&desk, &["snapshot"], "", &[("OMP_NUM_THREADS", "1")]).status, 0);
    let b = entry(&desk, "bf16");
    let found = why(&desk, &a, &b);
    assert_eq!((found.status, found.states()), (3, ["cannot_tell"; 3]), "{:#}", found.result);
    found.concludes("Cannot say: nothing recorded differs, but not everything was recorded");
    for (class, what) in [
        (SOFTWARE, format!("no snapshot was recorded before entry {a} (%snapshot records one)")),
        (CONDITIONS, format!("no snapshot was recorded before entry {a}")),
        (CONDITIONS, "no probe was recorded".to_owned()),
        (INPUTS, "no data and no sample are known".to_owned()),
        (INPUTS, "no weights are known".to_owned()),
        (INPUTS, "data `texts` has no fingerprint or revision".to_owned()),
    ] {
        assert!(found.missing(class).contains(&what), "{what} is not in {}", found.missing(class));
    }
    // One class differs, and of another nothing is known: it is named, and nothing is attributed to it.
    assert_eq!(run(&desk, &["snapshot"], "", &[("OMP_NUM_THREADS", "2")]).status, 0);
    let found = why(&desk, &b, &entry(&desk, "f16"));
    assert_eq!((found.status, found.states()), (3, ["cannot_tell", "cannot_tell", "differs"]), "{:#}", found.result);
    found.concludes("The only thing recorded as different is the running conditions (OMP_NUM_THREADS).");
    found.concludes("But whether the software and the inputs differ too cannot be told");
    // The folder is in no repository, and the reference names no code.
    assert!(found.missing(SOFTWARE).contains("the folder is in no git repository"), "{}", found.missing(SOFTWARE));
}

#[test]
fn a_redacted_snapshot_tells_nothing_any_more() {
    let case = Case::new();
    let a = case.compare("batch-1");
    let log = case.desk.run(&["dossier", "log", "--json"]).json();
    let snapshot = log.as_array().unwrap().iter().find(|e| e["kind"] == "snapshot").unwrap()["seq"].to_string();
    case.snapshot(&case.python, &[("OMP_NUM_THREADS", "1")]);
    let b = case.compare("bf16");
    assert_eq!(case.why(&a, &b).status, 0);
    let redact = ["dossier", "redact", "--entry", &snapshot, "--field", "result", "--because", "private"];
    assert_eq!(case.desk.run(&redact).status, 0);
    let found = case.why(&a, &b);
    assert_eq!((found.status, found.states()), (3, ["cannot_tell", "equal", "cannot_tell"]), "{:#}", found.result);
    assert!(found.missing(SOFTWARE).contains("was redacted"), "{}", found.missing(SOFTWARE));
}

#[test]
fn where_the_outcomes_are_the_same_there_is_nothing_to_attribute() {
    let case = Case::new();
    let a = case.compare("batch-1");
    case.snapshot(&case.python, &[("OMP_NUM_THREADS", "1")]);
    let again = case.compare("batch-1");
    let found = case.why(&a, &again);
    assert_eq!((found.status, found.states()), (0, ["equal", "equal", "differs"]), "{:#}", found.result);
    assert_eq!(found.result["outcome"]["state"], "same");
    assert!(found.result["outcome"]["sentence"].as_str().unwrap().contains("the same bytes"));
    found.concludes("The outcomes do not differ, although the running conditions differ");
    // The reference's rows in another order are the same rows.
    let found = case.why(&case.compare("shuffled"), &case.compare("shuffled"));
    assert_eq!(found.result["outcome"]["state"], "same");
}

#[test]
fn other_parameters_of_the_criterion_are_inputs_and_the_same_candidate_with_another_verdict_differs() {
    let case = Case::new();
    let judged = |floor: &str| {
        let declared = case.desk.run(&["declare", "cosine", "--set", floor, "--because", "test"]);
        assert_eq!(declared.status, 0, "{}", declared.stderr);
        case.desk.compare("bf16", &["--criterion", "cosine"]).json()["dossier"]["entry"].to_string()
    };
    let (a, b) = (judged("floor=0.9"), judged("floor=0.99999"));
    let found = case.why(&a, &b);
    assert_eq!((found.status, found.states()), (0, ["equal", "differs", "equal"]), "{:#}", found.result);
    assert_eq!(found.differences(INPUTS)[0]["what"], "parameter floor of the criterion");
    let outcome = found.result["outcome"]["sentence"].as_str().unwrap();
    assert!(outcome.contains("same bytes") && outcome.contains("the verdicts differ: pass, fail"), "{outcome}");
}

#[test]
fn one_reason_is_told_once_for_all_that_it_leaves_open() {
    let desk = Desk::new();
    assert_eq!(desk.run(&["snapshot"]).status, 0);
    let found = why(&desk, "1", "1");
    let told = found.missing(SOFTWARE).matches("no snapshot was recorded").count();
    assert_eq!(told, 1, "{}", found.missing(SOFTWARE));
    // A start without an outcome to compare is not called equal to anything.
    assert_eq!((found.status, &found.result["outcome"]["state"]), (3, &json!("unknown")));
}

#[test]
fn errors_are_outcomes_too() {
    let case = Case::new();
    let refused = |criterion: &str| {
        assert_eq!(case.desk.compare("f16", &["--criterion", criterion]).status, 4);
        (case.desk.run(&["dossier", "status", "--json"]).json()["entries"].as_u64().unwrap() - 1).to_string()
    };
    let (a, again, other) = (refused("cosine"), refused("cosine"), refused("allclose"));
    let same = case.why(&a, &again);
    assert_eq!((same.status, &same.result["outcome"]["state"]), (0, &json!("same")), "{:#}", same.result);
    assert_eq!(case.why(&a, &other).result["outcome"]["state"], "differ");
    let against_verdict = case.why(&case.compare("batch-1"), &a);
    let sentence = against_verdict.result["outcome"]["sentence"].as_str().unwrap();
    assert!(sentence.contains("with no error") && sentence.contains("the error not_declared"), "{sentence}");
}

#[test]
fn in_a_notebook_it_is_recorded_and_shown_like_any_other_cell() {
    let desk = Desk::new();
    let explore = |candidate: &str| {
        let candidate = sample(&format!("candidates/{candidate}.parquet"));
        format!("%compare {} {candidate} --explore", sample("reference.parquet"))
    };
    // Entry 0 begins the log, 1 to 5 are the first cell: start, two of what was opened, verdict, end.
    let cells: Vec<Value> = [explore("batch-1"), explore("bf16"), "%why 4 9".to_owned()]
        .iter()
        .enumerate()
        .map(|(i, source)| {
            json!({ "cell_type": "code", "id": format!("c{i}"), "metadata": {}, "execution_count": null, "outputs": [],
                "source": source })
        })
        .collect();
    let notebook = json!({ "nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells });
    std::fs::write(desk.path().join("case.ipynb"), notebook.to_string()).unwrap();
    let ended = desk.run(&["run", "case.ipynb"]);
    assert_eq!(ended.status, 0, "{} {}", ended.stdout, ended.stderr);
    let executed = std::fs::read_to_string(desk.path().join("case.executed.ipynb")).unwrap();
    let executed: Value = serde_json::from_str(&executed).unwrap();
    let shown = &executed["cells"][2]["outputs"][0]["data"];
    assert!(shown["text/html"].to_string().contains("CANNOT TELL"), "{shown}");
    assert!(shown["text/plain"].to_string().contains("entry 9 (verdict), against entry 4 (verdict)"), "{shown}");
    let log = desk.run(&["dossier", "log", "case.fascicolo", "--json"]).json();
    assert!(log.as_array().unwrap().iter().any(|e| e["summary"] == "%why 4 9"), "{log}");
}

#[test]
fn it_only_reads() {
    let case = Case::new();
    let (a, b) = (case.compare("batch-1"), case.compare("bf16"));
    let files = || {
        let mut found: Vec<(PathBuf, Vec<u8>)> = Vec::new();
        let mut open = vec![case.desk.path()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => open.push(path),
                    false => found.push((path.clone(), std::fs::read(&path).unwrap())),
                }
            }
        }
        found.sort();
        found
    };
    let before = files();
    case.why(&a, &b);
    assert!(before == files(), "something was written");
}

#[test]
fn an_entry_that_is_not_there_is_a_usage_error_that_says_what_is() {
    let desk = Desk::new();
    let a = entry(&desk, "batch-1");
    for (name, kind) in [("99", "no_such_entry"), ("abcd/0", "no_such_log")] {
        let ended = desk.run(&["why", &a, name, "--json"]);
        assert_eq!(ended.status, 2, "{}", ended.stdout);
        let error = &ended.json()["error"];
        assert_eq!(error["kind"], kind);
        assert!(error["next"].as_str().unwrap().contains("entries 0 to "), "{error}");
    }
    assert_eq!(desk.run(&["why", &a, "x/y"]).status, 2);
    assert_eq!(desk.run(&["why", &a]).status, 2);
}

#[test]
fn an_entry_of_an_imported_log_is_judged_by_the_conditions_there() {
    let (there, here) = (Case::new(), Case::new());
    let other = environment(there.environments.path(), "second", "tinypkg", "1.1");
    there.snapshot(&other, &[]);
    let (a, b) = (there.compare("bf16"), here.compare("batch-1"));
    let origin = there.desk.run(&["dossier", "status", "--json"]).json()["origin"].as_str().unwrap().to_owned();
    let digits = origin.strip_prefix("fascicolo/").unwrap();
    let parent = here.desk.dossier().join("parents").join(digits);
    copy(&there.desk.dossier(), &parent);
    let name = format!("{}/{a}", &digits[..6]);
    let found = here.why(&name, &b);
    let packages: Vec<&Value> = found.differences(SOFTWARE).iter().filter(|d| d["what"] == "package tinypkg").collect();
    assert_eq!(packages.len(), 1, "{:#}", found.result);
    assert_eq!((&packages[0]["a"], &packages[0]["b"]), (&json!("1.1"), &json!("1.0")));
    assert!(packages[0]["read_from"]["a"].as_str().unwrap().contains(&format!("entry {}/", &digits[..12])));
    assert_eq!(found.result["a"]["log"], origin);
    let wrong = here.desk.run(&["why", &format!("{}/999", &digits[..6]), &b, "--json"]);
    assert_eq!((wrong.status, &wrong.json()["error"]["kind"]), (2, &json!("no_such_entry")));
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() { copy(&entry.path(), &target) } else { drop(std::fs::copy(entry.path(), target)) }
    }
}
