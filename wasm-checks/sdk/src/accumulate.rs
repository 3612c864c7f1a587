//! What a criterion may remember: accumulators that merge, and give the same bits in any order of rows.

use crate::contract::{Bin, WorstRow};
use crate::exact::ExactSum;
use std::collections::BTreeMap;

/// Something that sees rows one after the other, and can be taken out and merged.
pub trait Accumulator: Default {
    /// Writes the state.
    fn save(&self, into: &mut Vec<u8>);
    /// Adds a state written by [`Accumulator::save`].
    fn merge(&mut self, from: &mut Saved<'_>) -> Result<(), String>;
    /// The first value that was not a number, with its row, if there was one.
    fn trouble(&self) -> Option<String> {
        None
    }
}

/// A saved state being read.
pub struct Saved<'a>(pub &'a [u8]);

impl<'a> Saved<'a> {
    pub(crate) fn take(&mut self, bytes: usize) -> Result<&'a [u8], String> {
        if bytes > self.0.len() {
            return Err("the saved state ends too early".to_owned());
        }
        let (head, rest) = self.0.split_at(bytes);
        self.0 = rest;
        Ok(head)
    }

    pub(crate) fn number(&mut self) -> Result<u64, String> {
        let bytes = self.take(8)?;
        Ok(bytes.iter().rev().fold(0, |n, &b| (n << 8) | u64::from(b)))
    }

    pub(crate) fn text(&mut self) -> Result<String, String> {
        let length = self.number()? as usize;
        String::from_utf8(self.take(length)?.to_vec()).map_err(|_| "the saved state holds a broken text".to_owned())
    }
}

pub(crate) fn put_number(into: &mut Vec<u8>, number: u64) {
    into.extend_from_slice(&number.to_le_bytes());
}

pub(crate) fn put_text(into: &mut Vec<u8>, text: &str) {
    put_number(into, text.len() as u64);
    into.extend_from_slice(text.as_bytes());
}

/// A figure's number, and the rows behind it.
pub trait Shown {
    /// The number.
    fn number(&self) -> f64;
    /// The rows behind it, worst first.
    fn rows(&self) -> Vec<WorstRow> {
        Vec::new()
    }
}

/// A number, and the rows behind it kept elsewhere: `&(&state.differing, &state.ids)`.
impl<A: Shown, B: Shown> Shown for (&A, &B) {
    fn number(&self) -> f64 {
        self.0.number()
    }

    fn rows(&self) -> Vec<WorstRow> {
        self.1.rows()
    }
}

impl Shown for f64 {
    fn number(&self) -> f64 {
        *self
    }
}

/// How many rows, or how many of something.
#[derive(Debug, Clone, Default)]
pub struct Count(u64);

impl Count {
    /// One more.
    pub fn add(&mut self) {
        self.0 += 1;
    }

    /// One more if `condition` holds.
    pub fn add_if(&mut self, condition: bool) {
        self.0 += u64::from(condition);
    }

    /// `n` more.
    pub fn add_many(&mut self, n: u64) {
        self.0 += n;
    }

    /// The count.
    pub fn value(&self) -> u64 {
        self.0
    }
}

impl Accumulator for Count {
    fn save(&self, into: &mut Vec<u8>) {
        put_number(into, self.0);
    }

    fn merge(&mut self, from: &mut Saved<'_>) -> Result<(), String> {
        self.0 += from.number()?;
        Ok(())
    }
}

impl Shown for Count {
    fn number(&self) -> f64 {
        self.0 as f64
    }
}

/// A sum that rounds once, at the end: exact in any order.
#[derive(Debug, Clone, Default)]
pub struct Sum {
    sum: ExactSum,
    not_finite: u64,
}

impl Sum {
    /// Adds a finite value; anything else makes the whole answer an error, never a figure.
    pub fn add(&mut self, value: f64) {
        if value.is_finite() {
            self.sum.add(value);
        } else {
            self.not_finite += 1;
        }
    }

    /// The sum, rounded once to the nearest float64.
    pub fn value(&self) -> f64 {
        self.sum.value()
    }
}

impl Accumulator for Sum {
    fn save(&self, into: &mut Vec<u8>) {
        put_number(into, self.not_finite);
        for limb in self.sum.limbs() {
            put_number(into, limb as u64);
        }
    }

    fn merge(&mut self, from: &mut Saved<'_>) -> Result<(), String> {
        self.not_finite += from.number()?;
        let limbs: Result<Vec<i64>, String> =
            (0..self.sum.limbs().len()).map(|_| from.number().map(|n| n as i64)).collect();
        self.sum.merge(ExactSum::from_limbs(&limbs?).ok_or("the saved state holds a broken sum")?);
        Ok(())
    }

    fn trouble(&self) -> Option<String> {
        (self.not_finite > 0).then(|| format!("{} values given to a sum are not finite", self.not_finite))
    }
}

impl Shown for Sum {
    fn number(&self) -> f64 {
        self.value()
    }
}

/// The arithmetic mean: an exact sum divided by a count.
#[derive(Debug, Clone, Default)]
pub struct Mean {
    sum: Sum,
    count: Count,
}

impl Mean {
    /// Adds a finite value; anything else makes the whole answer an error, never a figure.
    pub fn add(&mut self, value: f64) {
        self.sum.add(value);
        self.count.add();
    }

    /// The mean; NaN before the first value, so that a mean of nothing makes the answer an error and never a figure.
    pub fn value(&self) -> f64 {
        if self.count.value() == 0 { f64::NAN } else { self.sum.value() / self.count.value() as f64 }
    }
}

impl Accumulator for Mean {
    fn save(&self, into: &mut Vec<u8>) {
        self.sum.save(into);
        self.count.save(into);
    }

    fn merge(&mut self, from: &mut Saved<'_>) -> Result<(), String> {
        self.sum.merge(from)?;
        self.count.merge(from)
    }

    fn trouble(&self) -> Option<String> {
        self.sum.trouble()
    }
}

impl Shown for Mean {
    fn number(&self) -> f64 {
        self.value()
    }
}

/// The rows with the N most extreme values, worst first; ties by id, bytewise.
#[derive(Debug, Clone)]
struct Extreme<const N: usize, const HIGH: bool> {
    rows: Vec<(f64, String)>,
    not_a_number: Option<String>,
}

impl<const N: usize, const HIGH: bool> Default for Extreme<N, HIGH> {
    fn default() -> Self {
        Extreme { rows: Vec::new(), not_a_number: None }
    }
}

impl<const N: usize, const HIGH: bool> Extreme<N, HIGH> {
    fn before(a: (f64, &str), b: (f64, &str)) -> bool {
        if a.0 == b.0 { a.1.as_bytes() < b.1.as_bytes() } else { (a.0 > b.0) == HIGH }
    }

    fn add(&mut self, value: f64, id: &str) {
        if value.is_nan() {
            if self.not_a_number.as_deref().is_none_or(|first| id.as_bytes() < first.as_bytes()) {
                self.not_a_number = Some(id.to_owned());
            }
            return;
        }
        let full = self.rows.len() >= N.max(1);
        if full && self.rows.last().is_some_and(|(v, i)| !Self::before((value, id), (*v, i))) {
            return;
        }
        let place = self.rows.partition_point(|(v, i)| Self::before((*v, i), (value, id)));
        self.rows.insert(place, (value, id.to_owned()));
        self.rows.truncate(N.max(1));
    }

    fn save(&self, into: &mut Vec<u8>) {
        put_number(into, u64::from(self.not_a_number.is_some()));
        put_text(into, self.not_a_number.as_deref().unwrap_or(""));
        put_number(into, self.rows.len() as u64);
        for (value, id) in &self.rows {
            put_number(into, value.to_bits());
            put_text(into, id);
        }
    }

    fn merge(&mut self, from: &mut Saved<'_>) -> Result<(), String> {
        let troubled = from.number()? != 0;
        let id = from.text()?;
        if troubled {
            self.add(f64::NAN, &id);
        }
        for _ in 0..from.number()? {
            let value = f64::from_bits(from.number()?);
            let id = from.text()?;
            self.add(value, &id);
        }
        Ok(())
    }

    fn trouble(&self) -> Option<String> {
        self.not_a_number.as_ref().map(|id| format!("the criterion's own value for row `{id}` is not a number"))
    }

    fn worst(&self) -> Vec<WorstRow> {
        self.rows.iter().map(|(value, id)| WorstRow { id: id.clone(), value: *value }).collect()
    }
}

macro_rules! extreme {
    ($name:ident, $high:literal, $what:literal, $none:expr) => {
        #[doc = concat!("The N rows (5 unless said) with the ", $what, " values; ties by id, bytewise.")]
        #[derive(Debug, Clone, Default)]
        pub struct $name<const N: usize = 5>(Extreme<N, $high>);

        impl<const N: usize> $name<N> {
            /// Sees one row's value. A NaN makes the whole answer an error naming the row, never a figure.
            pub fn add(&mut self, value: f64, id: &str) {
                self.0.add(value, id);
            }

            #[doc = concat!("The ", $what, " value; ", stringify!($none), " before the first row.")]
            pub fn value(&self) -> f64 {
                self.0.rows.first().map_or($none, |(value, _)| *value)
            }
        }

        impl<const N: usize> Accumulator for $name<N> {
            fn save(&self, into: &mut Vec<u8>) {
                self.0.save(into);
            }

            fn merge(&mut self, from: &mut Saved<'_>) -> Result<(), String> {
                self.0.merge(from)
            }

            fn trouble(&self) -> Option<String> {
                self.0.trouble()
            }
        }

        impl<const N: usize> Shown for $name<N> {
            fn number(&self) -> f64 {
                self.value()
            }

            fn rows(&self) -> Vec<WorstRow> {
                self.0.worst()
            }
        }
    };
}

extreme!(Highest, true, "highest", f64::NEG_INFINITY);
extreme!(Lowest, false, "lowest", f64::INFINITY);

/// How often each size (absolute value) occurred: eight classes to the octave, so that no range need be known before.
#[derive(Debug, Clone, Default)]
pub struct Spread {
    zeros: u64,
    not_finite: u64,
    /// Leading 14 bits of the float64 pattern → rows.
    classes: BTreeMap<u32, u64>,
}

/// Sign (always 0), 11 bits of exponent and 3 of fraction remain.
const CLASS_SHIFT: u32 = 49;

impl Spread {
    /// Sees one row's value; one that is not finite makes the whole answer an error, never a picture.
    pub fn add(&mut self, value: f64) {
        if !value.is_finite() {
            self.not_finite += 1;
        } else if value == 0.0 {
            self.zeros += 1;
        } else {
            *self.classes.entry((value.abs().to_bits() >> CLASS_SHIFT) as u32).or_default() += 1;
        }
    }

    /// Rows whose value was exactly 0.
    pub fn zeros(&self) -> u64 {
        self.zeros
    }

    /// The classes that occurred, ascending.
    pub fn bins(&self) -> Vec<Bin> {
        // The last class ends at the largest float64; the pattern after it would be infinity.
        let bound = |class: u32| f64::from_bits(u64::from(class) << CLASS_SHIFT).min(f64::MAX);
        self.classes.iter().map(|(&class, &count)| Bin { low: bound(class), high: bound(class + 1), count }).collect()
    }
}

impl Accumulator for Spread {
    fn save(&self, into: &mut Vec<u8>) {
        put_number(into, self.zeros);
        put_number(into, self.not_finite);
        put_number(into, self.classes.len() as u64);
        for (&class, &count) in &self.classes {
            put_number(into, u64::from(class));
            put_number(into, count);
        }
    }

    fn merge(&mut self, from: &mut Saved<'_>) -> Result<(), String> {
        self.zeros += from.number()?;
        self.not_finite += from.number()?;
        for _ in 0..from.number()? {
            let class = from.number()? as u32;
            *self.classes.entry(class).or_default() += from.number()?;
        }
        Ok(())
    }

    fn trouble(&self) -> Option<String> {
        (self.not_finite > 0).then(|| format!("{} values given to a distribution are not finite", self.not_finite))
    }
}

/// How many rows each key, or each pair of keys, has; sorted bytewise. For texts of which there are few, such as labels:
/// more than [`Tally::KEYS`] different ones make the whole answer an error that names one.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    counts: BTreeMap<String, BTreeMap<String, u64>>,
    keys: usize,
}

impl Tally {
    /// Different keys that have a count.
    pub const KEYS: usize = 1024;

    /// One more row with this key.
    pub fn add(&mut self, key: &str) {
        self.add_many(key, "", 1);
    }

    /// One more row with this pair of keys.
    pub fn add_pair(&mut self, first: &str, second: &str) {
        self.add_many(first, second, 1);
    }

    fn add_many(&mut self, first: &str, second: &str, n: u64) {
        if let Some(count) = self.counts.get_mut(first).and_then(|of| of.get_mut(second)) {
            *count += n;
            return;
        }
        self.counts.entry(first.to_owned()).or_default().insert(second.to_owned(), n);
        self.keys += 1;
        // One key too many stays, as the evidence. The smallest ones do, so that the state is the same in any order: a key
        // that fell out has that many below it for good.
        if self.keys > Self::KEYS + 1 {
            if let Some(mut last) = self.counts.last_entry() {
                last.get_mut().pop_last();
                if last.get().is_empty() {
                    last.remove();
                }
            }
            self.keys -= 1;
        }
    }

    /// Rows with this key.
    pub fn count(&self, key: &str) -> u64 {
        self.count_pair(key, "")
    }

    /// Rows with this pair of keys.
    pub fn count_pair(&self, first: &str, second: &str) -> u64 {
        self.counts.get(first).and_then(|of| of.get(second)).copied().unwrap_or(0)
    }

    /// Every pair of keys (the second is empty where single keys were added) with its rows, ascending.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &str, u64)> {
        self.counts
            .iter()
            .flat_map(|(first, of)| of.iter().map(move |(second, count)| (first.as_str(), second.as_str(), *count)))
    }
}

impl Accumulator for Tally {
    fn save(&self, into: &mut Vec<u8>) {
        put_number(into, self.keys as u64);
        for (first, second, count) in self.entries() {
            put_text(into, first);
            put_text(into, second);
            put_number(into, count);
        }
    }

    fn merge(&mut self, from: &mut Saved<'_>) -> Result<(), String> {
        for _ in 0..from.number()? {
            let (first, second) = (from.text()?, from.text()?);
            self.add_many(&first, &second, from.number()?);
        }
        Ok(())
    }

    fn trouble(&self) -> Option<String> {
        let (last, of) = self.counts.last_key_value().filter(|_| self.keys > Self::KEYS)?;
        let second = of.keys().next_back().filter(|key| !key.is_empty());
        let pair = second.map_or_else(|| format!("`{last}`"), |second| format!("`{last}` with `{second}`"));
        Some(format!("a tally holds {} different keys, and {pair} is one more", Self::KEYS))
    }
}

/// The number of different keys.
impl Shown for Tally {
    fn number(&self) -> f64 {
        self.keys as f64
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Rows in order against rows in another order, split in parts and merged: the saved bytes must be equal.
    fn merge_law<A: Accumulator>(add: impl Fn(&mut A, f64, &str)) {
        let rows: Vec<(f64, String)> =
            (0..500).map(|i| ((f64::from(i) * 0.7).sin() * f64::from(i % 13), format!("id{}", i % 97))).collect();
        let mut whole = A::default();
        rows.iter().for_each(|(v, id)| add(&mut whole, *v, id));
        let mut merged = A::default();
        for part in rows.rchunks(37) {
            let mut a = A::default();
            part.iter().rev().for_each(|(v, id)| add(&mut a, *v, id));
            let mut bytes = Vec::new();
            a.save(&mut bytes);
            let mut saved = Saved(&bytes);
            merged.merge(&mut saved).unwrap();
            assert!(saved.0.is_empty());
        }
        let (mut a, mut b) = (Vec::new(), Vec::new());
        whole.save(&mut a);
        merged.save(&mut b);
        assert_eq!(a, b);
    }

    #[test]
    fn every_accumulator_obeys_the_merge_law() {
        merge_law::<Count>(|a, v, _| a.add_if(v > 0.0));
        merge_law::<Sum>(|a, v, _| a.add(v));
        merge_law::<Mean>(|a, v, _| a.add(v));
        merge_law::<Highest>(|a, v, id| a.add(v, id));
        merge_law::<Lowest<9>>(|a, v, id| a.add(v, id));
        merge_law::<Spread>(|a, v, _| a.add(v));
        merge_law::<Tally>(|a, v, id| a.add_pair(id, if v > 0.0 { "up" } else { "down" }));
    }

    #[test]
    fn a_tally_counts_exactly_and_one_that_overflowed_is_the_same_in_any_order() {
        let mut tally = Tally::default();
        for (first, second) in [("b", "x"), ("a", "y"), ("b", "x"), ("a", ""), ("", "a")] {
            tally.add_pair(first, second);
        }
        let entries: Vec<_> = tally.entries().collect();
        assert_eq!(entries, [("", "a", 1), ("a", "", 1), ("a", "y", 1), ("b", "x", 2)]);
        assert_eq!((tally.count("a"), tally.count_pair("b", "x"), tally.count("c")), (1, 2, 0));
        assert_eq!((tally.number(), tally.trouble()), (4.0, None));

        // 3,000 keys, each more than once: in order, against parts in another order.
        let keys: Vec<String> = (0..9000).map(|i| format!("k{:04}", (i * 7919) % 3000)).collect();
        let mut whole = Tally::default();
        keys.iter().for_each(|key| whole.add(key));
        assert!(whole.trouble().unwrap().contains("`k1024` is one more"), "{:?}", whole.trouble());
        assert_eq!(whole.count("k0000"), 3);
        let mut merged = Tally::default();
        for part in keys.rchunks(700) {
            let (mut tally, mut bytes) = (Tally::default(), Vec::new());
            part.iter().rev().for_each(|key| tally.add(key));
            tally.save(&mut bytes);
            merged.merge(&mut Saved(&bytes)).unwrap();
        }
        let (mut a, mut b) = (Vec::new(), Vec::new());
        whole.save(&mut a);
        merged.save(&mut b);
        assert_eq!(a, b);
    }

    #[test]
    fn ties_are_broken_by_id_bytewise() {
        let mut lowest = Lowest::<3>::default();
        for id in ["b", "a", "Z", "c"] {
            lowest.add(1.0, id);
        }
        let ids: Vec<String> = lowest.rows().into_iter().map(|r| r.id).collect();
        assert_eq!(ids, ["Z", "a", "b"]);
    }

    #[test]
    fn a_value_that_is_not_a_number_is_trouble_and_not_a_figure() {
        let mut lowest = Lowest::<5>::default();
        lowest.add(0.5, "a");
        lowest.add(f64::NAN, "b");
        assert_eq!(lowest.value(), 0.5);
        assert!(lowest.trouble().unwrap().contains("`b`"));
        let mut mean = Mean::default();
        mean.add(f64::INFINITY);
        assert!(mean.trouble().is_some());
    }

    #[test]
    fn a_saved_state_that_ends_early_is_refused() {
        assert!(Highest::<5>::default().merge(&mut Saved(&[1, 0, 0])).is_err());
    }
}
