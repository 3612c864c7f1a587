//! Matrices for figures over a [sample](crate::sample::Sample), in float64.
//!
//! Every sum runs in an order that the shapes alone fix: rows in the order of their ids give the same bits anywhere.

/// A matrix, row-major.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    columns: usize,
    rows: usize,
    values: Vec<f64>,
}

impl Matrix {
    /// Zeros, `[rows, columns]`.
    pub fn zeros(rows: usize, columns: usize) -> Matrix {
        Matrix { columns, rows, values: vec![0.0; rows * columns] }
    }

    /// The unit matrix, `[n, n]`.
    pub fn unit(n: usize) -> Matrix {
        let mut unit = Matrix::zeros(n, n);
        (0..n).for_each(|i| unit.values[i * n + i] = 1.0);
        unit
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Row `i`, `[columns]`.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.columns..(i + 1) * self.columns]
    }

    /// Row `i`, `[columns]`.
    pub fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.values[i * self.columns..(i + 1) * self.columns]
    }

    /// The value at row `i`, column `j`.
    pub fn get(&self, i: usize, j: usize) -> f64 {
        self.row(i)[j]
    }

    /// `[columns, rows]`.
    pub fn transposed(&self) -> Matrix {
        let mut turned = Matrix::zeros(self.columns, self.rows);
        for i in 0..self.rows {
            for (j, value) in self.row(i).iter().enumerate() {
                turned.values[j * self.rows + i] = *value;
            }
        }
        turned
    }

    /// The mean of each column, `[columns]`; zeros without rows.
    pub fn means(&self) -> Vec<f64> {
        let mut means = vec![0.0; self.columns];
        for i in 0..self.rows {
            add_scaled(&mut means, 1.0, self.row(i));
        }
        let n = self.rows.max(1) as f64;
        means.iter_mut().for_each(|mean| *mean /= n);
        means
    }

    /// Each column less its mean.
    pub fn centred(&self) -> Matrix {
        let means = self.means();
        let mut centred = self.clone();
        for i in 0..self.rows {
            add_scaled(centred.row_mut(i), -1.0, &means);
        }
        centred
    }

    /// √Σ aᵢⱼ², Frobenius' norm.
    pub fn norm(&self) -> f64 {
        dot(&self.values, &self.values).sqrt()
    }

    /// Σ aᵢⱼbᵢⱼ. Shapes: equal.
    pub fn inner(&self, other: &Matrix) -> f64 {
        dot(&self.values, &other.values)
    }

    /// A·Bᵀ, `[rows, other.rows]`: the inner product of each row with each of the other. Equal columns.
    pub fn rows_by_rows(&self, other: &Matrix) -> Matrix {
        let mut product = Matrix::zeros(self.rows, other.rows);
        for i in 0..self.rows {
            for j in 0..other.rows {
                product.values[i * other.rows + j] = dot(self.row(i), other.row(j));
            }
        }
        product
    }

    /// A·B, `[rows, other.columns]`. `self.columns` equals `other.rows`.
    pub fn times(&self, other: &Matrix) -> Matrix {
        let mut product = Matrix::zeros(self.rows, other.columns);
        for i in 0..self.rows {
            let (from, into) = (self.row(i), product.row_mut(i));
            from.iter().enumerate().for_each(|(k, factor)| add_scaled(into, *factor, other.row(k)));
        }
        product
    }

    /// Aᵀ·B, `[columns, other.columns]`. Equal rows.
    pub fn columns_by_columns(&self, other: &Matrix) -> Matrix {
        let mut product = Matrix::zeros(self.columns, other.columns);
        for i in 0..self.rows {
            for (j, factor) in self.row(i).iter().enumerate() {
                add_scaled(product.row_mut(j), *factor, other.row(i));
            }
        }
        product
    }

    /// L of A = L·Q, where Q has orthonormal rows: lower triangular, `[rows, rows]`. Any rotation of the rows of A leaves
    /// it as it is.
    ///
    /// Source: Gram and Schmidt's process, each row projected twice (L. Giraud et al., 2005: twice is enough).
    pub fn lower(&self) -> Matrix {
        let n = self.rows;
        let mut lower = Matrix::zeros(n, n);
        let mut directions = self.clone();
        for i in 0..n {
            let (before, rest) = directions.values.split_at_mut(i * self.columns);
            let row = &mut rest[..self.columns];
            let whole = dot(row, row).sqrt();
            for _ in 0..2 {
                for j in 0..i {
                    let direction = &before[j * self.columns..(j + 1) * self.columns];
                    let part = dot(row, direction);
                    add_scaled(row, -part, direction);
                    lower.values[i * n + j] += part;
                }
            }
            let left = dot(row, row).sqrt();
            // What remains of a row that the ones before span is rounding, and no direction.
            if left > whole * f64::EPSILON * self.columns.max(1) as f64 {
                lower.values[i * n + i] = left;
                row.iter_mut().for_each(|value| *value /= left);
            } else {
                row.fill(0.0);
            }
        }
        lower
    }

    /// A⁻¹, or `None` where a pivot is 0. Square.
    ///
    /// Source: Gauss and Jordan's elimination in place, with row exchanges. n³ multiplications.
    pub fn inverse(&self) -> Option<Matrix> {
        let n = self.rows;
        let mut inverse = self.clone();
        let mut exchanged = Vec::with_capacity(n);
        for k in 0..n {
            let size = |row: &usize| inverse.get(*row, k).abs();
            let pivot = (k..n).max_by(|a, b| size(a).total_cmp(&size(b)))?;
            let value = inverse.get(pivot, k);
            if value == 0.0 || !value.is_finite() {
                return None;
            }
            exchanged.push(pivot);
            (0..n).filter(|_| pivot != k).for_each(|j| inverse.values.swap(k * n + j, pivot * n + j));
            // Where the pivot's column was, that of the inverse grows.
            inverse.row_mut(k)[k] = 1.0;
            inverse.row_mut(k).iter_mut().for_each(|x| *x /= value);
            let row = inverse.row(k).to_vec();
            for i in (0..n).filter(|i| *i != k) {
                let into = inverse.row_mut(i);
                let factor = std::mem::replace(&mut into[k], 0.0);
                add_scaled(into, -factor, &row);
            }
        }
        for (k, pivot) in exchanged.into_iter().enumerate().rev() {
            (0..n).filter(|_| pivot != k).for_each(|i| inverse.values.swap(i * n + k, i * n + pivot));
        }
        Some(inverse)
    }

    /// The orthogonal matrix nearest to this one, `[n, n]`: it maximises tr(QᵀA), which is then the sum of A's singular
    /// values. Square; `None` where there is none to be found.
    ///
    /// Source: N. Higham, "Computing the polar decomposition – with applications" (1986): Newton's iteration, scaled. A
    /// matrix without full rank has many; to it 10⁻¹⁴ of its norm times the unit matrix is added, which costs the trace
    /// no more than that.
    pub fn nearest_orthogonal(&self) -> Option<Matrix> {
        let n = self.rows;
        let size = self.norm();
        if !(size.is_finite() && size > 0.0) {
            return None;
        }
        let mut x = self.clone();
        x.values.iter_mut().for_each(|value| *value /= size);
        (0..n).for_each(|i| x.values[i * n + i] += 1e-14);
        let mut near = false;
        for _ in 0..60 {
            let inverse = x.inverse()?.transposed();
            // ‖X‖₁‖X‖∞ bounds the largest singular value squared from above, and is cheap.
            let scale = if near {
                1.0
            } else {
                ((inverse.largest_column() * inverse.largest_row()) / (x.largest_column() * x.largest_row())).powf(0.25)
            };
            let mut next = x.clone();
            next.values.iter_mut().zip(&inverse.values).for_each(|(x, i)| *x = 0.5 * (scale * *x + i / scale));
            let moved = next.values.iter().zip(&x.values).fold(0.0, |sum, (a, b)| sum + (a - b) * (a - b)).sqrt();
            x = next;
            // The iteration is quadratic: the next step squares what is left.
            if near && moved <= 1e-14 * (n as f64).sqrt() || moved <= 1e-8 && near {
                return Some(x);
            }
            near = near || moved <= 1e-2 * (n as f64).sqrt();
        }
        None
    }

    fn largest_row(&self) -> f64 {
        (0..self.rows).map(|i| self.row(i).iter().fold(0.0, |sum, x| sum + x.abs())).fold(0.0, f64::max)
    }

    fn largest_column(&self) -> f64 {
        let mut sums = vec![0.0; self.columns];
        for i in 0..self.rows {
            sums.iter_mut().zip(self.row(i)).for_each(|(sum, x)| *sum += x.abs());
        }
        sums.into_iter().fold(0.0, f64::max)
    }
}

/// Multiplies both by the power of two that brings the largest value of either to 1..2, and gives that power: squares of
/// values that float64 holds may be beyond it. Exact, unless the two differ by more than float64's range. 1 for zeros.
pub fn level(a: &mut Matrix, b: &mut Matrix) -> f64 {
    let largest = a.values.iter().chain(&b.values).fold(0.0, |max, x| f64::max(max, x.abs()));
    if !(largest > 0.0 && largest.is_finite()) {
        return 1.0;
    }
    // A subnormal's reciprocal would be infinite: 2^1000 brings it far enough.
    let exponent = ((largest.to_bits() >> 52) as i32 - 1023).clamp(-1000, 1023);
    // Two steps, each within the range of normal powers of two.
    let power = 2f64.powi(-exponent / 2) * 2f64.powi(-exponent + exponent / 2);
    a.values.iter_mut().chain(&mut b.values).for_each(|x| *x *= power);
    power
}

const LANES: usize = 8;

/// Σ aᵢbᵢ in eight lanes, then ((0+4)+(2+6))+((1+5)+(3+7)), then the rest in order.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0f64; LANES];
    let ((a_chunks, a_rest), (b_chunks, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let sum = ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
    a_rest.iter().zip(b_rest).fold(sum, |sum, (a, b)| sum + a * b)
}

/// Σ (aᵢ − bᵢ)², in the order of [`dot`].
pub fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0f64; LANES];
    let ((a_chunks, a_rest), (b_chunks, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for lane in 0..LANES {
            let d = a[lane] - b[lane];
            sums[lane] += d * d;
        }
    }
    let sum = ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
    a_rest.iter().zip(b_rest).fold(sum, |sum, (a, b)| sum + (a - b) * (a - b))
}

/// into += factor · from
fn add_scaled(into: &mut [f64], factor: f64, from: &[f64]) {
    into.iter_mut().zip(from).for_each(|(into, from)| *into += factor * from);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Values in −1..1 by Knuth's linear congruence.
    fn wild(rows: usize, columns: usize, seed: u64) -> Matrix {
        let mut matrix = Matrix::zeros(rows, columns);
        let mut state = seed;
        for value in &mut matrix.values {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *value = (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
        }
        matrix
    }

    fn apart(a: &Matrix, b: &Matrix) -> f64 {
        a.values.iter().zip(&b.values).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn products_are_those_of_the_definition() {
        let (a, b) = (wild(5, 11, 1), wild(7, 11, 2));
        let product = a.rows_by_rows(&b);
        for i in 0..5 {
            for j in 0..7 {
                let sum: f64 = (0..11).map(|k| a.get(i, k) * b.get(j, k)).sum();
                assert!((product.get(i, j) - sum).abs() < 1e-12);
            }
        }
        assert!(apart(&a.times(&b.transposed()), &product) < 1e-12);
        assert!(apart(&a.transposed().columns_by_columns(&b.transposed()), &product) < 1e-12);
    }

    #[test]
    fn an_inverse_times_its_matrix_is_the_unit() {
        let a = wild(17, 17, 3);
        assert!(apart(&a.inverse().unwrap().times(&a), &Matrix::unit(17)) < 1e-9);
        assert_eq!(Matrix::zeros(3, 3).inverse(), None);
    }

    #[test]
    fn the_lower_factor_keeps_all_inner_products_of_rows() {
        for (rows, columns) in [(6, 20), (1, 3), (4, 4)] {
            let mut a = wild(rows, columns, 4);
            if rows > 2 {
                // One row that two others span.
                let spanned: Vec<f64> = a.row(0).iter().zip(a.row(1)).map(|(x, y)| x - 2.0 * y).collect();
                a.row_mut(2).copy_from_slice(&spanned);
            }
            let lower = a.lower();
            assert!(apart(&lower.rows_by_rows(&lower), &a.rows_by_rows(&a)) < 1e-11);
        }
    }

    #[test]
    fn the_nearest_orthogonal_matrix_is_orthogonal_and_undoes_a_rotation() {
        let rotation = wild(12, 12, 5).nearest_orthogonal().unwrap();
        assert!(apart(&rotation.rows_by_rows(&rotation), &Matrix::unit(12)) < 1e-13);
        let a = wild(40, 12, 6);
        let turned = a.times(&rotation);
        let found = turned.columns_by_columns(&a).nearest_orthogonal().unwrap();
        assert!(apart(&turned.times(&found), &a) < 1e-12);
        // Without full rank: only 3 directions.
        let flat = wild(40, 3, 7).times(&wild(3, 12, 8));
        let found = flat.times(&rotation).columns_by_columns(&flat).nearest_orthogonal().unwrap();
        assert!(apart(&flat.times(&rotation).times(&found), &flat) < 1e-10);
        assert_eq!(Matrix::zeros(2, 2).nearest_orthogonal(), None);
    }
}
