//! One session: a cell or command → magics and Rust → what they did, recorded → shown.
//!
//! The order is the product's promise: `start` is durable before anything runs; a result is recorded before it is
//! shown, and shown from the record; the cell's end is entered whatever happened.

use crate::actions::{self, Done};
use crate::failure::Failure;
use crate::front::{CellEnding, CellRequest, FrontEnd, MimeBundle, Stream};
use crate::rust_cells::{InterruptFlag, RustCells};
use fascicolo_contract::Standing;
use fascicolo_criterion::{Admitted, Host, Isolation, Launcher, Toolchain};
use fascicolo_dossier::{Appended, CellRef, Dossier, Draft, FileSeen, Imported, Kind};
use fascicolo_environment::{Personal, redaction};
use fascicolo_magics::{Magic, split};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Raised from another thread to stop what runs: a Rust cell, a compiler, a criterion, a read.
#[derive(Clone, Default)]
pub struct Interrupt {
    /// For Rust cells, which lower it themselves.
    pub rust: InterruptFlag,
    /// For everything else.
    pub asked: Arc<AtomicBool>,
}

impl Interrupt {
    /// Stops what runs now.
    pub fn raise(&self) {
        self.asked.store(true, Ordering::SeqCst);
        self.rust.raise();
    }

    /// True once [`Interrupt::raise`] was called for what runs now.
    pub fn is_raised(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }

    fn lower(&self) {
        self.asked.store(false, Ordering::SeqCst);
        self.rust.lower();
    }
}

/// A session on one case file.
pub struct Session {
    /// The case file.
    pub dossier: Dossier,
    /// The folder that relative paths start from.
    pub folder: PathBuf,
    /// Stops what runs.
    pub interrupt: Interrupt,
    rust: Option<Arc<RustCells>>,
    host: Option<Host>,
    toolchain: Option<Toolchain>,
    /// What cells of criteria were compiled to, by name and source.
    pub cells: std::collections::HashMap<(String, String), fascicolo_criterion::compile::Compiled>,
    admitted: HashMap<String, Admitted>,
    dependencies: String,
    /// Entries that the last checkpoint of this session covers.
    covered: u64,
    /// Ends of verdicts and failures so far, for the exit status of a run.
    pub standings: Vec<Standing>,
    /// The verdicts given so far: cell, verdict, expectation.
    pub verdicts: Vec<Value>,
    /// Why the last cell or command failed.
    pub last_failure: Option<Failure>,
}

/// Where a session finds what it keeps between runs: compiled sdks.
pub fn cache_folder() -> PathBuf {
    let from = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    from("FASCICOLO_CACHE")
        .or_else(|| from("XDG_CACHE_HOME").map(|c| c.join("fascicolo")))
        .or_else(|| if cfg!(windows) { from("LOCALAPPDATA").map(|c| c.join("fascicolo")) } else { None })
        .or_else(|| {
            from("HOME").map(|h| {
                if cfg!(target_os = "macos") { h.join("Library/Caches/fascicolo") } else { h.join(".cache/fascicolo") }
            })
        })
        .unwrap_or_else(|| std::env::temp_dir().join("fascicolo"))
}

/// The subcommand by which this program compiles one component in a process of its own.
pub const COMPILE_COMMAND: &str = "__compile-component";

/// An engine for criteria that compiles them in processes of their own and keeps what came of it.
pub fn criteria_host() -> Result<Host, Failure> {
    // The program of the unit tests has no subcommands.
    if cfg!(test) {
        return Ok(Host::new()?);
    }
    let Ok(exe) = std::env::current_exe() else { return Ok(Host::new()?) };
    let launcher = Launcher { exe, args: vec![COMPILE_COMMAND.to_owned()] };
    Ok(Host::isolated(Isolation::new(launcher, Some(cache_folder())))?)
}

/// The place in the log of what is being done.
#[derive(Debug, Clone, Default)]
pub struct Place {
    cell: Option<CellRef>,
    start: Option<u64>,
}

impl Place {
    /// Marks an entry as belonging here.
    pub fn mark(&self, draft: &mut Draft) {
        draft.cell = self.cell.clone();
        draft.start = self.start;
    }
}

impl Session {
    /// Opens the case file and starts a session in `folder`.
    pub fn open(dossier: &Path, folder: &Path) -> Result<Session, Failure> {
        let id = uuid::Uuid::new_v4().simple().to_string();
        Ok(Session {
            dossier: Dossier::open(dossier, id)?,
            folder: folder.to_owned(),
            interrupt: Interrupt::default(),
            rust: None,
            host: None,
            toolchain: None,
            cells: std::collections::HashMap::new(),
            admitted: HashMap::new(),
            dependencies: String::new(),
            covered: 0,
            standings: Vec::new(),
            verdicts: Vec::new(),
            last_failure: None,
        })
    }

    /// Takes an engine for Rust cells that is warming up already; without one, the first Rust cell starts it.
    pub fn with_rust(mut self, rust: Arc<RustCells>) -> Session {
        self.rust = Some(rust);
        self
    }

    /// Runs a cell to its end.
    pub fn run_cell(&mut self, request: &CellRequest, front: &dyn FrontEnd) -> CellEnding {
        let cell = CellRef { id: request.cell_id.clone(), n: request.execution_count };
        self.enter(&request.code, Some(cell), front, |session, place, front| {
            let cell = split(&request.code)?;
            for magic in &cell.magics {
                session.magic(magic, place, front)?;
            }
            if cell.rust.is_empty() { Ok(()) } else { session.rust(&cell.rust, request.execution_count, front) }
        })
    }

    /// Runs one magic that came as a command; its result goes to `take`, from the record.
    pub fn run_command(
        &mut self,
        line: &str,
        magic: &Magic,
        front: &dyn FrontEnd,
        take: &mut dyn FnMut(&'static str, &Value, Standing),
    ) -> CellEnding {
        self.enter(line, None, front, |session, place, front| {
            let done = actions::perform(session, magic, place, front)?;
            take(done.shown_as, &done.result, done.standing);
            done.then_fails.map_or(Ok(()), Err)
        })
    }

    /// Enters the start, does the work, enters the end or the error.
    fn enter(
        &mut self,
        ran: &str,
        cell: Option<CellRef>,
        front: &dyn FrontEnd,
        work: impl FnOnce(&mut Session, &Place, &dyn FrontEnd) -> Result<(), Failure>,
    ) -> CellEnding {
        let start = Draft {
            cell: cell.clone(),
            environment: crate::ledger::environment(&self.dossier),
            private: vec![("ran".to_owned(), ran.to_owned())],
            ..Draft::new(Kind::Start)
        };
        let start = match self.append(start) {
            Ok(appended) => appended.seq,
            Err(failure) => return self.failed(not_recorded(failure, "nothing was run")),
        };
        let place = Place { cell, start: Some(start) };
        let seen = Seen { front, kept: Mutex::default() };
        let ended = work(self, &place, &seen);
        // Lowered at the end, not at the beginning: an interrupt may come just before the work does.
        self.interrupt.lower();
        let kept = seen.kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut draft = Draft {
            cell: place.cell.clone(),
            start: place.start,
            environment: crate::ledger::environment(&self.dossier),
            private: kept.fields(),
            ..Draft::new(Kind::End)
        };
        if let Some(dependencies) = self.new_dependencies() {
            draft.private.push(("rust.dependencies".to_owned(), dependencies));
        }
        match &ended {
            Ok(()) => draft.status = Some("ok".to_owned()),
            Err(failure) => {
                draft.kind = Kind::Error;
                draft.status = Some("error".to_owned());
                let mut record = failure.record();
                conceal(&mut record);
                draft.private.push(("error".to_owned(), record.to_string()));
                draft.private.push(("traceback".to_owned(), failure.shown().traceback.join("\n")));
                draft.body = json!({ "kind": failure.kind, "exit": failure.standing.exit_status() });
            }
        }
        if let Err(failure) = self.append(draft) {
            let what = "the cell ran, but how it ended could not be recorded";
            return self.failed(not_recorded(failure, what));
        }
        match ended {
            Ok(()) => CellEnding::Ok,
            Err(failure) => self.failed(failure),
        }
    }

    /// The crates that Rust cells depend on, if they changed since they were last entered.
    fn new_dependencies(&mut self) -> Option<String> {
        let now = self.rust.as_ref()?.dependencies().join("\n");
        (now != self.dependencies).then(|| {
            self.dependencies.clone_from(&now);
            now
        })
    }

    fn failed(&mut self, failure: Failure) -> CellEnding {
        self.standings.push(failure.standing);
        let shown = failure.shown();
        self.last_failure = Some(failure);
        CellEnding::Error(shown)
    }

    fn magic(&mut self, magic: &Magic, place: &Place, front: &dyn FrontEnd) -> Result<(), Failure> {
        let done = actions::perform(self, magic, place, front)?;
        front.display(&fascicolo_display::render(done.shown_as, &done.result));
        if let Some(standing) = done.counts {
            self.standings.push(standing);
            let of = |key: &str| done.result[key].clone();
            self.verdicts.push(json!({
                "cell": place.cell.as_ref().map(|c| c.n), "verdict": of("verdict"), "post_hoc": of("post_hoc"),
                "of_itself": of("of_itself"), "expect": of("expect"), "met": standing == Standing::Holds, "candidate": done.result["candidate"]["path"],
                "entry": done.result["dossier"]["entry"],
            }));
        }
        done.then_fails.map_or(Ok(()), Err)
    }

    fn rust(&mut self, code: &str, execution_count: u32, front: &dyn FrontEnd) -> Result<(), Failure> {
        let rust = self.rust.get_or_insert_with(|| Arc::new(RustCells::start())).clone();
        let value = rust.run(code, front, &self.interrupt.rust)?;
        if !value.by_mime.is_empty() {
            front.result(execution_count, &value.by_mime);
        }
        Ok(())
    }

    /// The one way into the case file: secrets are masked, home folder, user and host become placeholders before anything
    /// is committed, since what is committed cannot be taken back, and a case file is made to be shared.
    pub fn append(&mut self, mut draft: Draft) -> Result<Appended, Failure> {
        for (_, value) in &mut draft.private {
            *value = mask(value);
        }
        // By the names in it criteria and references are found again, whoever they are named after.
        fascicolo_environment::conceal(&mut draft.body, &Personal::here().places());
        Ok(self.dossier.append(draft)?)
    }

    /// Joins another log as a parent; see [`Dossier::import`]. What this session adds to its entry is masked as ever,
    /// what the other log says is repeated as it is.
    pub fn import(&mut self, from: &Path, repeat: &[Kind], mut draft: Draft) -> Result<Imported, Failure> {
        for (_, value) in &mut draft.private {
            *value = mask(value);
        }
        draft.environment = crate::ledger::environment(&self.dossier);
        Ok(self.dossier.import(from, repeat, draft)?)
    }

    /// Appends a fact and gives its result back as it now stands in the case file, with the entry and the root.
    pub fn record(&mut self, place: &Place, kind: Kind, shown_as: &'static str, fact: Fact) -> Result<Done, Failure> {
        // Text by text, before JSON escapes anything.
        let mut result = fact.result;
        conceal(&mut result);
        let mut private = fact.private;
        private.push(("result".to_owned(), result.to_string()));
        let draft = Draft {
            cell: place.cell.clone(),
            start: place.start,
            environment: crate::ledger::environment(&self.dossier),
            reads: fact.reads,
            writes: fact.writes,
            private,
            blobs: fact.blobs,
            body: fact.body,
            ..Draft::new(kind)
        };
        let appended = self.append(draft)?;
        let mut result = self.stored(appended.seq)?;
        result["dossier"] = json!({ "entry": appended.seq, "root": appended.root_hex });
        Ok(Done::shown(shown_as, result))
    }

    /// The result of an earlier entry, read back and checked against its commitment.
    pub fn stored(&self, entry: u64) -> Result<Value, Failure> {
        actions::stored(&self.dossier, entry)
    }

    /// The engine for criteria.
    pub fn host(&mut self) -> Result<&Host, Failure> {
        let host = match self.host.take() {
            Some(host) => host,
            None => criteria_host()?,
        };
        Ok(self.host.insert(host))
    }

    /// The compiler for criteria; adds the target and builds the sdk where needed, saying so.
    pub fn toolchain(&mut self, front: &dyn FrontEnd) -> Result<Toolchain, Failure> {
        let toolchain = match self.toolchain.take() {
            Some(toolchain) => toolchain,
            None => Toolchain::prepare(&cache_folder(), &|line| front.stream(Stream::Stderr, &format!("{line}\n")))?,
        };
        Ok(self.toolchain.insert(toolchain).clone())
    }

    /// Admits a component once per session.
    pub fn admit(&mut self, name: &str, bytes: &[u8]) -> Result<Admitted, Failure> {
        let key = format!("{name} {}", fascicolo_criterion::digest(bytes));
        if let Some(admitted) = self.admitted.get(&key) {
            return Ok(admitted.clone());
        }
        let admitted = self.host()?.admit(name, bytes)?;
        self.admitted.insert(key, admitted.clone());
        Ok(admitted)
    }

    /// A path as the user wrote it, from the session's folder.
    pub fn resolve(&self, path: &Path) -> PathBuf {
        self.folder.join(path)
    }

    /// Writes the checkpoint; what it covers can no longer be cut off unseen.
    pub fn close(&mut self) -> Result<(), Failure> {
        self.dossier.write_checkpoint()?;
        self.covered = self.dossier.size();
        Ok(())
    }

    /// Whether entries stand beyond the checkpoint that this session wrote last.
    pub fn has_tail(&self) -> bool {
        self.dossier.size() > self.covered
    }
}

/// What an action wants recorded.
#[derive(Default)]
pub struct Fact {
    /// Facts that stand in the entry for good: digests, verdicts, no ids, no paths.
    pub body: Value,
    /// The whole result, behind a commitment.
    pub result: Value,
    /// Other private values.
    pub private: Vec<(String, String)>,
    /// Public contents.
    pub blobs: Vec<(String, Vec<u8>)>,
    /// Files read.
    pub reads: Vec<FileSeen>,
    /// Files written.
    pub writes: Vec<FileSeen>,
}

/// A text as it may be shared.
pub fn mask(text: &str) -> String {
    redaction::shareable(text, Personal::here()).0.into_owned()
}

/// Every text of a value as it may be shared; how many secrets were masked.
pub fn conceal(value: &mut Value) -> usize {
    fascicolo_environment::conceal(value, Personal::here())
}

fn not_recorded(mut failure: Failure, what: &str) -> Failure {
    failure.message = format!("{what}: the case file cannot be written: {}", failure.message);
    failure
}

/// How much of each stream is kept in the case file.
const STREAM_BYTES: usize = 1 << 20;

/// Passes on what a cell shows, and keeps it for the entry of its end.
struct Seen<'a> {
    front: &'a dyn FrontEnd,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    bundles: Vec<MimeBundle>,
    stdout: String,
    stderr: String,
    /// Bytes of streams beyond what is kept.
    dropped: usize,
}

impl Kept {
    /// `output.0.text/plain`, …, `stdout`, `stderr`.
    fn fields(self) -> Vec<(String, String)> {
        let mut fields = Vec::new();
        for (i, bundle) in self.bundles.iter().enumerate() {
            fields.extend(bundle.iter().map(|(mime, text)| (format!("output.{i}.{mime}"), text.clone())));
        }
        for (name, text) in [("stdout", self.stdout), ("stderr", self.stderr)] {
            if !text.is_empty() {
                fields.push((name.to_owned(), text));
            }
        }
        if self.dropped > 0 {
            fields.push((
                "streams".to_owned(),
                format!("{} bytes beyond {STREAM_BYTES} a stream were not kept", self.dropped),
            ));
        }
        fields
    }
}

impl FrontEnd for Seen<'_> {
    fn stream(&self, stream: Stream, text: &str) {
        {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            let kept = &mut *kept;
            let into = if stream == Stream::Stdout { &mut kept.stdout } else { &mut kept.stderr };
            let mut room = STREAM_BYTES.saturating_sub(into.len()).min(text.len());
            while !text.is_char_boundary(room) {
                room -= 1;
            }
            into.push_str(&text[..room]);
            kept.dropped += text.len() - room;
        }
        self.front.stream(stream, text);
    }

    fn display(&self, bundle: &MimeBundle) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).bundles.push(bundle.clone());
        self.front.display(bundle);
    }

    fn result(&self, execution_count: u32, bundle: &MimeBundle) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).bundles.push(bundle.clone());
        self.front.result(execution_count, bundle);
    }

    fn progress(&self, what: &str, share: Option<f64>) {
        self.front.progress(what, share);
    }
}
