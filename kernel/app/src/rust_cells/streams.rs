//! Passes the child's output on, in order, and reads from our marks how the cell ended.
//!
//! Must not know: compilation. Start at [`Streams`].

use std::time::{Duration, Instant};

use evcxr::EvalOutputs;

use super::engine::Live;
use crate::front::{FrontEnd, MimeBundle, Stream};

/// How a cell's code ended, by its own mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// It came to its end, or `?` left it.
    Reached,
    /// A panic unwound it.
    Panicked,
}

/// What a panic said.
pub(super) struct Panic {
    /// The message, without place and backtrace.
    pub message: String,
    /// The line of the source that evcxr compiled.
    pub line: Option<usize>,
}

/// At most so many lines are passed on in one piece.
const BATCH: usize = 1024;
/// So much of standard error is kept for messages, in bytes.
const KEPT: usize = 32 * 1024;

/// The streams of one cell.
pub(super) struct Streams<'a> {
    live: &'a Live,
    front: &'a dyn FrontEnd,
    nonce: &'a str,
    /// What the cell's own mark begins with, up to how it ended.
    mark: String,
    ending: Option<Ending>,
    stderr_ended: bool,
    garbled: bool,
    kept: String,
    /// True right after a mark of an ending, which evcxr's own end of content follows.
    after_mark: bool,
}

impl<'a> Streams<'a> {
    pub(super) fn new(live: &'a Live, front: &'a dyn FrontEnd, nonce: &'a str, cell: u64) -> Streams<'a> {
        Streams {
            live,
            front,
            nonce,
            mark: format!("{nonce} {cell} "),
            ending: None,
            stderr_ended: false,
            garbled: false,
            kept: String::new(),
            after_mark: false,
        }
    }

    /// Waits up to `time` for standard output, then passes on what has come.
    pub(super) fn wait(&mut self, time: Duration) {
        if let Ok(line) = self.live.outputs.stdout.recv_timeout(time) {
            let mut text = String::new();
            self.take_stdout(&line, &mut text);
            self.pass_stdout(text, BATCH);
        }
        self.pass_stderr(String::new(), BATCH);
    }

    /// Passes on what has come on both streams by now; what comes meanwhile is left for the next time.
    pub(super) fn drain(&mut self) {
        self.pass_stdout(String::new(), self.live.outputs.stdout.len());
        self.pass_stderr(String::new(), self.live.outputs.stderr.len());
    }

    fn pass_stdout(&mut self, mut text: String, most: usize) {
        // Lines that come close together go out together.
        for (count, line) in self.live.outputs.stdout.try_iter().take(most).enumerate() {
            self.take_stdout(&line, &mut text);
            if count % BATCH == BATCH - 1 {
                self.show(Stream::Stdout, &std::mem::take(&mut text));
            }
        }
        self.show(Stream::Stdout, &text);
    }

    fn pass_stderr(&mut self, mut text: String, most: usize) {
        for line in self.live.outputs.stderr.try_iter().take(most) {
            self.take_stderr(&line, &mut text);
        }
        self.keep(&text);
        self.show(Stream::Stderr, &text);
    }

    /// Waits until the end of standard error has come too, which another thread of evcxr reads.
    pub(super) fn finish(&mut self, grace: Duration) {
        let deadline = Instant::now() + grace;
        self.drain();
        while self.ending.is_some() && !self.stderr_ended {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.live.outputs.stderr.recv_timeout(left) {
                Ok(line) => {
                    let mut text = String::new();
                    self.take_stderr(&line, &mut text);
                    self.pass_stderr(text, BATCH);
                }
                Err(_) => break,
            }
        }
        self.drain();
    }

    /// How the cell ended, once its mark has been seen.
    pub(super) fn ending(&self) -> Option<Ending> {
        self.ending
    }

    /// True if a line of evcxr's protocol was hidden from it behind an unfinished line.
    pub(super) fn garbled(&self) -> bool {
        self.garbled
    }

    /// The result without our marks, and without a value `()`.
    pub(super) fn clean(&mut self, outputs: EvalOutputs) -> MimeBundle {
        let mut by_mime = MimeBundle::new();
        for (mime, content) in outputs.content_by_mime_type {
            let mut kept: Vec<&str> = Vec::new();
            for line in content.split('\n') {
                match self.read_mark(line) {
                    // A content that the cell never closed runs up to our own end of it.
                    Some("") => {}
                    Some(before) => kept.push(before),
                    None => kept.push(line),
                }
            }
            let content = kept.join("\n");
            if !(mime == "text/plain" && (content.is_empty() || content == "()")) {
                by_mime.insert(mime, content);
            }
        }
        by_mime
    }

    /// What the panic of this cell said on standard error.
    pub(super) fn panic(&self) -> Panic {
        let mut lines = self.kept.lines().skip_while(|line| !is_panic_head(line));
        let line = lines.next().and_then(place_in_source);
        let message: Vec<&str> =
            lines.take_while(|line| *line != "stack backtrace:" && !line.starts_with("note: run with")).collect();
        let message = message.join("\n").trim_end().to_owned();
        Panic { message: if message.is_empty() { "the message was not captured".to_owned() } else { message }, line }
    }

    /// The last line on standard error, where evcxr prints an error that `?` returned.
    pub(super) fn last_error_line(&self) -> String {
        self.kept.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("an error without a text").to_owned()
    }

    /// Passes on what evcxr read after the child ended, and says how it ended.
    pub(super) fn crash(&mut self, message: &str) -> String {
        const STATUS: &str = "Subprocess terminated with status: ";
        let (output, status) = message.rsplit_once(STATUS).unwrap_or(("", message));
        let mut text = String::new();
        for line in output.lines() {
            self.take_stdout(line, &mut text);
        }
        self.show(Stream::Stdout, &text);
        if self.kept.lines().any(|line| line == "Segmentation fault.") {
            return "segmentation fault (SIGSEGV)".to_owned();
        }
        let status = status.trim();
        match status.strip_prefix("exit status: ").or_else(|| status.strip_prefix("exit code: ")) {
            Some(code) => format!("it ended its process with status {code}"),
            None => status.to_owned(),
        }
    }

    fn take_stdout(&mut self, line: &str, text: &mut String) {
        if std::mem::take(&mut self.after_mark) && line == "EVCXR_END_CONTENT" {
            return;
        }
        match self.read_mark(line) {
            Some(before) => text.push_str(before),
            None => {
                // Only an unfinished line before it keeps evcxr from seeing its own word.
                self.garbled |= line.ends_with("EVCXR_ERROR_OCCURRED") || line.contains("EVCXR_VARIABLE_CHANGED_TYPE:");
                text.push_str(line);
                text.push('\n');
            }
        }
    }

    fn take_stderr(&mut self, line: &str, text: &mut String) {
        match line.find(self.nonce) {
            Some(at) => {
                self.stderr_ended |= line[at..].starts_with(&self.mark);
                text.push_str(&line[..at]);
            }
            None => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }

    /// If the line holds a mark of ours: what the cell had printed before it on the same line.
    fn read_mark<'l>(&mut self, line: &'l str) -> Option<&'l str> {
        let at = line.find(self.nonce)?;
        if let Some(how) = line[at..].strip_prefix(&self.mark) {
            self.ending = Some(if how.starts_with("panicked") { Ending::Panicked } else { Ending::Reached });
            self.after_mark = true;
        }
        Some(&line[..at])
    }

    fn keep(&mut self, text: &str) {
        self.kept.push_str(text);
        if self.kept.len() > KEPT {
            let mut cut = self.kept.len() - KEPT / 2;
            while !self.kept.is_char_boundary(cut) {
                cut += 1;
            }
            self.kept.drain(..cut);
        }
    }

    fn show(&self, stream: Stream, text: &str) {
        if !text.is_empty() {
            self.front.stream(stream, text);
        }
    }
}

fn is_panic_head(line: &str) -> bool {
    line.starts_with("thread '") && line.contains(" panicked at ")
}

/// The line in `thread '…' panicked at src/lib.rs:12:5:`, if it is in the source of the cell.
fn place_in_source(head: &str) -> Option<usize> {
    let place = head.rsplit_once(" panicked at ")?.1;
    place.strip_prefix("src/lib.rs:")?.split(':').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::place_in_source;

    #[test]
    fn only_a_panic_in_the_cell_itself_has_a_line() {
        assert_eq!(place_in_source("thread '<unnamed>' (12) panicked at src/lib.rs:12:5:"), Some(12));
        assert_eq!(place_in_source("thread 'main' panicked at /rustc/library/core/src/option.rs:9:5:"), None);
    }
}
