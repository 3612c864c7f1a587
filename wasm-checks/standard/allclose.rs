//! Every element is close, as numpy.allclose and torch.allclose define it.
//!
//! |cᵢ − rᵢ| ≤ atol + rtol·|rᵢ| for every element, in float64; the reference is the denominator's side.
//! Units: `atol` in the unit of the values, `rtol` unitless. Traps: numpy's and torch's own defaults were made for
//! other uses and are never taken here; with `atol` 0 any difference at a reference of 0 fails. `rel.max` is taken over
//! the elements that have one; `rel.undefined` counts those with rᵢ = 0 ≠ cᵢ or a quotient beyond float64.
//!
//! Defaults of others, to be written out by whoever wants them; none is ever filled in:
//!   numpy.allclose                          rtol 1e-5    atol 1e-8
//!   torch.testing.assert_close, float16     rtol 1e-3    atol 1e-5
//!   torch.testing.assert_close, bfloat16    rtol 1.6e-2  atol 1e-5
//!   torch.testing.assert_close, float32     rtol 1.3e-6  atol 1e-5
//!   torch.testing.assert_close, float64     rtol 1e-7    atol 1e-7
//! Sources: numpy.org/doc/stable/reference/generated/numpy.allclose.html, docs.pytorch.org/docs/stable/testing.html.
//! assert_close takes the larger pair where the two types differ; numpy's second argument is the reference here.

criterion! {
    meaning: "every element is close: |c - r| <= atol + rtol * |r|",
    version: "1.0.0",
    parameters: {
        atol["same as the values", 0.0..] "absolute tolerance, at least 0",
        rtol["unitless", 0.0..] "relative tolerance, at least 0",
    },
    sees: { abs_max, rel_max, rel_undefined, elements_over(atol, rtol) },
    state: { abs: Highest, rel: Highest, undefined: Count, over: Count, elements: Count, sizes: Spread },
    row: |state, row, _p| {
        state.abs.add(row.abs_max, row.id);
        state.rel.add(row.rel_max, row.id);
        state.undefined.add_many(row.rel_undefined as u64);
        state.over.add_if(row.elements_over > 0.0);
        state.elements.add_many(row.elements_over as u64);
        state.sizes.add(row.abs_max);
    },
    verdict: |state, p| {
        let (rows, elements) = (state.over.value(), state.elements.value());
        pass_if(rows == 0)
            .because(format!(
                "{rows} rows have elements over atol {} + rtol {} · |r| ({elements} elements in all); the largest difference is {}",
                p.atol, p.rtol, state.abs.value(),
            ))
            .figure("abs.max", "same as the values", &state.abs)
            .figure("rel.max", "unitless", &state.rel)
            .figure("rel.undefined", "elements", &state.undefined)
            .figure("rows.over", "rows", &state.over)
            .figure("elements.over", "elements", &state.elements)
            .spread("max |c − r|", "same as the values", &state.sizes, (p.rtol == 0.0).then_some(p.atol))
    },
}
