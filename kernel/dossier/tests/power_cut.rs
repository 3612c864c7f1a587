//! The power goes while a session appends: an ext4 file system in a file is shut down by ioctl without writing its
//! journal, so that only what was synced is on it when it is mounted again. Needs root and a loop device.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

#[path = "common/appender.rs"]
mod appender;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use appender::{Acknowledged, Appender, Log, PROGRAM, must_hold, report, skip};

/// Size of the file system.
const IMAGE_BYTES: u64 = 64 << 20;

/// How often the power goes.
const CUTS: usize = 10;

/// FS_IOC_SHUTDOWN, `_IOR('X', 125, __u32)`, with 2 for "without writing the journal".
/// Source: linux/include/uapi/linux/fs.h and fs/ext4/ioctl.c.
const SHUT_DOWN: &str = "import fcntl, os, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, (2).to_bytes(4, sys.byteorder))";

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

    fn cut_power(&self) -> Result<(), String> {
        run("python3", &["-c", SHUT_DOWN, self.mounted.to_str().unwrap()]).map(drop)
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
    let mut acknowledged = 0;
    for cut in 0..CUTS {
        // Every dossier meets two cuts: while it is new, and while it holds entries already.
        let path = made.mounted.join(format!("{}.fascicolo", cut / 2));
        let mut random = [0; 2];
        getrandom::fill(&mut random).unwrap();
        let after = Duration::from_millis(u64::from(u16::from_le_bytes(random)) % 600);
        let session = format!("s {cut}");
        let appender = Appender::start(Command::new(PROGRAM), &path, &session, "milliseconds=900");
        std::thread::sleep(after);
        made.cut_power().unwrap();
        let ended = appender.end();
        assert!(matches!(ended.status.code(), Some(0 | 3)), "{}: {}", ended.status, ended.errors);
        made.unmount().unwrap();
        made.mount().unwrap();
        acknowledged += ended.acknowledged.len();
        let sessions = known.entry(path.clone()).or_default();
        sessions.insert(session, ended.acknowledged);
        must_hold(&path, sessions, Log::Prefix, &format!("cut {cut}, after {} ms", after.as_millis()));
    }
    assert!(acknowledged > CUTS, "the cuts came before anything was acknowledged");
    report(&format!("{CUTS} power cuts on ext4: {acknowledged} entries acknowledged, all there; every log verifies"));
}
