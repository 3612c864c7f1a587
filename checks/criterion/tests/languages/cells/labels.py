meaning = "rows keep their labels: the share of rows with the same label is at least the floor"
version = "1.0.0"
parameters = {"floor": ("unitless", 0.0, 1.0, "smallest share of rows with the same label, 0..=1")}
sees = ["label", "candidate_label"]
state = {"rows": Count(), "same": Count(), "differing": Count(), "ids": Highest(20), "pairs": Tally()}


def row(state, row, p):
    state.rows.add()
    state.pairs.add_pair(row.label, row.candidate_label)
    if row.label == row.candidate_label:
        state.same.add()
    else:
        state.differing.add()
        state.ids.add(1.0, row.id)


def verdict(state, p):
    rows, same = state.rows.value, state.same.value
    agreement = same / rows
    # What each label has of the reference's rows, of these rows again, and of the candidate's rows.
    classes = {}
    for r, c, count in state.pairs.entries():
        of = classes.setdefault(r, [0, 0, 0])
        of[0] += count
        of[1] += count if r == c else 0
        classes.setdefault(c, [0, 0, 0])[2] += count
    chance = sum(of[0] * of[2] for of in classes.values())
    answer = (
        pass_if(agreement >= p.floor, because=f"{same} of {rows} rows have the same label")
        .figure("agreement", "unitless", agreement)
        .figure("rows.differing", "rows", state.differing, rows=state.ids)
        .figure("classes", "labels", len(classes))
    )
    if chance < rows * rows:
        answer.figure("kappa", "unitless", (float(rows * same) - float(chance)) / float(rows * rows - chance))
    by_class = sorted((of[1] / of[0], name) for name, of in classes.items() if of[0] > 0)
    for share, name in by_class[:40]:
        answer.figure(f"class.{name}", "unitless", share)
    confused = sorted((-count, r, c) for r, c, count in state.pairs.entries() if r != c)
    for count, r, c in confused[:16]:
        answer.figure(f"confusion.{r}→{c}", "rows", -count)
    return answer
