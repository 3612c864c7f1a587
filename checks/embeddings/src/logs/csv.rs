//! Comma-separated values, as RFC 4180 and Python's `csv` write them: a head, then a row for each step.

use super::Raw;

/// Reads a log; an empty cell holds nothing.
pub(super) fn read(content: &[u8], separator: u8) -> Result<Raw, String> {
    let text = std::str::from_utf8(content).map_err(|e| format!("it is not UTF-8 at byte {}", e.valid_up_to()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut records = Records { rest: text, separator: separator as char, line: 0 };
    let mut raw = Raw::default();
    let Some((_, head)) = records.next_record()? else { return Err("it is empty".to_owned()) };
    for name in &head {
        let at = raw.names.len();
        if raw.column(name.trim()) != at {
            return Err(format!("two of its columns are named `{}`", name.trim()));
        }
    }
    while let Some((line, cells)) = records.next_record()? {
        if cells.len() == 1 && cells[0].trim().is_empty() {
            continue;
        }
        if cells.len() != head.len() && records.rest.is_empty() && !text.ends_with('\n') {
            // A run that was killed cuts its last line.
            break;
        }
        if cells.len() != head.len() {
            return Err(format!("line {line} has {} cells, its head {}", cells.len(), head.len()));
        }
        let mut row = Vec::with_capacity(cells.len());
        for (column, cell) in cells.iter().enumerate() {
            let cell = cell.trim();
            let number = cell.parse::<f64>().ok();
            raw.texts[column] |= number.is_none() && !cell.is_empty();
            row.push(number);
        }
        raw.rows.push(row);
    }
    Ok(raw)
}

/// A cell as it can be read back.
pub(super) fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}

struct Records<'t> {
    rest: &'t str,
    separator: char,
    line: u64,
}

impl Records<'_> {
    /// The cells of the next record, and the line that it begins on, from 1.
    fn next_record(&mut self) -> Result<Option<(u64, Vec<String>)>, String> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let begins = self.line + 1;
        let (mut cells, mut cell, mut within) = (Vec::new(), String::new(), false);
        let mut characters = self.rest.char_indices().peekable();
        while let Some((at, c)) = characters.next() {
            if c == '\n' {
                self.line += 1;
            }
            match c {
                '"' if within => match characters.peek() {
                    Some((_, '"')) => {
                        characters.next();
                        cell.push('"');
                    }
                    _ => within = false,
                },
                '"' if cell.trim().is_empty() => {
                    cell.clear();
                    within = true;
                }
                '\n' if !within => {
                    self.rest = &self.rest[at + 1..];
                    cells.push(cell.trim_end_matches('\r').to_owned());
                    return Ok(Some((begins, cells)));
                }
                c if c == self.separator && !within => cells.push(std::mem::take(&mut cell)),
                c => cell.push(c),
            }
        }
        if within {
            return Err(format!("a quote that opens on line {begins} does not close"));
        }
        self.rest = "";
        self.line += 1;
        cells.push(cell);
        Ok(Some((begins, cells)))
    }
}
