//! What a difference looks like: signatures of common causes, told as hints and never as findings.
//!
//! A hint says that the rows look as they would if something had happened; the same picture can come from something else.
//! Nothing here judges, and no verdict depends on it. Everything is one pass over matched rows, and a second one where
//! rows may carry one another's vectors. Thresholds are this module's own and are named beside what they tell.

use std::collections::BTreeMap;

use crate::table::{AlignedBatch, Vectors};

/// A hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// What it looks like, e.g. `not_normalised`; stable, for programs.
    pub cause: &'static str,
    /// A sentence for people, with the figures it rests on.
    pub text: String,
}

/// ‖c − r‖ / ‖r‖ above which a row counts as another one, not as a rounded one.
const TURNED: f64 = 1e-2;
/// Rows whose distances to one another are compared, of both sides.
const SAMPLE_ROWS: usize = 128;
/// Rows that are looked for among the others, at most.
const SOUGHT_ROWS: usize = 64;
/// Products that looking for them may take: about a second.
const SEEKING_PRODUCTS: f64 = 2e9;
/// Labels that are counted.
const LABELS: usize = 1_024;

/// A vector is that of a row if it is no further from it than this, as a part of its length.
const CARRIED: f64 = 2e-3;
/// Values from which a row's direction means something.
const DIRECTIONS: usize = 4;

/// A row that differs much.
#[derive(Debug, Clone)]
struct Turned {
    id: String,
    relative: f64,
    candidate: Vec<f64>,
    /// The row whose vector it carries, and how far from it, as a part of its length.
    carries: Option<(f64, String)>,
    /// How many rows of the reference have that vector.
    owners: u64,
}

/// Gathers what hints rest on.
#[derive(Debug, Clone)]
pub struct Causes {
    dims: usize,
    rows: u64,
    cosine: (f64, f64),
    length_reference: (f64, f64),
    length_candidate: (f64, f64),
    ratio: (f64, f64),
    /// Rows by the binary exponent of ‖c − r‖ / ‖r‖; equal rows apart.
    sizes: BTreeMap<i32, u64>,
    equal: u64,
    largest: f64,
    turned: u64,
    sought: Vec<Turned>,
    labels: BTreeMap<String, (u64, u64)>,
    grid: [Grid; 2],
    sample: (Vec<Vec<f64>>, Vec<Vec<f64>>),
    first: Vec<f64>,
    constant: bool,
}

/// ‖c − r‖
fn distance(r: &[f64], c: &[f64]) -> f64 {
    r.iter().zip(c).map(|(r, c)| (c - r) * (c - r)).sum::<f64>().sqrt()
}

/// How many values of a side a narrower type would hold exactly.
#[derive(Debug, Clone, Copy, Default)]
struct Grid {
    values: u64,
    float16: u64,
    bfloat16: u64,
    float32: u64,
}

impl Grid {
    fn add(&mut self, value: f64) {
        if value == 0.0 {
            return;
        }
        self.values += 1;
        let single = value as f32;
        if f64::from(single) != value {
            return;
        }
        self.float32 += 1;
        let bits = single.to_bits();
        self.bfloat16 += u64::from(bits & 0xffff == 0);
        // Normal numbers of float16 have 10 bits behind the leading one, from 2⁻¹⁴ on; below, fewer.
        let exponent = ((bits >> 23) & 0xff) as i32 - 127;
        let dropped = 13 + (-14 - exponent).max(0);
        let fits = (-24..=15).contains(&exponent) && dropped < 24 && (bits | 1 << 23) & ((1 << dropped) - 1) == 0;
        self.float16 += u64::from(fits);
    }

    fn all(self, of: u64) -> bool {
        self.values > 0 && of == self.values
    }
}

fn widen(range: &mut (f64, f64), value: f64) {
    *range = (range.0.min(value), range.1.max(value));
}

const NOTHING: (f64, f64) = (f64::INFINITY, f64::NEG_INFINITY);

impl Causes {
    /// For rows of so many values.
    pub fn new(dims: usize) -> Self {
        Causes {
            dims,
            rows: 0,
            cosine: NOTHING,
            length_reference: NOTHING,
            length_candidate: NOTHING,
            ratio: NOTHING,
            sizes: BTreeMap::new(),
            equal: 0,
            largest: 0.0,
            turned: 0,
            sought: Vec::new(),
            labels: BTreeMap::new(),
            grid: [Grid::default(); 2],
            sample: Default::default(),
            first: Vec::new(),
            constant: true,
        }
    }

    /// Takes in rows.
    pub fn see(&mut self, batch: &AlignedBatch) {
        let (mut r, mut c) = (Vec::with_capacity(self.dims), Vec::with_capacity(self.dims));
        for row in 0..batch.rows() {
            read(&batch.reference, row, self.dims, &mut r);
            read(&batch.candidate, row, self.dims, &mut c);
            self.rows += 1;
            let (nr, nc) = (length(&r), length(&c));
            let apart = distance(&r, &c);
            if nr > 0.0 && nc > 0.0 {
                widen(&mut self.cosine, cosine(&r, nr, &c, nc));
                widen(&mut self.ratio, nc / nr);
            }
            widen(&mut self.length_reference, nr);
            widen(&mut self.length_candidate, nc);
            let relative = if apart == 0.0 { 0.0 } else { apart / nr };
            if relative == 0.0 {
                self.equal += 1;
            } else if relative.is_finite() {
                *self.sizes.entry(relative.log2().floor() as i32).or_default() += 1;
                self.largest = self.largest.max(relative);
            }
            let turned = relative > TURNED;
            self.turned += u64::from(turned);
            if !batch.labels.is_empty() && self.labels.len() < LABELS {
                let counts = self.labels.entry(batch.labels.get(row).to_owned()).or_default();
                *counts = (counts.0 + 1, counts.1 + u64::from(turned));
            }
            for (grid, side) in self.grid.iter_mut().zip([&r, &c]) {
                side.iter().for_each(|value| grid.add(*value));
            }
            if self.first.is_empty() {
                self.first.clone_from(&c);
            }
            self.constant &= self.first == c;
            if self.sample.0.len() < SAMPLE_ROWS {
                self.sample.0.push(r.clone());
                self.sample.1.push(c.clone());
            }
            if turned && self.sought.len() < SOUGHT_ROWS {
                let id = batch.ids.get(row).to_owned();
                self.sought.push(Turned { id, relative, candidate: c.clone(), carries: None, owners: 0 });
            }
        }
    }

    /// True if a second pass, through [`Causes::seek`], can tell more.
    pub fn wants_a_second_look(&self) -> bool {
        !self.sought.is_empty() && !self.constant && self.has_directions()
    }

    /// Few values, such as a loss or two probabilities, lie near those of other rows and in their direction by chance.
    fn has_directions(&self) -> bool {
        self.dims >= DIRECTIONS
    }

    /// Looks among these rows of the reference for the vectors of the rows that differ much.
    pub fn seek(&mut self, batch: &AlignedBatch) {
        let affordable = SEEKING_PRODUCTS / (self.rows.max(1) as f64 * self.dims.max(1) as f64);
        let most = (affordable as usize).clamp(2, SOUGHT_ROWS);
        let mut r = Vec::with_capacity(self.dims);
        for row in 0..batch.rows() {
            read(&batch.reference, row, self.dims, &mut r);
            let nr = length(&r);
            if nr == 0.0 {
                continue;
            }
            for sought in self.sought.iter_mut().take(most) {
                let apart = distance(&r, &sought.candidate) / nr;
                if apart > CARRIED || batch.ids.get(row) == sought.id {
                    continue;
                }
                sought.owners += 1;
                if sought.carries.as_ref().is_none_or(|(known, _)| apart < *known) {
                    sought.carries = Some((apart, batch.ids.get(row).to_owned()));
                }
            }
        }
    }

    /// The hints, the most telling first.
    pub fn hints(&self) -> Vec<Hint> {
        let mut hints = Vec::new();
        let mut hint = |cause, text: String| hints.push(Hint { cause, text });
        if self.rows < 2 {
            return hints;
        }
        if self.constant {
            hint("one_vector", "every row of the candidate holds the same vector".to_owned());
            return hints;
        }
        // A vector that several rows share (one-hot rows, duplicates) tells nothing of whose it is.
        let own = self.sought.iter().filter(|row| row.owners == 1);
        let carried: Vec<(&Turned, &str)> =
            own.filter_map(|row| Some((row, row.carries.as_ref()?.1.as_str()))).collect();
        let swapped = carried.first().map(|(row, from)| (row.id.as_str(), *from));
        let scaled =
            self.has_directions() && self.cosine.0 > 1.0 - 1e-6 && (self.ratio.0 < 0.999 || self.ratio.1 > 1.001);
        let rotated = self.has_directions()
            && swapped.is_none()
            && self.cosine.0 < 0.9
            && self.turned * 2 > self.rows
            && self.distances_kept();
        if let Some((id, from)) = swapped {
            match carried.len() {
                1 if self.turned == 1 => hint(
                    "another_rows_vector",
                    format!("row `{id}` carries the vector that the reference has for `{from}`"),
                ),
                n => hint(
                    "rows_in_another_order",
                    format!(
                        "{n} of {} rows that differ much carry the vector of another row (`{id}` that of `{from}`): ids and \
                         vectors may come from lists in different orders",
                        self.sought.len()
                    ),
                ),
            }
        }
        if self.has_directions() && self.cosine.1 < -0.99 {
            hint("mirrored", "every row points the opposite way".to_owned());
        } else if rotated {
            hint(
                "rotated",
                "the rows turned, but kept their distances to one another: rotated, mirrored, or with dimensions in another \
                 order"
                    .to_owned(),
            );
        }
        if scaled {
            hint("lengths", self.lengths());
        }
        let [reference, candidate] = self.grid;
        for (cause, name, count, then) in [
            ("bfloat16_values", "bfloat16", candidate.bfloat16, reference.bfloat16),
            ("float16_values", "float16", candidate.float16, reference.float16),
            ("float32_values", "float32", candidate.float32, reference.float32),
        ] {
            // All of one side, and not even nine tenths of the other.
            if candidate.all(count) && then as f64 <= 0.9 * reference.values as f64 {
                hint(cause, format!("every value of the candidate is a {name} number; the reference's are not"));
                break;
            }
        }
        let one_sized = self.median().filter(|median| self.largest <= 64.0 * median && self.equal * 10 <= self.rows);
        if let Some(median) = one_sized.filter(|_| swapped.is_none() && !rotated && !scaled) {
            let size = match median {
                m if m < 1e-13 => Some("float64 rounding: another order of operations, thread count or processor"),
                m if (1e-9..1e-5).contains(&m) => {
                    Some("float32 rounding: another order of operations, batch size, thread count or processor")
                }
                m if (5e-5..2e-3).contains(&m) => Some("float16 or TF32 rounding"),
                m if (2e-3..3e-2).contains(&m) => Some("bfloat16 rounding"),
                _ => None,
            };
            if let Some(size) = size {
                hint(
                    "rounding",
                    format!("the rows differ by about {median:.0e} of their length, which is the size of {size}"),
                );
            }
        }
        self.one_class(&mut hint);
        let others = self.rows - self.turned;
        if self.turned > 0 && self.turned * 20 <= self.rows && swapped.is_none() {
            let worst = self.sought.iter().max_by(|a, b| a.relative.total_cmp(&b.relative));
            hint(
                "few_rows",
                format!(
                    "{} of {} rows differ by more than a hundredth of their length, `{}` among them; the other {others} do \
                     not: look at these inputs first",
                    self.turned,
                    self.rows,
                    worst.map_or("", |row| row.id.as_str())
                ),
            );
        }
        hints
    }

    fn one_class(&self, hint: &mut impl FnMut(&'static str, String)) {
        let touched: Vec<(&String, &(u64, u64))> = self.labels.iter().filter(|(_, (_, turned))| *turned > 0).collect();
        if let ([(label, (all, turned))], true) = (touched.as_slice(), self.labels.len() > 1 && self.turned >= 3) {
            hint(
                "one_class",
                format!(
                    "all {turned} rows that differ much carry the label `{label}`, which {all} of {} rows have",
                    self.rows
                ),
            );
        }
    }

    fn lengths(&self) -> String {
        let unit = |range: (f64, f64)| range.0 > 0.999 && range.1 < 1.001;
        let (r, c) = (self.length_reference, self.length_candidate);
        if unit(r) {
            format!(
                "every row keeps its direction; the reference's rows have length 1, the candidate's {:.3} to {:.3}: a last \
                 normalisation may be missing",
                c.0, c.1
            )
        } else if unit(c) {
            format!(
                "every row keeps its direction; the candidate's rows have length 1, the reference's {:.3} to {:.3}: the \
                 candidate may have been normalised",
                r.0, r.1
            )
        } else {
            format!(
                "every row keeps its direction; the candidate's are {:.3} to {:.3} times as long",
                self.ratio.0, self.ratio.1
            )
        }
    }

    /// Whether cosines between rows are the same on both sides, over the sample.
    fn distances_kept(&self) -> bool {
        let (reference, candidate) = &self.sample;
        let unit = |rows: &[Vec<f64>]| -> Vec<Vec<f64>> {
            rows.iter().map(|row| row.iter().map(|x| x / length(row).max(f64::MIN_POSITIVE)).collect()).collect()
        };
        let (r, c) = (unit(reference), unit(candidate));
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        r.len() > 2 && (0..r.len()).all(|i| (0..i).all(|j| (dot(&r[i], &r[j]) - dot(&c[i], &c[j])).abs() < 1e-3))
    }

    /// Size in the middle of all rows that differ, to a factor of two.
    fn median(&self) -> Option<f64> {
        let half = self.sizes.values().sum::<u64>().div_ceil(2);
        let mut seen = 0;
        let (exponent, _) = self.sizes.iter().find(|(_, count)| {
            seen += **count;
            seen >= half
        })?;
        Some(f64::from(*exponent).exp2() * std::f64::consts::SQRT_2)
    }
}

fn read(vectors: &Vectors, row: usize, dims: usize, into: &mut Vec<f64>) {
    into.clear();
    let range = row * dims..(row + 1) * dims;
    match vectors {
        Vectors::F32(values) => into.extend(values.get(range).into_iter().flatten().map(|x| f64::from(*x))),
        Vectors::F64(values) => into.extend(values.get(range).into_iter().flatten()),
    }
}

fn length(row: &[f64]) -> f64 {
    row.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// 1 − ½‖r/‖r‖ − c/‖c‖‖²
fn cosine(r: &[f64], nr: f64, c: &[f64], nc: f64) -> f64 {
    1.0 - 0.5 * r.iter().zip(c).map(|(r, c)| (r / nr - c / nc) * (r / nr - c / nc)).sum::<f64>()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::table::Texts;

    const DIMS: usize = 48;
    const ROWS: usize = 120;

    /// Values of a linear congruential generator, in −1..1, in float32.
    fn noise(seed: u64, n: usize) -> Vec<f32> {
        let mut state = seed;
        (0..n)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                ((state >> 40) as f32 / 8_388_608.0) - 1.0
            })
            .collect()
    }

    fn reference() -> Vec<f32> {
        let values = noise(7, ROWS * DIMS);
        let unit = |row: &[f32]| {
            let length = row.iter().map(|x| x * x).sum::<f32>().sqrt();
            row.iter().map(|x| x / length).collect::<Vec<f32>>()
        };
        values.chunks(DIMS).flat_map(unit).collect()
    }

    fn causes(candidate: &[f32], labels: impl Fn(usize) -> &'static str) -> Vec<&'static str> {
        let reference = reference();
        let mut batches = Vec::new();
        for from in (0..ROWS).step_by(50) {
            let until = (from + 50).min(ROWS);
            let (mut ids, mut names) = (Texts::default(), Texts::default());
            for row in from..until {
                ids.push(&format!("row-{row}"));
                names.push(labels(row));
            }
            let part = |values: &[f32]| Vectors::F32(values[from * DIMS..until * DIMS].to_vec());
            let (r, c) = (part(&reference), part(candidate));
            batches.push(AlignedBatch {
                ids,
                labels: names,
                candidate_labels: Texts::default(),
                dims: DIMS,
                reference: r,
                candidate: c,
            });
        }
        let mut causes = Causes::new(DIMS);
        batches.iter().for_each(|batch| causes.see(batch));
        if causes.wants_a_second_look() {
            batches.iter().for_each(|batch| causes.seek(batch));
        }
        causes.hints().iter().map(|hint| hint.cause).collect()
    }

    #[test]
    fn each_common_cause_has_its_signature_and_equal_rows_have_none() {
        let reference = reference();
        let each = |change: &dyn Fn(usize, f32) -> f32| -> Vec<f32> {
            reference.iter().enumerate().map(|(i, x)| change(i, *x)).collect()
        };
        let other = noise(9, ROWS * DIMS);
        let mut one = reference.clone();
        one[..DIMS].copy_from_slice(&reference[5 * DIMS..6 * DIMS]);
        let mut few = reference.clone();
        few[3 * DIMS..4 * DIMS].copy_from_slice(&other[..DIMS]);
        let table: [(&str, Vec<f32>, &[&str]); 12] = [
            ("the same", reference.clone(), &[]),
            ("longer", each(&|i, x| x * (2.0 + (i / DIMS) as f32 / 100.0)), &["lengths"]),
            ("mirrored", each(&|_, x| -x), &["mirrored"]),
            ("dimensions reordered", each(&|i, _| reference[i - i % DIMS + (i % DIMS + 5) % DIMS]), &["rotated"]),
            ("shifted by a row", each(&|i, _| reference[(i + DIMS) % (ROWS * DIMS)]), &["rows_in_another_order"]),
            ("one row of another", one, &["another_rows_vector"]),
            ("one row of nothing known", few, &["few_rows"]),
            ("bfloat16", each(&|_, x| f32::from_bits(x.to_bits() & 0xffff_0000)), &["bfloat16_values", "rounding"]),
            ("float16", each(&|_, x| f32::from_bits(x.to_bits() & 0xffff_e000)), &["rounding"]),
            ("noise of float32", each(&|i, x| x + other[i] * 1e-8), &["rounding"]),
            ("one vector", each(&|i, _| reference[i % DIMS]), &["one_vector"]),
            ("another model", other.clone(), &[]),
        ];
        for (what, candidate, expected) in table {
            assert_eq!(causes(&candidate, |_| "all"), expected, "{what}");
        }
    }

    #[test]
    fn rows_of_one_class_alone_are_told() {
        let (mut candidate, other) = (reference(), noise(9, ROWS * DIMS));
        for row in [2, 12, 22, 32] {
            candidate[row * DIMS..(row + 1) * DIMS].copy_from_slice(&other[row * DIMS..(row + 1) * DIMS]);
        }
        let label = |row: usize| if row % 10 == 2 { "left" } else { "right" };
        assert_eq!(causes(&candidate, label), ["one_class", "few_rows"]);
    }

    #[test]
    fn values_of_float16_are_told_from_others_also_below_its_normal_numbers() {
        let mut grid = Grid::default();
        for (value, fits) in [
            (1.0, true),
            (65_504.0, true),
            (65_536.0, false),
            (1.0 + 1.0 / 1_024.0, true),
            (1.0 + 1.0 / 2_048.0, false),
            (5.960_464_477_539_063e-8, true),
            (2.980_232_238_769_531_3e-8, false),
            (3.0 * 5.960_464_477_539_063e-8, true),
            (6.103_515_625e-5, true),
            (0.1, false),
        ] {
            let before = grid.float16;
            grid.add(value);
            assert_eq!(grid.float16 > before, fits, "{value}");
        }
    }
}
