//! The accumulators of Python and of the Rust sdk, and criteria written with both: bit for bit the same.

use crate::{HOST, cell, fold, judge, pick, python, rows, slice};
use fascicolo_contract::verdict::{Judgement, Outcome};
use fascicolo_contract::{AlignedBatch, Texts, Vectors};
use fascicolo_criterion::standard;
use fascicolo_sdk::accumulate::{Accumulator, Count, Highest, Lowest, Mean, Spread, Sum, Tally};
use std::time::Instant;

/// The standard criteria that were written again in Python, with parameters.
const TWINS: &[(&str, &str, &[(&str, f64)])] = &[
    ("cosine", include_str!("cells/cosine.py"), &[("floor", 0.9)]),
    ("abs", include_str!("cells/abs.py"), &[("most", 1e-5)]),
    ("labels", include_str!("cells/labels.py"), &[("floor", 0.3)]),
];

/// All but the sentence, in which the languages write numbers in their own ways.
fn without_reason(outcome: Outcome) -> Outcome {
    Outcome { reason: String::new(), ..outcome }
}

#[test]
fn a_standard_criterion_written_again_in_python_gives_the_bits_and_the_saved_state_of_the_rust_one() {
    let batch = rows(700);
    for (name, source, parameters) in TWINS {
        let rust = HOST.admit(name, standard::find(name).unwrap().component).unwrap();
        let twin = python(name, source).unwrap();
        assert_eq!(twin.description, rust.description);
        let batches = [slice(&batch, 0..300), slice(&batch, 300..700)];
        let (mut ours, mut theirs) =
            (fold(&twin, parameters, &batches).unwrap(), fold(&rust, parameters, &batches).unwrap());
        assert_eq!(ours.state().unwrap(), theirs.state().unwrap(), "{name}");
        let (ours, theirs) = (ours.finish().unwrap(), theirs.finish().unwrap());
        assert_eq!(without_reason(ours.outcome), without_reason(theirs.outcome), "{name}");
        assert_eq!(ours.rows, 700);
    }
}

#[test]
fn a_criterion_in_python_gives_the_same_bits_however_its_rows_are_ordered_split_and_merged() {
    let batch = rows(200);
    for (name, source, parameters) in TWINS {
        let criterion = python(name, source).unwrap();
        let whole = judge(&criterion, parameters, std::slice::from_ref(&batch)).unwrap().outcome;
        let permuted = pick(&batch, (0..200).map(|row| row * 131 % 200));
        let mut merged = fold(&criterion, parameters, &[]).unwrap();
        for part in (0..200).step_by(30).rev() {
            let mut fold = fold(&criterion, parameters, &[slice(&permuted, part..(part + 30).min(200))]).unwrap();
            merged.merge(&fold.state().unwrap(), 30).unwrap();
        }
        assert_eq!(merged.finish().unwrap().outcome, whole, "{name}");
    }
}

#[test]
fn a_criterion_in_python_uses_the_same_fuel_on_every_run() {
    let batch = rows(300);
    for (name, source, parameters) in TWINS {
        let runs = [(); 2].map(|()| judge(&python(name, source).unwrap(), parameters, &[batch.clone()]).unwrap().fuel);
        assert_eq!(runs[0], runs[1], "{name}");
        println!("shown: {name} in Python: {} units of fuel a row", runs[0] / 300);
    }
}

/// Values that sums and classes find hard, and many others.
fn hard() -> Vec<f64> {
    let mut values = vec![
        0.0,
        -0.0,
        5e-324,
        -5e-324,
        2.2250738585072014e-308,
        1e-310,
        f64::MAX,
        f64::MAX,
        -f64::MAX,
        1.0,
        1e16,
        -1e16,
        1e-16,
        0.1,
        0.2,
        0.3,
        1.5,
        2.0,
        3.5,
        4503599627370497.5,
        9007199254740993.0,
    ];
    let mut bits = 0x9e37_79b9_7f4a_7c15_u64;
    while values.len() < 4_000 {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        let value = f64::from_bits(bits);
        if value.is_finite() {
            values.push(value);
        }
    }
    values
}

fn saved(accumulator: &impl Accumulator) -> Vec<u8> {
    let mut bytes = Vec::new();
    accumulator.save(&mut bytes);
    bytes
}

#[test]
fn every_accumulator_of_python_saves_what_the_rust_one_saves_for_hard_values() {
    let source = "meaning = \"m\"\nparameters = {}\nsees = [\"reference\", \"label\"]\n\
        state = {\"n\": Count(), \"sum\": Sum(), \"mean\": Mean(), \"low\": Lowest(7), \"high\": Highest(), \"sizes\": Spread(), \"keys\": Tally()}\n\
        def row(state, row, p):\n    v = row.reference[0]\n    state.n.add_many(2)\n    state.sum.add(v)\n    \
        state.mean.add(v)\n    state.low.add(v, row.id)\n    state.high.add(v, row.id)\n    state.sizes.add(v)\n    \
        state.keys.add(row.label)\n\
        def verdict(state, p):\n    return pass_if(True).figure(\"sum\", \"u\", state.sum).figure(\"mean\", \"u\", state.mean)\n";
    let criterion = python("all", source).unwrap();
    let values = hard();
    let (mut ids, mut labels) = (Texts::default(), Texts::default());
    let (mut n, mut sum, mut mean) = (Count::default(), Sum::default(), Mean::default());
    let (mut low, mut high) = (Lowest::<7>::default(), Highest::<5>::default());
    let (mut sizes, mut keys) = (Spread::default(), Tally::default());
    for (i, &value) in values.iter().enumerate() {
        let (id, label) = (format!("é{}", i * 7919 % 4_000), format!("k{}", i % 900));
        (ids.push(&id), labels.push(&label));
        n.add_many(2);
        sum.add(value);
        mean.add(value);
        low.add(value, &id);
        high.add(value, &id);
        sizes.add(value);
        keys.add(&label);
    }
    let (reference, candidate) = (Vectors::F64(values.clone()), Vectors::F64(values));
    let batch = AlignedBatch { ids, labels, dims: 1, reference, candidate, candidate_labels: Texts::default() };
    let expected =
        [saved(&n), saved(&sum), saved(&mean), saved(&low), saved(&high), saved(&sizes), saved(&keys)].concat();
    let mut whole = fold(&criterion, &[], std::slice::from_ref(&batch)).unwrap();
    assert!(whole.state().unwrap() == expected, "the saved states differ");
    let answer = whole.finish().unwrap().outcome;
    let figures: Vec<u64> = answer.figures.iter().map(|figure| figure.value.to_bits()).collect();
    assert_eq!(figures, [sum.value().to_bits(), mean.value().to_bits()]);
    // Taken out in parts and merged, even into what Rust saved.
    let mut merged = fold(&criterion, &[], &[slice(&batch, 0..1_000)]).unwrap();
    for part in [1_000..1_001, 1_001..4_000] {
        let state = fold(&criterion, &[], &[slice(&batch, part.clone())]).unwrap().state().unwrap();
        merged.merge(&state, part.len() as u64).unwrap();
    }
    assert!(merged.state().unwrap() == expected, "the merged states differ");
    // The largest keys fall out of a tally that is too large, and one of them is named.
    let mut keys = Tally::default();
    let mut many = slice(&batch, 0..1_500);
    many.labels.clear();
    (0..1_500).for_each(|i| many.labels.push(&format!("k{}", i * 7 % 1_500)));
    (0..1_500).for_each(|i| keys.add(&format!("k{}", 1_499 - i)));
    let mut merged = fold(&criterion, &[], &[slice(&many, 0..750)]).unwrap();
    let rest = fold(&criterion, &[], &[slice(&many, 750..1_500)]).unwrap().state().unwrap();
    merged.merge(&rest, 750).unwrap();
    let refused = merged.finish().unwrap_err().to_string();
    assert!(refused.contains(&keys.trouble().unwrap()), "{refused}");
}

#[test]
fn a_criterion_in_python_sees_ids_labels_vectors_and_measures_that_not_every_row_has() {
    let source = "meaning = \"m\"\nparameters = {\"k\": (\"rows\", \"m\"), \"q\": (\"rows\", \"m\")}\n\
        sees = [\"reference\", \"neighbours_kept(k, q)\", \"candidate\", \"label\", \"l2\"]\n\
        state = {\"worst\": Highest(2), \"asked\": Count(), \"x\": Count(), \"l2\": Sum(), \"l1\": Sum()}\n\
        def row(state, row, p):\n    state.l1.add(sum(abs(c - r) for r, c in zip(row.reference, row.candidate)))\n    \
        state.worst.add(row.candidate[0], row.id)\n    state.asked.add_if(row.neighbours_kept is not None)\n    \
        state.x.add_if(row.label == \"x\")\n    state.l2.add(row.l2)\n\
        def verdict(state, p):\n    if p.k > 10:\n        return inconclusive(\"k\").figure(\"k\", \"rows\", p.k)\n    \
        return pass_if(False, \"no\").figure(\"l1\", \"u\", state.l1).figure(\"worst\", \"u\", state.worst)\
        .figure(\"asked\", \"rows\", state.asked).figure(\"x\", \"rows\", state.x).figure(\"l2\", \"u\", state.l2)\n";
    let criterion = python("eyes", source).unwrap();
    let mut batch = rows(4);
    batch.reference = Vectors::F64(vec![0.0; 32]);
    batch.candidate = Vectors::F64((0..32).map(f64::from).collect());
    let named = [("k".to_owned(), 2.0), ("q".to_owned(), 3.0)];
    let mut fold = criterion.start(&named, Default::default()).unwrap();
    fold.update(&batch, vec![vec![f64::NAN, 0.5, f64::NAN, 1.0], vec![1.0, 2.0, 3.0, 4.0]]).unwrap();
    let answer = fold.finish().unwrap().outcome;
    assert_eq!((answer.judgement, answer.reason.as_str()), (Judgement::Fail, "no"));
    assert_eq!(answer.figures.iter().map(|f| f.value).collect::<Vec<_>>(), [496.0, 24.0, 2.0, 2.0, 10.0]);
    let worst = &answer.figures[1].worst;
    assert_eq!((worst.len(), worst[0].value, worst[1].value), (2, 24.0, 16.0));
    assert_eq!(worst[0].id, batch.ids.get(3));
    let undecided = judge(&criterion, &[("k", 11.0), ("q", 3.0)], &[]).unwrap().outcome;
    assert_eq!((undecided.judgement, undecided.reason.as_str()), (Judgement::Inconclusive, "k"));
}

#[test]
fn a_cell_in_python_is_ready_within_fifty_milliseconds_once_its_host_is_compiled() {
    python("first", &cell("", "")).unwrap();
    let mut times: Vec<f64> = (0..9)
        .map(|i| {
            let source = format!("# {i}\n{}", TWINS[0].1);
            let started = Instant::now();
            python("timed", &source).unwrap();
            started.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("shown: a cell in Python is ready in {:.1} ms (median of 9; the slowest {:.1} ms)", times[4], times[8]);
    // Other tests run beside: the fastest one tells what a cell costs.
    assert!(times[0] < 50.0, "{times:?}");
}
