//! A column of ids or labels, held as texts laid end to end.

use std::fmt::Write;

use arrow::array::{Array, AsArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    DataType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};

/// What an id is, whatever its width: ids of different families cannot be matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// Unicode texts, as they stand.
    Text,
    /// Integers, in decimal.
    Integer,
    /// Bytes, in lower-case hexadecimal.
    Binary,
    /// 16 bytes marked as a UUID, hyphenated.
    Uuid,
}

/// The family of a type, or none if it identifies nothing (floats, booleans, lists). `uuid`: the file marks it as one.
pub(crate) fn family(data_type: &DataType, uuid: bool) -> Option<Family> {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Some(Family::Text),
        DataType::FixedSizeBinary(16) if uuid => Some(Family::Uuid),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            Some(Family::Binary)
        }
        DataType::Dictionary(_, values) => family(values, uuid),
        other if other.is_integer() => Some(Family::Integer),
        _ => None,
    }
}

/// The texts of one column, a null standing as the empty text and noted.
#[derive(Debug, Default)]
pub(crate) struct TextColumn {
    text: String,
    ends: Vec<u64>,
    /// Rows without a text, ascending.
    pub nulls: Vec<u64>,
}

impl TextColumn {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.ends.len()
    }

    /// The text of a row; the empty text where it is null.
    pub fn get(&self, row: usize) -> &str {
        let start = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        &self.text[start..self.ends[row] as usize]
    }

    /// True if the row is null.
    pub fn is_null(&self, row: usize) -> bool {
        self.nulls.binary_search(&(row as u64)).is_ok()
    }

    /// Adds the rows of `array`, of a type that has a [`family`]; rows that are null in `nulls` are null.
    pub fn append(&mut self, array: &dyn Array, nulls: Option<&NullBuffer>, uuid: bool) {
        let rows = array.len();
        if let Some(dictionary) = array.as_any_dictionary_opt() {
            let values = dictionary.values();
            if values.is_empty() {
                (0..rows).for_each(|_| self.push_null());
            } else {
                let keys = dictionary.normalized_keys();
                self.append_at(values, rows, nulls, uuid, |row| keys[row]);
            }
        } else {
            self.append_at(array, rows, nulls, uuid, |row| row);
        }
    }

    fn append_at(
        &mut self,
        values: &dyn Array,
        rows: usize,
        nulls: Option<&NullBuffer>,
        uuid: bool,
        at: impl Fn(usize) -> usize,
    ) {
        macro_rules! push {
            ($array:expr, $write:expr) => {{
                let array = $array;
                let write = $write;
                self.push_rows(rows, nulls, |row, text| write(text, array.value(at(row))));
            }};
        }
        macro_rules! integer {
            ($type:ty) => {
                push!(values.as_primitive::<$type>(), decimal)
            };
        }
        match values.data_type() {
            DataType::Utf8 => push!(values.as_string::<i32>(), String::push_str),
            DataType::LargeUtf8 => push!(values.as_string::<i64>(), String::push_str),
            DataType::Utf8View => push!(values.as_string_view(), String::push_str),
            DataType::Binary => push!(values.as_binary::<i32>(), hexadecimal),
            DataType::LargeBinary => push!(values.as_binary::<i64>(), hexadecimal),
            DataType::BinaryView => push!(values.as_binary_view(), hexadecimal),
            DataType::FixedSizeBinary(16) if uuid => push!(values.as_fixed_size_binary(), hyphenated),
            DataType::FixedSizeBinary(_) => push!(values.as_fixed_size_binary(), hexadecimal),
            DataType::Int8 => integer!(Int8Type),
            DataType::Int16 => integer!(Int16Type),
            DataType::Int32 => integer!(Int32Type),
            DataType::Int64 => integer!(Int64Type),
            DataType::UInt8 => integer!(UInt8Type),
            DataType::UInt16 => integer!(UInt16Type),
            DataType::UInt32 => integer!(UInt32Type),
            DataType::UInt64 => integer!(UInt64Type),
            // `select` lets no other type through.
            other => unreachable!("ids of type {other}"),
        }
    }

    fn push_rows(&mut self, rows: usize, nulls: Option<&NullBuffer>, mut write: impl FnMut(usize, &mut String)) {
        for row in 0..rows {
            if nulls.is_some_and(|n| n.is_null(row)) {
                self.push_null();
            } else {
                write(row, &mut self.text);
                self.ends.push(self.text.len() as u64);
            }
        }
    }

    fn push_null(&mut self) {
        self.nulls.push(self.rows() as u64);
        self.ends.push(self.text.len() as u64);
    }
}

// Writing to a String cannot fail.

fn decimal(text: &mut String, value: impl std::fmt::Display) {
    let _ = write!(text, "{value}");
}

fn hexadecimal(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
}

fn hyphenated(text: &mut String, bytes: &[u8]) {
    for (i, byte) in bytes.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        ArrayRef, BinaryArray, DictionaryArray, FixedSizeBinaryArray, Int8Array, Int64Array, StringArray,
        StringViewArray, UInt64Array,
    };

    use super::*;

    fn texts(array: ArrayRef, uuid: bool) -> (Vec<String>, Vec<u64>) {
        let mut column = TextColumn::default();
        column.append(&array, array.logical_nulls().as_ref(), uuid);
        ((0..column.rows()).map(|r| column.get(r).to_owned()).collect(), column.nulls)
    }

    #[test]
    fn every_scalar_id_has_one_text() {
        let sixteen: Vec<u8> = (0..16).map(|i| i * 17).collect();
        let fixed = || Arc::new(FixedSizeBinaryArray::try_from_iter([sixteen.clone()].into_iter()).unwrap());
        let cases: [(ArrayRef, bool, &str); 7] = [
            (Arc::new(StringArray::from(vec!["à"])), false, "à"),
            (Arc::new(StringViewArray::from(vec!["a text longer than a view"])), false, "a text longer than a view"),
            (Arc::new(Int64Array::from(vec![i64::MIN])), false, "-9223372036854775808"),
            (Arc::new(UInt64Array::from(vec![u64::MAX])), false, "18446744073709551615"),
            (Arc::new(BinaryArray::from(vec![&b"\x00\xAF"[..]])), false, "00af"),
            (fixed(), false, "00112233445566778899aabbccddeeff"),
            (fixed(), true, "00112233-4455-6677-8899-aabbccddeeff"),
        ];
        for (array, uuid, expected) in cases {
            assert_eq!(texts(array, uuid), (vec![expected.to_owned()], vec![]));
        }
    }

    #[test]
    fn a_dictionary_is_read_through_keys_and_nulls_of_both_kinds() {
        let values = Arc::new(StringArray::from(vec![Some("b"), None, Some("a")]));
        let keys = Int8Array::from(vec![Some(2), None, Some(1), Some(0), Some(2)]);
        let array: ArrayRef = Arc::new(DictionaryArray::new(keys, values));
        let sliced = array.slice(1, 4);
        let words = |list: &[&str]| list.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        assert_eq!(texts(array, false), (words(&["a", "", "", "b", "a"]), vec![1, 2]));
        assert_eq!(texts(sliced, false), (words(&["", "", "b", "a"]), vec![0, 1]));
    }

    #[test]
    fn a_dictionary_of_nothing_is_all_null() {
        let keys = Int8Array::from(vec![None, None]);
        let array: ArrayRef = Arc::new(DictionaryArray::new(keys, Arc::new(StringArray::from(Vec::<&str>::new()))));
        assert_eq!(texts(array, false).1, vec![0, 1]);
    }

    #[test]
    fn floats_booleans_and_lists_identify_nothing() {
        for data_type in [DataType::Float64, DataType::Boolean, DataType::Date32, DataType::Null] {
            assert_eq!(family(&data_type, false), None);
        }
    }
}
