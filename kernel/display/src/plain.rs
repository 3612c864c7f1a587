//! Writes a document as text, with ANSI colour where it is asked for. Must not know: records, HTML.

use crate::doc::{Block, Doc, Fact, Item, Table, Tone};
use crate::visible::{line, lines};

/// The document as text, without a newline at the end.
pub fn write(doc: &Doc, colour: bool) -> String {
    let paint = Paint { colour };
    let mut out = String::new();
    let mut after_paragraph = true;
    for block in &doc.blocks {
        let paragraph = matches!(block, Block::Title { .. } | Block::Alarm(_) | Block::Say(_));
        let part = match block {
            Block::Title { word, tone, about } => title(word, *tone, about, &paint),
            Block::Alarm(text) => paint.strong(&line(text), Tone::Unsure),
            Block::Say(text) => line(text),
            Block::Facts(list) => facts(list, &paint),
            Block::Fold { summary, facts } => fold(summary, facts, &paint),
            Block::Table(table) => self::table(table, &paint),
            Block::Items(items) => items.iter().map(|i| item(i, &paint)).collect::<Vec<_>>().join("\n"),
            Block::Verbatim(text) => lines(text).trim_end().to_owned(),
            Block::Picture => continue,
            Block::Close(text) => paint.dim(&line(text)),
        };
        if !out.is_empty() {
            out.push_str(if paragraph && after_paragraph { "\n" } else { "\n\n" });
        }
        out.push_str(&part);
        after_paragraph = paragraph;
    }
    out
}

fn title(word: &str, tone: Tone, about: &str, paint: &Paint) -> String {
    let word = paint.strong(&line(word), tone);
    if about.is_empty() { word } else { format!("{word}  {}", line(about)) }
}

fn facts(list: &[Fact], paint: &Paint) -> String {
    let labels: Vec<String> = list.iter().map(|f| line(&f.label)).collect();
    let width = labels.iter().map(|l| l.chars().count()).max().unwrap_or(0);
    let rows = list.iter().zip(labels).map(|(fact, label)| {
        let value = line(fact.short.as_ref().unwrap_or(&fact.value));
        format!("  {}  {value}", paint.dim(&format!("{label:width$}")))
    });
    rows.collect::<Vec<_>>().join("\n")
}

/// All in one line: few read it.
fn fold(summary: &str, list: &[Fact], paint: &Paint) -> String {
    let pairs = list.iter().map(|f| format!("{} {}", line(&f.label), line(f.short.as_ref().unwrap_or(&f.value))));
    paint.dim(&format!("  {}: {}", line(summary), pairs.collect::<Vec<_>>().join(", ")))
}

/// Columns are aligned but for the last, where ids stand: they may be long, or written right to left.
fn table(table: &Table, paint: &Paint) -> String {
    let rows: Vec<Vec<String>> = table.rows.iter().map(|row| row.iter().map(|cell| line(cell)).collect()).collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain(table.head.get(column).map(|h| h.chars().count())).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..table.head.len()).map(width).collect();
    let join = |cells: Vec<&str>| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("  {}", padded.collect::<Vec<_>>().join("  ")).trim_end().to_owned()
    };
    let mut out = Vec::new();
    if !table.caption.is_empty() {
        out.push(line(&table.caption));
    }
    out.push(paint.dim(&join(table.head.clone())));
    out.extend(rows.iter().map(|row| join(row.iter().map(String::as_str).collect())));
    out.join("\n")
}

fn item(item: &Item, paint: &Paint) -> String {
    let mut out = format!("  {} {}", paint.strong(item.mark.sign(), item.mark.tone()), line(&item.head));
    if !item.aside.is_empty() {
        out.push_str(&paint.dim(&format!("  {}", line(&item.aside))));
    }
    for text in item.ids.iter().map(|id| format!("  {}", line(id))).chain(item.lines.iter().map(|l| line(l))) {
        out.push_str("\n    ");
        out.push_str(&text);
    }
    out
}

struct Paint {
    colour: bool,
}

impl Paint {
    fn strong(&self, text: &str, tone: Tone) -> String {
        let code = match tone {
            Tone::Good => "1;32",
            Tone::Bad => "1;31",
            Tone::Unsure => "1;33",
            Tone::Plain => "1",
        };
        self.wrap(text, code)
    }

    fn dim(&self, text: &str) -> String {
        self.wrap(text, "2")
    }

    fn wrap(&self, text: &str, code: &str) -> String {
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}
