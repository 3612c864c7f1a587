//! The file of allowed signers, as `ssh-keygen -Y verify -f` reads it: who a key belongs to, in the reader's own word.

use ssh_key::PublicKey;

use super::NAMESPACE;

/// Keys and whose they are, from a file that the verifier keeps. Source: ssh-keygen(1), ALLOWED SIGNERS.
#[derive(Debug, Clone, Default)]
pub struct AllowedSigners {
    signers: Vec<(String, PublicKey)>,
    unread: Vec<usize>,
}

impl AllowedSigners {
    /// Reads the text of such a file. Lines of certificate authorities, of other namespaces, and those not valid now are
    /// left out; lines that cannot be read are left out, too, and told by [`AllowedSigners::unread`].
    pub fn parse(text: &str) -> Self {
        let now = (
            chrono::Local::now().format("%Y%m%d%H%M%S").to_string(),
            chrono::Utc::now().format("%Y%m%d%H%M%S").to_string(),
        );
        let mut allowed = Self::default();
        for (number, line) in text.lines().map(str::trim).enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match parse_line(line, &now) {
                Some(Some(signer)) => allowed.signers.push(signer),
                Some(None) => {}
                None => allowed.unread.push(number + 1),
            }
        }
        allowed
    }

    /// Numbers of the lines, from 1, that could not be read.
    pub fn unread(&self) -> &[usize] {
        &self.unread
    }

    /// The principals of the first line that holds this key.
    pub(crate) fn principal(&self, key: &PublicKey) -> Option<&str> {
        let mut same = self.signers.iter().filter(|(_, known)| known.key_data() == key.key_data());
        same.next().map(|(principal, _)| principal.as_str())
    }
}

/// One line; `None` if it cannot be read, `Some(None)` if it allows nothing here.
fn parse_line(line: &str, now: &(String, String)) -> Option<Option<(String, PublicKey)>> {
    let (principals, rest) = split_word(line)?;
    let (first, _) = split_word(rest)?;
    let has_options = PublicKey::from_openssh(&key_words(rest)).is_err();
    let (options, key) = if has_options { (first, split_word(rest)?.1) } else { ("", rest) };
    let key = PublicKey::from_openssh(&key_words(key)).ok()?;
    for option in split_outside_quotes(options, ',').into_iter().filter(|option| !option.is_empty()) {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let value = value.trim_matches('"');
        let allows = match name.to_ascii_lowercase().as_str() {
            "namespaces" => value.split(',').any(|pattern| matches(pattern, NAMESPACE)),
            "valid-after" => stamp(value, now)?,
            "valid-before" => !stamp(value, now)?,
            "cert-authority" => false,
            _ => return None,
        };
        if !allows {
            return Some(None);
        }
    }
    Some(Some((principals.trim_matches('"').to_owned(), key)))
}

/// True if the time, YYYYMMDD[HHMM[SS]][Z], has come.
fn stamp(time: &str, (local, utc): &(String, String)) -> Option<bool> {
    let (digits, now) = time.strip_suffix('Z').map_or((time, local), |digits| (digits, utc));
    let readable = matches!(digits.len(), 8 | 12 | 14) && digits.bytes().all(|b| b.is_ascii_digit());
    readable.then(|| format!("{digits:0<14}") <= *now)
}

/// A pattern with `*` and `?`, as ssh(1) has them.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.chars().next() {
        None => text.is_empty(),
        Some('*') => {
            text.char_indices().map(|(at, _)| at).chain([text.len()]).any(|at| matches(&pattern[1..], &text[at..]))
        }
        Some(wanted) => text
            .chars()
            .next()
            .filter(|c| wanted == '?' || *c == wanted)
            .is_some_and(|c| matches(&pattern[wanted.len_utf8()..], &text[c.len_utf8()..])),
    }
}

fn key_words(text: &str) -> String {
    text.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}

/// The first word and the rest; blanks within quotes do not end it.
fn split_word(line: &str) -> Option<(&str, &str)> {
    let mut quoted = false;
    let end = line.char_indices().find(|(_, c)| {
        quoted ^= *c == '"';
        !quoted && c.is_whitespace()
    });
    end.map(|(at, _)| (&line[..at], line[at..].trim_start()))
}

fn split_outside_quotes(text: &str, separator: char) -> Vec<&str> {
    let mut quoted = false;
    text.split(|c| {
        quoted ^= c == '"';
        !quoted && c == separator
    })
    .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti";

    #[test]
    fn a_key_is_known_only_where_its_line_allows_it() {
        let key = PublicKey::from_openssh(KEY).unwrap();
        for (line, known) in [
            (format!("ada@example.org {KEY}"), Some("ada@example.org")),
            (format!("# note\n\nada,bob {KEY} a comment"), Some("ada,bob")),
            (format!("\"ada b\" namespaces=\"git,fascicolo-*\" {KEY}"), Some("ada b")),
            (format!("ada namespaces=\"git,file\" {KEY}"), None),
            (format!("ada valid-after=\"20200101\",valid-before=\"29990101Z\" {KEY}"), Some("ada")),
            (format!("ada valid-before=\"20200101\" {KEY}"), None),
            (format!("ada valid-after=\"299901010000\" {KEY}"), None),
            (format!("ada cert-authority {KEY}"), None),
        ] {
            let allowed = AllowedSigners::parse(&line);
            assert_eq!(allowed.principal(&key), known, "{line}");
            assert!(allowed.unread().is_empty(), "{line}");
        }
        for line in
            ["ada", "ada ssh-ed25519 AAAA", &format!("ada colour=red {KEY}"), &format!("ada valid-after=x {KEY}")]
        {
            assert_eq!(AllowedSigners::parse(line).unread(), [1], "{line}");
        }
    }
}
