//! The two files see the same likenesses between rows.
//!
//! On a sample of n rows, R and C (n × d), each column less its mean: CKA = ‖CᵀR‖² / (‖RᵀR‖ ‖CᵀC‖), Frobenius' norm, in
//! float64; pass when it is at least `floor`. Unit: unitless, 0..=1, 1 for spaces equal up to rotation, scale and shift.
//! Source: S. Kornblith et al., "Similarity of neural network representations revisited" (2019), linear kernel; computed
//! from the n × n inner products, whose entries' products sum to the same.
//! The sample is the `rows` rows whose ids have the smallest SHA-256: the seal fixes them.
//! Traps: it is dominated by the few directions of largest variance and stays high where many rows have moved a little: it
//! says that two spaces are alike, not that two files are equal; `cosine` and `abs` say that. It is biased upwards where
//! there are fewer rows than values: 50 unrelated rows of 384 values have 0.88. Rows that are all the same have no likenesses, and nothing can be concluded.

criterion! {
    meaning: "the likenesses between the rows of a sample are the reference's: linear CKA is at least the floor",
    version: "1.0.0",
    parameters: {
        floor["unitless", 0.0..=1.0] "smallest linear CKA, 0..=1",
        rows["rows", 2.0..=5000.0] "how many rows the sample has, a whole number",
    },
    sees: { reference, candidate },
    state: { sample: Sample },
    row: |state, row, p| {
        state.sample.add(p.rows, row.id, row.reference, row.candidate);
    },
    verdict: |state, p| {
        let (rows, values) = (state.sample.len() as f64, state.sample.dims() as f64);
        if rows < 3.0 {
            return inconclusive()
                .because(format!("{rows} rows have no likenesses that could differ: there must be 3"))
                .figure("rows.sampled", "rows", &rows);
        }
        // So many rows fit the fuel of a verdict: two inner products for each pair.
        let most = (9.5e8 / (7.2 * values + 130.0)).sqrt().floor();
        if rows > most {
            return inconclusive()
                .because(format!("of {values} values a row, a sample of at most {most} rows can be looked at here; declare fewer rows than {rows}"))
                .figure("rows.sampled", "rows", &rows);
        }
        let (mut r, mut c) = (state.sample.reference(), state.sample.candidate());
        fascicolo::linear::level(&mut r, &mut c);
        let (r, c) = (r.centred(), c.centred());
        let (of_r, of_c) = (r.rows_by_rows(&r), c.rows_by_rows(&c));
        let (norm_r, norm_c) = (of_r.norm(), of_c.norm());
        if !(norm_r > 0.0 && norm_c > 0.0 && norm_r.is_finite() && norm_c.is_finite()) {
            return inconclusive()
                .because("all rows of the sample are the same on one side, or too small beside the other side: there is nothing to be alike")
                .figure("rows.sampled", "rows", &rows);
        }
        // Each side by its norm first: the product of both could leave float64. Rounding may take it a little beyond 1.
        let cka = (of_r.inner(&of_c) / norm_r / norm_c).clamp(0.0, 1.0);
        let relation = if cka >= p.floor { "not below" } else { "below" };
        pass_if(cka >= p.floor)
            .because(format!("linear CKA of {rows} rows is {cka}, {relation} the floor {}", p.floor))
            .figure("cka", "unitless", &cka)
            .figure("rows.sampled", "rows", &rows)
    },
}
