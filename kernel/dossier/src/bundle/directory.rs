//! The central directory of a zip as its bytes stand, before the zip reader makes a table of it: that table holds one
//! entry for each name, so that a second one of the same name would go unseen.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

/// What the directory says of one entry.
pub(super) struct Listed {
    pub(super) name: Vec<u8>,
    /// The general purpose bit flag.
    pub(super) flags: u16,
    /// The compression method.
    pub(super) method: u16,
}

/// A directory, and where it begins.
pub(super) struct Directory {
    pub(super) start: u64,
    pub(super) entries: Vec<Listed>,
}

/// Why no directory was read.
pub(super) enum Unread {
    Io(io::Error),
    Malformed(&'static str),
    TooMany(u64),
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Unread::Malformed("it ends before its parts do"),
            _ => Unread::Io(error),
        }
    }
}

const END: [u8; 4] = *b"PK\x05\x06";
const END_BYTES: u64 = 22;
const LOCATOR: [u8; 4] = *b"PK\x06\x07";
const LOCATOR_BYTES: u64 = 20;
const END_64: [u8; 4] = *b"PK\x06\x06";
const END_64_BYTES: u64 = 56;
const ENTRY: [u8; 4] = *b"PK\x01\x02";
const ENTRY_BYTES: usize = 46;

/// Reads the directory of a zip that has neither a comment nor several parts, and at most `limit` entries.
pub(super) fn read(file: &mut File, limit: u64) -> Result<Directory, Unread> {
    let length = file.seek(SeekFrom::End(0))?;
    let at = length.checked_sub(END_BYTES).ok_or(Unread::Malformed("it is too short"))?;
    let end: [u8; END_BYTES as usize] = fixed(file, at)?;
    // A comment could hold a second end record, of which every reader picks the one it likes.
    if end[..4] != END || u16_at(&end, 20) != 0 {
        return Err(Unread::Malformed("it does not end in the end record of a zip without comment"));
    }
    if u16_at(&end, 4) != 0 || u16_at(&end, 6) != 0 || u16_at(&end, 8) != u16_at(&end, 10) {
        return Err(Unread::Malformed("it is one of several parts"));
    }
    let (mut count, mut bytes, mut start) =
        (u64::from(u16_at(&end, 10)), u64::from(u32_at(&end, 12)), u64::from(u32_at(&end, 16)));
    let mut stop = at;
    if let Some(before) = at.checked_sub(LOCATOR_BYTES) {
        let locator: [u8; LOCATOR_BYTES as usize] = fixed(file, before)?;
        if locator[..4] == LOCATOR {
            stop = u64_at(&locator, 8);
            let end: [u8; END_64_BYTES as usize] = fixed(file, stop)?;
            if end[..4] != END_64
                || u64_at(&end, 4) != END_64_BYTES - 12
                || stop.checked_add(END_64_BYTES) != Some(before)
            {
                return Err(Unread::Malformed("its two end records do not belong together"));
            }
            let large = (u64_at(&end, 32), u64_at(&end, 40), u64_at(&end, 48));
            let agrees = |small: u64, large: u64, none: u64| small == large || small == none;
            if !agrees(count, large.0, u64::from(u16::MAX))
                || !agrees(bytes, large.1, u64::from(u32::MAX))
                || !agrees(start, large.2, u64::from(u32::MAX))
            {
                return Err(Unread::Malformed("its two end records contradict each other"));
            }
            (count, bytes, start) = large;
        }
    }
    if count > limit {
        return Err(Unread::TooMany(count));
    }
    if start.checked_add(bytes) != Some(stop) {
        return Err(Unread::Malformed("its directory does not reach up to the end record"));
    }
    file.seek(SeekFrom::Start(start))?;
    let mut reader = BufReader::new(file.take(bytes));
    let mut entries = Vec::new();
    for _ in 0..count {
        let mut head = [0; ENTRY_BYTES];
        reader.read_exact(&mut head)?;
        if head[..4] != ENTRY {
            return Err(Unread::Malformed("its directory holds something else than entries"));
        }
        let mut name = vec![0; usize::from(u16_at(&head, 28))];
        reader.read_exact(&mut name)?;
        let rest = u64::from(u16_at(&head, 30)) + u64::from(u16_at(&head, 32));
        io::copy(&mut (&mut reader).take(rest), &mut io::sink())?;
        entries.push(Listed { name, flags: u16_at(&head, 8), method: u16_at(&head, 10) });
    }
    if reader.read(&mut [0])? != 0 {
        return Err(Unread::Malformed("its directory holds more entries than it says"));
    }
    Ok(Directory { start, entries })
}

fn fixed<const N: usize>(file: &mut File, at: u64) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
