//! One table of 100 embeddings in the layouts people really use: each reads as the same values, or is refused in words
//! that name the cause. The files and what to expect of them: `tests/layouts/data`, made by its `make_layouts.py`.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::PathBuf;

use common::{Row, bits, open, repository, rows, vector};
use fascicolo_contract::{Explain, ObstacleKind, Side, Standing};
use fascicolo_embeddings::{Columns, Comparison, Error};

/// Layouts that need an option which does not exist yet: they must say that they hold no vector column.
const NOT_YET: [&str; 3] = ["blob-fixed-binary.parquet", "blob-binary.parquet", "column-per-dim.parquet"];

/// How a refused file is refused, and words of the message.
enum Refusal {
    Error(&'static str, &'static [&'static str]),
    Obstacle(ObstacleKind, &'static [&'static str]),
}

/// What the manifest's `why` promises of each refused file.
fn refusal(file: &str) -> Refusal {
    use ObstacleKind as Kind;
    use Refusal::{Error, Obstacle};
    match file {
        "two-vector-columns.parquet" => Error("many_vector_columns", &["`embedding`", "`embedding_b`"]),
        "null-row.parquet" => Obstacle(Kind::NullVector, &["1 null vector", "`sample-009`"]),
        "null-element.parquet" => Obstacle(Kind::NullVector, &["1 null element", "`sample-009`"]),
        "ragged.parquet" => Obstacle(Kind::Ragged, &["16 values in 99 rows", "15 at `sample-009`"]),
        "empty-vectors.parquet" => Obstacle(Kind::NoDimensions, &["zero dimensions", "100 rows"]),
        "no-rows.parquet" => Obstacle(Kind::NoRows, &["the candidate has no rows"]),
        "string-vectors.parquet" => Error("no_vector_column", &["`embedding` string", "`id` string"]),
        "null-id.parquet" => Obstacle(Kind::NullId, &["1 null id", "row 99"]),
        "duplicate-ids.parquet" => Obstacle(Kind::DuplicateId, &["1 id", "more than once", "`sample-000`"]),
        "inf-and-nan.parquet" => {
            Obstacle(Kind::NonFinite, &["1 NaN value", "1 infinite value", "`sample-009`, `sample-010`"])
        }
        "truncated.parquet" => Error("truncated_file", &["truncated.parquet", "footer is missing"]),
        "not-parquet.parquet" => Error("not_parquet", &["not-parquet.parquet", "not a Parquet file"]),
        other => panic!("the manifest refuses {other}, and no expectation is written for it"),
    }
}

fn data(file: &str) -> PathBuf {
    repository("tests/layouts/data").join(file)
}

fn manifest() -> Vec<(String, String, String)> {
    let text = std::fs::read_to_string(data("manifest.jsonl")).unwrap();
    let field = |line: &serde_json::Value, name: &str| line[name].as_str().unwrap().to_owned();
    text.lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|line| (field(&line, "file"), field(&line, "expect"), field(&line, "why")))
        .collect()
}

/// The rows of plain.parquet compared with itself.
fn plain() -> Vec<Row> {
    rows(&open(&data("plain.parquet"), &data("plain.parquet")).unwrap(), 64)
}

#[test]
fn the_manifest_has_every_file_and_only_those() {
    let lines = manifest();
    assert_eq!(lines.len(), 49);
    for (file, _, _) in lines {
        assert!(data(&file).exists(), "{file}");
    }
}

#[test]
fn the_plain_layout_holds_the_values_its_script_wrote() {
    let rows = plain();
    assert_eq!(rows.len(), 100);
    for (i, row) in rows.iter().enumerate() {
        assert_eq!(row.id, format!("sample-{i:03}"));
    }
    assert!(rows[3].reference.iter().all(|v| v.to_bits() == (-0.0f64).to_bits()));
    assert_eq!(rows[4].reference[2].to_bits(), f64::from(1e-42f32).to_bits());
}

#[test]
fn every_layout_of_the_same_table_reads_as_the_same_bits() {
    let plain = plain();
    for (file, expect, why) in manifest().into_iter().filter(|(_, expect, _)| expect == "same" || expect == "close") {
        if NOT_YET.contains(&file.as_str()) {
            continue;
        }
        let itself = why.contains("against itself");
        let columns = if file == "nested-struct.parquet" { vector("out.embedding") } else { Columns::default() };
        // plain.parquet has no `out`; the nested file is compared with itself, and its values with plain's below.
        let reference = if itself || file == "nested-struct.parquet" { data(&file) } else { data("plain.parquet") };
        let comparison = Comparison::open(&reference, &data(&file), &columns, &common::Unwatched)
            .unwrap_or_else(|e| panic!("{file}: {e}"));
        let structure = comparison.structure();
        assert!(comparison.comparable() && structure.obstacles.is_empty(), "{file}: {:?}", structure.obstacles);
        assert_eq!((structure.matched, structure.dims_reference, structure.dims_candidate), (100, 16, 16), "{file}");
        assert_eq!(structure.reordered, file == "shuffled.parquet", "{file}");
        let found = rows(&comparison, 7);
        assert_eq!(found.len(), 100, "{file}");
        for (row, plain) in found.iter().zip(&plain) {
            if !itself {
                assert_eq!(row.id, plain.id, "{file}");
            }
            match (file.as_str(), expect.as_str()) {
                ("integers.parquet", _) => {
                    let truncated: Vec<f64> =
                        plain.reference.iter().map(|v| f64::from((*v as f32 * 100.0) as i32)).collect();
                    assert_eq!(bits(&row.candidate), bits(&truncated), "{file} at {}", row.id);
                }
                (_, "close") => {
                    for (c, r) in row.candidate.iter().zip(&plain.reference) {
                        // Half a unit in the last place of float16, or of its subnormals.
                        assert!((c - r).abs() <= (r.abs() / 2048.0).max(2f64.powi(-25)), "{file}: {c} for {r}");
                    }
                }
                _ => assert_eq!(bits(&row.candidate), bits(&plain.reference), "{file} at {}", row.id),
            }
        }
    }
}

#[test]
fn a_shuffled_reference_gives_rows_in_its_own_order() {
    let found = rows(&open(&data("shuffled.parquet"), &data("plain.parquet")).unwrap(), 33);
    assert_ne!(found[0].id, "sample-000");
    for row in found {
        assert_eq!(bits(&row.reference), bits(&row.candidate), "{}", row.id);
    }
}

#[test]
fn what_is_refused_is_refused_by_the_name_of_its_cause() {
    let refused: Vec<_> = manifest().into_iter().filter(|(_, expect, _)| expect == "refuse").collect();
    assert_eq!(refused.len(), 12);
    for (file, _, why) in refused {
        let ending = open(&data("plain.parquet"), &data(&file));
        let message = match (refusal(&file), ending) {
            (Refusal::Error(kind, words), Err(error)) => {
                assert_eq!((error.kind(), error.standing()), (kind, Standing::CannotTell), "{file}");
                assert!(error.place().unwrap().contains(&file) && !error.next_step().is_empty());
                (error.to_string(), words)
            }
            (Refusal::Obstacle(kind, words), Ok(comparison)) => {
                assert!(!comparison.comparable(), "{file}");
                assert!(matches!(comparison.batches(10), Err(Error::NotComparable { .. })));
                let found = comparison.structure().obstacles.iter().find(|o| o.kind == kind);
                let found = found.unwrap_or_else(|| panic!("{file}: {:?}", comparison.structure().obstacles));
                assert_eq!(found.side, Some(Side::Candidate), "{file}");
                (found.message.clone(), words)
            }
            (_, ending) => panic!("{file}: expected {why}, got {:?}", ending.map(|c| c.structure().clone())),
        };
        for word in message.1 {
            assert!(message.0.contains(word), "{file}: `{}` does not say `{word}`", message.0);
        }
    }
}

#[test]
fn two_vector_columns_are_settled_by_naming_one() {
    let file = data("two-vector-columns.parquet");
    let error = open(&file, &file).err().unwrap();
    assert!(error.next_step().contains("--vector embedding|embedding_b"), "{}", error.next_step());
    let named = Comparison::open(&file, &file, &vector("embedding_b"), &common::Unwatched).unwrap();
    assert_eq!(rows(&named, 100).len(), 100);
}

#[test]
fn a_vector_inside_a_struct_is_pointed_to() {
    let error = open(&data("plain.parquet"), &data("nested-struct.parquet")).err().unwrap();
    assert_eq!(error.kind(), "no_vector_column");
    assert!(error.to_string().contains("`out` struct<embedding: list<element: float>>"), "{error}");
    assert!(error.next_step().contains("--vector out.embedding"), "{}", error.next_step());
}

#[test]
fn layouts_that_need_a_later_option_say_what_they_hold() {
    for (file, seen) in NOT_YET.iter().zip(["fixed_size_binary[64]", "binary", "`dim_15` float"]) {
        let error = open(&data("plain.parquet"), &data(file)).err().unwrap();
        assert_eq!(error.kind(), "no_vector_column", "{file}");
        assert!(error.to_string().contains(seen), "{error}");
    }
}

#[test]
fn integer_ids_are_not_matched_with_texts() {
    for (file, named) in [("int64-ids.parquet", "int64"), ("uuid-ids.parquet", "fixed_size_binary[16]")] {
        let comparison = open(&data("plain.parquet"), &data(file)).unwrap();
        let structure = comparison.structure();
        assert_eq!(structure.obstacles.len(), 1, "{:?}", structure.obstacles);
        assert_eq!(structure.obstacles[0].kind, ObstacleKind::IdTypesDiffer);
        assert!(structure.obstacles[0].message.contains("string") && structure.obstacles[0].message.contains(named));
        assert_eq!((structure.matched, structure.missing.len(), structure.extra.len()), (0, 0, 0));
    }
}

#[test]
fn types_are_named_as_pyarrow_names_them() {
    // As printed by pyarrow 26 for the same files.
    let named = [
        ("plain.parquet", "list<element: float>"),
        ("large-list.parquet", "large_list<element: float>"),
        ("fixed-list.parquet", "fixed_size_list<element: float>[16]"),
        ("polars-array.parquet", "fixed_size_list<element: float>[16]"),
        ("double.parquet", "list<element: double>"),
        ("halffloat.parquet", "list<element: halffloat>"),
        ("integers.parquet", "list<element: int32>"),
        ("element-named-item.parquet", "list<item: float>"),
        ("non-null-schema.parquet", "list<element: float not null>"),
        ("duckdb-list.parquet", "list<element: float>"),
    ];
    for (file, name) in named {
        assert_eq!(open(&data(file), &data(file)).unwrap().structure().type_candidate, name, "{file}");
    }
}

#[test]
fn null_values_and_nonfinite_values_are_counted_apart() {
    let of = |file: &str| {
        let comparison = open(&data("plain.parquet"), &data(file)).unwrap();
        let structure = comparison.structure().clone();
        (structure.null_values, structure.nonfinite_values, structure.dims_candidate)
    };
    assert_eq!(of("null-row.parquet"), (1, 0, 16));
    assert_eq!(of("null-element.parquet"), (1, 0, 16));
    assert_eq!(of("null-id.parquet"), (1, 0, 16));
    assert_eq!(of("inf-and-nan.parquet"), (0, 2, 16));
    assert_eq!(of("ragged.parquet"), (0, 0, 0));
}

#[test]
fn a_null_id_leaves_its_counterpart_missing() {
    let comparison = open(&data("plain.parquet"), &data("null-id.parquet")).unwrap();
    let structure = comparison.structure();
    assert_eq!((structure.matched, structure.rows_candidate), (99, 100));
    assert_eq!(structure.missing, ["sample-099"]);
    let kinds: Vec<_> = structure.obstacles.iter().map(|o| o.kind).collect();
    assert_eq!(kinds, [ObstacleKind::NullId, ObstacleKind::MissingRows]);
}

#[test]
fn a_flipped_byte_is_an_error_or_a_difference_and_never_a_panic() {
    let plain_rows = plain();
    let differs = match open(&data("plain.parquet"), &data("flipped-byte.parquet")) {
        Err(error) => error.kind() == "damaged_file",
        Ok(comparison) if !comparison.comparable() => true,
        Ok(comparison) => {
            rows(&comparison, 100).iter().zip(&plain_rows).any(|(a, b)| bits(&a.candidate) != bits(&b.candidate))
        }
    };
    assert!(differs);
}

#[test]
fn no_changed_byte_of_a_file_panics() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("changed.parquet");
    let bytes = std::fs::read(data("plain.parquet")).unwrap();
    // The footer whole, where one byte can change the meaning of all others; of the pages every 97th.
    let footer = bytes.len() - 1500;
    let mut endings = std::collections::BTreeMap::<String, u32>::new();
    for at in (0..footer).step_by(97).chain(footer..bytes.len()) {
        let mut changed = bytes.clone();
        changed[at] ^= 0xFF;
        std::fs::write(&file, &changed).unwrap();
        let ending = match open(&file, &file) {
            Ok(_) => "read".to_owned(),
            Err(error) => error.kind().to_owned(),
        };
        *endings.entry(ending).or_default() += 1;
    }
    assert!(endings["damaged_file"] > 100, "{endings:?}");
}
