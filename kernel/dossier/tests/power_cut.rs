//! The power goes while a session appends: an ext4 file system in a file is shut down by ioctl without writing its
//! journal, so that only what was synced is on it when it is mounted again. Needs root and a loop device.
//!
//! What is acknowledged by the moment of the cut must be there. Unlike a cut of power the ioctl leaves a sync that is under
//! way running, and now and then that ends as a success although nothing came of it: the transaction that it waits for
//! was thrown away meanwhile. Whoever has no power acknowledges nothing, so these are counted and not required.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

#[path = "common/appender.rs"]
mod appender;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fascicolo_dossier::Dossier;

use appender::{Acknowledged, Appender, Log, PROGRAM, must_hold, report, skip};

/// Size of the file system.
const IMAGE_BYTES: u64 = 64 << 20;

/// How often the power goes: `FASCICOLO_POWER_CUTS`, or else 10 times.
fn cuts() -> usize {
    std::env::var("FASCICOLO_POWER_CUTS").ok().map_or(10, |given| given.parse().unwrap())
}

/// FS_IOC_SHUTDOWN, `_IOR('X', 125, __u32)`, with 2 for "without writing the journal".
/// Source: linux/include/uapi/linux/fs.h and fs/ext4/ioctl.c.
/// Says when it is ready, and waits for a line.
const SHUT_DOWN: &str = "import fcntl, os, sys
mounted = os.open(sys.argv[1], os.O_RDONLY)
print('ready', flush=True)
sys.stdin.readline()
fcntl.ioctl(mounted, 0x8004587d, (2).to_bytes(4, sys.byteorder))";

/// Runs a program; its error output if it fails.
fn run(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).output().map_err(|e| format!("{program}: {e}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// A file system in a file; taken down again at the end.
struct FileSystem {
    device: String,
    mounted: PathBuf,
}

impl FileSystem {
    fn make(folder: &Path) -> Result<Self, String> {
        let (image, mounted) = (folder.join("image"), folder.join("mounted"));
        fs::create_dir(&mounted).unwrap();
        File::create(&image).unwrap().set_len(IMAGE_BYTES).unwrap();
        let image = image.to_str().unwrap();
        run("mkfs.ext4", &["-q", "-F", image])?;
        // One device throughout: another number would be another place, and the log would fork.
        let device = run("losetup", &["--find", "--show", image])?;
        let made = FileSystem { device, mounted };
        made.mount()?;
        Ok(made)
    }

    fn mount(&self) -> Result<(), String> {
        run("mount", &["-t", "ext4", &self.device, self.mounted.to_str().unwrap()]).map(drop)
    }

    fn unmount(&self) -> Result<(), String> {
        run("umount", &[self.mounted.to_str().unwrap()]).map(drop)
    }

    /// Gets ready to cut the power; it goes when the returned program is given a line.
    fn switch(&self) -> Child {
        let mut command = Command::new("python3");
        command.args(["-c", SHUT_DOWN]).arg(&self.mounted).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut switch = command.spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(switch.stdout.as_mut().unwrap()).read_line(&mut ready).unwrap();
        assert_eq!(ready, "ready\n");
        switch
    }
}

impl Drop for FileSystem {
    fn drop(&mut self) {
        let _ = self.unmount();
        let _ = run("losetup", &["--detach", &self.device]);
    }
}

#[test]
#[ignore = "needs root and a loop device: tests/run slow"]
fn when_the_power_goes_what_was_acknowledged_stays() {
    let folder = tempfile::tempdir().unwrap();
    let made = match FileSystem::make(folder.path()) {
        Ok(made) => made,
        Err(why) => return skip("power cuts on an ext4 file system in a file", &why),
    };
    let mut known: BTreeMap<PathBuf, BTreeMap<String, Acknowledged>> = BTreeMap::new();
    let (cuts, mut acknowledged, mut later, mut gone) = (cuts(), 0, 0, 0);
    for cut in 0..cuts {
        // Every dossier meets two cuts: while it is new, and while it holds entries already.
        let path = made.mounted.join(format!("{}.fascicolo", cut / 2));
        let mut random = [0; 2];
        getrandom::fill(&mut random).unwrap();
        let after = Duration::from_millis(u64::from(u16::from_le_bytes(random)) % 600);
        let session = format!("s {cut}");
        let mut switch = made.switch();
        let mut appender = Appender::start(Command::new(PROGRAM), &path, &session, "milliseconds=900");
        std::thread::sleep(after);
        let by_then = appender.by_now();
        switch.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        assert!(switch.wait().unwrap().success(), "the file system was not shut down");
        let ended = appender.end();
        let late = ended.acknowledged[by_then.len()..].to_vec();
        assert!(matches!(ended.status.code(), Some(0 | 3)), "{}: {}", ended.status, ended.errors);
        made.unmount().unwrap();
        made.mount().unwrap();
        acknowledged += by_then.len();
        let sessions = known.entry(path.clone()).or_default();
        sessions.insert(session.clone(), by_then);
        must_hold(
            &path,
            sessions,
            Log::LongerPrefix,
            &format!("cut {cut}, after {} ms, {} acknowledged later", after.as_millis(), late.len()),
        );
        let view = Dossier::read(&path).unwrap();
        later += late.len();
        gone += late.iter().filter(|(seq, _)| view.record(*seq).is_none_or(|r| r.session != session)).count();
    }
    assert!(acknowledged > cuts, "the cuts came before anything was acknowledged");
    report(&format!(
        "{cuts} power cuts on ext4: {acknowledged} entries acknowledged, all there, {later} after the cut, {gone} \
         of them gone; every log verifies"
    ));
}
