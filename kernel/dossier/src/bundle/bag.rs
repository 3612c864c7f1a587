//! The texts of a BagIt 1.0 bag. Source: RFC 8493.

use serde::Serialize;

use super::error::BundleError;
use crate::tree::{Hash, from_hex, to_hex};

pub(super) const BAGIT: &str = "bagit.txt";
pub(super) const INFO: &str = "bag-info.txt";
pub(super) const MANIFEST: &str = "manifest-sha256.txt";
pub(super) const TAGS: &str = "tagmanifest-sha256.txt";
pub(super) const PAYLOAD: &str = "data";

/// What `bagit.txt` holds.
pub(super) const DECLARATION: &str = "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n";

/// The label of `bag-info.txt` that counts bytes and files of the payload.
pub(super) const OXUM: &str = "Payload-Oxum";

/// The label of `bag-info.txt` that names the folder of the case's dossier below `data/`.
pub(super) const DOSSIER: &str = "Fascicolo-Dossier";

/// One thing of a bag that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BagFault {
    /// The file, by its path in the bag.
    pub file: String,
    /// What is wrong, as a sentence that follows the file's name.
    pub what: String,
}

impl std::fmt::Display for BagFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.file, self.what)
    }
}

/// The text of `bag-info.txt`: the caller's lines, then the bundle's own.
pub(super) fn info(given: &[(String, String)], dossier: &str, bytes: u64, files: usize) -> Result<String, BundleError> {
    let mut text = String::new();
    for (label, value) in given {
        let bad = |why| BundleError::BadInfo { label: label.clone(), why };
        if [OXUM, DOSSIER].iter().any(|own| own.eq_ignore_ascii_case(label)) {
            return Err(bad("is written by the bundle itself"));
        }
        if label.is_empty() || label.trim() != label || label.contains(|c: char| c == ':' || c.is_control()) {
            return Err(bad("is no label: it is empty, or has a colon, a control character or outer spaces"));
        }
        if value.trim().is_empty() || value.contains(char::is_control) {
            return Err(bad("has a value that is empty or of several lines"));
        }
        text.push_str(&format!("{label}: {}\n", value.trim()));
    }
    text.push_str(&format!("{DOSSIER}: {dossier}\n{OXUM}: {bytes}.{files}\n"));
    Ok(text)
}

/// The value of a label of `bag-info.txt`, if it is there once.
pub(super) fn info_value<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let mut values = lines.filter(|(name, _)| name.trim().eq_ignore_ascii_case(label)).map(|(_, value)| value.trim());
    let value = values.next()?;
    values.next().is_none().then_some(value)
}

/// The text of a manifest over files given by digest and path in the bag.
pub(super) fn manifest<'a>(files: impl Iterator<Item = (&'a Hash, &'a str)>) -> String {
    files.map(|(digest, path)| format!("{}  {path}\n", to_hex(digest))).collect()
}

/// Reads a manifest; `None` for a line that is not digest, two spaces and path. A path is not checked: it is only ever
/// compared with those of files that are there.
pub(super) fn parse_manifest(text: &str) -> Option<Vec<(Hash, &str)>> {
    let line = |line: &'_ str| -> Option<usize> { line.find("  ").filter(|at| *at == 64 && line.len() > 66) };
    text.lines().map(|text| line(text).and_then(|at| Some((from_hex(&text[..at])?, &text[at + 2..])))).collect()
}
