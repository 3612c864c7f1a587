//! The thread that holds evcxr's context.
//!
//! Owns: its start, its warm-up, and what is published of it. Must not know: streams, front ends.
//! Start at [`Engine::start`], then [`serve`].

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use evcxr::{CommandContext, CompilationError, EvalContext, EvalContextOutputs, EvalOutputs};

use super::errors::RustCellError;
use super::prepare::{OUR_NAMES, REACHED_END};
use super::{interrupt, process};

/// The engine's thread waits so long for a first cell before it warms up.
const BEFORE_WARM_UP: Duration = Duration::from_millis(100);
/// Loads what type inference needs; prints nothing, since nobody reads the streams then.
const WARM_UP: &str = "let warm = vec![1.0f64].iter().map(|x| x + 1.0).collect::<Vec<f64>>();";

/// A running context, seen from other threads.
pub(super) struct Live {
    /// Lines of the child, as evcxr reads them.
    pub outputs: EvalContextOutputs,
    /// The process that runs the code of cells; the same handle after a restart.
    #[cfg_attr(target_os = "linux", allow(dead_code))]
    pub child: Arc<Mutex<Child>>,
    /// Where evcxr compiles.
    pub folder: PathBuf,
    /// The value of [`process::ROLE`] in the child and what cells start in it.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    pub mark: String,
}

impl Live {
    /// True if the library of a cell was finished after `time`: evcxr runs it at once.
    pub(super) fn compiled_since(&self, time: SystemTime) -> bool {
        let mut open = vec![(self.folder.join("target"), 0)];
        while let Some((folder, depth)) = open.pop() {
            let Ok(entries) = std::fs::read_dir(&folder) else { continue };
            for entry in entries.flatten() {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    // The libraries stand in target/TRIPLE/debug or its deps.
                    if depth < 3 {
                        open.push((entry.path(), depth + 1));
                    }
                } else if name.trim_start_matches("lib").starts_with("code_")
                    && entry.metadata().and_then(|data| data.modified()).is_ok_and(|written| written >= time)
                {
                    return true;
                }
            }
        }
        false
    }
}

/// Where the engine stands.
#[derive(Clone)]
pub(super) enum Stage {
    Starting,
    Ready(Arc<Live>),
    Failed(StartFailure),
}

/// Why there is no context.
#[derive(Debug, Clone)]
pub(super) enum StartFailure {
    /// A configuration file stands where evcxr would read it.
    Configuration(PathBuf),
    /// evcxr could not start.
    Evcxr(String),
}

impl StartFailure {
    pub(super) fn into_error(self) -> RustCellError {
        match self {
            StartFailure::Configuration(file) => RustCellError::HiddenConfiguration { file },
            StartFailure::Evcxr(message) => RustCellError::NoEngine { message },
        }
    }
}

/// What cells have defined so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    pub variables: Vec<String>,
    pub items: Vec<String>,
    pub dependencies: Vec<String>,
}

/// The answer to one cell.
pub(super) struct Reply {
    pub result: Result<EvalOutputs, Failure>,
    pub names: Names,
    /// True if the variable that a `?` would skip is there.
    pub reached_end: bool,
}

/// Why evcxr did not run a cell to its end.
pub(super) enum Failure {
    Compilation(Vec<CompilationError>),
    Terminated(String),
    Message(String),
    /// evcxr itself failed, and was started anew.
    Engine(String),
}

struct Job {
    text: String,
    reply: Sender<Reply>,
}

struct State {
    published: Stage,
    names: Names,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, published: Stage) {
        self.lock().published = published;
        self.changed.notify_all();
    }
}

/// The handle of the engine's thread.
pub(super) struct Engine {
    shared: Arc<Shared>,
    /// `None` once the engine is closing.
    jobs: Option<Sender<Message>>,
    thread: Option<std::thread::JoinHandle<()>>,
    nonce: String,
}

enum Message {
    Run(Job),
    StartAgain,
}

impl Engine {
    pub(super) fn start(runtime: Command) -> Engine {
        let shared = Arc::new(Shared {
            state: Mutex::new(State { published: Stage::Starting, names: Names::default() }),
            changed: Condvar::new(),
        });
        // The control character keeps the mark out of any text; Rust's string literals take it as it is.
        let nonce = format!("\u{1}fascicolo-{}", uuid::Uuid::new_v4().simple());
        let (jobs, inbox) = channel();
        let thread = std::thread::Builder::new().name("rust cells".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || work(&runtime, &shared, &inbox)
        });
        let thread = match thread {
            Ok(thread) => Some(thread),
            Err(error) => {
                shared.publish(Stage::Failed(StartFailure::Evcxr(format!("no thread could be started: {error}"))));
                None
            }
        };
        Engine { shared, jobs: Some(jobs), thread, nonce }
    }

    /// What our marks in the streams begin with: not to be met by accident.
    pub(super) fn nonce(&self) -> &str {
        &self.nonce
    }

    /// Where the engine stands, after waiting up to `time` while it starts.
    pub(super) fn stage(&self, time: Duration) -> Stage {
        let mut state = self.shared.lock();
        if matches!(state.published, Stage::Starting) {
            state = self.shared.changed.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.published.clone()
    }

    /// Starts a context again after a failure, for the cell after this one.
    pub(super) fn try_again(&self) {
        if let Some(jobs) = &self.jobs
            && jobs.send(Message::StartAgain).is_ok()
        {
            self.shared.publish(Stage::Starting);
        }
    }

    /// Hands a text to evcxr; the answer comes on the channel.
    pub(super) fn submit(&self, text: String) -> Result<Receiver<Reply>, RustCellError> {
        let (reply, answer) = channel();
        let sent = self.jobs.as_ref().map(|jobs| jobs.send(Message::Run(Job { text, reply })));
        match sent {
            Some(Ok(())) => Ok(answer),
            _ => Err(RustCellError::engine_gone()),
        }
    }

    pub(super) fn names(&self) -> Names {
        self.shared.lock().names.clone()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.jobs.take();
        let live = match &self.shared.lock().published {
            Stage::Ready(live) => Some(Arc::clone(live)),
            Stage::Starting | Stage::Failed(_) => None,
        };
        if let Some(live) = live {
            interrupt::kill_all(&live);
            if let Some(thread) = self.thread.take() {
                // Without its processes the thread has nothing to wait for.
                let _ = thread.join();
            }
        }
        // A context that is still starting is left to end with the process: there is nothing of a cell in it.
    }
}

/// The life of the engine's thread: contexts, one after another, until the handle is gone.
fn work(runtime: &Command, shared: &Shared, inbox: &Receiver<Message>) {
    loop {
        match create(runtime) {
            Ok((mut context, live)) => {
                shared.publish(Stage::Ready(Arc::new(live)));
                if !serve(&mut context, shared, inbox) {
                    return;
                }
                shared.publish(Stage::Starting);
            }
            Err(why) => {
                shared.publish(Stage::Failed(why));
                loop {
                    match inbox.recv() {
                        Ok(Message::StartAgain) => break,
                        // Whoever sent it sees the channel close.
                        Ok(Message::Run(_)) => {}
                        Err(_) => return,
                    }
                }
            }
        }
    }
}

fn create(runtime: &Command) -> Result<(CommandContext, Live), StartFailure> {
    if let Some(file) = process::hidden_configuration() {
        return Err(StartFailure::Configuration(file));
    }
    let mark = uuid::Uuid::new_v4().simple().to_string();
    let mut command = Command::new(runtime.get_program());
    command.args(runtime.get_args()).env(process::ROLE, &mark);
    if std::env::var_os("RUST_BACKTRACE").is_none() {
        command.env(process::QUIET_PANICS, "1");
    }
    for (name, value) in runtime.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let made = std::panic::catch_unwind(AssertUnwindSafe(|| -> Result<_, evcxr::Error> {
        let (context, outputs) = EvalContext::with_subprocess_command(command)?;
        let mut context = CommandContext::with_eval_context(context);
        // An empty wrapper is none: neither sccache nor one from cargo's configuration comes between.
        context.execute(":build_env RUSTC_WRAPPER=\n:build_env RUSTC_WORKSPACE_WRAPPER=")?;
        let folder = text_of(&context.execute(":last_compile_dir")?);
        let folder = PathBuf::from(folder.trim_end_matches('\n'));
        let folder = folder.canonicalize().unwrap_or(folder);
        let child = context.process_handle();
        Ok((context, Live { outputs, child, folder, mark }))
    }));
    match made {
        Ok(Ok(made)) => Ok(made),
        Ok(Err(error)) => Err(StartFailure::Evcxr(error.to_string())),
        Err(panic) => Err(StartFailure::Evcxr(panic_text(&panic))),
    }
}

/// Runs cells until the handle is gone (false) or evcxr itself has failed (true).
fn serve(context: &mut CommandContext, shared: &Shared, inbox: &Receiver<Message>) -> bool {
    let mut next = inbox.recv_timeout(BEFORE_WARM_UP);
    if matches!(next, Err(RecvTimeoutError::Timeout)) {
        // Nobody waits yet. If this fails, the first cell says why.
        let _ = std::panic::catch_unwind(AssertUnwindSafe(|| {
            let _ = context.execute(WARM_UP);
            let _ = context.execute(":clear");
        }));
        next = inbox.recv().map_err(|_| RecvTimeoutError::Disconnected);
    }
    loop {
        let job = match next {
            Ok(Message::Run(job)) => job,
            Ok(Message::StartAgain) => {
                next = inbox.recv().map_err(|_| RecvTimeoutError::Disconnected);
                continue;
            }
            Err(_) => return false,
        };
        let result = std::panic::catch_unwind(AssertUnwindSafe(|| {
            let result = context.execute(&job.text);
            let (names, reached_end) = names_of(context);
            (result, names, reached_end)
        }));
        let (result, names, reached_end) = match result {
            Ok((result, names, reached_end)) => (result.map_err(failure), names, reached_end),
            Err(panic) => (Err(Failure::Engine(panic_text(&panic))), Names::default(), false),
        };
        let failed = matches!(result, Err(Failure::Engine(_)));
        {
            let mut state = shared.lock();
            state.names = names.clone();
            if failed {
                state.published = Stage::Starting;
            }
        }
        // A cell that nobody waits for any more has its effect all the same.
        let _ = job.reply.send(Reply { result, names, reached_end });
        if failed {
            return true;
        }
        next = inbox.recv().map_err(|_| RecvTimeoutError::Disconnected);
    }
}

fn failure(error: evcxr::Error) -> Failure {
    match error {
        evcxr::Error::CompilationErrors(errors) => Failure::Compilation(errors),
        evcxr::Error::SubprocessTerminated(message) => Failure::Terminated(message),
        error @ (evcxr::Error::Message(_) | evcxr::Error::TypeRedefinedVariablesLost(_)) => {
            Failure::Message(error.to_string())
        }
    }
}

fn names_of(context: &mut CommandContext) -> (Names, bool) {
    let reached_end = context.variables_and_types().any(|(name, _)| name == REACHED_END);
    let ours = |name: &str| OUR_NAMES.iter().any(|prefix| name.starts_with(prefix));
    let mut variables: Vec<String> =
        context.variables_and_types().map(|(name, _)| name.to_owned()).filter(|name| !ours(name)).collect();
    let mut items: Vec<String> = context.defined_item_names().map(str::to_owned).filter(|name| !ours(name)).collect();
    let dependencies = context.execute(":show_deps").map(|outputs| text_of(&outputs)).unwrap_or_default();
    variables.sort();
    items.sort();
    let dependencies = dependencies.lines().map(str::to_owned).collect();
    (Names { variables, items, dependencies }, reached_end)
}

fn text_of(outputs: &EvalOutputs) -> String {
    outputs.get("text/plain").unwrap_or_default().to_owned()
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "a panic without a text".to_owned())
}
