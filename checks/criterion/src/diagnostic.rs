//! Draws a message at its place in a cell, as rustc does.

use crate::Diagnostic;
use crate::words::plain;

/// The message `text` at `line` and `column` of `source` (from 1; 0 where it has no place), which is shown as `file`.
pub fn at(file: &str, source: &str, (line, column): (u32, u32), text: &str) -> Diagnostic {
    let message = plain(text);
    let shown = (line as usize).checked_sub(1).and_then(|above| source.lines().nth(above)).map(plain);
    let rendered = match shown {
        Some(shown) => {
            let (number, space) = (line.to_string(), " ".repeat(line.to_string().len()));
            let mut drawn =
                format!("error: {message}\n{space}--> {file}:{line}:{column}\n{space} |\n{number} | {shown}\n");
            if column > 0 && column as usize <= shown.chars().count() + 1 {
                drawn += &format!("{space} | {}^\n", " ".repeat(column as usize - 1));
            }
            drawn
        }
        None => format!("error: {message}\n"),
    };
    let placed = shown_at(source, line);
    Diagnostic { line: if placed { line } else { 0 }, column: if placed { column } else { 0 }, message, rendered }
}

fn shown_at(source: &str, line: u32) -> bool {
    line > 0 && line as usize <= source.lines().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_drawn_under_its_line_and_one_without_a_place_stands_alone() {
        let drawn = at("c.py", "x = 1\n  y = z\n", (2, 7), "NameError: z");
        assert_eq!(drawn.rendered, "error: NameError: z\n --> c.py:2:7\n  |\n2 |   y = z\n  |       ^\n");
        assert_eq!((drawn.line, drawn.column), (2, 7));
        let nowhere = at("c.py", "x", (9, 1), "none");
        assert_eq!((nowhere.line, nowhere.rendered.as_str()), (0, "error: none\n"));
    }
}
