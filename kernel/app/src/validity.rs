//! Whether a notebook still stands for what ran: five questions, each answered from the log, the notebook and what is
//! known of files and machine.
//!
//! Owns: what counts as the same, as another, and as what nobody can tell. Must not know: where notebook, files and
//! snapshot come from, how an answer is drawn. Writes nothing. Start at [`judge`].

mod environment;
mod notebook;
mod runs;

pub use notebook::{Beside, Cell, REDACTED, Text, beside, cells, repeated_counts, texts};
pub use runs::{Compared, Run, Same, Told, compare, recorded, runs};

use fascicolo_dossier::{Kind, Record, View};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// How one answer stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It is so.
    Holds,
    /// It is not, or no longer.
    Stale,
    /// Nobody can say from what is there.
    CannotTell,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            State::Holds => "holds",
            State::Stale => "stale",
            State::CannotTell => "cannot_tell",
        }
    }
}

/// One answer: how it stands, why in one sentence, and what it is about, piece by piece.
struct Answer {
    state: State,
    reason: String,
    details: Vec<String>,
}

impl Answer {
    fn new(state: State, reason: impl Into<String>) -> Answer {
        Answer { state, reason: reason.into(), details: Vec::new() }
    }

    fn with(state: State, reason: impl Into<String>, details: Vec<String>) -> Answer {
        Answer { state, reason: reason.into(), details }
    }
}

/// A file that the case names, as it is now.
pub enum FileNow {
    /// Its digest is the one that the log holds.
    AsRead,
    /// Its digest is another one.
    Changed,
    /// It is not there.
    Gone,
    /// Why nobody can say.
    Unknown(String),
}

/// The environment as it is now.
pub enum EnvironmentNow {
    /// Only what the log holds is asked for.
    NotAsked,
    /// A snapshot of now, concealed as one in the log.
    Taken(Value),
    /// Why there is none.
    NotTaken(String),
}

/// What the questions are put to.
pub struct Presented<'a> {
    /// The notebook, if there is one.
    pub notebook: Option<&'a Value>,
    /// Every file that the case names, by its path.
    pub files: Vec<(String, FileNow)>,
    /// The machine.
    pub environment: EnvironmentNow,
    /// Whether notebook and files are those of this machine, rather than of a case that travels.
    pub here: bool,
}

/// The session that ran the notebook last.
pub fn last_session<'l>(cells: &[Cell], runs: &[Run<'l>], same: &Same<'_>) -> Option<&'l str> {
    let of_a_cell = |run: &&Run<'l>| cells.iter().any(|cell| same.cell(cell, run));
    runs.iter().rev().find(of_a_cell).map(|run| run.start.session.as_str())
}

/// The last snapshot of the session that ran the notebook last.
pub fn last_snapshot<'l>(log: &'l View, notebook: Option<&Value>, here: bool) -> Option<&'l Record> {
    let cells = cells(notebook?);
    let repeated = repeated_counts(&cells);
    let all = runs(log);
    let session = last_session(&cells, &all, &Same { here, repeated: &repeated })?;
    log.records().rev().find(|r| r.kind == Kind::Snapshot && r.session == session && r.from.is_none())
}

/// The five answers, and the badge over them. The same log and the same presented things give the same value.
pub fn judge(log: &View, presented: &Presented<'_>) -> Value {
    let all = runs(log);
    let cells = presented.notebook.map(cells);
    let repeated = cells.as_deref().map(repeated_counts).unwrap_or_default();
    let same = Same { here: presented.here, repeated: &repeated };
    let session = cells.as_deref().and_then(|cells| last_session(cells, &all, &same));
    let [order, source, outputs] = match (&cells, session) {
        (None, _) => [(); 3].map(|()| Answer::new(State::CannotTell, "there is no notebook with the case file")),
        (Some(cells), _) if cells.is_empty() => {
            [(); 3].map(|()| Answer::new(State::CannotTell, "the notebook has no code cell that says anything"))
        }
        (Some(cells), None) => [
            Answer::new(
                State::Stale,
                format!("none of its {} has a run in the log", counted(cells.len(), "code cell")),
            ),
            Answer::new(State::CannotTell, "no cell of it ran"),
            Answer::new(State::CannotTell, "no cell of it ran"),
        ],
        (Some(cells), Some(session)) => {
            let asked = Asked::new(log, cells, &all, &same, session);
            [asked.order(), asked.source(), asked.outputs()]
        }
    };
    let answers = [
        ("order", order),
        ("source", source),
        ("outputs", outputs),
        ("data", data(presented)),
        ("environment", in_environment(log, session, presented)),
    ];
    let of = |state| answers.iter().filter(move |(_, answer)| answer.state == state);
    let (badge, says) = if of(State::Stale).next().is_some() {
        let why: Vec<&str> = of(State::Stale).map(|(_, answer)| answer.reason.as_str()).collect();
        ("stale", format!("stale: {}", why.join("; ")))
    } else if of(State::CannotTell).next().is_some() {
        ("not_all_could_be_told", "not all could be told".to_owned())
    } else {
        ("valid", "valid".to_owned())
    };
    let answers = answers.iter().map(|(question, answer)| {
        json!({
            "question": question, "state": answer.state.word(), "reason": answer.reason, "details": answer.details,
        })
    });
    json!({
        "badge": badge, "says": says, "session": session, "answers": answers.collect::<Value>(),
        // How many, not what they say: nothing that is made of this can then seem to vouch for their words.
        "text_cells": presented.notebook.map(|notebook| texts(notebook).len()),
        // On this machine the notebook may have been edited since it was exported last.
        "texts_bound": exported_texts(log).filter(|_| !presented.here).map(|(entry, _)| entry),
    })
}

/// What an entry says that it is which binds a notebook's text cells, as they are exported.
pub const EXPORT: &str = "export";

/// The digests of the text cells as the log was exported last, and the entry that says so, where that is disclosed.
pub fn exported_texts(log: &View) -> Option<(u64, Vec<String>)> {
    let of_export = |r: &&Record| r.kind == Kind::Fact && r.body["what"] == EXPORT && r.from.is_none();
    let entry = log.records().rev().find(of_export)?.seq;
    let Told::Known(text) = Told::of(log, entry, "result") else { return None };
    let told: Value = serde_json::from_str(&text).ok()?;
    let digests = told["text_cells"].as_array()?.iter().filter_map(|digest| digest.as_str().map(str::to_owned));
    Some((entry, digests.collect()))
}

fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// A notebook and the session that ran it last.
struct Asked<'a, 'l> {
    log: &'l View,
    same: &'a Same<'a>,
    /// Each cell with its last run there.
    matched: Vec<(&'a Cell, Option<&'a Run<'l>>)>,
    /// Every run there, oldest first.
    there: Vec<&'a Run<'l>>,
}

impl<'a, 'l> Asked<'a, 'l> {
    fn new(log: &'l View, cells: &'a [Cell], all: &'a [Run<'l>], same: &'a Same<'a>, session: &str) -> Self {
        let there: Vec<&Run<'_>> = all.iter().filter(|run| run.start.session == session).collect();
        let last = |cell| there.iter().rev().copied().find(|run| same.cell(cell, run));
        let matched = cells.iter().map(|cell| (cell, last(cell))).collect();
        Asked { log, same, matched, there }
    }

    fn name(&self, cell: &Cell) -> String {
        let name = cell.name();
        if self.same.here { crate::session::mask(&name) } else { name }
    }

    fn ran(&self) -> impl Iterator<Item = (&'a Cell, &'a Run<'l>)> {
        self.matched.iter().filter_map(|(cell, run)| Some((*cell, (*run)?)))
    }

    /// The cell that looks at the case file while it runs, or hands it on: only its own entries stand behind it in the log.
    fn is_looking(&self, run: &Run<'_>) -> bool {
        let of_it = |r: &Record| r.start == Some(run.entry());
        run.end.is_none() && run.only_looks() && self.log.records().filter(|r| r.seq > run.entry()).all(of_it)
    }

    fn order(&self) -> Answer {
        let session_began = self.there.first().map(|run| run.start.wall.clone()).unwrap_or_default();
        let never: Vec<String> =
            self.matched.iter().filter(|(_, run)| run.is_none()).map(|(cell, _)| self.name(cell)).collect();
        if let Some(first) = never.first() {
            let more = if never.len() > 1 { format!(" and {} more", never.len() - 1) } else { String::new() };
            let reason = format!("{first}{more} did not run in the last session, which began {session_began}");
            return Answer::with(State::Stale, reason, if never.len() > 1 { never } else { Vec::new() });
        }
        let mut before: Option<(&Cell, u64)> = None;
        for (cell, run) in self.ran() {
            if let Some((other, _)) = before.filter(|(_, entry)| *entry >= run.entry()) {
                let reason = format!("{} ran last before {}, which stands above it", self.name(cell), self.name(other));
                return Answer::new(State::Stale, reason);
            }
            before = Some((cell, run.entry()));
        }
        if let Some((cell, run)) = self.ran().find(|(_, run)| run.failed()) {
            let end = run.end.map_or(0, |end| end.seq);
            return Answer::new(State::Stale, format!("{} ended in an error (entry {end})", self.name(cell)));
        }
        if let Some((cell, run)) = self.ran().find(|(_, run)| run.end.is_none() && !self.is_looking(run)) {
            let reason = format!("{} began in entry {}, and its end is not in the log", self.name(cell), run.entry());
            return Answer::new(State::CannotTell, reason);
        }
        self.left_behind(&session_began)
    }

    /// What ran besides in that session may have left something that a cell uses and the notebook does not say.
    fn left_behind(&self, session_began: &str) -> Answer {
        let taken: BTreeSet<u64> = self.ran().map(|(_, run)| run.entry()).collect();
        let last = taken.last().copied().unwrap_or_default();
        let besides =
            self.there.iter().filter(|run| run.entry() < last && !taken.contains(&run.entry()) && !run.only_looks());
        let (again, other): (Vec<&&Run<'_>>, Vec<&&Run<'_>>) =
            besides.partition(|run| self.matched.iter().any(|(cell, _)| self.same.source(cell, run)));
        if let Some(first) = other.first() {
            let reason = format!(
                "{} ran in the same session whose text is not in the notebook (first in entry {}): a cell may use what \
                 it left behind; restart the kernel and run all cells",
                counted(other.len(), "other cell"),
                first.entry(),
            );
            return Answer::new(State::CannotTell, reason);
        }
        let cells = counted(self.matched.len(), "code cell");
        let again = match again.len() {
            0 => String::new(),
            n => format!("; cells of it had run {n} times before in that session"),
        };
        Answer::new(
            State::Holds,
            format!("its {cells} ran from top to bottom in one session, begun {session_began}{again}"),
        )
    }

    fn source(&self) -> Answer {
        let (mut edited, mut untold, mut told) = (Vec::new(), Vec::new(), 0);
        for (cell, run) in self.ran() {
            match &run.ran {
                Told::Known(ran) if self.same.text(&cell.source, ran) => told += 1,
                Told::Known(_) => {
                    edited.push(format!("{} was edited since it ran (entry {})", self.name(cell), run.entry()))
                }
                Told::Unknown(why) => {
                    untold.push(format!("{}: what ran in entry {} {why}", self.name(cell), run.entry()))
                }
            }
        }
        let all = format!("the text of {} is the one that ran", counted(told, "code cell"));
        concluded(edited, untold, all)
    }

    fn outputs(&self) -> Answer {
        let (mut changed, mut untold, mut cleared, mut told) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for (cell, run) in self.ran() {
            let Some(end) = run.end else {
                if !self.is_looking(run) {
                    untold.push(format!("{}: the end of its run is not in the log", self.name(cell)));
                }
                continue;
            };
            match compare(self.log, &cell.shown, end, self.same) {
                Compared::Same => told += 1,
                Compared::Cleared => cleared.push(format!("{}: its outputs were cleared", self.name(cell))),
                Compared::Changed(what) => changed.push(format!("{}: {what}", self.name(cell))),
                Compared::Unknown(why) => untold.push(format!("{}: {why}", self.name(cell))),
            }
        }
        if changed.is_empty() && !cleared.is_empty() && self.matched.iter().all(|(cell, _)| cell.shown.is_empty()) {
            return Answer::new(
                State::CannotTell,
                "the outputs were cleared, or the notebook was not saved since it ran",
            );
        }
        untold.extend(cleared);
        concluded(changed, untold, format!("what {} shows is what was recorded", counted(told, "code cell")))
    }
}

/// What is wrong decides, then what nobody can tell.
fn concluded(wrong: Vec<String>, untold: Vec<String>, all: String) -> Answer {
    let (state, found) = match (wrong.is_empty(), untold.is_empty()) {
        (false, _) => (State::Stale, wrong),
        (true, false) => (State::CannotTell, untold),
        (true, true) => return Answer::new(State::Holds, all),
    };
    let first = found.first().cloned().unwrap_or_default();
    match found.len() {
        1 => Answer::new(state, first),
        n => Answer::with(state, format!("{first}, and {} more", n - 1), found),
    }
}

fn data(presented: &Presented<'_>) -> Answer {
    let files = &presented.files;
    let (mut wrong, mut untold) = (Vec::new(), Vec::new());
    for (path, now) in files {
        match now {
            FileNow::AsRead => {}
            FileNow::Changed => wrong.push(format!("{path} changed since it was read")),
            FileNow::Gone => wrong.push(format!("{path} is gone")),
            FileNow::Unknown(why) => untold.push(format!("{path}: {why}")),
        }
    }
    let all = match (files.len(), presented.here) {
        (0, _) => "the case names no file".to_owned(),
        (n, true) => format!("{} that the case names: each is as it was read", counted(n, "file")),
        (n, false) => format!("{} that the case names: each travels with it, as it was read", counted(n, "file")),
    };
    concluded(wrong, untold, all)
}

fn in_environment(log: &View, session: Option<&str>, presented: &Presented<'_>) -> Answer {
    let Some(session) = session else {
        return Answer::new(State::CannotTell, "no session ran the notebook");
    };
    let there = || log.records().filter(|r| r.session == session && r.from.is_none());
    let snapshots: Vec<&Record> = there().filter(|r| r.kind == Kind::Snapshot).collect();
    let (Some(first), Some(last)) = (snapshots.first(), snapshots.last()) else {
        return Answer::new(State::CannotTell, "the last session took no snapshot: %snapshot does");
    };
    let digest = |record: &Record| record.body["digest"].as_str().map(str::to_owned);
    let own: BTreeSet<String> = snapshots.iter().filter_map(|record| digest(record)).collect();
    let foreign = there()
        .filter(|r| r.seq > first.seq && r.kind != Kind::Snapshot)
        .find(|r| r.environment.as_ref().is_some_and(|environment| !own.contains(environment)));
    if let Some(record) = foreign {
        let reason = format!("entry {} of that session carries another environment than its snapshots", record.seq);
        return Answer::new(State::Stale, reason);
    }
    let read = |record: &Record| -> Result<Value, String> {
        match Told::of(log, record.seq, "result") {
            Told::Known(text) => {
                serde_json::from_str(&text).map_err(|e| format!("the snapshot of entry {}: {e}", record.seq))
            }
            Told::Unknown(why) => Err(format!("the snapshot of entry {} {why}", record.seq)),
        }
    };
    let (mut changed, mut untold) = (Vec::new(), Vec::new());
    let mut differs = |then: &Record, now: Result<Value, String>, when: String| match (read(then), now) {
        (Ok(then), Ok(now)) => {
            let found = environment::changes(&then, &now);
            changed.extend(found.changed.into_iter().map(|what| format!("{what} ({when})")));
            untold.extend(found.unsure.into_iter().map(|what| format!("{what} ({when})")));
        }
        (Err(why), _) | (_, Err(why)) => untold.push(why),
    };
    for pair in snapshots.windows(2).filter(|pair| digest(pair[0]) != digest(pair[1])) {
        differs(pair[0], read(pair[1]), format!("entry {} to entry {}", pair[0].seq, pair[1].seq));
    }
    let since = match &presented.environment {
        EnvironmentNow::NotAsked => "; whether a machine still has it, %dossier status on it tells",
        EnvironmentNow::Taken(now) => {
            differs(last, Ok(now.clone()), format!("since entry {}", last.seq));
            ", and is so now"
        }
        EnvironmentNow::NotTaken(why) => {
            untold.push(why.clone());
            ""
        }
    };
    concluded(
        changed.into_iter().map(|what| format!("the environment changed: {what}")).collect(),
        untold,
        format!("the environment of entry {} was so for the rest of that session{since}", first.seq),
    )
}

#[cfg(test)]
mod tests;
