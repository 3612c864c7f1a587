//! The table of rules, in the order in which they are applied.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::{MaskedKind, Rule, assignments};

/// All rules, compiled once.
pub(super) fn table() -> &'static [Rule] {
    static TABLE: LazyLock<Vec<Rule>> = LazyLock::new(|| {
        // The sources are constants; a test compiles each of them.
        let compile = |(kind, source, is_secret): &(MaskedKind, &str, Judge)| {
            Some(Rule { kind: *kind, regex: Regex::new(source).ok()?, is_secret: *is_secret })
        };
        SOURCES.iter().filter_map(compile).collect()
    });
    &TABLE
}

type Judge = fn(&str, &Captures<'_>) -> bool;

pub(super) const SOURCES: &[(MaskedKind, &str, Judge)] = &[
    (
        MaskedKind::PrivateKey,
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?P<secret>(?s:.*?))-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----",
        always,
    ),
    // A key cut off before its end: the lines of base64 after its head.
    (
        MaskedKind::PrivateKey,
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?P<secret>(?:(?:\s|\\r|\\n)+[A-Za-z0-9+/=]{16,})+)",
        always,
    ),
    // The part of a URL between `//` and the last `@` before its path. `git@` is how everybody logs in over ssh.
    (MaskedKind::UrlCredentials, r#"(?i)[a-z][a-z0-9+.\-]*:\\?/\\?/(?P<secret>[^\s/?#\\"'<>`]+)@"#, |_, found| {
        !matches!(&found["secret"], "git" | "hg")
    }),
    // A password with an unescaped `/`, `#` or `?`: after `user:` a valid URL has only a port's digits.
    (
        MaskedKind::UrlCredentials,
        r#"(?i)[a-z][a-z0-9+.\-]*://(?P<secret>[^\s/?#\\"'<>`\[@:]*:[0-9]*[^\s/?#\\"'<>`@0-9][^\s"'<>`@]*)@"#,
        always,
    ),
    // The same, percent-encoded as a whole, as in a parameter of another URL; it ends at an encoded `/`, `?` or `#`.
    (
        MaskedKind::UrlCredentials,
        r#"(?i)[a-z][a-z0-9+.\-]*%3A%2F%2F(?P<secret>(?:[^\s/?#"'<>&%]|%(?:[0-14-9a-f][0-9a-f]|2[0-24-9a-e]|3[0-9a-e]))+?)%40"#,
        always,
    ),
    (
        MaskedKind::UrlSignature,
        r#"(?i)[?&](?:sig|signature|x-amz-signature|x-amz-credential|x-amz-security-token|x-goog-signature|x-goog-credential|awsaccesskeyid)=(?P<secret>[^&\s"'<>#]+)"#,
        always,
    ),
    (
        MaskedKind::UrlSignature,
        r"https://hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/_\-]{16,})",
        always,
    ),
    (
        MaskedKind::Authorization,
        r#"(?i)\bauthorization\\?["']?\s*[:=,]\s*[bfru]{0,2}\\?["']?(?:basic|bearer|token|digest|negotiate|apikey)\s+(?P<secret>[^\s"'\\,;<>{}()]+)"#,
        |_, found| !assignments::is_placeholder(&found["secret"]),
    ),
    (MaskedKind::Authorization, r"(?i)\bbearer\s+(?P<secret>[a-z0-9\-._~+/]{16,}=*)", |_, found| {
        has_digit(&found["secret"])
    }),
    (
        MaskedKind::JsonWebToken,
        r"(?P<secret>eyJ[A-Za-z0-9_\-]{8,}\.eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*)",
        starts_afresh,
    ),
    // AWS: access key ids of users, sessions, roles.
    (
        MaskedKind::ProviderToken,
        r"(?P<secret>(?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{16})(?:[^A-Za-z0-9+/=]|$)",
        starts_afresh,
    ),
    // GitHub: personal, OAuth, user, server, refresh; fine-grained.
    (MaskedKind::ProviderToken, r"(?P<secret>gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})", starts_afresh),
    // GitLab: personal, deploy, runner, trigger, job, agent, SCIM, feed.
    (
        MaskedKind::ProviderToken,
        r"(?P<secret>gl(?:pat|dt|rt|ptt|cbt|agent|soat|ft)-[A-Za-z0-9_\-]{20,})",
        starts_afresh,
    ),
    // Hugging Face: users, organisations.
    (MaskedKind::ProviderToken, r"(?P<secret>(?:hf|api_org)_[A-Za-z0-9]{24,})", starts_afresh),
    // Anthropic; OpenAI's and OpenRouter's named kinds.
    (MaskedKind::ProviderToken, r"(?P<secret>sk-(?:ant|proj|svcacct|admin|or-v1)-[A-Za-z0-9_\-]{16,})", starts_afresh),
    // OpenAI's plain keys. `sk-` also begins class names of scikit-learn's HTML, which have no capitals and digits.
    (MaskedKind::ProviderToken, r"(?P<secret>sk-[A-Za-z0-9]{20,})", |text, found| {
        starts_afresh(text, found) && is_mixed(&found["secret"][3..])
    }),
    // Stripe.
    (MaskedKind::ProviderToken, r"(?P<secret>(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,})", starts_afresh),
    // Slack.
    (
        MaskedKind::ProviderToken,
        r"(?P<secret>xox[abceoprs]-[A-Za-z0-9\-]{10,}|xapp-[0-9]-[A-Za-z0-9\-]{10,})",
        starts_afresh,
    ),
    // Google: API keys, OAuth access tokens and client secrets.
    (
        MaskedKind::ProviderToken,
        r"(?P<secret>AIza[A-Za-z0-9_\-]{35}|ya29\.[A-Za-z0-9_\-]{20,}|GOCSPX-[A-Za-z0-9_\-]{20,})",
        starts_afresh,
    ),
    // npm; PyPI, whose tokens are long and mixed, unlike names of packages.
    (MaskedKind::ProviderToken, r"(?P<secret>npm_[A-Za-z0-9]{30,})", starts_afresh),
    (MaskedKind::ProviderToken, r"(?P<secret>pypi-[A-Za-z0-9_\-]{32,})", |text, found| {
        starts_afresh(text, found) && is_mixed(&found["secret"][5..])
    }),
    // Databricks, DigitalOcean, Docker, Replicate, SendGrid.
    (
        MaskedKind::ProviderToken,
        r"(?P<secret>dapi[0-9a-f]{32}|do[opr]_v1_[0-9a-f]{32,}|dckr_pat_[A-Za-z0-9_\-]{20,}|r8_[A-Za-z0-9]{37}|SG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,})",
        starts_afresh,
    ),
    (MaskedKind::Assignment, assignments::ASSIGNED, assignments::is_secret),
    (MaskedKind::Assignment, assignments::OPTION, assignments::is_secret_option),
];

fn always(_: &str, _: &Captures<'_>) -> bool {
    true
}

fn has_digit(text: &str) -> bool {
    text.bytes().any(|b| b.is_ascii_digit())
}

/// Small letters, capitals and digits together: no word of any language, no hexadecimal digest.
fn is_mixed(text: &str) -> bool {
    has_digit(text) && text.bytes().any(|b| b.is_ascii_uppercase()) && text.bytes().any(|b| b.is_ascii_lowercase())
}

/// True if the candidate does not continue a word or a run of base64.
///
/// Three things end a word although their last character is a letter or digit: an escaped line end as in a printed
/// string's `\n`, a percent-encoded sign as in `%3D`, and a terminal's colour as in `ESC[32m`.
fn starts_afresh(text: &str, found: &Captures<'_>) -> bool {
    let start = found.name("secret").map_or(0, |m| m.start());
    match &text.as_bytes()[..start] {
        [] | [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'] => true,
        [.., b'%', high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => true,
        [before @ .., b'm'] => {
            let parameters = before.iter().rev().take_while(|b| b.is_ascii_digit() || **b == b';').count();
            before[..before.len() - parameters].ends_with(b"[")
        }
        [.., last] => !(last.is_ascii_alphanumeric() || matches!(last, b'_' | b'+' | b'-')),
    }
}
