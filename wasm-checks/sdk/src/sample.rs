//! A sample of rows that nobody can choose by where they stand: for figures that need many rows at once.

use crate::accumulate::{Accumulator, Saved, put_number, put_text};
use crate::linear::Matrix;
use crate::row::Vector;
use crate::sha256::sha256;
use std::collections::BTreeMap;

/// Both sides' vectors of the `n` rows whose ids have the smallest SHA-256 (all rows, if there are no more), in the order
/// of their ids, bytewise. The seal fixes `n` and with it the rows, whatever their order in the files.
///
/// Takes 4 bytes for each value of float32, else 8; a state beyond 16 MiB is refused by the host: some 5,000 rows of 384
/// values, 500 of 4,096.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    /// By the digest of the id, which two ids do not share.
    rows: BTreeMap<[u8; 32], Drawn>,
    size: f64,
    uneven: Option<f64>,
}

#[derive(Debug, Clone)]
struct Drawn {
    id: String,
    sides: [Values; 2],
}

#[derive(Debug, Clone)]
enum Values {
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Values {
    fn of(vector: Vector<'_>) -> Values {
        match vector {
            Vector::F32(v) => Values::F32(v.to_vec()),
            Vector::F64(v) => Values::F64(v.to_vec()),
        }
    }

    fn view(&self) -> Vector<'_> {
        match self {
            Values::F32(v) => Vector::F32(v),
            Values::F64(v) => Vector::F64(v),
        }
    }
}

impl Sample {
    /// Sees one row; `n`, a whole number above 0, is the same for every row: a parameter.
    pub fn add(&mut self, n: f64, id: &str, reference: Vector<'_>, candidate: Vector<'_>) {
        if n.fract() != 0.0 || !(1.0..=f64::from(u32::MAX)).contains(&n) {
            self.uneven = Some(n);
            return;
        }
        self.size = n;
        let digest = sha256(id.as_bytes());
        if self.full() && self.rows.last_key_value().is_some_and(|(last, _)| digest >= *last) {
            return;
        }
        self.keep(digest, Drawn { id: id.to_owned(), sides: [Values::of(reference), Values::of(candidate)] });
    }

    fn full(&self) -> bool {
        self.rows.len() as f64 >= self.size
    }

    fn keep(&mut self, digest: [u8; 32], row: Drawn) {
        self.rows.insert(digest, row);
        if self.rows.len() as f64 > self.size {
            self.rows.pop_last();
        }
    }

    /// Rows drawn so far.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True before the first row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Values of a row; 0 before the first row.
    pub fn dims(&self) -> usize {
        self.rows.first_key_value().map_or(0, |(_, row)| row.sides[0].view().len())
    }

    fn by_id(&self) -> Vec<&Drawn> {
        let mut rows: Vec<&Drawn> = self.rows.values().collect();
        rows.sort_by(|a, b| a.id.as_bytes().cmp(b.id.as_bytes()));
        rows
    }

    /// The ids, ascending.
    pub fn ids(&self) -> Vec<&str> {
        self.by_id().into_iter().map(|row| row.id.as_str()).collect()
    }

    fn side(&self, side: usize) -> Matrix {
        let rows = self.by_id();
        let columns = rows.first().map_or(0, |row| row.sides[side].view().len());
        let mut matrix = Matrix::zeros(rows.len(), columns);
        for (i, row) in rows.iter().enumerate() {
            matrix.row_mut(i).iter_mut().zip(row.sides[side].view().iter()).for_each(|(to, from)| *to = from);
        }
        matrix
    }

    /// The reference's vectors, a row each in the order of [`Sample::ids`].
    pub fn reference(&self) -> Matrix {
        self.side(0)
    }

    /// The candidate's vectors of the same rows.
    pub fn candidate(&self) -> Matrix {
        self.side(1)
    }
}

impl Accumulator for Sample {
    fn save(&self, into: &mut Vec<u8>) {
        put_number(into, self.size.to_bits());
        put_number(into, u64::from(self.uneven.is_some()));
        put_number(into, self.uneven.unwrap_or(0.0).to_bits());
        put_number(into, self.rows.len() as u64);
        for row in self.rows.values() {
            put_text(into, &row.id);
            for side in &row.sides {
                match side {
                    Values::F32(v) => {
                        put_number(into, v.len() as u64 * 2);
                        v.iter().for_each(|value| into.extend_from_slice(&value.to_bits().to_le_bytes()));
                    }
                    Values::F64(v) => {
                        put_number(into, v.len() as u64 * 2 + 1);
                        v.iter().for_each(|value| put_number(into, value.to_bits()));
                    }
                }
            }
        }
    }

    fn merge(&mut self, from: &mut Saved<'_>) -> Result<(), String> {
        let size = f64::from_bits(from.number()?);
        self.size = self.size.max(size);
        let troubled = from.number()? != 0;
        let uneven = f64::from_bits(from.number()?);
        if troubled {
            self.uneven = Some(uneven);
        }
        for _ in 0..from.number()? {
            let id = from.text()?;
            let sides = [values(from)?, values(from)?];
            self.keep(sha256(id.as_bytes()), Drawn { id, sides });
        }
        Ok(())
    }

    fn trouble(&self) -> Option<String> {
        self.uneven.map(|n| format!("a sample of {n} rows was asked for; it takes a whole number of them, above 0"))
    }
}

fn values(from: &mut Saved<'_>) -> Result<Values, String> {
    let marked = from.number()?;
    let length = (marked / 2) as usize;
    // A length that lies is found by the bytes, before memory is asked for.
    if marked % 2 == 0 {
        let bytes = from.take(length.saturating_mul(4))?;
        Ok(Values::F32(bytes.as_chunks().0.iter().map(|b| f32::from_bits(u32::from_le_bytes(*b))).collect()))
    } else {
        let bytes = from.take(length.saturating_mul(8))?;
        Ok(Values::F64(bytes.as_chunks().0.iter().map(|b| f64::from_bits(u64::from_le_bytes(*b))).collect()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn fill(sample: &mut Sample, n: f64, rows: impl Iterator<Item = usize>) {
        for i in rows {
            let (r, c) = ([i as f32, 1.0], [i as f64 + 0.5, 2.0]);
            sample.add(n, &format!("row {i}"), Vector::F32(&r), Vector::F64(&c));
        }
    }

    #[test]
    fn the_rows_with_the_smallest_digests_are_drawn_in_any_order_and_split() {
        let mut whole = Sample::default();
        fill(&mut whole, 7.0, 0..300);
        let mut merged = Sample::default();
        for part in [200..300, 0..90, 90..200] {
            let (mut sample, mut bytes) = (Sample::default(), Vec::new());
            fill(&mut sample, 7.0, part.rev());
            sample.save(&mut bytes);
            let mut saved = Saved(&bytes);
            merged.merge(&mut saved).unwrap();
            assert!(saved.0.is_empty());
        }
        let (mut a, mut b) = (Vec::new(), Vec::new());
        whole.save(&mut a);
        merged.save(&mut b);
        assert_eq!(a, b);

        let mut digests: Vec<([u8; 32], String)> =
            (0..300).map(|i| format!("row {i}")).map(|id| (sha256(id.as_bytes()), id)).collect();
        digests.sort();
        let mut expected: Vec<&str> = digests[..7].iter().map(|(_, id)| id.as_str()).collect();
        expected.sort();
        assert_eq!(whole.ids(), expected);
        for (row, id) in whole.ids().iter().enumerate() {
            let number: f64 = id[4..].parse().unwrap();
            assert_eq!(whole.reference().row(row), [number, 1.0]);
            assert_eq!(whole.candidate().row(row), [number + 0.5, 2.0]);
        }
    }

    #[test]
    fn fewer_rows_than_asked_for_are_all_drawn() {
        let mut sample = Sample::default();
        fill(&mut sample, 100.0, 0..3);
        assert_eq!((sample.len(), sample.reference().rows(), sample.trouble()), (3, 3, None));
    }

    #[test]
    fn a_sample_of_no_whole_number_of_rows_is_trouble() {
        for n in [0.0, 2.5, -1.0, f64::NAN] {
            let mut sample = Sample::default();
            fill(&mut sample, n, 0..3);
            assert!(sample.trouble().unwrap().contains("a whole number"), "{n}");
        }
    }
}
