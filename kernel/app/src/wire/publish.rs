//! The iopub channel. One task owns its socket; everybody else hands messages to it and goes on.
//!
//! Streams are gathered for up to 50 ms or 64 KiB and leave before anything that was handed over after them, so that
//! ten thousand lines cost a few messages and order is kept. Each new subscriber is greeted (JEP 65).

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use jupyter_zmq_client::{SubscriptionEvent, parse_subscription_message};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use zeromq::{SocketRecv, SocketSend, XPubSocket, ZmqMessage};

use super::envelope::Sealer;
use super::messages;
use crate::front::Stream;

/// How long the first text of a stream waits for more.
const GATHER_TIME: Duration = Duration::from_millis(50);
/// How much text one stream message carries before it leaves, in bytes.
const GATHER_BYTES: usize = 64 * 1024;
/// How much text may wait for slow subscribers before the cell is held up, in bytes.
const WAITING_BYTES: usize = 16 * 1024 * 1024;
/// How long one message may take to be written to all subscribers before it is given up.
const WRITE_TIME: Duration = Duration::from_secs(10);
/// The same, while a subscriber is known not to read.
const STALLED_WRITE_TIME: Duration = Duration::from_millis(100);

/// What is handed to the task.
enum Item {
    Message { msg_type: &'static str, parent: Option<Bytes>, content: Value },
    Text { parent: Bytes, stream: Stream, text: String },
    Flush(oneshot::Sender<()>),
}

/// Hands messages to the task, from any thread. Cheap to clone.
#[derive(Clone)]
pub(super) struct Publisher {
    queue: mpsc::UnboundedSender<Item>,
    waiting: Arc<Waiting>,
}

impl Publisher {
    /// Broadcasts one message. `parent` is the header of the request that caused it. Never waits.
    pub fn publish(&self, msg_type: &'static str, parent: &Bytes, content: Value) {
        let _ = self.queue.send(Item::Message { msg_type, parent: Some(parent.clone()), content });
    }

    /// Broadcasts one message that no request caused.
    pub fn announce(&self, msg_type: &'static str, content: Value) {
        let _ = self.queue.send(Item::Message { msg_type, parent: None, content });
    }

    /// `busy` or `idle` on behalf of a request.
    pub fn status(&self, parent: &Bytes, state: &str) {
        self.publish("status", parent, json!({ "execution_state": state }));
    }

    /// Broadcasts stream text. Waits while more than [`WAITING_BYTES`] stand in the queue: not to be called from the
    /// async runtime.
    pub fn text(&self, parent: &Bytes, stream: Stream, text: &str) {
        if text.is_empty() {
            return;
        }
        self.waiting.add(text.len());
        let _ = self.queue.send(Item::Text { parent: parent.clone(), stream, text: text.to_owned() });
    }

    /// Returns once everything handed over before has been written, or could not be.
    pub async fn flush(&self) {
        let (done, wait) = oneshot::channel();
        if self.queue.send(Item::Flush(done)).is_ok() {
            let _ = wait.await;
        }
    }
}

/// The bytes of stream text that stand in the queue.
#[derive(Default)]
struct Waiting {
    state: Mutex<WaitingState>,
    less: Condvar,
}

#[derive(Default)]
struct WaitingState {
    bytes: usize,
    over: bool,
}

impl Waiting {
    fn add(&self, bytes: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.bytes > WAITING_BYTES && !state.over {
            state = self.less.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.bytes += bytes;
    }

    fn remove(&self, bytes: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.bytes = state.bytes.saturating_sub(bytes);
        self.less.notify_all();
    }

    fn end(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.over = true;
        self.less.notify_all();
    }
}

/// Starts the task on the current runtime.
pub(super) fn start(socket: XPubSocket, sealer: Arc<Sealer>) -> Publisher {
    let (queue, items) = mpsc::unbounded_channel();
    let waiting = Arc::new(Waiting::default());
    let task = Task { socket, sealer, gathered: None, waiting: waiting.clone(), write_time: WRITE_TIME };
    tokio::spawn(task.run(items));
    Publisher { queue, waiting }
}

/// Stream text that waits for more of its kind.
struct Gathered {
    parent: Bytes,
    stream: Stream,
    text: String,
    leaves: Instant,
}

struct Task {
    socket: XPubSocket,
    sealer: Arc<Sealer>,
    gathered: Option<Gathered>,
    waiting: Arc<Waiting>,
    write_time: Duration,
}

impl Drop for Task {
    fn drop(&mut self) {
        // A cell that waits to print must not wait for a task that is gone.
        self.waiting.end();
    }
}

impl Task {
    async fn run(mut self, mut items: mpsc::UnboundedReceiver<Item>) {
        loop {
            let leaves = self.gathered.as_ref().map(|g| g.leaves);
            tokio::select! {
                // Subscriptions first: a subscriber known one message earlier misses one message less.
                biased;
                event = self.socket.recv() => self.greet(event.ok()).await,
                () = due(leaves) => self.send_gathered().await,
                item = items.recv() => match item {
                    Some(item) => self.take(item).await,
                    None => return,
                },
            }
        }
    }

    async fn take(&mut self, item: Item) {
        match item {
            Item::Text { parent, stream, text } => {
                let same = |g: &Gathered| g.stream == stream && g.parent == parent;
                if !self.gathered.as_ref().is_some_and(same) {
                    self.send_gathered().await;
                }
                let gathered = self.gathered.get_or_insert_with(|| Gathered {
                    parent,
                    stream,
                    text: String::new(),
                    leaves: Instant::now() + GATHER_TIME,
                });
                gathered.text.push_str(&text);
                if gathered.text.len() >= GATHER_BYTES {
                    self.send_gathered().await;
                }
            }
            Item::Message { msg_type, parent, content } => {
                self.send_gathered().await;
                self.send(msg_type, parent.as_ref(), &content).await;
            }
            Item::Flush(done) => {
                self.send_gathered().await;
                let _ = done.send(());
            }
        }
    }

    async fn send_gathered(&mut self) {
        if let Some(gathered) = self.gathered.take() {
            let content = messages::stream(gathered.stream, &gathered.text);
            self.send("stream", Some(&gathered.parent), &content).await;
            self.waiting.remove(gathered.text.len());
        }
    }

    async fn send(&mut self, msg_type: &str, parent: Option<&Bytes>, content: &Value) {
        let topic = Bytes::from(format!("kernel.{}.{msg_type}", self.sealer.session()));
        let message = self.sealer.seal(vec![topic], msg_type, parent, &json!({}), content);
        self.write(message).await;
    }

    /// Tells a new subscriber that from now on it misses nothing.
    async fn greet(&mut self, event: Option<ZmqMessage>) {
        let Some(event) = event else {
            // A subscriber left in the middle of a frame; the socket has forgotten it already.
            tokio::task::yield_now().await;
            return;
        };
        if let Some(SubscriptionEvent::Subscribe(topic)) = parse_subscription_message(&event) {
            let prefix = if topic.is_empty() { Vec::new() } else { vec![Bytes::from(topic.clone())] };
            let content = json!({ "subscription": topic });
            let message = self.sealer.seal(prefix, "iopub_welcome", None, &json!({}), &content);
            self.write(message).await;
        }
    }

    /// A subscriber that stopped reading may hold up the others for a while, not for ever.
    async fn write(&mut self, message: ZmqMessage) {
        match tokio::time::timeout(self.write_time, self.socket.send(message)).await {
            Ok(_) => self.write_time = WRITE_TIME,
            Err(_) => {
                if self.write_time == WRITE_TIME {
                    eprintln!("fascicolo: a front end does not read its outputs; some are lost");
                }
                self.write_time = STALLED_WRITE_TIME;
            }
        }
    }
}

/// Returns at the given moment; never where there is none.
async fn due(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
