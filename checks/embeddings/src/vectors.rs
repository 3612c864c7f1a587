//! A column of vectors, decoded from any list layout to values laid end to end, with what is wrong in it.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

use arrow::array::{Array, AsArray, PrimitiveArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};

use crate::select::element;

/// The values of a column, in the narrower of the two types that holds them exactly.
#[derive(Debug)]
pub(crate) enum Values {
    /// float16, float32, and integers of at most 16 bits.
    F32(Vec<f32>),
    /// float64 and wider integers.
    F64(Vec<f64>),
}

/// Where the vectors of a column are no vectors of finite numbers. Rows ascend.
#[derive(Debug, Default)]
pub(crate) struct Flaws {
    /// Rows whose vector is null.
    pub null_rows: Vec<u64>,
    /// Null elements in vectors that are not null themselves.
    pub null_elements: u64,
    /// The rows they stand in.
    pub null_element_rows: Vec<u64>,
    /// The places in [`VectorColumn::values`] they left.
    pub null_places: Places,
    /// NaN values.
    pub nan: u64,
    /// Infinite values.
    pub infinite: u64,
    /// The rows that hold NaN or infinite values.
    pub nonfinite_rows: Vec<u64>,
}

/// A set of places, one bit for each up to the last one.
#[derive(Debug, Default)]
pub(crate) struct Places(Vec<u64>);

impl Places {
    fn add(&mut self, place: usize) {
        if self.0.len() <= place / 64 {
            self.0.resize(place / 64 + 1, 0);
        }
        self.0[place / 64] |= 1 << (place % 64);
    }

    /// True if the place was added.
    pub fn has(&self, place: usize) -> bool {
        self.0.get(place / 64).is_some_and(|bits| bits >> (place % 64) & 1 == 1)
    }
}

/// How long the vectors of a column are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// There is no vector, or only null ones.
    None,
    /// All vectors have this many values.
    Dims(u64),
    /// Lengths differ; the most frequent one, and the rows that have another, ascending.
    Ragged {
        /// The most frequent length; among equals the one seen first.
        common: u64,
        /// How many rows have it.
        rows: u64,
        /// The other rows.
        odd: Vec<u64>,
    },
}

/// An integer that float64 would round, and its row.
#[derive(Debug)]
pub(crate) struct Inexact {
    /// Row of the column, from 0.
    pub row: u64,
    /// The integer.
    pub value: i128,
}

/// The vectors of one column.
#[derive(Debug)]
pub(crate) struct VectorColumn {
    /// All values, row after row. Null elements leave a placeholder, null rows nothing.
    pub values: Values,
    ends: Vec<u64>,
    /// What is wrong.
    pub flaws: Flaws,
}

impl VectorColumn {
    /// An empty column for lists of this type.
    pub fn new(list: &DataType) -> Self {
        let narrow = matches!(
            element(list),
            Some(
                DataType::Float16
                    | DataType::Float32
                    | DataType::Int8
                    | DataType::Int16
                    | DataType::UInt8
                    | DataType::UInt16
            )
        );
        let values = if narrow { Values::F32(Vec::new()) } else { Values::F64(Vec::new()) };
        VectorColumn { values, ends: Vec::new(), flaws: Flaws::default() }
    }

    /// Number of rows, null ones included.
    pub fn rows(&self) -> usize {
        self.ends.len()
    }

    /// Where a row's values stand in `values`.
    pub fn range(&self, row: usize) -> Range<usize> {
        let start = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        start..self.ends[row] as usize
    }

    /// Where the values of a run of rows stand in `values`.
    pub fn range_of(&self, rows: Range<usize>) -> Range<usize> {
        if rows.is_empty() { 0..0 } else { self.range(rows.start).start..self.range(rows.end - 1).end }
    }

    /// Length of a row's vector.
    pub fn length(&self, row: usize) -> u64 {
        self.range(row).len() as u64
    }

    /// Asks for room for `rows` rows as long as the present ones, so that memory is not grown and copied on the way. A
    /// promise that cannot be kept, as a corrupt footer makes, is ignored.
    pub fn expect_rows(&mut self, rows: u64) {
        let more = (rows as usize).saturating_sub(self.rows());
        let dims = self.ends.last().map_or(0, |end| (*end as usize).div_ceil(self.rows()));
        let values = more.saturating_mul(dims);
        let _ = self.ends.try_reserve_exact(more);
        let _ = match &mut self.values {
            Values::F32(v) => v.try_reserve_exact(values),
            Values::F64(v) => v.try_reserve_exact(values),
        };
    }

    /// Adds the rows of a list array of numbers; rows that are null in `nulls` are null, whatever values lie under them.
    pub fn append(&mut self, array: &dyn Array, nulls: Option<&NullBuffer>) -> Result<(), Inexact> {
        let rows = array.len();
        let (lists, child) = match array.data_type() {
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                (Lists::Offsets32(list.value_offsets()), list.values())
            }
            DataType::LargeList(_) => {
                let list = array.as_list::<i64>();
                (Lists::Offsets64(list.value_offsets()), list.values())
            }
            DataType::FixedSizeList(_, _) => {
                let list = array.as_fixed_size_list();
                (Lists::Fixed(list.value_length() as usize), list.values())
            }
            // `select` lets no other type through.
            other => unreachable!("vectors of type {other}"),
        };
        let mut sink = Sink { lists, rows, nulls, ends: &mut self.ends, flaws: &mut self.flaws };
        macro_rules! take {
            ($type:ty, $out:ident, $convert:expr) => {
                sink.take(child.as_primitive::<$type>(), $out, $convert)
            };
        }
        macro_rules! take_wide {
            ($type:ty, $out:ident) => {{
                let child = child.as_primitive::<$type>();
                sink.check(child, |v| i128::from(v), |v| (v as f64) as i128)?;
                sink.take(child, $out, |v| v as f64);
            }};
        }
        match (&mut self.values, child.data_type()) {
            (Values::F32(out), DataType::Float16) => take!(Float16Type, out, half::f16::to_f32),
            (Values::F32(out), DataType::Float32) => take!(Float32Type, out, |v| v),
            (Values::F32(out), DataType::Int8) => take!(Int8Type, out, f32::from),
            (Values::F32(out), DataType::Int16) => take!(Int16Type, out, f32::from),
            (Values::F32(out), DataType::UInt8) => take!(UInt8Type, out, f32::from),
            (Values::F32(out), DataType::UInt16) => take!(UInt16Type, out, f32::from),
            (Values::F64(out), DataType::Float64) => take!(Float64Type, out, |v| v),
            (Values::F64(out), DataType::Int32) => take!(Int32Type, out, f64::from),
            (Values::F64(out), DataType::UInt32) => take!(UInt32Type, out, f64::from),
            (Values::F64(out), DataType::Int64) => take_wide!(Int64Type, out),
            (Values::F64(out), DataType::UInt64) => take_wide!(UInt64Type, out),
            // `new` chose the values for this element type.
            (_, other) => unreachable!("elements of type {other}"),
        }
        Ok(())
    }

    /// How long the vectors are, null ones left out.
    pub fn shape(&self) -> Shape {
        let null = |row: &usize| self.flaws.null_rows.binary_search(&(*row as u64)).is_ok();
        let present = || (0..self.rows()).filter(|row| !null(row));
        let mut lengths: HashMap<u64, (u64, usize)> = HashMap::new();
        for row in present() {
            lengths.entry(self.length(row)).or_insert((0, row)).0 += 1;
        }
        let most = lengths.iter().max_by_key(|(_, (rows, first))| (*rows, Reverse(*first)));
        match most {
            None => Shape::None,
            Some((&common, _)) if lengths.len() == 1 => Shape::Dims(common),
            Some((&common, &(rows, _))) => {
                let odd = present().filter(|row| self.length(*row) != common).map(|row| row as u64).collect();
                Shape::Ragged { common, rows, odd }
            }
        }
    }
}

/// Where the rows of a list array stand in its child.
enum Lists<'a> {
    Offsets32(&'a [i32]),
    Offsets64(&'a [i64]),
    Fixed(usize),
}

impl Lists<'_> {
    fn range(&self, row: usize) -> Range<usize> {
        match self {
            Lists::Offsets32(at) => at[row] as usize..at[row + 1] as usize,
            Lists::Offsets64(at) => at[row] as usize..at[row + 1] as usize,
            Lists::Fixed(size) => row * size..(row + 1) * size,
        }
    }
}

/// What a value must say of itself.
trait Value: Copy + Default {
    fn finite(self) -> bool;
    fn nan(self) -> bool;
}

impl Value for f32 {
    fn finite(self) -> bool {
        self.is_finite()
    }
    fn nan(self) -> bool {
        self.is_nan()
    }
}

impl Value for f64 {
    fn finite(self) -> bool {
        self.is_finite()
    }
    fn nan(self) -> bool {
        self.is_nan()
    }
}

/// One array on its way into a column.
struct Sink<'a> {
    lists: Lists<'a>,
    rows: usize,
    nulls: Option<&'a NullBuffer>,
    ends: &'a mut Vec<u64>,
    flaws: &'a mut Flaws,
}

impl Sink<'_> {
    /// Copies the values of all rows to `out`.
    fn take<N: ArrowPrimitiveType, V: Value>(
        &mut self,
        child: &PrimitiveArray<N>,
        out: &mut Vec<V>,
        convert: impl Fn(N::Native) -> V,
    ) {
        let values: &[N::Native] = child.values();
        let start = out.len();
        let first = self.ends.len();
        let whole = child.null_count() == 0 && self.nulls.is_none_or(|n| n.null_count() == 0);
        if whole && self.rows > 0 {
            // The rows of a list array without nulls stand in its child without gaps.
            let all = self.lists.range(0).start..self.lists.range(self.rows - 1).end;
            let shift = start as i128 - all.start as i128;
            out.extend(values[all].iter().map(|v| convert(*v)));
            self.ends.extend((0..self.rows).map(|row| (self.lists.range(row).end as i128 + shift) as u64));
        } else {
            let holes = child.nulls().filter(|n| n.null_count() > 0);
            for row in 0..self.rows {
                let at = (first + row) as u64;
                if self.is_null(row) {
                    self.flaws.null_rows.push(at);
                } else {
                    let range = self.lists.range(row);
                    let before = self.flaws.null_elements;
                    for slot in range {
                        // What lies under a null is nobody's value: it may even be NaN.
                        let null = holes.is_some_and(|h| h.is_null(slot));
                        if null {
                            self.flaws.null_elements += 1;
                            self.flaws.null_places.add(out.len());
                        }
                        out.push(if null { V::default() } else { convert(values[slot]) });
                    }
                    if self.flaws.null_elements > before {
                        self.flaws.null_element_rows.push(at);
                    }
                }
                self.ends.push(out.len() as u64);
            }
        }
        // A fold without an early end is vectorised; files of nothing but finite values are the rule.
        if !out[start..].iter().fold(true, |all, v| all & v.finite()) {
            self.note_nonfinite(out, first, start);
        }
    }

    /// Finds an integer that differs from its float64.
    fn check<N: ArrowPrimitiveType>(
        &self,
        child: &PrimitiveArray<N>,
        exact: impl Fn(N::Native) -> i128,
        rounded: impl Fn(N::Native) -> i128,
    ) -> Result<(), Inexact> {
        for row in (0..self.rows).filter(|row| !self.is_null(*row)) {
            for slot in self.lists.range(row) {
                let value = child.values()[slot];
                if !child.is_null(slot) && exact(value) != rounded(value) {
                    return Err(Inexact { row: (self.ends.len() + row) as u64, value: exact(value) });
                }
            }
        }
        Ok(())
    }

    fn is_null(&self, row: usize) -> bool {
        self.nulls.is_some_and(|n| n.is_null(row))
    }

    fn note_nonfinite<V: Value>(&mut self, out: &[V], first: usize, mut start: usize) {
        for row in first..self.ends.len() {
            let end = self.ends[row] as usize;
            let values = &out[start..end];
            start = end;
            let nan = values.iter().filter(|v| v.nan()).count() as u64;
            let nonfinite = values.iter().filter(|v| !v.finite()).count() as u64;
            self.flaws.nan += nan;
            self.flaws.infinite += nonfinite - nan;
            if nonfinite > 0 {
                self.flaws.nonfinite_rows.push(row as u64);
            }
        }
    }
}

#[cfg(test)]
mod tests;
