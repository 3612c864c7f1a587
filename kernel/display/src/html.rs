//! Writes a document as one HTML fragment: no script, inline styles only, nothing loaded from anywhere.
//!
//! Text keeps the page's own colour, so that it reads in dark and light themes; only badges bring both colours of
//! their own. Where a page strips styles, the words and their order still say everything. The fragment is well-formed
//! XML too. Must not know: records.

use crate::doc::{Block, Doc, Fact, Item, Table, Tone};
use crate::picture::Ink;
use crate::visible::{escape, line, lines};

const CELL: &str = "text-align:left;vertical-align:top;padding:2px 16px 2px 0;border:none;white-space:normal";
const MONO: &str = "font-family:monospace;overflow-wrap:break-word;background:transparent;padding:0";

/// The document as one `<div>`.
pub fn write(doc: &Doc) -> String {
    let edge = doc.blocks.iter().find_map(|block| match block {
        Block::Title { tone, .. } => Some(badge_colour(*tone)),
        _ => None,
    });
    let mut out = format!(
        "<div style=\"border:1px solid rgba(128, 128, 128, 0.5);border-left:5px solid {};border-radius:4px;\
         padding:8px 14px;margin:4px 0;max-width:60em\">\n",
        edge.unwrap_or("#6e7781")
    );
    out.push_str(&blocks(doc));
    out.push_str("</div>");
    out
}

/// The document without a frame, to stand among others on a page.
pub fn blocks(doc: &Doc) -> String {
    doc.blocks.iter().map(|block| format!("{}\n", self::block(block, doc))).collect()
}

/// Something that few read, behind one line; `inner` is markup that stands as it is.
pub fn fold(summary: &str, inner: &str) -> String {
    format!(
        "<details style=\"margin:6px 0\"><summary style=\"cursor:pointer\">{}</summary>\n{inner}</details>",
        inline(summary)
    )
}

fn block(block: &Block, doc: &Doc) -> String {
    match block {
        Block::Title { word, tone, about } => title(word, *tone, about),
        Block::Alarm(text) => format!(
            "<div style=\"border:2px solid #bf8700;border-radius:4px;padding:4px 10px;margin:6px 0\">\
             <strong>{}</strong></div>",
            inline(text)
        ),
        Block::Say(text) => format!("<div style=\"margin:6px 0\">{}</div>", inline(text)),
        Block::Facts(list) => facts(list),
        Block::Fold { summary, facts: list } => fold(summary, &facts(list)),
        Block::Table(table) => self::table(table),
        Block::Items(items) => {
            let items: String = items.iter().map(item).collect();
            format!("<ul style=\"list-style:none;margin:6px 0;padding:0\">\n{items}</ul>")
        }
        Block::Verbatim(text) => {
            format!("<pre style=\"margin:6px 0;white-space:pre-wrap\">{}</pre>", escape(&lines(text)))
        }
        Block::Picture => match &doc.picture {
            Some(picture) => format!("<div style=\"margin:8px 0\">{}</div>", picture.svg(Ink::Page)),
            None => String::new(),
        },
        Block::Close(text) => format!("<div style=\"margin:6px 0;opacity:0.8\"><em>{}</em></div>", inline(text)),
    }
}

fn title(word: &str, tone: Tone, about: &str) -> String {
    let colour = badge_colour(tone);
    let badge = format!(
        "<strong style=\"background-color:{colour};color:#ffffff;border-radius:4px;padding:2px 10px\">{}</strong>",
        inline(word)
    );
    format!("<div style=\"margin:2px 0 8px 0\">{badge} {}</div>", isolated(about))
}

fn facts(list: &[Fact]) -> String {
    let row = |fact: &Fact| {
        let value = match &fact.short {
            Some(_) => format!("<code style=\"{MONO};word-break:break-all\">{}</code>", inline(&fact.value)),
            None => isolated(&fact.value),
        };
        let label = inline(&fact.label);
        format!(
            "<tr style=\"background:transparent\"><th scope=\"row\" style=\"{CELL};font-weight:normal;opacity:0.75;\
             white-space:nowrap\">{label}</th><td style=\"{CELL}\">{value}</td></tr>\n"
        )
    };
    format!("{TABLE}<tbody>\n{}</tbody></table>", list.iter().map(row).collect::<String>())
}

const TABLE: &str =
    "<table style=\"border-collapse:collapse;margin:6px 0;border:none;font-size:inherit;table-layout:auto\">";

fn table(table: &Table) -> String {
    let caption = match table.caption.as_str() {
        "" => String::new(),
        text => format!(
            "<caption style=\"text-align:left;caption-side:top;padding:0;color:inherit\">{}</caption>",
            inline(text)
        ),
    };
    let rule = "border-bottom:1px solid rgba(128, 128, 128, 0.5)";
    let head =
        |text: &&str| format!("<th scope=\"col\" style=\"{CELL};font-weight:bold;{rule}\">{}</th>", inline(text));
    let cell = |text: &String| format!("<td style=\"{CELL};{MONO_CELL}\">{}</td>", isolated(text));
    let row = |cells: &Vec<String>| {
        let cells: String = cells.iter().map(cell).collect();
        format!("<tr style=\"background:transparent\">{cells}</tr>\n")
    };
    let head: String = table.head.iter().map(head).collect();
    let rows: String = table.rows.iter().map(row).collect();
    format!("{TABLE}{caption}<thead><tr>{head}</tr></thead><tbody>\n{rows}</tbody></table>")
}

const MONO_CELL: &str = "font-family:monospace;overflow-wrap:break-word";

fn item(item: &Item) -> String {
    let colour = badge_colour(item.mark.tone());
    let mut out = format!(
        "<li style=\"margin:4px 0\"><span style=\"background-color:{colour};color:#ffffff;border-radius:4px;\
         width:20px;display:inline-block;text-align:center;font-weight:bold\">{}</span> <bdi>{}</bdi>",
        item.mark.sign(),
        inline(&item.head)
    );
    if !item.aside.is_empty() {
        out.push_str(&format!(" <span style=\"opacity:0.75\">{}</span>", isolated(&item.aside)));
    }
    for id in &item.ids {
        out.push_str(&format!("<div style=\"margin-left:28px\"><code style=\"{MONO}\">{}</code></div>", isolated(id)));
    }
    for text in &item.lines {
        out.push_str(&format!("<div style=\"margin-left:28px\">{}</div>", isolated(text)));
    }
    out.push_str("</li>\n");
    out
}

/// Backgrounds on which white text has a contrast of at least 4.5, and which stand out from white and from black.
fn badge_colour(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "#1a7f37",
        Tone::Bad => "#cf222e",
        Tone::Unsure => "#9a6700",
        Tone::Plain => "#59636e",
    }
}

/// Safe as content of an element.
fn inline(text: &str) -> String {
    escape(&line(text))
}

/// Safe, and kept from reordering what stands beside it when it is written right to left.
fn isolated(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("<bdi>{}</bdi>", inline(text)) }
}
