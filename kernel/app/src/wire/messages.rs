//! The contents of messages: what is read from requests, with the protocol's defaults for what a client omits, and
//! what replies and broadcasts say. Plain JSON; no socket.

use jupyter_protocol::ConnectionInfo;
use serde_json::{Map, Value, json};

use super::{Completion, IsComplete, PROTOCOL_VERSION};
use crate::front::{MimeBundle, ShownError, Stream};

/// An execute_request, read leniently.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Execute {
    pub code: String,
    /// Nothing is broadcast but the status, and nothing is counted.
    pub silent: bool,
    /// The execution gets a number and enters the history.
    pub store_history: bool,
    /// A failure aborts what is queued behind it.
    pub stop_on_error: bool,
    /// The keys of `user_expressions`.
    pub expressions: Vec<String>,
    /// The notebook's id of the cell, from the message's metadata.
    pub cell_id: Option<String>,
}

impl Execute {
    /// Reads content and metadata. A field that is missing or of another type takes the protocol's default.
    pub fn read(content: &Map<String, Value>, metadata: &Map<String, Value>) -> Self {
        let flag = |name: &str, default| content.get(name).and_then(Value::as_bool).unwrap_or(default);
        let silent = flag("silent", false);
        Execute {
            code: text(content, "code"),
            silent,
            store_history: !silent && flag("store_history", true),
            stop_on_error: flag("stop_on_error", true),
            expressions: content
                .get("user_expressions")
                .and_then(Value::as_object)
                .map(|e| e.keys().cloned().collect())
                .unwrap_or_default(),
            // JupyterLab writes `cellId`; the enhancement proposal for sub-shells and some clients `cell_id`.
            cell_id: ["cellId", "cell_id"].iter().find_map(|k| metadata.get(*k)?.as_str()).map(str::to_owned),
        }
    }
}

/// A text field, empty where it is missing or no text.
pub(super) fn text(content: &Map<String, Value>, name: &str) -> String {
    content.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The cursor in characters, within the code; at its end where the request does not say.
pub(super) fn cursor(content: &Map<String, Value>, code: &str) -> usize {
    let length = code.chars().count();
    content
        .get("cursor_pos")
        .and_then(Value::as_u64)
        .and_then(|n| usize::try_from(n).ok())
        .unwrap_or(length)
        .min(length)
}

/// kernel_info_reply.
pub(super) fn kernel_info() -> Value {
    json!({
        "status": "ok",
        "protocol_version": PROTOCOL_VERSION,
        "implementation": "fascicolo",
        "implementation_version": env!("CARGO_PKG_VERSION"),
        "language_info": {
            "name": "rust",
            "version": env!("CARGO_PKG_RUST_VERSION"),
            "mimetype": "text/rust",
            "file_extension": ".rs",
            "pygments_lexer": "rust",
            "codemirror_mode": "rust",
            "nbconvert_exporter": "script",
        },
        "banner": format!(
            "Fascicolo {}: Rust cells, and magics that compare a rebuilt environment's embeddings with their \
             reference. `%help` lists the magics.",
            env!("CARGO_PKG_VERSION"),
        ),
        "help_links": [
            {"text": "The Rust Programming Language", "url": "https://doc.rust-lang.org/book/"},
            {"text": "The Rust Standard Library", "url": "https://doc.rust-lang.org/std/"},
            {"text": "Rust cells (evcxr)", "url": "https://github.com/evcxr/evcxr/blob/main/COMMON.md"},
        ],
        "debugger": false,
        "supported_features": [],
    })
}

/// connect_reply: the ports, for the old clients that still ask.
pub(super) fn connect(info: &ConnectionInfo) -> Value {
    json!({
        "status": "ok",
        "shell_port": info.shell_port,
        "iopub_port": info.iopub_port,
        "stdin_port": info.stdin_port,
        "control_port": info.control_port,
        "hb_port": info.hb_port,
    })
}

/// execute_reply of a cell that ran to its end; `page` is shown in the front end's pager.
pub(super) fn executed(execution_count: u32, expressions: &[String], page: Option<&MimeBundle>) -> Value {
    let unsupported = json!({
        "status": "error",
        "ename": "Unsupported",
        "evalue": "this kernel evaluates no user_expressions",
        "traceback": [],
    });
    let expressions: Map<String, Value> = expressions.iter().map(|k| (k.clone(), unsupported.clone())).collect();
    let payload: Vec<Value> = page.iter().map(|p| json!({"source": "page", "data": data(p), "start": 0})).collect();
    json!({
        "status": "ok",
        "execution_count": execution_count,
        "payload": payload,
        "user_expressions": expressions,
    })
}

/// execute_reply of a cell that an error stopped.
pub(super) fn execution_failed(execution_count: u32, error: &ShownError) -> Value {
    json!({
        "status": "error",
        "execution_count": execution_count,
        "ename": error.name,
        "evalue": error.message,
        "traceback": error.traceback,
        "payload": [],
        "user_expressions": {},
    })
}

/// execute_reply of a cell that never ran, since one before it failed or the kernel ends.
pub(super) fn aborted(execution_count: u32) -> Value {
    json!({"status": "aborted", "execution_count": execution_count, "payload": [], "user_expressions": {}})
}

/// The content of an `error` broadcast.
pub(super) fn error(error: &ShownError) -> Value {
    json!({"ename": error.name, "evalue": error.message, "traceback": error.traceback})
}

/// The reply to a request that cannot be answered.
pub(super) fn refused(name: &str, message: &str) -> Value {
    json!({"status": "error", "ename": name, "evalue": message, "traceback": [message]})
}

/// The error of a cell whose runner panicked.
pub(super) fn panicked(message: &str) -> ShownError {
    ShownError {
        name: "InternalError".to_owned(),
        message: format!("the kernel failed while it ran this cell: {message}"),
        traceback: vec![
            format!("InternalError: the kernel failed while it ran this cell: {message}"),
            "The kernel lives on. Run the cell again; if it fails again, report it with the kernel's log.".to_owned(),
        ],
    }
}

/// complete_reply.
pub(super) fn completed(completion: &Completion) -> Value {
    json!({
        "status": "ok",
        "matches": completion.matches,
        "cursor_start": completion.start,
        "cursor_end": completion.end,
        "metadata": {},
    })
}

/// inspect_reply.
pub(super) fn inspected(found: Option<&MimeBundle>) -> Value {
    json!({
        "status": "ok",
        "found": found.is_some(),
        "data": found.map(data).unwrap_or_default(),
        "metadata": {},
    })
}

/// is_complete_reply.
pub(super) fn is_complete(answer: &IsComplete) -> Value {
    match answer {
        IsComplete::Complete => json!({"status": "complete"}),
        IsComplete::Incomplete { indent } => json!({"status": "incomplete", "indent": indent}),
        IsComplete::Invalid => json!({"status": "invalid"}),
        IsComplete::Unknown => json!({"status": "unknown"}),
    }
}

/// A stream broadcast.
pub(super) fn stream(stream: Stream, text: &str) -> Value {
    let name = match stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
    };
    json!({"name": name, "text": text})
}

/// display_data, or update_display_data of the one shown under `display_id`. `transient` is left out where empty.
pub(super) fn display(bundle: &MimeBundle, display_id: Option<&str>) -> Value {
    match display_id {
        Some(id) => json!({"data": data(bundle), "metadata": {}, "transient": {"display_id": id}}),
        None => json!({"data": data(bundle), "metadata": {}}),
    }
}

/// execute_result.
pub(super) fn result(execution_count: u32, bundle: &MimeBundle) -> Value {
    json!({"execution_count": execution_count, "data": data(bundle), "metadata": {}})
}

/// A MIME bundle as notebooks store it: texts, but JSON types as JSON.
fn data(bundle: &MimeBundle) -> Map<String, Value> {
    bundle
        .iter()
        .map(|(mime, text)| {
            let is_json = mime == "application/json" || mime.ends_with("+json");
            let parsed = if is_json { serde_json::from_str(text).ok() } else { None };
            (mime.clone(), parsed.unwrap_or_else(|| Value::String(text.clone())))
        })
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use jupyter_protocol::JupyterMessageContent;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn an_execute_request_without_flags_takes_the_defaults() {
        let read = Execute::read(&object(json!({"code": "1"})), &object(json!({"cellId": "c-7"})));
        assert_eq!(read.code, "1");
        assert_eq!((read.silent, read.store_history, read.stop_on_error), (false, true, true));
        assert_eq!(read.cell_id.as_deref(), Some("c-7"));
    }

    #[test]
    fn a_silent_request_is_never_stored() {
        let read = Execute::read(&object(json!({"code": "1", "silent": true, "store_history": true})), &Map::new());
        assert!(!read.store_history);
    }

    #[test]
    fn fields_of_a_wrong_type_are_defaults_too() {
        let read = Execute::read(&object(json!({"code": 3, "silent": "no", "user_expressions": []})), &Map::new());
        assert_eq!((read.code.as_str(), read.silent, read.expressions.len()), ("", false, 0));
    }

    #[test]
    fn a_cursor_counts_characters_and_stays_inside() {
        let at = |content: Value| cursor(&object(content), "é%é");
        assert_eq!(at(json!({"cursor_pos": 2})), 2);
        assert_eq!(at(json!({"cursor_pos": 99})), 3);
        assert_eq!(at(json!({"cursor_pos": -1})), 3);
        assert_eq!(at(json!({})), 3);
    }

    /// The oracle is another implementation of the protocol's types.
    #[test]
    fn every_reply_is_read_by_the_protocol_crate() {
        let bundle = MimeBundle::from([("text/plain".to_owned(), "3".to_owned())]);
        let failure = panicked("x");
        let completion = Completion { matches: vec!["%compare".to_owned()], start: 0, end: 3 };
        let all = [
            ("kernel_info_reply", kernel_info()),
            ("execute_reply", executed(3, &["a".to_owned()], Some(&bundle))),
            ("execute_reply", execution_failed(3, &failure)),
            ("execute_reply", aborted(3)),
            ("error", error(&failure)),
            ("complete_reply", completed(&completion)),
            ("inspect_reply", inspected(Some(&bundle))),
            ("inspect_reply", inspected(None)),
            ("is_complete_reply", is_complete(&IsComplete::Incomplete { indent: "  ".to_owned() })),
            ("is_complete_reply", is_complete(&IsComplete::Complete)),
            ("stream", stream(Stream::Stderr, "x")),
            ("display_data", display(&bundle, None)),
            ("display_data", display(&bundle, Some("d"))),
            ("update_display_data", display(&bundle, Some("d"))),
            ("execute_result", result(3, &bundle)),
        ];
        for (msg_type, content) in all {
            let read = JupyterMessageContent::from_type_and_content(msg_type, content.clone());
            let read = read.unwrap_or_else(|e| panic!("{msg_type} {content}: {e}"));
            assert_eq!(read.message_type(), msg_type);
        }
    }

    #[test]
    fn nothing_transient_is_said_where_nothing_is_transient() {
        let bundle = MimeBundle::new();
        assert!(display(&bundle, None).get("transient").is_none());
        assert!(result(1, &bundle).get("transient").is_none());
        assert_eq!(executed(1, &[], None)["user_expressions"], json!({}));
    }

    #[test]
    fn json_types_travel_as_json() {
        let bundle = MimeBundle::from([
            ("application/vnd.x+json".to_owned(), r#"{"a": 1}"#.to_owned()),
            ("image/svg+xml".to_owned(), "<svg/>".to_owned()),
        ]);
        let content = display(&bundle, None);
        assert_eq!(content["data"]["application/vnd.x+json"]["a"], 1);
        assert_eq!(content["data"]["image/svg+xml"], "<svg/>");
    }
}
