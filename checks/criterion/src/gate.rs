//! What a cell's text already gives away: a criterion that would read files, that reads otherwise than it runs, or that
//! is larger or nested deeper than people write, is refused before any compiler sees it.
//!
//! Identifiers cannot be put together from pieces in stable Rust, so a cell that reads a file must contain one of a few
//! words, through whatever macro. Two more gates stand behind this one: Landlock around the compiler where the kernel
//! has it, and the compiler's own list of the files it read.

use crate::error::CriterionError;
use crate::words::redirects;
use proc_macro2::{TokenStream, TokenTree};

/// Bytes of a cell.
pub const SOURCE_BYTES: usize = 128 << 10;
/// Brackets inside brackets: beyond some thousand the compiler, which calls itself for each, runs out of stack.
pub const NESTING: usize = 128;

/// Refuses a source that no compiler should be given.
///
/// # Errors
/// [`CriterionError::TooLarge`], [`CriterionError::HiddenText`], [`CriterionError::ReadsFiles`].
pub fn check(name: &str, source: &str) -> Result<(), CriterionError> {
    text(name, source)?;
    reads_no_files(name, source)
}

/// Refuses a source in any language that is larger than people write, or reads otherwise than it runs.
///
/// # Errors
/// [`CriterionError::TooLarge`], [`CriterionError::HiddenText`].
pub fn text(name: &str, source: &str) -> Result<(), CriterionError> {
    if source.len() > SOURCE_BYTES {
        let what = format!("its source has {} bytes; the limit is {SOURCE_BYTES}", source.len());
        return Err(CriterionError::TooLarge { name: name.to_owned(), what });
    }
    for (line, shown) in (1_u32..).zip(source.lines()) {
        if let Some(c) = shown.chars().find(|c| redirects(*c)) {
            let what = format!("the invisible character U+{:04X}", c as u32);
            return Err(CriterionError::HiddenText { name: name.to_owned(), what, line });
        }
    }
    Ok(())
}

/// Refuses tokens that make the compiler read other files or the environment.
///
/// # Errors
/// [`CriterionError::ReadsFiles`] with the construct and its line. A cell that is not even a stream of tokens is let
/// through: rustc explains that better, and will not get further.
fn reads_no_files(name: &str, source: &str) -> Result<(), CriterionError> {
    let Ok(tokens) = source.parse::<TokenStream>() else { return Ok(()) };
    walk(name, tokens, 0)
}

fn walk(name: &str, tokens: TokenStream, depth: usize) -> Result<(), CriterionError> {
    let refuse =
        |what: String, line: usize| Err(CriterionError::ReadsFiles { name: name.to_owned(), what, line: line as u32 });
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (i, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) if depth == NESTING => {
                let line = group.span_open().start().line;
                let what = format!("it nests more than {NESTING} brackets at line {line}");
                return Err(CriterionError::TooLarge { name: name.to_owned(), what });
            }
            TokenTree::Group(group) => walk(name, group.stream(), depth + 1)?,
            TokenTree::Ident(ident) => {
                let word = ident.to_string();
                let word = word.strip_prefix("r#").unwrap_or(&word);
                let line = ident.span().start().line;
                match word {
                    "include" | "include_str" | "include_bytes" => return refuse(format!("`{word}!`"), line),
                    "env" | "option_env" if followed_by(&tokens, i, '!') => {
                        return refuse(format!("`{word}!`"), line);
                    }
                    // Only `mod x { … }` reads no other file; `mod` handed to a macro may become `mod x;`.
                    "mod" if !has_body(&tokens[i + 1..]) => return refuse("a module in another file".to_owned(), line),
                    _ => {}
                }
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
    Ok(())
}

fn followed_by(tokens: &[TokenTree], i: usize, mark: char) -> bool {
    matches!(tokens.get(i + 1), Some(TokenTree::Punct(p)) if p.as_char() == mark)
}

/// A name (or a macro's `$name`), then braces.
fn has_body(after: &[TokenTree]) -> bool {
    let dollar = matches!(after.first(), Some(TokenTree::Punct(p)) if p.as_char() == '$');
    let (name, body) = if dollar { (after.get(1), after.get(2)) } else { (after.first(), after.get(1)) };
    let braces = |t: &TokenTree| matches!(t, TokenTree::Group(g) if g.delimiter() == proc_macro2::Delimiter::Brace);
    matches!(name, Some(TokenTree::Ident(_))) && body.is_some_and(braces)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_read_a_file_is_refused_with_its_line() {
        for cell in [
            "\nconst X: &str = include_str!(\"/etc/hostname\");",
            "\nconst X: &[u8] = core::include_bytes! {\"/etc/hostname\"};",
            "\ninclude!(\"/etc/passwd\");",
            "\nuse std::include_str as read; const X: &str = read!(\"/etc/hostname\");",
            "\nmacro_rules! m { ($i:ident) => { $i!(\"/etc/hostname\") } } const X: &str = m!(include_str);",
            "\n#[path = \"/etc/passwd\"] mod x;",
            "\nmod x;",
            "\nmacro_rules! m { ($i:ident) => { mod $i; } } m!(x);",
            "\nmacro_rules! m { ($a:tt, $p:literal) => { #[path = $p] pub $a x; } } m!(mod, \"/etc/passwd\");",
            "\nconst X: &str = env!(\"HOME\");",
            "\nr#include_str!(\"/etc/hostname\");",
        ] {
            match reads_no_files("c", cell) {
                Err(CriterionError::ReadsFiles { line: 2, .. }) => {}
                other => panic!("{cell}: {other:?}"),
            }
        }
    }

    #[test]
    fn words_in_comments_texts_and_names_do_no_harm() {
        reads_no_files(
            "c",
            "//! include_str!(\"x\")\nmod inner { pub fn env() {} }\nfn f() { let included = \"include!\"; let path = 1; inner::env(); }",
        )
        .unwrap();
    }
}
