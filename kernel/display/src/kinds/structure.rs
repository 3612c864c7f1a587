//! What a verdict's record says of the two files before any figure: one line, or one finding per obstacle.

use serde_json::Value;

use crate::doc::{Item, Mark};
use crate::field::{NOT_RECORDED, at, count, flag, list, maybe, scalar, text};
use crate::visible::short_id;

/// Ids shown of one obstacle.
const IDS: usize = 5;

/// Rows, order, shape and irregularities in one line.
pub fn summary(v: &Value) -> String {
    let Some(s) = at(v, "structure") else {
        return NOT_RECORDED.to_owned();
    };
    // Of training logs the rows are steps.
    let of_logs = maybe(s, "type_reference").is_some_and(|name| name.starts_with("scalars of a log"));
    let rows = if of_logs { "steps matched" } else { "rows matched by id" };
    let mut parts = vec![format!(
        "{} {rows}, of {} in the reference and {} in the candidate",
        count(s, "matched"),
        count(s, "rows_reference"),
        count(s, "rows_candidate")
    )];
    for (path, what) in [("missing", "missing"), ("extra", "extra"), ("duplicate_ids", "duplicate ids")] {
        match at(s, path) {
            None => parts.push(format!("{what} not recorded")),
            Some(Value::Array(ids)) if ids.is_empty() => {}
            Some(_) => parts.push(format!("{} {what}", count(s, path))),
        }
    }
    parts.push(match flag(s, "reordered") {
        Some(true) => "in another order".to_owned(),
        Some(false) => "in the same order".to_owned(),
        None => "order not recorded".to_owned(),
    });
    parts.push(shape(s));
    parts.push(
        match (at(s, "null_values").and_then(Value::as_u64), at(s, "nonfinite_values").and_then(Value::as_u64)) {
            (Some(0), Some(0)) => "no null and no non-finite values".to_owned(),
            _ => {
                format!("null values: {}, non-finite values: {}", count(s, "null_values"), count(s, "nonfinite_values"))
            }
        },
    );
    parts.join("; ")
}

/// Values per row and column type, once where both files agree.
fn shape(s: &Value) -> String {
    let dims = match (at(s, "dims"), at(s, "dims_candidate")) {
        (Some(reference), Some(candidate)) if reference != candidate => {
            format!(
                "{} values per row in the reference, {} in the candidate",
                count(s, "dims"),
                count(s, "dims_candidate")
            )
        }
        _ => format!("{} values per row", count(s, "dims")),
    };
    let types = match (maybe(s, "type_reference"), maybe(s, "type_candidate")) {
        (Some(reference), Some(candidate)) if reference == candidate => reference,
        _ => format!("{} against {}", text(s, "type_reference"), text(s, "type_candidate")),
    };
    format!("{dims}, {types}")
}

/// Each reason why the files cannot be compared, with ids and the next step.
pub fn obstacles(v: &Value) -> Vec<Item> {
    list(v, "structure.obstacles").iter().map(obstacle).collect()
}

fn obstacle(o: &Value) -> Item {
    let head = maybe(o, "message").or_else(|| maybe(o, "kind")).unwrap_or_else(|| NOT_RECORDED.to_owned());
    let mut item = Item::new(Mark::Failed, head);
    let ids = list(o, "ids");
    item.ids = ids.iter().take(IDS).map(|id| id.as_str().map_or_else(|| scalar(id), short_id)).collect();
    if ids.len() > IDS {
        item.lines.push(format!("{} further ids in the record", ids.len() - IDS));
    }
    item.lines.push(format!("next: {}", text(o, "next")));
    item
}
