//! Words of strangers in our messages: short, on one line, and without characters that steer a terminal.

/// Characters of a stranger's text that a message repeats.
const CHARS: usize = 400;

/// `text` as it may stand in a message: cut, with line breaks as spaces and control and direction characters written
/// out.
pub fn plain(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().take(CHARS) {
        match c {
            '\n' | '\t' | '\r' => out.push(' '),
            _ if c.is_control() || redirects(c) => out.extend(c.escape_unicode()),
            _ => out.push(c),
        }
    }
    if text.len() > CHARS && text.chars().nth(CHARS).is_some() {
        out.push_str(&format!("… ({} bytes)", text.len()));
    }
    out
}

/// Characters that change the order in which others are shown.
pub fn redirects(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{061c}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strangers_text_is_cut_and_steers_no_terminal() {
        assert_eq!(plain("a\nb\u{1b}[2J\u{202e}c"), "a b\\u{1b}[2J\\u{202e}c");
        let long = plain(&"é".repeat(1 << 20));
        assert!(long.len() < 900 && long.ends_with("… (2097152 bytes)"), "{long}");
    }
}
