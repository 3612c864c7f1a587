//! Which names a bundle may hold: those that are one and the same file, inside the folder, on every system.

use std::collections::HashMap;

use super::error::{BundleError, NameProblem};

/// Longest name, in bytes, of a file or a folder.
const PART_BYTES: usize = 255;

/// Longest path in the bundle, in bytes.
const PATH_BYTES: usize = 1_024;

/// The names Windows gives to devices, whatever extension follows.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// Checks a relative path with `/` between its parts.
pub(super) fn check(path: &str) -> Result<(), BundleError> {
    match problem(path) {
        None => Ok(()),
        Some(problem) => Err(BundleError::Name { name: path.to_owned(), problem }),
    }
}

fn problem(path: &str) -> Option<NameProblem> {
    let bytes = path.as_bytes();
    if path.starts_with('/') || path.starts_with("\\\\") {
        return Some(NameProblem::Absolute);
    }
    if bytes.first().is_some_and(u8::is_ascii_alphabetic) && bytes.get(1) == Some(&b':') {
        return Some(NameProblem::DriveLetter);
    }
    if path.contains('\\') {
        return Some(NameProblem::Backslash);
    }
    if path.split('/').any(|part| part == ".." || part == ".") {
        return Some(NameProblem::Traversal);
    }
    if path.len() > PATH_BYTES {
        return Some(NameProblem::NotPortable("it is longer than 1,024 bytes"));
    }
    path.split('/').find_map(unportable).map(NameProblem::NotPortable)
}

fn unportable(part: &str) -> Option<&'static str> {
    if part.is_empty() {
        return Some("a part of it is empty");
    }
    if part.len() > PART_BYTES {
        return Some("a part of it is longer than 255 bytes");
    }
    if part.chars().any(char::is_control) {
        return Some("it has a control character");
    }
    if part.contains(['<', '>', ':', '"', '|', '?', '*']) {
        return Some("it has one of <>:\"|?*");
    }
    // A manifest has to escape it, which the common readers of manifests undo in different ways.
    if part.contains('%') {
        return Some("it has a percent sign, which manifests cannot hold plainly");
    }
    if part.ends_with(['.', ' ']) {
        return Some("a part of it ends in a dot or a space");
    }
    let stem = part.split('.').next().unwrap_or(part).trim_end_matches(' ').to_lowercase();
    let port = stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt"));
    let numbered = port.is_some_and(|n| matches!(n, "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9"))
        || port.is_some_and(|n| matches!(n, "\u{b9}" | "\u{b2}" | "\u{b3}"));
    (numbered || DEVICES.contains(&stem.as_str())).then_some("Windows has a device of this name")
}

/// What stands under a name, spelled as first seen.
struct Seen {
    spelling: String,
    file: bool,
}

/// The names of one bundle, each of which must differ from all others by more than case.
#[derive(Default)]
pub(super) struct Names {
    seen: HashMap<String, Seen>,
}

impl Names {
    /// Checks a file's path and adds it, with the folders that it needs.
    pub(super) fn add_file(&mut self, path: &str) -> Result<(), BundleError> {
        self.add(path, true)
    }

    /// Checks a folder's path and adds it.
    pub(super) fn add_folder(&mut self, path: &str) -> Result<(), BundleError> {
        self.add(path, false)
    }

    fn add(&mut self, path: &str, file: bool) -> Result<(), BundleError> {
        check(path)?;
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        for end in ends {
            let (spelling, file) = (&path[..end], file && end == path.len());
            // Through upper case first, so that letters such as ß and ſ meet their pairs.
            let folded = spelling.to_uppercase().to_lowercase();
            let Some(seen) = self.seen.get(&folded) else {
                self.seen.insert(folded, Seen { spelling: spelling.to_owned(), file });
                continue;
            };
            let problem = if seen.spelling != spelling {
                NameProblem::Case { other: seen.spelling.clone() }
            } else if seen.file != file {
                NameProblem::FileAndFolder
            } else if file {
                NameProblem::Duplicate
            } else {
                continue;
            };
            return Err(BundleError::Name { name: path.to_owned(), problem });
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_names_are_taken() {
        for name in ["a", "report.html", "data/été/x y.parquet", ".hidden", "a..b", "console", "com10", "lpt"] {
            assert_eq!(problem(name), None, "{name}");
        }
    }

    #[test]
    fn each_dangerous_name_has_its_own_problem() {
        for (name, expected) in [
            ("../a", NameProblem::Traversal),
            ("a/../../b", NameProblem::Traversal),
            ("a/./b", NameProblem::Traversal),
            ("..", NameProblem::Traversal),
            ("/etc/passwd", NameProblem::Absolute),
            ("\\\\server\\share", NameProblem::Absolute),
            ("C:/a", NameProblem::DriveLetter),
            ("c:a", NameProblem::DriveLetter),
            ("a\\b", NameProblem::Backslash),
            ("..\\a", NameProblem::Backslash),
        ] {
            assert_eq!(problem(name), Some(expected), "{name}");
        }
        for name in [
            "",
            "a//b",
            "a/",
            "nul",
            "NUL.txt",
            "a/Com1.tar.gz",
            "aux .txt",
            "lpt\u{b9}",
            "conin$",
            "a.",
            "a ",
            "b/a. /c",
            "a\nb",
            "a\0",
            "a?",
            "ab:c/d",
            "a|b",
            "100%",
            "\u{7f}",
        ] {
            assert!(matches!(problem(name), Some(NameProblem::NotPortable(_))), "{name:?}");
        }
        assert!(problem(&"a".repeat(256)).is_some() && problem(&"a".repeat(255)).is_none());
    }

    #[test]
    fn names_that_meet_on_some_system_are_refused() {
        let clash = |first: &str, second: &str| {
            let mut names = Names::default();
            names.add_file(first).unwrap();
            match names.add_file(second) {
                Err(BundleError::Name { problem, .. }) => problem,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(clash("a/b", "a/b"), NameProblem::Duplicate);
        assert_eq!(clash("a/b", "A/c"), NameProblem::Case { other: "a".into() });
        assert_eq!(clash("Straße", "STRASSE"), NameProblem::Case { other: "Straße".into() });
        assert_eq!(clash("a", "a/b"), NameProblem::FileAndFolder);
        assert_eq!(clash("a/b", "a"), NameProblem::FileAndFolder);
    }
}
