//! Layer `determinism`: environment variables that steer results, by an allow-list; no other variable is read.

use std::collections::BTreeMap;
use std::ffi::OsString;

use serde::{Deserialize, Serialize};

use super::Layer;

/// Variables whose absence says something too.
const NAMES: &[&str] = &[
    // Python and its threads of arithmetic.
    "PYTHONHASHSEED",
    "PYTHONPATH",
    "OMP_NUM_THREADS",
    "OMP_DYNAMIC",
    "OMP_SCHEDULE",
    "OMP_PROC_BIND",
    "OMP_PLACES",
    "KMP_AFFINITY",
    "KMP_DETERMINISTIC_REDUCTION",
    "GOMP_CPU_AFFINITY",
    "MKL_NUM_THREADS",
    "MKL_DYNAMIC",
    "MKL_CBWR",
    "MKL_ENABLE_INSTRUCTIONS",
    "MKL_DEBUG_CPU_TYPE",
    "OPENBLAS_NUM_THREADS",
    "OPENBLAS_CORETYPE",
    "BLIS_NUM_THREADS",
    "BLIS_ARCH_TYPE",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NPY_DISABLE_CPU_FEATURES",
    "TOKENIZERS_PARALLELISM",
    // Instruction sets and kernels.
    "ATEN_CPU_CAPABILITY",
    "ONEDNN_MAX_CPU_ISA",
    "DNNL_MAX_CPU_ISA",
    "ONEDNN_DEFAULT_FPMATH_MODE",
    "DNNL_DEFAULT_FPMATH_MODE",
    "GLIBC_TUNABLES",
    // Devices.
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING",
    "CUBLAS_WORKSPACE_CONFIG",
    "CUBLASLT_WORKSPACE_SIZE",
    "CUDNN_CONV_WSCAP_DBG",
    "NVIDIA_TF32_OVERRIDE",
    "NVIDIA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "HSA_OVERRIDE_GFX_VERSION",
    "HIPBLASLT_ALLOW_TF32",
    "ROCBLAS_INTERNAL_FP16_ALT_IMPL",
    "MIOPEN_DEBUG_CONVOLUTION_DETERMINISTIC",
    "MIOPEN_FIND_MODE",
    "NCCL_ALGO",
    "NCCL_PROTO",
    // Frameworks without a prefix of their own.
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_HIP_ALLOC_CONF",
    "PYTORCH_ENABLE_MPS_FALLBACK",
    "TF_DETERMINISTIC_OPS",
    "TF_CUDNN_DETERMINISTIC",
    "TF_ENABLE_ONEDNN_OPTS",
    "XLA_FLAGS",
    "JAX_DEFAULT_MATMUL_PRECISION",
    "JAX_ENABLE_X64",
    "JAX_PLATFORMS",
    // Which libraries are loaded.
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "DYLD_LIBRARY_PATH",
];

/// Families of variables: recorded when set.
const PREFIXES: &[&str] = &["TORCH_", "TORCHINDUCTOR_"];

/// Environment variables that steer results, threads and devices.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Determinism {
    /// The variables that are set, with their values.
    pub set: BTreeMap<String, String>,
    /// Those of the allow-list that are not set, so that "unset" can be told from "not looked at".
    pub unset: Vec<String>,
}

pub(super) fn read(variables: impl Iterator<Item = (OsString, OsString)>) -> Layer<Determinism> {
    let set: BTreeMap<String, String> = variables
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.to_string_lossy().into_owned())))
        .filter(|(name, _)| is_allowed(name))
        .collect();
    let unset = NAMES.iter().filter(|n| !set.contains_key(**n)).map(|n| (*n).to_owned()).collect();
    Layer::read(["environment of this process, by an allow-list"], Determinism { set, unset })
}

fn is_allowed(name: &str) -> bool {
    // A family's name is no promise about its members: one that sounds like a secret is left out.
    let secret = ["TOKEN", "KEY", "SECRET", "PASSWORD", "AUTH"].iter().any(|w| name.contains(w));
    NAMES.contains(&name) || (PREFIXES.iter().any(|p| name.starts_with(p)) && !secret)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_allowed_variables_are_read() {
        let given = [
            ("PYTHONHASHSEED", "0"),
            ("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "1"),
            ("TORCH_HUB_TOKEN", "abc"),
            ("AWS_SECRET_ACCESS_KEY", "abc"),
            ("HOSTNAME", "bench"),
            ("USER", "ada"),
        ];
        let layer = read(given.iter().map(|(n, v)| (OsString::from(n), OsString::from(v))));
        let read = layer.value().unwrap();
        let names: Vec<&str> = read.set.keys().map(String::as_str).collect();
        assert_eq!(names, ["PYTHONHASHSEED", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE"]);
        assert!(read.unset.contains(&"XLA_FLAGS".to_owned()) && !read.unset.contains(&"PYTHONHASHSEED".to_owned()));
    }
}
