//! Which line of its cell an instruction came from.
//!
//! The compiler's own tables (DWARF) fill 1.6 MB, nearly all of it about the standard library. What a trap needs is much
//! less: for each place in the code the line of the cell that it stems from, through whatever was inlined there. That is
//! kept in a section of a few KB, which travels in the component like its code.

use crate::error::CriterionError;
use crate::words::plain;
use gimli::{EndianSlice, LittleEndian};
use std::collections::{BTreeSet, HashMap};
use wasmparser::{Parser, Payload};

/// Name of the section: pairs of (bytes since the last place in the code section's content, line), both LEB128; line 0 is
/// code of no line of the cell.
const SECTION: &str = "fascicolo:lines";
/// What follows so closely belongs to the same statement.
const NEAR_BYTES: u64 = 64;
/// Stretches of code that a cell can have; a large one has some thousand.
const MOST_STRETCHES: usize = 1 << 18;
/// Lines of a cell are at most the bytes of one.
const MOST_LINES: u64 = crate::gate::SOURCE_BYTES as u64;

/// Takes a module's DWARF out and puts the lines of `file`, the cell, in its place.
///
/// A line that only begins a macro (`criterion! {`) says nothing of the place inside, and is left out.
///
/// # Errors
/// [`CriterionError::NotAComponent`] for bytes that are no module. Tables that cannot be read leave a module without lines.
pub fn keep(name: &str, module: &[u8], file: &str, source: &str) -> Result<Vec<u8>, CriterionError> {
    let mut tables: HashMap<&str, &[u8]> = HashMap::new();
    let mut kept = Vec::with_capacity(module.len() / 4);
    let mut copied = 0;
    for payload in Parser::new(0).parse_all(module) {
        let payload =
            payload.map_err(|e| CriterionError::NotAComponent { name: name.to_owned(), why: plain(&e.to_string()) })?;
        let Payload::CustomSection(section) = payload else { continue };
        if section.name().starts_with(".debug") {
            tables.insert(section.name(), section.data());
        } else if section.name() != SECTION {
            continue;
        }
        // A section begins with its number, one byte, and its size, padded to 5 bytes by the linker or not.
        let range = section.range();
        let start = start_of_section(module, range.start);
        kept.extend_from_slice(&module[copied..start]);
        copied = range.end;
    }
    kept.extend_from_slice(&module[copied..]);
    let mut content = Vec::new();
    put(&mut content, SECTION.len() as u64);
    content.extend_from_slice(SECTION.as_bytes());
    let before = content.len();
    let mut last = 0;
    let opens = |line: u64| {
        let text = source.lines().nth((line as usize).saturating_sub(1)).unwrap_or_default().trim();
        text.strip_suffix(['{', '(', '[']).is_some_and(|text| text.trim_end().ends_with('!'))
    };
    for (place, line) in lines(&tables, file, &opens).unwrap_or_default() {
        put(&mut content, place - last);
        put(&mut content, line);
        last = place;
    }
    if content.len() > before {
        kept.push(0);
        put(&mut kept, content.len() as u64);
        kept.extend_from_slice(&content);
    }
    Ok(kept)
}

/// Where a custom section begins whose content does at `content`: its size stands before, and before that a 0.
fn start_of_section(module: &[u8], content: usize) -> usize {
    // Of LEB128 the last byte alone is below 128.
    let mut start = content - 1;
    while start > 0 && module[start - 1] >= 0x80 && content - start < 5 {
        start -= 1;
    }
    start.saturating_sub(1)
}

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// Code that stems from one line: its own, or that of a call of what was inlined there.
struct Stretch {
    start: u64,
    end: u64,
    /// How deep the call is inside others; the code's own line is the innermost.
    depth: isize,
    line: u64,
}

/// Every place in the code where the line changes, ascending; addresses of DWARF count from the code section's content.
///
/// Walks without recursion: a cell may write tables of its own, nested as deep as it likes.
fn lines(
    tables: &HashMap<&str, &[u8]>,
    file: &str,
    opens: &dyn Fn(u64) -> bool,
) -> Result<Vec<(u64, u64)>, gimli::Error> {
    let dwarf = gimli::Dwarf::load(|id: gimli::SectionId| -> Result<Slice<'_>, gimli::Error> {
        Ok(EndianSlice::new(tables.get(id.name()).copied().unwrap_or_default(), LittleEndian))
    })?;
    let mut found: Vec<Stretch> = Vec::new();
    let mut units = dwarf.units();
    while let Some(header) = units.next()? {
        // Tables that a cell wrote itself may multiply: many calls that share one long list of ranges.
        if found.len() > MOST_STRETCHES {
            return Ok(Vec::new());
        }
        let unit = dwarf.unit(header)?;
        // The compiler names a unit after the file of its crate.
        let of_cell = unit.name.is_some_and(|name| name.slice().starts_with(file.as_bytes()));
        let Some(program) = unit.line_program.clone().filter(|_| of_cell) else { continue };
        let is_cell = |index: u64| -> Result<bool, gimli::Error> {
            let Some(entry) = program.header().file(index) else { return Ok(false) };
            Ok(dwarf.attr_string(&unit, entry.path_name())?.slice() == file.as_bytes())
        };
        let mut cell_files = HashMap::new();
        let mut in_cell = |index: u64| -> Result<bool, gimli::Error> {
            if let Some(known) = cell_files.get(&index) {
                return Ok(*known);
            }
            let known = is_cell(index)?;
            cell_files.insert(index, known);
            Ok(known)
        };
        let mut rows = program.clone().rows();
        let mut open: Option<(u64, u64)> = None;
        while let Some((_, row)) = rows.next_row()? {
            let before = open.take();
            if let Some((start, line)) = before.filter(|(_, line)| *line > 0) {
                found.push(Stretch { start, end: row.address(), depth: isize::MAX, line });
            }
            if found.len() > MOST_STRETCHES {
                return Ok(Vec::new());
            }
            if !row.end_sequence() {
                // Code of no line, such as the jump back of a loop, belongs to what stands before it.
                let line = match row.line() {
                    None => before.map_or(0, |(_, line)| line),
                    Some(line) if in_cell(row.file_index())? => line.get(),
                    Some(_) => 0,
                };
                open = Some((row.address(), line));
            }
        }
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            if entry.tag() != gimli::DW_TAG_inlined_subroutine {
                continue;
            }
            let number = |name| entry.attr_value(name).and_then(|value| value.udata_value());
            let (Some(call_file), Some(line)) =
                (entry.attr_value(gimli::DW_AT_call_file), number(gimli::DW_AT_call_line))
            else {
                continue;
            };
            let index = match call_file {
                gimli::AttributeValue::FileIndex(index) => index,
                other => other.udata_value().unwrap_or(u64::MAX),
            };
            if line == 0 || !in_cell(index)? {
                continue;
            }
            let mut ranges = dwarf.die_ranges(&unit, entry)?;
            while let Some(range) = ranges.next()? {
                if found.len() > MOST_STRETCHES {
                    return Ok(Vec::new());
                }
                found.push(Stretch { start: range.begin, end: range.end, depth: entry.depth(), line });
            }
        }
    }
    let mut opening = HashMap::new();
    found.retain(|stretch| !*opening.entry(stretch.line).or_insert_with(|| opens(stretch.line)));
    Ok(innermost(found))
}

/// The line of each place: that of the innermost stretch around it.
fn innermost(mut found: Vec<Stretch>) -> Vec<(u64, u64)> {
    // A function that the linker dropped stands at an address that no code has.
    found.retain(|stretch| stretch.start < stretch.end && stretch.end < u64::from(u32::MAX) - 1);
    let mut borders: Vec<(u64, bool, usize)> = Vec::with_capacity(2 * found.len());
    for (i, stretch) in found.iter().enumerate() {
        borders.push((stretch.start, true, i));
        borders.push((stretch.end, false, i));
    }
    borders.sort_unstable();
    let mut around: BTreeSet<(isize, usize)> = BTreeSet::new();
    let mut changes: Vec<(u64, u64)> = Vec::new();
    for (place, begins, i) in borders {
        let key = (found[i].depth, i);
        if begins {
            around.insert(key);
        } else {
            around.remove(&key);
        }
        let line = around.last().map_or(0, |(_, i)| found[*i].line);
        match changes.last_mut() {
            Some(last) if last.0 == place => last.1 = line,
            _ => changes.push((place, line)),
        }
    }
    changes.dedup_by(|later, earlier| later.1 == earlier.1);
    changes
}

/// The lines of a component's code.
#[derive(Debug, Clone, Default)]
pub struct Lines(Vec<(u64, u64)>);

impl Lines {
    /// Reads them from a component; none where it has none, or broken ones: whatever a stranger wrote there, it is at
    /// worst a wrong line.
    pub fn of(component: &[u8]) -> Lines {
        let mut code = 0;
        for payload in Parser::new(0).parse_all(component) {
            match payload {
                Ok(Payload::CodeSectionStart { range, .. }) => code = range.start as u64,
                Ok(Payload::CustomSection(section)) if section.name() == SECTION => {
                    return Lines(read(section.data(), code).unwrap_or_default());
                }
                Ok(_) => {}
                Err(_) => break,
            }
        }
        Lines::default()
    }

    /// The line of the instruction at `offset` bytes from the component's beginning. The head of a loop, which is where fuel
    /// runs out, often is code of no line: then it is that of what follows at
    /// once, or of what stands before.
    pub fn at(&self, offset: u64) -> Option<u32> {
        let after = self.0.partition_point(|(place, _)| *place <= offset);
        let here = after.checked_sub(1)?;
        let known = |i: usize| self.0.get(i).filter(|(place, line)| *line > 0 && place.abs_diff(offset) <= NEAR_BYTES);
        let (_, own) = self.0.get(here)?;
        let line = match *own {
            0 => known(after).or_else(|| here.checked_sub(1).and_then(known)).map(|(_, line)| *line)?,
            own => own,
        };
        u32::try_from(line).ok().filter(|line| *line > 0)
    }
}

fn read(mut bytes: &[u8], code: u64) -> Option<Vec<(u64, u64)>> {
    let mut changes = Vec::new();
    let mut place = code;
    while !bytes.is_empty() {
        place = place.checked_add(take(&mut bytes)?)?;
        let line = take(&mut bytes)?;
        changes.push((place, if line <= MOST_LINES { line } else { return None }));
    }
    Some(changes)
}

fn put(into: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..63).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if *first < 0x80 {
            return Some(number);
        }
    }
    None
}
