//! The rows of one side as unit vectors in float64.

use fascicolo_contract::measure::unit;

use crate::vectors::{Values, VectorColumn};

/// One side's rows, in the reference's order.
pub(crate) struct Units<'a> {
    column: &'a VectorColumn,
    /// The row in the column for each row of the reference; `None` if they are the same.
    places: Option<&'a [usize]>,
    dims: usize,
}

impl<'a> Units<'a> {
    pub fn new(column: &'a VectorColumn, places: Option<&'a [usize]>, dims: usize) -> Self {
        Units { column, places, dims }
    }

    /// Values per row.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// Writes row `row` divided by its norm, `[dims]`; false, and zeros, if it is a zero vector.
    pub fn write(&self, row: usize, into: &mut [f64]) -> bool {
        let range = self.column.range(self.places.map_or(row, |places| places[row]));
        match &self.column.values {
            Values::F32(values) => unit(&values[range], into),
            Values::F64(values) => unit(&values[range], into),
        }
    }
}
