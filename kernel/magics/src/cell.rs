//! A cell's text → magics and Rust.

use crate::{Action, MagicError};

/// One magic of a cell.
#[derive(Debug, Clone)]
pub struct Magic {
    /// What it asks for.
    pub action: Action,
    /// The rest of the cell, if it was a `%%` magic.
    pub body: Option<String>,
    /// The magic's line, for the record.
    pub line: String,
}

/// A cell, split.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    /// In their order.
    pub magics: Vec<Magic>,
    /// What is left: Rust, with blank lines where magics stood, so that line numbers stay. Empty if only space is left.
    pub rust: String,
}

/// Splits a cell. Lines that begin with `%` and a letter are magics; `%%` on the first line that is not blank takes the
/// whole rest.
///
/// # Errors
/// The first magic that cannot be parsed, before anything runs.
pub fn split(code: &str) -> Result<Cell, MagicError> {
    let first = code.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
    if let Some(line) = first.strip_prefix("%%") {
        let action = parse_line(line)?;
        if !action.needs_body() {
            return Err(MagicError::Body { name: action.name().to_owned() });
        }
        let after = code.find(first).map_or("", |at| &code[at + first.len()..]);
        let body = after.strip_prefix("\r\n").or(after.strip_prefix('\n')).unwrap_or(after).to_owned();
        return Ok(Cell {
            magics: vec![Magic { action, body: Some(body), line: first.to_owned() }],
            rust: String::new(),
        });
    }
    let mut cell = Cell::default();
    for line in code.lines() {
        if let Some(name) = line.strip_prefix("%%").filter(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic())) {
            let name = name.split_whitespace().next().unwrap_or_default().to_owned();
            return Err(MagicError::NotFirst { name });
        }
        let magic = line.strip_prefix('%').filter(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()));
        if let Some(rest) = magic {
            let action = parse_line(rest)?;
            if action.needs_body() {
                return Err(MagicError::NoBody { name: action.name().to_owned() });
            }
            cell.magics.push(Magic { action, body: None, line: line.to_owned() });
        } else {
            cell.rust.push_str(line);
        }
        cell.rust.push('\n');
    }
    // Comments beside magics are for the reader; they are no reason to start a compiler.
    if cell.rust.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with("//")) {
        cell.rust.clear();
    }
    Ok(cell)
}

fn parse_line(line: &str) -> Result<Action, MagicError> {
    let name = || line.split_whitespace().next().unwrap_or("").to_owned();
    let words = shlex::split(line).ok_or_else(|| MagicError::Quotes { name: name() })?;
    Action::parse(&words)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn magics_run_first_and_rust_keeps_its_line_numbers() {
        let cell = split("%snapshot\nlet x = 1;\n%compare a b --criterion c\nx % 2\n").unwrap();
        assert_eq!(cell.magics.iter().map(|m| m.action.name()).collect::<Vec<_>>(), ["snapshot", "compare"]);
        assert_eq!(cell.rust, "\nlet x = 1;\n\nx % 2\n");
    }

    #[test]
    fn comments_beside_magics_start_no_compiler() {
        assert!(split("// why\n%snapshot\n").unwrap().rust.is_empty());
    }

    #[test]
    fn a_cell_magic_takes_the_whole_rest_verbatim() {
        let cell = split("\n%%criterion tail --lang rust\n//! A.\n%x\n").unwrap();
        assert_eq!(cell.magics[0].body.as_deref(), Some("//! A.\n%x\n"));
        assert!(cell.rust.is_empty());
    }

    #[test]
    fn a_remainder_at_the_start_of_a_line_is_rust() {
        assert!(split("let y = x\n% 3;").unwrap().magics.is_empty());
    }

    #[test]
    fn what_cannot_be_parsed_is_named_with_the_next_step() {
        for (code, kind, says) in [
            ("%compre a b", "unknown_magic", "did you mean `%compare`"),
            ("%compare a", "usage", "%help compare"),
            ("%declare c --because 'x", "quotes", "close the quotes"),
            ("%reference new x", "no_body", "begin the cell with `%%reference`"),
            ("%%snapshot\nx", "no_body_taken", "write `%snapshot`"),
            ("let x = 1;\n%%criterion c\nx", "not_first", "a cell of its own"),
            ("%declare c --because x --set floor=high", "usage", "%help declare"),
            ("%declare c --because x --set floor=inf", "usage", "%help declare"),
        ] {
            let error = split(code).unwrap_err();
            assert_eq!(error.kind(), kind, "{code}: {error}");
            assert!(error.next_step().contains(says), "{code}: {}", error.next_step());
        }
    }

    #[test]
    fn a_command_keeps_every_word_behind_its_dashes() {
        match &split("%run --in d --reads a b --writes c -- py -c 'x = 1' --reads z").unwrap().magics[0].action {
            Action::Run(args) => {
                assert_eq!(args.command, ["py", "-c", "x = 1", "--reads", "z"]);
                assert_eq!((args.reads.len(), args.writes.len()), (2, 1));
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(split("%run python3 x.py").unwrap_err().kind(), "usage");
        assert_eq!(split("%python x").unwrap_err().kind(), "usage");
        assert_eq!(split("%python").unwrap_err().kind(), "no_body");
    }

    #[test]
    fn because_keeps_its_words() {
        match &split("%declare c --because \"a b\" --set x=1e-3").unwrap().magics[0].action {
            Action::Declare(args) => {
                assert_eq!(args.because, "a b");
                assert_eq!(args.set, [("x".to_owned(), 1e-3)]);
            }
            other => panic!("{other:?}"),
        }
    }
}
