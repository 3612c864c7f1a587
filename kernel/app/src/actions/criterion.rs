//! `%%criterion`, `%criterion show|list`, and how a criterion is found by name.

use super::Done;
use crate::failure::Failure;
use crate::front::FrontEnd;
use crate::ledger;
use crate::session::{Fact, Place, Session};
use fascicolo_contract::verdict::{Description, MeasureAsked};
use fascicolo_criterion::{Admitted, CriterionError, compile, digest, host, standard};
use fascicolo_dossier::{Kind, View};
use fascicolo_magics::criterion::{CriterionArgs, Language};
use serde_json::{Value, json};

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
    match args.lang {
        Language::Rust => define(session, &args.what, body, place, front),
    }
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

fn define(session: &mut Session, name: &str, body: &str, place: &Place, front: &dyn FrontEnd) -> Result<Done, Failure> {
    if standard::find(name).is_some() {
        return Err(Failure::usage(
            "standard_name",
            format!("`{name}` is a standard criterion"),
            "give yours another name, so that nobody takes one for the other",
        ));
    }
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
    let toolchain = session.toolchain(front)?;
    front.progress(&format!("compiling criterion {name}"), None);
    let interrupt = session.interrupt.clone();
    let compiled = compile::compile(&toolchain, name, body, &|| interrupt.is_raised())?;
    let admitted = session.admit(name, &compiled.component)?;
    let description = &admitted.description;
    let digest = digest(&compiled.component);
    let source_digest = fascicolo_criterion::digest(body.as_bytes());
    let mut result = describe(description);
    result["digest"] = json!(digest);
    result["source_digest"] = json!(source_digest);
    result["bytes"] = json!(compiled.component.len());
    result["compile_ms"] = json!(compiled.elapsed_ms);
    result["rustc"] = json!(toolchain.version);
    result["sdk_digest"] = json!(toolchain.sdk_digest);
    result["confinement"] = json!(compiled.confinement.name());
    result["limits"] = limits();
    let fact = Fact {
        body: json!({ "name": name, "digest": digest, "source_digest": source_digest, "sdk_digest": toolchain.sdk_digest }),
        result,
        private: vec![("source".to_owned(), body.to_owned())],
        blobs: vec![("component".to_owned(), compiled.component)],
        ..Fact::default()
    };
    session.record(place, Kind::Criterion, "criterion", fact)
}

/// What holds a criterion while it runs, for the record.
pub fn limits() -> Value {
    json!({
        "base_fuel": host::BASE_FUEL, "fuel_per_row": host::FUEL_PER_ROW, "fuel_per_value": host::FUEL_PER_VALUE,
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
    let source = match (log.and_then(|log| Some((log, entry(log)?))), standard::find(name)) {
        (Some((log, entry)), _) => log.value(entry, "source")?.unwrap_or_else(|| "its source was redacted".to_owned()),
        (None, standard) => standard.map(|s| s.source.to_owned()).unwrap_or_default(),
    };
    let admitted = crate::session::criteria_host()?.admit(name, &component)?;
    let mut result = describe(&admitted.description);
    result["digest"] = json!(digest(&component));
    result["source_digest"] = json!(fascicolo_criterion::digest(source.as_bytes()));
    result["bytes"] = json!(component.len());
    result["source"] = json!(source);
    Ok(Done::shown("criterion", result))
}
