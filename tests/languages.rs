//! Criteria in Python, in WebAssembly's text and as ready components, in a case: sealed, changed, shown, exported.
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use serde_json::Value;
use support::Desk;

const FLOOR: &str = r#"meaning = "the smallest cosine is at least the floor"
parameters = {"floor": ("unitless", -1.0, 1.0, "smallest cosine accepted")}
sees = ["cosine"]
state = {"least": Lowest()}

def row(state, row, p):
    state.least.add(row.cosine, row.id)

def verdict(state, p):
    return pass_if(state.least.value >= p.floor, because=f"{state.least}").figure("cosine.min", "unitless", state.least)
"#;

fn define(desk: &Desk, name: &str, language: &str, source: &str) -> Value {
    let ended = desk.run_with(&["criterion", name, "--lang", language, "--json"], source);
    assert_eq!(ended.status, 0, "{}{}", ended.stdout, ended.stderr);
    ended.json()
}

fn declare(desk: &Desk, name: &str) {
    let ended = desk.run(&["declare", name, "--set", "floor=0.99999", "--because", "test"]);
    assert_eq!(ended.status, 0, "{}", ended.stderr);
}

/// The component of a standard criterion, as a file of the desk.
fn component(desk: &Desk, name: &str) -> String {
    let from = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wasm-checks/standard/prebuilt");
    std::fs::copy(from.join(format!("{name}.wasm")), desk.path().join("mine.wasm")).unwrap();
    let sums = std::fs::read_to_string(from.join("SHA256SUMS")).unwrap();
    let line = sums.lines().find(|line| line.ends_with(&format!("  {name}.wasm"))).unwrap();
    line[..64].to_owned()
}

#[test]
fn a_criterion_in_python_is_sealed_judges_as_the_rust_one_and_is_post_hoc_once_it_is_changed() {
    let desk = Desk::with_reference();
    let defined = define(&desk, "tail", "python", FLOOR);
    assert_eq!(defined["language"], "python");
    let host = defined["python_host_digest"].as_str().unwrap();
    // What is sealed can be made again with stock tools: a line that names the host, and the source.
    let sealed = format!("fascicolo criterion in python, for the host {host}\n{FLOOR}");
    assert_eq!(defined["digest"], fascicolo_dossier::to_hex(&fascicolo_dossier::sha256(sealed.as_bytes())));
    assert!(defined["limits"]["fuel_per_row"].as_u64().unwrap() > 50_000, "{}", defined["limits"]);
    declare(&desk, "tail");
    let verdict = desk.compare("batch-1", &["--criterion", "tail"]).json();
    assert_eq!(verdict["verdict"], "pass");
    assert_eq!(verdict["criterion"]["digest"], defined["digest"]);
    assert_eq!(verdict["limits"], defined["limits"]);
    let rust = desk.compare("batch-1", &["--explore", "--criterion", "cosine"]).json();
    assert_eq!(verdict["figures"][0], rust["figures"][0]);
    assert_eq!(desk.compare("bf16", &["--criterion", "tail"]).verdict(1), "fail");
    // The same source again changes nothing; one more space does.
    assert_eq!(define(&desk, "tail", "python", FLOOR)["digest"], defined["digest"]);
    assert_eq!(desk.compare("f16", &["--criterion", "tail"]).json()["post_hoc"], false);
    define(&desk, "tail", "python", &format!("{FLOOR}\n"));
    let changed = desk.compare("f16", &["--criterion", "tail"]).json();
    assert_eq!(changed["post_hoc"], true);
    assert!(changed["post_hoc_because"].as_str().unwrap().contains("was changed after its seal"), "{changed}");
    let shown = desk.run(&["criterion", "show", "tail"]);
    assert!(
        shown.stdout.contains(FLOOR.lines().nth(3).unwrap()) && shown.stdout.contains("python"),
        "{}",
        shown.stdout
    );
}

#[test]
fn a_mistake_in_python_is_shown_under_its_line_and_leaves_the_case_as_it_was() {
    let desk = Desk::with_reference();
    for (wrong, kind, says) in [
        ("import numpy", "does_not_compile", "3 | import numpy"),
        ("open('/etc/passwd')", "does_not_compile", "3 | open('/etc/passwd')"),
    ] {
        let source = FLOOR.replace("sees = [\"cosine\"]", wrong);
        let ended = desk.run_with(&["criterion", "wrong", "--lang", "python", "--json"], &source);
        assert_eq!(ended.status, 2, "{}{}", ended.stdout, ended.stderr);
        assert_eq!(ended.json()["error"]["kind"], kind);
        assert_eq!(ended.json()["error"]["where"], "criterion wrong, line 3");
        let ended = desk.run_with(&["criterion", "wrong", "--lang", "python"], &source);
        assert!(ended.stderr.contains(says) && ended.stderr.contains("wrong.py:3:1"), "{}", ended.stderr);
    }
    let ended = desk.run(&["declare", "wrong", "--because", "test"]);
    assert_eq!(ended.status, 2, "{}", ended.stderr);
    // While rows are seen, too: no verdict comes of it.
    define(&desk, "raises", "python", &FLOOR.replace("row.cosine, row.id", "row.cosine / 0, row.id"));
    let ended = desk.compare("batch-1", &["--explore", "--criterion", "raises", "--set", "floor=0"]);
    assert_eq!(ended.status, 3, "{}", ended.stdout);
    let error = ended.json()["error"].clone();
    assert_eq!((&error["kind"], &error["where"]), (&"raised".into(), &"criterion raises, line 7".into()));
    assert!(error["message"].as_str().unwrap().contains("ZeroDivisionError"), "{error}");
}

#[test]
fn a_ready_component_is_taken_by_its_digest_and_another_file_is_refused() {
    let desk = Desk::with_reference();
    let digest = component(&desk, "cosine");
    let other = "ab".repeat(32);
    let ended = desk.run(&["criterion", "mine", "--component", "mine.wasm", "--sha256", &other, "--json"]);
    assert_eq!(ended.status, 4, "{}{}", ended.stdout, ended.stderr);
    let error = ended.json()["error"].clone();
    assert_eq!(error["kind"], "other_digest");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(&other) && message.contains(&digest), "{message}");
    let taken = desk.run(&["criterion", "mine", "--component", "mine.wasm", "--sha256", &digest, "--json"]).json();
    assert_eq!((&taken["digest"], &taken["language"]), (&digest.as_str().into(), &"component".into()));
    // Without the digest it is shown and recorded.
    let shown = desk.run(&["criterion", "mine", "--component", "mine.wasm"]);
    assert!(shown.stdout.contains(&digest[..12]) && shown.stdout.contains("--sha256"), "{}", shown.stdout);
    declare(&desk, "mine");
    std::fs::remove_file(desk.path().join("mine.wasm")).unwrap();
    assert_eq!(desk.compare("batch-1", &["--criterion", "mine"]).verdict(0), "pass");
    let shown = desk.run(&["criterion", "show", "mine"]);
    assert_eq!(shown.status, 0, "{}", shown.stderr);
    assert!(shown.stdout.contains("its source is not known here"), "{}", shown.stdout);
    let exported = desk.run(&["dossier", "export", "-o", "case.zip"]);
    assert_eq!(exported.status, 0, "{}", exported.stderr);
    for (args, says) in [
        (&["criterion", "mine", "--component", "absent.wasm"][..], "absent.wasm cannot be read"),
        (&["criterion", "mine", "--component", "x", "--sha256", "12"], "64 hexadecimal digits"),
        (&["criterion", "mine", "--sha256", &digest], "--component"),
        (&["criterion", "cosine", "--component", "x"], "is a standard criterion"),
    ] {
        let ended = desk.run(args);
        assert_eq!(ended.status, 2, "{}{}", ended.stdout, ended.stderr);
        assert!(ended.stderr.contains(says), "{}", ended.stderr);
    }
    std::fs::write(desk.path().join("bad.wasm"), b"\0asm\x01\0\0\0").unwrap();
    let ended = desk.run(&["criterion", "mine", "--component", "bad.wasm"]);
    assert_eq!(ended.status, 3, "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("a core module, not yet wrapped into a component"), "{}", ended.stderr);
}

#[test]
fn a_criterion_in_webassembly_text_is_defined_and_its_mistakes_are_shown_at_their_line() {
    let desk = Desk::with_reference();
    let defined = define(&desk, "text", "wat", include_str!("../checks/criterion/tests/languages/cells/least.wat"));
    assert_eq!((&defined["language"], &defined["name"]), (&"wat".into(), &"text".into()));
    let ended = desk.run(&["declare", "text", "--set", "floor=0.99999", "--because", "test"]);
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let verdict = desk.compare("batch-1", &["--criterion", "text"]).json();
    assert_eq!(verdict["verdict"], "pass");
    let rust = desk.compare("batch-1", &["--explore", "--criterion", "cosine"]).json();
    assert_eq!(verdict["figures"][0]["value"], rust["figures"][0]["value"]);
    let wrong = "(module\n  (func (result i32)\n    i64.const 1))";
    let ended = desk.run_with(&["criterion", "text", "--lang", "wat"], wrong);
    assert_eq!(ended.status, 2, "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("text.wat:3:") && ended.stderr.contains("type mismatch"), "{}", ended.stderr);
}
