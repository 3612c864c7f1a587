//! Shows stored records: one `serde_json::Value` in, `text/plain`, `text/html` and `image/svg+xml` out.
//!
//! Owns: words, order and shape of everything a person reads as a result, and that hostile text in a record stays
//! text. Must not know: sockets, live outcomes, files, and how any figure came about. It decides nothing: what the
//! record does not say is shown as "not recorded", and what it says is shown as it stands.
//!
//! Start at [`render`]. A record becomes a `doc::Doc` in `kinds`; `plain` and `html` write that one document, so that
//! the forms cannot disagree; `picture` draws. [`report`] puts the records of a whole case on one page.

mod doc;
mod field;
mod html;
mod kinds;
mod number;
mod picture;
mod plain;
mod report;
mod visible;

use std::collections::BTreeMap;

pub use report::report;

use picture::Ink;
use serde_json::Value;

/// All forms of the stored `result` of the given `kind`, by MIME type.
///
/// Kinds: `verdict`, `reference`, `snapshot`, `probe`, `criterion`, `declare`, `dossier_status`, `dossier_log`,
/// `dossier_verify`, `run`, `why`, `help`, `error`; any other kind is shown as indented JSON in `text/plain`.
/// `text/plain` is always there; `image/svg+xml` where there is something to draw. Never panics, whatever the record
/// holds: an absent field is shown as "not recorded".
pub fn render(kind: &str, result: &Value) -> BTreeMap<String, String> {
    let mut forms = BTreeMap::new();
    let Some(doc) = kinds::document(kind, result) else {
        forms.insert("text/plain".to_owned(), unknown(result));
        return forms;
    };
    forms.insert("text/plain".to_owned(), plain::write(&doc, false));
    forms.insert("text/html".to_owned(), html::write(&doc));
    if let Some(picture) = &doc.picture {
        forms.insert("image/svg+xml".to_owned(), picture.svg(Ink::Panel));
    }
    forms
}

/// The `text/plain` form for a terminal; ANSI colour only where `colour` asks for it. Ends without a newline.
///
/// Control characters of the record are written out (`\u{1b}`), so that no record can steer the terminal.
pub fn terminal(kind: &str, result: &Value, colour: bool) -> String {
    match kinds::document(kind, result) {
        Some(doc) => plain::write(&doc, colour),
        None => unknown(result),
    }
}

/// A record of a kind this version does not know: every field, nothing interpreted.
fn unknown(result: &Value) -> String {
    visible::lines(&serde_json::to_string_pretty(result).unwrap_or_default())
}
