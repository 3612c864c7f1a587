//! The layering rules of the design, and what must not stand in the tree.
#![allow(clippy::unwrap_used, missing_docs)]

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Normal (not dev, not build) dependencies of each crate of the workspace.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let of = |p: &Value| {
        let all = p["dependencies"].as_array().unwrap().iter().filter(|d| d["kind"].is_null());
        all.map(|d| d["name"].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    packages.iter().map(|p| (p["name"].as_str().unwrap().to_owned(), of(p))).collect()
}

fn tracked() -> Vec<String> {
    let output = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output().unwrap();
    String::from_utf8(output.stdout).unwrap().split('\0').filter(|f| !f.is_empty()).map(str::to_owned).collect()
}

#[test]
fn no_crate_depends_on_what_it_must_not_know() {
    let dependencies = dependencies();
    let ours = |name: &str| format!("fascicolo-{name}");
    let checks = ["contract", "embeddings", "criterion", "environment", "probe"].map(ours);
    let forbidden: Vec<(&str, Vec<String>)> = vec![
        (
            "fascicolo-contract",
            vec!["wasmtime".into(), "parquet".into(), "arrow".into(), "serde".into(), "serde_json".into()],
        ),
        ("fascicolo-sdk", dependencies.values().flatten().cloned().collect()),
        (
            "fascicolo-embeddings",
            vec![ours("criterion"), ours("dossier"), ours("magics"), ours("display"), "wasmtime".into()],
        ),
        (
            "fascicolo-criterion",
            vec![
                ours("embeddings"),
                ours("dossier"),
                ours("magics"),
                ours("display"),
                "parquet".into(),
                "arrow".into(),
            ],
        ),
        (
            "fascicolo-environment",
            vec![ours("dossier"), ours("magics"), ours("display"), "parquet".into(), "wasmtime".into()],
        ),
        (
            "fascicolo-probe",
            vec![ours("dossier"), ours("magics"), ours("display"), "parquet".into(), "wasmtime".into()],
        ),
        ("fascicolo-dossier", [&checks[..], &[ours("magics"), ours("display")]].concat()),
        ("fascicolo-magics", [&checks[..], &[ours("dossier"), ours("display")]].concat()),
        ("fascicolo-display", [&checks[..], &[ours("dossier"), ours("magics"), "zeromq".into()]].concat()),
    ];
    for (name, forbidden) in forbidden {
        let has = dependencies.get(name).unwrap_or_else(|| panic!("{name} is gone: update this test"));
        let wrong: Vec<&String> = forbidden.iter().filter(|f| has.contains(*f)).collect();
        assert!(wrong.is_empty(), "{name} depends on {wrong:?}");
    }
    for (name, has) in &dependencies {
        let zeromq = ["zeromq", "jupyter-zmq-client", "jupyter-protocol", "evcxr"].iter().any(|z| has.contains(*z));
        assert!(!zeromq || name == "fascicolo", "{name} knows the wire or evcxr");
    }
}

#[test]
fn zeromq_is_known_to_the_wire_alone_and_unsafe_ffi_to_the_probe_and_the_guests_allocator() {
    let root = root();
    for file in tracked().iter().filter(|f| f.ends_with(".rs") && !f.starts_with("tests/")) {
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        if !file.starts_with("kernel/app/src/wire/") {
            assert!(!text.contains("zeromq::") && !text.contains("jupyter_zmq_client"), "{file} knows ZeroMQ");
        }
        // Elsewhere the workspace's lints deny unsafe code; only these may allow it.
        let guest = file.starts_with("wasm-checks/sdk/src/");
        // It loads machine code that this program's own compiler wrote.
        if file == "checks/criterion/src/isolate.rs" {
            assert_eq!(text.matches("unsafe {").count(), 1, "{file} has more unsafe code than loading");
            continue;
        }
        if file != "checks/probe/src/ffi.rs" && file != "checks/probe/src/lib.rs" && !guest {
            assert!(!text.contains("allow(unsafe_code"), "{file} allows unsafe code");
        }
    }
}

#[test]
fn what_a_user_asks_to_run_is_started_in_one_place_where_the_kernels_own_variables_are_taken_away() {
    let root = root();
    // The others start this very program, or ask an interpreter that a replay needs where it lies.
    let own = ["kernel/app/src/rust_cells/", "kernel/app/src/replay/mod.rs"];
    for file in tracked().iter().filter(|f| f.starts_with("kernel/app/src/") && f.ends_with(".rs")) {
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        let starts = text.contains("Child::new(") || text.contains("Command::new(");
        let allowed = file == "kernel/app/src/command.rs" || own.iter().any(|prefix| file.starts_with(prefix));
        assert!(!starts || allowed, "{file} starts a process");
    }
}

#[test]
fn the_sdks_bindings_were_generated_from_this_contract() {
    let root = root();
    let wit = std::fs::read(root.join("wasm-checks/wit/criterion.wit")).unwrap();
    let bindings = std::fs::read_to_string(root.join("wasm-checks/sdk/src/bindings.rs")).unwrap();
    let digest = fascicolo_dossier::to_hex(&fascicolo_dossier::sha256(&wit));
    assert!(
        bindings.contains(&format!("criterion.wit with SHA-256 {digest}")),
        "criterion.wit changed: generate bindings.rs anew as its first lines say, and put {digest} there"
    );
}

#[test]
fn the_tree_speaks_of_the_product_alone() {
    let allowed = [
        "Cargo.toml",
        "Cargo.lock",
        "README.md",
        "rust-toolchain.toml",
        "rustfmt.toml",
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "kernel",
        "checks",
        "wasm-checks",
        "notebooks",
        "tests",
    ];
    let root = root();
    let machine = regex::Regex::new(r"(^|[^\w./-])/(work|farm|root)/").unwrap();
    for file in tracked() {
        let top = file.split('/').next().unwrap();
        assert!(top.starts_with('.') || allowed.contains(&top), "{file}: the card names no top-level {top}");
        let Ok(text) = std::fs::read_to_string(root.join(&file)) else { continue };
        if file == "Cargo.lock" || file == "tests/tidy.rs" || file.starts_with("notebooks/data/") {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            assert!(!machine.is_match(line), "{file}:{}: a path of one machine: {line}", number + 1);
        }
    }
}
