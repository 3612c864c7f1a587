//! The standard criteria: written with the sdk like a user's, shipped compiled, so that they need no compiler.

/// A standard criterion.
#[derive(Debug, Clone, Copy)]
pub struct Standard {
    /// Its name.
    pub name: &'static str,
    /// Its source, with formula, units and traps.
    pub source: &'static str,
    /// The compiled component.
    pub component: &'static [u8],
}

macro_rules! standard {
    ($($name:literal),* $(,)?) => {
        &[$(Standard {
            name: $name,
            source: include_str!(concat!("../../../wasm-checks/standard/", $name, ".rs")),
            component: include_bytes!(concat!("../../../wasm-checks/standard/prebuilt/", $name, ".wasm")),
        }),*]
    };
}

/// All of them, by name.
pub const STANDARD: &[Standard] = standard![
    "abs",
    "allclose",
    "centroid",
    "cka",
    "cosine",
    "drift",
    "knn",
    "labels",
    "metric",
    "norm",
    "procrustes",
    "rel",
    "topk",
    "ulp",
];

/// The standard criterion of this name.
pub fn find(name: &str) -> Option<&'static Standard> {
    STANDARD.iter().find(|s| s.name == name)
}
