//! Every row has the label it had.
//!
//! agreement = share of rows whose label in the candidate file is the reference's, counted exactly; pass when it is at
//! least `floor`. kappa = (agreement − chance) / (1 − chance), chance = Σ over labels of the two files' shares of it,
//! multiplied. Source: J. Cohen, "A coefficient of agreement for nominal scales" (1960). Unit: unitless.
//! `class.X` is the agreement among the rows that the reference labels X, lowest first, 40 classes at most;
//! `confusion.X→Y` counts the rows that went from X to Y, most first, 16 pairs at most; `rows.differing` names ids.
//! Traps: both files need the label column. Labels are compared as text: "1" and "01" differ, a null is the empty text.
//! Where one label is nearly everything, agreement is high by chance: look at kappa, which does not exist (and is left
//! out) where each file has one and the same label throughout. More than 1,024 different pairs of labels are an error:
//! such a column holds no classes.

criterion! {
    meaning: "rows keep their labels: the share of rows with the same label is at least the floor",
    version: "1.0.0",
    parameters: { floor["unitless", 0.0..=1.0] "smallest share of rows with the same label, 0..=1" },
    sees: { label, candidate_label },
    state: { rows: Count, same: Count, differing: Count, ids: Highest<20>, pairs: Tally },
    row: |state, row, _p| {
        state.rows.add();
        state.pairs.add_pair(row.label, row.candidate_label);
        if row.label == row.candidate_label {
            state.same.add();
        } else {
            state.differing.add();
            state.ids.add(1.0, row.id);
        }
    },
    verdict: |state, p| {
        let (rows, same) = (state.rows.value(), state.same.value());
        let agreement = same as f64 / rows as f64;
        // What each label has of the reference's rows, of these rows again, and of the candidate's rows.
        let mut classes: std::collections::BTreeMap<&str, (u64, u64, u64)> = Default::default();
        for (r, c, count) in state.pairs.entries() {
            let class = classes.entry(r).or_default();
            class.0 += count;
            class.1 += if r == c { count } else { 0 };
            classes.entry(c).or_default().2 += count;
        }
        let chance: u128 = classes.values().map(|class| u128::from(class.0) * u128::from(class.2)).sum();
        let (all, rows_same) = (u128::from(rows) * u128::from(rows), u128::from(rows) * u128::from(same));
        let mut answer = pass_if(agreement >= p.floor)
            .because(format!("{same} of {rows} rows have the same label, {agreement}, where {} is the floor", p.floor))
            .figure("agreement", "unitless", &agreement)
            .figure("rows.differing", "rows", &(&state.differing, &state.ids))
            .figure("classes", "labels", &(classes.len() as f64));
        if chance < all {
            let kappa = (rows_same as f64 - chance as f64) / (all - chance) as f64;
            answer = answer.figure("kappa", "unitless", &kappa);
        }
        let mut by_class: Vec<(f64, &str)> =
            classes.iter().filter(|(_, of)| of.0 > 0).map(|(name, of)| (of.1 as f64 / of.0 as f64, *name)).collect();
        by_class.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(b.1)));
        for (share, name) in by_class.iter().take(40) {
            answer = answer.figure(&format!("class.{name}"), "unitless", share);
        }
        let mut confused: Vec<(u64, &str, &str)> =
            state.pairs.entries().filter(|(r, c, _)| r != c).map(|(r, c, count)| (count, r, c)).collect();
        confused.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
        for (count, r, c) in confused.iter().take(16) {
            answer = answer.figure(&format!("confusion.{r}→{c}"), "rows", &(*count as f64));
        }
        answer
    },
}
