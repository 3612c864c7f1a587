//! What a cell needs from whoever shows it: Jupyter, the notebook runner and the terminal each implement [`FrontEnd`].

use std::collections::BTreeMap;

/// One result in several forms, by MIME type; texts only (SVG and HTML are texts).
pub type MimeBundle = BTreeMap<String, String>;

/// Which of the two live streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// One cell as it arrives.
#[derive(Debug, Clone)]
pub struct CellRequest {
    /// The source text.
    pub code: String,
    /// The notebook's id of the cell, where the front end tells it.
    pub cell_id: Option<String>,
    /// The number shown beside the cell.
    pub execution_count: u32,
}

/// An error as a front end shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownError {
    /// Short name, e.g. `NotDeclared`.
    pub name: String,
    /// One sentence: what, where, why.
    pub message: String,
    /// Lines for people, the next step last.
    pub traceback: Vec<String>,
}

/// How a cell ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CellEnding {
    /// It ran to its end; a verdict `fail` is such an end too.
    Ok,
    /// It was refused, or an error stopped it.
    Error(ShownError),
}

/// Receives what a running cell shows. Called from the thread that runs the cell, in order.
pub trait FrontEnd: Send + Sync {
    /// Live output of the cell.
    fn stream(&self, stream: Stream, text: &str);
    /// A result, already recorded in the dossier.
    fn display(&self, bundle: &MimeBundle);
    /// The value of the cell's last expression.
    fn result(&self, execution_count: u32, bundle: &MimeBundle);
    /// Work in progress: what is being done, and the share done (0..=1) where it is known. Transient.
    fn progress(&self, what: &str, share: Option<f64>);
}
