//! Who and where somebody is: home folders become `~`, the user's name `<user>`, the machine's name `<host>`.
//!
//! A name is replaced as a whole word only, and never if it says nothing about a person (`root`, `ubuntu`, `runner`) or
//! is a word that code and records use for something else: `data` as somebody's name must not change `data/x.parquet`.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// What the user's name becomes.
pub const USER: &str = "<user>";
/// What the machine's name becomes.
pub const HOST: &str = "<host>";

/// Shorter names would be found everywhere.
const SHORTEST: usize = 3;

/// Names that tell nobody from another, and words that stand in code and records for what they say.
const GENERIC: &str = "root user users username admin administrator guest nobody anonymous default owner person author \
    ubuntu debian fedora centos redhat rocky alpine arch archlinux linux unix macos darwin windows amazon google azure \
    aws gcp ec2-user cloud-user vagrant docker podman container kubernetes jovyan jupyter jupyterhub jupyterlab notebook \
    runner build builder buildkite jenkins gitlab github circleci travis actions agent daemon service system server \
    worker master node login gateway localhost localdomain local host hostname computer desktop laptop macbook home \
    work workspace workstation machine cluster compute gpu cpu cuda rocm nvidia amd intel metal any none null true false \
    app application apps web www http https mail ftp ssh git svn bin sys sync dev test tests testing prod production \
    stage staging main python python3 conda venv rust cargo rustc evcxr java node npm go ruby perl bash shell data \
    dataset datasets database model models weights code source sources sample samples train training eval batch floor \
    reference candidate candidates criterion criteria declare declared compare comparison compared cosine allclose \
    rel norm ulp knn verdict pass passed fail failed inconclusive explore figure figures row rows vector vectors label labels embedding \
    embeddings fascicolo dossier case log entry entries report verify export import sign signed probe snapshot \
    fingerprint rebuild output input parameter parameters value values name names path file files folder text texts kind \
    type types max min mean sum all abs map filter zip iter len new let mut for while loop match self super pub use mod \
    enum impl trait struct where return break continue const static string str int float bool list set get put key keys \
    lib src tmp temp var etc usr opt mnt media run public private shared share research science student students lab \
    demo example examples org com net edu lan mark will art may max";

/// The places and names that a text made to be shared must not tell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Personal {
    homes: Vec<String>,
    /// With their placeholders, longest first, so that a host named after its user is found as a whole.
    names: Vec<(String, &'static str)>,
}

impl Personal {
    /// Those of these home folders and names that can be told from ordinary text.
    pub fn new<'a>(
        homes: impl IntoIterator<Item = PathBuf>,
        users: impl IntoIterator<Item = &'a str>,
        hosts: impl IntoIterator<Item = &'a str>,
    ) -> Personal {
        let homes = homes.into_iter().filter_map(|home| {
            let home = home.to_str()?.trim_end_matches(['/', '\\']).to_owned();
            (home.len() > 1).then_some(home)
        });
        let mut homes: Vec<String> = homes.collect();
        homes.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        homes.dedup();
        let hosts = hosts.into_iter().flat_map(|host| [host, host.split('.').next().unwrap_or(host)]);
        let named = hosts.map(|name| (name, HOST)).chain(users.into_iter().map(|name| (name, USER)));
        let mut names: Vec<(String, &str)> =
            named.filter(|(name, _)| tells(name)).map(|(name, placeholder)| (name.to_owned(), placeholder)).collect();
        // Stable: of a user and a host with one name the host stays first.
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        names.dedup_by(|a, b| a.0 == b.0);
        Personal { homes, names }
    }

    /// Those of this process's user and machine, read once.
    pub fn here() -> &'static Personal {
        static HERE: OnceLock<Personal> = OnceLock::new();
        HERE.get_or_init(|| {
            let home = super::home();
            let resolved = home.as_ref().and_then(|home| home.canonicalize().ok());
            let mut users = variables(&["USER", "LOGNAME", "USERNAME", "SUDO_USER"]);
            users.extend(home.as_deref().and_then(owner));
            users.extend(account());
            let mut hosts = variables(&["HOSTNAME", "COMPUTERNAME"]);
            hosts.extend(nodename());
            Personal::new(
                home.into_iter().chain(resolved),
                users.iter().map(String::as_str),
                hosts.iter().map(String::as_str),
            )
        })
    }

    /// The home folders alone: for what must stay as it was named, such as a criterion that bears its author's name.
    pub fn places(&self) -> Personal {
        Personal { homes: self.homes.clone(), names: Vec::new() }
    }

    /// The text with placeholders; borrowed if there was nothing to replace. Doing it twice changes nothing.
    pub fn replaced<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut out = Cow::Borrowed(text);
        for home in &self.homes {
            // `/home/ada-2` and `/home/ada.old` are other folders.
            let ends = |rest: &str| {
                !rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '@' | '+'))
            };
            replace(&mut out, home, "~", |_, rest| ends(rest));
        }
        for (name, placeholder) in &self.names {
            let word = |c: char| c.is_alphanumeric() || c == '_';
            replace(&mut out, name, placeholder, |before, rest| {
                !rest.starts_with(word) && (!before.ends_with(word) || ends_in_escape(before))
            });
        }
        out
    }
}

fn replace(text: &mut Cow<'_, str>, what: &str, by: &str, whole: impl Fn(&str, &str) -> bool) {
    let (mut out, mut copied, mut from) = (String::new(), 0, 0);
    while let Some(at) = text[from..].find(what).map(|at| from + at) {
        let end = at + what.len();
        if whole(&text[..at], &text[end..]) {
            out.push_str(&text[copied..at]);
            out.push_str(by);
            copied = end;
        }
        from = end;
    }
    if copied > 0 {
        out.push_str(&text[copied..]);
        *text = Cow::Owned(out);
    }
}

/// Whether what stands before a word ends in a letter that belongs to an escape: a newline as `\n`, a slash as `%2F`, a
/// colour of a terminal as `ESC [ 3 2 m`.
fn ends_in_escape(before: &str) -> bool {
    let bytes = before.as_bytes();
    let (Some(last), rest) = (bytes.last(), &bytes[..bytes.len().saturating_sub(1)]) else { return false };
    let percent = rest.len() >= 2 && rest[rest.len() - 2] == b'%' && rest[rest.len() - 1].is_ascii_hexdigit();
    let colour = || {
        let digits = rest.iter().rev().take(32).take_while(|b| b.is_ascii_digit() || **b == b';').count();
        let start = &rest[..rest.len() - digits];
        start.ends_with(b"\x1b[") || start.ends_with(b"\\u001b[") || start.ends_with(b"\\x1b[")
    };
    match last {
        b'n' | b't' | b'r' if rest.last() == Some(&b'\\') => true,
        b'm' => colour(),
        last => percent && last.is_ascii_hexdigit(),
    }
}

fn tells(name: &str) -> bool {
    name.chars().count() >= SHORTEST
        && name.chars().any(char::is_alphabetic)
        && !GENERIC.split_whitespace().any(|word| word.eq_ignore_ascii_case(name))
}

fn variables(names: &[&str]) -> Vec<String> {
    names.iter().filter_map(|name| std::env::var(name).ok()).map(|value| value.trim().to_owned()).collect()
}

/// Whose folder a home folder is by its name, where homes are named so.
fn owner(home: &Path) -> Option<String> {
    let above = home.parent()?.file_name()?;
    (above == "home" || above == "Users").then(|| home.file_name()?.to_str().map(str::to_owned))?
}

/// The account's name in the list of the system's own accounts.
#[cfg(unix)]
fn account() -> Option<String> {
    let id = rustix::process::getuid().as_raw().to_string();
    let accounts = std::fs::read_to_string("/etc/passwd").ok()?;
    let fields = accounts.lines().map(|line| line.split(':').collect::<Vec<_>>());
    fields.into_iter().find(|f| f.get(2) == Some(&id.as_str())).map(|f| f[0].to_owned())
}

#[cfg(not(unix))]
fn account() -> Option<String> {
    None
}

#[cfg(unix)]
fn nodename() -> Option<String> {
    Some(rustix::system::uname().nodename().to_string_lossy().into_owned())
}

#[cfg(not(unix))]
fn nodename() -> Option<String> {
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn ada() -> Personal {
        Personal::new([PathBuf::from("/home/ada/")], ["ada"], ["ada-laptop.example.org"])
    }

    #[test]
    fn the_home_folder_becomes_a_tilde_only_as_a_whole() {
        let home = Personal::new([PathBuf::from("/home/ada")], [], []);
        for (text, expected) in [
            ("/home/ada/x", "~/x"),
            ("/home/ada", "~"),
            ("/home/ada:/home/ada/bin", "~:~/bin"),
            ("file:///home/ada/x", "file://~/x"),
            ("/home/adam/x", "/home/adam/x"),
            ("/home/ada-2/x", "/home/ada-2/x"),
            ("no path", "no path"),
        ] {
            assert_eq!(home.replaced(text), expected);
        }
        assert_eq!(Personal::new([PathBuf::from("/")], [], []).replaced("/x"), "/x");
        assert_eq!(Personal::default().replaced("/x"), "/x");
    }

    #[test]
    fn user_and_host_become_placeholders_wherever_they_are_whole_words() {
        for (text, expected) in [
            ("ada", "<user>"),
            ("ada@ada-laptop:~$ ", "<user>@<host>:~$ "),
            ("ada@ada-laptop.example.org", "<user>@<host>"),
            ("/scratch/ada/run", "/scratch/<user>/run"),
            ("/home/ada/x and /home/ada.old", "~/x and /home/<user>.old"),
            ("C:\\Users\\ada\\x", "C:\\Users\\<user>\\x"),
            ("-rw-r--r-- 1 ada ada 5 x", "-rw-r--r-- 1 <user> <user> 5 x"),
            ("{\"user\": \"ada\"}", "{\"user\": \"<user>\"}"),
            ("whoami\\nada\\n", "whoami\\n<user>\\n"),
            ("\u{1b}[01;32mada@x\u{1b}[0m", "\u{1b}[01;32m<user>@x\u{1b}[0m"),
            ("file=%2Fscratch%2Fada%2Fx", "file=%2Fscratch%2F<user>%2Fx"),
            ("USER=ada", "USER=<user>"),
        ] {
            assert_eq!(ada().replaced(text), expected);
            assert_eq!(ada().replaced(expected), expected, "a second pass changes nothing");
        }
    }

    #[test]
    fn parts_of_words_are_left_alone() {
        for text in ["adam", "canada", "ada_boost", "adagrad", "éada", "adaé", "ADA", "2ada", "comada", ""] {
            assert!(matches!(ada().replaced(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn names_that_tell_nobody_apart_or_are_words_of_code_are_left_alone() {
        for name in ["root", "Ubuntu", "runner", "data", "max", "pass", "me", "vm", "1000", "", "localhost"] {
            let personal = Personal::new([], [name], [name]);
            assert_eq!(personal, Personal::default(), "{name}");
        }
        let host = Personal::new([], [], ["node.hilbert-cluster"]);
        assert_eq!(host.replaced("node node.hilbert-cluster"), "node <host>");
    }

    #[test]
    fn what_code_refers_to_by_name_can_be_kept() {
        assert_eq!(ada().places().replaced("/home/ada by ada"), "~ by ada");
    }
}
