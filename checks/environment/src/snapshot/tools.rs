//! Layer `build_tools`: versions of compilers and build tools, for extensions that were or will be compiled here.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fascicolo_probe::child::{Child, find_on_path};
use serde::{Deserialize, Serialize};

use super::Layer;

/// How long one tool may take to say its version.
const DEADLINE: Duration = Duration::from_secs(5);

/// Name, the option that gives the version, a word of the line that holds it, and where it is when not on `PATH`.
const TOOLS: &[(&str, &str, &str, Option<&str>)] = &[
    ("gcc", "--version", "gcc", None),
    ("clang", "--version", "clang version", None),
    ("cmake", "--version", "cmake version", None),
    ("nvcc", "--version", "release", Some("/usr/local/cuda/bin/nvcc")),
    ("hipcc", "--version", "HIP version", Some("/opt/rocm/bin/hipcc")),
    ("rustc", "--version", "rustc", None),
];

/// Compilers and build tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tools {
    /// The tools that are there, in the order looked for.
    pub present: Vec<Tool>,
    /// Those that were looked for and are not there.
    pub absent: Vec<String>,
}

/// One tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its file.
    pub path: String,
    /// Its version, such as `12.2.0`, if its answer holds one.
    pub version: Option<String>,
    /// The line of its answer that holds the version, or why there is none.
    pub says: String,
}

pub(super) fn read(folder: &Path) -> Layer<Tools> {
    let path = std::env::var_os("PATH");
    let mut tools = Tools::default();
    let mut asked = Vec::new();
    for (name, option, word, elsewhere) in TOOLS {
        let elsewhere = || elsewhere.map(PathBuf::from).filter(|p| p.is_file());
        match find_on_path(name, path.as_deref()).or_else(elsewhere) {
            Some(file) => asked.push((name, option, word, file)),
            None => tools.absent.push((*name).to_owned()),
        }
    }
    let from: Vec<String> = asked.iter().map(|(_, option, _, file)| format!("{} {option}", file.display())).collect();
    std::thread::scope(|threads| {
        let answers: Vec<_> = asked
            .into_iter()
            .map(|(name, option, word, file)| threads.spawn(move || ask(name, option, word, &file, folder)))
            .collect();
        tools.present = answers.into_iter().filter_map(|a| a.join().ok()).collect();
    });
    Layer::read(from, tools)
}

fn ask(name: &str, option: &str, word: &str, file: &Path, folder: &Path) -> Tool {
    // In the folder of the work, where rustup chooses its toolchain; it must choose and not install one.
    let mut child = Child::new(file, [option]).env("LC_ALL", "C").env("RUSTUP_AUTO_INSTALL", "0").deadline(DEADLINE);
    if folder.is_dir() {
        child = child.folder(folder);
    }
    let (version, says) = match child.keep(64 << 10).run() {
        Ok(finished) if finished.succeeded() => {
            let text = String::from_utf8_lossy(&finished.stdout);
            let line = text.lines().find(|l| l.contains(word)).or_else(|| text.lines().next()).unwrap_or("").trim();
            (version(line), line.to_owned())
        }
        Ok(finished) => (None, format!("{} {}", finished.ending, finished.last_error_line()).trim().to_owned()),
        Err(e) => (None, format!("it could not be started: {e}")),
    };
    Tool { name: name.to_owned(), path: file.display().to_string(), version, says }
}

/// The last group of digits and dots in a line that has a dot, with what is glued to it (`1.95.0-nightly`).
///
/// The last, because distributions put their own package's version before the compiler's: `gcc (Debian 12.2.0-14) 12.2.0`.
fn version(line: &str) -> Option<String> {
    let line = line.split(" (").next().filter(|l| l.contains('.')).unwrap_or(line);
    line.split([' ', ',', '(', ')'])
        .map(|word| word.trim_start_matches(['v', 'V']))
        .rfind(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn versions_are_found_in_what_tools_say() {
        for (line, expected) in [
            ("gcc (Debian 12.2.0-14+deb12u1) 12.2.0", "12.2.0"),
            ("Debian clang version 14.0.6", "14.0.6"),
            ("Apple clang version 15.0.0 (clang-1500.3.9.4)", "15.0.0"),
            ("cmake version 3.25.1", "3.25.1"),
            ("Cuda compilation tools, release 12.4, V12.4.131", "12.4.131"),
            ("HIP version: 6.2.41133-dd7f95766", "6.2.41133-dd7f95766"),
            ("rustc 1.95.0-nightly (a54fb6a2e 2026-02-01)", "1.95.0-nightly"),
        ] {
            assert_eq!(version(line).as_deref(), Some(expected), "{line}");
        }
        assert_eq!(version("no figures"), None);
    }
}
