//! The page of a whole case: what its first sentence counts, what it names as missing, and that nothing in it acts.
#![allow(clippy::unwrap_used)]

mod records;

use fascicolo_display::report;
use serde_json::{Value, json};

/// What a reader sees, without style sheet and tags, white space collapsed.
fn seen(page: &str) -> String {
    let tree = parsed(page);
    let body = tree.descendants().find(|n| n.has_tag_name("body")).unwrap();
    let texts: Vec<&str> = body.descendants().filter(|n| n.is_text()).filter_map(|n| n.text()).collect();
    texts.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What stands at the top: the sentence, and the lines of the list below it.
fn answer_and_list(case: &Value) -> (String, Vec<String>) {
    let page = report(case);
    let tree = parsed(&page);
    let box_ = tree.descendants().find(|n| n.attribute("class") == Some("answer")).unwrap();
    let listed = |n: &roxmltree::Node| n.ancestors().any(|up| up.has_tag_name("li"));
    let texts = |of: roxmltree::Node, lists: bool| {
        let texts = of.descendants().filter(|n| n.is_text() && (lists || !listed(n)));
        let texts: Vec<String> = texts.filter_map(|n| n.text().map(str::to_owned)).collect();
        texts.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let lines = box_.descendants().filter(|n| n.has_tag_name("li")).map(|n| texts(n, true)).collect();
    (texts(box_, false), lines)
}

/// The sentence at the top.
fn answer(case: &Value) -> String {
    answer_and_list(case).0
}

fn section(case: &Value, id: &str) -> String {
    let page = report(case);
    let tree = parsed(&page);
    let part = tree.descendants().find(|n| n.attribute("id") == Some(id)).unwrap();
    let texts: Vec<&str> = part.descendants().filter(|n| n.is_text()).filter_map(|n| n.text()).collect();
    texts.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn parsed(page: &str) -> roxmltree::Document<'_> {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    roxmltree::Document::parse_with_options(page, options).unwrap_or_else(|e| panic!("{e}\n{page}"))
}

/// Only harmless elements and attributes, and nothing that a browser would fetch or run.
fn harmless(page: &str) {
    const ELEMENTS: &str = " html head meta title style body main h1 h2 h3 nav a section footer div strong em bdi table \
                             caption thead tbody tr th td details summary ul li span code pre svg desc g rect line text \
                             circle path ";
    const ATTRIBUTES: &str = " lang charset name content http-equiv class id aria-label style scope role viewBox width \
                               height color font-family font-size font-weight x y x1 y1 x2 y2 rx r d fill stroke \
                               stroke-width stroke-opacity stroke-linecap stroke-dasharray fill-opacity text-anchor \
                               transform href ";
    for node in parsed(page).descendants().filter(|n| n.is_element()) {
        let name = node.tag_name().name();
        assert!(ELEMENTS.contains(&format!(" {name} ")), "<{name}>");
        for attribute in node.attributes() {
            let (key, value) = (attribute.name(), attribute.value());
            assert!(ATTRIBUTES.contains(&format!(" {key} ")), "<{name} {key}>");
            assert!(key != "href" || value.starts_with('#'), "a link to {value}");
            assert!(!["style", "class", "id"].contains(&key) || !value.contains("url("), "{key}={value}");
        }
        if name == "style" {
            let css = node.text().unwrap();
            assert!(!css.contains("url(") && !css.contains("@import"), "{css}");
        }
    }
}

/// A verdict on the candidate whose content is `digest`.
fn on(entry: u64, digest: &str, mut verdict: Value) -> Value {
    verdict["candidate"]["sha256"] = json!(digest);
    verdict["candidate"]["path"] = json!(format!("{digest}.parquet"));
    verdict.as_object_mut().unwrap().remove("dossier");
    json!({ "entry": entry, "wall": "2026-03-01T10:00:09Z", "result": verdict })
}

fn with(verdicts: Vec<Value>) -> Value {
    json!({ "name": "quickstart", "reference": records::reference(), "verdicts": verdicts })
}

fn explored() -> Value {
    let mut v = records::pass();
    v["verdict"] = json!("none");
    v["declaration"] = Value::Null;
    v["expect"] = Value::Null;
    v["met"] = Value::Null;
    v
}

fn unmet(mut verdict: Value) -> Value {
    verdict["met"] = json!(false);
    verdict
}

fn whole() -> Value {
    let at = |entry: u64, result: Value| json!({ "entry": entry, "wall": "2026-03-01T10:00:00Z", "result": result });
    json!({
        "name": "quickstart", "origin": "fascicolo/abc", "entries": 17, "root": records::verification()["root"], "sessions": 2,
        "reference": records::reference(),
        "snapshots": [at(3, records::snapshot())],
        "probes": [at(4, records::probe())],
        "criteria": [{"entry": 11, "wall": "2026-03-01T09:00:00Z", "source": "criterion! { <b> }", "result": {
            "name": "cosine", "version": "1.0.0", "digest": records::pass()["criterion"]["digest"],
            "meaning": "every row keeps its direction"}}],
        "declarations": [at(12, records::declaration())],
        "verdicts": [on(15, "aa", records::pass()), on(16, "bb", records::fail()), on(17, "cc", explored())],
        "failures": [{"entry": 20, "wall": "2026-03-01T11:00:00Z", "kind": "no_such_file", "message": "there is no file x",
            "next": "check the path"}],
        "verification": records::verification(),
        "access": ["the token is read from HF_TOKEN"],
    })
}

#[test]
fn the_answer_counts_candidate_files_and_names_what_does_not_count() {
    let (pass, fail) = (records::pass, records::fail);
    let cases = [
        (
            vec![on(1, "a", pass()), on(2, "b", pass()), on(3, "c", fail()), on(4, "d", fail())],
            "AS EXPECTED 2 of 4 candidates give the expected result under the declared criterion; 2 do not, as their \
             author expected; none is post hoc.",
        ),
        (
            // The same bytes twice are one candidate.
            vec![on(1, "a", pass()), on(2, "a", pass()), on(3, "b", fail())],
            "AS EXPECTED 1 of 2 candidates gives the expected result under the declared criterion; 1 does not, as its \
             author expected; none is post hoc.",
        ),
        (
            vec![on(1, "a", pass())],
            "AS EXPECTED The one candidate gives the expected result under the declared criterion; none is post hoc.",
        ),
        (
            vec![on(1, "a", unmet(fail()))],
            "NOT AS EXPECTED The one candidate does not give the expected result under the declared criterion, against \
             what its author expected; none is post hoc.",
        ),
        (
            vec![on(1, "a", fail()), on(2, "b", unmet(fail())), on(3, "c", explored()), on(4, "c", explored())],
            "NOT AS EXPECTED None of the 2 candidates gives the expected result under the declared criterion; 2 do not, \
             1 of them as their author expected; none is post hoc; 1 candidate was only explored.",
        ),
        (
            vec![on(1, "a", pass()), on(2, "a", records::post_hoc()), on(3, "b", records::post_hoc())],
            "OPEN QUESTIONS 1 of 2 candidates gives the expected result under the declared criterion; 1 has only post \
             hoc verdicts; 2 verdicts are post hoc (2 pass) and do not count.",
        ),
        (
            vec![on(1, "a", pass()), on(2, "a", records::post_hoc())],
            "OPEN QUESTIONS The one candidate gives the expected result under the declared criterion; 1 verdict is post \
             hoc (1 pass) and does not count.",
        ),
        (
            vec![on(1, "a", pass()), on(2, "b", unmet(records::not_comparable()))],
            "OPEN QUESTIONS 1 of 2 candidates gives the expected result under the declared criterion; 1 is not \
             comparable; none is post hoc.",
        ),
        (
            vec![on(1, "a", pass()), on(2, "a", fail())],
            "OPEN QUESTIONS The one candidate is not known to give the expected result under the declared criterion; \
             1 has verdicts in time that disagree; none is post hoc.",
        ),
        (
            vec![on(1, "a", records::post_hoc())],
            "NOTHING CONCLUDED Nothing was concluded: no verdict is known to stand under a criterion sealed in time; \
             1 has only post hoc verdicts; 1 verdict is post hoc (1 pass) and does not count.",
        ),
        (
            vec![on(1, "a", explored())],
            "NOTHING CONCLUDED Nothing was concluded: no verdict was reached under a declared criterion; 1 candidate \
             was only explored.",
        ),
        (vec![], "NOTHING CONCLUDED Nothing was concluded: no verdict was reached under a declared criterion."),
    ];
    for (verdicts, sentence) in cases {
        assert_eq!(answer(&with(verdicts)), sentence);
    }
}

#[test]
fn the_answer_names_the_candidates_that_it_counts_as_far_as_they_fit() {
    let verdicts = vec![on(1, "a", records::pass()), on(2, "b", records::fail()), on(3, "c", explored())];
    let (_, lines) = answer_and_list(&with(verdicts));
    let expected = [
        "✓ a.parquet: gives the expected result",
        "✗ b.parquet: does not give the expected result, as its author expected",
    ];
    assert_eq!(lines, expected);
    let many = (0..20).map(|n| on(n, &format!("c{n}"), records::pass())).collect();
    let (said, lines) = answer_and_list(&with(many));
    assert_eq!(lines.len(), 8);
    assert!(said.ends_with("and 12 more verdicts, below."), "{said}");
}

#[test]
fn a_seal_that_no_record_shows_is_not_counted() {
    let mut silent = records::pass();
    silent.as_object_mut().unwrap().remove("post_hoc");
    let mut undeclared = records::pass();
    undeclared["declaration"] = Value::Null;
    let said = answer(&with(vec![on(1, "a", silent), on(2, "b", undeclared)]));
    assert!(said.contains("Nothing was concluded") && said.contains("2 have no seal in time on record"), "{said}");
    assert!(!said.contains("none is post hoc"), "nobody recorded that: {said}");

    let mut other = records::pass();
    other["reference"]["identity"] = json!("another");
    let said = answer(&with(vec![on(1, "a", other), on(2, "b", records::pass())]));
    assert!(
        said.contains("1 of 2 candidates gives") && said.contains("1 was judged against another reference"),
        "{said}"
    );
}

#[test]
fn a_case_that_does_not_verify_is_not_answered_as_if_it_did() {
    let mut case = with(vec![on(1, "a", records::pass())]);
    case["verification"] = records::broken();
    assert!(answer(&case).starts_with("DO NOT RELY ON THIS The case file does not verify"));
}

#[test]
fn two_criteria_are_not_called_one() {
    let mut other = records::pass();
    other["criterion"]["parameters"] = json!({ "floor": 0.9 });
    let said = answer(&with(vec![on(1, "a", records::pass()), on(2, "b", other)]));
    assert!(said.contains("under the 2 declared criteria"), "{said}");
}

#[test]
fn the_page_tells_everything_in_order_and_hides_no_attempt() {
    let case = whole();
    let page = report(&case);
    harmless(&page);
    let text = seen(&page);
    let order = [
        "What had to be reproduced",
        "warning: no preprocessing was declared",
        "Under which conditions",
        "The probe of entry 4 required cuda and did not find it",
        "AMD EPYC",
        "What counted as the same, and why",
        "Two results count as the same if: every row keeps its direction",
        "because retrieval ranks by cosine",
        "Sealed before the content of every candidate that it judged was first opened (entry 12, 2026-03-01T10:00:00Z)",
        "criterion! { <b> }",
        "What was found",
        "aa.parquet: gives the expected result",
        "dossier entry 15",
        "bb.parquet: does not give the expected result, as its author expected",
        "non-free-firmware",
        "All attempts, with those that failed",
        "cc.parquet: explored, no verdict",
        "error: there is no file x",
        "kind: no_such_file; next: check the path",
        "What was not checked",
        "no outside witness",
        "How to check this yourself",
        "fascicolo dossier verify quickstart.fascicolo",
        "sha256sum -c manifest-sha256.txt",
        "data/reference.parquet",
        "INTEGRITY HOLDS",
        "HF_TOKEN",
        "The conclusion holds under the declared conditions and the declared criterion; it is not a promise of identity \
         on any machine.",
    ];
    // The links of the contents come first: looked for behind them.
    let mut rest = text.split_once("How to check this yourself").unwrap().1;
    for fragment in order {
        rest = rest.split_once(fragment).unwrap_or_else(|| panic!("{fragment:?} is not in, or too early:\n{rest}")).1;
    }
    assert_eq!(page.matches("<svg").count(), 3, "each of the three comparisons with its picture");
    assert!(!text.contains("root not recorded"), "a stored record cannot hold its own root");
    assert_eq!(page, report(&case.clone()), "the same case gives the same bytes");
}

#[test]
fn what_was_not_checked_follows_from_what_is_absent() {
    let nothing = section(&json!({}), "not-checked");
    let always = ["Any other sample", "Any other machine", "no outside witness", "this page reads no file"];
    for line in always.iter().chain(&[
        "no snapshot is recorded",
        "no probe is recorded",
        "no reference is recorded",
        "no verification",
    ]) {
        assert!(nothing.contains(line), "{line:?} is not in: {nothing}");
    }
    let mut case = whole();
    let told = section(&case, "not-checked");
    for line in always.iter().chain(&[
        "Anything on cuda",
        "git : the last snapshot could not read it",
        "How, where and with which code",
    ]) {
        assert!(told.replace("git:", "git :").contains(line), "{line:?} is not in: {told}");
    }
    for line in ["no snapshot", "no probe", "no reference", "no verification", "only afterwards"] {
        assert!(!told.contains(line), "{line:?} is in: {told}");
    }
    case["snapshots"][0]["entry"] = json!(40);
    case["probes"][0]["result"]["require"] = json!("none");
    case["reference"]["code"] = Value::Null;
    case["reference"]["weights"] = json!([{ "name": "latest-model" }, { "name": "pinned", "revision": "r7" }]);
    case["verification"]["entries"] = json!(12);
    let told = section(&case, "not-checked");
    for line in [
        "recorded only afterwards (entry 40, after entry 15)",
        "no probe required one",
        "Which code made the reference",
        "Which weights latest-model is: declared by name, without fingerprint or revision",
        "known by revision (r7), without a fingerprint",
        "verified with 12 entries",
    ] {
        assert!(told.contains(line), "{line:?} is not in: {told}");
    }
}

#[test]
fn only_a_witness_beyond_doubt_is_believed() {
    for (value, believed) in [
        (json!({ "holds": true, "entries": 9 }), true),
        (json!({ "holds": false }), false),
        (json!({}), false),
        (json!("none"), false),
        (json!(true), false),
        (json!(null), false),
    ] {
        let mut case = whole();
        case["verification"]["witness"] = value.clone();
        assert_eq!(!section(&case, "not-checked").contains("no outside witness"), believed, "{value}");
    }
}

#[test]
fn a_signature_counts_where_it_is_valid_and_its_key_is_known() {
    for (signatures, said) in [
        (json!(null), "no signature is recorded"),
        (json!([{ "valid": false, "known": "Anna" }]), "no signature is valid"),
        (json!([{ "valid": true, "known": null }]), "keys that the verification did not know"),
        (json!([{ "valid": true, "known": "Anna" }]), ""),
    ] {
        let mut case = whole();
        case["verification"]["signatures"] = signatures;
        let told = section(&case, "not-checked");
        assert!(told.contains(said) && (!said.is_empty() || !told.contains("Who wrote the log")), "{told}");
    }
}

#[test]
fn a_post_hoc_verdict_is_named_at_its_seal_and_at_itself() {
    let mut late = records::post_hoc();
    late["post_hoc_because"] = json!("first read in entry 9");
    let mut case = whole();
    case["verdicts"] = json!([on(15, "aa", records::pass()), on(16, "bb", late)]);
    let seal = section(&case, "criterion");
    assert!(seal.contains("aa.parquet: sealed before it was opened"), "{seal}");
    assert!(seal.contains("bb.parquet: post hoc, not sealed before it was opened first read in entry 9"), "{seal}");
    assert!(section(&case, "verdicts").contains("bb.parquet: gives the expected result, post hoc"));
    assert!(section(&case, "attempts").contains("bb.parquet: gives the expected result, post hoc"));
}

#[test]
fn absent_parts_and_parts_of_another_shape_are_said_and_never_break_the_page() {
    let empty = seen(&report(&json!({})));
    for said in [
        "a case without a name",
        "No reference is recorded",
        "No snapshot is recorded",
        "No probe is recorded",
        "No declaration is recorded",
        "No verdict is recorded",
        "Neither comparisons nor errors",
        "no access note",
    ] {
        assert!(empty.contains(said), "{said:?} is not in: {empty}");
    }
    let whole = whole();
    let shapes =
        [Value::Null, json!(7), json!("text"), json!([]), json!([null, 3, [], {}]), json!({ "a": { "b": [] } })];
    for key in whole.as_object().unwrap().keys() {
        for shape in &shapes {
            let mut case = whole.clone();
            case[key] = shape.clone();
            harmless(&report(&case));
        }
    }
    for shape in &shapes {
        harmless(&report(shape));
    }
}

/// Replaces every text at any depth.
fn poisoned(value: &Value, poison: &str) -> Value {
    match value {
        // The words that decide which shape is shown stay, so that every branch meets the poison.
        Value::String(s)
            if ["pass", "fail", "none", "not_comparable", "cuda", "read", "not_read"].contains(&s.as_str()) =>
        {
            value.clone()
        }
        Value::String(_) => json!(poison),
        Value::Array(list) => list.iter().map(|v| poisoned(v, poison)).collect(),
        Value::Object(map) => {
            map.iter().map(|(k, v)| (k.clone(), poisoned(v, poison))).collect::<serde_json::Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

#[test]
fn no_text_of_a_record_becomes_markup_or_part_of_a_command() {
    for poison in [
        "</style><script>alert(1)</script>",
        "\"><img src=http://evil.example/x onerror=alert(1)>",
        "']]><!--&amp;&#60;b>",
        "a\u{202e}b\u{0}\u{feff}\u{2028}\nrm -rf ~",
        "$(rm -rf ~); `id`",
        "-rf",
    ] {
        let mut case = poisoned(&whole(), poison);
        for parameters in ["/declarations/0/result/parameters", "/verdicts/0/result/criterion/parameters"] {
            *case.pointer_mut(parameters).unwrap() = json!({ poison: 1 });
        }
        let page = report(&case);
        harmless(&page);
        assert!(!page.contains("<script") && !page.contains("<img") && !page.contains('\u{202e}'));
        let commands = section(&case, "check");
        assert!(commands.contains("fascicolo dossier verify CASE.fascicolo"), "{commands}");
    }
}

#[test]
fn the_list_of_files_holds_only_lines_that_mean_what_they_show() {
    let mut case = whole();
    case["verdicts"][0]["result"]["candidate"] = json!({ "path": "x\n0000  y", "sha256": "ab".repeat(32) });
    case["verdicts"][1]["result"]["candidate"] = json!({ "path": "good.parquet", "sha256": "cd".repeat(32) });
    let check = section(&case, "check");
    assert!(check.contains(&format!("{} good.parquet", "cd".repeat(32))), "{check}");
    assert!(!check.contains("0000"), "{check}");
}

fn redacted(entry: u64, digest: &str) -> Value {
    json!({ "entry": entry, "wall": "2026-03-01T10:00:09Z", "result": {
        "redacted_by": 25, "entry": entry, "verdict": null, "declaration": { "entry": 12 },
        "criterion": { "name": "cosine", "digest": records::pass()["criterion"]["digest"], "parameters": { "floor": 0.999 } },
        "candidate": { "sha256": digest, "path": format!("{digest}.parquet") },
    }})
}

#[test]
fn a_redacted_verdict_is_called_redacted_by_its_entry_and_is_no_pass_no_gap_and_no_late_seal() {
    let mut case = whole();
    case["verdicts"].as_array_mut().unwrap().push(redacted(18, "dd"));
    let (said, lines) = answer_and_list(&case);
    assert!(said.starts_with("OPEN QUESTIONS 1 of 3 candidates gives"), "{said}");
    assert!(said.contains("1 verdict was redacted, and nobody can tell from this case what it said"), "{said}");
    assert!(lines.contains(&"– dd.parquet: the verdict of entry 18 was redacted by entry 25".to_owned()), "{lines:?}");
    for id in ["verdicts", "attempts", "criterion"] {
        let told = section(&case, id);
        assert!(told.contains("redacted by entry 25"), "{id}: {told}");
        assert!(!told.to_lowercase().contains("verdict not recorded") && !told.contains("no seal in time"), "{told}");
        assert!(!told.contains("dd.parquet: gives") && !told.contains("in time is not recorded"), "{told}");
    }
    assert!(section(&case, "not-checked").contains("What was redacted: entry 18 (by entry 25)"));
    // Alone it is no conclusion, and the reason is said.
    let said = answer(&with(vec![redacted(18, "dd")]));
    assert!(said.starts_with("NOTHING CONCLUDED Nothing was concluded: every verdict was redacted"), "{said}");
    // A reference or a snapshot that was taken out is not one that was never there.
    case["reference"] = json!({ "redacted_by": 30, "entry": 2 });
    case["snapshots"][0]["result"] = json!({ "redacted_by": 31, "entry": 3 });
    let told = section(&case, "reference") + &section(&case, "conditions") + &section(&case, "not-checked");
    assert!(told.contains("taken out by entry 30") && told.contains("taken out by entry 31"), "{told}");
    assert!(told.contains("the reference was redacted by entry 30"), "{told}");
    assert!(!told.contains("no reference is recorded") && !told.contains("No snapshot is recorded"), "{told}");
    harmless(&report(&case));
}

#[test]
fn the_reference_compared_with_itself_is_no_candidate_that_passes() {
    let mut own = records::pass();
    own["of_itself"] = json!(true);
    let (said, lines) = answer_and_list(&with(vec![on(14, "ee", own.clone()), on(15, "aa", records::pass())]));
    assert!(
        said.contains("The one candidate gives") && said.contains("1 verdict is of the reference with itself"),
        "{said}"
    );
    assert_eq!(lines[0], "– ee.parquet: gives the expected result, being the reference itself");
    let said = answer(&with(vec![on(14, "ee", own)]));
    assert!(said.contains("nothing but the reference itself was compared"), "{said}");
    // The same bytes at another place are an exact repeat, which counts.
    let mut repeat = records::pass();
    repeat["reference"]["sha256"] = json!("ee");
    repeat["of_itself"] = json!(false);
    let said = answer(&with(vec![on(14, "ee", repeat)]));
    assert!(said.contains("The one candidate gives"), "{said}");
}

#[test]
fn an_error_that_compared_nothing_is_listed_and_is_no_attempt() {
    let mut case = whole();
    case["failures"][0]["attempt"] = json!(false);
    let mut stopped = case["failures"][0].clone();
    stopped["attempt"] = json!(true);
    case["failures"].as_array_mut().unwrap().push(stopped);
    assert!(answer(&case).contains("; 1 attempt ended in an error"), "{}", answer(&case));
    let told = section(&case, "attempts");
    assert_eq!((told.matches("there is no file x").count(), told.matches("It compared nothing.").count()), (2, 1));
}
