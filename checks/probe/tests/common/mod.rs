//! Fake machines for the probe: trees of `/sys` and `/dev`, and driver libraries built with `cc`.
#![allow(dead_code, clippy::unwrap_used, missing_docs)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use fascicolo_probe::{Launcher, Report, Request, Require, StageResult};

/// A folder that stands for a whole machine.
pub struct Machine {
    pub folder: tempfile::TempDir,
    env: Vec<String>,
    pub python: Option<PathBuf>,
    pub deadline: Duration,
}

impl Machine {
    /// A machine with an empty PCI bus and no device nodes.
    pub fn bare() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("sys/bus/pci/devices")).unwrap();
        std::fs::create_dir_all(folder.path().join("dev")).unwrap();
        std::fs::create_dir_all(folder.path().join("lib")).unwrap();
        let lib = format!("LD_LIBRARY_PATH={}", folder.path().join("lib").display());
        Machine { folder, env: vec![lib], python: None, deadline: Duration::from_secs(10) }
    }

    pub fn pci(self, address: &str, vendor: &str, class: &str) -> Self {
        let device = self.folder.path().join("sys/bus/pci/devices").join(address);
        std::fs::create_dir_all(&device).unwrap();
        for (file, text) in [("vendor", vendor), ("class", class), ("device", "0x2330")] {
            std::fs::write(device.join(file), format!("{text}\n")).unwrap();
        }
        self
    }

    pub fn node(self, name: &str) -> Self {
        std::fs::write(self.folder.path().join("dev").join(name), "").unwrap();
        self
    }

    /// An NVIDIA device with its kernel driver in place.
    pub fn nvidia() -> Self {
        Machine::bare().pci("0000:3b:00.0", "0x10de", "0x030200").node("nvidiactl").node("nvidia0")
    }

    /// An AMD device with its kernel driver in place.
    pub fn amd() -> Self {
        Machine::bare().pci("0000:03:00.0", "0x1002", "0x120000").node("kfd")
    }

    pub fn env(mut self, assignment: &str) -> Self {
        self.env.push(assignment.to_owned());
        self
    }

    /// Builds a shared library of this C source under this name.
    pub fn library(self, name: &str, source: &str) -> Self {
        let c = self.folder.path().join("simulated.c");
        std::fs::write(&c, source).unwrap();
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .arg(self.folder.path().join("lib").join(name))
            .arg(&c)
            .status()
            .unwrap();
        assert!(built.success(), "cc could not build the simulated {name}");
        self
    }

    /// A libcuda whose three functions return what is given.
    pub fn libcuda(self, init: i32, count_code: i32, devices: i32) -> Self {
        self.library(
            "libcuda.so.1",
            &answering("cuInit", "cuDriverGetVersion", "cuDeviceGetCount", 13000, [init, count_code, devices]),
        )
    }

    /// A libamdhip64 whose three functions return what is given.
    pub fn libhip(self, init: i32, count_code: i32, devices: i32) -> Self {
        self.library(
            "libamdhip64.so.6",
            &answering("hipInit", "hipDriverGetVersion", "hipGetDeviceCount", 60_443_483, [init, count_code, devices]),
        )
    }

    /// A Python whose `import torch` finds this source.
    pub fn torch(mut self, init: &str) -> Self {
        let site = self.folder.path().join("site/torch");
        std::fs::create_dir_all(&site).unwrap();
        std::fs::write(site.join("__init__.py"), init).unwrap();
        let script = format!("export PYTHONPATH={}\nexec python3 \"$@\"", self.folder.path().join("site").display());
        self.python = Some(self.script("python", &script));
        self
    }

    pub fn script(&self, name: &str, body: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let file = self.folder.path().join(name);
        std::fs::write(&file, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        file
    }

    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    pub fn request(&self, require: Require) -> Request {
        // `env` gives the child its variables; this process's own are left alone.
        let unset = ["CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"];
        let mut args: Vec<String> = unset.iter().flat_map(|v| ["-u".to_owned(), (*v).to_owned()]).collect();
        args.extend(self.env.iter().cloned());
        args.push(env!("CARGO_BIN_EXE_probe-stage").to_owned());
        Request {
            require,
            python: self.python.clone(),
            launcher: Launcher { exe: "/usr/bin/env".into(), args },
            root: self.folder.path().to_path_buf(),
            deadline: self.deadline,
        }
    }

    pub fn probe(&self, require: Require) -> Report {
        fascicolo_probe::run(&self.request(require))
    }
}

fn answering(init: &str, version: &str, count: &str, number: i32, [code, count_code, devices]: [i32; 3]) -> String {
    format!(
        "int {init}(unsigned f) {{ return {code}; }}\nint {version}(int *v) {{ *v = {number}; return 0; }}\n\
         int {count}(int *n) {{ *n = {devices}; return {count_code}; }}\n"
    )
}

/// The code, error and layer (as written in JSON) of a stage that must have failed.
pub fn failure(report: &Report, stage: &str) -> (String, String, String) {
    match &report.stage(stage).unwrap().result {
        StageResult::Failed { code, error, layer, next } => {
            assert!(!next.is_empty());
            let layer = serde_json::to_value(layer).unwrap();
            (code.clone(), error.clone(), layer.as_str().unwrap().to_owned())
        }
        other => panic!("stage {stage} should have failed, but: {other:?}"),
    }
}

/// The words of all four stages.
pub fn words(report: &Report) -> Vec<&'static str> {
    report.stages.iter().map(|s| s.result.word()).collect()
}

/// Processes whose command line holds this text.
pub fn processes_with(text: &Path) -> Vec<String> {
    let text = text.display().to_string();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|e| std::fs::read(e.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(&text))
        .collect()
}
