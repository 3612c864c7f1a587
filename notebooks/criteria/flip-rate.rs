//! Few rows change their first class.
//!
//! flip.rate = rows whose largest score stands at another index / rows, counted exactly; pass when it is at most `bound`.
//! Unit: unitless, 0..=1. `rows.flipped` counts them and names 5 of their ids, first in text order.
//! Traps: the vector must hold class scores, in the same order of classes on both sides; nothing can check that. Scores
//! count only by their order: logits and probabilities give the same. Equal largest scores: the first index counts, so
//! that a tie broken by rounding is a flip. A flip rate compares with the reference, not with the truth.

criterion! {
    meaning: "the share of rows whose first class flips is at most the bound",
    version: "1.0.0",
    parameters: { bound["unitless", 0.0..=1.0] "largest share of rows whose first class changes" },
    sees: { reference, candidate },
    state: { rows: Count, flipped: Count, ids: Highest },
    row: |state, row, _p| {
        state.rows.add();
        if row.reference.argmax() != row.candidate.argmax() {
            state.flipped.add();
            state.ids.add(1.0, row.id);
        }
    },
    verdict: |state, p| {
        let (rows, flipped) = (state.rows.value(), state.flipped.value());
        let rate = flipped as f64 / rows as f64;
        pass_if(rate <= p.bound)
            .because(format!("{flipped} of {rows} rows have another first class, {rate}, where {} is the bound", p.bound))
            .figure("flip.rate", "unitless", &rate)
            .figure("rows.flipped", "rows", &(&state.flipped, &state.ids))
    },
}
