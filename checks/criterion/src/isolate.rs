//! Compiles components to machine code in a child process that can be killed, and keeps what came of it.
//!
//! A component can come from anyone: with an imported case, or out of a cell whose author knows the compiler well. The
//! child has limits of processor time and memory, opens no file, makes no connection, and dies with its parent. What
//! it wrote is loaded as machine code, so it is taken from its pipe alone, or from a folder that only this user can
//! write, under the digest of what was written there.

use crate::error::CriterionError;
use crate::fence::Fence;
use crate::shelf::Shelf;
use crate::words::plain;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use wasmtime::Engine;
use wasmtime::component::Component;

/// The program that compiles one component: `exe args…` must end in [`child_main`].
#[derive(Debug, Clone)]
pub struct Launcher {
    /// The program, usually the running one.
    pub exe: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
}

/// How strangers' components are compiled.
#[derive(Debug, Clone)]
pub struct Isolation {
    /// What is started.
    pub launcher: Launcher,
    /// Where compiled components are kept, if anywhere.
    pub cache: Option<PathBuf>,
    /// Processor time of one compilation, seconds.
    pub cpu_seconds: u64,
    /// Wall time of one compilation.
    pub wall: Duration,
}

impl Isolation {
    /// With the limits of every compiler of criteria.
    pub fn new(launcher: Launcher, cache: Option<PathBuf>) -> Isolation {
        let cpu_seconds = crate::jail::cpu_seconds();
        Isolation { launcher, cache, cpu_seconds, wall: crate::jail::wall(cpu_seconds) }
    }
}

/// Below the cache folder: machine code.
const SHELF: &str = "compiled";
/// Bytes of compiled code that are taken.
const ARTIFACT_BYTES: u64 = 256 << 20;
/// Address space of the child.
const ADDRESS_SPACE_BYTES: u64 = 2 << 30;
/// Threads of the child: each has a stack and a heap of its own in the address space.
const THREADS: &str = "2";
/// The variable that tells the child its processor time.
const CPU_SECONDS: &str = "FASCICOLO_COMPILE_SECONDS";
/// The child's exit status if the component is none; its standard output says why.
const REFUSED: i32 = 1;

/// The component as machine code: from the cache, or from a child.
pub(crate) fn compile(
    engine: &Engine,
    isolation: &Isolation,
    name: &str,
    bytes: &[u8],
) -> Result<Component, CriterionError> {
    compile_as(engine, isolation, name, bytes, || Ok(Cow::Borrowed(bytes)))
}

/// The same for bytes that are told apart by `known`, and are only made where they must be compiled.
pub(crate) fn compile_as<'a>(
    engine: &Engine,
    isolation: &Isolation,
    name: &str,
    known: &[u8],
    bytes: impl FnOnce() -> Result<Cow<'a, [u8]>, CriterionError>,
) -> Result<Component, CriterionError> {
    let key = key(engine, known);
    let kept = isolation.cache.as_deref().and_then(|cache| Shelf::below(cache, SHELF));
    if let Some(artifact) = kept.as_ref().and_then(|shelf| shelf.get(&key)) {
        // What an older build of the same version left may not fit: then it is compiled anew.
        if let Ok(component) = load(engine, &artifact) {
            return Ok(component);
        }
    }
    let artifact = in_child(isolation, name, &bytes()?)?;
    let component = load(engine, &artifact).map_err(|e| CriterionError::Runtime { why: format!("{e:#}") })?;
    if let Some(shelf) = kept {
        shelf.put(&key, &artifact);
    }
    Ok(component)
}

/// Whether machine code is kept for what is told apart by `known`; it may still turn out to be of no use.
pub(crate) fn is_kept(engine: &Engine, isolation: &Isolation, known: &[u8]) -> bool {
    let shelf = isolation.cache.as_deref().and_then(|cache| Shelf::below(cache, SHELF));
    shelf.is_some_and(|shelf| shelf.holds(&key(engine, known)))
}

/// Loads machine code.
#[allow(unsafe_code)]
fn load(engine: &Engine, artifact: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: the bytes were written by this program's own child, with the same compiler: they came from its pipe, or
    // from a folder that nobody else can write, under the digest taken when they came from the pipe.
    unsafe { Component::deserialize(engine, artifact) }
}

/// What the machine code follows from: the component, and all of the compiler's settings and its version.
fn key(engine: &Engine, bytes: &[u8]) -> String {
    struct Sha(Sha256);
    impl Hasher for Sha {
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }
        fn finish(&self) -> u64 {
            0
        }
    }
    let mut settings = Sha(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut settings);
    crate::hex(&Sha256::new().chain_update(settings.0.finalize()).chain_update(bytes).finalize())
}

/// Compiles in a child; everything that can happen to it is an error with its own words.
fn in_child(isolation: &Isolation, name: &str, bytes: &[u8]) -> Result<Vec<u8>, CriterionError> {
    let Isolation { launcher, cpu_seconds, wall, .. } = isolation;
    let ours = |why: String| CriterionError::Runtime { why };
    let stopped = |why: String| CriterionError::CompilerStopped { name: name.to_owned(), why };
    let mut command = Command::new(&launcher.exe);
    command.args(&launcher.args).env_clear().env(CPU_SECONDS, cpu_seconds.to_string());
    command.env("RAYON_NUM_THREADS", THREADS).env("MALLOC_ARENA_MAX", THREADS);
    for needed in ["LD_LIBRARY_PATH", "SystemRoot"] {
        if let Some(value) = std::env::var_os(needed) {
            command.env(needed, value);
        }
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().map_err(|e| {
        ours(format!("{} could not be started to compile criterion `{name}`: {e}", launcher.exe.display()))
    })?;
    let (mut stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let (done, finished) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut artifact = Vec::new();
        if let Some(pipe) = stdout {
            let _ = pipe.take(ARTIFACT_BYTES + 1).read_to_end(&mut artifact);
        }
        let _ = done.send(());
        artifact
    });
    let status = std::thread::scope(|scope| {
        // A child that is killed, or refuses early, does not read its input to the end.
        scope.spawn(move || stdin.as_mut().map(|pipe| pipe.write_all(bytes)));
        let started = Instant::now();
        // The pipe closes when the child ends, or when it holds nothing back any more.
        let closed = finished.recv_timeout(*wall).is_ok();
        while closed && started.elapsed() < *wall {
            match child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                ended => return ended,
            }
        }
        crate::jail::kill_group(&mut child);
        child.wait().map(|_| None)
    });
    let status = status.map_err(|e| ours(format!("the compiler of components was lost: {e}")))?;
    let artifact = reader.join().unwrap_or_default();
    let Some(status) = status else {
        return Err(stopped(format!("it took more than {} s", wall.as_secs_f64())));
    };
    if artifact.len() as u64 > ARTIFACT_BYTES {
        return Err(stopped(format!("it gives more than {} MiB of machine code", ARTIFACT_BYTES >> 20)));
    }
    match (status.code(), signal(status)) {
        (Some(0), _) => Ok(artifact),
        (Some(REFUSED), _) => {
            let why = plain(&String::from_utf8_lossy(&artifact));
            Err(CriterionError::NotAComponent { name: name.to_owned(), why })
        }
        (_, Some(24)) => Err(stopped(format!("it used more than {cpu_seconds} s of processor time"))),
        // Rust aborts where memory is refused.
        (_, Some(6)) => Err(stopped(format!("it needed more than {} GiB of memory", ADDRESS_SPACE_BYTES >> 30))),
        (_, Some(signal)) => Err(stopped(format!("its compiler was ended by signal {signal}"))),
        (code, None) => Err(ours(format!("the compiler of components ended with status {}", code.unwrap_or_default()))),
    }
}

#[cfg(unix)]
fn signal(status: std::process::ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_status: std::process::ExitStatus) -> Option<i32> {
    None
}

/// The child's side: shuts itself in, reads a component from standard input, writes machine code to standard output,
/// and returns the exit status.
pub fn child_main() -> i32 {
    shut_in();
    let compiled = (|| {
        let mut bytes = Vec::new();
        // The parent has looked at what comes from strangers; the host of criteria in Python is larger.
        let most = crate::python::COMPONENT_BYTES as u64;
        std::io::stdin().lock().take(most).read_to_end(&mut bytes).map_err(|e| (70, e.to_string()))?;
        let engine = Engine::new(&crate::host::config()).map_err(|e| (70, format!("{e:#}")))?;
        engine.precompile_component(&bytes).map_err(|e| (REFUSED, format!("{e:#}")))
    })();
    let (status, output) = match compiled {
        Ok(artifact) => (0, artifact),
        Err((status, why)) => (status, why.into_bytes()),
    };
    let mut stdout = std::io::stdout().lock();
    // A parent that is gone reads nothing, and then there is nobody to tell.
    if stdout.write_all(&output).and_then(|()| stdout.flush()).is_err() { 70 } else { status }
}

/// Before a byte of a stranger is read: no file, no connection, so much time and memory, no life after the parent's.
fn shut_in() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let cpu_seconds = crate::jail::cpu_seconds();
        for (resource, most, hard) in [
            (Resource::Cpu, cpu_seconds, cpu_seconds + 1),
            (Resource::As, ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES),
            (Resource::Fsize, 0, 0),
            (Resource::Core, 0, 0),
        ] {
            // Where the system has no such limit, the parent's clock remains.
            let _ = setrlimit(resource, Rlimit { current: Some(most), maximum: Some(hard) });
        }
    }
    Fence::default().close();
}
