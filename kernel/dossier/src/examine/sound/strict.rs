//! Reads JSON in the one form in which serde writes it here, without building anything of it.
//!
//! What this reader takes, serde reads and writes again as the same bytes. It does not take all such texts: what it
//! refuses is given to serde, which decides. So it is short where a form is rare.

use serde_json::Value;

use crate::tree::{Hash, from_hex};

/// Containers within containers that are read here; serde_json reads 128.
const DEPTH: usize = 32;

/// Members of one object of a value that are compared with each other; an object of more is left to serde.
const MEMBERS: usize = 32;

/// A text and how far it is read. Every method gives `None` for what this reader does not take.
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

/// What stands between the quotes of a string.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quoted<'a> {
    /// As it is written, escapes included.
    pub(super) raw: &'a str,
    /// True if there are escapes in it.
    pub(super) escaped: bool,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Cursor { text, at: 0 }
    }

    /// Bytes read so far.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Reads exactly this, or nothing. Where it is used the text is a short constant, which is compared in a register
    /// or two if this is inlined; it was a fifth of the time of a verification when it was not.
    #[inline(always)]
    pub(super) fn take(&mut self, expected: &str) -> bool {
        let found = self.rest().get(..expected.len()).is_some_and(|found| found == expected.as_bytes());
        self.at += if found { expected.len() } else { 0 };
        found
    }

    /// Reads exactly this.
    #[inline(always)]
    pub(super) fn expect(&mut self, expected: &str) -> Option<()> {
        self.take(expected).then_some(())
    }

    /// A number without sign, fraction and exponent.
    pub(super) fn number(&mut self) -> Option<u64> {
        let digits = self.rest().iter().take_while(|b| b.is_ascii_digit()).count();
        let number = self.rest().get(..digits)?;
        if digits == 0 || (digits > 1 && number[0] == b'0') {
            return None;
        }
        self.at += digits;
        number.iter().try_fold(0_u64, |n, digit| n.checked_mul(10)?.checked_add(u64::from(digit - b'0')))
    }

    /// A string.
    pub(super) fn string(&mut self) -> Option<Quoted<'a>> {
        self.expect("\"")?;
        let start = self.at;
        let mut escaped = false;
        loop {
            self.at += plain(self.rest());
            match self.peek()? {
                b'"' => {
                    let raw = self.text.get(start..self.at)?;
                    self.at += 1;
                    return Some(Quoted { raw, escaped });
                }
                b'\\' => {
                    escaped = true;
                    self.at += escape(self.rest())?.1;
                }
                // A control character is never written as it is.
                _ => return None,
            }
        }
    }

    /// A string without escapes.
    pub(super) fn simple(&mut self) -> Option<&'a str> {
        self.string().filter(|quoted| !quoted.escaped).map(|quoted| quoted.raw)
    }

    /// A string of 64 hexadecimal digits.
    pub(super) fn hash(&mut self) -> Option<Hash> {
        from_hex(self.simple()?)
    }

    /// Any value.
    pub(super) fn value(&mut self) -> Option<()> {
        self.nested(DEPTH)
    }

    fn nested(&mut self, depth: usize) -> Option<()> {
        match self.peek()? {
            b'"' => self.string().map(drop),
            b'{' => self.object(depth.checked_sub(1)?),
            b'[' => self.array(depth.checked_sub(1)?),
            b't' => self.expect("true"),
            b'f' => self.expect("false"),
            b'n' => self.expect("null"),
            _ => self.any_number(),
        }
    }

    fn array(&mut self, depth: usize) -> Option<()> {
        self.expect("[")?;
        if self.take("]") {
            return Some(());
        }
        loop {
            self.nested(depth)?;
            if self.take("]") {
                return Some(());
            }
            self.expect(",")?;
        }
    }

    fn object(&mut self, depth: usize) -> Option<()> {
        self.expect("{")?;
        if self.take("}") {
            return Some(());
        }
        let mut names = [""; MEMBERS];
        for count in 0..MEMBERS {
            let name = self.string()?.raw;
            // The one form of a string makes equal names equal as they are written. A name that begins with `$` may be
            // one that serde_json takes for its own.
            if name.starts_with('$') || names[..count].contains(&name) {
                return None;
            }
            names[count] = name;
            self.expect(":")?;
            self.nested(depth)?;
            if self.take("}") {
                return Some(());
            }
            self.expect(",")?;
        }
        None
    }

    fn any_number(&mut self) -> Option<()> {
        let rest = self.rest();
        let digits = |b: &u8| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.' | b'e' | b'E');
        let written = rest.get(..rest.iter().take_while(|b| digits(b)).count())?;
        self.at += written.len();
        let unsigned = written.strip_prefix(b"-").unwrap_or(written);
        // Below 10^18 every whole number is written as it is read; -0 is none.
        let whole =
            matches!(unsigned, [b'1'..=b'9', more @ ..] if more.len() < 18 && more.iter().all(u8::is_ascii_digit));
        if whole || written == b"0" {
            return Some(());
        }
        let number: Value = serde_json::from_slice(written).ok()?;
        (serde_json::to_vec(&number).ok()? == written).then_some(())
    }
}

impl Quoted<'_> {
    /// Adds the bytes that this stands for.
    pub(super) fn decode(&self, into: &mut Vec<u8>) -> Option<()> {
        let mut rest = self.raw.as_bytes();
        while !rest.is_empty() {
            let (text, more) = rest.split_at(if self.escaped { plain(rest) } else { rest.len() });
            into.extend_from_slice(text);
            rest = more;
            if !rest.is_empty() {
                let (byte, length) = escape(rest)?;
                into.push(byte);
                rest = rest.get(length..)?;
            }
        }
        Some(())
    }
}

/// What an escape stands for and its length; `None` if it is not written like that.
fn escape(bytes: &[u8]) -> Option<(u8, usize)> {
    let short = |byte| Some((byte, 2));
    match *bytes.get(1)? {
        b'"' => short(b'"'),
        b'\\' => short(b'\\'),
        b'b' => short(8),
        b't' => short(b'\t'),
        b'n' => short(b'\n'),
        b'f' => short(12),
        b'r' => short(b'\r'),
        b'u' => {
            let [b'0', b'0', high @ (b'0' | b'1'), low] = *bytes.get(2..6)? else { return None };
            let low = match low {
                b'0'..=b'9' => low - b'0',
                b'a'..=b'f' => low - b'a' + 10,
                _ => return None,
            };
            let byte = (high - b'0') << 4 | low;
            (!matches!(byte, 8 | 9 | 10 | 12 | 13)).then_some((byte, 6))
        }
        _ => None,
    }
}

/// How many bytes of a string stand for themselves before a quote, a backslash or a control character.
fn plain(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        // In each byte the highest bit is set if the byte is below `limit`, and perhaps in bytes after such a one.
        let word = u64::from_le_bytes(*word);
        let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word;
        let is = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
        let found = (below(word, 0x20) | is(b'"') | is(b'\\')) & (ONES << 7);
        if found != 0 {
            return index * 8 + found.trailing_zeros() as usize / 8;
        }
    }
    words.len() * 8 + rest.iter().take_while(|b| **b >= 0x20 && **b != b'"' && **b != b'\\').count()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Whether serde writes a value as it stands.
    fn canonical(text: &str) -> bool {
        let value: Option<Value> = serde_json::from_str(text).ok();
        value.is_some_and(|value| serde_json::to_string(&value).unwrap() == text)
    }

    fn taken(text: &str) -> bool {
        let mut cursor = Cursor::new(text);
        cursor.value().is_some() && cursor.at() == text.len()
    }

    #[test]
    fn values_in_their_one_form_are_taken_and_others_not() {
        for text in [
            r#""""#,
            r#""é\n\"\\\u0000\u001f\b\f\r\t""#,
            "\"\u{7f}\u{2028}/\"",
            "0",
            "-1",
            "18446744073709551615",
            "1.5",
            "-0.0",
            "1e+300",
            "1e+16",
            "0.1",
            "-9223372036854775808",
            "true",
            "false",
            "null",
            "{}",
            "[]",
            r#"{"b":1,"a":[1,{}]}"#,
            r#"{"a":{"a":1}}"#,
        ] {
            assert!(canonical(text) && taken(text), "{text}");
        }
        for text in [
            r#""\/""#,
            r#""\u0041""#,
            r#""\u001F""#,
            r#""\u000a""#,
            r#""\u0008""#,
            r#""\uD834\uDD1E""#,
            "\"\n\"",
            "\"",
            "01",
            "-0",
            "+1",
            "1.50",
            "1.",
            ".5",
            "1E5",
            "1e5",
            "1e16",
            "1e999",
            "18446744073709551616",
            "tru",
            "True",
            "[1,]",
            "[,1]",
            "[1 ]",
            "{\"a\":1,}",
            "{\"a\" :1}",
            "{a:1}",
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"b":{"c":1,"c":2}}"#,
            r#"{"é":1,"é":1}"#,
            "",
            "-",
            "[",
            "{\"a\"",
        ] {
            assert!(!canonical(text) && !taken(text), "{text}");
        }
        // Left to serde, although it may write them so.
        let wide: Vec<String> = (0..40).map(|i| format!("\"{i}\":{i}")).collect();
        for text in ["[".repeat(60) + &"]".repeat(60), format!("{{{}}}", wide.join(",")), r#"{"$a":1}"#.to_owned()] {
            assert!(canonical(&text) && !taken(&text), "{text}");
        }
        assert!(!taken(r#"{"$serde_json::private::RawValue":"1"}"#));
    }

    /// Every text that a few changes make of a rich one: what is taken here, serde writes the same way.
    #[test]
    fn what_is_taken_is_what_serde_writes() {
        let rich =
            r#"{"a\n":[0,-1,1.5e+300,"é\u0001\\\"",{"b":null,"c":true}],"d":false,"e":"0123456789abcdef","f":{}}"#;
        let (mut random, mut accepted) = (7_u64, 0);
        let mut next = |below: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as usize % below
        };
        let pieces = [
            "\"", "\\", ",", ":", "{", "}", "[", "]", "0", "1", "-", ".", "e", "a", "u", " ", "\u{1}", "é", "\"a\":1,",
            "$",
        ];
        for _ in 0..300_000 {
            let mut changed: Vec<char> = rich.chars().collect();
            for _ in 0..1 + next(2) {
                let at = next(changed.len());
                let piece: Vec<char> =
                    if next(3) == 0 { Vec::new() } else { pieces[next(pieces.len())].chars().collect() };
                changed.splice(at..(at + next(2)).min(changed.len()), piece);
            }
            let text: String = changed.into_iter().collect();
            if taken(&text) {
                accepted += 1;
                assert!(canonical(&text), "{text}");
            }
        }
        assert!(accepted > 10_000, "{accepted}");
    }

    #[test]
    fn a_decoded_string_is_what_serde_reads() {
        for text in [r#""""#, r#""plain""#, r#""é\n\"\\\u0000\u001f\b\f\r\t and more""#] {
            let mut decoded = Vec::new();
            Cursor::new(text).string().unwrap().decode(&mut decoded).unwrap();
            assert_eq!(decoded, serde_json::from_str::<String>(text).unwrap().as_bytes());
        }
    }

    #[test]
    fn the_run_of_plain_bytes_ends_at_the_first_other_one() {
        for length in 0..40 {
            for at in 0..=length {
                for byte in 0..=255_u8 {
                    let mut bytes = vec![0xa0; length];
                    bytes.iter_mut().skip(at).for_each(|b| *b = byte);
                    let ends = byte < 0x20 || byte == b'"' || byte == b'\\';
                    assert_eq!(plain(&bytes), if ends { at } else { length }, "{length} {at} {byte}");
                }
            }
        }
    }
}
