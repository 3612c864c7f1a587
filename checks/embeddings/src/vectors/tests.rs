//! Layouts that Arrow allows and writers do produce, built by hand: what lies under a null is nobody's value.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow::array::{
    ArrayRef, FixedSizeListArray, Float16Array, Float32Array, Float64Array, Int16Array, Int64Array, LargeListArray,
    ListArray, UInt64Array,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::Field;

use super::*;

fn field(child: &ArrayRef) -> Arc<Field> {
    Arc::new(Field::new("element", child.data_type().clone(), true))
}

fn list(offsets: &[i32], child: ArrayRef, valid: Option<Vec<bool>>) -> ArrayRef {
    let offsets = OffsetBuffer::new(offsets.to_vec().into());
    Arc::new(ListArray::new(field(&child), offsets, child, valid.map(NullBuffer::from)))
}

fn fixed(size: i32, child: ArrayRef, valid: Option<Vec<bool>>) -> ArrayRef {
    Arc::new(FixedSizeListArray::new(field(&child), size, child, valid.map(NullBuffer::from)))
}

fn column(arrays: &[ArrayRef]) -> VectorColumn {
    let mut column = VectorColumn::new(arrays[0].data_type());
    for array in arrays {
        column.append(array, array.nulls()).unwrap();
    }
    column
}

fn rows(column: &VectorColumn) -> Vec<Vec<f64>> {
    let all: Vec<f64> = match &column.values {
        Values::F32(v) => v.iter().map(|v| f64::from(*v)).collect(),
        Values::F64(v) => v.clone(),
    };
    (0..column.rows()).map(|row| all[column.range(row)].to_vec()).collect()
}

fn floats(values: &[f32]) -> ArrayRef {
    Arc::new(Float32Array::from(values.to_vec()))
}

#[test]
fn values_under_a_null_list_are_skipped() {
    let child = floats(&[1.0, 2.0, f32::NAN, 9.0, 5.0, 6.0]);
    let column = column(&[list(&[0, 2, 4, 6], child, Some(vec![true, false, true]))]);
    assert_eq!(rows(&column), [vec![1.0, 2.0], vec![], vec![5.0, 6.0]]);
    assert_eq!((column.flaws.null_rows.clone(), column.flaws.nan, column.flaws.null_elements), (vec![1], 0, 0));
    assert_eq!(column.shape(), Shape::Dims(2));
}

#[test]
fn slots_under_a_null_fixed_list_are_skipped_also_in_a_slice() {
    let child = floats(&[0.0, 0.0, 1.0, 2.0, f32::INFINITY, f32::NAN, 5.0, 6.0, 7.0, 8.0]);
    let whole = fixed(2, child, Some(vec![true, true, false, true, true]));
    let column = column(&[whole.slice(1, 3)]);
    assert_eq!(rows(&column), [vec![1.0, 2.0], vec![], vec![5.0, 6.0]]);
    assert_eq!(column.flaws.null_rows, [1]);
    assert_eq!((column.flaws.nan, column.flaws.infinite), (0, 0));
}

#[test]
fn a_slice_starts_and_ends_inside_its_child() {
    let small = list(&[0, 2, 4, 6, 8], floats(&[0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 9.0, 9.0]), None).slice(1, 2);
    assert_eq!(rows(&column(&[small])), [[1.0, 2.0], [3.0, 4.0]]);
    let unused_head = list(&[3, 4, 5], floats(&[7.0, 7.0, 7.0, 1.0, 2.0, 7.0]), None);
    assert_eq!(rows(&column(&[unused_head])), [[1.0], [2.0]]);
    let plain_slice = fixed(2, floats(&[0.0, 0.0, 1.0, 2.0, 3.0, 4.0]), None).slice(1, 2);
    assert_eq!(rows(&column(&[plain_slice])), [[1.0, 2.0], [3.0, 4.0]]);
}

#[test]
fn batches_follow_each_other_whether_whole_or_with_nulls() {
    let whole = list(&[0, 2], floats(&[1.0, 2.0]), None);
    let holed = list(&[0, 0, 2], floats(&[3.0, 4.0]), Some(vec![false, true]));
    let empty = list(&[0], floats(&[]), None);
    let column = column(&[whole.clone(), holed, empty, whole]);
    assert_eq!(rows(&column), [vec![1.0, 2.0], vec![], vec![3.0, 4.0], vec![1.0, 2.0]]);
    assert_eq!(column.flaws.null_rows, [1]);
}

#[test]
fn a_null_element_is_counted_once_and_what_lies_under_it_is_not_read() {
    let values = vec![1.0, f32::NAN, 3.0, 4.0, 5.0, 6.0].into();
    let valid = NullBuffer::from(vec![true, false, true, true, false, true]);
    let child: ArrayRef = Arc::new(Float32Array::new(values, Some(valid)));
    // Row 2 is null, and so is one of the elements under it: that is one null vector and no null element.
    let column = column(&[list(&[0, 2, 4, 6], child, Some(vec![true, true, false]))]);
    let flaws = &column.flaws;
    assert_eq!((flaws.null_elements, flaws.null_element_rows.clone()), (1, vec![0]));
    assert_eq!((flaws.null_rows.clone(), flaws.nan), (vec![2], 0));
    assert_eq!((0..200).filter(|place| flaws.null_places.has(*place)).collect::<Vec<_>>(), [1]);
    assert_eq!(column.shape(), Shape::Dims(2));
}

#[test]
fn nan_and_infinite_values_are_counted_with_their_rows() {
    let values = [0.0, f32::NAN, f32::NEG_INFINITY, f32::INFINITY, 1.0, 2.0, f32::NAN, 3.0];
    let column = column(&[list(&[0, 2, 4, 6, 8], floats(&values), None)]);
    assert_eq!((column.flaws.nan, column.flaws.infinite), (2, 2));
    assert_eq!(column.flaws.nonfinite_rows, [0, 1, 3]);
}

#[test]
fn the_common_length_is_the_most_frequent_then_the_first() {
    let of = |offsets: &[i32]| column(&[list(offsets, floats(&[0.0; 12]), None)]).shape();
    assert_eq!(of(&[0, 2, 5, 8]), Shape::Ragged { common: 3, rows: 2, odd: vec![0] });
    assert_eq!(of(&[0, 3, 5, 8, 10]), Shape::Ragged { common: 3, rows: 2, odd: vec![1, 3] });
    assert_eq!(of(&[0, 0, 0]), Shape::Dims(0));
    assert_eq!(of(&[0]), Shape::None);
    let null = list(&[0, 0, 3], floats(&[0.0; 3]), Some(vec![false, true]));
    assert_eq!(column(&[null]).shape(), Shape::Dims(3));
    let all_null = list(&[0, 0], floats(&[]), Some(vec![false]));
    assert_eq!(column(&[all_null]).shape(), Shape::None);
}

#[test]
fn nulls_around_the_column_are_nulls_of_the_column() {
    let array = list(&[0, 1, 2], floats(&[1.0, f32::NAN]), None);
    let mut column = VectorColumn::new(array.data_type());
    column.append(&array, Some(&NullBuffer::from(vec![true, false]))).unwrap();
    assert_eq!((rows(&column), column.flaws.nan), (vec![vec![1.0], vec![]], 0));
}

#[test]
fn each_element_type_is_held_exactly() {
    let halves: Vec<half::f16> = [0x0001, 0x7BFF, 0x8000].map(half::f16::from_bits).to_vec();
    let column16 = column(&[list(&[0, 3], Arc::new(Float16Array::from(halves)), None)]);
    // The smallest subnormal and the largest number of binary16, and −0.
    assert_eq!(rows(&column16), [[2f64.powi(-24), 65504.0, -0.0]]);
    assert!(rows(&column16)[0][2].is_sign_negative() && matches!(column16.values, Values::F32(_)));

    let shorts = column(&[list(&[0, 2], Arc::new(Int16Array::from(vec![i16::MIN, i16::MAX])), None)]);
    assert!(matches!(shorts.values, Values::F32(_)) && rows(&shorts) == [[-32768.0, 32767.0]]);

    let child: ArrayRef = Arc::new(Float64Array::from(vec![0.1, f64::MAX]));
    let large = LargeListArray::new(field(&child), OffsetBuffer::new(vec![0i64, 2].into()), child, None);
    assert_eq!(rows(&column(&[Arc::new(large)])), [[0.1, f64::MAX]]);
}

#[test]
fn an_integer_that_float64_would_round_is_not_rounded() {
    const ODD: i64 = (1 << 53) + 1;
    let longs = |values: Vec<Option<i64>>| -> ArrayRef { Arc::new(Int64Array::from(values)) };
    let append = |array: ArrayRef| VectorColumn::new(array.data_type()).append(&array, array.nulls());
    assert!(append(list(&[0, 2], longs(vec![Some(ODD - 1), Some(i64::MIN)]), None)).is_ok());
    let error = append(list(&[0, 1, 2], longs(vec![Some(0), Some(-ODD)]), None)).unwrap_err();
    assert_eq!((error.row, error.value), (1, -i128::from(ODD)));
    assert!(append(list(&[0, 1, 2], longs(vec![Some(0), Some(ODD)]), Some(vec![true, false]))).is_ok());
    let most: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX]));
    assert_eq!(append(list(&[0, 1], most, None)).unwrap_err().value, i128::from(u64::MAX));
}
