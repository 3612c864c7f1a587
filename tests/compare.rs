//! `fascicolo compare` on real embeddings, against values computed by numpy (oracle.py beside the data).
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use serde_json::Value;
use support::{Desk, sample};

fn expected() -> Vec<Value> {
    let text = std::fs::read_to_string(sample("expected.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn name(expected: &Value) -> String {
    expected["candidate"].as_str().unwrap().trim_end_matches(".parquet").to_owned()
}

fn figure(result: &Value, name: &str) -> (f64, Vec<(String, f64)>) {
    let figure = result["figures"].as_array().unwrap().iter().find(|f| f["name"] == name).unwrap();
    let worst = figure["worst"].as_array().unwrap();
    let worst = worst.iter().map(|w| (w["id"].as_str().unwrap().to_owned(), w["value"].as_f64().unwrap()));
    (figure["value"].as_f64().unwrap(), worst.collect())
}

#[test]
fn structure_is_right_for_all_twelve_candidates() {
    let desk = Desk::new();
    let all = expected();
    assert_eq!(all.len(), 12);
    for expected in all {
        let candidate = name(&expected);
        let result = desk.compare(&candidate, &["--explore", "--criterion", "cosine"]).json();
        let structure = &result["structure"];
        assert_eq!(structure["rows_reference"], 393, "{candidate}");
        for (ours, theirs) in [
            ("rows_candidate", "rows"),
            ("matched", "matched"),
            ("missing", "missing"),
            ("extra", "extra"),
            ("duplicate_ids", "duplicate_ids"),
            ("nonfinite_values", "nonfinite_values"),
            ("type_candidate", "type"),
        ] {
            assert_eq!(structure[ours], expected[theirs], "{candidate}: {ours}");
        }
        assert_eq!(structure["dims"], 384);
        assert_eq!(structure["null_values"], 0);
        assert_eq!(structure["reordered"], candidate == "shuffled", "{candidate}");
    }
}

#[test]
fn figures_are_numpys_for_the_ten_comparable_candidates() {
    let desk = Desk::new();
    let mut compared = 0;
    for expected in expected() {
        let candidate = name(&expected);
        if candidate == "one-nan" || candidate == "missing-rows" {
            continue;
        }
        compared += 1;
        let cosine = desk.compare(&candidate, &["--explore", "--criterion", "cosine", "--set", "floor=0"]);
        assert_eq!(cosine.verdict(0), "none");
        let cosine = cosine.json();
        let (least, worst) = figure(&cosine, "cosine.min");
        let near = |ours: f64, key: &str, within: f64| {
            let theirs = expected[key].as_f64().unwrap();
            assert!((ours - theirs).abs() <= within, "{candidate}: {key} is {ours}, numpy says {theirs}");
        };
        near(least, "cosine_min", 1e-12);
        near(figure(&cosine, "cosine.mean").0, "cosine_mean", 1e-12);
        near(figure(&cosine, "norm_ratio.max").0, "norm_ratio_max", 1e-12);
        if worst[1].1 - worst[0].1 > 1e-13 {
            assert_eq!(worst[0].0, expected["worst_id_by_cosine"].as_str().unwrap(), "{candidate}");
        }
        let close = desk
            .compare(&candidate, &["--explore", "--criterion", "allclose", "--set", "atol=1e-6", "--set", "rtol=0"]);
        let close = close.json();
        assert_eq!(figure(&close, "abs.max").0, expected["max_abs"].as_f64().unwrap(), "{candidate}");
        assert_eq!(
            figure(&close, "rows.over").0,
            expected["rows_with_any_abs_over_1e-6"].as_f64().unwrap(),
            "{candidate}"
        );
        let zero =
            desk.compare(&candidate, &["--explore", "--criterion", "allclose", "--set", "atol=0", "--set", "rtol=0"]);
        assert!(figure(&zero.json(), "rows.over").0 >= figure(&close, "rows.over").0);
    }
    assert_eq!(compared, 10);
}

#[test]
fn neighbours_and_nearest_centroids_are_numpys_for_the_ten_comparable_candidates() {
    let desk = Desk::new();
    let mut compared = 0;
    for expected in expected() {
        let candidate = name(&expected);
        let Some(overlap) = expected["knn_overlap_10"].as_f64().filter(|_| candidate != "missing-rows") else {
            continue;
        };
        compared += 1;
        let knn = ["--explore", "--criterion", "knn", "--set", "floor=0", "--set", "k=10", "--set", "queries=393"];
        let knn = desk.compare(&candidate, &knn).json();
        let (ours, _) = figure(&knn, "overlap.mean");
        assert!((ours - overlap).abs() < 1e-9, "{candidate}: {ours}, numpy says {overlap}");
        assert_eq!(figure(&knn, "queries").0, 393.0);
        let centroid =
            desk.compare(&candidate, &["--explore", "--criterion", "centroid", "--set", "floor=0", "--label", "label"]);
        let (ours, worst) = figure(&centroid.json(), "agreement");
        let theirs = expected["label_agreement"].as_f64().unwrap();
        assert!((ours - theirs).abs() < 1e-12 && worst.is_empty(), "{candidate}: {ours}, numpy says {theirs}");
        let labels =
            desk.compare(&candidate, &["--explore", "--criterion", "labels", "--set", "floor=0", "--label", "label"]);
        // The sections were written into every file from one table.
        assert_eq!(figure(&labels.json(), "agreement").0, 1.0, "{candidate}");
    }
    assert_eq!(compared, 10);
}

#[test]
fn missing_rows_and_a_nan_are_not_comparable_with_structure_filled_and_no_figure() {
    let desk = Desk::with_reference();
    let declared = desk.run(&["declare", "cosine", "--set", "floor=0.99", "--because", "test"]);
    assert_eq!(declared.status, 0, "{}", declared.stderr);
    for (candidate, kind) in [("one-nan", "non_finite"), ("missing-rows", "missing_rows")] {
        let ended = desk.compare(candidate, &["--criterion", "cosine"]);
        assert_eq!(ended.verdict(3), "not_comparable");
        let result = ended.json();
        assert_eq!(result["figures"], serde_json::json!([]));
        assert_eq!(result["structure"]["obstacles"][0]["kind"], kind);
        assert!(!result["structure"]["obstacles"][0]["ids"].as_array().unwrap().is_empty());
        let expecting = desk.compare(candidate, &["--criterion", "cosine", "--expect", "not_comparable"]);
        assert_eq!(expecting.verdict(0), "not_comparable");
    }
}

/// The candidates were made in known ways; what is not known by its picture gets no hint.
#[test]
fn a_hint_names_what_was_done_to_the_rows_and_nothing_where_that_cannot_be_seen() {
    let desk = Desk::new();
    let mut hinted = 0;
    for (candidate, causes) in [
        ("bf16", &["bfloat16_values", "rounding"][..]),
        ("f16", &["float16_values", "rounding"]),
        ("one-bad-row", &["another_rows_vector"]),
        ("permuted-vectors", &["rows_in_another_order"]),
        ("unnormalized", &["lengths"]),
        ("avx-off", &["rounding"]),
        ("shuffled", &[]),
        ("cls-pooling", &[]),
        ("int8", &[]),
        ("missing-rows", &[]),
        ("one-nan", &[]),
    ] {
        let result = desk.compare(candidate, &["--explore", "--criterion", "cosine"]).json();
        let found: Vec<&str> =
            result["hints"].as_array().unwrap().iter().map(|hint| hint["cause"].as_str().unwrap()).collect();
        assert_eq!(found, causes, "{candidate}");
        hinted += found.len();
    }
    assert_eq!(hinted, 8);
    let (bad, good) = (desk.compare("one-bad-row", &["--explore"]).json(), desk.compare("batch-1", &["--explore"]));
    let text = bad["hints"][0]["text"].as_str().unwrap();
    assert!(text.contains("elpa-page-break-lines") && text.contains("libghc-cairo-prof"), "{text}");
    assert_eq!(good.json()["hints"], serde_json::json!([]));
}

#[test]
fn the_root_in_the_answer_is_the_one_after_the_verdicts_entry() {
    let desk = Desk::new();
    let result = desk.compare("f16", &["--explore", "--criterion", "cosine"]).json();
    let entry = result["dossier"]["entry"].as_u64().unwrap() as usize;
    let text = std::fs::read_to_string(desk.dossier().join("entries.jsonl")).unwrap();
    let mut tree = fascicolo_dossier::Frontier::default();
    text.lines().take(entry + 1).for_each(|line| tree.push(fascicolo_dossier::leaf_hash(line.as_bytes())));
    assert_eq!(result["dossier"]["root"], fascicolo_dossier::to_hex(&tree.root()));
}
