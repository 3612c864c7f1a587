//! What each cell showed then and now, compared as the cell itself declares by a tag.
//!
//! `fascicolo:exact`, `fascicolo:tolerance=1e-6`, `fascicolo:image` or `fascicolo:image=2`, `fascicolo:ignore`. Without a
//! tag, what Rust code printed and gave is compared exactly; what a magic showed is not compared as text, which holds
//! times and roots, but by its verdict and figures.

use crate::validity::{self, Cell, Run, Same};
use base64::Engine;
use fascicolo_dossier::View;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// How the outputs of a cell must agree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Policy {
    /// The same texts.
    Exact,
    /// The same texts but for numbers, which may differ by this share of the larger one.
    Tolerance(f64),
    /// Pictures of the same size, whose channels, 0 to 255, differ by at most this in the mean.
    Image(f64),
    /// Not compared.
    Ignore,
    /// Of a cell of magics: by verdicts and figures.
    Verdicts,
}

impl Policy {
    /// The policy that a cell's tags declare, or the one that goes for what it holds.
    /// # Errors
    /// A tag that is none, as a sentence.
    pub fn of(tags: &[impl AsRef<str>], source: &str) -> Result<Policy, String> {
        let declared: Vec<&str> = tags.iter().filter_map(|tag| tag.as_ref().strip_prefix("fascicolo:")).collect();
        let [declared] = declared.as_slice() else {
            return match declared.len() {
                0 => Ok(if has_rust(source) { Policy::Exact } else { Policy::Verdicts }),
                n => Err(format!("{n} tags declare how its outputs must agree, one can")),
            };
        };
        let (name, amount) = declared.split_once('=').map_or((*declared, None), |(name, amount)| (name, Some(amount)));
        let amount = match amount {
            None => None,
            Some(text) => match text.parse::<f64>() {
                Ok(amount) if amount.is_finite() && amount >= 0.0 => Some(amount),
                _ => return Err(format!("`fascicolo:{declared}`: {text} is no number of zero or more")),
            },
        };
        match (name, amount) {
            ("exact", None) => Ok(Policy::Exact),
            ("ignore", None) => Ok(Policy::Ignore),
            ("tolerance", Some(share)) => Ok(Policy::Tolerance(share)),
            ("image", amount) => Ok(Policy::Image(amount.unwrap_or_default())),
            _ => Err(format!(
                "`fascicolo:{declared}` is no policy; there are exact, tolerance=SHARE, image, image=LEVELS, ignore"
            )),
        }
    }

    /// As it is listed before anything runs.
    pub fn words(self) -> String {
        match self {
            Policy::Exact => "its outputs must be the same".to_owned(),
            Policy::Tolerance(share) => format!("numbers in its outputs may differ by the share {share}"),
            Policy::Image(0.0) => "its pictures must have the same pixels".to_owned(),
            Policy::Image(levels) => {
                format!("its pictures may differ by {levels} of 255 levels in the mean")
            }
            Policy::Ignore => "its outputs are not compared".to_owned(),
            Policy::Verdicts => "its verdicts and figures must be the same".to_owned(),
        }
    }
}

/// Whether a cell holds more than magics and comments.
pub fn has_rust(source: &str) -> bool {
    fascicolo_magics::split(source).is_ok_and(|cell| !cell.rust.trim().is_empty())
}

/// A code cell of the notebook, and how it is compared.
pub struct Judged {
    /// The cell.
    pub cell: Cell,
    /// How its outputs must agree.
    pub policy: Policy,
    /// Bundles that its magics show before its Rust code shows any.
    magics: usize,
}

/// The code cells of a notebook that run.
/// # Errors
/// Which cell declares what is no policy.
pub fn cells(notebook: &Value) -> Result<Vec<Judged>, String> {
    let judged = |cell: Cell| {
        let policy =
            Policy::of(&cell.tags, &cell.source).map_err(|what| format!("code cell {}: {what}", cell.number))?;
        let magics = fascicolo_magics::split(&cell.source).map_or(0, |split| split.magics.len());
        Ok(Judged { cell, policy, magics })
    };
    validity::cells(notebook).into_iter().map(judged).collect()
}

/// What each cell showed then and now: one record for each, with `differs` if they do not agree.
pub fn compare(cells: &[Judged], then: &View, now: &View) -> Vec<Value> {
    let repeated = validity::repeated_counts(cells.iter().map(|judged| &judged.cell));
    let none = BTreeSet::new();
    let (runs_then, runs_now) = (validity::runs(then), validity::runs(now));
    let one = |judged: &Judged| {
        let cell = &judged.cell;
        let told = |differs: Option<String>| json!({ "cell": cell.number, "policy": judged.policy.words(), "differs": differs });
        if matches!(judged.policy, Policy::Ignore | Policy::Verdicts) {
            return told(None);
        }
        let of_then = |run: &&Run<'_>| Same { here: false, repeated: &repeated }.cell(cell, run);
        // This time the cells were numbered as they stand.
        let count = u32::try_from(cell.number).ok();
        let of_now = |run: &&Run<'_>| Same { here: true, repeated: &none }.numbered(cell, count, run);
        let (was, is) = (runs_then.iter().rev().find(of_then), runs_now.iter().rev().find(of_now));
        match (was.and_then(|run| shown(then, judged, run)), is.and_then(|run| shown(now, judged, run))) {
            (None, _) => told(Some("it did not run then, so there is nothing to compare with".to_owned())),
            (_, None) => told(Some("it did not run this time".to_owned())),
            (Some(Err(what)), _) => told(Some(format!("what it showed then: {what}"))),
            (_, Some(Err(what))) => told(Some(format!("what it showed now: {what}"))),
            (Some(Ok(then)), Some(Ok(now))) => told(differs(judged.policy, &then, &now)),
        }
    };
    cells.iter().map(one).collect()
}

/// What a cell showed: by stream, or by number and MIME type.
type Texts = BTreeMap<String, String>;

/// What a run showed; `None` if its end is not in the log. Progress and notices on standard error come and go.
fn shown(log: &View, judged: &Judged, run: &Run<'_>) -> Option<Result<Texts, String>> {
    let shown = validity::recorded(log, run.end?);
    Some(shown.map(|shown| {
        let of_rust = shown.bundles.into_iter().skip(judged.magics).enumerate();
        let forms = of_rust
            .flat_map(|(n, forms)| forms.into_iter().map(move |(mime, text)| (format!("output {n} {mime}"), text)));
        let stdout = Some(("stdout".to_owned(), shown.stdout)).filter(|(_, text)| !text.is_empty());
        forms.chain(stdout).collect()
    }))
}

fn differs(policy: Policy, then: &Texts, now: &Texts) -> Option<String> {
    let pictures = |shown: &Texts| shown.keys().filter(|key| key.ends_with("image/png")).count();
    if matches!(policy, Policy::Image(_)) && pictures(then) == 0 {
        return Some("it showed no picture of the type image/png then".to_owned());
    }
    for (key, old) in then {
        let compared = !matches!(policy, Policy::Image(_)) || key.ends_with("image/png");
        let Some(new) = now.get(key).filter(|_| compared) else {
            if compared {
                return Some(format!("{key}: shown then, not now"));
            }
            continue;
        };
        let what = match policy {
            Policy::Tolerance(share) => texts(old, new, share),
            Policy::Image(levels) => images(old, new, levels),
            Policy::Exact | Policy::Ignore | Policy::Verdicts => texts(old, new, 0.0).filter(|_| old != new),
        };
        if let Some(what) = what {
            return Some(format!("{key}: {what}"));
        }
        if policy == Policy::Exact && old != new {
            return Some(format!("{key}: the same numbers, written otherwise"));
        }
    }
    let new = now.keys().find(|key| !then.contains_key(*key) && !matches!(policy, Policy::Image(_)));
    new.map(|key| format!("{key}: shown now, not then"))
}

/// Compares texts number by number and word by word. `share`: of the larger number.
fn texts(then: &str, now: &str, share: f64) -> Option<String> {
    let (old, new) = (pieces(then), pieces(now));
    for (a, b) in old.iter().zip(&new) {
        let agree = match (a, b) {
            (Piece::Number(x, _), Piece::Number(y, _)) => x == y || (x - y).abs() <= share * x.abs().max(y.abs()),
            (Piece::Text(x), Piece::Text(y)) => x == y,
            _ => false,
        };
        if !agree {
            return Some(format!("{} then, {} now", short(a.text()), short(b.text())));
        }
    }
    match (old.get(new.len()), new.get(old.len())) {
        (Some(more), _) => Some(format!("then it went on: {}", short(more.text()))),
        (_, Some(more)) => Some(format!("now it goes on: {}", short(more.text()))),
        (None, None) => None,
    }
}

fn short(text: &str) -> String {
    let text = text.trim();
    if text.chars().count() > 60 {
        format!("{}…", text.chars().take(60).collect::<String>())
    } else {
        text.to_owned()
    }
}

enum Piece<'t> {
    Number(f64, &'t str),
    Text(&'t str),
}

impl Piece<'_> {
    fn text(&self) -> &str {
        match self {
            Piece::Number(_, text) | Piece::Text(text) => text,
        }
    }
}

/// Splits a text into numbers and what stands between them. A digit behind a letter belongs to a word: `x86`.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let bytes = text.as_bytes();
    let (mut pieces, mut from, mut at) = (Vec::new(), 0, 0);
    while at < bytes.len() {
        let in_word = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
        let length = if in_word { 0 } else { number_length(&bytes[at..]) };
        let number = text.get(at..at + length).filter(|_| length > 0).and_then(|t| Some((t.parse::<f64>().ok()?, t)));
        match number {
            Some((value, word)) => {
                if from < at {
                    pieces.push(Piece::Text(&text[from..at]));
                }
                pieces.push(Piece::Number(value, word));
                at += length;
                from = at;
            }
            None => at += 1,
        }
    }
    if from < bytes.len() {
        pieces.push(Piece::Text(&text[from..]));
    }
    pieces
}

/// Bytes of the decimal number that these begin with; 0 if with none.
fn number_length(bytes: &[u8]) -> usize {
    let digits = |from: usize| bytes[from.min(bytes.len())..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut at = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
    let whole = digits(at);
    at += whole;
    let fraction = if bytes.get(at) == Some(&b'.') { digits(at + 1) } else { 0 };
    if whole + fraction == 0 {
        return 0;
    }
    if fraction > 0 {
        at += 1 + fraction;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'-' | b'+')));
        let exponent = digits(at + 1 + sign);
        if exponent > 0 {
            at += 1 + sign + exponent;
        }
    }
    at
}

/// Compares two pictures in base64 of PNG.
fn images(then: &str, now: &str, levels: f64) -> Option<String> {
    let (old, new) = match (pixels(then), pixels(now)) {
        (Ok(old), Ok(new)) => (old, new),
        (Err(what), _) => return Some(format!("the picture shown then {what}")),
        (_, Err(what)) => return Some(format!("the picture shown now {what}")),
    };
    if (old.width, old.height) != (new.width, new.height) {
        return Some(format!("{} × {} pixels then, {} × {} now", old.width, old.height, new.width, new.height));
    }
    let sum: u64 = old.rgba.iter().zip(&new.rgba).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
    let mean = sum as f64 / old.rgba.len().max(1) as f64;
    (mean > levels).then(|| format!("the pixels differ by {mean:.3} of 255 levels in the mean"))
}

struct Pixels {
    width: u32,
    height: u32,
    rgba: Vec<u8>,
}

/// Most bytes of a picture, unpacked.
const PICTURE_BYTES: usize = 256 << 20;

fn pixels(base64: &str) -> Result<Pixels, String> {
    let text: String = base64.split_whitespace().collect();
    let bytes = base64::engine::general_purpose::STANDARD.decode(text).map_err(|e| format!("is no base64: {e}"))?;
    let mut decoder = png::Decoder::new_with_limits(std::io::Cursor::new(bytes), png::Limits { bytes: PICTURE_BYTES });
    decoder.set_transformations(png::Transformations::normalize_to_color8() | png::Transformations::ALPHA);
    let mut reader = decoder.read_info().map_err(|e| format!("is no PNG: {e}"))?;
    let size = reader.output_buffer_size().filter(|size| *size <= PICTURE_BYTES).ok_or("is too large")?;
    let mut raw = vec![0; size];
    let info = reader.next_frame(&mut raw).map_err(|e| format!("is no whole PNG: {e}"))?;
    raw.truncate(info.buffer_size());
    let rgba = match info.color_type {
        png::ColorType::Rgba => raw,
        png::ColorType::GrayscaleAlpha => raw.chunks_exact(2).flat_map(|p| [p[0], p[0], p[0], p[1]]).collect(),
        other => return Err(format!("has pixels of the type {other:?}, which is not compared")),
    };
    Ok(Pixels { width: info.width, height: info.height, rgba })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_differ_by_the_declared_share_and_words_by_nothing() {
        let then = "loss 0.500000, 12 rows of x86, 1e-3 and -4.5e+2\n";
        for (now, share, agrees) in [
            (then, 0.0, true),
            ("loss 0.500001, 12 rows of x86, 1e-3 and -4.5e+2\n", 1e-5, true),
            ("loss 0.500001, 12 rows of x86, 1e-3 and -4.5e+2\n", 1e-7, false),
            ("loss 0.500000, 12 rows of x87, 1e-3 and -4.5e+2\n", 0.5, false),
            ("loss 0.500000, 12 rows of x86, 0.001 and -450\n", 0.0, true),
            ("loss 0.500000, 12 rows of x86, 1e-3 and 4.5e+2\n", 0.5, false),
            ("loss 0.500000, 12 rows of x86, 1e-3 and -4.5e+2\nmore", 0.5, false),
            ("loss NaN, 12 rows of x86, 1e-3 and -4.5e+2\n", 9.0, false),
        ] {
            assert_eq!(texts(then, now, share).is_none(), agrees, "{now:?} {share}");
        }
    }

    fn png_of(color: png::ColorType, data: &[u8], compression: png::Compression) -> String {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, 2, 1);
        encoder.set_color(color);
        encoder.set_compression(compression);
        encoder.write_header().unwrap().write_image_data(data).unwrap();
        base64::engine::general_purpose::STANDARD.encode(bytes)
    }

    #[test]
    fn pictures_are_compared_by_their_pixels_not_by_their_bytes() {
        let grey = png_of(png::ColorType::Grayscale, &[10, 200], png::Compression::Fast);
        let same = png_of(png::ColorType::Rgb, &[10, 10, 10, 200, 200, 200], png::Compression::High);
        let near = png_of(png::ColorType::Grayscale, &[12, 200], png::Compression::Fast);
        assert_ne!(grey, same);
        assert_eq!(images(&grey, &same, 0.0), None);
        assert!(images(&grey, &near, 0.0).unwrap().contains("0.750"));
        assert_eq!(images(&grey, &near, 0.75), None);
        assert!(images(&grey, "bm8=", 0.0).unwrap().contains("no PNG"));
    }

    #[test]
    fn a_tag_declares_how_a_cell_must_agree_and_a_wrong_one_is_told() {
        let of = |tags: &[&str], source: &str| Policy::of(tags, source);
        assert_eq!(of(&["parameters"], "1 + 1"), Ok(Policy::Exact));
        assert_eq!(of(&[], "%snapshot"), Ok(Policy::Verdicts));
        assert_eq!(of(&["fascicolo:tolerance=1e-6", "x"], "1.0"), Ok(Policy::Tolerance(1e-6)));
        assert_eq!(of(&["fascicolo:ignore"], "%snapshot"), Ok(Policy::Ignore));
        assert_eq!(of(&["fascicolo:image=2"], "plot()"), Ok(Policy::Image(2.0)));
        for wrong in [
            &["fascicolo:tolerance"][..],
            &["fascicolo:tolerance=-1"],
            &["fascicolo:tolerance=NaN"],
            &["fascicolo:sometimes"],
            &["fascicolo:exact", "fascicolo:ignore"],
        ] {
            assert!(of(wrong, "1.0").is_err(), "{wrong:?}");
        }
    }
}
