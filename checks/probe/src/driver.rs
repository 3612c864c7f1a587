//! Stage `driver_library`: does the vendor's user-space library load, initialise and count devices?
//!
//! [`look`] runs in a child, one per library; [`judge`] turns an [`Outcome`] into a result in the parent.
//! The words about codes are in [`crate::codes`].

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::codes::{self, Meaning};
use crate::ffi::Vendor;
use crate::report::{Facts, Layer, StageResult};

/// Which vendor's library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    Cuda,
    Hip,
}

/// Everything that can come of asking a driver library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// It initialised and shows at least one device.
    Found { library: String, version: Option<i32>, devices: i32 },
    /// No library of these names is installed where the loader looks.
    NoLibrary { tried: Vec<String> },
    /// A library is there, but the loader refuses it.
    Unloadable { library: String, error: String },
    /// It lacks a function that every such library has.
    MissingSymbol { library: String, symbol: String },
    /// It is the empty library that compilers link against.
    Stub { library: String },
    /// It works, shows no device, and the kernel driver's device nodes are missing.
    NoDriver { library: String, code: i32, version: Option<i32> },
    /// It works and shows no device, with the kernel driver in place and no variable that could hide one.
    NoDevice { library: String, code: i32, version: Option<i32> },
    /// It works and shows no device, and this variable can be the reason.
    Hidden { library: String, variable: String, value: String },
    /// It answered with an error code.
    Refused { library: String, function: String, code: i32, version: Option<i32> },
}

impl Api {
    /// The stage's name on the child's command line.
    pub(crate) fn stage(self) -> &'static str {
        match self {
            Api::Cuda => "driver-cuda",
            Api::Hip => "driver-hip",
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Api::Cuda => "cuda",
            Api::Hip => "hip",
        }
    }

    /// The libraries to try, newest first. `libcuda.so` without a number may be a stub for linking and is not tried.
    fn libraries(self) -> &'static [&'static str] {
        match self {
            Api::Cuda if cfg!(windows) => &["nvcuda.dll"],
            Api::Cuda => &["libcuda.so.1"],
            Api::Hip if cfg!(windows) => &["amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll"],
            Api::Hip => &["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"],
        }
    }

    fn functions(self) -> Functions {
        match self {
            Api::Cuda => Functions { init: "cuInit", version: "cuDriverGetVersion", count: "cuDeviceGetCount" },
            Api::Hip => Functions { init: "hipInit", version: "hipDriverGetVersion", count: "hipGetDeviceCount" },
        }
    }

    /// Variables that hide devices from programs, the strongest first.
    fn masks(self) -> &'static [&'static str] {
        match self {
            Api::Cuda => &["CUDA_VISIBLE_DEVICES"],
            Api::Hip => &["ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"],
        }
    }

    fn kernel_driver_is_there(self, root: &Path) -> bool {
        let nodes: &[&str] = match self {
            Api::Cuda => &["dev/nvidiactl", "dev/nvidia0", "dev/dxg"],
            Api::Hip => &["dev/kfd", "dev/dxg"],
        };
        nodes.iter().any(|node| root.join(node).exists())
    }
}

struct Functions {
    init: &'static str,
    version: &'static str,
    count: &'static str,
}

/// Loads the library into this process, initialises it and counts devices. Only for a process made for that.
pub(crate) fn look(api: Api, root: &Path) -> Outcome {
    let mut found = None;
    for name in api.libraries() {
        match Vendor::load(name) {
            Ok(vendor) => {
                found = Some((vendor, *name));
                break;
            }
            Err(error) if is_absence(&error, name) => {}
            Err(error) => return Outcome::Unloadable { library: (*name).to_owned(), error },
        }
    }
    let Some((vendor, name)) = found else {
        return Outcome::NoLibrary { tried: api.libraries().iter().map(|n| (*n).to_owned()).collect() };
    };
    ask(api, &vendor, loaded_path(name).unwrap_or_else(|| name.to_owned()), root)
}

fn ask(api: Api, vendor: &Vendor, library: String, root: &Path) -> Outcome {
    let functions = api.functions();
    let missing = |symbol: &str| Outcome::MissingSymbol { library: library.clone(), symbol: symbol.to_owned() };
    // The version can be asked before initialising, so it is known when that is refused.
    let Some((version_code, version)) = vendor.call_for_number(functions.version) else {
        return missing(functions.version);
    };
    let version = (version_code == 0).then_some(version);
    let Some(code) = vendor.call_with_flags(functions.init, 0) else {
        return missing(functions.init);
    };
    let (function, code, devices) = if code == 0 {
        match vendor.call_for_number(functions.count) {
            Some((code, devices)) => (functions.count, code, devices),
            None => return missing(functions.count),
        }
    } else {
        (functions.init, code, 0)
    };
    match code {
        codes::STUB_LIBRARY if api == Api::Cuda => Outcome::Stub { library },
        0 if devices > 0 => Outcome::Found { library, version, devices },
        0 | codes::NO_DEVICE => no_device(api, library, code, version, root),
        code => Outcome::Refused { library, function: function.to_owned(), code, version },
    }
}

fn no_device(api: Api, library: String, code: i32, version: Option<i32>, root: &Path) -> Outcome {
    if !api.kernel_driver_is_there(root) {
        return Outcome::NoDriver { library, code, version };
    }
    for variable in api.masks() {
        match std::env::var(variable) {
            Ok(value) if can_hide_all(&value) => {
                return Outcome::Hidden { library, variable: (*variable).to_owned(), value };
            }
            _ => {}
        }
    }
    Outcome::NoDevice { library, code, version }
}

/// True unless the mask lets the first device through: a list ends at its first invalid entry, so only one that begins
/// with device 0 cannot have hidden all of them.
fn can_hide_all(mask: &str) -> bool {
    mask.split(',').next().map(str::trim) != Some("0")
}

/// The loader names the library itself when it is missing, and another file when a dependency is.
fn is_absence(error: &str, name: &str) -> bool {
    let linux = error.starts_with(&format!("{name}: cannot open shared object file: No such file"));
    // musl and macOS word it otherwise; there a dependency's name would stand first too.
    linux
        || error.contains(&format!("Error loading shared library {name}: No such file"))
        || (cfg!(target_os = "macos") && error.contains("no such file"))
        || (cfg!(windows) && error.contains("module could not be found"))
}

/// Where the loader found it, from the process's own memory map.
fn loaded_path(name: &str) -> Option<String> {
    let stem = name.split(".so").next()?;
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines()
        .filter_map(|line| line.find('/').map(|at| &line[at..]))
        .find(|path| path.rsplit('/').next().is_some_and(|file| file.starts_with(stem)))
        .map(str::to_owned)
}

/// What an outcome means.
///
/// `required`: the user asked for this vendor's device. `hardware`: the stage before showed such a device. Without
/// either, a missing or idle library is no failure.
pub(crate) fn judge(api: Api, outcome: &Outcome, required: bool, hardware: bool) -> StageResult {
    let Meaning { error, code, layer, next } = match meaning(api, outcome) {
        Ok(facts) => return StageResult::Passed { facts },
        Err(meaning) => meaning,
    };
    // A code other than "no device" comes from a driver that is there and broken, whatever the bus shows.
    let broken = matches!(outcome, Outcome::Refused { .. });
    let absent_by_choice = matches!(outcome, Outcome::NoLibrary { .. } | Outcome::Hidden { .. });
    if required || broken || (hardware && !absent_by_choice) {
        StageResult::Failed { error, code, layer, next }
    } else {
        StageResult::not_applicable(format!("{error}; no such device was required"))
    }
}

fn meaning(api: Api, outcome: &Outcome) -> Result<Facts, Meaning> {
    let err = |layer, code: &str, error: String, next: &str| {
        Err(Meaning { error, code: code.to_owned(), layer, next: next.to_owned() })
    };
    match outcome {
        Outcome::Found { library, version, devices } => Ok(Facts::from([
            (format!("{}_library", api.name()), json!(library)),
            (format!("{}_driver_version", api.name()), json!(version.map(|v| codes::version(api, v)))),
            (format!("{}_devices", api.name()), json!(devices)),
        ])),
        Outcome::NoLibrary { tried } => err(
            Layer::UserDriver,
            "no_library",
            format!("the loader finds no {}", tried.join(", ")),
            match api {
                Api::Cuda => {
                    "install the NVIDIA driver's user libraries, or let the container runtime mount the host's"
                }
                Api::Hip => "install the ROCm runtime, or add its lib folder to the loader's search path",
            },
        ),
        Outcome::Unloadable { library, error } => err(
            Layer::UserDriver,
            "unloadable",
            format!("{library} is there, but the loader refuses it: {error}"),
            "install what the loader names, or reinstall the driver's user libraries",
        ),
        Outcome::MissingSymbol { library, symbol } => err(
            Layer::UserDriver,
            "missing_symbol",
            format!(
                "{library} loads, but has no function `{symbol}`: it is not a driver library, or an incomplete one"
            ),
            "find out which package put it there and reinstall the driver's user libraries",
        ),
        Outcome::Stub { library } => err(
            Layer::UserDriver,
            "stub_library",
            format!("{library} is the stub that compilers link against, not the driver"),
            "take the toolkit's `stubs` folder out of LD_LIBRARY_PATH, so that the driver's own libcuda.so.1 is found",
        ),
        Outcome::NoDriver { library, code, .. } => err(
            Layer::KernelDriver,
            "no_driver",
            format!(
                "{library} works, but shows no device (code {code}) and the kernel driver's device nodes are missing"
            ),
            match api {
                Api::Cuda => {
                    "load the nvidia kernel driver, or give the container its devices (for example `--gpus all`)"
                }
                Api::Hip => "load the amdgpu kernel driver, or give the container /dev/kfd and /dev/dri",
            },
        ),
        Outcome::NoDevice { library, code, .. } => err(
            Layer::KernelDriver,
            "no_device",
            format!("{library} works, the kernel driver is there, and it shows no device (code {code})"),
            "look at the kernel's log for the device, at its power and at the access rights of its device nodes",
        ),
        Outcome::Hidden { library, variable, value } => err(
            Layer::UserDriver,
            "hidden",
            format!("{library} shows no device while {variable}=\"{value}\" is set, which can hide every device"),
            "unset the variable, or give it the number of a device that is there, and probe again",
        ),
        Outcome::Refused { library, function, code, version } => {
            Err(codes::meaning(api, library, function, *code, *version))
        }
    }
}
