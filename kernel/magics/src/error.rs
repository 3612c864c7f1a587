//! A cell or command line that asks for nothing we know.

/// What is wrong with the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MagicError {
    /// No magic of this name.
    #[error("there is no magic `%{name}`")]
    Unknown {
        /// As typed.
        name: String,
        /// The nearest name there is.
        nearest: Option<String>,
    },
    /// A magic with wrong options.
    #[error("{message}")]
    Usage {
        /// The magic.
        name: String,
        /// clap's message, without its colours.
        message: String,
    },
    /// Quotes that do not close.
    #[error("the quotes of `%{name}` do not close")]
    Quotes {
        /// The magic.
        name: String,
    },
    /// `%name` where a body is needed.
    #[error("`%{name}` needs a body: begin the cell with `%%{name}` and write it below")]
    NoBody {
        /// The magic.
        name: String,
    },
    /// `%%name` for a magic that takes none.
    #[error("`%%{name}` takes no body: write `%{name}`, and the rest in another cell")]
    Body {
        /// The magic.
        name: String,
    },
    /// `%%name` after other lines.
    #[error("`%%{name}` takes the whole cell, and does not stand on its first line")]
    NotFirst {
        /// The magic.
        name: String,
    },
    /// `--help`: not an error, but the end of the line.
    #[error("{text}")]
    Help {
        /// The page.
        text: String,
    },
}

impl MagicError {
    pub(crate) fn from_clap(error: &clap::Error, words: &[String]) -> MagicError {
        let name = words.first().cloned().unwrap_or_default();
        let text = error.render().to_string();
        match error.kind() {
            clap::error::ErrorKind::DisplayHelp | clap::error::ErrorKind::DisplayVersion => MagicError::Help { text },
            clap::error::ErrorKind::InvalidSubcommand => {
                let nearest = error.get(clap::error::ContextKind::SuggestedSubcommand).and_then(|value| match value {
                    clap::error::ContextValue::Strings(names) => names.first().cloned(),
                    clap::error::ContextValue::String(name) => Some(name.clone()),
                    _ => None,
                });
                MagicError::Unknown { name, nearest }
            }
            _ => {
                let message = text.split("\n\nUsage:").next().unwrap_or(&text).trim();
                let message = message.strip_prefix("error: ").unwrap_or(message).to_owned();
                MagicError::Usage { name, message }
            }
        }
    }

    /// A stable snake_case name for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            MagicError::Unknown { .. } => "unknown_magic",
            MagicError::Usage { .. } => "usage",
            MagicError::Quotes { .. } => "quotes",
            MagicError::NoBody { .. } => "no_body",
            MagicError::Body { .. } => "no_body_taken",
            MagicError::NotFirst { .. } => "not_first",
            MagicError::Help { .. } => "help",
        }
    }

    /// What the reader can do.
    pub fn next_step(&self) -> String {
        match self {
            MagicError::Unknown { nearest: Some(nearest), .. } => {
                format!("did you mean `%{nearest}`? `%help` lists all")
            }
            MagicError::Unknown { .. } => "`%help` lists all magics".into(),
            MagicError::Usage { name, .. } => format!("`%help {name}` shows its options"),
            MagicError::Quotes { .. } => "close the quotes, or put the text in other quotes".into(),
            MagicError::NoBody { name } => {
                format!("begin the cell with `%%{name}`; in a shell, give --file or standard input")
            }
            MagicError::Body { name } => format!("write `%{name}`"),
            MagicError::NotFirst { name } => format!("put `%%{name}` and what follows in a cell of its own"),
            MagicError::Help { .. } => String::new(),
        }
    }
}
