//! Every logged scalar of every step is close, as two runs of one training compare.
//!
//! A row is a step, its id the step's number, its vector the scalars logged at it. |cᵢ − rᵢ| ≤ atol + rtol·|rᵢ| for
//! every scalar of every step, in float64; the uninterrupted run is r. Units: `atol` in the unit of the scalars, `rtol`
//! unitless. Traps: one `atol` serves all scalars, and a learning rate of 1e-4 passes any `atol` above it: prefer
//! `rtol`, or log in comparable units. Training is chaotic: a difference of one unit in the last place grows from step
//! to step, so that a bound for the last step says little of the first; `step.first_over` tells where it began. Two
//! runs on a processor with deterministic operations and the same number of threads can be equal to the bit (both
//! bounds 0); on GPUs measure what repeats of the uninterrupted run differ by (%calibrate) before a bound is chosen.
//! Source of the closeness: numpy.org/doc/stable/reference/generated/numpy.allclose.html, the second argument being r.

criterion! {
    meaning: "every logged scalar of every step is close: |c - r| <= atol + rtol * |r|",
    version: "1.0.0",
    parameters: {
        atol["same as the scalars", 0.0..] "absolute tolerance, at least 0",
        rtol["unitless", 0.0..] "relative tolerance, at least 0",
    },
    sees: { abs_max, rel_max, elements_over(atol, rtol) },
    state: { abs: Highest, rel: Highest, over: Count, scalars: Count, first: Lowest, unnumbered: Count, sizes: Spread },
    row: |state, row, _p| {
        state.abs.add(row.abs_max, row.id);
        state.rel.add(row.rel_max, row.id);
        state.over.add_if(row.elements_over > 0.0);
        state.scalars.add_many(row.elements_over as u64);
        state.sizes.add(row.abs_max);
        if row.elements_over > 0.0 {
            match row.id.parse::<f64>() {
                Ok(step) if step.is_finite() => state.first.add(step, row.id),
                _ => state.unnumbered.add(),
            }
        }
    },
    verdict: |state, p| {
        let (steps, scalars) = (state.over.value(), state.scalars.value());
        // Rows whose ids are no numbers have no order, so none of them is the first.
        let ordered = steps > 0 && state.unnumbered.value() == 0;
        let first = if ordered { format!(", step {} first", state.first.value()) } else { String::new() };
        let because = if steps == 0 {
            format!("every scalar of every step is within atol {} + rtol {} · |r|", p.atol, p.rtol)
        } else {
            format!(
                "{steps} steps have scalars over atol {} + rtol {} · |r| ({scalars} scalars in all){first}; the largest difference is {}",
                p.atol, p.rtol, state.abs.value(),
            )
        };
        let answer = pass_if(steps == 0)
            .because(because)
            .figure("abs.max", "same as the scalars", &state.abs)
            .figure("rel.max", "unitless", &state.rel)
            .figure("steps.over", "steps", &state.over)
            .figure("scalars.over", "scalars", &state.scalars);
        let answer = if ordered { answer.figure("step.first_over", "step", &state.first) } else { answer };
        answer.spread("max |c − r|", "same as the scalars", &state.sizes, (p.rtol == 0.0).then_some(p.atol))
    },
}
