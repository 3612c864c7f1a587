//! What is wrong with a cell is said with its line.

use crate::{cell, judge, python, rows};
use fascicolo_contract::Explain;
use fascicolo_criterion::CriterionError;
use fascicolo_criterion::python::{self, Script};
use std::path::Path;

/// A whole criterion with one line put in place of another.
fn with(line: usize, text: &str) -> String {
    let whole = cell("", "");
    let lines = whole.lines().enumerate().map(|(i, old)| if i + 1 == line { text } else { old });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_cell_that_cannot_be_a_criterion_is_refused_with_the_line_and_the_reason() {
    for (source, line, says) in [
        (with(5, "def row(state, row, p:"), 5, "SyntaxError: '(' was never closed"),
        (with(7, "  state.least.add(row.cosine, row.id)"), 7, "IndentationError"),
        (with(1, "import numpy as np"), 1, "its results depend on the machine's linear algebra"),
        (with(6, "    from scipy import stats"), 6, "`scipy` cannot be imported"),
        (
            with(1, "import os"),
            1,
            "`os` cannot be imported: a criterion reaches no files, clock, network or randomness",
        ),
        (with(6, "    import time"), 6, "`time` cannot be imported"),
        (with(1, "import random, math"), 1, "There are math, cmath"),
        (with(1, "from . import x"), 1, "cannot be imported"),
        (with(1, "open(\"/etc/passwd\")"), 1, "`open` is not there: a criterion reaches no files"),
        (with(1, "eval(\"1\")"), 1, "`eval` is not there"),
        (with(1, "print(1)"), 1, "a criterion prints nothing"),
        (with(1, "__import__(\"os\")"), 1, "`os` cannot be imported"),
        (with(1, "x = 1 / 0"), 1, "ZeroDivisionError: division by zero"),
        (with(1, "meaning = 1"), 1, "`meaning` is a text"),
        (with(1, "pass"), 0, "the cell sets no `meaning`"),
        (with(2, "parameters = {\"a\": 1}"), 2, "(unit, least, most, meaning)"),
        (with(2, "parameters = {\"a b\": (\"u\", \"m\")}"), 2, "`a b` cannot name a parameter"),
        (with(3, "sees = [\"angle\"]"), 3, "a row has no `angle`; it can see: dot, norm_reference"),
        (with(3, "sees = [\"elements_over\"]"), 3, "`elements_over` takes 2 names of parameters"),
        (with(3, "sees = [\"elements_over(atol, rtol)\"]"), 3, "measures by `atol`, which is no parameter"),
        (with(3, "sees = [\"cosine\", \"cosine\"]"), 3, "names `cosine` twice"),
        (with(4, "state = {\"least\": Lowest}"), 4, "write Lowest()"),
        (with(4, "state = {\"rows\": []}"), 4, "a list: it holds accumulators alone"),
        (with(4, "state = {\"least\": Lowest(0)}"), 4, "from 1 to 1000"),
        (with(5, "def row(state, row):"), 5, "`row` takes 3 arguments"),
        (with(9, "def judge(state, p):"), 0, "defines no function `verdict`"),
        (with(1, "meaning = \"m\"; import itertools; n = itertools.count()"), 1, "`n` holds a count, which remembers"),
        (with(1, "meaning = \"m\"; seen = [Count()]"), 1, "`seen` holds a Count, which remembers"),
        (with(1, "meaning = \"m\"; import collections; seen = collections.deque()"), 1, "goes into its `state`"),
        (with(1, "meaning = \"m\"\ndef f(x, seen=[]): pass"), 2, "function `f` keeps a list, which remembers"),
        (with(1, "meaning = \"m\"\nclass K:\n    seen = set()"), 2, "class `K` keeps `seen`, a set"),
        (with(6, "    global n"), 6, "would remember something outside the state"),
    ] {
        match python("wrong", &source) {
            Err(CriterionError::DoesNotCompile { diagnostics, .. }) => {
                let found = &diagnostics[0];
                assert!(found.message.contains(says), "{says}: {}", found.message);
                assert_eq!(found.line, line, "{}", found.rendered);
                if line > 0 {
                    let text = source.lines().nth(line as usize - 1).unwrap();
                    assert!(found.rendered.contains(&format!("{line} | {text}")), "{}", found.rendered);
                    assert!(found.rendered.contains("wrong.py:"), "{}", found.rendered);
                }
            }
            other => panic!("{says}: {:?}", other.err()),
        }
    }
}

#[test]
fn an_exception_while_rows_are_seen_points_at_its_line_of_the_cell() {
    for (row, verdict, line, during, says) in [
        ("row.cosine / 0", "", 6, "rows 1 to 3", "ZeroDivisionError: division by zero"),
        ("row.cosin", "", 6, "rows 1 to 3", "the row has no `cosin`; this criterion sees: id, cosine"),
        ("p.flor", "", 6, "rows 1 to 3", "there is no parameter `flor`; there is none"),
        ("state.last.add(1)", "", 6, "rows 1 to 3", "no accumulator in `state` `last`; there is least"),
        ("state.n = 1", "", 6, "rows 1 to 3", "made of accumulators, which can be merged"),
        ("state.least.add(\"1\", row.id)", "", 6, "rows 1 to 3", "Lowest.add takes a number and was given str"),
        ("sees.append(row.id)", "", 6, "rows 1 to 3", "names outside functions are constants"),
        ("parameters[row.id] = 1", "", 6, "rows 1 to 3", "names outside functions are constants"),
        ("open(row.id)", "", 6, "rows 1 to 3", "`open` is not there"),
        ("verdict.seen = row.id", "", 0, "rows 1 to 3", "`verdict` was given an attribute to remember something"),
        ("", "return state.least > 1", 10, "its verdict", "write `.value`"),
        ("", "return pass_if(1)", 10, "its verdict", "pass_if takes a comparison"),
        ("", "return True", 9, "its verdict", "`verdict` returns a bool: end it with `return pass_if(…)`"),
    ] {
        let source = cell(row, verdict);
        match judge(&python("raises", &source).unwrap(), &[], &[rows(3)]) {
            Err(error @ CriterionError::Raised { .. }) => {
                let shown = error.to_string();
                assert!(shown.contains(says) && shown.contains(during), "{shown}");
                let Some(text) = source.lines().nth((line as usize).wrapping_sub(1)) else {
                    assert_eq!(error.place().unwrap(), "criterion raises");
                    continue;
                };
                assert_eq!(error.place().unwrap(), format!("criterion raises, line {line}"));
                let CriterionError::Raised { diagnostic, .. } = error else { unreachable!() };
                assert!(diagnostic.rendered.contains(&format!("{line} | {text}")), "{}", diagnostic.rendered);
            }
            other => panic!("{says}: {:?}", other.err()),
        }
    }
}

#[test]
fn a_value_that_is_no_number_names_its_row_and_gives_no_figure() {
    let nan = python("nan", &cell("state.least.add(float(\"nan\"), row.id)", "")).unwrap();
    match judge(&nan, &[], &[rows(3)]) {
        Err(CriterionError::CannotAnswer { why, .. }) => assert!(why.contains("à000"), "{why}"),
        other => panic!("{:?}", other.err()),
    }
    let unseen = python("unseen", &cell("return", "")).unwrap();
    match judge(&unseen, &[], &[rows(3)]) {
        Err(CriterionError::CannotAnswer { why, .. }) => assert!(why.contains("may have seen no row"), "{why}"),
        other => panic!("{:?}", other.err()),
    }
}

#[test]
fn the_host_that_is_kept_was_built_of_the_sources_that_are_kept() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wasm-checks/python");
    let sums = std::fs::read_to_string(folder.join("prebuilt/SHA256SUMS")).unwrap();
    let mut sources = 0;
    for line in sums.lines() {
        let (sum, file) = line.split_once("  ").unwrap();
        if file == "host.wasm" {
            assert_eq!(sum, python::digest());
            continue;
        }
        let has = fascicolo_criterion::digest(&std::fs::read(folder.join(file)).unwrap());
        assert_eq!(has, sum, "{file} changed: run wasm-checks/python/rebuild --write");
        sources += 1;
    }
    let kept = std::fs::read_dir(folder.join("app"))
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|extension| extension == "py"));
    assert_eq!(sources, kept.count() + 3);
}

#[test]
fn a_text_nested_as_deep_as_people_write_is_no_mistake() {
    let deep = format!("x = {}1{}", "(".repeat(60), ")".repeat(60));
    python("deep", &with(1, &format!("meaning = \"m\"; {deep}"))).unwrap();
}

#[test]
fn what_is_sealed_holds_the_source_and_the_digest_of_its_host_and_runs_on_no_other() {
    let script = Script::new("sealed", &cell("", "")).unwrap();
    let sealed = script.sealed();
    assert_eq!(Script::read("sealed", &sealed).unwrap(), Some(script));
    let text = String::from_utf8(sealed).unwrap();
    assert!(text.contains(python::digest()));
    let other = text.replacen(python::digest(), &"ab".repeat(32), 1);
    match Script::read("sealed", other.as_bytes()) {
        Err(CriterionError::OtherPython { wants, has, .. }) => {
            assert_eq!((wants, has.as_str()), ("ab".repeat(32), python::digest()));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(fascicolo_criterion::digest(&python::component().unwrap()), python::digest());
}
