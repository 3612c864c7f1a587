//! Runs a compiler so that it can do nothing but compile: empty environment, own process group, limits, and, where the
//! kernel has Landlock, no file but its own toolchain and one temporary folder.

use crate::error::CriterionError;
use crate::fence::{Confinement, Fence};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// What came of a run.
pub struct Ended {
    /// Exit status 0.
    pub success: bool,
    /// Set if a signal or the deadline ended it.
    pub stopped: Option<String>,
    /// Everything on standard error.
    pub stderr: String,
    /// What the kernel promised.
    pub confinement: Confinement,
}

/// Processor seconds that one compilation may take unless `FASCICOLO_COMPILE_SECONDS` says otherwise: a cell needs
/// some 0.3 s, and what needs ten times that computes while it compiles.
const CPU_SECONDS: u64 = 2;
/// Wall seconds for each of them: the machine may have other things to do.
const WALL_FOR_CPU: u64 = 5;
/// Address space and file size of one compilation.
const ADDRESS_SPACE_BYTES: u64 = 4 << 30;
const FILE_BYTES: u64 = 64 << 20;
const STDERR_BYTES: u64 = 4 << 20;

/// What a compilation may take.
pub fn cpu_seconds() -> u64 {
    let said = std::env::var("FASCICOLO_COMPILE_SECONDS").ok().and_then(|text| text.parse().ok());
    said.map_or(CPU_SECONDS, |seconds: u64| seconds.clamp(1, 600))
}

/// The wall time that goes with it.
pub fn wall(cpu_seconds: u64) -> Duration {
    Duration::from_secs(cpu_seconds * WALL_FOR_CPU)
}

/// Runs `program` with `args` in `folder`, reading only `readable` and the system's libraries, writing only `folder`.
pub fn run(
    program: &Path,
    args: Vec<std::ffi::OsString>,
    folder: &Path,
    mut readable: Vec<PathBuf>,
    interrupted: &dyn Fn() -> bool,
) -> Result<Ended, CriterionError> {
    let io = |what: &str, source| CriterionError::Io { what: what.to_owned(), source };
    let mut command = Command::new(program);
    command.args(args).current_dir(folder).env_clear().env("TMPDIR", folder);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    // A Landlock domain belongs to a thread and passes to the processes it starts: the thread ends with its domain,
    // and this process stays free.
    readable.extend(SYSTEM.map(PathBuf::from));
    let fence = Fence {
        readable,
        devices: DEVICES.map(PathBuf::from).to_vec(),
        writable: vec![folder.to_owned()],
        network: false,
    };
    let (mut child, confinement) = std::thread::spawn(move || {
        let confinement = fence.close();
        command.spawn().map(|child| (child, confinement))
    })
    .join()
    .map_err(|_| io("start the compiler", std::io::Error::other("its thread panicked")))?
    .map_err(|source| io(&format!("start {}", program.display()), source))?;
    let cpu_seconds = cpu_seconds();
    let deadline = wall(cpu_seconds);
    limit(&child, cpu_seconds);

    let (done, finished) = mpsc::channel();
    let mut stderr = child.stderr.take();
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(pipe) = stderr.as_mut() {
            // A flood of messages says nothing more; what lies beyond is thrown away so that the writer can end.
            let _ = pipe.take(STDERR_BYTES).read_to_end(&mut text);
            let _ = std::io::copy(pipe, &mut std::io::sink());
        }
        let _ = done.send(());
        String::from_utf8_lossy(&text).into_owned()
    });
    let started = Instant::now();
    let mut stopped = None;
    while finished.recv_timeout(Duration::from_millis(20)) == Err(mpsc::RecvTimeoutError::Timeout) {
        let why = if interrupted() {
            "interrupted".to_owned()
        } else if started.elapsed() > deadline {
            format!("it took more than {} s", deadline.as_secs())
        } else {
            continue;
        };
        kill_group(&mut child);
        stopped = Some(why);
        break;
    }
    let status = child.wait().map_err(|source| io("wait for the compiler", source))?;
    let stderr = reader.join().unwrap_or_default();
    #[cfg(unix)]
    if stopped.is_none() {
        use std::os::unix::process::ExitStatusExt;
        stopped = status.signal().map(|signal| match signal {
            24 => format!("it used more than {cpu_seconds} s of processor time"),
            25 => format!("it wrote a file of more than {} MiB", FILE_BYTES >> 20),
            other => format!(
                "it crashed with signal {other}, as it does on code nested too deeply or in need of more than {} GiB of \
                 memory",
                ADDRESS_SPACE_BYTES >> 30
            ),
        });
    }
    Ok(Ended { success: status.success(), stopped, stderr, confinement })
}

/// Where a compiler's own libraries and devices lie.
const SYSTEM: [&str; 7] =
    ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/etc/ld.so.preload", "/nix/store"];
const DEVICES: [&str; 2] = ["/dev/null", "/dev/urandom"];

#[cfg(target_os = "linux")]
fn limit(child: &std::process::Child, cpu_seconds: u64) {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else { return };
    for (resource, most, hard) in [
        // At the hard limit the kernel kills without a word; a second earlier its signal says why.
        (Resource::Cpu, cpu_seconds, cpu_seconds + 1),
        (Resource::As, ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES),
        (Resource::Fsize, FILE_BYTES, FILE_BYTES),
        (Resource::Core, 0, 0),
    ] {
        // A compiler that has already ended has no limits to set.
        let _ = prlimit(Some(pid), resource, Rlimit { current: Some(most), maximum: Some(hard) });
    }
}

#[cfg(not(target_os = "linux"))]
fn limit(_child: &std::process::Child, _cpu_seconds: u64) {}

pub fn kill_group(child: &mut std::process::Child) {
    #[cfg(unix)]
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
}
