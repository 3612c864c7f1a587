//! Under what an entry came about: the snapshot, the probe and the reference in force at it, the files that it read, and
//! the criterion of a verdict; each thing under a pointer, with where it was read.
//!
//! Must not know: what belongs to software, inputs or running conditions, and what a difference means.

use super::asset::Asset;
use super::table::escaped;
use crate::actions::entry::Entry;
use crate::actions::stored;
use fascicolo_dossier::{Kind, Record};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What is known of one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// A value: by what it is compared, and as it is shown.
    Value {
        /// Equal keys are equal things.
        key: String,
        /// In words.
        shown: String,
    },
    /// Several values without order.
    Set(BTreeSet<String>),
    /// Looked for and not told, so that nothing follows; why.
    Unknown(String),
}

impl Seen {
    /// A value that is shown as it is compared.
    pub fn plain(text: impl Into<String>) -> Seen {
        let key = text.into();
        Seen::Value { shown: key.clone(), key }
    }
}

/// The things that one record tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// By pointer.
    pub seen: BTreeMap<String, Seen>,
    /// Entry, and what was read there.
    pub read_from: String,
    /// Things whose absence tells that they are not there; `None`: of all.
    pub looked_for: Option<BTreeSet<String>>,
}

impl Facts {
    fn read_from(read_from: impl Into<String>) -> Facts {
        Facts { read_from: read_from.into(), ..Facts::default() }
    }

    /// What is known of one thing; `absent` stands for one that is not there.
    pub fn get(&self, pointer: &str, absent: &str) -> Seen {
        let tells = |looked_for: &BTreeSet<String>| looked_for.contains(pointer) || only_when_set(pointer);
        match self.seen.get(pointer) {
            Some(seen) => seen.clone(),
            None if self.looked_for.as_ref().is_none_or(tells) => Seen::plain(absent),
            None => Seen::Unknown(format!("{} does not tell it", self.read_from)),
        }
    }
}

/// Families of variables that a snapshot records when they are set, and does not list otherwise.
fn only_when_set(pointer: &str) -> bool {
    ["/determinism/TORCH_", "/determinism/TORCHINDUCTOR_"].iter().any(|family| pointer.starts_with(family))
}

/// Under what one entry came about.
#[derive(Debug, Default)]
pub struct Conditions {
    /// By the family's name: the things of it, or why there are none. A family that means nothing here is absent.
    pub families: BTreeMap<&'static str, Result<Facts, String>>,
    /// Code, data, weights, sample and output of the reference.
    pub assets: Vec<Asset>,
    /// The columns of the reference's output that were named, for reading it again.
    pub columns: Value,
    /// The entries of the snapshot and of the probe in force.
    pub in_force: BTreeMap<&'static str, String>,
    /// What no record tells, in words.
    pub not_recorded: BTreeSet<String>,
}

/// The layers of a snapshot that are read as they stand.
const LAYERS: [&str; 4] = ["system", "interpreter", "frameworks", "git"];

/// What a later snapshot may record, in words and by its pointer in the `system` layer's value.
const NEVER_YET: [(&str, &str); 4] =
    [("container", "/container"), ("locale", "/locale"), ("time zone", "/time_zone"), ("resource limits", "/limits")];

impl Conditions {
    /// Gathers what the entry's own log tells.
    pub fn of(entry: &Entry) -> Conditions {
        let mut conditions = Conditions::default();
        conditions.snapshot(entry);
        conditions.probe(entry);
        conditions.reference(entry);
        conditions.verdict(entry);
        conditions.files(entry);
        conditions
    }

    fn insert(&mut self, family: &'static str, facts: Result<Facts, String>) {
        self.families.insert(family, facts);
    }

    fn snapshot(&mut self, entry: &Entry) {
        let snapshot = in_force(entry, Kind::Snapshot, "snapshot", "%snapshot");
        let layers = LAYERS.into_iter().chain(["packages", "torch_build", "build_tools", "determinism"]);
        let (from, snapshot) = match snapshot {
            Ok(found) => found,
            Err(why) => return layers.for_each(|layer| self.insert(layer, Err(why.clone()))),
        };
        self.in_force.insert("snapshot", from.trim_start_matches("snapshot of ").to_owned());
        for layer in LAYERS {
            let facts = read_layer(&snapshot[layer], &from).map(|(value, read_from)| {
                // What a system does not tell is no value; what a package or a repository does not have is one.
                let nulls = matches!(layer, "system" | "interpreter");
                let mut facts = Facts::read_from(read_from);
                facts.looked_for = nulls.then(BTreeSet::new);
                leaves(value, &format!("/{layer}"), nulls, &mut facts.seen);
                if layer == "frameworks" {
                    facts.seen.retain(|pointer, _| !pointer.starts_with("/frameworks/torch_build"));
                }
                facts
            });
            self.insert(layer, facts);
        }
        let packages = read_layer(&snapshot["packages"], &from).map(|(value, from)| self.packages(value, from));
        self.insert("packages", packages);
        let frameworks = &snapshot["frameworks"]["value"];
        let build = match (read_layer(&snapshot["frameworks"], &from), &frameworks["torch"]) {
            (Err(why), _) => Err(why),
            (Ok((_, read_from)), Value::Null) => Ok(Facts::read_from(read_from)),
            (Ok(_), _) => read_layer(&frameworks["torch_build"], &from).map(|(value, read_from)| {
                let mut facts = Facts::read_from(read_from);
                leaves(value, "/torch_build", false, &mut facts.seen);
                facts
            }),
        };
        self.insert("torch_build", build);
        self.insert("build_tools", read_layer(&snapshot["build_tools"], &from).map(|(value, from)| tools(value, from)));
        self.insert(
            "determinism",
            read_layer(&snapshot["determinism"], &from).map(|(value, from)| variables(value, from)),
        );
        let system = &snapshot["system"]["value"];
        self.not_recorded.extend(
            NEVER_YET.iter().filter(|(_, at)| system.pointer(at).is_none()).map(|(what, _)| (*what).to_owned()),
        );
        if let Some(untracked) = snapshot["git"]["value"]["untracked_files"].as_u64().filter(|n| *n > 0) {
            self.not_recorded.insert(format!("what the {untracked} files hold that git does not track ({from})"));
        }
    }

    /// Those that would be imported, by their names as indexes compare them.
    fn packages(&mut self, value: &Value, read_from: String) -> Facts {
        let mut facts = Facts::read_from(read_from);
        for package in value["list"].as_array().into_iter().flatten().filter(|p| p["shadowed"] != true) {
            let name = text(&package["name"]);
            let source = &package["source"];
            let mut shown = package["version"].as_str().unwrap_or("without a version").to_owned();
            let url = source["url"].as_str().unwrap_or_default();
            let hash = source["hash"].as_str();
            if url.starts_with("file:") {
                // Where the folder lies is no cause; what it holds can be.
                shown.push_str(" from a local folder or file");
                if hash.is_none() {
                    self.not_recorded.insert(format!("what the local folder of package {name} holds"));
                }
            } else if !url.is_empty() {
                shown.push_str(&format!(" from {url}"));
            }
            for part in ["revision", "hash", "subdirectory"] {
                if let Some(value) = source[part].as_str() {
                    shown.push_str(&format!(", {part} {value}"));
                }
            }
            if package["editable"] == true {
                shown.push_str(", editable");
            }
            let pointer = format!("/packages/{}", escaped(&normalised(&name)));
            facts.seen.entry(pointer).or_insert_with(|| Seen::plain(shown));
        }
        facts
    }

    fn probe(&mut self, entry: &Entry) {
        let facts = in_force(entry, Kind::Probe, "probe", "%probe").map(|(read_from, probe)| {
            let mut facts = Facts::read_from(read_from);
            self.in_force.insert("probe", facts.read_from.trim_start_matches("probe of ").to_owned());
            facts.seen.insert("/probe/require".to_owned(), Seen::plain(text(&probe["require"])));
            for stage in probe["stages"].as_array().into_iter().flatten() {
                let at = format!("/probe/{}", escaped(&text(&stage["name"])));
                let result = &stage["result"];
                let because = text(&result["because"]);
                let seen = match result["status"].as_str() {
                    Some("passed") => {
                        leaves(&result["facts"], &at, false, &mut facts.seen);
                        Seen::plain("passed")
                    }
                    // The code says which failure it is; the sentence may name places.
                    Some("failed") => Seen::Value {
                        key: format!("failed: {}", text(&result["code"])),
                        shown: format!("failed: {}", text(&result["error"])),
                    },
                    Some("not_applicable") => Seen::plain(format!("not applicable: {because}")),
                    _ => Seen::Unknown(format!("it was not run: {because}")),
                };
                facts.seen.insert(format!("{at}/result"), seen);
            }
            facts
        });
        self.insert("probe", facts);
    }

    fn reference(&mut self, entry: &Entry) {
        let facts = in_force(entry, Kind::Reference, "reference", "`%%reference new`").map(|(read_from, reference)| {
            let mut facts = Facts::read_from(read_from.clone());
            for part in ["parameters", "preprocessing", "determinism"] {
                leaves(&reference[part], &format!("/reference/{part}"), false, &mut facts.seen);
            }
            leaves(&reference["output"]["columns"], "/reference/output/columns", false, &mut facts.seen);
            self.columns = reference["output"]["named"].clone();
            for role in ["output", "code", "data", "weights", "sample"] {
                let listed = match &reference[role] {
                    Value::Array(list) => list.as_slice(),
                    Value::Null => &[],
                    one => std::slice::from_ref(one),
                };
                self.assets.extend(listed.iter().enumerate().map(|(i, asset)| Asset::of(role, i, asset)));
            }
            if reference["parameters"].is_null() {
                self.not_recorded.insert(format!("the parameters of the run ({read_from} declares none)"));
            }
            facts
        });
        self.insert("reference", facts);
    }

    /// The criterion and what it was given.
    fn verdict(&mut self, entry: &Entry) {
        let Some(record) = entry.subject().filter(|r| r.kind == Kind::Verdict) else { return };
        let facts = stored(entry.log(), record.seq).map_err(|failure| failure.message).map(|verdict| {
            let mut facts = Facts::read_from(entry.name_of(record.seq));
            let criterion = &verdict["criterion"];
            let (name, digest) = (text(&criterion["name"]), text(&criterion["digest"]));
            let shown = format!("{name} {}, SHA-256 {digest}", text(&criterion["version"]));
            facts.seen.insert("/verdict/criterion".to_owned(), Seen::Value { key: digest, shown });
            leaves(&criterion["parameters"], "/verdict/parameters", false, &mut facts.seen);
            leaves(&verdict["limits"], "/verdict/limits", false, &mut facts.seen);
            for side in ["reference", "candidate"] {
                leaves(&verdict[side]["columns"], &format!("/verdict/columns/{side}"), false, &mut facts.seen);
            }
            facts
        });
        self.insert("verdict", facts);
        let candidate = record.reads.iter().find(|f| f.role == "candidate").map(|f| &f.sha256);
        let made_here = candidate.is_some_and(|digest| {
            entry.log().records().any(|r| r.seq <= record.seq && r.writes.iter().any(|f| f.sha256 == *digest))
        });
        if !made_here {
            let what = format!("the run that made the candidate of {}: no entry wrote it", entry.name_of(record.seq));
            self.not_recorded.insert(what);
        }
    }

    /// What was read apart from the candidate, and from what the reference names already.
    fn files(&mut self, entry: &Entry) {
        let Some(record) = entry.subject().filter(|r| r.kind != Kind::Reference) else { return };
        let mut roles: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        let part = |role: &str| role.ends_with(".part");
        for file in record.reads.iter().filter(|f| !f.role.starts_with("candidate") && !part(&f.role)) {
            let named = |a: &&Asset| a.role == "output" && a.sha256.as_ref() == Some(&file.sha256);
            if self.assets.iter().find(named).is_none() {
                roles.entry(&file.role).or_default().insert(file.sha256.clone());
            }
        }
        let seen = roles.into_iter().map(|(role, digests)| (format!("/files/{}", escaped(role)), Seen::Set(digests)));
        let facts = Facts { seen: seen.collect(), ..Facts::read_from(entry.name_of(record.seq)) };
        self.insert("files", Ok(facts));
    }
}

/// The result of the last record of this kind at or before an entry; else why nothing of it is known. What was taken
/// over from an imported log was observed elsewhere: only a reference goes for this log too.
fn in_force(entry: &Entry, kind: Kind, what: &str, magic: &str) -> Result<(String, Value), String> {
    let here = |r: &&Record| r.kind == kind && r.seq <= entry.seq() && (kind == Kind::Reference || r.from.is_none());
    let record = entry
        .log()
        .records()
        .rev()
        .find(here)
        .ok_or_else(|| format!("no {what} was recorded before {} ({magic} records one)", entry.name()))?;
    let value = stored(entry.log(), record.seq).map_err(|failure| failure.message)?;
    Ok((format!("{} of {}", what, entry.name_of(record.seq)), value))
}

/// A layer's value and where it was read, or why there is none.
fn read_layer<'v>(layer: &'v Value, snapshot: &str) -> Result<(&'v Value, String), String> {
    match layer["state"].as_str() {
        Some("read") => {
            let from: Vec<&str> = layer["from"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            Ok((&layer["value"], format!("{snapshot} ({})", from.join(", "))))
        }
        Some(_) => Err(format!("the {snapshot} could not read it: {}", text(&layer["because"]))),
        None => Err(format!("the {snapshot} has no such layer")),
    }
}

/// Every leaf of a value, under its pointer. Lists have no order. `nulls`: a null stands for what was not told.
fn leaves(value: &Value, at: &str, nulls: bool, into: &mut BTreeMap<String, Seen>) {
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| leaves(value, &format!("{at}/{}", escaped(key)), nulls, into));
        }
        Value::Null if nulls => {
            into.insert(at.to_owned(), Seen::Unknown("this system does not tell it".to_owned()));
        }
        Value::Null => {}
        Value::Array(list) => {
            into.insert(at.to_owned(), Seen::Set(list.iter().map(text).collect()));
        }
        one => {
            into.insert(at.to_owned(), Seen::plain(text(one)));
        }
    }
}

/// What each tool says of its version.
fn tools(value: &Value, read_from: String) -> Facts {
    let present = value["present"].as_array().into_iter().flatten();
    let seen = present
        .map(|tool| (format!("/build_tools/{}", escaped(&text(&tool["name"]))), Seen::plain(text(&tool["says"]))));
    Facts { seen: seen.collect(), ..Facts::read_from(read_from) }
}

/// Variables that are set. One that is neither set nor among those looked for is unknown, unless it belongs to a family
/// that is recorded only when set.
fn variables(value: &Value, read_from: String) -> Facts {
    let set = value["set"].as_object().into_iter().flatten();
    let seen = set.map(|(name, value)| (format!("/determinism/{}", escaped(name)), Seen::plain(text(value))));
    let unset = value["unset"].as_array().into_iter().flatten();
    let looked_for = unset.map(|name| format!("/determinism/{}", escaped(&text(name)))).collect();
    Facts { seen: seen.collect(), looked_for: Some(looked_for), read_from }
}

/// A text as it is, anything else as JSON.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// As indexes compare names (PEP 503).
fn normalised(name: &str) -> String {
    let parts: Vec<String> = name.split(['-', '_', '.']).filter(|p| !p.is_empty()).map(str::to_lowercase).collect();
    parts.join("-")
}
