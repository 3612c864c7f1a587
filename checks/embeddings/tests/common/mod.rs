//! What the tests of this crate share: writing small files, opening them unwatched, and rows as plain values.
#![allow(dead_code, clippy::unwrap_used)]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Float32Array, ListArray, StringArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{Field, Schema};
use arrow::record_batch::RecordBatch;
use fascicolo_contract::{AlignedBatch, Vectors};
use fascicolo_embeddings::{Columns, Comparison, Error, Watch};
use parquet::arrow::ArrowWriter;
use tempfile::TempDir;

/// Nobody watches.
pub struct Unwatched;

impl Watch for Unwatched {
    fn progress(&self, _: u64, _: u64) {}
    fn interrupted(&self) -> bool {
        false
    }
}

/// A file of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

pub fn open(reference: &Path, candidate: &Path) -> Result<Comparison, Error> {
    Comparison::open(reference, candidate, &Columns::default(), &Unwatched)
}

pub fn vector(name: &str) -> Columns {
    Columns { vector: Some(name.into()), ..Columns::default() }
}

/// One row: id, label, reference's and candidate's vector.
#[derive(Debug, Clone)]
pub struct Row {
    pub id: String,
    pub label: String,
    pub reference: Vec<f64>,
    pub candidate: Vec<f64>,
}

/// All rows, read in batches of `max_rows` through one reused buffer.
pub fn rows(comparison: &Comparison, max_rows: usize) -> Vec<Row> {
    let mut batches = comparison.batches(max_rows).unwrap();
    let mut batch = batches.buffer();
    let mut all = Vec::new();
    while batches.next_batch(&mut batch).unwrap() {
        assert!(batch.rows() <= max_rows);
        assert_eq!(batch.reference.len(), batch.rows() * batch.dims);
        assert_eq!(batch.candidate.len(), batch.reference.len());
        assert_eq!(std::mem::discriminant(&batch.reference), std::mem::discriminant(&batch.candidate));
        all.extend((0..batch.rows()).map(|row| row_of(&batch, row)));
    }
    assert_eq!((batch.rows(), batches.rows_left()), (0, 0));
    all
}

fn row_of(batch: &AlignedBatch, row: usize) -> Row {
    let range = row * batch.dims..(row + 1) * batch.dims;
    let values = |side: &Vectors| match side {
        Vectors::F32(v) => v[range.clone()].iter().map(|v| f64::from(*v)).collect(),
        Vectors::F64(v) => v[range.clone()].to_vec(),
    };
    Row {
        id: batch.ids.get(row).to_owned(),
        label: batch.labels.get(row).to_owned(),
        reference: values(&batch.reference),
        candidate: values(&batch.candidate),
    }
}

/// Bits, so that −0 differs from 0.
pub fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// A column of ids.
pub fn texts(ids: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(ids.to_vec()))
}

/// Lists of `dims` values.
pub fn lists(dims: usize, child: ArrayRef) -> ArrayRef {
    let field = Arc::new(Field::new("element", child.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(dims, child.len() / dims));
    Arc::new(ListArray::new(field, offsets, child, None))
}

/// Vectors of `dims` values of float32.
pub fn floats(dims: usize, values: &[f32]) -> ArrayRef {
    lists(dims, Arc::new(Float32Array::from(values.to_vec())))
}

/// A table of nullable columns.
pub fn table(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let field = |(name, array): &(&str, ArrayRef)| Field::new(*name, array.data_type().clone(), true);
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    RecordBatch::try_new(Arc::new(schema), columns.into_iter().map(|c| c.1).collect()).unwrap()
}

/// Writes a table as Parquet; returns its path.
pub fn write(path: PathBuf, columns: Vec<(&str, ArrayRef)>) -> PathBuf {
    let batch = table(columns);
    let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    path
}

/// A folder that lives as long as the first value, and the paths in it.
pub fn folder() -> (TempDir, impl Fn(&str) -> PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_path_buf();
    (folder, move |name: &str| path.join(name))
}
