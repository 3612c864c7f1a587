//! Decides what of a cell reaches evcxr, and adds the one line that tells how the cell ended.
//!
//! Must not know: processes. Start at [`prepare`].
//!
//! Our line defines, in items that are redefined by every cell, a guard that is dropped when the cell's code ends or
//! unwinds: it flushes the cell's standard output, ends a line left open, and marks both streams. Without it evcxr
//! waits for ever after `print!("50 %"); stdout().flush()`, takes a panic for a good end, and cannot be told from a
//! cell that prints evcxr's protocol. It also gives values a way to be shown at the first compilation instead of the
//! second.

use super::errors::RustCellError;
use super::process::QUIET_PANICS;

/// How the value of a cell is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// By our own trait, which compiles at once.
    Values,
    /// By evcxr, because `:fmt` or `:types` asked for a form that only it knows.
    Evcxr,
}

/// A cell ready for evcxr.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Prepared {
    /// What evcxr gets.
    pub text: String,
    /// The 1-based line of `text` that is ours; later lines are one lower in the cell. 0 if there is none.
    pub our_line: usize,
    /// True if there is Rust code besides directives.
    pub has_rust: bool,
    /// True if a `?` in the cell may leave it early.
    pub watches_question_mark: bool,
    /// True if a `:dep` directive is among the lines.
    pub asks_for_crates: bool,
    /// How the value is shown, now and in later cells.
    pub mode: Mode,
}

/// The variable that exists after a cell exactly if no `?` left it early.
pub(super) const REACHED_END: &str = "fascicolo_reached_end";
/// What all names of our own line begin with.
pub(super) const OUR_NAMES: [&str; 2] = ["Fascicolo", "fascicolo_"];

/// The directives of evcxr that change or show nothing but the session itself.
const ALLOWED: [&str; 17] = [
    ":allow_static_linking",
    ":clear",
    ":dep",
    ":doc",
    ":efmt",
    ":explain",
    ":fmt",
    ":help",
    ":last_compile_dir",
    ":linker",
    ":offline",
    ":opt",
    ":show_deps",
    ":t",
    ":type",
    ":types",
    ":vars",
];

/// Turns a cell into what evcxr gets; `None` if it holds nothing but comments and blank lines.
///
/// # Errors
/// `RefusedDirective` names the line and why.
pub(super) fn prepare(code: &str, cell: u64, mode: Mode, nonce: &str) -> Result<Option<Prepared>, RustCellError> {
    let mut mode = mode;
    let mut asks_for_crates = false;
    let mut directives = false;
    let mut in_rust = false;
    let mut first_rust = None;
    for (index, (offset, line)) in lines_with_offsets(code).enumerate() {
        if line.starts_with("#![") {
            // Inner attributes stay first; from here on evcxr takes every line for Rust.
            in_rust = true;
        } else if line.starts_with("//") || line.trim().is_empty() {
            continue;
        } else if in_rust {
            first_rust = Some((offset, index));
            break;
        } else if line.starts_with('!') {
            return Err(refused(line, index + 1, "evcxr would run it as a shell command inside the kernel"));
        } else if line.trim_start_matches(' ').starts_with(':') {
            let name = line.trim_start_matches(' ').split(' ').next().unwrap_or_default();
            check_directive(name, line, index + 1)?;
            directives = true;
            asks_for_crates |= name == ":dep";
            if matches!(name, ":fmt" | ":types") {
                mode = Mode::Evcxr;
            }
        } else {
            first_rust = Some((offset, index));
            break;
        }
    }
    if first_rust.is_none() && in_rust {
        first_rust = Some((code.len(), code.lines().count()));
    }
    let Some((offset, line)) = first_rust else {
        return Ok(directives.then(|| Prepared {
            text: code.to_owned(),
            our_line: 0,
            has_rust: false,
            watches_question_mark: false,
            asks_for_crates,
            mode,
        }));
    };
    let (before, after) = code.split_at(offset);
    let watches_question_mark = after.contains('?');
    let ours = our_line(cell, mode, nonce, watches_question_mark);
    let gap = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    Ok(Some(Prepared {
        text: format!("{before}{gap}{ours}\n{after}"),
        our_line: line + 1,
        has_rust: true,
        watches_question_mark,
        asks_for_crates,
        mode,
    }))
}

/// Lines without their ends, with the byte offset at which each begins.
fn lines_with_offsets(code: &str) -> impl Iterator<Item = (usize, &str)> {
    code.lines().map(move |line| (line.as_ptr() as usize - code.as_ptr() as usize, line))
}

fn check_directive(name: &str, line: &str, number: usize) -> Result<(), RustCellError> {
    if ALLOWED.contains(&name) {
        return Ok(());
    }
    Err(refused(
        line,
        number,
        match name {
            ":quit" | ":exit" | ":q" => "the front end ends the kernel",
            ":load_config" => "it reads configuration from outside the notebook, which the record would not show",
            ":cache" | ":clear_cache" | ":sccache" => {
                "it uses a cache outside the session, which the record would not show"
            }
            ":toolchain" | ":codegen_backend" | ":time_passes" => "the compiler stays the same for the whole session",
            ":restart" => "evcxr does not notice that variables are gone then; `:clear` starts anew",
            ":env" | ":build_env" => "it changes the environment of the kernel itself",
            ":version" | ":timing" | ":last_error_json" | ":internal_debug" | ":preserve_vars_on_panic" => {
                "this kernel does not offer it"
            }
            _ => "no such directive is known",
        },
    ))
}

fn refused(line: &str, number: usize, why: &str) -> RustCellError {
    RustCellError::RefusedDirective { directive: line.trim().to_owned(), line: number, why: why.to_owned() }
}

fn our_line(cell: u64, mode: Mode, nonce: &str, watches_question_mark: bool) -> String {
    let show = match mode {
        Mode::Values => SHOW.replace("NONCE", nonce),
        Mode::Evcxr => "trait FascicoloShow {}".to_owned(),
    };
    let guard = GUARD.replace("NONCE", nonce).replace("QUIET_PANICS", QUIET_PANICS);
    let reached = if watches_question_mark { format!("let {REACHED_END} = ();") } else { String::new() };
    format!("{guard} {show} fascicolo_enter!({cell}u64); {reached}").replace('\n', " ")
}

/// The guard. The first variable is cleared so that programs which a cell starts do not take themselves for evcxr's
/// child; the second, which evcxr sets, only where the user did not ask for backtraces.
const GUARD: &str = r#"
struct FascicoloGuard(u64);
impl FascicoloGuard { fn enter(cell: u64) -> FascicoloGuard {
    if ::std::env::var_os("EVCXR_IS_RUNTIME").is_some() { unsafe {
        ::std::env::remove_var("EVCXR_IS_RUNTIME");
        if ::std::env::var_os("QUIET_PANICS").is_some() { ::std::env::remove_var("RUST_BACKTRACE"); }
    } }
    FascicoloGuard(cell)
} }
impl ::std::ops::Drop for FascicoloGuard { fn drop(&mut self) {
    let how = if ::std::thread::panicking() { "panicked" } else { "reached" };
    let mark = ::std::format!("NONCE {} {}\n", self.0, how);
    let _ = ::std::io::Write::write_all(&mut ::std::io::stderr().lock(), mark.as_bytes());
    let mut out = ::std::io::stdout().lock();
    let _ = ::std::io::Write::write_all(&mut out, ::std::format!("{mark}EVCXR_END_CONTENT\n").as_bytes());
    let _ = ::std::io::Write::flush(&mut out);
} }
macro_rules! fascicolo_enter { ($cell:expr) => { let _guard = FascicoloGuard::enter($cell); } }
"#;

/// The trait. The first mark ends a line that the cell left open, which would else swallow the value.
const SHOW: &str = r#"
trait FascicoloShow { fn evcxr_display(&self); }
impl<T: ::std::fmt::Debug + ?::std::marker::Sized> FascicoloShow for T { fn evcxr_display(&self) {
    let text = ::std::format!("NONCE 0 value\nEVCXR_BEGIN_CONTENT text/plain\n{:?}\nEVCXR_END_CONTENT\n", self);
    let _ = ::std::io::Write::write_all(&mut ::std::io::stdout().lock(), text.as_bytes());
} }
"#;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn ready(code: &str) -> Prepared {
        prepare(code, 7, Mode::Values, "mark").unwrap().unwrap()
    }

    #[test]
    fn our_line_stands_before_the_first_line_of_rust() {
        let prepared = ready("// a comment\n:dep half = \"2\"\n\nlet x = 1;\nx");
        let lines: Vec<&str> = prepared.text.lines().collect();
        assert_eq!(lines[..3], ["// a comment", ":dep half = \"2\"", ""]);
        assert!(lines[3].contains("fascicolo_enter!(7u64)"));
        assert_eq!(lines[4..], ["let x = 1;", "x"]);
        assert_eq!(prepared.our_line, 4);
        assert!(prepared.asks_for_crates && prepared.has_rust && !prepared.watches_question_mark);
    }

    #[test]
    fn inner_attributes_stay_first() {
        let prepared = ready("#![feature(x)]\nlet y = 1;");
        let lines: Vec<&str> = prepared.text.lines().collect();
        assert_eq!((lines[0], lines[2], lines.len()), ("#![feature(x)]", "let y = 1;", 3));
        assert_eq!(prepared.our_line, 2);
    }

    #[test]
    fn a_cell_of_comments_never_reaches_evcxr() {
        assert_eq!(prepare("// nothing\n\n", 1, Mode::Values, "mark").unwrap(), None);
        assert!(!ready(":vars").has_rust);
    }

    #[test]
    fn what_would_act_on_the_kernel_is_refused() {
        for (code, line) in [
            (":quit", 1),
            ("\n:exit", 2),
            ("!rm -rf x", 1),
            (":load_config", 1),
            (":sccache 1", 1),
            ("  :env A=b", 1),
            (":no_such_thing", 1),
        ] {
            match prepare(code, 1, Mode::Values, "mark") {
                Err(RustCellError::RefusedDirective { line: found, .. }) => assert_eq!(found, line, "{code}"),
                other => panic!("{code}: {other:?}"),
            }
        }
        // After the first line of Rust a colon or an exclamation mark is Rust.
        assert!(ready("let a = true &&\n!false;").has_rust);
    }

    #[test]
    fn a_form_that_only_evcxr_knows_is_left_to_it() {
        let prepared = ready(":types\n1");
        assert_eq!(prepared.mode, Mode::Evcxr);
        assert!(!prepared.text.contains("evcxr_display"));
    }
}
