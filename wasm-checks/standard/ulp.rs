//! Every element is within a distance counted in units in the last place.
//!
//! The distance of rᵢ and cᵢ is how many numbers of their type lie between them, plus one: 0 for equal ones, −0 and 0
//! included, and across 0 the distances of both sides to it add up. Pass when the largest one is at most `most`. Unit:
//! units in the last place. Source: the order of IEEE 754 bit patterns; B. Dawson, "Comparing floating point numbers"
//! (2012).
//! Traps: it is measured in the type the values are held in, which `ulp.type` tells: float32 for columns of float16,
//! bfloat16 and float32 (one step of float16 is 8,192 of float32, one of bfloat16 65,536), float64 as soon as one file
//! has it. Near 0 a difference without meaning is a large distance: 1e-30 is 229 million steps of float32 from 0. Beyond
//! 2^53 a distance is rounded to the nearest float64; none reaches 2^64.

criterion! {
    meaning: "no element is further from its reference than a number of units in the last place",
    version: "1.0.0",
    parameters: { most["units in the last place", 0.0..] "largest distance that still counts as the same, at least 0" },
    sees: { ulp_max, value_bits },
    state: { largest: Highest, over: Count, bits: Highest<1>, sizes: Spread },
    row: |state, row, p| {
        state.largest.add(row.ulp_max, row.id);
        state.over.add_if(row.ulp_max > p.most);
        state.bits.add(row.value_bits, row.id);
        state.sizes.add(row.ulp_max);
    },
    verdict: |state, p| {
        let (largest, bits) = (state.largest.value(), state.bits.value());
        let unit = format!("units in the last place of float{bits}");
        let relation = if largest <= p.most { "not above" } else { "above" };
        pass_if(largest <= p.most)
            .because(format!("the largest distance, {largest} {unit}, is {relation} {}", p.most))
            .figure("ulp.max", &unit, &state.largest)
            .figure("rows.over", "rows", &state.over)
            .figure("ulp.type", "bits", &bits)
            .spread("distance", &unit, &state.sizes, Some(p.most))
    },
}
