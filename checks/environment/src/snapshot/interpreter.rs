//! Layers `interpreter`, `packages` and `frameworks`: what a Python says of itself, asked in one short process.
//!
//! The interpreter is named or found, never activated: `VIRTUAL_ENV` chooses nothing. Our script imports neither torch
//! nor numpy; how torch was built is parsed from the text of its `version.py`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fascicolo_probe::child::{Child, find_on_path};
use serde::{Deserialize, Serialize};

use super::{Layer, Request};

const SCRIPT: &str = include_str!("interpreter.py");
const MARK: &str = "fascicolo-interpreter: ";

/// A cold disk with many packages takes seconds.
const DEADLINE: Duration = Duration::from_secs(20);

/// The Python interpreter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interpreter {
    /// How it was chosen, in words.
    pub chosen: String,
    /// Such as `3.11.7`.
    pub version: String,
    /// Version, build and compiler as `sys.version` gives them, in one line.
    pub build: String,
    /// `cpython`, `pypy` …
    pub implementation: String,
    /// `sys.executable`.
    pub executable: String,
    /// `sys.prefix`: the environment.
    pub prefix: String,
    /// `sys.base_prefix`: the installation that the environment rests on.
    pub base_prefix: String,
    /// True if the two differ.
    pub is_venv: bool,
    /// True if a venv also sees the packages of its base; `None` outside a venv.
    pub sees_base_packages: Option<bool>,
    /// The suffix of extension modules' names, such as `cpython-311-x86_64-linux-gnu`.
    pub abi: Option<String>,
    /// Such as `linux-x86_64`.
    pub platform: String,
    /// The C library its executable was linked with, such as `glibc 2.34`: what wheels are chosen by.
    pub libc: Option<String>,
}

/// Packages that the interpreter sees, in the order in which it would find them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packages {
    /// Sorted by name, then by order of search.
    pub list: Vec<Package>,
}

/// One installed package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// Its name as in its metadata.
    pub name: String,
    /// Its full version, local part included (`2.13.0+cu130`).
    pub version: Option<String>,
    /// The folder it was found in.
    pub location: String,
    /// What installed it, such as `pip` or `uv`, if it says so.
    pub installer: Option<String>,
    /// True if it was asked for by name and not pulled in by another.
    pub requested: bool,
    /// Where it was installed from, if not from an index.
    pub source: Option<Source>,
    /// True if it points at a folder of sources that can still change.
    pub editable: bool,
    /// True if it is in the user's own folder, which isolated runs of Python do not see.
    pub user_site: bool,
    /// True if a package of the same name comes before it, so that this one is not imported.
    pub shadowed: bool,
}

/// Where a package came from (PEP 610), credentials masked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The URL or folder.
    pub url: String,
    /// `git`, `hg` …, for a checkout.
    pub vcs: Option<String>,
    /// The commit, for a checkout.
    pub revision: Option<String>,
    /// Such as `sha256=…`, for an archive.
    pub hash: Option<String>,
    /// The folder inside it.
    pub subdirectory: Option<String>,
}

/// Frameworks whose build matters for the numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frameworks {
    /// torch, if it can be imported.
    pub torch: Option<Framework>,
    /// numpy, if it can be imported.
    pub numpy: Option<Framework>,
    /// How torch was built.
    pub torch_build: Layer<TorchBuild>,
}

/// One framework.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Framework {
    /// The version in its metadata; `None` if it can be imported but has no metadata.
    pub version: Option<String>,
    /// The folder it would be imported from.
    pub location: Option<String>,
}

/// What `torch/version.py` says. The two fields are kept apart: a device called `cuda` says nothing of its maker.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TorchBuild {
    /// `torch.__version__` as written there.
    pub version: Option<String>,
    /// `torch.version.cuda`; `None` for a build without CUDA.
    pub cuda: Option<String>,
    /// `torch.version.hip`; `None` for a build without ROCm.
    pub hip: Option<String>,
    /// The commit it was built from.
    pub git_version: Option<String>,
}

/// What the script answers.
#[derive(Deserialize)]
struct Answer {
    interpreter: Interpreter,
    packages: Option<Vec<Package>>,
    packages_error: Option<String>,
    torch: Option<Framework>,
    numpy: Option<Framework>,
    torch_version_py: Option<String>,
    torch_version_text: Option<String>,
}

type Layers = (Layer<Interpreter>, Layer<Packages>, Layer<Frameworks>);

/// All three layers not read for one reason.
pub(super) fn not_read(because: &str) -> Layers {
    (Layer::not_read(because), Layer::not_read(because), Layer::not_read(because))
}

pub(super) fn read(request: &Request) -> Layers {
    let path = std::env::var_os("PATH");
    let answer = choose_python(request.python.as_deref(), &request.folder, path.as_deref())
        .and_then(|(python, chosen)| ask(&python, &chosen));
    match answer {
        Ok(answer) => layers(answer),
        Err(because) => not_read(&because),
    }
}

/// The interpreter to use and how it was chosen, in words.
///
/// `named`: a path, relative to `folder`, or a bare name to find on `path` (the value of `PATH`). Without a name, the
/// first `python3`, or `python`, on `path`. Symbolic links are kept: a venv's interpreter is one.
/// # Errors
/// A sentence that says what was looked for.
pub fn choose_python(named: Option<&Path>, folder: &Path, path: Option<&OsStr>) -> Result<(PathBuf, String), String> {
    let Some(named) = named else {
        let found = ["python3", "python"].iter().find_map(|name| Some((find_on_path(name, path)?, name)));
        return found
            .map(|(file, name)| (file, format!("the first `{name}` on PATH")))
            .ok_or_else(|| "no interpreter was named, and there is no `python3` or `python` on PATH".to_owned());
    };
    let bare = named.to_str().filter(|n| !n.contains(['/', '\\']) && !folder.join(n).exists());
    if let Some(name) = bare {
        return find_on_path(name, path)
            .map(|file| (file, format!("`{name}` was named and found on PATH")))
            .ok_or_else(|| format!("there is no `{name}` in {} and none on PATH", folder.display()));
    }
    let file = folder.join(named);
    let file = std::path::absolute(&file).unwrap_or(file);
    if file.is_dir() {
        let inside = if cfg!(windows) { "Scripts\\python.exe" } else { "bin/python" };
        return Err(format!(
            "{} is a folder; name its interpreter, such as {}",
            file.display(),
            file.join(inside).display()
        ));
    }
    match std::fs::symlink_metadata(&file) {
        Ok(m) if m.is_symlink() && !file.exists() => Err(format!(
            "{} points at {}, which is not there: the Python that this environment rests on is gone",
            file.display(),
            std::fs::read_link(&file).unwrap_or_default().display()
        )),
        Ok(_) => Ok((file, "named by its path".to_owned())),
        Err(e) => Err(format!("the interpreter {} cannot be used: {e}", file.display())),
    }
}

fn ask(python: &Path, chosen: &str) -> Result<Answer, String> {
    let shown = python.display();
    // `-I`: neither PYTHON… variables nor the user's folder nor the current one change what is seen.
    let child = Child::new(python, ["-I", "-c", SCRIPT]).env_remove("__PYVENV_LAUNCHER__").deadline(DEADLINE);
    let finished = child.run().map_err(|e| format!("the interpreter {shown} could not be started: {e}"))?;
    let text = String::from_utf8_lossy(&finished.stdout);
    let line = text.lines().rev().find_map(|line| line.strip_prefix(MARK));
    let (Some(line), true, false) = (line, finished.succeeded(), finished.truncated) else {
        return Err(format!(
            "the interpreter {shown} gave no answer: {}; {}",
            finished.ending,
            finished.last_error_line()
        ));
    };
    let mut answer: Answer =
        serde_json::from_str(line).map_err(|e| format!("the interpreter {shown} answered what cannot be read: {e}"))?;
    answer.interpreter.chosen = chosen.to_owned();
    Ok(answer)
}

fn layers(answer: Answer) -> Layers {
    let executable = answer.interpreter.executable.clone();
    let of = |what: &str| format!("{what} in {executable}");
    let packages = match (answer.packages, answer.packages_error) {
        (Some(list), None) => Layer::read([of("importlib.metadata")], Packages { list: sorted(list) }),
        (_, Some(error)) => Layer::not_read(format!("{}: {error}", of("importlib.metadata"))),
        (None, None) => Layer::not_read(format!("{} gave no list", of("importlib.metadata"))),
    };
    let torch_build = match (&answer.torch, answer.torch_version_py, answer.torch_version_text) {
        (None, _, _) => Layer::not_read("the interpreter has no torch"),
        (Some(_), Some(file), Some(text)) => Layer::read([file], torch_build(&text)),
        (Some(_), _, _) => Layer::not_read("torch has no readable version.py"),
    };
    let frameworks = Frameworks { torch: answer.torch, numpy: answer.numpy, torch_build };
    (
        Layer::read([of("sys, sysconfig and platform")], answer.interpreter),
        packages,
        Layer::read([of("importlib.metadata and importlib.util.find_spec")], frameworks),
    )
}

/// By normalised name (PEP 503), keeping the order of search among equals.
fn sorted(mut list: Vec<Package>) -> Vec<Package> {
    list.sort_by_cached_key(|p| normalised(&p.name));
    list
}

fn normalised(name: &str) -> String {
    let parts: Vec<String> = name.split(['-', '_', '.']).filter(|p| !p.is_empty()).map(str::to_lowercase).collect();
    parts.join("-")
}

/// Reads assignments such as `cuda: Optional[str] = '13.0'` and `hip = None`.
fn torch_build(text: &str) -> TorchBuild {
    let value = |name: &str| {
        text.lines().find_map(|line| {
            let (left, right) = line.split_once('=')?;
            let left = left.split(':').next()?.trim();
            let right = right.trim();
            let quoted = right.starts_with(['\'', '"']);
            (left == name && quoted).then(|| right.trim_matches(['\'', '"']).to_owned())
        })
    };
    TorchBuild {
        version: value("__version__"),
        cuda: value("cuda"),
        hip: value("hip"),
        git_version: value("git_version"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuda_and_hip_of_torch_are_read_apart() {
        let cuda = torch_build(
            "from typing import Optional\n\n__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip']\n\
             __version__ = '2.13.0+cu130'\ndebug = False\ncuda: Optional[str] = '13.0'\n\
             git_version = 'cf30153'\nhip: Optional[str] = None\n",
        );
        assert_eq!((cuda.cuda.as_deref(), cuda.hip.as_deref()), (Some("13.0"), None));
        assert_eq!(cuda.version.as_deref(), Some("2.13.0+cu130"));
        let rocm = torch_build("__version__ = '2.13.0+rocm6.4'\ncuda = None\nhip = '6.4.43483'\n");
        assert_eq!((rocm.cuda, rocm.hip.as_deref()), (None, Some("6.4.43483")));
    }

    #[test]
    fn names_are_sorted_as_indexes_compare_them() {
        assert_eq!(normalised("Ruamel.YAML__clib"), "ruamel-yaml-clib");
    }
}
