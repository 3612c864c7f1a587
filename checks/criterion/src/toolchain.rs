//! Finds rustc and its wasm32 target, and builds the sdk once for them.

use crate::error::CriterionError;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The sdk's sources, as they travel inside the program.
const SDK: &[(&str, &str)] = &[
    ("lib.rs", include_str!("../../../wasm-checks/sdk/src/lib.rs")),
    ("accumulate.rs", include_str!("../../../wasm-checks/sdk/src/accumulate.rs")),
    ("bindings.rs", include_str!("../../../wasm-checks/sdk/src/bindings.rs")),
    ("build.rs", include_str!("../../../wasm-checks/sdk/src/build.rs")),
    ("exact.rs", include_str!("../../../wasm-checks/sdk/src/exact.rs")),
    ("linear.rs", include_str!("../../../wasm-checks/sdk/src/linear.rs")),
    ("macros.rs", include_str!("../../../wasm-checks/sdk/src/macros.rs")),
    ("row.rs", include_str!("../../../wasm-checks/sdk/src/row.rs")),
    ("rt.rs", include_str!("../../../wasm-checks/sdk/src/rt.rs")),
    ("sample.rs", include_str!("../../../wasm-checks/sdk/src/sample.rs")),
    ("sha256.rs", include_str!("../../../wasm-checks/sdk/src/sha256.rs")),
    ("statistics.rs", include_str!("../../../wasm-checks/sdk/src/statistics.rs")),
];

const TARGET: &str = "wasm32-unknown-unknown";

/// A rustc that can compile criteria, with the sdk built for it.
#[derive(Debug, Clone)]
pub struct Toolchain {
    /// The compiler itself, not rustup's proxy, so that it needs no environment.
    pub rustc: PathBuf,
    /// Its root.
    pub sysroot: PathBuf,
    /// `rustc -vV`, on one line.
    pub version: String,
    /// The sdk, compiled.
    pub sdk_rlib: PathBuf,
    /// SHA-256 over the sdk's sources, lower-case hex.
    pub sdk_digest: String,
}

/// SHA-256 over the sdk's sources and their names, lower-case hex.
pub fn sdk_digest() -> String {
    let mut hash = Sha256::new();
    for (name, text) in SDK {
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name);
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    crate::hex(&hash.finalize())
}

/// The options under which sdk and cells are compiled: the same everywhere, so that the same source gives the same bytes.
pub fn code_options() -> [&'static str; 6] {
    [
        "--edition=2024",
        "-Copt-level=3",
        "-Cpanic=abort",
        "-Ccodegen-units=1",
        "-Coverflow-checks=on",
        "-Ctarget-feature=+simd128",
    ]
}

impl Toolchain {
    /// Finds the compiler, adds the target if it is missing, and builds the sdk if this compiler has not yet done so.
    ///
    /// `say` gets one line for each step that takes longer than a moment.
    pub fn prepare(cache: &Path, say: &dyn Fn(&str)) -> Result<Toolchain, CriterionError> {
        // A neutral folder: a project's own toolchain file must not decide what a criterion is compiled with.
        let root = std::env::temp_dir();
        let ask = |what: &str| -> Result<String, CriterionError> {
            let output = Command::new("rustc")
                .arg(what)
                .env_remove("EVCXR_IS_RUNTIME")
                .current_dir(&root)
                .output()
                .map_err(CriterionError::NoCompiler)?;
            let text = if output.status.success() { &output.stdout } else { &output.stderr };
            let text = String::from_utf8_lossy(text).trim().to_owned();
            if output.status.success() && !text.is_empty() {
                return Ok(text);
            }
            Err(CriterionError::NoCompiler(std::io::Error::other(text)))
        };
        let sysroot = PathBuf::from(ask("--print=sysroot")?);
        let version = ask("-vV")?.lines().collect::<Vec<_>>().join("; ");
        let rustc = sysroot.join("bin").join(if cfg!(windows) { "rustc.exe" } else { "rustc" });

        if !sysroot.join("lib/rustlib").join(TARGET).join("lib").is_dir() {
            add_target(&sysroot, say)?;
        }
        let sdk_digest = sdk_digest();
        let key = crate::hex(&Sha256::digest(format!("{version}\n{}\n{sdk_digest}", sysroot.display())));
        let folder = cache.join("sdk").join(&key[..32]);
        let sdk_rlib = folder.join("libfascicolo.rlib");
        let toolchain = Toolchain { rustc, sysroot, version, sdk_rlib, sdk_digest };
        if !toolchain.sdk_rlib.is_file() {
            say("building the criterion sdk, once for this rustc");
            toolchain.build_sdk(&folder)?;
        }
        Ok(toolchain)
    }

    /// Names under which the compiler reports its own sources, equal on every machine, with or without rust-src.
    pub fn remaps(&self, folder: &Path, as_name: &str) -> Vec<std::ffi::OsString> {
        let mut remaps = Vec::new();
        let mut remap = |from: &Path, to: &str| {
            let mut option = std::ffi::OsString::from("--remap-path-prefix=");
            option.push(from);
            option.push("=");
            option.push(to);
            remaps.push(option);
        };
        // Where rust-src is installed, rustc names the library's files by their place; elsewhere by its commit.
        let commit = self.version.split("; ").find_map(|part| part.strip_prefix("commit-hash: ")).unwrap_or("unknown");
        remap(&self.sysroot.join("lib/rustlib/src/rust"), &format!("/rustc/{commit}"));
        remap(folder, as_name);
        remaps
    }

    fn build_sdk(&self, folder: &Path) -> Result<(), CriterionError> {
        let io = |what: String| move |source| CriterionError::Io { what, source };
        let parent = folder.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).map_err(io(format!("create {}", parent.display())))?;
        // One process builds, the others wait and find it built: two rlibs of one sdk are not the same file, and a
        // compiler that reads one while it is replaced by the other fails.
        let lock_path = parent.join("lock");
        let lock = std::fs::File::create(&lock_path).map_err(io(format!("create {}", lock_path.display())))?;
        lock.lock().map_err(io(format!("lock {}", lock_path.display())))?;
        if self.sdk_rlib.is_file() {
            return Ok(());
        }
        let work = tempfile::tempdir_in(parent).map_err(io(format!("write in {}", parent.display())))?;
        let sources = work.path().join("sdk");
        std::fs::create_dir(&sources).map_err(io("write the sdk's sources".into()))?;
        for (name, text) in SDK {
            std::fs::write(sources.join(name), text).map_err(io("write the sdk's sources".into()))?;
        }
        let output = Command::new(&self.rustc)
            .env_clear()
            .env("TMPDIR", work.path())
            .current_dir(&sources)
            // An absolute path, which the remapping below makes `sdk/…` on every machine.
            .arg(sources.join("lib.rs"))
            .args(["--crate-type=rlib", "--crate-name=fascicolo", "--cap-lints=allow", "--target", TARGET])
            .args(code_options())
            .arg("-Cdebuginfo=0")
            .args(self.remaps(&sources, "sdk"))
            .arg("-o")
            .arg(work.path().join("libfascicolo.rlib"))
            .output()
            .map_err(CriterionError::NoCompiler)?;
        if !output.status.success() {
            let detail = String::from_utf8_lossy(&output.stderr).chars().take(2000).collect();
            return Err(CriterionError::SdkDoesNotBuild { detail });
        }
        let built = work.path().join("libfascicolo.rlib");
        std::fs::create_dir_all(folder).map_err(io(format!("create {}", folder.display())))?;
        // Whole or not at all, should this process be killed.
        std::fs::rename(&built, folder.join("libfascicolo.rlib")).map_err(io(format!("write in {}", folder.display())))
    }
}

fn add_target(sysroot: &Path, say: &dyn Fn(&str)) -> Result<(), CriterionError> {
    say("adding rustc's wasm32-unknown-unknown target: rustup target add wasm32-unknown-unknown");
    let mut command = Command::new("rustup");
    command.args(["target", "add", TARGET]);
    if let Some(name) = sysroot.file_name() {
        command.arg("--toolchain").arg(name);
    }
    let output = command.output().map_err(|e| CriterionError::NoTarget { detail: format!("rustup: {e}") })?;
    if output.status.success() && sysroot.join("lib/rustlib").join(TARGET).join("lib").is_dir() {
        return Ok(());
    }
    let detail = String::from_utf8_lossy(&output.stderr);
    let last: Vec<&str> = detail.lines().rev().take(3).collect();
    Err(CriterionError::NoTarget { detail: last.into_iter().rev().collect::<Vec<_>>().join(" ") })
}
