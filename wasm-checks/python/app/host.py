"""The component's exports: one criterion written in Python, from its source to its answer."""

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.script import (
    Bin,
    Description,
    Distribution,
    Figure,
    Judgement,
    Outcome,
    Parameter,
    Problem,
    Seen,
    WorstRow,
)

import accumulate
import cell
from answer import Answer
from math import isnan

JUDGEMENTS = {"pass": Judgement.PASS, "fail": Judgement.FAIL, "inconclusive": Judgement.INCONCLUSIVE}
criterion = None


def problem(error):
    """An exception as the author reads it, with the line of the cell that was running."""
    line, column = 0, 0
    if isinstance(error, cell.Refused):
        return Problem("refused", str(error), error.line, error.column)
    if isinstance(error, SyntaxError):
        return Problem(type(error).__name__, error.msg or "", error.lineno or 0, error.offset or 0)
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == cell.FILE:
            line = trace.tb_lineno
            place = list(code.co_positions())[trace.tb_lasti // 2]
            column = place[2] + 1 if place[0] == line and place[2] is not None else 0
        trace = trace.tb_next
    return Problem(type(error).__name__, str(error), line, column)


def told(function):
    """Every exception, whatever it is, as the contract's error."""

    def call(self, *arguments):
        try:
            return function(self, *arguments)
        except BaseException as error:
            found = problem(error)
        raise Err(found)

    return call


def started():
    if criterion is None or criterion.p is None:
        raise accumulate.Trouble("the criterion was not initialised")
    return criterion


def texts(block, rows):
    """The texts of a block, or none at all where it is empty."""
    data, ends, start, out = block.bytes, memoryview(block.ends).cast("I"), 0, []
    for end in ends:
        out.append(data[start:end].decode())
        start = end
    return out if out else [""] * rows


def vectors(values, rows, dims):
    """Each row's values as a list of floats."""
    view = memoryview(values.bytes).cast("d" if values.double else "f")
    return [view[row * dims:(row + 1) * dims].tolist() for row in range(rows)]


class Script(exports.Script):
    @told
    def load(self, source, measures):
        global criterion
        criterion = cell.Criterion(source, {known.name: known.takes for known in measures})
        return Description(
            criterion.version,
            criterion.meaning,
            [Parameter(name, unit, meaning, least, most) for name, unit, meaning, least, most in criterion.parameters],
            [Seen(name, takes) for name, takes in criterion.sees],
        )

    @told
    def init(self, arguments):
        given = {argument.name: argument.value for argument in arguments}
        criterion.p = cell.Parameters()
        for name, *_ in criterion.parameters:
            if name not in given:
                raise accumulate.Trouble(f"parameter `{name}` was not given")
            vars(criterion.p)[name] = given[name]

    @told
    def update(self, batch):
        running = started()
        rows, dims = batch.rows, batch.dims
        measures = memoryview(batch.measures).cast("d")
        columns, at = [texts(batch.ids, rows)], 0
        for name, _ in running.sees:
            match name:
                case "label":
                    columns.append(texts(batch.labels, rows))
                case "candidate_label":
                    columns.append(texts(batch.candidate_labels, rows))
                case "reference":
                    columns.append(vectors(batch.reference, rows, dims))
                case "candidate":
                    columns.append(vectors(batch.candidate, rows, dims))
                case _:
                    column = measures[at:at + rows].tolist()
                    at += rows
                    # A measure that not every row has.
                    if any(map(isnan, column)):
                        column = [None if isnan(value) else value for value in column]
                    columns.append(column)
        row, make, state, p = running.row, running.make_row._make, running.s, running.p
        for values in zip(*columns):
            row(state, make(values), p)
        running.trouble()

    @told
    def state(self):
        saved = bytearray()
        for accumulator in started().state.values():
            accumulator.save(saved)
        return bytes(saved)

    @told
    def merge(self, state):
        saved = accumulate.Saved(state)
        for accumulator in started().state.values():
            accumulator.merge(saved)
        if not saved.finished():
            raise accumulate.Trouble("the saved state is too long")

    @told
    def finish(self):
        running = started()
        running.trouble()
        given = running.verdict(running.s, running.p)
        if not isinstance(given, Answer):
            what = "nothing" if given is None else f"a {type(given).__name__}"
            place = (running.verdict.__code__.co_firstlineno, 1)
            raise cell.Refused(f"`verdict` returns {what}: end it with `return pass_if(…)` or `return inconclusive(…)`", *place)
        return Outcome(
            JUDGEMENTS[given.judgement],
            given.reason,
            [
                Figure(name, value, unit, [WorstRow(id, value) for id, value in worst])
                for name, value, unit, worst in given.figures
            ],
            [
                Distribution(name, unit, zeros, [Bin(*each) for each in bins], threshold)
                for name, unit, zeros, bins, threshold in given.distributions
            ],
        )


def warm():
    """Runs a criterion once while this component is built: what is imported or specialised on first use stands ready."""
    import struct
    from wit_world.exports.script import Argument, Batch, Known, Texts, Values

    source = '''import math
meaning = "m"
parameters = {"floor": ("u", 0.0, 1.0, "m"), "k": ("u", "m")}
sees = ["cosine", "near(k)", "label", "candidate_label", "reference", "candidate"]
state = {"c": Count(), "s": Sum(), "m": Mean(), "l": Lowest(), "h": Highest(2), "d": Spread(), "t": Tally()}
NAMES = ["x"]

def row(state, row, p):
    state.c.add()
    state.c.add_if(row.near is None)
    state.s.add(row.cosine)
    state.m.add(row.cosine)
    state.l.add(row.cosine, row.id)
    state.h.add(math.sqrt(sum((a - b) ** 2 for a, b in zip(row.reference, row.candidate))), row.id)
    state.d.add(1.0 - row.cosine)
    state.t.add_pair(row.label, row.candidate_label)

def verdict(state, p):
    return pass_if(state.l.value >= p.floor, because=f"the smallest is {state.l.value}").figure(
        "l", "u", state.l).spread("d", "u", state.d, 1.0 - p.floor).figure("c", "u", state.c, rows=state.h)
'''
    script = Script()
    rows, dims = 64, 4
    script.load(source, [Known("cosine", 0), Known("near", 1)])
    script.init([Argument("floor", 0.5), Argument("k", 1.0)])
    names = b"".join(b"%03d" % row for row in range(rows))
    block = Texts(names, struct.pack(f"<{rows}I", *range(3, 3 * rows + 1, 3)))
    numbers = [1.0 / (1 + row) for row in range(rows)]
    measures = struct.pack(f"<{2 * rows}d", *numbers, *[float("nan")] * rows)
    flat = [float(value) for value in range(rows * dims)]
    single, double = struct.pack(f"<{len(flat)}f", *flat), struct.pack(f"<{len(flat)}d", *flat)
    batch = Batch(rows, dims, block, block, block, measures, Values(False, single), Values(True, double))
    for _ in range(4):
        script.update(batch)
    state = script.state()
    script.merge(state)
    script.finish()
    for wrong in ("x = (", "import os", "def row(", "1 / 0"):
        try:
            script.load(wrong, [])
        except Err:
            pass


warm()
criterion = None
