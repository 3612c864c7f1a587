//! How a reader checks the page against the case file and the files it names, with tools of their own.
//!
//! Commands are to be copied into a shell: no text of a record stands in one unless it is harmless there.

use std::collections::BTreeSet;

use serde_json::Value;

use super::case::kept;
use super::parts;
use crate::doc::{Block, Fact, Item, Mark};
use crate::field::{at, count, list, maybe, scalar, text};
use crate::{html, kinds};

pub fn part(case: &Value) -> String {
    // Any other name could be more than a name where it is pasted.
    let plain = |name: &String| {
        !name.starts_with('-') && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
    };
    let folder = maybe(case, "name").filter(plain).map_or_else(
        || "CASE.fascicolo".to_owned(),
        |name| format!("{}.fascicolo", name.trim_end_matches(".fascicolo")),
    );
    let (sums, left_out) = sums(case);
    let mut out = parts::bare(|doc| {
        doc.say("The case file, with the program that wrote it; nothing recorded is executed:");
        doc.blocks.push(Block::Verbatim(format!(
            "fascicolo dossier verify {folder}\nfascicolo dossier log {folder}\nfascicolo dossier show {folder} --entry NUMBER"
        )));
        doc.facts(vec![
            Fact::new("it must say", format!("{} entries", count(case, "entries"))),
            Fact::digest("and the root", text(case, "root")),
        ]);
        doc.say("An unpacked export, with stock tools, in its folder:");
        doc.blocks.push(Block::Verbatim("sha256sum -c manifest-sha256.txt".to_owned()));
        if sums.is_empty() {
            doc.say("No file is known here by path and SHA-256.");
        } else {
            doc.say(
                "The files named on this page: save these lines as SUMS in the folder that the paths start from, then \
                 run sha256sum -c SUMS",
            );
            doc.blocks.push(Block::Verbatim(sums.iter().cloned().collect::<Vec<_>>().join("\n")));
        }
        if left_out > 0 {
            doc.say(format!(
                "{left_out} files are not in the list: no SHA-256, or a path that such a list cannot hold."
            ));
        }
    });
    out.push_str(&match at(case, "verification") {
        Some(verification) => {
            let shown = kinds::document("dossier_verify", verification).map(|doc| html::write(&doc));
            parts::bare(|doc| doc.say("What the verification said when this page was made:"))
                + &shown.unwrap_or_default()
        }
        None => parts::bare(|doc| doc.say("No verification is part of this page.")),
    });
    let access = list(case, "access");
    out.push_str(&parts::bare(|doc| {
        if access.is_empty() {
            doc.say("How to get what the case only names: no access note is recorded.");
        } else {
            doc.say("How to get what the case only names:");
            doc.items(access.iter().map(|note| Item::new(Mark::Open, scalar(note))).collect());
        }
    }));
    out
}

/// Lines for `sha256sum -c`, and how many files could not be one.
fn sums(case: &Value) -> (BTreeSet<String>, usize) {
    let mut files: Vec<&Value> = Vec::new();
    if let Some(reference) = at(case, "reference") {
        files.extend(["output", "sample"].iter().filter_map(|part| at(reference, part)));
        files.extend(["code", "data", "weights"].iter().flat_map(|part| list(reference, part)));
    }
    let verdicts = kept(case, "verdicts");
    files.extend(verdicts.iter().flat_map(|v| ["reference", "candidate"].map(|side| at(v.result, side))).flatten());
    let (mut lines, mut left_out) = (BTreeSet::new(), BTreeSet::new());
    for file in files {
        let Some(path) = maybe(file, "path") else { continue };
        let digest = maybe(file, "sha256").filter(|d| d.len() == 64 && d.bytes().all(|b| b.is_ascii_hexdigit()));
        // `~` is for a shell to resolve, and what shows otherwise than it is written would be another path.
        let written = !path.is_empty() && !path.starts_with(['~', '-']) && !path.contains('\\');
        match digest {
            Some(digest) if written && crate::visible::line(&path) == path => {
                lines.insert(format!("{digest}  {path}"));
            }
            _ => {
                left_out.insert(path);
            }
        }
    }
    (lines, left_out.len())
}
