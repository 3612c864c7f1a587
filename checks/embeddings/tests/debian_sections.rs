//! Real embeddings against what numpy and pyarrow said of them (`notebooks/data/debian-sections`, by its `oracle.py`).
#![allow(clippy::unwrap_used)]

mod common;

use std::path::PathBuf;

use common::{Unwatched, bits, open, repository, rows};
use fascicolo_contract::measure::{Measure, MeasureTrouble, Neighbours};
use fascicolo_embeddings::{Columns, Comparison, Error, ObstacleKind, Watch, file_digest};

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
fn measures_of_all_rows_have_the_same_bits_for_any_number_of_threads_and_any_order_of_rows() {
    let columns = Columns { label: Some("label".into()), ..Columns::default() };
    let asked = |k, queries| Neighbours { k, queries };
    let measures = [
        Measure::Cosine,
        Measure::NeighboursKept(asked(10, 393)),
        Measure::NeighboursTied(asked(10, 393)),
        Measure::CentroidKept,
        Measure::NeighboursKept(asked(3, 40)),
    ];
    let lists = |reference: &str, candidate: &str, threads| {
        let (reference, candidate) = (data(reference), data(candidate));
        let comparison = Comparison::open(&reference, &candidate, &columns, &Unwatched).unwrap();
        let (lists, trouble) = comparison.measures(&measures, threads, &Unwatched).unwrap();
        assert_eq!(trouble, MeasureTrouble::default());
        assert!(lists[0].is_none(), "a measure of one row");
        let ids: Vec<String> = rows(&comparison, 100).into_iter().map(|row| row.id).collect();
        let lists: Vec<Vec<u64>> = lists.iter().flatten().map(|list| bits(list)).collect();
        (ids, lists)
    };
    let (ids, alone) = lists("reference.parquet", "candidates/int8.parquet", 1);
    let asked = |list: &[u64]| list.iter().filter(|bits| !f64::from_bits(**bits).is_nan()).count();
    assert_eq!(alone.iter().map(|list| asked(list)).collect::<Vec<_>>(), [393, 393, 393, 40]);
    for threads in [2, 3, 16] {
        assert_eq!(lists("reference.parquet", "candidates/int8.parquet", threads).1, alone);
    }
    // The shuffled file holds the reference's own rows: with the sides exchanged, only the order of rows differs.
    let by_id = |(ids, lists): (Vec<String>, Vec<Vec<u64>>)| {
        let mut order: Vec<usize> = (0..ids.len()).collect();
        order.sort_by_key(|row| ids[*row].clone());
        lists.into_iter().map(|list| order.iter().map(|row| list[*row]).collect()).collect::<Vec<Vec<u64>>>()
    };
    assert_eq!(by_id(lists("candidates/shuffled.parquet", "candidates/int8.parquet", 2)), by_id((ids, alone)));
}

#[test]
fn an_interrupt_ends_the_search_for_neighbours() {
    struct Stopped;
    impl Watch for Stopped {
        fn progress(&self, _: u64, _: u64) {}
        fn interrupted(&self) -> bool {
            true
        }
    }
    let comparison = open(&data("reference.parquet"), &data("candidates/f16.parquet")).unwrap();
    let asked = Measure::NeighboursKept(Neighbours { k: 1000, queries: 393 });
    let ended = comparison.measures(&[asked, Measure::CentroidKept], 1, &Stopped);
    assert!(matches!(ended, Err(Error::Interrupted { .. })));
}

#[test]
fn a_digest_is_the_one_that_sha256sum_prints() {
    let (digest, bytes) = file_digest(&data("reference.parquet"), &Unwatched).unwrap();
    assert_eq!((digest.as_str(), bytes), (DIGEST, 895_806));
}

/// `sha256sum reference.parquet`
const DIGEST: &str = "d2d9ed0f9a696abc8ed423c88b45cbdba19752dda88cdc0a817c0298c9293646";
