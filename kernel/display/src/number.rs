//! Writes numbers so that no digit that matters is lost: shortest form that reads back to the same float.

use serde_json::Number;

/// A number as recorded: integers plain, floats in the shortest form that reads back equal.
pub fn exact(n: &Number) -> String {
    match n.as_f64() {
        Some(f) if n.is_f64() => float(f, 1e-4),
        _ => n.to_string(),
    }
}

/// A measured value: in scientific notation below 0.1, where the exponent is what one looks for.
pub fn measured(n: &Number) -> String {
    match n.as_f64() {
        Some(f) if n.is_f64() => float(f, 0.1),
        _ => n.to_string(),
    }
}

/// Shortest round-trip digits, in scientific notation below `small` and from 1e16 on.
pub fn float(f: f64, small: f64) -> String {
    let magnitude = f.abs();
    if magnitude == 0.0 || (magnitude >= small && magnitude < 1e16) || !f.is_finite() {
        format!("{f}")
    } else {
        format!("{f:e}")
    }
}

/// A count with commas between thousands.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `10⁻⁹`.
pub fn power_of_ten(exponent: i32) -> String {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let mut out = "10".to_owned();
    for c in exponent.to_string().chars() {
        out.push(c.to_digit(10).and_then(|digit| RAISED.get(digit as usize)).copied().unwrap_or('⁻'));
    }
    out
}

/// Milliseconds, as a person reads them.
pub fn elapsed(milliseconds: f64) -> String {
    if milliseconds >= 10_000.0 {
        format!("{:.1} s", milliseconds / 1000.0)
    } else if milliseconds >= 10.0 {
        format!("{milliseconds:.0} ms")
    } else {
        format!("{} ms", (milliseconds * 100.0).round() / 100.0)
    }
}
