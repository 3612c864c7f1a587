//! The rules of the case file: what must be declared before what, and what each way around them leads to.
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use std::time::{Duration, Instant};
use support::{Desk, layout, sample};

const CRITERION: &str = r#"criterion! {
    meaning: "the smallest cosine is at least the floor",
    parameters: { floor["unitless"] "smallest cosine accepted" },
    sees: { cosine },
    state: { least: Lowest },
    row: |state, row, _p| { state.least.add(row.cosine, row.id); },
    verdict: |state, p| { pass_if(state.least.value() >= p.floor).figure("cosine.min", "unitless", &state.least) },
}"#;

fn declare(desk: &Desk, floor: &str) {
    let ended =
        desk.run(&["declare", "cosine", "--set", floor, "--because", "the search shows the first neighbour only"]);
    assert_eq!(ended.status, 0, "{}", ended.stderr);
}

#[test]
fn a_candidate_without_a_declared_criterion_is_refused_in_one_sentence_with_the_next_step() {
    let desk = Desk::with_reference();
    let ended = desk.run(&[
        "compare",
        &sample("reference.parquet"),
        &sample("candidates/f16.parquet"),
        "--criterion",
        "cosine",
    ]);
    assert_eq!((ended.status, ended.stdout.as_str()), (4, ""));
    assert!(ended.stderr.contains("was not declared") && ended.stderr.contains("%declare cosine"), "{}", ended.stderr);
    let json = desk.compare("f16", &["--criterion", "cosine"]);
    assert_eq!(json.status, 4);
    let error = &json.json()["error"];
    assert_eq!(error["kind"], "not_declared");
    assert!(error["next"].as_str().unwrap().contains("--explore") && error.get("where").is_some());
    assert_eq!(json.stderr, "");
}

#[test]
fn a_declared_criterion_passes_and_fails_with_the_exit_status_that_was_expected() {
    let desk = Desk::with_reference();
    declare(&desk, "floor=0.99999");
    assert_eq!(desk.compare("batch-1", &["--criterion", "cosine"]).verdict(0), "pass");
    assert_eq!(desk.compare("bf16", &["--criterion", "cosine"]).verdict(1), "fail");
    assert_eq!(desk.compare("bf16", &["--criterion", "cosine", "--expect", "fail"]).verdict(0), "fail");
    assert_eq!(desk.compare("batch-1", &["--criterion", "cosine", "--expect", "fail"]).verdict(1), "pass");
    let result = desk.compare("batch-1", &["--criterion", "cosine"]).json();
    assert_eq!(result["post_hoc"], false);
    assert_eq!(result["attempts"], 3);
    assert!(result["declaration"]["because"].as_str().unwrap().contains("first neighbour"));
}

#[test]
fn exploring_gives_figures_without_a_verdict_and_makes_a_later_declaration_post_hoc() {
    let desk = Desk::with_reference();
    let explored = desk.compare("f16", &["--criterion", "cosine", "--explore"]);
    assert_eq!(explored.verdict(0), "none");
    assert!(!explored.json()["figures"].as_array().unwrap().is_empty());
    declare(&desk, "floor=0.9999");
    let late = desk.compare("f16", &["--criterion", "cosine"]);
    assert_eq!(late.verdict(3), "pass");
    assert_eq!(late.json()["post_hoc"], true);
    let shown = desk.run(&[
        "compare",
        &sample("reference.parquet"),
        &sample("candidates/f16.parquet"),
        "--criterion",
        "cosine",
    ]);
    assert_eq!(shown.status, 3);
    assert!(shown.stdout.contains("POST HOC"), "{}", shown.stdout);
    let accepted = desk.compare("f16", &["--criterion", "cosine", "--accept-post-hoc"]);
    assert_eq!(accepted.verdict(0), "pass");
    assert_eq!((&accepted.json()["post_hoc"], &accepted.json()["post_hoc_accepted"]), (&true.into(), &true.into()));
    // Another candidate, never opened, is judged under the seal as usual.
    assert_eq!(desk.compare("batch-1", &["--criterion", "cosine"]).json()["post_hoc"], false);
}

#[test]
fn an_identical_seal_keeps_the_earliest_and_another_one_after_opening_is_post_hoc() {
    let desk = Desk::with_reference();
    declare(&desk, "floor=0.9");
    let first = desk.compare("bf16", &["--criterion", "cosine"]).json();
    assert_eq!(first["post_hoc"], false);
    declare(&desk, "floor=0.9");
    let again = desk.compare("bf16", &["--criterion", "cosine"]).json();
    assert_eq!((&again["post_hoc"], &again["declaration"]), (&false.into(), &first["declaration"]), "{again}");
    declare(&desk, "floor=0.99999");
    assert_eq!(desk.compare("bf16", &["--criterion", "cosine"]).verdict(3), "fail");
    // Going back to the first seal is no new choice.
    declare(&desk, "floor=0.9");
    let back = desk.compare("bf16", &["--criterion", "cosine"]);
    assert_eq!(back.verdict(0), "pass");
    assert_eq!((&back.json()["post_hoc"], &back.json()["declaration"]), (&false.into(), &first["declaration"]));
}

#[test]
fn a_criterion_changed_after_its_seal_still_runs_and_is_post_hoc() {
    let desk = Desk::with_reference();
    let compiled = desk.run_with(&["criterion", "mine"], CRITERION);
    assert_eq!(compiled.status, 0, "{}", compiled.stderr);
    assert_eq!(desk.run(&["declare", "mine", "--set", "floor=0.9", "--because", "test"]).status, 0);
    assert_eq!(desk.compare("f16", &["--criterion", "mine"]).verdict(0), "pass");
    let changed = CRITERION.replace(">= p.floor", "> p.floor - 1.0");
    assert_eq!(desk.run_with(&["criterion", "mine"], &changed).status, 0);
    let result = desk.compare("batch-1", &["--criterion", "mine"]);
    assert_eq!(result.verdict(3), "pass");
    assert!(result.json()["post_hoc_because"].as_str().unwrap().contains("changed after its seal"));
    // Recompiling the sealed source gives the sealed digest again.
    assert_eq!(desk.run_with(&["criterion", "mine"], CRITERION).status, 0);
    assert_eq!(desk.compare("avx-off", &["--criterion", "mine"]).json()["post_hoc"], false);
}

#[test]
fn a_file_that_is_not_the_declared_reference_is_refused() {
    let desk = Desk::with_reference();
    declare(&desk, "floor=0.9");
    let ended = desk.run(&[
        "compare",
        &sample("candidates/bf16.parquet"),
        &sample("candidates/f16.parquet"),
        "--criterion",
        "cosine",
        "--json",
    ]);
    assert_eq!(ended.status, 4);
    assert_eq!(ended.json()["error"]["kind"], "not_the_declared_reference");
}

#[test]
fn a_tolerance_is_never_chosen_for_the_user() {
    let desk = Desk::with_reference();
    let ended = desk.run(&["declare", "allclose", "--set", "atol=0", "--because", "test"]);
    assert_eq!(ended.status, 2);
    assert!(ended.stderr.contains("`rtol` has no value"), "{}", ended.stderr);
    assert_eq!(desk.run(&["declare", "cosine", "--set", "floor=0.9"]).status, 2);
    assert_eq!(desk.run(&["declare", "cosine", "--set", "floor=0.9", "--because", " "]).status, 2);
}

#[test]
fn files_that_cannot_be_compared_end_with_3_and_the_fix_and_nothing_else() {
    let desk = Desk::new();
    let plain = layout("plain.parquet");
    for (file, says) in [
        ("absent.parquet".to_owned(), "absent.parquet"),
        (layout("not-parquet.parquet"), "not a Parquet file"),
        (layout("truncated.parquet"), "truncated.parquet"),
        (layout("string-vectors.parquet"), "string"),
        (layout("two-vector-columns.parquet"), "--vector"),
        (sample("texts.tsv"), "Parquet"),
    ] {
        let ended = desk.run(&["compare", &plain, &file, "--explore"]);
        assert_eq!((ended.status, ended.stdout.as_str()), (3, ""), "{file}: {}", ended.stderr);
        assert!(ended.stderr.contains(says) && ended.stderr.contains("next: "), "{file}: {}", ended.stderr);
        assert!(!ended.stderr.contains("panicked"));
        let json = desk.run(&["compare", &plain, &file, "--explore", "--json"]);
        assert!(json.json()["error"]["next"].as_str().unwrap().len() > 10);
        assert_eq!(json.stderr, "");
    }
    let no_id = desk.run(&["compare", &plain, &plain, "--explore", "--id", "name"]);
    assert_eq!(no_id.status, 3);
    assert!(no_id.stderr.contains("`name`") && no_id.stderr.contains("next: "), "{}", no_id.stderr);
    // What was opened before the error is in the case file: an error loses nothing.
    assert!(desk.run(&["dossier", "log"]).stdout.contains("opened"));
    assert_eq!(desk.run(&["dossier", "verify"]).status, 0);
}

#[test]
fn a_criterion_that_loops_eats_memory_or_reads_files_is_stopped_and_named_and_no_verdict_comes() {
    let desk = Desk::with_reference();
    let body = |row: &str| CRITERION.replace("state.least.add", &format!("{row}; state.least.add"));
    for (name, source, status, says) in [
        ("endless", body("loop {}"), 3, "criterion `endless` used all"),
        ("hungry", body("std::hint::black_box(vec![1u8; 1 << 30])"), 3, "over its limit"),
    ] {
        assert_eq!(desk.run_with(&["criterion", name], &source).status, 0);
        assert_eq!(desk.run(&["declare", name, "--set", "floor=0", "--because", "test"]).status, 0);
        let started = Instant::now();
        let ended = desk.compare("f16", &["--criterion", name]);
        assert!(started.elapsed() < Duration::from_secs(2), "{name}: {:?}", started.elapsed());
        assert_eq!(ended.status, status);
        assert!(ended.json()["error"]["message"].as_str().unwrap().contains(says), "{}", ended.stdout);
    }
    let hostname = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    for head in ["const X: &str = include_str!(\"/etc/hostname\");\n", "include!(\"/etc/passwd\");\n"] {
        let ended = desk.run_with(&["criterion", "reader"], &format!("{head}{CRITERION}"));
        assert_eq!((ended.status, ended.stdout.as_str()), (4, ""));
        assert!(ended.stderr.contains("may not read files") && ended.stderr.contains("line 1"), "{}", ended.stderr);
        assert!(!ended.stderr.contains("root:"));
        assert!(hostname.trim().is_empty() || !ended.stderr.contains(hostname.trim()));
    }
    assert_eq!(desk.run(&["dossier", "verify"]).status, 0);
}

#[test]
fn a_required_gpu_that_is_not_there_stops_comparing_until_a_probe_passes() {
    let desk = Desk::with_reference();
    declare(&desk, "floor=0.9");
    let probe = desk.run(&["probe", "--require", "cuda", "--json"]);
    if probe.status == 0 {
        eprintln!("this machine has a CUDA device: the refusal cannot be seen here");
        return;
    }
    assert_eq!(probe.status, 1, "{}", probe.stderr);
    assert!(
        !probe.stdout.contains("\"name\":\"computation\",\"layer\":\"computation\",\"result\":{\"status\":\"passed\"")
    );
    let refused = desk.compare("f16", &["--criterion", "cosine"]);
    assert_eq!(refused.status, 4);
    assert_eq!(refused.json()["error"]["kind"], "probe_not_passed");
    assert_eq!(desk.run(&["probe", "--require", "cpu"]).status, 0);
    assert_eq!(desk.compare("f16", &["--criterion", "cosine"]).verdict(0), "pass");
}

#[test]
fn secrets_in_what_ran_never_reach_the_case_file() {
    let desk = Desk::with_reference();
    let secret = "hunter2hunter2";
    let because = format!("see https://user:{secret}@example.org/notes");
    assert_eq!(desk.run(&["declare", "cosine", "--set", "floor=0.9", "--because", &because]).status, 0);
    let mut folders = vec![desk.dossier()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                assert!(!String::from_utf8_lossy(&bytes).contains(secret), "{}", path.display());
            }
        }
    }
}

#[test]
fn a_byte_changed_in_any_file_of_a_case_file_makes_verify_end_with_1() {
    let desk = Desk::with_reference();
    declare(&desk, "floor=0.9");
    desk.compare("f16", &["--criterion", "cosine"]);
    assert_eq!(desk.run(&["dossier", "verify"]).status, 0);
    let mut files = Vec::new();
    let mut folders = vec![desk.dossier()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    let mut tried = 0;
    // `lock` is empty, and `place` only tells a copied folder from this one: neither is evidence.
    let evidence =
        |path: &&std::path::PathBuf| !["lock", "place"].contains(&path.file_name().unwrap().to_str().unwrap());
    for path in files.iter().filter(evidence) {
        let bytes = std::fs::read(path).unwrap();
        for at in (0..bytes.len()).step_by(bytes.len() / 7 + 1) {
            let mut changed = bytes.clone();
            changed[at] ^= 0x04;
            std::fs::write(path, &changed).unwrap();
            let verified = desk.run(&["dossier", "verify", "--json"]);
            assert_eq!(verified.status, 1, "{} at {at}: {}", path.display(), verified.stdout);
            assert!(!verified.json()["faults"].as_array().unwrap().is_empty());
            tried += 1;
        }
        std::fs::write(path, &bytes).unwrap();
    }
    assert!(tried > 20, "{tried}");
    assert_eq!(desk.run(&["dossier", "verify"]).status, 0);
}

/// A folder with the sample's files, so that links and copies can be made beside them.
fn copied(desk: &Desk, file: &str, to: &str) -> String {
    let path = desk.path().join(to);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::copy(sample(file), &path).unwrap();
    path.display().to_string()
}

#[test]
fn a_candidate_seen_in_any_other_guise_was_seen() {
    let reference = sample("reference.parquet");
    // As the reference of an exploration: the difference is the same from either side.
    let desk = Desk::with_reference();
    assert_eq!(desk.run(&["compare", &sample("candidates/f16.parquet"), &reference, "--explore"]).status, 0);
    declare(&desk, "floor=0.9");
    assert_eq!(desk.compare("f16", &["--criterion", "cosine"]).verdict(3), "pass");

    // As the output of another reference.
    let desk = Desk::new();
    let form = |file: &str| format!("goal = \"values\"\n[output]\npath = {:?}\n", sample(file));
    assert_eq!(desk.run_with(&["reference", "new", "swapped"], &form("candidates/bf16.parquet")).status, 0);
    declare(&desk, "floor=0.99999");
    assert_eq!(
        desk.run(&["compare", &sample("candidates/bf16.parquet"), &reference, "--criterion", "cosine"]).status,
        1
    );
    assert_eq!(desk.run_with(&["reference", "new", "right"], &form("reference.parquet")).status, 0);
    declare(&desk, "floor=0.9");
    assert_eq!(desk.compare("bf16", &["--criterion", "cosine"]).verdict(3), "pass");

    // As a part of a folder, and as the same rows in another order and encoding.
    let desk = Desk::with_reference();
    copied(&desk, "candidates/f16.parquet", "parts/a.parquet");
    assert_eq!(desk.compare("f16", &["--explore"]).verdict(0), "none");
    assert_eq!(desk.compare("shuffled", &["--explore"]).verdict(0), "none");
    declare(&desk, "floor=0.9");
    // As another encoding of the same rows, in the reference's place.
    let plain = Desk::new();
    let form = format!("goal = \"values\"\n[output]\npath = {:?}\n", layout("codec-gzip.parquet"));
    assert_eq!(plain.run_with(&["reference", "new", "other"], &form).status, 0);
    let swapped =
        ["compare", &layout("shuffled.parquet"), &layout("halffloat.parquet"), "--explore", "--criterion", "allclose"];
    assert_eq!(plain.run(&swapped).status, 0);
    assert_eq!(plain.run(&["declare", "allclose", "--set", "atol=1", "--set", "rtol=0", "--because", "x"]).status, 0);
    let half =
        ["compare", &layout("codec-gzip.parquet"), &layout("halffloat.parquet"), "--criterion", "allclose", "--json"];
    assert_eq!(plain.run(&half).verdict(3), "pass");

    let folder = desk.run(&["compare", &reference, "parts", "--criterion", "cosine", "--json"]);
    assert_eq!(folder.verdict(3), "pass");
    assert!(folder.json()["post_hoc_because"].as_str().unwrap().contains("first read"));
}

#[test]
fn the_same_rows_written_anew_are_the_same_content() {
    let desk = Desk::new();
    let form = format!("goal = \"values\"\n[output]\npath = {:?}\n", layout("halffloat.parquet"));
    assert_eq!(desk.run_with(&["reference", "new", "half"], &form).status, 0);
    let compare = |file: &str, options: &[&str]| {
        let (half, file) = (layout("halffloat.parquet"), layout(file));
        let mut args = vec!["compare", half.as_str(), file.as_str(), "--json"];
        args.extend_from_slice(options);
        desk.run(&args)
    };
    assert_eq!(compare("row-groups-of-7.parquet", &["--explore", "--criterion", "allclose"]).verdict(0), "none");
    let declared = desk.run(&["declare", "allclose", "--set", "atol=1", "--set", "rtol=0", "--because", "test"]);
    assert_eq!(declared.status, 0, "{}", declared.stderr);
    assert_eq!(compare("codec-zstd.parquet", &["--criterion", "allclose"]).verdict(3), "pass");
    let parts = compare("many-files", &["--criterion", "allclose"]);
    assert_eq!(parts.verdict(3), "pass");
    assert_eq!(parts.json()["attempts"], 3);
}

#[test]
fn a_choice_among_seals_made_after_the_difference_was_seen_is_post_hoc() {
    let desk = Desk::with_reference();
    for floor in ["floor=0.1", "floor=0.7", "floor=0.99999"] {
        declare(&desk, floor);
    }
    assert_eq!(desk.compare("bf16", &["--criterion", "cosine"]).verdict(1), "fail");
    declare(&desk, "floor=0.7");
    let chosen = desk.compare("bf16", &["--criterion", "cosine"]);
    assert_eq!(chosen.verdict(3), "pass");
    assert!(chosen.json()["post_hoc_because"].as_str().unwrap().contains("was in force"), "{}", chosen.stdout);
}

#[test]
fn columns_are_those_of_the_reference_and_no_others() {
    let desk = Desk::new();
    let file = layout("two-vector-columns.parquet");
    let form = format!("goal = \"values\"\n[output]\npath = {file:?}\nvector = \"embedding\"\n");
    assert_eq!(desk.run_with(&["reference", "new", "two"], &form).status, 0);
    declare(&desk, "floor=-1");
    // The reference names the column, so nobody needs to.
    let zero = desk.run(&["compare", &file, &file, "--criterion", "allclose", "--json"]);
    assert_eq!(zero.status, 4, "not declared, rather than ambiguous: {}", zero.stdout);
    let other = desk.run(&["compare", &file, &file, "--criterion", "cosine", "--vector", "embedding_b", "--json"]);
    assert_eq!(other.status, 4);
    assert_eq!(other.json()["error"]["kind"], "not_the_declared_column");
    let declared = desk.run(&["declare", "allclose", "--set", "atol=0", "--set", "rtol=0", "--because", "test"]);
    assert_eq!(declared.status, 0);
    let same = desk.run(&["compare", &file, &file, "--criterion", "allclose", "--vector", "embedding", "--json"]);
    assert_eq!(same.verdict(0), "pass");
    assert_eq!(same.json()["candidate"]["columns"]["vector"], "embedding");
    assert!(same.json()["notes"][0].as_str().unwrap().contains("compares a file with itself"));
    assert_eq!(same.json()["of_itself"], true);
    // The same bytes at another place are what an exact repeat gives: a pass like any other, and said.
    let copy = desk.folder.path().join("repeat.parquet");
    std::fs::copy(&file, &copy).unwrap();
    let repeat = desk.run(&["compare", &file, copy.to_str().unwrap(), "--criterion", "allclose", "--json"]);
    assert_eq!(repeat.verdict(0), "pass");
    assert_eq!(repeat.json()["of_itself"], false);
    assert!(repeat.json()["notes"][0].as_str().unwrap().contains("an exact repeat, or a copy"), "{}", repeat.stdout);
}

#[test]
fn a_criterion_that_sees_labels_is_never_run_without_them() {
    let critical = CRITERION.replace("sees: { cosine }", "sees: { cosine, label }").replace(
        "state.least.add(row.cosine, row.id);",
        "if row.label == \"database\" { state.least.add(row.cosine, row.id); }",
    );
    let declared = |label: &str| {
        let desk = Desk::new();
        let form = format!("goal = \"values\"\n[output]\npath = {:?}\n{label}", sample("reference.parquet"));
        assert_eq!(desk.run_with(&["reference", "new", "sample"], &form).status, 0);
        assert_eq!(desk.run_with(&["criterion", "critical"], &critical).status, 0);
        assert_eq!(desk.run(&["declare", "critical", "--set", "floor=0.9999999", "--because", "test"]).status, 0);
        desk.compare("bf16", &["--criterion", "critical"])
    };
    let without = declared("");
    assert_eq!(without.status, 2);
    assert_eq!(without.json()["error"]["kind"], "no_labels");
    assert_eq!(declared("label = \"label\"\n").verdict(1), "fail");
}

#[test]
fn a_sealed_standard_criterion_is_in_the_case_file_with_its_seal() {
    let desk = Desk::with_reference();
    declare(&desk, "floor=0.9");
    let digest =
        desk.compare("f16", &["--criterion", "cosine"]).json()["criterion"]["digest"].as_str().unwrap().to_owned();
    let blob = std::fs::read(desk.dossier().join("blobs/sha256").join(&digest[..2]).join(&digest)).unwrap();
    assert_eq!(fascicolo_dossier::to_hex(&fascicolo_dossier::sha256(&blob)), digest);
}

#[test]
fn a_secret_in_a_criterions_source_keeps_it_from_being_compiled() {
    let desk = Desk::with_reference();
    let source = format!("// ask https://ada:hunter2hunter2@example.org\n{CRITERION}");
    let ended = desk.run_with(&["criterion", "mine"], &source);
    assert_eq!(ended.status, 4);
    assert!(ended.stderr.contains("look like a secret") && !ended.stderr.contains("hunter2"), "{}", ended.stderr);
}

#[test]
fn bad_usage_is_json_too_where_json_was_asked_for() {
    let desk = Desk::new();
    for args in [
        &["compare", "--json"][..],
        &["declare", "c", "--because", "x", "--set", "floor=nan", "--json"],
        &["compere", "--json"],
    ] {
        let ended = desk.run(args);
        assert_eq!((ended.status, ended.stderr.as_str()), (2, ""), "{args:?}");
        assert!(!ended.json()["error"]["message"].as_str().unwrap().is_empty());
    }
    assert!(!desk.dossier().exists(), "a command that was not understood leaves nothing");
}

#[test]
fn looking_at_criteria_and_the_reference_writes_nothing() {
    let desk = Desk::new();
    assert!(desk.run(&["criterion", "list"]).stdout.contains("allclose"));
    assert!(desk.run(&["criterion", "show", "cosine"]).stdout.contains("floor"));
    assert_eq!(desk.run(&["reference", "show"]).status, 3);
    assert!(!desk.dossier().exists());
}

#[test]
fn a_verdict_that_claims_a_seal_against_the_logs_own_order_does_not_verify() {
    use fascicolo_dossier::{Dossier, Draft, Kind};
    let desk = Desk::with_reference();
    desk.compare("f16", &["--explore"]);
    declare(&desk, "floor=0.9");
    assert_eq!(desk.compare("f16", &["--criterion", "cosine"]).verdict(3), "pass");
    assert_eq!(desk.run(&["dossier", "verify"]).status, 0);
    // What a changed program would write: the same verdict, no longer called post hoc.
    let mut dossier = Dossier::open(desk.dossier(), "forged").unwrap();
    let verdict = dossier.records().rev().find(|r| r.kind == Kind::Verdict).unwrap().clone();
    let mut body = verdict.body.clone();
    body["post_hoc"] = false.into();
    let draft = Draft { start: verdict.start, reads: verdict.reads, body, ..Draft::new(Kind::Verdict) };
    let forged = dossier.append(draft).unwrap().seq;
    dossier.write_checkpoint().unwrap();
    let verified = desk.run(&["dossier", "verify", "--json"]);
    assert_eq!(verified.status, 1);
    let result = verified.json();
    assert_eq!((&result["integrity"], &result["order"]), (&true.into(), &false.into()));
    assert_eq!(result["faults"][0]["entry"], forged);
    assert!(result["faults"][0]["what"].as_str().unwrap().contains("not called post hoc"));
}

#[test]
fn every_step_that_an_error_advises_exists() {
    // Names of its own for every column, as most people's files have.
    let desk = Desk::new();
    let file = layout("two-vector-columns.parquet");
    let form = |lines: &str| format!("goal = \"values\"\n[output]\npath = {file:?}\n{lines}");
    let no_vector = desk.run_with(&["reference", "new", "two"], &form(""));
    assert_eq!(no_vector.status, 3);
    assert!(no_vector.stderr.contains("under [output]: vector = "), "{}", no_vector.stderr);
    assert_eq!(desk.run_with(&["reference", "new", "two"], &form("vector = \"embedding\"\n")).status, 0);
    // Exploring the declared output knows its columns.
    assert_eq!(desk.run(&["compare", &file, &file, "--explore", "--criterion", "allclose"]).status, 0);
    declare(&desk, "floor=0.9");
    let other = desk.run(&["compare", &file, &layout("int64-ids.parquet"), "--criterion", "cosine", "--json"]);
    assert_eq!(other.status, 3, "{}", other.stdout);
    for (page, word) in
        [("criterion", "criterion! {"), ("reference", "[output]"), ("run", "--allow-errors"), ("compare", "--explore")]
    {
        let help = desk.run(&["help", page]);
        assert!(help.status == 0 && help.stdout.contains(word), "{page}: {}", help.stdout);
    }
}

#[test]
fn a_reviewer_sees_what_was_compared_under_what_and_reads_the_sealed_source() {
    let desk = Desk::with_reference();
    assert_eq!(desk.run_with(&["criterion", "mine"], CRITERION).status, 0);
    assert_eq!(desk.run(&["declare", "mine", "--set", "floor=0.9", "--because", "a reason"]).status, 0);
    desk.compare("f16", &["--criterion", "mine"]);
    let status = desk.run(&["dossier", "status"]).stdout;
    assert!(status.contains("f16.parquet") && status.contains("by mine (floor = 0.9)"), "{status}");
    let log = desk.run(&["dossier", "log", "--json"]).json();
    let entry = |kind: &str| log.as_array().unwrap().iter().find(|e| e["kind"] == kind).unwrap()["seq"].to_string();
    let criterion = desk.run(&["dossier", "show", "--entry", &entry("criterion")]).stdout;
    assert!(criterion.contains("state.least.add(row.cosine, row.id)"), "{criterion}");
    let sealed = desk.run(&["dossier", "show", "--entry", &entry("declare")]).stdout;
    assert!(sealed.contains("a reason"), "{sealed}");
    assert!(desk.run(&["criterion", "show", "mine"]).stdout.contains("state.least.add"));
}

#[test]
fn a_requirement_that_was_not_met_stays_beside_every_later_verdict() {
    let desk = Desk::with_reference();
    declare(&desk, "floor=0.9");
    if desk.run(&["probe", "--require", "rocm"]).status == 0 {
        eprintln!("this machine has a ROCm device: nothing to see here");
        return;
    }
    assert_eq!(desk.run(&["probe", "--require", "cpu"]).status, 0);
    let result = desk.compare("f16", &["--criterion", "cosine"]).json();
    assert!(result["notes"][0].as_str().unwrap().contains("required rocm"), "{}", result["notes"]);
}

#[test]
fn a_case_file_without_a_checkpoint_cannot_tell() {
    let desk = Desk::with_reference();
    std::fs::remove_file(desk.dossier().join("checkpoint")).unwrap();
    let verified = desk.run(&["dossier", "verify"]);
    assert_eq!(verified.status, 3, "{}", verified.stdout);
    assert!(verified.stdout.contains("CANNOT TELL"), "{}", verified.stdout);
}

#[test]
fn an_error_that_may_have_told_the_difference_is_a_look_too() {
    let desk = Desk::with_reference();
    let leaking = CRITERION.replace(
        ".figure(\"cosine.min\", \"unitless\", &state.least)",
        ".figure(&format!(\"min {}\", state.least.value()), \"unitless\", &f64::NAN)",
    );
    assert_eq!(desk.run_with(&["criterion", "leak"], &leaking).status, 0);
    let leaked = desk.compare("f16", &["--explore", "--criterion", "leak"]);
    assert!(leaked.json()["error"]["message"].as_str().unwrap().contains("min 0.99"), "{}", leaked.stdout);
    declare(&desk, "floor=0.9");
    // The same rows in another file.
    let half = desk.path().join("parts");
    std::fs::create_dir(&half).unwrap();
    std::fs::copy(sample("candidates/f16.parquet"), half.join("x.parquet")).unwrap();
    let judged = desk.run(&["compare", &sample("reference.parquet"), "parts", "--criterion", "cosine", "--json"]);
    assert_eq!(judged.verdict(3), "pass");
}

#[test]
fn names_that_are_no_text_and_notebooks_that_are_none_are_errors_and_no_crash() {
    let desk = Desk::new();
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        let odd = std::ffi::OsStr::from_bytes(b"c\xff.parquet");
        let ended = std::process::Command::new(env!("CARGO_BIN_EXE_fascicolo"))
            .args([std::ffi::OsStr::new("compare"), "a.parquet".as_ref(), odd, "--explore".as_ref()])
            .current_dir(desk.path())
            .output()
            .unwrap();
        assert_eq!(ended.status.code(), Some(3), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    std::fs::write(desk.path().join("n.ipynb"), r#"{"nbformat":4,"nbformat_minor":5,"metadata":{},"cells":[1,null]}"#)
        .unwrap();
    assert_eq!(desk.run(&["run", "n.ipynb"]).status, 2);
}

#[test]
fn a_pass_says_what_zero_rows_of_n_cannot_rule_out_and_how_many_criteria_were_tried() {
    let desk = Desk::with_reference();
    let notes = |criterion: &str| {
        let result = desk.compare("batch-1", &["--criterion", criterion]);
        assert_eq!(result.verdict(0), "pass");
        result.json()["notes"].as_array().unwrap().iter().map(|n| n.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let declare = |criterion: &str, set: &[&str]| {
        let set: Vec<&str> = set.iter().flat_map(|value| ["--set", value]).collect();
        let args = [&["declare", criterion, "--because", "test"], set.as_slice()].concat();
        assert_eq!(desk.run(&args).status, 0);
    };
    declare("allclose", &["atol=1e-3", "rtol=0"]);
    declare("cosine", &["floor=0.9"]);
    // 1 − 0.05^(1/393) = 0.00759…
    let first = notes("allclose");
    assert!(first.iter().any(|n| n.starts_with("rows.over is 0 of 393") && n.contains("0.76 %")), "{first:?}");
    assert!(!first.iter().any(|n| n.contains("criteria were judged")), "{first:?}");
    let second = notes("cosine");
    assert!(
        second.iter().any(|n| n.starts_with("2 criteria were judged") && n.contains("allclose, cosine")),
        "{second:?}"
    );
    assert!(!second.iter().any(|n| n.contains("drawn at random")), "{second:?}");
}

#[test]
fn a_calibration_finds_where_the_repeats_end_and_its_runs_are_candidates_no_more() {
    let desk = Desk::with_reference();
    let runs = ["batch-1", "avx-off"].map(|run| sample(&format!("candidates/{run}.parquet")));
    let calibrate = |criterion: &str, more: &[&str]| {
        let args = [&["calibrate", criterion, "--runs", &runs[0], &runs[1], "--json"], more].concat();
        let ended = desk.run(&args);
        assert_eq!(ended.status, 0, "{}", ended.stderr);
        ended.json()
    };
    // By numpy: the smallest cosine and the largest difference of the two repeats (expected.jsonl).
    let floor = calibrate("cosine", &[]);
    assert!((floor["proposal"]["value"].as_f64().unwrap() - 0.999_999_999_999_381_4).abs() < 1e-12, "{floor}");
    let atol = calibrate("allclose", &["--set", "rtol=0"]);
    assert_eq!(atol["proposal"]["value"].as_f64(), Some(2.346_932_888_031_005_9e-7));
    let over = atol["figures"].as_array().unwrap().iter().find(|f| f["name"] == "rows.over").unwrap();
    assert_eq!((over["least"].as_f64(), over["most"].as_f64()), (Some(0.0), Some(0.0)));
    assert!(calibrate("allclose", &[])["proposal"]["value"].is_null());

    let declared =
        desk.run(&["declare", "cosine", "--set", "floor=0.99999", "--because", "a margin of 1e-5", "--json"]);
    assert_eq!(declared.json()["calibrated"][0]["runs"], 2);
    assert_eq!(desk.compare("batch-1", &["--criterion", "cosine"]).verdict(3), "pass");
    assert_eq!(desk.compare("f16", &["--criterion", "cosine"]).verdict(0), "pass");
    let own = sample("reference.parquet");
    assert_eq!(desk.run(&["calibrate", "cosine", "--runs", &own]).status, 2);
}
