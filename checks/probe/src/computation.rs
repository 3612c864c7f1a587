//! Stage `computation`: a small product on the CPU, checked against sums in float64.
//!
//! It shows that this processor multiplies and adds as it should in this process. It does not stand for the
//! application's preprocessing, for an extension or for a GPU, and says so wherever it is shown.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::report::{Facts, Layer, StageResult};

/// Rows and columns of the matrices.
const N: usize = 64;

/// What the child measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Product {
    /// Largest |f32 − f64| over all elements.
    max_abs_error: f64,
    /// Largest share of an element's own rounding bound that its error used, 0..=1 when all is well.
    share_of_bound: f64,
    /// Elements that are not finite.
    non_finite: u32,
}

/// Multiplies two fixed `[64, 64]` float32 matrices and compares each element with its float64 sum.
pub(crate) fn compute() -> Product {
    let (a, b) = (matrix(1), matrix(2));
    let mut product = Product { max_abs_error: 0.0, share_of_bound: 0.0, non_finite: 0 };
    for row in 0..N {
        for column in 0..N {
            let (mut single, mut double, mut magnitude) = (0f32, 0f64, 0f64);
            for k in 0..N {
                let (x, y) = (a[row * N + k], b[k * N + column]);
                single += x * y;
                let exact = f64::from(x) * f64::from(y);
                double += exact;
                magnitude += exact.abs();
            }
            let error = (f64::from(single) - double).abs();
            if !error.is_finite() {
                product.non_finite += 1;
                continue;
            }
            product.max_abs_error = product.max_abs_error.max(error);
            product.share_of_bound = product.share_of_bound.max(error / bound(magnitude));
        }
    }
    product
}

/// The largest error that a correct processor can make in a sum of `N` products, in any order, with or without fused
/// multiply-add: γₙ Σ|aᵢbᵢ| with γₙ = nu / (1 − nu), u = 2⁻²⁴ (Higham, Accuracy and Stability, 3.1).
fn bound(magnitude: f64) -> f64 {
    let nu = N as f64 * f64::from(f32::EPSILON) / 2.0;
    nu / (1.0 - nu) * magnitude
}

/// Values in −1..1 from a fixed linear congruence, hidden from the optimiser so that the product is done at run time.
fn matrix(seed: u32) -> Vec<f32> {
    let mut state = seed;
    let values = (0..N * N).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    });
    std::hint::black_box(values.collect())
}

/// Whether the product is right.
pub(crate) fn judge(product: &Product) -> StageResult {
    if product.non_finite > 0 || product.share_of_bound > 1.0 {
        return StageResult::failed(
            Layer::Computation,
            "wrong_product",
            format!(
                "the CPU's {N} × {N} float32 product is off by up to {:e} ({} times what rounding explains), {} elements not finite",
                product.max_abs_error, product.share_of_bound, product.non_finite
            ),
            "do not trust results of this processor; test its memory, and look at emulation or overclocking",
        );
    }
    StageResult::Passed {
        facts: Facts::from([
            ("device".into(), json!("cpu")),
            ("what".into(), json!(format!("{N} × {N} float32 matrix product, checked against float64 sums"))),
            ("max_abs_error".into(), json!(product.max_abs_error)),
            ("share_of_rounding_bound".into(), json!(product.share_of_bound)),
            ("does_not_show".into(), json!(DOES_NOT_SHOW)),
        ]),
    }
}

/// Said beside every passed product.
pub(crate) const DOES_NOT_SHOW: &str =
    "a product on the CPU does not stand for the application's preprocessing, for an extension or for a GPU";
