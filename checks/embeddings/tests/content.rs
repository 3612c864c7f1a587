//! The digest of a candidate's content: one for every layout of the same rows, another for every other content.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Float16Array, Float32Array, Float64Array, Int8Array, Int64Array, StringArray};
use common::{Unwatched, floats, folder, lists, open, repository, texts, vector, write};
use fascicolo_embeddings::Comparison;
use half::f16;

/// Of plain.parquet, by `tests/data/content_digest.py` (pyarrow 26, Python's hashlib and integers), which shares no code
/// with this crate.
const PLAIN: &str = "1fae4d3f5488ad646ac01e568516a548358eadd6467eea5b63149fe98c983874";

fn data(file: &str) -> PathBuf {
    repository("tests/layouts/data").join(file)
}

fn digest(candidate: &Path) -> String {
    open(candidate, candidate).unwrap().content_digest()
}

#[test]
fn every_layout_of_the_same_rows_has_the_same_content() {
    let manifest = std::fs::read_to_string(data("manifest.jsonl")).unwrap();
    let mut found = Vec::new();
    for line in manifest.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let (file, why) = (line["file"].as_str().unwrap(), line["why"].as_str().unwrap());
        // The vectors of these two kinds are no lists; "against itself" marks other ids or other values.
        let other = file.starts_with("blob-") || file == "column-per-dim.parquet" || why.contains("against itself");
        if line["expect"] != "same" || other {
            continue;
        }
        let digest = match file {
            "nested-struct.parquet" => {
                let file = data(file);
                Comparison::open(&file, &file, &vector("out.embedding"), &Unwatched).unwrap().content_digest()
            }
            _ => digest(&data(file)),
        };
        assert_eq!(digest, PLAIN, "{file}");
        found.push(file.to_owned());
    }
    assert_eq!(found.len(), 29);
    for file in ["plain", "shuffled", "row-groups-of-7", "double", "codec-zstd", "dictionary"] {
        assert!(found.contains(&format!("{file}.parquet")), "{file}");
    }
    assert!(found.contains(&"many-files".to_owned()));
}

#[test]
fn other_contents_have_the_digests_an_independent_program_gives_them() {
    // Comparable or not. By the same script as `PLAIN`.
    for (file, expected) in [
        ("halffloat.parquet", "11f1379944a5718d5f6844bb9afc3d7b52fca35bebd6f5a301be6c8d2de9bfaf"),
        ("int64-ids.parquet", "c387a54436188adc099ee630c3a7e574708f27fc880069e84ecf1ef08eda81b3"),
        ("integers.parquet", "3af2607e1a7b6e7df7e389bcd543a5017677486791c46f8a802e83a0b9162300"),
        ("null-row.parquet", "f726c8e6dd3725542f7066cdbb3b9b081bf4387c46c733f25cc42b93f2af4bff"),
        ("null-element.parquet", "03bf6ba1493fd2a27c4757236757a9e0243a86095d543b189e82539e024203b6"),
        ("null-id.parquet", "581086d5d029e8bfda37e95e370bbb1bfcb6f5650796d8ceb74c07a6b31569a6"),
        ("ragged.parquet", "33ced6cb2637862370e85f3c250ddedf724df27630a22c04ba3aa2ceac4ff860"),
        ("empty-vectors.parquet", "f70bb7187c838258cbd8f891dbaf3348b14f933a6bee508c4c4f3b557a6b3005"),
        ("no-rows.parquet", "2c34ce1df23b838c5abf2a7f6437cca3d3067ed509ff25f11df6b11b582b51eb"),
        ("duplicate-ids.parquet", "2703f4708d6965d18fd0f3f3861e9813eed27d620c7c7f1005dbd5d08f03a3a9"),
        ("inf-and-nan.parquet", "c2725b8b2dc34c578a1e5791cbb7d1a0989d6cddbccb1a5ad9bc9463eb78957f"),
    ] {
        assert_eq!(digest(&data(file)), expected, "{file}");
    }
}

#[test]
fn the_content_is_the_candidates_whatever_the_reference() {
    let (plain, other) = (data("plain.parquet"), data("halffloat.parquet"));
    assert_eq!(open(&other, &plain).unwrap().content_digest(), PLAIN);
    assert_ne!(open(&plain, &other).unwrap().content_digest(), PLAIN);
}

#[test]
fn the_type_that_stores_a_value_is_no_part_of_it() {
    let (_keep, at) = folder();
    let file = |name: &str, values: ArrayRef| digest(&write(at(name), vec![("id", texts(&["a", "b"])), ("v", values)]));
    let exact = [1.0, -2.0, 96.0, 0.0];
    let half = exact.map(f16::from_f32).to_vec();
    let stored: [(&str, ArrayRef); 5] = [
        ("f16", Arc::new(Float16Array::from(half))),
        ("f32", Arc::new(Float32Array::from(exact.to_vec()))),
        ("f64", Arc::new(Float64Array::from(exact.map(f64::from).to_vec()))),
        ("i8", Arc::new(Int8Array::from(exact.map(|v| v as i8).to_vec()))),
        ("i64", Arc::new(Int64Array::from(exact.map(|v| v as i64).to_vec()))),
    ];
    let digests = stored.map(|(name, values)| file(name, lists(2, values)));
    assert!(digests.iter().all(|d| *d == digests[0]), "{digests:?}");
    // 0.1 is another number in each of them.
    let tenth = |wide: bool| -> ArrayRef {
        if wide { Arc::new(Float64Array::from(vec![0.1; 4])) } else { Arc::new(Float32Array::from(vec![0.1; 4])) }
    };
    assert_ne!(file("narrow", lists(2, tenth(false))), file("wide", lists(2, tenth(true))));
}

#[test]
fn every_change_of_a_row_makes_another_content() {
    let (_keep, at) = folder();
    let file = |ids: &[&str], dims: usize, values: &[f32]| {
        digest(&write(at("a.parquet"), vec![("id", texts(ids)), ("v", floats(dims, values))]))
    };
    let original = file(&["a", "b", "c"], 2, &[1.0, 2.0, 3.0, 4.0, 5.0, 0.0]);
    let next = f32::from_bits(4.0f32.to_bits() + 1);
    let changed = [
        ("one value by one unit in the last place", file(&["a", "b", "c"], 2, &[1.0, 2.0, 3.0, next, 5.0, 0.0])),
        ("the sign of a zero", file(&["a", "b", "c"], 2, &[1.0, 2.0, 3.0, 4.0, 5.0, -0.0])),
        ("the vectors of two rows swapped", file(&["a", "b", "c"], 2, &[3.0, 4.0, 1.0, 2.0, 5.0, 0.0])),
        ("two values of a row swapped", file(&["a", "b", "c"], 2, &[2.0, 1.0, 3.0, 4.0, 5.0, 0.0])),
        ("an id", file(&["a", "b", "d"], 2, &[1.0, 2.0, 3.0, 4.0, 5.0, 0.0])),
        ("a row less", file(&["a", "b"], 2, &[1.0, 2.0, 3.0, 4.0])),
        ("a row twice", file(&["a", "b", "c", "c"], 2, &[1.0, 2.0, 3.0, 4.0, 5.0, 0.0, 5.0, 0.0])),
        ("another row twice", file(&["a", "b", "c", "a"], 2, &[1.0, 2.0, 3.0, 4.0, 5.0, 0.0, 1.0, 2.0])),
        ("a value more in each row", file(&["a", "b"], 3, &[1.0, 2.0, 3.0, 4.0, 5.0, 0.0])),
    ];
    for (i, (what, digest)) in changed.iter().enumerate() {
        assert_ne!(*digest, original, "{what}");
        assert!(changed[..i].iter().all(|(_, other)| other != digest), "{what}");
    }
    let permuted = file(&["c", "a", "b"], 2, &[5.0, 0.0, 1.0, 2.0, 3.0, 4.0]);
    assert_eq!(permuted, original);
}

#[test]
fn a_null_is_no_value_and_stands_where_it_stands() {
    let (_keep, at) = folder();
    let file = |ids: Vec<Option<&str>>, values: Vec<Option<f32>>| {
        let ids: ArrayRef = Arc::new(StringArray::from(ids));
        let values: ArrayRef = Arc::new(Float32Array::from(values));
        digest(&write(at("a.parquet"), vec![("id", ids), ("v", lists(2, values))]))
    };
    let digests = [
        file(vec![Some("")], vec![Some(0.0), Some(0.0)]),
        file(vec![None], vec![Some(0.0), Some(0.0)]),
        file(vec![Some("")], vec![None, Some(0.0)]),
        file(vec![Some("")], vec![Some(0.0), None]),
        file(vec![Some("")], vec![Some(0.0), Some(f32::NAN)]),
    ];
    for (i, digest) in digests.iter().enumerate() {
        assert!(!digests[..i].contains(digest), "{i}");
    }
    // NaN is one value, whatever bits it is made of.
    let other_nan = f32::from_bits(0xFFC0_0001);
    assert_eq!(file(vec![Some("")], vec![Some(0.0), Some(other_nan)]), digests[4]);
}
