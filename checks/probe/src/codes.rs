//! What the vendors' error codes mean, which layer each points at and what to do.
//!
//! Source: the enumerations `CUresult` (cuda.h) and `hipError_t` (hip_runtime_api.h).

use crate::driver::Api;
use crate::report::Layer;

/// Both vendors' code for "no device".
pub(crate) const NO_DEVICE: i32 = 100;
/// CUDA's code for its stub library.
pub(crate) const STUB_LIBRARY: i32 = 34;

/// A failure, explained.
pub(crate) struct Meaning {
    pub error: String,
    pub code: String,
    pub layer: Layer,
    pub next: String,
}

/// Name, layer, what it says, what to do.
type Row = (i32, &'static str, Layer, &'static str, &'static str);

const CUDA: &[Row] = &[
    (
        2,
        "CUDA_ERROR_OUT_OF_MEMORY",
        Layer::UserDriver,
        "no memory left for the driver's own needs",
        "end other programs on the device, or raise this process's memory limit",
    ),
    (
        3,
        "CUDA_ERROR_NOT_INITIALIZED",
        Layer::UserDriver,
        "the driver did not initialise",
        "compare the version of the kernel driver with that of libcuda",
    ),
    (
        36,
        "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER",
        Layer::KernelDriver,
        "the kernel driver is older than the library needs",
        "update the NVIDIA driver, or use a toolkit that it supports",
    ),
    (
        46,
        "CUDA_ERROR_DEVICE_UNAVAILABLE",
        Layer::KernelDriver,
        "the device is taken or in exclusive mode",
        "end the program that holds the device, or set its compute mode to default",
    ),
    (
        101,
        "CUDA_ERROR_INVALID_DEVICE",
        Layer::UserDriver,
        "the device asked for does not exist",
        "check CUDA_VISIBLE_DEVICES",
    ),
    (
        209,
        "CUDA_ERROR_NO_BINARY_FOR_GPU",
        Layer::Framework,
        "no kernel image for this device's architecture",
        "install a build for this architecture",
    ),
    (
        304,
        "CUDA_ERROR_OPERATING_SYSTEM",
        Layer::KernelDriver,
        "a call of the operating system failed",
        "check the access rights of /dev/nvidia* and the kernel's log",
    ),
    (
        802,
        "CUDA_ERROR_SYSTEM_NOT_READY",
        Layer::KernelDriver,
        "the system is not ready: the fabric manager or another service is not running",
        "start nvidia-fabricmanager of the driver's own version, then probe again",
    ),
    (
        803,
        "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
        Layer::KernelDriver,
        "the kernel driver and libcuda are of different versions",
        "reboot or reload the kernel module after a driver update; in a container, remove its own copy of libcuda",
    ),
    (
        804,
        "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
        Layer::UserDriver,
        "forward compatibility was tried on a device that does not support it",
        "take the `cuda-compat` libraries out of the loader's path, or update the host's driver",
    ),
    (
        805,
        "CUDA_ERROR_MPS_CONNECTION_FAILED",
        Layer::UserDriver,
        "the multi-process service does not answer",
        "start the MPS daemon, or unset CUDA_MPS_PIPE_DIRECTORY",
    ),
    (
        999,
        "CUDA_ERROR_UNKNOWN",
        Layer::KernelDriver,
        "an unknown error, often a kernel module that lost its device",
        "look at the kernel's log, reload nvidia_uvm or reboot",
    ),
];

const HIP: &[Row] = &[
    (
        2,
        "hipErrorOutOfMemory",
        Layer::UserDriver,
        "no memory left for the runtime's own needs",
        "end other programs on the device, or raise this process's memory limit",
    ),
    (
        3,
        "hipErrorNotInitialized",
        Layer::UserDriver,
        "the runtime did not initialise",
        "check that the user may open /dev/kfd and /dev/dri (groups `render` and `video`)",
    ),
    (
        35,
        "hipErrorInsufficientDriver",
        Layer::KernelDriver,
        "the kernel driver is older than the runtime needs",
        "update amdgpu, or install the ROCm release that belongs to it",
    ),
    (
        101,
        "hipErrorInvalidDevice",
        Layer::UserDriver,
        "the device asked for does not exist",
        "check HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES",
    ),
    (
        209,
        "hipErrorNoBinaryForGpu",
        Layer::Framework,
        "no code object for this device's architecture",
        "install a build for this architecture",
    ),
    (999, "hipErrorUnknown", Layer::KernelDriver, "an unknown error", "look at the kernel's log"),
];

/// Explains a code that a library's function returned.
pub(crate) fn meaning(api: Api, library: &str, function: &str, code: i32, version: Option<i32>) -> Meaning {
    let table = match api {
        Api::Cuda => CUDA,
        Api::Hip => HIP,
    };
    let of_version = version.map(|v| format!(" of version {}", self::version(api, v))).unwrap_or_default();
    let (name, layer, says, next) = table.iter().find(|row| row.0 == code).map_or(
        (
            "a code without a name here",
            Layer::UserDriver,
            "see the vendor's list of codes",
            "look the code up in the vendor's list",
        ),
        |row| (row.1, row.2, row.3, row.4),
    );
    Meaning {
        error: format!("{library}{of_version}: {function} returned {code} ({name}): {says}"),
        code: format!("{}_{code}", api.name()),
        layer,
        next: next.to_owned(),
    }
}

/// A version number as people write it. CUDA counts 1000 × major + 10 × minor; HIP 10,000,000 × major + 100,000 ×
/// minor + patch.
pub(crate) fn version(api: Api, number: i32) -> String {
    match api {
        Api::Cuda => format!("{}.{}", number / 1000, number % 1000 / 10),
        Api::Hip => format!("{}.{}.{}", number / 10_000_000, number / 100_000 % 100, number % 100_000),
    }
}
