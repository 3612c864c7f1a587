//! What nobody checked: always the limits of any comparison, and whatever is absent from this very case.
//!
//! Every line follows from something that is there or is not there; none is a guess about what may have been done.

use serde_json::Value;

use super::case::{Judged, Kept, judged, kept, unmet};
use super::parts;
use crate::doc::{Item, Mark};
use crate::field::{at, first, flag, list, maybe, text};

pub fn part(case: &Value) -> String {
    let mut lines = always(case);
    lines.extend(environment(case));
    lines.extend(declared(case));
    lines.extend(log(case));
    parts::bare(|doc| doc.items(lines.into_iter().map(|text| Item::new(Mark::Open, text)).collect()))
}

fn always(case: &Value) -> Vec<String> {
    let sample = ["name", "meaning", "path"].iter().find_map(|key| maybe(case, &format!("reference.sample.{key}")));
    let sample = sample.map_or_else(String::new, |sample| format!(" ({sample})"));
    let mut lines = vec![
        format!("Any other sample than the declared one{sample}: other inputs may come out otherwise."),
        "Any other machine, driver or software than those recorded here.".to_owned(),
    ];
    if !kept(case, "verdicts").is_empty() {
        lines.push(
            "How, where and with which code the candidates were made: the comparison reads their content only, and a \
             snapshot describes the machine on which it was taken."
                .to_owned(),
        );
    }
    lines
}

fn environment(case: &Value) -> Vec<String> {
    let (snapshots, probes, verdicts) = (kept(case, "snapshots"), kept(case, "probes"), kept(case, "verdicts"));
    let first = |all: &[Kept]| all.iter().filter_map(Kept::number).min();
    let mut lines = Vec::new();
    match (snapshots.last(), first(&snapshots), first(&verdicts)) {
        (None, _, _) => lines.push("The environment: no snapshot is recorded.".to_owned()),
        (_, Some(taken), Some(compared)) if taken > compared => lines.push(format!(
            "The environment before the first comparison: it was recorded only afterwards (entry {taken}, after entry {compared})."
        )),
        _ => {}
    }
    if let Some(last) = snapshots.last() {
        let layers = last.result.as_object().into_iter().flatten();
        let unread = layers.filter(|(_, layer)| maybe(layer, "state").as_deref() == Some("not_read"));
        lines.extend(unread.map(|(name, layer)| {
            format!("{}: the last snapshot could not read it ({}).", name.replace('_', " "), text(layer, "because"))
        }));
    }
    let required = |probe: &Kept| maybe(probe.result, "require").filter(|device| device != "none");
    if probes.is_empty() {
        lines.push("Devices: no probe is recorded.".to_owned());
    } else if !probes.iter().any(|probe| required(probe).is_some()) {
        lines.push("That a GPU is there or works: no probe required one.".to_owned());
    }
    lines.extend(
        unmet(case)
            .iter()
            .map(|(probe, device)| format!("Anything on {device}: it was required ({}) and not found.", probe.entry())),
    );
    lines
}

fn declared(case: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    let verdicts = kept(case, "verdicts");
    lines.extend(redacted(case));
    let Some(reference) = at(case, "reference") else {
        lines.push("What the expected result is: no reference is recorded.".to_owned());
        return lines;
    };
    if let Some(by) = maybe(reference, "redacted_by") {
        lines.push(format!("What the expected result is: the reference was redacted by entry {by}."));
        return lines;
    }
    for part in ["code", "data", "weights"] {
        let all = list(reference, part);
        if all.is_empty() {
            lines.push(format!("Which {part} made the reference: neither fingerprint nor revision is declared."));
        }
        for entry in all.iter().filter(|entry| maybe(entry, "sha256").is_none()) {
            let name = first(entry, &["name", "entry", "path"]).and_then(Value::as_str).unwrap_or("without a name");
            lines.push(match maybe(entry, "revision") {
                Some(revision) => {
                    format!("The content of the {part} {name}: known by revision ({revision}), without a fingerprint.")
                }
                None => format!("Which {part} {name} is: declared by name, without fingerprint or revision."),
            });
        }
    }
    if at(reference, "sample").is_none() {
        lines.push("Which sample it is: none is declared.".to_owned());
    } else if maybe(reference, "sample.sha256").is_none() {
        lines.push("The content of the sample: it is declared without a fingerprint.".to_owned());
    }
    for (part, what) in [
        ("preprocessing", "Preprocessing"),
        ("parameters", "Parameters of the computation"),
        ("determinism", "Settings for determinism that the reference was made with"),
    ] {
        if at(reference, part).is_none() {
            lines.push(format!("{what}: not declared."));
        }
    }
    let standing = |wanted: fn(&Judged) -> bool| verdicts.iter().any(|v| wanted(&judged(v.result, Some(reference))));
    if !standing(|judged| matches!(judged, Judged::InTime(_))) {
        lines
            .push("Anything under a criterion known to have been sealed in time: there is no such verdict.".to_owned());
    }
    if verdicts.iter().any(|v| maybe(v.result, "verdict").as_deref() == Some("not_comparable")) {
        lines.push("The values of candidates that could not be compared.".to_owned());
    }
    lines
}

fn log(case: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    lines.push(match witnessed(case) {
        true => "Whether the log was written anew before the outside witness saw it; since then it was not.".to_owned(),
        false => "Whether the whole log was written anew: no outside witness who saw an earlier root is recorded. The records show \
                  integrity, not honesty."
            .to_owned(),
    });
    match at(case, "verification") {
        None => lines.push("The case file itself: no verification is part of this page.".to_owned()),
        Some(verification) => {
            if flag(verification, "holds").is_none() {
                lines.push("Whether the case file verifies: the verification does not say.".to_owned());
            }
            let other = |path: &str| at(verification, path).is_some() && at(case, path) != at(verification, path);
            if other("entries") || other("root") {
                lines.push(format!(
                    "The case file in its present state: it was verified with {} entries and root {}.",
                    text(verification, "entries"),
                    text(verification, "root")
                ));
            }
            lines.extend(signed(verification));
            if flag(verification, "checkpoint") == Some(false) {
                lines.push("Whether entries were cut off at the end: there is no checkpoint.".to_owned());
            } else if at(verification, "unproved_tail").and_then(Value::as_u64).is_some_and(|tail| tail > 0) {
                let tail = text(verification, "unproved_tail");
                lines.push(format!("The last {tail} entries: no checkpoint covers them yet."));
            }
        }
    }
    lines.push("Whether the files still hold what was compared: this page reads no file.".to_owned());
    lines
}

/// What was taken out of the log, and is neither missing nor checked.
fn redacted(case: &Value) -> Option<String> {
    let parts = ["snapshots", "probes", "criteria", "declarations", "verdicts"];
    let all = parts.iter().flat_map(|part| kept(case, part));
    let told: Vec<String> = all
        .filter_map(|kept| Some(format!("{} (by entry {})", kept.entry(), maybe(kept.result, "redacted_by")?)))
        .collect();
    (!told.is_empty()).then(|| format!("What was redacted: {}.", told.join(", ")))
}

/// Only a record that was held against an earlier root counts: a text could say anything.
fn witnessed(case: &Value) -> bool {
    flag(case, "verification.witness.holds") == Some(true)
}

/// What the signatures leave open.
fn signed(verification: &Value) -> Option<String> {
    let signatures = list(verification, "signatures");
    let valid = |known: bool| {
        signatures.iter().any(|s| flag(s, "valid") == Some(true) && (!known || maybe(s, "known").is_some()))
    };
    match (signatures.is_empty(), valid(false), valid(true)) {
        (true, ..) => Some("Who wrote the log: no signature is recorded.".to_owned()),
        (_, false, _) => Some("Who wrote the log: no signature is valid.".to_owned()),
        (_, _, false) => Some("Who wrote the log: it is signed by keys that the verification did not know.".to_owned()),
        _ => None,
    }
}
