//! What a component's bytes give away before anything of it is compiled: what it imports, and how large it is.
//!
//! Cranelift's time and memory follow from the number and size of functions and from the loops in them, so these are
//! bounded first, by figures that no criterion written for the purpose comes near: the standard ones have 165 functions
//! of at most 6 KB, 70 KB in all.

use crate::error::CriterionError;
use crate::words::plain;
use wasmparser::{Encoding, FunctionBody, Operator, Parser, Payload};

/// Bytes of a component.
pub const COMPONENT_BYTES: usize = 16 << 20;
/// Core modules and inner components.
pub const MODULES: usize = 64;
/// Functions of all its modules together.
pub const FUNCTIONS: usize = 5_000;
/// Bytes of one function.
pub const FUNCTION_BYTES: usize = 64 << 10;
/// Local variables of one function.
pub const LOCALS: u64 = 5_000;
/// Bytes of all functions together.
pub const CODE_BYTES: usize = 2 << 20;
/// Loops in all functions together: the compiler's time grows faster than their number.
pub const LOOPS: usize = 5_000;
/// Loops inside each other: at some thousand, the compiler takes minutes.
pub const LOOP_DEPTH: usize = 64;
/// Bytes of sections that are not executed: names, and what tools write about themselves.
pub const CUSTOM_BYTES: usize = 4 << 20;

#[derive(Default)]
struct Size {
    modules: usize,
    functions: usize,
    code: usize,
    loops: usize,
    custom: usize,
}

/// Refuses what is no component, imports anything, or is larger than a criterion can need.
pub fn component(name: &str, bytes: &[u8]) -> Result<(), CriterionError> {
    let not = |why: String| CriterionError::NotAComponent { name: name.to_owned(), why: plain(&why) };
    limit(name, bytes.len(), COMPONENT_BYTES, "bytes")?;
    if !bytes.starts_with(b"\0asm") {
        return Err(not("it does not begin as WebAssembly does".into()));
    }
    let mut size = Size::default();
    let mut depth = 0_usize;
    let mut imports = Vec::new();
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload.map_err(|e| not(e.to_string()))?;
        size.add(name, &payload)?;
        match payload {
            Payload::Version { encoding: Encoding::Module, .. } if depth == 0 => {
                return Err(not("it is a core module, not yet wrapped into a component".into()));
            }
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    let import = import.map_err(|e| not(e.to_string()))?;
                    imports.push(plain(import.name.name));
                }
            }
            _ => {}
        }
    }
    no_imports(name, &imports)
}

/// Refuses a core module from the compiler that imports anything: componentisation would only say that it knows no
/// such interface.
pub fn module(name: &str, bytes: &[u8]) -> Result<(), CriterionError> {
    let not = |why: String| CriterionError::NotAComponent { name: name.to_owned(), why: plain(&why) };
    let mut size = Size::default();
    let mut imports = Vec::new();
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload.map_err(|e| not(e.to_string()))?;
        size.add(name, &payload)?;
        if let Payload::ImportSection(section) = payload {
            for import in section.into_imports() {
                let import = import.map_err(|e| not(e.to_string()))?;
                imports.push(format!("{} from {}", plain(import.name), plain(import.module)));
            }
        }
    }
    no_imports(name, &imports)
}

impl Size {
    fn add(&mut self, name: &str, payload: &Payload<'_>) -> Result<(), CriterionError> {
        match payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => {
                self.modules += 1;
                limit(name, self.modules, MODULES, "modules")
            }
            Payload::CodeSectionStart { count, .. } => {
                self.functions = self.functions.saturating_add(*count as usize);
                limit(name, self.functions, FUNCTIONS, "functions")
            }
            Payload::CodeSectionEntry(body) => {
                let bytes = body.range().len();
                self.code += bytes;
                limit(name, bytes, FUNCTION_BYTES, "bytes in one function")?;
                limit(name, self.code, CODE_BYTES, "bytes of code")?;
                let mut locals = 0_u64;
                for local in body.get_locals_reader().into_iter().flatten() {
                    // A broken declaration is the validator's to explain.
                    locals += local.map_or(0, |(count, _)| u64::from(count));
                }
                limit(name, locals as usize, LOCALS as usize, "local variables in one function")?;
                let (loops, depth) = loops(body);
                self.loops += loops;
                limit(name, self.loops, LOOPS, "loops")?;
                limit(name, depth, LOOP_DEPTH, "loops inside each other")
            }
            Payload::CustomSection(section) => {
                self.custom += section.data().len();
                limit(name, self.custom, CUSTOM_BYTES, "bytes beside its code and data")
            }
            _ => Ok(()),
        }
    }
}

/// How many loops a function has, and how many at most inside each other.
fn loops(body: &FunctionBody<'_>) -> (usize, usize) {
    let (mut loops, mut depth, mut deepest) = (0, 0, 0);
    // For each construct that is open: whether it is a loop.
    let mut open = Vec::new();
    // Broken instructions are the validator's to explain.
    for operator in body.get_operators_reader().into_iter().flatten().map_while(Result::ok) {
        match operator {
            Operator::Loop { .. } => {
                loops += 1;
                depth += 1;
                deepest = deepest.max(depth);
                open.push(true);
            }
            Operator::Block { .. } | Operator::If { .. } | Operator::TryTable { .. } | Operator::Try { .. } => {
                open.push(false);
            }
            Operator::End => depth -= usize::from(open.pop().unwrap_or(false)),
            _ => {}
        }
    }
    (loops, deepest)
}

fn limit(name: &str, has: usize, most: usize, what: &str) -> Result<(), CriterionError> {
    if has <= most {
        return Ok(());
    }
    Err(CriterionError::TooLarge { name: name.to_owned(), what: format!("it has {has} {what}; the limit is {most}") })
}

fn no_imports(name: &str, imports: &[String]) -> Result<(), CriterionError> {
    /// Imports that a message names.
    const NAMED: usize = 5;
    if imports.is_empty() {
        return Ok(());
    }
    let mut named: Vec<String> = imports.iter().take(NAMED).map(|import| format!("`{import}`")).collect();
    if imports.len() > NAMED {
        named.push(format!("and {} more", imports.len() - NAMED));
    }
    Err(CriterionError::Imports { name: name.to_owned(), imports: named.join(", ") })
}
