//! Cells compiled by the real rustc and hosted: what they answer, and what stops them.
#![allow(clippy::unwrap_used, missing_docs)]

use fascicolo_contract::measure::{Measure, measure_rows};
use fascicolo_contract::verdict::Judgement;
use fascicolo_contract::{AlignedBatch, Explain, Texts, Vectors};
use fascicolo_criterion::{Admitted, CriterionError, Finished, Host, Toolchain, compile, digest, standard};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// One sdk and one engine for all tests of this file.
static TOOLCHAIN: LazyLock<Toolchain> = LazyLock::new(|| {
    let cache = std::env::temp_dir().join(format!("fascicolo-test-sdk-{}", std::process::id()));
    Toolchain::prepare(&cache, &|_| {}).unwrap()
});
static HOST: LazyLock<Host> = LazyLock::new(|| Host::new().unwrap());

fn compiled(name: &str, source: &str) -> Result<Vec<u8>, CriterionError> {
    compile::compile(&TOOLCHAIN, name, source, &|| false).map(|c| c.component)
}

fn admitted(name: &str, source: &str) -> Result<Admitted, CriterionError> {
    HOST.admit(name, &compiled(name, source)?)
}

/// `rows` rows of 8 values; the candidate differs by a little that grows with the row.
fn rows(rows: usize) -> AlignedBatch {
    let (mut ids, mut labels, mut candidate_labels) = (Texts::default(), Texts::default(), Texts::default());
    let (mut reference, mut candidate) = (Vec::new(), Vec::new());
    for row in 0..rows {
        labels.push(["x", "y", ""][row % 3]);
        candidate_labels.push(["x", "y", "à"][row % 11 % 3]);
        ids.push(&format!("row-{:03}", (row * 7919) % rows));
        for j in 0..8 {
            let value = ((row * 8 + j) as f32 * 0.37).sin();
            reference.push(value);
            candidate.push(value + row as f32 * 1e-6);
        }
    }
    AlignedBatch {
        ids,
        labels,
        candidate_labels,
        dims: 8,
        reference: Vectors::F32(reference),
        candidate: Vectors::F32(candidate),
    }
}

fn slice(batch: &AlignedBatch, from: usize, to: usize) -> AlignedBatch {
    let cut_texts = |texts: &Texts| {
        let mut cut = Texts::default();
        (from..to).for_each(|row| cut.push(texts.get(row)));
        cut
    };
    let cut = |v: &Vectors| match v {
        Vectors::F32(v) => Vectors::F32(v[from * batch.dims..to * batch.dims].to_vec()),
        Vectors::F64(v) => Vectors::F64(v[from * batch.dims..to * batch.dims].to_vec()),
    };
    AlignedBatch {
        ids: cut_texts(&batch.ids),
        labels: cut_texts(&batch.labels),
        candidate_labels: cut_texts(&batch.candidate_labels),
        dims: batch.dims,
        reference: cut(&batch.reference),
        candidate: cut(&batch.candidate),
    }
}

fn judge(
    criterion: &Admitted,
    parameters: &[(&str, f64)],
    batches: &[AlignedBatch],
) -> Result<Finished, CriterionError> {
    let parameters: Vec<(String, f64)> = parameters.iter().map(|(n, v)| (n.to_string(), *v)).collect();
    let mut fold = criterion.start(&parameters, Arc::new(AtomicBool::new(false)))?;
    let measures = criterion.measures(&parameters)?;
    for batch in batches {
        fold.update(batch, measured(batch, &measures))?;
    }
    fold.finish()
}

/// The measures of a batch; where they need all rows, a value of the row's own instead of it.
fn measured(batch: &AlignedBatch, measures: &[Measure]) -> Vec<Vec<f64>> {
    let mut lists = measure_rows(batch, measures).0;
    for (list, measure) in lists.iter_mut().zip(measures).filter(|(_, measure)| measure.needs_all_rows()) {
        for (row, value) in list.iter_mut().enumerate() {
            let number: u32 = batch.ids.get(row).trim_start_matches("row-").parse().unwrap();
            *value = match measure {
                Measure::CentroidKept => f64::from(number % 2),
                _ if number % 3 == 0 => f64::NAN,
                Measure::NeighboursTied(_) => f64::from(number % 2),
                _ => f64::from(number % 11) / 10.0,
            };
        }
    }
    lists
}

/// A criterion whose row or verdict does something else than judging.
fn misbehaving(row: &str, verdict: &str) -> String {
    format!(
        "criterion! {{ meaning: \"m\", parameters: {{}}, sees: {{ cosine }}, state: {{ least: Lowest }},\n\
         row: |state, row, _p| {{ {row}; state.least.add(row.cosine, row.id); }},\n\
         verdict: |state, _p| {{ {verdict}; pass_if(state.least.value() > 0.0).figure(\"cosine.min\", \"unitless\", &state.least) }} }}"
    )
}

#[test]
fn the_prebuilt_standard_criteria_are_what_their_sources_compile_to() {
    let sums = include_str!("../../../wasm-checks/standard/prebuilt/SHA256SUMS");
    for criterion in standard::STANDARD {
        let sum = digest(criterion.component);
        assert!(sums.contains(&format!("{sum}  {}.wasm", criterion.name)), "{} is not in SHA256SUMS", criterion.name);
        if TOOLCHAIN.version.contains("release: 1.95.0") {
            let rebuilt = compiled(criterion.name, criterion.source).unwrap();
            assert_eq!(digest(&rebuilt), sum, "{} differs: run the example rebuild-standard", criterion.name);
        }
    }
}

#[test]
fn the_same_cell_in_two_folders_gives_the_same_bytes_the_same_answer_and_the_same_fuel() {
    let source = standard::find("cosine").unwrap().source;
    let (a, b) = (compiled("again", source).unwrap(), compiled("again", source).unwrap());
    assert_eq!(digest(&a), digest(&b));
    let criterion = HOST.admit("again", &a).unwrap();
    let (one, two) = (
        judge(&criterion, &[("floor", 0.5)], &[rows(50)]).unwrap(),
        judge(&criterion, &[("floor", 0.5)], &[rows(50)]).unwrap(),
    );
    assert_eq!(one.outcome, two.outcome);
    assert_eq!(one.fuel, two.fuel);
}

/// Parameters under which a standard criterion can judge [`rows`].
fn parameters_of(name: &str) -> Vec<(&'static str, f64)> {
    match name {
        "abs" => vec![("most", 1e-5)],
        "allclose" => vec![("atol", 1e-5), ("rtol", 0.0)],
        "centroid" => vec![("floor", 0.5)],
        "cosine" => vec![("floor", 0.9)],
        "cka" => vec![("floor", 0.5), ("rows", 40.0)],
        "drift" => vec![("shift", 1.0), ("covariance", 1.0), ("mmd2", 1.0), ("bandwidth", 1.0), ("rows", 40.0)],
        "knn" => vec![("floor", 0.5), ("k", 10.0), ("queries", 100.0)],
        "metric" => vec![("margin", 0.5), ("alpha", 0.05)],
        "procrustes" => vec![("most", 0.5), ("rows", 40.0)],
        "topk" => vec![("floor", 0.5), ("k", 2.0)],
        "labels" => vec![("floor", 0.3)],
        "norm" => vec![("least", 0.9), ("most", 1.1), ("undefined", 0.0)],
        "rel" => vec![("most", 0.1), ("undefined", 0.0)],
        "trajectory" => vec![("atol", 1e-5), ("rtol", 0.0)],
        "ulp" => vec![("most", 100.0)],
        other => panic!("say how `{other}` is to be tested"),
    }
}

#[test]
fn a_standard_criterion_gives_the_same_bits_however_its_rows_are_split_and_merged() {
    let batch = rows(200);
    for standard in standard::STANDARD {
        let parameters = parameters_of(standard.name);
        let criterion = HOST.admit(standard.name, standard.component).unwrap();
        let whole = judge(&criterion, &parameters, &[slice(&batch, 0, 200)]).unwrap().outcome;
        let small: Vec<AlignedBatch> = (0..20).map(|i| slice(&batch, i * 10, i * 10 + 10)).collect();
        assert_eq!(judge(&criterion, &parameters, &small).unwrap().outcome, whole);
        let named: Vec<(String, f64)> = parameters.iter().map(|(n, v)| (n.to_string(), *v)).collect();
        let measures = criterion.measures(&named).unwrap();
        let flag = Arc::new(AtomicBool::new(false));
        let mut merged = criterion.start(&named, flag.clone()).unwrap();
        for part in small.chunks(3).rev() {
            let mut fold = criterion.start(&named, flag.clone()).unwrap();
            part.iter().for_each(|b| fold.update(b, measured(b, &measures)).unwrap());
            merged.merge(&fold.state().unwrap(), 0).unwrap();
        }
        assert_eq!(merged.finish().unwrap().outcome, whole);
    }
}

#[test]
fn a_criterion_that_sees_vectors_labels_and_ids_reads_them_right() {
    let source = r#"criterion! {
        meaning: "sum of |c - r| over all rows",
        parameters: { most["same as the values"] "largest sum accepted" },
        sees: { reference, candidate, label },
        state: { sum: Sum, worst: Highest<2>, labelled: Count },
        row: |state, row, _p| {
            let d: f64 = row.reference.zip(row.candidate).map(|(r, c)| (c - r).abs()).sum();
            state.sum.add(d);
            state.worst.add(d, row.id);
            state.labelled.add_if(row.label == "x");
        },
        verdict: |state, p| {
            pass_if(state.sum.value() <= p.most)
                .because(format!("the sum is {}", state.sum.value()))
                .figure("sum", "same as the values", &state.sum)
                .figure("worst", "same as the values", &state.worst)
                .figure("labelled", "rows", &state.labelled)
        },
    }"#;
    let criterion = admitted("l1", source).unwrap();
    let mut batch = rows(3);
    batch.labels.clear();
    ["x", "y", "x"].iter().for_each(|l| batch.labels.push(l));
    batch.reference = Vectors::F64(vec![0.0; 24]);
    batch.candidate = Vectors::F64((0..24).map(f64::from).collect());
    let answer = judge(&criterion, &[("most", 275.0)], &[batch]).unwrap().outcome;
    assert_eq!(answer.judgement, Judgement::Fail);
    let values: Vec<f64> = answer.figures.iter().map(|f| f.value).collect();
    assert_eq!(values, [276.0, 156.0, 2.0]);
    assert_eq!(answer.figures[1].worst.len(), 2);
    assert_eq!(answer.reason, "the sum is 276");
}

#[test]
fn a_tally_of_more_keys_than_classes_have_is_an_error_that_names_one() {
    let source = r#"criterion! {
        meaning: "rows by id and label",
        parameters: {},
        sees: { label, candidate_label },
        state: { ids: Tally, pairs: Tally },
        row: |state, row, _p| {
            state.ids.add(row.id);
            state.pairs.add_pair(row.label, row.candidate_label);
        },
        verdict: |state, _p| {
            pass_if(true)
                .figure("ids", "keys", &state.ids)
                .figure("x.x", "rows", &(state.pairs.count_pair("x", "x") as f64))
        },
    }"#;
    let criterion = admitted("tally", source).unwrap();
    let answer = judge(&criterion, &[], &[rows(1024)]).unwrap().outcome;
    // Of the rows 0, 33, 66, … below 1024, whose places modulo 3 and modulo 11 are both 0, and so on: counted here.
    let both = (0..1024).filter(|row| row % 3 == 0 && row % 11 % 3 == 0).count();
    assert_eq!(answer.figures.iter().map(|f| f.value).collect::<Vec<_>>(), [1024.0, both as f64]);
    match judge(&criterion, &[], &[rows(1025)]) {
        Err(CriterionError::CannotAnswer { why, .. }) => {
            assert!(why.contains("1024") && why.contains("row-999"), "{why}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_compile_error_points_at_its_line_and_column_of_the_cell() {
    let cell = "//! A cell.\n\ncriterion! {\n    meaning: \"m\", parameters: {}, sees: { cosine }, state: { least: Lowest },\n    row: |state, row, _p| { state.least.add(row.cosine, row.idd); },\n    verdict: |state, _p| { pass_if(true) },\n}";
    match admitted("typo", cell) {
        Err(CriterionError::DoesNotCompile { diagnostics, .. }) => {
            assert_eq!((diagnostics[0].line, diagnostics[0].column), (5, 61), "{diagnostics:?}");
            assert!(diagnostics[0].rendered.contains("typo.rs:5:61"), "{}", diagnostics[0].rendered);
        }
        other => panic!("{:?}", other.err()),
    }
}

#[test]
fn asking_for_a_measure_that_does_not_exist_lists_those_that_do() {
    let cell = "criterion! { meaning: \"m\", parameters: {}, sees: { angle }, state: { n: Count }, row: |s, _r, _p| { s.n.add(); }, verdict: |_s, _p| { pass_if(true) } }";
    let error = admitted("angle", cell).err().unwrap().to_string();
    assert!(error.contains("a row has no `angle`") && error.contains("norm_reference"), "{error}");
}

#[test]
fn an_endless_loop_runs_out_of_fuel_in_under_two_seconds_and_is_no_verdict() {
    for (row, verdict, during) in [("loop {}", "", "rows 1 to 3"), ("", "loop {}", "its verdict")] {
        let criterion = admitted("endless", &misbehaving(row, verdict)).unwrap();
        let (started, before) = (Instant::now(), computed());
        match judge(&criterion, &[], &[rows(3)]) {
            Err(CriterionError::OutOfFuel { name, during: when, .. }) => {
                assert_eq!((name.as_str(), when.as_str()), ("endless", during));
            }
            other => panic!("{other:?}"),
        }
        // On a machine that has other work, the wall clock measures that work too.
        let spent = computed().zip(before).map_or(started.elapsed(), |(now, before)| now.saturating_sub(before));
        assert!(spent.min(started.elapsed()) < Duration::from_secs(2), "{spent:?}");
    }
}

/// Processor time of this thread so far, where the system tells it.
fn computed() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

#[test]
fn what_ends_a_criterion_is_placed_at_its_line_of_the_cell() {
    // The line is the cell's also where it called, or inlined, what then failed: in the sdk, or in the standard library.
    let cell = |helper: &str, row: &str, verdict: &str| {
        format!(
            "fn helper(n: usize) -> usize {{\n    {helper}\n}}\n\
             criterion! {{\n    meaning: \"m\", parameters: {{}}, sees: {{ cosine }}, state: {{ least: Lowest }},\n\
             row: |state, row, _p| {{\n        std::hint::black_box(helper(row.id.len()));\n        {row};\n        \
             state.least.add(row.cosine, row.id);\n    }},\n\
             verdict: |state, _p| {{\n        {verdict};\n        \
             pass_if(state.least.value() > 0.0).figure(\"cosine.min\", \"unitless\", &state.least)\n    }}\n}}"
        )
    };
    for (what, helper, row, verdict, kind, line) in [
        ("a panic in a helper", "[1, 2, 3][n]", "", "", "trapped", 2),
        ("an unwrap", "n", "std::hint::black_box(None::<u8>).unwrap()", "", "trapped", 8),
        ("a division", "n / (n - 7)", "", "", "trapped", 2),
        ("an overflow", "usize::MAX - n", "std::hint::black_box(helper(0) + row.id.len())", "", "trapped", 8),
        ("an endless row", "n", "while std::hint::black_box(true) {}", "", "out_of_fuel", 8),
        (
            "an endless verdict",
            "n",
            "",
            "let mut k = 1u64; while k > 0 { k = std::hint::black_box(k) | 1; }",
            "out_of_fuel",
            12,
        ),
        ("a gigabyte", "n", "std::hint::black_box(vec![1u8; 1 << 30])", "", "over_limit", 8),
    ] {
        let criterion = admitted("lines", &cell(helper, row, verdict)).unwrap();
        let error = judge(&criterion, &[], &[rows(3)]).unwrap_err();
        assert_eq!(
            (error.kind(), error.place()),
            (kind, Some(format!("criterion lines, line {line}"))),
            "{what}: {error}"
        );
    }
    // The compiler's own tables, which name folders and fill a megabyte, stay behind.
    let sections = custom_sections(&compiled("lines", &cell("n", "", "")).unwrap());
    assert!(sections.iter().any(|name| name == "fascicolo:lines"), "{sections:?}");
    assert!(!sections.iter().any(|name| name.starts_with(".debug")), "{sections:?}");
}

/// The custom sections of a component's core modules.
fn custom_sections(component: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    for payload in wasmparser::Parser::new(0).parse_all(component) {
        if let wasmparser::Payload::CustomSection(section) = payload.unwrap() {
            names.push(section.name().to_owned());
        }
    }
    names
}

#[test]
fn a_gigabyte_is_over_the_limit_and_no_verdict() {
    let criterion = admitted("hungry", &misbehaving("std::hint::black_box(vec![1u8; 1 << 30])", "")).unwrap();
    match judge(&criterion, &[], &[rows(3)]) {
        Err(CriterionError::OverLimit { limit, .. }) => assert!(limit.contains("256 allowed"), "{limit}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_panic_a_deep_recursion_and_a_value_that_is_no_number_are_each_named_and_no_verdict() {
    let panics =
        admitted("panics", &misbehaving("let v: Vec<u8> = Vec::new(); std::hint::black_box(v[row.id.len()])", ""))
            .unwrap();
    assert!(matches!(judge(&panics, &[], &[rows(3)]), Err(CriterionError::Trapped { .. })));
    let deep =
        "fn f(n: u64) -> u64 { if std::hint::black_box(n) == 0 { 0 } else { std::hint::black_box(f(n - 1)) + 1 } }\n";
    let recursive =
        admitted("recursive", &format!("{deep}{}", misbehaving("std::hint::black_box(f(u64::MAX))", ""))).unwrap();
    match judge(&recursive, &[], &[rows(3)]) {
        Err(CriterionError::OverLimit { limit, .. }) => assert!(limit.contains("stack"), "{limit}"),
        Err(CriterionError::Trapped { why, .. }) => assert!(why.contains("out of bounds"), "{why}"),
        other => panic!("{other:?}"),
    }
    let nan = admitted("nan", &misbehaving("state.least.add(f64::NAN, row.id)", "")).unwrap();
    match judge(&nan, &[], &[rows(3)]) {
        Err(CriterionError::CannotAnswer { why, .. }) => assert!(why.contains("row-000"), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_cell_that_reads_files_while_compiling_is_refused_and_shows_nothing_of_them() {
    let secret = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    for head in [
        "const X: &str = include_str!(\"/etc/hostname\");",
        "include!(\"/etc/passwd\");",
        "#[path = \"/etc/passwd\"] mod x;",
        "compile_error!(concat!(include_str!(\"/etc/passwd\")));",
        "const X: &str = env!(\"PATH\");",
        "use std::env as e; const X: &str = e!(\"TMPDIR\");",
        "macro_rules! m { ($a:tt, $p:literal) => { #[path = $p] pub $a x; } } m!(mod, \"/etc/passwd\");",
    ] {
        let error = admitted("reader", &format!("{head}\n{}", misbehaving("", ""))).err().unwrap();
        assert!(matches!(error, CriterionError::ReadsFiles { .. }), "{head}: {error}");
        let shown = format!("{error} {error:?}");
        assert!(secret.lines().all(|line| line.len() < 6 || !shown.contains(line)), "{shown}");
    }
}

#[test]
fn an_answer_too_large_to_take_is_over_the_limit() {
    let big = "let unit = \"u\".repeat(1 << 20); let mut a = pass_if(true); for _ in 0..64 { a = a.figure(\"f\", &unit, &1.0); } return a";
    let criterion = admitted("flood", &misbehaving("", big)).unwrap();
    assert!(matches!(judge(&criterion, &[], &[rows(3)]), Err(CriterionError::OverLimit { .. })));
}

#[test]
fn a_verdict_without_a_finite_figure_behind_it_is_no_verdict() {
    for (verdict, says) in [
        ("return pass_if(true)", "no figure"),
        ("return pass_if(true).figure(\"f\", \"u\", &f64::INFINITY)", "`f` is inf"),
        ("return pass_if(true).figure(\"f\", \"u\", &Lowest::<5>::default())", "seen no row"),
        ("return pass_if(true).figure(\"f\", \"u\", &1.0).figure(\"f\", \"u\", &2.0)", "two figures named `f`"),
        (
            "let mut a = pass_if(true); for i in 0..65 { a = a.figure(&format!(\"f{i}\"), \"u\", &1.0); } return a",
            "65 figures",
        ),
        ("return pass_if(true).figure(\"f\", \"u\", &1.0).because(\"x\".repeat(5000))", "5000 bytes of reason"),
    ] {
        let criterion = admitted("bare", &misbehaving("", verdict)).unwrap();
        let error = judge(&criterion, &[], &[rows(3)]).unwrap_err();
        assert!(matches!(error, CriterionError::CannotAnswer { .. }), "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[test]
fn an_interrupt_ends_a_criterion_at_once() {
    let criterion =
        admitted("slow", &misbehaving("", "let mut n = 0u64; while std::hint::black_box(n) < 1 << 60 { n += 1 }"))
            .unwrap();
    let flag = Arc::new(AtomicBool::new(false));
    let fold = criterion.start(&[], flag.clone()).unwrap();
    let raise = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        flag.store(true, Ordering::Relaxed);
    });
    let started = Instant::now();
    let ended = fold.finish();
    raise.join().unwrap();
    // A fast machine may use up the fuel first; both ends are ends.
    assert!(matches!(ended, Err(CriterionError::Interrupted { .. } | CriterionError::OutOfFuel { .. })));
    assert!(started.elapsed() < Duration::from_millis(700), "{:?}", started.elapsed());
}

#[test]
fn bytes_that_are_no_criterion_are_refused_by_what_they_are() {
    assert!(matches!(HOST.admit("text", b"hello"), Err(CriterionError::NotAComponent { .. })));
    assert!(matches!(HOST.admit("module", b"\0asm\x01\0\0\0"), Err(CriterionError::NotAComponent { .. })));
    assert!(matches!(HOST.admit("empty", b"\0asm\x0d\0\x01\0"), Err(CriterionError::OtherContract { .. })));
    let mut cut = standard::find("cosine").unwrap().component.to_vec();
    cut.truncate(cut.len() / 2);
    assert!(matches!(HOST.admit("cut", &cut), Err(CriterionError::NotAComponent { .. })));
}

#[test]
fn a_parameter_that_counts_neighbours_is_a_whole_number_or_refused_before_any_row() {
    let criterion = HOST.admit("knn", standard::find("knn").unwrap().component).unwrap();
    for (k, queries, says) in [
        (2.5, 10.0, "`k` is 2.5; it counts rows: a whole number from 1 to 1000"),
        (1001.0, 10.0, "`k` is 1001, above 1000"),
        (10.0, 0.0, "`queries` is 0, below 1"),
        (10.0, 10.5, "`queries` is 10.5; it counts rows"),
        (10.0, 1e300, "it counts rows: a whole number from 1 to 4294967295"),
    ] {
        let given = [("floor", 0.5), ("k", k), ("queries", queries)].map(|(n, v)| (n.to_owned(), v));
        let error = criterion.check_parameters(&given).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn parameters_are_all_asked_for_and_never_chosen() {
    let criterion = HOST.admit("allclose", standard::find("allclose").unwrap().component).unwrap();
    for (given, says) in [
        (vec![("atol", 0.0)], "`rtol` has no value"),
        (vec![("atol", 0.0), ("rtol", 0.0), ("extra", 1.0)], "no parameter `extra`"),
        (vec![("atol", f64::NAN), ("rtol", 0.0)], "`atol` is NaN"),
        (vec![("atol", 0.0), ("atol", 1.0), ("rtol", 0.0)], "given twice"),
        (vec![("atol", -1.0), ("rtol", 0.0)], "`atol` is -1, below 0"),
    ] {
        let error = judge(&criterion, &given, &[rows(1)]).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}
