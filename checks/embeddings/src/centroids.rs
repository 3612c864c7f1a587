//! The nearest class centroid of every row, on both sides: whether a plain classifier built on the vectors still says the
//! same.

use std::collections::BTreeMap;

use fascicolo_contract::measure::{dot, unit};

use crate::texts::TextColumn;
use crate::units::Units;
use crate::{Error, Watch};

/// Classes that a column of labels may have.
pub(crate) const CLASSES: usize = 1024;
/// Rows between two questions to the watcher.
const ROWS: usize = 1024;

/// The class of every row: that whose centroid, the mean of its rows' unit vectors, has the largest cosine with the row;
/// among equals the bytewise first label. A class whose unit vectors cancel out has no centroid. Sums run in the bytewise
/// order of ids, so that the order of rows in a file has no part in them.
fn nearest(
    side: &Units<'_>,
    classes: &[Vec<usize>],
    rows: usize,
    progress: &dyn Fn(u64) -> Result<(), Error>,
) -> Result<Vec<usize>, Error> {
    let dims = side.dims();
    let mut row_unit = vec![0.0; dims];
    let mut centroids = vec![0.0; classes.len() * dims];
    for (class, centroid) in classes.iter().zip(centroids.chunks_exact_mut(dims)) {
        let mut sum = vec![0.0; dims];
        for row in class {
            side.write(*row, &mut row_unit);
            sum.iter_mut().zip(&row_unit).for_each(|(sum, value)| *sum += value);
        }
        // Its direction is that of the mean. Without one it is left at zeros, with which every cosine is 0.
        unit(&sum, centroid);
    }
    let has_direction: Vec<bool> = centroids.chunks_exact(dims).map(|c| c.iter().any(|v| *v != 0.0)).collect();
    let mut found = Vec::with_capacity(rows);
    for row in 0..rows {
        if row % ROWS == 0 {
            progress(row as u64)?;
        }
        side.write(row, &mut row_unit);
        let mut best = (0, f64::NEG_INFINITY);
        for (class, centroid) in centroids.chunks_exact(dims).enumerate().filter(|(class, _)| has_direction[*class]) {
            let cosine = dot(&row_unit, centroid);
            if cosine > best.1 {
                best = (class, cosine);
            }
        }
        found.push(best.0);
    }
    Ok(found)
}

/// 1 for each row that the nearest centroid gives the same label on both sides, else 0. Both sides' classes are those of
/// `labels`, the reference's.
///
/// # Errors
/// [`Error::TooManyClasses`], [`Error::Interrupted`].
pub(crate) fn kept(
    sides: [&Units<'_>; 2],
    ids: &TextColumn,
    labels: Option<&TextColumn>,
    watch: &dyn Watch,
) -> Result<Vec<f64>, Error> {
    let rows = ids.rows();
    let mut order: Vec<usize> = (0..rows).collect();
    order.sort_unstable_by(|a, b| ids.get(*a).as_bytes().cmp(ids.get(*b).as_bytes()));
    let mut by_label: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for row in order {
        // Without labels all rows are of one class.
        let label = labels.map_or("", |labels| labels.get(row));
        by_label.entry(label).or_default().push(row);
        if by_label.len() > CLASSES {
            return Err(Error::TooManyClasses { label: label.to_owned() });
        }
    }
    let classes: Vec<Vec<usize>> = by_label.into_values().collect();
    let total = 2 * rows as u64;
    let progress = |done: u64| {
        watch.progress(done, total);
        if watch.interrupted() { Err(Error::Interrupted { done, total }) } else { Ok(()) }
    };
    let [r, c] = sides;
    let of_reference = nearest(r, &classes, rows, &progress)?;
    let of_candidate = nearest(c, &classes, rows, &|done| progress(rows as u64 + done))?;
    Ok(of_reference.iter().zip(&of_candidate).map(|(r, c)| f64::from(u8::from(r == c))).collect())
}
