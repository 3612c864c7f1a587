//! What is to be shown, before it is known in which form: the writers `plain` and `html` both read this.
//!
//! Owns: the few kinds of blocks a result is made of. Must not know: records, HTML, ANSI.
//! Strings here are raw; each writer makes them safe for its own form.

use crate::picture::Picture;

/// One result, top to bottom.
#[derive(Debug, Default)]
pub struct Doc {
    pub blocks: Vec<Block>,
    /// Drawn as `image/svg+xml`, and inside the HTML where [`Block::Picture`] stands.
    pub picture: Option<Picture>,
}

/// What colour may underline; the words alone carry the meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Good,
    Bad,
    /// Neither holds nor fails.
    Unsure,
    Plain,
}

#[derive(Debug)]
pub enum Block {
    /// The first thing read: a word in capitals, and what it is about.
    Title {
        word: String,
        tone: Tone,
        about: String,
    },
    /// Must not be overlooked.
    Alarm(String),
    /// A sentence.
    Say(String),
    /// Labelled values.
    Facts(Vec<Fact>),
    Table(Table),
    /// Findings or stages, one below the other.
    Items(Vec<Item>),
    /// Labelled values that few read: folded in HTML, short in text.
    Fold {
        summary: String,
        facts: Vec<Fact>,
    },
    /// Text whose line breaks matter.
    Verbatim(String),
    /// The document's picture, here.
    Picture,
    /// The last sentence: what the result does not mean.
    Close(String),
}

#[derive(Debug)]
pub struct Fact {
    pub label: String,
    pub value: String,
    /// What text shows instead of a long value such as a digest.
    pub short: Option<String>,
}

#[derive(Debug, Default)]
pub struct Table {
    pub caption: String,
    pub head: Vec<&'static str>,
    /// Each as long as `head`.
    pub rows: Vec<Vec<String>>,
}

#[derive(Debug, Clone)]
pub struct Item {
    pub mark: Mark,
    pub head: String,
    /// Beside the head, quieter.
    pub aside: String,
    pub lines: Vec<String>,
    /// Ids concerned, already shortened.
    pub ids: Vec<String>,
}

/// How one stage or finding stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Passed,
    Failed,
    /// There was nothing to check.
    Absent,
    /// Not reached, or not recorded.
    Open,
}

impl Mark {
    /// The sign shown in text.
    pub fn sign(self) -> &'static str {
        match self {
            Mark::Passed => "✓",
            Mark::Failed => "✗",
            Mark::Absent => "·",
            Mark::Open => "–",
        }
    }

    pub fn tone(self) -> Tone {
        match self {
            Mark::Passed => Tone::Good,
            Mark::Failed => Tone::Bad,
            Mark::Absent | Mark::Open => Tone::Plain,
        }
    }
}

impl Doc {
    /// A document that opens with `word` in capitals.
    pub fn titled(word: impl Into<String>, tone: Tone, about: impl Into<String>) -> Doc {
        let title = Block::Title { word: word.into(), tone, about: about.into() };
        Doc { blocks: vec![title], picture: None }
    }

    pub fn say(&mut self, sentence: impl Into<String>) {
        self.blocks.push(Block::Say(sentence.into()));
    }

    /// Adds the facts, unless there are none.
    pub fn facts(&mut self, facts: Vec<Fact>) {
        if !facts.is_empty() {
            self.blocks.push(Block::Facts(facts));
        }
    }

    /// Adds the table, unless it has no rows.
    pub fn table(&mut self, table: Table) {
        if !table.rows.is_empty() {
            self.blocks.push(Block::Table(table));
        }
    }

    /// Adds the items, unless there are none.
    pub fn items(&mut self, items: Vec<Item>) {
        if !items.is_empty() {
            self.blocks.push(Block::Items(items));
        }
    }
}

impl Fact {
    pub fn new(label: impl Into<String>, value: impl Into<String>) -> Fact {
        Fact { label: label.into(), value: value.into(), short: None }
    }

    /// A digest: whole in HTML, its beginning in text.
    pub fn digest(label: impl Into<String>, value: String) -> Fact {
        let short = crate::visible::short_digest(&value);
        Fact { label: label.into(), value, short: Some(short) }
    }
}

impl Item {
    pub fn new(mark: Mark, head: impl Into<String>) -> Item {
        Item { mark, head: head.into(), aside: String::new(), lines: Vec::new(), ids: Vec::new() }
    }
}
