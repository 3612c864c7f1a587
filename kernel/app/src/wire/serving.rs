//! Reads requests, answers at once what needs no cell, hands the rest to its thread, and ends in good order.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self as blocking, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use jupyter_protocol::ConnectionInfo;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use zeromq::{RouterRecvHalf, RouterSendHalf, RouterSocket, SocketRecv, SocketSend, ZmqMessage};

use super::cells::{self, Order};
use super::envelope::{self, DropCounts, Dropped, Incoming, Sealer};
use super::history::History;
use super::publish::{self, Publisher};
use super::{CellRunner, WireError, editing, messages, sockets};

/// How long a running cell may take to end after its interrupt, when the kernel shuts down.
const CELL_ENDS: Duration = Duration::from_secs(2);
/// How long broadcasts may take to leave when the kernel ends. Jupyter kills a kernel that takes five seconds in all.
const LAST_BROADCASTS: Duration = Duration::from_secs(1);
/// How long the replies written last may take to leave.
const LAST_WORDS: Duration = Duration::from_millis(50);
/// How long one reply may take to be written before it is given up.
const REPLY_TIME: Duration = Duration::from_secs(10);
/// How often the kernel looks whether the process that started it still lives.
const PARENT_EVERY: Duration = Duration::from_secs(1);

/// A request, and the way back to who asked.
pub(super) struct Asked {
    pub message: Incoming,
    replies: mpsc::UnboundedSender<ZmqMessage>,
}

impl Asked {
    /// Sends the reply; from any thread, without waiting.
    pub fn reply(&self, kernel: &Kernel, msg_type: &str, metadata: &Value, content: &Value) {
        let parent = Some(&self.message.header);
        let sealed = kernel.sealer.seal(self.message.identities.clone(), msg_type, parent, metadata, content);
        let _ = self.replies.send(sealed);
    }
}

/// What all threads share.
pub(super) struct Kernel {
    runner: Arc<dyn CellRunner>,
    publisher: Publisher,
    sealer: Arc<Sealer>,
    info: ConnectionInfo,
    history: Mutex<History>,
    drops: DropCounts,
    cells: blocking::Sender<Order>,
    editing: blocking::Sender<Asked>,
    stopping: AtomicBool,
    stop: mpsc::UnboundedSender<Stop>,
    /// True while `run_cell` runs. Held during an interrupt, so that it hits this cell and none after it.
    interruptible: Mutex<bool>,
    /// The request of the running cell, whose `busy` is repeated after another request's `idle`: front ends that
    /// look at the last status alone would else show a kernel at rest. Held only to publish.
    busy_with: Mutex<Option<Bytes>>,
}

/// Why the kernel ends.
struct Stop {
    restart: bool,
}

impl Kernel {
    pub fn runner(&self) -> &dyn CellRunner {
        self.runner.as_ref()
    }

    pub fn publisher(&self) -> &Publisher {
        &self.publisher
    }

    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    pub fn remember(&self, execution_count: u32, code: &str) {
        self.history.lock().unwrap_or_else(PoisonError::into_inner).push(execution_count, code);
    }

    /// Says `busy` for a cell that begins.
    pub fn begin_cell(&self, parent: &Bytes) {
        let mut busy_with = self.busy_with.lock().unwrap_or_else(PoisonError::into_inner);
        *busy_with = Some(parent.clone());
        self.publisher.status(parent, "busy");
    }

    /// Says `idle` for the cell; no `busy` of it follows.
    pub fn end_cell(&self, parent: &Bytes) {
        let mut busy_with = self.busy_with.lock().unwrap_or_else(PoisonError::into_inner);
        *busy_with = None;
        self.publisher.status(parent, "idle");
    }

    /// Says `busy` for any other request.
    pub fn begin_request(&self, parent: &Bytes) {
        self.publisher.status(parent, "busy");
    }

    /// Says `idle` for any other request, then `busy` again for the cell that still runs.
    pub fn end_request(&self, parent: &Bytes) {
        let busy_with = self.busy_with.lock().unwrap_or_else(PoisonError::into_inner);
        self.publisher.status(parent, "idle");
        if let Some(cell) = busy_with.as_ref() {
            self.publisher.status(cell, "busy");
        }
    }

    /// Opens and closes the time in which an interrupt reaches the runner. Closing waits for one that is under way.
    pub fn allow_interrupts(&self, allowed: bool) {
        *self.interruptible.lock().unwrap_or_else(PoisonError::into_inner) = allowed;
    }

    /// Interrupts the running cell, if there is one. May block as long as the runner takes.
    fn interrupt(&self) {
        let interruptible = self.interruptible.lock().unwrap_or_else(PoisonError::into_inner);
        if *interruptible {
            self.runner.interrupt();
        }
    }

    /// Answers a request, or hands it to the thread that will. Never blocks.
    fn take(self: &Arc<Self>, asked: Asked, control: bool) {
        match asked.message.msg_type.as_str() {
            "execute_request" if !control => {
                let _ = self.cells.send(Order::Run(Box::new(asked)));
            }
            "complete_request" | "inspect_request" | "is_complete_request" => {
                let _ = self.editing.send(asked);
            }
            "interrupt_request" => self.answer_interrupt(asked),
            _ => self.answer(&asked),
        }
    }

    /// In a thread of its own: the runner may take its time, and other requests go on meanwhile.
    fn answer_interrupt(self: &Arc<Self>, asked: Asked) {
        let kernel = self.clone();
        let begun = std::thread::Builder::new().name("interrupt".to_owned()).spawn(move || {
            kernel.begin_request(&asked.message.header);
            kernel.interrupt();
            asked.reply(&kernel, "interrupt_reply", &json!({}), &json!({ "status": "ok" }));
            kernel.end_request(&asked.message.header);
        });
        if let Err(e) = begun {
            eprintln!("fascicolo: the cell cannot be interrupted: {e}");
        }
    }

    fn answer(&self, asked: &Asked) {
        let parent = &asked.message.header;
        let msg_type = asked.message.msg_type.as_str();
        let no_content = Map::new();
        let content = asked.message.content.as_ref().unwrap_or(&no_content);
        let reply = |msg_type: &str, content: &Value| asked.reply(self, msg_type, &json!({}), content);
        self.begin_request(parent);
        match msg_type {
            "kernel_info_request" => reply("kernel_info_reply", &messages::kernel_info()),
            "history_request" => {
                let history = self.history.lock().unwrap_or_else(PoisonError::into_inner).answer(content);
                reply("history_reply", &history);
            }
            "connect_request" => reply("connect_reply", &messages::connect(&self.info)),
            "comm_info_request" => reply("comm_info_reply", &json!({ "status": "ok", "comms": {} })),
            // No comm has its other end here: who opens one is told so, as the protocol asks.
            "comm_open" => {
                let comm_id = messages::text(content, "comm_id");
                self.publisher.publish("comm_close", parent, json!({ "comm_id": comm_id, "data": {} }));
            }
            "comm_msg" | "comm_close" => {}
            "shutdown_request" => {
                let restart = content.get("restart").and_then(Value::as_bool).unwrap_or(false);
                let content = json!({ "status": "ok", "restart": restart });
                reply("shutdown_reply", &content);
                // Other front ends of this kernel learn it here.
                self.publisher.publish("shutdown_reply", parent, content);
                self.end(restart);
            }
            "debug_request" => {
                let command = messages::text(content, "command");
                let seq = content.get("seq").cloned().unwrap_or(Value::Null);
                reply(
                    "debug_reply",
                    &json!({
                        "type": "response", "request_seq": seq, "success": false, "command": command,
                        "message": "this kernel has no debugger",
                    }),
                );
            }
            unknown => {
                // An answer, so that nobody waits for ever; messages that are no requests expect none.
                if let Some(name) = unknown.strip_suffix("_request") {
                    let message = format!("this kernel does not answer `{unknown}` here");
                    reply(&format!("{name}_reply"), &messages::refused("UnknownRequest", &message));
                }
            }
        }
        self.end_request(parent);
    }

    /// Makes `serve` come to its end.
    fn end(&self, restart: bool) {
        self.stopping.store(true, Ordering::Release);
        let _ = self.stop.send(Stop { restart });
    }
}

/// Serves until told to stop.
pub(super) fn serve(info: ConnectionInfo, runner: Arc<dyn CellRunner>) -> Result<(), WireError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("wire")
        .enable_all()
        .build()
        .map_err(WireError::Threads)?;
    let ended = runtime.block_on(serve_async(info.clone(), runner));
    // Tasks that wait for messages would wait for ever.
    runtime.shutdown_background();
    sockets::remove_ipc_files(&info);
    ended
}

async fn serve_async(info: ConnectionInfo, runner: Arc<dyn CellRunner>) -> Result<(), WireError> {
    let session = uuid::Uuid::new_v4().simple().to_string();
    let bound = sockets::bind(&info, &session).await?;
    let key = bound.shell.mac.clone();
    let sealer = Arc::new(Sealer::new(&session, key));
    let publisher = publish::start(bound.iopub.socket, sealer.clone());
    publisher.announce("status", json!({ "execution_state": "starting" }));

    let (cells, orders) = blocking::channel();
    let (editing, edits) = blocking::channel();
    let (stop, mut stopped) = mpsc::unbounded_channel();
    let kernel = Arc::new(Kernel {
        runner,
        publisher,
        sealer,
        info,
        history: Mutex::default(),
        drops: DropCounts::default(),
        cells,
        editing,
        stopping: AtomicBool::new(false),
        stop,
        interruptible: Mutex::new(false),
        busy_with: Mutex::new(None),
    });
    let (cells_over, cells_ended) = blocking::channel();
    spawn("cells", {
        let kernel = kernel.clone();
        move || {
            cells::run(&kernel, &orders);
            let _ = cells_over.send(());
        }
    })?;
    spawn("editing", {
        let kernel = kernel.clone();
        move || editing::run(&kernel, &edits)
    })?;

    tokio::spawn(beat(bound.heartbeat));
    let mac = bound.shell.mac.clone();
    for (connection, channel) in
        [(bound.shell, Channel::Shell), (bound.control, Channel::Control), (bound.stdin, Channel::Stdin)]
    {
        let (send, receive) = connection.socket.split();
        let (replies, queue) = mpsc::unbounded_channel();
        tokio::spawn(write_replies(send, queue));
        let kernel = kernel.clone();
        let mac = mac.clone();
        tokio::spawn(async move { kernel.read(receive, &mac, replies, channel).await });
    }
    tokio::spawn(interrupts(kernel.clone()));
    tokio::spawn(terminated(kernel.clone()));
    tokio::spawn(orphaned(kernel.clone()));

    let stop = stopped.recv().await.unwrap_or(Stop { restart: false });
    let _ = tokio::task::spawn_blocking({
        let kernel = kernel.clone();
        move || close(&kernel, &cells_ended, stop.restart)
    })
    .await;
    let _ = tokio::time::timeout(LAST_BROADCASTS, kernel.publisher.flush()).await;
    // The sockets' own writers have no flush: give them the moment they need.
    tokio::time::sleep(LAST_WORDS).await;
    Ok(())
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), WireError> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run).map(drop).map_err(WireError::Threads)
}

/// Interrupts the running cell, waits for its end, and lets the runner close.
fn close(kernel: &Arc<Kernel>, cells_ended: &blocking::Receiver<()>, restart: bool) {
    let _ = kernel.cells.send(Order::Stop);
    let began = Instant::now();
    let mut ended = Err(RecvTimeoutError::Timeout);
    while ended == Err(RecvTimeoutError::Timeout) && began.elapsed() < CELL_ENDS {
        // In its own thread: a runner that cannot interrupt must not keep the kernel from ending. Again and again:
        // the first may come while the cell has only just begun to listen.
        let interrupting = kernel.clone();
        let _ = spawn("interrupt", move || interrupting.interrupt());
        ended = cells_ended.recv_timeout(CELL_ENDS / 8);
    }
    if ended == Err(RecvTimeoutError::Timeout) {
        eprintln!("fascicolo: the running cell did not end within {} s of its interrupt", CELL_ENDS.as_secs());
    }
    let runner = &kernel.runner;
    let closing = std::panic::AssertUnwindSafe(|| runner.shutdown(restart));
    if std::panic::catch_unwind(closing).is_err() {
        eprintln!("fascicolo: the session was not closed in order");
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Channel {
    Shell,
    Control,
    Stdin,
}

impl Kernel {
    /// Reads one channel for ever. Whatever arrives, the next message is read.
    async fn read(
        self: Arc<Self>,
        mut socket: RouterRecvHalf,
        key: &Option<ring::hmac::Key>,
        replies: mpsc::UnboundedSender<ZmqMessage>,
        channel: Channel,
    ) {
        loop {
            match socket.recv().await {
                Ok(multipart) => match envelope::open(multipart, key) {
                    // No cell asks for input yet, so nothing on stdin answers anything.
                    Ok(_) if channel == Channel::Stdin => {}
                    Ok(message) => {
                        self.take(Asked { message, replies: replies.clone() }, channel == Channel::Control);
                    }
                    Err(why @ (Dropped::Signature | Dropped::Malformed)) => {
                        self.drops.count(why);
                    }
                },
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    }
}

/// Writes replies in the order in which they were given.
async fn write_replies(mut socket: RouterSendHalf, mut queue: mpsc::UnboundedReceiver<ZmqMessage>) {
    while let Some(message) = queue.recv().await {
        // A client that is gone has no use for its reply.
        let _ = tokio::time::timeout(REPLY_TIME, socket.send(message)).await;
    }
}

/// Sends every beat back as it came.
async fn beat(mut socket: RouterSocket) {
    loop {
        match socket.recv().await {
            Ok(message) => {
                let _ = tokio::time::timeout(REPLY_TIME, socket.send(message)).await;
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

/// SIGINT (Ctrl-C in the terminal that a console shares with its kernel) is an interrupt, not the end.
async fn interrupts(kernel: Arc<Kernel>) {
    while tokio::signal::ctrl_c().await.is_ok() {
        let kernel = kernel.clone();
        let _ = spawn("interrupt", move || kernel.interrupt());
    }
}

/// SIGTERM is a shutdown in good order.
#[cfg(unix)]
async fn terminated(kernel: Arc<Kernel>) {
    use tokio::signal::unix::{SignalKind, signal};
    if let Ok(mut signals) = signal(SignalKind::terminate())
        && signals.recv().await.is_some()
    {
        kernel.end(false);
    }
}

#[cfg(not(unix))]
async fn terminated(_: Arc<Kernel>) {}

/// Jupyter tells its process id; when that process is gone nobody can ask for the end any more.
#[cfg(unix)]
async fn orphaned(kernel: Arc<Kernel>) {
    let told = std::env::var("JPY_PARENT_PID").ok().and_then(|pid| pid.parse::<u32>().ok());
    let parent = std::os::unix::process::parent_id();
    // A launcher in between makes the ids differ; then the end of the parent says nothing.
    if told != Some(parent) {
        return;
    }
    while std::os::unix::process::parent_id() == parent {
        tokio::time::sleep(PARENT_EVERY).await;
    }
    kernel.end(false);
}

#[cfg(not(unix))]
async fn orphaned(_: Arc<Kernel>) {}
