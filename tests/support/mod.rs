//! Runs the program in a folder of its own, as a user in a shell would.
#![allow(dead_code, clippy::unwrap_used)]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The real sample: all-MiniLM-L6-v2 embeddings of Debian package descriptions.
pub fn sample(file: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../notebooks/data/debian-sections");
    folder.canonicalize().unwrap().join(file).display().to_string()
}

/// One of the 49 Parquet layouts.
pub fn layout(file: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/layouts/data").join(file).display().to_string()
}

/// What a command did.
pub struct Ended {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// Standard output as one JSON value.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {} {}", self.stdout, self.stderr))
    }

    /// The verdict, asserted to have ended with `status`.
    pub fn verdict(&self, status: i32) -> String {
        assert_eq!(self.status, status, "{} {}", self.stdout, self.stderr);
        self.json()["verdict"].as_str().unwrap().to_owned()
    }
}

/// An empty folder with the case file that the program makes in it.
pub struct Desk {
    pub folder: tempfile::TempDir,
}

impl Desk {
    pub fn new() -> Desk {
        Desk { folder: tempfile::tempdir().unwrap() }
    }

    /// A desk with the sample's reference declared.
    pub fn with_reference() -> Desk {
        let desk = Desk::new();
        let form = format!("goal = \"values\"\n[output]\npath = {:?}\n", sample("reference.parquet"));
        assert_eq!(desk.run_with(&["reference", "new", "sample"], &form).status, 0);
        desk
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    /// The case file.
    pub fn dossier(&self) -> PathBuf {
        self.folder.path().join("session.fascicolo")
    }

    pub fn run(&self, args: &[&str]) -> Ended {
        self.run_with(args, "")
    }

    /// Runs a command with a text on its standard input.
    pub fn run_with(&self, args: &[&str], stdin: &str) -> Ended {
        self.run_among(args, stdin, |_| ())
    }

    /// The same with another environment, as `prepare` makes it.
    pub fn run_among(&self, args: &[&str], stdin: &str, prepare: impl FnOnce(&mut Command)) -> Ended {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fascicolo"));
        command.args(args).current_dir(self.folder.path()).env_remove("FASCICOLO_DOSSIER");
        prepare(&mut command);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        use std::io::Write;
        // A command that fails early does not read its input.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        let output = child.wait_with_output().unwrap();
        Ended {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// `compare` of the sample's reference with one of its candidates, as JSON.
    pub fn compare(&self, candidate: &str, options: &[&str]) -> Ended {
        let (reference, candidate) = (sample("reference.parquet"), sample(&format!("candidates/{candidate}.parquet")));
        let mut args = vec!["compare", &reference, &candidate, "--json"];
        args.extend_from_slice(options);
        self.run(&args)
    }
}
