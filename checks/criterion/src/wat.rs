//! A cell in WebAssembly's own text → a component: a whole `(component …)`, or a `(module …)` that exports the contract's
//! functions as the component model flattens them, which is then wrapped.

use crate::diagnostic;
use crate::error::CriterionError;
use crate::{compile, gate, inspect};
use wasmparser::{Parser, Payload, Validator};
use wast::Wat;
use wast::component::{ComponentField, ComponentKind, CoreModuleKind, NestedComponentKind};
use wast::core::{FuncKind, ModuleField, ModuleKind};
use wast::parser::{self, ParseBuffer};
use wast::token::Span;
use wit_component::{StringEncoding, embed_component_metadata};

const CONTRACT: &str = include_str!("../../../wasm-checks/wit/criterion.wit");

/// Assembles `source` into a component.
///
/// # Errors
/// [`CriterionError::DoesNotCompile`] with the line of the cell, be it that the text cannot be read or that what it says
/// is no valid WebAssembly; and what is refused of any component.
pub fn assemble(name: &str, source: &str) -> Result<Vec<u8>, CriterionError> {
    compile::check_name(name)?;
    gate::text(name, source)?;
    let wrong = |place: (u32, u32), message: &str| CriterionError::DoesNotCompile {
        name: name.to_owned(),
        diagnostics: vec![diagnostic::at(&format!("{name}.wat"), source, place, message)],
    };
    let unreadable = |error: wast::Error| wrong(place(error.span(), source), &error.message());
    let mut buffer = ParseBuffer::new(source).map_err(unreadable)?;
    buffer.track_instr_spans(true);
    let mut text: Wat<'_> = parser::parse(&buffer).map_err(unreadable)?;
    let bytes = text.encode().map_err(unreadable)?;
    let is_module = matches!(text, Wat::Module(_));
    if is_module { inspect::module(name, &bytes) } else { inspect::component(name, &bytes) }?;
    if let Err(error) = Validator::new().validate_all(&bytes) {
        let span = instruction_at(&bytes, error.offset()).and_then(|(function, instruction)| {
            let spans = functions(&text);
            // Behind the last instruction lies the function's end, which has no place of its own.
            let of = spans.get(function)?;
            of.get(instruction).or(of.last()).copied()
        });
        return Err(wrong(span.map_or((0, 0), |span| place(span, source)), error.message()));
    }
    if is_module { wrapped(name, bytes) } else { Ok(bytes) }
}

/// The component around a module that exports the contract's functions.
fn wrapped(name: &str, mut module: Vec<u8>) -> Result<Vec<u8>, CriterionError> {
    let ours = |error: &dyn std::fmt::Display| CriterionError::Runtime { why: format!("the contract: {error:#}") };
    let mut resolve = wit_parser::Resolve::default();
    let package = resolve.push_str("criterion.wit", CONTRACT).map_err(|e| ours(&e))?;
    let world = resolve.select_world(&[package], Some("check")).map_err(|e| ours(&e))?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).map_err(|e| ours(&e))?;
    compile::componentize(name, &module)
}

/// Line and column, from 1.
fn place(span: Span, source: &str) -> (u32, u32) {
    let (line, column) = span.linecol_in(source);
    (line as u32 + 1, column as u32 + 1)
}

/// Which function with a body, counted over all modules, and which of its instructions lies at a byte of the binary.
fn instruction_at(bytes: &[u8], offset: usize) -> Option<(usize, usize)> {
    let mut function = 0;
    for payload in Parser::new(0).parse_all(bytes).map_while(Result::ok) {
        let Payload::CodeSectionEntry(body) = payload else { continue };
        if body.range().contains(&offset) {
            let operators = body.get_operators_reader().ok()?.into_iter_with_offsets().map_while(Result::ok);
            let instruction = operators.take_while(|(_, at)| *at <= offset).count();
            return Some((function, instruction.saturating_sub(1)));
        }
        function += 1;
    }
    None
}

/// Where each instruction of each function stands in the text, in the order of the binary.
fn functions(text: &Wat<'_>) -> Vec<Vec<Span>> {
    let mut spans = Vec::new();
    match text {
        Wat::Module(module) => {
            if let ModuleKind::Text(fields) = &module.kind {
                of_module(fields, &mut spans);
            }
        }
        Wat::Component(component) => {
            if let ComponentKind::Text(fields) = &component.kind {
                of_component(fields, &mut spans);
            }
        }
    }
    spans
}

fn of_component(fields: &[ComponentField<'_>], spans: &mut Vec<Vec<Span>>) {
    for field in fields {
        match field {
            ComponentField::CoreModule(module) => {
                if let CoreModuleKind::Inline { fields } = &module.kind {
                    of_module(fields, spans);
                }
            }
            ComponentField::Component(nested) => {
                if let NestedComponentKind::Inline(fields) = &nested.kind {
                    of_component(fields, spans);
                }
            }
            _ => {}
        }
    }
}

fn of_module(fields: &[ModuleField<'_>], spans: &mut Vec<Vec<Span>>) {
    for field in fields {
        if let ModuleField::Func(function) = field
            && let FuncKind::Inline { expression, .. } = &function.kind
        {
            spans.push(expression.instr_spans.as_ref().map(|spans| spans.to_vec()).unwrap_or_default());
        }
    }
}
