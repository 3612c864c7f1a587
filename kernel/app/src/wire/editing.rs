//! The thread that answers complete, inspect and is_complete requests, so that a slow answer delays neither messages
//! nor cells.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use serde_json::{Map, Value, json};

use super::cells::panic_text;
use super::messages;
use super::serving::{Asked, Kernel};

/// Answers until everybody who could ask is gone.
pub(super) fn run(kernel: &Arc<Kernel>, requests: &Receiver<Asked>) {
    while let Ok(asked) = requests.recv() {
        kernel.begin_request(&asked.message.header);
        let (reply, content) = match &asked.message.content {
            Ok(content) => catch_unwind(AssertUnwindSafe(|| answer(kernel, &asked.message.msg_type, content)))
                .unwrap_or_else(|panic| {
                    let reply = reply_type(&asked.message.msg_type);
                    (reply, messages::refused("InternalError", &panic_text(panic.as_ref())))
                }),
            Err(reason) => (reply_type(&asked.message.msg_type), messages::refused("MalformedMessage", reason)),
        };
        asked.reply(kernel, reply, &json!({}), &content);
        kernel.end_request(&asked.message.header);
    }
}

fn reply_type(msg_type: &str) -> &'static str {
    match msg_type {
        "complete_request" => "complete_reply",
        "inspect_request" => "inspect_reply",
        _ => "is_complete_reply",
    }
}

fn answer(kernel: &Kernel, msg_type: &str, content: &Map<String, Value>) -> (&'static str, Value) {
    let runner = kernel.runner();
    let code = messages::text(content, "code");
    let content = match msg_type {
        "complete_request" => messages::completed(&runner.complete(&code, messages::cursor(content, &code))),
        "inspect_request" => messages::inspected(runner.inspect(&code, messages::cursor(content, &code)).as_ref()),
        _ => messages::is_complete(&runner.is_complete(&code)),
    };
    (reply_type(msg_type), content)
}
