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

/// All of them, by name.
pub const STANDARD: &[Standard] = &[
    Standard {
        name: "abs",
        source: include_str!("../../../wasm-checks/standard/abs.rs"),
        component: include_bytes!("../../../wasm-checks/standard/prebuilt/abs.wasm"),
    },
    Standard {
        name: "allclose",
        source: include_str!("../../../wasm-checks/standard/allclose.rs"),
        component: include_bytes!("../../../wasm-checks/standard/prebuilt/allclose.wasm"),
    },
    Standard {
        name: "centroid",
        source: include_str!("../../../wasm-checks/standard/centroid.rs"),
        component: include_bytes!("../../../wasm-checks/standard/prebuilt/centroid.wasm"),
    },
    Standard {
        name: "cosine",
        source: include_str!("../../../wasm-checks/standard/cosine.rs"),
        component: include_bytes!("../../../wasm-checks/standard/prebuilt/cosine.wasm"),
    },
    Standard {
        name: "knn",
        source: include_str!("../../../wasm-checks/standard/knn.rs"),
        component: include_bytes!("../../../wasm-checks/standard/prebuilt/knn.wasm"),
    },
    Standard {
        name: "labels",
        source: include_str!("../../../wasm-checks/standard/labels.rs"),
        component: include_bytes!("../../../wasm-checks/standard/prebuilt/labels.wasm"),
    },
    Standard {
        name: "norm",
        source: include_str!("../../../wasm-checks/standard/norm.rs"),
        component: include_bytes!("../../../wasm-checks/standard/prebuilt/norm.wasm"),
    },
    Standard {
        name: "rel",
        source: include_str!("../../../wasm-checks/standard/rel.rs"),
        component: include_bytes!("../../../wasm-checks/standard/prebuilt/rel.wasm"),
    },
    Standard {
        name: "trajectory",
        source: include_str!("../../../wasm-checks/standard/trajectory.rs"),
        component: include_bytes!("../../../wasm-checks/standard/prebuilt/trajectory.wasm"),
    },
    Standard {
        name: "ulp",
        source: include_str!("../../../wasm-checks/standard/ulp.rs"),
        component: include_bytes!("../../../wasm-checks/standard/prebuilt/ulp.wasm"),
    },
];

/// The standard criterion of this name.
pub fn find(name: &str) -> Option<&'static Standard> {
    STANDARD.iter().find(|s| s.name == name)
}
