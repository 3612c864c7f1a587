//! A snapshot of the machine, in the lines one asks for first; the record holds the rest.

use serde_json::Value;

use crate::doc::{Doc, Fact, Item, Mark, Tone};
use crate::field::{NOT_RECORDED, at, first, list, maybe, scalar};
use crate::number;

pub fn document(v: &Value) -> Doc {
    let mut doc = Doc::titled("SNAPSHOT", Tone::Plain, "");
    let line = |paths: &[&str]| first(v, paths).map_or_else(|| NOT_RECORDED.to_owned(), brief);
    doc.facts(vec![
        Fact::new("system", line(&["system", "os", "platform"])),
        Fact::new("driver", line(&["driver", "drivers", "gpu_driver"])),
        Fact::new("devices", line(&["devices", "gpus"])),
        Fact::new("interpreter", line(&["interpreter", "python"])),
        Fact::new("packages", packages(v)),
        Fact::new("torch", torch(v)),
        Fact::new("git", git(v)),
    ]);
    doc.items(list(v, "warnings").iter().map(|w| Item::new(Mark::Open, format!("warning: {}", scalar(w)))).collect());
    doc
}

/// The plain values of a part of the record; lists and tables in it are only counted.
fn brief(part: &Value) -> String {
    match part {
        Value::Object(map) if !map.is_empty() => {
            let shown = map.iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| match value {
                Value::Array(list) if list.len() > 4 => format!("{key}: {} items", list.len()),
                Value::Object(inner) if inner.len() > 4 => format!("{key}: {} items", inner.len()),
                other => format!("{key} {}", scalar(other)),
            });
            shown.collect::<Vec<_>>().join(", ")
        }
        other => scalar(other),
    }
}

fn packages(v: &Value) -> String {
    match first(v, &["packages", "interpreter.packages", "python.packages"]) {
        Some(Value::Array(list)) => number::grouped(list.len() as u64),
        Some(Value::Object(map)) => number::grouped(map.len() as u64),
        Some(other) => scalar(other),
        None => NOT_RECORDED.to_owned(),
    }
}

/// CUDA and HIP apart: a torch built for one says nothing of the other.
fn torch(v: &Value) -> String {
    let Some(torch) = first(v, &["torch", "interpreter.torch", "python.torch"]) else {
        return NOT_RECORDED.to_owned();
    };
    if !torch.is_object() {
        return scalar(torch);
    }
    // A key that is there but null says that this torch was built without it.
    let part = |keys: &[&str]| match keys.iter().find_map(|key| torch.get(*key)) {
        Some(Value::Null) => "none".to_owned(),
        Some(value) => scalar(value),
        None => NOT_RECORDED.to_owned(),
    };
    format!("{}, CUDA {}, HIP {}", part(&["version"]), part(&["cuda", "cuda_version"]), part(&["hip", "hip_version"]))
}

fn git(v: &Value) -> String {
    let Some(git) = at(v, "git") else {
        return NOT_RECORDED.to_owned();
    };
    let Some(revision) = maybe(git, "revision").or_else(|| maybe(git, "commit")) else {
        return scalar(git);
    };
    let dirty = match at(git, "dirty") {
        Some(Value::Bool(true)) => "with local changes".to_owned(),
        Some(Value::Bool(false)) => "no local changes".to_owned(),
        Some(other) => format!("local changes: {}", scalar(other)),
        None => "local changes not recorded".to_owned(),
    };
    format!("{revision}, {dirty}")
}
