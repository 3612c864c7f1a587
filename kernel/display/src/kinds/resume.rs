//! What a verdict on a resumed training says besides: how it was interrupted, what was restored.

use serde_json::Value;

use crate::doc::Fact;
use crate::field::{NOT_RECORDED, at, flag, maybe, text};
use crate::visible::short_digest;

/// Nothing, for a verdict on anything else.
pub fn facts(v: &Value) -> Vec<Fact> {
    let Some(r) = at(v, "resume") else { return Vec::new() };
    let mut facts = vec![
        Fact::new("interrupted", format!("after step {}: {}", text(r, "at"), part(r, "first"))),
        Fact::new("checkpoint", checkpoint(r)),
        Fact::new("resumed", if at(r, "resumed").is_some() { part(r, "resumed") } else { "not run".to_owned() }),
    ];
    if at(r, "repeat").is_some() {
        let equal = match flag(r, "repeat.equal") {
            Some(true) => "every scalar equal to the bit".to_owned(),
            Some(false) => maybe(r, "repeat.verdict")
                .map_or_else(|| "not equal to the bit".to_owned(), |word| format!("not equal to the bit, {word}")),
            None => NOT_RECORDED.to_owned(),
        };
        facts.push(Fact::new("uninterrupted again", format!("{equal}: {}", part(r, "repeat"))));
    }
    for (state, label) in [
        ("restored", "restored"),
        ("not_restored", "not restored"),
        ("unknown", "unknown whether restored"),
        ("not_used", "not used"),
    ] {
        let parts = parts(r, state);
        if !parts.is_empty() {
            let stated = if state == "unknown" { "" } else { " (as the author states)" };
            facts.push(Fact::new(label, format!("{}{stated}", parts.join(", "))));
        }
    }
    facts
}

fn parts(r: &Value, state: &str) -> Vec<String> {
    let all = at(r, "state").and_then(Value::as_object).into_iter().flatten();
    all.filter(|(_, found)| found.as_str() == Some(state)).map(|(part, _)| part.clone()).collect()
}

/// `python3 train.py …; ended with status 0; steps 1 to 30 (entry 7)`
fn part(r: &Value, name: &str) -> String {
    let Some(part) = at(r, name) else { return NOT_RECORDED.to_owned() };
    let steps = match (maybe(part, "first_step"), maybe(part, "last_step")) {
        (Some(first), Some(last)) => format!("; steps {first} to {last}"),
        _ => String::new(),
    };
    format!("{}; {}{steps} (entry {})", text(part, "line"), text(part, "ended"), text(part, "entry"))
}

fn checkpoint(r: &Value) -> String {
    let path = text(r, "checkpoint.path");
    if flag(r, "checkpoint.written") == Some(false) {
        return format!("{path}, not written");
    }
    let digest = maybe(r, "checkpoint.sha256").map_or_else(|| NOT_RECORDED.to_owned(), |digest| short_digest(&digest));
    let after = match flag(r, "checkpoint.changed_afterwards") {
        Some(true) => ", written again by the resumed part",
        Some(false) | None => "",
    };
    format!("{path}, SHA-256 {digest}{after}")
}
