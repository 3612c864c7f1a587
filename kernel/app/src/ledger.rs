//! What the case file already says: questions that its records answer.
//!
//! Everything a session knows of references, criteria, seals and opened candidates it asks here, of the log, so that a
//! notebook, a shell and a second kernel on the same case file agree.

use crate::failure::Failure;
use fascicolo_contract::Standing;
use fascicolo_dossier::{FileSeen, Kind, Record, View};
use serde_json::Value;
use std::collections::BTreeMap;

/// Entries in their order: a whole log, or those of it by which the order of events is judged.
pub trait Entries {
    /// All of them.
    fn entries(&self) -> &[Record];

    /// One by its number.
    fn entry(&self, seq: u64) -> Option<&Record> {
        let entries = self.entries();
        entries.get(entries.binary_search_by_key(&seq, |record| record.seq).ok()?)
    }
}

impl Entries for View {
    fn entries(&self) -> &[Record] {
        self.records().as_slice()
    }
}

impl Entries for [Record] {
    fn entries(&self) -> &[Record] {
        self
    }
}

/// The declared reference.
pub struct Reference {
    /// The entry that declared it.
    pub entry: u64,
    /// Its name.
    pub name: String,
    /// Digest of its content.
    pub identity: String,
    /// Digest of its output.
    pub output: String,
}

/// A seal.
pub struct Seal {
    /// The entry that holds it.
    pub entry: u64,
    /// Digest of the criterion.
    pub digest: String,
    /// Parameters by name.
    pub parameters: Vec<(String, f64)>,
    /// Identity of the reference.
    pub reference: String,
    /// Digest of the reference's output.
    pub output: String,
    /// When.
    pub wall: String,
}

impl Seal {
    /// Whether the other seals the same: criterion, parameters, reference and output.
    pub fn same_content(&self, other: &Seal) -> bool {
        (&self.digest, &self.reference, &self.output) == (&other.digest, &other.reference, &other.output)
            && sorted(&self.parameters) == sorted(&other.parameters)
    }
}

fn sorted(parameters: &[(String, f64)]) -> Vec<(String, f64)> {
    let mut sorted = parameters.to_vec();
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    sorted
}

/// A user's criterion as last compiled.
pub struct Compiled {
    /// Digest of its component, which is a blob of the case file.
    pub digest: String,
}

fn text(body: &Value, pointer: &str) -> String {
    body.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The reference declared last.
pub fn reference(log: &View) -> Option<Reference> {
    let record = log.records().rev().find(|r| r.kind == Kind::Reference)?;
    Some(Reference {
        entry: record.seq,
        name: text(&record.body, "/name"),
        identity: text(&record.body, "/identity"),
        output: text(&record.body, "/output"),
    })
}

/// The user's criterion of this name, as compiled last.
pub fn criterion(log: &View, name: &str) -> Option<Compiled> {
    let record = log.records().rev().find(|r| r.kind == Kind::Criterion && r.body["name"] == name)?;
    Some(Compiled { digest: text(&record.body, "/digest") })
}

/// Names of the user's criteria, sorted.
pub fn criterion_names(log: &View) -> Vec<String> {
    let mut names: Vec<String> =
        log.records().filter(|r| r.kind == Kind::Criterion).map(|r| text(&r.body, "/name")).collect();
    names.sort();
    names.dedup();
    names
}

fn seal(record: &Record) -> Seal {
    let parameters = record.body["parameters"].as_object().into_iter().flatten();
    Seal {
        entry: record.seq,
        digest: text(&record.body, "/digest"),
        parameters: parameters.filter_map(|(name, value)| Some((name.clone(), value.as_f64()?))).collect(),
        reference: text(&record.body, "/reference"),
        output: text(&record.body, "/output"),
        wall: record.wall.clone(),
    }
}

/// The seal declared last for a criterion of this name.
pub fn last_seal(log: &View, name: &str) -> Option<Seal> {
    seal_in_force(log, name, u64::MAX)
}

/// The earliest seal of exactly this content.
pub fn earliest_seal(log: &View, digest: &str, parameters: &[(String, f64)], reference: &Reference) -> Option<Seal> {
    let wanted = Seal {
        entry: 0,
        digest: digest.to_owned(),
        parameters: parameters.to_vec(),
        reference: reference.identity.clone(),
        output: reference.output.clone(),
        wall: String::new(),
    };
    log.records().filter(|r| r.kind == Kind::Declare).map(seal).find(|seal| seal.same_content(&wanted))
}

/// What a file is known again by: the digests of its bytes, and of its rows however they are stored.
pub struct Content {
    /// SHA-256 of the file; of a folder, over its parts' digests and names; of each part.
    pub files: Vec<String>,
    /// SHA-256 of ids and values, in any order and encoding.
    pub rows: Option<String>,
}

impl Content {
    /// Of the files read as the candidate. The reference's own bytes are read by every comparison; they tell nothing
    /// about a candidate.
    pub fn of(reads: &[FileSeen], reference: &str) -> Content {
        let candidate = reads.iter().filter(|f| f.role.starts_with("candidate") && f.sha256 != reference);
        Content { files: candidate.map(|f| f.sha256.clone()).collect(), rows: None }
    }

    /// Whether an `opened` entry read this content, as candidate or as reference: a difference can be seen from either
    /// side. One entry tells the files, the next one their rows.
    fn was_read_in(&self, opened: &Record) -> bool {
        let rows = |side: &str| opened.body["rows"][side].as_str();
        opened.reads.iter().any(|f| self.files.contains(&f.sha256))
            || self.rows.as_deref().is_some_and(|own| rows("candidate") == Some(own) || rows("reference") == Some(own))
    }
}

/// Why the seal came too late for this content, if it did: the content was read before an identical seal stood, or while
/// another seal of this criterion was in force. Going back to a seal that stood then is no new choice.
///
/// `before`: the entry from which on reading counts as the comparison's own.
pub fn late(log: &(impl Entries + ?Sized), name: &str, seal: &Seal, content: &Content, before: u64) -> Option<String> {
    let first = first_opened(log, content).filter(|&entry| entry < before)?;
    match seal_in_force(log, name, first) {
        Some(then) if then.same_content(seal) => None,
        Some(then) => Some(format!(
            "the candidate's content was first read in entry {first}, when the seal of entry {} was in force and not this one",
            then.entry
        )),
        None => {
            let came = log.entry(seal.entry).is_some_and(|r| r.from.is_some());
            let came = if came { " here: its seal came later, with an imported case" } else { "" };
            Some(format!(
                "the candidate's content was first read in entry {first}, when criterion `{name}` was not sealed{came}"
            ))
        }
    }
}

/// Verdicts that claim to be declared and are not by the log's own entries: the rules, checked again from the records.
pub fn order_faults(log: &(impl Entries + ?Sized)) -> Vec<(u64, String)> {
    let mut faults = Vec::new();
    for record in log.entries().iter().filter(|r| r.kind == Kind::Verdict && r.body["explore"] != true) {
        if let Some(why) = order_fault(log, record) {
            faults.push((record.seq, why));
        }
    }
    faults
}

fn order_fault(log: &(impl Entries + ?Sized), record: &Record) -> Option<String> {
    let name = text(&record.body, "/criterion");
    let declared = record.body["declare"].as_u64().and_then(|entry| log.entry(entry));
    let Some(declared) = declared.filter(|d| d.kind == Kind::Declare && d.seq < record.seq) else {
        return Some("it names no earlier seal".to_owned());
    };
    let seal = seal(declared);
    let parameters = self::seal(record).parameters;
    if sorted(&parameters) != sorted(&seal.parameters) {
        return Some(format!("its parameters are not those of the seal of entry {}", seal.entry));
    }
    if record.body["post_hoc"] == true {
        return None;
    }
    if text(&record.body, "/digest") != seal.digest {
        return Some(format!(
            "its criterion is not the one that entry {} seals, and it is not called post hoc",
            seal.entry
        ));
    }
    let Some(reference) = record.reads.iter().find(|f| f.role == "reference") else {
        return Some("it names no reference file".to_owned());
    };
    if reference.sha256 != seal.output {
        return Some(format!("its reference file is not the one that entry {} seals", seal.entry));
    }
    let mut content = Content::of(&record.reads, &reference.sha256);
    content.rows = record.body["content"].as_str().map(str::to_owned);
    let Some(own) = opening(log, record) else {
        return Some("its candidate was not entered as opened before it".to_owned());
    };
    let resumed = if record.body["resumed"] == true { resumed_before(log, &seal) } else { None };
    late(log, &name, &seal, &content, own.seq).or(resumed).map(|why| format!("it is not called post hoc, but {why}"))
}

/// The entry with which the comparison of this entry began: where its files were entered as opened.
pub fn opening<'a>(log: &'a (impl Entries + ?Sized), record: &Record) -> Option<&'a Record> {
    // What an import repeats was opened elsewhere.
    let begins =
        |r: &&Record| r.kind == Kind::Opened && r.from.is_none() && r.start == record.start && !r.reads.is_empty();
    log.entries().iter().rev().filter(|r| r.seq <= record.seq).find(begins)
}

/// The entry in which this content was first read: by a comparison, or by a command that named it among what it reads.
pub fn first_opened(log: &(impl Entries + ?Sized), content: &Content) -> Option<u64> {
    let looked = |r: &&Record| match r.kind {
        Kind::Opened => content.was_read_in(r),
        Kind::Fact => r.reads.iter().any(|f| f.role == "input" && content.files.contains(&f.sha256)),
        _ => false,
    };
    log.entries().iter().find(looked).map(|r| r.seq)
}

/// Why the seal came too late for a resumed training, if it did: how one deviates from the same uninterrupted training was
/// seen before. Each resumption has a content of its own, so that none of them is known again by it.
pub fn resumed_before(log: &(impl Entries + ?Sized), seal: &Seal) -> Option<String> {
    // One that is the uninterrupted training's own, bit for bit, told nothing.
    let of_reference = |r: &Record| {
        !r.body["content"].is_null() && r.reads.iter().any(|f| f.role == "reference" && f.sha256 == seal.output)
    };
    let seen = |r: &&Record| {
        r.kind == Kind::Verdict && r.body["resumed"] == true && r.body["verdict"] != "not_comparable" && of_reference(r)
    };
    let first = log.entries().iter().find(seen).filter(|r| r.seq < seal.entry)?;
    Some(format!(
        "a training resumed from the same uninterrupted one was compared in entry {}, before the seal of entry {}",
        first.seq, seal.entry
    ))
}

/// The seal of this criterion that stood when an entry was written.
pub fn seal_in_force(log: &(impl Entries + ?Sized), name: &str, before: u64) -> Option<Seal> {
    log.entries()
        .iter()
        .rev()
        .find(|r| r.seq < before && r.kind == Kind::Declare && r.body["criterion"] == name)
        .map(seal)
}

/// The candidates opened so far, as the user named them where that is disclosed; the reference's own file apart.
pub fn opened(log: &View, reference: &str) -> Vec<String> {
    let mut named = BTreeMap::new();
    for record in log.records().filter(|r| r.kind == Kind::Opened) {
        for file in record.reads.iter().filter(|f| f.role == "candidate" && f.sha256 != reference) {
            let path = log.value(record.seq, "candidate.path").ok().flatten();
            let short = file.sha256.get(..12).unwrap_or(&file.sha256).to_owned();
            named.insert(file.sha256.clone(), path.map_or_else(|| short.clone(), |path| format!("{path} ({short})")));
        }
    }
    named.into_values().collect()
}

/// How often this content was opened: by its files, or by its rows however they were stored.
pub fn attempts(log: &View, content: &Content) -> u64 {
    let (mut attempts, mut counted) = (0, false);
    for record in log.records().filter(|r| r.kind == Kind::Opened) {
        // An entry of files begins a comparison, the entry of their rows belongs to it.
        if !record.reads.is_empty() {
            counted = false;
        }
        if !counted && content.was_read_in(record) {
            counted = true;
            attempts += 1;
        }
    }
    attempts
}

/// Earlier seals of this criterion for the same output with other numbers or another component, which this one replaced.
pub fn replaced(log: &View, name: &str, seal: &Seal) -> Vec<Seal> {
    let others = log.records().filter(|r| r.kind == Kind::Declare && r.body["criterion"] == name).map(self::seal);
    others.filter(|other| other.output == seal.output && !other.same_content(seal)).collect()
}

/// Whether a verdict is of the reference's own file with itself. The same bytes at another place are no such thing: an exact
/// repeat gives them.
pub fn of_itself(verdict: &Record) -> bool {
    verdict.body["of_itself"] == true
}

/// A verdict's word, with all that keeps it from counting.
pub fn spoken(log: &View, verdict: &Record) -> String {
    if let Some(by) = log.redacted_by(verdict.seq, "result") {
        return format!("redacted by entry {by}");
    }
    let itself = if of_itself(verdict) { " of the reference with itself" } else { "" };
    let post_hoc = match (verdict.body["post_hoc"] == true, verdict.body["post_hoc_accepted"] == true) {
        (true, true) => " (post hoc, accepted)",
        (true, false) => " (post hoc)",
        (false, _) => "",
    };
    format!("{}{itself}{post_hoc}", text(&verdict.body, "/verdict"))
}

/// The criteria that gave a verdict on this content, by name, each with its parameters: one name under two numbers is
/// two.
pub fn judged_by(log: &View, content: &Content) -> BTreeMap<String, String> {
    let verdicts = log.records().filter(|r| r.kind == Kind::Verdict && r.body["explore"] != true);
    let same = |r: &&Record| {
        r.reads.iter().any(|f| f.role.starts_with("candidate") && content.files.contains(&f.sha256))
            || (content.rows.is_some() && r.body["content"].as_str() == content.rows.as_deref())
    };
    let named = |r: &Record| {
        let name = text(&r.body, "/criterion");
        (format!("{} {}", text(&r.body, "/digest"), r.body["parameters"]), name)
    };
    verdicts.filter(same).map(named).collect()
}

/// The entries in which this criterion was calibrated on repeats of this reference, and on how many each.
pub fn calibrations(log: &View, digest: &str, reference: &str) -> Vec<(u64, u64)> {
    let of = |r: &&Record| {
        r.kind == Kind::Fact
            && r.body["what"] == "calibrate"
            && r.body["digest"] == digest
            && r.body["reference"] == reference
    };
    log.records().filter(of).map(|r| (r.seq, r.body["runs"].as_u64().unwrap_or_default())).collect()
}

/// Digest of the environment recorded last.
pub fn environment(log: &View) -> Option<String> {
    let record = log.records().rev().find(|r| r.kind == Kind::Snapshot)?;
    record.body["digest"].as_str().map(str::to_owned)
}

/// Requirements that a probe did not find met, and no later probe of the same requirement did.
pub fn unmet_requirements(log: &View) -> Vec<(u64, String)> {
    let mut last: BTreeMap<String, (u64, bool)> = BTreeMap::new();
    for record in log.records().filter(|r| r.kind == Kind::Probe && r.body["require"] != "none") {
        last.insert(text(&record.body, "/require"), (record.seq, record.body["met"] == true));
    }
    last.into_iter().filter(|(_, (_, met))| !met).map(|(require, (entry, _))| (entry, require)).collect()
}

/// Refuses to go on while the last probe that required something did not find it.
pub fn probe_allows(log: &View) -> Result<(), Failure> {
    let required = log.records().rev().find(|r| r.kind == Kind::Probe && r.body["require"] != "none");
    match required {
        Some(record) if record.body["met"] == false => Err(Failure {
            place: Some(format!("entry {}", record.seq)),
            standing: Standing::Refused,
            ..Failure::refused(
                "probe_not_passed",
                format!(
                    "the probe of entry {} required {} and did not find it; results of another device would confuse the comparison",
                    record.seq,
                    text(&record.body, "/require"),
                ),
                "mend the layer that the probe named and run `%probe --require …` again",
            )
        }),
        _ => Ok(()),
    }
}
