//! What a running cell shows, as the broadcasts of its request.
//!
//! Progress is shown only by work of more than a second, ten times a second at most, under one display id, and is
//! gone when the cell ends: where it is the cell's only output by `clear_output`, which leaves nothing in a saved
//! notebook; else by an update to an empty text, since clearing would take the other outputs with it.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::json;

use super::messages;
use super::publish::Publisher;
use crate::front::{FrontEnd, MimeBundle, Stream};

/// How long work lasts before its progress is shown.
const PROGRESS_AFTER: Duration = Duration::from_secs(1);
/// The least time between two updates of the progress.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// The front end of one cell's run.
pub(super) struct Showing {
    publisher: Publisher,
    parent: Bytes,
    silent: bool,
    state: Mutex<State>,
}

/// What stands in the cell's output area.
#[derive(Default)]
struct State {
    /// Anything but progress.
    outputs: bool,
    /// When the work began whose progress is told.
    began: Option<Instant>,
    /// When progress was last sent.
    sent: Option<Instant>,
    /// The id under which progress stands in the output area, perhaps emptied.
    display_id: Option<String>,
    /// True while the progress there is not empty.
    visible: bool,
}

impl Showing {
    /// `parent` is the header of the execute_request. A silent cell shows nothing.
    pub fn new(publisher: Publisher, parent: Bytes, silent: bool) -> Self {
        Showing { publisher, parent, silent, state: Mutex::default() }
    }

    /// Takes the progress away. Called when the cell has ended, before its error or its status.
    pub fn end(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.clear_progress(&mut state, false);
    }

    /// `wait` lets the front end keep the progress until the next output, so that nothing flickers.
    fn clear_progress(&self, state: &mut State, wait: bool) {
        state.began = None;
        if !state.visible {
            return;
        }
        state.visible = false;
        if state.outputs {
            let empty = MimeBundle::from([("text/plain".to_owned(), String::new())]);
            let content = messages::display(&empty, state.display_id.as_deref());
            self.publisher.publish("update_display_data", &self.parent, content);
        } else {
            state.display_id = None;
            self.publisher.publish("clear_output", &self.parent, json!({ "wait": wait }));
        }
    }
}

impl FrontEnd for Showing {
    fn stream(&self, stream: Stream, text: &str) {
        if self.silent || text.is_empty() {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // Progress that stands between other outputs may stay; one that stands alone makes room.
        if !state.outputs {
            self.clear_progress(&mut state, true);
            state.outputs = true;
        }
        self.publisher.text(&self.parent, stream, text);
    }

    fn display(&self, bundle: &MimeBundle) {
        if self.silent {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.clear_progress(&mut state, true);
        state.outputs = true;
        self.publisher.publish("display_data", &self.parent, messages::display(bundle, None));
    }

    fn result(&self, execution_count: u32, bundle: &MimeBundle) {
        if self.silent {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.clear_progress(&mut state, true);
        state.outputs = true;
        self.publisher.publish("execute_result", &self.parent, messages::result(execution_count, bundle));
    }

    fn progress(&self, what: &str, share: Option<f64>) {
        if self.silent {
            return;
        }
        let now = Instant::now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let began = *state.began.get_or_insert(now);
        if now - began < PROGRESS_AFTER || state.sent.is_some_and(|sent| now - sent < PROGRESS_EVERY) {
            return;
        }
        state.sent = Some(now);
        state.visible = true;
        let bundle = progress_bundle(what, share);
        match &state.display_id {
            Some(id) => {
                let content = messages::display(&bundle, Some(id));
                self.publisher.publish("update_display_data", &self.parent, content);
            }
            None => {
                let id = uuid::Uuid::new_v4().to_string();
                let content = messages::display(&bundle, Some(&id));
                self.publisher.publish("display_data", &self.parent, content);
                state.display_id = Some(id);
            }
        }
    }
}

/// A bar of twenty places and the share in percent, where it is known.
fn progress_bundle(what: &str, share: Option<f64>) -> MimeBundle {
    let share = share.filter(|s| s.is_finite()).map(|s| s.clamp(0.0, 1.0));
    let escaped = what.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let (plain, html) = match share {
        Some(share) => {
            let percent = (share * 100.0).floor();
            let filled = (share * 20.0).floor() as usize;
            (
                format!("{what} [{}{}] {percent:.0} %", "#".repeat(filled), ".".repeat(20 - filled)),
                format!("<progress max=\"1\" value=\"{share:.4}\"></progress> {escaped}, {percent:.0} %"),
            )
        }
        None => (format!("{what} …"), format!("<progress></progress> {escaped}")),
    };
    MimeBundle::from([("text/plain".to_owned(), plain), ("text/html".to_owned(), html)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_outside_its_range_is_drawn_inside_it() {
        for (share, bar) in [(Some(-1.0), "[....................] 0 %"), (Some(7.0), "[####################] 100 %")] {
            assert!(progress_bundle("rows", share)["text/plain"].contains(bar));
        }
        assert_eq!(progress_bundle("rows", Some(f64::NAN))["text/plain"], "rows …");
    }

    #[test]
    fn progress_carries_no_markup_of_its_text() {
        assert!(progress_bundle("<script>", None)["text/html"].contains("&lt;script&gt;"));
    }
}
