//! Criteria in Python: one component holds the interpreter, and is given each cell's source when it starts.
//!
//! What is sealed of such a criterion is a [`Script`]: the cell's source under the digest of the component that runs it.
//! The component is compiled once for this program and machine; a cell then costs as much as reading its source.
//! It is ours: no stranger's component is admitted as large as it is.

use crate::answer;
use crate::diagnostic;
use crate::error::CriterionError;
use crate::host::{Budget, Limits, wire};
use crate::isolate::{self, Isolation};
use fascicolo_contract::AlignedBatch;
use fascicolo_contract::table::{Texts, Vectors};
use std::borrow::Cow;
use std::ops::Range;
use wasmtime::component::{Component, Linker};
use wasmtime::{Engine, Result, Store};

mod bindings {
    wasmtime::component::bindgen!({ path: "../../wasm-checks/python/wit", world: "python" });
}
use bindings::Python;
pub(crate) use bindings::exports::fascicolo::python::script;

/// The component, compressed, and its digest as its build wrote it down.
const COMPRESSED: &[u8] = include_bytes!("../../../wasm-checks/python/prebuilt/host.wasm.zst");
const SUMS: &str = include_str!("../../../wasm-checks/python/prebuilt/SHA256SUMS");
/// Bytes of a component that the compiling child takes.
pub const COMPONENT_BYTES: usize = 32 << 20;
/// Bytes of a cell in Python.
pub const SOURCE_BYTES: usize = crate::gate::SOURCE_BYTES;
/// Processor time that compiling the component may take, seconds; it takes some ten.
const COMPILE_SECONDS: u64 = 300;

/// What an interpreter may use. It needs some hundred times the fuel of compiled code for the same row; a loop without
/// end has used all of it in a second.
pub const BUDGET: Budget = Budget {
    base_fuel: 1_000_000_000,
    verdict_fuel: 1_000_000_000,
    fuel_per_row: 2_000_000,
    fuel_per_value: 30_000,
    fuel_at_once: 1_000_000_000,
    instances: 256,
};

/// Why the interpreter stops where its system would have answered.
pub(crate) const OUTSIDE: &str =
    "it asked for a file, a clock, randomness or the network, and a criterion reaches none of them";

/// What a sealed script begins with.
const HEAD: &str = "fascicolo criterion in python, for the host ";

/// A cell's source, and the digest of the component that it is written for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// As its author wrote it.
    pub source: String,
}

impl Script {
    /// Of a cell.
    ///
    /// # Errors
    /// [`CriterionError::TooLarge`], [`CriterionError::HiddenText`].
    pub fn new(name: &str, source: &str) -> Result<Script, CriterionError> {
        crate::compile::check_name(name)?;
        crate::gate::text(name, source)?;
        Ok(Script { source: source.to_owned() })
    }

    /// The bytes that stand for this criterion where another has a component: what is sealed.
    pub fn sealed(&self) -> Vec<u8> {
        format!("{HEAD}{}\n{}", digest(), self.source).into_bytes()
    }

    /// The script that `sealed` bytes hold, if they are one.
    ///
    /// # Errors
    /// [`CriterionError::OtherPython`] if it is for another host component.
    pub fn read(name: &str, sealed: &[u8]) -> Result<Option<Script>, CriterionError> {
        let Some(rest) = sealed.strip_prefix(HEAD.as_bytes()) else { return Ok(None) };
        let not = |why: &str| CriterionError::NotAComponent { name: name.to_owned(), why: why.to_owned() };
        let text = std::str::from_utf8(rest).map_err(|_| not("its source is no UTF-8"))?;
        let (wants, source) = text.split_once('\n').ok_or_else(|| not("it has no source"))?;
        if wants != digest() {
            let wants = crate::words::plain(wants);
            return Err(CriterionError::OtherPython { name: name.to_owned(), wants, has: digest().to_owned() });
        }
        crate::gate::text(name, source)?;
        Ok(Some(Script { source: source.to_owned() }))
    }

    /// An exception while the source was read.
    pub(crate) fn does_not_load(&self, name: &str, problem: &script::Problem) -> CriterionError {
        if let Some(limit) = over(problem) {
            let (during, line) = ("reading its source".into(), line_of(problem));
            return CriterionError::OverLimit { name: name.to_owned(), during, limit, line };
        }
        CriterionError::DoesNotCompile { name: name.to_owned(), diagnostics: vec![self.diagnostic(name, problem)] }
    }

    /// An exception afterwards.
    pub(crate) fn raised(&self, name: &str, during: &str, problem: &script::Problem) -> CriterionError {
        let (name, during) = (name.to_owned(), during.to_owned());
        if let Some(limit) = over(problem) {
            return CriterionError::OverLimit { name, during, limit, line: line_of(problem) };
        }
        if problem.kind == "Trouble" {
            return answer::none(&name, &problem.message);
        }
        let diagnostic = Box::new(self.diagnostic(&name, problem));
        CriterionError::Raised { name, during, diagnostic }
    }

    fn diagnostic(&self, name: &str, problem: &script::Problem) -> crate::Diagnostic {
        let script::Problem { kind, message, line, column } = problem;
        let text = match (kind.as_str(), message.as_str()) {
            ("refused", message) => message.to_owned(),
            (kind, "") => kind.to_owned(),
            (kind, message) => format!("{kind}: {message}"),
        };
        diagnostic::at(&format!("{name}.py"), &self.source, (*line, *column), &text)
    }
}

/// Limits that Python itself finds, in the words of limits.
fn over(problem: &script::Problem) -> Option<String> {
    match problem.kind.as_str() {
        "MemoryError" => Some("more memory asked for than there can be".to_owned()),
        "RecursionError" => Some("its functions call themselves too deep".to_owned()),
        _ => None,
    }
}

fn line_of(problem: &script::Problem) -> Option<u32> {
    Some(problem.line).filter(|line| *line > 0)
}

/// SHA-256 of the component that runs criteria in Python, lower-case hex.
pub fn digest() -> &'static str {
    SUMS.get(..64).unwrap_or_default()
}

/// The component.
///
/// # Errors
/// [`CriterionError::Runtime`] if this program's copy is not the one it names.
pub fn component() -> Result<Vec<u8>, CriterionError> {
    let broken = |why: String| CriterionError::Runtime { why: format!("this program's Python host: {why}") };
    let bytes = zstd::bulk::decompress(COMPRESSED, COMPONENT_BYTES).map_err(|e| broken(e.to_string()))?;
    if crate::digest(&bytes) != digest() {
        return Err(broken("it is not the one that it was built as".into()));
    }
    Ok(bytes)
}

/// What tells the component's machine code apart in the cache; the component itself begins otherwise.
fn known() -> Vec<u8> {
    format!("{HEAD}{}", digest()).into_bytes()
}

pub(crate) fn compile(engine: &Engine, isolation: &Isolation) -> Result<Component, CriterionError> {
    let cpu_seconds = isolation.cpu_seconds.max(COMPILE_SECONDS);
    let isolation = Isolation { cpu_seconds, wall: crate::jail::wall(cpu_seconds), ..isolation.clone() };
    // One process compiles it, the others wait and find it compiled; where there is no cache, or no lock, each does.
    let lock = isolation.cache.as_deref().filter(|_| !is_kept(engine, &isolation)).and_then(|cache| {
        std::fs::create_dir_all(cache).and_then(|()| std::fs::File::create(cache.join("python.lock"))).ok()
    });
    let _held = lock.as_ref().map(std::fs::File::lock);
    isolate::compile_as(engine, &isolation, "python", &known(), || Ok(Cow::Owned(component()?)))
}

pub(crate) fn is_kept(engine: &Engine, isolation: &Isolation) -> bool {
    isolate::is_kept(engine, isolation, &known())
}

/// An instance of the component, and what its cell says of itself.
pub(crate) struct Interpreter {
    python: Python,
    described: wire::Description,
}

impl Interpreter {
    pub fn instantiate(
        store: &mut Store<Limits>,
        component: &Component,
        linker: &Linker<Limits>,
    ) -> Result<Interpreter> {
        let wants = wire::Wants { vectors: false, labels: false, candidate_labels: false };
        let (name, version, meaning) = Default::default();
        let described =
            wire::Description { name, version, meaning, parameters: Vec::new(), measures: Vec::new(), wants };
        Ok(Interpreter { python: Python::instantiate(store, component, linker)?, described })
    }

    pub fn script(&self) -> &script::Guest {
        self.python.fascicolo_python_script()
    }

    pub fn load(
        &mut self,
        store: &mut Store<Limits>,
        script: &Script,
    ) -> Result<std::result::Result<(), script::Problem>> {
        let known: Vec<script::Known> =
            MEASURES.iter().map(|(name, takes, _)| script::Known { name: (*name).to_owned(), takes: *takes }).collect();
        Ok(self.script().call_load(store, &script.source, &known)?.map(|said| self.described = description(said)))
    }

    pub fn described(&self) -> wire::Description {
        self.described.clone()
    }

    pub fn init(
        &self,
        store: &mut Store<Limits>,
        arguments: &[wire::Argument],
    ) -> Result<std::result::Result<(), script::Problem>> {
        let arguments: Vec<script::Argument> =
            arguments.iter().map(|a| script::Argument { name: a.name.clone(), value: a.value }).collect();
        self.script().call_init(store, &arguments)
    }
}

/// The contract's measures by the names that `sees` has for them, and how many names of parameters each takes.
type Named = (&'static str, u32, fn(&[String]) -> wire::Measure);
const MEASURES: &[Named] = &[
    ("dot", 0, |_| wire::Measure::Dot),
    ("norm_reference", 0, |_| wire::Measure::NormReference),
    ("norm_candidate", 0, |_| wire::Measure::NormCandidate),
    ("cosine", 0, |_| wire::Measure::Cosine),
    ("l2", 0, |_| wire::Measure::L2),
    ("abs_max", 0, |_| wire::Measure::AbsMax),
    ("rel_max", 0, |_| wire::Measure::RelMax),
    ("rel_undefined", 0, |_| wire::Measure::RelUndefined),
    ("elements_over", 2, |names| {
        wire::Measure::ElementsOver(wire::ToleranceNames { atol: name(names, 0), rtol: name(names, 1) })
    }),
    ("ulp_max", 0, |_| wire::Measure::UlpMax),
    ("value_bits", 0, |_| wire::Measure::ValueBits),
    ("neighbours_kept", 2, |names| wire::Measure::NeighboursKept(neighbours(names))),
    ("neighbours_tied", 2, |names| wire::Measure::NeighboursTied(neighbours(names))),
    ("centroid_kept", 0, |_| wire::Measure::CentroidKept),
];

fn name(names: &[String], i: usize) -> String {
    names.get(i).cloned().unwrap_or_default()
}

fn neighbours(names: &[String]) -> wire::NeighbourNames {
    wire::NeighbourNames { k: name(names, 0), queries: name(names, 1) }
}

fn description(said: script::Description) -> wire::Description {
    let sees = |name: &str| said.sees.iter().any(|seen| seen.name == name);
    let wants = wire::Wants {
        vectors: sees("reference") || sees("candidate"),
        labels: sees("label"),
        candidate_labels: sees("candidate_label"),
    };
    // What is no measure is a label or a vector: the component refuses every other name.
    let measure = |seen: &script::Seen| {
        let (_, _, make) = MEASURES.iter().find(|(name, _, _)| *name == seen.name)?;
        Some(make(&seen.takes))
    };
    wire::Description {
        name: String::new(),
        measures: said.sees.iter().filter_map(measure).collect(),
        wants,
        version: said.version,
        meaning: said.meaning,
        parameters: said
            .parameters
            .into_iter()
            .map(|p| wire::Parameter { name: p.name, unit: p.unit, meaning: p.meaning, least: p.least, most: p.most })
            .collect(),
    }
}

/// The `rows` of a batch as the component takes them.
pub(crate) fn part(batch: &AlignedBatch, measures: &[Vec<f64>], rows: Range<usize>, vectors: bool) -> script::Batch {
    let columns = measures.iter().flat_map(|list| list.get(rows.clone()).unwrap_or_default());
    let side = |values: &Vectors| match values {
        _ if !vectors => script::Values { double: false, bytes: Vec::new() },
        Vectors::F32(all) => script::Values { double: false, bytes: flat(all, &rows, batch.dims, |v| v.to_le_bytes()) },
        Vectors::F64(all) => script::Values { double: true, bytes: flat(all, &rows, batch.dims, |v| v.to_le_bytes()) },
    };
    script::Batch {
        rows: rows.len() as u32,
        dims: batch.dims as u32,
        ids: texts(&batch.ids, &rows),
        labels: texts(&batch.labels, &rows),
        candidate_labels: texts(&batch.candidate_labels, &rows),
        measures: columns.flat_map(|value| value.to_le_bytes()).collect(),
        reference: side(&batch.reference),
        candidate: side(&batch.candidate),
    }
}

fn flat<T: Copy, const N: usize>(all: &[T], rows: &Range<usize>, dims: usize, bytes: fn(T) -> [u8; N]) -> Vec<u8> {
    let values = all.get(rows.start * dims..rows.end * dims).unwrap_or_default();
    values.iter().flat_map(|value| bytes(*value)).collect()
}

fn texts(all: &Texts, rows: &Range<usize>) -> script::Texts {
    if all.is_empty() {
        return script::Texts { bytes: Vec::new(), ends: Vec::new() };
    }
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    for row in rows.clone() {
        bytes.extend_from_slice(all.get(row).as_bytes());
        ends.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    }
    script::Texts { bytes, ends }
}

/// The answer, in the contract's own type: it is then taken over like any other.
pub(crate) fn outcome(o: script::Outcome) -> wire::Outcome {
    wire::Outcome {
        judgement: match o.judgement {
            script::Judgement::Pass => wire::Judgement::Pass,
            script::Judgement::Fail => wire::Judgement::Fail,
            script::Judgement::Inconclusive => wire::Judgement::Inconclusive,
        },
        reason: o.reason,
        figures: o
            .figures
            .into_iter()
            .map(|f| wire::Figure {
                name: f.name,
                value: f.value,
                unit: f.unit,
                worst: f.worst.into_iter().map(|w| wire::WorstRow { id: w.id, value: w.value }).collect(),
            })
            .collect(),
        distributions: o
            .distributions
            .into_iter()
            .map(|d| wire::Distribution {
                name: d.name,
                unit: d.unit,
                zeros: d.zeros,
                bins: d.bins.into_iter().map(|b| wire::Bin { low: b.low, high: b.high, count: b.count }).collect(),
                threshold: d.threshold,
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A new measure of the contract does not compile here until a criterion in Python can see it.
    fn of(measure: &wire::Measure) -> &'static str {
        match measure {
            wire::Measure::Dot => "dot",
            wire::Measure::NormReference => "norm_reference",
            wire::Measure::NormCandidate => "norm_candidate",
            wire::Measure::Cosine => "cosine",
            wire::Measure::L2 => "l2",
            wire::Measure::AbsMax => "abs_max",
            wire::Measure::RelMax => "rel_max",
            wire::Measure::RelUndefined => "rel_undefined",
            wire::Measure::ElementsOver(_) => "elements_over",
            wire::Measure::UlpMax => "ulp_max",
            wire::Measure::ValueBits => "value_bits",
            wire::Measure::NeighboursKept(_) => "neighbours_kept",
            wire::Measure::NeighboursTied(_) => "neighbours_tied",
            wire::Measure::CentroidKept => "centroid_kept",
        }
    }

    #[test]
    fn every_measure_goes_by_the_name_that_the_rust_sdk_has_for_it() {
        let sdk = include_str!("../../../wasm-checks/sdk/src/macros.rs");
        let names = ["atol".to_owned(), "rtol".to_owned()];
        for (name, takes, make) in MEASURES {
            assert_eq!(of(&make(&names)), *name);
            let head = if *takes > 0 { format!("($d:ident, {name}(") } else { format!("($d:ident, {name})") };
            assert!(sdk.contains(&head), "{name}");
        }
        // Besides them the sdk knows two sides, two labels, and what to say of every other name.
        assert_eq!(sdk.matches("($d:ident, ").count(), MEASURES.len() + 5);
    }
}
