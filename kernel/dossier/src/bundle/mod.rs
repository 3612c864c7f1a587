//! A case as one file to hand on: a zip of a BagIt 1.0 bag that holds a dossier, the same log as tiles, and files.
//!
//! Owns: the layout of that file, which names it may hold, how it is unpacked without harm, how it is checked.
//! Must not know: notebooks, MIME types, magics, checks: names and bytes come from the caller. Never runs anything.
//! Start at [`write`] and [`read`].
//!
//! ```text
//! NAME/
//!   bagit.txt  bag-info.txt  manifest-sha256.txt  tagmanifest-sha256.txt
//!   data/NAME.fascicolo/      the dossier but for lock, place, quarantine and temporaries
//!   data/log/                 the log once more, as C2SP tlog-tiles: checkpoint, tile/L/N, tile/entries/N
//!   data/…                    the caller's files
//! ```
//! Source: RFC 8493 (BagIt), <https://c2sp.org/tlog-tiles>.

mod bag;
mod check;
mod directory;
mod error;
mod extract;
mod names;
mod plan;
mod tiles;
mod write;

use std::path::{Path, PathBuf};

pub use bag::BagFault;
pub use error::{BundleError, NameProblem};
pub use extract::Limits;
pub use write::{Case, CaseFile, Source, Written, write};

use crate::verify::Verification;

/// A bundle that was unpacked and checked.
#[derive(Debug)]
pub struct Opened {
    /// The case's name: that of the bundle's one folder.
    pub name: String,
    /// The bag, unpacked.
    pub folder: PathBuf,
    /// The dossier in it.
    pub dossier: PathBuf,
    /// What the dossier itself shows.
    pub verification: Verification,
    /// What of bag and tiles is not as it was written.
    pub faults: Vec<BagFault>,
}

impl Opened {
    /// True if bag, tiles and dossier are as they were written.
    pub fn integrity(&self) -> bool {
        self.faults.is_empty() && self.verification.integrity
    }
}

/// Unpacks a bundle into an empty folder, and checks bag, tiles and dossier. Runs nothing, follows no link, writes
/// nowhere else.
///
/// `into` is created if it is not there. A content that is not as it was written is no error but a fault.
/// # Errors
/// An entry that could do harm, or that no bundle has, before anything is written: [`BundleError::Name`],
/// [`BundleError::Link`], [`BundleError::Special`], [`BundleError::Encrypted`], [`BundleError::Unsupported`],
/// [`BundleError::Ratio`], [`BundleError::TooLarge`], [`BundleError::TooManyEntries`], [`BundleError::Outside`],
/// [`BundleError::NotAZip`]. While unpacking: [`BundleError::BadContent`], [`BundleError::Io`]; what was unpacked until
/// then stays. After it: [`BundleError::NotABag`], [`BundleError::NoDossier`], [`BundleError::Dossier`].
pub fn read(zip: &Path, into: &Path, limits: &Limits) -> Result<Opened, BundleError> {
    let name = extract::extract(zip, into, limits)?;
    look(&into.join(&name)).map(|opened| Opened { name, ..opened })
}

/// Checks a bundle that was unpacked before: bag, tiles and dossier. Writes nothing.
/// # Errors
/// As [`read`] after unpacking.
pub fn look(folder: &Path) -> Result<Opened, BundleError> {
    let folder = folder.to_path_buf();
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let (dossier, faults) = check::check(&folder)?;
    let verification = crate::verify::verify(&dossier)?;
    Ok(Opened { name, folder, dossier, verification, faults })
}
