//! Rust cells against the program itself: what they show, what they lose, and that nothing in a cell ends the kernel.
//!
//! The module under test is compiled into this file; the code of the cells runs in the built program, whose `main`
//! calls the runtime hook first. Start at [`cells`].
#![allow(dead_code, unused_imports, clippy::unwrap_used, missing_docs)]

#[path = "../kernel/app/src/front.rs"]
mod front;
#[path = "../kernel/app/src/rust_cells/mod.rs"]
mod rust_cells;

use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use fascicolo_contract::{Explain, Standing};
use front::{FrontEnd, MimeBundle, Stream};
use rust_cells::{InterruptFlag, RustCellError, RustCells, RustValue};

/// Remembers what a cell showed.
#[derive(Default)]
struct Seen {
    stdout: Mutex<String>,
    stderr: Mutex<String>,
    progress: Mutex<Vec<String>>,
}

impl FrontEnd for Seen {
    fn stream(&self, stream: Stream, text: &str) {
        match stream {
            Stream::Stdout => self.stdout.lock().unwrap().push_str(text),
            Stream::Stderr => self.stderr.lock().unwrap().push_str(text),
        }
    }
    fn display(&self, _: &MimeBundle) {}
    fn result(&self, _: u32, _: &MimeBundle) {}
    fn progress(&self, what: &str, _: Option<f64>) {
        self.progress.lock().unwrap().push(what.to_owned());
    }
}

/// What came of a cell.
struct Ran {
    value: Result<RustValue, RustCellError>,
    stdout: String,
    stderr: String,
}

impl Ran {
    fn plain(&self) -> Option<&str> {
        self.value.as_ref().unwrap().by_mime.get("text/plain").map(String::as_str)
    }
}

fn start() -> RustCells {
    RustCells::start_with(Command::new(env!("CARGO_BIN_EXE_fascicolo")))
}

/// One engine for all tests, since its start takes seconds; each test begins with nothing defined.
fn cells() -> MutexGuard<'static, RustCells> {
    static CELLS: OnceLock<Mutex<RustCells>> = OnceLock::new();
    let cells = CELLS.get_or_init(|| Mutex::new(start())).lock().unwrap_or_else(PoisonError::into_inner);
    run(&cells, ":clear").value.unwrap();
    assert!(cells.variables().is_empty() && cells.items().is_empty());
    cells
}

fn run(cells: &RustCells, code: &str) -> Ran {
    run_with(cells, code, &InterruptFlag::default())
}

fn run_with(cells: &RustCells, code: &str, interrupt: &InterruptFlag) -> Ran {
    let seen = Seen::default();
    let value = cells.run(code, &seen, interrupt);
    Ran { value, stdout: seen.stdout.into_inner().unwrap(), stderr: seen.stderr.into_inner().unwrap() }
}

fn run_and_interrupt(cells: &RustCells, code: &str, after: Duration) -> Ran {
    let interrupt = InterruptFlag::default();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(after);
            interrupt.raise();
        });
        run_with(cells, code, &interrupt)
    })
}

/// The engine still computes, and answers the question that was asked.
fn assert_works(cells: &RustCells) {
    assert_eq!(run(cells, "40 + 2").plain(), Some("42"));
    assert_eq!(run(cells, "\"next\"").plain(), Some("\"next\""));
}

fn running(command_line: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|process| {
        let state = std::fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        std::fs::read(process.path().join("cmdline")).is_ok_and(|line| line == command_line.as_bytes())
            && !state.contains(") Z ")
    })
}

#[test]
fn values_variables_and_items_outlive_their_cell() {
    let cells = cells();
    run(&cells, "let v = vec![1, 2, 3];\nfn twice(x: i32) -> i32 { 2 * x }").value.unwrap();
    assert_eq!(run(&cells, "twice(v.iter().sum())").plain(), Some("12"));
    assert_eq!((cells.variables(), cells.items()), (vec!["v".to_owned()], vec!["twice".to_owned()]));
    let nothing = run(&cells, "println!(\"shown\")");
    assert_eq!((nothing.plain(), nothing.stdout.as_str()), (None, "shown\n"));
    assert_eq!(run(&cells, "// only a comment\n").plain(), None);
}

#[test]
fn a_type_that_shows_itself_is_shown_so() {
    let cells = cells();
    let rich = run(
        &cells,
        "#[derive(Debug)] pub struct Rich;\nimpl Rich { pub fn evcxr_display(&self) {\n\
         println!(\"EVCXR_BEGIN_CONTENT text/html\\n<b>rich</b>\\nEVCXR_END_CONTENT\"); } }\nRich",
    );
    let by_mime = rich.value.unwrap().by_mime;
    assert_eq!(
        by_mime.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect::<Vec<_>>(),
        [("text/html", "<b>rich</b>")]
    );
}

#[test]
fn ten_thousand_lines_arrive_complete_and_in_order() {
    let cells = cells();
    let expected: String = (0..10_000).map(|i| format!("line {i}\n")).collect();
    let out = run(&cells, "for i in 0..10_000 { println!(\"line {i}\"); }");
    assert!(out.value.is_ok() && out.stdout == expected && out.stderr.is_empty());
    let err = run(&cells, "for i in 0..10_000 { eprintln!(\"line {i}\"); }");
    assert!(err.value.is_ok() && err.stderr == expected && err.stdout.is_empty());
}

#[test]
fn an_unfinished_line_neither_hangs_nor_is_lost() {
    let cells = cells();
    let flushed =
        run(&cells, "print!(\"50 %\"); std::io::Write::flush(&mut std::io::stdout()).unwrap(); eprint!(\"e\");");
    assert!(flushed.value.is_ok());
    assert_eq!((flushed.stdout.as_str(), flushed.stderr.as_str()), ("50 %", "e"));
    assert_eq!(run(&cells, "print!(\"open\");").stdout, "open");
    let valued = run(&cells, "print!(\"x = \"); 7");
    assert_eq!((valued.plain(), valued.stdout.as_str()), (Some("7"), "x = "));
}

#[test]
fn the_compiler_points_at_the_cell() {
    let cells = cells();
    let RustCellError::Compilation(errors) = run(&cells, "// one\nlet two: String = 2;").value.unwrap_err() else {
        panic!("compiled")
    };
    let span = &errors[0].spans[0];
    assert_eq!((errors[0].code.as_deref(), span.line, span.column, span.end_column), (Some("E0308"), 2, 19, 20));
    assert!(errors[0].rendered.contains("2 | let two: String = 2;"), "{}", errors[0].rendered);
    let RustCellError::Compilation(errors) = run(&cells, "struct Silent;\nSilent").value.unwrap_err() else {
        panic!("compiled")
    };
    assert!(!errors[0].rendered.contains("evcxr"), "{}", errors[0].rendered);
    assert_works(&cells);
}

#[test]
fn a_panic_is_an_error_and_the_engine_lives() {
    let cells = cells();
    run(&cells, "let kept = 5;").value.unwrap();
    let panicked = run(&cells, "let new = 1;\npanic!(\"two\\nlines {new}\");").value.unwrap_err();
    assert!(
        matches!(&panicked, RustCellError::Panicked { message, line: Some(2) } if message == "two\nlines 1"),
        "{panicked:?}"
    );
    assert_eq!(run(&cells, "kept").plain(), Some("5"));
    assert_eq!(cells.variables(), ["kept"]);
}

#[test]
fn an_error_that_a_question_mark_returns_is_an_error() {
    let cells = cells();
    let failed = run(&cells, "let n: i32 = \"12x\".parse()?;\nn").value.unwrap_err();
    assert!(
        matches!(&failed, RustCellError::ReturnedError { message } if message == "invalid digit found in string"),
        "{failed:?}"
    );
    assert!(cells.variables().is_empty());
    assert_eq!(run(&cells, "let n: i32 = \"12\".parse()?;\nn").plain(), Some("12"));
    assert_eq!(cells.variables(), ["n"]);
    // An unfinished line hides evcxr's word of it: the loss is told, and nothing is out of step afterwards.
    let hidden = run(&cells, "print!(\"open\"); let m: i32 = \"x\".parse()?;").value.unwrap_err();
    assert!(matches!(&hidden, RustCellError::Crashed { lost, .. } if *lost == ["n"]), "{hidden:?}");
    assert_works(&cells);
}

#[test]
fn a_dead_child_is_told_with_what_it_took_along() {
    let cells = cells();
    for (code, what, stdout) in [
        ("println!(\"before\"); print!(\"partial\"); std::process::exit(3);", "status 3", "before\npartial\n"),
        ("std::process::abort();", "SIGABRT", ""),
        ("unsafe { *(8 as *mut u8) = 1; }", "SIGSEGV", ""),
    ] {
        run(&cells, "let lost_one = 1;\nfn kept() {}").value.unwrap();
        let ran = run(&cells, code);
        let error = ran.value.unwrap_err();
        assert!(
            matches!(&error, RustCellError::Crashed { what: told, lost } if told.contains(what) && *lost == ["lost_one"]),
            "{error:?}"
        );
        assert_eq!(ran.stdout, stdout);
        assert!(cells.variables().is_empty() && cells.items() == ["kept"]);
        assert_works(&cells);
    }
}

#[test]
fn printing_the_engines_protocol_confuses_no_later_cell() {
    let cells = cells();
    run(&cells, "let lost_one = 1;").value.unwrap();
    let early = run(&cells, "println!(\"EVCXR_EXECUTION_COMPLETE\");\nprintln!(\"more\");").value.unwrap_err();
    assert!(matches!(&early, RustCellError::Crashed { lost, .. } if *lost == ["lost_one"]), "{early:?}");
    assert_works(&cells);
    let open = run(&cells, "println!(\"EVCXR_BEGIN_CONTENT text/plain\");\nprintln!(\"inside\");");
    assert_eq!(open.plain(), Some("inside"));
    assert_works(&cells);
    run(&cells, "println!(\"EVCXR_PANIC_NOTIFICATION\");").value.unwrap();
    assert_works(&cells);
}

#[test]
fn an_interrupt_ends_a_running_cell_and_all_it_started() {
    let cells = cells();
    run(&cells, "let lost_one = 1;\nfn kept() {}").value.unwrap();
    let begun = Instant::now();
    let ran = run_and_interrupt(&cells, "loop { println!(\"flood\"); }", Duration::from_secs(3));
    assert!(begun.elapsed() < Duration::from_secs(20));
    let error = ran.value.unwrap_err();
    assert!(
        matches!(&error, RustCellError::Interrupted { lost, kept } if *lost == ["lost_one"] && *kept == ["kept"]),
        "{error:?}"
    );
    assert!(ran.stdout.starts_with("flood\nflood\n"));
    assert_works(&cells);
    #[cfg(target_os = "linux")]
    {
        let code = "std::process::Command::new(\"sh\").args([\"-c\", \"sleep 86399 & wait\"]).status().unwrap();";
        let error = run_and_interrupt(&cells, code, Duration::from_secs(3)).value.unwrap_err();
        assert!(matches!(error, RustCellError::Interrupted { .. }), "{error:?}");
        assert!(!running("sleep\x0086399\0"));
        assert_works(&cells);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn an_interrupt_while_compiling_loses_no_variable() {
    let cells = cells();
    run(&cells, "let kept = 5;").value.unwrap();
    // Slow to compile: the constant is computed by the compiler, step by step.
    let code = "#![allow(long_running_const_eval)]\n\
                const fn spin() -> u64 { let mut i = 0u64; while i < 4_000_000_000 { i += 1; } i }\n\
                const N: u64 = spin();\nN";
    let begun = Instant::now();
    let error = run_and_interrupt(&cells, code, Duration::from_secs(3)).value.unwrap_err();
    assert!(matches!(&error, RustCellError::Interrupted { lost, .. } if lost.is_empty()), "{error:?}");
    assert!(begun.elapsed() < Duration::from_secs(30));
    assert_eq!(run(&cells, "kept").plain(), Some("5"));
}

#[test]
fn an_interrupt_reaches_a_cell_that_waits_for_the_start() {
    let cells = start();
    let seen = Seen::default();
    let interrupt = InterruptFlag::default();
    interrupt.raise();
    let error = cells.run("1", &seen, &interrupt).unwrap_err();
    assert!(matches!(error, RustCellError::Interrupted { .. }));
    // The request has been carried out: the same flag serves the next cell.
    assert_eq!(run_with(&cells, "1 + 1", &interrupt).plain(), Some("2"));
}

#[test]
fn what_acts_on_the_kernel_is_refused_and_says_so() {
    let cells = cells();
    for code in [":quit", "!touch here", ":load_config", ":env A=b", ":restart", ":sccache 1"] {
        let error = run(&cells, code).value.unwrap_err();
        assert!(matches!(error, RustCellError::RefusedDirective { line: 1, .. }), "{code}: {error:?}");
        assert_eq!(error.standing(), Standing::Refused);
    }
    run(&cells, "let seen = 1u8;").value.unwrap();
    assert_eq!(run(&cells, ":vars").plain(), Some("seen: u8\n"));
}

#[test]
fn a_program_started_in_a_cell_does_not_take_itself_for_the_child() {
    let cells = cells();
    assert_eq!(run(&cells, "std::env::var_os(\"EVCXR_IS_RUNTIME\").is_some()").plain(), Some("false"));
}
