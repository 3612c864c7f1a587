//! A Parquet file with a column for the step and one for each scalar.

use std::path::Path;

use arrow::array::{Array, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};

use super::Raw;
use crate::files::open_parquet;
use crate::guard::guarded;
use crate::select::element;
use crate::{Columns, Error};

/// Whether the columns asked for, or all columns where none are, are numbers and no vectors.
pub(super) fn is_log(path: &Path, wanted: &Columns) -> bool {
    let schema = guarded(path, || {
        let file = open_parquet(path)?;
        ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).map_err(|e| damaged(path, e))
    });
    // What cannot be read is told by whoever reads it.
    let Ok(metadata) = schema else { return false };
    let fields = metadata.schema().fields();
    let number = |name: &str| fields.iter().any(|f| f.name() == name && f.data_type().is_numeric());
    match &wanted.vector {
        Some(named) => super::scalars(named).iter().all(|name| number(name)),
        None => {
            let step = wanted.id.as_deref().unwrap_or("step");
            number(step) && !fields.iter().any(|f| element(f.data_type()).is_some())
        }
    }
}

/// Reads all columns of numbers.
pub(super) fn read(path: &Path) -> Result<Raw, Error> {
    guarded(path, || {
        let file = open_parquet(path)?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| damaged(path, e))?;
        let fields = builder.schema().fields().clone();
        let numeric = |data_type: &DataType| data_type.is_numeric();
        let wanted = fields.iter().enumerate().filter(|(_, f)| numeric(f.data_type())).map(|(at, _)| at);
        let mask = ProjectionMask::roots(builder.parquet_schema(), wanted);
        let reader = builder.with_projection(mask).build().map_err(|e| damaged(path, e))?;
        let mut raw = Raw::default();
        for batch in reader {
            let batch = batch.map_err(|e| damaged(path, e))?;
            let first = raw.rows.len();
            raw.rows.resize(first + batch.num_rows(), Vec::new());
            for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
                let column = raw.column(field.name());
                let numbers = cast(array, &DataType::Float64).map_err(|e| damaged(path, e))?;
                let numbers = numbers.as_primitive::<Float64Type>();
                for row in 0..numbers.len() {
                    let cells = &mut raw.rows[first + row];
                    cells.resize((column + 1).max(cells.len()), None);
                    cells[column] = numbers.is_valid(row).then(|| numbers.value(row));
                }
            }
        }
        Ok(raw)
    })
}

fn damaged(path: &Path, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::Damaged { path: path.to_path_buf(), source: source.into() }
}
