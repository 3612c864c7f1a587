//! Training logs as tables: a step is a row, its scalars are the row's vector.
//!
//! Owns: which files are logs, which of their columns are compared, rows of one step that belong together. What a
//! format looks like is in `csv`, `json`, `columns` (Parquet) and `events` (TensorBoard). Start at [`Log::read`].

mod columns;
mod csv;
mod events;
mod json;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use arrow::array::{Array, Float64Builder, ListBuilder, StringArray};
use arrow::datatypes::{DataType, Field};

use crate::files::{failed, open_file};
use crate::select::{Chosen, Selection};
use crate::table::Table;
use crate::texts::{Family, TextColumn};
use crate::vectors::VectorColumn;
use crate::{Columns, Error};

/// Longest log that is read, in bytes: it is held in memory several times over.
const LONGEST: u64 = 1 << 30;

/// Numbers that a log can hold, rows times columns as far as they are filled: a column anew in every line would take memory
/// with the square of the lines.
const MOST_CELLS: usize = 30_000_000;

/// What a file says, before any column is chosen: numbers by column and row, as they stand.
#[derive(Debug, Default)]
pub(crate) struct Raw {
    /// Names of all columns, in the order of the file.
    names: Vec<String>,
    /// Where each of them stands among the others.
    places: HashMap<String, usize>,
    /// The number of each column in each row; `None` where there is none.
    rows: Vec<Vec<Option<f64>>>,
    /// Columns that hold something that is no number.
    texts: Vec<bool>,
    /// Numbers and gaps in all rows together.
    cells: usize,
}

impl Raw {
    /// Adds a row; false if the log holds more than can be read.
    fn push(&mut self, row: Vec<Option<f64>>) -> bool {
        self.cells += row.len();
        self.rows.push(row);
        self.cells <= MOST_CELLS
    }

    /// The place of a column, which is made if it is not there yet.
    fn column(&mut self, name: &str) -> usize {
        if let Some(&at) = self.places.get(name) {
            return at;
        }
        let at = self.names.len();
        self.places.insert(name.to_owned(), at);
        self.names.push(name.to_owned());
        self.texts.push(false);
        at
    }

    fn get(&self, row: usize, column: usize) -> Option<f64> {
        self.rows.get(row).and_then(|row| row.get(column).copied().flatten())
    }
}

/// A training log: the scalars of each step.
#[derive(Debug, Clone, PartialEq)]
pub struct Log {
    /// Name of the column with the step.
    pub step: String,
    /// Names of the scalars.
    pub scalars: Vec<String>,
    /// Each step with its scalars, in the order of the file. A step or a scalar that a row lacks is `None`.
    pub rows: Vec<(Option<f64>, Vec<Option<f64>>)>,
    /// Scalars that no one named and that not every step has; they are left out.
    pub sparse: Vec<String>,
}

/// Whether the table at `path` is a training log: by its name, or, of a Parquet file, by its columns being plain
/// numbers.
pub(crate) fn is_log(path: &Path, wanted: &Columns) -> bool {
    match format(path) {
        Some(Format::Parquet) => columns::is_log(path, wanted),
        found => found.is_some(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Csv(u8),
    Json,
    Parquet,
    Events,
}

fn format(path: &Path) -> Option<Format> {
    let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
    if name.contains("tfevents") {
        return Some(Format::Events);
    }
    match name.rsplit_once('.')?.1 {
        "csv" => Some(Format::Csv(b',')),
        "tsv" => Some(Format::Csv(b'\t')),
        "jsonl" | "ndjson" => Some(Format::Json),
        "parquet" => Some(Format::Parquet),
        _ => None,
    }
}

impl Log {
    /// Reads a log. `columns.id` names the column with the step (by default `step`), `columns.vector` the scalars,
    /// joined by commas (by default all that have a number at every step).
    ///
    /// Rows of one step that do not contradict each other, as where losses of training and validation are logged apart,
    /// are one row.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Unreadable`], [`Error::NotAFile`], [`Error::Log`], and those of Parquet files.
    pub fn read(path: &Path, columns: &Columns) -> Result<Log, Error> {
        let raw = read(path)?;
        let named = columns.vector.as_deref().map(scalars);
        if let Some(absent) = named.iter().flatten().find(|name| !raw.names.contains(*name)) {
            return Err(unfit(
                path,
                format!("it has no column `{absent}`; it has {}", listed(&raw.names)),
                NAME_SCALARS,
            ));
        }
        Log::select(path, &raw, columns.id.as_deref(), named)
    }

    /// Reads the log that is compared with `reference`: of the reference's scalars those that it has. `None` in place
    /// of the second value where the columns are the reference's; else a sentence on how they differ.
    ///
    /// # Errors
    /// As [`Log::read`].
    pub fn read_like(path: &Path, reference: &Log, columns: &Columns) -> Result<(Log, Option<String>), Error> {
        let raw = read(path)?;
        let has = |name: &&String| raw.names.contains(*name);
        let there: Vec<String> = reference.scalars.iter().filter(has).cloned().collect();
        let lacking: Vec<String> = reference.scalars.iter().filter(|name| !has(name)).cloned().collect();
        let log = Log::select(path, &raw, columns.id.as_deref(), Some(there))?;
        let mut differ = Vec::new();
        if !lacking.is_empty() {
            differ.push(format!("the candidate has no {}", listed(&lacking)));
        }
        // Where nobody named scalars the reference's are all there are, and others are a difference.
        if columns.vector.is_none() {
            let own = Log::select(path, &raw, columns.id.as_deref(), None).map(|log| log.scalars).unwrap_or_default();
            let known = |name: &String| reference.scalars.contains(name) || reference.sparse.contains(name);
            let extra: Vec<String> = own.into_iter().filter(|name| !known(name)).collect();
            if !extra.is_empty() {
                differ.push(format!("the candidate has {}, which the reference has not", listed(&extra)));
            }
        }
        Ok((log, (!differ.is_empty()).then(|| differ.join("; "))))
    }

    fn select(path: &Path, raw: &Raw, step: Option<&str>, named: Option<Vec<String>>) -> Result<Log, Error> {
        let name = step.unwrap_or("step");
        let step = raw.places.get(name).copied().ok_or_else(|| {
            let what = format!("it has no column `{name}` with the step; it has {}", listed(&raw.names));
            unfit(path, what, "name the column with the step: id = \"NAME\" under [output], or --id NAME")
        })?;
        let place = |name: &String| raw.places.get(name).copied();
        let given = named.is_some();
        let mut scalars: Vec<(String, usize)> = match named {
            Some(named) => named.into_iter().filter_map(|name| place(&name).map(|at| (name, at))).collect(),
            None => {
                let all = raw.names.iter().cloned().enumerate().map(|(at, name)| (name, at));
                all.filter(|(_, at)| *at != step && !raw.texts[*at]).collect()
            }
        };
        if let Some((name, _)) = scalars.iter().find(|(_, at)| raw.texts[*at]) {
            return Err(unfit(path, format!("its column `{name}` holds something that is no number"), NAME_SCALARS));
        }
        if raw.texts[step] {
            let what = format!("its column `{name}` holds something that is no number, so it is no step");
            return Err(unfit(path, what, "name the column with the step: id = \"NAME\" under [output], or --id NAME"));
        }
        let places: Vec<usize> = scalars.iter().map(|(_, at)| *at).collect();
        let mut rows = merged(raw, step, &places);
        let mut sparse = Vec::new();
        if !given {
            let dense: Vec<bool> =
                (0..scalars.len()).map(|i| rows.iter().all(|(_, values)| values[i].is_some())).collect();
            let texts = raw.names.iter().enumerate().filter(|(at, _)| *at != step && raw.texts[*at]);
            sparse.extend(texts.map(|(_, name)| name.clone()));
            sparse.extend(scalars.iter().zip(&dense).filter(|(_, dense)| !**dense).map(|((name, _), _)| name.clone()));
            for (_, values) in &mut rows {
                let mut keep = dense.iter();
                values.retain(|_| keep.next().copied().unwrap_or(false));
            }
            let mut keep = dense.iter();
            scalars.retain(|_| keep.next().copied().unwrap_or(false));
        }
        if scalars.is_empty() && given == sparse.is_empty() {
            return Err(unfit(
                path,
                format!("no scalar of it can be compared; it has {}", listed(&raw.names)),
                NAME_SCALARS,
            ));
        }
        let scalars = scalars.into_iter().map(|(name, _)| name).collect();
        Ok(Log { step: name.to_owned(), scalars, rows, sparse })
    }

    /// The same steps with these scalars, in this order; one that it has not is missing at every step.
    pub fn with_scalars(&self, scalars: &[String]) -> Log {
        let places: Vec<Option<usize>> =
            scalars.iter().map(|name| self.scalars.iter().position(|own| own == name)).collect();
        let row = |values: &[Option<f64>]| -> Vec<Option<f64>> {
            places.iter().map(|place| place.and_then(|at| values.get(at).copied().flatten())).collect()
        };
        let rows = self.rows.iter().map(|(step, values)| (*step, row(values))).collect();
        Log { step: self.step.clone(), scalars: scalars.to_vec(), rows, sparse: Vec::new() }
    }

    /// The log as CSV, each number in the shortest form that reads back to the same float64.
    pub fn to_csv(&self) -> String {
        let cell = |value: &Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        let head: Vec<String> =
            std::iter::once(&self.step).chain(&self.scalars).map(|name| csv::quoted(name)).collect();
        let mut text = head.join(",") + "\n";
        for (step, values) in &self.rows {
            let cells: Vec<String> = std::iter::once(step).chain(values).map(cell).collect();
            text += &(cells.join(",") + "\n");
        }
        text
    }

    /// The same as a table of ids and vectors.
    pub(crate) fn table(&self) -> Result<(Selection, Table), String> {
        let steps: StringArray = self.rows.iter().map(|(step, _)| step.map(|step| step.to_string())).collect();
        let mut ids = TextColumn::default();
        ids.append(&steps, steps.logical_nulls().as_ref(), false);
        let mut lists = ListBuilder::new(Float64Builder::new());
        for (_, values) in &self.rows {
            values.iter().for_each(|value| lists.values().append_option(*value));
            lists.append(true);
        }
        let lists = lists.finish();
        let data_type = DataType::List(Field::new_list_field(DataType::Float64, true).into());
        let mut vectors = VectorColumn::new(&data_type);
        vectors.append(&lists, None).map_err(|inexact| format!("{inexact:?}"))?;
        let names = self.scalars.join(", ");
        let chosen = |name: &str, type_name: String, data_type: DataType, family: Option<Family>| Chosen {
            name: name.to_owned(),
            path: vec![name.to_owned()],
            type_name,
            data_type,
            family,
            leaves: Vec::new(),
        };
        let id = chosen(&self.step, "step".to_owned(), DataType::Utf8, Some(Family::Integer));
        let vector = chosen(&names, format!("scalars of a log: {names}"), data_type, None);
        Ok((Selection { id, vector, label: None }, Table { ids, vectors, labels: None }))
    }
}

const NAME_SCALARS: &str =
    "name the scalars: vector = \"loss, lr\" under [output], or --vector \"loss, lr\" while exploring";

/// Names joined by commas.
fn scalars(list: &str) -> Vec<String> {
    list.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

/// Rows of one step that have no scalar in common, or the same number, are one.
fn merged(raw: &Raw, step: usize, places: &[usize]) -> Vec<(Option<f64>, Vec<Option<f64>>)> {
    let mut rows: Vec<(Option<f64>, Vec<Option<f64>>)> = Vec::new();
    let mut last: HashMap<u64, usize> = HashMap::new();
    for row in 0..raw.rows.len() {
        let values: Vec<Option<f64>> = places.iter().map(|&column| raw.get(row, column)).collect();
        let step = raw.get(row, step);
        if step.is_none() && values.iter().all(Option::is_none) {
            continue;
        }
        // −0 and 0 are one step.
        let known = step.and_then(|step| last.get(&(step + 0.0).to_bits()).copied());
        if let Some(at) = known {
            // A whole row again is a step that stands twice, and not the rest of one.
            let apart = values.iter().zip(&rows[at].1).all(|(new, old)| new.is_none() || old.is_none());
            if apart {
                for (old, new) in rows[at].1.iter_mut().zip(&values) {
                    *old = old.or(*new);
                }
                continue;
            }
        }
        if let Some(step) = step {
            last.insert((step + 0.0).to_bits(), rows.len());
        }
        rows.push((step, values));
    }
    rows
}

fn read(path: &Path) -> Result<Raw, Error> {
    let format = format(path).ok_or_else(|| {
        let next = "write CSV (*.csv, *.tsv), JSON lines (*.jsonl), Parquet, or TensorBoard's event file (*tfevents*)";
        unfit(path, "its name ends as that of no format of logs", next)
    })?;
    if format == Format::Parquet {
        return columns::read(path);
    }
    let (_, bytes) = open_file(path)?;
    if bytes > LONGEST {
        return Err(unfit(
            path,
            format!("it has {bytes} bytes, more than {LONGEST}"),
            "log fewer steps, or write Parquet",
        ));
    }
    let content = std::fs::read(path).map_err(|error| failed(path, error))?;
    let read = match format {
        Format::Csv(separator) => csv::read(&content, separator),
        Format::Json => json::read(&content),
        Format::Events => events::read(&content),
        Format::Parquet => Ok(Raw::default()),
    };
    read.map_err(|what| {
        unfit(path, what, "look at the line named; a run that was interrupted may have cut its last one")
    })
}

fn unfit(path: &Path, what: impl Into<String>, next: &str) -> Error {
    Error::Log { path: PathBuf::from(path), what: what.into(), next: next.to_owned() }
}

/// Names for a sentence.
fn listed(names: &[String]) -> String {
    const LISTED: usize = 20;
    let list = names.iter().take(LISTED).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => "no columns".to_owned(),
        n if n > LISTED => format!("{list} and {} more", n - LISTED),
        _ => list,
    }
}
