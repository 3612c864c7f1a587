//! The picture of a per-row measure: every counted row is visible, at any magnitude a float can have.
#![allow(clippy::unwrap_used)]

mod records;

use fascicolo_display::render;
use serde_json::{Value, json};

fn svg(histogram: Value) -> Option<String> {
    let mut record = records::pass();
    record["histograms"] = json!([histogram]);
    render("verdict", &record).remove("image/svg+xml")
}

/// The attributes of the bars, and all texts.
fn read(svg: &str) -> (Vec<[f64; 4]>, Vec<String>) {
    let tree = roxmltree::Document::parse(svg).unwrap();
    let number = |n: &roxmltree::Node<'_, '_>, name| n.attribute(name).unwrap().parse::<f64>().unwrap();
    let bars = tree.descendants().filter(|n| n.tag_name().name() == "rect" && n.attribute("fill") == Some("#3d84c6"));
    let bars = bars.map(|n| [number(&n, "x"), number(&n, "y"), number(&n, "width"), number(&n, "height")]).collect();
    let texts = tree.descendants().filter(|n| n.tag_name().name() == "text");
    (bars, texts.map(|n| n.text().unwrap_or("").to_owned()).collect())
}

#[test]
fn bars_stand_inside_the_picture_at_every_magnitude() {
    for (low, high) in [(1e-300_f64, 1e300_f64), (5e-324, 1.7e308), (1e-9, 1.0000001e-9), (0.5, 2.0)] {
        let middle = low.max(1e-200).min(high);
        let drawn = svg(json!({"name": "m", "unit": "u", "below": 0, "bins": [
            {"low": low, "high": (low * 1.5_f64).max(low + 5e-324), "count": 1}, {"low": middle / 1.1, "high": middle, "count": 1_000_000},
            {"low": high / 1.1, "high": high, "count": 3}]})).unwrap();
        let (bars, texts) = read(&drawn);
        assert!(bars.len() >= 2, "{low:e}");
        for [x, y, width, height] in bars {
            assert!(x >= 0.0 && x + width <= 640.0 && y >= 0.0 && y + height <= 250.0, "{x} {y} {width} {height}");
            assert!(width >= 1.5 && height >= 4.0, "a counted row cannot be seen");
        }
        let powers = texts.iter().filter(|t| t.starts_with("10") && !t.is_ascii()).count();
        assert!((2..=9).contains(&powers), "{powers} labels");
    }
}

#[test]
fn positions_follow_the_logarithm_and_heights_the_count() {
    let drawn = svg(json!({"name": "m", "unit": "u", "bins": [
        {"low": 1e-4, "high": 1e-3, "count": 50}, {"low": 1e-3, "high": 1e-2, "count": 100}, {"low": 1e-2, "high": 1e-1, "count": 0},
        {"low": 1e-1, "high": 1.0, "count": 25}]})).unwrap();
    let (bars, texts) = read(&drawn);
    assert_eq!(bars.len(), 3);
    let step = bars[1][0] - bars[0][0];
    assert!((bars[2][0] - bars[1][0] - 2.0 * step).abs() < 0.05, "one empty decade lies between");
    assert!((bars[0][3] * 2.0 - bars[1][3]).abs() < 0.05 && (bars[2][3] * 4.0 - bars[1][3]).abs() < 0.05);
    for label in ["10⁻⁴", "10⁻³", "10⁻²", "10⁻¹", "10⁰", "m (u), logarithmic", "rows", "100"] {
        assert!(texts.iter().any(|t| t == label), "{label} is not among {texts:?}");
    }
}

#[test]
fn exact_zeros_have_a_bin_of_their_own() {
    let drawn =
        svg(json!({"name": "m", "unit": "u", "below": 7, "bins": [{"low": 1e-8, "high": 2e-8, "count": 5}]})).unwrap();
    let (bars, texts) = read(&drawn);
    assert_eq!(bars.len(), 2);
    assert!(bars[0][3] > bars[1][3] && bars[0][0] + bars[0][2] < bars[1][0]);
    assert!(texts.iter().any(|t| t == "exactly zero: 7") && texts.iter().any(|t| t == "0"));
    let only = svg(json!({"name": "m", "unit": "u", "below": 7, "bins": []})).unwrap();
    assert_eq!(read(&only).0.len(), 1);
    assert!(!only.contains("logarithmic"));
}

#[test]
fn nothing_counted_gives_no_picture() {
    for bins in [
        json!([]),
        json!(null),
        json!([{"low": 1.0, "high": 2.0, "count": 0}]),
        json!([{"low": -1.0, "high": 0.0, "count": 4}]),
    ] {
        assert_eq!(svg(json!({"name": "m", "unit": "u", "below": 0, "bins": bins})), None);
    }
}

#[test]
fn the_threshold_is_a_line_near_the_bars_and_a_note_far_from_them() {
    let drawn = |threshold: Value| {
        let bins = json!([{"low": 1e-4, "high": 1e-3, "count": 5}, {"low": 1e-3, "high": 1e-2, "count": 5}]);
        svg(json!({"name": "m", "unit": "u", "threshold": threshold, "bins": bins})).unwrap()
    };
    let inside = drawn(json!(1e-3));
    assert!(inside.contains("stroke-dasharray") && inside.contains(">threshold 1e-3<"));
    let x: f64 = inside
        .split("<line x1=\"")
        .find(|l| l.contains("dasharray"))
        .unwrap()
        .split('"')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!((x - read(&inside).0[1][0]).abs() < 0.1, "the line stands where the second bin begins");
    assert!(drawn(json!(0.5)).contains("stroke-dasharray"), "the axis grows to hold a threshold near by");
    for (threshold, note) in [
        (json!(5e5), "beyond the right edge →"),
        (json!(1e-11), "beyond the left edge"),
        (json!(0), "beyond the left edge"),
    ] {
        let outside = drawn(threshold);
        assert!(!outside.contains("stroke-dasharray") && outside.contains(note));
    }
    assert!(!drawn(json!(null)).contains("threshold"));
}

#[test]
fn the_picture_is_named_and_described_and_needs_no_background() {
    let record = records::pass();
    let forms = render("verdict", &record);
    let alone = roxmltree::Document::parse(&forms["image/svg+xml"]).unwrap();
    let root = alone.root_element();
    assert_eq!(root.attribute("role"), Some("img"));
    let child = |name| root.children().find(|n| n.tag_name().name() == name).and_then(|n| n.text()).unwrap();
    assert_eq!(child("title"), "Rows by 1 − cosine");
    assert_eq!(
        child("desc"),
        "1 − cosine of 393 rows, from 1e-15 to 3.162277660168379e-11; exactly zero: 3; threshold 1e-3."
    );
    assert_eq!(root.attribute("color"), Some("#1f2328"), "alone, it brings its own ink and panel");
    let html = &forms["text/html"];
    assert!(html.contains("<svg ") && !html.contains("#1f2328"), "inside a page, it takes the page's ink");
}
