//! Stored records as the dossier holds them, for the tests and for the gallery.
#![allow(dead_code, reason = "each user takes some of them")]

use serde_json::{Value, json};

fn digest(seed: u8) -> String {
    (0..32u8).map(|i| format!("{:02x}", i.wrapping_mul(37).wrapping_add(seed))).collect()
}

/// A passing comparison with a histogram over five decades and a threshold inside it.
pub fn pass() -> Value {
    let counts = [1, 2, 5, 9, 14, 22, 31, 40, 52, 61, 55, 41, 27, 15, 8, 4, 2, 1];
    let bins: Vec<Value> = counts
        .iter()
        .enumerate()
        .map(|(i, count)| {
            let low = 1e-15 * 10f64.powf(i as f64 / 4.0);
            json!({"low": low, "high": low * 10f64.powf(0.25), "count": count})
        })
        .collect();
    json!({
        "verdict": "pass", "post_hoc": false,
        "reason": "the lowest cosine, 0.99999999999938, is not below the floor of 0.999",
        "structure": {
            "rows_reference": 393, "rows_candidate": 393, "matched": 393, "missing": [], "extra": [],
            "duplicate_ids": [], "reordered": false, "dims": 384, "dims_candidate": 384,
            "type_reference": "list<element: float>", "type_candidate": "list<element: float>",
            "null_values": 0, "nonfinite_values": 0, "obstacles": []
        },
        "figures": [
            {"name": "cosine.min", "value": 0.99999999999938, "unit": "unitless", "worst": [
                {"id": "admin", "value": 0.99999999999938}, {"id": "science", "value": 0.9999999999995}]},
            {"name": "cosine.mean", "value": 0.9999999999999876, "unit": "unitless", "worst": []},
            {"name": "norm_ratio.max", "value": 1.000000238418579, "unit": "unitless", "worst": []}
        ],
        "histograms": [{"name": "1 − cosine", "unit": "unitless", "bins": bins, "below": 3, "threshold": 1e-3}],
        "criterion": {"name": "cosine", "version": "1.0.0", "digest": digest(1), "source_digest": digest(2),
            "parameters": {"floor": 0.999}, "meaning": "every row keeps its direction"},
        "declaration": {"entry": 12, "because": "retrieval ranks by cosine", "wall": "2026-03-01T10:00:00Z"},
        "attempts": 1, "expect": "pass", "met": true,
        "reference": {"name": "debian-sections", "identity": digest(3), "sha256": digest(4)},
        "candidate": {"path": "data/batch-1.parquet", "sha256": digest(5)},
        "fuel": {"used": 123456, "per_row": 4.5},
        "dossier": {"entry": 15, "root": digest(6)}
    })
}

/// A failing comparison, expected to fail, with worst ids and the second attempt.
pub fn fail() -> Value {
    let mut v = pass();
    v["verdict"] = json!("fail");
    v["reason"] = json!("1 of 393 rows is below the floor of 0.999: the lowest cosine is 0.0213");
    v["figures"][0]["value"] = json!(0.0213);
    v["figures"][0]["worst"] = json!([
        {"id": "non-free-firmware", "value": 0.0213}, {"id": "admin/a", "value": 0.99941}, {"id": "x11", "value": 0.99952},
        {"id": "ספרייה", "value": 0.99953}, {"id": "zope", "value": 0.99961}, {"id": "sixth", "value": 0.99962}]);
    v["figures"][1]["worst"] = json!([]);
    v["histograms"][0]["bins"] = json!([
        {"low": 1e-4, "high": 2e-4, "count": 40}, {"low": 2e-4, "high": 4e-4, "count": 220},
        {"low": 4e-4, "high": 8e-4, "count": 132}, {"low": 0.9, "high": 1.1, "count": 1}]);
    v["histograms"][0]["below"] = json!(0);
    v["attempts"] = json!(2);
    v["expect"] = json!("fail");
    v["candidate"]["path"] = json!("data/one-bad-row.parquet");
    v
}

/// Files that no criterion may judge.
pub fn not_comparable() -> Value {
    let mut v = pass();
    v["verdict"] = json!("not_comparable");
    v["reason"] = json!("the files differ in structure; no figure was computed");
    v["figures"] = json!([]);
    v["structure"]["rows_candidate"] = json!(386);
    v["structure"]["matched"] = json!(386);
    v["structure"]["missing"] = json!(["a", "b", "c", "d", "e", "f", "g"]);
    v["structure"]["nonfinite_values"] = json!(1);
    v["structure"]["obstacles"] = json!([
        {"kind": "missing_rows", "side": "candidate", "rows": 7, "ids": ["a", "b", "c", "d", "e", "f", "g"],
         "message": "7 ids of the reference have no row in the candidate",
         "next": "run the whole sample, or revise the reference to a smaller one"},
        {"kind": "non_finite", "side": "candidate", "rows": 1, "ids": ["x11"],
         "message": "1 value of the candidate is NaN or infinite, in 1 row",
         "next": "look for overflow or a division by zero in the rows named"}]);
    v
}

/// A pass whose criterion was sealed too late.
pub fn post_hoc() -> Value {
    let mut v = pass();
    v["post_hoc"] = json!(true);
    v
}

/// A ladder that ends at a driver that is not there.
pub fn probe() -> Value {
    json!({
        "require": "cuda",
        "stages": [
            {"name": "hardware", "layer": "hardware", "elapsed_ms": 1,
             "result": {"status": "passed", "facts": {"pci_devices": ["0000:01:00.0 10de:2330"], "kfd": false}}},
            {"name": "driver_library", "layer": "user_driver", "elapsed_ms": 12,
             "result": {"status": "failed", "error": "libcuda.so.1 is not on the library path", "code": "no_library",
                        "layer": "user_driver", "next": "install the driver's user library"}},
            {"name": "interpreter_framework", "layer": "framework", "elapsed_ms": 0,
             "result": {"status": "not_run", "because": "stage driver_library failed before it"}},
            {"name": "computation", "layer": "computation", "elapsed_ms": 0,
             "result": {"status": "not_applicable", "because": "no device"}}
        ],
        "conclusion": {"standing": "does_not_hold", "stopped_at": "driver_library",
            "sentence": "the requirement `cuda` is not met: stage driver_library failed: libcuda.so.1 is not on the library path"}
    })
}

pub fn verification() -> Value {
    json!({"holds": true, "entries": 17, "root": digest(6), "faults": [], "unproved_tail": 0, "notes": []})
}

pub fn broken() -> Value {
    json!({"holds": false, "entries": 17, "root": digest(6), "unproved_tail": 0, "notes": ["the checkpoint is older"],
        "faults": [{"entry": 4, "file": "entries.jsonl", "what": "the leaf hash of entry 4 does not lead to the recorded root"}]})
}

pub fn reference() -> Value {
    json!({"name": "debian-sections", "identity": digest(3), "goal": "the same neighbours for every package section",
        "output": {"path": "data/reference.parquet", "sha256": digest(4), "rows": 393, "dims": 384, "type": "list<element: float>"},
        "sample": {"path": "data/sample.jsonl", "sha256": digest(7)}, "code": {"revision": "v1.2", "dirty": false},
        "data": [{"path": "data/a.txt", "sha256": digest(8)}], "weights": [{"path": "model.safetensors", "sha256": digest(9)}],
        "parameters": {"batch": 32}, "preprocessing": null, "warnings": ["no preprocessing was declared"]})
}

pub fn criterion() -> Value {
    json!({"name": "rank-kept", "version": "0.1.0", "digest": digest(1), "source_digest": digest(2),
        "meaning": "no row moves further than `limit`", "measures": ["cosine", "l2"], "wants": ["ids"],
        "parameters": [{"name": "limit", "unit": "unitless", "meaning": "greatest 1 − cosine"}],
        "bytes": 48213, "compile_ms": 812.4})
}

pub fn declaration() -> Value {
    json!({"criterion": "cosine", "digest": digest(1), "parameters": {"floor": 0.999},
        "reference": {"name": "debian-sections", "identity": digest(3)}, "because": "retrieval ranks by cosine",
        "entry": 12, "already": true, "post_hoc_for": ["data/bf16.parquet"]})
}

pub fn snapshot() -> Value {
    let read = |value: Value| json!({"state": "read", "from": ["somewhere"], "value": value});
    json!({"format": "fascicolo snapshot v0", "digest": digest(7),
        "system": read(json!({"os": "linux", "distribution": "Debian GNU/Linux 12", "kernel": "6.1", "libc": "glibc 2.36",
            "arch": "x86_64", "cpu_model": "AMD EPYC", "cpu_flags": ["avx", "avx2", "sse4_2"], "cores": 8, "cores_usable": 2,
            "memory_bytes": 25769803776u64})),
        "interpreter": read(json!({"chosen": "--python", "version": "3.11.2", "implementation": "cpython",
            "executable": "/opt/env/bin/python", "is_venv": true})),
        "packages": read(json!({"list": [{"name": "numpy", "version": "2.3.0", "editable": false},
            {"name": "torch", "version": "2.13.0", "editable": true}]})),
        "frameworks": read(json!({"torch": "2.13.0+cu130", "numpy": "2.3.0",
            "torch_build": read(json!({"cuda": "13.0", "hip": null}))})),
        "build_tools": read(json!({"present": [{"name": "gcc", "version": "12.2.0"}], "absent": ["clang"]})),
        "determinism": read(json!({"set": {"OMP_NUM_THREADS": "2"}, "unset": ["PYTHONHASHSEED", "MKL_CBWR"]})),
        "git": {"state": "not_read", "because": "this folder is in no git repository"}})
}

pub fn status() -> Value {
    json!({"path": "quickstart.fascicolo", "origin": "fascicolo/quickstart", "entries": 17, "root": digest(6), "sessions": 2,
        "verdicts": [{"entry": 15, "verdict": "pass", "post_hoc": false, "criterion": "cosine"},
                     {"entry": 16, "verdict": "fail", "post_hoc": true, "criterion": "cosine"}], "sizes": {"log_bytes": 52000, "disclosures_bytes": 9000, "blobs_bytes": 1234567, "parents_bytes": 0, "unnamed_bytes": 12, "growth": [{"since": "2026-01-01T00:00:00.000Z", "blobs_bytes": 1000}, {"since": "2026-01-02T00:00:00.000Z", "blobs_bytes": 234567}]}})
}

pub fn log() -> Value {
    json!([{"seq": 0, "kind": "start", "status": null, "wall": "2026-03-01T10:00:00Z", "summary": "%reference new"},
           {"seq": 1, "kind": "end", "status": "ok", "wall": "2026-03-01T10:00:01Z", "summary": "reference debian-sections"}])
}

pub fn why() -> Value {
    json!({
        "a": {"entry": 12, "name": "entry 12", "kind": "verdict", "log": "fascicolo/00"},
        "b": {"entry": 31, "name": "entry 31", "kind": "verdict", "log": "fascicolo/00"},
        "outcome": {"state": "differ", "sentence": "the candidates differ; the verdicts differ: pass, fail",
            "detail": "1 of 393 rows differ, in 384 of 384 values a row: `x11`"},
        "classes": [
            {"class": "software", "state": "equal", "because": "all that is recorded of it is equal", "differences": [], "missing": []},
            {"class": "inputs", "state": "differs", "because": "1 thing is recorded as different", "missing": [],
             "differences": [{"what": "data `texts`", "a": format!("texts.tsv, SHA-256 {}", digest(7)), "detail": "1 of 400 rows differ: `x11`",
                "b": format!("texts.tsv, SHA-256 {}", digest(8)), "read_from": {"a": "reference of entry 3", "b": "reference of entry 20"}}]},
            {"class": "conditions", "state": "cannot_tell", "because": "nothing is recorded as different, but not all of it was recorded",
             "differences": [], "missing": ["devices and drivers: no probe was recorded before entry 12 (%probe records one)"]}],
        "not_recorded": ["container", "locale"], "attributed": null,
        "conclusion": "The only thing recorded as different is the inputs (data `texts`)."
    })
}

pub fn help() -> Value {
    json!({"text": "%compare REF CAND\n\n  --criterion NAME   sealed before"})
}

pub fn error() -> Value {
    json!({"kind": "no_vector_column", "message": "`a.parquet` has no list of floats among its 3 columns",
        "where": "a.parquet", "next": "name the column with --vector"})
}

/// One record of every kind.
/// A verdict on a training that was interrupted and resumed.
pub fn resumed() -> Value {
    let mut record = fail();
    record["structure"]["type_reference"] = json!("scalars of a log: loss, lr");
    record["notes"] = json!(["not known whether restored: rng"]);
    record["hints"] = json!([{"cause": "rng", "text": "`dropout` deviates from step 31 on"}]);
    let part = |entry: u64, first: u64, last: u64| {
        json!({"entry": entry, "line": "python3 train.py", "ended": "ended with status 0", "log": "l.csv", "sha256": digest(3),
            "wall_ms": 900, "processor_ms": 700, "steps": last - first + 1, "first_step": first, "last_step": last})
    };
    record["resume"] = json!({
        "at": 30, "checkpoint": {"path": "at-30.ckpt", "written": true, "sha256": digest(4), "changed_afterwards": true},
        "first": part(7, 1, 33), "resumed": part(8, 31, 60), "repeat": null, "lost_steps": 3, "joined": "joined.csv",
        "state": {"model": "restored", "optimizer": "not_restored", "rng": "unknown", "scaler": "not_used"},
    });
    record
}

/// A command that ran well.
pub fn ran() -> Value {
    json!({
        "command": ["python3", "embed.py"], "line": "python3 embed.py", "folder": ".", "program": "/usr/bin/python3",
        "ending": {"status": 0, "signal": null, "interrupted": false}, "ended": "ended with status 0", "wall_ms": 1234,
        "processor_ms": 2400, "stdout": {"bytes": 1048576, "sha256": digest(5), "shown_bytes": 524288},
        "stderr": {"bytes": 0, "sha256": digest(6), "shown_bytes": 0},
        "reads": [{"path": "texts.tsv", "sha256": digest(7), "bytes": 28025, "files": null, "changed": true}],
        "writes": [{"path": "out.parquet", "sha256": digest(8), "bytes": 12, "files": null, "written": true}],
        "first_error": null, "observation": "declared files alone: what else it read or wrote was not observed",
        "dossier": {"entry": 9, "root": digest(9)}
    })
}

/// A program that failed while it loaded data.
pub fn failed_run() -> Value {
    let mut record = ran();
    record["ending"]["status"] = json!(1);
    record["ended"] = json!("ended with status 1");
    record["writes"] = json!([{"path": "out.parquet", "written": false}]);
    record["first_error"] = json!({
        "type": "FileNotFoundError", "message": "no <b>texts</b>", "phase": "loading data", "phase_by": "embed.py, line 3",
        "frames": [{"file": "embed.py", "line": 3, "function": "main", "source": "open(path)"}]
    });
    record
}

pub fn all() -> Vec<(&'static str, Value)> {
    vec![
        ("verdict", pass()),
        ("verdict", fail()),
        ("verdict", not_comparable()),
        ("verdict", post_hoc()),
        ("verdict", resumed()),
        ("run", ran()),
        ("run", failed_run()),
        ("probe", probe()),
        ("dossier_verify", verification()),
        ("dossier_verify", broken()),
        ("reference", reference()),
        ("criterion", criterion()),
        ("declare", declaration()),
        ("snapshot", snapshot()),
        ("dossier_status", status()),
        ("dossier_log", log()),
        ("why", why()),
        ("help", help()),
        ("error", error()),
    ]
}
