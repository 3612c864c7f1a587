"""A cell's source → a criterion, or a sentence with the line of the cell where it goes wrong.

The sandbox is the WebAssembly around this interpreter, which has no imports: no file, clock, network or randomness is
there to be reached, whatever a cell gets hold of. What is refused here is refused so that its author reads why.
"""

import ast
import builtins
import bisect
import cmath
import collections
import functools
import heapq
import itertools
import math
import operator
import types

import accumulate
import answer

# No file can have this name: of a file that could be there, Python would look for the line that a message is about.
FILE = "<cell \ud800>"
NAME = "criterion"
MODULES = {
    "math": math, "cmath": cmath, "itertools": itertools, "functools": functools, "operator": operator,
    "collections": collections, "bisect": bisect, "heapq": heapq,
}
# Fields of a row that are no measures.
TEXTS = ("label", "candidate_label")
VECTORS = ("reference", "candidate")

OUTSIDE = "a criterion reaches no files, clock, network or randomness, so that it gives the same answer anywhere"
WITHOUT = {
    "open": OUTSIDE, "input": OUTSIDE, "breakpoint": OUTSIDE, "exit": OUTSIDE, "quit": OUTSIDE, "help": OUTSIDE,
    "print": "a criterion prints nothing: put numbers into figures and words into `because`",
    "eval": "a criterion is the text that was sealed: it runs no other",
    "exec": "a criterion is the text that was sealed: it runs no other",
    "compile": "a criterion is the text that was sealed: it runs no other",
}


class Refused(Exception):
    """A rule of this host, at a place of the cell."""

    def __init__(self, message, line=0, column=0):
        super().__init__(message)
        self.line = line
        self.column = column


def no_module(name):
    top = name.partition(".")[0]
    if top in ("numpy", "scipy", "pandas", "torch", "sklearn", "jax"):
        return (
            f"`{top}` cannot be imported: its results depend on the machine's linear algebra, and it is no plain Python. "
            "The host computes the measures of a row (cosine, l2, abs_max, …) in float64 before this criterion sees it; "
            "vectors come as lists of numbers, for which `import math` is there"
        )
    return f"`{top}` cannot be imported: {OUTSIDE}. There are {', '.join(MODULES)}"


def _import(name, globals=None, locals=None, fromlist=(), level=0):
    if level == 0 and name in MODULES:
        return MODULES[name]
    raise ImportError(no_module(name or "."))


def _without(name, why):
    def refuse(*_, **__):
        raise NameError(f"`{name}` is not there: {why}")

    refuse.__name__ = name
    return refuse


def _builtins():
    # No names of the interpreter's own machinery, which only loading needs.
    names = {name: value for name, value in vars(builtins).items() if not name.startswith("_")}
    for name, why in WITHOUT.items():
        names[name] = _without(name, why)
    names["__import__"] = _import
    names["__build_class__"] = builtins.__build_class__
    return names


BUILTINS = _builtins()
GIVEN = {
    name: getattr(module, name)
    for module, names in (
        (accumulate, ("Count", "Sum", "Mean", "Lowest", "Highest", "Spread", "Tally")),
        (answer, ("pass_if", "inconclusive")),
    )
    for name in names
}


def _constant(message):
    def refuse(*_, **__):
        raise TypeError(message)

    return refuse


_KEPT = "names outside functions are constants; what a criterion remembers goes into its `state`"
_MUTATORS = (
    "append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "update", "setdefault", "popitem", "add",
    "discard", "__setitem__", "__delitem__", "__iadd__", "__imul__", "__ior__", "__iand__", "__isub__", "__ixor__",
)


def _frozen(kind):
    members = {name: _constant(_KEPT) for name in _MUTATORS if hasattr(kind, name)}
    return type(f"constant {kind.__name__}", (kind,), members)


FROZEN = {kind: _frozen(kind) for kind in (list, dict, set)}
# What remembers without being a list, dict or set of its own.
_REMEMBERS = (list, dict, set, bytearray, collections.deque, accumulate.Accumulator)


def constant(name, value, place, depth=0):
    """A value of a name outside functions, which no function can change; refused if that cannot be had."""
    kind = type(value)
    if depth > 50:
        raise Refused(f"`{name}` nests too deep", *place)
    if kind in (list, set, tuple):
        inner = [constant(name, each, place, depth + 1) for each in value]
        return tuple(inner) if kind is tuple else FROZEN[kind](inner)
    if kind is dict:
        return FROZEN[dict]({key: constant(name, each, place, depth + 1) for key, each in value.items()})
    if isinstance(value, _REMEMBERS) or hasattr(value, "__next__"):
        raise Refused(f"`{name}` holds a {kind.__name__}, which remembers what was done with it: {_KEPT}", *place)
    if kind is types.FunctionType:
        cells = [cell.cell_contents for cell in value.__closure__ or () if cell != types.CellType()]
        for each in [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values(), *cells]:
            if isinstance(each, _REMEMBERS) or hasattr(each, "__next__"):
                what = f"function `{name}` keeps a {type(each).__name__}, which remembers what was done with it: {_KEPT}"
                raise Refused(what, *place)
    if isinstance(value, type) and value.__module__ == NAME:
        for attribute, each in vars(value).items():
            if isinstance(each, _REMEMBERS) and not attribute.startswith("__"):
                raise Refused(f"class `{name}` keeps `{attribute}`, a {type(each).__name__}: {_KEPT}", *place)
    return value


def attributes(top):
    """What functions and classes of the cell carry, which no function may add to."""
    carriers = [
        (name, value) for name, value in top.items()
        if type(value) is types.FunctionType or (isinstance(value, type) and value.__module__ == NAME)
    ]
    return [(name, value, dict(vars(value))) for name, value in carriers]


class _Named:
    """Numbers or accumulators by name, which are all there is."""

    __slots__ = ("__dict__",)

    def __getattr__(self, name):
        raise AttributeError(f"there is no {self._what} `{name}`; there is {', '.join(vars(self)) or 'none'}")

    def __setattr__(self, name, value):
        raise AttributeError(self._kept)


class Parameters(_Named):
    __slots__ = ()
    _what = "parameter"
    _kept = "parameters are given by the declaration; a criterion does not change them"


class State(_Named):
    __slots__ = ()
    _what = "accumulator in `state`"
    _kept = (
        "the state is made of accumulators, which can be merged: declare one in `state` and give it the row's value "
        "with add"
    )


def _walk(tree):
    for node in ast.walk(tree):
        place = (getattr(node, "lineno", 0), getattr(node, "col_offset", -1) + 1)
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            word = "global" if isinstance(node, ast.Global) else "nonlocal"
            raise Refused(f"`{word}` would remember something outside the state, which cannot be merged: {_KEPT}", *place)
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name not in MODULES:
                    raise Refused(no_module(alias.name), *place)
        if isinstance(node, ast.ImportFrom) and (node.level or node.module not in MODULES):
            raise Refused(no_module(node.module or "."), *place)
        if isinstance(node, (ast.AsyncFunctionDef, ast.Await)):
            raise Refused("a criterion waits for nothing: write `def`", *place)


def _places(tree):
    """Where each name outside functions is set: (line, column)."""
    places = {}
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [node]
        for target in targets:
            name = getattr(target, "id", None) or getattr(target, "name", None)
            if isinstance(name, str):
                places[name] = (node.lineno, node.col_offset + 1)
    return places


def _seen(entry, known, place):
    """`cosine` → ("cosine", []); `elements_over(atol, rtol)` → ("elements_over", ["atol", "rtol"])."""
    if not isinstance(entry, str):
        raise Refused(f"`sees` holds names as texts, such as \"cosine\", and not {type(entry).__name__}", *place)
    name, bracket, rest = entry.partition("(")
    name = name.strip()
    takes = [part.strip() for part in rest.strip().removesuffix(")").split(",")] if bracket else []
    if name in TEXTS or name in VECTORS:
        wanted = 0
    elif name in known:
        wanted = known[name]
    else:
        names = [f"{each}(…)" if count else each for each, count in known.items()]
        raise Refused(f"a row has no `{name}`; it can see: {', '.join([*names, *TEXTS, *VECTORS])}", *place)
    if len(takes) != wanted:
        what = f"takes {wanted} names of parameters" if wanted else "takes no parameter"
        raise Refused(f"`{name}` {what}: \"{name}{'(…, …)' if wanted else ''}\"", *place)
    return name, takes


def _parameter(name, given, place):
    what = f"parameter `{name}` is (unit, meaning) or (unit, least, most, meaning)"
    if not isinstance(name, str) or not name.isidentifier() or name.startswith("_"):
        raise Refused(f"`{name}` cannot name a parameter", *place)
    if not isinstance(given, tuple) or len(given) not in (2, 4):
        raise Refused(what, *place)
    unit, meaning = given[0], given[-1]
    if not isinstance(unit, str) or not isinstance(meaning, str):
        raise Refused(f"{what}, where unit and meaning are texts", *place)
    bounds = given[1:3] if len(given) == 4 else (None, None)
    for bound in bounds:
        if bound is not None and (isinstance(bound, bool) or not isinstance(bound, (int, float))):
            raise Refused(f"{what}, where least and most are numbers or None", *place)
    return name, unit, meaning, *(None if bound is None else float(bound) for bound in bounds)


class Criterion:
    """A cell, checked and ready to see rows."""

    def __init__(self, source, known):
        tree = ast.parse(source, FILE)
        _walk(tree)
        places = _places(tree)
        top = {"__builtins__": BUILTINS, "__name__": NAME, **GIVEN}
        exec(compile(tree, FILE, "exec", dont_inherit=True), top)

        def get(name, kind, example, default=None):
            value = top.get(name, default)
            if value is None:
                raise Refused(f"the cell sets no `{name}`: {example}")
            if not isinstance(value, kind):
                words = {str: "a text", dict: "a dict", (list, tuple): "a list"}[kind]
                raise Refused(f"`{name}` is {words}: {example}", *places.get(name, ()))
            return value

        self.meaning = get("meaning", str, 'meaning = "no row turns away from its reference"')
        self.version = get("version", str, 'version = "1"', "1")
        parameters = get("parameters", dict, 'parameters = {"floor": ("unitless", "smallest cosine accepted")}')
        sees = get("sees", (list, tuple), 'sees = ["cosine"]')
        self.state = get("state", dict, 'state = {"least": Lowest()}')

        place = places.get("parameters", ())
        self.parameters = [_parameter(name, given, place) for name, given in parameters.items()]
        place = places.get("sees", ())
        self.sees = [_seen(entry, known, place) for entry in sees]
        names = ["id"] + [name for name, _ in self.sees]
        for name, takes in self.sees:
            if names.count(name) > 1:
                raise Refused(f"`sees` names `{name}` twice", *place)
            for parameter in takes:
                if parameter not in parameters:
                    raise Refused(f"`{name}` measures by `{parameter}`, which is no parameter", *place)
        place = places.get("state", ())
        for name, made in self.state.items():
            if not isinstance(name, str) or not name.isidentifier() or name.startswith("_"):
                raise Refused(f"`{name}` cannot name an accumulator", *place)
            if not isinstance(made, accumulate.Accumulator):
                hint = f"write {made.__name__}()" if isinstance(made, type) else "it holds accumulators alone"
                raise Refused(f"`state` gives `{name}` {_shown(made)}: {hint}, {_MERGED}", *place)
            if sum(made is other for other in self.state.values()) > 1:
                raise Refused(f"`state` gives `{name}` an accumulator that another name has too", *place)
        self.row = self._function(top, "row", 3, "def row(state, row, p): …", places)
        self.verdict = self._function(top, "verdict", 2, "def verdict(state, p): …", places)
        for name, value in top.items():
            # Of the state the criterion itself holds the accumulators; its functions are handed them.
            if name == "state":
                top[name] = None
            elif name != "__builtins__":
                top[name] = constant(name, value, places.get(name, ()))
        self.carried = attributes(top)
        self.make_row = self._rows(names)
        self.p = None
        self.s = State()
        vars(self.s).update(self.state)

    @staticmethod
    def _function(top, name, takes, example, places):
        function = top.get(name)
        if not hasattr(function, "__code__"):
            raise Refused(f"the cell defines no function `{name}`: {example}", *places.get(name, ()))
        if function.__code__.co_argcount != takes or function.__code__.co_flags & 0x2C:
            raise Refused(f"`{name}` takes {takes} arguments: {example}", *places.get(name, ()))
        return function

    @staticmethod
    def _rows(names):
        """What a row is: a tuple whose places have the names that the criterion sees."""
        what = ", ".join(names)

        def missing(self, name):
            raise AttributeError(f"the row has no `{name}`; this criterion sees: {what}. Add it to `sees`")

        fields = collections.namedtuple("Row", names)
        return type("Row", (fields,), {"__slots__": (), "__getattr__": missing})

    def trouble(self):
        for name, carrier, before in self.carried:
            if vars(carrier) != before:
                raise Refused(f"`{name}` was given an attribute to remember something: {_KEPT}")
        for accumulator in self.state.values():
            trouble = accumulator.trouble()
            if trouble:
                raise accumulate.Trouble(trouble)


_MERGED = "which can be merged and give the same bits in any order of rows"


def _shown(made):
    return f"the type {made.__name__}" if isinstance(made, type) else f"a {type(made).__name__}"
