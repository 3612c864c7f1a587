//! Criteria in WebAssembly's own text.

use crate::{HOST, fold, judge, rows, slice};
use fascicolo_criterion::{CriterionError, standard, wat};

/// A module that keeps the contract in as few instructions as it can: memory begins as zeros; at 1024 lies an empty
/// description and a good `result`, at 2048 an answer with the figure `f`, unit `u`, value 0. The lines of `row` come 10th.
fn module(update: &str) -> String {
    let export = |name: &str| format!("(export \"fascicolo:criterion/criterion@0.1.0#{name}\")");
    format!(
        "(module\n\
         \x20 (memory (export \"memory\") 4)\n\
         \x20 (data (i32.const 2064) \"\\00\\0c\\00\\00\\01\\00\\00\\00\")\n\
         \x20 (data (i32.const 3072) \"\\a0\\0f\\00\\00\\01\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\a1\\0f\\00\\00\\01\\00\\00\\00\")\n\
         \x20 (data (i32.const 4000) \"fu\")\n\
         \x20 (func (export \"cabi_realloc\") (param i32 i32 i32 i32) (result i32) i32.const 8192)\n\
         \x20 (func {} (result i32) i32.const 1024)\n\
         \x20 (func {} (param i32 i32) (result i32) i32.const 1024)\n\
         \x20 (func {} (param i32) (result i32)\n\
         {update}\n\
         \x20   i32.const 1024)\n\
         \x20 (func {} (result i32) i32.const 1024)\n\
         \x20 (func {} (param i32 i32) (result i32) i32.const 1024)\n\
         \x20 (func {} (result i32) i32.const 2048))\n",
        export("describe"),
        export("init"),
        export("update"),
        export("state"),
        export("merge"),
        export("finish"),
    )
}

#[test]
fn a_module_in_text_is_wrapped_admitted_and_judges() {
    let component = wat::assemble("text", &module("    nop")).unwrap();
    let criterion = HOST.admit("text", &component).unwrap();
    let finished = judge(&criterion, &[], &[rows(3)]).unwrap();
    assert_eq!(finished.outcome.figures[0].name, "f");
    // The same text gives the same bytes, and what it says is a component's own text too.
    assert_eq!(wat::assemble("text", &module("    nop")).unwrap(), component);
    let printed = as_bytes(&component);
    assert!(printed.starts_with("(component"));
    let again = wat::assemble("text", &printed).unwrap();
    let again = judge(&HOST.admit("text", &again).unwrap(), &[], &[rows(3)]).unwrap();
    assert_eq!(again.outcome, finished.outcome);
}

/// The component as a text that holds its core module's bytes.
fn as_bytes(component: &[u8]) -> String {
    let bytes: String = component.iter().map(|byte| format!("\\{byte:02x}")).collect();
    format!("(component binary \"{bytes}\")")
}

#[test]
fn a_criterion_in_text_gives_the_bits_of_the_rust_one_split_and_merged_too() {
    let component = wat::assemble("least", include_str!("cells/least.wat")).unwrap();
    let criterion = HOST.admit("least", &component).unwrap();
    assert_eq!(criterion.description.meaning, "the smallest cosine is not below the floor.");
    let batch = rows(3_000);
    let rust = HOST.admit("cosine", standard::find("cosine").unwrap().component).unwrap();
    let expected = judge(&rust, &[("floor", 0.9)], std::slice::from_ref(&batch)).unwrap().outcome;
    let mut merged = fold(&criterion, &[("floor", 0.9)], &[slice(&batch, 2_000..3_000)]).unwrap();
    let state = fold(&criterion, &[("floor", 0.9)], &[slice(&batch, 0..2_000)]).unwrap().state().unwrap();
    merged.merge(&state, 2_000).unwrap();
    let finished = merged.finish().unwrap();
    assert_eq!(finished.outcome.figures[0].value, expected.figures[0].value);
    assert_eq!((finished.outcome.judgement, finished.rows), (expected.judgement, 3_000));
}

#[test]
fn wrong_text_is_shown_at_its_line_of_the_cell() {
    for (update, line, column, says) in [
        ("    i32.cnst 1", 10, 5, "unknown operator"),
        ("    nop\n    local.get $nowhere", 11, 15, "unknown local"),
        ("    nop\n    (drop (f64.add (f64.const 1) (i32.const 2)))", 11, 12, "type mismatch"),
        ("    nop\n    drop", 11, 5, "nothing on stack"),
        ("    global.get 7", 10, 5, "unknown global"),
    ] {
        match wat::assemble("wrong", &module(update)) {
            Err(CriterionError::DoesNotCompile { diagnostics, .. }) => {
                let found = &diagnostics[0];
                assert!(found.message.contains(says), "{says}: {}", found.message);
                assert_eq!((found.line, found.column), (line, column), "{}", found.rendered);
                assert!(found.rendered.contains(update.lines().last().unwrap()), "{}", found.rendered);
            }
            other => panic!("{says}: {other:?}"),
        }
    }
    // In the core module of a component as well.
    let source = "(component\n  (core module\n    (func)\n    (func\n      drop)))";
    match wat::assemble("wrong", source) {
        Err(CriterionError::DoesNotCompile { diagnostics, .. }) => assert_eq!(diagnostics[0].line, 5),
        other => panic!("{other:?}"),
    }
}

#[test]
fn text_passes_the_same_inspection_as_any_component() {
    let import =
        "(module (import \"wasi_snapshot_preview1\" \"fd_write\" (func (param i32 i32 i32 i32) (result i32))))";
    assert!(matches!(wat::assemble("wasi", import), Err(CriterionError::Imports { .. })));
    let imports = "(component (import \"wasi:clocks/wall-clock@0.2.0\" (instance)))";
    assert!(matches!(wat::assemble("wasi", imports), Err(CriterionError::Imports { .. })));
    let many = format!("(module {})", "(func)".repeat(5_001));
    assert!(matches!(wat::assemble("many", &many), Err(CriterionError::TooLarge { .. })));
    let component = wat::assemble("empty", "(component)").unwrap();
    assert!(matches!(HOST.admit("empty", &component), Err(CriterionError::OtherContract { .. })));
    match wat::assemble("short", "(module (memory (export \"memory\") 1))") {
        Err(CriterionError::NotAComponent { why, .. }) => assert!(why.contains("export"), "{why}"),
        other => panic!("{other:?}"),
    }
}
