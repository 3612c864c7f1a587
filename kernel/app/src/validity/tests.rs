#![allow(clippy::unwrap_used)]

use super::{EnvironmentNow, FileNow, Presented, judge};
use fascicolo_dossier::{CellRef, Dossier, Draft, Kind};
use serde_json::{Value, json};

/// A log in a folder of its own.
struct Log {
    _folder: tempfile::TempDir,
    path: std::path::PathBuf,
    dossier: Dossier,
}

impl Log {
    fn new() -> Log {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("n.fascicolo");
        Log { dossier: Dossier::open(&path, "one").unwrap(), path, _folder: folder }
    }

    /// From now on another session writes.
    fn session(self, name: &str) -> Log {
        let Log { _folder, path, dossier } = self;
        drop(dossier);
        Log { dossier: Dossier::open(&path, name).unwrap(), path, _folder }
    }

    fn start(&mut self, id: Option<&str>, n: u32, ran: &str) -> u64 {
        let cell = CellRef { id: id.map(str::to_owned), n };
        let private = vec![("ran".to_owned(), ran.to_owned())];
        let environment = crate::ledger::environment(&self.dossier);
        let draft = Draft { cell: Some(cell), private, environment, ..Draft::new(Kind::Start) };
        self.dossier.append(draft).unwrap().seq
    }

    fn end(&mut self, kind: Kind, start: u64, fields: &[(&str, &str)]) -> u64 {
        let private = fields.iter().map(|(field, value)| ((*field).to_owned(), (*value).to_owned())).collect();
        let environment = crate::ledger::environment(&self.dossier);
        let draft = Draft { start: Some(start), private, environment, ..Draft::new(kind) };
        self.dossier.append(draft).unwrap().seq
    }

    /// A cell that prints its own text.
    fn run(&mut self, id: Option<&str>, n: u32, ran: &str) -> u64 {
        let start = self.start(id, n, ran);
        self.end(Kind::End, start, &[("stdout", ran)]);
        start
    }

    fn snapshot(&mut self, digest: &str, packages: &str) {
        let result =
            json!({ "packages": { "state": "read", "value": { "list": [{ "name": "numpy", "version": packages }] } } });
        let private = vec![("result".to_owned(), result.to_string())];
        let draft = Draft { private, body: json!({ "digest": digest }), ..Draft::new(Kind::Snapshot) };
        self.dossier.append(draft).unwrap();
    }

    fn judge(&self, notebook: &Value) -> Value {
        self.judge_all(notebook, Vec::new(), EnvironmentNow::NotAsked)
    }

    fn judge_all(&self, notebook: &Value, files: Vec<(String, FileNow)>, environment: EnvironmentNow) -> Value {
        judge(&self.dossier, &Presented { notebook: Some(notebook), files, environment, here: false })
    }
}

/// A code cell that shows its own text.
fn cell(id: &str, n: u32, source: &str) -> Value {
    json!({
        "cell_type": "code", "id": id, "execution_count": n, "source": source, "metadata": { "trusted": true },
        "outputs": [{ "output_type": "stream", "name": "stdout", "text": [source] }],
    })
}

fn notebook(cells: &[Value]) -> Value {
    let text = json!({ "cell_type": "markdown", "id": "t", "source": "free text" });
    let cells = [&[text], cells].concat();
    json!({ "nbformat": 4, "nbformat_minor": 5, "cells": cells })
}

fn answer(judged: &Value, question: &str) -> (String, String) {
    let answers = judged["answers"].as_array().unwrap();
    let answer = answers.iter().find(|a| a["question"] == question).unwrap();
    (answer["state"].as_str().unwrap().to_owned(), answer["reason"].as_str().unwrap().to_owned())
}

/// The answer stands as wanted, and says each of the words.
fn says(judged: &Value, question: &str, state: &str, words: &[&str]) {
    let (found, reason) = answer(judged, question);
    assert_eq!(found, state, "{question}: {reason}");
    for word in words {
        assert!(reason.contains(word), "{question}: {reason} does not say {word}");
    }
}

/// Three cells, run in order after a snapshot.
fn ran() -> (Log, Value) {
    let mut log = Log::new();
    log.snapshot("d1", "1");
    for (n, id) in [(1, "a"), (2, "b"), (3, "c")] {
        log.run(Some(id), n, &format!("println!({n});"));
    }
    let cells = [cell("a", 1, "println!(1);"), cell("b", 2, "println!(2);"), cell("c", 3, "println!(3);")];
    (log, notebook(&cells))
}

#[test]
fn a_notebook_that_ran_from_top_to_bottom_and_was_not_touched_since_is_valid() {
    let (log, notebook) = ran();
    let judged = log.judge(&notebook);
    assert_eq!((judged["badge"].as_str(), judged["says"].as_str()), (Some("valid"), Some("valid")), "{judged:#}");
    assert_eq!(judged, log.judge(&notebook), "the same case gives the same answers");
}

#[test]
fn a_cell_edited_since_it_ran_is_named_by_its_number_and_its_first_line() {
    let (log, mut notebook) = ran();
    notebook["cells"][2]["source"] = json!(["// why\n", "println!(22);"]);
    let judged = log.judge(&notebook);
    says(&judged, "source", "stale", &["code cell 2 (println!(22);)", "edited"]);
    assert!(judged["says"].as_str().unwrap().starts_with("stale: code cell 2"), "{judged:#}");
}

#[test]
fn an_order_that_is_not_that_of_the_notebook_is_stale() {
    let mut log = Log::new();
    for (n, id) in [(1, "a"), (2, "c"), (3, "b")] {
        log.run(Some(id), n, id);
    }
    let judged = log.judge(&notebook(&[cell("a", 1, "a"), cell("b", 3, "b"), cell("c", 2, "c")]));
    says(&judged, "order", "stale", &["code cell 3", "before code cell 2"]);
    says(&judged, "source", "holds", &[]);
}

#[test]
fn of_a_cell_that_ran_again_its_last_run_counts() {
    let (mut log, notebook) = ran();
    log.run(Some("a"), 4, "println!(1);");
    says(&log.judge(&notebook), "order", "stale", &["code cell 2", "before code cell 1"]);
    log.run(Some("b"), 5, "println!(2);");
    log.run(Some("c"), 6, "println!(3);");
    says(&log.judge(&notebook), "order", "holds", &["3 times before"]);
}

#[test]
fn a_later_session_that_ran_one_cell_leaves_the_others_without_a_run() {
    let (log, notebook) = ran();
    let mut log = log.session("two");
    log.run(Some("b"), 1, "println!(2);");
    says(&log.judge(&notebook), "order", "stale", &["code cell 1", "and 1 more", "did not run in the last session"]);
}

#[test]
fn a_cell_that_is_no_longer_in_the_notebook_may_have_left_something_behind() {
    let (mut log, mut notebook) = ran();
    log.run(Some("gone"), 4, "let hidden = 1;");
    says(&log.judge(&notebook), "order", "holds", &[]);
    log.run(Some("d"), 5, "hidden + 1");
    notebook["cells"].as_array_mut().unwrap().push(cell("d", 5, "hidden + 1"));
    says(&log.judge(&notebook), "order", "cannot_tell", &["1 other cell", "restart the kernel"]);
}

#[test]
fn a_cell_that_failed_and_one_that_never_ended_are_told_apart() {
    let mut log = Log::new();
    let start = log.start(Some("a"), 1, "a");
    let book = notebook(&[cell("a", 1, "a")]);
    says(&log.judge(&book), "order", "cannot_tell", &["its end is not in the log"]);
    log.end(Kind::Error, start, &[("traceback", "Bad: no\nnext: mend it")]);
    says(&log.judge(&book), "order", "stale", &["ended in an error"]);
}

#[test]
fn the_cell_that_asks_is_no_open_question() {
    let (mut log, mut notebook) = ran();
    log.start(Some("d"), 4, "// last\n%dossier export -o case.zip");
    let asks =
        json!({ "cell_type": "code", "id": "d", "source": "// last\n%dossier export -o case.zip", "outputs": [] });
    notebook["cells"].as_array_mut().unwrap().push(asks);
    assert_eq!(log.judge(&notebook)["badge"], "valid", "{:#}", log.judge(&notebook));
}

#[test]
fn without_cell_ids_cells_are_known_by_their_numbers_and_else_by_their_text() {
    let mut log = Log::new();
    for n in [1, 2] {
        log.run(None, n, &format!("{n}"));
    }
    let mut book = notebook(&[cell("x", 1, "1"), cell("y", 2, "2")]);
    says(&log.judge(&book), "order", "holds", &[]);
    book["cells"][1]["source"] = json!("11");
    says(&log.judge(&book), "source", "stale", &["code cell 1"]);
    for n in [1, 2] {
        book["cells"][n]["execution_count"] = Value::Null;
    }
    says(&log.judge(&book), "order", "stale", &["code cell 1 (11) did not run"]);
    // Two cells with one number, from two sessions: only a text tells them apart.
    let twice = notebook(&[cell("x", 2, "other"), cell("y", 2, "2")]);
    says(&log.judge(&twice), "order", "stale", &["code cell 1 (other) did not run"]);
}

#[test]
fn outputs_are_compared_however_the_front_end_saved_them() {
    let mut log = Log::new();
    let start = log.start(Some("a"), 1, "a");
    let bundle =
        [("output.0.text/plain", "PASS\n"), ("output.0.text/html", "<b>PASS</b>"), ("output.1.text/plain", "2")];
    log.end(Kind::End, start, &[&bundle[..], &[("stdout", "one\ntwo\n"), ("stderr", "10 %\r99 %\n")]].concat());
    let shown = |outputs: Value| {
        notebook(&[json!({ "cell_type": "code", "id": "a", "execution_count": 1, "source": "a", "outputs": outputs })])
    };
    let outputs = json!([
        { "output_type": "stream", "name": "stdout", "text": "one\n" },
        { "output_type": "display_data", "data": { "text/plain": "" }, "metadata": {} },
        { "output_type": "display_data", "metadata": { "x": 1 }, "data": { "text/html": ["<b>PASS</b>"], "text/plain": ["PASS\n"] } },
        { "output_type": "stream", "name": "stderr", "text": "99 %\n" },
        { "output_type": "stream", "name": "stdout", "text": ["two\n"] },
        { "output_type": "execute_result", "execution_count": 1, "data": { "text/plain": "2" }, "metadata": {} },
    ]);
    says(&log.judge(&shown(outputs.clone())), "outputs", "holds", &[]);
    for (pointer, value, word) in [
        ("/0/text", json!("uno\n"), "standard output"),
        ("/3/text", json!("98 %\n"), "standard error"),
        ("/2/data/text~1plain", json!("FAIL\n"), "text/plain"),
        ("/2/data/image~1png", json!("AAAA"), "image/png"),
        ("/5/data", json!({}), "1 results where 2"),
        ("/1/output_type", json!("error"), "error"),
    ] {
        let mut changed = outputs.clone();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        changed.pointer_mut(parent).unwrap()[key.replace("~1", "/")] = value;
        says(&log.judge(&shown(changed)), "outputs", "stale", &["code cell 1", word]);
    }
    says(&log.judge(&shown(json!([]))), "outputs", "cannot_tell", &["cleared"]);
}

#[test]
fn an_error_is_compared_with_its_name_its_message_and_its_traceback() {
    let mut log = Log::new();
    let start = log.start(Some("a"), 1, "a");
    log.end(Kind::Error, start, &[("traceback", "NotDeclared: `cosine` was not declared\nnext: declare it")]);
    let shown = |name: &str, message: &str, next: &str| {
        let traceback = json!(["NotDeclared: `cosine` was not declared", next]);
        let output = json!({ "output_type": "error", "ename": name, "evalue": message, "traceback": traceback });
        notebook(&[json!({ "cell_type": "code", "id": "a", "source": "a", "outputs": [output] })])
    };
    let message = "`cosine` was not declared";
    says(&log.judge(&shown("NotDeclared", message, "next: declare it")), "outputs", "holds", &[]);
    for (name, message, next) in [
        ("NotDeclared", "`cosine`", "next: declare it"),
        ("Other", message, "next: declare it"),
        ("NotDeclared", message, "next: no"),
    ] {
        says(&log.judge(&shown(name, message, next)), "outputs", "stale", &["error"]);
    }
}

#[test]
fn what_was_redacted_is_nothing_that_can_be_told() {
    let (mut log, notebook) = ran();
    let entry = log.dossier.records().find(|r| r.kind == Kind::Start).unwrap().seq;
    log.dossier.redact(entry, "ran", "a test").unwrap();
    log.dossier.redact(entry + 1, "stdout", "a test").unwrap();
    let judged = log.judge(&notebook);
    says(&judged, "source", "cannot_tell", &["code cell 1", "was redacted"]);
    says(&judged, "outputs", "cannot_tell", &["code cell 1", "stdout was redacted"]);
    assert_eq!(judged["says"], "not all could be told");
}

#[test]
fn secrets_are_masked_in_the_log_and_are_no_difference() {
    let token = format!("ghp_{}", "a1B2c3D4e5".repeat(3) + "f6G7h8");
    let source = format!("println!(\"{token}\");");
    let mut log = Log::new();
    log.run(Some("a"), 1, &source.replace(&token, "***"));
    let judged = log.judge(&notebook(&[cell("a", 1, &source)]));
    says(&judged, "source", "holds", &[]);
    says(&judged, "outputs", "holds", &[]);
}

#[test]
fn a_file_that_changed_or_is_gone_is_named_and_one_that_cannot_be_read_is_an_open_question() {
    let (log, notebook) = ran();
    let judge = |now| {
        let files = vec![("a.parquet".to_owned(), FileNow::AsRead), ("b.parquet".to_owned(), now)];
        log.judge_all(&notebook, files, EnvironmentNow::NotAsked)
    };
    says(&judge(FileNow::AsRead), "data", "holds", &["2 files"]);
    says(&judge(FileNow::Changed), "data", "stale", &["b.parquet changed since it was read"]);
    says(&judge(FileNow::Gone), "data", "stale", &["b.parquet is gone"]);
    says(
        &judge(FileNow::Unknown("it is larger than the limit".into())),
        "data",
        "cannot_tell",
        &["b.parquet", "limit"],
    );
}

#[test]
fn an_environment_that_changed_in_the_session_or_since_is_named_by_its_layer() {
    let (mut log, notebook) = ran();
    says(&log.judge(&notebook), "environment", "holds", &["entry 1"]);
    let now = |version: &str| {
        EnvironmentNow::Taken(json!({
            "packages": { "state": "read", "value": { "list": [{ "name": "numpy", "version": version }] } },
        }))
    };
    says(&log.judge_all(&notebook, Vec::new(), now("1")), "environment", "holds", &["is so now"]);
    says(&log.judge_all(&notebook, Vec::new(), now("2")), "environment", "stale", &["packages: numpy"]);
    let dark = EnvironmentNow::NotTaken("no interpreter is here".into());
    says(&log.judge_all(&notebook, Vec::new(), dark), "environment", "cannot_tell", &["no interpreter"]);
    log.snapshot("d2", "2");
    says(&log.judge(&notebook), "environment", "stale", &["packages: numpy"]);
    let mut without = Log::new();
    without.run(Some("a"), 1, "println!(1);");
    says(&without.judge(&notebook), "environment", "cannot_tell", &["no snapshot"]);
}

#[test]
fn no_notebook_and_a_notebook_that_never_ran_are_not_called_valid() {
    let (log, _) = ran();
    let presented = Presented { notebook: None, files: Vec::new(), environment: EnvironmentNow::NotAsked, here: false };
    let judged = judge(&log.dossier, &presented);
    assert_eq!(judged["badge"], "not_all_could_be_told");
    says(&judged, "order", "cannot_tell", &["no notebook"]);
    let judged = log.judge(&notebook(&[cell("other", 9, "never")]));
    says(&judged, "order", "stale", &["none of its 1 code cell"]);
    // Hostile shapes are no fault of this program.
    for odd in [
        json!(null),
        json!({ "cells": 3 }),
        json!({ "cells": [null, { "cell_type": "code", "source": 4, "outputs": {} }] }),
    ] {
        assert_ne!(log.judge(&odd)["badge"], "valid");
    }
}
