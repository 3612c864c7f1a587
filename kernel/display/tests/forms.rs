//! What each form says, against fragments written by hand, and that every form is well-formed whatever the record holds.
#![allow(clippy::unwrap_used)]

mod records;

use fascicolo_display::{render, terminal};
use serde_json::{Value, json};

fn form(kind: &str, record: &Value, mime: &str) -> String {
    render(kind, record).remove(mime).unwrap_or_default()
}

fn plain(record: &Value) -> String {
    form("verdict", record, "text/plain")
}

fn holds_all(text: &str, fragments: &[&str]) {
    for fragment in fragments {
        assert!(text.contains(fragment), "{fragment:?} is not in:\n{text}");
    }
}

/// Parses every marked-up form, and checks that only harmless elements and attributes stand in it.
fn well_formed(kind: &str, record: &Value) {
    const ELEMENTS: &str = " div strong em bdi table caption thead tbody tr th td details summary ul li span code pre \
                             svg title desc g rect line text circle path ";
    let forms = render(kind, record);
    assert!(!forms.get("text/plain").unwrap().is_empty());
    for (mime, text) in forms.iter().filter(|(mime, _)| *mime != "text/plain") {
        let tree = roxmltree::Document::parse(text).unwrap_or_else(|e| panic!("{kind} {mime}: {e}\n{text}"));
        for node in tree.descendants().filter(|n| n.is_element()) {
            let name = node.tag_name().name();
            assert!(ELEMENTS.contains(&format!(" {name} ")), "{kind} {mime} has <{name}>");
            for attribute in node.attributes() {
                let harmless = !attribute.name().starts_with("on") && !attribute.name().ends_with("href");
                assert!(harmless && attribute.name() != "src", "{kind} {mime} has {}", attribute.name());
                let drawn = !matches!(attribute.name(), "aria-label" | "title");
                for bad in ["NaN", "inf", "url(", "javascript:"] {
                    assert!(!(drawn && attribute.value().contains(bad)), "{kind} {mime} has {attribute:?}");
                }
            }
        }
    }
}

#[test]
fn a_pass_says_what_it_does_not_promise() {
    let text = plain(&records::pass());
    assert!(text.starts_with("PASS  criterion cosine 1.0.0, floor = 0.999\n"));
    holds_all(
        &text,
        &[
            "  figure          value               unit\n  cosine.min      0.99999999999938    unitless\n",
            "  worst rows by  value             id\n  cosine.min     0.99999999999938  admin\n",
            "393 rows matched by id, of 393 in the reference and 393 in the candidate; in the same order; 384 values per row, \
         list<element: float>; no null and no non-finite values",
            "because “retrieval ranks by cosine” (entry 12, 2026-03-01T10:00:00Z)",
            "dossier entry 15, root 062b50759abf",
        ],
    );
    assert!(text.ends_with(
        "Holds under the declared conditions and this criterion; not a promise of identity on any machine."
    ));
    for absent in ["attempts", "expected", "POST HOC", "\u{1b}"] {
        assert!(!text.contains(absent), "{absent}");
    }
}

#[test]
fn a_command_shows_its_ending_its_files_and_its_first_error_with_the_phase() {
    let text = form("run", &records::ran(), "text/plain");
    assert!(text.starts_with("RAN  python3 embed.py\n"), "{text}");
    holds_all(
        &text,
        &[
            "1234 ms, 2400 ms of processor time",
            "1,048,576 bytes of stdout, 0 bytes of stderr",
            "texts.tsv changed while the command ran",
            "what else it read or wrote was not observed",
        ],
    );
    let text = form("run", &records::failed_run(), "text/plain");
    assert!(text.starts_with("FAILED  "), "{text}");
    holds_all(
        &text,
        &[
            "first error, loading data: FileNotFoundError: no <b>texts</b>",
            "embed.py, line 3: open(path)",
            "not written",
        ],
    );
    let mut silent = records::ran();
    silent["writes"][0] = json!({"path": "out.parquet", "written": false});
    assert!(form("run", &silent, "text/plain").starts_with("RAN, OUTPUT MISSING  "));
}

#[test]
fn a_verdict_on_a_resumed_training_says_how_it_was_interrupted_and_what_nobody_knows_of_its_state() {
    holds_all(
        &plain(&records::resumed()),
        &[
            "393 steps matched, of 393",
            "after step 30: python3 train.py; ended with status 0; steps 1 to 33 (entry 7)",
            "at-30.ckpt, SHA-256",
            "written again by the resumed part",
            "python3 train.py; ended with status 0; steps 31 to 60 (entry 8)",
            "model (as the author states)",
            "optimizer (as the author states)",
            "unknown whether restored  rng\n",
            "note: not known whether restored: rng",
            "`dropout` deviates from step 31 on",
        ],
    );
    assert!(!plain(&records::fail()).contains("interrupted"));
}

#[test]
fn a_fail_names_the_worst_rows_the_attempts_and_the_expectation() {
    let text = plain(&records::fail());
    assert!(text.starts_with("FAIL  "));
    holds_all(&text, &["  cosine.min     2.13e-2  non-free-firmware\n", "attempts   2", "expected   fail: met"]);
    assert!(!text.contains("sixth") && !text.contains("Holds under"));
    let mut unmet = records::fail();
    unmet["met"] = json!(false);
    holds_all(&plain(&unmet), &["fail: NOT MET"]);
}

#[test]
fn files_that_cannot_be_compared_show_each_obstacle_with_its_next_step_and_no_figure() {
    let record = records::not_comparable();
    let text = plain(&record);
    assert!(text.starts_with("NOT COMPARABLE  "));
    holds_all(
        &text,
        &[
            "  ✗ 7 ids of the reference have no row in the candidate\n      a\n",
            "    2 further ids in the record\n    next: run the whole sample, or revise the reference to a smaller one\n",
            "next: look for overflow",
            "7 missing",
            "non-finite values: 1",
        ],
    );
    let forms = render("verdict", &record);
    assert!(!forms.contains_key("image/svg+xml"), "a picture although there are no figures");
    assert!(forms.values().all(|text| !text.contains("cosine.min") && !text.contains("unitless")));
}

#[test]
fn a_post_hoc_verdict_says_so_in_every_form_and_is_not_called_declared() {
    let record = records::post_hoc();
    let alarm = "POST HOC: the criterion was not sealed before this candidate was opened";
    for text in [plain(&record), form("verdict", &record, "text/html"), terminal("verdict", &record, true)] {
        holds_all(&text, &[alarm]);
        assert!(!text.contains("Holds under the declared conditions"));
    }
}

#[test]
fn exploring_gives_no_verdict() {
    let mut record = records::pass();
    record["verdict"] = json!("none");
    record["declaration"] = json!(null);
    holds_all(&plain(&record), &["exploring: no verdict", "not declared (exploring)", "0.99999999999938"]);
}

#[test]
fn what_a_record_does_not_say_is_not_invented() {
    let text = plain(&json!({}));
    assert!(text.starts_with("VERDICT NOT RECORDED"));
    holds_all(
        &text,
        &["candidate", "structure       not recorded", "declared        not recorded", "sealed in time  not recorded"],
    );
    for kind in [
        "verdict",
        "reference",
        "snapshot",
        "probe",
        "criterion",
        "declare",
        "dossier_status",
        "dossier_verify",
        "why",
        "help",
        "error",
    ] {
        let text = form(kind, &json!({}), "text/plain");
        assert!(text.to_lowercase().contains("not recorded"), "{kind}:\n{text}");
    }
    let bare_pass = plain(&json!({"verdict": "pass"}));
    holds_all(&bare_pass, &["whether it was sealed before the candidate was opened is not recorded"]);
}

#[test]
fn an_infinite_figure_is_shown_by_its_text() {
    let mut record = records::fail();
    record["figures"] = json!([{"name": "rel.max", "value": null, "text": "inf", "unit": "ratio",
        "worst": [{"id": "z", "value": null, "text": "inf"}]}, {"name": "abs.max", "value": 3e-7, "unit": "unitless"}]);
    let text = plain(&record);
    holds_all(&text, &["  rel.max  inf    ratio\n", "  abs.max  3e-7   unitless\n", "  rel.max        inf    z\n"]);
}

#[test]
fn floats_keep_every_digit_that_reads_back() {
    for value in [0.99999999999938_f64, 1e-300, 1.7976931348623157e308, 5e-324, 0.1 + 0.2, 123456789.0123] {
        let mut record = records::pass();
        record["figures"] = json!([{"name": "x", "value": value, "unit": "u", "worst": []}]);
        let text = plain(&record);
        let row = text.lines().find(|l| l.starts_with("  x ")).unwrap();
        let shown: f64 = row.split_whitespace().nth(1).unwrap().parse().unwrap();
        assert_eq!(shown.to_bits(), value.to_bits(), "{row}");
    }
}

#[test]
fn hostile_ids_stay_text_in_every_form() {
    let mut record = records::fail();
    let long = "L".repeat(10_240);
    record["figures"][0]["worst"] = json!([
        {"id": "<script>alert(1)</script>", "value": 0.1}, {"id": "\"><img src=x onerror='alert(1)'>", "value": 0.2},
        {"id": "\u{202e}desrever\u{2066}", "value": 0.3}, {"id": long, "value": 0.4}, {"id": "\u{1b}[2J\r\n\0tab\there", "value": 0.5}]);
    record["candidate"]["path"] = json!("]]><script>&amp;\u{7}");
    record["histograms"][0]["name"] = json!("</title><script>alert(2)</script>\u{ffff}");
    well_formed("verdict", &record);
    let html = form("verdict", &record, "text/html");
    holds_all(
        &html,
        &["&lt;script&gt;alert(1)&lt;/script&gt;", "&quot;&gt;&lt;img src=x onerror=&#39;alert(1)&#39;&gt;"],
    );
    for text in [plain(&record), terminal("verdict", &record, false)] {
        holds_all(
            &text,
            &[
                "\\u{202e}desrever\\u{2066}",
                "\\u{1b}[2J\\r\\n\\u{0}tab\\there",
                "… (10,240 characters)".trim_start_matches("… "),
            ],
        );
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
        assert!(text.len() < 6000, "a long id is not shortened");
    }
}

#[test]
fn colour_comes_only_where_it_is_asked_for_and_changes_no_word() {
    for (kind, record) in records::all() {
        let coloured = terminal(kind, &record, true);
        let mut bare = String::new();
        let mut rest = coloured.as_str();
        while let Some((before, after)) = rest.split_once("\u{1b}[") {
            bare.push_str(before);
            rest = after.split_once('m').unwrap().1;
        }
        bare.push_str(rest);
        assert_eq!(bare, terminal(kind, &record, false));
        assert_eq!(terminal(kind, &record, false), form(kind, &record, "text/plain"));
        assert_eq!(kind == "help", bare == coloured, "{kind}");
    }
}

#[test]
fn every_kind_is_well_formed_also_when_any_field_is_gone_or_of_another_shape() {
    for (kind, record) in records::all() {
        well_formed(kind, &record);
        let paths = paths(&record, "");
        for path in &paths {
            for other in [
                json!(null),
                json!("<&\">"),
                json!(-1.5),
                json!([1, {"a": null}]),
                json!({"b": {"c": "d"}}),
                json!(true),
            ] {
                let mut changed = record.clone();
                *changed.pointer_mut(path).unwrap() = other;
                well_formed(kind, &changed);
            }
        }
    }
}

/// JSON pointers to every value of a record, the record itself among them; of long lists, the first two.
fn paths(value: &Value, here: &str) -> Vec<String> {
    let mut all = vec![here.to_owned()];
    match value {
        Value::Object(map) => map.iter().for_each(|(key, inner)| all.extend(paths(inner, &format!("{here}/{key}")))),
        Value::Array(list) => {
            list.iter().take(2).enumerate().for_each(|(i, inner)| all.extend(paths(inner, &format!("{here}/{i}"))));
        }
        _ => {}
    }
    all
}

#[test]
fn an_unknown_kind_shows_every_field() {
    let forms = render("some_later_kind", &json!({"a": [1, "\u{1b}"]}));
    assert_eq!(forms.len(), 1);
    assert_eq!(forms["text/plain"], "{\n  \"a\": [\n    1,\n    \"\\u001b\"\n  ]\n}");
}

#[test]
fn a_probe_shows_every_stage_with_its_mark() {
    let text = form("probe", &records::probe(), "text/plain");
    assert!(text.starts_with("PROBE: DOES NOT HOLD  cuda required\nthe requirement `cuda` is not met"));
    holds_all(
        &text,
        &[
            "  ✓ hardware  passed  1 ms\n    pci devices: 0000:01:00.0 10de:2330\n    kfd: false\n",
            "  ✗ driver library  [user driver]  failed  12 ms\n    libcuda.so.1 is not on the library path\n    code: no_library\n",
            "    next: install the driver's user library\n",
            "  – interpreter framework  [framework]  not run  0 ms\n    stage driver_library failed before it\n",
            "  · computation  not applicable  0 ms\n    no device",
        ],
    );
    let svg = form("probe", &records::probe(), "image/svg+xml");
    let tree = roxmltree::Document::parse(&svg).unwrap();
    assert_eq!(tree.descendants().filter(|n| n.has_tag_name(("http://www.w3.org/2000/svg", "circle"))).count(), 4);
}

#[test]
fn a_probe_of_any_shape_keeps_its_stages() {
    let text = form(
        "probe",
        &json!({"stages": [
        {"name": "a", "result": {"passed": {"detail": "seen"}}}, {"name": "b", "result": {"failed": "broken"}},
        {"name": "c", "result": "not_reached"}, {"name": "d"}, {"name": "e", "status": "passed", "note": "flat"}],
        "conclusion": "as far as b"}),
        "text/plain",
    );
    holds_all(
        &text,
        &[
            "PROBE  requirement not recorded\nas far as b",
            "✓ a  passed\n    seen",
            "✗ b  failed\n    broken",
            "– c  not reached",
            "– d  not recorded",
            "✓ e  passed\n    note: flat",
        ],
    );
}

#[test]
fn a_verification_tells_integrity_from_honesty() {
    let text = form("dossier_verify", &records::verification(), "text/plain");
    holds_all(&text, &["INTEGRITY HOLDS  17 entries", "It does not show honesty: without an outside witness"]);
    holds_all(&text, &["nothing recorded was changed"]);
    let mut tail = records::verification();
    tail["unproved_tail"] = json!(2);
    holds_all(
        &form("dossier_verify", &tail, "text/plain"),
        &["2 entries beyond the checkpoint", "nothing that the checkpoint covers was changed"],
    );
    let text = form("dossier_verify", &records::broken(), "text/plain");
    holds_all(
        &text,
        &[
            "INTEGRITY DOES NOT HOLD",
            "entry 4, entries.jsonl: the leaf hash of entry 4 does not lead to the recorded root",
            "the checkpoint is older",
        ],
    );
}

#[test]
fn the_other_records_say_their_main_points() {
    let cases = [
        (
            "declare",
            records::declaration(),
            vec![
                "DECLARED  criterion cosine, floor = 0.999",
                "the earlier one is kept",
                "POST HOC",
                "data/bf16.parquet",
            ],
        ),
        (
            "snapshot",
            records::snapshot(),
            vec![
                "Debian GNU/Linux 12, 6.1, glibc 2.36, x86_64",
                "AMD EPYC, 2 cores, 24.0 GiB of memory, up to avx2",
                "cpython 3.11.2, /opt/env/bin/python, a virtual environment (--python)",
                "2, 1 of them editable",
                "2.13.0+cu130, CUDA 13.0, HIP none",
                "OMP_NUM_THREADS=2; 2 others looked for are not set",
                "not read: this folder is in no git repository",
            ],
        ),
        (
            "criterion",
            records::criterion(),
            vec!["rank-kept 0.1.0", "limit      unitless  any    greatest 1 − cosine", "48,213 bytes"],
        ),
        (
            "reference",
            records::reference(),
            vec!["393 rows of 384 values", "preprocessing    not recorded", "warning: no preprocessing was declared"],
        ),
        (
            "dossier_status",
            records::status(),
            vec!["✓ pass, by cosine, entry 15", "✗ fail (POST HOC), by cosine, entry 16", "blobs 1.2 MiB"],
        ),
        (
            "dossier_log",
            records::log(),
            vec!["  1      end    ok      2026-03-01T10:00:01Z  reference debian-sections"],
        ),
        (
            "why",
            records::why(),
            vec![
                "CANNOT TELL  entry 31 (verdict), against entry 12 (verdict)",
                "Outcomes: the candidates differ; the verdicts differ: pass, fail.",
                "✓ software: equal as far as recorded",
                "✗ inputs: differs",
                "data `texts`  texts.tsv, SHA-256 072c51769bc0  texts.tsv, SHA-256 082d52779cc1  reference of entry 3; reference of entry 20",
                "– running conditions: cannot tell",
                "missing: devices and drivers: no probe was recorded before entry 12",
                "Not recorded, and possibly different: container; locale.",
            ],
        ),
        ("help", records::help(), vec!["%compare REF CAND\n\n  --criterion NAME   sealed before"]),
        (
            "error",
            records::error(),
            vec![
                "ERROR  no_vector_column\n`a.parquet` has no list",
                "where  a.parquet",
                "next   name the column with --vector",
            ],
        ),
    ];
    for (kind, record, fragments) in cases {
        holds_all(&form(kind, &record, "text/plain"), &fragments);
    }
}

/// Green in every form that has colour, and the tick.
const GREEN: [&str; 3] = ["✓", "#1a7f37", "\u{1b}[1;32m"];

fn every_form(kind: &str, record: &Value) -> String {
    let forms = render(kind, record).into_values().collect::<Vec<_>>().join("\n");
    forms + &terminal(kind, record, true)
}

#[test]
fn a_pass_that_does_not_count_has_no_green_and_says_what_it_is() {
    let mut own = records::pass();
    own["of_itself"] = json!(true);
    for (record, says) in [(records::post_hoc(), "POST HOC"), (own, "OF THE REFERENCE WITH ITSELF")] {
        let all = every_form("verdict", &record);
        assert!(all.contains(says) && !GREEN.iter().any(|green| all.contains(green)), "{all}");
    }
    let one = |more: Value| {
        let mut verdict =
            json!({ "entry": 18, "verdict": "pass", "post_hoc": false, "criterion": "cosine", "candidate": "a" });
        verdict.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        every_form("dossier_status", &json!({ "verdicts": [verdict] }))
    };
    let clean = one(json!({}));
    assert!(GREEN.iter().all(|green| clean.contains(green)), "{clean}");
    for (more, says) in [
        (json!({ "post_hoc": true }), "pass (POST HOC)"),
        (json!({ "post_hoc": true, "post_hoc_accepted": true }), "pass (POST HOC, accepted)"),
        (json!({ "of_itself": true }), "pass, of the reference with itself"),
        (json!({ "redacted_by": 25 }), "redacted by entry 25"),
    ] {
        let all = one(more);
        assert!(all.contains(says) && !GREEN.iter().any(|green| all.contains(green)), "{says}: {all}");
        assert!(says.contains("pass") || !all.contains("pass"), "{all}");
    }
}
