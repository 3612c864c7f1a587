//! Per-row measures that the host computes once, in float64, so that a criterion need not see the vectors.
//!
//! Every sum runs in eight fixed lanes that are added in a fixed order: the bits do not depend on threads, batch
//! sizes or the width of the machine's registers.

use crate::structure::{Obstacle, ObstacleKind};
use crate::table::{AlignedBatch, Vectors};

/// A measure of one row. r: the reference's vector, c: the candidate's.
#[derive(Debug, Clone, PartialEq)]
pub enum Measure {
    /// Σ rᵢcᵢ
    Dot,
    /// ‖r‖
    NormReference,
    /// ‖c‖
    NormCandidate,
    /// 1 − ½‖r/‖r‖ − c/‖c‖‖², −1..=1, exactly 1 for equal rows.
    Cosine,
    /// ‖r − c‖
    L2,
    /// max |cᵢ − rᵢ|
    AbsMax,
    /// max |cᵢ − rᵢ| / |rᵢ| over the elements where float64 holds it; 0 if there is none.
    RelMax,
    /// Number of elements without a relative difference: rᵢ = 0 ≠ cᵢ, or a quotient beyond float64.
    RelUndefined,
    /// Number of elements with |cᵢ − rᵢ| > atol + rtol·|rᵢ|, the negation of numpy's and torch's closeness.
    ElementsOver {
        /// Absolute tolerance, in the unit of the values.
        atol: f64,
        /// Relative tolerance, unitless.
        rtol: f64,
    },
    /// max distance of cᵢ and rᵢ in units in the last place of the type that [`Measure::ValueBits`] tells: how many
    /// numbers of that type lie between them, plus one; −0 and 0 are one number. Beyond 2⁵³ rounded to the nearest
    /// float64; the largest possible one is below 2⁶⁴.
    UlpMax,
    /// 32 where both sides are held as float32 (columns of float16, bfloat16, float32 and integers of 16 bits), else 64.
    ValueBits,
    /// Of the row's k nearest rows in the reference (by cosine, itself left out; all others, if there are no more than k)
    /// the share that is among its k nearest in the candidate; equally near rows are ordered by id, bytewise. NaN for a
    /// row that is no query.
    NeighboursKept(Neighbours),
    /// 1 where on either side the k-th nearest row and the next one are equally near, else 0; NaN for a row that is no
    /// query.
    NeighboursTied(Neighbours),
    /// 1 where the nearest class centroid has the same label on both sides, else 0.
    CentroidKept,
}

/// Which neighbours are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neighbours {
    /// How many nearest rows count, 1 to [`Neighbours::MOST`].
    pub k: usize,
    /// How many rows are asked for theirs, at least 1: those whose ids have the smallest SHA-256.
    pub queries: usize,
}

impl Neighbours {
    /// The largest `k`.
    pub const MOST: usize = 1000;
}

impl Measure {
    /// The name used in criteria and records.
    pub fn name(&self) -> &'static str {
        match self {
            Measure::Dot => "dot",
            Measure::NormReference => "norm_reference",
            Measure::NormCandidate => "norm_candidate",
            Measure::Cosine => "cosine",
            Measure::L2 => "l2",
            Measure::AbsMax => "abs_max",
            Measure::RelMax => "rel_max",
            Measure::RelUndefined => "rel_undefined",
            Measure::ElementsOver { .. } => "elements_over",
            Measure::UlpMax => "ulp_max",
            Measure::ValueBits => "value_bits",
            Measure::NeighboursKept(_) => "neighbours_kept",
            Measure::NeighboursTied(_) => "neighbours_tied",
            Measure::CentroidKept => "centroid_kept",
        }
    }

    /// Whether a vector without direction leaves the measure undefined.
    pub fn needs_direction(&self) -> bool {
        matches!(self, Measure::Cosine) || self.needs_all_rows()
    }

    /// Whether the measure of one row depends on the others, so that [`measure_rows`] cannot have it.
    pub fn needs_all_rows(&self) -> bool {
        matches!(self, Measure::NeighboursKept(_) | Measure::NeighboursTied(_) | Measure::CentroidKept)
    }
}

/// Computes `measures` for every row of `batch`: one list of `batch.rows()` values per measure, in their order.
///
/// A measure that needs all rows is NaN here: whoever holds them puts it in its place.
///
/// # Errors
/// [`MeasureTrouble`] naming the rows for which a measure has no finite value: a zero vector under cosine, or finite
/// values whose squares overflow float64. The lists are complete all the same.
pub fn measure_rows(batch: &AlignedBatch, measures: &[Measure]) -> (Vec<Vec<f64>>, MeasureTrouble) {
    let mut trouble = MeasureTrouble::default();
    let lists = match (&batch.reference, &batch.candidate) {
        (Vectors::F32(r), Vectors::F32(c)) => lists(batch, measures, r, c, &mut trouble),
        (Vectors::F64(r), Vectors::F64(c)) => lists(batch, measures, r, c, &mut trouble),
        // The table's invariant rules this out; widen rather than trust it.
        (r, c) => lists(batch, measures, &widened(r), &widened(c), &mut trouble),
    };
    (lists, trouble)
}

/// Rows for which a measure has no value.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct MeasureTrouble {
    /// Ids of rows with a zero vector on either side, where a direction was asked for.
    pub zero_norm: Vec<String>,
    /// Ids of rows whose measure overflows.
    pub overflow: Vec<String>,
}

impl MeasureTrouble {
    /// Joins what another batch found.
    pub fn extend(&mut self, other: MeasureTrouble) {
        self.zero_norm.extend(other.zero_norm);
        self.overflow.extend(other.overflow);
    }

    /// The findings as obstacles to a comparison; empty if every measure has a value.
    pub fn obstacles(mut self) -> Vec<Obstacle> {
        let mut found = Vec::new();
        for (kind, ids, what) in [
            (ObstacleKind::ZeroNorm, &mut self.zero_norm, "have a zero vector, which has no cosine with anything"),
            (ObstacleKind::MeasureOverflow, &mut self.overflow, "have finite values whose measure overflows float64"),
        ] {
            if ids.is_empty() {
                continue;
            }
            ids.sort_unstable();
            // A row may be named by the measures of one row and by those of all.
            ids.dedup();
            let rows = ids.len() as u64;
            let first = ids[0].clone();
            ids.truncate(Obstacle::IDS);
            let message = if rows == 1 {
                format!("row `{first}` {}", what.replacen("have", "has", 1))
            } else {
                format!("{rows} rows {what}, `{first}` first")
            };
            found.push(Obstacle { kind, side: None, rows, ids: ids.clone(), message });
        }
        found
    }
}

fn widened(values: &Vectors) -> Vec<f64> {
    match values {
        Vectors::F32(v) => v.iter().map(|&x| f64::from(x)).collect(),
        Vectors::F64(v) => v.clone(),
    }
}

/// A type in which values are held.
trait Held: Copy + Into<f64> {
    const BITS: f64;
    /// The value's place among all values of the type, ascending, with 0 and −0 at 0. Source: B. Dawson, "Comparing
    /// floating point numbers" (2012): the bits of a float are sign and magnitude.
    fn place(self) -> i64;
}

impl Held for f32 {
    const BITS: f64 = 32.0;
    fn place(self) -> i64 {
        let bits = self.to_bits() as i32;
        i64::from(if bits < 0 { i32::MIN.wrapping_sub(bits) } else { bits })
    }
}

impl Held for f64 {
    const BITS: f64 = 64.0;
    fn place(self) -> i64 {
        let bits = self.to_bits() as i64;
        if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
    }
}

fn lists<T: Held>(
    batch: &AlignedBatch,
    measures: &[Measure],
    reference: &[T],
    candidate: &[T],
    trouble: &mut MeasureTrouble,
) -> Vec<Vec<f64>> {
    let rows = batch.rows();
    let mut lists: Vec<Vec<f64>> = measures.iter().map(|_| Vec::with_capacity(rows)).collect();
    let needs_norms =
        measures.iter().any(|m| matches!(m, Measure::Cosine | Measure::NormReference | Measure::NormCandidate));
    let dims = batch.dims.max(1);
    for (row, (r, c)) in reference.chunks_exact(dims).zip(candidate.chunks_exact(dims)).enumerate() {
        let (norm_r, norm_c) = if needs_norms { (norm(r), norm(c)) } else { (Norm::NONE, Norm::NONE) };
        let (mut zero, mut overflow) = (false, false);
        for (measure, list) in measures.iter().zip(&mut lists) {
            let value = match *measure {
                Measure::Dot => lanes(r, c, |r, c| r * c),
                Measure::NormReference => norm_r.value(),
                Measure::NormCandidate => norm_c.value(),
                Measure::Cosine if norm_r.scaled == 0.0 || norm_c.scaled == 0.0 => {
                    zero = true;
                    f64::NAN
                }
                Measure::Cosine => cosine(r, c, norm_r, norm_c),
                Measure::L2 => lanes(r, c, |r, c| (r - c) * (r - c)).sqrt(),
                Measure::AbsMax => abs_max(r, c),
                Measure::RelMax => rel_max(r, c),
                Measure::RelUndefined => count(r, c, |r, c| r != c && relative(r, c).is_none()),
                Measure::ElementsOver { atol, rtol } => count(r, c, |r, c| (c - r).abs() > atol + rtol * r.abs()),
                Measure::UlpMax => ulp_max(r, c),
                Measure::ValueBits => T::BITS,
                Measure::NeighboursKept(_) | Measure::NeighboursTied(_) | Measure::CentroidKept => f64::NAN,
            };
            overflow |= !value.is_finite() && !zero && !measure.needs_all_rows();
            list.push(value);
        }
        if zero {
            trouble.zero_norm.push(batch.ids.get(row).to_owned());
        }
        if overflow {
            trouble.overflow.push(batch.ids.get(row).to_owned());
        }
    }
    lists
}

const LANES: usize = 8;

/// Σ f(rᵢ, cᵢ) in eight lanes, then ((0+4)+(2+6))+((1+5)+(3+7)), then the rest in order.
#[inline]
fn lanes<T: Copy + Into<f64>>(r: &[T], c: &[T], f: impl Fn(f64, f64) -> f64) -> f64 {
    let mut sums = [0.0f64; LANES];
    // Arrays of a known length rather than `chunks_exact`, whose steps are calls where units are not optimised together.
    let ((r_chunks, r_rest), (c_chunks, c_rest)) = (r.as_chunks::<LANES>(), c.as_chunks::<LANES>());
    for (r, c) in r_chunks.iter().zip(c_chunks) {
        for lane in 0..LANES {
            sums[lane] += f(r[lane].into(), c[lane].into());
        }
    }
    let mut sum = ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
    for (&r, &c) in r_rest.iter().zip(c_rest) {
        sum += f(r.into(), c.into());
    }
    sum
}

/// A norm, as that of the vector times `scale`.
#[derive(Debug, Clone, Copy)]
struct Norm {
    scaled: f64,
    /// A power of two, 1 for all but vectors whose squares leave the range of float64.
    scale: f64,
}

impl Norm {
    const NONE: Norm = Norm { scaled: f64::NAN, scale: 1.0 };

    /// ‖x‖; infinite if float64 cannot hold it.
    fn value(self) -> f64 {
        self.scaled / self.scale
    }
}

/// Squares of values beyond these lose digits to underflow, or overflow.
const SQUARES_SAFE: std::ops::Range<f64> = 1e-140..1e150;

fn norm<T: Copy + Into<f64>>(x: &[T]) -> Norm {
    let plain = lanes(x, x, |a, _| a * a).sqrt();
    if SQUARES_SAFE.contains(&plain) {
        return Norm { scaled: plain, scale: 1.0 };
    }
    let most = x.iter().fold(0.0, |max, &v| f64::max(max, v.into().abs()));
    if most == 0.0 {
        return Norm { scaled: 0.0, scale: 1.0 };
    }
    // Exact: a power of two that brings the largest value near 1. Its own exponent stays within float64's.
    let scale = 2f64.powi((-most.log2().floor() as i32).clamp(-1000, 1000));
    let scaled = lanes(x, x, |a, _| (a * scale) * (a * scale)).sqrt();
    Norm { scaled, scale }
}

/// Writes x/‖x‖ into `into`, in float64; false, and zeros, for a zero vector. Equal directions that differ by a power of
/// two give equal bits.
///
/// Shapes: `x`, `into`: `[dims]`.
pub fn unit<T: Copy + Into<f64>>(x: &[T], into: &mut [f64]) -> bool {
    let norm = norm(x);
    if norm.scaled == 0.0 {
        into.fill(0.0);
        return false;
    }
    x.iter().zip(into).for_each(|(&x, unit)| *unit = x.into() * norm.scale / norm.scaled);
    true
}

/// Σ aᵢbᵢ in float64, in lanes as all measures.
///
/// Shapes: `a`, `b`: `[dims]`.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    lanes(a, b, |a, b| a * b)
}

/// Cosine similarity as 1 − ½‖r̂ − ĉ‖².
///
/// Shapes: `r`, `c`: `[dims]`, both with a norm above 0. Returns: unitless, −1..=1.
/// Source: ‖a − b‖² = 2 − 2 cos θ for unit vectors.
fn cosine<T: Copy + Into<f64>>(r: &[T], c: &[T], norm_r: Norm, norm_c: Norm) -> f64 {
    let squares = lanes(r, c, |r, c| {
        let d = r * norm_r.scale / norm_r.scaled - c * norm_c.scale / norm_c.scaled;
        d * d
    });
    // Rounding takes opposite vectors a little beyond −1.
    (1.0 - 0.5 * squares).max(-1.0)
}

/// |c − r| / |r|, where it exists and float64 holds it.
fn relative(r: f64, c: f64) -> Option<f64> {
    let quotient = (c - r).abs() / r.abs();
    quotient.is_finite().then_some(quotient)
}

fn abs_max<T: Copy + Into<f64>>(r: &[T], c: &[T]) -> f64 {
    r.iter().zip(c).fold(0.0, |max, (&r, &c)| f64::max(max, (c.into() - r.into()).abs()))
}

fn rel_max<T: Copy + Into<f64>>(r: &[T], c: &[T]) -> f64 {
    let largest = r.iter().zip(c).filter_map(|(&r, &c)| relative(r.into(), c.into()));
    largest.fold(0.0, f64::max)
}

fn ulp_max<T: Held>(r: &[T], c: &[T]) -> f64 {
    // The difference of two i64 does not always fit i64, but u64.
    r.iter().zip(c).fold(0, |max, (r, c)| max.max(r.place().abs_diff(c.place()))) as f64
}

fn count<T: Copy + Into<f64>>(r: &[T], c: &[T], over: impl Fn(f64, f64) -> bool) -> f64 {
    r.iter().zip(c).filter(|&(&r, &c)| over(r.into(), c.into())).count() as f64
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::table::Texts;

    fn one_row(r: &[f64], c: &[f64]) -> AlignedBatch {
        let mut ids = Texts::default();
        ids.push("a");
        AlignedBatch {
            ids,
            labels: Texts::default(),
            candidate_labels: Texts::default(),
            dims: r.len(),
            reference: Vectors::F64(r.to_vec()),
            candidate: Vectors::F64(c.to_vec()),
        }
    }

    #[test]
    fn equal_rows_have_a_cosine_of_exactly_one() {
        let row: Vec<f64> = (0..383).map(|i| (f64::from(i) * 0.37).sin() * 1e-3).collect();
        let (lists, trouble) = measure_rows(&one_row(&row, &row), &[Measure::Cosine, Measure::AbsMax]);
        assert_eq!(lists, vec![vec![1.0], vec![0.0]]);
        assert_eq!(trouble, MeasureTrouble::default());
    }

    #[test]
    fn every_measure_follows_its_formula() {
        // r = (3, 0, 4), c = (3, 1, 2), worked by hand.
        let measures = [
            Measure::Dot,
            Measure::NormReference,
            Measure::L2,
            Measure::AbsMax,
            Measure::RelMax,
            Measure::RelUndefined,
            Measure::ElementsOver { atol: 0.5, rtol: 0.25 },
            Measure::ElementsOver { atol: 1.0, rtol: 0.25 },
        ];
        let (lists, _) = measure_rows(&one_row(&[3.0, 0.0, 4.0], &[3.0, 1.0, 2.0]), &measures);
        let values: Vec<f64> = lists.iter().map(|l| l[0]).collect();
        assert_eq!(values, vec![17.0, 5.0, 5f64.sqrt(), 2.0, 0.5, 1.0, 2.0, 0.0]);
    }

    #[test]
    fn a_distance_in_the_last_place_counts_numbers_of_the_values_own_type() {
        let ulp = |batch: &AlignedBatch| {
            let (lists, trouble) = measure_rows(batch, &[Measure::UlpMax, Measure::ValueBits]);
            assert_eq!(trouble, MeasureTrouble::default());
            (lists[0][0], lists[1][0])
        };
        for (r, c, distance) in [
            (1.0, 1.0, 0.0),
            (0.0, -0.0, 0.0),
            (1.0, 1.0 + f64::EPSILON, 1.0),
            (1.0, 1.0 - f64::EPSILON / 2.0, 1.0),
            (5e-324, -5e-324, 2.0),
            (0.0, -5e-324, 1.0),
            (1.0, 2.0, 2f64.powi(52)),
            // 2 × 0x7fef_ffff_ffff_ffff, rounded to float64: more than i64 holds.
            (f64::MAX, f64::MIN, 18437736874454810622.0),
        ] {
            assert_eq!(ulp(&one_row(&[r], &[c])), (distance, 64.0), "{r} {c}");
            assert_eq!(ulp(&one_row(&[c], &[r])), (distance, 64.0), "{c} {r}");
        }
        let narrow = |r: f32, c: f32| AlignedBatch {
            reference: Vectors::F32(vec![r]),
            candidate: Vectors::F32(vec![c]),
            ..one_row(&[0.0], &[0.0])
        };
        for (r, c, distance) in
            [(1.0, 1.0 + f32::EPSILON, 1.0), (-0.0, 1e-45, 1.0), (f32::MIN, f32::MAX, 2.0 * f64::from(0x7f7f_ffff_u32))]
        {
            assert_eq!(ulp(&narrow(r, c)), (distance, 32.0), "{r} {c}");
        }
    }

    #[test]
    fn a_zero_vector_is_named_and_never_gets_a_cosine() {
        let (lists, trouble) = measure_rows(&one_row(&[0.0, 0.0], &[1.0, 0.0]), &[Measure::Cosine]);
        assert!(lists[0][0].is_nan());
        let obstacles = trouble.obstacles();
        assert_eq!(obstacles[0].kind, ObstacleKind::ZeroNorm);
        assert_eq!(obstacles[0].ids, ["a"]);
    }

    #[test]
    fn the_cosine_of_the_smallest_and_the_largest_values_is_that_of_their_directions() {
        for size in [5e-324, 1.6e-162, 1e-200, 1.0, 1e200, 1.7e308] {
            for (r, c, cosine) in [
                ([size, 0.0], [-size, 0.0], -1.0),
                ([size, 0.0], [0.0, size], 0.0),
                ([size, size], [size, size], 1.0),
                ([size, 0.0], [1.0, 0.0], 1.0),
            ] {
                let (lists, trouble) = measure_rows(&one_row(&r, &c), &[Measure::Cosine]);
                assert!((lists[0][0] - cosine).abs() < 1e-15, "{r:?} {c:?}: {}", lists[0][0]);
                assert_eq!(trouble, MeasureTrouble::default());
            }
        }
    }

    #[test]
    fn a_relative_difference_beyond_float64_is_counted_and_no_obstacle() {
        let measures = [Measure::RelMax, Measure::RelUndefined, Measure::ElementsOver { atol: 1e-3, rtol: 0.0 }];
        let (lists, trouble) = measure_rows(&one_row(&[1e-320, 1.0, 0.0], &[1e-10, 1.5, 0.0]), &measures);
        assert_eq!(lists, vec![vec![0.5], vec![1.0], vec![1.0]]);
        assert_eq!(trouble, MeasureTrouble::default());
    }

    #[test]
    fn an_overflow_is_an_obstacle_and_not_a_large_difference() {
        let (_, trouble) = measure_rows(&one_row(&[1.7e308, 1.7e308], &[1e300, 1.0]), &[Measure::NormReference]);
        assert_eq!(trouble.obstacles()[0].kind, ObstacleKind::MeasureOverflow);
    }
}
