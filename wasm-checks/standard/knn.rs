//! Every row keeps its neighbours.
//!
//! For each query row the share of its `k` nearest rows in the reference that are still among its `k` nearest in the
//! candidate, by cosine in float64, the row itself left out; pass when the mean share is at least `floor`. Unit: unitless,
//! 0..=1. Source: overlap of neighbourhoods, as recall at k of nearest-neighbour search with the reference as truth.
//! The queries are the `queries` rows whose ids have the smallest SHA-256 (all rows, if there are no more): the seal fixes
//! them, whatever the order of rows. Cost: queries × rows × values of multiplications, twice.
//! Traps: equally near rows (duplicates) are ordered by id, bytewise, and `queries.tied` counts the queries where that
//! decided the last place on either side: there a small difference exchanges neighbours that are equally good. A mean
//! hides single rows: `overlap.min` names the worst. With no more than `k` other rows all of them are neighbours whatever
//! the vectors say, and nothing can be concluded. Zero vectors have no neighbours: such files are not comparable.

criterion! {
    meaning: "rows keep their k nearest neighbours: the mean share kept is at least the floor",
    version: "1.0.0",
    parameters: {
        floor["unitless", 0.0..=1.0] "smallest mean share of neighbours kept, 0..=1",
        k["neighbours", 1.0..=1000.0] "how many nearest neighbours of a row count, a whole number",
        queries["rows", 1.0..] "how many rows are asked for their neighbours, a whole number",
    },
    sees: { neighbours_kept(k, queries), neighbours_tied(k, queries) },
    state: { rows: Count, queries: Count, tied: Count, whole: Count, kept: Count, least: Lowest, lost: Spread },
    row: |state, row, p| {
        state.rows.add();
        if let (Some(kept), Some(tied)) = (row.neighbours_kept, row.neighbours_tied) {
            state.queries.add();
            state.tied.add_if(tied > 0.0);
            state.whole.add_if(kept == 1.0);
            state.kept.add_many((kept * p.k).round() as u64);
            state.least.add(kept, row.id);
            state.lost.add(1.0 - kept);
        }
    },
    verdict: |state, p| {
        let (rows, queries) = (state.rows.value(), state.queries.value());
        if rows as f64 - 1.0 <= p.k || queries == 0 {
            return inconclusive()
                .because(format!("{rows} rows are too few for {} neighbours of one to be chosen among them", p.k))
                .figure("rows", "rows", &state.rows);
        }
        // Counted neighbours, divided once.
        let mean = state.kept.value() as f64 / (queries as f64 * p.k);
        let relation = if mean >= p.floor { "not below" } else { "below" };
        pass_if(mean >= p.floor)
            .because(format!(
                "{queries} queries keep {mean} of their {} nearest neighbours in the mean, {relation} the floor {}; {} were tied",
                p.k, p.floor, state.tied.value(),
            ))
            .figure("overlap.mean", "unitless", &mean)
            .figure("overlap.min", "unitless", &state.least)
            .figure("queries", "rows", &state.queries)
            .figure("queries.whole", "rows", &state.whole)
            .figure("queries.tied", "rows", &state.tied)
            .spread("share of neighbours lost", "unitless", &state.lost, None)
    },
}
