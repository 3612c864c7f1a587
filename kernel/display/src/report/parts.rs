//! The parts of the page that tell what happened, in the order in which one asks.

use std::collections::BTreeMap;

use serde_json::Value;

use super::case::{Judged, Kept, candidates, criterion_of, judged, kept, unmet};
use crate::doc::{Block, Doc, Item, Mark};
use crate::field::{NOT_RECORDED, at, first, flag, list, maybe, scalar, text};
use crate::visible::{escape, line, short_digest};
use crate::{html, kinds};

/// A fragment without a frame.
pub fn bare(write: impl FnOnce(&mut Doc)) -> String {
    let mut doc = Doc::default();
    write(&mut doc);
    html::blocks(&doc)
}

fn say(sentence: impl Into<String>) -> String {
    bare(|doc| doc.say(sentence))
}

fn alarm(sentence: String) -> String {
    bare(|doc| doc.blocks.push(Block::Alarm(sentence)))
}

pub fn heading(words: &str) -> String {
    format!("<h3><bdi>{}</bdi></h3>\n", escape(&line(words)))
}

/// The record as every display shows it.
pub fn card(kind: &str, record: &Value) -> String {
    let doc = kinds::document(kind, record).map(|doc| html::write(&doc));
    doc.map_or_else(String::new, |text| format!("{text}\n"))
}

pub fn validity(case: &Value) -> String {
    let doc = kinds::validity::document(at(case, "validity").unwrap_or(&Value::Null));
    html::write(&doc) + "\n"
}

pub fn reference(case: &Value) -> String {
    match at(case, "reference") {
        // The record's warnings are part of it.
        Some(reference) => card("reference", reference),
        None => say("No reference is recorded: nothing says what had to be reproduced."),
    }
}

pub fn conditions(case: &Value) -> String {
    let mut out: String = unmet(case)
        .iter()
        .map(|(probe, device)| alarm(format!("The probe of {} required {device} and did not find it.", probe.entry())))
        .collect();
    let snapshots = kept(case, "snapshots");
    match snapshots.split_last() {
        None => out.push_str(&say("No snapshot is recorded: neither the machine nor its software is known.")),
        Some((last, earlier)) => {
            out.push_str(&heading(&format!("The environment as last recorded ({})", last.dated())));
            out.push_str(&card("snapshot", &last.placed()));
            if !earlier.is_empty() {
                out.push_str(&changes(&snapshots));
            }
        }
    }
    let probes = kept(case, "probes");
    match probes.split_last() {
        None => out.push_str(&say("No probe is recorded: whether a device is there and computes is not known.")),
        Some((last, earlier)) => {
            out.push_str(&heading(&format!("What was probed ({})", last.dated())));
            out.push_str(&card("probe", &last.placed()));
            for probe in earlier {
                let summary = format!("an earlier probe, {}", probe.dated());
                out.push_str(&html::fold(&summary, &card("probe", &probe.placed())));
            }
        }
    }
    out
}

/// Whether the environment was the same each time it was recorded.
fn changes(snapshots: &[Kept]) -> String {
    let digest = |kept: &Kept| maybe(kept.result, "digest");
    let first = snapshots.first().and_then(digest);
    let same = first.is_some() && snapshots.iter().all(|kept| digest(kept) == first);
    let items = snapshots.iter().map(|kept| {
        let digest = digest(kept).map_or_else(|| NOT_RECORDED.to_owned(), |digest| short_digest(&digest));
        Item::new(Mark::Open, format!("{}: digest {digest}", kept.dated()))
    });
    bare(|doc| {
        doc.say(match same {
            true => "Every snapshot of this case has the same digest:",
            false => "The snapshots of this case differ, or not all have a digest:",
        });
        doc.items(items.collect());
    })
}

/// One seal, however often it was declared.
struct Sealed<'v> {
    declarations: Vec<Kept<'v>>,
}

impl Sealed<'_> {
    /// Entries that a verdict may name as its seal.
    fn has(&self, entry: &Value) -> bool {
        self.declarations.iter().any(|kept| {
            at(kept.result, "entry") == Some(entry) || kept.number().is_some() && kept.number() == entry.as_u64()
        })
    }
}

pub fn criterion(case: &Value) -> String {
    let mut seals: Vec<Sealed> = Vec::new();
    let mut places: BTreeMap<[Option<String>; 4], usize> = BTreeMap::new();
    for kept in kept(case, "declarations") {
        let key = [
            &["criterion.name", "criterion"][..],
            &["digest", "criterion.digest"],
            &["parameters"],
            &["reference.identity"],
        ]
        .map(|paths| first(kept.result, paths).map(scalar));
        let place = *places.entry(key).or_insert_with(|| {
            seals.push(Sealed { declarations: Vec::new() });
            seals.len() - 1
        });
        if let Some(seal) = seals.get_mut(place) {
            seal.declarations.push(kept);
        }
    }
    let verdicts = kept(case, "verdicts");
    let mut out = String::new();
    if seals.is_empty() {
        out.push_str(&say("No declaration is recorded: nothing shows that a criterion was sealed."));
    }
    for seal in &seals {
        out.push_str(&one_seal(case, seal, &verdicts));
    }
    let is_elsewhere =
        |v: &&Kept| at(v.result, "declaration.entry").is_some_and(|entry| !seals.iter().any(|seal| seal.has(entry)));
    for verdict in verdicts.iter().filter(is_elsewhere) {
        let v = verdict.result;
        out.push_str(&heading(&format!("Sealed in entry {}", text(v, "declaration.entry"))));
        out.push_str(&say(format!(
            "The verdict of {} names a declaration that is not among those given here: {}, which says: {}; because “{}”.",
            verdict.entry(),
            criterion_of(&text(v, "criterion.name"), maybe(v, "criterion.parameters")),
            text(v, "criterion.meaning"),
            text(v, "declaration.because"),
        )));
    }
    out
}

fn one_seal(case: &Value, seal: &Sealed, verdicts: &[Kept]) -> String {
    let Some((first_sealed, again)) = seal.declarations.split_first() else { return String::new() };
    let sealed = first_sealed.result;
    let name = first(sealed, &["criterion.name", "criterion"]).map_or_else(|| NOT_RECORDED.to_owned(), scalar);
    let digest = first(sealed, &["digest", "criterion.digest"]).map(scalar);
    let under: Vec<&Kept> =
        verdicts.iter().filter(|v| at(v.result, "declaration.entry").is_some_and(|entry| seal.has(entry))).collect();
    // By its digest alone: a criterion of the same name may say something else.
    let compiled: Vec<Kept> = kept(case, "criteria")
        .into_iter()
        .filter(|kept| digest.is_some() && maybe(kept.result, "digest") == digest)
        .collect();
    let meaning = compiled
        .first()
        .and_then(|kept| maybe(kept.result, "meaning"))
        .or_else(|| under.iter().find_map(|v| maybe(v.result, "criterion.meaning")));

    let mut out = heading(&criterion_of(&name, maybe(sealed, "parameters")));
    out.push_str(&say(format!(
        "Two results count as the same if: {}.",
        meaning.unwrap_or_else(|| format!("(the criterion's meaning is {NOT_RECORDED})"))
    )));
    out.push_str(&card("declare", sealed));
    if !again.is_empty() {
        let entries: Vec<String> = again.iter().map(Kept::entry).collect();
        out.push_str(&say(format!("Declared again with the same content in {}.", entries.join(", "))));
    }
    out.push_str(&order(first_sealed, &under));
    match compiled.first() {
        Some(kept) => {
            let mut about = kept.placed();
            if let Some(map) = about.as_object_mut() {
                map.remove("source");
            }
            let entries: Vec<String> = compiled.iter().map(Kept::entry).collect();
            let summary = format!("what the criterion computes, and its parameters ({})", entries.join(", "));
            out.push_str(&html::fold(&summary, &card("criterion", &about)));
            match kept.own("source").or_else(|| maybe(kept.result, "source")) {
                Some(source) => {
                    let source = bare(|doc| doc.blocks.push(Block::Verbatim(source)));
                    out.push_str(&html::fold("its source, as it was compiled", &source));
                }
                None => out.push_str(&say(match kept.own("source_redacted_by") {
                    Some(by) => format!("Its source was redacted by entry {by}."),
                    None => "Its source is not recorded here.".to_owned(),
                })),
            }
        }
        None => out.push_str(&say(
            "No source is recorded for this criterion in this case; a standard one comes with the program, and its \
             digest identifies it.",
        )),
    }
    out
}

/// Whether the seal came before the content of what it judged was read.
fn order(seal: &Kept, under: &[&Kept]) -> String {
    if under.is_empty() {
        return say("No verdict was reached under this declaration.");
    }
    let sealed = seal.dated();
    if under.iter().all(|v| flag(v.result, "post_hoc") == Some(false)) {
        let all = if under.len() == 1 { "the candidate" } else { "every candidate" };
        return say(format!("Sealed before the content of {all} that it judged was first opened ({sealed})."));
    }
    let items = under.iter().map(|v| {
        let file = text(v.result, "candidate.path");
        match flag(v.result, "post_hoc") {
            Some(false) => Item::new(Mark::Passed, format!("{file}: sealed before it was opened")),
            Some(true) => {
                let mut item = Item::new(Mark::Failed, format!("{file}: post hoc, not sealed before it was opened"));
                item.lines.extend(maybe(v.result, "post_hoc_because"));
                item
            }
            None => match maybe(v.result, "redacted_by") {
                Some(by) => {
                    Item::new(Mark::Open, format!("{file}: its verdict, {}, was redacted by entry {by}", v.entry()))
                }
                None => Item::new(Mark::Open, format!("{file}: whether it was sealed in time is {NOT_RECORDED}")),
            },
        }
    });
    bare(|doc| {
        doc.say(format!("When it was sealed ({sealed}), against when each candidate was first opened:"));
        doc.items(items.collect());
    })
}

/// A verdict as a line of a list.
pub fn outcome(case: &Value, v: &Value) -> Item {
    let mark = match (judged(v, at(case, "reference")), maybe(v, "verdict").as_deref()) {
        (Judged::InTime(_), Some("pass")) => Mark::Passed,
        (Judged::InTime(_), Some("fail")) => Mark::Failed,
        _ => Mark::Open,
    };
    Item::new(mark, plainly(case, v))
}

/// What a verdict comes to in plain words, with the file.
fn plainly(case: &Value, v: &Value) -> String {
    let word = maybe(v, "verdict");
    if let Some(by) = maybe(v, "redacted_by") {
        let what = if word.as_deref() == Some("none") { "exploration" } else { "verdict" };
        let (file, entry) = (text(v, "candidate.path"), text(v, "entry"));
        return format!("{file}: the {what} of entry {entry} was redacted by entry {by}");
    }
    let says = match word.as_deref() {
        Some("pass") => "gives the expected result",
        Some("fail") => "does not give the expected result",
        Some("inconclusive") => "inconclusive",
        Some("not_comparable") => "cannot be compared",
        Some("none") => "explored, no verdict",
        Some(_) => "a verdict of a kind unknown here",
        None => "verdict not recorded",
    };
    let expected = match (flag(v, "met"), word.as_deref()) {
        (_, Some("none")) | (None, _) => "",
        (Some(true), Some("pass")) => "",
        (Some(true), _) => ", as its author expected",
        (Some(false), _) => ", against what its author expected",
    };
    let counts = match judged(v, at(case, "reference")) {
        Judged::Late if flag(v, "post_hoc_accepted") == Some(true) => ", post hoc (accepted as such by its author)",
        Judged::Late => ", post hoc",
        Judged::OtherReference => ", against another reference than the one above",
        Judged::Unsealed => ", no seal in time on record",
        Judged::OfItself => ", being the reference itself",
        Judged::Redacted => ", redacted",
        Judged::InTime(_) | Judged::Explored => "",
    };
    format!("{}: {says}{expected}{counts}", text(v, "candidate.path"))
}

pub fn verdicts(case: &Value) -> String {
    let reference = at(case, "reference");
    let all: Vec<Kept> =
        kept(case, "verdicts").into_iter().filter(|v| judged(v.result, reference) != Judged::Explored).collect();
    if all.is_empty() {
        return say("No verdict is recorded.");
    }
    let files =
        candidates(case, reference).values().filter(|c| c.verdicts.iter().any(|(j, _)| *j != Judged::Explored)).count();
    let mut out = say(match (all.len(), files) {
        (1, _) => "1 verdict.".to_owned(),
        (n, 1) => format!("{n} verdicts on 1 candidate."),
        (n, files) => format!("{n} verdicts on {files} candidates."),
    });
    for verdict in &all {
        out.push_str(&heading(&plainly(case, verdict.result)));
        out.push_str(&card("verdict", &verdict.placed()));
    }
    out
}

pub fn attempts(case: &Value) -> String {
    let mut items: Vec<(Option<u64>, Item)> = Vec::new();
    for verdict in kept(case, "verdicts") {
        let v = verdict.result;
        let mut item = outcome(case, v);
        item.aside = verdict.dated();
        item.lines.push(criterion_of(&text(v, "criterion.name"), maybe(v, "criterion.parameters")));
        items.push((verdict.number(), item));
    }
    for failure in list(case, "failures") {
        let what = match maybe(failure, "redacted_by") {
            Some(by) => format!("error, of which the text was redacted by entry {by}"),
            None => format!("error: {}", text(failure, "message")),
        };
        let mut item = Item::new(Mark::Failed, what);
        item.aside = format!("entry {}, {}", text(failure, "entry"), text(failure, "wall"));
        item.lines.push(match maybe(failure, "redacted_by") {
            Some(_) => format!("kind: {}", text(failure, "kind")),
            None => format!("kind: {}; next: {}", text(failure, "kind"), text(failure, "next")),
        });
        if flag(failure, "attempt") == Some(false) {
            item.lines.push("It compared nothing.".to_owned());
        }
        items.push((at(failure, "entry").and_then(Value::as_u64), item));
    }
    // Stable: what has no entry number keeps its place among its like, at the end.
    items.sort_by_key(|(entry, _)| entry.unwrap_or(u64::MAX));
    let absent = match (at(case, "verdicts"), at(case, "failures")) {
        (None, None) => "Neither comparisons nor errors are given.",
        (_, None) => "Errors are not given.",
        (None, _) => "Comparisons are not given.",
        _ if items.is_empty() => "No comparison and no error is recorded.",
        _ if list(case, "failures").is_empty() => "No attempt ended in an error.",
        _ => "",
    };
    let mut out = bare(|doc| {
        doc.items(items.into_iter().map(|(_, item)| item).collect());
        if !absent.is_empty() {
            doc.say(absent);
        }
    });
    for verdict in kept(case, "verdicts") {
        if judged(verdict.result, at(case, "reference")) == Judged::Explored {
            let summary = format!("explored: {}, {}", text(verdict.result, "candidate.path"), verdict.dated());
            out.push_str(&html::fold(&summary, &card("verdict", &verdict.placed())));
        }
    }
    out
}
