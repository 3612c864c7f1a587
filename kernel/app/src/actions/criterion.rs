//! `%%criterion`, `%criterion show|list`, and how a criterion is found by name.

use super::{Done, files};
use crate::failure::Failure;
use crate::front::{FrontEnd, Stream};
use crate::ledger;
use crate::session::{Fact, Place, Session};
use fascicolo_contract::verdict::{Description, MeasureAsked};
use fascicolo_criterion::{Admitted, CriterionError, compile, digest, host, inspect, python, standard, wat};
use fascicolo_dossier::{FileSeen, Kind, View};
use fascicolo_magics::criterion::{CriterionArgs, Language};
use serde_json::{Value, json};
use std::io::Read;
use std::path::Path;

pub fn perform(
    session: &mut Session,
    args: &CriterionArgs,
    body: &str,
    place: &Place,
    front: &dyn FrontEnd,
) -> Result<Done, Failure> {
    if !args.defines() {
        return look(args, Some(&session.dossier));
    }
    let name = args.what.as_str();
    if standard::find(name).is_some() {
        return Err(Failure::usage(
            "standard_name",
            format!("`{name}` is a standard criterion"),
            "give yours another name, so that nobody takes one for the other",
        ));
    }
    let made = match &args.component {
        Some(path) => take(session, name, path, args.sha256.as_deref(), front)?,
        None => make(session, name, args.lang, body, front)?,
    };
    define(session, name, made, place)
}

/// `list`, `show` and `help`, which need no session, and no case file either.
pub fn look(args: &CriterionArgs, log: Option<&View>) -> Result<Done, Failure> {
    match args.what.as_str() {
        "list" => Ok(Done::shown("help", json!({ "text": list(log) }))),
        "show" => show(log, args.name.as_deref()),
        _ => super::help(&["criterion".to_owned()]),
    }
}

/// A criterion that can run, with the digest that a declaration seals.
pub struct Found {
    /// Ready to run.
    pub admitted: Admitted,
    /// SHA-256 of its component.
    pub digest: String,
    /// The component.
    pub component: Vec<u8>,
    /// Whether it ships with the program.
    pub standard: bool,
}

/// Finds the user's criterion of this name, or the standard one.
pub fn find(session: &mut Session, name: &str) -> Result<Found, Failure> {
    let (component, standard) = component(Some(&session.dossier), name)?;
    let admitted = session.admit(name, &component)?;
    Ok(Found { admitted, digest: digest(&component), component, standard })
}

/// The component of a standard criterion as it was sealed, where this program ships another one by now.
pub fn as_sealed(session: &mut Session, name: &str, sealed: &str) -> Result<Found, Failure> {
    let component = session.dossier.blob(sealed)?;
    let admitted = session.admit(name, &component)?;
    Ok(Found { admitted, digest: digest(&component), component, standard: true })
}

/// The component of a criterion, and whether it is a standard one.
fn component(log: Option<&View>, name: &str) -> Result<(Vec<u8>, bool), Failure> {
    if let Some((log, compiled)) = log.and_then(|log| Some((log, ledger::criterion(log, name)?))) {
        return Ok((log.blob(&compiled.digest)?, false));
    }
    match standard::find(name) {
        Some(standard) => Ok((standard.component.to_vec(), true)),
        None => Err(CriterionError::Unknown { name: name.to_owned(), known: known(log) }.into()),
    }
}

fn known(log: Option<&View>) -> Vec<String> {
    let mut names = log.map(ledger::criterion_names).unwrap_or_default();
    names.extend(standard::STANDARD.iter().map(|s| s.name.to_owned()));
    names
}

/// A criterion that was made, and how.
struct Made {
    /// The component, or what stands for it where an interpreter runs the source.
    component: Vec<u8>,
    language: &'static str,
    source: Option<String>,
    /// What is particular to the language, for the record.
    about: Value,
    elapsed_ms: u64,
    reads: Vec<FileSeen>,
}

/// Makes a component of a cell.
fn make(
    session: &mut Session,
    name: &str,
    language: Language,
    body: &str,
    front: &dyn FrontEnd,
) -> Result<Made, Failure> {
    if body.trim().is_empty() {
        let what = format!("criterion `{name}` has an empty body");
        return Err(Failure::usage("empty_body", what, "`%help criterion` shows a whole criterion"));
    }
    // The component goes into the case file for good, texts of the source with it.
    let masked = fascicolo_environment::mask(body).count();
    if masked > 0 {
        return Err(Failure::refused(
            "secret_in_source",
            format!("the source of criterion `{name}` holds {masked} text(s) that look like a secret"),
            "take it out: a criterion sees nothing but rows and parameters, and its source is shared with the case file",
        ));
    }
    let started = std::time::Instant::now();
    let (component, about) = match language {
        Language::Rust => {
            let toolchain = session.toolchain(front)?;
            front.progress(&format!("compiling criterion {name}"), None);
            let interrupt = session.interrupt.clone();
            // In memory alone: a folder of components could be written by any code of this user.
            let cell = (name.to_owned(), body.to_owned());
            let compiled = match session.cells.get(&cell) {
                Some(compiled) => compiled.clone(),
                None => {
                    let compiled = compile::compile(&toolchain, name, body, &|| interrupt.is_raised())?;
                    session.cells.insert(cell, compiled.clone());
                    compiled
                }
            };
            let about = json!({
                "rustc": toolchain.version, "sdk_digest": toolchain.sdk_digest,
                "confinement": compiled.confinement.name(),
            });
            (compiled.component, about)
        }
        Language::Python => {
            // What is sealed is this very text, comments and all, and no export can map folders in it.
            if fascicolo_environment::Personal::here().places().replaced(body) != body {
                return Err(Failure::refused(
                    "place_in_source",
                    format!("the source of criterion `{name}` names your home folder"),
                    "take it out: the source is sealed as it stands, and travels with the case file",
                ));
            }
            let script = python::Script::new(name, body)?;
            if !session.host()?.has_python() {
                front.stream(Stream::Stderr, "compiling the Python host, once for this version of the program\n");
            }
            front.progress(&format!("reading criterion {name}"), None);
            (script.sealed(), json!({ "python_host_digest": python::digest() }))
        }
        Language::Wat => (wat::assemble(name, body)?, json!({})),
    };
    let elapsed_ms = started.elapsed().as_millis() as u64;
    let (language, source) = (language.name(), Some(body.to_owned()));
    Ok(Made { component, language, source, about, elapsed_ms, reads: Vec::new() })
}

/// Takes a ready component.
fn take(
    session: &mut Session,
    name: &str,
    path: &Path,
    sha256: Option<&str>,
    front: &dyn FrontEnd,
) -> Result<Made, Failure> {
    compile::check_name(name)?;
    let path = session.resolve(path);
    let unreadable = |e: std::io::Error| Failure {
        place: Some(files::shown(&path)),
        ..Failure::usage("component_unreadable", format!("{} cannot be read: {e}", path.display()), "name a file")
    };
    let mut component = Vec::new();
    // One byte more tells that there are too many; the inspection says so.
    let most = inspect::COMPONENT_BYTES as u64 + 1;
    std::fs::File::open(&path).and_then(|file| file.take(most).read_to_end(&mut component)).map_err(unreadable)?;
    let has = digest(&component);
    if let Some(wants) = sha256.filter(|wants| *wants != has) {
        return Err(CriterionError::OtherDigest { name: name.to_owned(), wants: wants.to_owned(), has }.into());
    }
    let text = String::from_utf8_lossy(&component);
    let masked = fascicolo_environment::mask(&text).count();
    if masked > 0 {
        return Err(Failure::refused(
            "secret_in_source",
            format!("component `{name}` holds {masked} text(s) that look like a secret"),
            "build it without them: the component travels with the case file",
        ));
    }
    if fascicolo_environment::Personal::here().places().replaced(&text) != text {
        let what = "note: the component names your home folder, and goes into the case file as it is; \
                    `--remap-path-prefix` keeps a compiler from that\n";
        front.stream(Stream::Stderr, what);
    }
    let about = json!({ "sha256_given": sha256.is_some() });
    let reads = vec![FileSeen { role: "component".to_owned(), sha256: has, bytes: component.len() as u64 }];
    Ok(Made { component, language: "component", source: None, about, elapsed_ms: 0, reads })
}

fn define(session: &mut Session, name: &str, made: Made, place: &Place) -> Result<Done, Failure> {
    let started = std::time::Instant::now();
    let admitted = session.admit(name, &made.component)?;
    let digest = digest(&made.component);
    let mut result = describe(&admitted.description);
    let mut body = json!({ "name": name, "language": made.language, "digest": digest });
    result["language"] = json!(made.language);
    result["digest"] = json!(digest);
    if let Some(source) = &made.source {
        let source_digest = fascicolo_criterion::digest(source.as_bytes());
        result["source_digest"] = json!(source_digest);
        body["source_digest"] = json!(source_digest);
    }
    result["bytes"] = json!(made.component.len());
    // An interpreter reads the source when it is asked what it is.
    let admission_ms = if made.language == "python" { started.elapsed().as_millis() as u64 } else { 0 };
    result["compile_ms"] = if made.source.is_some() { json!(made.elapsed_ms + admission_ms) } else { Value::Null };
    for (key, value) in made.about.as_object().into_iter().flatten() {
        result[key] = value.clone();
        // With the digests it stands in the entry what the component was made with.
        if key.ends_with("_digest") {
            body[key] = value.clone();
        }
    }
    result["limits"] = limits(&admitted);
    let fact = Fact {
        body,
        result,
        private: made.source.map(|source| ("source".to_owned(), source)).into_iter().collect(),
        blobs: vec![("component".to_owned(), made.component)],
        reads: made.reads,
        ..Fact::default()
    };
    session.record(place, Kind::Criterion, "criterion", fact)
}

/// What holds a criterion while it runs, for the record.
pub fn limits(admitted: &Admitted) -> Value {
    let budget = admitted.budget();
    json!({
        "base_fuel": budget.base_fuel, "verdict_fuel": budget.verdict_fuel, "fuel_per_row": budget.fuel_per_row, "fuel_per_value": budget.fuel_per_value,
        "memory_bytes": host::MEMORY_BYTES, "table_entries": host::TABLE_ENTRIES, "stack_bytes": host::STACK_BYTES,
        "answer_bytes": host::ANSWER_BYTES,
    })
}

fn describe(d: &Description) -> Value {
    let parameters: Vec<Value> = d
        .parameters
        .iter()
        .map(|p| json!({ "name": p.name, "unit": p.unit, "meaning": p.meaning, "least": p.least, "most": p.most }))
        .collect();
    let measures: Vec<String> = d.measures.iter().map(measure).collect();
    let mut wants = Vec::new();
    if d.wants_vectors {
        wants.push("vectors");
    }
    if d.wants_labels {
        wants.push("labels");
    }
    if d.wants_candidate_labels {
        wants.push("the candidate's labels");
    }
    json!({ "name": d.name, "version": d.version, "meaning": d.meaning, "parameters": parameters, "measures": measures, "wants": wants })
}

fn measure(asked: &MeasureAsked) -> String {
    match asked {
        MeasureAsked::Dot => "dot".into(),
        MeasureAsked::NormReference => "norm_reference".into(),
        MeasureAsked::NormCandidate => "norm_candidate".into(),
        MeasureAsked::Cosine => "cosine".into(),
        MeasureAsked::L2 => "l2".into(),
        MeasureAsked::AbsMax => "abs_max".into(),
        MeasureAsked::RelMax => "rel_max".into(),
        MeasureAsked::RelUndefined => "rel_undefined".into(),
        MeasureAsked::ElementsOver { atol, rtol } => format!("elements_over({atol}, {rtol})"),
        MeasureAsked::UlpMax => "ulp_max".into(),
        MeasureAsked::ValueBits => "value_bits".into(),
        MeasureAsked::NeighboursKept(names) => format!("neighbours_kept({}, {})", names.k, names.queries),
        MeasureAsked::NeighboursTied(names) => format!("neighbours_tied({}, {})", names.k, names.queries),
        MeasureAsked::CentroidKept => "centroid_kept".into(),
    }
}

fn list(log: Option<&View>) -> String {
    let mut text = String::from("criteria of this case file:\n");
    let own = log.map(ledger::criterion_names).unwrap_or_default();
    for name in &own {
        text += &format!("  {name}\n");
    }
    if own.is_empty() {
        text += "  none yet; write one in a `%%criterion NAME` cell\n";
    }
    text += "standard criteria (`%criterion show NAME` for formula, units and traps):\n";
    for standard in standard::STANDARD {
        let first = standard.source.lines().next().unwrap_or_default().trim_start_matches("//!").trim();
        text += &format!("  {:<10} {first}\n", standard.name);
    }
    text
}

fn show(log: Option<&View>, name: Option<&str>) -> Result<Done, Failure> {
    let name = name.ok_or_else(|| {
        Failure::usage("usage", "`%criterion show` needs a name", "`%criterion list` shows the names there are")
    })?;
    let (component, _) = component(log, name)?;
    let entry =
        |log: &View| log.records().rev().find(|r| r.kind == Kind::Criterion && r.body["name"] == name).map(|r| r.seq);
    let own = log.and_then(|log| Some((log, entry(log)?)));
    let ready = own.is_some_and(|(log, entry)| log.record(entry).is_some_and(|r| r.body["language"] == "component"));
    let source = match (own, standard::find(name)) {
        (Some(_), _) if ready => "a ready component was taken; its source is not known here".to_owned(),
        (Some((log, entry)), _) => log.value(entry, "source")?.unwrap_or_else(|| "its source was redacted".to_owned()),
        (None, standard) => standard.map(|s| s.source.to_owned()).unwrap_or_default(),
    };
    let admitted = crate::session::criteria_host()?.admit(name, &component)?;
    let mut result = describe(&admitted.description);
    result["digest"] = json!(digest(&component));
    for key in ["language", "python_host_digest"] {
        if let Some(known) = own.and_then(|(log, entry)| log.record(entry)).and_then(|r| r.body.get(key)) {
            result[key] = known.clone();
        }
    }
    if !ready {
        result["source_digest"] = json!(fascicolo_criterion::digest(source.as_bytes()));
    }
    result["bytes"] = json!(component.len());
    result["source"] = json!(source);
    Ok(Done::shown("criterion", result))
}
