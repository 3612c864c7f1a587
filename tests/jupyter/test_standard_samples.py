"""The standard criteria over samples, scores and classes against numpy, scipy and scikit-learn, on random and hard values."""
import hashlib
import json
import re

import numpy as np
import pytest
import scipy.linalg
import scipy.stats
from sklearn.metrics import pairwise

from conftest import fascicolo
from test_standard import compare, explore, figures, ids_of, worst, write

CLOSE = 1e-9


def spread(seed, rows, dims, dtype=np.float32):
    """Rows whose directions have very different lengths, as embeddings' have."""
    draw = np.random.default_rng(seed)
    return (draw.standard_normal((rows, dims)) * np.geomspace(1, 1e-3, dims) + draw.standard_normal(dims)).astype(dtype)


def turned(r, seed, scale=1.0, noise=0.0):
    draw = np.random.default_rng(seed)
    rotation = scipy.stats.ortho_group.rvs(r.shape[1], random_state=seed) if r.shape[1] > 1 else np.array([[-1.0]])
    return (scale * (r.astype(np.float64) @ rotation) + noise * draw.standard_normal(r.shape)).astype(r.dtype)


def noisy(r, seed, noise):
    return (r + noise * np.random.default_rng(seed).standard_normal(r.shape)).astype(r.dtype)


R = spread(1, 300, 24)
WIDE = spread(2, 40, 4096)
PAIRS = {
    "a little noise": (R, noisy(R, 3, 1e-3)),
    "much noise": (R, noisy(R, 4, 1.0)),
    "turned": (R, turned(R, 5)),
    "turned and doubled": (R, turned(R, 6, scale=2.0)),
    "turned with noise": (R, turned(R, 7, noise=1e-2)),
    "the same": (R, R),
    "permuted": (R, R[::-1].copy()),
    "negative": (R, -R),
    "float64": (R.astype(np.float64), noisy(R.astype(np.float64), 8, 1e-6)),
    "more values than rows": (WIDE, noisy(WIDE, 9, 1e-2)),
    "one direction": (np.outer(np.arange(1, 51), np.ones(8)).astype(np.float32), np.outer(np.arange(1, 51), np.arange(1, 9)).astype(np.float32)),
    "one dimension": (spread(10, 60, 1), noisy(spread(10, 60, 1), 11, 0.1)),
    "two rows": (spread(12, 2, 6), spread(13, 2, 6)),
    "equal rows but one": (np.vstack([np.ones((19, 5)), [[1, 2, 3, 4, 5]]]).astype(np.float32), np.vstack([np.ones((19, 5)), [[1, 2, 3, 4, 6]]]).astype(np.float32)),
    "small": (R.astype(np.float64) * 1e-100, noisy(R.astype(np.float64), 14, 1e-2) * 1e-100),
}


def sampled(pair, rows):
    """The rows whose ids have the smallest SHA-256, in the order of ids."""
    ids = ids_of(len(pair[0]))
    drawn = sorted(range(len(ids)), key=lambda i: hashlib.sha256(ids[i].encode()).digest())[:rows]
    drawn.sort(key=lambda i: ids[i].encode())
    sides = [side[drawn].astype(np.float64) for side in pair]
    if pair[0].shape[1] > 2 * rows:
        # In the coordinates of all these rows nothing changes but the oracle's patience.
        basis = np.linalg.qr(np.vstack(sides).T)[0]
        sides = [side @ basis for side in sides]
    return sides


def near(found, expected, scale=1.0):
    assert abs(found - expected) <= CLOSE * max(abs(expected), scale), (found, expected)


@pytest.mark.parametrize("rows", [2, 37, 1000])
@pytest.mark.parametrize("name", PAIRS)
def test_procrustes_is_scipys_rotation_and_the_best_scale_of_the_sample(program, tmp_path, name, rows):
    r, c = sampled(PAIRS[name], rows)
    found = figures(compare(program, tmp_path, PAIRS[name], "procrustes", most=0.1, rows=rows))
    norm = np.linalg.norm(r)
    rotation, nuclear = scipy.linalg.orthogonal_procrustes(c, r)
    scale = nuclear / np.linalg.norm(c) ** 2
    # A residual is a difference of two spaces: its own rounding is that of the spaces.
    near(found["raw"], np.linalg.norm(c - r) / norm)
    near(found["rescaled"], np.linalg.norm((r * c).sum() / (c * c).sum() * c - r) / norm)
    near(found["rotated"], np.linalg.norm(c @ rotation - r) / norm)
    near(found["rotated.rescaled"], np.linalg.norm(scale * (c @ rotation) - r) / norm)
    near(found["scale"], scale)
    assert found["rows.sampled"] == min(rows, len(PAIRS[name][0]))


@pytest.mark.parametrize("rows", [2, 37, 1000])
@pytest.mark.parametrize("name", PAIRS)
def test_cka_is_kornbliths_on_the_columns_of_the_sample(program, tmp_path, name, rows):
    r, c = sampled(PAIRS[name], rows)
    result = compare(program, tmp_path, PAIRS[name], "cka", floor=0.5, rows=rows)
    r, c = r - r.mean(axis=0), c - c.mean(axis=0)
    # Its features' form, which the criterion does not use; squares of small values need their own unit.
    r, c = (side / (np.linalg.norm(side) or 1) for side in (r, c))
    if len(r) == 2:
        assert figures(result) == {"rows.sampled": 2} and "there must be 3" in result["reason"]
        return
    denominator = np.linalg.norm(r.T @ r) * np.linalg.norm(c.T @ c)
    if denominator == 0:
        assert figures(result) == {"rows.sampled": min(rows, len(PAIRS[name][0]))}
        assert "there is nothing to be alike" in result["reason"]
    else:
        near(figures(result)["cka"], np.linalg.norm(c.T @ r) ** 2 / denominator)


@pytest.mark.parametrize("rows", [2, 37, 1000])
@pytest.mark.parametrize("name", PAIRS)
def test_drift_is_numpys_covariance_and_the_unbiased_discrepancy_of_scikit_learns_kernel(program, tmp_path, name, rows):
    r, c = sampled(PAIRS[name], rows)
    width = float(np.median(scipy.spatial.distance.pdist(r))) or 1.0
    result = compare(program, tmp_path, PAIRS[name], "drift", shift=0.1, covariance=0.1, mmd2=0.01, bandwidth=width, rows=rows)
    found = figures(result)
    deviation = np.sqrt(r.var(axis=0, ddof=1).sum())
    if deviation == 0:
        assert found == {"rows.sampled": len(r)} and "the same" in result["reason"]
        return
    near(found["mean.shift"], np.linalg.norm(c.mean(axis=0) - r.mean(axis=0)) / deviation)
    cov_r, cov_c = (np.atleast_2d(np.cov(side / width, rowvar=False)) for side in (r, c))
    change = np.linalg.norm(cov_c - cov_r) / np.linalg.norm(cov_r)
    # With fewer rows than values, squares of changes are added and taken away before the root.
    assert abs(found["covariance.change"] - change) <= (CLOSE if r.shape[1] <= len(r) else 1e-7) * max(1, change)
    near(found["distance.median"], np.median(scipy.spatial.distance.pdist(r)), 0)
    n, gamma = len(r), 1 / 2
    off = ~np.eye(n, dtype=bool)
    kernel = lambda a, b: pairwise.rbf_kernel(a / width, b / width, gamma=gamma)[off].sum() / (n * (n - 1))
    near(found["mmd2"], kernel(r, r) + kernel(c, c) - 2 * kernel(r, c))


def scores(seed, rows, shift, scatter, dtype=np.float64):
    draw = np.random.default_rng(seed)
    r = draw.standard_normal((rows, 1)) * 3 + 1
    return r.astype(dtype), (r + shift + scatter * draw.standard_normal((rows, 1))).astype(dtype)


SCORES = {
    "equivalent": scores(1, 400, 0.001, 0.01),
    "beyond": scores(2, 400, 1.0, 0.1),
    "below": scores(3, 400, -1.0, 0.1),
    "straddling": scores(4, 20, 0.05, 1.0),
    "two rows": scores(5, 2, 0.01, 0.01),
    "float32": scores(6, 100, 0.01, 0.05, np.float32),
    "right and wrong": ((np.arange(500) % 10 < 8).astype(np.float32)[:, None], (np.arange(500) % 10 < 7).astype(np.float32)[:, None]),
    "equal": (scores(7, 50, 0, 0)[0],) * 2,
    "far from zero": tuple(side + 1e9 for side in scores(8, 200, 0.5, 0.3)),
}


@pytest.mark.parametrize("alpha", [0.05, 0.001])
@pytest.mark.parametrize("name", SCORES)
def test_metric_is_scipys_interval_of_the_paired_difference(program, tmp_path, name, alpha):
    r, c = (side.astype(np.float64)[:, 0] for side in SCORES[name])
    margin = 0.1
    found = figures(compare(program, tmp_path, SCORES[name], "metric", margin=margin, alpha=alpha))
    d = c - r
    error = d.std(ddof=1) / np.sqrt(len(d))
    low, high = d.mean() - error * scipy.stats.t.isf(alpha, len(d) - 1), d.mean() + error * scipy.stats.t.isf(alpha, len(d) - 1)
    for figure, value in {"mean.reference": r.mean(), "mean.candidate": c.mean(), "difference.mean": d.mean(), "difference.low": low, "difference.high": high}.items():
        near(found[figure], value)
    assert found["difference.max"] == np.abs(d).max() and found["rows"] == len(d)


@pytest.mark.parametrize("name, verdict", [("equivalent", "pass"), ("equal", "pass"), ("beyond", "fail"), ("below", "fail"), ("straddling", "inconclusive")])
def test_metric_passes_inside_the_margin_fails_beyond_and_does_not_decide_between(program, tmp_path, name, verdict):
    r, c = SCORES[name]
    write(tmp_path / "r.parquet", r), write(tmp_path / "c.parquet", c)
    form = "goal = 'values'\n[output]\npath = 'r.parquet'\n"
    assert fascicolo(program, "reference", "new", "scores", cwd=tmp_path, input=form).returncode == 0
    fascicolo(program, "declare", "metric", "--set", "margin=0.1", "--set", "alpha=0.05", "--because", "a tenth does not matter", cwd=tmp_path)
    ended = fascicolo(program, "compare", "r.parquet", "c.parquet", "--criterion", "metric", "--json", cwd=tmp_path)
    assert json.loads(ended.stdout)["verdict"] == verdict, ended.stdout + ended.stderr


def logits(seed, rows, classes, noise):
    draw = np.random.default_rng(seed)
    r = draw.standard_normal((rows, classes)).astype(np.float32)
    return r, (r + noise * draw.standard_normal(r.shape)).astype(np.float32)


LOGITS = {
    "close calls": logits(1, 400, 10, 0.05),
    "noise": logits(2, 200, 1000, 1.0),
    "the same": (logits(3, 50, 5, 0)[0],) * 2,
    "one class": logits(4, 10, 1, 1.0),
    "ties": (np.array([[1, 1, 0], [0, -0.0, -1], [2, 1, 0]], np.float32), np.array([[1, 1, 0], [-0.0, 0, -1], [0, 1, 0]], np.float32)),
}


@pytest.mark.parametrize("k", [1, 3, 1000])
@pytest.mark.parametrize("name", LOGITS)
def test_topk_is_numpys_stable_order_of_scores(program, tmp_path, name, k):
    r, c = LOGITS[name]
    result = compare(program, tmp_path, LOGITS[name], "topk", "--vector", "emb", floor=0.9, k=k)
    if r.shape[1] == 1:
        assert figures(result) == {"rows": len(r)} and "2 classes" in result["reason"]
        return
    first = lambda side: np.argsort(-side, axis=1, kind="stable")
    of_r, of_c = first(r), first(c)
    few = min(k, r.shape[1])
    overlap = np.mean([len(set(a[:few]) & set(b[:few])) / few for a, b in zip(of_r, of_c)])
    flipped = of_r[:, 0] != of_c[:, 0]
    top = [np.sort(side, axis=1)[:, ::-1] for side in (r, c)]
    tied = (top[0][:, 0] == top[0][:, 1]) | (top[1][:, 0] == top[1][:, 1])
    found = figures(result)
    assert found["top1.agreement"] == (~flipped).sum() / len(r)
    near(found["topk.overlap"], overlap)
    assert (found["rows.flipped"], found["rows.tied"]) == (flipped.sum(), tied.sum())
    lead = top[0][:, 0].astype(np.float64) - top[0][:, 1]
    expected = sorted(((ids_of(len(r))[i], lead[i]) for i in np.flatnonzero(flipped)), key=lambda row: (-row[1], row[0].encode()))
    assert worst(result, "rows.flipped") == expected[:5]


@pytest.mark.parametrize("dims", [3, 200, 384, 4096])
@pytest.mark.parametrize("criterion, given", [("procrustes", {"most": 0.1}), ("cka", {"floor": 0.5}), ("drift", {"shift": 1, "covariance": 1, "mmd2": 1, "bandwidth": 1})])
def test_a_sample_too_large_is_told_the_most_rows_and_these_fit_the_fuel(program, tmp_path, criterion, given, dims):
    r = spread(20, 5000, dims)
    files = write(tmp_path / "r.parquet", r), write(tmp_path / "c.parquet", noisy(r, 21, 0.1))
    result = explore(program, tmp_path, files, criterion, rows=5000, **given)
    if len(figures(result)) == 1:
        assert "declare fewer rows than 5000" in result["reason"]
        most = int(re.search(r"at most (\d+) rows", result["reason"])[1])
        result = explore(program, tmp_path, files, criterion, rows=most, **given)
    assert len(result.get("figures", [])) > 1, result
