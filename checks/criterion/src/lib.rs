//! Compiles a criterion cell to a WebAssembly component and hosts it under limits.
//!
//! Owns: the sdk's build, the jails around both compilers (cell to component, component to machine code), admission of
//! components, fuel and limits, the standard criteria. Must not know: notebooks, their paths, dossiers, magics, Parquet, MIME types.
//! Start at [`compile::compile`] for a cell, then [`host::Host::admit`] and [`host::Admitted::start`].

mod answer;
pub mod compile;
pub mod error;
mod fence;
pub mod gate;
pub mod host;
pub mod inspect;
pub mod isolate;
mod jail;
mod lines;
pub mod standard;
pub mod toolchain;
mod words;

pub use error::{CriterionError, Diagnostic};
pub use fence::{Confinement, Fence};
pub use host::{Admitted, Finished, Fold, Host};
pub use isolate::{Isolation, Launcher};
pub use toolchain::Toolchain;

/// SHA-256 of `bytes`, lower-case hex: the digest that a declaration seals.
pub fn digest(bytes: &[u8]) -> String {
    use sha2::Digest;
    hex(&sha2::Sha256::digest(bytes))
}

/// Lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        use std::fmt::Write;
        let _ = write!(text, "{byte:02x}");
        text
    })
}
