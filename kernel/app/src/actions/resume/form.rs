//! The body of `%%resume`.

use crate::failure::Failure;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What belongs to the state of a training; each may have been forgotten when it was resumed.
const PARTS: [&str; 8] = ["model", "optimizer", "scheduler", "step", "rng", "sampler", "scaler", "ema"];

/// The form, as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Form {
    /// Log of the uninterrupted training.
    pub reference: PathBuf,
    /// The last step that the checkpoint holds.
    pub at: f64,
    /// The checkpoint.
    pub checkpoint: PathBuf,
    /// Where the joined log goes.
    joined: Option<PathBuf>,
    /// Files that all commands read.
    #[serde(default)]
    pub reads: Vec<PathBuf>,
    /// Until the interruption.
    pub first: Part,
    /// From the checkpoint on.
    pub resumed: Part,
    /// The uninterrupted training once more.
    pub repeat: Option<Part>,
    #[serde(default)]
    state: BTreeMap<String, Restored>,
}

/// One command.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    command: Command,
    /// The log that it writes.
    pub log: PathBuf,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Command {
    Line(String),
    Words(Vec<String>),
}

/// Whether a part of the state was restored, as the author states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Restored {
    /// It was.
    Restored,
    /// It was not.
    NotRestored,
    /// Nobody can say.
    Unknown,
    /// The training has none.
    NotUsed,
}

impl Restored {
    fn name(self) -> &'static str {
        match self {
            Restored::Restored => "restored",
            Restored::NotRestored => "not_restored",
            Restored::Unknown => "unknown",
            Restored::NotUsed => "not_used",
        }
    }
}

impl Form {
    /// Reads the form.
    pub fn read(body: &str) -> Result<Form, Failure> {
        let form: Form = toml::from_str(body).map_err(|error| {
            let line = error.span().map(|span| body[..span.start.min(body.len())].lines().count().max(1));
            Failure {
                place: line.map(|line| format!("line {line} of the form")),
                ..Failure::usage(
                    "resume_form",
                    format!(
                        "the form cannot be read: {}{}",
                        error.message(),
                        line.map(|line| format!(" (line {line} of the form)")).unwrap_or_default()
                    ),
                    "`%help resume` shows the whole form",
                )
            }
        })?;
        if !form.at.is_finite() {
            return Err(Failure::usage(
                "resume_form",
                "`at` is no step",
                "give the last step that the checkpoint holds",
            ));
        }
        Ok(form)
    }

    /// Where the joined log goes: beside the resumed one.
    pub fn joined(&self) -> PathBuf {
        self.joined.clone().unwrap_or_else(|| self.resumed.log.with_extension("joined.csv"))
    }

    /// Each part of the state: those that belong to every training first, unknown where the author is silent.
    fn inventory(&self) -> Vec<(&str, Restored)> {
        let of = |part: &str| self.state.get(part).copied().unwrap_or(Restored::Unknown);
        let known = PARTS.iter().map(|part| (*part, of(part)));
        let others = self.state.iter().filter(|(part, _)| !PARTS.contains(&part.as_str()));
        known.chain(others.map(|(part, restored)| (part.as_str(), *restored))).collect()
    }

    /// The inventory, for the record.
    pub fn state(&self) -> Value {
        let parts = self.inventory().into_iter().map(|(part, restored)| (part.to_owned(), json!(restored.name())));
        Value::Object(parts.collect::<Map<_, _>>())
    }

    fn all(&self, wanted: Restored) -> Vec<&str> {
        self.inventory().into_iter().filter(|(_, restored)| *restored == wanted).map(|(part, _)| part).collect()
    }

    /// What nobody can say of whether it was restored.
    pub fn unknown(&self) -> Vec<&str> {
        self.all(Restored::Unknown)
    }

    /// What was not restored, as the author states.
    pub fn not_restored(&self) -> Vec<&str> {
        self.all(Restored::NotRestored)
    }
}

impl Part {
    /// The program and its arguments. `name`: of the part.
    pub fn words(&self, name: &str) -> Result<Vec<String>, Failure> {
        let words = match &self.command {
            Command::Words(words) => Some(words.clone()),
            Command::Line(line) => fascicolo_magics::words(line),
        };
        words.filter(|words| !words.is_empty()).ok_or_else(|| {
            Failure::usage(
                "no_command",
                format!("`command` of [{name}] holds no words, or quotes that do not close"),
                "write the program and its arguments as in a shell, or as a list of words",
            )
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const FORM: &str = "reference = 'whole.csv'\nat = 30\ncheckpoint = 'c'\n[first]\ncommand = 'py a.py'\nlog = 'f.csv'\n\
                        [resumed]\ncommand = ['py', 'a b.py']\nlog = 'runs/r.jsonl'\n";

    #[test]
    fn what_the_author_leaves_out_of_the_state_is_unknown_and_nothing_else_is() {
        let form =
            Form::read(&format!("{FORM}[state]\nmodel = 'restored'\nema = 'not_used'\n'rng.torch' = 'not_restored'"));
        let form = form.unwrap();
        assert_eq!(form.unknown(), ["optimizer", "scheduler", "step", "rng", "sampler", "scaler"]);
        assert_eq!(form.not_restored(), ["rng.torch"]);
        assert_eq!(form.state()["model"], "restored");
    }

    #[test]
    fn a_command_is_a_line_or_a_list_and_the_joined_log_lies_beside_the_resumed_one() {
        let form = Form::read(FORM).unwrap();
        assert_eq!(form.first.words("first").unwrap(), ["py", "a.py"]);
        assert_eq!(form.resumed.words("resumed").unwrap(), ["py", "a b.py"]);
        assert_eq!(form.joined(), PathBuf::from("runs/r.joined.csv"));
    }

    #[test]
    fn a_form_that_cannot_be_read_says_the_line() {
        let error = Form::read(&format!("{FORM}[state]\nmodel = 'perhaps'")).unwrap_err();
        assert_eq!(error.place.as_deref(), Some("line 11 of the form"), "{error:?}");
        assert!(error.message.contains("not_restored"), "{}", error.message);
        assert!(Form::read("at = 1").unwrap_err().message.contains("reference"));
    }
}
