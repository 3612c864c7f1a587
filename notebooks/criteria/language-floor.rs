//! No language is left behind: the worst language still keeps enough of its rows.
//!
//! share(L) = rows of language L with cosine ≥ `bound` / rows of language L; pass when the smallest share among all
//! languages is at least `floor`. Unit: unitless, 0..=1. `share.L` is that of each language, lowest first, 50 at most.
//! Traps: the language is the label of the reference, compared as text ("de" and "DE" are two; a null is the empty text).
//! A language of one row has share 0 or 1: look at `worst.rows`. At equal shares the first in text order is named.

criterion! {
    meaning: "in every language the share of rows with a cosine of at least the bound is at least the floor",
    version: "1.0.0",
    parameters: {
        bound["unitless", -1.0..=1.0] "smallest cosine that still counts as the same row",
        floor["unitless", 0.0..=1.0] "smallest share of such rows in any language",
    },
    sees: { label, cosine },
    state: { all: Tally, kept: Tally },
    row: |state, row, p| {
        state.all.add(row.label);
        if row.cosine >= p.bound { state.kept.add(row.label); }
    },
    verdict: |state, p| {
        let mut shares: Vec<(f64, &str, u64)> = state.all.entries()
            .map(|(l, _, n)| (state.kept.count(l) as f64 / n as f64, l, n)).collect();
        shares.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(b.1)));
        let (share, worst, rows) = shares[0];
        let mut answer = pass_if(share >= p.floor)
            .because(format!("the worst language is {worst}: a share of {share} of its {rows} rows, the floor {}", p.floor))
            .figure("share.min", "unitless", &share)
            .figure("worst.rows", "rows", &(rows as f64));
        for (s, l, _) in shares.iter().take(50) { answer = answer.figure(&format!("share.{l}"), "unitless", s); }
        answer
    },
}
