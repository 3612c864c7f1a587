//! A notebook's code cells and what they show, whichever front end saved it.
//!
//! Must not know: the log.

use crate::runner::{has_tag, source};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Most characters of a cell's own text in its name.
const LABEL_CHARS: usize = 60;

/// One code cell that is not empty.
pub struct Cell {
    /// Its place among them, from 1, as a run counts them.
    pub number: usize,
    /// The notebook's id of it.
    pub id: Option<String>,
    /// The number shown beside it.
    pub count: Option<u32>,
    /// Its text.
    pub source: String,
    /// What it shows.
    pub shown: Shown,
}

impl Cell {
    /// `code cell 3 (%snapshot)`: its number, and the line that says what it does.
    pub fn name(&self) -> String {
        if self.source.starts_with("// redacted:") {
            return format!("code cell {} (redacted)", self.number);
        }
        let telling = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
        let magic = self.source.lines().find(|line| line.starts_with('%'));
        let line = magic.or_else(|| self.source.lines().find(telling)).unwrap_or_default().trim();
        let label: String = line.chars().take(LABEL_CHARS).collect();
        let more = if label.len() < line.len() { "…" } else { "" };
        format!("code cell {} ({label}{more})", self.number)
    }
}

/// What a cell shows, or what the log says that it showed: in the order in which it came, each stream by itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Displays and the cell's value: texts by MIME type.
    pub bundles: Vec<BTreeMap<String, String>>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// The traceback of each error.
    pub errors: Vec<String>,
    /// Name and message of each error, as a traceback begins.
    pub error_heads: Vec<String>,
}

impl Shown {
    /// Nothing at all.
    pub fn is_empty(&self) -> bool {
        self.bundles.is_empty() && self.stdout.is_empty() && self.stderr.is_empty() && self.errors.is_empty()
    }

    fn of(cell: &Value) -> Shown {
        let mut shown = Shown::default();
        for output in cell["outputs"].as_array().into_iter().flatten() {
            match output["output_type"].as_str() {
                Some("stream") => {
                    let into = if output["name"] == "stderr" { &mut shown.stderr } else { &mut shown.stdout };
                    into.push_str(&joined(&output["text"]));
                }
                Some("error") => {
                    let lines: Vec<&str> =
                        output["traceback"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                    let word = |key: &str| output[key].as_str().unwrap_or_default();
                    shown.errors.push(lines.join("\n"));
                    shown.error_heads.push(format!("{}: {}", word("ename"), word("evalue")));
                }
                _ => {
                    let forms = output["data"].as_object().into_iter().flatten();
                    let forms: BTreeMap<String, String> =
                        forms.map(|(mime, text)| (mime.clone(), joined(text))).collect();
                    // What a progress display leaves behind in a front end that cannot take it away.
                    if forms.values().any(|text| !text.is_empty()) {
                        shown.bundles.push(forms);
                    }
                }
            }
        }
        shown
    }
}

/// A text, which the format lets be a list of lines. Any other value, as its JSON.
fn joined(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) if lines.iter().all(Value::is_string) => lines.iter().filter_map(Value::as_str).collect(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The code cells of a notebook that are not empty, in order.
pub fn cells(notebook: &Value) -> Vec<Cell> {
    let code = notebook["cells"].as_array().into_iter().flatten().filter(|cell| cell["cell_type"] == "code");
    let full =
        code.map(|cell| (cell, source(cell))).filter(|(_, source)| !source.trim().is_empty() && !is_help(source));
    full.enumerate()
        .map(|(i, (cell, source))| Cell {
            number: i + 1,
            id: cell["id"].as_str().map(str::to_owned),
            count: cell["execution_count"].as_u64().and_then(|n| u32::try_from(n).ok()),
            source,
            shown: Shown::of(cell),
        })
        .collect()
}

/// `?%compare` and `%compare?` open a page of help and are entered in no log.
fn is_help(source: &str) -> bool {
    let text = source.trim();
    let name = text.strip_suffix('?').or(text.strip_prefix('?'));
    name.is_some_and(|name| fascicolo_magics::help::page(Some(name.trim())).is_some())
}

/// The notebook that stands beside a case file: `NAME.ipynb`; or, where that shows no outputs, the executed copy that
/// `fascicolo run` left of it, if it has the same cells.
pub fn beside(dossier: &Path) -> PathBuf {
    let own = dossier.with_extension("ipynb");
    let executed = dossier.with_extension("executed.ipynb");
    let read = |path: &Path| -> Option<Value> { serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok() };
    let Some(notebook) = read(&own) else { return own };
    if cells(&notebook).iter().any(|cell| !cell.shown.is_empty()) {
        return own;
    }
    match read(&executed) {
        Some(copy) if sources(&copy) == sources(&notebook) => executed,
        _ => own,
    }
}

/// What the cells say, without those that a run put in for its parameters.
fn sources(notebook: &Value) -> Vec<(String, String)> {
    let all = notebook["cells"].as_array().into_iter().flatten();
    let own = all.filter(|cell| !has_tag(cell, "injected-parameters"));
    own.map(|cell| (cell["cell_type"].as_str().unwrap_or_default().to_owned(), source(cell))).collect()
}

/// Numbers that several cells carry: they tell no cell from another.
pub fn repeated_counts(cells: &[Cell]) -> BTreeSet<u32> {
    let mut seen = BTreeSet::new();
    cells.iter().filter_map(|cell| cell.count).filter(|count| !seen.insert(*count)).collect()
}
