"""The standard criteria against numpy: figures of `fascicolo compare --json` on random values and on hard ones."""
import hashlib
import json
import warnings
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import fascicolo

TINY32, TINY64 = np.float32(1e-45), 5e-324
MAX32, MAX64 = np.finfo(np.float32).max, np.finfo(np.float64).max


def random(seed, rows, dims, dtype, noise):
    """A reference, and a candidate that differs from it by `noise` relative to it."""
    draw = np.random.default_rng(seed)
    r = draw.standard_normal((rows, dims)).astype(dtype)
    return r, (r * (1 + noise * draw.standard_normal((rows, dims)))).astype(dtype)


def case(dtype, r, c):
    return np.array(r, dtype), np.array(c, dtype)


CASES = {
    "random float32": random(1, 200, 16, np.float32, 1e-4),
    "random float64": random(2, 200, 16, np.float64, 1e-9),
    "random float16": random(3, 50, 8, np.float16, 1e-2),
    "one row": random(4, 1, 7, np.float32, 1e-3),
    "one dimension": random(5, 40, 1, np.float32, 1e-3),
    "4096 dimensions": random(6, 3, 4096, np.float32, 1e-5),
    "the same file": (random(7, 20, 5, np.float32, 0)[0],) * 2,
    "float32 denormals": case(np.float32, [[TINY32, 0, 1e-40], [3e-39, TINY32, -TINY32]], [[2 * TINY32, 0, 2e-40], [-3e-39, 0, TINY32]]),
    "float64 denormals": case(np.float64, [[TINY64, 1e-310], [2e-320, 1e-10]], [[2 * TINY64, -1e-310], [1, 1e-10]]),
    "signed zeros": case(np.float32, [[0.0, -0.0, 1], [-0.0, 1, 1]], [[-0.0, 0.0, 1], [0.0, 1, 1]]),
    "largest float32": case(np.float32, [[MAX32, -MAX32], [MAX32, 1]], [[-MAX32, MAX32], [MAX32, 2]]),
    "large float64": case(np.float64, [[1e300, -1e300], [1e150, 1]], [[-1e300, 1e300], [1e-150, 1]]),
    "ties": case(np.float32, np.ones((9, 4)), np.ones((9, 4)) + 0.5),
    "far apart": case(np.float64, [[1e-300, 1], [5, 6]], [[1e300, 1], [5, -6]]),
}
ZERO_VECTORS = {
    "zero in the reference": case(np.float32, [[0, 0], [1, 2]], [[0, 1], [1, 2]]),
    "zero in the candidate": case(np.float32, [[3, 0], [1, 2]], [[0, 0], [1, 2]]),
    "zero in both": case(np.float32, [[0, 0], [1, 2]], [[-0.0, 0], [1, 2]]),
    "nothing but zero": case(np.float64, [[0, 0], [0, 0]], [[0, 0], [0, 0]]),
}


def ids_of(rows):
    """Ids in another order than the rows, and of several lengths: only bytewise order is right among equals."""
    return [f"{(i * 7) % rows}-à"[: 1 + i % 4] + f"/{i}" for i in range(rows)]


def write(path, values, ids=None, **columns):
    data = pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(values).reshape(-1)), values.shape[1])
    pq.write_table(pa.table({"id": ids or ids_of(len(values)), "emb": data, **columns}), path)
    return path


def compare(program, folder, pair, criterion, *options, **parameters):
    """What the program says of the pair, without a verdict."""
    r, c = pair
    files = write(folder / "r.parquet", r), write(folder / "c.parquet", c)
    return explore(program, folder, files, criterion, *options, **parameters)


def explore(program, folder, files, criterion, *options, **parameters):
    given = [o for name, value in parameters.items() for o in ("--set", f"{name}={value!r}")]
    ended = fascicolo(program, "compare", *files, "--criterion", criterion, "--explore", "--json", *given, *options, cwd=folder)
    assert ended.returncode in (0, 3), ended.stdout + ended.stderr
    return json.loads(ended.stdout)


def figures(result):
    return {figure["name"]: figure["value"] for figure in result["figures"]}


def worst(result, name):
    (figure,) = [figure for figure in result["figures"] if figure["name"] == name]
    return [(row["id"], row["value"]) for row in figure["worst"]]


def extremes(values, ids, sign):
    """The five most extreme, ties by id, bytewise."""
    return sorted(((i, float(v)) for i, v in zip(ids, values)), key=lambda row: (sign * row[1], row[0].encode()))[:5]


def wide(pair):
    return tuple(side.astype(np.float64) for side in pair)


def quotient(a, b):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return a / b


def norm(x):
    """‖x‖ in extended precision, whose exponents hold the square of every float64."""
    return np.sqrt((x.astype(np.longdouble) ** 2).sum(axis=1))


@pytest.mark.parametrize("name", [*CASES, *ZERO_VECTORS])
def test_abs_is_numpys_largest_difference(program, tmp_path, name):
    pair = {**CASES, **ZERO_VECTORS}[name]
    r, c = wide(pair)
    largest = np.abs(c - r).max(axis=1)
    result = compare(program, tmp_path, pair, "abs", most=0.25)
    assert figures(result) == {"abs.max": largest.max(), "rows.over": (largest > 0.25).sum()}
    assert worst(result, "abs.max") == extremes(largest, ids_of(len(r)), -1)


@pytest.mark.parametrize("name", [*CASES, *ZERO_VECTORS])
def test_rel_is_numpys_quotient_with_the_reference_as_denominator(program, tmp_path, name):
    pair = {**CASES, **ZERO_VECTORS}[name]
    r, c = wide(pair)
    quotients = quotient(np.abs(c - r), np.abs(r))
    undefined = (r != c) & ~np.isfinite(quotients)
    largest = np.where(np.isfinite(quotients), quotients, 0).max(axis=1)
    result = compare(program, tmp_path, pair, "rel", most=1e-3, undefined=0)
    assert figures(result) == {
        "rel.max": largest.max(), "rows.over": (largest > 1e-3).sum(), "rel.undefined": undefined.sum(),
        "rel.undefined.row_max": undefined.sum(axis=1).max(),
    }
    assert worst(result, "rel.max") == extremes(largest, ids_of(len(r)), -1)
    assert worst(result, "rel.undefined.row_max") == extremes(undefined.sum(axis=1), ids_of(len(r)), -1)


@pytest.mark.parametrize("name", [*CASES, *ZERO_VECTORS])
def test_norm_is_the_quotient_of_lengths_and_rows_without_one_are_counted(program, tmp_path, name):
    pair = {**CASES, **ZERO_VECTORS}[name]
    r, c = wide(pair)
    of_r, of_c = norm(r), norm(c)
    ratio = quotient(of_c, of_r).astype(np.float64)
    both = (of_r == 0) & (of_c == 0)
    undefined = ~np.isfinite(ratio) & ~both
    found = figures(compare(program, tmp_path, pair, "norm", least=0.9, most=1.1, undefined=0))
    assert (found["norm_ratio.undefined"], found["norm.both_zero"]) == (undefined.sum(), both.sum())
    if np.isfinite(ratio).any():
        # Norms below the normal range of float64 have few digits themselves.
        digits = 0.51 if name == "float64 denormals" else 1e-13
        assert found["norm_ratio.min"] == pytest.approx(ratio[np.isfinite(ratio)].min(), rel=digits)
        assert found["norm_ratio.max"] == pytest.approx(ratio[np.isfinite(ratio)].max(), rel=digits)
    else:
        assert "norm_ratio.min" not in found


@pytest.mark.parametrize("name", [*CASES, *ZERO_VECTORS])
def test_allclose_counts_the_elements_that_numpy_does_not_find_close(program, tmp_path, name):
    pair = {**CASES, **ZERO_VECTORS}[name]
    r, c = wide(pair)
    # numpy's second argument is the one that rtol is taken of.
    far = ~np.isclose(c, r, rtol=1e-5, atol=1e-8)
    found = figures(compare(program, tmp_path, pair, "allclose", rtol=1e-5, atol=1e-8))
    assert (found["elements.over"], found["rows.over"]) == (far.sum(), far.any(axis=1).sum())


# Cosine brings its ratio of lengths along, which float64 does not hold for these.
@pytest.mark.parametrize("name", [name for name in CASES if name not in ("far apart", "float64 denormals")])
def test_cosine_is_that_of_the_directions_in_extended_precision(program, tmp_path, name):
    pair = CASES[name]
    r, c = wide(pair)
    unit = [(x.astype(np.longdouble).T / norm(x)).T for x in (r, c)]
    cosine = 1 - 0.5 * ((unit[0] - unit[1]) ** 2).sum(axis=1)
    found = figures(compare(program, tmp_path, pair, "cosine", floor=0.5))
    assert found["cosine.min"] == pytest.approx(float(cosine.min()), abs=1e-14)
    assert found["cosine.mean"] == pytest.approx(float(cosine.mean()), abs=1e-14)


def places(x):
    """Each value's number among all values of its type, as Python integers of any size; both zeros have 0."""
    signed = {4: np.int32, 8: np.int64}[x.dtype.itemsize]
    bits = np.ascontiguousarray(x).view(signed).astype(object)
    magnitude = bits & (2 ** (8 * x.dtype.itemsize - 1) - 1)
    return np.where(bits < 0, -magnitude, magnitude)


@pytest.mark.parametrize("name", [*CASES, *ZERO_VECTORS, "the ends of float64"])
def test_ulp_counts_the_numbers_between_in_the_values_own_type(program, tmp_path, name):
    ends = case(np.float64, [[MAX64, 1], [0, TINY64]], [[-MAX64, 1], [1e308, -TINY64]])
    pair = {**CASES, **ZERO_VECTORS, "the ends of float64": ends}[name]
    r, c = (x.astype(np.float32) if x.dtype == np.float16 else x for x in pair)
    distance = np.abs(places(c) - places(r)).max(axis=1)
    result = compare(program, tmp_path, pair, "ulp", most=4)
    assert figures(result) == {"ulp.max": float(distance.max()), "rows.over": (distance > 4).sum(), "ulp.type": r.itemsize * 8}
    assert worst(result, "ulp.max") == extremes(distance, ids_of(len(r)), -1)
    assert {f["unit"] for f in result["figures"]} >= {f"units in the last place of float{r.itemsize * 8}"}


def test_ulp_of_two_types_is_measured_in_the_wider_one(program, tmp_path):
    pair = np.array([[1, 0.1]], np.float32), np.array([[1, np.float64(np.float32(0.1))]])
    assert figures(compare(program, tmp_path, pair, "ulp", most=0)) == {"ulp.max": 0, "rows.over": 0, "ulp.type": 64}
    nearly = pair[0], np.array([[1, 0.1]])
    assert figures(compare(program, tmp_path, nearly, "ulp", most=0))["ulp.max"] == int(np.float32(0.1).astype(np.float64).view(np.int64)) - int(np.float64(0.1).view(np.int64))


def test_a_difference_that_float64_cannot_hold_is_not_comparable_under_abs(program, tmp_path):
    pair = case(np.float64, [[MAX64, 1], [1, 1]], [[-MAX64, 1], [1, 1]])
    result = compare(program, tmp_path, pair, "abs", most=1)
    assert (result["verdict"], result["figures"]) == ("not_comparable", [])
    (obstacle,) = result["structure"]["obstacles"]
    assert (obstacle["kind"], obstacle["ids"]) == ("measure_overflow", [ids_of(2)[0]])


def neighbours(x, ids, k):
    """For each row its k nearest others by cosine, and whether the last place was tied. Equal rows are compared once, in
    extended precision, so that their similarities are equal; ties by id, bytewise."""
    rows, which = np.unique(x, axis=0, return_inverse=True)
    unit = (rows.astype(np.longdouble).T / norm(rows)).T
    similarity = np.array([[(a * b).sum() for b in unit] for a in unit])
    which = which.reshape(-1)
    found = []
    for i in range(len(x)):
        others = sorted((j for j in range(len(x)) if j != i), key=lambda j: (-similarity[which[i], which[j]], ids[j].encode()))
        near = [similarity[which[i], which[j]] for j in others]
        found.append((set(others[:k]), len(others) > k and near[k - 1] == near[k]))
    return found


def duplicates(seed, rows, distinct, dims):
    draw = np.random.default_rng(seed)
    pick = draw.integers(0, distinct, rows)
    r, c = random(seed, distinct, dims, np.float32, 0.3)
    return r[pick], c[pick]


@pytest.mark.parametrize("pair, k, queries", [
    (random(11, 120, 16, np.float32, 0.2), 10, 120),
    (random(12, 120, 16, np.float64, 0.2), 5, 30),
    (random(13, 12, 4096, np.float32, 0.5), 3, 99),
    (random(14, 60, 1, np.float32, 2.0), 4, 60),
    (random(15, 400, 3, np.float32, 0.05), 7, 300),
    (duplicates(16, 90, 12, 5), 6, 90),
    (CASES["ties"], 3, 9),
    ((random(17, 40, 4, np.float64, 0.3)[0] * 1e-310, random(18, 40, 4, np.float64, 0)[0] * 1e300), 5, 40),
])
def test_knn_is_the_share_of_neighbours_kept_by_the_queries_that_the_ids_choose(program, tmp_path, pair, k, queries):
    ids = ids_of(len(pair[0]))
    r, c = (neighbours(x.astype(np.float64), ids, k) for x in pair)
    chosen = sorted(range(len(ids)), key=lambda i: hashlib.sha256(ids[i].encode()).digest())[:queries]
    kept = {ids[i]: len(r[i][0] & c[i][0]) / k for i in chosen}
    result = compare(program, tmp_path, pair, "knn", floor=0.5, k=k, queries=queries)
    found = figures(result)
    assert found.pop("overlap.mean") == sum(len(r[i][0] & c[i][0]) for i in chosen) / (len(chosen) * k)
    assert found == {
        "overlap.min": min(kept.values()), "queries": len(chosen), "queries.whole": sum(v == 1 for v in kept.values()),
        "queries.tied": sum(bool(r[i][1] or c[i][1]) for i in chosen),
    }
    assert worst(result, "overlap.min") == extremes(kept.values(), kept, 1)


@pytest.mark.parametrize("rows, k", [(1, 1), (2, 1), (5, 4), (3, 1000)])
def test_knn_concludes_nothing_where_every_other_row_is_a_neighbour(program, tmp_path, rows, k):
    pair = random(1, rows, 3, np.float32, 1.0)
    files = write(tmp_path / "r.parquet", pair[0]), write(tmp_path / "c.parquet", pair[1])
    assert judged(program, tmp_path, files, "knn", floor=0, k=k, queries=9) == "inconclusive"


@pytest.mark.parametrize("criterion, parameters", [("knn", {"floor": 0, "k": 1, "queries": 1}), ("centroid", {"floor": 0})])
@pytest.mark.parametrize("name", ["zero in the reference", "zero in the candidate"])
def test_a_zero_vector_has_no_neighbours_and_is_named(program, tmp_path, criterion, parameters, name):
    files, ids = labelled(tmp_path, ["x", "y"], ["x", "y"])
    labels = pa.array(["x", "y"])
    for file, values in zip(files, ZERO_VECTORS[name]):
        write(file, values, ids, section=labels)
    result = explore(program, tmp_path, files, criterion, "--label", "section", **parameters)
    assert (result["verdict"], result["figures"]) == ("not_comparable", [])
    (obstacle,) = result["structure"]["obstacles"]
    assert (obstacle["kind"], obstacle["ids"]) == ("zero_norm", ids[:1])


def centroid_labels(x, labels):
    """The label of the nearest class centroid, by cosine in extended precision."""
    unit = (x.astype(np.longdouble).T / norm(x)).T
    names = sorted(set(labels), key=str.encode)
    means = np.stack([unit[[l == name for l in labels]].mean(axis=0) for name in names])
    return [names[i] for i in (unit @ (means.T / norm(means))).argmax(axis=1)]


@pytest.mark.parametrize("pair, classes", [
    (random(21, 200, 8, np.float32, 0.4), 5),
    (random(22, 60, 4096, np.float32, 1.0), 3),
    (random(23, 80, 2, np.float64, 0.3), 1),
    (random(24, 30, 6, np.float64, 2.0), 30),
])
def test_centroid_compares_the_labels_that_the_nearest_class_centroids_give(program, tmp_path, pair, classes):
    ids, labels = ids_of(len(pair[0])), [f"class-{i % classes}" for i in range(len(pair[0]))]
    files = [write(tmp_path / f"{n}.parquet", x, ids, section=pa.array(labels)) for n, x in zip("rc", pair)]
    r, c = (centroid_labels(x.astype(np.float64), labels) for x in pair)
    result = explore(program, tmp_path, files, "centroid", "--label", "section", floor=0.5)
    found = figures(result)
    same = [x == y for x, y in zip(r, c)]
    assert found.pop("agreement") == sum(same) / len(same)
    assert found.pop("rows.differing") == len(same) - sum(same)
    assert worst(result, "rows.differing") == [(i, 1) for i in sorted((i for i, s in zip(ids, same) if not s), key=str.encode)][:5]
    assert found.pop("classes") == classes
    assert found == {
        f"class.{name}": sum(s for s, l in zip(same, labels) if l == name) / labels.count(name) for name in set(labels)
    }


def kappa_of(pairs):
    """Agreement and Cohen's kappa of pairs of labels, in fractions."""
    n, names = len(pairs), {label for pair in pairs for label in pair}
    observed = Fraction(sum(r == c for r, c in pairs), n)
    chance = sum(Fraction(sum(r == x for r, _ in pairs) * sum(c == x for _, c in pairs), n * n) for x in names)
    return observed, (observed - chance) / (1 - chance) if chance < 1 else None


def labelled(folder, r, c):
    """A reference with the labels `r`, and a candidate with the labels `c` whose rows come in another order."""
    ids = ids_of(len(r))
    order = np.random.default_rng(1).permutation(len(r)).tolist()
    write(folder / "r.parquet", np.ones((len(r), 2)), ids, section=pa.array(r))
    write(folder / "c.parquet", np.ones((len(r), 2)), [ids[i] for i in order], section=pa.array([c[i] for i in order]))
    return (folder / "r.parquet", folder / "c.parquet"), ids


def labels_of(seed, rows, names, share):
    draw = np.random.default_rng(seed)
    r = draw.choice(names, rows, p=np.arange(1, len(names) + 1) / sum(range(1, len(names) + 1)))
    return r.tolist(), np.where(draw.random(rows) < share, draw.choice(names, rows), r).tolist()


@pytest.mark.parametrize("r, c", [
    labels_of(1, 300, ["a", "b", "ç", "d e"], 0.2),
    labels_of(2, 300, [f"class {i:02}" for i in range(30)], 0.9),
    labels_of(3, 5, ["x", "y"], 1.0),
    (["x", "x", "y"], ["y", "x", "x"]),
    (["x", "x"], ["y", "y"]),
    (["x"], ["x"]),
    (["x", None, None], ["x", None, "x"]),
])
def test_labels_are_counted_exactly_with_cohens_kappa(program, tmp_path, r, c):
    files, ids = labelled(tmp_path, r, c)
    r, c = [x or "" for x in r], [x or "" for x in c]
    pairs = list(zip(r, c))
    agreement, kappa = kappa_of(pairs)
    result = explore(program, tmp_path, files, "labels", "--label", "section", floor=0.5)
    found = figures(result)
    differing = sorted((i for i, (x, y) in zip(ids, pairs) if x != y), key=str.encode)
    assert found.pop("agreement") == float(agreement)
    assert found.pop("rows.differing") == len(differing)
    assert worst(result, "rows.differing") == [(i, 1) for i in differing[:5]]
    assert found.pop("classes") == len({*r, *c})
    if kappa is None:
        assert "kappa" not in found
    else:
        assert found.pop("kappa") == pytest.approx(float(kappa), abs=1e-15)
    of_class = {x: Fraction(sum(p == (x, x) for p in pairs), r.count(x)) for x in r}
    assert {n: v for n, v in found.items() if n.startswith("class.")} == {f"class.{x}": float(s) for x, s in of_class.items()}
    confused = {}
    for pair in pairs:
        confused[pair] = confused.get(pair, 0) + (pair[0] != pair[1])
    most = sorted((p for p in confused if p[0] != p[1]), key=lambda p: (-confused[p], p[0].encode(), p[1].encode()))[:16]
    assert [(n, v) for n, v in found.items() if n.startswith("confusion.")] == [(f"confusion.{x}→{y}", confused[x, y]) for x, y in most]


def test_labels_as_different_as_ids_are_an_error_that_names_one(program, tmp_path):
    names = [f"{i:05}" for i in range(1025)]
    files, _ = labelled(tmp_path, names, names)
    ended = fascicolo(program, "compare", *files, "--criterion", "labels", "--explore", "--label", "section", "--json", cwd=tmp_path)
    error = json.loads(ended.stdout)["error"]
    assert (ended.returncode, error["kind"]) == (3, "cannot_answer")
    assert "1024 different keys" in error["message"] and "`01024`" in error["message"]


def test_a_candidate_without_labels_is_told_apart_from_one_with_other_labels(program, tmp_path):
    files, _ = labelled(tmp_path, ["x", "y"], ["x", "y"])
    form = f'goal = "categories"\n[output]\npath = "{files[0]}"\nlabel = "section"\n'
    assert fascicolo(program, "reference", "new", "sample", cwd=tmp_path, input=form).returncode == 0
    assert fascicolo(program, "declare", "labels", "--set", "floor=1", "--because", "test", cwd=tmp_path).returncode == 0
    bare = write(tmp_path / "bare.parquet", np.ones((2, 2)), ids_of(2))
    ended = fascicolo(program, "compare", files[0], bare, "--criterion", "labels", "--json", cwd=tmp_path)
    error = json.loads(ended.stdout)["error"]
    assert error["kind"] == "no_such_column" and "section" in error["message"] and "bare.parquet" in str(error)
    ended = fascicolo(program, "compare", *files, "--criterion", "labels", "--json", cwd=tmp_path)
    result = json.loads(ended.stdout)
    assert (ended.returncode, result["verdict"], figures(result)["agreement"]) == (0, "pass", 1)


def judged(program, folder, files, criterion, **parameters):
    """Verdict of a declared comparison."""
    form = f'goal = "values"\n[output]\npath = "{files[0]}"\n'
    ended = fascicolo(program, "reference", "new", "sample", cwd=folder, input=form)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    given = [o for name, value in parameters.items() for o in ("--set", f"{name}={value!r}")]
    ended = fascicolo(program, "declare", criterion, "--because", "test", *given, cwd=folder)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    ended = fascicolo(program, "compare", *files, "--criterion", criterion, "--json", cwd=folder)
    result = json.loads(ended.stdout)
    assert ended.returncode == {"pass": 0, "fail": 1, "inconclusive": 3, "not_comparable": 3}[result["verdict"]]
    return result["verdict"]


@pytest.mark.parametrize("criterion, parameters, pair, verdict", [
    ("abs", {"most": 0.5}, CASES["ties"], "pass"),
    ("abs", {"most": 0.4999}, CASES["ties"], "fail"),
    ("rel", {"most": 0.5, "undefined": 0}, CASES["ties"], "pass"),
    ("rel", {"most": 0.49, "undefined": 0}, CASES["ties"], "fail"),
    ("rel", {"most": 1.0, "undefined": 0}, ZERO_VECTORS["zero in the reference"], "fail"),
    ("rel", {"most": 1.0, "undefined": 1}, ZERO_VECTORS["zero in the reference"], "pass"),
    ("ulp", {"most": 2**22}, CASES["ties"], "pass"),
    ("ulp", {"most": 2**22 - 1}, CASES["ties"], "fail"),
    ("norm", {"least": 1, "most": 1.5, "undefined": 0}, CASES["ties"], "pass"),
    ("norm", {"least": 1, "most": 1.4, "undefined": 0}, CASES["ties"], "fail"),
    ("norm", {"least": 1.6, "most": 2, "undefined": 0}, CASES["ties"], "fail"),
    ("norm", {"least": 1, "most": 1, "undefined": 0}, ZERO_VECTORS["zero in the reference"], "fail"),
    ("norm", {"least": 1, "most": 1, "undefined": 1}, ZERO_VECTORS["zero in the reference"], "pass"),
    ("norm", {"least": 1, "most": 1, "undefined": 0}, ZERO_VECTORS["zero in both"], "pass"),
    ("norm", {"least": 0, "most": 9, "undefined": 9}, ZERO_VECTORS["nothing but zero"], "inconclusive"),
])
def test_a_bound_holds_up_to_itself_and_not_beyond(program, tmp_path, criterion, parameters, pair, verdict):
    files = write(tmp_path / "r.parquet", pair[0]), write(tmp_path / "c.parquet", pair[1])
    assert judged(program, tmp_path, files, criterion, **parameters) == verdict


def test_defaults_of_others_are_offered_by_name_and_never_chosen(program, tmp_path):
    for page in ("criterion", "show", "allclose"), ("help", "criterion"):
        shown = fascicolo(program, *page, cwd=tmp_path).stdout
        rows = [line.replace("--set ", "").replace("=", " ").split() for line in shown.splitlines()]
        for name, rtol, atol in [
            ("numpy.allclose", "1e-5", "1e-8"), ("float16", "1e-3", "1e-5"), ("bfloat16", "1.6e-2", "1e-5"),
            ("float32", "1.3e-6", "1e-5"), ("float64", "1e-7", "1e-7"),
        ]:
            assert [row[-4:] for row in rows if row[-5:-3] == [name, "rtol"]] == [["rtol", rtol, "atol", atol]], (page, name)
    write(tmp_path / "r.parquet", CASES["ties"][0])
    form = 'goal = "values"\n[output]\npath = "r.parquet"\n'
    assert fascicolo(program, "reference", "new", "sample", cwd=tmp_path, input=form).returncode == 0
    ended = fascicolo(program, "declare", "allclose", "--because", "test", cwd=tmp_path)
    assert ended.returncode == 2 and "never chosen for you" in ended.stderr


def test_the_list_and_the_help_name_every_standard_criterion(program, tmp_path):
    listed = fascicolo(program, "criterion", "list", cwd=tmp_path).stdout.split("standard criteria", 1)[1]
    names = [line.split()[0] for line in listed.splitlines()[1:] if line.startswith("  ")]
    assert names == sorted(names) and {"abs", "allclose", "cosine", "norm", "rel"} <= set(names)
    about = fascicolo(program, "help", "criterion", cwd=tmp_path).stdout.split("Standard criteria", 1)[1]
    named = {word.strip(",") for line in about.splitlines() if line.startswith("    ") for word in line.split()[:2]}
    assert set(names) <= named, set(names) - named
