//! A score of the rows has the mean it had, shown by a test of equivalence.
//!
//! The files hold one value a row: a score that was measured for it on either side (right or wrong as 1 or 0, a loss, a
//! rank). d = c − r per row, n rows, mean d̄, standard error e = s_d/√n. The interval d̄ ± t·e, t Student's quantile for
//! 1 − `alpha` with n − 1 degrees, holds the true mean difference with 1 − 2·alpha. Pass when it lies within ±`margin`,
//! fail when it lies wholly outside, inconclusive when it straddles a bound: too few rows, or too much scatter. Unit: that
//! of the score. Sums are exact.
//! Source: D. Schuirmann, "A comparison of the two one-sided tests procedure…" (1987) (TOST), on paired differences.
//! Traps: "no significant difference" is no equivalence; this asks for evidence of equality. The interval rests on rows
//! that are independent of each other, and on a mean that is near normal: below some 30 rows, or with rare large
//! differences, it is too narrow. Equal files have an interval of width 0. A score that is a ratio over all rows (F1, AUC)
//! has no value for each row and does not belong here.

criterion! {
    meaning: "the mean of a score is equivalent to the reference's within a margin (TOST on paired rows)",
    version: "1.0.0",
    parameters: {
        margin["same as the values", 0.0..] "largest difference of the means that does not matter",
        alpha["unitless", 1e-6..=0.5] "chance of calling equivalent what is not, e.g. 0.05",
    },
    sees: { reference, candidate },
    state: { rows: Count, wide: Count, r: Mean, c: Mean, d: Mean, squares: Sum, worst: Highest, spread: Spread },
    row: |state, row, _p| {
        state.rows.add();
        if row.reference.len() != 1 {
            state.wide.add();
            return;
        }
        let (r, c) = (row.reference.get(0), row.candidate.get(0));
        // Each square is rounded, their sum is not; see the verdict for what that means.
        state.r.add(r);
        state.c.add(c);
        state.d.add(c - r);
        state.squares.add((c - r) * (c - r));
        state.worst.add((c - r).abs(), row.id);
        state.spread.add(c - r);
    },
    verdict: |state, p| {
        let n = state.rows.value() as f64;
        if state.wide.value() > 0 {
            return inconclusive()
                .because("a score is one value a row; these rows are vectors of several")
                .figure("rows", "rows", &state.rows);
        }
        if n < 2.0 {
            return inconclusive().because("one row has no scatter to judge a mean by").figure("rows", "rows", &state.rows);
        }
        let mean = state.d.value();
        // Σd² − n·d̄² loses digits only where the scatter is far below the mean: there the interval is a point anyway.
        let variance = ((state.squares.value() - n * mean * mean) / (n - 1.0)).max(0.0);
        let error = (variance / n).sqrt();
        let t = fascicolo::statistics::student_quantile(p.alpha, n - 1.0);
        let (low, high) = (mean - t * error, mean + t * error);
        let answer = if low >= -p.margin && high <= p.margin {
            pass_if(true).because(format!("the mean differs by {mean}, surely between {low} and {high}: within the margin of {}", p.margin))
        } else if low > p.margin || high < -p.margin {
            pass_if(false).because(format!("the mean differs by {mean}, surely between {low} and {high}: beyond the margin of {}", p.margin))
        } else {
            inconclusive().because(format!(
                "the mean differs by {mean}, and the interval from {low} to {high} straddles the margin of {}: more rows are needed to tell",
                p.margin,
            ))
        };
        answer
            .figure("mean.reference", "same as the values", &state.r)
            .figure("mean.candidate", "same as the values", &state.c)
            .figure("difference.mean", "same as the values", &mean)
            .figure("difference.low", "same as the values", &low)
            .figure("difference.high", "same as the values", &high)
            .figure("difference.max", "same as the values", &state.worst)
            .figure("rows", "rows", &state.rows)
            .spread("difference of the score", "same as the values", &state.spread, None)
    },
}
