//! A command that ran: how it ended, what it took, the files that it was declared to read and write, its first error.

use serde_json::Value;

use crate::doc::{Doc, Fact, Item, Mark, Table, Tone};
use crate::field::{NOT_RECORDED, at, count, flag, list, maybe, text};
use crate::number;
use crate::visible::short_digest;

pub fn document(v: &Value) -> Doc {
    let good = at(v, "ending.status").and_then(Value::as_i64) == Some(0) && flag(v, "ending.interrupted") != Some(true);
    let unwritten = list(v, "writes").iter().any(|file| flag(file, "written") == Some(false));
    let (word, tone) = match (good, unwritten) {
        (true, false) => ("RAN", Tone::Good),
        (true, true) => ("RAN, OUTPUT MISSING", Tone::Bad),
        (false, _) if flag(v, "ending.interrupted") == Some(true) => ("INTERRUPTED", Tone::Unsure),
        (false, _) => ("FAILED", Tone::Bad),
    };
    let mut doc = Doc::titled(word, tone, text(v, "line"));
    if let Some(error) = at(v, "first_error") {
        doc.items(vec![first_error(error)]);
    }
    doc.table(files(v));
    let changed: Vec<Item> = list(v, "reads")
        .iter()
        .filter(|file| flag(file, "changed") == Some(true))
        .map(|file| Item::new(Mark::Open, format!("note: {} changed while the command ran", text(file, "path"))))
        .collect();
    doc.items(changed);
    doc.facts(circumstances(v));
    doc
}

fn circumstances(v: &Value) -> Vec<Fact> {
    let mut facts = vec![Fact::new("command", text(v, "ended"))];
    let time = |path: &str| at(v, path).and_then(Value::as_f64).map(number::elapsed);
    let wall = time("wall_ms").unwrap_or_else(|| NOT_RECORDED.to_owned());
    facts.push(Fact::new(
        "took",
        match time("processor_ms") {
            Some(processor) => format!("{wall}, {processor} of processor time"),
            None => format!("{wall}, processor time {NOT_RECORDED}"),
        },
    ));
    if let Some(interpreter) = maybe(v, "interpreter.path") {
        facts.push(Fact::new("interpreter", format!("{interpreter} ({})", text(v, "interpreter.chosen"))));
    }
    if maybe(v, "folder").is_some_and(|folder| folder != ".") {
        facts.push(Fact::new("in", text(v, "folder")));
    }
    let stream = |name: &str| format!("{} bytes of {name}", count(v, &format!("{name}.bytes")));
    facts.push(Fact::new("output", format!("{}, {}", stream("stdout"), stream("stderr"))));
    facts.push(Fact::new("observed", text(v, "observation")));
    if at(v, "dossier.entry").is_some() {
        facts.push(Fact::new("recorded", format!("dossier entry {}", text(v, "dossier.entry"))));
    }
    facts
}

fn files(v: &Value) -> Table {
    let row = |what: &str, file: &Value| {
        let digest = match flag(file, "written") {
            Some(false) => "not written".to_owned(),
            _ => maybe(file, "sha256").map_or_else(|| NOT_RECORDED.to_owned(), |digest| short_digest(&digest)),
        };
        let bytes = if flag(file, "written") == Some(false) { "–".to_owned() } else { count(file, "bytes") };
        vec![what.to_owned(), text(file, "path"), bytes, digest]
    };
    let rows = list(v, "reads").iter().map(|file| row("reads", file));
    let rows = rows.chain(list(v, "writes").iter().map(|file| row("writes", file))).collect();
    Table { caption: String::new(), head: vec!["declared", "file", "bytes", "SHA-256"], rows }
}

fn first_error(error: &Value) -> Item {
    let message = maybe(error, "message").filter(|message| message != "(empty)");
    let head = match message {
        Some(message) => format!("first error, {}: {}: {message}", text(error, "phase"), text(error, "type")),
        None => format!("first error, {}: {}", text(error, "phase"), text(error, "type")),
    };
    let mut item = Item::new(Mark::Failed, head);
    for frame in list(error, "frames").iter().rev().take(3).rev() {
        let source = maybe(frame, "source").filter(|source| source != "(empty)");
        let source = source.map_or_else(String::new, |source| format!(": {source}"));
        item.lines.push(format!("{}, line {}{source}", text(frame, "file"), text(frame, "line")));
    }
    item.lines.push(format!(
        "the phase is read from the traceback ({}); the whole output stands above",
        text(error, "phase_by")
    ));
    item
}
