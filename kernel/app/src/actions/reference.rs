//! `%%reference new`, `%reference show`: what must be reproduced, and its identity.
//!
//! The identity is the SHA-256 of the canonical JSON (RFC 8785) of the content, in which files stand by digest and not
//! by place: the same reference declared in two folders is one reference.

use super::Done;
use super::files::{self, Watching, bytes_digest};
use crate::failure::Failure;
use crate::front::FrontEnd;
use crate::ledger;
use crate::session::{Fact, Place, Session};
use fascicolo_contract::Standing;
use fascicolo_dossier::{FileSeen, Kind, View};
use fascicolo_embeddings::{Columns, Comparison};
use fascicolo_magics::reference::{ReferenceArgs, ReferenceWhat};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::PathBuf;

/// The form, as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    goal: Goal,
    preprocessing: Option<String>,
    output: Output,
    code: Option<Asset>,
    #[serde(default)]
    data: Vec<Asset>,
    #[serde(default)]
    weights: Vec<Asset>,
    sample: Option<Asset>,
    parameters: Option<toml::Table>,
    determinism: Option<toml::Table>,
    #[serde(default)]
    documentation: Vec<Document>,
}

/// Documentation that was consulted.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Document {
    title: String,
    version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Goal {
    /// The same categories.
    Categories,
    /// Similar values.
    Values,
    /// Resuming a training trajectory.
    Trajectory,
}

impl Goal {
    fn name(self) -> &'static str {
        match self {
            Goal::Categories => "categories",
            Goal::Values => "values",
            Goal::Trajectory => "trajectory",
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Output {
    path: PathBuf,
    id: Option<String>,
    vector: Option<String>,
    label: Option<String>,
}

/// Code, data, weights or the sample.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asset {
    name: Option<String>,
    path: Option<PathBuf>,
    revision: Option<String>,
    sha256: Option<String>,
    entry: Option<String>,
    options: Option<String>,
    meaning: Option<String>,
    provenance: Option<String>,
    licence: Option<String>,
    access: Option<String>,
}

pub fn perform(
    session: &mut Session,
    args: &ReferenceArgs,
    body: &str,
    place: &Place,
    front: &dyn FrontEnd,
) -> Result<Done, Failure> {
    match args.what {
        ReferenceWhat::New => new(session, args.name.as_deref(), body, place, front),
        ReferenceWhat::Show => show(&session.dossier, args.name.as_deref()),
    }
}

/// The declared reference; one of another name is not shown in its place.
pub fn show(log: &View, name: Option<&str>) -> Result<Done, Failure> {
    let reference = ledger::reference(log).ok_or_else(|| {
        let next = "begin with a `%%reference new NAME` cell";
        Failure::refused("no_reference", "no reference is declared in this case file", next)
    })?;
    if let Some(other) = name.filter(|name| *name != reference.name) {
        let what = format!("the declared reference is `{}`, not `{other}`", reference.name);
        return Err(Failure::usage("other_reference", what, "`%dossier log` lists the references declared before"));
    }
    Ok(Done::shown("reference", super::stored(log, reference.entry)?))
}

fn new(
    session: &mut Session,
    name: Option<&str>,
    body: &str,
    place: &Place,
    front: &dyn FrontEnd,
) -> Result<Done, Failure> {
    let name =
        name.ok_or_else(|| Failure::usage("usage", "`%%reference new` needs a name", "write `%%reference new NAME`"))?;
    let form: Form = toml::from_str(body).map_err(|error| {
        let line = error.span().map(|span| body[..span.start.min(body.len())].lines().count().max(1));
        Failure {
            place: line.map(|l| format!("line {l} of the form")),
            ..Failure::usage(
                "reference_form",
                format!(
                    "the reference cannot be read: {}{}",
                    error.message(),
                    line.map(|l| format!(" (line {l} of the form)")).unwrap_or_default()
                ),
                "`%help reference` shows the whole form",
            )
        }
    })?;
    let mut reads = Vec::new();
    let mut warnings = Vec::new();
    let output = output(session, &form.output, front, &mut reads)?;
    let mut assets = |role: &str, list: &[Asset]| -> Result<Value, Failure> {
        if list.is_empty() {
            warnings.push(format!("no {role} is named, so a difference in it cannot be told"));
        }
        list.iter().map(|a| asset(session, role, a, front, &mut reads, &mut warnings)).collect()
    };
    let code = assets("code", form.code.as_slice())?;
    let data = assets("data", &form.data)?;
    let weights = assets("weights", &form.weights)?;
    let sample = match &form.sample {
        // The sample may be the data themselves; then its meaning is enough.
        Some(sample) => asset(session, "sample", sample, front, &mut reads, &mut Vec::new())?,
        None => {
            warnings.push("no sample is described".to_owned());
            Value::Null
        }
    };
    let mut result = json!({
        "goal": form.goal.name(), "output": output, "code": code, "data": data, "weights": weights, "sample": sample,
        "parameters": form.parameters, "preprocessing": form.preprocessing, "determinism": form.determinism,
    });
    if !form.documentation.is_empty() {
        result["documentation"] = json!(form.documentation);
    }
    let identity = identity(&result)?;
    let current = ledger::reference(&session.dossier).filter(|r| r.identity == identity && r.name == name);
    // What was redacted is entered afresh; the identity is the same.
    if let Some(mut stored) = current.and_then(|current| session.stored(current.entry).ok()) {
        stored["already"] = json!(true);
        return Ok(Done::shown("reference", stored));
    }
    result["name"] = json!(name);
    result["identity"] = json!(identity);
    result["warnings"] = json!(warnings);
    let body = json!({
        "name": name, "identity": identity, "goal": form.goal.name(), "output": result["output"]["sha256"],
        "warnings": warnings.len(),
    });
    session.record(place, Kind::Reference, "reference", Fact { body, result, reads, ..Fact::default() })
}

/// SHA-256 of the canonical JSON, in which files stand by digest and not by place.
fn identity(content: &Value) -> Result<String, Failure> {
    let mut content = content.clone();
    let forget_place = |asset: &mut Value| {
        if let Some(map) = asset.as_object_mut() {
            map.retain(|key, value| key != "path" && !value.is_null());
        }
    };
    for part in ["output", "sample"] {
        forget_place(&mut content[part]);
    }
    for part in ["code", "data", "weights"] {
        content[part].as_array_mut().into_iter().flatten().for_each(forget_place);
    }
    let canonical = serde_json_canonicalizer::to_vec(&content).map_err(|e| Failure {
        standing: Standing::OurFault,
        ..Failure::refused("reference_not_json", format!("the reference has no canonical JSON: {e}"), "report this")
    })?;
    Ok(fascicolo_criterion::digest(&canonical))
}

/// Digest and structure of the one example of a valid output.
fn output(session: &Session, form: &Output, front: &dyn FrontEnd, reads: &mut Vec<FileSeen>) -> Result<Value, Failure> {
    let path = session.resolve(&form.path);
    let watch =
        Watching { what: format!("reading {}", files::shown(&form.path)), front, interrupt: session.interrupt.clone() };
    let seen = files::seen("reference", &path, &watch)?;
    let columns =
        Columns { id: form.id.clone(), vector: form.vector.clone(), label: form.label.clone(), candidate_label: false };
    let comparison = Comparison::open(&path, &path, &columns, &watch).map_err(|error| {
        // Columns are named in the form here, not by options.
        let mut failure = Failure::from(error);
        for column in ["id", "vector", "label"] {
            if failure.next.contains(&format!("--{column}")) {
                failure.next = format!("name the column under [output]: {column} = \"NAME\"");
            }
        }
        failure
    })?;
    let structure = comparison.structure();
    if let Some(obstacle) = structure.obstacles.first() {
        return Err(Failure {
            place: Some(files::shown(&form.path)),
            standing: Standing::CannotTell,
            ..Failure::refused(
                "output_not_valid",
                format!("{} is no valid output: {}", files::shown(&form.path), obstacle.message),
                obstacle.kind.next_step(),
            )
        });
    }
    let read = comparison.columns().reference;
    let value = json!({
        "path": files::shown(&form.path), "sha256": seen[0].sha256, "bytes": seen[0].bytes, "rows": structure.rows_reference,
        "dims": structure.dims_reference, "type": structure.type_reference, "nonfinite_values": 0,
        // As named, where they were named, and as read: a comparison must read the same.
        "named": { "id": form.id, "vector": form.vector, "label": form.label },
        "columns": { "id": read.id, "vector": read.vector, "label": read.label },
    });
    reads.extend(seen);
    Ok(value)
}

fn asset(
    session: &Session,
    role: &str,
    asset: &Asset,
    front: &dyn FrontEnd,
    reads: &mut Vec<FileSeen>,
    warnings: &mut Vec<String>,
) -> Result<Value, Failure> {
    let mut sha256 = asset.sha256.as_ref().map(|given| given.to_ascii_lowercase());
    if let Some(given) = sha256.as_ref().filter(|s| s.len() != 64 || !s.chars().all(|c| c.is_ascii_hexdigit())) {
        return Err(Failure::usage(
            "not_a_fingerprint",
            format!("`{given}` is no SHA-256"),
            "give its 64 hexadecimal digits",
        ));
    }
    let mut bytes = None;
    if let Some(path) = &asset.path {
        let what = format!("fingerprinting {}", files::shown(path));
        let watch = Watching { what, front, interrupt: session.interrupt.clone() };
        let (digest, length) = bytes_digest(&session.resolve(path), &watch)?;
        if let Some(given) = sha256.as_ref().filter(|given| **given != digest) {
            return Err(Failure {
                place: Some(files::shown(path)),
                ..Failure::refused(
                    "fingerprint_differs",
                    format!("{} has SHA-256 {digest}, the reference says {given}", files::shown(path)),
                    "get the right file, or correct the fingerprint",
                )
            });
        }
        reads.push(FileSeen { role: role.to_owned(), sha256: digest.clone(), bytes: length });
        sha256 = Some(digest);
        bytes = Some(length);
    }
    let named = asset.name.clone().or_else(|| asset.entry.clone()).or_else(|| asset.path.as_deref().map(files::shown));
    if sha256.is_none() && asset.revision.is_none() {
        let named = named.as_deref().unwrap_or("unnamed");
        warnings.push(format!("{role} `{named}` has neither a revision nor a fingerprint: a name can change unseen"));
    }
    Ok(json!({
        "name": asset.name, "path": asset.path.as_deref().map(files::shown), "sha256": sha256, "bytes": bytes,
        "revision": asset.revision, "entry": asset.entry, "options": asset.options, "meaning": asset.meaning,
        "provenance": asset.provenance, "licence": asset.licence, "access": asset.access,
    }))
}
