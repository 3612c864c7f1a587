//! Reads a record leniently: a field that is absent, null or of another shape gives "not recorded", never a guess.
//!
//! Must not know: which records exist.

use serde_json::Value;

use crate::number;

/// What stands where a record is silent.
pub const NOT_RECORDED: &str = "not recorded";

/// The value at a dotted path such as `reference.output.path`; null counts as absent.
pub fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    let found = path.split('.').try_fold(value, |here, key| here.get(key))?;
    (!found.is_null()).then_some(found)
}

/// The first of several paths that the record has.
pub fn first<'v>(value: &'v Value, paths: &[&str]) -> Option<&'v Value> {
    paths.iter().find_map(|path| at(value, path))
}

/// The text at a path, where the record has one.
pub fn maybe(value: &Value, path: &str) -> Option<String> {
    at(value, path).map(scalar)
}

/// The text at a path, or "not recorded".
pub fn text(value: &Value, path: &str) -> String {
    maybe(value, path).unwrap_or_else(|| NOT_RECORDED.to_owned())
}

/// A count at a path, grouped in thousands, or "not recorded".
pub fn count(value: &Value, path: &str) -> String {
    match at(value, path) {
        Some(Value::Number(n)) => n.as_u64().map_or_else(|| number::exact(n), number::grouped),
        Some(Value::Array(list)) => number::grouped(list.len() as u64),
        Some(other) => scalar(other),
        None => NOT_RECORDED.to_owned(),
    }
}

/// The list at a path; empty if there is none.
pub fn list<'v>(value: &'v Value, path: &str) -> &'v [Value] {
    at(value, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The truth value at a path, where the record has one.
pub fn flag(value: &Value, path: &str) -> Option<bool> {
    at(value, path).and_then(Value::as_bool)
}

/// Any value in one line: texts as they are, lists joined by commas, objects as `key = value`.
pub fn scalar(value: &Value) -> String {
    match value {
        Value::Null => NOT_RECORDED.to_owned(),
        Value::Bool(b) => b.to_string(),
        Value::Number(n) => number::exact(n),
        Value::String(s) if s.is_empty() => "(empty)".to_owned(),
        Value::String(s) => s.clone(),
        Value::Array(list) if list.is_empty() => "none".to_owned(),
        Value::Array(list) => list.iter().map(scalar).collect::<Vec<_>>().join(", "),
        Value::Object(map) if map.is_empty() => "none".to_owned(),
        Value::Object(map) => map.iter().map(|(k, v)| format!("{k} = {}", scalar(v))).collect::<Vec<_>>().join(", "),
    }
}
