//! A probe's stages as rungs, top to bottom, in the order they were tried.

use super::{Anchor, WIDTH, clip, label, rule};
use crate::doc::Mark;

const RUNG: f64 = 38.0;
const TOP: f64 = 44.0;
const RAIL: f64 = 30.0;

/// One stage of a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rung {
    pub mark: Mark,
    pub name: String,
    /// How it ended, in a word or two, and how long it took.
    pub state: String,
    /// What was found.
    pub detail: String,
}

/// Title, description, height and content of the ladder.
pub(super) fn draw(title: &str, rungs: &[Rung]) -> (String, String, f64, String) {
    let spoken = rungs.iter().map(|r| format!("{}: {}", r.name, r.state)).collect::<Vec<_>>().join("; ");
    let height = TOP + RUNG * rungs.len() as f64 + 6.0;
    let mut out = label(16.0, 22.0, Anchor::Start, " font-weight=\"bold\" font-size=\"13\"", &clip(title, 90));
    if let Some(last) = rungs.len().checked_sub(1) {
        let end = TOP + RUNG * last as f64 + RUNG / 2.0;
        out.push_str(&rule(RAIL, TOP + RUNG / 2.0, RAIL, end, " stroke-opacity=\"0.35\" stroke-width=\"2\""));
    }
    for (i, rung) in rungs.iter().enumerate() {
        let y = TOP + RUNG * i as f64 + RUNG / 2.0;
        out.push_str(&sign(rung.mark, y));
        out.push_str(&label(54.0, y - 2.0, Anchor::Start, " font-weight=\"bold\"", &clip(&rung.name, 46)));
        out.push_str(&label(WIDTH - 16.0, y - 2.0, Anchor::End, "", &clip(&rung.state, 40)));
        out.push_str(&label(
            54.0,
            y + 13.0,
            Anchor::Start,
            " font-size=\"11\" fill-opacity=\"0.85\"",
            &clip(&rung.detail, 96),
        ));
    }
    (title.to_owned(), format!("Stages in the order tried: {spoken}."), height, out)
}

/// The sign of a stage, drawn and not written: fonts differ in which signs they have.
fn sign(mark: Mark, y: f64) -> String {
    let (fill, path) = match mark {
        Mark::Passed => ("#1a7f37", "M-4.5 0.5 L-1.5 3.5 L4.5 -3.5"),
        Mark::Failed => ("#cf222e", "M-3.5 -3.5 L3.5 3.5 M3.5 -3.5 L-3.5 3.5"),
        Mark::Absent => ("#59636e", "M-0.6 0 L0.6 0"),
        Mark::Open => ("#59636e", "M-4 0 L4 0"),
    };
    format!(
        "<g transform=\"translate({RAIL} {y})\"><circle r=\"10\" fill=\"{fill}\"/><path d=\"{path}\" fill=\"none\" \
         stroke=\"#ffffff\" stroke-width=\"2\" stroke-linecap=\"round\"/></g>\n"
    )
}
