//! What runs in the sandbox: a component of the contract itself, or the interpreter with a cell's source. Both are asked
//! the same.

use crate::host::bindings::Check;
use crate::host::{Limits, wire};
use crate::python::{self, Script, script};
use wasmtime::component::{Component, Linker};
use wasmtime::{Result, Store};

/// An instance.
pub(crate) enum Guest {
    /// A component of fascicolo:criterion.
    Compiled(Check),
    /// The Python host; what its cell said of itself, once it was loaded.
    Python(Box<python::Interpreter>),
}

/// Why a guest does not answer.
pub(crate) enum Complaint {
    /// Its own words.
    Words(String),
    /// An exception of its cell.
    Problem(script::Problem),
}

impl Complaint {
    /// As one sentence.
    pub fn words(self) -> String {
        match self {
            Complaint::Words(words) => words,
            Complaint::Problem(problem) => problem.message,
        }
    }
}

/// Whether the guest answers, and then its answer.
type Told<T> = Result<std::result::Result<T, Complaint>>;

impl Guest {
    pub fn instantiate(
        store: &mut Store<Limits>,
        component: &Component,
        linker: &Linker<Limits>,
        python: bool,
    ) -> Result<Guest> {
        if python {
            return Ok(Guest::Python(Box::new(python::Interpreter::instantiate(store, component, linker)?)));
        }
        Ok(Guest::Compiled(Check::instantiate(store, component, linker)?))
    }

    /// Gives an interpreter its source.
    pub fn load(
        &mut self,
        store: &mut Store<Limits>,
        script: &Script,
    ) -> Result<std::result::Result<(), script::Problem>> {
        match self {
            Guest::Compiled(_) => Ok(Ok(())),
            Guest::Python(interpreter) => interpreter.load(store, script),
        }
    }

    pub fn describe(&self, store: &mut Store<Limits>) -> Result<wire::Description> {
        match self {
            Guest::Compiled(check) => check.fascicolo_criterion_criterion().call_describe(store),
            Guest::Python(interpreter) => Ok(interpreter.described()),
        }
    }

    pub fn init(&self, store: &mut Store<Limits>, arguments: &[wire::Argument]) -> Told<()> {
        match self {
            Guest::Compiled(check) => told(check.fascicolo_criterion_criterion().call_init(store, arguments)),
            Guest::Python(interpreter) => raised(interpreter.init(store, arguments)),
        }
    }

    pub fn update(&self, store: &mut Store<Limits>, batch: &wire::Batch) -> Told<()> {
        match self {
            Guest::Compiled(check) => told(check.fascicolo_criterion_criterion().call_update(store, batch)),
            Guest::Python(_) => Err(wasmtime::Error::msg("a batch that was not made for an interpreter")),
        }
    }

    pub fn update_script(&self, store: &mut Store<Limits>, batch: &script::Batch) -> Told<()> {
        match self {
            Guest::Compiled(_) => Err(wasmtime::Error::msg("a batch that was made for an interpreter")),
            Guest::Python(interpreter) => raised(interpreter.script().call_update(store, batch)),
        }
    }

    pub fn state(&self, store: &mut Store<Limits>) -> Told<Vec<u8>> {
        match self {
            Guest::Compiled(check) => Ok(Ok(check.fascicolo_criterion_criterion().call_state(store)?)),
            Guest::Python(interpreter) => raised(interpreter.script().call_state(store)),
        }
    }

    pub fn merge(&self, store: &mut Store<Limits>, state: &[u8]) -> Told<()> {
        match self {
            Guest::Compiled(check) => told(check.fascicolo_criterion_criterion().call_merge(store, state)),
            Guest::Python(interpreter) => raised(interpreter.script().call_merge(store, state)),
        }
    }

    pub fn finish(&self, store: &mut Store<Limits>) -> Told<wire::Outcome> {
        match self {
            Guest::Compiled(check) => told(check.fascicolo_criterion_criterion().call_finish(store)),
            Guest::Python(interpreter) => Ok(raised(interpreter.script().call_finish(store))?.map(python::outcome)),
        }
    }
}

fn told<T>(answer: Result<std::result::Result<T, String>>) -> Told<T> {
    Ok(answer?.map_err(Complaint::Words))
}

fn raised<T>(answer: Result<std::result::Result<T, script::Problem>>) -> Told<T> {
    Ok(answer?.map_err(Complaint::Problem))
}
