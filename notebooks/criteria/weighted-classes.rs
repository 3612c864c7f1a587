//! Classes keep their direction, each counted by the weight it is given here.
//!
//! weighted = Σ w(K)·m(K) / Σ w(K) over the classes K = news, legal, chat; m(K) = mean cosine of the rows that the
//! reference labels K (exact sum, rounded once), w(K) the parameter `weight_K`; pass when weighted is at least `floor`.
//! Unit: unitless, −1..=1. `class.K` is m(K).
//! Weights by the inverse of class size: declare weight_K = 1 / rows of K in the reference; a small class then outweighs a
//! large one. The same weight for all gives each class one vote (the macro mean, which is what a weight of 1 / size for
//! each ROW gives); weight_K = rows of K gives the plain mean over rows.
//! Traps: the classes stand in the source, because no accumulator keeps a mean for each key. A row of any other label
//! makes the answer inconclusive and is counted in `rows.unlisted`, never left out in silence; a class without rows makes
//! the answer an error. Labels are compared as text. A mean hides single rows: look at `cosine.min`.

criterion! {
    meaning: "the mean cosine of the classes news, legal and chat, weighted by the parameters, is at least the floor",
    version: "1.0.0",
    parameters: {
        floor["unitless", -1.0..=1.0] "smallest weighted mean of the class means",
        weight_news["unitless", 0.0..] "weight of the class news, any scale",
        weight_legal["unitless", 0.0..] "weight of the class legal, any scale",
        weight_chat["unitless", 0.0..] "weight of the class chat, any scale",
    },
    sees: { label, cosine },
    state: { news: Mean, legal: Mean, chat: Mean, unlisted: Count, least: Lowest },
    row: |state, row, _p| {
        state.least.add(row.cosine, row.id);
        match row.label {
            "news" => state.news.add(row.cosine),
            "legal" => state.legal.add(row.cosine),
            "chat" => state.chat.add(row.cosine),
            _ => state.unlisted.add(),
        }
    },
    verdict: |state, p| {
        let weights = p.weight_news + p.weight_legal + p.weight_chat;
        let mean = (p.weight_news * state.news.value() + p.weight_legal * state.legal.value()
            + p.weight_chat * state.chat.value()) / weights;
        let answer = if state.unlisted.value() > 0 {
            inconclusive().because(format!("{} rows have a label without a weight", state.unlisted.value()))
        } else {
            pass_if(mean >= p.floor).because(format!("the weighted mean cosine is {mean}, the floor {}", p.floor))
        };
        answer
            .figure("cosine.weighted", "unitless", &mean)
            .figure("class.news", "unitless", &state.news)
            .figure("class.legal", "unitless", &state.legal)
            .figure("class.chat", "unitless", &state.chat)
            .figure("cosine.min", "unitless", &state.least)
            .figure("rows.unlisted", "rows", &state.unlisted)
    },
}
