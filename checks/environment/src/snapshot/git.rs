//! Layer `git`: revision, branch and local changes of the code, from the `git` program.

use std::path::Path;
use std::time::Duration;

use fascicolo_probe::child::{Child, find_on_path};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Layer;
use crate::fingerprint::hex;

/// How long one call of git may take.
const DEADLINE: Duration = Duration::from_secs(10);

/// Revision and local changes of the code.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Git {
    /// The commit checked out; `None` before the first commit.
    pub revision: Option<String>,
    /// The branch; `None` if a commit is checked out without one.
    pub branch: Option<String>,
    /// True if any tracked file differs from the revision or an untracked one lies about.
    pub dirty: bool,
    /// Tracked files that differ from the revision.
    pub changed_files: u64,
    /// Files and folders that git neither tracks nor ignores; they are in no diff.
    pub untracked_files: u64,
    /// SHA-256 of `git diff HEAD` in a form that no setting of the user alters; `None` without changes or commit.
    pub diff_sha256: Option<String>,
    /// Name and URL of the remote that the branch follows, or of `origin`, credentials masked.
    pub remote: Option<(String, String)>,
}

pub(super) fn read(folder: &Path) -> Layer<Git> {
    match describe(folder) {
        Ok(git) => Layer::read(["git status", "git diff HEAD", "git config --get"], git),
        Err(because) => Layer::not_read(because),
    }
}

fn describe(folder: &Path) -> Result<Git, String> {
    if !folder.is_dir() {
        return Err(format!("{} is not a folder", folder.display()));
    }
    let program =
        find_on_path("git", std::env::var_os("PATH").as_deref()).ok_or("there is no program `git` on PATH")?;
    let call = |args: &[&str]| Call { program: &program, folder }.child(args);
    let status =
        run(call(&["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal", "--no-renames"]))?;
    let mut git = parse_status(&status);
    if git.revision.is_some() && git.changed_files > 0 {
        git.diff_sha256 = Some(diff_digest(call(DIFF))?);
    }
    let followed = git
        .branch
        .as_deref()
        .map(|b| format!("branch.{b}.remote"))
        .and_then(|key| run(call(&["config", "--get", &key])).ok());
    let name = followed.map(|n| n.trim().to_owned()).filter(|n| n != "." && !n.is_empty());
    let name = name.unwrap_or_else(|| "origin".to_owned());
    let url = run(call(&["config", "--get", &format!("remote.{name}.url")])).ok();
    git.remote = url.map(|u| u.trim().to_owned()).filter(|u| !u.is_empty()).map(|url| (name, url));
    Ok(git)
}

/// Every option that a user's settings could change is given, so that equal changes have equal digests everywhere.
const DIFF: &[&str] = &[
    "diff",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--binary",
    "--full-index",
    "--unified=3",
    "--inter-hunk-context=0",
    "--diff-algorithm=myers",
    "--no-indent-heuristic",
    "--no-relative",
    "-O/dev/null",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--submodule=short",
    "--ignore-submodules=none",
    "HEAD",
    "--",
    ":/",
];

struct Call<'a> {
    program: &'a Path,
    folder: &'a Path,
}

impl Call<'_> {
    /// A call that takes no lock, asks nobody, and starts no program that the repository's settings name to watch files.
    fn child(&self, args: &[&str]) -> Child {
        let settings = ["-c", "core.fsmonitor=false", "-c", "core.quotePath=true"];
        let mut child = Child::new(self.program, settings.iter().chain(args))
            .folder(self.folder)
            .env("LC_ALL", "C")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .deadline(DEADLINE);
        // A hook or another git that started this program must not choose the repository.
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS"] {
            child = child.env_remove(name);
        }
        child
    }
}

fn run(child: Child) -> Result<String, String> {
    let finished = child.run().map_err(|e| format!("git could not be started: {e}"))?;
    if finished.succeeded() && !finished.truncated {
        return Ok(String::from_utf8_lossy(&finished.stdout).into_owned());
    }
    Err(failure(&finished))
}

fn failure(finished: &fascicolo_probe::child::Finished) -> String {
    let says = String::from_utf8_lossy(&finished.stderr);
    let first = says.lines().map(str::trim).find(|l| !l.is_empty()).unwrap_or("");
    if first.contains("not a git repository") {
        return "the folder is in no git repository".into();
    }
    format!("git failed: {}; {first}", finished.ending)
}

fn diff_digest(child: Child) -> Result<String, String> {
    let mut hasher = Sha256::new();
    let finished =
        child.run_into(&mut |bytes| hasher.update(bytes)).map_err(|e| format!("git could not be started: {e}"))?;
    if finished.succeeded() { Ok(hex(&hasher.finalize())) } else { Err(failure(&finished)) }
}

/// Reads `git status --porcelain=v2 --branch -z`.
fn parse_status(status: &str) -> Git {
    let mut git = Git::default();
    for record in status.split('\0') {
        match record.split_once(' ') {
            Some(("#", header)) => match header.split_once(' ') {
                Some(("branch.oid", oid)) if oid != "(initial)" => git.revision = Some(oid.to_owned()),
                Some(("branch.head", head)) if head != "(detached)" => git.branch = Some(head.to_owned()),
                _ => {}
            },
            Some(("1" | "2" | "u", _)) => git.changed_files += 1,
            Some(("?", _)) => git.untracked_files += 1,
            _ => {}
        }
    }
    git.dirty = git.changed_files + git.untracked_files > 0;
    git
}
