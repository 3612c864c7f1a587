//! Makes text of a record harmless to look at: nothing steers a terminal, reorders a line or becomes markup.

use std::fmt::Write as _;

/// Longest id shown whole, in characters.
const ID_CHARS: usize = 72;

/// One line: control, direction and invisible characters are written out, as in `\n` or `\u{202e}`.
pub fn line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        push(&mut out, c);
    }
    out
}

/// Like [`line`], but line breaks and tabs stay.
pub fn lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.replace("\r\n", "\n").chars() {
        if c == '\n' || c == '\t' { out.push(c) } else { push(&mut out, c) }
    }
    out
}

fn push(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        _ if hidden(c) => {
            let _ = write!(out, "\\u{{{:x}}}", c as u32);
        }
        _ => out.push(c),
    }
}

/// Characters that change how others are shown, show nothing themselves, or may not stand in XML.
fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}'
            | '\u{e0000}'..='\u{e007f}')
}

/// An id as shown: whole up to 72 characters, else its two ends and its length.
pub fn short_id(id: &str) -> String {
    let length = id.chars().count();
    if id.is_empty() {
        return "(empty id)".to_owned();
    }
    if length <= ID_CHARS {
        return id.to_owned();
    }
    let head: String = id.chars().take(48).collect();
    let tail: String = id.chars().skip(length - 16).collect();
    format!("{head}…{tail} ({} characters)", crate::number::grouped(length as u64))
}

/// The first twelve characters of a digest in hexadecimal; anything else is shown as it is.
pub fn short_digest(digest: &str) -> String {
    let hex = digest.strip_prefix("sha256:").unwrap_or(digest);
    if hex.len() > 12 && hex.bytes().all(|b| b.is_ascii_hexdigit()) { hex[..12].to_owned() } else { digest.to_owned() }
}

/// Text as HTML or XML content or attribute value.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}
