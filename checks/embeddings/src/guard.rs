//! Keeps a panic of the Parquet decoder, which corrupt bytes can provoke, from leaving this crate.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::path::Path;
use std::sync::Once;

use crate::Error;

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
    static WHAT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// A panic, turned into an error.
#[derive(Debug, thiserror::Error)]
#[error("its content makes the reader fail: {0}")]
struct ReaderPanic(String);

/// The panic's words and the source line, without the folders of the machine that built the program.
fn described(info: &PanicHookInfo) -> String {
    let words = info.payload_as_str().unwrap_or("without words").replace('\n', " ");
    match info.location() {
        Some(at) => {
            let file = at.file().rsplit(['/', '\\']).next().unwrap_or_default();
            format!("{words} ({file}:{})", at.line())
        }
        None => words,
    }
}

/// Runs `work` on the bytes of `path`; a panic in it becomes [`Error::Damaged`] and prints nothing.
pub(crate) fn guarded<T>(path: &Path, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    // The default hook would print the panic although it is reported as an error. Other threads keep their hook.
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            if GUARDED.get() {
                WHAT.set(described(info));
            } else {
                before(info);
            }
        }));
    });
    let outer = GUARDED.replace(true);
    // Whatever `work` was building is dropped with the panic, so nobody sees it half done.
    let ending = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(outer);
    ending.unwrap_or_else(|_| {
        let source = Box::new(ReaderPanic(WHAT.take()));
        Err(Error::Damaged { path: path.to_path_buf(), source })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_that_keeps_its_words() {
        let ending: Result<(), Error> = guarded(Path::new("x.parquet"), || panic!("index {} out of range", 7));
        let message = ending.map_err(|e| e.to_string()).err().unwrap_or_default();
        assert!(message.contains("x.parquet") && message.contains("index 7 out of range (guard.rs:"), "{message}");
    }
}
