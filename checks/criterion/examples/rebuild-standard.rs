//! Rebuilds the standard criteria into wasm-checks/standard/prebuilt, with their digests.
//! A test compares what it would write with what is there.

use fascicolo_criterion::{Toolchain, compile, digest};
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let standard = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wasm-checks/standard");
    let cache = tempfile::tempdir()?;
    let toolchain = Toolchain::prepare(cache.path(), &|line| eprintln!("{line}"))?;
    let mut sums = String::new();
    // By file, not by the list in the program: a new criterion has no component yet that the program could ship.
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&standard)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            names.extend(path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned));
        }
    }
    names.sort_unstable();
    for name in &names {
        let source = std::fs::read_to_string(standard.join(format!("{name}.rs")))?;
        let compiled = compile::compile(&toolchain, name, &source, &|| false)?;
        std::fs::write(standard.join(format!("prebuilt/{name}.wasm")), &compiled.component)?;
        sums += &format!("{}  {name}.wasm\n", digest(&compiled.component));
        eprintln!(
            "{name}: {} bytes, {} ms, {}",
            compiled.component.len(),
            compiled.elapsed_ms,
            compiled.confinement.name()
        );
    }
    std::fs::write(standard.join("prebuilt/SHA256SUMS"), &sums)?;
    print!("{sums}");
    Ok(())
}
