//! What was run in this kernel, for front ends that recall earlier input. Held in memory; the newest entries only.

use std::collections::{HashSet, VecDeque};

use serde_json::{Map, Value, json};

/// How many entries are kept.
const KEPT: usize = 10_000;
/// The number of this session in replies. There is one: the history ends with the process.
const SESSION: i64 = 1;

/// Inputs with the number shown beside them, oldest first.
#[derive(Debug, Default)]
pub(super) struct History {
    entries: VecDeque<(u32, String)>,
}

impl History {
    /// Adds a cell that is about to run.
    pub fn push(&mut self, execution_count: u32, code: &str) {
        if self.entries.len() == KEPT {
            self.entries.pop_front();
        }
        self.entries.push_back((execution_count, code.to_owned()));
    }

    /// Answers a history_request; what it omits counts as the protocol's default, what is unknown as `tail`.
    pub fn answer(&self, request: &Map<String, Value>) -> Value {
        let number = |name: &str| request.get(name).and_then(Value::as_i64);
        let flag = |name: &str| request.get(name).and_then(Value::as_bool).unwrap_or(false);
        let count = number("n").map(|n| usize::try_from(n).unwrap_or(0));
        let chosen: Vec<&(u32, String)> = match request.get("hist_access_type").and_then(Value::as_str) {
            Some("range") => {
                // Zero means this session; a negative one counts back, and none is kept.
                let ours = matches!(number("session").unwrap_or(0), 0 | SESSION);
                let start = number("start").unwrap_or(0);
                let stop = number("stop").unwrap_or(i64::MAX);
                self.entries.iter().filter(|(n, _)| ours && (start..stop).contains(&i64::from(*n))).collect()
            }
            Some("search") => {
                let pattern: Vec<char> =
                    request.get("pattern").and_then(Value::as_str).unwrap_or("*").chars().collect();
                let mut seen = HashSet::new();
                let unique = flag("unique");
                let mut newest_first: Vec<_> = self
                    .entries
                    .iter()
                    .rev()
                    .filter(|(_, code)| glob(&pattern, code))
                    .filter(|(_, code)| !unique || seen.insert(code.as_str()))
                    .take(count.unwrap_or(usize::MAX))
                    .collect();
                newest_first.reverse();
                newest_first
            }
            _ => {
                let wanted = count.unwrap_or(10).min(self.entries.len());
                self.entries.iter().skip(self.entries.len() - wanted).collect()
            }
        };
        let with_output = flag("output");
        let entries: Vec<Value> = chosen
            .into_iter()
            .map(|(n, code)| if with_output { json!([SESSION, n, [code, null]]) } else { json!([SESSION, n, code]) })
            .collect();
        json!({ "status": "ok", "history": entries })
    }
}

/// Shell-style match of a whole text: `*` any run, `?` any one character. Linear in text × stars, never exponential.
fn glob(pattern: &[char], text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(&c) if c == '?' || c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    p = at + 1;
                    t = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(history: &History, request: Value) -> Value {
        let request = request.as_object().cloned().unwrap_or_default();
        history.answer(&request)["history"].clone()
    }

    fn three() -> History {
        let mut history = History::default();
        for (n, code) in [(1, "let a = 1;"), (2, "%help"), (3, "let a = 1;")] {
            history.push(n, code);
        }
        history
    }

    #[test]
    fn a_tail_without_n_is_answered() {
        assert_eq!(asked(&three(), json!({"hist_access_type": "tail"}))[1], json!([1, 2, "%help"]));
        assert_eq!(asked(&three(), json!({"n": 1, "output": true})), json!([[1, 3, ["let a = 1;", null]]]));
    }

    #[test]
    fn a_range_ends_before_its_stop() {
        let range = json!({"hist_access_type": "range", "session": 1, "start": 1, "stop": 2});
        assert_eq!(asked(&three(), range), json!([[1, 1, "let a = 1;"]]));
        assert_eq!(asked(&three(), json!({"hist_access_type": "range", "session": -1})), json!([]));
    }

    #[test]
    fn a_search_without_n_and_unique_is_answered() {
        let found = |request| asked(&three(), request).as_array().map(Vec::len);
        assert_eq!(found(json!({"hist_access_type": "search", "pattern": "let*"})), Some(2));
        assert_eq!(found(json!({"hist_access_type": "search", "pattern": "let*", "unique": true})), Some(1));
        assert_eq!(found(json!({"hist_access_type": "search", "pattern": "?help", "n": 5})), Some(1));
        assert_eq!(found(json!({"hist_access_type": "search", "pattern": "help"})), Some(0));
    }

    #[test]
    fn a_pattern_of_many_stars_ends_soon() {
        let pattern: Vec<char> = "*a".repeat(40).chars().collect();
        assert!(!glob(&pattern, &"a".repeat(39)));
        assert!(glob(&pattern, &"ba".repeat(40)));
    }
}
