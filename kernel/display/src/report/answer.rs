//! The one sentence at the top: how many candidates give the expected result, and what stands against that.
//!
//! It counts candidate files by their content, and only seals that stood in time; all else is named beside the count.

use std::collections::BTreeSet;

use serde_json::Value;

use super::case::{Candidate, Judged, candidates, judged, kept, unmet};
use super::parts::outcome;
use crate::doc::{Doc, Item, Tone};
use crate::field::{at, flag, list, maybe};
use crate::number::grouped;

/// How many verdicts are listed one by one beside the sentence.
const SHOWN: usize = 8;

/// How a candidate as a whole stands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    /// All verdicts in time agree on this word.
    Word(String),
    /// Verdicts in time disagree.
    Mixed,
    Unsealed,
    OtherReference,
    Late,
    Redacted,
    OfItself,
    Explored,
}

fn standing(candidate: &Candidate) -> Standing {
    let words: BTreeSet<&str> = candidate
        .verdicts
        .iter()
        .filter_map(|(judged, _)| match judged {
            Judged::InTime(word) => Some(word.as_str()),
            _ => None,
        })
        .collect();
    let any = |wanted: &Judged| candidate.verdicts.iter().any(|(judged, _)| judged == wanted);
    match (words.len(), words.first()) {
        (1, Some(word)) => Standing::Word((*word).to_owned()),
        (2.., _) => Standing::Mixed,
        _ if any(&Judged::Unsealed) => Standing::Unsealed,
        _ if any(&Judged::OtherReference) => Standing::OtherReference,
        _ if any(&Judged::Late) => Standing::Late,
        _ if any(&Judged::Redacted) => Standing::Redacted,
        _ if any(&Judged::OfItself) => Standing::OfItself,
        _ => Standing::Explored,
    }
}

/// Candidates of one standing, and how their author's expectation fared.
#[derive(Default, Clone, Copy)]
struct Group {
    candidates: u64,
    met: u64,
    unmet: u64,
}

impl Group {
    fn add(&mut self, candidate: &Candidate) {
        let in_time = || candidate.verdicts.iter().filter(|(judged, _)| matches!(judged, Judged::InTime(_)));
        self.candidates += 1;
        if in_time().any(|(_, v)| flag(v, "met") == Some(false)) {
            self.unmet += 1;
        } else if in_time().all(|(_, v)| flag(v, "met") == Some(true)) {
            self.met += 1;
        }
    }

    fn author(self) -> &'static str {
        if self.candidates == 1 { "its author" } else { "their author" }
    }

    /// `, as their author expected`, where the records say so.
    fn expectation(self) -> String {
        let author = self.author();
        match (self.met, self.unmet) {
            (0, 0) => String::new(),
            (met, _) if met == self.candidates => format!(", as {author} expected"),
            (_, unmet) if unmet == self.candidates => format!(", against what {author} expected"),
            (0, unmet) => format!(", {} of them against what {author} expected", grouped(unmet)),
            (met, _) => format!(", {} of them as {author} expected", grouped(met)),
        }
    }
}

/// The answer as the page shows it.
pub fn answer(case: &Value) -> Doc {
    let reference = at(case, "reference");
    let all = candidates(case, reference);
    let (mut pass, mut fail, mut inconclusive, mut not_comparable, mut other) = <[Group; 5]>::default().into();
    let (mut mixed, mut unsealed, mut elsewhere, mut late, mut explored) = <[Group; 5]>::default().into();
    let (mut redacted, mut itself) = <[Group; 2]>::default().into();
    for candidate in all.values() {
        let group = match standing(candidate) {
            Standing::Word(word) => match word.as_str() {
                "pass" => &mut pass,
                "fail" => &mut fail,
                "inconclusive" => &mut inconclusive,
                "not_comparable" => &mut not_comparable,
                _ => &mut other,
            },
            Standing::Mixed => &mut mixed,
            Standing::Unsealed => &mut unsealed,
            Standing::OtherReference => &mut elsewhere,
            Standing::Late => &mut late,
            Standing::Redacted => &mut redacted,
            Standing::OfItself => &mut itself,
            Standing::Explored => &mut explored,
        };
        group.add(candidate);
    }
    let judged = [pass, fail, inconclusive, not_comparable, other, mixed];
    let concluded: u64 = judged.iter().map(|group| group.candidates).sum();
    // Without an answer nothing went against anybody: that is an open question.
    let unexpected = [pass, fail, mixed].iter().any(|group| group.unmet > 0);
    let open = [unsealed, elsewhere, late, mixed, other].iter().any(|group| group.candidates > 0);
    let total = concluded + unsealed.candidates + elsewhere.candidates + late.candidates + redacted.candidates;
    let verdicts = || all.values().flat_map(|candidate| &candidate.verdicts);
    let of = |wanted: Judged| verdicts().filter(|(judged, _)| *judged == wanted).count() as u64;
    let (late_verdicts, redacted_verdicts) = (of(Judged::Late), of(Judged::Redacted));

    let mut clauses = Vec::new();
    if concluded == 0 {
        let why = match total {
            0 if itself.candidates > 0 => "nothing but the reference itself was compared",
            0 => "no verdict was reached under a declared criterion",
            n if n == redacted.candidates => "every verdict was redacted",
            _ => "no verdict is known to stand under a criterion sealed in time",
        };
        clauses.push(format!("Nothing was concluded: {why}"));
    } else {
        clauses.push(first_clause(pass, fail, total, &sealed_criteria(verdicts())));
    }
    let words = late_words(verdicts());
    let expected = fail.expectation();
    if total > 1 {
        push(&mut clauses, fail.candidates, &format!("does not{expected}"), &format!("do not{expected}"));
    }
    for (group, one, more) in [
        (mixed, "has verdicts in time that disagree", "have verdicts in time that disagree"),
        (inconclusive, "is inconclusive", "are inconclusive"),
        (not_comparable, "is not comparable", "are not comparable"),
        (other, "has a verdict of a kind unknown here", "have verdicts of a kind unknown here"),
        (unsealed, "has no seal in time on record", "have no seal in time on record"),
        (elsewhere, "was judged against another reference only", "were judged against another reference only"),
    ] {
        push(&mut clauses, group.candidates, one, more);
    }
    push(&mut clauses, late.candidates, "has only post hoc verdicts", "have only post hoc verdicts");
    // Said only where every record says so.
    let in_time = |(judged, v): &(Judged, &Value)| *judged == Judged::Explored || flag(v, "post_hoc") == Some(false);
    if total > 0 && verdicts().all(in_time) {
        clauses.push("none is post hoc".to_owned());
    }
    push(
        &mut clauses,
        late_verdicts,
        &format!("verdict is post hoc ({words}) and does not count"),
        &format!("verdicts are post hoc ({words}) and do not count"),
    );
    push(
        &mut clauses,
        redacted_verdicts,
        "verdict was redacted, and nobody can tell from this case what it said",
        "verdicts were redacted, and nobody can tell from this case what they said",
    );
    push(
        &mut clauses,
        of(Judged::OfItself),
        "verdict is of the reference with itself and does not count",
        "verdicts are of the reference with itself and do not count",
    );
    push(&mut clauses, explored.candidates, "candidate was only explored", "candidates were only explored");
    // A command that was mistyped or refused compared nothing: it is in the history below, and no attempt.
    let failures = list(case, "failures").iter().filter(|f| flag(f, "attempt") != Some(false)).count() as u64;
    push(&mut clauses, failures, "attempt ended in an error", "attempts ended in an error");

    let unmet = !unmet(case).is_empty();
    let (word, tone) = match flag(case, "verification.holds") {
        Some(false) => ("DO NOT RELY ON THIS", Tone::Bad),
        _ if concluded == 0 => ("NOTHING CONCLUDED", Tone::Plain),
        _ if unexpected => ("NOT AS EXPECTED", Tone::Bad),
        _ if open
            || unmet
            || judged.iter().any(|group| group.met < group.candidates)
            || late_verdicts + redacted_verdicts > 0 =>
        {
            ("OPEN QUESTIONS", Tone::Unsure)
        }
        _ => ("AS EXPECTED", Tone::Good),
    };
    let mut doc = Doc::titled(word, tone, "");
    if flag(case, "verification.holds") == Some(false) {
        doc.say("The case file does not verify: what follows may not be what was recorded.");
    }
    doc.say(format!("{}.", clauses.join("; ")));
    which(case, &mut doc);
    if unmet {
        doc.say("A device that was required was not found; the conditions below say which.");
    }
    doc
}

/// Which candidates the sentence counts, in the order of their verdicts, as far as they fit at the top of a page.
fn which(case: &Value, doc: &mut Doc) {
    let all: Vec<Item> = kept(case, "verdicts")
        .iter()
        .filter(|v| judged(v.result, at(case, "reference")) != Judged::Explored)
        .map(|v| outcome(case, v.result))
        .collect();
    let more = all.len().saturating_sub(SHOWN);
    doc.items(all.into_iter().take(SHOWN).collect());
    if more > 0 {
        doc.say(format!("and {} more verdicts, below.", grouped(more as u64)));
    }
}

/// Adds what holds of `n`, unless it holds of none.
fn push(clauses: &mut Vec<String>, n: u64, one: &str, more: &str) {
    if n > 0 {
        clauses.push(format!("{} {}", grouped(n), if n == 1 { one } else { more }));
    }
}

fn first_clause(pass: Group, fail: Group, total: u64, criteria: &str) -> String {
    let against = match (pass.unmet, pass.candidates) {
        (0, _) => String::new(),
        (unmet, all) if unmet == all => format!(", against what {} expected", pass.author()),
        (unmet, _) => format!(", {} of them against what their author expected", grouped(unmet)),
    };
    match (pass.candidates, fail.candidates, total) {
        (1, _, 1) => format!("The one candidate gives the expected result under {criteria}{against}"),
        (_, 1, 1) => {
            format!("The one candidate does not give the expected result under {criteria}{}", fail.expectation())
        }
        (0, _, 1) => format!("The one candidate is not known to give the expected result under {criteria}"),
        (0, _, _) => format!("None of the {} candidates gives the expected result under {criteria}", grouped(total)),
        (n, _, _) => {
            let gives = if n == 1 { "gives" } else { "give" };
            format!(
                "{} of {} candidates {gives} the expected result under {criteria}{against}",
                grouped(n),
                grouped(total)
            )
        }
    }
}

/// One criterion with one choice of parameters, or several.
fn sealed_criteria<'v>(verdicts: impl Iterator<Item = &'v (Judged, &'v Value)>) -> String {
    let seals: BTreeSet<[Option<String>; 3]> = verdicts
        .filter(|(judged, _)| matches!(judged, Judged::InTime(_)))
        .map(|(_, v)| ["criterion.name", "criterion.digest", "criterion.parameters"].map(|path| maybe(v, path)))
        .collect();
    match seals.len() {
        0 | 1 => "the declared criterion".to_owned(),
        n => format!("the {} declared criteria", grouped(n as u64)),
    }
}

/// `2 pass, 1 fail`: what the verdicts say that do not count.
fn late_words<'v>(verdicts: impl Iterator<Item = &'v (Judged, &'v Value)>) -> String {
    let mut counts = std::collections::BTreeMap::<String, u64>::new();
    for (_, verdict) in verdicts.filter(|(judged, _)| *judged == Judged::Late) {
        *counts.entry(maybe(verdict, "verdict").unwrap_or_else(|| "not recorded".into())).or_default() += 1;
    }
    let words = counts.iter().map(|(word, n)| format!("{} {}", grouped(*n), word.replace('_', " ")));
    words.collect::<Vec<_>>().join(", ")
}
