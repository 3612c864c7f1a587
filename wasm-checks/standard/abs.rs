//! Every element is within an absolute distance.
//!
//! max |cᵢ − rᵢ| ≤ `most` over all elements of all rows, in float64; pass when it holds.
//! Source: the maximum norm of c − r; with rtol 0 the same bound as numpy's allclose. Unit: that of the values.
//! Traps: one bound for large and small values alike: at `most` 1e-6 a value of 1e-9 may be anything near 0. float64
//! values whose difference float64 cannot hold (±1.7e308) are not comparable, never a large difference.

criterion! {
    meaning: "no element is further from its reference than an absolute distance: |c - r| <= most",
    version: "1.0.0",
    parameters: { most["same as the values", 0.0..] "largest |c - r| that still counts as the same, at least 0" },
    sees: { abs_max },
    state: { largest: Highest, over: Count, sizes: Spread },
    row: |state, row, p| {
        state.largest.add(row.abs_max, row.id);
        state.over.add_if(row.abs_max > p.most);
        state.sizes.add(row.abs_max);
    },
    verdict: |state, p| {
        let largest = state.largest.value();
        let relation = if largest <= p.most { "not above" } else { "above" };
        pass_if(largest <= p.most)
            .because(format!(
                "the largest |c - r|, {largest}, is {relation} {}; {} rows are over it", p.most, state.over.value(),
            ))
            .figure("abs.max", "same as the values", &state.largest)
            .figure("rows.over", "rows", &state.over)
            .spread("max |c − r|", "same as the values", &state.sizes, Some(p.most))
    },
}
