//! Values given to names that mean a secret: `password=…`, `"api_key": "…"`, `--token …`.
//!
//! Such names are frequent in code that holds no secret (`token = tokenizer(x)`, `pad_token="[PAD]"`), and masking code
//! would make a kept notebook useless. So an unquoted value counts only where it cannot be an expression, and the word
//! `token`, which language models use for something else, is held to more than `password`.

use regex::{Captures, Match};

/// `name = value`, `name: value`, `"name": "value"`. The name's last word is found; what stands before it is looked at
/// afterwards. In order: the word; what closes the name; a type, in code; the sign; a string's prefix; the value.
pub(super) const ASSIGNED: &str = concat!(
    r#"(?i)(?P<word>password|passwd|passphrase|passwort|pwd|secret|token|:_auth|"#,
    r#"(?:api|access|secret|private|account|auth|signing|encryption|client|subscription)[_\-]?key)"#,
    r#"\\?["']?\]?(?P<type>[ \t]*:[ \t]*[a-z_][\w.\[\]|&<> ]{0,40}?)?(?P<sign>[ \t]*(?:==|:=|=>|=|:)[ \t]*)[bfru]{0,2}"#,
    r#"(?:"(?P<double>(?:[^"\\\r\n]|\\.)*)"|'(?P<single>(?:[^'\\\r\n]|\\.)*)'|\\["'](?P<escaped>[^"'\\\r\n]*)\\["']|"#,
    r#"(?P<bare>[^\s"'`,;&|(){}<>\[\]\\=:][^\s"'`,;&|(){}<>\[\]\\]*)(?P<open>[(\[{]?))"#,
);

/// `--password value`, `--api-key 'a value'`, `"--token", "value"`: an option of a command line and its value after one
/// blank, or as the next of a list of texts.
pub(super) const OPTION: &str = concat!(
    r#"(?i)--(?:[a-z0-9]+[_\-])*(?:password|passwd|passphrase|secret|token|(?:api|access|secret|auth)[_\-]?key)"#,
    r#"(?: |\\?["'][ \t]*,[ \t]*\\?)"#,
    r#"(?:"(?P<double>[^"\r\n]*)"|'(?P<single>[^'\r\n]*)'|(?P<secret>[^\s"'`\-<\[{$(][^\s"'`]*))"#,
);

/// The groups of the two patterns that can hold a secret.
pub(super) const VALUES: &[&str] = &["double", "single", "escaped", "bare"];

/// Whether a key could be one of the names in [`ASSIGNED`]; a cheap look before the dear one.
pub(super) fn may_name_a_secret(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    ["pass", "pwd", "secret", "token", "_auth", "key"].iter().any(|word| key.contains(word))
}

/// What stands before `token` in names of special tokens of language models and of counts.
const HARMLESS_PREFIXES: &[&str] = &[
    "pad",
    "eos",
    "bos",
    "unk",
    "sep",
    "cls",
    "mask",
    "special",
    "additional",
    "image",
    "video",
    "audio",
    "next",
    "prev",
    "previous",
    "num",
    "per",
    "max",
    "min",
    "decoder",
    "boi",
    "eoi",
    "eot",
    "fim",
    "each",
    "every",
    "stop",
];

/// Words that stand for a value that is not there, or for its type.
const EMPTY_VALUES: &[&str] = &[
    "none",
    "null",
    "nil",
    "true",
    "false",
    "undefined",
    "str",
    "string",
    "bytes",
    "int",
    "bool",
    "optional",
    "any",
    "self",
    "required",
    "redacted",
    "input",
    "stdin",
    "env",
];

/// Decides on a candidate of [`ASSIGNED`].
pub(super) fn is_secret(text: &str, found: &Captures<'_>) -> bool {
    let Some(value) = value(found).map(|m| m.as_str()) else { return false };
    let word = found["word"].to_ascii_lowercase();
    let sign = found["sign"].trim();
    let bare = found.name("bare").is_some();
    if is_placeholder(value) || is_harmless_name(text, found, value) || is_path(&word, value) {
        return false;
    }
    if word == "token" {
        let number = value.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'_' | b'-'));
        // `token == "the"`, `{"token": "Paris"}`: words of a text under examination.
        let of_a_text =
            sign != "=" && !(value.len() >= 20 || (value.len() >= 8 && has_digit(value))) || value.contains(' ');
        if (number && bare) || of_a_text {
            return false;
        }
    }
    if !bare {
        return true;
    }
    if !found["open"].is_empty() || refers(value, &word) || is_member(value) {
        return false;
    }
    // With blanks, a colon or a type it may be code or prose; then it must look made by a machine.
    let tight = &found["sign"] == "=" && found.name("type").is_none();
    tight || (value.len() >= 6 && has_digit(value))
}

/// The value of a candidate, whichever way it is quoted.
fn value<'t>(found: &Captures<'t>) -> Option<Match<'t>> {
    VALUES.iter().find_map(|group| found.name(group))
}

/// Decides on a candidate of [`OPTION`].
pub(super) fn is_secret_option(_: &str, found: &Captures<'_>) -> bool {
    let Some(value) = value(found).or_else(|| found.name("secret")).map(|value| value.as_str()) else { return false };
    // `--token TOKEN` is how help shows a value's place.
    let place = value.bytes().all(|b| b.is_ascii_uppercase() || matches!(b, b'_' | b'-' | b']'));
    let file = value.starts_with('/') || value.starts_with("./") || value.starts_with('~');
    !place && !file && !is_placeholder(value)
}

fn is_harmless_name(text: &str, found: &Captures<'_>, value: &str) -> bool {
    let Some(word) = found.name("word") else { return false };
    // Names are ASCII and short; the bytes before the word are looked at one by one, never sliced as text.
    let before = text.as_bytes()[..word.start()].iter().rev().take(40);
    let mut name: Vec<u8> =
        before.take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')).copied().collect();
    name.reverse();
    let name = String::from_utf8_lossy(&name).to_ascii_lowercase();
    let name = name.trim_end_matches(['_', '-']);
    match word.as_str().to_ascii_lowercase().as_str() {
        // The working folder, in every shell.
        "pwd" => value.starts_with(['/', '~', '.']) || value.as_bytes().get(1) == Some(&b':'),
        "token" => HARMLESS_PREFIXES
            .iter()
            .any(|p| name.strip_suffix(p).is_some_and(|rest| rest.is_empty() || rest.ends_with(['_', '-']))),
        _ => false,
    }
}

/// An empty text, a name of a variable to be filled in, a special token of a model, a word for "nothing".
pub(super) fn is_placeholder(value: &str) -> bool {
    let inside = |open: &str, close: &str| value.len() > 1 && value.starts_with(open) && value.ends_with(close);
    let is_upper_name =
        |v: &str| !v.is_empty() && v.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    value.bytes().all(|b| matches!(b, b'*' | b'.' | b'-' | b'x' | b'X' | b'_' | b'%' | b'$'))
        || inside("<", ">")
        || inside("[", "]")
        || inside("{", "}")
        || inside("${", "}")
        || inside("$(", ")")
        || inside("%", "%")
        || value.strip_prefix('$').is_some_and(is_upper_name)
        || (value.len() == 2 && value.starts_with('%'))
        || EMPTY_VALUES.iter().any(|e| value.eq_ignore_ascii_case(e))
}

/// The place where a secret is kept is not the secret. Base64 may begin with `/` too, but ends in `=` or has `+`.
fn is_path(word: &str, value: &str) -> bool {
    let path = value.starts_with("./")
        || value.starts_with("~/")
        || value.strip_prefix('/').is_some_and(|rest| rest.contains('/'));
    path && word != "password" && !value.contains(['+', '='])
}

/// A variable that is itself called so: `password=my_password`, `token=hf_token`, `token=tokenizer`.
fn refers(value: &str, word: &str) -> bool {
    let value = value.to_ascii_lowercase();
    value.bytes().all(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'.'))
        && (value.ends_with(word) || value.starts_with("token"))
}

/// `args.value`, `self.config.value`: names with dots, as code refers to things.
fn is_member(value: &str) -> bool {
    value.contains('.')
        && value.split('.').all(|part| {
            part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        })
}

fn has_digit(text: &str) -> bool {
    text.bytes().any(|b| b.is_ascii_digit())
}
