//! What a criterion sees of one row.

use crate::contract::{Batch, Values};

/// One side's vector, `[dims]`.
#[derive(Debug, Clone, Copy)]
pub enum Vector<'a> {
    /// Stored as float32 or narrower.
    F32(&'a [f32]),
    /// Stored as float64, or as integers that float32 would round.
    F64(&'a [f64]),
}

impl<'a> Vector<'a> {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Vector::F32(v) => v.len(),
            Vector::F64(v) => v.len(),
        }
    }

    /// True if there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Value `i`, widened exactly to float64.
    pub fn get(&self, i: usize) -> f64 {
        match self {
            Vector::F32(v) => f64::from(v[i]),
            Vector::F64(v) => v[i],
        }
    }

    /// All values in order, widened exactly to float64.
    pub fn iter(self) -> impl Iterator<Item = f64> + 'a {
        (0..self.len()).map(move |i| self.get(i))
    }

    /// Pairs with the values of `other` at the same places.
    pub fn zip<'b>(self, other: Vector<'b>) -> impl Iterator<Item = (f64, f64)> + use<'a, 'b> {
        (0..self.len().min(other.len())).map(move |i| (self.get(i), other.get(i)))
    }

    /// Index of the largest value, the first one if several are equal; `None` if there is no value.
    pub fn argmax(self) -> Option<usize> {
        let mut best: Option<(usize, f64)> = None;
        for (i, value) in self.iter().enumerate() {
            if best.is_none_or(|(_, max)| value > max) {
                best = Some((i, value));
            }
        }
        best.map(|(i, _)| i)
    }
}

/// A measure that not every row has.
#[doc(hidden)]
pub fn known(value: f64) -> Option<f64> {
    (!value.is_nan()).then_some(value)
}

/// Text `row` of a block of texts laid end to end.
#[doc(hidden)]
pub fn text(texts: &crate::contract::Texts, row: usize) -> &str {
    let start = if row == 0 { 0 } else { texts.ends.get(row - 1).copied().unwrap_or(0) as usize };
    let end = texts.ends.get(row).copied().unwrap_or(0) as usize;
    texts.bytes.get(start..end).and_then(|b| std::str::from_utf8(b).ok()).unwrap_or("")
}

fn side<'a>(values: &'a Values, row: usize, dims: usize) -> Vector<'a> {
    let range = row * dims..(row + 1) * dims;
    match values {
        Values::Single(v) => Vector::F32(v.get(range).unwrap_or(&[])),
        Values::Double(v) => Vector::F64(v.get(range).unwrap_or(&[])),
    }
}

/// The reference's vector of `row`; empty if the criterion did not ask for vectors.
#[doc(hidden)]
pub fn reference(batch: &Batch, row: usize) -> Vector<'_> {
    batch.vectors.as_ref().map_or(Vector::F32(&[]), |v| side(&v.reference, row, batch.dims as usize))
}

/// The candidate's vector of `row`; empty if the criterion did not ask for vectors.
#[doc(hidden)]
pub fn candidate(batch: &Batch, row: usize) -> Vector<'_> {
    batch.vectors.as_ref().map_or(Vector::F32(&[]), |v| side(&v.candidate, row, batch.dims as usize))
}
