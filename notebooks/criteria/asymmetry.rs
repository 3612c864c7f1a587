//! Elements do not all move the same way.
//!
//! asymmetry = |mean(c − r)| / mean(|c − r|) over all elements of all rows, in float64, sums exact; pass when it is at most
//! `bound`. Unit: unitless, 0..=1: 0 where shifts cancel, 1 where every element that moves moves the same way.
//! `difference.signed` and `difference.absolute` are the two means, in the unit of the values.
//! Traps: a ratio has no size: a bias of 10⁻¹⁶ in one direction has asymmetry 1; read `difference.absolute` beside. Of n
//! independent differences of mean 0 it still is some 1/√n, so few elements look biased. Biases of opposite sign in two
//! columns cancel. A candidate that does not differ at all has 0 by definition here, not 0/0.

criterion! {
    meaning: "differences of elements do not lean to one side: |signed mean| / mean absolute difference is at most the bound",
    version: "1.0.0",
    parameters: { bound["unitless", 0.0..=1.0] "largest |signed mean| as a part of the mean absolute difference" },
    sees: { reference, candidate },
    state: { signed: Mean, absolute: Mean },
    row: |state, row, _p| {
        for (r, c) in row.reference.zip(row.candidate) {
            state.signed.add(c - r);
            state.absolute.add((c - r).abs());
        }
    },
    verdict: |state, p| {
        let (signed, absolute) = (state.signed.value(), state.absolute.value());
        let asymmetry = if absolute == 0.0 { 0.0 } else { signed.abs() / absolute };
        pass_if(asymmetry <= p.bound)
            .because(format!("the mean difference {signed} is {asymmetry} of the mean absolute one, {absolute}; the bound is {}", p.bound))
            .figure("asymmetry", "unitless", &asymmetry)
            .figure("difference.signed", "same as the values", &state.signed)
            .figure("difference.absolute", "same as the values", &state.absolute)
    },
}
