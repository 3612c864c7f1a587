//! Distributions that bounds of an interval are taken from, in float64.

/// ln Γ(x), x > 0; relative error below 1e-14.
///
/// Source: C. Lanczos, "A precision approximation of the gamma function" (1964), with g = 7 and nine terms.
pub fn ln_gamma(x: f64) -> f64 {
    #[rustfmt::skip]
    const TERMS: [f64; 9] = [
        0.999_999_999_999_809_93, 676.520_368_121_885_1, -1_259.139_216_722_402_8, 771.323_428_777_653_13,
        -176.615_029_162_140_6, 12.507_343_278_686_905, -0.138_571_095_265_720_12, 9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        // Γ(x)·Γ(1 − x) = π / sin πx
        return (std::f64::consts::PI / (std::f64::consts::PI * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let t = x + 7.5;
    let sum = TERMS[1..].iter().zip(1u8..).fold(TERMS[0], |sum, (term, i)| sum + term / (x + f64::from(i)));
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

/// The regularised incomplete beta function Iₓ(a, b), 0 ≤ x ≤ 1.
///
/// Source: the continued fraction 8.17.22 of dlmf.nist.gov, by W. Lentz's method (1976).
pub fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    // The fraction converges fast below the mean only; beyond it, Iₓ(a, b) = 1 − I₁₋ₓ(b, a).
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    const SMALL: f64 = 1e-300;
    let away = |value: f64| if value.abs() < SMALL { SMALL } else { value };
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp() / a;
    let (mut c, mut d) = (1.0, 1.0 / away(1.0 - (a + b) * x / (a + 1.0)));
    let mut value = d;
    for m in 1..10_000u32 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away(1.0 + even * d);
        c = away(1.0 + even / c);
        value *= c * d;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away(1.0 + odd * d);
        c = away(1.0 + odd / c);
        value *= c * d;
        if (c * d - 1.0).abs() < 1e-16 {
            break;
        }
    }
    front * value
}

/// The share of Student's distribution with `freedom` degrees below `t`.
///
/// Source: P(T ≤ t) = 1 − ½·I(freedom/(freedom + t²); freedom/2, ½) for t ≥ 0.
pub fn student_below(t: f64, freedom: f64) -> f64 {
    let tail = 0.5 * incomplete_beta(0.5 * freedom, 0.5, freedom / (freedom + t * t));
    if t >= 0.0 { 1.0 - tail } else { tail }
}

/// The value that a share `above` (0 < above ≤ ½) of Student's distribution with `freedom` degrees exceeds.
pub fn student_quantile(above: f64, freedom: f64) -> f64 {
    let exceeds = |t: f64| 0.5 * incomplete_beta(0.5 * freedom, 0.5, freedom / (freedom + t * t));
    let (mut low, mut high) = (0.0, 1.0);
    while exceeds(high) > above && high < 1e300 {
        high *= 2.0;
    }
    // Halves the interval until float64 has no number between its ends.
    loop {
        let middle = low + 0.5 * (high - low);
        if middle <= low || middle >= high {
            return middle;
        }
        if exceeds(middle) > above {
            low = middle;
        } else {
            high = middle;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_student_are_those_of_tables() {
        // scipy.stats.t.isf(above, freedom)
        for (above, freedom, t) in [
            (0.05, 1.0, 6.313751514675044),
            (0.025, 2.0, 4.302652729749464),
            (0.05, 10.0, 1.812461122811676),
            (0.01, 1287.0, 2.329248823963469),
            (0.001, 3.0, 10.214531852407381),
            (0.5, 7.0, 0.0),
        ] {
            let found = student_quantile(above, freedom);
            assert!((found - t).abs() <= 1e-9 * t.abs().max(1e-3), "{above} {freedom}: {found}, not {t}");
        }
    }

    #[test]
    fn the_share_below_is_symmetric_and_a_half_at_zero() {
        assert_eq!(student_below(0.0, 5.0), 0.5);
        assert!((student_below(1.3, 5.0) + student_below(-1.3, 5.0) - 1.0).abs() < 1e-15);
        // Γ(½) = √π, Γ(11) = 10!
        assert!((ln_gamma(0.5) - std::f64::consts::PI.sqrt().ln()).abs() < 1e-14);
        assert!((ln_gamma(11.0) - 3_628_800f64.ln()).abs() < 1e-13);
    }
}
