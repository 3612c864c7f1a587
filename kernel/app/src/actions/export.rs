//! `%dossier export`: the case as one file that a stranger checks with stock tools.
//!
//! What goes in: the notebook, the log, the data that was compared (up to a size; else by digest), report.html for
//! people, VERIFY.md for checkers, RO-Crate metadata for archives. The same case gives the same bytes.

use super::crate_metadata::crate_metadata;
use super::{Done, stored};
use crate::failure::Failure;
use crate::ledger;
use crate::session::{Fact, Place, Session};
use crate::validity::{self, Beside, EnvironmentNow, FileNow, Presented, Same};
use fascicolo_contract::Standing;
use fascicolo_dossier::bundle::{self, CaseFile, Source};
use fascicolo_dossier::{Kind, Record, View};
use fascicolo_environment::{Personal, redaction};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

/// What the user asked for.
pub struct Request<'a> {
    /// The file to write.
    pub output: &'a Path,
    /// The notebook, if it is not the one beside the case file.
    pub notebook: Option<&'a Path>,
    /// The largest data file to take along.
    pub data_limit_bytes: u64,
}

pub fn perform(session: &mut Session, request: &Request<'_>, place: &Place) -> Result<Done, Failure> {
    let dossier = session.dossier.path().to_owned();
    let name = dossier.file_stem().map_or_else(|| "case".to_owned(), |stem| stem.to_string_lossy().into_owned());
    let folder = session.folder.clone();

    let mut files = Vec::new();
    let mut masked = 0;
    let beside = match request.notebook {
        None => validity::beside(&dossier),
        Some(path) => Beside { path: session.resolve(path), passed_over: None },
    };
    let notebook = &beside.path;
    // Whatever it is called here: in the case it is the one notebook, and found by the case's name.
    let notebook_name = format!("{name}.ipynb");
    let mut presented = None;
    if notebook.is_file() {
        let (text, count) = shareable_notebook(&session.dossier, notebook)?;
        masked += count;
        presented = Some(serde_json::from_str::<Value>(&text).unwrap_or_default());
        files.push(file(&notebook_name, text.into_bytes()));
    } else if request.notebook.is_some() {
        return Err(Failure {
            place: Some(notebook.display().to_string()),
            ..Failure::usage("no_notebook", format!("{} is not there", notebook.display()), "give the notebook's path")
        });
    }
    let output = session.resolve(request.output);
    may_be_written(&output, &dossier)?;
    if let Some(notebook) = &presented {
        enter_texts(session, place, notebook)?;
    }
    session.close()?;
    let log: &View = &session.dossier;
    let mut data = data(log, &folder, request.data_limit_bytes);
    for file in data.iter_mut().filter(|d| d.taken && is_reserved(&d.path, &name)) {
        file.taken = false;
        file.because = OWN_NAME;
    }
    for taken in data.iter().filter(|d| d.taken) {
        files.push(CaseFile { path: taken.path.clone(), source: Source::File(folder.join(&taken.path)) });
    }
    let validity = self::validity(log, presented.as_ref(), &data);
    for (path, bytes) in derived(log, &name, presented.as_ref(), &data, &validity)? {
        files.push(file(path, bytes));
    }

    let written = bundle::write(
        &output,
        &bundle::Case { name: name.clone(), dossier: dossier.clone(), files, info: Vec::new() },
    )?;
    let left: Vec<Value> = data
        .iter()
        .filter(|d| !d.taken)
        .map(|d| json!({ "path": d.path, "sha256": d.sha256, "because": d.because }))
        .collect();
    let result = json!({
        "output": request.output.display().to_string(), "sha256": written.sha256, "bytes": written.bytes,
        "files": written.payload_files, "entries": log.size(), "root": log.root_hex(), "left_out": left, "masked": masked,
        "notebook": presented.is_some().then(|| notebook_name.clone()),
        "validity": validity["says"], "passed_over": beside.told(),
        "taken": notebook.file_name().filter(|_| presented.is_some()).map(|name| name.to_string_lossy()),
    });
    Ok(Done::shown("dossier_export", result))
}

/// Enters the digests of the text cells as they travel. No run vouches for them; but nobody can change them from then on
/// unseen.
fn enter_texts(session: &mut Session, place: &Place, notebook: &Value) -> Result<(), Failure> {
    let texts: Vec<String> = validity::texts(notebook).into_iter().map(|text| text.digest).collect();
    let body = json!({ "what": validity::EXPORT, "name": "of the notebook" });
    let fact = Fact { body, result: json!({ "text_cells": texts }), ..Fact::default() };
    session.record(place, Kind::Fact, "dossier_export", fact).map(|_| ())
}

/// An export never takes the place of something else: not of the log, not of a file that is no archive.
fn may_be_written(output: &Path, dossier: &Path) -> Result<(), Failure> {
    use std::io::Read;
    let refuse = |why: &str| {
        Err(Failure {
            place: Some(output.display().to_string()),
            ..Failure::refused("output_in_use", format!("{} {why}", output.display()), "give another file with -o")
        })
    };
    let place = output.parent().and_then(|folder| folder.canonicalize().ok());
    if place.zip(dossier.canonicalize().ok()).is_some_and(|(place, dossier)| place.starts_with(dossier)) {
        return refuse("lies in the case file itself");
    }
    let Ok(mut file) = std::fs::File::open(output) else { return Ok(()) };
    let mut magic = [0; 2];
    if file.read_exact(&mut magic).is_err() || &magic != b"PK" {
        return refuse("is there already, and is no archive");
    }
    Ok(())
}

fn file(path: &str, bytes: Vec<u8>) -> CaseFile {
    CaseFile { path: path.to_owned(), source: Source::Bytes(bytes) }
}

/// The notebook with secrets masked, home folder and names replaced, and without what was redacted; how many secrets
/// there were.
fn shareable_notebook(log: &View, path: &Path) -> Result<(String, usize), Failure> {
    let bad = |what: String| Failure {
        place: Some(path.display().to_string()),
        standing: Standing::CannotTell,
        ..Failure::refused(
            "not_a_notebook",
            format!("{}: {what}", path.display()),
            "save the notebook, then export again",
        )
    };
    let text = std::fs::read_to_string(path).map_err(|e| bad(e.to_string()))?;
    let mut notebook: Value = serde_json::from_str(&text).map_err(|e| bad(e.to_string()))?;
    join_lines(&mut notebook);
    take_redacted_out(log, &mut notebook);
    let masked = crate::session::conceal(&mut notebook);
    let text = serde_json::to_string_pretty(&notebook).map_err(|e| bad(e.to_string()))?;
    Ok((text + "\n", masked))
}

/// A cell of which a text was redacted in the log does not travel with that text: its source goes if what ran was
/// redacted, its outputs go with anything that was.
fn take_redacted_out(log: &View, notebook: &mut Value) {
    let mut gone: BTreeMap<u64, bool> = BTreeMap::new();
    for record in log.records() {
        for field in record.committed.keys().filter(|field| log.is_redacted(record.seq, field)) {
            if let Some(start) = record.start.or((record.kind == Kind::Start).then_some(record.seq)) {
                *gone.entry(start).or_default() |= field == "ran";
            }
        }
    }
    let cells = validity::cells(notebook);
    // One cell too many is left out rather than one too few: a number that several cells carry is that of each.
    let same = Same { here: true, repeated: &BTreeSet::new() };
    for run in validity::runs(log) {
        let Some(source) = gone.get(&run.entry()) else { continue };
        for cell in cells.iter().filter(|cell| same.cell(cell, &run)) {
            let cell = &mut notebook["cells"][cell.index];
            cell["outputs"] = json!([]);
            if *source {
                cell["source"] = json!(format!("{} entry {} of the case file", validity::REDACTED, run.entry()));
            }
        }
    }
}

/// Texts that the format lets be lists of lines become texts: a key block over several lines is one secret.
fn join_lines(value: &mut Value) {
    match value {
        Value::Array(items)
            if !items.is_empty() && items.iter().all(|item| item.is_string() && item.as_str() != Some("")) =>
        {
            let lines = items.iter().filter_map(Value::as_str);
            // Every line but the last ends in a newline where the list is one text.
            if items.len() > 1
                && items[..items.len() - 1].iter().all(|line| line.as_str().is_some_and(|l| l.ends_with('\n')))
            {
                *value = Value::String(lines.collect());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(join_lines),
        Value::Object(fields) => fields.iter_mut().for_each(|(_, value)| join_lines(value)),
        _ => {}
    }
}

/// A data file that the case names.
pub(super) struct Data {
    /// As it was named.
    pub(super) path: String,
    /// As it was read.
    pub(super) sha256: String,
    /// It travels with the case.
    pub(super) taken: bool,
    /// Why it does not, one of [`REASONS`].
    pub(super) because: &'static str,
}

const OUTSIDE: &str = "it lies outside the notebook's folder";
const NO_FILE: &str = "it is no longer there, or is a folder";
const TOO_LARGE: &str = "it is larger than the limit";
const CHANGED: &str = "it changed since it was read";
const TELLS: &str = "it holds what looks like a secret, or the place of the home folder";
const NAMES: &str = "its place bears the name of the user or of the machine";
const UNREADABLE: &str = "it cannot be read";
const OWN_NAME: &str = "a file of the case itself has its name";

/// Why a named file may be left out.
pub(super) const REASONS: [&str; 8] = [OUTSIDE, NO_FILE, TOO_LARGE, CHANGED, TELLS, NAMES, UNREADABLE, OWN_NAME];

/// The files that are made of log, notebook and data.
pub(super) const DERIVED: [&str; 3] = ["report.html", "VERIFY.md", "ro-crate-metadata.json"];

/// Whether a path of the case is one of its own files: notebook, log, or what is made of them.
pub(super) fn is_reserved(path: &str, name: &str) -> bool {
    path.strip_suffix(".ipynb") == Some(name) || DERIVED.contains(&path) || path.starts_with("log/")
}

/// The files of [`DERIVED`], of nothing but the log, the notebook as it travels, and which data travel and why others do
/// not: whoever has the case can make them again. `validity`: what [`validity`] gives of the same.
pub(super) fn derived(
    log: &View,
    name: &str,
    notebook: Option<&Value>,
    data: &[Data],
    validity: &Value,
) -> Result<Vec<(&'static str, Vec<u8>)>, Failure> {
    let mut case = case(log, name)?;
    case["generator"] = json!(format!("Fascicolo {}", env!("CARGO_PKG_VERSION")));
    case["validity"] = validity.clone();
    let notebook_name = format!("{name}.ipynb");
    let page = verify_page(name, log.path(), log, data, notebook.map(|_| &notebook_name));
    let dossier = log.path().file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let mut own = vec!["report.html".to_owned(), "VERIFY.md".to_owned()];
    own.extend(notebook.map(|_| notebook_name));
    let crate_file = crate_metadata(log, name, &dossier, &own, data);
    let crate_text = serde_json::to_string_pretty(&crate_file).unwrap_or_default() + "\n";
    let [report, verify, metadata] = DERIVED;
    Ok(vec![
        (report, fascicolo_display::report(&case).into_bytes()),
        (verify, page.into_bytes()),
        (metadata, crate_text.into_bytes()),
    ])
}

/// Whether the notebook that travels stands for what ran, as far as the case itself tells.
pub(super) fn validity(log: &View, notebook: Option<&Value>, data: &[Data]) -> Value {
    let now = |file: &Data| match file.because {
        _ if file.taken => FileNow::AsRead,
        CHANGED => FileNow::Changed,
        because => FileNow::Unknown(format!("it is named by digest only: {because}")),
    };
    let files = data.iter().map(|file| (file.path.clone(), now(file))).collect();
    let environment = EnvironmentNow::NotAsked;
    validity::judge(log, &Presented { notebook, files, environment, here: false })
}

/// What of the files that the case names is taken along.
fn data(log: &View, folder: &Path, limit: u64) -> Vec<Data> {
    named_files(log).into_iter().map(|(path, sha256)| judge(path, sha256, folder, limit)).collect()
}

/// SHA-256 of every file that was read as reference, candidate, code, data, weights or sample, by the path it was named
/// with.
pub(super) fn named_files(log: &View) -> BTreeMap<String, String> {
    let mut named: BTreeMap<String, String> = BTreeMap::new();
    // What is repeated of an imported case names files of the other machine; the import says where they are here.
    for record in log.records().filter(|r| r.from.is_none()) {
        match record.kind {
            Kind::Import => {
                let Ok(import) = stored(log, record.seq) else { continue };
                for (path, sha256) in import["files"].as_object().into_iter().flatten() {
                    named.insert(plain(path), sha256.as_str().unwrap_or_default().to_owned());
                }
                let case = record.reads.iter().find(|f| f.role == "case");
                if let (Some(path), Some(case)) = (import["case"].as_str(), case) {
                    named.insert(plain(path), case.sha256.clone());
                }
            }
            Kind::Opened => {
                for role in ["reference", "candidate"] {
                    let path = log.value(record.seq, &format!("{role}.path")).ok().flatten();
                    let seen = record.reads.iter().find(|f| f.role == role);
                    if let (Some(path), Some(seen)) = (path, seen) {
                        named.insert(plain(&path), seen.sha256.clone());
                    }
                }
            }
            Kind::Reference => {
                let Ok(reference) = stored(log, record.seq) else { continue };
                let mut assets = vec![&reference["output"], &reference["sample"]];
                for part in ["code", "data", "weights"] {
                    assets.extend(reference[part].as_array().into_iter().flatten());
                }
                for asset in assets {
                    if let (Some(path), Some(sha256)) = (asset["path"].as_str(), asset["sha256"].as_str()) {
                        named.insert(plain(path), sha256.to_owned());
                    }
                }
            }
            // A command's declared files: what it read, and what it left behind. Folders are named by another digest.
            Kind::Fact if record.body["what"] == "run" || record.body["what"] == "python" => {
                let Ok(ran) = stored(log, record.seq) else { continue };
                for file in ["reads", "writes"].iter().flat_map(|list| ran[list].as_array().into_iter().flatten()) {
                    // As the command left it.
                    let sha256 = file["sha256_after"].as_str().or(file["sha256"].as_str());
                    if let (Some(path), Some(sha256), true) = (file["path"].as_str(), sha256, file["files"].is_null()) {
                        named.insert(plain(path), sha256.to_owned());
                    }
                }
            }
            _ => {}
        }
    }
    named
}

/// `./a` and `a` are one place.
fn plain(path: &str) -> String {
    let parts = Path::new(path).components().filter(|c| *c != Component::CurDir);
    parts.collect::<std::path::PathBuf>().to_string_lossy().into_owned()
}

fn judge(path: String, sha256: String, folder: &Path, limit: u64) -> Data {
    let inside = Path::new(&path).components().all(|c| matches!(c, Component::Normal(_)));
    let full = folder.join(&path);
    let because = if [redaction::USER, redaction::HOST].iter().any(|name| path.contains(name)) {
        NAMES
    } else if !inside {
        OUTSIDE
    } else if !full.is_file() {
        NO_FILE
    } else if std::fs::metadata(&full).map_or(u64::MAX, |m| m.len()) > limit {
        TOO_LARGE
    } else {
        match std::fs::read(&full) {
            Ok(bytes) if fascicolo_criterion::digest(&bytes) != sha256 => CHANGED,
            // Masking would change what its digest stands for.
            Ok(bytes) if tells_too_much(&bytes) => TELLS,
            Ok(_) => "",
            Err(_) => UNREADABLE,
        }
    };
    Data { taken: because.is_empty(), path, sha256, because }
}

/// Names are no reason: that of an author belongs to a program, and any short one is somewhere in a large file.
fn tells_too_much(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    redaction::shareable(&text, &Personal::here().places()).0 != text
}

/// What a case holds besides its log and what is derived from it, by its path below `data/`.
pub fn case_files(data_folder: &Path, dossier: &str) -> Vec<String> {
    let mut files = files_below(data_folder, data_folder);
    files.retain(|file| {
        let top = file.split('/').next().unwrap_or_default();
        top != dossier && top != "log" && !DERIVED.contains(&file.as_str())
    });
    files
}

fn files_below(folder: &Path, root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_below(&path, root));
        } else if let Ok(relative) = path.strip_prefix(root) {
            let parts: Vec<_> = relative.components().map(|c| c.as_os_str().to_string_lossy().into_owned()).collect();
            found.push(parts.join("/"));
        }
    }
    found.sort();
    found
}

/// The case as the report reads it.
fn case(log: &View, name: &str) -> Result<Value, Failure> {
    let of = |kind: Kind| -> Vec<Value> {
        let records = log.records().filter(|r| r.kind == kind);
        records.map(|r| json!({ "entry": r.seq, "wall": r.wall, "result": told(log, r) })).collect()
    };
    let failures: Vec<Value> = log.records().filter(|r| r.kind == Kind::Error).map(|r| failure(log, r)).collect();
    let mut criteria = of(Kind::Criterion);
    for criterion in &mut criteria {
        let entry = criterion["entry"].as_u64().unwrap_or_default();
        // A component that came ready has none.
        let ready = log.record(entry).is_some_and(|r| r.body["language"] == "component");
        criterion["source"] = if ready { Value::Null } else { json!(log.value(entry, "source")?) };
        criterion["source_redacted_by"] = json!(log.redacted_by(entry, "source"));
    }
    let reference = reference(log);
    let sessions: std::collections::BTreeSet<&str> = log.records().map(|r| r.session.as_str()).collect();
    Ok(json!({
        "name": name, "origin": log.origin(), "entries": log.size(), "root": log.root_hex(), "sessions": sessions.len(),
        "access": reference.as_ref().map(access), "reference": reference,
        "snapshots": of(Kind::Snapshot), "probes": of(Kind::Probe), "criteria": criteria,
        "declarations": of(Kind::Declare), "verdicts": of(Kind::Verdict), "failures": failures,
        "imported": imported(log)?,
    }))
}

/// What the imported cases say of themselves: each by its last import, with its environment and its verdicts.
fn imported(log: &View) -> Result<Vec<Value>, Failure> {
    let parents = log.parents();
    let mut all = Vec::new();
    for (at, parent) in parents.iter().enumerate() {
        if parents[at + 1..].iter().any(|later| later.folder == parent.folder) {
            continue;
        }
        let theirs = fascicolo_dossier::Dossier::read(&parent.folder)?;
        let of = |kind: Kind| -> Vec<Value> {
            let records = theirs.records().filter(|r| r.kind == kind && r.from.is_none());
            records.map(|r| json!({ "entry": r.seq, "wall": r.wall, "result": told(&theirs, r) })).collect()
        };
        all.push(json!({
            "entry": parent.entry, "name": stored(log, parent.entry).ok().map(|r| r["name"].clone()),
            "origin": parent.state.origin, "entries": parent.state.size, "root": fascicolo_dossier::to_hex(&parent.state.root),
            "reference": reference(&theirs),
            "snapshots": of(Kind::Snapshot), "probes": of(Kind::Probe), "verdicts": of(Kind::Verdict),
        }));
    }
    Ok(all)
}

/// The reference in force.
fn reference(log: &View) -> Option<Value> {
    let told = told(log, log.record(ledger::reference(log)?.entry)?);
    (!told.is_null()).then_some(told)
}

/// What an entry recorded. Where that was redacted: by which entry, and what its public facts still tell, but for the
/// word of a verdict, which without its figures is nothing to rely on.
fn told(log: &View, record: &Record) -> Value {
    let Some(by) = log.redacted_by(record.seq, "result") else {
        return stored(log, record.seq).unwrap_or_default();
    };
    let body = &record.body;
    let mut told = match record.kind {
        Kind::Verdict => {
            let candidate = record.reads.iter().find(|f| f.role == "candidate").map(|f| &f.sha256);
            json!({
                "verdict": (body["explore"] == true).then_some("none"), "declaration": { "entry": body["declare"] },
                "criterion": { "name": body["criterion"], "digest": body["digest"], "parameters": body["parameters"] },
                "candidate": { "path": super::dossier::candidate(log, record), "sha256": candidate },
            })
        }
        Kind::Declare => {
            let mut told = body.clone();
            told["reference"] = json!({ "identity": body["reference"] });
            told
        }
        Kind::Probe => {
            let standing = if body["met"] == true { "holds" } else { "does_not_hold" };
            json!({ "require": body["require"], "conclusion": { "standing": standing } })
        }
        _ => body.clone(),
    };
    told["redacted_by"] = json!(by);
    told["entry"] = json!(record.seq);
    told
}

/// Whether the cell of an error had read files to be compared, and did not come to the verdict on them.
fn attempted(log: &View, error: &Record) -> bool {
    let of = |kind: Kind| log.records().filter(move |r| r.kind == kind && r.start == error.start && r.from.is_none());
    of(Kind::Opened).filter(|r| !r.reads.is_empty()).count() > of(Kind::Verdict).count()
}

fn failure(log: &View, record: &Record) -> Value {
    let text = log.value(record.seq, "error").ok().flatten().unwrap_or_default();
    let mut failure: Value = serde_json::from_str(&text).unwrap_or_else(|_| json!({ "kind": record.body["kind"] }));
    failure["entry"] = json!(record.seq);
    failure["wall"] = json!(record.wall);
    failure["attempt"] = json!(attempted(log, record));
    failure["redacted_by"] = json!(log.redacted_by(record.seq, "error"));
    failure
}

/// How to get what the case does not hold: the access notes of the reference.
fn access(reference: &Value) -> Vec<String> {
    let parts = ["code", "data", "weights"].iter().flat_map(|part| reference[*part].as_array().into_iter().flatten());
    parts
        .chain([&reference["sample"]])
        .filter_map(|asset| {
            let note = asset["access"].as_str()?;
            let name = ["name", "path", "entry"].iter().find_map(|key| asset[*key].as_str()).unwrap_or("unnamed");
            Some(format!("{name}: {note}"))
        })
        .collect()
}

/// Checks each entry's link by its leaf hash, then hashes the leaves up to the root of RFC 6962: pair by pair, level by
/// level, an odd one carried up as it is.
const LEAVES: &str = r#"n=0; before=$(printf '%064d' 0); : > leaves
while IFS= read -r line; do
  case $line in
    '{"v":'?',"seq":'$n',"prev":"'$before'",'*) ;;
    *) echo "entry $n does not name the leaf hash of the entry before it" ;;
  esac
  before=$( (printf '\0'; printf '%s' "$line") | sha256sum | cut -c 1-64)
  echo "$before" >> leaves; n=$((n+1))
done < data/FOLDER/entries.jsonl
while [ "$(wc -l < leaves)" -gt 1 ]; do
  while read -r a; do
    if read -r b; then (printf '\1'; printf '%s' "$a$b" | xxd -r -p) | sha256sum | cut -c 1-64; else echo "$a"; fi
  done < leaves > above; mv above leaves
done
cat leaves; rm leaves
"#;

/// A name as it stands for itself in a command.
fn in_a_shell(name: &str) -> String {
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)) && !name.starts_with('-');
    if plain { name.to_owned() } else { format!("'{}'", name.replace('\'', "'\\''")) }
}

/// Commands of stock tools only, and what each shows.
fn verify_page(name: &str, dossier: &Path, log: &View, data: &[Data], notebook: Option<&String>) -> String {
    let folder = in_a_shell(&dossier.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default());
    let mut page = format!(
        "# How to check this case\n\n\
         Nothing here needs to be executed to be checked. In the unpacked folder `{name}`:\n\n\
         1. **No file was damaged on its way.** `sha256sum -c manifest-sha256.txt` and\n\
         \u{20}  `sha256sum -c tagmanifest-sha256.txt` (on macOS `shasum -a 256 -c`). Whoever changes a file can change these\n\
         \u{20}  lists too; what binds the case is the log.\n\
         2. **The log is as it was written.** Its {} entries are the lines of `data/{folder}/entries.jsonl`; each line's\n\
         \u{20}  `prev` is the leaf hash of the line before. The leaf hash of line N:\n\
         \u{20}  `(printf '\\0'; sed -n Np data/{folder}/entries.jsonl | tr -d '\\n') | sha256sum`.\n\
         \u{20}  The root over all of them (RFC 6962) stands in `data/{folder}/checkpoint` in base64, here in hexadecimal:\n\
         \u{20}  `{}`; the checkpoint gives the same by\n\
         \u{20}  `sed -n 3p data/{folder}/checkpoint | base64 -d | od -An -v -tx1 | tr -d ' \\n'`.\n\
         \u{20}  All leaves, each against the next, and then the root, need a shell and `xxd`; this prints nothing but the\n\
         \u{20}  root, and takes some milliseconds for each entry:\n\n\
         ```sh\n{LEAVES}```\n\n\
         3. **All of it at once, with the program:** `fascicolo verify CASE.zip`. It also compares the data files with the\n\
         \u{20}  digests in the log and the notebook's code cells and outputs with what ran and was recorded, and makes\n\
         \u{20}  report.html, ro-crate-metadata.json and this page again to compare them. The notebook's text cells are free\n\
         \u{20}  text, for which no run vouches: the log binds them as they were when the case was exported.\n",
        log.size(),
        log.root_hex(),
        LEAVES = LEAVES.replace("FOLDER", &folder),
    );
    page += "4. **Archives can read it.** `data/` is an RO-Crate; with `roc-validator` of PyPI:\n   \
             `rocrate-validator validate -p process-run-crate data`. Clients of C2SP logs read `data/log`.\n";
    // An empty folder does not travel.
    if std::fs::read_dir(log.path().join("signatures")).is_ok_and(|mut signatures| signatures.next().is_some()) {
        page += "5. **Who signed.** For each `SIZE.checkpoint` in `data/FOLDER/signatures`:\n   \
                 `ssh-keygen -Y verify -f ALLOWED_SIGNERS -I WHO -n fascicolo-checkpoint@v0 -s SIZE.….sshsig < SIZE.checkpoint`.\n   \
                 A `SIZE.note` beside it is the same checkpoint as a signed note (C2SP), signed with an Ed25519 key.\n";
        page = page.replace("FOLDER", &folder);
    }
    page += "\nWhat this shows: nothing was changed since it was written. What it cannot show without an outside witness: that \
             its author did not write the whole log anew. An earlier checkpoint that somebody else kept is such a witness: \
             `fascicolo verify CASE.zip --witness CHECKPOINT`.\n";
    if let Some(notebook) = notebook {
        page += &format!(
            "\nTo run it again in an empty folder, with nothing else in reach, and compare what comes out:\n\
             `fascicolo replay CASE.zip --into FOLDER` (it runs {notebook}, and asks first).\n"
        );
    }
    let access = reference(log).as_ref().map(access).unwrap_or_default();
    if !access.is_empty() {
        page += "\n## How to get what the case only names\n\n";
        for note in access {
            page += &format!("- {note}\n");
        }
        page += "\nNo key, token or password is in this case.\n";
    }
    let left: Vec<&Data> = data.iter().filter(|d| !d.taken).collect();
    if !left.is_empty() {
        page += "\n## Files that are named by digest only\n\n";
        for file in left {
            page += &(left_out(&file.path, &file.sha256, file.because) + "\n");
        }
    }
    page + &format!("\nWritten by Fascicolo {}.\n", env!("CARGO_PKG_VERSION"))
}

/// A line about a file that does not travel.
pub(super) fn left_out(path: &str, sha256: &str, because: &str) -> String {
    format!("- `{path}` SHA-256 `{sha256}`: {because}")
}

#[cfg(test)]
mod tests {
    use super::in_a_shell;

    #[test]
    fn a_name_in_a_command_is_one_word_whatever_it_holds() {
        assert_eq!(in_a_shell("n-1.fascicolo"), "n-1.fascicolo");
        assert_eq!(in_a_shell("my $(n)'s.fascicolo"), r"'my $(n)'\''s.fascicolo'");
        assert_eq!(in_a_shell("-n"), "'-n'");
    }
}
