//! `ro-crate-metadata.json` of an exported case: RO-Crate 1.1 with the Process Run Crate profile 0.5.
//!
//! Which files are what, and each comparison as an action: with which program, of which files under which criterion, with
//! which verdict. All of it comes from the log, dates too; who did it and under which licence the log does not know.

use super::export::Data;
use crate::ledger;
use fascicolo_dossier::{Kind, Record, View};
use serde_json::{Map, Value, json};
use std::path::Path;

/// The address under which the profile, as an entity of the crate, says what it is.
const PROFILE: &str = "https://w3id.org/ro/wfrun/process/0.5";
/// The program as an entity: where its source and versions are found.
const PROGRAM: &str = "https://crates.io/crates/fascicolo";

/// The metadata of a case. `files`: the paths that belong to the case itself, `data`: what the case names besides.
pub fn crate_metadata(log: &View, name: &str, dossier: &str, files: &[String], data: &[Data]) -> Value {
    let published = log.records().next_back().map(|r| iso(&r.wall));
    let actions: Vec<Action> = log.records().filter(|r| r.kind == Kind::Verdict).map(|r| Action::of(r, log)).collect();
    let taken = data.iter().filter(|d| d.taken).map(|d| &d.path);
    let files: Vec<&String> = files.iter().chain(taken).collect();
    let folders = [
        (
            format!("{dossier}/"),
            "the case file",
            "The append-only log of the case, and the contents that it commits to.",
        ),
        (
            "log/".to_owned(),
            "the log as tiles",
            "The same log in the form that verifiers of transparency logs read (C2SP tlog-tiles).",
        ),
    ];
    let parts = files.iter().map(|path| path.as_str()).chain(folders.iter().map(|(path, ..)| path.as_str()));
    let mut graph = vec![
        json!({
            "@id": "ro-crate-metadata.json", "@type": "CreativeWork", "about": link("./"),
            "conformsTo": link("https://w3id.org/ro/crate/1.1"),
        }),
        entity(json!({
            "@id": "./", "@type": "Dataset", "name": name, "datePublished": published,
            "description": "A case file: what a rebuilt machine-learning environment had to reproduce, and whether it did.",
            "license": link("#licence"), "conformsTo": link(PROFILE),
            "hasPart": links(parts.map(place)), "mentions": links(actions.iter().map(Action::id)),
        })),
        json!({ "@id": PROFILE, "@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5" }),
        json!({
            "@id": "#licence", "@type": "CreativeWork", "name": "not stated",
            "description": "The author states no licence for this case; ask before reuse.",
        }),
        json!({
            "@id": PROGRAM, "@type": "SoftwareApplication", "name": "Fascicolo", "version": env!("CARGO_PKG_VERSION"),
            "url": PROGRAM,
        }),
    ];
    graph.extend(files.iter().map(|path| file(path)));
    graph.extend(folders.iter().map(|(path, name, description)| {
        json!({ "@id": place(path), "@type": "Dataset", "name": name, "description": description })
    }));
    let mut absent: Vec<(String, Value)> = Vec::new();
    for action in &actions {
        graph.extend(action.entities(data, &mut absent));
    }
    graph.extend(absent.into_iter().map(|(_, entity)| entity));
    json!({ "@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph })
}

fn file(path: &str) -> Value {
    let (format, describes) = match Path::new(path).extension().and_then(|e| e.to_str()) {
        Some("html") => ("text/html", "the report for people"),
        Some("md") => ("text/markdown", "how to check this case"),
        Some("ipynb") => ("application/x-ipynb+json", "the notebook, which can be run again"),
        Some("parquet") => ("application/vnd.apache.parquet", "a table that the case names"),
        Some("csv") => ("text/csv", "a table that the case names"),
        Some("tsv") => ("text/tab-separated-values", "a table that the case names"),
        Some("json") => ("application/json", "a file that the case names"),
        Some("txt") => ("text/plain", "a file that the case names"),
        _ => ("application/octet-stream", "a file that the case names"),
    };
    json!({ "@id": place(path), "@type": "File", "name": path, "description": describes, "encodingFormat": format })
}

/// One comparison.
struct Action<'a> {
    record: &'a Record,
    log: &'a View,
}

impl<'a> Action<'a> {
    fn of(record: &'a Record, log: &'a View) -> Self {
        Action { record, log }
    }

    fn id(&self) -> String {
        format!("#entry-{}", self.record.seq)
    }

    fn body(&self, key: &str) -> &str {
        self.record.body[key].as_str().unwrap_or_default()
    }

    /// The action, its criterion and its verdict; what it read and is not part of the crate goes to `absent`, once.
    fn entities(&self, data: &[Data], absent: &mut Vec<(String, Value)>) -> [Value; 3] {
        let (record, seq) = (self.record, self.record.seq);
        let (criterion, verdict) = (format!("#criterion-{seq}"), format!("#verdict-{seq}"));
        let mut read: Vec<String> = Vec::new();
        for seen in &record.reads {
            let known = data.iter().find(|d| d.sha256 == seen.sha256);
            let id = match known.filter(|d| d.taken) {
                Some(file) => place(&file.path),
                None => {
                    let id = format!("#sha256-{}", seen.sha256);
                    if !absent.iter().any(|(other, _)| *other == id) {
                        let name = known.map_or_else(|| format!("the {}", seen.role), |d| d.path.clone());
                        let because = known.map_or("", |d| d.because);
                        let entity = json!({
                            "@id": id, "@type": "CreativeWork", "name": name, "identifier": format!("sha256:{}", seen.sha256),
                            "description": format!("Not part of this crate; known by its digest. {because}").trim(),
                        });
                        absent.push((id.clone(), entity));
                    }
                    id
                }
            };
            if !read.contains(&id) {
                read.push(id);
            }
        }
        let started = record.start.and_then(|start| self.log.record(start)).map(|r| iso(&r.wall));
        let word = ledger::spoken(self.log, record);
        let action = entity(json!({
            "@id": self.id(), "@type": "CreateAction", "name": format!("comparison under {}: {word}", self.body("criterion")),
            "description": self.description(), "instrument": link(PROGRAM),
            "object": links(read.into_iter().chain([criterion.clone()])),
            "result": links([verdict.clone(), "report.html".to_owned()]),
            "startTime": started, "endTime": iso(&record.wall),
            // The comparison came to its end, whichever verdict it found.
            "actionStatus": "http://schema.org/CompletedActionStatus",
        }));
        [
            action,
            json!({
                "@id": criterion, "@type": "PropertyValue", "name": "criterion", "value": self.body("criterion"),
                "identifier": format!("sha256:{}", self.body("digest")),
                "description": format!("parameters: {}", record.body["parameters"]),
            }),
            json!({
                "@id": verdict, "@type": "PropertyValue", "name": "verdict", "value": word,
                "description": "It holds under the declared conditions and the declared criterion; it is not a promise of \
                                identity on any machine.",
            }),
        ]
    }

    fn description(&self) -> String {
        let body = &self.record.body;
        let seal = match (body["explore"] == true, body["post_hoc"] == true, body["declare"].as_u64()) {
            (true, ..) => "explored without a verdict".to_owned(),
            (_, true, _) => "post hoc: the criterion was not sealed before the candidate was opened".to_owned(),
            (_, _, Some(entry)) => format!("the criterion was sealed before, in entry {entry}"),
            (_, _, None) => "no seal is recorded".to_owned(),
        };
        let what =
            if ledger::of_itself(self.record) { "the reference with itself" } else { "a candidate with the reference" };
        format!("Entry {} of the log compares {what}, row by row; {seal}.", self.record.seq)
    }
}

/// A time of the log in the form that the profile asks for: an offset in digits, not the letter Z.
fn iso(wall: &str) -> String {
    wall.strip_suffix('Z').map_or_else(|| wall.to_owned(), |time| format!("{time}+00:00"))
}

fn link(id: &str) -> Value {
    json!({ "@id": id })
}

/// One link, or a list of them: a list of one is not the compact form.
fn links(ids: impl IntoIterator<Item = String>) -> Value {
    let mut all: Vec<Value> = ids.into_iter().map(|id| link(&id)).collect();
    if all.len() == 1 { all.remove(0) } else { Value::Array(all) }
}

/// Without what is not known.
fn entity(value: Value) -> Value {
    let Value::Object(fields) = value else { return value };
    let known = |value: &Value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty());
    Value::Object(fields.into_iter().filter(|(_, value)| known(value)).collect::<Map<_, _>>())
}

/// A path as a relative reference: what a URI cannot hold plainly is percent-encoded, letters of all languages are kept.
fn place(path: impl AsRef<str>) -> String {
    let mut out = String::new();
    for c in path.as_ref().chars() {
        let plain = c.is_ascii_alphanumeric() || !c.is_ascii() || "-._~/!$&'()*+,;=@".contains(c);
        if plain { out.push(c) } else { out.push_str(&format!("%{:02X}", u32::from(c))) }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_relative_reference_and_a_time_has_an_offset() {
        assert_eq!(place("data/a b#1%.parquet"), "data/a%20b%231%25.parquet");
        assert_eq!(place("données/übung.csv"), "données/übung.csv");
        assert_eq!(iso("2026-01-02T03:04:05.006Z"), "2026-01-02T03:04:05.006+00:00");
        assert_eq!(links(["a".to_owned()]), json!({ "@id": "a" }));
    }
}
