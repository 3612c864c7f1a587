//! Layer `system`: operating system, C library, processor and memory, read from files.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Layer;

/// Operating system and processor. A field that this system does not tell is `None`, never guessed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct System {
    /// `linux`, `macos`, `windows`: what this program was built for.
    pub os: String,
    /// The distribution's own name and version, such as `Debian GNU/Linux 12 (bookworm)`.
    pub distribution: Option<String>,
    /// Release of the kernel.
    pub kernel: Option<String>,
    /// The C library of this program's process, such as `glibc 2.36`.
    pub libc: Option<String>,
    /// `x86_64`, `aarch64` …: the kernel's, or what this program was built for.
    pub arch: String,
    /// The processor's own name.
    pub cpu_model: Option<String>,
    /// Instruction-set and feature flags as the kernel lists them for the first processor, sorted.
    pub cpu_flags: Option<Vec<String>>,
    /// Processors that the kernel runs on.
    pub cores: Option<u64>,
    /// Processors that this process may use (affinity and quota).
    pub cores_usable: Option<u64>,
    /// Main memory, bytes.
    pub memory_bytes: Option<u64>,
}

pub(super) fn read() -> Layer<System> {
    let cpuinfo = text("/proc/cpuinfo");
    let cpu = cpuinfo.as_deref().map(Cpu::parse).unwrap_or_default();
    let (kernel, machine) = kernel();
    let system = System {
        os: std::env::consts::OS.to_owned(),
        distribution: text("/etc/os-release").as_deref().and_then(pretty_name),
        kernel,
        libc: libc(),
        arch: machine.unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        cpu_model: cpu.model,
        cpu_flags: cpu.flags,
        cores: cpu.cores,
        cores_usable: std::thread::available_parallelism().ok().map(|n| n.get() as u64),
        memory_bytes: text("/proc/meminfo").as_deref().and_then(total_memory),
    };
    let from = ["uname", "/etc/os-release", "/proc/cpuinfo", "/proc/meminfo", "/proc/self/maps"];
    Layer::read(from.into_iter().filter(|f| !f.starts_with('/') || Path::new(f).exists()), system)
}

fn text(file: &str) -> Option<String> {
    std::fs::read(file).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Release and machine; of what `uname` tells, the host's name is left out.
#[cfg(unix)]
fn kernel() -> (Option<String>, Option<String>) {
    let name = rustix::system::uname();
    (Some(name.release().to_string_lossy().into_owned()), Some(name.machine().to_string_lossy().into_owned()))
}

#[cfg(not(unix))]
fn kernel() -> (Option<String>, Option<String>) {
    (None, None)
}

#[derive(Default)]
struct Cpu {
    model: Option<String>,
    flags: Option<Vec<String>>,
    cores: Option<u64>,
}

impl Cpu {
    /// Reads `/proc/cpuinfo`, whose names differ by architecture.
    fn parse(text: &str) -> Cpu {
        let fields = || text.lines().filter_map(|line| line.split_once(':')).map(|(k, v)| (k.trim(), v.trim()));
        let first = |name: &str| fields().find(|(k, v)| *k == name && !v.is_empty()).map(|(_, v)| v.to_owned());
        let arm = || {
            let part = first("CPU part")?;
            Some(format!("implementer {}, part {part}", first("CPU implementer").unwrap_or_default()))
        };
        let cores = fields().filter(|(k, _)| *k == "processor").count() as u64;
        Cpu {
            model: first("model name").or_else(arm).or_else(|| first("cpu")),
            flags: first("flags").or_else(|| first("Features")).map(|flags| {
                let mut flags: Vec<String> = flags.split_whitespace().map(str::to_owned).collect();
                flags.sort();
                flags.dedup();
                flags
            }),
            cores: (cores > 0).then_some(cores),
        }
    }
}

fn total_memory(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

fn pretty_name(os_release: &str) -> Option<String> {
    let value = os_release.lines().find_map(|l| l.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim().trim_matches(['"', '\'']).to_owned())
}

/// Name and version of the C library that this process has loaded, from the sentence inside its file.
fn libc() -> Option<String> {
    let maps = text("/proc/self/maps")?;
    let paths = maps.lines().filter_map(|l| l.find('/').map(|at| &l[at..]));
    for path in paths {
        let file = path.rsplit('/').next().unwrap_or("");
        if file.starts_with("libc.so.") || file.starts_with("libc-2.") {
            return glibc_version(&std::fs::read(path).ok()?);
        }
        if file.starts_with("ld-musl-") || file.starts_with("libc.musl-") {
            return Some("musl".into());
        }
    }
    None
}

fn glibc_version(library: &[u8]) -> Option<String> {
    const SAYS: &[u8] = b" release version ";
    let at = library.windows(SAYS.len()).position(|w| w == SAYS)? + SAYS.len();
    let digits = library[at..].iter().take_while(|b| b.is_ascii_digit() || **b == b'.');
    let version = String::from_utf8(digits.copied().collect()).ok()?;
    let version = version.trim_end_matches('.');
    (!version.is_empty()).then(|| format!("glibc {version}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_x86_processor_is_read() {
        let cpu = Cpu::parse(
            "processor\t: 0\nmodel name\t: AMD EPYC\nflags\t\t: sse2 avx2 fpu\nprocessor\t: 1\nflags\t: x\n",
        );
        assert_eq!(cpu.model.as_deref(), Some("AMD EPYC"));
        assert_eq!(cpu.flags.unwrap(), ["avx2", "fpu", "sse2"]);
        assert_eq!(cpu.cores, Some(2));
    }

    #[test]
    fn an_arm_processor_without_a_name_gives_its_part() {
        let cpu = Cpu::parse("processor\t: 0\nFeatures\t: asimd sve\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n");
        assert_eq!(cpu.model.as_deref(), Some("implementer 0x41, part 0xd40"));
        assert_eq!(cpu.flags.unwrap(), ["asimd", "sve"]);
    }

    #[test]
    fn what_is_not_told_is_none() {
        let cpu = Cpu::parse("");
        assert_eq!((cpu.model, cpu.flags, cpu.cores), (None, None, None));
        assert_eq!(total_memory("MemFree: 1 kB"), None);
        assert_eq!(total_memory("MemTotal:       24000 kB\n"), Some(24_576_000));
        assert_eq!(glibc_version(b"nothing"), None);
        assert_eq!(
            glibc_version(b"\0GNU C Library (Debian GLIBC 2.36-9) stable release version 2.36.\nCopyright").as_deref(),
            Some("glibc 2.36")
        );
    }
}
