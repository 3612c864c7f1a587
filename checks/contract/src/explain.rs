//! What every error of the product can say about itself, so that one renderer serves notebook and shell.

/// How an ending stands towards the question that was asked; the shell's exit status follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The claim was checked and holds (0).
    Holds,
    /// The claim was checked and does not hold (1).
    DoesNotHold,
    /// The request itself was malformed (2).
    Usage,
    /// The evidence does not allow an answer (3).
    CannotTell,
    /// A rule of the case file forbids going on (4).
    Refused,
    /// A fault of the program (70).
    OurFault,
}

impl Standing {
    /// The process exit status, 0..=70.
    pub fn exit_status(self) -> u8 {
        match self {
            Standing::Holds => 0,
            Standing::DoesNotHold => 1,
            Standing::Usage => 2,
            Standing::CannotTell => 3,
            Standing::Refused => 4,
            Standing::OurFault => 70,
        }
    }
}

/// An error that says what (its `Display`), where, and the next step.
pub trait Explain: std::error::Error {
    /// A stable snake_case name for programs, e.g. `no_vector_column`.
    fn kind(&self) -> &'static str;
    /// The file, column, entry or line it is about, if there is one.
    fn place(&self) -> Option<String>;
    /// What the reader can do now: one sentence in the imperative.
    fn next_step(&self) -> String;
    /// How the ending stands towards the question.
    fn standing(&self) -> Standing;
}
