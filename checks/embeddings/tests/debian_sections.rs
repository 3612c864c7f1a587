//! Real embeddings against what numpy and pyarrow said of them (`notebooks/data/debian-sections`, by its `oracle.py`).
#![allow(clippy::unwrap_used)]

mod common;

use std::path::PathBuf;

use common::{Unwatched, open, repository, rows};
use fascicolo_embeddings::{Columns, Comparison, ObstacleKind, file_digest};

fn data(file: &str) -> PathBuf {
    repository("notebooks/data/debian-sections").join(file)
}

fn expected() -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(data("expected.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn texts(list: &serde_json::Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_candidate_has_the_structure_that_pyarrow_found() {
    let lines = expected();
    assert_eq!(lines.len(), 12);
    for line in lines {
        let name = line["candidate"].as_str().unwrap();
        let comparison = open(&data("reference.parquet"), &data("candidates").join(name)).unwrap();
        let structure = comparison.structure();
        assert_eq!(structure.rows_reference, 393, "{name}");
        assert_eq!(structure.rows_candidate, line["rows"].as_u64().unwrap(), "{name}");
        assert_eq!(structure.matched, line["matched"].as_u64().unwrap(), "{name}");
        assert_eq!(structure.missing, texts(&line["missing"]), "{name}");
        assert_eq!(structure.extra, texts(&line["extra"]), "{name}");
        assert_eq!(structure.duplicate_ids, texts(&line["duplicate_ids"]), "{name}");
        assert_eq!(structure.type_candidate, line["type"].as_str().unwrap(), "{name}");
        assert_eq!(structure.nonfinite_values, line["nonfinite_values"].as_u64().unwrap(), "{name}");
        assert_eq!(
            (structure.dims_reference, structure.dims_candidate, structure.null_values),
            (384, 384, 0),
            "{name}"
        );
        // The oracle's order also says no where a row is absent.
        let same_order = line["same_order"].as_bool().unwrap();
        assert_eq!(structure.reordered, !same_order && structure.missing.is_empty(), "{name}");
        let kinds: Vec<_> = structure.obstacles.iter().map(|o| o.kind).collect();
        match name {
            "missing-rows.parquet" => {
                assert_eq!(kinds, [ObstacleKind::MissingRows]);
                assert_eq!(structure.obstacles[0].ids, structure.missing);
            }
            "one-nan.parquet" => assert_eq!(kinds, [ObstacleKind::NonFinite]),
            _ => assert!(kinds.is_empty() && comparison.comparable(), "{name}: {kinds:?}"),
        }
    }
}

#[test]
fn matched_values_differ_by_exactly_what_numpy_found() {
    for line in expected() {
        let name = line["candidate"].as_str().unwrap();
        let comparison = open(&data("reference.parquet"), &data("candidates").join(name)).unwrap();
        if !comparison.comparable() {
            continue;
        }
        let rows = rows(&comparison, 100);
        let abs = |row: &common::Row| {
            row.reference.iter().zip(&row.candidate).map(|(r, c)| (r - c).abs()).fold(0.0, f64::max)
        };
        let over = rows.iter().filter(|row| abs(row) > 1e-6).count() as u64;
        assert_eq!(rows.iter().map(abs).fold(0.0, f64::max), line["max_abs"].as_f64().unwrap(), "{name}");
        assert_eq!(over, line["rows_with_any_abs_over_1e-6"].as_u64().unwrap(), "{name}");
    }
}

#[test]
fn ids_and_labels_come_in_the_order_of_the_reference() {
    let columns = Columns { label: Some("label".into()), ..Columns::default() };
    let candidate = data("candidates/shuffled.parquet");
    let comparison = Comparison::open(&data("reference.parquet"), &candidate, &columns, &Unwatched).unwrap();
    let found: Vec<_> = rows(&comparison, 50).into_iter().map(|row| format!("{}\t{}", row.id, row.label)).collect();
    let table = std::fs::read_to_string(data("texts.tsv")).unwrap();
    let written: Vec<_> = table.lines().map(|line| line.rsplit_once('\t').unwrap().0.to_owned()).collect();
    assert_eq!(found, written);
}

#[test]
fn a_digest_is_the_one_that_sha256sum_prints() {
    let (digest, bytes) = file_digest(&data("reference.parquet"), &Unwatched).unwrap();
    assert_eq!((digest.as_str(), bytes), (DIGEST, 895_806));
}

/// `sha256sum reference.parquet`
const DIGEST: &str = "d2d9ed0f9a696abc8ed423c88b45cbdba19752dda88cdc0a817c0298c9293646";
