//! Structure, figures and distributions → the JSON that stands in the case file.

use fascicolo_contract::verdict::{Distribution, Figure, Outcome, WorstRow};
use fascicolo_contract::{Obstacle, Structure};
use serde_json::{Map, Value, json};

/// How many of the worst rows a figure names.
const WORST: usize = 5;

/// A number, or null with its name beside it where JSON has none.
fn number(into: &mut Map<String, Value>, key: &str, value: f64) {
    match serde_json::Number::from_f64(value) {
        Some(number) => {
            into.insert(key.to_owned(), Value::Number(number));
        }
        None => {
            into.insert(key.to_owned(), Value::Null);
            into.insert("text".to_owned(), Value::String(value.to_string()));
        }
    }
}

fn worst_row(row: &WorstRow) -> Value {
    let mut object = Map::new();
    object.insert("id".to_owned(), Value::String(row.id.clone()));
    number(&mut object, "value", row.value);
    Value::Object(object)
}

fn figure(figure: &Figure) -> Value {
    let mut object = Map::new();
    object.insert("name".to_owned(), Value::String(figure.name.clone()));
    number(&mut object, "value", figure.value);
    object.insert("unit".to_owned(), Value::String(figure.unit.clone()));
    object.insert("worst".to_owned(), figure.worst.iter().take(WORST).map(worst_row).collect());
    Value::Object(object)
}

/// The figures of an answer.
pub fn figures(outcome: &Outcome) -> Value {
    outcome.figures.iter().map(figure).collect()
}

/// The distributions of an answer, for the picture.
pub fn histograms(outcome: &Outcome) -> Value {
    let one = |d: &Distribution| {
        let bins: Vec<Value> =
            d.bins.iter().map(|b| json!({ "low": b.low, "high": b.high, "count": b.count })).collect();
        json!({ "name": d.name, "unit": d.unit, "below": d.zeros, "bins": bins, "threshold": d.threshold })
    };
    outcome.distributions.iter().map(one).collect()
}

/// The structure of both files.
pub fn structure(s: &Structure, more: &[Obstacle]) -> Value {
    let obstacle = |o: &Obstacle| {
        json!({
            "kind": o.kind.name(), "side": o.side.map(|side| side.to_string()), "rows": o.rows, "ids": o.ids,
            "message": o.message, "next": o.kind.next_step(),
        })
    };
    let obstacles: Vec<Value> = more.iter().chain(&s.obstacles).map(obstacle).collect();
    json!({
        "rows_reference": s.rows_reference, "rows_candidate": s.rows_candidate, "matched": s.matched,
        "missing": s.missing, "extra": s.extra, "duplicate_ids": s.duplicate_ids, "reordered": s.reordered,
        "dims": s.dims_reference, "dims_candidate": s.dims_candidate,
        "type_reference": s.type_reference, "type_candidate": s.type_candidate,
        "null_values": s.null_values, "nonfinite_values": s.nonfinite_values, "obstacles": obstacles,
    })
}
