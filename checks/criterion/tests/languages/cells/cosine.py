meaning = "every row keeps its direction: the smallest cosine is at least the floor"
version = "1.0.0"
parameters = {"floor": ("unitless", -1.0, 1.0, "smallest cosine that still counts as the same row, -1..=1")}
sees = ["cosine", "norm_reference", "norm_candidate"]
state = {"least": Lowest(), "mean": Mean(), "ratio": Highest(), "turned": Spread()}


def row(state, row, p):
    state.least.add(row.cosine, row.id)
    state.mean.add(row.cosine)
    state.ratio.add(row.norm_candidate / row.norm_reference, row.id)
    state.turned.add(1.0 - row.cosine)


def verdict(state, p):
    least = state.least.value
    relation = "not below" if least >= p.floor else "below"
    return (
        pass_if(least >= p.floor, because=f"the smallest cosine, {least}, is {relation} the floor {p.floor}")
        .figure("cosine.min", "unitless", state.least)
        .figure("cosine.mean", "unitless", state.mean)
        .figure("norm_ratio.max", "unitless", state.ratio)
        .spread("1 − cosine", "unitless", state.turned, 1.0 - p.floor)
    )
