//! Few rows turn by more than 5 degrees.
//!
//! angle = arccos(cosine) in degrees, 0..=180; shares of rows in [0, 1], (1, 5], (5, 15], (15, 180], counted exactly; pass
//! when the share above 5° is at most `share`. Units: shares unitless, angles degrees. `angle` is the picture of them all.
//! Traps: a row at exactly 1°, 5° or 15° falls to either side by rounding. Below about 10⁻⁶ degrees an angle is rounding of
//! the cosine (arccos is steep at 1); the bins do not feel it. Lengths do not count. A small share of all rows may be all
//! rows of a small class: see language-floor.

criterion! {
    meaning: "the share of rows that turn by more than 5 degrees is at most what is accepted",
    version: "1.0.0",
    parameters: { share["unitless", 0.0..=1.0] "largest share of rows that turn by more than 5 degrees" },
    sees: { cosine },
    state: { to1: Count, to5: Count, to15: Count, beyond: Count, most: Highest, angles: Spread },
    row: |state, row, _p| {
        let angle = row.cosine.clamp(-1.0, 1.0).acos().to_degrees();
        let bin = if angle <= 1.0 { &mut state.to1 } else if angle <= 5.0 { &mut state.to5 }
            else if angle <= 15.0 { &mut state.to15 } else { &mut state.beyond };
        bin.add();
        state.most.add(angle, row.id);
        state.angles.add(angle);
    },
    verdict: |state, p| {
        let [a, b, c, d] = [&state.to1, &state.to5, &state.to15, &state.beyond].map(|bin| bin.value() as f64);
        let (rows, wide) = (a + b + c + d, (c + d) / (a + b + c + d));
        pass_if(wide <= p.share)
            .because(format!("{} of {rows} rows turn by more than 5°, {wide}, where {} is accepted", c + d, p.share))
            .figure("share.beyond5", "unitless", &wide)
            .figure("bin.0-1", "unitless", &(a / rows))
            .figure("bin.1-5", "unitless", &(b / rows))
            .figure("bin.5-15", "unitless", &(c / rows))
            .figure("bin.15-180", "unitless", &(d / rows))
            .figure("angle.max", "degrees", &state.most)
            .spread("angle", "degrees", &state.angles, Some(5.0))
    },
}
