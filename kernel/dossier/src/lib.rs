//! Appends records and proves that none changed.
//!
//! Owns: the format, the hash tree, the order of fsyncs, recovery, verification. Must not know: magics, MIME types,
//! checks, nor what the strings and the JSON it carries mean; secrets are masked before they come here.
//! Start at [`Dossier::append`] for writing, at [`verify`] for checking, at [`Record`] for the format; further at
//! [`Dossier::redact`], [`Dossier::sign`], [`Dossier::import`], and [`View::extends`] with the proofs of [`View::consistency_proof`].
//!
//! ```text
//! NAME.fascicolo/
//!   entries.jsonl             one line = one leaf: a Record; RFC 6962 hashes over the bytes of the line
//!   checkpoint                origin, size, root (C2SP tlog-checkpoint); written on request
//!   blobs/sha256/ab/…         contents by their SHA-256; blobs/tmp/ for files not yet in place
//!   disclosures/values.jsonl  salts and values behind small commitments
//!   quarantine/               ends of files that interrupted appends left
//!   signatures/               SIZE.checkpoint, the bytes signed; SIZE.FINGERPRINT.sshsig; SIZE.note
//!   parents/HEX/              logs that were joined, by the random part of their origin; each a dossier
//!   place                     which file entries.jsonl is, so that a copy forks; no part of the evidence
//!   lock                      taken for each transaction
//! ```

mod blobs;
pub mod bundle;
mod checkpoint;
mod disclosure;
mod disk;
mod draft;
mod error;
mod examine;
mod fault;
mod fork;
mod layout;
mod parents;
mod proof;
mod record;
pub mod sign;
mod state;
mod tree;
mod verify;
mod view;
mod writer;

pub use checkpoint::Checkpoint;
pub use disclosure::{Disclosure, INLINE_BYTES};
pub use draft::Draft;
pub use error::Error;
pub use examine::SignatureReport;
pub use fault::Fault;
pub use parents::{Parent, ParentReport};
pub use proof::{verify_consistency, verify_inclusion};
pub use record::{BlobRef, CellRef, Committed, FORMAT, FileSeen, Kind, LEAF_BYTES, Record, Redaction, Repeated};
pub use tree::{Frontier, Hash, from_hex, leaf_hash, node_hash, sha256, to_hex};
pub use verify::{Verification, verify, verify_signed};
pub use view::View;
pub use writer::{Appended, Collected, Dossier, Imported, Signed};
