//! Hosts a component: admits it, feeds it rows under limits, takes its answer.
//!
//! There is one mode, the strict one: fuel decides, wall time is a backstop only; NaN bits are canonical; no threads,
//! relaxed SIMD or imports. The same component, parameters and rows give the same answer and the same fuel anywhere.

use crate::answer;
use crate::error::CriterionError;
use crate::guest::{Complaint, Guest};
use crate::isolate::{self, Isolation};
use crate::lines::Lines;
use crate::python;
use crate::words::plain;
use fascicolo_contract::AlignedBatch;
use fascicolo_contract::measure::{Measure, Neighbours};
use fascicolo_contract::table::{Texts, Vectors};
use fascicolo_contract::verdict::{Description, MeasureAsked, NeighbourNames, Outcome};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use wasmtime::component::{Component, Linker};
use wasmtime::{Config, Engine, OperatorCost, Store, Trap};

pub(crate) mod bindings {
    wasmtime::component::bindgen!({ path: "../../wasm-checks/wit", world: "check" });
}
pub(crate) use bindings::exports::fascicolo::criterion::criterion as wire;

/// Fuel for describing itself, taking parameters, and each other call, besides what rows bring: a part of a second.
pub const BASE_FUEL: u64 = 500_000_000;
/// Fuel for the verdict: what was sampled may still have to be multiplied with itself.
pub const VERDICT_FUEL: u64 = 1_000_000_000;
/// Fuel for each row, besides [`FUEL_PER_VALUE`].
pub const FUEL_PER_ROW: u64 = 50_000;
/// Fuel for each value of each row.
pub const FUEL_PER_VALUE: u64 = 500;
/// All linear memories of one criterion together.
pub const MEMORY_BYTES: usize = 256 << 20;
/// Entries of all its tables together.
pub const TABLE_ENTRIES: usize = 100_000;
/// Core instances of one component.
pub const INSTANCES: usize = 64;
/// Bytes of stack.
pub const STACK_BYTES: usize = 512 << 10;
/// Bytes of an answer or a state.
pub const ANSWER_BYTES: usize = 16 << 20;
/// Processor time of one call: fuel alone lasts for less of it, unless every instruction waits for memory.
const CPU_DEADLINE: Duration = Duration::from_millis(2_500);
/// Wall time of one call: a backstop where the system does not tell the processor time of a thread.
const WALL_DEADLINE: Duration = Duration::from_secs(120);
const TICK: Duration = Duration::from_millis(20);

/// What a criterion may use besides memory and stack: fuel for describing itself, taking parameters and its verdict,
/// each; for each row, and for each value of each row; how many rows it is shown at once; and core instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// For each call.
    pub base_fuel: u64,
    /// For the verdict.
    pub verdict_fuel: u64,
    /// For each row, besides `fuel_per_value`.
    pub fuel_per_row: u64,
    /// For each value of each row.
    pub fuel_per_value: u64,
    /// Fuel of one look at rows: more rows are shown in parts.
    pub fuel_at_once: u64,
    /// Core instances, memories and tables.
    pub instances: usize,
}

impl Budget {
    /// Of a criterion that was compiled.
    pub const COMPILED: Budget = Budget {
        base_fuel: BASE_FUEL,
        verdict_fuel: VERDICT_FUEL,
        fuel_per_row: FUEL_PER_ROW,
        fuel_per_value: FUEL_PER_VALUE,
        fuel_at_once: u64::MAX,
        instances: INSTANCES,
    };
}

/// The engine that all criteria of a process share.
#[derive(Clone)]
pub struct Host {
    engine: Engine,
    ticks: Arc<AtomicU64>,
    isolation: Option<Arc<Isolation>>,
    /// The component that runs criteria in Python, once one asked for it.
    python: Arc<OnceLock<Component>>,
}

/// The engine's settings, for whoever compiles for it too.
pub(crate) fn config() -> Config {
    let mut config = Config::new();
    // A call into the host costs what some hundred instructions do, a root or a quotient what some twenty do.
    let mut cost = OperatorCost::new();
    (cost.MemoryGrow, cost.TableGrow) = (u8::MAX, u8::MAX);
    for slow in [
        &mut cost.F32Sqrt,
        &mut cost.F64Sqrt,
        &mut cost.F32Div,
        &mut cost.F64Div,
        &mut cost.F32x4Sqrt,
        &mut cost.F64x2Sqrt,
        &mut cost.F32x4Div,
        &mut cost.F64x2Div,
        &mut cost.I32DivS,
        &mut cost.I32DivU,
        &mut cost.I32RemS,
        &mut cost.I32RemU,
        &mut cost.I64DivS,
        &mut cost.I64DivU,
        &mut cost.I64RemS,
        &mut cost.I64RemU,
    ] {
        *slow = 20;
    }
    // Naming a value, or a constant, is no work once compiled.
    for free in [
        &mut cost.LocalGet,
        &mut cost.LocalSet,
        &mut cost.LocalTee,
        &mut cost.I32Const,
        &mut cost.I64Const,
        &mut cost.F32Const,
        &mut cost.F64Const,
        &mut cost.V128Const,
    ] {
        *free = 0;
    }
    config
        .consume_fuel(true)
        .operator_cost(cost)
        .epoch_interruption(true)
        .cranelift_nan_canonicalization(true)
        .wasm_relaxed_simd(false)
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .wasm_component_model(true)
        .max_wasm_stack(STACK_BYTES);
    config
}

impl Host {
    /// Like [`Host::new`], but compiles components in a child process.
    pub fn isolated(isolation: Isolation) -> Result<Host, CriterionError> {
        Ok(Host { isolation: Some(Arc::new(isolation)), ..Host::new()? })
    }

    /// Starts the engine, and the thread that ends calls on interruption. Components are compiled in this process.
    pub fn new() -> Result<Host, CriterionError> {
        let engine = Engine::new(&config()).map_err(runtime)?;
        let ticks = Arc::new(AtomicU64::new(0));
        let (weak, counter) = (engine.weak(), ticks.clone());
        std::thread::spawn(move || {
            // Ends with the last engine.
            while let Some(engine) = weak.upgrade() {
                engine.increment_epoch();
                counter.fetch_add(1, Ordering::Relaxed);
                drop(engine);
                std::thread::sleep(TICK);
            }
        });
        Ok(Host { engine, ticks, isolation: None, python: Arc::default() })
    }

    /// Admits a component: compiles it, checks that it imports nothing and speaks the contract, asks what it is.
    pub fn admit(&self, name: &str, bytes: &[u8]) -> Result<Admitted, CriterionError> {
        let script = python::Script::read(name, bytes)?.map(Arc::new);
        let component = match (&self.isolation, &script) {
            (_, Some(_)) => self.python()?,
            (isolation, None) => {
                crate::inspect::component(name, bytes)?;
                match isolation {
                    Some(isolation) => isolate::compile(&self.engine, isolation, name, bytes)?,
                    None => Component::from_binary(&self.engine, bytes).map_err(|e| CriterionError::NotAComponent {
                        name: name.to_owned(),
                        why: plain(&format!("{e:#}")),
                    })?,
                }
            }
        };
        let mut admitted = Admitted {
            name: name.to_owned(),
            host: self.clone(),
            component,
            script,
            lines: Arc::new(Lines::of(bytes)),
            description: Description {
                name: name.to_owned(),
                version: String::new(),
                meaning: String::new(),
                parameters: Vec::new(),
                measures: Vec::new(),
                wants_vectors: false,
                wants_labels: false,
                wants_candidate_labels: false,
            },
        };
        let interrupted = Arc::new(AtomicBool::new(false));
        let mut call = admitted.instantiate(interrupted, "describing itself")?;
        let base_fuel = admitted.budget().base_fuel;
        let described = call.run("describing itself", base_fuel, |guest, store| guest.describe(store))?;
        admitted.description = answer::description(name, described)?;
        Ok(admitted)
    }

    /// The component that runs criteria in Python: from memory, from the cache, or compiled, which takes some time.
    fn python(&self) -> Result<Component, CriterionError> {
        if let Some(component) = self.python.get() {
            return Ok(component.clone());
        }
        let component = match &self.isolation {
            Some(isolation) => python::compile(&self.engine, isolation)?,
            None => Component::from_binary(&self.engine, &python::component()?).map_err(runtime)?,
        };
        Ok(self.python.get_or_init(|| component).clone())
    }

    /// Whether a criterion in Python can start at once, without its host component being compiled first.
    pub fn has_python(&self) -> bool {
        let kept = |isolation: &Arc<Isolation>| python::is_kept(&self.engine, isolation);
        self.python.get().is_some() || self.isolation.as_ref().is_some_and(kept)
    }
}

/// A component that may run.
#[derive(Clone)]
pub struct Admitted {
    /// The name it goes by.
    pub name: String,
    /// What it says of itself.
    pub description: Description,
    host: Host,
    component: Component,
    /// The source that the component runs, if it is the one for Python.
    script: Option<Arc<python::Script>>,
    lines: Arc<Lines>,
}

impl Admitted {
    /// What it may use.
    pub fn budget(&self) -> Budget {
        if self.script.is_some() { python::BUDGET } else { Budget::COMPILED }
    }

    /// Checks `given` against what the criterion takes: all of its parameters, no others, finite numbers.
    pub fn check_parameters(&self, given: &[(String, f64)]) -> Result<(), CriterionError> {
        let wrong = |what: String| CriterionError::Parameters {
            name: self.name.clone(),
            what,
            takes: takes(&self.description),
        };
        for (i, (name, value)) in given.iter().enumerate() {
            let Some(parameter) = self.description.parameters.iter().find(|p| &p.name == name) else {
                return Err(wrong(format!("it has no parameter `{name}`")));
            };
            if given[..i].iter().any(|(earlier, _)| earlier == name) {
                return Err(wrong(format!("parameter `{name}` was given twice")));
            }
            if !value.is_finite() {
                return Err(wrong(format!("parameter `{name}` is {value}, which bounds nothing")));
            }
            let (below, above) =
                (parameter.least.filter(|least| value < least), parameter.most.filter(|most| value > most));
            if let Some(bound) = below.or(above) {
                let side = if below.is_some() { "below" } else { "above" };
                return Err(wrong(format!("parameter `{name}` is {value}, {side} {bound}, where it means nothing")));
            }
        }
        match self.description.parameters.iter().find(|p| !given.iter().any(|(name, _)| &p.name == name)) {
            Some(p) => Err(wrong(format!("parameter `{}` has no value; tolerances are never chosen for you", p.name))),
            // A number may be finite and within its range and still mean nothing to a measure.
            None => self.measures(given).map(|_| ()),
        }
    }

    /// The measures it asks for, with the parameters' values in place of their names.
    pub fn measures(&self, given: &[(String, f64)]) -> Result<Vec<Measure>, CriterionError> {
        let value = |wanted: &str| {
            given.iter().find(|(name, _)| name == wanted).map(|(_, value)| *value).ok_or_else(|| {
                CriterionError::Parameters {
                    name: self.name.clone(),
                    what: format!("it measures by `{wanted}`, which is none of its parameters"),
                    takes: takes(&self.description),
                }
            })
        };
        let whole = |name: &str, most: f64| {
            let number = value(name)?;
            if number.fract() == 0.0 && (1.0..=most).contains(&number) {
                return Ok(number as usize);
            }
            let what = format!("parameter `{name}` is {number}; it counts rows: a whole number from 1 to {most}");
            Err(CriterionError::Parameters { name: self.name.clone(), what, takes: takes(&self.description) })
        };
        let neighbours = |names: &NeighbourNames| {
            let k = whole(&names.k, Neighbours::MOST as f64)?;
            Ok::<_, CriterionError>(Neighbours { k, queries: whole(&names.queries, f64::from(u32::MAX))? })
        };
        self.description
            .measures
            .iter()
            .map(|asked| {
                Ok(match asked {
                    MeasureAsked::Dot => Measure::Dot,
                    MeasureAsked::NormReference => Measure::NormReference,
                    MeasureAsked::NormCandidate => Measure::NormCandidate,
                    MeasureAsked::Cosine => Measure::Cosine,
                    MeasureAsked::L2 => Measure::L2,
                    MeasureAsked::AbsMax => Measure::AbsMax,
                    MeasureAsked::RelMax => Measure::RelMax,
                    MeasureAsked::RelUndefined => Measure::RelUndefined,
                    MeasureAsked::ElementsOver { atol, rtol } => {
                        Measure::ElementsOver { atol: value(atol)?, rtol: value(rtol)? }
                    }
                    MeasureAsked::UlpMax => Measure::UlpMax,
                    MeasureAsked::ValueBits => Measure::ValueBits,
                    MeasureAsked::NeighboursKept(names) => Measure::NeighboursKept(neighbours(names)?),
                    MeasureAsked::NeighboursTied(names) => Measure::NeighboursTied(neighbours(names)?),
                    MeasureAsked::CentroidKept => Measure::CentroidKept,
                })
            })
            .collect()
    }

    /// Starts a fold with these parameters. `interrupted` ends any call within some 20 ms.
    pub fn start(&self, given: &[(String, f64)], interrupted: Arc<AtomicBool>) -> Result<Fold, CriterionError> {
        self.check_parameters(given)?;
        let arguments: Vec<wire::Argument> =
            given.iter().map(|(name, value)| wire::Argument { name: name.clone(), value: *value }).collect();
        let during = "taking its parameters";
        let mut call = self.instantiate(interrupted, during)?;
        let base_fuel = self.budget().base_fuel;
        let told = call.run(during, base_fuel, |guest, store| guest.init(store, &arguments))?;
        told.map_err(|complaint| call.complained(during, complaint))?;
        Ok(Fold { call, wants_vectors: self.description.wants_vectors, rows: 0 })
    }

    fn instantiate(&self, interrupted: Arc<AtomicBool>, during: &str) -> Result<Call, CriterionError> {
        let budget = self.budget();
        let limits = Limits { memory: 0, tables: 0, instances: budget.instances, denied: None };
        let mut store = Store::new(&self.host.engine, limits);
        store.limiter(|limits| limits);
        store.set_hostcall_fuel(ANSWER_BYTES);
        // Both before instantiation, which already runs the guest's start code.
        store.set_fuel(budget.base_fuel).map_err(runtime)?;
        watch(&mut store, &self.host, interrupted.clone());
        let linker = Linker::new(&self.host.engine);
        let (name, host) = (self.name.clone(), self.host.clone());
        let script = self.script.clone();
        let lines = self.lines.clone();
        let mut call = Call { name, host, lines, store, guest: None, used: 0, interrupted, budget, script };
        match Guest::instantiate(&mut call.store, &self.component, &linker, self.script.is_some()) {
            Ok(guest) => {
                call.used += budget.base_fuel - call.store.get_fuel().map_err(runtime)?;
                call.guest = Some(guest);
                if let Some(script) = &self.script {
                    call.load(script)?;
                }
                Ok(call)
            }
            // One of the limiter's counts; no error type of its own tells it.
            Err(error) if format!("{error:#}").contains("resource limit exceeded") => Err(CriterionError::OverLimit {
                name: self.name.clone(),
                during: during.to_owned(),
                limit: format!("it makes more than {} core instances, memories or tables", budget.instances),
                line: None,
            }),
            Err(error) if error.downcast_ref::<Trap>().is_none() && call.store.data().denied.is_none() => {
                // Without imports, and without a trap, only a missing or differently typed export remains.
                Err(CriterionError::OtherContract { name: self.name.clone() })
            }
            Err(error) => Err(call.ended(during, budget.base_fuel, &error)),
        }
    }
}

/// Ends a call at the deadline or on interruption: the engine's epoch moves every [`TICK`].
fn watch(store: &mut Store<Limits>, host: &Host, interrupted: Arc<AtomicBool>) {
    let (ticks, started) = (host.ticks.clone(), host.ticks.load(Ordering::Relaxed));
    let mut computed_before = None;
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(move |_| {
        let waited = TICK * (ticks.load(Ordering::Relaxed) - started) as u32;
        // Most calls end before the first of these looks.
        let now = thread_time();
        let before = *computed_before.get_or_insert(now);
        let over = now.zip(before).is_some_and(|(now, before)| now.saturating_sub(before) > CPU_DEADLINE);
        if interrupted.load(Ordering::Relaxed) || over || waited > WALL_DEADLINE {
            return Ok(wasmtime::UpdateDeadline::Interrupt);
        }
        Ok(wasmtime::UpdateDeadline::Continue(1))
    });
}

/// Processor time of this thread so far, where the system tells it: a busy machine does not hasten a deadline.
fn thread_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// A criterion in the middle of its rows.
pub struct Fold {
    call: Call,
    wants_vectors: bool,
    rows: u64,
}

/// The end of a fold.
#[derive(Debug, Clone)]
pub struct Finished {
    /// The answer.
    pub outcome: Outcome,
    /// Fuel used in all.
    pub fuel: u64,
    /// Rows seen.
    pub rows: u64,
}

impl Fold {
    /// Shows the criterion a batch; `measures` as [`fascicolo_contract::measure::measure_rows`] gave them.
    pub fn update(&mut self, batch: &AlignedBatch, measures: Vec<Vec<f64>>) -> Result<(), CriterionError> {
        if self.call.script.is_some() {
            return self.update_script(batch, &measures);
        }
        let rows = batch.rows() as u64;
        let lowered = wire::Batch {
            rows: rows as u32,
            dims: batch.dims as u32,
            ids: texts(&batch.ids),
            labels: texts(&batch.labels),
            candidate_labels: texts(&batch.candidate_labels),
            measures,
            vectors: self
                .wants_vectors
                .then(|| wire::Vectors { reference: values(&batch.reference), candidate: values(&batch.candidate) }),
        };
        self.show(rows, batch.dims, |guest, store| guest.update(store, &lowered))
    }

    /// An interpreter needs so much for a row that a batch is shown in parts, each with its own fuel and deadline.
    fn update_script(&mut self, batch: &AlignedBatch, measures: &[Vec<f64>]) -> Result<(), CriterionError> {
        let budget = self.call.budget;
        let per_row = budget.fuel_per_row + budget.fuel_per_value * batch.dims as u64;
        let at_once = (budget.fuel_at_once / per_row.max(1)).max(1) as usize;
        for first in (0..batch.rows()).step_by(at_once) {
            let rows = first..(first + at_once).min(batch.rows());
            let part = python::part(batch, measures, rows.clone(), self.wants_vectors);
            self.show(rows.len() as u64, batch.dims, |guest, store| guest.update_script(store, &part))?;
        }
        Ok(())
    }

    fn show(
        &mut self,
        rows: u64,
        dims: usize,
        update: impl FnOnce(&Guest, &mut Store<Limits>) -> wasmtime::Result<Result<(), Complaint>>,
    ) -> Result<(), CriterionError> {
        let budget = self.call.budget;
        let during = format!("rows {} to {}", self.rows + 1, self.rows + rows);
        let fuel = budget.base_fuel / 10 + rows * (budget.fuel_per_row + budget.fuel_per_value * dims as u64);
        self.call.run(&during, fuel, update)?.map_err(|complaint| self.call.complained(&during, complaint))?;
        self.rows += rows;
        Ok(())
    }

    /// The accumulated state, to be merged elsewhere.
    pub fn state(&mut self) -> Result<Vec<u8>, CriterionError> {
        let during = "giving its state";
        let told = self.call.run(during, self.call.budget.base_fuel, |guest, store| guest.state(store))?;
        told.map_err(|complaint| self.call.complained(during, complaint))
    }

    /// Adds another fold's state, which had seen `rows`.
    pub fn merge(&mut self, state: &[u8], rows: u64) -> Result<(), CriterionError> {
        let during = "merging states";
        let told = self.call.run(during, self.call.budget.base_fuel, |guest, store| guest.merge(store, state))?;
        told.map_err(|complaint| self.call.complained(during, complaint))?;
        self.rows += rows;
        Ok(())
    }

    /// Takes the answer.
    pub fn finish(mut self) -> Result<Finished, CriterionError> {
        let during = "its verdict";
        let told = self.call.run(during, self.call.budget.verdict_fuel, |guest, store| guest.finish(store))?;
        let answer = told.map_err(|complaint| self.call.complained(during, complaint))?;
        let outcome = answer::outcome(&self.call.name, answer)?;
        Ok(Finished { outcome, fuel: self.call.used, rows: self.rows })
    }
}

/// One instance, and what its calls have used.
struct Call {
    name: String,
    host: Host,
    lines: Arc<Lines>,
    store: Store<Limits>,
    guest: Option<Guest>,
    used: u64,
    interrupted: Arc<AtomicBool>,
    budget: Budget,
    script: Option<Arc<python::Script>>,
}

impl Call {
    /// Gives the interpreter its source.
    fn load(&mut self, script: &python::Script) -> Result<(), CriterionError> {
        let mut guest = self.guest.take();
        let loaded = self.run_on(guest.as_mut(), "reading its source", self.budget.base_fuel, |guest, store| {
            guest.load(store, script)
        });
        self.guest = guest;
        loaded?.map_err(|problem| script.does_not_load(&self.name, &problem))
    }

    /// A guest's own complaint as an error: its words, or an exception with its line of the cell.
    fn complained(&self, during: &str, complaint: Complaint) -> CriterionError {
        match (complaint, &self.script) {
            (Complaint::Problem(problem), Some(script)) => script.raised(&self.name, during, &problem),
            (complaint, _) => answer::none(&self.name, &complaint.words()),
        }
    }

    fn run<R>(
        &mut self,
        during: &str,
        fuel: u64,
        call: impl FnOnce(&Guest, &mut Store<Limits>) -> wasmtime::Result<R>,
    ) -> Result<R, CriterionError> {
        let mut guest = self.guest.take();
        let called = self.run_on(guest.as_mut(), during, fuel, |guest, store| call(guest, store));
        self.guest = guest;
        called
    }

    fn run_on<R>(
        &mut self,
        guest: Option<&mut Guest>,
        during: &str,
        fuel: u64,
        call: impl FnOnce(&mut Guest, &mut Store<Limits>) -> wasmtime::Result<R>,
    ) -> Result<R, CriterionError> {
        self.store.set_fuel(fuel).map_err(runtime)?;
        // The deadline is each call's own: a comparison may take as long as it has rows.
        watch(&mut self.store, &self.host, self.interrupted.clone());
        let Some(guest) = guest else {
            return Err(CriterionError::Runtime { why: "a call before instantiation".into() });
        };
        match call(guest, &mut self.store) {
            Ok(result) => {
                self.used += fuel - self.store.get_fuel().map_err(runtime)?;
                Ok(result)
            }
            Err(error) => Err(self.ended(during, fuel, &error)),
        }
    }

    /// The innermost line of the cell that was being computed, where the component tells lines.
    fn line(&self, error: &wasmtime::Error) -> Option<u32> {
        let frames = error.downcast_ref::<wasmtime::WasmBacktrace>()?.frames();
        frames.iter().find_map(|frame| self.lines.at(frame.module_offset()? as u64))
    }

    /// Why a call ended: a denied resource explains the trap that follows it.
    fn ended(&self, during: &str, fuel: u64, error: &wasmtime::Error) -> CriterionError {
        let (name, during) = (self.name.clone(), during.to_owned());
        let line = self.line(error);
        if let Some(limit) = &self.store.data().denied {
            return CriterionError::OverLimit { name, during, limit: limit.clone(), line };
        }
        match error.downcast_ref::<Trap>() {
            Some(Trap::OutOfFuel) => CriterionError::OutOfFuel { name, fuel, during, line },
            Some(Trap::Interrupt) if self.interrupted.load(Ordering::Relaxed) => {
                CriterionError::Interrupted { name, during }
            }
            Some(Trap::Interrupt) => {
                CriterionError::Deadline { name, during, seconds: CPU_DEADLINE.as_secs_f64(), line }
            }
            Some(Trap::StackOverflow) => CriterionError::OverLimit {
                name,
                during,
                limit: format!("its stack grew beyond {} KiB", STACK_BYTES >> 10),
                line,
            },
            // The interpreter's calls to its system are all of them traps.
            Some(Trap::UnreachableCodeReached) if self.script.is_some() => {
                CriterionError::Trapped { name, during, why: python::OUTSIDE.into(), line }
            }
            Some(Trap::UnreachableCodeReached) => {
                CriterionError::Trapped { name, during, why: "it panicked".into(), line }
            }
            Some(trap) => CriterionError::Trapped { name, during, why: trap.to_string(), line },
            None => {
                let why = format!("{error:#}");
                if why.contains("fuel allocated for hostcalls has been exhausted") {
                    let limit = format!("its answer has more than {} MiB", ANSWER_BYTES >> 20);
                    return CriterionError::OverLimit { name, during, limit, line };
                }
                CriterionError::Trapped { name, during, why: plain(&why), line }
            }
        }
    }
}

/// All memory and tables of one store together, and the first request that was denied.
pub(crate) struct Limits {
    memory: usize,
    tables: usize,
    instances: usize,
    denied: Option<String>,
}

impl Limits {
    /// A denial ends the call: a guest told "no" could ask again for as long as its fuel lasts, and no allocator goes on
    /// without memory anyway.
    fn deny(&mut self, what: String) -> wasmtime::Error {
        let error = wasmtime::Error::msg(what.clone());
        self.denied = Some(what);
        error
    }
}

impl wasmtime::ResourceLimiter for Limits {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let grown = self.memory.saturating_add(desired.saturating_sub(current));
        if grown > MEMORY_BYTES {
            return Err(self.deny(format!(
                "{} MiB of memory asked for, {} allowed",
                grown.div_ceil(1 << 20),
                MEMORY_BYTES >> 20
            )));
        }
        self.memory = grown;
        Ok(true)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let grown = self.tables.saturating_add(desired.saturating_sub(current));
        if grown > TABLE_ENTRIES {
            return Err(self.deny(format!("{grown} table entries asked for, {TABLE_ENTRIES} allowed")));
        }
        self.tables = grown;
        Ok(true)
    }

    fn instances(&self) -> usize {
        self.instances
    }

    fn tables(&self) -> usize {
        self.instances
    }

    fn memories(&self) -> usize {
        self.instances
    }
}

fn runtime(error: wasmtime::Error) -> CriterionError {
    CriterionError::Runtime { why: format!("{error:#}") }
}

fn takes(description: &Description) -> String {
    if description.parameters.is_empty() {
        return "no parameters".to_owned();
    }
    let each: Vec<String> =
        description.parameters.iter().map(|p| format!("--set {}=… ({}; {})", p.name, p.meaning, p.unit)).collect();
    each.join(", ")
}

fn texts(block: &Texts) -> wire::Texts {
    wire::Texts { bytes: block.bytes.clone(), ends: block.ends.clone() }
}

fn values(vectors: &Vectors) -> wire::Values {
    match vectors {
        Vectors::F32(v) => wire::Values::Single(v.clone()),
        Vectors::F64(v) => wire::Values::Double(v.clone()),
    }
}
