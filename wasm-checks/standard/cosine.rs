//! Every row keeps its direction.
//!
//! cosine(r, c) = 1 − ½‖r/‖r‖ − c/‖c‖‖², in float64; pass when the smallest one is at least `floor`.
//! Unit: unitless, −1..=1. Trap: lengths do not count; `norm_ratio.max` = max ‖c‖/‖r‖ shows them beside.

criterion! {
    meaning: "every row keeps its direction: the smallest cosine is at least the floor",
    version: "1.0.0",
    parameters: { floor["unitless", -1.0..=1.0] "smallest cosine that still counts as the same row, -1..=1" },
    sees: { cosine, norm_reference, norm_candidate },
    state: { least: Lowest, mean: Mean, ratio: Highest, turned: Spread },
    row: |state, row, _p| {
        state.least.add(row.cosine, row.id);
        state.mean.add(row.cosine);
        state.ratio.add(row.norm_candidate / row.norm_reference, row.id);
        state.turned.add(1.0 - row.cosine);
    },
    verdict: |state, p| {
        let least = state.least.value();
        let relation = if least >= p.floor { "not below" } else { "below" };
        pass_if(least >= p.floor)
            .because(format!("the smallest cosine, {least}, is {relation} the floor {}", p.floor))
            .figure("cosine.min", "unitless", &state.least)
            .figure("cosine.mean", "unitless", &state.mean)
            .figure("norm_ratio.max", "unitless", &state.ratio)
            .spread("1 − cosine", "unitless", &state.turned, Some(1.0 - p.floor))
    },
}
