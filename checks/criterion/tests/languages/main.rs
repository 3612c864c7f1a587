//! Criteria in other languages than Rust: the same bits as the Rust ones, mistakes shown at their line of the cell, and
//! nothing outside within reach.
#![allow(clippy::unwrap_used, missing_docs)]

mod attacks;
mod bits;
mod mistakes;
mod wat;

use fascicolo_contract::measure::{Measure, measure_rows};
use fascicolo_contract::{AlignedBatch, Texts, Vectors};
use fascicolo_criterion::python::Script;
use fascicolo_criterion::{Admitted, CriterionError, Finished, Fold, Host, Isolation, Launcher};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};

/// One engine for all tests of this file, with the Python host compiled: once for this build folder.
static HOST: LazyLock<Host> = LazyLock::new(|| {
    let launcher = Launcher { exe: env!("CARGO_BIN_EXE_compile-component").into(), args: Vec::new() };
    let cache = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("languages");
    let host = Host::isolated(Isolation::new(launcher, Some(cache))).unwrap();
    host.admit("first", &Script::new("first", &cell("", "")).unwrap().sealed()).unwrap();
    host
});

/// A criterion whose row or verdict does something else than judging, on line 6 or line 10.
fn cell(row: &str, verdict: &str) -> String {
    let or_pass = |text: &str| if text.is_empty() { "pass".to_owned() } else { text.to_owned() };
    format!(
        "meaning = \"m\"\nparameters = {{}}\nsees = [\"cosine\"]\nstate = {{\"least\": Lowest()}}\n\
         def row(state, row, p):\n    {}\n    state.least.add(row.cosine, row.id)\n\n\
         def verdict(state, p):\n    {}\n    \
         return pass_if(state.least.value > 0.0).figure(\"cosine.min\", \"unitless\", state.least)\n",
        or_pass(row),
        or_pass(verdict)
    )
}

fn python(name: &str, source: &str) -> Result<Admitted, CriterionError> {
    HOST.admit(name, &Script::new(name, source)?.sealed())
}

/// `rows` rows of 8 values; the candidate differs by a little that grows with the row.
fn rows(rows: usize) -> AlignedBatch {
    let (mut ids, mut labels, mut candidate_labels) = (Texts::default(), Texts::default(), Texts::default());
    let (mut reference, mut candidate) = (Vec::new(), Vec::new());
    for row in 0..rows {
        labels.push(["x", "y", ""][row % 3]);
        candidate_labels.push(["x", "y", "à"][row % 11 % 3]);
        ids.push(&format!("à{:03}", (row * 7919) % rows));
        for j in 0..8 {
            let value = ((row * 8 + j) as f32 * 0.37).sin();
            reference.push(value);
            candidate.push(value + row as f32 * 1e-6);
        }
    }
    let (reference, candidate) = (Vectors::F32(reference), Vectors::F32(candidate));
    AlignedBatch { ids, labels, candidate_labels, dims: 8, reference, candidate }
}

/// Some rows of a batch, in any order.
fn pick(batch: &AlignedBatch, rows: impl Iterator<Item = usize> + Clone) -> AlignedBatch {
    let texts = |texts: &Texts| {
        let mut cut = Texts::default();
        rows.clone().for_each(|row| cut.push(texts.get(row)));
        cut
    };
    fn of<T: Copy>(all: &[T], row: usize, dims: usize) -> Vec<T> {
        all[row * dims..(row + 1) * dims].to_vec()
    }
    let vectors = |vectors: &Vectors| match vectors {
        Vectors::F32(all) => Vectors::F32(rows.clone().flat_map(|row| of(all, row, batch.dims)).collect()),
        Vectors::F64(all) => Vectors::F64(rows.clone().flat_map(|row| of(all, row, batch.dims)).collect()),
    };
    AlignedBatch {
        ids: texts(&batch.ids),
        labels: texts(&batch.labels),
        candidate_labels: texts(&batch.candidate_labels),
        dims: batch.dims,
        reference: vectors(&batch.reference),
        candidate: vectors(&batch.candidate),
    }
}

fn slice(batch: &AlignedBatch, rows: Range<usize>) -> AlignedBatch {
    pick(batch, rows)
}

fn fold(criterion: &Admitted, parameters: &[(&str, f64)], batches: &[AlignedBatch]) -> Result<Fold, CriterionError> {
    let parameters: Vec<(String, f64)> = parameters.iter().map(|(n, v)| (n.to_string(), *v)).collect();
    let mut fold = criterion.start(&parameters, Arc::new(AtomicBool::new(false)))?;
    let measures: Vec<Measure> = criterion.measures(&parameters)?;
    for batch in batches {
        fold.update(batch, measure_rows(batch, &measures).0)?;
    }
    Ok(fold)
}

fn judge(
    criterion: &Admitted,
    parameters: &[(&str, f64)],
    batches: &[AlignedBatch],
) -> Result<Finished, CriterionError> {
    fold(criterion, parameters, batches)?.finish()
}
