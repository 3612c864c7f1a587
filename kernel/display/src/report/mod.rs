//! One page that tells a whole case to somebody who was not there, made of the records that the other displays show.
//!
//! Owns: which question comes after which, and the answer in plain words. Must not know: files, the log, a clock; how
//! a single record looks, which `kinds` and `html` say. What the case does not hold the page names as missing.
//!
//! Start at [`report`]; `case` reads, `answer` counts, `parts` tells, `unchecked` and `check` say how far to trust it.

mod answer;
mod case;
mod check;
mod imported;
mod parts;
mod unchecked;

use serde_json::Value;

use crate::doc::{Block, Doc, Fact};
use crate::field::{at, count, maybe, text};
use crate::html;
use crate::visible::{escape, line};

/// Style of the page; records bring the inline styles that they have everywhere.
const STYLE: &str = include_str!("page.css");

/// A whole case as one self-contained HTML page: no script, nothing loaded, light and dark, for screen and paper.
///
/// `case` is an object; every part may be absent, and the page then says so:
/// - `name`, `origin`, `entries`, `root`, `sessions`: of the case file;
/// - `reference`: the record in force, of kind `reference`;
/// - `snapshots`, `probes`, `declarations`, `verdicts`: lists of `{"entry", "wall", "result"}`, oldest first, `result`
///   being the stored record, or, where that was taken out, `redacted_by`, the entry that did so, and `entry`, with what
///   the log still says in public;
/// - `criteria`: the same, with `source`, the text that was compiled, or `source_redacted_by`;
/// - `failures`: `{"entry", "wall", "kind", "message", "next", "attempt"}`, `attempt` being whether anything had been read
///   to be compared;
/// - `verification`: a record of kind `dossier_verify`; only where its `witness.holds` is `true` does the page speak of
///   an outside witness;
/// - `validity`: whether the notebook stands for what ran: `badge`, and `answers`, a list of
///   `{"question", "state", "reason", "details"}`;
/// - `generator`: name and version of the program, for whoever makes the page again;
/// - `imported`: cases of other machines, `{"entry", "name", "origin", "entries", "root", "reference", "snapshots",
///   "probes", "verdicts"}`, the last four as here;
/// - `access`: texts that say how to get what the case only names.
///
/// The same case gives the same bytes. The page is well-formed XML. Never panics, whatever the records hold.
pub fn report(case: &Value) -> String {
    let name = maybe(case, "name").unwrap_or_else(|| "a case without a name".to_owned());
    let mut sections: Vec<(&str, &str, String)> = vec![
        ("validity", "Does this notebook still stand for what ran?", parts::validity(case)),
        ("reference", "What had to be reproduced", parts::reference(case)),
        ("conditions", "Under which conditions", parts::conditions(case)),
        ("criterion", "What counted as the same, and why", parts::criterion(case)),
        ("verdicts", "What was found", parts::verdicts(case)),
        ("attempts", "All attempts, with those that failed", parts::attempts(case)),
        ("imported", "What came from other machines", imported::part(case)),
        ("not-checked", "What was not checked", unchecked::part(case)),
        ("check", "How to check this yourself", check::part(case)),
    ];
    sections.retain(|(id, _, inner)| *id != "imported" || !inner.is_empty());
    let links: String = sections.iter().map(|(id, title, _)| format!("<a href=\"#{id}\">{title}</a> ")).collect();
    let told: String = sections
        .iter()
        .map(|(id, title, inner)| format!("<section id=\"{id}\">\n<h2>{title}</h2>\n{inner}</section>\n"))
        .collect();
    let name = escape(&line(&name));
    let generator = maybe(case, "generator").map_or_else(String::new, |program| {
        format!("<meta name=\"generator\" content=\"{}\"/>\n", escape(&line(&program)))
    });
    let origin = parts::bare(|doc| {
        doc.facts(vec![
            Fact::new("entries", count(case, "entries")),
            Fact::new("sessions", count(case, "sessions")),
            Fact::new("origin", text(case, "origin")),
            Fact::digest("root", text(case, "root")),
        ]);
    });
    let close = html::blocks(&Doc { blocks: vec![Block::Close(closing(case).to_owned())], picture: None });
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n\
         {generator}<title>{name}: report of the case</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1><bdi>{name}</bdi></h1>\n<div class=\"answer\">\n{}\n</div>\n<nav aria-label=\"On this page\">{links}</nav>\n{origin}\
         {told}<footer>\n{close}</footer>\n</main>\n</body>\n</html>\n",
        html::write(&answer::answer(case))
    )
}

/// How far any conclusion reaches, as the displays of single verdicts say it.
fn closing(case: &Value) -> &'static str {
    if case::kept(case, "verdicts")
        .iter()
        .any(|v| matches!(case::judged(v.result, at(case, "reference")), case::Judged::InTime(_)))
    {
        "The conclusion holds under the declared conditions and the declared criterion; it is not a promise of identity \
         on any machine."
    } else {
        "Nothing was concluded under a criterion that is known to have been sealed in time. What the figures show holds \
         under the recorded conditions; it is not a promise of identity on any machine."
    }
}
