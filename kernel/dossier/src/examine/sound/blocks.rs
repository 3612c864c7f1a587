//! A file in blocks of whole lines, each read by one of several threads, the results in order. In memory there are
//! never more than a few blocks.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use super::Odd;

/// Bytes that are read at a time.
pub(super) const BLOCK_BYTES: usize = 1 << 20;

/// No line of a dossier is longer, even if every byte of it is escaped.
const LINE_BYTES: usize = 1 << 20;

/// Blocks of one file that are in work while one is waited for.
const AHEAD: usize = 6;

/// Most threads; hashing more than that at a time only waits for the disk.
const THREADS: usize = 8;

type Job = Box<dyn FnOnce() + Send>;

/// Threads that take jobs until it is dropped. Without threads whoever gives a job does it.
pub(super) struct Pool {
    jobs: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

/// How many threads are worth having.
pub(super) fn threads() -> usize {
    thread::available_parallelism().map_or(1, |n| n.get().min(THREADS))
}

impl Pool {
    pub(super) fn new(threads: usize) -> Result<Self, Odd> {
        let (jobs, taken) = channel::<Job>();
        let taken = Arc::new(Mutex::new(taken));
        let mut pool = Pool { jobs: Some(jobs), threads: Vec::new() };
        for _ in 0..threads {
            let taken = Arc::clone(&taken);
            let work = move || {
                loop {
                    // The lock is held while waiting for a job, not while doing it.
                    let Ok(Ok(job)) = taken.lock().map(|jobs| jobs.recv()) else { break };
                    job();
                }
            };
            pool.threads.push(thread::Builder::new().spawn(work)?);
        }
        Ok(pool)
    }

    /// Lets one of the threads do this; what it gives comes through the receiver.
    fn give<R: Send + 'static>(&self, work: impl FnOnce() -> R + Send + 'static) -> Result<Receiver<R>, Odd> {
        let (send, receive) = channel();
        // Nobody may be waiting any more.
        let job: Job = Box::new(move || drop(send.send(work())));
        if self.threads.is_empty() {
            job();
            return Ok(receive);
        }
        self.jobs.as_ref().and_then(|jobs| jobs.send(job).ok()).ok_or(Odd)?;
        Ok(receive)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            // One that panicked gave no result, which was seen.
            let _ = thread.join();
        }
    }
}

/// A file as it stood when it was opened, read by `read` block by block.
pub(super) struct Blocks<R> {
    file: Option<File>,
    /// Bytes not yet read.
    left: u64,
    /// The beginning of a line whose end was not yet read.
    carry: Vec<u8>,
    spare: Vec<Vec<u8>>,
    ahead: VecDeque<Receiver<(Vec<u8>, Option<R>)>>,
    read: fn(&str) -> Option<R>,
    block_bytes: usize,
}

impl<R: Send + 'static> Blocks<R> {
    /// A file that is not there is an empty one.
    pub(super) fn open(path: &Path, block_bytes: usize, read: fn(&str) -> Option<R>) -> Result<Self, Odd> {
        let file = match File::open(path) {
            Ok(file) => Some(file),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(e.into()),
        };
        let left = file.as_ref().map_or(Ok(0), |file| file.metadata().map(|m| m.len()))?;
        let (carry, spare, ahead) = (Vec::new(), Vec::new(), VecDeque::new());
        Ok(Blocks { file, left, carry, spare, ahead, read, block_bytes })
    }

    /// True if it has more than one block.
    pub(super) fn is_large(&self) -> bool {
        self.left > self.block_bytes as u64
    }

    /// What was read of the next block; `None` after the last.
    pub(super) fn next(&mut self, pool: &Pool) -> Result<Option<R>, Odd> {
        while self.ahead.len() < AHEAD {
            let Some(block) = self.block()? else { break };
            let read = self.read;
            self.ahead.push_back(pool.give(move || {
                let result = std::str::from_utf8(&block).ok().and_then(read);
                (block, result)
            })?);
        }
        let Some(first) = self.ahead.pop_front() else { return Ok(None) };
        let (block, result) = first.recv().map_err(|_| Odd)?;
        self.spare.push(block);
        result.ok_or(Odd).map(Some)
    }

    /// The next lines, the last of them complete.
    fn block(&mut self) -> Result<Option<Vec<u8>>, Odd> {
        let Some(file) = self.file.as_mut().filter(|_| self.left > 0) else {
            // What is left is an incomplete line.
            return if self.carry.is_empty() { Ok(None) } else { Err(Odd) };
        };
        let mut block = self.spare.pop().unwrap_or_default();
        block.clear();
        block.append(&mut self.carry);
        loop {
            let (wanted, before) = (self.left.min(self.block_bytes as u64), block.len());
            // Room for the byte after the last that shows where the end is.
            block.reserve(wanted as usize + 32);
            if file.take(wanted).read_to_end(&mut block)? as u64 != wanted {
                return Err(Odd);
            }
            self.left -= wanted;
            if let Some(end) = block[before..].iter().rposition(|b| *b == b'\n') {
                let end = before + end + 1;
                self.carry.extend_from_slice(&block[end..]);
                block.truncate(end);
                return Ok(Some(block));
            }
            if self.left == 0 || block.len() > LINE_BYTES {
                return Err(Odd);
            }
        }
    }
}
