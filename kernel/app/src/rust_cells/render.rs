//! Puts the compiler's messages back on the lines of the cell that the user wrote.
//!
//! Start at [`diagnostics`].

use std::fmt::Write;
use std::path::Path;

use evcxr::CompilationError;

use super::errors::{CellDiagnostic, CellSpan};

/// The compiler's messages about `code`; `our_line` is the line we put in (0 for none).
pub(super) fn diagnostics(errors: &[CompilationError], code: &str, our_line: usize) -> Vec<CellDiagnostic> {
    let any_error = errors.iter().any(|error| error.level() == "error");
    errors
        .iter()
        .filter(|error| !any_error || error.level() == "error")
        .map(|error| diagnostic(error, code, our_line))
        .collect()
}

fn diagnostic(error: &CompilationError, code: &str, our_line: usize) -> CellDiagnostic {
    let mut spans: Vec<CellSpan> = error
        .spanned_messages()
        .iter()
        .filter_map(|message| {
            let span = message.span?;
            Some(CellSpan {
                line: line_in_cell(span.start_line, our_line)?,
                column: span.start_column,
                end_line: line_in_cell(span.end_line, our_line)?,
                end_column: span.end_column,
                // evcxr repeats the message where the compiler has no label.
                label: if message.label.starts_with("error: ") { String::new() } else { message.label.clone() },
                primary: message.is_primary,
            })
        })
        .collect();
    spans.sort_by_key(|span| (!span.primary, span.line, span.column));
    let code_of = error.code().map(str::to_owned);
    let mut help = error.help();
    help.extend(error.evcxr_extra_hint().map(str::to_owned));
    let message = error.message();
    let rendered = render(&message, code_of.as_deref(), &spans, &help, code, &error.rendered());
    CellDiagnostic { message, code: code_of, spans, help, rendered }
}

/// The cell's own number of a line of what evcxr got; `None` for our own line.
fn line_in_cell(line: usize, our_line: usize) -> Option<usize> {
    match (our_line, line) {
        (0, line) => Some(line),
        (ours, line) if line == ours => None,
        (ours, line) if line > ours => Some(line - 1),
        (_, line) => Some(line),
    }
}

fn render(
    message: &str,
    code_of: Option<&str>,
    spans: &[CellSpan],
    help: &[String],
    code: &str,
    by_compiler: &str,
) -> String {
    let shows_our_code = by_compiler.contains("evcxr_") || by_compiler.contains("fascicolo_");
    if spans.is_empty() && !by_compiler.is_empty() && !shows_our_code {
        // Nothing of it lies in the cell: the compiler's own picture is the only one there is.
        return by_compiler.trim_end().to_owned();
    }
    let mut text = match code_of {
        Some(code_of) => format!("error[{code_of}]: {message}\n"),
        None => format!("error: {message}\n"),
    };
    let lines: Vec<&str> = code.lines().collect();
    let width = spans.iter().map(|span| span.line.to_string().len()).max().unwrap_or(1);
    let mut shown = 0;
    for span in spans {
        if span.line != shown {
            let line = lines.get(span.line.saturating_sub(1)).copied().unwrap_or_default();
            let _ = writeln!(text, "{:>width$} | {line}", span.line);
            shown = span.line;
        }
        let end = if span.end_line == span.line { span.end_column } else { span.column + 1 };
        let length = end.saturating_sub(span.column).max(1);
        let sign = if span.primary { "^" } else { "-" };
        let marker = format!("{}{} {}", " ".repeat(span.column.saturating_sub(1)), sign.repeat(length), span.label);
        let _ = writeln!(text, "{:>width$} | {}", "", marker.trim_end());
    }
    for help in help {
        let _ = writeln!(text, "help: {}", help.replace("\n\n", "\n").replace('\n', "\n      "));
    }
    text.trim_end().to_owned()
}

/// The line of the cell that stands at line `at` of the source evcxr compiled, if exactly one of the cell's is equal.
pub(super) fn cell_line(folder: &Path, at: usize, code: &str) -> Option<usize> {
    let source = std::fs::read_to_string(folder.join("src").join("lib.rs")).ok()?;
    let wanted = source.lines().nth(at.checked_sub(1)?)?.trim();
    let mut equal = code.lines().enumerate().filter(|(_, line)| !wanted.is_empty() && line.trim() == wanted);
    let (index, _) = equal.next()?;
    equal.next().is_none().then_some(index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_points_at_the_line_the_user_wrote() {
        assert_eq!([line_in_cell(1, 2), line_in_cell(2, 2), line_in_cell(3, 2)], [Some(1), None, Some(2)]);
        assert_eq!(line_in_cell(3, 0), Some(3));
    }

    #[test]
    fn the_picture_shows_the_cell_and_marks_the_place() {
        let span = CellSpan {
            line: 2,
            column: 9,
            end_line: 2,
            end_column: 10,
            label: "expected `u8`".to_owned(),
            primary: true,
        };
        let text = render("mismatched types", Some("E0308"), &[span], &["try this".to_owned()], "a\nlet x = y;", "");
        assert_eq!(text, "error[E0308]: mismatched types\n2 | let x = y;\n  |         ^ expected `u8`\nhelp: try this");
    }
}
