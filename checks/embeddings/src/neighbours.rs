//! The nearest rows of a row, on both sides: what of a neighbourhood the candidate keeps.
//!
//! Each similarity is one sum in fixed lanes over two unit vectors in float64, and no sum depends on how rows are
//! divided among threads: the same bits for any number of them. Equal rows have equal similarities to any other row.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::Duration;

use fascicolo_contract::measure::dot;
use sha2::{Digest, Sha256};

use crate::texts::TextColumn;
use crate::units::Units;
use crate::{Error, Watch};

/// Query rows that a thread holds at a time, at most: as unit vectors of 384 they fit a processor's second cache.
const QUERIES: usize = 64;
/// Rows that all of these are compared with before the next ones are made: they fit the first cache.
const ROWS: usize = 8;
/// How long the watcher may stay unasked.
const PATIENCE: Duration = Duration::from_millis(100);

/// What was found for each row of the reference; NaN for a row that is no query.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Kept {
    /// The share of the k nearest in the reference that are among the k nearest in the candidate.
    pub share: Vec<f64>,
    /// 1 where on either side the k-th and the next one are equally near, so that their ids decided; else 0.
    pub tied: Vec<f64>,
}

/// The rows to ask for, ascending: the `count` whose ids have the smallest SHA-256. Nobody can choose them by where the
/// rows stand, and they are the same in any order of rows.
pub(crate) fn queries(ids: &TextColumn, count: usize) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..ids.rows()).collect();
    if count < rows.len() {
        rows.sort_by_cached_key(|row| <[u8; 32]>::from(Sha256::digest(ids.get(*row))));
        rows.truncate(count);
        rows.sort_unstable();
    }
    rows
}

/// Compares the `k` nearest rows of each query on both sides, by cosine, the row itself left out; among equally near ones
/// the bytewise smallest ids are nearest. Fewer rows than `k` besides the query are all its nearest.
///
/// `sides`: reference and candidate in the reference's order, without a zero vector.
///
/// # Errors
/// [`Error::Interrupted`].
pub(crate) fn kept(
    sides: [&Units<'_>; 2],
    ids: &TextColumn,
    queries: &[usize],
    k: usize,
    threads: usize,
    watch: &dyn Watch,
) -> Result<Kept, Error> {
    let rows = ids.rows();
    let mut found = Kept { share: vec![f64::NAN; rows], tied: vec![f64::NAN; rows] };
    let k = k.min(rows.saturating_sub(1));
    if k == 0 {
        return Ok(found);
    }
    let (next, stop, done) = (&AtomicUsize::new(0), &AtomicBool::new(false), &AtomicU64::new(0));
    let total = 2 * queries.len() as u64 * rows as u64;
    // Few queries are shared among the threads too.
    let blocks: Vec<&[usize]> = queries.chunks(queries.len().div_ceil(threads.max(1)).clamp(1, QUERIES)).collect();
    let work = |send: &dyn Fn(usize, f64, bool)| {
        let halted = |rows: usize| {
            done.fetch_add(rows as u64, Ordering::Relaxed);
            stop.load(Ordering::Relaxed)
        };
        while let Some(block) = blocks.get(next.fetch_add(1, Ordering::Relaxed)) {
            let of = sides.map(|side| nearest(side, ids, block, k, &halted));
            let [Some(of_reference), Some(of_candidate)] = of else { return };
            for ((query, r), c) in block.iter().zip(of_reference).zip(of_candidate) {
                let (r, r_tied) = r.finish(k);
                let (c, c_tied) = c.finish(k);
                let both = r.iter().filter(|row| c.binary_search(row).is_ok()).count();
                send(*query, both as f64 / k as f64, r_tied || c_tied);
            }
        }
    };
    let run = |sender: Sender<(usize, f64, bool)>| {
        work(&|query, share, tied| {
            // The receiver waits for the last sender.
            let _ = sender.send((query, share, tied));
        });
    };
    let run = &run;
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        let mut started = 0;
        for _ in 0..threads.clamp(1, blocks.len().max(1)) {
            let sender = sender.clone();
            let thread = Builder::new().name("neighbours".into()).spawn_scoped(scope, move || run(sender));
            started += usize::from(thread.is_ok());
        }
        // A system without a thread to spare: this one does it all, and asks the watcher afterwards.
        if started == 0 {
            run(sender);
        } else {
            drop(sender);
        }
        loop {
            match receiver.recv_timeout(PATIENCE) {
                Ok((query, share, tied)) => {
                    found.share[query] = share;
                    found.tied[query] = f64::from(u8::from(tied));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            watch.progress(done.load(Ordering::Relaxed), total);
            if watch.interrupted() {
                stop.store(true, Ordering::Relaxed);
            }
        }
    });
    match queries.iter().all(|query| !found.share[*query].is_nan()) {
        true => Ok(found),
        false => Err(Error::Interrupted { done: done.load(Ordering::Relaxed), total }),
    }
}

/// The nearest of each query of a block; `None` if halted.
fn nearest<'a>(
    side: &Units<'_>,
    ids: &'a TextColumn,
    block: &[usize],
    k: usize,
    halted: &dyn Fn(usize) -> bool,
) -> Option<Vec<Nearest<'a>>> {
    let dims = side.dims();
    let mut units = vec![0.0; block.len() * dims];
    for (query, unit) in block.iter().zip(units.chunks_exact_mut(dims)) {
        side.write(*query, unit);
    }
    let mut lists: Vec<Nearest<'a>> = block.iter().map(|_| Nearest::new(ids, k)).collect();
    let mut others = vec![0.0; ROWS * dims];
    for first in (0..ids.rows()).step_by(ROWS) {
        let rows = first..ids.rows().min(first + ROWS);
        for (row, unit) in rows.clone().zip(others.chunks_exact_mut(dims)) {
            side.write(row, unit);
        }
        for ((query, unit), list) in block.iter().zip(units.chunks_exact(dims)).zip(&mut lists) {
            for (row, other) in rows.clone().zip(others.chunks_exact(dims)) {
                if row != *query {
                    list.offer(dot(unit, other), row);
                }
            }
        }
        if halted(rows.len() * block.len()) {
            return None;
        }
    }
    Some(lists)
}

/// The nearest rows seen so far, nearest first, and one more: it tells whether the last place was tied.
struct Nearest<'a> {
    ids: &'a TextColumn,
    places: usize,
    rows: Vec<(f64, usize)>,
}

impl<'a> Nearest<'a> {
    fn new(ids: &'a TextColumn, k: usize) -> Self {
        Nearest { ids, places: k + 1, rows: Vec::with_capacity(k + 2) }
    }

    fn offer(&mut self, similarity: f64, row: usize) {
        if self.rows.len() == self.places && self.rows.last().is_some_and(|last| similarity < last.0) {
            return;
        }
        let ids = self.ids;
        let before = |other: &(f64, usize)| {
            other.0 > similarity || (other.0 == similarity && ids.get(other.1).as_bytes() < ids.get(row).as_bytes())
        };
        let place = self.rows.partition_point(before);
        self.rows.insert(place, (similarity, row));
        self.rows.truncate(self.places);
    }

    /// The nearest rows, ascending by place in the file, and whether the last of them was tied with another one.
    fn finish(mut self, k: usize) -> (Vec<usize>, bool) {
        let tied = self.rows.len() > k && self.rows[k - 1].0 == self.rows[k].0;
        self.rows.truncate(k);
        let mut rows: Vec<usize> = self.rows.into_iter().map(|(_, row)| row).collect();
        rows.sort_unstable();
        (rows, tied)
    }
}
