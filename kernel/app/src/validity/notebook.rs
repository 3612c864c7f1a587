//! A notebook's code cells and what they show, whichever front end saved it.
//!
//! Must not know: the log.

use crate::runner::{has_tag, source};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Most characters of a cell's own text in its name.
const LABEL_CHARS: usize = 60;

/// How a cell begins whose text was redacted.
pub const REDACTED: &str = "// redacted:";

/// One code cell that is not empty.
pub struct Cell {
    /// Its place among them, from 1, as a run counts them.
    pub number: usize,
    /// Its place among all cells of the notebook, from 0.
    pub index: usize,
    /// The notebook's id of it.
    pub id: Option<String>,
    /// The number shown beside it.
    pub count: Option<u32>,
    /// Its text.
    pub source: String,
    /// What it is tagged with.
    pub tags: Vec<String>,
    /// What it shows.
    pub shown: Shown,
}

impl Cell {
    /// Whether an export left its text out because it was redacted.
    pub fn is_redacted(&self) -> bool {
        self.source.starts_with(REDACTED)
    }

    /// `code cell 3 (%snapshot)`: its number, and the line that says what it does.
    pub fn name(&self) -> String {
        if self.is_redacted() {
            return format!("code cell {} (redacted)", self.number);
        }
        named("code cell", self.number, &self.source)
    }
}

/// `code cell 3 (%snapshot)`: what it is, its number, and the line that says what it does.
fn named(what: &str, number: usize, source: &str) -> String {
    let telling = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    let magic = source.lines().find(|line| line.starts_with('%'));
    let line = magic.or_else(|| source.lines().find(telling)).unwrap_or_default().trim();
    let label: String = line.chars().take(LABEL_CHARS).collect();
    let more = if label.len() < line.len() { "…" } else { "" };
    format!("{what} {number} ({label}{more})")
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
    let all = notebook["cells"].as_array().into_iter().flatten().enumerate();
    let code = all.filter(|(_, cell)| cell["cell_type"] == "code");
    let full = code.map(|(index, cell)| (index, cell, source(cell))).filter(|(.., source)| counts(source));
    full.enumerate()
        .map(|(i, (index, cell, source))| Cell {
            number: i + 1,
            index,
            tags: tags(cell),
            id: cell["id"].as_str().map(str::to_owned),
            count: cell["execution_count"].as_u64().and_then(|n| u32::try_from(n).ok()),
            source,
            shown: Shown::of(cell),
        })
        .collect()
}

fn tags(cell: &Value) -> Vec<String> {
    let tags = cell["metadata"]["tags"].as_array().into_iter().flatten();
    tags.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Whether a code cell of this text is one that runs.
fn counts(source: &str) -> bool {
    !source.trim().is_empty() && !is_help(source)
}

/// `?%compare` and `%compare?` open a page of help and are entered in no log.
fn is_help(source: &str) -> bool {
    let text = source.trim();
    let name = text.strip_suffix('?').or(text.strip_prefix('?'));
    name.is_some_and(|name| fascicolo_magics::help::page(&[name.trim()]).is_some())
}

/// The notebook that was found beside a case file, and the one that was not taken.
pub struct Beside {
    /// The one that is taken, whether or not it is there.
    pub path: PathBuf,
    /// Another one that could have been.
    pub passed_over: Option<PassedOver>,
}

/// The executed copy, where it was not taken.
pub struct PassedOver {
    path: PathBuf,
    because: String,
    /// It was to be expected: nobody need wonder.
    usual: bool,
}

impl Beside {
    /// `{"name", "because"}` of the one that was not taken, or null.
    pub fn told(&self) -> Value {
        self.passed_over.as_ref().map_or(Value::Null, |over| {
            let name = over.path.file_name().map(|name| name.to_string_lossy());
            json!({ "name": name, "because": over.because, "usual": over.usual })
        })
    }
}

/// The notebook that stands beside a case file: `NAME.ipynb`; or, where that shows no outputs, the executed copy that
/// `fascicolo run` left of it, if it has the same cells.
pub fn beside(dossier: &Path) -> Beside {
    let own = dossier.with_extension("ipynb");
    let executed = dossier.with_extension("executed.ipynb");
    let read = |path: &Path| -> Result<Value, String> {
        let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
        serde_json::from_str(&text).map_err(|e| format!("it is no notebook: {e}"))
    };
    if !executed.exists() {
        return Beside { path: own, passed_over: None };
    }
    let (because, usual) = match (read(&own), read(&executed)) {
        (Err(_), _) => ("the notebook that it is a copy of cannot be read".to_owned(), false),
        (Ok(notebook), _) if cells(&notebook).iter().any(|cell| !cell.shown.is_empty()) => {
            ("the notebook itself shows outputs".to_owned(), true)
        }
        (Ok(_), Err(why)) => (why, false),
        (Ok(notebook), Ok(copy)) => match first_difference(&notebook, &copy) {
            None => return Beside { path: executed, passed_over: None },
            Some(cell) => (format!("it is no copy of the notebook as it stands, {cell}"), false),
        },
    };
    Beside { path: own, passed_over: Some(PassedOver { path: executed, because, usual }) }
}

/// Which cell of an executed copy is not the notebook's, if any. What a run put in for its parameters is none of either.
fn first_difference(notebook: &Value, copy: &Value) -> Option<String> {
    let (own, copied) = (places(notebook), places(copy));
    let differs = own.iter().zip(&copied).find(|(a, b)| (&a.kind, &a.source) != (&b.kind, &b.source));
    if let Some((_, other)) = differs {
        return Some(format!("{} says something else there", other.name()));
    }
    match (own.get(copied.len()), copied.get(own.len())) {
        (Some(gone), _) => Some(format!("{} is missing there", gone.name())),
        (_, Some(new)) => Some(format!("{} is there only", new.name())),
        (None, None) => None,
    }
}

/// A cell of any kind.
struct Placed {
    kind: String,
    /// Its place among the cells of its kind, from 1; of code cells, as [`cells`] counts them.
    number: usize,
    source: String,
    /// Pictures that a text cell brings along.
    attachments: Value,
}

impl Placed {
    fn name(&self) -> String {
        match self.kind.as_str() {
            "code" => named("code cell", self.number, &self.source),
            _ => named("text cell", self.number, &self.source),
        }
    }
}

/// Every cell of a notebook but those that a run put in.
fn places(notebook: &Value) -> Vec<Placed> {
    let (mut code, mut text) = (0, 0);
    let all = notebook["cells"].as_array().into_iter().flatten();
    let own = all.filter(|cell| !has_tag(cell, "injected-parameters"));
    own.map(|cell| {
        let (kind, source) = (cell["cell_type"].as_str().unwrap_or_default().to_owned(), source(cell));
        let number = if kind == "code" { &mut code } else { &mut text };
        *number += usize::from(kind != "code" || counts(&source));
        Placed { kind, number: *number, source, attachments: cell["attachments"].clone() }
    })
    .collect()
}

/// A cell of text: no run stands behind it.
pub struct Text {
    /// `text cell 2 (# Results)`.
    pub name: String,
    /// SHA-256 of what it shows, and of how many code cells stand above it.
    pub digest: String,
}

/// The cells that hold text, in order.
pub fn texts(notebook: &Value) -> Vec<Text> {
    let mut above = 0;
    let mut texts = Vec::new();
    for cell in places(notebook) {
        if cell.kind == "code" {
            above = cell.number;
        } else if !cell.source.trim().is_empty() {
            let shown = json!([cell.kind, cell.source, cell.attachments, above]).to_string();
            texts.push(Text { name: cell.name(), digest: fascicolo_criterion::digest(shown.as_bytes()) });
        }
    }
    texts
}

/// Numbers that several cells carry: they tell no cell from another.
pub fn repeated_counts<'c>(cells: impl IntoIterator<Item = &'c Cell>) -> BTreeSet<u32> {
    let mut seen = BTreeSet::new();
    cells.into_iter().filter_map(|cell| cell.count).filter(|count| !seen.insert(*count)).collect()
}
