//! The thread that runs cells, one at a time and in order, and what becomes of those queued behind a failure.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use serde_json::{Value, json};

use super::messages::{self, Execute};
use super::serving::{Asked, Kernel};
use super::showing::Showing;
use crate::front::{CellEnding, CellRequest};

/// After a failure, how long requests that were sent before its reply may still arrive to be aborted with the rest.
const ARRIVING: Duration = Duration::from_millis(10);

/// What the thread is told.
pub(super) enum Order {
    /// Run this execute_request.
    Run(Box<Asked>),
    /// End, once what was queued before is aborted.
    Stop,
}

/// Runs until told to stop.
pub(super) fn run(kernel: &Arc<Kernel>, orders: &Receiver<Order>) {
    let mut last_count = 0;
    while let Ok(Order::Run(asked)) = orders.recv() {
        if kernel.is_stopping() {
            abort(kernel, &asked, last_count);
            continue;
        }
        let queued = execute(kernel, &asked, &mut last_count, orders);
        let mut stop = false;
        for order in queued {
            match order {
                Order::Run(asked) => abort(kernel, &asked, last_count),
                Order::Stop => stop = true,
            }
        }
        if stop {
            return;
        }
    }
}

/// Answers one execute_request. Returns what is to be aborted: all that was queued, if it failed and says so.
fn execute(kernel: &Kernel, asked: &Asked, last_count: &mut u32, orders: &Receiver<Order>) -> VecDeque<Order> {
    let parent = &asked.message.header;
    kernel.begin_cell(parent);
    let started = chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Micros, true);
    let mut to_abort = VecDeque::new();
    let content = match &asked.message.content {
        Ok(content) => {
            let request = Execute::read(content, &asked.message.metadata);
            let (content, failed) = run_cell(kernel, asked, &request, last_count);
            if failed && request.stop_on_error {
                // Before the reply is sent, so that what a client sends because of the reply is not among them.
                to_abort = drain(orders);
            }
            content
        }
        Err(reason) => messages::refused("MalformedMessage", reason),
    };
    // Front ends take the start of a cell's timing from here.
    let metadata = json!({ "started": started, "status": content["status"] });
    asked.reply(kernel, "execute_reply", &metadata, &content);
    kernel.end_cell(parent);
    to_abort
}

/// Runs the cell of a request; returns the reply's content, and whether the cell failed.
fn run_cell(kernel: &Kernel, asked: &Asked, request: &Execute, last_count: &mut u32) -> (Value, bool) {
    let parent = &asked.message.header;
    if request.code.trim().is_empty() {
        return (messages::executed(*last_count, &request.expressions, None), false);
    }
    // Without history the number is shown but not used up.
    let execution_count = *last_count + 1;
    if request.store_history {
        *last_count = execution_count;
        kernel.remember(execution_count, &request.code);
    }
    if !request.silent {
        let content = json!({ "code": request.code, "execution_count": execution_count });
        kernel.publisher().publish("execute_input", parent, content);
    }
    let showing = Showing::new(kernel.publisher().clone(), parent.clone(), request.silent);
    let cell = CellRequest { code: request.code.clone(), cell_id: request.cell_id.clone(), execution_count };
    let runner = kernel.runner();
    // A panic of the runner is the kernel's fault and one cell's error, not the end of the session.
    let ran = catch_unwind(AssertUnwindSafe(|| match runner.page(&cell.code) {
        Some(page) => (CellEnding::Ok, Some(page)),
        None => {
            kernel.allow_interrupts(true);
            (runner.run_cell(cell, &showing), None)
        }
    }));
    kernel.allow_interrupts(false);
    showing.end();
    match ran {
        Ok((CellEnding::Ok, page)) => (messages::executed(execution_count, &request.expressions, page.as_ref()), false),
        Ok((CellEnding::Error(error), _)) => (failure(kernel, asked, request, execution_count, &error), true),
        Err(panic) => {
            let error = messages::panicked(&panic_text(panic.as_ref()));
            (failure(kernel, asked, request, execution_count, &error), true)
        }
    }
}

/// Broadcasts the one error of a failed cell and returns the reply's content.
fn failure(
    kernel: &Kernel,
    asked: &Asked,
    request: &Execute,
    execution_count: u32,
    error: &crate::front::ShownError,
) -> Value {
    if !request.silent {
        kernel.publisher().publish("error", &asked.message.header, messages::error(error));
    }
    messages::execution_failed(execution_count, error)
}

/// Everything that is queued, and what arrives within [`ARRIVING`].
fn drain(orders: &Receiver<Order>) -> VecDeque<Order> {
    std::thread::sleep(ARRIVING);
    let mut drained = VecDeque::new();
    loop {
        match orders.try_recv() {
            Ok(order) => drained.push_back(order),
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => return drained,
        }
    }
}

fn abort(kernel: &Kernel, asked: &Asked, last_count: u32) {
    let parent = &asked.message.header;
    kernel.publisher().status(parent, "busy");
    let content = messages::aborted(last_count);
    asked.reply(kernel, "execute_reply", &json!({ "status": "aborted" }), &content);
    kernel.publisher().status(parent, "idle");
}

/// What a panic said, where it said it in words.
pub(super) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|s| (*s).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}
