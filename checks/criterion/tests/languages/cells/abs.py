meaning = "no element is further from its reference than an absolute distance: |c - r| <= most"
version = "1.0.0"
parameters = {"most": ("same as the values", 0.0, None, "largest |c - r| that still counts as the same, at least 0")}
sees = ["abs_max"]
state = {"largest": Highest(), "over": Count(), "sizes": Spread()}


def row(state, row, p):
    state.largest.add(row.abs_max, row.id)
    state.over.add_if(row.abs_max > p.most)
    state.sizes.add(row.abs_max)


def verdict(state, p):
    largest = state.largest.value
    return (
        pass_if(largest <= p.most)
        .because(f"the largest |c - r| is {largest}; {state.over} rows are over {p.most}")
        .figure("abs.max", "same as the values", state.largest)
        .figure("rows.over", "rows", state.over)
        .spread("max |c − r|", "same as the values", state.sizes, p.most)
    )
