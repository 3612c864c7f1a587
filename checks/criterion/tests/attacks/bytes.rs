//! Components too large, too deep or too broken to be written as text.

use super::{Attack, Court, alone, module, run};
use fascicolo_criterion::{CriterionError, inspect, standard};
use wasm_encoder::{
    CodeSection, Component, ComponentImportSection, ComponentTypeRef, ComponentTypeSection, CustomSection, Encode,
    Function, FunctionSection, InstanceSection, Instruction, Module, ModuleArg, ModuleSection, NestedComponentSection,
    TypeSection, ValType,
};

/// A component that holds one core module of these functions, each without parameters and results.
fn holding(functions: impl IntoIterator<Item = Function>) -> Vec<u8> {
    let (mut types, mut declared, mut code) = (TypeSection::new(), FunctionSection::new(), CodeSection::new());
    types.ty().function([], []);
    for function in functions {
        declared.function(0);
        code.function(&function);
    }
    let mut module = Module::new();
    module.section(&types).section(&declared).section(&code);
    let mut component = Component::new();
    component.section(&ModuleSection(&module));
    component.finish()
}

fn function(locals: u32, instructions: impl IntoIterator<Item = Instruction<'static>>) -> Function {
    let mut function = Function::new((locals > 0).then_some((locals, ValType::I32)));
    instructions.into_iter().for_each(|instruction| {
        function.instruction(&instruction);
    });
    function.instruction(&Instruction::End);
    function
}

/// The honest component with more sections behind its own.
fn honest_and(sections: &[&dyn Appended]) -> Vec<u8> {
    let mut bytes = module::honest();
    sections.iter().for_each(|section| section.append(&mut bytes));
    bytes
}

trait Appended {
    fn append(&self, to: &mut Vec<u8>);
}

impl<T: wasm_encoder::ComponentSection> Appended for T {
    fn append(&self, to: &mut Vec<u8>) {
        to.push(self.id());
        self.encode(to);
    }
}

/// Core modules that a component holds at its outermost level.
fn modules_of(component: &[u8]) -> u32 {
    let mut depth = 0;
    let mut modules = 0;
    for payload in wasmparser::Parser::new(0).parse_all(component) {
        match payload.unwrap() {
            wasmparser::Payload::ModuleSection { .. } => {
                modules += u32::from(depth == 0);
                depth += 1;
            }
            wasmparser::Payload::ComponentSection { .. } => depth += 1,
            wasmparser::Payload::End(_) => depth -= 1,
            _ => {}
        }
    }
    modules
}

/// An honest component in which `count` instances of `text` are made besides.
fn with_instances(text: &str, count: u32) -> Vec<u8> {
    honest_with(&wat::parse_str(text).unwrap(), count)
}

/// An honest component in which `count` instances of a core module are made besides.
pub fn honest_with(inner: &[u8], count: u32) -> Vec<u8> {
    let index = modules_of(&module::honest());
    let mut instances = InstanceSection::new();
    for _ in 0..count {
        instances.instantiate(index, Vec::<(&str, ModuleArg)>::new());
    }
    let mut bytes = module::honest();
    bytes.push(1);
    inner.encode(&mut bytes);
    instances.append(&mut bytes);
    bytes
}

fn nested(depth: usize) -> Vec<u8> {
    (0..depth)
        .fold(Component::new(), |inner, _| {
            let mut outer = Component::new();
            outer.section(&NestedComponentSection(&inner));
            outer
        })
        .finish()
}

fn beside(count: usize) -> Vec<u8> {
    let mut component = Component::new();
    for _ in 0..count {
        component.section(&ModuleSection(&Module::new()));
    }
    component.finish()
}

fn imports(count: usize, name: impl Fn(usize) -> String) -> Vec<u8> {
    let mut types = ComponentTypeSection::new();
    types.function().params(Vec::<(&str, wasm_encoder::ComponentValType)>::new()).result(None);
    let mut imports = ComponentImportSection::new();
    for i in 0..count {
        imports.import(name(i).as_str(), ComponentTypeRef::Func(0));
    }
    let mut component = Component::new();
    component.section(&types).section(&imports);
    component.finish()
}

fn custom(bytes: usize) -> Vec<u8> {
    honest_and(&[&CustomSection { name: "padding".into(), data: vec![0; bytes].into() }])
}

fn repeated(times: usize, instructions: &[Instruction<'static>]) -> Function {
    function(1, std::iter::repeat_n(instructions, times).flatten().cloned())
}

#[test]
fn what_is_too_large_too_deep_or_too_broken_is_refused_by_its_own_figure() {
    if !alone("bytes::what_is_too_large_too_deep_or_too_broken_is_refused_by_its_own_figure") {
        return;
    }
    use Instruction::{Block, Br, Loop};
    let empty = wasm_encoder::BlockType::Empty;
    let cases: Vec<(&str, &str, &str, Vec<u8>)> = vec![
        ("nothing", "not_a_component", "does not begin as WebAssembly does", Vec::new()),
        ("a text", "not_a_component", "does not begin as WebAssembly does", b"hello".to_vec()),
        ("a header alone, cut", "not_a_component", "unexpected end", b"\0asm\x0d".to_vec()),
        ("a version of tomorrow", "not_a_component", "unknown", b"\0asm\x0e\0\x01\0".to_vec()),
        ("a layer of tomorrow", "not_a_component", "unknown", b"\0asm\x0d\0\x07\0".to_vec()),
        ("an ELF program", "not_a_component", "does not begin", b"\x7fELF\x02\x01\x01".to_vec()),
        (
            "100,000 functions",
            "too_large",
            "100000 functions; the limit is 5000",
            holding((0..100_000).map(|_| function(0, []))),
        ),
        (
            "a function of a megabyte",
            "too_large",
            "bytes in one function; the limit is 65536",
            holding([repeated(1 << 20, &[Instruction::Nop])]),
        ),
        (
            "3 megabytes of code",
            "too_large",
            "bytes of code; the limit is 2097152",
            holding((0..50).map(|_| repeated(60_000, &[Instruction::Nop]))),
        ),
        (
            "50,000 local variables",
            "too_large",
            "50000 local variables in one function; the limit is 5000",
            holding([function(50_000, [])]),
        ),
        (
            "4 billion local variables",
            "too_large",
            "local variables in one function; the limit is 5000",
            holding([function(u32::MAX, [])]),
        ),
        ("a section of 100 megabytes", "too_large", "bytes; the limit is 16777216", custom(100 << 20)),
        (
            "a section of 5 megabytes",
            "too_large",
            "bytes beside its code and data; the limit is 4194304",
            custom(5 << 20),
        ),
        ("1,000 components in each other", "too_large", "65 modules; the limit is 64", nested(1_000)),
        ("100,000 empty modules", "too_large", "65 modules; the limit is 64", beside(100_000)),
        ("10,000 imports", "imports", "`import-4`, and 9995 more", imports(10_000, |i| format!("import-{i}"))),
        (
            "an import with a name of 90,000 bytes",
            "imports",
            "… (90000 bytes)",
            imports(1, |_| format!("a{}", "b".repeat(89_999))),
        ),
        (
            "an import whose name steers the terminal",
            "imports",
            r"\u{1b}[2J\u{202e}",
            imports(1, |_| "\u{1b}[2J\u{202e}".to_owned()),
        ),
        (
            "500 instances",
            "over_limit",
            "more than 64 core instances, memories or tables",
            with_instances("(module)", 500),
        ),
        (
            "65 instances with a memory each",
            "over_limit",
            "more than 64 core instances, memories or tables",
            with_instances("(module (memory 1))", 65),
        ),
        (
            "40 memories of 10 megabytes",
            "over_limit",
            "MiB of memory asked for, 256 allowed",
            with_instances("(module (memory 160))", 40),
        ),
        (
            "an inner instance that loops while it starts",
            "out_of_fuel",
            "describing itself",
            with_instances("(module (func $f (loop (br 0))) (start $f))", 1),
        ),
        // Large, but no larger than allowed: compiled in time, and then refused for what they are not.
        (
            "blocks 20,000 deep",
            "other_contract",
            "does not export",
            holding([function(
                0,
                std::iter::repeat_n(Block(empty), 20_000).chain(std::iter::repeat_n(Instruction::End, 20_000)),
            )]),
        ),
        (
            "5,001 loops",
            "too_large",
            "5001 loops; the limit is 5000",
            holding([repeated(5_001, &[Loop(empty), Instruction::End])]),
        ),
        (
            "5,000 loops beside each other",
            "other_contract",
            "does not export",
            holding([repeated(5_000, &[Loop(empty), Instruction::End])]),
        ),
        (
            "5,000 loops inside each other",
            "too_large",
            "5000 loops inside each other; the limit is 64",
            holding([function(
                1,
                std::iter::repeat_n(Loop(empty), 5_000)
                    .chain((0..5_000).flat_map(|_| [Instruction::LocalGet(0), Instruction::BrIf(0), Instruction::End])),
            )]),
        ),
        (
            "78 times 64 loops inside each other",
            "other_contract",
            "does not export",
            holding([function(
                1,
                (0..78).flat_map(|_| {
                    std::iter::repeat_n(Loop(empty), 64)
                        .chain((0..64).flat_map(|_| [Instruction::LocalGet(0), Instruction::BrIf(0), Instruction::End]))
                }),
            )]),
        ),
        (
            "a chain of 7,000 sums",
            "other_contract",
            "does not export",
            holding([repeated(
                7_000,
                &[Instruction::LocalGet(0), Instruction::I32Const(1), Instruction::I32Add, Instruction::LocalSet(0)],
            )]),
        ),
        (
            "7,000 branches out of 7,000 blocks",
            "other_contract",
            "does not export",
            holding([function(
                1,
                std::iter::repeat_n(Block(empty), 7_000)
                    .chain(
                        (0..7_000)
                            .flat_map(|i| [Instruction::LocalGet(0), Instruction::BrIf(6_999 - i), Instruction::End]),
                    )
                    .chain([Block(empty), Br(0), Instruction::End]),
            )]),
        ),
        ("5,000 empty functions", "other_contract", "does not export", holding((0..5_000).map(|_| function(0, [])))),
    ];
    let mut court = Court::new();
    for (name, kind, says, bytes) in cases {
        court.judge(&Attack::new(name, kind, says), |host| run(host, "attack", &bytes, &[]));
    }
    court.close("components made of bytes", 25);
}

#[test]
fn a_component_cut_at_or_beside_any_border_of_its_sections_is_refused() {
    let court = Court::new();
    for (whole, given) in
        [(standard::find("cosine").unwrap().component.to_vec(), vec![("floor", 0.5)]), (module::honest(), Vec::new())]
    {
        let mut borders = Vec::new();
        for payload in wasmparser::Parser::new(0).parse_all(&whole) {
            borders
                .extend(payload.unwrap().as_section().map(|(_, range)| [range.start, range.end]).into_iter().flatten());
        }
        let cuts: std::collections::BTreeSet<usize> =
            borders.iter().flat_map(|&at| [at.saturating_sub(1), at, at + 1]).filter(|&at| at < whole.len()).collect();
        assert!(cuts.len() > 30, "{}", cuts.len());
        for cut in cuts {
            let ended = run(&court.host, "cut", &whole[..cut], &given);
            // What ends between two sections is whole, but no criterion.
            match ended {
                Err(CriterionError::NotAComponent { .. } | CriterionError::OtherContract { .. }) => {}
                // Only names and notes of tools lie behind what is exported.
                Ok(_) if exports_before(&whole, cut) => {}
                other => panic!("cut at {cut} of {}: {other:?}", whole.len()),
            }
        }
    }
    court.honest_as_ever("components cut into pieces");
}

/// Whether the outermost export of a component lies before `cut`, so that only custom sections were cut off.
fn exports_before(component: &[u8], cut: usize) -> bool {
    let mut depth = 0;
    let mut end = usize::MAX;
    for payload in wasmparser::Parser::new(0).parse_all(component) {
        match payload.unwrap() {
            wasmparser::Payload::ModuleSection { .. } | wasmparser::Payload::ComponentSection { .. } => depth += 1,
            wasmparser::Payload::End(_) => depth -= 1,
            wasmparser::Payload::ComponentExportSection(section) if depth == 0 => end = section.range().end,
            _ => {}
        }
    }
    end <= cut
}

#[test]
fn the_standard_criteria_are_far_below_every_limit_of_size() {
    for criterion in standard::STANDARD {
        let (mut functions, mut largest, mut code) = (0, 0, 0);
        for payload in wasmparser::Parser::new(0).parse_all(criterion.component) {
            if let wasmparser::Payload::CodeSectionEntry(body) = payload.unwrap() {
                functions += 1;
                largest = largest.max(body.range().len());
                code += body.range().len();
            }
        }
        println!("shown: {}: {functions} functions, the largest of {largest} bytes, {code} in all", criterion.name);
        assert!(functions * 10 < inspect::FUNCTIONS && code * 10 < inspect::CODE_BYTES);
        assert!(largest * 4 < inspect::FUNCTION_BYTES && criterion.component.len() * 10 < inspect::COMPONENT_BYTES);
    }
}
