//! Masks secrets in text before it is kept: credentials in URLs, tokens of common providers, keys, assignments.
//!
//! The rules are a table ([`rules`]); each finds a candidate by a regular expression and a small function decides, so
//! that ordinary words, digests and code stay whole. A secret becomes `***`. Masking masked text changes nothing.
//! What no rule knows is not masked: this lowers the risk of a slip and does not replace looking.
//! [`Personal`] replaces home folders, user and host names. Start at [`mask`] and [`conceal`].

mod assignments;
mod personal;
mod rules;

use std::borrow::Cow;

use regex::{Captures, Regex};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use personal::{HOST, Personal, USER};

/// What a secret becomes.
pub const MASK: &str = "***";

/// Longer texts are no secret that a key names, whatever the key.
const LONGEST_NAMED_SECRET: usize = 4096;

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

/// A text as it may be shared: secrets masked, then places and names replaced. Gives how many secrets there were.
pub fn shareable<'t>(text: &'t str, personal: &Personal) -> (Cow<'t, str>, usize) {
    let masked = mask(text);
    let count = masked.count();
    let text = match masked.text {
        Cow::Borrowed(text) => personal.replaced(text),
        Cow::Owned(text) => Cow::Owned(personal.replaced(&text).into_owned()),
    };
    (text, count)
}

/// Makes every text of a JSON value [`shareable`], the keys of objects too; returns how many secrets it masked.
///
/// A value is also masked for the key that it stands under: `{"password": "…"}`. Keys that would become one are numbered.
pub fn conceal(value: &mut Value, personal: &Personal) -> usize {
    match value {
        Value::String(text) => conceal_text(text, personal),
        Value::Array(items) => items.iter_mut().map(|v| conceal(v, personal)).sum(),
        Value::Object(fields) => {
            let mut count = 0;
            for (key, value) in fields.iter_mut() {
                count += match value {
                    Value::String(text) if is_secret_of(key, text) => {
                        MASK.clone_into(text);
                        1
                    }
                    value => conceal(value, personal),
                };
            }
            count + conceal_keys(fields, personal)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

fn conceal_text(text: &mut String, personal: &Personal) -> usize {
    let (shown, count) = shareable(text, personal);
    if let Cow::Owned(shown) = shown {
        *text = shown;
    }
    count
}

fn conceal_keys(fields: &mut Map<String, Value>, personal: &Personal) -> usize {
    if !fields.keys().any(|key| matches!(shareable(key, personal).0, Cow::Owned(_))) {
        return 0;
    }
    let mut count = 0;
    for (mut key, value) in std::mem::take(fields) {
        count += conceal_text(&mut key, personal);
        let mut name = key.clone();
        let mut n = 1;
        while fields.contains_key(&name) {
            n += 1;
            name = format!("{key} ({n})");
        }
        fields.insert(name, value);
    }
    count
}

/// Whether a text is a secret because of the key that it stands under.
fn is_secret_of(key: &str, text: &str) -> bool {
    if text.is_empty() || text == MASK || text.len() > LONGEST_NAMED_SECRET || !assignments::may_name_a_secret(key) {
        return false;
    }
    let pair = format!("{}: {}", Value::from(key), Value::from(text));
    mask(&pair).masked.iter().any(|(kind, _)| *kind == MaskedKind::Assignment)
}

/// The user's home folder, as the environment tells it.
pub fn home() -> Option<std::path::PathBuf> {
    let variable = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    std::env::var_os(variable).map(std::path::PathBuf::from)
}

#[cfg(test)]
mod tests;
