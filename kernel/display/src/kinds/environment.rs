//! A snapshot of the machine, in the lines one asks for first; the record holds the rest.

use serde_json::Value;

use crate::doc::{Doc, Fact, Tone};
use crate::field::{NOT_RECORDED, at, flag, list, maybe, scalar, text};
use crate::number;

pub fn document(v: &Value) -> Doc {
    let mut doc = Doc::titled("SNAPSHOT", Tone::Plain, "");
    doc.facts(vec![
        Fact::new("system", layer(v, "system", |s| parts(s, &["distribution", "kernel", "libc", "arch"]))),
        Fact::new("processor", layer(v, "system", processor)),
        Fact::new("interpreter", layer(v, "interpreter", interpreter)),
        Fact::new("packages", layer(v, "packages", packages)),
        Fact::new("torch", layer(v, "frameworks", torch)),
        Fact::new("build tools", layer(v, "build_tools", tools)),
        Fact::new("determinism", layer(v, "determinism", determinism)),
        Fact::new("git", layer(v, "git", git)),
    ]);
    doc.facts(vec![Fact::digest("digest", text(v, "digest"))]);
    doc
}

/// What `show` says of a layer that was read; why it was not, otherwise.
fn layer(v: &Value, name: &str, show: impl Fn(&Value) -> String) -> String {
    let Some(layer) = at(v, name) else { return NOT_RECORDED.to_owned() };
    match at(layer, "value") {
        Some(value) => show(value),
        None => maybe(layer, "because").map_or_else(|| NOT_RECORDED.to_owned(), |why| format!("not read: {why}")),
    }
}

fn parts(value: &Value, keys: &[&str]) -> String {
    let found: Vec<String> = keys.iter().filter_map(|key| maybe(value, key)).collect();
    if found.is_empty() { NOT_RECORDED.to_owned() } else { found.join(", ") }
}

fn processor(system: &Value) -> String {
    let mut found = vec![text(system, "cpu_model")];
    if let Some(cores) = maybe(system, "cores_usable").or_else(|| maybe(system, "cores")) {
        found.push(format!("{cores} cores"));
    }
    if let Some(bytes) = at(system, "memory_bytes").and_then(Value::as_u64) {
        found.push(format!("{:.1} GiB of memory", bytes as f64 / (1u64 << 30) as f64));
    }
    // The instruction sets that change what numerical libraries compute.
    let wide: Vec<&str> = ["avx512f", "avx2", "avx", "sse4_2", "asimd", "sve"]
        .into_iter()
        .filter(|set| list(system, "cpu_flags").iter().any(|flag| flag == set))
        .collect();
    found.extend(wide.first().map(|widest| format!("up to {widest}")));
    found.join(", ")
}

fn interpreter(python: &Value) -> String {
    let venv = if flag(python, "is_venv") == Some(true) { ", a virtual environment" } else { "" };
    format!(
        "{} {}, {}{venv} ({})",
        text(python, "implementation"),
        text(python, "version"),
        text(python, "executable"),
        text(python, "chosen")
    )
}

fn packages(packages: &Value) -> String {
    let all = list(packages, "list");
    let editable = all.iter().filter(|p| flag(p, "editable") == Some(true)).count();
    let count = number::grouped(all.len() as u64);
    if editable > 0 { format!("{count}, {editable} of them editable") } else { count }
}

/// CUDA and HIP apart: a torch built for one says nothing of the other.
fn torch(frameworks: &Value) -> String {
    let Some(version) = maybe(frameworks, "torch") else { return "none in this interpreter".to_owned() };
    let build = layer(frameworks, "torch_build", |build| {
        let part = |key: &str| {
            build
                .get(key)
                .map_or_else(|| NOT_RECORDED.to_owned(), |v| if v.is_null() { "none".into() } else { scalar(v) })
        };
        format!("CUDA {}, HIP {}", part("cuda"), part("hip"))
    });
    format!("{version}, {build}")
}

fn tools(tools: &Value) -> String {
    let present: Vec<String> =
        list(tools, "present").iter().map(|tool| format!("{} {}", text(tool, "name"), text(tool, "version"))).collect();
    if present.is_empty() { "none".to_owned() } else { present.join(", ") }
}

fn determinism(settings: &Value) -> String {
    let unset = list(settings, "unset").len();
    match at(settings, "set").and_then(Value::as_object) {
        Some(set) if !set.is_empty() => {
            let set: Vec<String> = set.iter().map(|(name, value)| format!("{name}={}", scalar(value))).collect();
            format!("{}; {unset} others looked for are not set", set.join(", "))
        }
        Some(_) => format!("none of the {unset} variables looked for is set"),
        None => NOT_RECORDED.to_owned(),
    }
}

fn git(git: &Value) -> String {
    let dirty = match flag(git, "dirty") {
        Some(true) => "with local changes",
        Some(false) => "no local changes",
        None => "local changes not recorded",
    };
    let branch = maybe(git, "branch").map(|b| format!(" on {b}")).unwrap_or_default();
    format!("{}{branch}, {dirty}", text(git, "revision"))
}
