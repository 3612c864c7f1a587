//! JSON lines: an object for each step, or for each group of scalars of one.

use serde_json::Value;

use super::{MOST_CELLS, Raw};

/// Reads a log. Members of objects inside are named with a dot: `train.loss`.
pub(super) fn read(content: &[u8]) -> Result<Raw, String> {
    let text = std::str::from_utf8(content).map_err(|e| format!("it is not UTF-8 at byte {}", e.valid_up_to()))?;
    let mut raw = Raw::default();
    let last = text.lines().count();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let read =
            serde_json::from_str(line).or_else(|error| serde_json::from_str(&quoted_numbers(line)).map_err(|_| error));
        let value: Value = match read {
            Ok(value) => value,
            // A run that was killed cuts its last line.
            Err(_) if number + 1 == last && !text.ends_with('\n') => break,
            Err(error) => return Err(format!("line {} is no JSON: {error}", number + 1)),
        };
        if !value.is_object() {
            return Err(format!("line {} is no object", number + 1));
        }
        let mut row = Vec::new();
        members("", &value, &mut raw, &mut row);
        if !raw.push(row) {
            return Err(format!("line {} brings it beyond {MOST_CELLS} numbers and gaps in all columns", number + 1));
        }
    }
    Ok(raw)
}

fn members(prefix: &str, value: &Value, raw: &mut Raw, row: &mut Vec<Option<f64>>) {
    let mut put = |raw: &mut Raw, number: Option<f64>, text: bool| {
        let column = raw.column(prefix);
        raw.texts[column] |= text;
        if row.len() <= column {
            row.resize(column + 1, None);
        }
        row[column] = number;
    };
    match value {
        Value::Object(map) => {
            for (name, inner) in map {
                let name = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                members(&name, inner, raw, row);
            }
        }
        Value::Number(number) => put(raw, number.as_f64(), number.as_f64().is_none()),
        Value::Null => put(raw, None, false),
        Value::String(text) if NOT_FINITE.contains(&text.as_str()) => put(raw, text.parse().ok(), false),
        Value::String(_) | Value::Bool(_) | Value::Array(_) => put(raw, None, true),
    }
}

/// What Python's `json` writes for numbers that JSON has not.
const NOT_FINITE: [&str; 3] = ["NaN", "Infinity", "-Infinity"];

/// The line with these in quotes, where they stand outside of them.
fn quoted_numbers(line: &str) -> String {
    let (mut out, mut rest, mut within) = (String::with_capacity(line.len() + 16), line, false);
    while let Some(c) = rest.chars().next() {
        let word = NOT_FINITE.iter().find(|word| !within && rest.starts_with(**word));
        if let Some(word) = word {
            out += &format!("\"{word}\"");
            rest = &rest[word.len()..];
            continue;
        }
        let escaped = within && c == '\\';
        let taken: usize = rest.chars().take(1 + usize::from(escaped)).map(char::len_utf8).sum();
        out.push_str(&rest[..taken]);
        within ^= c == '"';
        rest = &rest[taken..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::quoted_numbers;

    #[test]
    fn numbers_that_json_has_not_are_told_from_texts() {
        let line = r#"{"a": NaN, "b\"NaN": -Infinity, "c": "NaN is", "d": [Infinity]}"#;
        assert_eq!(quoted_numbers(line), r#"{"a": "NaN", "b\"NaN": "-Infinity", "c": "NaN is", "d": ["Infinity"]}"#);
    }
}
