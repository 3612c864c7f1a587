//! Cases of other machines that were joined to this one: what they concluded themselves, and in which environment.

use serde_json::Value;

use super::case::{Judged, judged, kept};
use super::parts::{bare, card, heading};
use crate::doc::{Fact, Table};
use crate::field::{at, count, list, maybe, text};
use crate::html;

/// Empty if there are none.
pub fn part(case: &Value) -> String {
    let own = kept(case, "snapshots").last().and_then(|kept| maybe(kept.result, "digest"));
    list(case, "imported").iter().map(|parent| one(parent, own.as_deref())).collect()
}

fn one(parent: &Value, own: Option<&str>) -> String {
    let name = maybe(parent, "name").unwrap_or_else(|| "a case without a name".to_owned());
    let snapshots = kept(parent, "snapshots");
    let theirs = snapshots.last().and_then(|kept| maybe(kept.result, "digest"));
    let environment = match (own, theirs.as_deref()) {
        (Some(own), Some(theirs)) if own == theirs => "the same as here, by its digest",
        (Some(_), Some(_)) => "another one than here; %why tells the differences",
        (_, None) => "not recorded there",
        (None, Some(_)) => "recorded there, not here",
    };
    let mut out = heading(&format!("{name} (imported in entry {})", text(parent, "entry")));
    let rows: Vec<Vec<String>> = kept(parent, "verdicts")
        .into_iter()
        .map(|kept| {
            let v = kept.result;
            let word = match judged(v, at(parent, "reference")) {
                Judged::InTime(word) => word,
                Judged::Explored => "explored, no verdict".to_owned(),
                Judged::Late => format!("{} (POST HOC)", text(v, "verdict")),
                Judged::OtherReference => format!("{} (of another reference)", text(v, "verdict")),
                Judged::Redacted => format!("redacted there by entry {}", text(v, "redacted_by")),
                Judged::OfItself => format!("{} (of the reference with itself)", text(v, "verdict")),
                Judged::Unsealed => format!("{} (not known to be sealed in time)", text(v, "verdict")),
            };
            vec![kept.entry(), text(v, "candidate.path"), text(v, "criterion.name"), word]
        })
        .collect();
    out.push_str(&bare(|doc| {
        doc.facts(vec![
            Fact::new("origin", text(parent, "origin")),
            Fact::new("entries", count(parent, "entries")),
            Fact::digest("root", text(parent, "root")),
            Fact::new("environment", environment),
        ]);
        if rows.is_empty() {
            doc.say("It gave no verdict of its own.");
        } else {
            let head = vec!["its entry", "candidate", "criterion", "verdict"];
            doc.table(Table { caption: "Verdicts given there".to_owned(), head, rows });
        }
    }));
    if let Some(last) = snapshots.last() {
        out.push_str(&html::fold(&format!("its environment, {}", last.dated()), &card("snapshot", &last.placed())));
    }
    out
}
