//! Every row puts the same classes first.
//!
//! The files hold one score a class for each row (logits, probabilities). agreement = share of rows whose largest score
//! is at the same place on both sides, counted exactly; pass when it is at least `floor`. `topk.overlap` = mean share of
//! the `k` places with the largest scores that both sides have in common; `rows.flipped` names ids, those with the
//! largest lead in the reference first: a flip of a close call matters less. Unit: unitless.
//! Source: top-1 agreement and top-k overlap as used for quantised classifiers.
//! Traps: equal scores are ordered by place, first wins, on both sides; `rows.tied` counts rows where that decided the
//! first place on either side. With no more classes than `k` the overlap is 1 whatever the scores say. Scores may move far without a flip: see `abs`. It does not know which class is right.

criterion! {
    meaning: "rows keep their first class: the share with the largest score at the same place is at least the floor",
    version: "1.0.0",
    parameters: {
        floor["unitless", 0.0..=1.0] "smallest share of rows with the same first class, 0..=1",
        k["classes", 1.0..=1000.0] "how many first classes are compared beside, a whole number",
    },
    sees: { reference, candidate },
    state: { rows: Count, same: Count, flipped: Highest<20>, flips: Count, tied: Count, kept: Count, asked: Count, few: Count },
    row: |state, row, p| {
        state.rows.add();
        state.few.add_if(row.reference.len() < 2);
        // −0 + 0 is 0: both zeros are one score.
        let before = |v: Vector<'_>, a: usize, b: usize| (v.get(b) + 0.0).total_cmp(&(v.get(a) + 0.0)).then(a.cmp(&b));
        let classes = row.reference.len();
        let k = (p.k as usize).min(classes);
        // The first k places in any order, and the first of all with its lead over the second.
        let first = |v: Vector<'_>| {
            let mut places: Vec<usize> = (0..classes).collect();
            if k < classes {
                places.select_nth_unstable_by(k - 1, |a, b| before(v, *a, *b));
            }
            places.truncate(k);
            let best = v.argmax();
            let second = (0..classes).filter(|i| Some(*i) != best).map(|i| v.get(i)).fold(f64::NEG_INFINITY, f64::max);
            (places, best, best.filter(|_| classes > 1).map_or(0.0, |best| v.get(best) - second))
        };
        let ((r, best_r, lead_r), (c, best_c, lead_c)) = (first(row.reference), first(row.candidate));
        state.tied.add_if(classes > 1 && (lead_r == 0.0 || lead_c == 0.0));
        let mut among = vec![false; classes];
        r.iter().for_each(|place| among[*place] = true);
        state.asked.add_many(k as u64);
        state.kept.add_many(c.iter().filter(|place| among[**place]).count() as u64);
        if best_r == best_c {
            state.same.add();
        } else {
            state.flips.add();
            state.flipped.add(lead_r, row.id);
        }
    },
    verdict: |state, p| {
        let (rows, same) = (state.rows.value(), state.same.value());
        if state.few.value() > 0 {
            return inconclusive()
                .because("rows of one score put it first whatever it is: there must be 2 classes")
                .figure("rows", "rows", &state.rows);
        }
        let agreement = same as f64 / rows as f64;
        let overlap = state.kept.value() as f64 / state.asked.value() as f64;
        pass_if(agreement >= p.floor)
            .because(format!("{same} of {rows} rows put the same class first, {agreement}, where {} is the floor", p.floor))
            .figure("top1.agreement", "unitless", &agreement)
            .figure("topk.overlap", "unitless", &overlap)
            .figure("rows.flipped", "rows", &(&state.flips, &state.flipped))
            .figure("rows.tied", "rows", &state.tied)
    },
}
