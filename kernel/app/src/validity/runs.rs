//! The runs that the log holds: which belongs to which cell, what ran, and what it showed.
//!
//! A run belongs to a cell by the notebook's id of it where the front end told one; else by the number shown beside the
//! cell; and where a cell has neither, by its text. Must not know: what follows from it.

use super::notebook::{Cell, Shown};
use fascicolo_dossier::{Kind, Record, View};
use fascicolo_magics::dossier::DossierWhat;
use fascicolo_magics::{Action, split};
use std::collections::{BTreeMap, BTreeSet};

/// A private value of the log.
pub enum Told {
    /// It is there.
    Known(String),
    /// Why nobody can say, in words that follow a name.
    Unknown(&'static str),
}

impl Told {
    /// Of an entry that commits to the field.
    pub fn of(log: &View, entry: u64, field: &str) -> Told {
        match log.value(entry, field) {
            Ok(Some(text)) => Told::Known(text),
            Ok(None) => Told::Unknown("was redacted"),
            Err(_) => Told::Unknown("is not in the log"),
        }
    }
}

/// One run of a cell.
pub struct Run<'l> {
    /// Where it began.
    pub start: &'l Record,
    /// Where it ended, if it did.
    pub end: Option<&'l Record>,
    /// What ran.
    pub ran: Told,
    id: Option<&'l str>,
    n: u32,
}

impl<'l> Run<'l> {
    /// Number of its first entry.
    pub fn entry(&self) -> u64 {
        self.start.seq
    }

    /// Whether it was stopped by an error or a refusal.
    pub fn failed(&self) -> bool {
        self.end.is_some_and(|end| end.kind == Kind::Error)
    }

    /// Whether all that ran only looks at the case file or hands it on: it leaves nothing behind for another cell.
    pub fn only_looks(&self) -> bool {
        let Told::Known(ran) = &self.ran else { return false };
        let looks = |action: &Action| match action {
            Action::Dossier(args) => args.what.only_reads() || matches!(args.what, DossierWhat::Export { .. }),
            Action::Help(_) => true,
            _ => false,
        };
        split(ran).is_ok_and(|cell| cell.rust.is_empty() && cell.magics.iter().all(|m| looks(&m.action)))
    }
}

/// Every run of a cell, oldest first. What was repeated from another log ran elsewhere.
pub fn runs(log: &View) -> Vec<Run<'_>> {
    let mut ends: BTreeMap<u64, &Record> = BTreeMap::new();
    for record in log.records().filter(|r| matches!(r.kind, Kind::End | Kind::Error) && r.from.is_none()) {
        if let Some(start) = record.start {
            ends.insert(start, record);
        }
    }
    let starts = log.records().filter(|r| r.kind == Kind::Start && r.from.is_none());
    starts
        .filter_map(|start| {
            let cell = start.cell.as_ref()?;
            Some(Run {
                start,
                end: ends.get(&start.seq).copied(),
                ran: Told::of(log, start.seq, "ran"),
                id: cell.id.as_deref(),
                n: cell.n,
            })
        })
        .collect()
}

/// How cells and texts are told to be the same.
pub struct Same<'c> {
    /// Whether texts come from this machine: then its home folder is `~` in the log.
    pub here: bool,
    /// Numbers that several cells carry.
    pub repeated: &'c BTreeSet<u32>,
}

impl Same<'_> {
    /// Whether the text that a notebook holds is the one that the log holds, where secrets are masked.
    pub fn text(&self, presented: &str, logged: &str) -> bool {
        presented == logged
            || fascicolo_environment::mask(presented).text == logged
            || self.here && crate::session::mask(presented) == logged
    }

    /// Whether the run is one of this very text.
    pub fn source(&self, cell: &Cell, run: &Run<'_>) -> bool {
        matches!(&run.ran, Told::Known(ran) if self.text(&cell.source, ran))
    }

    /// Whether the run is one of this cell.
    pub fn cell(&self, cell: &Cell, run: &Run<'_>) -> bool {
        self.numbered(cell, cell.count, run)
    }

    /// The same, of a cell beside which another number is shown than the notebook has.
    pub fn numbered(&self, cell: &Cell, count: Option<u32>, run: &Run<'_>) -> bool {
        match (&cell.id, run.id, count) {
            (Some(own), Some(id), _) => own == id,
            (_, _, Some(count)) if self.repeated.contains(&count) => count == run.n && self.source(cell, run),
            (_, _, Some(count)) => count == run.n,
            (_, _, None) => self.source(cell, run),
        }
    }
}

/// How what a cell shows stands to what the log recorded.
pub enum Compared {
    /// The same.
    Same,
    /// The notebook shows nothing where something was recorded.
    Cleared,
    /// They differ; what, in words.
    Changed(String),
    /// Why nobody can say.
    Unknown(String),
}

/// Compares what a cell shows with what the end of a run recorded.
pub fn compare(log: &View, shown: &Shown, end: &Record, same: &Same<'_>) -> Compared {
    let recorded = match Recorded::read(log, end) {
        Ok(recorded) => recorded,
        Err(why) => return Compared::Unknown(why),
    };
    let was = &recorded.shown;
    if shown.is_empty() && !was.is_empty() {
        return Compared::Cleared;
    }
    let changed = |what: &str| Compared::Changed(format!("its {what} is not the recorded one"));
    for (name, presented, logged) in
        [("standard output", &shown.stdout, &was.stdout), ("standard error", &shown.stderr, &was.stderr)]
    {
        let (presented, logged) = (overwritten(presented), overwritten(logged));
        let begins = recorded.truncated && presented.starts_with(logged.as_str());
        if !begins && !same.text(&presented, &logged) {
            return changed(name);
        }
    }
    if shown.bundles.len() != was.bundles.len() {
        let (now, then) = (shown.bundles.len(), was.bundles.len());
        return Compared::Changed(format!("it shows {now} results where {then} were recorded"));
    }
    for (presented, logged) in shown.bundles.iter().zip(&was.bundles) {
        if let Some(mime) = presented.keys().find(|mime| !logged.contains_key(*mime)) {
            return Compared::Changed(format!("it shows {mime}, which was not recorded"));
        }
        for (mime, logged) in logged {
            match presented.get(mime) {
                None => return Compared::Changed(format!("its {mime} is missing")),
                Some(presented) if !same.text(presented, logged) => return changed(mime),
                Some(_) => {}
            }
        }
    }
    let alike = shown.errors.len() == was.errors.len()
        && shown.errors.iter().zip(&was.errors).all(|(presented, logged)| same.text(presented, logged))
        && shown.error_heads.iter().zip(&was.errors).all(|(head, logged)| {
            // A traceback begins with the name and the message, on lines of their own.
            let mut ends = logged.match_indices('\n').map(|(at, _)| at).chain([logged.len()]);
            ends.any(|at| logged.get(..at).is_some_and(|begins| same.text(head, begins)))
        });
    if !alike {
        return changed("error");
    }
    if recorded.truncated {
        return Compared::Unknown("its streams are longer than what the log keeps of them".to_owned());
    }
    Compared::Same
}

/// What the end of a run recorded as shown, as far as the log keeps it.
///
/// # Errors
/// Which part of it nobody can tell, and why, as words that follow a name.
pub fn recorded(log: &View, end: &Record) -> Result<Shown, String> {
    Recorded::read(log, end).map(|recorded| recorded.shown)
}

/// What the end of a run recorded as shown.
struct Recorded {
    shown: Shown,
    /// Streams went on beyond what is kept.
    truncated: bool,
}

impl Recorded {
    fn read(log: &View, end: &Record) -> Result<Recorded, String> {
        let mut shown = Shown::default();
        let mut bundles: BTreeMap<u64, BTreeMap<String, String>> = BTreeMap::new();
        let mut truncated = false;
        for field in end.committed.keys() {
            let value = || match Told::of(log, end.seq, field) {
                Told::Known(text) => Ok(text),
                Told::Unknown(why) => Err(format!("the record of its {field} {why}")),
            };
            match field.as_str() {
                "stdout" => shown.stdout = value()?,
                "stderr" => shown.stderr = value()?,
                "traceback" => shown.errors = vec![value()?],
                "streams" => truncated = true,
                _ => {
                    let output = field.strip_prefix("output.").and_then(|rest| rest.split_once('.'));
                    if let Some((Ok(i), mime)) = output.map(|(i, mime)| (i.parse(), mime)) {
                        bundles.entry(i).or_default().insert(mime.to_owned(), value()?);
                    }
                }
            }
        }
        shown.bundles = bundles.into_values().filter(|forms| forms.values().any(|text| !text.is_empty())).collect();
        Ok(Recorded { shown, truncated })
    }
}

/// A stream as front ends save it: what a carriage return or a backspace takes back is gone.
fn overwritten(text: &str) -> String {
    if !text.contains(['\r', '\u{8}']) {
        return text.to_owned();
    }
    let line = |line: &str| {
        let mut seen: Vec<char> = Vec::new();
        let mut at = 0_usize;
        for c in line.trim_end_matches('\r').chars() {
            match c {
                '\r' => at = 0,
                '\u{8}' => {
                    at = at.saturating_sub(1);
                    seen.truncate(at);
                }
                c if at < seen.len() => {
                    seen[at] = c;
                    at += 1;
                }
                c => {
                    seen.push(c);
                    at += 1;
                }
            }
        }
        seen.into_iter().collect::<String>()
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::overwritten;

    #[test]
    fn a_stream_reads_the_same_before_and_after_a_front_end_took_back_what_was_overwritten() {
        for (raw, saved) in [
            ("10 %\r20 %\rdone\n", "done\n"),
            ("abcdef\rxy\n", "xycdef\n"),
            ("ab\u{8}c\n", "ac\n"),
            ("a\r\nb\r\n", "a\nb\n"),
            ("plain\n", "plain\n"),
        ] {
            assert_eq!(overwritten(raw), saved, "{raw:?}");
            assert_eq!(overwritten(saved), saved);
        }
    }
}
