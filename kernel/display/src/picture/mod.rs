//! Draws: histograms of a per-row measure, and a probe's ladder, each as one SVG.
//!
//! Every line and letter is drawn in `currentColor`. Inside a page that is the page's own text colour; a picture that
//! stands alone brings a light panel and its own ink, because nothing tells it which background it lies on.
//! Must not know: records, verdicts.

mod histogram;
mod ladder;

pub use histogram::{Bin, Histogram};
pub use ladder::Rung;

use crate::visible::{escape, line};

/// Width of every picture, in SVG units.
const WIDTH: f64 = 640.0;

/// What a result has to draw.
#[derive(Debug)]
pub enum Picture {
    /// One below the other.
    Histograms(Vec<Histogram>),
    Ladder {
        title: String,
        rungs: Vec<Rung>,
    },
}

/// Where the picture will lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// In a page whose text colour it takes.
    Page,
    /// Alone, on a panel of its own.
    Panel,
}

impl Picture {
    /// The histograms that have anything to draw; nothing if none has.
    pub fn histograms(all: Vec<Histogram>) -> Option<Picture> {
        let drawable: Vec<Histogram> = all.into_iter().filter(Histogram::is_drawable).collect();
        (!drawable.is_empty()).then_some(Picture::Histograms(drawable))
    }

    /// The picture as one `<svg>` element.
    pub fn svg(&self, ink: Ink) -> String {
        let (title, description, height, body) = match self {
            Picture::Histograms(all) => histogram::draw(all),
            Picture::Ladder { title, rungs } => ladder::draw(title, rungs),
        };
        let title = escape(&line(&title));
        let (colour, panel) = match ink {
            Ink::Page => ("", String::new()),
            Ink::Panel => (
                " color=\"#1f2328\"",
                format!(
                    "<rect x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"6\" fill=\"#ffffff\" stroke=\"#c8ccd0\"/>\n",
                    WIDTH - 1.0,
                    height - 1.0
                ),
            ),
        };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"{title}\" viewBox=\"0 0 {WIDTH} {height}\" \
             width=\"{WIDTH}\" height=\"{height}\" style=\"max-width:100%;height:auto\"{colour} \
             font-family=\"system-ui, sans-serif\" font-size=\"12\">\n<title>{title}</title>\n<desc>{}</desc>\n{panel}{body}</svg>",
            escape(&line(&description))
        )
    }
}

/// Which end of a text its position names.
#[derive(Debug, Clone, Copy)]
enum Anchor {
    Start,
    Middle,
    End,
}

/// One `<text>` element; `more` holds further attributes.
fn label(x: f64, y: f64, anchor: Anchor, more: &str, text: &str) -> String {
    let anchor = match anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    format!(
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"currentColor\"{more}>{}</text>\n",
        escape(&line(text))
    )
}

/// One thin line in the text colour.
fn rule(x1: f64, y1: f64, x2: f64, y2: f64, more: &str) -> String {
    format!("<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"currentColor\"{more}/>\n")
}

/// The beginning of a text that would be too long to draw, in characters.
fn clip(text: &str, characters: usize) -> String {
    if text.chars().count() <= characters {
        return text.to_owned();
    }
    let head: String = text.chars().take(characters.saturating_sub(1)).collect();
    format!("{head}…")
}
