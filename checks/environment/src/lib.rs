//! What a machine-learning environment is made of: a snapshot of the machine in layers, fingerprints of files and
//! folders, and the masking of secrets in whatever is about to be kept.
//!
//! Owns: [`snapshot`], [`fingerprint`], [`redaction`]. Must not know: dossiers, magics, MIME types, Parquet.
//! Start at [`Snapshot::take`], [`fingerprint()`] and [`mask`].

pub mod fingerprint;
pub mod redaction;
pub mod snapshot;

pub use fingerprint::{Fingerprint, FingerprintError, fingerprint};
pub use redaction::{Masked, MaskedKind, Personal, conceal, mask};
pub use snapshot::{Request, Snapshot};
