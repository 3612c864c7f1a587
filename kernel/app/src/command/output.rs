//! One stream of a command: shown while it comes, up to a bound; counted and digested to its end.

use crate::front::{FrontEnd, Stream};
use serde_json::{Value, json};
use std::collections::VecDeque;

/// Bytes that are shown as they come. What comes after is counted, and its end shown when the command has ended: a
/// command that floods its output fills neither the notebook nor the memory.
const LIVE: usize = 512 << 10;
/// Bytes of the end that are shown where not all was.
const END: usize = 4 << 10;
/// Bytes of beginning and end that are looked through for an error.
const KEPT: usize = 128 << 10;

/// A stream.
pub struct Output<'a> {
    stream: Stream,
    front: &'a dyn FrontEnd,
    bytes: u64,
    digest: ring::digest::Context,
    /// Bytes of a character that has not come whole.
    pending: Vec<u8>,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    live: usize,
}

impl<'a> Output<'a> {
    /// Of which nothing has come.
    pub fn new(stream: Stream, front: &'a dyn FrontEnd) -> Self {
        let digest = ring::digest::Context::new(&ring::digest::SHA256);
        let (pending, head, tail) = (Vec::new(), Vec::new(), VecDeque::new());
        Output { stream, front, bytes: 0, digest, pending, head, tail, live: 0 }
    }

    /// Takes what came.
    pub fn take(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.digest.update(bytes);
        let room = KEPT.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        let rest = &bytes[room..];
        let rest = &rest[rest.len().saturating_sub(KEPT)..];
        self.tail.extend(rest);
        self.tail.drain(..self.tail.len().saturating_sub(KEPT));
        let room = LIVE.saturating_sub(self.live).min(bytes.len());
        if room > 0 {
            self.live += room;
            self.pending.extend_from_slice(&bytes[..room]);
            let whole = self.pending.len() - unfinished(&self.pending);
            let shown: Vec<u8> = self.pending.drain(..whole).collect();
            self.show(&shown);
        }
    }

    /// Shows what is left when nothing more comes.
    pub fn finish(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        self.show(&pending);
        let unseen = self.bytes - self.live as u64;
        if unseen == 0 {
            return;
        }
        let kept = self.kept();
        let end = &kept[kept.len().saturating_sub(END.min(usize::try_from(unseen).unwrap_or(END)))..];
        let text = String::from_utf8_lossy(end);
        // From the beginning of a line, where there is one.
        let end = text.split_once('\n').filter(|(_, rest)| !rest.is_empty()).map_or(&*text, |(_, rest)| rest);
        self.front.stream(
            self.stream,
            &format!("\n[{unseen} further bytes of this stream were counted and not shown; its end:]\n{end}"),
        );
    }

    /// The beginning and, where it is longer, the end.
    pub fn kept(&self) -> Vec<u8> {
        let mut kept = self.head.clone();
        kept.extend(&self.tail);
        kept
    }

    /// The record of it: its text stands in the entry of the cell's end.
    pub fn record(self) -> Value {
        let digest = self.digest.finish();
        let sha256 = fascicolo_dossier::to_hex(digest.as_ref());
        json!({ "bytes": self.bytes, "sha256": sha256, "shown_bytes": self.live })
    }

    fn show(&self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.front.stream(self.stream, &String::from_utf8_lossy(bytes));
        }
    }
}

/// Bytes at the end that begin a character and do not end it.
fn unfinished(bytes: &[u8]) -> usize {
    let start = (1..=3.min(bytes.len())).find(|&back| bytes[bytes.len() - back] & 0b1100_0000 != 0b1000_0000);
    let Some(back) = start else { return 0 };
    let length = match bytes[bytes.len() - back] {
        0b1100_0000..0b1110_0000 => 2,
        0b1110_0000..0b1111_0000 => 3,
        0b1111_0000..0b1111_1000 => 4,
        _ => 1,
    };
    if length > back { back } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::MimeBundle;
    use std::sync::{Mutex, PoisonError};

    #[derive(Default)]
    struct Shown(Mutex<String>);

    impl Shown {
        fn text(&self) -> String {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
        }
    }

    impl FrontEnd for Shown {
        fn stream(&self, _: Stream, text: &str) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
        }
        fn display(&self, _: &MimeBundle) {}
        fn result(&self, _: u32, _: &MimeBundle) {}
        fn progress(&self, _: &str, _: Option<f64>) {}
    }

    #[test]
    fn a_character_that_comes_in_pieces_is_shown_whole_and_a_broken_one_as_broken() {
        let shown = Shown::default();
        let mut output = Output::new(Stream::Stdout, &shown);
        for byte in "aé€😀\n".bytes() {
            output.take(&[byte]);
        }
        output.take(&[0xE2, 0x82]);
        output.finish();
        assert_eq!(shown.text(), "aé€😀\n\u{FFFD}");
        assert_eq!(output.record()["bytes"], 13);
    }

    #[test]
    fn a_flood_is_counted_to_its_end_and_shown_up_to_a_bound_with_its_last_lines() {
        let shown = Shown::default();
        let mut output = Output::new(Stream::Stdout, &shown);
        let line = b"0123456789abcde\n".repeat(1 << 12);
        for _ in 0..64 {
            output.take(&line);
        }
        output.take(b"the last line\n");
        assert!(output.kept().len() <= 2 * KEPT);
        output.finish();
        let text = shown.text();
        assert!(text.len() < LIVE + END + 200, "{}", text.len());
        assert!(text.ends_with("the last line\n") && text.contains("further bytes"), "{}", &text[text.len() - 300..]);
        let record = output.record();
        let whole = [line.repeat(64), b"the last line\n".to_vec()].concat();
        assert_eq!(record["bytes"], whole.len());
        assert_eq!(record["sha256"], fascicolo_criterion::digest(&whole));
    }
}
