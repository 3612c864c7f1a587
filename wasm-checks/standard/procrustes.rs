//! The candidate's space is the reference's, at most rotated.
//!
//! On a sample of n rows, R and C (n × d): apart(X) = ‖X − R‖_F / ‖R‖_F, Frobenius' norm, in float64. Side by side:
//! `raw` = apart(C), `rescaled` = apart(s·C) with the best s, `rotated` = apart(C·Q) with the best orthogonal Q (rotations
//! and reflections), `rotated.rescaled` = apart(s·C·Q) with the best of both. Pass when `rotated.rescaled` is at most
//! `most`. Unit: unitless; 0 for the same space, never above 1 where a scale is free.
//! Source: P. Schönemann, "A generalized solution of the orthogonal Procrustes problem" (1966); Q is the orthogonal polar
//! factor of CᵀR, s = tr(QᵀCᵀR) / ‖C‖².
//! The sample is the `rows` rows whose ids have the smallest SHA-256: the seal fixes them. Nothing is centred.
//! Traps: a pass says that distances and angles *within* one file are kept; vectors of the two files must still not be
//! mixed in one index unless `raw` is small too. With fewer rows than values a vector, Q has many ways to fit, but all
//! inner products between rows must still agree. Cost: rows² × values, and the cube of the smaller of both; some 210 rows
//! of 384 values, 100 of 4,096 are the most.

criterion! {
    meaning: "a sample of the rows, rotated and rescaled at best, lies no further from the reference than most",
    version: "1.0.0",
    parameters: {
        most["unitless", 0.0..=1.0] "largest distance after rotation and scale, as a part of the reference's norm",
        rows["rows", 1.0..=5000.0] "how many rows the sample has, a whole number",
    },
    sees: { reference, candidate },
    state: { sample: Sample },
    row: |state, row, p| {
        state.sample.add(p.rows, row.id, row.reference, row.candidate);
    },
    verdict: |state, p| {
        let (rows, values) = (state.sample.len() as f64, state.sample.dims() as f64);
        if rows < 2.0 {
            return inconclusive()
                .because("one row can be rotated onto any other: there must be 2")
                .figure("rows.sampled", "rows", &rows);
        }
        // Multiplications: of the lower factors, of the products, of up to a dozen inverses. So many fit the fuel of a verdict.
        let cost = |rows: f64| {
            let smaller = rows.min(values);
            let lower = if rows < values { 4.0 * rows * rows * values } else { 0.0 };
            lower + 2.0 * rows * smaller * smaller + 14.0 * smaller * smaller * smaller
        };
        if cost(rows) > 2.2e8 {
            let most = (1..state.sample.len()).rev().find(|n| cost(*n as f64) <= 2.2e8).unwrap_or(1);
            return inconclusive()
                .because(format!("of {values} values a row, a sample of at most {most} rows can be rotated here; declare fewer rows than {rows}"))
                .figure("rows.sampled", "rows", &rows);
        }
        let (mut r, mut c) = (state.sample.reference(), state.sample.candidate());
        fascicolo::linear::level(&mut r, &mut c);
        let (norm_r, norm_c) = (r.norm(), c.norm());
        if norm_r == 0.0 || norm_c == 0.0 || !norm_r.is_finite() || !norm_c.is_finite() {
            return inconclusive()
                .because("a sample of zero vectors, or one side of them beside the other, has no shape to compare")
                .figure("rows.sampled", "rows", &rows);
        }
        // Fewer rows than values: a rotation of both sides into as many dimensions as there are rows changes nothing.
        let (flat_r, flat_c) = if r.rows() < r.columns() { (r.lower(), c.lower()) } else { (r.clone(), c.clone()) };
        let Some(rotation) = flat_c.columns_by_columns(&flat_r).nearest_orthogonal() else {
            return inconclusive()
                .because("the two samples have no direction in common, so that no rotation is better than another")
                .figure("rows.sampled", "rows", &rows);
        };
        let rotated = flat_c.times(&rotation);
        let scale = r.inner(&c) / (norm_c * norm_c);
        let rotated_scale = rotated.inner(&flat_r) / (norm_c * norm_c);
        let mut by_row: Highest<5> = Default::default();
        let apart = |scale: f64, x: &Matrix, of: &Matrix, mut each: Option<&mut Highest<5>>| {
            let mut sum = 0.0;
            for (i, id) in state.sample.ids().into_iter().enumerate() {
                let squares = x.row(i).iter().zip(of.row(i)).fold(0.0, |sum, (x, r)| {
                    let d = scale * x - r;
                    sum + d * d
                });
                let norm = of.row(i).iter().fold(0.0, |sum, r| sum + r * r).sqrt();
                if let (Some(each), true) = (each.as_mut(), norm > 0.0) {
                    each.add(squares.sqrt() / norm, id);
                }
                sum += squares;
            }
            sum.sqrt() / norm_r
        };
        let raw = apart(1.0, &c, &r, None);
        let rescaled = apart(scale, &c, &r, None);
        let turned = apart(1.0, &rotated, &flat_r, None);
        let both = apart(rotated_scale, &rotated, &flat_r, Some(&mut by_row));
        let relation = if both <= p.most { "not above" } else { "above" };
        pass_if(both <= p.most)
            .because(format!(
                "{rows} rows lie {raw} apart as they are, {rescaled} rescaled, {turned} rotated, {both} rotated and rescaled, {relation} {}",
                p.most,
            ))
            .figure("raw", "unitless", &raw)
            .figure("rescaled", "unitless", &rescaled)
            .figure("rotated", "unitless", &turned)
            .figure("rotated.rescaled", "unitless", &(&both, &by_row))
            .figure("scale", "unitless", &rotated_scale)
            .figure("rows.sampled", "rows", &rows)
    },
}
