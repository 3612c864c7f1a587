//! One table: a Parquet file or a folder of parts, its chosen columns read into memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::NullBuffer;
use arrow::record_batch::RecordBatch;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};

use crate::files::{files_of, open_parquet};
use crate::guard::guarded;
use crate::select::{Chosen, Selection, select};
use crate::texts::{Family, TextColumn};
use crate::vectors::VectorColumn;
use crate::{Columns, Error, Role};

/// Rows decoded at a time: enough to keep the decoder busy, few enough to stop soon.
const BATCH_ROWS: usize = 4096;

/// A table whose footers have been read and whose columns have been found; no row has been read yet.
pub(crate) struct Source {
    parts: Vec<Part>,
    /// The columns of the first part; the others agree with it.
    pub selection: Selection,
    /// Rows of all parts, by their footers.
    pub rows: u64,
}

struct Part {
    path: PathBuf,
    metadata: ArrowReaderMetadata,
    /// Leaf indices may differ between parts that agree in the columns read.
    selection: Selection,
    rows: u64,
}

/// The rows of a table.
pub(crate) struct Table {
    /// The ids.
    pub ids: TextColumn,
    /// The vectors.
    pub vectors: VectorColumn,
    /// The labels, if asked for.
    pub labels: Option<TextColumn>,
}

impl Source {
    /// Reads the footers of the table at `path` and finds its columns.
    pub fn open(path: &Path, columns: &Columns, with_labels: bool) -> Result<Self, Error> {
        let mut parts = Vec::new();
        for file in files_of(path)? {
            parts.push(guarded(&file, || Part::open(&file, columns, with_labels))?);
        }
        let [first, others @ ..] = parts.as_slice() else {
            return Err(Error::EmptyFolder { path: path.to_path_buf() });
        };
        for part in others {
            part.agrees_with(first)?;
        }
        let selection = first.selection.clone();
        let rows = parts.iter().fold(0u64, |sum, p| sum.saturating_add(p.rows));
        Ok(Source { parts, selection, rows })
    }

    /// Reads all rows. `on_rows` is told of each record batch how many rows it had, and returns whether to go on.
    ///
    /// # Errors
    /// `None` if `on_rows` said no.
    pub fn read(self, on_rows: &dyn Fn(u64) -> bool) -> Result<Table, Option<Error>> {
        let mut table = Table {
            ids: TextColumn::default(),
            vectors: VectorColumn::new(&self.selection.vector.data_type),
            labels: self.selection.label.as_ref().map(|_| TextColumn::default()),
        };
        let mut stopped = false;
        for part in &self.parts {
            guarded(&part.path, || {
                stopped = part.read_into(&mut table, self.rows, on_rows)?;
                Ok(())
            })?;
            if stopped {
                return Err(None);
            }
        }
        Ok(table)
    }
}

impl Part {
    fn open(path: &Path, columns: &Columns, with_labels: bool) -> Result<Self, Error> {
        let file = open_parquet(path)?;
        let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).map_err(|e| damaged(path, e))?;
        let declared = metadata.metadata().file_metadata().num_rows();
        let rows =
            u64::try_from(declared).map_err(|_| damaged(path, format!("its footer declares {declared} rows")))?;
        let selection = select(path, metadata.schema().fields(), metadata.parquet_schema(), columns, with_labels)?;
        Ok(Part { path: path.to_path_buf(), metadata, selection, rows })
    }

    fn agrees_with(&self, first: &Part) -> Result<(), Error> {
        let pairs = [
            (Role::Id, Some(&self.selection.id), Some(&first.selection.id)),
            (Role::Vector, Some(&self.selection.vector), Some(&first.selection.vector)),
            (Role::Label, self.selection.label.as_ref(), first.selection.label.as_ref()),
        ];
        for (role, mine, theirs) in pairs {
            let (Some(mine), Some(theirs)) = (mine, theirs) else { continue };
            if (&mine.path, &mine.type_name) != (&theirs.path, &theirs.type_name) {
                return Err(Error::PartsDiffer {
                    path: self.path.clone(),
                    first_path: first.path.clone(),
                    role,
                    found: format!("`{}` {}", mine.name, mine.type_name),
                    first: format!("`{}` {}", theirs.name, theirs.type_name),
                });
            }
        }
        Ok(())
    }

    /// Adds the part's rows to `table`, which will hold `total` rows in the end. Returns true if it was stopped.
    fn read_into(&self, table: &mut Table, total: u64, on_rows: &dyn Fn(u64) -> bool) -> Result<bool, Error> {
        let file = open_parquet(&self.path)?;
        let wanted = &self.selection;
        let columns = [Some(&wanted.id), Some(&wanted.vector), wanted.label.as_ref()];
        let leaves = columns.into_iter().flatten().flat_map(|c| c.leaves.iter().copied());
        let mask = ProjectionMask::leaves(self.metadata.parquet_schema(), leaves);
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone())
            .with_projection(mask)
            .with_batch_size(BATCH_ROWS)
            .build()
            .map_err(|e| damaged(&self.path, e))?;
        let mut read = 0;
        for batch in reader {
            let batch = batch.map_err(|e| damaged(&self.path, e))?;
            self.append(table, &batch)?;
            if read == 0 {
                table.vectors.expect_rows(total);
            }
            read += batch.num_rows() as u64;
            if !on_rows(batch.num_rows() as u64) {
                return Ok(true);
            }
        }
        if read != self.rows {
            let found = format!("its footer declares {} rows, its pages hold {read}", self.rows);
            return Err(damaged(&self.path, found));
        }
        Ok(false)
    }

    fn append(&self, table: &mut Table, batch: &RecordBatch) -> Result<(), Error> {
        let texts = |column: &Chosen, into: &mut TextColumn| -> Result<(), Error> {
            let (array, nulls) = self.column(batch, column)?;
            into.append(&array, nulls.as_ref(), column.family == Some(Family::Uuid));
            Ok(())
        };
        texts(&self.selection.id, &mut table.ids)?;
        if let (Some(column), Some(labels)) = (&self.selection.label, &mut table.labels) {
            texts(column, labels)?;
        }
        let vector = &self.selection.vector;
        let (array, nulls) = self.column(batch, vector)?;
        table.vectors.append(&array, nulls.as_ref()).map_err(|inexact| Error::InexactInteger {
            path: self.path.clone(),
            name: vector.name.clone(),
            row: inexact.row,
            value: inexact.value,
        })
    }

    /// The column's array and which of its rows are null, be it because a struct around them is.
    fn column(&self, batch: &RecordBatch, column: &Chosen) -> Result<(ArrayRef, Option<NullBuffer>), Error> {
        let found = (|| {
            let (root, rest) = column.path.split_first()?;
            let mut array = batch.column_by_name(root)?.clone();
            let mut nulls = array.logical_nulls();
            for name in rest {
                array = Arc::clone(array.as_struct_opt()?.column_by_name(name)?);
                nulls = NullBuffer::union(nulls.as_ref(), array.logical_nulls().as_ref());
            }
            (array.data_type() == &column.data_type).then_some((array, nulls))
        })();
        found.ok_or_else(|| damaged(&self.path, format!("its pages do not hold the column `{}`", column.name)))
    }
}

fn damaged(path: &Path, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::Damaged { path: path.to_path_buf(), source: source.into() }
}
