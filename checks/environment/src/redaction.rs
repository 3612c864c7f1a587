//! Masks secrets in text before it is kept: credentials in URLs, tokens of common providers, keys, assignments.
//!
//! The rules are a table ([`rules`]); each finds a candidate by a regular expression and a small function decides, so
//! that ordinary words, digests and code stay whole. A secret becomes `***`. Masking masked text changes nothing.
//! What no rule knows is not masked: this lowers the risk of a slip and does not replace looking.
//! Start at [`mask`].

mod assignments;
mod rules;

use std::borrow::Cow;
use std::path::Path;

use regex::{Captures, Regex};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a secret becomes.
pub const MASK: &str = "***";

/// How often a text is gone through at most.
const PASSES: usize = 4;

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Masked<'a> {
    /// The text; borrowed if nothing had to be masked.
    pub text: Cow<'a, str>,
    /// What was masked and how often, in the order of the rules.
    pub masked: Vec<(MaskedKind, usize)>,
}

/// The kinds of secrets that are recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaskedKind {
    /// A private key in PEM form.
    PrivateKey,
    /// User, password or token before the host of a URL.
    UrlCredentials,
    /// A signature or credential among a URL's parameters.
    UrlSignature,
    /// The value of an `Authorization` header, or what follows `Bearer`.
    Authorization,
    /// A JSON Web Token.
    JsonWebToken,
    /// A token whose shape tells its provider.
    ProviderToken,
    /// The value given to a name such as `password`, `token`, `secret`, `api_key`.
    Assignment,
}

impl MaskedKind {
    /// The stable name used in records.
    pub fn name(self) -> &'static str {
        match self {
            MaskedKind::PrivateKey => "private_key",
            MaskedKind::UrlCredentials => "url_credentials",
            MaskedKind::UrlSignature => "url_signature",
            MaskedKind::Authorization => "authorization",
            MaskedKind::JsonWebToken => "json_web_token",
            MaskedKind::ProviderToken => "provider_token",
            MaskedKind::Assignment => "assignment",
        }
    }
}

impl Masked<'_> {
    /// How many secrets were masked.
    pub fn count(&self) -> usize {
        self.masked.iter().map(|(_, n)| n).sum()
    }
}

/// One way to find secrets.
pub(crate) struct Rule {
    kind: MaskedKind,
    /// Finds candidates; the group `secret`, or one of [`assignments::VALUES`], is what would be masked.
    regex: Regex,
    /// Looks at a candidate in its text and says whether it is a secret.
    is_secret: fn(&str, &Captures<'_>) -> bool,
}

/// Masks every secret that a rule knows.
///
/// Idempotent: `mask(mask(t).text)` finds nothing. Time is linear in the length of the text.
pub fn mask(text: &str) -> Masked<'_> {
    let mut out = Cow::Borrowed(text);
    let mut masked = Vec::<(MaskedKind, usize)>::new();
    // A mask can end a word and so bring out what stood behind it; such texts are gone through again.
    for _ in 0..PASSES {
        let mut changed = false;
        for rule in rules::table() {
            let Some((replaced, count)) = rule.apply(&out) else { continue };
            changed = true;
            out = Cow::Owned(replaced);
            match masked.iter_mut().find(|(kind, _)| *kind == rule.kind) {
                Some((_, n)) => *n += count,
                None => masked.push((rule.kind, count)),
            }
        }
        if !changed {
            break;
        }
    }
    Masked { text: out, masked }
}

impl Rule {
    /// The text with this rule's secrets masked, and their number; `None` if it finds none.
    fn apply(&self, text: &str) -> Option<(String, usize)> {
        let mut out = String::new();
        let (mut copied, mut count) = (0, 0);
        for found in self.regex.captures_iter(text) {
            let group = assignments::VALUES.iter().chain(&["secret"]).find_map(|name| found.name(name));
            let Some(secret) = group else { continue };
            if secret.is_empty() || secret.as_str() == MASK || !(self.is_secret)(text, &found) {
                continue;
            }
            out.push_str(&text[copied..secret.start()]);
            out.push_str(MASK);
            copied = secret.end();
            count += 1;
        }
        if count == 0 {
            return None;
        }
        out.push_str(&text[copied..]);
        Some((out, count))
    }
}

/// Masks secrets in every text of a JSON value and writes the home folder as `~`; returns how many secrets it masked.
///
/// Keys of objects stay as they are. `home`: the folder to replace, if it is known.
pub fn conceal(value: &mut Value, home: Option<&Path>) -> usize {
    match value {
        Value::String(text) => {
            let masked = mask(text);
            let count = masked.count();
            let shown = without_home(&masked.text, home);
            if count > 0 || shown != *text {
                *text = shown;
            }
            count
        }
        Value::Array(items) => items.iter_mut().map(|v| conceal(v, home)).sum(),
        Value::Object(fields) => fields.iter_mut().map(|(_, v)| conceal(v, home)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// The user's home folder, as the environment tells it.
pub fn home() -> Option<std::path::PathBuf> {
    let variable = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    std::env::var_os(variable).map(std::path::PathBuf::from)
}

/// The text with each occurrence of the home folder written as `~`; `/homework` is not `/home` + `work`.
pub fn without_home(text: &str, home: Option<&Path>) -> String {
    let home = home.and_then(Path::to_str).map(|h| h.trim_end_matches(['/', '\\'])).filter(|h| h.len() > 1);
    let Some(home) = home else { return text.to_owned() };
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(home) {
        let after = &rest[at + home.len()..];
        let whole = !after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '@' | '+'));
        out.push_str(&rest[..at]);
        out.push_str(if whole { "~" } else { home });
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests;
