//! Every element is within a relative distance of its reference.
//!
//! max |cᵢ − rᵢ| / |rᵢ| ≤ `most`, in float64: the reference is the denominator, so that exchanging the files gives other
//! numbers. Unit: unitless. Source: the relative error of numerical analysis (N. Higham, Accuracy and Stability of
//! Numerical Algorithms, 1.2).
//! Traps: an element with rᵢ = 0 ≠ cᵢ, or whose quotient is beyond float64, has no relative difference: it is counted in
//! `rel.undefined`, and more of them than the parameter `undefined` allows is a fail, however small `rel.max` is. Equal
//! elements, 0 and 0 among them, differ by 0. Values near 0 make large quotients of differences that mean nothing.

criterion! {
    meaning: "no element is further from its reference than a relative distance: |c - r| / |r| <= most",
    version: "1.0.0",
    parameters: {
        most["unitless", 0.0..] "largest |c - r| / |r| that still counts as the same, at least 0",
        undefined["elements", 0.0..] "how many elements without a relative difference (r = 0, c not) are accepted",
    },
    sees: { rel_max, rel_undefined },
    state: { largest: Highest, undefined: Count, undefined_row: Highest, over: Count, sizes: Spread },
    row: |state, row, p| {
        state.largest.add(row.rel_max, row.id);
        state.undefined.add_many(row.rel_undefined as u64);
        state.undefined_row.add(row.rel_undefined, row.id);
        state.over.add_if(row.rel_max > p.most);
        state.sizes.add(row.rel_max);
    },
    verdict: |state, p| {
        let (largest, undefined) = (state.largest.value(), state.undefined.value());
        pass_if(largest <= p.most && undefined as f64 <= p.undefined)
            .because(format!(
                "the largest |c - r| / |r| is {largest} of {} accepted; {undefined} elements have none, of {} accepted",
                p.most, p.undefined,
            ))
            .figure("rel.max", "unitless", &state.largest)
            .figure("rows.over", "rows", &state.over)
            .figure("rel.undefined", "elements", &state.undefined)
            .figure("rel.undefined.row_max", "elements", &state.undefined_row)
            .spread("max |c − r| / |r|", "unitless", &state.sizes, Some(p.most))
    },
}
