//! `fascicolo run`: a notebook from top to bottom, without Jupyter or Python.

use crate::cli::{Terminal, interrupt_on_signal, print_line};
use crate::failure::Failure;
use crate::front::{CellEnding, CellRequest, FrontEnd, MimeBundle, ShownError, Stream};
use crate::rust_cells::RustCells;
use crate::session::Session;
use fascicolo_contract::Standing;
use serde_json::{Map, Value, json};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Run a notebook from top to bottom, without Jupyter.
///
/// The executed copy is written beside it, and the case file grows as in Jupyter. The exit status is 0 if every verdict
/// is as its cell expects (--expect, pass by default), 1 if one is not, 3 if one cannot tell, 4 if a rule refused a cell.
#[derive(Debug, Clone, clap::Args)]
pub struct RunArgs {
    /// The notebook
    pub notebook: PathBuf,
    /// Where the executed copy goes [default: NAME.executed.ipynb beside the notebook]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Go on after a cell that fails
    #[arg(long)]
    pub allow_errors: bool,
    /// A parameter, written in a cell after the one tagged `parameters` (repeatable)
    #[arg(short, long = "parameter", num_args = 2, value_names = ["NAME", "VALUE"], action = clap::ArgAction::Append)]
    pub parameters: Vec<String>,
}

/// Runs the notebook.
pub fn run(args: &RunArgs, dossier: Option<&Path>, json: bool) -> Result<Standing, Failure> {
    let path = &args.notebook;
    let mut notebook = read(path)?;
    prepare(&mut notebook, &args.parameters)?;
    let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
    let folder = path.parent().map_or_else(|| PathBuf::from("."), Path::to_owned);
    let dossier = dossier.map_or_else(|| path.with_extension("fascicolo"), Path::to_owned);
    let output = args.output.clone().unwrap_or_else(|| path.with_extension("executed.ipynb"));

    let mut session = Session::open(&dossier, &folder)?.with_rust(Arc::new(RustCells::start()));
    interrupt_on_signal(session.interrupt.clone());
    let terminal = if json { Terminal::silent() } else { Terminal::new(std::io::stderr().is_terminal()) };
    let mut failed = None;
    let cells = notebook["cells"].as_array_mut().map(std::mem::take).unwrap_or_default();
    let total = cells.iter().filter(|cell| cell["cell_type"] == "code").count();
    let mut executed = Vec::with_capacity(cells.len());
    let mut number = 0;
    for mut cell in cells {
        if cell["cell_type"] == "code" {
            cell["outputs"] = json!([]);
            cell["execution_count"] = Value::Null;
            let code = source(&cell);
            if failed.is_none() && !code.trim().is_empty() {
                number += 1;
                let ending = run_cell(&mut session, &mut cell, &code, number, total, &terminal);
                if let (CellEnding::Error(_), false) = (ending, args.allow_errors) {
                    failed = session.last_failure.take();
                }
            }
        }
        executed.push(cell);
    }
    notebook["cells"] = Value::Array(executed);
    session.close()?;
    write(&output, &notebook)?;
    let standing = failed.as_ref().map_or_else(|| worst(&session.standings), |failure| failure.standing);
    if json {
        let error = failed.as_ref().map(Failure::record);
        let result = json!({
            "notebook": args.notebook.display().to_string(), "output": output.display().to_string(),
            "dossier": dossier.display().to_string(), "verdicts": session.verdicts, "error": error,
            "exit": standing.exit_status(),
        });
        print_line(&result.to_string());
        return Ok(standing);
    }
    summary(&session.verdicts);
    print_line(&format!("executed notebook: {}", output.display()));
    print_line(&format!("case file:         {}", dossier.display()));
    match failed {
        Some(failure) => Err(failure),
        None => Ok(standing),
    }
}

/// How the verdicts stand towards what their cells expect.
fn summary(verdicts: &[Value]) {
    let unmet: Vec<&Value> = verdicts.iter().filter(|v| v["met"] != true).collect();
    let met = verdicts.len() - unmet.len();
    if !verdicts.is_empty() {
        let itself = verdicts.iter().filter(|v| v["of_itself"] == true).count();
        let itself = if itself > 0 { format!("; {itself} of the reference with itself") } else { String::new() };
        print_line(&format!("verdicts:          {met} of {} as expected{itself}", verdicts.len()));
    }
    for verdict in unmet {
        let word = |key: &str| verdict[key].as_str().unwrap_or_default();
        let post_hoc = if verdict["post_hoc"] == true { ", post hoc" } else { "" };
        print_line(&format!(
            "  not as expected: cell {}, {}{post_hoc} where {} was expected, {}",
            verdict["cell"],
            word("verdict"),
            word("expect"),
            word("candidate"),
        ));
    }
}

/// Refusals and faults before verdicts, "does not hold" before "cannot tell".
fn worst(standings: &[Standing]) -> Standing {
    let order = [Standing::OurFault, Standing::Refused, Standing::Usage, Standing::DoesNotHold, Standing::CannotTell];
    order.into_iter().find(|s| standings.contains(s)).unwrap_or(Standing::Holds)
}

fn run_cell(
    session: &mut Session,
    cell: &mut Value,
    code: &str,
    number: u32,
    total: usize,
    terminal: &Terminal,
) -> CellEnding {
    // What the cell does, rather than the comment above it.
    let says = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    let first = code.lines().find(|l| l.starts_with('%')).or(code.lines().find(says)).unwrap_or_default();
    let colour = std::io::stdout().is_terminal();
    let title: String = first.chars().take(90).collect();
    let (bold, plain) = if colour { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
    terminal.line(&format!("{bold}[{number}/{total}] {title}{plain}"));
    let front = Keeping { terminal, outputs: Mutex::default() };
    let started = Instant::now();
    let request =
        CellRequest { code: code.to_owned(), cell_id: cell["id"].as_str().map(str::to_owned), execution_count: number };
    let ending = session.run_cell(&request, &front);
    terminal.clear();
    let mut outputs = front.outputs.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let CellEnding::Error(error) = &ending {
        outputs.push(error_output(error));
        terminal.line(&error.traceback.join("\n"));
    }
    cell["outputs"] = Value::Array(outputs);
    cell["execution_count"] = json!(number);
    terminal.line(&format!("        {:.2} s\n", started.elapsed().as_secs_f64()));
    ending
}

fn read(path: &Path) -> Result<Value, Failure> {
    let bad = |what: String| Failure {
        place: Some(path.display().to_string()),
        ..Failure::usage("not_a_notebook", format!("{}: {what}", path.display()), "give a Jupyter notebook of format 4")
    };
    let text = std::fs::read_to_string(path).map_err(|e| bad(format!("cannot be read: {e}")))?;
    let notebook: Value = serde_json::from_str(&text).map_err(|e| bad(format!("is not JSON: {e}")))?;
    if notebook["nbformat"] != 4 || !notebook["cells"].is_array() {
        return Err(bad(format!("is of notebook format {}, not 4", notebook["nbformat"])));
    }
    if !notebook["cells"].as_array().is_some_and(|cells| cells.iter().all(Value::is_object)) {
        return Err(bad("has cells that are no objects".to_owned()));
    }
    Ok(notebook)
}

/// Brings the notebook to format 4.5 (cell ids) and adds the parameters.
fn prepare(notebook: &mut Value, parameters: &[String]) -> Result<(), Failure> {
    notebook["nbformat_minor"] = json!(5);
    if !notebook["metadata"].is_object() {
        notebook["metadata"] = json!({});
    }
    let cells = notebook["cells"].as_array_mut().map(std::mem::take).unwrap_or_default();
    let mut prepared = Vec::with_capacity(cells.len() + 1);
    let lines: Result<Vec<String>, Failure> = parameters.chunks(2).map(parameter).collect();
    let mut injected = match lines? {
        lines if lines.is_empty() => None,
        lines => Some(json!({
            "cell_type": "code", "id": "injected-parameters", "metadata": { "tags": ["injected-parameters"] },
            "execution_count": null, "outputs": [], "source": lines.join("\n"),
        })),
    };
    let tagged = cells.iter().any(|cell| has_tag(cell, "parameters"));
    if !tagged {
        prepared.extend(injected.take());
    }
    for (i, mut cell) in cells.into_iter().enumerate() {
        if has_tag(&cell, "injected-parameters") {
            continue;
        }
        if !cell["id"].is_string() {
            cell["id"] = json!(format!("cell-{i}"));
        }
        let parameters = has_tag(&cell, "parameters");
        prepared.push(cell);
        if parameters {
            prepared.extend(injected.take());
        }
    }
    notebook["cells"] = Value::Array(prepared);
    Ok(())
}

/// Whether a cell carries a tag.
pub fn has_tag(cell: &Value, tag: &str) -> bool {
    cell["metadata"]["tags"].as_array().is_some_and(|tags| tags.iter().any(|t| t == tag))
}

/// Rust's words that name no variable, in the 2024 edition.
const KEYWORDS: [&str; 52] = [
    "Self", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
    "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super",
    "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// `let NAME = VALUE;`: integers, floats and booleans as such, anything else as a text.
fn parameter(pair: &[String]) -> Result<String, Failure> {
    let [name, value] = pair else {
        return Err(Failure::usage("usage", "-p takes a name and a value", "write `-p NAME VALUE`"));
    };
    let fits = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name != "_"
        && !KEYWORDS.contains(&name.as_str());
    if !fits {
        return Err(Failure::usage(
            "bad_parameter",
            format!("`{name}` is no name of a Rust variable"),
            "use letters, digits and `_`, and none of Rust's own words",
        ));
    }
    let literal = match (value.parse::<i64>(), value.parse::<f64>()) {
        // An integer without a type is an i32, into which it must fit.
        (Ok(number), _) if i32::try_from(number).is_ok() => number.to_string(),
        (Ok(number), _) => format!("{number}_i64"),
        (_, Ok(number)) if number.is_finite() => format!("{number:?}"),
        _ if value == "true" || value == "false" => value.clone(),
        _ => format!("{value:?}.to_string()"),
    };
    Ok(format!("let {name} = {literal};"))
}

/// The text of a cell, which the format lets be a list of lines.
pub fn source(cell: &Value) -> String {
    match &cell["source"] {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

/// Whole or not at all: a run that is killed leaves no half notebook.
fn write(path: &Path, notebook: &Value) -> Result<(), Failure> {
    let failed = |e: std::io::Error| Failure {
        place: Some(path.display().to_string()),
        standing: Standing::CannotTell,
        ..Failure::refused(
            "output_not_written",
            format!("{} cannot be written: {e}", path.display()),
            "give another place with --output",
        )
    };
    let mut text = serde_json::to_string_pretty(notebook).map_err(|e| failed(e.into()))?;
    text.push('\n');
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    // As any new file, less the umask; a temporary file of its own would be readable by its owner alone.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = builder.tempfile_in(folder).map_err(failed)?;
    std::fs::write(file.path(), text).map_err(failed)?;
    file.persist(path).map_err(|e| failed(e.error))?;
    Ok(())
}

fn error_output(error: &ShownError) -> Value {
    json!({ "output_type": "error", "ename": error.name, "evalue": error.message, "traceback": error.traceback })
}

/// Shows a cell's outputs on the terminal and keeps them for the executed notebook.
struct Keeping<'a> {
    terminal: &'a Terminal,
    outputs: Mutex<Vec<Value>>,
}

impl Keeping<'_> {
    fn keep(&self, output: Value) {
        self.outputs.lock().unwrap_or_else(PoisonError::into_inner).push(output);
    }
}

fn data(bundle: &MimeBundle) -> Value {
    Value::Object(bundle.iter().map(|(mime, text)| (mime.clone(), Value::String(text.clone()))).collect::<Map<_, _>>())
}

impl FrontEnd for Keeping<'_> {
    fn stream(&self, stream: Stream, text: &str) {
        self.terminal.stream(stream, text);
        let name = if stream == Stream::Stdout { "stdout" } else { "stderr" };
        let mut outputs = self.outputs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = outputs.last_mut().filter(|o| o["output_type"] == "stream" && o["name"] == name)
            && let Value::String(so_far) = &mut last["text"]
        {
            so_far.push_str(text);
            return;
        }
        outputs.push(json!({ "output_type": "stream", "name": name, "text": text }));
    }

    fn display(&self, bundle: &MimeBundle) {
        self.terminal.clear();
        self.terminal.display(bundle);
        self.keep(json!({ "output_type": "display_data", "data": data(bundle), "metadata": {} }));
    }

    fn result(&self, execution_count: u32, bundle: &MimeBundle) {
        self.terminal.clear();
        self.terminal.display(bundle);
        self.keep(json!({
            "output_type": "execute_result", "execution_count": execution_count, "data": data(bundle), "metadata": {},
        }));
    }

    fn progress(&self, what: &str, share: Option<f64>) {
        self.terminal.progress(what, share);
    }
}
