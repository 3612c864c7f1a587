//! What binds an unpacked case to its log: data by their digests, the notebook's code cells and outputs by what ran and
//! was shown, and what was made of all that by making it again.
//!
//! Owns: which difference is a fault, and which only something that nobody can tell. Must not know: the bag, the hashes
//! of the log, who signed. Start at [`check`].

use super::dossier;
use super::export::{self, Data};
use super::faults::{self, Found, Of};
use super::why::Unwatched;
use crate::failure::Failure;
use crate::ledger;
use crate::validity::{self, Cell, Compared, Run, Same, Told};
use fascicolo_contract::Standing;
use fascicolo_dossier::bundle::Opened;
use fascicolo_dossier::{Dossier, View};
use fascicolo_embeddings::file_digest;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Component, Path};

/// What was found.
#[derive(Default)]
pub struct Bound {
    /// What is not what the log gives.
    pub faults: Vec<Found>,
    /// What the log does not bind.
    pub notes: Vec<String>,
    /// Code cells that the log does not bind as they stand, each with the reason.
    pub unbound: Vec<String>,
    /// Cells of text, for which no run can vouch.
    pub text_cells: Vec<String>,
    /// The entry that binds them as they were exported, if there is one.
    pub texts_bound: Option<u64>,
    /// Whether the notebook stands for what ran, as `%dossier status` tells it.
    pub validity: Value,
    /// Something that should be compared could not be.
    pub untold: bool,
    /// Files that the log names and the case does not hold: path, SHA-256, and the reason.
    pub absent: Vec<(String, String, String)>,
}

impl Bound {
    fn fault(&mut self, file: &str, what: impl Into<String>) {
        self.faults.push(Found { of: Of::Bound, entry: None, file: file.to_owned(), what: what.into() });
    }
}

/// Compares an unpacked case with its log, which must have been verified. Nothing of the case is executed.
///
/// `folder`: the bag's `data`.
pub fn check(log: &View, name: &str, folder: &Path) -> Result<Bound, Failure> {
    let mut bound = Bound::default();
    let notebook_name = format!("{name}.ipynb");
    let notebook = notebook(&folder.join(&notebook_name), &notebook_name, &mut bound);
    if let Some(notebook) = &notebook {
        bind_notebook(log, notebook, &notebook_name, &mut bound);
    }
    let named = export::named_files(log);
    files(log, &named, folder, &notebook_name, &mut bound);
    derived(log, name, &named, folder, notebook.as_ref(), &mut bound)?;
    Ok(bound)
}

/// What does not hold as a whole is neither run nor made a ground to stand on. `done`: what was not done with it.
///
/// Of one that holds, what else was found.
pub fn must_hold(case: &Path, opened: &Opened, done: &str) -> Result<Bound, Failure> {
    let mut bound = Bound::default();
    let mut order = Vec::new();
    if opened.verification.integrity {
        let log = Dossier::read(&opened.dossier)?;
        bound = check(&log, &opened.name, &opened.folder.join("data"))?;
        order = ledger::order_faults(&log);
    }
    let mut found = dossier::log_faults(&opened.verification.faults, &order);
    found.extend(dossier::bag_faults(opened).chain(bound.faults.drain(..)));
    let folder = opened.dossier.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let Some(first) = faults::first(found, &folder) else { return Ok(bound) };
    Err(Failure {
        place: Some(case.display().to_string()),
        standing: Standing::DoesNotHold,
        ..Failure::refused(
            "case_does_not_verify",
            format!("{} is not as it was exported: {first}", case.display()),
            format!("get it again from where it came; nothing was {done}"),
        )
    })
}

/// The notebook of the case, if it has one.
fn notebook(path: &Path, name: &str, bound: &mut Bound) -> Option<Value> {
    let Ok(text) = std::fs::read_to_string(path) else {
        bound.notes.push("the case has no notebook".to_owned());
        return None;
    };
    match serde_json::from_str(&text) {
        Ok(notebook) => Some(notebook),
        Err(error) => {
            bound.fault(name, format!("it is no notebook: {error}"));
            None
        }
    }
}

/// Each code cell's text and outputs against every run of it.
fn bind_notebook(log: &View, notebook: &Value, name: &str, bound: &mut Bound) {
    let cells = validity::cells(notebook);
    let runs = validity::runs(log);
    let repeated = validity::repeated_counts(&cells);
    let same = Same { here: false, repeated: &repeated };
    let session = validity::last_session(&cells, &runs, &same);
    let (mut bound_cells, mut cleared) = (0, 0);
    for cell in &cells {
        let mut own: Vec<&Run<'_>> = runs.iter().filter(|run| same.cell(cell, run)).collect();
        if own.is_empty() {
            // A cell that was cut and pasted has another id, and the same text.
            own = runs.iter().filter(|run| same.source(cell, run)).collect();
        }
        match of_cell(log, cell, &own, &same, session) {
            Binding::Bound => bound_cells += 1,
            Binding::Cleared => cleared += 1,
            Binding::Note(note) => bound.unbound.push(format!("{}: {note}", cell.name())),
            Binding::Fault(what) => bound.fault(name, format!("{}: {what}", cell.name())),
        }
    }
    bound.notes.extend(bound.unbound.iter().cloned());
    bind_texts(log, notebook, name, bound);
    let absent = runs.iter().filter(|run| Some(run.start.session.as_str()) == session && !run.only_looks());
    for run in absent.filter(|run| !cells.iter().any(|cell| same.cell(cell, run) || same.source(cell, run))) {
        let ran = match &run.ran {
            validity::Told::Known(ran) => ran.lines().find(|line| !line.trim().is_empty()).unwrap_or_default(),
            validity::Told::Unknown(why) => why,
        };
        let ran: String = ran.chars().take(60).collect();
        bound.notes.push(format!("entry {} ran a cell that the notebook does not have: {ran}", run.entry()));
    }
    if cleared > 0 {
        bound
            .notes
            .push(format!("{cleared} code cells ran as they stand; their outputs were cleared, the log has them"));
    }
    bound.notes.push(format!(
        "{bound_cells} of {} code cells are bound by the log, their text and their outputs",
        cells.len()
    ));
}

/// The text cells against what they were when the case was exported: an export enters their digests.
fn bind_texts(log: &View, notebook: &Value, name: &str, bound: &mut Bound) {
    let texts = validity::texts(notebook);
    bound.text_cells = texts.iter().map(|text| text.name.clone()).collect();
    let Some((entry, exported)) = validity::exported_texts(log) else { return };
    bound.texts_bound = Some(entry);
    let other: Vec<&validity::Text> = texts.iter().filter(|text| !exported.contains(&text.digest)).collect();
    for text in &other {
        bound.fault(name, format!("{}: it is not as it was exported (entry {entry})", text.name));
    }
    let same = texts.iter().map(|text| &text.digest).eq(&exported);
    if other.is_empty() && !same {
        let (now, then) = (texts.len(), exported.len());
        bound.fault(
            name,
            format!("it has {now} text cells where {then} were exported, or in another order (entry {entry})"),
        );
    }
}

/// How one cell stands to the log.
enum Binding {
    Bound,
    Cleared,
    Note(String),
    Fault(String),
}

fn of_cell(log: &View, cell: &Cell, own: &[&Run<'_>], same: &Same<'_>, session: Option<&str>) -> Binding {
    let of_text: Vec<&&Run<'_>> = own.iter().filter(|run| same.source(cell, run)).collect();
    if of_text.is_empty() {
        let hidden = own.iter().find(|run| matches!(run.ran, Told::Unknown(_)));
        return match (own.last(), hidden, cell.shown.is_empty()) {
            (_, Some(run), _) => {
                Binding::Note(format!("what ran in entry {} is no longer disclosed: nobody can tell", run.entry()))
            }
            (Some(run), None, _) => Binding::Fault(format!("its text is not what ran (entry {})", run.entry())),
            (None, None, true) => Binding::Note("it never ran, and nothing binds it".to_owned()),
            (None, None, false) => Binding::Fault("it shows outputs, and the log has no run of it".to_owned()),
        };
    }
    // The last run of the last session is what a notebook shows; of any other run somebody must be told.
    let last = of_text.iter().rev().find(|run| Some(run.start.session.as_str()) == session).or(of_text.last());
    let Some(last) = last.map(|run| run.entry()) else { return Binding::Bound };
    let judged = |run: &Run<'_>| match run.end {
        Some(end) => (end.seq, validity::compare(log, &cell.shown, end, same)),
        None => (run.entry(), Compared::Unknown("the end of its run is not in the log".to_owned())),
    };
    let mut others = of_text.iter().filter(|run| run.entry() != last);
    let of_last = of_text.iter().find(|run| run.entry() == last).map(|run| judged(run));
    let mut earlier = |found: Binding| match others.find(|run| matches!(judged(run).1, Compared::Same)) {
        Some(run) => Binding::Note(format!("it shows what its run of entry {} gave, not its last run", run.entry())),
        None => found,
    };
    match of_last {
        None | Some((_, Compared::Same)) => Binding::Bound,
        Some((_, Compared::Cleared)) => Binding::Cleared,
        Some((entry, Compared::Changed(what))) => earlier(Binding::Fault(format!("{what} (entry {entry})"))),
        Some((entry, Compared::Unknown(why))) => {
            earlier(Binding::Note(format!("nobody can tell whether its outputs are those of entry {entry}: {why}")))
        }
    }
}

/// Every other file: one that the log names, with its digest, or one that is made anew below.
fn files(log: &View, named: &BTreeMap<String, String>, folder: &Path, notebook: &str, bound: &mut Bound) {
    for file in export::case_files(folder, &dossier_name(log)).into_iter().filter(|file| file != notebook) {
        match (named.get(&file), file_digest(&folder.join(&file), &Unwatched)) {
            (None, _) => bound.fault(&file, "the log names no such file"),
            (Some(_), Err(error)) => bound.fault(&file, format!("it cannot be read: {error}")),
            (Some(sha256), Ok((found, _))) if *sha256 != found => {
                bound.fault(&file, format!("its content is not the one that the log names, SHA-256 {sha256}"));
            }
            (Some(_), Ok(_)) => {}
        }
    }
}

/// What is made of log, notebook and data, made again.
fn derived(
    log: &View,
    name: &str,
    named: &BTreeMap<String, String>,
    folder: &Path,
    notebook: Option<&Value>,
    bound: &mut Bound,
) -> Result<(), Failure> {
    let read = |file: &str| std::fs::read(folder.join(file)).unwrap_or_default();
    let page = String::from_utf8_lossy(&read("VERIFY.md")).into_owned();
    let mut data = Vec::new();
    for (path, sha256) in named {
        let taken = travels(log, path, folder, name);
        let because = if taken { Some("") } else { reason(&page, path, sha256) };
        if because.is_none() && !of_other_version("VERIFY.md", page.as_bytes()) {
            bound.fault("VERIFY.md", format!("it gives no known reason why {path} does not travel"));
        }
        if !taken {
            let because = because.unwrap_or("the case does not say why");
            bound.notes.push(format!("{path} is named by the log and not in the case, so not checked: {because}"));
            bound.absent.push((path.clone(), sha256.clone(), because.to_owned()));
        }
        data.push(Data { path: path.clone(), sha256: sha256.clone(), taken, because: because.unwrap_or_default() });
    }
    bound.validity = export::validity(log, notebook, &data);
    for (file, bytes) in export::derived(log, name, notebook, &data, &bound.validity)? {
        let presented = read(file);
        if presented == bytes {
            continue;
        }
        if of_other_version(file, &presented) {
            let version = written_by(file, &presented).unwrap_or_default();
            bound.untold = true;
            bound.notes.push(format!(
                "{file}: cannot tell: it was written by version {version}, this is {VERSION}; with version {version} it can be \
                 made again and compared"
            ));
        } else {
            let line = first_difference(&presented, &bytes);
            bound.fault(file, format!("it is not what the log and the files of this case give, from line {line} on"));
        }
    }
    Ok(())
}

/// Whether a named file is one of those in the bag. A path that leads out of it is not.
fn travels(log: &View, path: &str, folder: &Path, name: &str) -> bool {
    let inside = Path::new(path).components().all(|c| matches!(c, Component::Normal(_)));
    let top = path.split('/').next().unwrap_or_default();
    let own = export::is_reserved(path, name) || top == dossier_name(log);
    inside && !own && folder.join(path).is_file()
}

/// Why a file does not travel, as the page tells it: a reason is not in the log, but there are only so many.
fn reason(page: &str, path: &str, sha256: &str) -> Option<&'static str> {
    let begins = export::left_out(path, sha256, "");
    let told = page.lines().find_map(|line| line.strip_prefix(begins.trim_end()))?.trim();
    export::REASONS.into_iter().find(|reason| *reason == told)
}

/// The version of this program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

fn of_other_version(file: &str, presented: &[u8]) -> bool {
    written_by(file, presented).is_some_and(|version| version != VERSION)
}

/// The version that says of itself that it wrote a derived file.
fn written_by(file: &str, presented: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(presented);
    let between = |before: &str, after: &str| {
        let (_, rest) = text.split_once(before)?;
        Some(rest.split_once(after)?.0.to_owned())
    };
    match file {
        "report.html" => between("<meta name=\"generator\" content=\"Fascicolo ", "\""),
        "VERIFY.md" => between("Written by Fascicolo ", ".\n"),
        _ => {
            let value: Value = serde_json::from_str(&text).ok()?;
            let program = value["@graph"].as_array()?.iter().find(|item| item["@type"] == "SoftwareApplication")?;
            program["softwareVersion"].as_str().map(str::to_owned)
        }
    }
}

/// The first line, from 1, in which two texts differ.
fn first_difference(one: &[u8], other: &[u8]) -> usize {
    let (mut ones, mut others) = (one.split(|b| *b == b'\n'), other.split(|b| *b == b'\n'));
    let mut line = 1;
    while let (Some(a), Some(b)) = (ones.next(), others.next()) {
        if a != b {
            return line;
        }
        line += 1;
    }
    line
}

fn dossier_name(log: &View) -> String {
    log.path().file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{first_difference, reason, written_by};

    #[test]
    fn a_reason_is_taken_from_the_page_only_if_it_is_one_that_an_export_gives() {
        let page = |why: &str| format!("## Files\n\n- `a/b` SHA-256 `00`: {why}\n");
        assert_eq!(reason(&page("it is larger than the limit"), "a/b", "00"), Some("it is larger than the limit"));
        assert_eq!(reason(&page("it was not needed"), "a/b", "00"), None);
        assert_eq!(reason(&page("it is larger than the limit"), "a/b", "11"), None);
        assert_eq!(reason(&page("it is larger than the limit"), "a", "00"), None);
    }

    #[test]
    fn a_derived_file_tells_the_version_that_wrote_it() {
        let page = b"<head>\n<meta name=\"generator\" content=\"Fascicolo 9.1.0\"/>";
        assert_eq!(written_by("report.html", page).as_deref(), Some("9.1.0"));
        assert_eq!(written_by("VERIFY.md", b"x\n\nWritten by Fascicolo 9.1.0.\n").as_deref(), Some("9.1.0"));
        let crated = br#"{"@graph": [{"@id": "./"}, {"@type": "SoftwareApplication", "softwareVersion": "9.1.0"}]}"#;
        assert_eq!(written_by("ro-crate-metadata.json", crated).as_deref(), Some("9.1.0"));
        assert_eq!(written_by("ro-crate-metadata.json", b"no"), None);
        assert_eq!(written_by("VERIFY.md", b"no"), None);
    }

    #[test]
    fn the_line_of_a_difference_is_told() {
        assert_eq!(first_difference(b"a\nb\nc", b"a\nx\nc"), 2);
        assert_eq!(first_difference(b"a\nb", b"a\nb\nc"), 3);
    }
}
