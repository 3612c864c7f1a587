//! A histogram whose bins span decades: logarithmic across, counts linear upwards, exact zeros in a bin of their own.

use super::{Anchor, WIDTH, clip, label, rule};
use crate::number::{float, grouped, power_of_ten};

const HEIGHT: f64 = 250.0;
const TOP: f64 = 48.0;
const FLOOR: f64 = 198.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = WIDTH - 28.0;
/// Width of the bin of exact zeros, and of the gap that parts it from the logarithmic axis.
const ZERO: f64 = 22.0;
const GAP: f64 = 30.0;
/// Bars, and the line of the threshold: both stand out from white and from black.
const BAR: &str = "#3d84c6";
const LIMIT: &str = "#d9480f";

/// Counts of a measure over the rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    pub name: String,
    pub unit: String,
    /// Bins with 0 < low < high, both finite.
    pub bins: Vec<Bin>,
    /// Rows whose value is exactly zero.
    pub zeros: u64,
    /// The declared limit of this measure, in its unit.
    pub threshold: Option<f64>,
    /// Bins of the record that have no place on a logarithmic axis.
    pub undrawn: usize,
}

/// How many rows lie in `low..high`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bin {
    pub low: f64,
    pub high: f64,
    pub count: u64,
}

impl Histogram {
    /// False if no row was counted anywhere.
    pub fn is_drawable(&self) -> bool {
        self.zeros > 0 || self.bins.iter().any(|bin| bin.count > 0)
    }

    fn filled(&self) -> impl Iterator<Item = &Bin> {
        self.bins.iter().filter(|bin| bin.count > 0)
    }

    fn describe(&self) -> String {
        let rows = self.filled().fold(self.zeros, |sum, bin| sum.saturating_add(bin.count));
        let mut text = format!("{} of {} rows", self.name, grouped(rows));
        let low = self.filled().map(|bin| bin.low).reduce(f64::min);
        let high = self.filled().map(|bin| bin.high).reduce(f64::max);
        if let (Some(low), Some(high)) = (low, high) {
            text.push_str(&format!(", from {} to {}", float(low, 1e-2), float(high, 1e-2)));
        }
        text.push_str(&format!("; exactly zero: {}", grouped(self.zeros)));
        if let Some(threshold) = self.threshold {
            text.push_str(&format!("; threshold {}", float(threshold, 1e-2)));
        }
        if self.undrawn > 0 {
            text.push_str(&format!("; {} bins without a place on a logarithmic axis are not drawn", self.undrawn));
        }
        text.push('.');
        text
    }
}

/// Title, description, height and content of the picture of all histograms.
pub(super) fn draw(all: &[Histogram]) -> (String, String, f64, String) {
    let names: Vec<&str> = all.iter().map(|h| h.name.as_str()).collect();
    let title = format!("Rows by {}", names.join(" and by "));
    let description = all.iter().map(Histogram::describe).collect::<Vec<_>>().join(" ");
    let body = all.iter().enumerate().map(|(i, histogram)| {
        format!("<g transform=\"translate(0 {})\">\n{}</g>\n", i as f64 * HEIGHT, one(histogram))
    });
    (title, description, HEIGHT * all.len() as f64, body.collect())
}

/// How far from the bars a threshold may lie and still be drawn as a line.
const NEAR: f64 = 1e6;

/// The logarithmic axis: from 10^`from` at `left` to 10^`to` at the right edge.
struct Decades {
    from: i32,
    to: i32,
    left: f64,
}

impl Decades {
    fn x(&self, value: f64) -> f64 {
        let share = (value.log10() - f64::from(self.from)) / f64::from(self.to - self.from);
        self.left + share.clamp(0.0, 1.0) * (RIGHT - self.left)
    }

    fn holds(&self, value: f64) -> bool {
        value > 0.0 && (f64::from(self.from)..=f64::from(self.to)).contains(&value.log10())
    }
}

fn decades(histogram: &Histogram) -> Option<Decades> {
    let low = histogram.filled().map(|bin| bin.low).reduce(f64::min)?;
    let high = histogram.filled().map(|bin| bin.high).reduce(f64::max)?;
    // The bound belongs in the picture where it lies near enough to leave the bars their shape.
    let near = histogram.threshold.filter(|&t| t > 0.0 && t > low / NEAR && t < high * NEAR);
    let (low, high) = near.map_or((low, high), |threshold| (low.min(threshold), high.max(threshold)));
    let from = low.log10().floor() as i32;
    let to = (high.log10().ceil() as i32).max(from + 1);
    let left = if histogram.zeros > 0 { LEFT + ZERO + GAP } else { LEFT };
    Some(Decades { from, to, left })
}

fn one(histogram: &Histogram) -> String {
    let most = histogram.filled().map(|bin| bin.count).fold(histogram.zeros, u64::max).max(1);
    let axis = decades(histogram);
    let mut out = label(
        LEFT,
        18.0,
        Anchor::Start,
        " font-weight=\"bold\" font-size=\"13\"",
        &format!("Rows by {}", clip(&histogram.name, 48)),
    );
    out.push_str(&counts(most));
    if histogram.zeros > 0 {
        out.push_str(&bar(LEFT + 2.0, LEFT + ZERO, histogram.zeros, most));
        out.push_str(&rule(LEFT, FLOOR, LEFT + ZERO + 2.0, FLOOR, ""));
        out.push_str(&label(LEFT + ZERO / 2.0 + 1.0, FLOOR + 17.0, Anchor::Middle, "", "0"));
        let note = format!("exactly zero: {}", grouped(histogram.zeros));
        out.push_str(&label(RIGHT, 18.0, Anchor::End, " font-size=\"11\"", &note));
    }
    if let Some(axis) = &axis {
        for bin in histogram.filled() {
            out.push_str(&bar(axis.x(bin.low), axis.x(bin.high), bin.count, most));
        }
        out.push_str(&ticks(axis));
    }
    if let Some(threshold) = histogram.threshold {
        out.push_str(&limit(threshold, axis.as_ref()));
    }
    let unit = if histogram.unit.is_empty() { String::new() } else { format!(" ({})", clip(&histogram.unit, 30)) };
    let left = axis.as_ref().map_or(LEFT, |axis| axis.left);
    let caption = format!("{}{unit}{}", clip(&histogram.name, 50), if axis.is_some() { ", logarithmic" } else { "" });
    out.push_str(&label((left + RIGHT) / 2.0, FLOOR + 38.0, Anchor::Middle, "", &caption));
    out
}

/// One bar; a bin with rows is never too low or too narrow to be seen.
fn bar(from: f64, to: f64, count: u64, most: u64) -> String {
    let height = (count as f64 / most as f64 * (FLOOR - TOP)).max(4.0);
    let width = (to - from - 0.6).max(1.5);
    format!(
        "<rect x=\"{from:.2}\" y=\"{:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" fill=\"{BAR}\"/>\n",
        FLOOR - height
    )
}

/// The axis of counts: grid lines at round numbers.
fn counts(most: u64) -> String {
    let mut out = String::new();
    let step = round_step(most);
    for count in (0..=most).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
        let y = FLOOR - count as f64 / most as f64 * (FLOOR - TOP);
        out.push_str(&rule(LEFT, y, RIGHT, y, " stroke-opacity=\"0.18\""));
        out.push_str(&label(LEFT - 8.0, y + 4.0, Anchor::End, "", &grouped(count)));
    }
    let middle = (TOP + FLOOR) / 2.0;
    out.push_str(&label(14.0, middle, Anchor::Middle, &format!(" transform=\"rotate(-90 14 {middle})\""), "rows"));
    out
}

/// 1, 2 or 5 times a power of ten, so that at most five steps lead to `most`.
fn round_step(most: u64) -> u64 {
    let mut decade: u64 = 1;
    loop {
        for factor in [1, 2, 5] {
            let step = decade.saturating_mul(factor);
            if most / step <= 4 {
                return step;
            }
        }
        decade = decade.saturating_mul(10);
    }
}

/// The logarithmic axis: labels at powers of ten, at most nine of them.
fn ticks(axis: &Decades) -> String {
    let mut out = rule(axis.left, FLOOR, RIGHT, FLOOR, "");
    let span = axis.to - axis.from;
    let step = (span + 7) / 8;
    for exponent in axis.from..=axis.to {
        // By position, not by 10^exponent: at the far ends of float64 that would be zero or infinite.
        let x = axis.left + f64::from(exponent - axis.from) / f64::from(span) * (RIGHT - axis.left);
        let labelled = (exponent - axis.from) % step == 0;
        if labelled || span <= 40 {
            out.push_str(&rule(x, FLOOR, x, FLOOR + if labelled { 5.0 } else { 3.0 }, ""));
        }
        if labelled {
            out.push_str(&label(x, FLOOR + 19.0, Anchor::Middle, "", &power_of_ten(exponent)));
        }
        if span <= 4 && exponent < axis.to {
            for digit in 2..10 {
                let minor = x + f64::from(digit).log10() / f64::from(span) * (RIGHT - axis.left);
                out.push_str(&rule(minor, FLOOR, minor, FLOOR + 3.0, " stroke-opacity=\"0.6\""));
            }
        }
    }
    out
}

/// The threshold: a line where the axis holds it, else a note on which side it lies.
fn limit(threshold: f64, axis: Option<&Decades>) -> String {
    let value = format!("threshold {}", float(threshold, 1e-2));
    let y = TOP - 12.0;
    let Some(axis) = axis else {
        return label(RIGHT, y, Anchor::End, " font-size=\"11\"", &value);
    };
    if !axis.holds(threshold) {
        return if threshold > 0.0 && threshold.log10() > f64::from(axis.to) {
            label(RIGHT, y, Anchor::End, " font-size=\"11\"", &format!("{value}, beyond the right edge →"))
        } else {
            label(axis.left, y, Anchor::Start, " font-size=\"11\"", &format!("← {value}, beyond the left edge"))
        };
    }
    let x = axis.x(threshold);
    let anchor = if x > (LEFT + RIGHT) / 2.0 { Anchor::End } else { Anchor::Start };
    let line = format!(
        "<line x1=\"{x:.1}\" y1=\"{:.1}\" x2=\"{x:.1}\" y2=\"{FLOOR}\" stroke=\"{LIMIT}\" stroke-width=\"2\" stroke-dasharray=\"5 3\"/>\n",
        y + 5.0
    );
    line + &label(x, y, anchor, " font-size=\"11\"", &value)
}
