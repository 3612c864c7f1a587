//! What the author of a comparison criterion imports.
//!
//! ```text
//! criterion! {
//!     meaning: "no description turns away from its reference by more than the floor allows",
//!     parameters: { floor["unitless"] "smallest cosine that is still the same description" },
//!     sees: { cosine },
//!     state: { least: Lowest, mean: Mean },
//!     row: |state, row, _p| {
//!         state.least.add(row.cosine, row.id);
//!         state.mean.add(row.cosine);
//!     },
//!     verdict: |state, p| {
//!         pass_if(state.least.value() >= p.floor)
//!             .because(format!("the smallest cosine is {}, the floor {}", state.least.value(), p.floor))
//!             .figure("cosine.min", "unitless", &state.least)
//!             .figure("cosine.mean", "unitless", &state.mean)
//!     },
//! }
//! ```
//!
//! State lives in accumulators only ([`accumulate`]); each can be taken out and merged and gives the same bits in
//! whatever order the rows came, so that a criterion is right on one thread and on a cluster by construction.
//!
//! Owns: row access, accumulators, the verdict builder, [`criterion!`]. Must not know: files, clocks, randomness, the
//! host. It has no dependencies: it travels as source inside the program and is built once per rustc.
//! Start at [`criterion!`], then [`accumulate`].

#[allow(missing_docs, unsafe_code, unused, clippy::all, clippy::pedantic, clippy::unwrap_used)]
#[rustfmt::skip]
pub mod bindings;
// The generated bindings speak to the canonical ABI through these few functions.
#[allow(unsafe_code)]
#[doc(hidden)]
pub mod rt;

pub mod accumulate;
pub mod build;
mod exact;
pub mod linear;
pub mod row;
pub mod sample;
mod sha256;
pub mod statistics;

// The generated bindings name `alloc` this way.
extern crate alloc as alloc_crate;

#[doc(hidden)]
pub use bindings::exports::fascicolo::criterion::criterion as contract;

/// Everything a criterion cell uses; a cell gets it without asking.
pub mod prelude {
    pub use crate::accumulate::{Count, Highest, Lowest, Mean, Spread, Sum, Tally};
    pub use crate::build::{Answer, inconclusive, pass_if};
    pub use crate::criterion;
    pub use crate::linear::Matrix;
    pub use crate::row::Vector;
    pub use crate::sample::Sample;
}

mod macros;
