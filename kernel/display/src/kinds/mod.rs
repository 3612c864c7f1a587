//! From a record of one kind to what is shown of it. One file per family of records.
//!
//! Must not know: HTML, ANSI, SVG.

mod declared;
mod dossier;
mod environment;
mod general;
mod probe;
mod structure;
pub mod validity;
pub mod verdict;
mod why;

use serde_json::Value;

use crate::doc::Doc;
use crate::field::at;

/// What to show of a record, or nothing if this version does not know its kind.
///
/// A record that says `redacted_by`, the entry that took it out, is shown as redacted, whatever its kind.
pub fn document(kind: &str, result: &Value) -> Option<Doc> {
    if at(result, "redacted_by").is_some() {
        return Some(general::redacted(result));
    }
    Some(match kind {
        "verdict" => verdict::document(result),
        "reference" => declared::reference(result),
        "criterion" => declared::criterion(result),
        "declare" => declared::declaration(result),
        "snapshot" => environment::document(result),
        "probe" => probe::document(result),
        "calibrate" => declared::calibration(result),
        "dossier_status" => dossier::status(result),
        "dossier_log" => dossier::log(result),
        "dossier_sign" => dossier::signed(result),
        "dossier_redact" => dossier::redacted(result),
        "dossier_import" => dossier::imported(result),
        "dossier_gc" => dossier::collected(result),
        "dossier_export" => dossier::exported(result),
        "replay" => dossier::replay(result),
        "dossier_entry" => dossier::entry(result),
        "dossier_verify" => dossier::verification(result),
        "why" => why::document(result),
        "help" | "replay_plan" => general::help(result),
        "error" => general::error(result),
        _ => return None,
    })
}
