//! Every row is still given the same label by the nearest class centroid.
//!
//! On each side a class is the mean of the unit vectors of its rows (classes: the labels of the reference, for both
//! sides), and a row is given the label of the centroid with the largest cosine, in float64; pass when the share of rows
//! that both sides give the same label is at least `floor`. Unit: unitless. Source: the nearest centroid classifier
//! (Rocchio); what a downstream classification of the vectors keeps.
//! `class.X` is that share among the rows that the reference labels X, lowest first, 50 classes at most.
//! Traps: agreement of two classifiers, not with the truth: both may be wrong in the same way. Every row is in its own
//! centroid. Classes of few rows move most. Needs the reference's label column with at most 1,024 different labels; zero
//! vectors have no cosine: such files are not comparable.

criterion! {
    meaning: "the nearest class centroid gives rows the same label: the share of such rows is at least the floor",
    version: "1.0.0",
    parameters: { floor["unitless", 0.0..=1.0] "smallest share of rows given the same label, 0..=1" },
    sees: { label, centroid_kept },
    state: { rows: Count, kept: Count, lost: Count, ids: Highest<20>, classes: Tally, classes_kept: Tally },
    row: |state, row, _p| {
        state.rows.add();
        state.classes.add(row.label);
        if row.centroid_kept == 1.0 {
            state.kept.add();
            state.classes_kept.add(row.label);
        } else {
            state.lost.add();
            state.ids.add(1.0, row.id);
        }
    },
    verdict: |state, p| {
        let (rows, kept) = (state.rows.value(), state.kept.value());
        let agreement = kept as f64 / rows as f64;
        let mut answer = pass_if(agreement >= p.floor)
            .because(format!(
                "{kept} of {rows} rows have the same nearest centroid, {agreement}, where {} is the floor", p.floor,
            ))
            .figure("agreement", "unitless", &agreement)
            .figure("rows.differing", "rows", &(&state.lost, &state.ids))
            .figure("classes", "labels", &state.classes);
        let mut by_class: Vec<(f64, &str)> = state
            .classes
            .entries()
            .map(|(label, _, all)| (state.classes_kept.count(label) as f64 / all as f64, label))
            .collect();
        by_class.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(b.1)));
        for (share, label) in by_class.iter().take(50) {
            answer = answer.figure(&format!("class.{label}"), "unitless", share);
        }
        answer
    },
}
