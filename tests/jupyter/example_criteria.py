"""The example criteria of notebooks/criteria against numpy: each is explored and, in a case file of its own, sealed, then
compared. Run by test_example_criteria.py: python example_criteria.py PROGRAM FOLDER"""
import json
import math
import pathlib
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

def write(path, ids, vectors, labels=None, dtype=pa.float64(), order=None, label="label"):
    order = np.arange(len(ids)) if order is None else order
    cols = {"id": pa.array([ids[i] for i in order]),
            "vector": pa.array([list(map(float, vectors[i])) for i in order], pa.list_(dtype))}
    if labels is not None:
        cols[label] = pa.array([labels[i] for i in order])
    pq.write_table(pa.table(cols), path)

def rotated(rng, r, degrees):
    """c with an angle of exactly `degrees` to r, another length."""
    u = r / np.linalg.norm(r)
    v = rng.standard_normal(len(r)); v -= (v @ u) * u; v /= np.linalg.norm(v)
    t = np.radians(degrees)
    return (np.cos(t) * u + np.sin(t) * v) * rng.uniform(0.5, 2)

def turned():
    """120 rows in three classes of 70, 38, 12; angles known: 60 below 1°, 40 in 1–5, 15 in 5–15, 5 beyond."""
    rng = np.random.default_rng(7)
    angles = np.concatenate([rng.uniform(.05, .95, 60), rng.uniform(1.05, 4.95, 40), rng.uniform(5.05, 14.9, 15), rng.uniform(16, 170, 5)])
    labels = np.array(["news"] * 70 + ["legal"] * 38 + ["chat"] * 12)
    rng.shuffle(labels)
    ref = rng.standard_normal((120, 8))
    cand = np.array([rotated(rng, r, a) for r, a in zip(ref, angles)])
    return [f"d{i:03}" for i in range(120)], ref, cand, list(labels), angles, rng.permutation(120)

def biased():
    """200 × 6 float32, noise of 1e-3 and a bias of 4e-4."""
    rng = np.random.default_rng(11)
    ref = rng.standard_normal((200, 6)).astype(np.float32)
    cand = (ref + rng.normal(4e-4, 1e-3, ref.shape)).astype(np.float32)
    return [f"e{i:03}" for i in range(200)], ref, cand, rng.permutation(200)

def scores():
    """50 rows of 5 scores; exactly 7 flips by construction, and two ties at the top (rows 48, 49)."""
    rng = np.random.default_rng(13)
    ref = rng.uniform(0, 1, (50, 5)).astype(np.float32)
    cand = (ref * np.float32(3)).astype(np.float32)            # order kept
    for i in range(0, 42, 6):                                  # 7 rows
        top = ref[i].argmax(); cand[i, (top + 1) % 5] = cand[i].max() + np.float32(1)
    ref[48] = [.1, .9, .2, .9, .3]; cand[48] = [.1, .9, .2, .8, .3]   # tie, first index kept: no flip
    ref[49] = [.1, .9, .2, .9, .3]; cand[49] = [.1, .8, .2, .9, .3]   # tie broken: a flip, the 8th
    ref[47] = [-0., 0., -1, -1, -1]; cand[47] = [0., -0., -1, -1, -1]  # both zeros are one score: no flip
    return [f"s{i:02}" for i in range(50)], ref, cand, rng.permutation(50)

HERE = pathlib.Path(__file__).resolve().parents[2] / "notebooks" / "criteria"
TOOL, WORK = sys.argv[1], pathlib.Path(sys.argv[2])

def tool(case, *args, body=None, codes=(0,)):
    r = subprocess.run([TOOL, "--dossier", str(WORK / f"{case}.fascicolo"), *map(str, args)], input=body, text=True, capture_output=True, cwd=WORK)
    assert r.returncode in codes, (args, r.returncode, r.stdout, r.stderr)
    return r

def sets(parameters):
    return [x for k, v in parameters.items() for x in ("--set", f"{k}={v!r}")]

def run(name, ref, cand, parameters, expect, verdict, label=None, histogram=None, reason=()):
    """`expect`: figure → (value, tolerance); tolerance 0 means the same bits."""
    case = f"{name}-{run.n}"; run.n += 1
    tool(case, "criterion", name, "--file", HERE / f"{name}.rs")
    explored = tool(case + "-x", "criterion", name, "--file", HERE / f"{name}.rs") and json.loads(tool(
        case + "-x", "compare", ref, cand, "--criterion", name, "--explore", "--json", *sets(parameters), *(["--label", label] if label else [])).stdout)
    assert explored["verdict"] == "none"
    toml = f'goal = "values"\npreprocessing = "none"\n[output]\npath = "{ref}"\nid = "id"\nvector = "vector"\n' + (f'label = "{label}"\n' if label else "")
    tool(case, "reference", "new", "made", body=toml)
    tool(case, "declare", name, "--because", "known from numpy", *sets(parameters))
    sealed = json.loads(tool(case, "compare", ref, cand, "--criterion", name, "--expect", verdict, "--json").stdout)
    assert sealed["verdict"] == verdict and sealed["met"] is True and sealed["post_hoc"] is False, sealed
    for answer in (explored, sealed):
        got = {f["name"]: f["value"] for f in answer["figures"]}
        assert set(got) == set(expect), set(got) ^ set(expect)
        for key, (value, tolerance) in expect.items():
            assert abs(got[key] - value) <= tolerance, (name, key, got[key], value)
    for text in reason:
        assert text in sealed["reason"], (text, sealed["reason"])
    if histogram is not None:
        (picture,) = sealed["histograms"]
        assert picture["below"] + sum(b["count"] for b in picture["bins"]) == histogram
    tool(case, "dossier", "verify", codes=(0, 3))
    print(f"ok  {name:18} {verdict:13} {sealed['reason']}")
    return sealed
run.n = 0

# 1, 2, 5: 120 rows turned by known angles, three labels of 70, 38, 12 rows
ids, r, c, labels, angles, order = turned()
write(WORK / "t_ref.parquet", ids, r, labels); write(WORK / "t_cand.parquet", ids, c, order=order)
unit = lambda x: x / np.linalg.norm(x, axis=1, keepdims=True)
cosine = 1 - .5 * ((unit(r) - unit(c)) ** 2).sum(1)
assert np.abs(cosine - np.cos(np.radians(angles))).max() < 1e-12
L = np.array(labels)
size = {k: int((L == k).sum()) for k in ("news", "legal", "chat")}
assert size == {"news": 70, "legal": 38, "chat": 12}
mean = {k: math.fsum(cosine[L == k]) / size[k] for k in size}
for weights in ({k: 1 / n for k, n in size.items()}, {"news": 5.0, "legal": 0.0, "chat": 1.0}, dict.fromkeys(size, 1.0)):
    weighted = sum(weights[k] * mean[k] for k in size) / sum(weights.values())
    for floor, verdict in ((weighted - 1e-6, "pass"), (weighted + 1e-6, "fail")):
        run("weighted-classes", "t_ref.parquet", "t_cand.parquet", {"floor": float(floor), **{f"weight_{k}": float(w) for k, w in weights.items()}},
            {"cosine.weighted": (weighted, 1e-12), "cosine.min": (cosine.min(), 1e-12), "rows.unlisted": (0, 0), **{f"class.{k}": (mean[k], 1e-12) for k in size}}, verdict, "label")
other = ["sport" if i < 3 else x for i, x in enumerate(labels)]
write(WORK / "u_ref.parquet", ids, r, other); O = np.array(other)
m = {k: math.fsum(cosine[O == k]) / (O == k).sum() for k in size}
run("weighted-classes", "u_ref.parquet", "t_cand.parquet", {"floor": .5, "weight_news": 1.0, "weight_legal": 1.0, "weight_chat": 1.0},
    {"cosine.weighted": (sum(m.values()) / 3, 1e-12), "cosine.min": (cosine.min(), 1e-12), "rows.unlisted": (3, 0), **{f"class.{k}": (m[k], 1e-12) for k in m}}, "inconclusive", "label")

langs = [{"news": "de", "legal": "it", "chat": "fr"}[x] for x in labels]
write(WORK / "l_ref.parquet", ids, r, langs)
G = np.array(langs)
for bound in (.99, .9999, -1.0):
    share = {g: (cosine[G == g] >= bound).sum() / (G == g).sum() for g in ("de", "it", "fr")}
    worst = min(sorted(share), key=share.get)
    for floor, verdict in ((share[worst], "pass"), (share[worst] + 1e-9, "fail")):
        if floor > 1: continue
        run("language-floor", "l_ref.parquet", "t_cand.parquet", {"bound": bound, "floor": float(floor)},
            {"share.min": (share[worst], 0), "worst.rows": ((G == worst).sum(), 0), **{f"share.{g}": (s, 0) for g, s in share.items()}}, verdict, "label", reason=[f"worst language is {worst}:"])

n = [int(((angles > a) & (angles <= b)).sum()) for a, b in ((-1, 1), (1, 5), (5, 15), (15, 180))]
assert n == [60, 40, 15, 5]
for share, verdict in ((20 / 120, "pass"), (.16, "fail")):
    run("angular-histogram", "t_ref.parquet", "t_cand.parquet", {"share": share},
        {"share.beyond5": (20 / 120, 0), "bin.0-1": (.5, 0), "bin.1-5": (40 / 120, 0), "bin.5-15": (15 / 120, 0), "bin.15-180": (5 / 120, 0), "angle.max": (angles.max(), 1e-12)}, verdict, histogram=120)

# 3: float32 with a bias; a symmetric and an identical one
ids, r, c, order = biased()
write(WORK / "b_ref.parquet", ids, r, dtype=pa.float32())
write(WORK / "b_bias.parquet", ids, c, dtype=pa.float32(), order=order)
both = np.where(np.arange(6) % 2, 1, -1) * np.float32(.25)
R = np.round(r * 64) / np.float32(64)                              # shifts of ±0.25 are exact here
write(WORK / "s_ref.parquet", ids, R, dtype=pa.float32()); write(WORK / "s_both.parquet", ids, R + both, dtype=pa.float32())
write(WORK / "s_up.parquet", ids, R + np.float32(.25), dtype=pa.float32())
write(WORK / "s_same.parquet", ids, R, dtype=pa.float32(), order=order)
for a, b, files, verdict, bound in ((r, c, ("b_ref", "b_bias"), "fail", .3), (r, c, ("b_ref", "b_bias"), "pass", .6), (R, R + both, ("s_ref", "s_both"), "pass", 0.0),
                                    (R, R + np.float32(.25), ("s_ref", "s_up"), "fail", .999), (R, R, ("s_ref", "s_same"), "pass", 0.0)):
    d = (b.astype(np.float64) - a.astype(np.float64)).ravel()
    signed, absolute = math.fsum(d) / d.size, math.fsum(abs(d)) / d.size
    run("asymmetry", files[0] + ".parquet", files[1] + ".parquet", {"bound": bound},
        {"asymmetry": (abs(signed) / absolute if absolute else 0.0, 0), "difference.signed": (signed, 0), "difference.absolute": (absolute, 0)}, verdict)

# 4: scores
ids, r, c, order = scores()
write(WORK / "f_ref.parquet", ids, r, dtype=pa.float32()); write(WORK / "f_cand.parquet", ids, c, dtype=pa.float32(), order=order)
flips = r.argmax(1) != c.argmax(1)
assert flips.sum() == 8
for bound, verdict in ((.16, "pass"), (.159, "fail")):
    s = run("flip-rate", "f_ref.parquet", "f_cand.parquet", {"bound": bound}, {"flip.rate": (8 / 50, 0), "rows.flipped": (8, 0)}, verdict)
    (f,) = [f for f in s["figures"] if f["name"] == "rows.flipped"]
    assert [w["id"] for w in f["worst"]] == sorted(i for i, x in zip(ids, flips) if x)[:5]

print("all as numpy says:", run.n, "explored and sealed")
