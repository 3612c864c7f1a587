//! Compiles a criterion cell to a WebAssembly component and hosts it under limits.
//!
//! Owns: the sdk's build, the jails around both compilers (cell to component, component to machine code), admission of
//! components, fuel and limits, the standard criteria, the interpreter for criteria in Python. Must not know: notebooks,
//! their paths, dossiers, magics, Parquet, MIME types.
//! Start at [`compile::compile`] for a cell in Rust, [`python::Script`] or [`wat::assemble`] for one in Python or WebAssembly's
//! text, then [`host::Host::admit`] and [`host::Admitted::start`].

mod answer;
pub mod compile;
pub mod diagnostic;
pub mod error;
mod fence;
pub mod gate;
mod guest;
pub mod host;
pub mod inspect;
pub mod isolate;
mod jail;
mod lines;
pub mod python;
mod shelf;
pub mod standard;
pub mod toolchain;
pub mod wat;
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
