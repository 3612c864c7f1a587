"""What happened to people, in small: after each public report a reference, an output that is broken as the report says,
and one that differs harmlessly, with the criteria that catch it, and those that look elsewhere.

Every input is made here; what a report says in numbers is planted in it. `test_public_reports.py` holds the promises.
"""
import dataclasses
import functools

import numpy as np
import pytest
from scipy.special import erf
from sklearn.metrics import roc_auc_score


@dataclasses.dataclass
class Table:
    """An output file: a vector a row, and where the report is about labels, a label."""

    values: np.ndarray
    labels: list | None = None
    ids: list | None = None


class Sealed(dict):
    """A criterion with its parameters, as it is sealed."""

    def __init__(self, criterion, **parameters):
        super().__init__(parameters)
        self.criterion = criterion

    def __str__(self):
        return " ".join([self.criterion, *(f"{name}={value!r}" for name, value in self.items())])


@dataclasses.dataclass
class Kind:
    """One kind of report."""

    reference: Table
    harmless: Table
    broken: Table
    # Why the bounds of `catches` are right.
    because: str
    # Each fails the broken output. None: any row may be named.
    catches: list
    planted: list | None = None
    # Figures of the criteria that catch it, known from how the input was made.
    figures: dict = dataclasses.field(default_factory=dict)
    # Each passes the broken output: traps for who trusts it alone.
    misses: list = dataclasses.field(default_factory=list)
    # Each fails even the harmless output.
    cries_wolf: list = dataclasses.field(default_factory=list)
    verdict: str = "fail"
    obstacle: str | None = None
    # Causes that the difference looks like, and those that the harmless one may look like.
    hints: list = dataclasses.field(default_factory=list)
    harmless_hints: set = dataclasses.field(default_factory=lambda: {"rounding"})


KINDS = {}


def kind(report):
    """Enters a kind under the report it was seen in; its docstring tells what was seen, and the cause."""
    return lambda made: KINDS.setdefault(report, functools.cache(made))


def of(rows, what="doc"):
    """Ids of the rows with these numbers."""
    return [f"{what}-{i:04}" for i in rows]


def ids(rows):
    return of(range(rows))


def embeddings(seed, rows=400, dims=48):
    """Unit vectors that share a direction and lose variance from one to the next, as those of language models do."""
    draw = np.random.default_rng(seed)
    x = draw.standard_normal((rows, dims)) * np.geomspace(1, 0.1, dims) + draw.standard_normal(dims) * 0.3
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


def rounding(x, seed=0, relative=1e-7):
    """The same values after another order of operations."""
    noise = np.random.default_rng(seed).standard_normal(x.shape)
    return (x * (1 + relative * noise)).astype(x.dtype)


def at_angle(r, cosine, seed):
    """Unit rows of which each has this cosine with that of `r`."""
    other = np.random.default_rng(seed).standard_normal(r.shape)
    other -= (other * r).sum(axis=1, keepdims=True) * r
    other /= np.linalg.norm(other, axis=1, keepdims=True)
    return (cosine * r + np.sqrt(1 - cosine**2) * other).astype(r.dtype)


def cosines(r, c):
    r, c = r.astype(np.float64), c.astype(np.float64)
    return (r * c).sum(axis=1) / np.linalg.norm(r, axis=1) / np.linalg.norm(c, axis=1)


# ---- Embeddings that changed.


@kind("huggingface/sentence-transformers#3507")
def wrong_memory():
    """The first component went from .398 to .015 with torch 2.8 on MPS: a tensor read with the strides of another."""
    r = embeddings(1)
    c = np.ascontiguousarray(r.reshape(r.shape[::-1]).T)
    return Kind(
        Table(r), Table(rounding(r)), Table(c),
        because="a search of ours tells rows of cosine 0.9999 apart from none",
        catches=[Sealed("cosine", floor=0.9999), Sealed("abs", most=1e-5), Sealed("knn", floor=0.95, k=10, queries=400)],
        figures={"cosine.min": cosines(r, c).min(), "abs.max": np.abs(c - r).max()},
        # A bound beyond the values themselves; nothing but their histogram is left of the rows.
        misses=[Sealed("abs", most=1.5)],
    )


@kind("sgl-project/sglang#21913")
def end_of_text():
    """Cosine fell from 1 to .33: the vector was taken at the last token, and of long texts that was not end-of-text."""
    r, cut = embeddings(2), np.arange(5, 400, 35)
    c = rounding(r)
    c[cut] = at_angle(r[cut], 0.33, 2)
    labels = ["cut" if i in cut else "whole" for i in range(400)]
    return Kind(
        Table(r, labels), Table(rounding(r), labels), Table(c, labels),
        because="the same weights on the same texts",
        catches=[Sealed("cosine", floor=0.999), Sealed("abs", most=1e-4)],
        planted=of(cut),
        figures={"cosine.min": 0.33, "cosine.mean": (388 + 12 * 0.33) / 400},
        # Means, lengths and likenesses of most rows do not see a few.
        misses=[
            Sealed("knn", floor=0.9, k=10, queries=400), Sealed("cka", floor=0.9, rows=400),
            Sealed("norm", least=0.999, most=1.001, undefined=0),
        ],
        hints=["one_class", "few_rows"],
    )


@kind("BlueBrain/Search#170")
def some_rows_a_little_and_some_much():
    """After an upgrade of torch and transformers 20 % of the rows differed at 1e-6, and .97 % by more than 0.1."""
    r = embeddings(3, rows=1030)
    draw = np.random.default_rng(3)
    differing = draw.permutation(1030)[:206]
    much = np.sort(differing[:10])
    little = r.copy()
    little[differing] += (1e-6 * draw.choice([-1, 1], (206, 48))).astype(np.float32)
    c = little.copy()
    c[much, 7] += 0.25
    return Kind(
        Table(r), Table(little), Table(c),
        because="float32 of another version of the library differs by 1e-6",
        catches=[Sealed("abs", most=1e-5), Sealed("allclose", atol=1e-5, rtol=0.0), Sealed("cosine", floor=0.999)],
        planted=of(much),
        figures={"rows.over": 10, "elements.over": 10, "abs.max": np.abs(c.astype(float) - r).max()},
        misses=[Sealed("cka", floor=0.99, rows=400), Sealed("knn", floor=0.95, k=10, queries=400)],
        cries_wolf=[Sealed("ulp", most=4)],
        hints=["few_rows"],
    )


@kind("huggingface/sentence-transformers#2312, #3109")
def batches():
    """Other batch sizes give differences in the last digits. What must not hide behind them: padding that is not masked."""
    r = embeddings(4)
    c, padded = rounding(r, 4), np.arange(400) % 8 >= 5
    c[padded] = (c[padded] + 0.02 * r.mean(axis=0)).astype(np.float32)
    return Kind(
        Table(r), Table(rounding(r, 4)), Table(c),
        because="twice the largest difference of ten batch sizes on this machine",
        catches=[Sealed("abs", most=1e-6), Sealed("allclose", atol=1e-6, rtol=1e-5)],
        planted=of(np.flatnonzero(padded)),
        figures={"rows.over": padded.sum()},
        misses=[Sealed("cosine", floor=0.999)],
        cries_wolf=[Sealed("ulp", most=0)],
    )


@kind("microsoft/onnxruntime#20156")
def flipped_signs():
    """Values came with the other sign, up to 1.17, in another runtime."""
    r = (embeddings(5) * 3).astype(np.float32)
    flipped = [17, 230, 399]
    c = rounding(r, 5)
    c[flipped] = -c[flipped]
    return Kind(
        Table(r), Table(rounding(r, 5)), Table(c),
        because="a runtime may round, and nothing else",
        catches=[Sealed("cosine", floor=0.9999), Sealed("abs", most=1e-5)],
        planted=of(flipped),
        figures={"cosine.min": -1, "rows.over": 3, "norm_ratio.max": pytest.approx(1, abs=1e-6)},
        misses=[Sealed("norm", least=0.9999, most=1.0001, undefined=0)],
        hints=["few_rows"],
    )


@kind("microsoft/onnxruntime#20156, every row")
def mirrored():
    """The same for every row: within the file nothing changed, and it must not be mixed with the other."""
    r = embeddings(6)
    return Kind(
        Table(r), Table(rounding(r, 6)), Table(-r),
        because="rows of both runtimes lie in one index",
        catches=[Sealed("cosine", floor=0.9999), Sealed("drift", shift=0.01, covariance=0.01, mmd2=0.01, bandwidth=1.0, rows=400)],
        planted=ids(400),
        figures={"cosine.min": -1, "covariance.change": pytest.approx(0, abs=1e-12)},
        misses=[
            Sealed("norm", least=0.9999, most=1.0001, undefined=0), Sealed("procrustes", most=1e-6, rows=150),
            Sealed("cka", floor=0.9999, rows=150), Sealed("knn", floor=1.0, k=10, queries=400),
        ],
        hints=["mirrored"],
    )


def tensor_float(x):
    """Rounded to the 10 bits behind the leading one that TF32 keeps."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x1000) & np.uint32(0xFFFFE000)).view(np.float32)


@kind("tensorflow/tensorflow#127577")
def tf32():
    """Products of matrices differed by 2.9e-4 of their size: TF32."""
    draw = np.random.default_rng(7)
    x, w = draw.standard_normal((300, 256)).astype(np.float32), (draw.standard_normal((256, 48)) / 16).astype(np.float32)
    other_order = sum(x[:, part] @ w[part] for part in np.split(np.arange(256), 8))
    r, c = x @ w, tensor_float(x) @ tensor_float(w)
    apart = np.linalg.norm(c - r, axis=1) / np.linalg.norm(r, axis=1)
    assert 2e-4 < np.median(apart) < 4e-4
    return Kind(
        Table(r), Table(other_order), Table(c),
        because="torch's own bounds for float32",
        catches=[Sealed("allclose", rtol=1.3e-6, atol=1e-5), Sealed("abs", most=1e-5)],
        planted=ids(300),
        figures={"abs.max": np.abs(c.astype(float) - r).max()},
        # A cosine falls with the square of an angle: 3e-4 is 5e-8 there.
        misses=[Sealed("cosine", floor=0.9999), Sealed("knn", floor=0.95, k=10, queries=300)],
        # A quotient of values near 0 is large for any rounding.
        cries_wolf=[Sealed("rel", most=1e-4, undefined=0)],
        hints=["rounding"],
    )


def gelu(x, how):
    if how == "tanh":
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    if how == "quick":
        return x / (1 + np.exp(-1.702 * x))
    return 0.5 * x * (1 + erf(x / np.sqrt(2)))


@kind("huggingface/pytorch-image-models#2031")
def activation():
    """A largest difference of 1.32 between ports of one model: an approximation of the activation."""
    draw = np.random.default_rng(8)
    x = draw.standard_normal((300, 64))
    layers = [draw.standard_normal((64, 64)) * (1.4 / 8) for _ in range(6)]

    def model(how):
        h = x
        for layer in layers:
            h = gelu(h @ layer, how) + h
        return (4 * h).astype(np.float32)

    r, c = model("erf"), model("quick")
    assert np.abs(c - r).max() > 1
    return Kind(
        Table(r), Table(rounding(r, 8, 3e-7)), Table(c),
        because="both are float32 of the same weights",
        catches=[Sealed("abs", most=1e-3), Sealed("allclose", rtol=1e-4, atol=1e-4)],
        planted=ids(300),
        figures={"abs.max": np.abs(c.astype(float) - r).max(), "rows.over": 300},
        misses=[Sealed("cosine", floor=0.99), Sealed("cka", floor=0.99, rows=300)],
        # Of the size that rounding to bfloat16 has: a hint is not a finding.
        hints=["rounding"],
    )


@kind("openai/CLIP#222")
def overflow():
    """NaN in float16 on CUDA: a softmax whose exponentials leave float16."""
    draw = np.random.default_rng(9)
    logits = draw.uniform(-4, 8, (200, 20))
    loud = [3, 77, 120, 199]
    logits[loud, 5] = [11.2, 12.0, 15.0, 30.0]

    def softmax(x):
        with np.errstate(over="ignore", invalid="ignore"):
            e = np.exp(x, dtype=x.dtype)
            return (e / e.sum(axis=1, keepdims=True, dtype=np.float32).astype(x.dtype)).astype(x.dtype)

    r = softmax(logits.astype(np.float32))
    # Less its largest value first, as it should be, the same type is enough.
    safe = softmax((logits - logits.max(axis=1, keepdims=True)).astype(np.float16))
    c = softmax(logits.astype(np.float16))
    assert np.flatnonzero(~np.isfinite(c).all(axis=1)).tolist() == loud
    names = [f"class {i}" for i in r.argmax(axis=1)]
    return Kind(
        Table(r, names), Table(safe.astype(np.float32), names), Table(c.astype(np.float32), names),
        because="probabilities of float16",
        catches=[
            Sealed("abs", most=5e-3), Sealed("cosine", floor=0.999), Sealed("topk", floor=0.99, k=1), Sealed("labels", floor=0.99),
            Sealed("knn", floor=0.5, k=5, queries=200), Sealed("procrustes", most=0.1, rows=200),
        ],
        planted=of(loud), verdict="not_comparable", obstacle="non_finite",
        harmless_hints={"rounding", "float16_values"},
    )


@kind("openai/CLIP#222, in a norm")
def overflow_in_a_norm():
    """The same in a norm: what is divided by infinity is zero, a vector without direction and no NaN at all."""
    r = embeddings(10)
    h = r * np.float32(20)
    h[[8, 90]] *= 40

    def normalised(x):
        with np.errstate(over="ignore"):
            return x / np.sqrt((x * x).sum(axis=1, keepdims=True, dtype=x.dtype))

    c = normalised(h.astype(np.float16)).astype(np.float32)
    fine = normalised(h.astype(np.float16).astype(np.float32))
    assert np.flatnonzero((c == 0).all(axis=1)).tolist() == [8, 90] and np.isfinite(c).all()
    return Kind(
        Table(normalised(h)), Table(fine), Table(c),
        because="directions of float16",
        catches=[Sealed("cosine", floor=0.9999), Sealed("knn", floor=0.9, k=10, queries=400)],
        planted=of([8, 90]), verdict="not_comparable", obstacle="zero_norm",
    )


@kind("python-pillow/Pillow#6536")
def decoder():
    """15 channel values of decoded images differ between two builds of a JPEG decoder."""
    draw = np.random.default_rng(11)
    pixels = draw.integers(1, 255, (40, 16 * 16 * 3)).astype(np.uint8)
    c = pixels.copy()
    c[12, draw.permutation(768)[:9]] += 1
    c[31, draw.permutation(768)[:6]] -= 1
    return Kind(
        Table(pixels), Table(pixels.astype(np.int16)), Table(c),
        because="decoded pixels are integers",
        catches=[Sealed("abs", most=0.0), Sealed("allclose", rtol=0.0, atol=0.0)],
        planted=of([12, 31]),
        figures={"elements.over": 15, "rows.over": 2, "abs.max": 1},
        misses=[Sealed("cosine", floor=0.9999)],
    )


# ---- Labels and scores that changed.


@kind("huggingface/transformers#2401")
def labels_by_batch():
    """6 % of the labels differed with the batch size."""
    draw = np.random.default_rng(21)
    scores = embeddings(21, rows=500, dims=4)
    labels = [("negative", "neutral", "positive")[i] for i in draw.integers(0, 3, 500)]
    flipped = np.sort(draw.permutation(500)[:30])
    other = ["neutral" if label == "positive" else "positive" for label in labels]
    broken = [other[i] if i in flipped else label for i, label in enumerate(labels)]
    return Kind(
        Table(scores, labels), Table(rounding(scores), labels), Table(rounding(scores), broken),
        because="two batch sizes of the reference agreed in 998 of 1,000 rows",
        catches=[Sealed("labels", floor=0.99)],
        planted=of(flipped),
        figures={"agreement": 0.94, "rows.differing": 30},
        # The vectors that are kept beside the labels are not where the labels come from.
        misses=[Sealed("cosine", floor=0.9999), Sealed("centroid", floor=1.0)],
        hints=["rounding"],
    )


@kind("huggingface/transformers#2401, right or wrong")
def labels_that_cancel():
    """The same, where as many labels became right as became wrong: the accuracy stays."""
    draw = np.random.default_rng(29)
    truth = draw.integers(0, 2, 500)
    predicted = np.where(np.arange(500) % 5 == 0, 1 - truth, truth)
    lost, won = np.flatnonzero(predicted == truth)[3:300:20], np.flatnonzero(predicted != truth)[2:92:6]
    assert len(lost) == len(won) == 15
    flipped = np.sort(np.r_[lost, won])
    broken = predicted.copy()
    broken[flipped] = 1 - predicted[flipped]
    right = lambda labels: (labels == truth).astype(np.float64)[:, None]
    names = lambda labels: [("negative", "positive")[i] for i in labels]
    near = predicted.copy()
    near[250] = 1 - near[250]
    return Kind(
        Table(right(predicted), names(predicted)), Table(right(near), names(near)), Table(right(broken), names(broken)),
        because="two batch sizes of the reference agreed in 998 of 1,000 rows",
        catches=[Sealed("labels", floor=0.99)],
        planted=of(flipped),
        figures={"agreement": 0.94, "rows.differing": 30},
        misses=[Sealed("metric", margin=0.03, alpha=0.05)],
    )


@kind("huggingface/transformers#29029")
def padding():
    """Softmax differed by 2e-4 with padding on a GPU, and by 7e-7 on a CPU: one tolerance a device."""
    draw = np.random.default_rng(22)
    logits = draw.standard_normal((300, 8)) * 2

    def softmax(x):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return (e / e.sum(axis=1, keepdims=True)).astype(np.float32)

    r = softmax(logits)
    noise = draw.standard_normal(logits.shape)
    # What a noise of 1e-3 in the logits does to the largest probability, so that both sizes are met.
    effect = np.abs(softmax(logits + 1e-3 * noise) - r).max() / 1e-3
    cpu, gpu = (softmax(logits + noise * size / effect) for size in (7e-7, 2e-4))
    return Kind(
        Table(r), Table(cpu), Table(gpu),
        because="repeats on this processor lie within 7e-7",
        catches=[Sealed("abs", most=2e-6)],
        planted=of(np.flatnonzero(np.abs(gpu.astype(float) - r).max(axis=1) > 2e-6)),
        figures={"abs.max": pytest.approx(2e-4, rel=0.05)},
        misses=[Sealed("topk", floor=0.99, k=1), Sealed("cosine", floor=0.9999)],
        hints=["rounding"],
    )


@kind("microsoft/onnxruntime#14642")
def saturation():
    """Labels change under int8 on processors without VNNI: sums of two products saturate at 16 bits."""
    draw = np.random.default_rng(23)
    # Many activations at the end of their range, as after a clipped one.
    x = draw.integers(0, 256, (300, 64))
    x[draw.random(x.shape) < 0.3] = 255
    w = np.clip(np.rint(90 * draw.standard_normal((64, 10))), -127, 127).astype(np.int64)
    r = (x / 255) @ (w / 127 + draw.uniform(-0.5, 0.5, w.shape) / 127)
    exact = x @ w
    pairs = x[:, 0::2, None] * w[None, 0::2] + x[:, 1::2, None] * w[None, 1::2]
    saturated = np.clip(pairs, -32768, 32767).sum(axis=1)
    r, exact, saturated = (side.astype(np.float32) for side in (r, exact / (255 * 127), saturated / (255 * 127)))
    names = lambda side: [f"class {i}" for i in side.argmax(axis=1)]
    changed = np.flatnonzero(r.argmax(axis=1) != saturated.argmax(axis=1))
    return Kind(
        Table(r, names(r)), Table(exact, names(exact)), Table(saturated, names(saturated)),
        because="quantisation may turn one close call in fifty",
        catches=[Sealed("labels", floor=0.98), Sealed("topk", floor=0.98, k=3)],
        planted=of(changed),
        figures={"agreement": 1 - len(changed) / 300, "rows.flipped": len(changed), "rows.differing": len(changed)},
        misses=[Sealed("cosine", floor=0.95)],
    )


@kind("microsoft/onnxruntime#28609")
def two_flips():
    """2 of 164 rows had another largest score in another runtime."""
    draw = np.random.default_rng(24)
    r = draw.standard_normal((164, 12)).astype(np.float32)
    r[np.arange(164), draw.integers(0, 12, 164)] += 6
    for row in (40, 101):
        first, second = np.argsort(-r[row])[:2]
        r[row, second] = r[row, first] - 2e-4
    c = rounding(r, 24)
    for row in (40, 101):
        c[row, np.argsort(-r[row])[1]] += 4e-4
    names = lambda side: [f"class {i}" for i in side.argmax(axis=1)]
    return Kind(
        Table(r, names(r)), Table(rounding(r, 25), names(r)), Table(c, names(c)),
        because="every label is shown to somebody",
        catches=[Sealed("topk", floor=1.0, k=1), Sealed("labels", floor=1.0)],
        planted=of([40, 101]),
        figures={"top1.agreement": 162 / 164, "agreement": 162 / 164, "rows.flipped": 2, "rows.differing": 2},
        misses=[Sealed("topk", floor=162 / 164, k=1), Sealed("labels", floor=0.98), Sealed("abs", most=1e-3)],
    )


@kind("keras-team/keras#8426")
def probability():
    """A probability fell from .909 to .789 with an upgrade, below where our decision is made and above where argmax is."""
    draw = np.random.default_rng(25)
    p = draw.choice([0.97, 0.02, 0.6], 200) + draw.uniform(-0.02, 0.02, 200)
    moved = [20, 21, 150]
    p[moved] = 0.909
    q = p.copy()
    q[moved] = 0.789
    both = lambda p: np.stack([p, 1 - p], axis=1).astype(np.float32)
    decided = lambda p: ["accepted" if x >= 0.8 else "looked at" for x in p]
    return Kind(
        Table(both(p), decided(p)), Table(rounding(both(p)), decided(p)), Table(both(q), decided(q)),
        because="a decision is made at 0.8",
        catches=[Sealed("labels", floor=1.0), Sealed("abs", most=1e-4)],
        planted=of(moved),
        figures={
            "agreement": 197 / 200, "rows.differing": 3, "confusion.accepted→looked at": 3,
            "abs.max": pytest.approx(0.12, rel=1e-5),
        },
        # The larger one of two stays the larger one.
        misses=[Sealed("topk", floor=1.0, k=1)],
        hints=["one_class", "few_rows"],
    )


def placements(positives, negatives):
    """For each positive the share of negatives below it, half of the equal ones: their mean is the AUROC."""
    below = (negatives < positives[:, None]).mean(axis=1) + 0.5 * (negatives == positives[:, None]).mean(axis=1)
    return below[:, None]


@kind("facebookresearch/faiss#4216")
def auroc():
    """AUROC fell from .97 to .21. A score for each positive whose mean is the AUROC can be judged."""
    draw = np.random.default_rng(26)
    negatives, positives = draw.standard_normal(300), draw.standard_normal(300) + 2.66
    broken = draw.standard_normal(300) - 1.14
    area = lambda p: roc_auc_score([1] * 300 + [0] * 300, np.r_[p, negatives])
    return Kind(
        Table(placements(positives, negatives)),
        Table(placements(rounding(positives, 26, 1e-3), negatives)),
        Table(placements(broken, negatives)),
        because="our users do not notice two hundredths",
        catches=[Sealed("metric", margin=0.02, alpha=0.05)],
        figures={"mean.reference": area(positives), "mean.candidate": area(broken)},
    )


def gain(queries, documents):
    """nDCG of each query, whose one relevant document has its number."""
    similarity = queries @ documents.T
    rank = 1 + (similarity > np.diag(similarity)[:, None]).sum(axis=1)
    return (1 / np.log2(1 + rank))[:, None]


def retrieval():
    """Documents; queries with their prompt, and without: another part of space, and blurred."""
    draw = np.random.default_rng(27)
    unit = lambda x: x / np.linalg.norm(x, axis=1, keepdims=True)
    documents = unit(draw.standard_normal((200, 32)))
    queries = unit(documents + 0.35 * draw.standard_normal((200, 32)))
    bare = unit(queries + unit(draw.standard_normal((1, 32))) + 0.3 * draw.standard_normal((200, 32)))
    return documents, queries, bare


@kind("embeddings-benchmark/mteb#3188")
def no_prompt():
    """nDCG fell from .715 to .306: queries were embedded without their prompt."""
    documents, queries, bare = retrieval()
    r, c = gain(queries, documents), gain(bare, documents)
    # Queries of bfloat16, so that a few close ranks change.
    near = gain(rounding(queries, 27, 2**-8), documents)
    assert (near != r).any()
    assert 0.65 < r.mean() < 0.8 and 0.2 < c.mean() < 0.4
    return Kind(
        Table(r), Table(near), Table(c),
        because="five hundredths are the difference between two seeds",
        catches=[Sealed("metric", margin=0.05, alpha=0.05)],
        figures={"mean.reference": r.mean(), "mean.candidate": c.mean(), "rows": 200},
    )


@kind("embeddings-benchmark/mteb#3188, the queries' vectors")
def no_prompt_in_the_vectors():
    """What is seen of it in the vectors: all of them moved the same way."""
    _, queries, bare = retrieval()
    return Kind(
        Table(queries), Table(rounding(queries, 27)), Table(bare),
        because="the same weights on the same queries",
        catches=[Sealed("cosine", floor=0.999), Sealed("drift", shift=0.05, covariance=0.05, mmd2=0.01, bandwidth=1.4, rows=200)],
        planted=ids(200),
        figures={"mean.shift": np.linalg.norm(bare.mean(axis=0) - queries.mean(axis=0)) / np.sqrt(queries.var(axis=0, ddof=1).sum())},
        misses=[Sealed("norm", least=0.999, most=1.001, undefined=0)],
    )


# ---- Logs of training: a row a step. The interrupted run goes on after step 120.

STEPS, RESUMED = 200, 120


def steps(numbers):
    return of(numbers, "step")


def losses(seed=31):
    draw = np.random.default_rng(seed)
    return (1.8 + 6 * np.exp(-np.arange(STEPS) / 40) + 0.05 * draw.standard_normal(STEPS))[:, None]


def log(values, labels=None, of_steps=range(STEPS)):
    return Table(values, labels, steps(of_steps))


@kind("huggingface/transformers#28316")
def diverging():
    """A loss that falls to 1.8 in one attention implementation, and rises to 4.36 in another."""
    r = losses()
    c = rounding(r, 31)
    c[185:, 0] = np.linspace(2, 4.36, 15)
    return Kind(
        log(r), log(rounding(r, 31)), log(c),
        because="two runs of one seed differ by a hundred-thousandth",
        catches=[Sealed("rel", most=1e-3, undefined=0), Sealed("abs", most=1e-3)],
        planted=steps(range(185, 200)),
        figures={"rows.over": 15, "abs.max": np.abs(c - r).max()},
        # One value a row has no direction but its sign.
        misses=[Sealed("cosine", floor=0.9999), Sealed("metric", margin=0.25, alpha=0.05)],
    )


@kind("huggingface/transformers#17032")
def random_state():
    """A resumed run with other random numbers: each step's loss differs, and none of it is a trend."""
    r = losses()
    c = r.copy()
    c[RESUMED:] += 0.04 * np.random.default_rng(32).choice([-1, 1], (STEPS - RESUMED, 1))
    return Kind(
        log(r), log(rounding(r, 32)), log(c),
        because="the uninterrupted run, repeated, gives the same bits but for the last few",
        catches=[Sealed("abs", most=1e-5)],
        planted=steps(range(RESUMED, STEPS)),
        figures={"rows.over": STEPS - RESUMED},
        misses=[Sealed("metric", margin=0.02, alpha=0.05), Sealed("cosine", floor=0.9999)],
    )


@kind("huggingface/transformers#34053")
def scaler():
    """The scale of the losses begins anew, because the scaler's state was not saved. A log of loss and scale."""
    loss, scale = losses(), np.full((STEPS, 1), 2.0**14)
    anew = scale.copy()
    anew[RESUMED : RESUMED + 4, 0] = [2**16, 2**16, 2**15, 2**15]
    c = np.hstack([loss, anew])
    return Kind(
        log(np.hstack([loss, scale])), log(np.hstack([rounding(loss, 33), scale])), log(c),
        because="losses agree to six digits, and a scale is a power of two",
        catches=[Sealed("rel", most=1e-5, undefined=0), Sealed("allclose", atol=0.0, rtol=1e-5)],
        planted=steps(range(RESUMED, RESUMED + 4)),
        figures={"rows.over": 4, "rel.max": 3},
        # Beside the scale the loss is no direction.
        misses=[Sealed("cosine", floor=0.9999)],
        hints=["few_rows"],
    )


@kind("huggingface/accelerate#2016")
def order():
    """After resuming, the samples come in another order: the log names the sample of each step."""
    draw = np.random.default_rng(34)
    samples = [f"sample {i}" for i in draw.permutation(STEPS)]
    other = samples[:RESUMED] + samples[RESUMED + 1 :] + samples[RESUMED : RESUMED + 1]
    loss = losses()
    return Kind(
        log(loss, samples), log(rounding(loss, 34), samples), log(loss, other),
        because="the order belongs to the run",
        catches=[Sealed("labels", floor=1.0)],
        planted=steps(range(RESUMED, STEPS)),
        figures={"rows.differing": STEPS - RESUMED, "agreement": RESUMED / STEPS},
        misses=[Sealed("abs", most=1e-5)],
    )


@kind("huggingface/accelerate#1563")
def silent_skip():
    """Batches are skipped when resuming, and nobody is told."""
    r, kept = losses(), [i for i in range(STEPS) if not RESUMED <= i < RESUMED + 7]
    return Kind(
        log(r), log(rounding(r, 35)), log(r[kept], of_steps=kept),
        because="each step is run",
        catches=[Sealed("abs", most=1e-5), Sealed("metric", margin=1.0, alpha=0.05)],
        planted=steps(range(RESUMED, RESUMED + 7)), verdict="not_comparable", obstacle="missing_rows",
    )


@kind("meta-pytorch/data#1437")
def lost_epoch():
    """The loader forgot its epoch and began it again: steps that had run ran twice."""
    r, again = losses(), [*range(STEPS), *range(RESUMED, RESUMED + 10)]
    return Kind(
        log(r), log(rounding(r, 36)), log(r[again], of_steps=again),
        because="each step is run once",
        catches=[Sealed("abs", most=1e-5)],
        planted=steps(range(RESUMED, RESUMED + 10)), verdict="not_comparable", obstacle="duplicate_id",
    )


@kind("microsoft/DeepSpeed#3875")
def scheduler():
    """The learning rate warms up again after resuming."""
    rate = lambda step: 5e-4 * np.minimum(step / 20, 1) * np.cos(np.pi * step / 600)
    r = rate(np.arange(1, STEPS + 1.0))[:, None]
    c = r.copy()
    c[RESUMED:, 0] = rate(np.arange(1, STEPS - RESUMED + 1.0))
    return Kind(
        log(r), log(rounding(r, 37)), log(c),
        because="a learning rate is computed, and not measured",
        catches=[Sealed("rel", most=1e-5, undefined=0)],
        planted=steps(range(RESUMED, STEPS)),
        figures={"rows.over": STEPS - RESUMED, "rel.max": (np.abs(c - r) / r).max()},
        # A bound beyond every learning rate there is.
        misses=[Sealed("abs", most=1e-3), Sealed("cosine", floor=0.9999)],
    )
