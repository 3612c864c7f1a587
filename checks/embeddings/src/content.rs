//! The digest of what a table holds, whatever its layout: [`crate::Comparison::content_digest`] says what it is made of.

use sha2::{Digest, Sha256};

use crate::digest::hexadecimal;
use crate::table::Table;
use crate::texts::TextColumn;
use crate::vectors::{Values, VectorColumn};

/// Bytes handed to the hash at a time; a multiple of 8.
const BLOCK: usize = 8 << 10;

/// Stands for the length of an id that is null, and for an element that is null: no text is that long, and as a float64
/// it is a NaN other than [`NAN`].
const NULL: u64 = u64::MAX;

/// Stands for the values of a vector that is null.
const NULL_VECTOR: [u8; 1] = [0xFF];

/// Stands for every NaN: what becomes of a NaN's sign and payload in a wider type depends on the machine.
const NAN: u64 = 0x7FF8_0000_0000_0000;

/// The digest of all rows of `table`, its labels left out.
pub(crate) fn content_digest(table: &Table) -> String {
    let mut block = Vec::with_capacity(BLOCK);
    let mut sum = [0u8; 32];
    for row in 0..table.ids.rows() {
        let mut hash = Sha256::new();
        hash_id(&mut hash, &table.ids, row);
        hash_vector(&mut hash, &table.vectors, row, &mut block);
        add(&mut sum, &hash.finalize());
    }
    let rows = table.ids.rows() as u64;
    hexadecimal(&Sha256::new().chain_update(sum).chain_update(rows.to_le_bytes()).finalize())
}

fn hash_id(hash: &mut Sha256, ids: &TextColumn, row: usize) {
    let id = ids.get(row);
    let length = if ids.is_null(row) { NULL } else { id.len() as u64 };
    hash.update(length.to_le_bytes());
    hash.update(id);
}

fn hash_vector(hash: &mut Sha256, vectors: &VectorColumn, row: usize, block: &mut Vec<u8>) {
    let flaws = &vectors.flaws;
    let among = |rows: &[u64]| rows.binary_search(&(row as u64)).is_ok();
    hash.update(vectors.length(row).to_le_bytes());
    if among(&flaws.null_rows) {
        hash.update(NULL_VECTOR);
        return;
    }
    let range = vectors.range(row);
    let holed = among(&flaws.null_element_rows);
    let word = |(place, value): (usize, f64)| match value {
        _ if holed && flaws.null_places.has(place) => NULL,
        nan if nan.is_nan() => NAN,
        number => number.to_bits(),
    };
    let places = range.clone();
    match &vectors.values {
        Values::F32(values) => {
            hash_words(hash, places.zip(values[range].iter().map(|v| f64::from(*v))).map(word), block)
        }
        Values::F64(values) => hash_words(hash, places.zip(values[range].iter().copied()).map(word), block),
    }
}

/// Hashes the words, gathered in `block`: a hash fed with 8 bytes at a time is several times slower.
fn hash_words(hash: &mut Sha256, words: impl Iterator<Item = u64>, block: &mut Vec<u8>) {
    block.clear();
    for word in words {
        block.extend_from_slice(&word.to_le_bytes());
        if block.len() >= BLOCK {
            hash.update(&*block);
            block.clear();
        }
    }
    hash.update(&*block);
}

/// Adds a little-endian number to another, modulo 2²⁵⁶.
fn add(sum: &mut [u8; 32], number: &[u8]) {
    let mut carry = 0;
    for (digit, more) in sum.iter_mut().zip(number) {
        carry += u16::from(*digit) + u16::from(*more);
        *digit = (carry & 0xFF) as u8;
        carry >>= 8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_carry_through_all_digits_and_wrap() {
        let mut sum = [0xFF; 32];
        let mut two = [0; 32];
        two[0] = 2;
        add(&mut sum, &two);
        let mut one = [0; 32];
        one[0] = 1;
        assert_eq!(sum, one);
    }
}
