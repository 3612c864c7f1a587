//! What the sandbox costs: a criterion in it against the same code as part of this program, and a cell until it can judge.
//!
//! Questions, inputs and units stand before each figure. Both sides of a ratio run in turns in one process, over the same
//! batches; what is judged are the bounds, and if one is missed the exit status is 1. The native side is compiled for the
//! processor that this program was built for (x86-64 as such unless told otherwise), with the same sdk and the same
//! source.
//!
//! `cargo bench -p fascicolo-criterion` runs all, `… -- rows` or `… -- cells` one of them.

#![allow(clippy::unwrap_used, missing_docs)]

use fascicolo_contract::measure::{Measure, measure_rows};
use fascicolo_contract::{AlignedBatch, Texts, Vectors};
use fascicolo_criterion::{Admitted, Host, Isolation, Launcher, Toolchain, compile, standard};
use fascicolo_sdk::accumulate::{Count, Highest, Lowest, Mean, Spread};
use fascicolo_sdk::row::Vector;
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

include!("raw_cosine.rs");

const ROWS: usize = 1_000_000;
const DIMS: usize = 384;
/// Rows of a batch, as the program hands them out.
const BATCH_ROWS: usize = 256;
/// Different batches: 200 MB, more than a processor keeps near. They come again and again until there were `ROWS`.
const BATCHES: usize = 256;
const RUNS: usize = 3;
const MEASURES_RATIO: f64 = 1.05;
const RAW_RATIO: f64 = 1.6;
const CELL_SECONDS: f64 = 0.6;
const KEPT_SECONDS: f64 = 0.02;
const PYTHON_SECONDS: f64 = 0.05;

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|w| w == name);
    let cache = tempfile::tempdir().unwrap();
    let launcher = Launcher { exe: env!("CARGO_BIN_EXE_compile-component").into(), args: Vec::new() };
    let host = Host::isolated(Isolation::new(launcher, Some(cache.path().to_owned()))).unwrap();
    let toolchain = Toolchain::prepare(cache.path(), &|_| {}).unwrap();
    let mut missed = 0;
    if wants("rows") {
        missed += rows(&host, &toolchain);
    }
    if wants("cells") {
        missed += cells(&host, &toolchain);
    }
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// One figure against its bound.
fn judge(what: &str, value: f64, bound: f64, unit: &str) -> usize {
    let held = value <= bound;
    println!("  {} {what}: {value:.3}{unit} (at most {bound}{unit})", if held { "held  " } else { "MISSED" });
    usize::from(!held)
}

fn batches() -> Vec<AlignedBatch> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    (0..BATCHES)
        .map(|batch| {
            let mut ids = Texts::default();
            (0..BATCH_ROWS).for_each(|row| ids.push(&format!("row-{:07}", batch * BATCH_ROWS + row)));
            let reference: Vec<f32> = (0..BATCH_ROWS * DIMS).map(|_| next()).collect();
            let candidate = reference.iter().map(|value| value + 1e-3 * next()).collect();
            AlignedBatch {
                ids,
                labels: Texts::default(),
                candidate_labels: Texts::default(),
                dims: DIMS,
                reference: Vectors::F32(reference),
                candidate: Vectors::F32(candidate),
            }
        })
        .collect()
}

type Seen<'a> = (&'a AlignedBatch, &'a [Vec<f64>]);

/// Seconds for all rows in the sandbox, measures included.
fn hosted(criterion: &Admitted, given: &[(String, f64)], batches: &[AlignedBatch]) -> (f64, Vec<f64>) {
    let started = Instant::now();
    let measures = criterion.measures(given).unwrap();
    let mut fold = criterion.start(given, Arc::new(AtomicBool::new(false))).unwrap();
    for batch in batches.iter().cycle().take(ROWS / BATCH_ROWS) {
        fold.update(batch, measure_rows(batch, &measures).0).unwrap();
    }
    let outcome = fold.finish().unwrap().outcome;
    (started.elapsed().as_secs_f64(), outcome.figures.iter().map(|figure| figure.value).collect())
}

/// The same in this program.
fn native<S: Default>(
    measures: &[Measure],
    batches: &[AlignedBatch],
    update: impl Fn(&mut S, Seen<'_>),
    figures: impl Fn(&S) -> Vec<f64>,
) -> (f64, Vec<f64>) {
    let started = Instant::now();
    let mut state = S::default();
    for batch in batches.iter().cycle().take(ROWS / BATCH_ROWS) {
        let lists = measure_rows(batch, measures).0;
        update(&mut state, (batch, &lists));
    }
    let figures = black_box(figures(&state));
    (started.elapsed().as_secs_f64(), figures)
}

/// The fastest of some runs of both, in turns; what they computed must be the same.
fn in_turns(a: impl Fn() -> (f64, Vec<f64>), b: impl Fn() -> (f64, Vec<f64>)) -> (f64, f64) {
    let mut fastest = (f64::INFINITY, f64::INFINITY);
    for _ in 0..RUNS {
        let ((seconds_a, figures_a), (seconds_b, figures_b)) = (a(), b());
        assert_eq!(figures_a, figures_b);
        fastest = (fastest.0.min(seconds_a), fastest.1.min(seconds_b));
    }
    fastest
}

fn rows(host: &Host, toolchain: &Toolchain) -> usize {
    println!(
        "{ROWS} rows × {DIMS} values of float32, one thread: time in the sandbox / time of the same code natively"
    );
    let batches = batches();
    let ready = |name: &str| host.admit(name, standard::find(name).unwrap().component).unwrap();
    let mut missed = 0;

    let (cosine, floor) = (ready("cosine"), vec![("floor".to_owned(), 0.5)]);
    let measures = cosine.measures(&floor).unwrap();
    #[derive(Default)]
    struct OfCosine {
        least: Lowest,
        mean: Mean,
        ratio: Highest,
        turned: Spread,
    }
    let of_cosine = |state: &mut OfCosine, (batch, lists): Seen<'_>| {
        for row in 0..batch.rows() {
            let id = batch.ids.get(row);
            let (value, norm_r, norm_c) = (lists[0][row], lists[1][row], lists[2][row]);
            state.least.add(value, id);
            state.mean.add(value);
            state.ratio.add(norm_c / norm_r, id);
            state.turned.add(1.0 - value);
        }
    };
    let (a, b) = in_turns(
        || hosted(&cosine, &floor, &batches),
        || native(&measures, &batches, of_cosine, |s| vec![s.least.value(), s.mean.value(), s.ratio.value()]),
    );
    missed += judge(&format!("cosine by host measures ({b:.2} s natively)"), a / b, MEASURES_RATIO, "");

    let (allclose, given) = (ready("allclose"), vec![("atol".to_owned(), 5e-4), ("rtol".to_owned(), 1e-3)]);
    let measures = allclose.measures(&given).unwrap();
    #[derive(Default)]
    struct OfAllclose {
        abs: Highest,
        rel: Highest,
        undefined: Count,
        over: Count,
        elements: Count,
        sizes: Spread,
    }
    let at = |name: &str| measures.iter().position(|m| m.name() == name).unwrap();
    let (abs, rel, undefined, over) = (at("abs_max"), at("rel_max"), at("rel_undefined"), at("elements_over"));
    let of_allclose = |state: &mut OfAllclose, (batch, lists): Seen<'_>| {
        for row in 0..batch.rows() {
            let id = batch.ids.get(row);
            state.abs.add(lists[abs][row], id);
            state.rel.add(lists[rel][row], id);
            state.undefined.add_many(lists[undefined][row] as u64);
            state.over.add_if(lists[over][row] > 0.0);
            state.elements.add_many(lists[over][row] as u64);
            state.sizes.add(lists[abs][row]);
        }
    };
    let names = |of: &Admitted| -> Vec<String> {
        let finished = {
            let mut fold = of.start(&given, Arc::new(AtomicBool::new(false))).unwrap();
            fold.update(&batches[0], measure_rows(&batches[0], &measures).0).unwrap();
            fold.finish().unwrap()
        };
        finished.outcome.figures.into_iter().map(|figure| figure.name).collect()
    };
    let order = names(&allclose);
    let (a, b) = in_turns(
        || hosted(&allclose, &given, &batches),
        || {
            native(&measures, &batches, of_allclose, |s| {
                order
                    .iter()
                    .map(|name| match name.as_str() {
                        "abs.max" => s.abs.value(),
                        "rel.max" => s.rel.value(),
                        "rel.undefined" => s.undefined.value() as f64,
                        "rows.over" => s.over.value() as f64,
                        "elements.over" => s.elements.value() as f64,
                        other => panic!("a figure `{other}` without a native counterpart"),
                    })
                    .collect()
            })
        },
    );
    missed += judge(&format!("allclose by host measures ({b:.2} s natively)"), a / b, MEASURES_RATIO, "");

    let cell = format!(
        "{}\ncriterion! {{ meaning: \"cosine of raw vectors\", parameters: {{}}, sees: {{ reference, candidate }},\n\
         state: {{ least: Lowest, mean: Mean }},\n\
         row: |state, row, _p| {{ let cosine = raw_cosine(row.reference, row.candidate); state.least.add(cosine, row.id); state.mean.add(cosine); }},\n\
         verdict: |state, _p| {{ pass_if(true).figure(\"least\", \"unitless\", &state.least).figure(\"mean\", \"unitless\", &state.mean) }} }}",
        include_str!("raw_cosine.rs")
    );
    let compiled = compile::compile(toolchain, "raw", &cell, &|| false).unwrap();
    let raw = host.admit("raw", &compiled.component).unwrap();
    let of_raw = |state: &mut (Lowest, Mean), (batch, _): Seen<'_>| {
        let (Vectors::F32(r), Vectors::F32(c)) = (&batch.reference, &batch.candidate) else { return };
        for (row, (r, c)) in r.chunks_exact(DIMS).zip(c.chunks_exact(DIMS)).enumerate() {
            let cosine = raw_cosine(Vector::F32(r), Vector::F32(c));
            state.0.add(cosine, batch.ids.get(row));
            state.1.add(cosine);
        }
    };
    let (a, b) = in_turns(
        || hosted(&raw, &[], &batches),
        || native(&[], &batches, of_raw, |s: &(Lowest, Mean)| vec![s.0.value(), s.1.value()]),
    );
    missed + judge(&format!("cosine by raw vectors ({b:.2} s natively)"), a / b, RAW_RATIO, "")
}

fn cells(host: &Host, toolchain: &Toolchain) -> usize {
    println!("a cell until it can judge, 15 different ones, median");
    let (mut rust, mut again) = (Vec::new(), Vec::new());
    for i in 0..15 {
        let source = format!("{}\nconst _: u32 = {i};", standard::find("cosine").unwrap().source);
        let started = Instant::now();
        let compiled = compile::compile(toolchain, "cell", &source, &|| false).unwrap();
        black_box(host.admit("cell", &compiled.component).unwrap());
        rust.push(started.elapsed().as_secs_f64());
        // A kernel keeps the component of a cell for as long as it runs.
        let started = Instant::now();
        black_box(host.admit("cell", &compiled.component).unwrap());
        again.push(started.elapsed().as_secs_f64());
    }
    let python = |i: usize| {
        let source = format!(
            "meaning = 'cosine {i}'\nparameters = {{'floor': ('unitless', -1.0, 1.0, 'smallest cosine')}}\nsees = ['cosine']\n\
             state = {{'least': Lowest()}}\ndef row(state, row, p):\n    state.least.add(row.cosine, row.id)\n\
             def verdict(state, p):\n    return pass_if(state.least.value >= p.floor).figure('cosine.min', 'unitless', state.least)\n"
        );
        let script = fascicolo_criterion::python::Script::new("cell", &source).unwrap();
        let started = Instant::now();
        black_box(host.admit("cell", &script.sealed()).unwrap());
        started.elapsed().as_secs_f64()
    };
    let first = python(0);
    let later: Vec<f64> = (1..16).map(python).collect();
    let median = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    judge("Rust, first time", median(rust), CELL_SECONDS, " s")
        + judge("Rust, the same cell again", median(again), KEPT_SECONDS, " s")
        + judge(&format!("Python (its host was compiled once, in {first:.1} s)"), median(later), PYTHON_SECONDS, " s")
}
