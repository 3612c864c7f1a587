//! Every row keeps its length.
//!
//! ‖c‖/‖r‖, Euclidean, in float64; pass when the smallest and the largest one lie within `least` and `most`.
//! Unit: unitless, 1 for rows of equal length. Source: the definition; what a normalisation left out, doubled or done
//! in another type changes first.
//! Traps: direction does not count, a permuted file passes: see `cosine`. A zero vector has no ratio: rows with ‖r‖ = 0
//! (or a quotient beyond float64) and c ≠ r are counted in `norm_ratio.undefined`, and more of them than the parameter
//! `undefined` allows is a fail; rows that are zero on both sides are counted in `norm.both_zero` and are equal. Where no
//! row has a ratio, nothing can be concluded.

criterion! {
    meaning: "every row keeps its length: |c| / |r| lies between least and most",
    version: "1.0.0",
    parameters: {
        least["unitless", 0.0..] "smallest |c| / |r| that still counts as the same length, at least 0",
        most["unitless", 0.0..] "largest |c| / |r| that still counts as the same length, at least 0",
        undefined["rows", 0.0..] "how many rows without a ratio (r a zero vector, c not) are accepted",
    },
    sees: { norm_reference, norm_candidate },
    state: { smallest: Lowest, largest: Highest, ratios: Count, undefined: Count, zeros: Count, away: Spread },
    row: |state, row, _p| {
        let ratio = row.norm_candidate / row.norm_reference;
        if row.norm_reference == 0.0 && row.norm_candidate == 0.0 {
            state.zeros.add();
        } else if row.norm_reference == 0.0 || !ratio.is_finite() {
            state.undefined.add();
        } else {
            state.ratios.add();
            state.smallest.add(ratio, row.id);
            state.largest.add(ratio, row.id);
            state.away.add(ratio - 1.0);
        }
    },
    verdict: |state, p| {
        let (smallest, largest, undefined) = (state.smallest.value(), state.largest.value(), state.undefined.value());
        if state.ratios.value() == 0 {
            return inconclusive()
                .because("no row has a ratio of lengths: a zero vector has none")
                .figure("norm_ratio.undefined", "rows", &state.undefined)
                .figure("norm.both_zero", "rows", &state.zeros);
        }
        pass_if(smallest >= p.least && largest <= p.most && undefined as f64 <= p.undefined)
            .because(format!(
                "|c| / |r| goes from {smallest} to {largest}, where {} to {} are accepted; {undefined} rows have none, of {} accepted",
                p.least, p.most, p.undefined,
            ))
            .figure("norm_ratio.min", "unitless", &state.smallest)
            .figure("norm_ratio.max", "unitless", &state.largest)
            .figure("norm_ratio.undefined", "rows", &state.undefined)
            .figure("norm.both_zero", "rows", &state.zeros)
            .spread("|‖c‖/‖r‖ − 1|", "unitless", &state.away, None)
    },
}
