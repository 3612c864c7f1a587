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

/// Processor seconds, wall seconds, address space and file size that one compilation may take.
const CPU_SECONDS: u64 = 20;
const DEADLINE: Duration = Duration::from_secs(30);
const ADDRESS_SPACE_BYTES: u64 = 8 << 30;
const FILE_BYTES: u64 = 64 << 20;
const STDERR_BYTES: u64 = 4 << 20;

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
    limit(&child);

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
        } else if started.elapsed() > DEADLINE {
            format!("it took more than {} s", DEADLINE.as_secs())
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
            24 => format!("it used more than {CPU_SECONDS} s of processor time"),
            25 => format!("it wrote a file of more than {} MiB", FILE_BYTES >> 20),
            other => format!("signal {other} (limits: {} GiB of memory)", ADDRESS_SPACE_BYTES >> 30),
        });
    }
    Ok(Ended { success: status.success(), stopped, stderr, confinement })
}

/// Where a compiler's own libraries and devices lie.
const SYSTEM: [&str; 7] =
    ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/etc/ld.so.preload", "/nix/store"];
const DEVICES: [&str; 2] = ["/dev/null", "/dev/urandom"];

#[cfg(target_os = "linux")]
fn limit(child: &std::process::Child) {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else { return };
    for (resource, most) in [
        (Resource::Cpu, CPU_SECONDS),
        (Resource::As, ADDRESS_SPACE_BYTES),
        (Resource::Fsize, FILE_BYTES),
        (Resource::Core, 0),
    ] {
        // A compiler that has already ended has no limits to set.
        let _ = prlimit(Some(pid), resource, Rlimit { current: Some(most), maximum: Some(most) });
    }
}

#[cfg(not(target_os = "linux"))]
fn limit(_child: &std::process::Child) {}

fn kill_group(child: &mut std::process::Child) {
    #[cfg(unix)]
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
}
