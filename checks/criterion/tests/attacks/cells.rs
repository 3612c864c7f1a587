//! Cells that mean harm: to the compiler, to its machine, or to the comparison.

use super::{Attack, Court, alone, run};
use fascicolo_criterion::{CriterionError, Toolchain, compile};
use std::path::PathBuf;

/// A criterion with something else before it, in its row, or in its verdict.
fn cell(head: &str, row: &str, verdict: &str) -> String {
    format!(
        "{head}\ncriterion! {{ meaning: \"m\", parameters: {{}}, sees: {{ cosine }}, state: {{ least: Lowest }},\n\
         row: |state, row, _p| {{ {row}; state.least.add(row.cosine, row.id); }},\n\
         verdict: |state, _p| {{ {verdict}; pass_if(state.least.value() > 0.0).figure(\"cosine.min\", \"unitless\", &state.least) }} }}"
    )
}

const SHOWN: &str = "use fascicolo::accumulate::Shown; use fascicolo::contract::WorstRow; struct Many(usize, f64);\n\
    impl Shown for Many { fn number(&self) -> f64 { 1.0 }\n\
    fn rows(&self) -> Vec<WorstRow> { vec![WorstRow { id: String::from(\"a\"), value: self.1 }; self.0] } }";

/// An accumulator of the author's own, with these two functions.
fn accumulator(save: &str, merge: &str) -> String {
    format!(
        "use fascicolo::accumulate::{{Accumulator, Saved}};\n#[derive(Default)] struct Own;\n\
         impl Accumulator for Own {{ fn save(&self, into: &mut Vec<u8>) {{ {save} }}\n\
         fn merge(&mut self, from: &mut Saved<'_>) -> Result<(), String> {{ {merge} }} }}\n\
         criterion! {{ meaning: \"m\", parameters: {{}}, sees: {{ cosine }}, state: {{ own: Own }},\n\
         row: |_s, _r, _p| {{}}, verdict: |_s, _p| {{ pass_if(true).figure(\"f\", \"u\", &1.0) }} }}"
    )
}

/// Cells that a compiler never sees.
fn refused_as_they_stand() -> Vec<(&'static str, &'static str, &'static str, String)> {
    let head = |head: &str| cell(head, "", "");
    vec![
        (
            "include_str",
            "reads_files",
            "`include_str!` at line 1",
            head("const X: &str = include_str!(\"/etc/hostname\");"),
        ),
        ("include_bytes", "reads_files", "`include_bytes!`", head("const X: &[u8] = include_bytes!(\"/etc/shadow\");")),
        ("include", "reads_files", "`include!`", head("include!(\"/etc/passwd\");")),
        (
            "include under another name",
            "reads_files",
            "`include!`",
            head("use std::include as mean; mean!(\"/etc/passwd\");"),
        ),
        (
            "include handed to a macro",
            "reads_files",
            "`include_str!`",
            head("macro_rules! m { ($i:ident) => { $i!(\"/etc/passwd\") } } const X: &str = m!(include_str);"),
        ),
        (
            "include of a joined path",
            "reads_files",
            "`include_str!`",
            head("const X: &str = include_str!(concat!(\"/etc\", \"/passwd\"));"),
        ),
        (
            "include in a doc comment",
            "reads_files",
            "`include_str!`",
            head("#[doc = include_str!(\"/etc/passwd\")] fn documented() {}"),
        ),
        ("env", "reads_files", "`env!`", head("const X: &str = env!(\"HOME\");")),
        ("option_env", "reads_files", "`option_env!`", head("const X: Option<&str> = option_env!(\"HOME\");")),
        ("a module by its path", "reads_files", "a module in another file", head("#[path = \"/etc/passwd\"] mod x;")),
        (
            "a module that a macro makes",
            "reads_files",
            "a module in another file",
            head("macro_rules! m { ($a:tt, $p:literal) => { #[path = $p] pub $a x; } } m!(mod, \"/etc/passwd\");"),
        ),
        (
            "a file in a compile error",
            "reads_files",
            "`include_str!`",
            head("compile_error!(include_str!(\"/etc/passwd\"));"),
        ),
        (
            "a comment that runs backwards",
            "hidden_text",
            "U+202E at line 3",
            head("\n\n// \u{202e} } \u{2066}if admin\u{2069}\u{2066}"),
        ),
        (
            "a text that runs backwards",
            "hidden_text",
            "U+2066 at line 1",
            head("const X: &str = \"user\u{2066} // only admin\";"),
        ),
        (
            "brackets 30,000 deep",
            "too_large",
            "nests more than 128 brackets at line 1",
            head(&format!("const X: u8 = {}1{};", "(".repeat(30_000), ")".repeat(30_000))),
        ),
        (
            "blocks 30,000 deep",
            "too_large",
            "nests more than 128 brackets",
            head(&format!("fn f() {}{}", "{".repeat(30_000), "}".repeat(30_000))),
        ),
        (
            "brackets 30,000 deep in a macro's pattern",
            "too_large",
            "nests more than 128 brackets",
            head(&format!("macro_rules! m {{ ({}{}) => {{}} }}", "[".repeat(30_000), "]".repeat(30_000))),
        ),
        (
            "a name of a megabyte",
            "too_large",
            "the limit is 131072",
            head(&format!("fn {}() {{}}", "a".repeat(1 << 20))),
        ),
        ("ten megabytes of comments", "too_large", "the limit is 131072", head(&"// nothing\n".repeat(1 << 20))),
    ]
}

/// Cells that the compiler refuses, or is stopped at.
fn stopped_while_compiling() -> Vec<(&'static str, &'static str, &'static str, String)> {
    let head = |head: &str| cell(head, "", "");
    let doubling = "macro_rules! m { ($($t:tt)*) => { m!{$($t)* $($t)*} } } m!{a b c d}";
    vec![
        ("assembly", "does_not_compile", "inline assembly", cell("", "unsafe { core::arch::asm!(\"nop\") }", "")),
        ("global assembly", "does_not_compile", "inline assembly", head("core::arch::global_asm!(\".globl x\");")),
        (
            "a library to link",
            "does_not_compile",
            "link",
            head(
                "#[link(name = \"c\")] unsafe extern \"C\" { fn getpid() -> i32; }\n#[unsafe(no_mangle)] pub fn p() -> i32 { unsafe { getpid() } }",
            ),
        ),
        (
            "a static library by its path",
            "does_not_compile",
            "linking",
            head("#[link(name = \"../../etc/passwd\", kind = \"static\")] unsafe extern \"C\" {}"),
        ),
        (
            "a function of WASI",
            "imports",
            "`fd_write from wasi_snapshot_preview1`",
            cell(
                "#[link(wasm_import_module = \"wasi_snapshot_preview1\")] unsafe extern \"C\" { fn fd_write(a: i32, b: i32, c: i32, d: i32) -> i32; }",
                "std::hint::black_box(unsafe { fd_write(1, 0, 0, 0) })",
                "",
            ),
        ),
        (
            "a crate for macros",
            "does_not_compile",
            "proc_macro",
            head(
                "#![crate_type = \"proc-macro\"]\nextern crate proc_macro; #[proc_macro] pub fn m(t: proc_macro::TokenStream) -> proc_macro::TokenStream { t }",
            ),
        ),
        ("another crate", "does_not_compile", "can't find crate for `serde`", head("extern crate serde;")),
        ("the compiler's own crates", "does_not_compile", "rustc_driver", head("extern crate rustc_driver;")),
        (
            "unstable features",
            "does_not_compile",
            "may not be used on the stable release channel",
            head("#![feature(rustc_private)]"),
        ),
        (
            "a manifest with a build script",
            "does_not_compile",
            "",
            format!("---cargo\n[package]\nbuild = \"build.rs\"\n---\n{}", head("")),
        ),
        (
            "a macro that calls itself",
            "does_not_compile",
            "recursion limit",
            head("macro_rules! m { ($($t:tt)*) => { m!{$($t)*} } } m!{a}"),
        ),
        ("a macro that doubles its tokens", "compiler_stopped", "", head(doubling)),
        (
            "a macro that doubles, without a limit",
            "compiler_stopped",
            "",
            head(&format!("#![recursion_limit = \"1000000\"]\n{doubling}")),
        ),
        (
            "a type that grows with each call",
            "does_not_compile",
            "recursion limit",
            cell(
                "fn f<T: 'static>(n: u32) -> u32 { if n == 0 { 0 } else { f::<Option<T>>(n - 1) } }",
                "std::hint::black_box(f::<u8>(row.id.len() as u32))",
                "",
            ),
        ),
        (
            "a trait that needs itself",
            "does_not_compile",
            "overflow",
            head("trait T {} impl<A> T for A where Option<A>: T {} fn need<A: T>() {} fn f() { need::<u8>() }"),
        ),
        (
            "a type that doubles",
            "compiler_stopped",
            "",
            cell(
                "fn f<T>(n: u32) -> usize { if n == 0 { std::mem::size_of::<T>() } else { f::<(T, T)>(n - 1) } }",
                "std::hint::black_box(f::<u8>(row.id.len() as u32))",
                "",
            ),
        ),
        (
            "a constant without end",
            "compiler_stopped",
            "processor time",
            head(
                "const X: u64 = { let mut i = 0u64; while i < u64::MAX { i = i.wrapping_add(2) } i }; pub static Y: u64 = X;",
            ),
        ),
        (
            "a gigabyte of ones",
            "compiler_stopped",
            "",
            cell("static X: [u64; 1 << 27] = [1; 1 << 27];", "std::hint::black_box(X[row.id.len()])", ""),
        ),
        (
            "a type 5,000 deep",
            "compiler_stopped",
            "",
            head(&format!("pub type X = {}u8{};", "Vec<".repeat(5_000), ">".repeat(5_000))),
        ),
        ("60,000 negations", "compiler_stopped", "", head(&format!("pub const X: bool = {}true;", "!".repeat(60_000)))),
        ("30,000 sums", "compiler_stopped", "", head(&format!("pub const X: u64 = {}1;", "1+".repeat(30_000)))),
        ("500 errors", "does_not_compile", "cannot find", head(&"const _: U = x;\n".repeat(500))),
        (
            "an error of 100 kilobytes",
            "does_not_compile",
            "bytes more)",
            head(&format!("compile_error!(\"{}\");", "e".repeat(100_000))),
        ),
        (
            "the contract's type, written by hand",
            "not_a_component",
            "",
            head("#[unsafe(link_section = \"component-type:mine\")] #[used] pub static X: [u8; 3] = *b\"abc\";"),
        ),
        (
            "a custom section of 5 megabytes",
            "too_large",
            "bytes beside its code and data",
            head("#[unsafe(link_section = \"padding\")] #[used] pub static X: [u8; 5 << 20] = [7; 5 << 20];"),
        ),
        (
            "the contract's function twice",
            "does_not_compile",
            "",
            head(
                "#[unsafe(export_name = \"fascicolo:criterion/criterion@0.1.0#finish\")] pub extern \"C\" fn mine() -> u32 { 0 }",
            ),
        ),
        ("no criterion at all", "other_contract", "does not export", "pub fn f() {}".to_owned()),
        (
            "relaxed SIMD",
            "not_a_component",
            "relaxed SIMD",
            cell(
                "#[target_feature(enable = \"relaxed-simd\")] fn f(x: f32) -> f32 { use core::arch::wasm32::*; f32x4_extract_lane::<0>(f32x4_relaxed_madd(f32x4_splat(x), f32x4_splat(x), f32x4_splat(x))) }",
                "std::hint::black_box(unsafe { f(std::hint::black_box(row.cosine as f32)) })",
                "",
            ),
        ),
        (
            "threads of the processor",
            "does_not_compile",
            "",
            cell("", "unsafe { core::arch::wasm32::memory_atomic_wait32(std::ptr::null_mut(), 0, -1) }", ""),
        ),
    ]
}

/// Cells that compile, and are stopped while they run.
fn stopped_while_running() -> Vec<(&'static str, &'static str, &'static str, String)> {
    let row = |row: &str| cell("", row, "");
    let verdict = |verdict: &str| cell("", "", verdict);
    vec![
        ("a row without end", "out_of_fuel", "rows 1 to 3", row("loop {}")),
        ("a verdict without end", "out_of_fuel", "its verdict", verdict("loop {}")),
        (
            "a recursion without end",
            "over_limit",
            "its stack grew beyond 512 KiB",
            cell(
                "fn f(n: u64) -> u64 { if std::hint::black_box(n) == 0 { 0 } else { std::hint::black_box(f(n - 1)) + 1 } }",
                "std::hint::black_box(f(u64::MAX))",
                "",
            ),
        ),
        (
            "a recursion with a large frame",
            "trapped",
            "out of bounds",
            cell(
                "fn f(n: u64) -> u64 { let a = std::hint::black_box([n; 4096]); if n == 0 { 0 } else { std::hint::black_box(f(a[17] - 1)) + a[3] } }",
                "std::hint::black_box(f(u64::MAX))",
                "",
            ),
        ),
        ("a gigabyte at once", "over_limit", "256 allowed", row("std::hint::black_box(vec![1u8; 1 << 30])")),
        (
            "a gigabyte in pieces",
            "over_limit",
            "256 allowed",
            row("loop { std::mem::forget(std::hint::black_box(Vec::<u8>::with_capacity(1 << 20))) }"),
        ),
        (
            "memory by the page",
            "over_limit",
            "256 allowed",
            row(
                "while core::arch::wasm32::memory_grow::<0>(1) != usize::MAX {} loop { core::arch::wasm32::memory_grow::<0>(1); }",
            ),
        ),
        (
            "a panic with a message of a megabyte",
            "trapped",
            "it panicked",
            row("panic!(\"{}\", \"x\".repeat(1_000_000))"),
        ),
        (
            "an index beyond a list",
            "trapped",
            "it panicked",
            row("std::hint::black_box(vec![1u8; 3][std::hint::black_box(row.id.len() + 9)])"),
        ),
        (
            "a division by zero",
            "trapped",
            "it panicked",
            row("std::hint::black_box(1 / std::hint::black_box(row.id.len() - 1))"),
        ),
        (
            "a sum beyond its type",
            "trapped",
            "it panicked",
            row("std::hint::black_box(std::hint::black_box(u8::MAX) + row.id.len() as u8)"),
        ),
        (
            "a pointer out of the blue",
            "trapped",
            "out of bounds",
            row("std::hint::black_box(unsafe { *(0xffff_fff0u32 as *const u64) })"),
        ),
        (
            "a file to read",
            "trapped",
            "it panicked",
            row("std::hint::black_box(std::fs::read(\"/etc/passwd\").unwrap())"),
        ),
        (
            "a file to write",
            "trapped",
            "it panicked",
            row("std::fs::write(\"written-by-a-criterion\", \"x\").unwrap()"),
        ),
        (
            "a connection",
            "trapped",
            "it panicked",
            row("std::hint::black_box(std::net::TcpStream::connect(\"127.0.0.1:22\").unwrap())"),
        ),
        (
            "a process",
            "trapped",
            "it panicked",
            row("std::hint::black_box(std::process::Command::new(\"id\").output().unwrap())"),
        ),
        ("a thread", "trapped", "it panicked", row("std::thread::spawn(|| ()).join().unwrap()")),
        ("the clock", "trapped", "it panicked", row("std::hint::black_box(std::time::Instant::now())")),
        (
            "a variable of the environment",
            "trapped",
            "it panicked",
            row("std::hint::black_box(std::env::var(\"HOME\").unwrap())"),
        ),
        ("the end of the process", "trapped", "", row("std::process::exit(0)")),
        (
            "a value that is no number",
            "cannot_answer",
            "row `a` is not a number",
            row("state.least.add(f64::NAN, row.id)"),
        ),
        (
            "a figure that is no number",
            "cannot_answer",
            "`f` is NaN",
            verdict("return pass_if(true).figure(\"f\", \"u\", &f64::NAN)"),
        ),
        (
            "a figure that is infinite",
            "cannot_answer",
            "`f` is inf",
            verdict("return pass_if(true).figure(\"f\", \"u\", &f64::INFINITY)"),
        ),
        (
            "a comparison with what is no number",
            "cannot_answer",
            "no figure",
            verdict("return pass_if(!(f64::NAN > 1.0))"),
        ),
        (
            "a reason of a megabyte",
            "cannot_answer",
            "1048576 bytes of reason",
            verdict("return pass_if(true).figure(\"f\", \"u\", &1.0).because(\"x\".repeat(1 << 20))"),
        ),
        (
            "a reason of 100 megabytes",
            "over_limit",
            "its answer has more than 16 MiB",
            verdict("return pass_if(true).figure(\"f\", \"u\", &1.0).because(\"x\".repeat(100 << 20))"),
        ),
        (
            "5,000 figures",
            "cannot_answer",
            "5000 figures; the limit is 64",
            verdict(
                "let mut a = pass_if(true); for i in 0..5_000 { a = a.figure(&i.to_string(), \"u\", &1.0); } return a",
            ),
        ),
        (
            "a million figures",
            "over_limit",
            "",
            verdict("let mut a = pass_if(true); for _ in 0..1_000_000 { a = a.figure(\"\", \"\", &1.0); } return a"),
        ),
        (
            "a figure of 100,000 rows",
            "cannot_answer",
            "100000 rows behind one figure",
            cell(SHOWN, "", "return pass_if(true).figure(\"f\", \"u\", &Many(100_000, 1.0))"),
        ),
        (
            "a worst row that is no number",
            "cannot_answer",
            "has no number",
            cell(SHOWN, "", "return pass_if(true).figure(\"f\", \"u\", &Many(3, f64::NAN))"),
        ),
        (
            "a state of 100 megabytes",
            "over_limit",
            "giving its state",
            accumulator("into.resize(100 << 20, 1)", "Ok(())"),
        ),
        ("a merge that panics", "trapped", "merging states", accumulator("into.push(1)", "let _ = from; panic!()")),
        (
            "a merge that does not end",
            "out_of_fuel",
            "merging states",
            accumulator("into.push(1)", "let _ = from; loop {}"),
        ),
        (
            "a merge that complains at length",
            "cannot_answer",
            "bytes)",
            accumulator("into.push(1)", "let _ = from; Err(\"\\u{1b}[2J\".repeat(1 << 20))"),
        ),
    ]
}

fn judge(cases: Vec<(&'static str, &'static str, &'static str, String)>, what: &str, at_least: usize) {
    let cache = PathBuf::from(std::env::var_os("FASCICOLO_CACHE").unwrap());
    let toolchain = Toolchain::prepare(&cache, &|_| {}).unwrap();
    let mut court = Court::new();
    for (name, kind, says, source) in cases {
        court.judge(&Attack::new(name, kind, says), |host| {
            let compiled = compile::compile(&toolchain, "attack", &source, &|| false)?;
            run(host, "attack", &compiled.component, &[])
        });
    }
    court.close(what, at_least);
}

#[test]
fn a_cell_that_reads_files_deceives_or_floods_is_refused_before_it_is_compiled() {
    if alone("cells::a_cell_that_reads_files_deceives_or_floods_is_refused_before_it_is_compiled") {
        judge(refused_as_they_stand(), "cells refused as they stand", 15);
    }
}

#[test]
fn a_cell_that_attacks_the_compiler_is_stopped_with_it() {
    if alone("cells::a_cell_that_attacks_the_compiler_is_stopped_with_it") {
        judge(stopped_while_compiling(), "cells stopped while compiling", 20);
    }
}

#[test]
fn a_cell_that_attacks_its_host_is_stopped_while_it_runs() {
    if alone("cells::a_cell_that_attacks_its_host_is_stopped_while_it_runs") {
        judge(stopped_while_running(), "cells stopped while running", 30);
    }
}

#[test]
fn a_flood_of_errors_is_shown_by_its_first_ones() {
    let cache = std::env::temp_dir().join(format!("fascicolo-test-flood-{}", std::process::id()));
    let toolchain = Toolchain::prepare(&cache, &|_| {}).unwrap();
    for source in ["const _: U = x;\n".repeat(500), format!("compile_error!(\"{}\");", "e".repeat(100_000))] {
        match compile::compile(&toolchain, "flood", &cell(&source, "", ""), &|| false) {
            Err(CriterionError::DoesNotCompile { diagnostics, .. }) => {
                let bytes: usize = diagnostics.iter().map(|d| d.rendered.len() + d.message.len()).sum();
                assert!((1..=20).contains(&diagnostics.len()) && bytes < 200_000, "{}, {bytes}", diagnostics.len());
                assert_eq!(diagnostics[0].line, 1);
            }
            other => panic!("{other:?}"),
        }
    }
    std::fs::remove_dir_all(cache).unwrap();
}
