//! A core module that keeps the contract in as few instructions as it can, and what an attack puts in place of them.

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// Each function by its name in the text, its type, and its instructions in the honest module. Memory begins as zeros:
/// at 1024 lies an empty description and a good `result`, at 2048 an answer with one figure.
const FUNCTIONS: &[(&str, &str, &str)] = &[
    ("$realloc", "(param i32 i32 i32 i32) (result i32)", "i32.const 8192"),
    ("$describe", "(result i32)", "i32.const 1024"),
    ("$init", "(param i32 i32) (result i32)", "i32.const 1024"),
    ("$update", "(param i32) (result i32)", "i32.const 1024"),
    ("$state", "(result i32)", "i32.const 1024"),
    ("$merge", "(param i32 i32) (result i32)", "i32.const 1024"),
    ("$finish", "(result i32)", "i32.const 2048"),
];

/// One figure named `f` with the unit `u` and the value 0, at 3072; its texts at 4000.
const ANSWER: &str = r#"
  (data (i32.const 2064) "\00\0c\00\00\01\00\00\00")
  (data (i32.const 3072) "\a0\0f\00\00\01\00\00\00\00\00\00\00\00\00\00\00\a1\0f\00\00\01\00\00\00")
  (data (i32.const 4000) "fu")
"#;

/// The module as text: `fields` stand in place of what they define anew.
pub fn text(fields: &str) -> String {
    let mut module = String::from("(module\n");
    if !fields.contains("(memory ") {
        module += "  (memory 4)\n";
    }
    module += "  (export \"memory\" (memory 0))\n";
    if !fields.contains("no honest answer") {
        module += ANSWER;
    }
    for (name, signature, instructions) in FUNCTIONS {
        if !fields.contains(&format!("(func {name} ")) {
            module += &format!("  (func {name} {signature} {instructions})\n");
        }
        let export = match *name {
            "$realloc" => "cabi_realloc".to_owned(),
            other => format!("fascicolo:criterion/criterion@0.1.0#{}", &other[1..]),
        };
        module += &format!("  (export \"{export}\" (func {name}))\n");
    }
    module + fields + ")\n"
}

/// The component around a core module that exports the contract's functions; not validated: that is the host's to do.
pub fn around(mut module: Vec<u8>) -> Result<Vec<u8>, String> {
    let mut resolve = Resolve::default();
    let package = resolve.push_str("criterion.wit", include_str!("../../../../wasm-checks/wit/criterion.wit")).unwrap();
    let world = resolve.select_world(&[package], Some("check")).unwrap();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
    let encoded = ComponentEncoder::default().validate(false).module(&module).and_then(|mut encoder| encoder.encode());
    encoded.map_err(|e| format!("{e:#}"))
}

/// The component around the module of a text.
pub fn component(text: &str) -> Vec<u8> {
    let module = wat::parse_str(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    around(module).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// The honest one.
pub fn honest() -> Vec<u8> {
    component(&text(""))
}

#[test]
fn the_module_that_attacks_differ_from_keeps_the_contract() {
    let court = super::Court::new();
    let finished = super::run(&court.host, "honest", &honest(), &[]).unwrap();
    assert_eq!(finished.outcome.figures[0].name, "f");
}
