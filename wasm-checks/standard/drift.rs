//! The rows as a whole are spread as the reference's are.
//!
//! On a sample of n rows, R and C (n × d): `mean.shift` = ‖mean(C) − mean(R)‖ / √Σⱼ var(Rⱼ), `covariance.change` =
//! ‖cov(C) − cov(R)‖_F / ‖cov(R)‖_F, and `mmd2` = MMD², unbiased, with the kernel exp(−‖x − y‖² / 2b²), b = `bandwidth`:
//! the mean of k(rᵢ, rⱼ) over i ≠ j, plus that of k(cᵢ, cⱼ), less twice that of k(rᵢ, cⱼ) over i ≠ j. In float64; pass when
//! all three are at most what is accepted. Units: unitless; `bandwidth` in the unit of the values.
//! Source: A. Gretton et al., "A kernel two-sample test" (2012), lemma 6, U-statistic of pairs as rows are paired here.
//! The sample is the `rows` rows whose ids have the smallest SHA-256: the seal fixes them.
//! Traps: a permuted file has not drifted: ids do not count here, `cosine` sees them. MMD² hangs on the bandwidth: far too
//! small or too large, and it is 0 for everything; `distance.median` of the reference's rows is the usual choice, found
//! with `%compare … --explore` of the reference with itself. Unbiased, it falls below 0 for equal spreads. It is a
//! distance here, not a test: rows are pairs, so that the tables of the two-sample test do not hold. With fewer rows than
//! values, a change of the covariance below 10⁻⁷ is rounding.

criterion! {
    meaning: "mean, covariance and MMD² of a sample stay within what is accepted",
    version: "1.0.0",
    parameters: {
        shift["unitless", 0.0..] "largest shift of the mean, in standard deviations of the reference as a whole",
        covariance["unitless", 0.0..] "largest change of the covariance, as a part of the reference's norm",
        mmd2["unitless", 0.0..=2.0] "largest squared maximum mean discrepancy",
        bandwidth["same as the values", 0.0..] "width b of the kernel, above 0",
        rows["rows", 2.0..=5000.0] "how many rows the sample has, a whole number",
    },
    sees: { reference, candidate },
    state: { sample: Sample },
    row: |state, row, p| {
        state.sample.add(p.rows, row.id, row.reference, row.candidate);
    },
    verdict: |state, p| {
        let (n, values) = (state.sample.len(), state.sample.dims());
        let rows = n as f64;
        let nothing = |why: String| inconclusive().because(why).figure("rows.sampled", "rows", &rows);
        if n < 2 {
            return nothing("one row has no spread".to_owned());
        }
        // So many rows fit the fuel of a verdict: six inner products or distances for each pair, and three powers of e.
        let most = (9.5e8 / (23.5 * values as f64 + 360.0)).sqrt().floor();
        if rows > most {
            return nothing(format!("of {values} values a row, a sample of at most {most} rows can be looked at here; declare fewer rows than {rows}"));
        }
        let (mut r, mut c) = (state.sample.reference(), state.sample.candidate());
        let power = fascicolo::linear::level(&mut r, &mut c);
        let bandwidth = p.bandwidth * power;
        if bandwidth * bandwidth == 0.0 {
            return nothing("a kernel of this width beside these values sees no row near another".to_owned());
        }
        let (mean_r, mean_c) = (r.means(), c.means());
        let (centred_r, centred_c) = (r.centred(), c.centred());
        let deviation = (centred_r.norm() * centred_r.norm() / (rows - 1.0)).sqrt();
        if !(deviation > 0.0 && deviation.is_finite()) {
            return nothing("the reference's rows are all the same, or are so beside the candidate's: there is no spread to compare with".to_owned());
        }
        let shift = mean_r.iter().zip(&mean_c).fold(0.0, |sum, (r, c)| sum + (c - r) * (c - r)).sqrt() / deviation;
        // ‖CᵀC − RᵀR‖ and ‖RᵀR‖: value by value, or, where rows are fewer, by inner products of rows. There ‖CᵀC‖² −
        // 2‖CRᵀ‖² + ‖RRᵀ‖² would lose what is small; CᵀC − RᵀR = ½(XᵀY + YᵀX) with X = C − R, Y = C + R keeps more of it.
        let combined = |factor: f64| {
            let mut sum = centred_c.clone();
            for i in 0..n {
                sum.row_mut(i).iter_mut().zip(centred_r.row(i)).for_each(|(sum, r)| *sum += factor * r);
            }
            sum
        };
        let covariance = if values <= n {
            let (of_r, mut change) = (centred_r.columns_by_columns(&centred_r), centred_c.columns_by_columns(&centred_c));
            for i in 0..values {
                change.row_mut(i).iter_mut().zip(of_r.row(i)).for_each(|(change, r)| *change -= r);
            }
            change.norm() / of_r.norm()
        } else {
            let (x, y) = (combined(-1.0), combined(1.0));
            let xy = x.rows_by_rows(&y);
            let squared = 0.5 * (x.rows_by_rows(&x).inner(&y.rows_by_rows(&y)) + xy.inner(&xy.transposed()));
            squared.max(0.0).sqrt() / centred_r.rows_by_rows(&centred_r).norm()
        };
        // Distances of rows: of the reference, of the candidate, and across, without the pairs of one row.
        let mut near: Vec<f64> = Vec::with_capacity(n * (n - 1) / 2);
        let (mut of_r, mut of_c, mut across) = (0.0, 0.0, 0.0);
        let kernel = |squared: f64| (-squared / (2.0 * bandwidth * bandwidth)).exp();
        for i in 0..n {
            for j in 0..i {
                let squared = fascicolo::linear::squared_distance(r.row(i), r.row(j));
                near.push(squared);
                of_r += kernel(squared);
                of_c += kernel(fascicolo::linear::squared_distance(c.row(i), c.row(j)));
                across += kernel(fascicolo::linear::squared_distance(r.row(i), c.row(j)));
                across += kernel(fascicolo::linear::squared_distance(r.row(j), c.row(i)));
            }
        }
        let pairs = rows * (rows - 1.0);
        let mmd2 = 2.0 * of_r / pairs + 2.0 * of_c / pairs - 2.0 * across / pairs;
        let middle = near.len() / 2;
        let even = near.len() % 2 == 0;
        let (below, upper, _) = near.select_nth_unstable_by(middle, f64::total_cmp);
        let lower = if even { below.iter().copied().fold(0.0, f64::max) } else { *upper };
        let median = 0.5 * (lower.sqrt() + upper.sqrt()) / power;
        pass_if(shift <= p.shift && covariance <= p.covariance && mmd2 <= p.mmd2)
            .because(format!(
                "the mean of {rows} rows moved by {shift} deviations, of {} accepted; their covariance changed by {covariance}, of {}; MMD² is {mmd2}, of {}",
                p.shift, p.covariance, p.mmd2,
            ))
            .figure("mean.shift", "unitless", &shift)
            .figure("covariance.change", "unitless", &covariance)
            .figure("mmd2", "unitless", &mmd2)
            .figure("distance.median", "same as the values", &median)
            .figure("rows.sampled", "rows", &rows)
    },
}
