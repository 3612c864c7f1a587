//! Cells in Python that mean harm: each is stopped in its own words within seconds, and the next one judges right.

use crate::{HOST, cell, judge, python, rows};
use fascicolo_contract::Explain;
use fascicolo_criterion::{CriterionError, standard};
use std::time::{Duration, Instant};

/// Time that an attack may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// Processor time of this thread, where the system tells it: the wall clock measures the machine's other work too.
fn computed() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    stat.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// The interpreter's own modules, which a cell can find behind any object.
const OS: &str =
    "[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == '_wrap_close'][0].__init__.__globals__";

fn reaching(what: &str) -> String {
    format!("g = {OS}; {what}")
}

#[test]
fn every_attack_in_python_is_stopped_within_seconds_with_its_own_message() {
    let caught = "while True:\n        try:\n            while True: pass\n        except BaseException: pass";
    let attacks: Vec<(&str, String, &str, &str)> = vec![
        ("an endless loop in a row", cell("while True: pass", ""), "out_of_fuel", "rows 1 to 3"),
        ("an endless loop in the verdict", cell("", "while True: pass"), "out_of_fuel", "its verdict"),
        ("an endless loop around the cell", "while True: pass".to_owned(), "out_of_fuel", "reading its source"),
        ("a loop that catches everything", cell(caught, ""), "out_of_fuel", "rows 1 to 3"),
        ("one instruction that takes years", cell("10 ** 10 ** 9", ""), "out_of_fuel", "rows 1 to 3"),
        ("a gigabyte", cell("[0] * (1 << 28)", ""), "over_limit", "memory asked for"),
        ("more than there can be", cell("[0] * (1 << 30)", ""), "over_limit", "memory asked for"),
        (
            "a list that grows",
            cell("", "x = []\n    while True: x.append(bytes(1 << 20))"),
            "over_limit",
            "256 allowed",
        ),
        ("deep recursion", cell("f = lambda n: f(n + 1) + 1\n    f(0)", ""), "over_limit", "too deep"),
        (
            "deep nesting",
            format!("x = {}1{}", "(".repeat(5_000), ")".repeat(5_000)),
            "over_limit",
            "its stack grew beyond 512 KiB",
        ),
        ("nesting without brackets", format!("x = {}1", "-".repeat(50_000)), "over_limit", ""),
        (
            "an answer too large",
            cell("", "return pass_if(True).figure(\"f\" * (1 << 25), \"u\", 1)"),
            "over_limit",
            "16 MiB",
        ),
        (
            "a reason too large",
            cell("", "return pass_if(True, \"r\" * 5000).figure(\"f\", \"u\", 1)"),
            "cannot_answer",
            "bytes of reason",
        ),
        ("a source too large", format!("# {}\n{}", "x".repeat(200_000), cell("", "")), "too_large", "its source has"),
        ("text that reads otherwise than it runs", cell("x = \"\u{202e}\"", ""), "hidden_text", "line 6"),
        (
            "a file through the interpreter's own modules",
            cell(&reaching("g['open']('/etc/passwd', 0)"), ""),
            "trapped",
            "reaches none",
        ),
        ("a process", cell(&reaching("g['system']('id')"), ""), "raised", "line 6"),
        ("randomness", cell(&reaching("g['urandom'](8)"), ""), "trapped", "reaches none"),
        ("a clock", cell(&reaching("g['sys'].modules['time'].time()"), ""), "trapped", "reaches none"),
        ("standard output", cell(&reaching("g['write'](1, b'x')"), ""), "trapped", "reaches none"),
        ("leaving", cell("raise SystemExit(0)", ""), "raised", "SystemExit"),
    ];
    let honest = python("honest", &cell("", "")).unwrap();
    for (what, source, kind, says) in &attacks {
        let (started, before) = (Instant::now(), computed());
        let ended = python("attack", source).and_then(|criterion| judge(&criterion, &[], &[rows(3)]));
        let spent = computed().zip(before).map(|(now, before)| now.saturating_sub(before));
        let took = spent.map_or(started.elapsed(), |spent| spent.min(started.elapsed()));
        let error = ended.err().unwrap_or_else(|| panic!("{what}: it got an answer"));
        assert_eq!(error.kind(), *kind, "{what}: {error}");
        assert!(error.to_string().contains(says), "{what}: {error}");
        assert!(took < PATIENCE, "{what}: {took:?}");
        println!("shown: {what}: {error} ({} ms)", took.as_millis());
        let again = judge(&honest, &[], &[rows(3)]).unwrap().outcome;
        assert_eq!(again.figures[0].name, "cosine.min");
    }
}

#[test]
fn the_limits_of_strangers_components_stand_for_all_but_our_own_host_of_python() {
    // Ours, as a stranger would hand it in.
    let host = fascicolo_criterion::python::component().unwrap();
    assert!(matches!(HOST.admit("host", &host), Err(CriterionError::TooLarge { .. })));
    // A compiled criterion keeps the budget that it had.
    let rust = HOST.admit("cosine", standard::find("cosine").unwrap().component).unwrap();
    assert_eq!(rust.budget(), fascicolo_criterion::host::Budget::COMPILED);
    assert_ne!(python("ours", &cell("", "")).unwrap().budget(), rust.budget());
}
