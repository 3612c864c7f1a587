//! A Rust cell → a component: one rustc call in its jail, then componentisation in this process.

use crate::error::{CriterionError, Diagnostic};
use crate::fence::Confinement;
use crate::jail;
use crate::toolchain::{Toolchain, code_options};
use crate::words::plain;
use std::ffi::OsString;
use std::path::Path;
use std::time::Instant;

/// A compiled cell.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// The component.
    pub component: Vec<u8>,
    /// What held the compiler.
    pub confinement: Confinement,
    /// Wall time, milliseconds.
    pub elapsed_ms: u64,
}

/// Names a criterion can have: they become file names and Jupyter option values.
pub fn check_name(name: &str) -> Result<(), CriterionError> {
    let fits = name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if fits { Ok(()) } else { Err(CriterionError::BadName { name: name.to_owned() }) }
}

/// Compiles `source` into a component.
///
/// The same source, sdk and rustc give the same bytes, in any folder and on any machine.
pub fn compile(
    toolchain: &Toolchain,
    name: &str,
    source: &str,
    interrupted: &dyn Fn() -> bool,
) -> Result<Compiled, CriterionError> {
    check_name(name)?;
    crate::gate::check(name, source)?;
    let started = Instant::now();
    let io = |what: &str| {
        let what = what.to_owned();
        move |source| CriterionError::Io { what, source }
    };
    let folder =
        tempfile::Builder::new().prefix("fascicolo-criterion-").tempdir().map_err(io("create a temporary folder"))?;
    // The prelude comes last, where it moves no line or column of the cell.
    let file = format!("{name}.rs");
    std::fs::write(
        folder.path().join(&file),
        format!("{source}\n#[allow(unused_imports)] use fascicolo::prelude::*;\n"),
    )
    .map_err(io("write the cell"))?;

    let mut args: Vec<OsString> = [
        file.as_str(),
        "--crate-type=cdylib",
        "--crate-name=criterion",
        "--target=wasm32-unknown-unknown",
        "--error-format=json",
        "--cap-lints=allow",
        "--emit=link=criterion.wasm,dep-info=criterion.d",
    ]
    .map(OsString::from)
    .to_vec();
    args.extend(code_options().map(OsString::from));
    // For the lines of the cell alone; what else the tables hold is left out below.
    args.extend(["-Cdebuginfo=line-tables-only", "-Cstrip=none"].map(OsString::from));
    args.extend(toolchain.remaps(folder.path(), "cell"));
    let mut extern_sdk = OsString::from("--extern=fascicolo=");
    extern_sdk.push(&toolchain.sdk_rlib);
    args.push(extern_sdk);

    let readable = vec![toolchain.sysroot.clone(), toolchain.sdk_rlib.clone()];
    let ended = jail::run(&toolchain.rustc, args, folder.path(), readable, interrupted)?;
    if let Some(why) = ended.stopped {
        return Err(CriterionError::CompilerStopped { name: name.to_owned(), why });
    }
    let (diagnostics, foreign) = read_diagnostics(&ended.stderr, &file);
    if foreign {
        return Err(CriterionError::ReadsFiles {
            name: name.to_owned(),
            what: "the compiler read another file".into(),
            line: 0,
        });
    }
    if !ended.success {
        let diagnostics = if diagnostics.is_empty() { unreadable(&ended.stderr) } else { diagnostics };
        return Err(CriterionError::DoesNotCompile { name: name.to_owned(), diagnostics });
    }
    read_nothing_else(name, folder.path(), &file)?;
    let module = std::fs::read(folder.path().join("criterion.wasm")).map_err(io("read the compiled cell"))?;
    crate::inspect::module(name, &module)?;
    let component = componentize(name, &crate::lines::keep(name, &module, &file, source)?)?;
    Ok(Compiled { component, confinement: ended.confinement, elapsed_ms: started.elapsed().as_millis() as u64 })
}

/// Wraps a core module, which carries the contract's type in a custom section, into a component.
pub fn componentize(name: &str, module: &[u8]) -> Result<Vec<u8>, CriterionError> {
    crate::inspect::module(name, module)?;
    let not = |why: &str| CriterionError::NotAComponent { name: name.to_owned(), why: plain(why) };
    // A cell can write the custom section itself, and the encoder takes what it reads there for its own.
    let encoded = std::panic::catch_unwind(|| {
        wit_component::ComponentEncoder::default()
            .validate(true)
            .module(module)
            .and_then(|mut encoder| encoder.encode())
            .map_err(|error| not(&format!("{error:#}")))
    });
    encoded.unwrap_or_else(|_| Err(not("its `component-type` section is not the sdk's")))
}

/// rustc lists every source file it read: it must be the cell alone.
fn read_nothing_else(name: &str, folder: &Path, file: &str) -> Result<(), CriterionError> {
    let list = std::fs::read_to_string(folder.join("criterion.d")).map_err(|source| CriterionError::Io {
        what: "read the list of files that the compiler read".into(),
        source,
    })?;
    for line in list.lines() {
        if let Some(variable) = line.strip_prefix("# env-dep:") {
            let what = format!("the environment variable {}", variable.split('=').next().unwrap_or_default());
            return Err(CriterionError::ReadsFiles { name: name.to_owned(), what, line: 0 });
        }
        if line.starts_with('#') || line.trim().is_empty() {
            continue;
        }
        let (target, sources) = line.split_once(": ").unwrap_or((line.trim_end_matches(':'), ""));
        let only_cell = sources.is_empty() || sources == file;
        if !only_cell || !(target.starts_with("criterion.") || target == file) {
            return Err(CriterionError::ReadsFiles {
                name: name.to_owned(),
                what: "the compiler read another file".to_owned(),
                line: 0,
            });
        }
    }
    Ok(())
}

/// Errors that are shown of one compilation, and bytes of each as drawn: one mistake in a macro can make a flood of them.
const DIAGNOSTICS: usize = 20;
const DRAWN_BYTES: usize = 8 << 10;
const MESSAGE_BYTES: usize = 1 << 10;

/// The errors in rustc's JSON, and whether any message quotes a file that is neither the cell nor a library.
fn read_diagnostics(stderr: &str, file: &str) -> (Vec<Diagnostic>, bool) {
    let mut diagnostics = Vec::new();
    let mut foreign = false;
    for line in stderr.lines() {
        let Ok(message) = serde_json::from_str::<serde_json::Value>(line) else { continue };
        let mut quoted = Vec::new();
        files_quoted(&message, &mut quoted);
        foreign |= quoted.iter().any(|f| f != file && f != &format!("cell/{file}") && !known_library(f));
        if message["level"] != "error" {
            continue;
        }
        let text = message["message"].as_str().unwrap_or_default();
        if text.starts_with("aborting due to") || text.starts_with("could not compile") {
            continue;
        }
        if diagnostics.len() == DIAGNOSTICS {
            // What lies beyond is still looked at for files that it quotes.
            continue;
        }
        let span = message["spans"].as_array().and_then(|spans| {
            spans
                .iter()
                .find(|s| s["is_primary"] == true && in_cell(s, file))
                .or(spans.iter().find(|s| in_cell(s, file)))
        });
        let number = |key: &str| span.and_then(|s| s[key].as_u64()).unwrap_or(0) as u32;
        diagnostics.push(Diagnostic {
            line: number("line_start"),
            column: number("column_start"),
            message: beginning(text, MESSAGE_BYTES),
            rendered: beginning(message["rendered"].as_str().unwrap_or_default(), DRAWN_BYTES),
        });
    }
    (diagnostics, foreign)
}

/// What can be said where the compiler failed without one whole message: it crashed, or its one message was cut.
fn unreadable(stderr: &str) -> Vec<Diagnostic> {
    let message = match stderr.lines().find(|line| line.starts_with("error") || line.contains("interrupted by")) {
        Some(line) => beginning(line, MESSAGE_BYTES),
        None if stderr.is_empty() => return Vec::new(),
        None => format!("the compiler's message is longer than {} MiB", stderr.len() >> 20),
    };
    vec![Diagnostic { line: 0, column: 0, message, rendered: String::new() }]
}

/// At most `bytes` of a text, with the number of those left out.
fn beginning(text: &str, bytes: usize) -> String {
    let cut = text.floor_char_boundary(bytes);
    if cut == text.len() { text.to_owned() } else { format!("{}… ({} bytes more)", &text[..cut], text.len() - cut) }
}

fn in_cell(span: &serde_json::Value, file: &str) -> bool {
    span["file_name"].as_str().is_some_and(|f| f == file || f == format!("cell/{file}"))
}

fn known_library(file: &str) -> bool {
    file.starts_with("sdk/") || file.starts_with("/rustc/") || file.starts_with('<') || file.contains("/lib/rustlib/")
}

fn files_quoted(value: &serde_json::Value, into: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(map) => {
            for (key, value) in map {
                match value.as_str() {
                    Some(file) if key == "file_name" => into.push(file.to_owned()),
                    _ => files_quoted(value, into),
                }
            }
        }
        serde_json::Value::Array(list) => list.iter().for_each(|v| files_quoted(v, into)),
        _ => {}
    }
}
