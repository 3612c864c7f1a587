//! Two tables side by side.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::Duration;

use fascicolo_contract::measure::{Measure, MeasureTrouble, Neighbours};
use fascicolo_contract::{AlignedBatch, Obstacle, ObstacleKind, Structure, Texts, Vectors};

use crate::centroids;
use crate::content::content_digest;
use crate::files::failed;
use crate::findings::examine;
use crate::logs::{self, Log};
use crate::neighbours::{self, Kept};
use crate::select::Selection;
use crate::table::{Source, Table};
use crate::texts::TextColumn;
use crate::units::Units;
use crate::vectors::{Values, VectorColumn};
use crate::{Columns, Error, Watch};

/// How long the watcher may stay unasked while a record batch is being decoded.
const PATIENCE: Duration = Duration::from_millis(100);

/// The columns that were really read, by name: of [`Columns`], what was given or found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// Of the reference.
    pub reference: Named,
    /// Of the candidate.
    pub candidate: Named,
}

/// The columns read of one table. A dotted name is a column of that very name, or a field of a struct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The ids.
    pub id: String,
    /// The vectors.
    pub vector: String,
    /// The labels, where they were read.
    pub label: Option<String>,
}

impl Named {
    fn of(selection: &Selection) -> Self {
        Named {
            id: selection.id.name.clone(),
            vector: selection.vector.name.clone(),
            label: selection.label.as_ref().map(|label| label.name.clone()),
        }
    }
}

/// A reference and a candidate, read and matched.
///
/// Both are held in memory: 4 or 8 bytes a value, and their ids.
pub struct Comparison {
    columns: Resolved,
    structure: Structure,
    reference: Table,
    candidate: Table,
    /// The candidate's row for each row of the reference; none if the files are not comparable.
    candidate_rows: Option<Vec<usize>>,
    /// Of training logs, the names of the scalars that were read of both, and those of the reference that were left
    /// out.
    scalars: Option<(Vec<String>, Vec<String>)>,
}

impl Comparison {
    /// Reads both tables, each a Parquet file or a folder of parts, and matches their rows by id. Files that can be
    /// read but not compared are no error: [`Comparison::structure`] then has obstacles.
    ///
    /// # Errors
    /// Every [`Error`] except `NotComparable` and `TextTooLong`. Where both files are at fault, it is the reference's.
    pub fn open(reference: &Path, candidate: &Path, columns: &Columns, watch: &dyn Watch) -> Result<Self, Error> {
        if logs::is_log(reference, columns) {
            return Comparison::of_logs(reference, candidate, columns);
        }
        let of_reference = Source::open(reference, columns, true)?;
        let of_candidate = Source::open(candidate, columns, columns.candidate_label)?;
        let selections = (of_reference.selection.clone(), of_candidate.selection.clone());
        let (reference, candidate) = read_both((reference, of_reference), (candidate, of_candidate), watch)?;
        let (structure, candidate_rows) = examine((&selections.0, &reference), (&selections.1, &candidate));
        let columns = Resolved { reference: Named::of(&selections.0), candidate: Named::of(&selections.1) };
        Ok(Comparison { columns, structure, reference, candidate, candidate_rows, scalars: None })
    }

    /// Two training logs, a step being a row.
    fn of_logs(reference: &Path, candidate: &Path, columns: &Columns) -> Result<Self, Error> {
        let log = Log::read(reference, columns)?;
        let (other, differ) = Log::read_like(candidate, &log, columns)?;
        let table = |path: &Path, log: &Log| {
            let next = "report this".to_owned();
            log.table().map_err(|what| Error::Log { path: path.to_path_buf(), what, next })
        };
        let (of_reference, reference) = table(reference, &log)?;
        let (of_candidate, candidate) = table(candidate, &other)?;
        let (mut structure, mut candidate_rows) = examine((&of_reference, &reference), (&of_candidate, &candidate));
        for obstacle in &mut structure.obstacles {
            obstacle.message = of_steps(&obstacle.message);
        }
        if let Some(message) = differ {
            // That the vectors are then of other lengths is the same finding in other words.
            structure.obstacles.retain(|obstacle| obstacle.kind != ObstacleKind::DimensionsDiffer);
            let rows = structure.rows_candidate;
            let kind = ObstacleKind::ColumnsDiffer;
            structure.obstacles.insert(0, Obstacle { kind, side: None, rows, ids: Vec::new(), message });
            candidate_rows = None;
        }
        let columns = Resolved { reference: Named::of(&of_reference), candidate: Named::of(&of_candidate) };
        let scalars = Some((log.scalars, log.sparse));
        Ok(Comparison { columns, structure, reference, candidate, candidate_rows, scalars })
    }

    /// Of training logs, which they are where the reference is one: the names of the scalars compared, in the order of
    /// a row's values, and of those that the reference has and that were left out, because not every step has them and
    /// nobody named them.
    pub fn scalars(&self) -> Option<(&[String], &[String])> {
        self.scalars.as_ref().map(|(names, sparse)| (names.as_slice(), sparse.as_slice()))
    }

    /// The names of the columns that were read on each side.
    pub fn columns(&self) -> Resolved {
        self.columns.clone()
    }

    /// What can be said of both files before any criterion.
    pub fn structure(&self) -> &Structure {
        &self.structure
    }

    /// True if there is no obstacle, so that rows can be handed out.
    pub fn comparable(&self) -> bool {
        self.candidate_rows.is_some()
    }

    /// A digest of the candidate's ids and vectors as 64 lower-case hexadecimal digits: the same for every file or
    /// folder that holds the same rows, in whatever order, row groups, parts, codec, encoding or list layout, with
    /// values stored in any type that holds them exactly.
    ///
    /// It is for recognising a re-encoded copy of content seen before, which [`crate::file_digest`] cannot. One changed
    /// value, one vector under another id or one row more makes another content; −0 is not 0. Labels and other
    /// columns have no part in it, nor has the type of the ids beyond their texts. Files that are not comparable have a
    /// digest too: nulls, NaN and ragged rows count as what they are. It tells accidents apart, not forgeries: sums of
    /// digests can be steered by whoever may choose many rows, so rest a proof on the digests of the files.
    ///
    /// With ‖ for concatenation and every number little-endian, a row's digest is SHA-256 over: the length of its id in
    /// UTF-8 (u64) ‖ the id ‖ the number of values (u64) ‖ each value as float64. Any NaN is 0x7ff8000000000000, a null
    /// element 2⁶⁴ − 1, a null id the length 2⁶⁴ − 1 and no text, a null vector 0 values and one byte 0xff. The result
    /// is SHA-256 over: the sum of the rows' digests as 256-bit numbers, modulo 2²⁵⁶ ‖ the number of rows (u64).
    ///
    /// Takes time for 8 bytes a value at the speed of SHA-256, at every call; no memory beyond a few KiB.
    pub fn content_digest(&self) -> String {
        content_digest(&self.candidate)
    }

    /// As [`Comparison::content_digest`], of the reference.
    pub fn reference_content_digest(&self) -> String {
        content_digest(&self.reference)
    }

    /// The measures that need all rows, each as one value for each row in the reference's order; `None` in the place of
    /// any other measure. Zero vectors, which have no cosine with anything, are named instead, and the values left NaN.
    ///
    /// `threads` is how many may compute; the values do not depend on it.
    ///
    /// # Errors
    /// [`Error::NotComparable`], [`Error::TooManyClasses`], [`Error::Interrupted`].
    pub fn measures(
        &self,
        measures: &[Measure],
        threads: usize,
        watch: &dyn Watch,
    ) -> Result<(Vec<Option<Vec<f64>>>, MeasureTrouble), Error> {
        let mut trouble = MeasureTrouble::default();
        if !measures.iter().any(Measure::needs_all_rows) {
            return Ok((measures.iter().map(|_| None).collect(), trouble));
        }
        let Some(candidate_rows) = &self.candidate_rows else { return Err(self.not_comparable()) };
        let (rows, dims) = (candidate_rows.len(), self.structure.dims_reference as usize);
        let reference = Units::new(&self.reference.vectors, None, dims);
        let candidate = Units::new(&self.candidate.vectors, Some(candidate_rows), dims);
        let mut unit = vec![0.0; dims];
        for row in 0..rows {
            if !(reference.write(row, &mut unit) & candidate.write(row, &mut unit)) {
                trouble.zero_norm.push(self.reference.ids.get(row).to_owned());
            }
        }
        let no_values = trouble != MeasureTrouble::default();
        let sides = [&reference, &candidate];
        let ids = &self.reference.ids;
        let mut known: Vec<(Neighbours, Kept)> = Vec::new();
        let mut lists = Vec::with_capacity(measures.len());
        for measure in measures {
            lists.push(match measure {
                measure if !measure.needs_all_rows() => None,
                _ if no_values => Some(vec![f64::NAN; rows]),
                Measure::NeighboursKept(asked) | Measure::NeighboursTied(asked) => {
                    if !known.iter().any(|(earlier, _)| earlier == asked) {
                        let queries = neighbours::queries(ids, asked.queries);
                        known.push((*asked, neighbours::kept(sides, ids, &queries, asked.k, threads, watch)?));
                    }
                    let found = known.iter().find(|(earlier, _)| earlier == asked);
                    let tied = matches!(measure, Measure::NeighboursTied(_));
                    found.map(|(_, kept)| if tied { kept.tied.clone() } else { kept.share.clone() })
                }
                _ => Some(centroids::kept(sides, ids, self.reference.labels.as_ref(), watch)?),
            });
        }
        Ok((lists, trouble))
    }

    fn not_comparable(&self) -> Error {
        Error::NotComparable {
            obstacles: self.structure.obstacles.len(),
            first: self.structure.obstacles.first().map(|o| o.message.clone()).unwrap_or_default(),
        }
    }

    /// A pass over all matched rows in the reference's order, in batches of at most `max_rows` (at least 1). Every call
    /// starts a new pass.
    ///
    /// # Errors
    /// [`Error::NotComparable`].
    pub fn batches(&self, max_rows: usize) -> Result<Batches<'_>, Error> {
        match &self.candidate_rows {
            Some(candidate_rows) => Ok(Batches {
                reference: &self.reference,
                candidate: &self.candidate,
                candidate_rows,
                dims: self.structure.dims_reference as usize,
                max_rows: max_rows.max(1),
                text_limit: u32::MAX as u64,
                next: 0,
            }),
            None => Err(self.not_comparable()),
        }
    }
}

/// The words of a finding about rows, for rows that are steps.
fn of_steps(message: &str) -> String {
    let mut message = message.to_owned();
    for (of_rows, of_steps) in [
        ("null elements", "missing scalars"),
        ("null element", "missing scalar"),
        ("null ids", "rows without a step"),
        ("null id", "row without a step"),
        ("ids of the", "steps of the"),
        ("id of the", "step of the"),
        ("ids stand", "steps stand"),
        ("id stands", "step stands"),
        ("in 1 row:", "in 1 step:"),
        (" rows: `", " steps: `"),
        ("has no rows", "has no steps"),
    ] {
        message = message.replace(of_rows, of_steps);
    }
    message
}

/// Reads both tables, each on a thread of its own, while this thread reports to the watcher.
fn read_both(
    reference: (&Path, Source),
    candidate: (&Path, Source),
    watch: &dyn Watch,
) -> Result<(Table, Table), Error> {
    let total = reference.1.rows.saturating_add(candidate.1.rows);
    let stop = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        let reader = |(path, source): (&Path, Source), sender: Sender<u64>| {
            let work = move || source.read(&|rows| sender.send(rows).is_ok() && !stop.load(Ordering::Relaxed));
            Builder::new().name("parquet-reader".into()).spawn_scoped(scope, work).map_err(|e| failed(path, e))
        };
        let readers = (reader(reference, sender.clone())?, reader(candidate, sender)?);
        let mut done = 0;
        // The readers' senders are gone when both have ended.
        loop {
            match receiver.recv_timeout(PATIENCE) {
                Ok(rows) => {
                    done += rows;
                    watch.progress(done, total);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if watch.interrupted() {
                stop.store(true, Ordering::Relaxed);
            }
        }
        // A panic beyond the guard of the decoder is a fault of this program and is passed on as one.
        let ending = |table: std::thread::Result<Result<Table, Option<Error>>>| {
            let table = table.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            table.map_err(|error| error.unwrap_or(Error::Interrupted { done, total }))
        };
        let (reference, candidate) = (ending(readers.0.join()), ending(readers.1.join()));
        Ok((reference?, candidate?))
    })
}

/// One pass over matched rows.
pub struct Batches<'a> {
    reference: &'a Table,
    candidate: &'a Table,
    candidate_rows: &'a [usize],
    dims: usize,
    max_rows: usize,
    /// Bytes that the texts of one batch may take: what their ends can address.
    text_limit: u64,
    next: usize,
}

impl Batches<'_> {
    /// An empty batch of the right kind, to be filled again and again.
    pub fn buffer(&self) -> AlignedBatch {
        AlignedBatch {
            ids: Texts::default(),
            labels: Texts::default(),
            candidate_labels: Texts::default(),
            dims: self.dims,
            reference: self.empty(),
            candidate: self.empty(),
        }
    }

    /// Rows that have not been handed out yet.
    pub fn rows_left(&self) -> usize {
        self.candidate_rows.len() - self.next
    }

    /// Replaces the content of `into` by the next rows, keeping its memory. False, and an empty batch, after the last.
    ///
    /// # Errors
    /// [`Error::TextTooLong`] if a single id or label exceeds 4 GiB.
    pub fn next_batch(&mut self, into: &mut AlignedBatch) -> Result<bool, Error> {
        into.ids.clear();
        into.labels.clear();
        into.candidate_labels.clear();
        into.dims = self.dims;
        for side in [&mut into.reference, &mut into.candidate] {
            self.make_empty(side);
        }
        let end = self.candidate_rows.len().min(self.next.saturating_add(self.max_rows));
        let first = self.next;
        while self.next < end && self.push_texts(into)? {
            self.next += 1;
        }
        let rows = first..self.next;
        let values = self.reference.vectors.range_of(rows.clone());
        copy(&self.reference.vectors.values, values, &mut into.reference);
        for row in rows {
            let values = self.candidate.vectors.range(self.candidate_rows[row]);
            copy(&self.candidate.vectors.values, values, &mut into.candidate);
        }
        Ok(self.next > first)
    }

    /// Adds id and label of the next row; false if the batch has no room for them.
    fn push_texts(&self, into: &mut AlignedBatch) -> Result<bool, Error> {
        let in_candidate = self.candidate_rows[self.next];
        let texts: [(Option<&TextColumn>, usize, &mut Texts); 3] = [
            (Some(&self.reference.ids), self.next, &mut into.ids),
            (self.reference.labels.as_ref(), self.next, &mut into.labels),
            (self.candidate.labels.as_ref(), in_candidate, &mut into.candidate_labels),
        ];
        for (column, row, texts) in &texts {
            let bytes = column.map_or(0, |c| c.get(*row).len() as u64);
            if texts.bytes.len() as u64 + bytes > self.text_limit {
                return match bytes > self.text_limit {
                    true => Err(Error::TextTooLong { row: self.next as u64, bytes }),
                    false => Ok(false),
                };
            }
        }
        for (column, row, texts) in texts {
            if let Some(column) = column {
                texts.push(column.get(row));
            }
        }
        Ok(true)
    }

    /// True if both sides fit float32.
    fn narrow(&self) -> bool {
        let narrow = |column: &VectorColumn| matches!(column.values, Values::F32(_));
        narrow(&self.reference.vectors) && narrow(&self.candidate.vectors)
    }

    fn empty(&self) -> Vectors {
        if self.narrow() { Vectors::F32(Vec::new()) } else { Vectors::F64(Vec::new()) }
    }

    fn make_empty(&self, side: &mut Vectors) {
        match (side, self.narrow()) {
            (Vectors::F32(values), true) => values.clear(),
            (Vectors::F64(values), false) => values.clear(),
            (side, _) => *side = self.empty(),
        }
    }
}

/// Adds the values at `range` to `into`, widened where it is wider.
fn copy(from: &Values, range: std::ops::Range<usize>, into: &mut Vectors) {
    match (from, into) {
        (Values::F32(from), Vectors::F32(into)) => into.extend_from_slice(&from[range]),
        (Values::F32(from), Vectors::F64(into)) => into.extend(from[range].iter().map(|v| f64::from(*v))),
        (Values::F64(from), Vectors::F64(into)) => into.extend_from_slice(&from[range]),
        // `narrow` makes both sides wide as soon as one is.
        (Values::F64(_), Vectors::F32(_)) => unreachable!("float64 values for a float32 batch"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    struct Unwatched;

    impl Watch for Unwatched {
        fn progress(&self, _: u64, _: u64) {}
        fn interrupted(&self) -> bool {
            false
        }
    }

    #[test]
    fn a_batch_ends_where_the_texts_it_can_address_end() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/layouts/data/plain.parquet");
        let comparison = Comparison::open(&file, &file, &Columns::default(), &Unwatched).unwrap();
        let mut batches = comparison.batches(1000).unwrap();
        let mut batch = batches.buffer();
        // Each id has ten bytes.
        batches.text_limit = 35;
        let mut sizes = Vec::new();
        while batches.next_batch(&mut batch).unwrap() {
            sizes.push(batch.rows());
            assert_eq!(batch.reference.len(), batch.rows() * 16);
        }
        assert_eq!((sizes.len(), sizes[0], sizes[33]), (34, 3, 1));
        let mut batches = comparison.batches(1000).unwrap();
        batches.text_limit = 9;
        let error = batches.next_batch(&mut batch).unwrap_err();
        assert!(matches!(error, Error::TextTooLong { row: 0, bytes: 10 }), "{error}");
    }
}
