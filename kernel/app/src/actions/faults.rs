//! Which of many faults is a cause, and which only follow from it.
//!
//! One changed byte of a case is found by several checks, each by its own words: the log, the list of the bag, the tiles,
//! what is made again of the log. Owns: which of them says what happened. Must not know: how anything is checked.
//! Start at [`told`].

use super::export;
use serde_json::{Value, json};

/// Who found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// The check of the log: hashes, links, values, the rules of the seal.
    Log,
    /// What the log says of notebook, data, and what is made of them.
    Bound,
    /// The lists of the bag, and the tiles.
    Bag,
}

/// One thing that is not as it was.
#[derive(Debug, Clone)]
pub struct Found {
    /// Who found it.
    pub of: Of,
    /// The entry concerned, if it is one.
    pub entry: Option<u64>,
    /// The file: below the dossier, below `data/`, or in the bag, by who found it.
    pub file: String,
    /// What is wrong with it.
    pub what: String,
}

impl Found {
    /// `entries.jsonl, entry 14: was changed`.
    pub fn line(&self) -> String {
        match self.entry {
            Some(entry) => format!("{}, entry {entry}: {}", self.file, self.what),
            None => format!("{}: {}", self.file, self.what),
        }
    }
}

/// The first cause, in a line.
pub fn first(found: Vec<Found>, dossier: &str) -> Option<String> {
    let told = told(found, dossier);
    let fault = told.first()?;
    let word = |key: &str| fault[key].as_str().unwrap_or_default().to_owned();
    Some(Found { of: Of::Log, entry: fault["entry"].as_u64(), file: word("file"), what: word("what") }.line())
}

/// Every fault as a record, causes first; `follows` is the place among them of the cause of one that only follows.
/// `dossier`: the name of the dossier's folder.
pub fn told(found: Vec<Found>, dossier: &str) -> Vec<Value> {
    let causes: Vec<Option<usize>> = (0..found.len()).map(|at| cause(at, &found, dossier)).collect();
    let root = |mut at: usize| {
        // Each step leads to another check or further up: there are no more steps than faults.
        for _ in 0..found.len() {
            match causes[at] {
                Some(next) => at = next,
                None => break,
            }
        }
        at
    };
    let of_log = |at: &usize| found[*at].of == Of::Log;
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by_key(|at| (causes[*at].is_some(), !of_log(at), *at));
    let place = |at: usize| order.iter().position(|other| *other == at);
    let one = |at: &usize| {
        let follows = causes[*at].map(|next| place(root(next)));
        let fault = &found[*at];
        json!({ "entry": fault.entry, "file": fault.file, "what": fault.what, "follows": follows })
    };
    order.iter().map(one).collect()
}

/// The fault that one comes from, as far as can be told.
fn cause(at: usize, all: &[Found], dossier: &str) -> Option<usize> {
    let fault = &all[at];
    let first =
        |wanted: &dyn Fn(&Found) -> bool| all.iter().enumerate().position(|(i, other)| i != at && wanted(other));
    let of_log = |other: &Found| other.of == Of::Log;
    let in_bag = |path: &str| path.strip_prefix("data/").map(str::to_owned);
    let in_dossier =
        |path: &str| in_bag(path).is_some_and(|p| p.strip_prefix(dossier).is_some_and(|p| p.starts_with('/')));
    match fault.of {
        Of::Log => {
            let file = format!("data/{dossier}/{}", fault.file);
            let earlier = || all[..at].iter().position(|other| of_log(other) && alike(other, fault));
            first(&|other| is_gone(other) && other.file == file).or_else(earlier)
        }
        Of::Bag if is_gone(fault) && in_dossier(&fault.file) => {
            all[..at].iter().position(|other| is_gone(other) && alike(other, fault))
        }
        Of::Bag => {
            let tile = fault.file.starts_with("data/log/");
            let of_content = |other: &Found| other.of == Of::Bag && in_bag(&other.file).is_some();
            if tile || in_dossier(&fault.file) {
                first(&of_log).or_else(|| {
                    let found = first(&|other| other.of == Of::Bag && in_dossier(&other.file));
                    found.filter(|_| tile)
                })
            } else if let Some(path) = in_bag(&fault.file) {
                first(&|other| other.of == Of::Bound && other.file == path)
            } else if fault.file == "bag-info.txt" {
                // Their sum differs where a file does.
                first(&of_log).or_else(|| first(&of_content))
            } else {
                None
            }
        }
        Of::Bound if is_derived(&fault.file) => {
            // One that was itself changed is no consequence; one that was not, and is no longer what the rest gives, is.
            let in_list = |other: &Found| other.of == Of::Bag && in_bag(&other.file).as_ref() == Some(&fault.file);
            let other = |other: &Found| match other.of {
                Of::Bound => !is_derived(&other.file),
                Of::Bag => in_bag(&other.file).is_some_and(|path| !is_derived(&path) && !path.starts_with("log/")),
                Of::Log => true,
            };
            if all.iter().any(in_list) { None } else { first(&other) }
        }
        Of::Bound => None,
    }
}

/// Whether a whole file is missing, other than the log, of which the log's own check says more.
fn is_gone(fault: &Found) -> bool {
    fault.of == Of::Bag && fault.what.ends_with("and missing") && !fault.file.ends_with("entries.jsonl")
}

fn is_derived(file: &str) -> bool {
    export::DERIVED.contains(&file)
}

/// Whether two faults of the log say the same of other values or contents. Of the entries themselves each is named: two
/// that were changed were changed one by one.
fn alike(one: &Found, other: &Found) -> bool {
    let shape = |text: &str| {
        let quoted = text.split('`').enumerate().map(|(i, part)| if i % 2 == 0 { part } else { "`" });
        quoted.collect::<String>().replace(|c: char| c.is_ascii_hexdigit(), "")
    };
    let entries = |fault: &Found| fault.file.ends_with("entries.jsonl");
    !entries(one) && !entries(other) && shape(&one.file) == shape(&other.file) && shape(&one.what) == shape(&other.what)
}

#[cfg(test)]
mod tests {
    use super::{Found, Of, told};

    fn found(of: Of, entry: Option<u64>, file: &str, what: &str) -> Found {
        Found { of, entry, file: file.to_owned(), what: what.to_owned() }
    }

    /// File and cause of each, in the order told.
    fn seen(all: Vec<Found>) -> Vec<(String, Option<u64>)> {
        let one = |v: &serde_json::Value| (v["file"].as_str().unwrap_or_default().to_owned(), v["follows"].as_u64());
        told(all, "n.fascicolo").iter().map(one).collect()
    }

    fn expect(all: Vec<Found>, wanted: &[(&str, Option<u64>)]) {
        let wanted: Vec<_> = wanted.iter().map(|(file, follows)| ((*file).to_owned(), *follows)).collect();
        assert_eq!(seen(all), wanted);
    }

    #[test]
    fn what_follows_from_a_changed_entry_stands_behind_it_and_names_it() {
        expect(
            vec![
                found(Of::Bag, None, "data/n.fascicolo/entries.jsonl", "was changed"),
                found(Of::Bag, None, "data/log/checkpoint", "has another root than the entries"),
                found(Of::Log, Some(14), "entries.jsonl", "was changed: its bytes hash to 42"),
                found(Of::Log, Some(17), "entries.jsonl", "was changed: its bytes hash to 43"),
            ],
            &[
                ("entries.jsonl", None),
                ("entries.jsonl", None),
                ("data/n.fascicolo/entries.jsonl", Some(0)),
                ("data/log/checkpoint", Some(0)),
            ],
        );
    }

    #[test]
    fn a_file_that_two_checks_miss_is_one_cause_and_what_is_made_of_it_follows() {
        let list = |file: &str| found(Of::Bag, None, file, "was changed");
        let data = found(Of::Bound, None, "x.parquet", "its content is not the one");
        let report = found(Of::Bound, None, "report.html", "is not what the log gives");
        expect(
            vec![list("data/x.parquet"), list("bag-info.txt"), data.clone(), report.clone()],
            &[("x.parquet", None), ("data/x.parquet", Some(0)), ("bag-info.txt", Some(0)), ("report.html", Some(0))],
        );
        // A report that was itself changed is a cause of its own.
        expect(
            vec![list("data/x.parquet"), list("data/report.html"), data, report],
            &[("x.parquet", None), ("report.html", None), ("data/x.parquet", Some(0)), ("data/report.html", Some(1))],
        );
    }

    #[test]
    fn values_that_are_missing_alike_are_one_cause_and_entries_changed_alike_are_not() {
        let value = |entry, field: &str| {
            let what = format!("value `{field}` is missing, and no entry says that it was redacted");
            found(Of::Log, Some(entry), "disclosures/values.jsonl", &what)
        };
        let all = told(vec![value(1, "ran"), value(2, "result"), value(9, "ran")], "n.fascicolo");
        assert_eq!(all.iter().map(|v| v["follows"].as_u64()).collect::<Vec<_>>(), [None, Some(0), Some(0)]);
        // In a bag, whose list says that the whole file is gone, that is the cause.
        let file = "data/n.fascicolo/disclosures/values.jsonl";
        let gone = found(Of::Bag, None, file, "is listed in manifest-sha256.txt and missing");
        expect(
            vec![value(1, "ran"), value(2, "result"), gone],
            &[(file, None), ("disclosures/values.jsonl", Some(0)), ("disclosures/values.jsonl", Some(0))],
        );
    }
}
