//! The one form of every error, and the one way it is shown: as a Jupyter error, as JSON, as a line in a shell.

use crate::front::ShownError;
use fascicolo_contract::{Explain, Standing};
use serde_json::{Value, json};

/// What stopped a cell or a command: what, where, and the next step.
#[derive(Debug, Clone)]
pub struct Failure {
    /// A stable snake_case name.
    pub kind: String,
    /// What happened, with its figures.
    pub message: String,
    /// File, column, entry or line.
    pub place: Option<String>,
    /// What the reader can do.
    pub next: String,
    /// The exit status follows from it.
    pub standing: Standing,
    /// Lines for people between the message and the next step, such as a compiler's drawing.
    pub details: Vec<String>,
}

impl Failure {
    /// Of an error that explains itself; the sources of the error are told behind its message.
    pub fn of(error: &dyn Explain) -> Failure {
        let mut message = error.to_string();
        let mut source = std::error::Error::source(error);
        while let Some(cause) = source {
            let cause_text = cause.to_string();
            if !message.contains(&cause_text) {
                message.push_str(": ");
                message.push_str(&cause_text);
            }
            source = cause.source();
        }
        Failure {
            kind: error.kind().to_owned(),
            message,
            place: error.place(),
            next: error.next_step(),
            standing: error.standing(),
            details: Vec::new(),
        }
    }

    /// The same of what was unpacked into a folder that nobody knows: the user's own file is named instead.
    #[must_use]
    pub fn of_case(mut self, unpacked: &std::path::Path, case: &std::path::Path) -> Failure {
        let (folder, case) = (unpacked.display().to_string(), case.display().to_string());
        self.message = self.message.replace(&folder, &case);
        self.place = self.place.map(|place| place.replace(&folder, &case));
        self
    }

    /// A refusal by a rule of the case file.
    pub fn refused(kind: &str, message: impl Into<String>, next: impl Into<String>) -> Failure {
        Failure {
            kind: kind.to_owned(),
            message: message.into(),
            place: None,
            next: next.into(),
            standing: Standing::Refused,
            details: Vec::new(),
        }
    }

    /// A request that cannot be carried out as written.
    pub fn usage(kind: &str, message: impl Into<String>, next: impl Into<String>) -> Failure {
        Failure { standing: Standing::Usage, ..Failure::refused(kind, message, next) }
    }

    /// The user's interrupt.
    pub fn interrupted(what: &str) -> Failure {
        let next = "run the cell again when you want its answer";
        Failure {
            standing: Standing::CannotTell,
            ..Failure::refused("interrupted", format!("{what} was interrupted"), next)
        }
    }

    /// The record of it: `{"kind", "message", "where", "next"}`.
    pub fn record(&self) -> Value {
        json!({ "kind": self.kind, "message": self.message, "where": self.place, "next": self.next })
    }

    /// As a front end shows it, from the stored record.
    pub fn shown(&self) -> ShownError {
        let name = camel(&self.kind);
        let mut traceback = vec![format!("{name}: {}", self.message)];
        traceback.extend(self.details.iter().cloned());
        if !self.next.is_empty() {
            traceback.push(format!("next: {}", self.next));
        }
        ShownError { name, message: self.message.clone(), traceback }
    }

    /// As a shell shows it.
    pub fn line(&self) -> String {
        let mut text = format!("fascicolo: {}", self.message);
        for detail in &self.details {
            text.push('\n');
            text.push_str(detail);
        }
        if !self.next.is_empty() {
            text.push_str("\n  next: ");
            text.push_str(&self.next);
        }
        text
    }
}

fn camel(kind: &str) -> String {
    kind.split('_')
        .map(|word| {
            let mut letters = word.chars();
            letters.next().map(|first| first.to_ascii_uppercase().to_string() + letters.as_str()).unwrap_or_default()
        })
        .collect()
}

/// Errors that explain themselves become failures by `?`.
macro_rules! explained {
    ($($error:ty),* $(,)?) => { $(
        impl From<$error> for Failure {
            fn from(error: $error) -> Failure { Failure::of(&error) }
        }
    )* };
}
explained!(
    fascicolo_embeddings::Error,
    fascicolo_environment::FingerprintError,
    crate::wire::WireError,
    crate::install::InstallError
);

impl From<crate::rust_cells::RustCellError> for Failure {
    fn from(error: crate::rust_cells::RustCellError) -> Failure {
        let mut failure = Failure::of(&error);
        if let crate::rust_cells::RustCellError::Compilation(diagnostics) = &error {
            failure.details = diagnostics.iter().map(|d| d.rendered.trim_end().to_owned()).collect();
        }
        failure
    }
}

impl From<fascicolo_criterion::CriterionError> for Failure {
    fn from(error: fascicolo_criterion::CriterionError) -> Failure {
        let mut failure = Failure::of(&error);
        match &error {
            fascicolo_criterion::CriterionError::DoesNotCompile { diagnostics, .. } => {
                failure.details = diagnostics.iter().map(|d| d.rendered.trim_end().to_owned()).collect();
            }
            fascicolo_criterion::CriterionError::Raised { diagnostic, .. } => {
                failure.details = vec![diagnostic.rendered.trim_end().to_owned()];
            }
            _ => {}
        }
        failure
    }
}

impl From<fascicolo_magics::MagicError> for Failure {
    fn from(error: fascicolo_magics::MagicError) -> Failure {
        Failure::usage(error.kind(), error.to_string(), error.next_step())
    }
}

impl From<fascicolo_dossier::Error> for Failure {
    fn from(error: fascicolo_dossier::Error) -> Failure {
        use std::error::Error as _;
        let mut message = error.to_string();
        if let Some(source) = error.source() {
            message = format!("{message}: {source}");
        }
        let standing = match error {
            fascicolo_dossier::Error::Tampered { .. } => Standing::DoesNotHold,
            _ => Standing::CannotTell,
        };
        Failure {
            kind: error.kind().to_owned(),
            message,
            place: error.place(),
            next: error.next_step(),
            standing,
            details: Vec::new(),
        }
    }
}

impl From<fascicolo_dossier::bundle::BundleError> for Failure {
    fn from(error: fascicolo_dossier::bundle::BundleError) -> Failure {
        use std::error::Error as _;
        let mut message = error.to_string();
        if let Some(source) = error.source().map(ToString::to_string).filter(|source| !message.contains(source)) {
            message = format!("{message}: {source}");
        }
        Failure {
            kind: error.kind().to_owned(),
            message,
            place: error.place(),
            next: error.next_step(),
            standing: Standing::CannotTell,
            details: Vec::new(),
        }
    }
}
