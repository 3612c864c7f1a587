"""A verdict in the making."""

from accumulate import Accumulator, Spread, number, text

PASS, FAIL, INCONCLUSIVE = "pass", "fail", "inconclusive"


class Answer:
    """A verdict with its reason and figures; every method gives the answer back."""

    __slots__ = ("judgement", "reason", "figures", "distributions")

    def __init__(self, judgement, because):
        self.judgement = judgement
        self.reason = text(because, "because")
        self.figures = []
        self.distributions = []

    def because(self, reason):
        """One sentence with the figures that decided."""
        self.reason = text(reason, "because")
        return self

    def figure(self, name, unit, shown, rows=None):
        """Adds a figure: an accumulator brings its worst rows along; `rows` is one that keeps them instead."""
        value = shown.value if isinstance(shown, Accumulator) else shown
        kept = shown if rows is None else rows
        self.figures.append((
            text(name, "figure, for its name,"),
            number(value, f"figure `{name}`"),
            text(unit, "figure, for its unit,"),
            kept.rows() if isinstance(kept, Accumulator) else [],
        ))
        return self

    def spread(self, name, unit, spread, threshold=None):
        """Adds a distribution to draw, with the bound that the verdict drew on its axis."""
        if not isinstance(spread, Spread):
            raise TypeError(f"spread takes a Spread and was given {type(spread).__name__}")
        threshold = None if threshold is None else number(threshold, "spread, for its threshold,")
        self.distributions.append((
            text(name, "spread, for its name,"), text(unit, "spread, for its unit,"), spread.zeros, spread.bins(),
            threshold,
        ))
        return self


def pass_if(condition, because=""):
    """Pass if the condition holds, else fail."""
    if not isinstance(condition, bool):
        raise TypeError(f"pass_if takes a comparison, True or False, and was given {type(condition).__name__}")
    return Answer(PASS if condition else FAIL, because)


def inconclusive(because=""):
    """The rows do not allow a decision: too few, or an interval that straddles the bound."""
    return Answer(INCONCLUSIVE, because)
