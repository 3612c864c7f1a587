//! The badge: whether a notebook still stands for what ran, and the five answers behind it.

use serde_json::Value;

use crate::doc::{Block, Doc, Fact, Item, Mark, Tone};
use crate::field::{NOT_RECORDED, at, flag, list, maybe, scalar, text};

/// Pieces of an answer that are shown one by one.
const PIECES: usize = 8;

/// Text cells that are named one by one.
const NAMED: usize = 5;

/// That no run stands behind what text cells say; said wherever the badge or the integrity is shown.
/// `bound`: the entry that binds them as they were exported.
pub fn free_text(count: usize, names: &[Value], bound: Option<String>) -> Option<String> {
    let cells = match count {
        0 => return None,
        1 => "1 text cell is free text".to_owned(),
        n => format!("{n} text cells are free text"),
    };
    let named: Vec<String> = names.iter().take(NAMED).map(scalar).collect();
    let more = if names.len() > NAMED { format!(", and {} more", names.len() - NAMED) } else { String::new() };
    let named = if named.is_empty() { String::new() } else { format!(": {}{more}", named.join(", ")) };
    Some(match bound {
        Some(entry) => {
            format!("{cells}, which no run vouches for; the log binds it as exported, by entry {entry}{named}.")
        }
        None => format!("{cells}, which no run vouches for and the log does not bind{named}."),
    })
}

/// What a question asks, as a statement that an answer finds to hold or not.
fn asked(question: &str) -> &str {
    match question {
        "order" => "It ran from top to bottom in one session",
        "source" => "Every cell says what ran",
        "outputs" => "It shows what was recorded",
        "data" => "The data are those that were read",
        "environment" => "The environment is the one that was recorded",
        other => other,
    }
}

fn word(state: &str) -> (Mark, &str) {
    match state {
        "holds" => (Mark::Passed, "holds"),
        "stale" => (Mark::Failed, "stale"),
        "cannot_tell" => (Mark::Open, "cannot tell"),
        other => (Mark::Open, other),
    }
}

/// `VALID`, `STALE` or `NOT ALL COULD BE TOLD`, and its tone.
pub fn badge(v: &Value) -> (String, Tone) {
    match maybe(v, "badge").as_deref() {
        Some("valid") => ("VALID".to_owned(), Tone::Good),
        Some("stale") => ("STALE".to_owned(), Tone::Bad),
        Some("not_all_could_be_told") => ("NOT ALL COULD BE TOLD".to_owned(), Tone::Unsure),
        _ => ("NOT RECORDED".to_owned(), Tone::Plain),
    }
}

/// The badge in one line for a list of facts, where the record has one.
pub fn fact(v: &Value) -> Fact {
    let notebook = match (maybe(v, "notebook.name"), maybe(v, "notebook.saved"), maybe(v, "notebook.missing")) {
        (Some(name), _, Some(why)) => format!(" ({name}: {why})"),
        (Some(name), Some(saved), None) => format!(" ({name}, as saved {saved})"),
        (Some(name), None, None) => format!(" ({name})"),
        (None, _, _) => String::new(),
    };
    let says = match maybe(v, "badge").as_deref() {
        Some("valid") => "valid: it stands for what ran",
        Some("stale") => "STALE: it does not stand for what ran",
        Some("not_all_could_be_told") => "not all could be told",
        _ => NOT_RECORDED,
    };
    Fact::new("notebook", format!("{says}{notebook}"))
}

/// That another notebook stands there which was not looked at.
pub fn passed_over(v: &Value) -> Option<Block> {
    let name = maybe(v, "passed_over.name")?;
    let says = format!("{name} was passed over: {}.", text(v, "passed_over.because"));
    Some(if flag(v, "passed_over.usual") == Some(true) { Block::Say(says) } else { Block::Alarm(says) })
}

/// The answers, one below the other, and what none of them covers.
pub fn answers(v: &Value, doc: &mut Doc) {
    let mut items: Vec<Item> = Vec::new();
    let mut answers = list(v, "answers").iter().peekable();
    while let Some(answer) = answers.next() {
        let question = |answer: &Value| asked(answer["question"].as_str().unwrap_or_default()).to_owned();
        let mut questions = question(answer);
        // What one reason leaves open is said once.
        let alike = |next: &&Value| {
            ["state", "reason"].iter().all(|key| next[*key] == answer[*key]) && answer["state"] == "cannot_tell"
        };
        while let Some(next) = answers.next_if(alike) {
            let next = question(next);
            let mut letters = next.chars();
            let first: String = letters.next().into_iter().flat_map(char::to_lowercase).collect();
            questions = format!("{questions}; {first}{}", letters.as_str());
        }
        let (mark, word) = word(answer["state"].as_str().unwrap_or_default());
        let mut item = Item::new(mark, format!("{questions}: {word}"));
        item.lines.push(text(answer, "reason"));
        let pieces = list(answer, "details");
        item.lines.extend(pieces.iter().take(PIECES).map(|piece| format!("– {}", scalar(piece))));
        if pieces.len() > PIECES {
            item.lines.push(format!("– and {} more", pieces.len() - PIECES));
        }
        items.push(item);
    }
    if !items.is_empty() {
        doc.items(items);
        let count = at(v, "text_cells").and_then(Value::as_u64).unwrap_or_default();
        let said = free_text(usize::try_from(count).unwrap_or(usize::MAX), list(v, "texts"), maybe(v, "texts_bound"));
        doc.blocks.extend(said.map(Block::Close));
    }
}

/// The section of a report.
pub fn document(v: &Value) -> Doc {
    if at(v, "badge").is_none() {
        let mut doc = Doc::default();
        doc.say("Whether the notebook stands for what ran is not recorded.");
        return doc;
    }
    let (word, tone) = badge(v);
    let mut doc = Doc::titled(word, tone, "");
    doc.say(match maybe(v, "badge").as_deref() {
        Some("valid") => {
            "The notebook of this case stands for what ran: its cells and results are those of the log, and so are the data."
        }
        Some("stale") => "The notebook of this case does not stand for what ran. The log does; what differs is named here.",
        _ => "Nothing speaks against the notebook of this case, but not every question could be answered from the case alone.",
    });
    answers(v, &mut doc);
    doc
}
