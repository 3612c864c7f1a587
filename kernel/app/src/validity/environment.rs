//! What of two snapshots differs, layer by layer.
//!
//! Must not know: the log, where the snapshots come from.

use serde_json::Value;

/// The layers of a snapshot, and how people call them.
const LAYERS: [(&str, &str); 7] = [
    ("system", "system"),
    ("interpreter", "interpreter"),
    ("packages", "packages"),
    ("frameworks", "frameworks"),
    ("build_tools", "build tools"),
    ("determinism", "determinism settings"),
    ("git", "git"),
];

/// Most members named of a layer that differs.
const NAMED: usize = 5;

/// What differs between an earlier snapshot and a later one; each a sentence that begins with the layer.
#[derive(Debug, Default)]
pub struct Changes {
    /// Layers that are others now.
    pub changed: Vec<String>,
    /// Layers of which nobody can say.
    pub unsure: Vec<String>,
}

/// Compares what was read. Where it was read from, and how the interpreter was chosen, is no difference.
pub fn changes(then: &Value, now: &Value) -> Changes {
    let mut found = Changes::default();
    for (key, name) in LAYERS {
        let (then, now) = (&then[key], &now[key]);
        match (then["state"] == "read", now["state"] == "read") {
            (true, true) if key == "git" => git(&then["value"], &now["value"], &mut found),
            (true, true) => {
                let differs = members(&then["value"], &now["value"]);
                if !differs.is_empty() {
                    found.changed.push(format!("{name}: {}", differs.join(", ")));
                }
            }
            (true, false) => {
                let because = now["because"].as_str().unwrap_or("for no reason given");
                found.unsure.push(format!("{name}: it cannot be read now, {because}"));
            }
            (false, true) => found.unsure.push(format!("{name}: it was not read then")),
            // What could be read neither time, such as a repository where there is none, tells nothing.
            (false, false) => {}
        }
    }
    found
}

/// A revision tells which code it was. What differs from it may be the notebook itself, which saving changes: a snapshot
/// does not say which files, so that nobody can tell.
fn git(then: &Value, now: &Value, found: &mut Changes) {
    for key in ["revision", "remote"] {
        if then[key] != now[key] {
            found.changed.push(format!("git: {key}"));
        }
    }
    if then["diff_sha256"] != now["diff_sha256"] || then["changed_files"] != now["changed_files"] {
        found.unsure.push(
            "git: tracked files differ from their revision otherwise than then; the notebook may be the one".to_owned(),
        );
    }
}

/// Names of the members that differ: packages by their names, anything else by its field.
fn members(then: &Value, now: &Value) -> Vec<String> {
    let mut names: Vec<String> = match (then.as_object(), now.as_object()) {
        (Some(before), Some(after)) => {
            let keys = before.keys().chain(after.keys().filter(|key| !before.contains_key(*key)));
            let differing = keys.filter(|key| *key != "chosen" && then[key.as_str()] != now[key.as_str()]);
            differing
                .flat_map(|key| match (then[key].as_array(), now[key].as_array()) {
                    (Some(before), Some(after)) if key == "list" => listed(before, after),
                    _ => vec![key.replace('_', " ")],
                })
                .collect()
        }
        _ if then != now => vec!["it has another form".to_owned()],
        _ => Vec::new(),
    };
    if names.len() > NAMED {
        let more = names.len() - NAMED;
        names.truncate(NAMED);
        names.push(format!("{more} more"));
    }
    names
}

/// Names of what stands in one list only, or otherwise in the other.
fn listed(before: &[Value], after: &[Value]) -> Vec<String> {
    let only = |here: &[Value], there: &[Value]| -> Vec<String> {
        let gone = here.iter().filter(|item| !there.contains(item));
        gone.map(|item| item["name"].as_str().unwrap_or("one without a name").to_owned()).collect()
    };
    let mut names = [only(before, after), only(after, before)].concat();
    names.sort();
    names.dedup();
    if names.is_empty() { vec!["their order".to_owned()] } else { names }
}

#[cfg(test)]
mod tests {
    use super::changes;
    use serde_json::json;

    #[test]
    fn a_difference_names_the_layer_and_the_package_and_a_saved_notebook_is_no_other_environment() {
        let read = |value| json!({ "state": "read", "from": ["here"], "value": value });
        let package = |version: &str| json!({ "list": [{ "name": "numpy", "version": version }, { "name": "a" }] });
        let then = json!({
            "system": read(json!({ "os": "Linux" })), "packages": read(package("1")),
            "git": read(json!({ "revision": "ab", "changed_files": 0, "untracked_files": 1 })),
        });
        assert!(changes(&then, &then).changed.is_empty() && changes(&then, &then).unsure.is_empty());
        let mut now = then.clone();
        now["packages"]["value"] = package("2");
        now["system"]["from"] = json!(["there"]);
        assert_eq!(changes(&then, &now).changed, ["packages: numpy"]);
        now["git"]["value"]["changed_files"] = json!(1);
        now["git"]["value"]["untracked_files"] = json!(7);
        let found = changes(&then, &now);
        assert_eq!((found.changed.len(), found.unsure.len()), (1, 1));
        now["git"]["value"]["revision"] = json!("cd");
        now["system"] = json!({ "state": "not_read", "because": "it is dark" });
        let found = changes(&then, &now);
        assert_eq!(found.changed, ["packages: numpy", "git: revision"]);
        assert!(found.unsure[0].contains("it is dark"), "{found:?}");
    }
}
