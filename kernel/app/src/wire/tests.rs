//! The promises of the wire, seen from a client that another crate implements, over the IPC transport.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use jupyter_protocol::connection_info::Transport;
use jupyter_protocol::{
    ConnectionInfo, ExecuteRequest, ExecutionState, InterruptRequest, JupyterMessage, JupyterMessageContent,
    KernelInfoRequest, ReplyStatus, ShutdownRequest,
};
use jupyter_zmq_client::{
    ClientControlConnection, ClientIoPubConnection, ClientShellConnection, create_client_control_connection,
    create_client_iopub_connection, create_client_shell_connection_with_identity, peer_identity_for_session,
    wait_for_iopub_welcome,
};

use super::*;
use crate::front::{ShownError, Stream};

/// Runs a cell of words: `count` prints 10,000 lines, `wait` lasts until interrupted, `fail` fails, `panic` panics.
#[derive(Default)]
struct Toy {
    interrupted: AtomicBool,
    closed: AtomicBool,
}

impl CellRunner for Toy {
    fn run_cell(&self, request: CellRequest, front: &dyn FrontEnd) -> CellEnding {
        let error = |name: &str| ShownError { name: name.to_owned(), message: String::new(), traceback: Vec::new() };
        match request.code.as_str() {
            "count" => (0..10_000).for_each(|n| front.stream(Stream::Stdout, &format!("{n}\n"))),
            "wait" => {
                while !self.interrupted.swap(false, Ordering::SeqCst) {
                    std::thread::sleep(Duration::from_millis(2));
                }
                return CellEnding::Error(error("Interrupted"));
            }
            "fail" => return CellEnding::Error(error("Failed")),
            "panic" => panic!("on purpose"),
            _ => {}
        }
        CellEnding::Ok
    }

    fn interrupt(&self) {
        self.interrupted.store(true, Ordering::SeqCst);
    }

    fn shutdown(&self, _restart: bool) {
        self.closed.store(true, Ordering::SeqCst);
    }
}

struct Client {
    shell: ClientShellConnection,
    control: ClientControlConnection,
    iopub: ClientIoPubConnection,
    toy: Arc<Toy>,
    kernel: JoinHandle<Result<(), WireError>>,
    folder: tempfile::TempDir,
}

impl Client {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let info = ConnectionInfo {
            ip: folder.path().join("k").display().to_string(),
            transport: Transport::IPC,
            shell_port: 1,
            iopub_port: 2,
            stdin_port: 3,
            control_port: 4,
            hb_port: 5,
            key: "secret".to_owned(),
            signature_scheme: "hmac-sha256".to_owned(),
            kernel_name: None,
        };
        let file: PathBuf = folder.path().join("connection.json");
        std::fs::write(&file, serde_json::to_vec(&info).unwrap()).unwrap();
        let toy = Arc::new(Toy::default());
        let runner = toy.clone();
        let kernel = std::thread::spawn(move || serve(&file, runner));
        let began = Instant::now();
        // Shell is opened last.
        while !PathBuf::from(format!("{}-1", info.ip)).exists() {
            assert!(began.elapsed() < Duration::from_secs(10), "the kernel did not open its sockets");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let mut iopub = create_client_iopub_connection(&info, "", "client").await.unwrap();
        let welcome = wait_for_iopub_welcome(&mut iopub, Duration::from_secs(10)).await.unwrap();
        assert_eq!(welcome.as_deref(), Some(""));
        let identity = peer_identity_for_session("client").unwrap();
        let shell = create_client_shell_connection_with_identity(&info, "client", identity).await.unwrap();
        let control = create_client_control_connection(&info, "client").await.unwrap();
        Client { shell, control, iopub, toy, kernel, folder }
    }

    /// Sends a cell and returns the id of its request.
    async fn send(&mut self, code: &str) -> String {
        let message: JupyterMessage = ExecuteRequest::new(code.to_owned()).into();
        let id = message.header.msg_id.clone();
        self.shell.send(message).await.unwrap();
        id
    }

    /// The next reply on shell: its content, and the id of the request it answers.
    async fn reply(&mut self) -> (JupyterMessageContent, String) {
        let reply = tokio::time::timeout(Duration::from_secs(10), self.shell.read()).await.unwrap().unwrap();
        (reply.content, reply.parent_header.unwrap().msg_id)
    }

    async fn status(&mut self) -> ReplyStatus {
        match self.reply().await.0 {
            JupyterMessageContent::ExecuteReply(reply) => reply.status,
            other => panic!("no execute_reply: {other:?}"),
        }
    }

    /// What is broadcast for a request, up to its `idle`.
    async fn until_idle(&mut self, id: &str) -> Vec<JupyterMessageContent> {
        let mut seen = Vec::new();
        loop {
            let next = tokio::time::timeout(Duration::from_secs(10), self.iopub.read()).await.unwrap().unwrap();
            if next.parent_header.is_none_or(|p| p.msg_id != id) {
                continue;
            }
            let idle =
                matches!(&next.content, JupyterMessageContent::Status(s) if s.execution_state == ExecutionState::Idle);
            seen.push(next.content);
            if idle {
                return seen;
            }
        }
    }

    async fn shut_down(mut self) {
        self.control.send(ShutdownRequest { restart: false }.into()).await.unwrap();
        let reply = tokio::time::timeout(Duration::from_secs(10), self.control.read()).await.unwrap().unwrap();
        assert!(matches!(reply.content, JupyterMessageContent::ShutdownReply(_)));
        let kernel = self.kernel;
        tokio::task::spawn_blocking(move || kernel.join().unwrap().unwrap()).await.unwrap();
        assert!(self.toy.closed.load(Ordering::SeqCst));
        // Only the connection file is left: the socket files are gone.
        assert_eq!(std::fs::read_dir(self.folder.path()).unwrap().count(), 1);
    }
}

#[tokio::test]
async fn ten_thousand_lines_arrive_complete_and_in_order_before_idle() {
    let mut client = Client::start().await;
    let id = client.send("count").await;
    let mut text = String::new();
    let seen = client.until_idle(&id).await;
    for content in &seen {
        if let JupyterMessageContent::StreamContent(stream) = content {
            text.push_str(&stream.text);
        }
    }
    assert_eq!(text, (0..10_000).map(|n| format!("{n}\n")).collect::<String>());
    assert!(seen.len() < 20, "{} messages", seen.len());
    assert_eq!(client.status().await, ReplyStatus::Ok);
    client.shut_down().await;
}

#[tokio::test]
async fn a_running_cell_delays_no_kernel_info_and_can_be_interrupted() {
    let mut client = Client::start().await;
    let id = client.send("wait").await;
    client.shell.send(KernelInfoRequest {}.into()).await.unwrap();
    assert!(matches!(client.reply().await.0, JupyterMessageContent::KernelInfoReply(_)));
    // Until the cell has begun there is nothing to interrupt: ask again as a person would.
    let mut ended = None;
    while ended.is_none() {
        client.control.send(InterruptRequest {}.into()).await.unwrap();
        assert!(matches!(client.control.read().await.unwrap().content, JupyterMessageContent::InterruptReply(_)));
        ended = tokio::time::timeout(Duration::from_millis(200), client.shell.read()).await.ok();
    }
    assert_eq!(ended.unwrap().unwrap().parent_header.unwrap().msg_id, id);
    client.shut_down().await;
}

#[tokio::test]
async fn a_failure_aborts_what_is_queued_and_nothing_after_its_reply() {
    let mut client = Client::start().await;
    let failing = client.send("fail").await;
    client.send("x").await;
    client.send("y").await;
    assert_eq!(client.status().await, ReplyStatus::Error);
    assert_eq!(client.status().await, ReplyStatus::Aborted);
    assert_eq!(client.status().await, ReplyStatus::Aborted);
    let errors = |seen: &[JupyterMessageContent]| {
        seen.iter().filter(|c| matches!(c, JupyterMessageContent::ErrorOutput(_))).count()
    };
    assert_eq!(errors(&client.until_idle(&failing).await), 1);
    client.send("z").await;
    assert_eq!(client.status().await, ReplyStatus::Ok);
    client.shut_down().await;
}

#[tokio::test]
async fn a_panic_of_the_runner_is_one_cells_error() {
    let mut client = Client::start().await;
    client.send("panic").await;
    assert_eq!(client.status().await, ReplyStatus::Error);
    client.send("x").await;
    assert_eq!(client.status().await, ReplyStatus::Ok);
    client.shut_down().await;
}

#[tokio::test]
async fn a_kernel_ends_while_a_cell_runs() {
    let mut client = Client::start().await;
    client.send("wait").await;
    client.shut_down().await;
}
