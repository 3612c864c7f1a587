"""Training logs and resumed trainings: formats and figures against numpy, the exercise notebook, and all that must not pass."""
import json
import os
import shutil
import struct
import subprocess
import sys

import nbclient
import nbformat
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import copy_of_notebooks, export, fascicolo
from test_notebooks import verdicts

SCALARS = ["loss", "lr", "train/accuracy"]


def scalars(seed, noise):
    """Forty steps of a reference, and of a candidate that differs from step 26 on."""
    draw = np.random.default_rng(seed)
    r = np.stack([2 / np.arange(1, 41) + 0.01 * draw.standard_normal(40), 0.1 * np.cos(np.arange(40) / 25), draw.random(40)], axis=1)
    c = r.copy()
    c[25:] *= 1 + noise * draw.standard_normal((15, 3))
    return r, c


def csv(path, values, steps=None, names=SCALARS, separator=","):
    steps = range(1, len(values) + 1) if steps is None else steps
    rows = [[str(step), *map(repr, map(float, row))] for step, row in zip(steps, values)]
    path.write_text("\n".join(separator.join(row) for row in [["step", *names], *rows]) + "\n")
    return path


def jsonl(path, values):
    lines = []
    for step, (loss, lr, accuracy) in enumerate(values.tolist(), 1):
        # As training and evaluation log apart, and with a text and a list that are no scalars.
        lines.append(json.dumps({"step": step, "loss": loss, "lr": lr, "phase": "train", "shape": [1, 2]}))
        lines.append(json.dumps({"step": step, "train/accuracy": accuracy}))
    path.write_text("\n".join(lines))
    return path


def parquet(path, values):
    columns = {name: values[:, i] for i, name in enumerate(SCALARS)}
    pq.write_table(pa.table({"step": np.arange(1, len(values) + 1), "note": ["x"] * len(values), **columns}), path, row_group_size=7)
    return path


def events(path, values):
    """As TensorBoard writes them: float64 tensors behind even tags, so that nothing is rounded. Checksums are left 0."""

    def varint(n):
        out = b""
        while n > 127:
            out, n = out + bytes([n & 127 | 128]), n >> 7
        return out + bytes([n])

    def field(number, kind, payload):
        return varint(number << 3 | kind) + (varint(len(payload)) + payload if kind == 2 else payload)

    def record(payload):
        return struct.pack("<QI", len(payload), 0) + payload + b"\0\0\0\0"

    out = record(field(1, 1, struct.pack("<d", 0)) + field(3, 2, b"brain.Event:2"))
    for step, row in enumerate(values.tolist(), 1):
        for i, (tag, value) in enumerate(zip(SCALARS, row)):
            tensor = field(1, 0, varint(2)) + (field(4, 2, struct.pack("<d", value)) if i % 2 else field(6, 2, struct.pack("<d", value)))
            summary = field(1, 2, field(1, 2, tag.encode()) + field(8, 2, tensor))
            out += record(field(1, 1, struct.pack("<d", step)) + field(2, 0, varint(step)) + field(5, 2, summary))
    path.write_bytes(out)
    return path


FORMATS = {
    "r.csv": csv,
    "r.tsv": lambda path, values: csv(path, values, separator="\t"),
    "r.jsonl": jsonl,
    "r.parquet": parquet,
    "events.out.tfevents.1.host": events,
}


def explore(program, folder, r, c, *options):
    ended = fascicolo(program, "compare", r, c, "--criterion", "trajectory", "--explore", "--json", *options, cwd=folder)
    assert ended.returncode in (0, 3), ended.stdout + ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.parametrize("name", FORMATS)
def test_figures_of_a_trajectory_are_numpys_in_every_format_of_a_log(program, tmp_path, name):
    r, c = scalars(1, 1e-3)
    rtol, atol = 5e-4, 1e-5
    files = FORMATS[name](tmp_path / name, r), csv(tmp_path / "c.csv", c)
    # In TensorBoard's files nothing but scalars stands; the JSON lines hold a text, the Parquet file too.
    result = explore(program, tmp_path, *files, "--set", f"atol={atol}", "--set", f"rtol={rtol}")
    figures = {f["name"]: f for f in result["figures"]}
    over = np.abs(c - r) > atol + rtol * np.abs(r)
    assert figures["abs.max"]["value"] == np.abs(c - r).max()
    assert figures["abs.max"]["worst"][0]["id"] == str(np.abs(c - r).max(axis=1).argmax() + 1)
    assert figures["rel.max"]["value"] == (np.abs(c - r) / np.abs(r)).max()
    assert figures["steps.over"]["value"] == over.any(axis=1).sum() and figures["scalars.over"]["value"] == over.sum()
    assert figures["step.first_over"]["value"] == over.any(axis=1).argmax() + 1 >= 26
    assert result["structure"]["rows_reference"] == 40 and result["structure"]["dims"] == 3


def test_equal_logs_have_no_first_step_that_deviates_and_no_hint(program, tmp_path):
    r, _ = scalars(1, 0)
    result = explore(program, tmp_path, csv(tmp_path / "r.csv", r), jsonl(tmp_path / "c.jsonl", r))
    assert {f["name"]: f["value"] for f in result["figures"]} == {"abs.max": 0, "rel.max": 0, "steps.over": 0, "scalars.over": 0}
    assert result["hints"] == []


def damaged(kind, folder, r):
    path, steps = folder / "c.csv", list(range(1, 41))
    match kind:
        case "missing_rows":
            return csv(path, np.delete(r, 20, axis=0), [s for s in steps if s != 21])
        case "extra_rows":
            return csv(path, np.vstack([r, r[:1]]), [*steps, 41])
        case "duplicate_id":
            return csv(path, np.vstack([r, r[-1:] + 1]), [*steps, 40])
        case "non_finite":
            wrong = r.copy()
            wrong[11, 1] = np.nan
            wrong[12, 0] = np.inf
            return csv(path, wrong)
        case "null_vector":
            lines = csv(path, r).read_text().splitlines()
            lines[5] = ",".join([*lines[5].split(",")[:3], ""])
            path.write_text("\n".join(lines) + "\n")
            return path
        case "columns_differ":
            return csv(path, r, names=["loss", "rate", "train/accuracy"])
        case "no_rows":
            return csv(path, r[:0])
        case "null_id":
            return csv(path, r, ["", *steps[1:]])


@pytest.mark.parametrize("kind", ["missing_rows", "extra_rows", "duplicate_id", "non_finite", "null_vector", "columns_differ", "no_rows", "null_id"])
def test_a_log_that_cannot_be_compared_is_never_a_fail(program, tmp_path, kind):
    r, _ = scalars(2, 0)
    csv(tmp_path / "r.csv", r)
    form = 'goal = "trajectory"\n[output]\npath = "r.csv"\nvector = "loss, lr, train/accuracy"\n'
    assert fascicolo(program, "reference", "new", "t", cwd=tmp_path, input=form).returncode == 0
    assert fascicolo(program, "declare", "trajectory", "--set", "atol=0", "--set", "rtol=0", "--because", "a test", cwd=tmp_path).returncode == 0
    damaged(kind, tmp_path, r)
    ended = fascicolo(program, "compare", "r.csv", "c.csv", "--criterion", "trajectory", "--json", cwd=tmp_path)
    result = json.loads(ended.stdout)
    assert (ended.returncode, result["verdict"], result["figures"]) == (3, "not_comparable", []), ended.stdout
    assert kind in {o["kind"] for o in result["structure"]["obstacles"]}, result["structure"]["obstacles"]
    # Python writes NaN into JSON, and it is one there too.
    if kind == "non_finite":
        wrong = r.copy()
        wrong[3, 0] = np.nan
        again = explore(program, tmp_path, "r.csv", jsonl(tmp_path / "c.jsonl", wrong))
        assert again["structure"]["nonfinite_values"] == 1 and again["structure"]["obstacles"][0]["ids"] == ["4"]


def test_scalars_that_not_every_step_has_are_left_out_and_named(program, tmp_path):
    lines = ["step,loss,val_loss"] + [f"{s},{1 / s},{0.5 if s % 10 == 0 else ''}" for s in range(1, 31)]
    for name in ("r.csv", "c.csv"):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    result = explore(program, tmp_path, "r.csv", "c.csv")
    assert result["structure"]["dims"] == 1 and any("val_loss" in note for note in result["notes"]), result["notes"]


def test_a_log_that_is_none_says_what_and_where(program, tmp_path):
    (tmp_path / "r.csv").write_text("step,loss\n1,0.5\n2,0.4\n")
    for name, content, says in [
        ("short.csv", "step,loss\n1\n2,3\n", "line 2 has 1 cells, its head 2"),
        ("twice.csv", "step,loss,loss\n1,2,3\n", "two of its columns are named `loss`"),
        ("open.csv", 'step,"loss\n1,2\n', "does not close"),
        ("nostep.csv", "epoch,loss\n1,2\n", "no column `step`"),
        ("wrong.jsonl", '{"step": 1, "loss": 1}\n{"step": 2,\n', "line 2 is no JSON"),
        ("list.jsonl", "[1, 2]\n", "line 1 is no object"),
        ("text.csv", "step,loss\n1,high\n", "holds something that is no number"),
        ("cut.tfevents", "\x05\0\0\0\0\0\0\0", "record at byte 0 is cut"),
    ]:
        (tmp_path / name).write_text(content)
        ended = fascicolo(program, "compare", "r.csv", name, "--criterion", "trajectory", "--explore", "--json", cwd=tmp_path)
        error = json.loads(ended.stdout)["error"]
        assert (ended.returncode, error["kind"]) == (3, "log_unreadable") and says in error["message"], (name, error)
        assert error["next"]


def test_calibrate_tells_how_far_repeats_of_a_training_lie_apart(program, tmp_path):
    r, _ = scalars(3, 0)
    csv(tmp_path / "r.csv", r)
    repeats = {i: r + i * 1e-6 for i in (1, 2)}
    for i, values in repeats.items():
        csv(tmp_path / f"{i}.csv", values)
    form = 'goal = "trajectory"\n[output]\npath = "r.csv"\n'
    assert fascicolo(program, "reference", "new", "t", cwd=tmp_path, input=form).returncode == 0
    ended = fascicolo(program, "calibrate", "trajectory", "--runs", "1.csv", "2.csv", "--set", "rtol=0", "--json", cwd=tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    proposal = json.loads(ended.stdout)["proposal"]
    assert (proposal["parameter"], proposal["value"]) == ("atol", np.abs(repeats[2] - r).max())


# The exercise.

WORDS = ["pass", "fail", "fail", "fail", "not_comparable"]


@pytest.fixture(scope="module")
def exercise(program, tmp_path_factory):
    folder = copy_of_notebooks(tmp_path_factory.mktemp("exercise") / "notebooks")
    ended = fascicolo(program, "run", folder / "resume.ipynb", "--json")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return folder, json.loads(ended.stdout)


def test_the_exercise_catches_and_names_each_planted_mistake_and_passes_the_right_resume(program, exercise):
    folder, ran = exercise
    assert [v["verdict"] for v in ran["verdicts"]] == WORDS and all(v["met"] for v in ran["verdicts"])
    executed = nbformat.read(folder / "resume.executed.ipynb", as_version=4)
    nbformat.validate(executed)
    texts = [o.data["text/plain"] for cell in executed.cells for o in cell.get("outputs", []) if "data" in o and o.data["text/plain"].startswith(("PASS", "FAIL", "NOT COMPARABLE"))]
    right, rng, order, scheduler, ignored = texts
    assert "bit for bit" in right and "repeated every scalar to the bit" in right and "What the difference looks like" not in right
    assert "step 31 first" in rng and "`dropout` deviates from step 31 on" in rng and "seeded anew" in rng
    assert "not known whether restored: rng" in rng
    assert "`batch` deviates from step 31 on" in order and "the sampler may have started anew" in order
    assert "`lr` deviates from step 31 on" in scheduler and "the scheduler may have started anew" in scheduler
    for text, others in ((rng, ("`lr`", "`batch`")), (order, ("`lr`", "`dropout`")), (scheduler, ("`batch`", "`dropout`"))):
        assert not any(f"{other} deviates" in text for other in others), text
    assert "begins at step 1, as a training that begins anew does, not at step 31" in ignored
    for text in texts:
        assert "3 steps of the first part after step 30" in text and "SIGKILL" in text


def test_the_exercises_logs_say_what_the_verdicts_say(exercise):
    """The oracle: the logs themselves, read by Python."""
    logs = exercise[0] / "resume"
    read = lambda name: {line.split(",")[0]: line for line in (logs / name).read_text().splitlines()[1:]}
    whole = read("whole.csv")
    assert len(whole) == 60 and read("again.csv") == whole
    for name, same in (("right", 60), ("rng", 30), ("data-order", 30), ("scheduler", 30)):
        joined = read(f"{name}.joined.csv")
        number = lambda line: [float(cell) for cell in line.split(",")]
        assert list(joined) == list(whole)
        assert sum(number(joined[step]) == number(whole[step]) for step in whole) == same, name
        assert list(read(f"{name}-first.csv")) == [str(s) for s in range(1, 34)]
        assert list(read(f"{name}.csv")) == [str(s) for s in range(31, 61)]


def test_the_exercise_gives_the_same_under_nbclient_and_verifies_and_replays(program, exercise, tmp_path):
    folder, _ = exercise
    other = tmp_path / "other"
    other.mkdir()
    shutil.copytree(folder / "data", other / "data")
    theirs = nbformat.read(folder / "resume.ipynb", as_version=4)
    nbclient.NotebookClient(theirs, kernel_name="fascicolo", timeout=120, resources={"metadata": {"path": str(other)}}).execute()
    ours = nbformat.read(folder / "resume.executed.ipynb", as_version=4)
    assert [v.split()[0] for v in verdicts(theirs)] == ["PASS", "FAIL", "FAIL", "FAIL"]
    assert [without_places(v) for v in verdicts(ours)] == [without_places(v) for v in verdicts(theirs)]
    for dossier in (folder / "resume.fascicolo", other / "session.fascicolo"):
        assert fascicolo(program, "dossier", "verify", dossier).returncode == 0
    case = export(program, folder, folder / "resume.fascicolo", "case.zip")
    assert fascicolo(program, "verify", case).returncode == 0
    # A shim in front of the interpreter may not be read in a replay: the interpreter itself comes first on PATH.
    base = subprocess.run([sys.executable, "-c", "import sys; print(sys.base_prefix)"], capture_output=True, text=True).stdout.strip()
    environment = {**os.environ, "PATH": f"{base}/bin{os.pathsep}{os.environ['PATH']}"}
    again = fascicolo(program, "replay", case, "--into", tmp_path / "again", "--yes", env=environment)
    assert again.returncode == 0, again.stdout[-2000:] + again.stderr
    assert 'command = "python3 data/resume/train.py --log resume/again.csv"' in again.stdout, "what would run is listed"


def without_places(text):
    return "\n".join(line for line in text.splitlines() if "entry" not in line and "root" not in line)


# What must not pass.

TRAIN = """
import json, os, sys
log, steps, resume, save = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
step, x = json.load(open(resume)) if resume != "-" else (0, 1.0)
with open(log, "a" if "append" in sys.argv else "w") as out:
    if out.tell() == 0:
        out.write("step,loss,lr\\n")
    while step < steps:
        step, x = step + 1, x * 0.9 + 0.01
        noise = float(os.environ.get("NOISE_OF_TEST", 0)) * os.getpid()
        out.write(f"{step},{x + noise!r},0.1\\n")
if save != "-":
    json.dump([step, x], open(save, "w"))
"""

FORM = """
reference = "whole.csv"
at = 10
checkpoint = "c.json"
[first]
command = "PYTHON train.py first.csv 10 - c.json"
log = "first.csv"
[resumed]
command = "PYTHON train.py rest.csv 20 c.json -"
log = "rest.csv"
"""


@pytest.fixture
def desk(program, tmp_path):
    """A small training, its uninterrupted log declared as the reference; not sealed yet."""
    (tmp_path / "train.py").write_text(TRAIN)
    ran = fascicolo(program, "run", "--writes", "whole.csv", "--", sys.executable, "train.py", "whole.csv", "20", "-", "-", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    form = 'goal = "trajectory"\n[output]\npath = "whole.csv"\n'
    assert fascicolo(program, "reference", "new", "t", cwd=tmp_path, input=form).returncode == 0
    return tmp_path


def declare(program, desk, **parameters):
    given = {"atol": 0, "rtol": 0, **parameters}
    options = [o for name, value in given.items() for o in ("--set", f"{name}={value}")]
    ended = fascicolo(program, "declare", "trajectory", *options, "--because", "a test", cwd=desk)
    assert ended.returncode == 0, ended.stderr


def resume(program, desk, form=FORM, *options, **more):
    ended = fascicolo(program, "resume", "--json", *options, cwd=desk, input=form.replace("PYTHON", sys.executable), **more)
    return ended.returncode, json.loads(ended.stdout)


def test_a_right_resume_passes_and_what_was_not_said_of_the_state_is_named(program, desk):
    declare(program, desk)
    code, result = resume(program, desk, FORM + "[state]\nmodel = 'restored'\nscaler = 'not_used'\nema = 'not_restored'\n")
    assert (code, result["verdict"], result["post_hoc"]) == (0, "pass", False)
    assert result["resume"]["state"]["optimizer"] == "unknown"
    assert any(note == "not known whether restored: optimizer, scheduler, step, rng, sampler" for note in result["notes"]), result["notes"]
    assert any("not restored, as the author states: ema" in note for note in result["notes"])
    assert (result["resume"]["first"]["last_step"], result["resume"]["resumed"]["first_step"]) == (10, 11)
    assert result["resume"]["checkpoint"]["changed_afterwards"] is False


def test_nothing_runs_where_the_comparison_would_be_refused(program, desk):
    code, error = resume(program, desk)
    assert (code, error["error"]["kind"]) == (4, "not_declared") and not (desk / "first.csv").exists()
    declare(program, desk)
    with (desk / "whole.csv").open("a") as log:
        log.write("21,0,0\n")
    code, error = resume(program, desk)
    assert (code, error["error"]["kind"]) == (4, "not_the_declared_reference") and not (desk / "first.csv").exists()
    for wrong in ("at = 1", FORM + "[state]\nmodel = 'maybe'\n", FORM.replace("at = 10", "at = nan")):
        code, error = resume(program, desk, wrong)
        assert (code, error["error"]["kind"]) == (2, "resume_form")


def test_a_bound_chosen_after_looking_is_post_hoc(program, desk):
    code, result = resume(program, desk, FORM, "--explore")
    assert (code, result["verdict"]) == (0, "none") and result["figures"]
    declare(program, desk)
    code, result = resume(program, desk)
    # The joined log holds the reference's own rows, which tell nothing; a candidate of its own does.
    assert code == 0
    wrong = FORM.replace("c.json -", "d.json -")
    (desk / "d.json").write_text("[10, 0.5]")
    assert resume(program, desk, wrong, "--explore")[0] == 0
    declare(program, desk, atol=10)
    code, result = resume(program, desk, wrong)
    assert (code, result["verdict"], result["post_hoc"]) == (3, "pass", True)
    # Another run of it has another content, and yet how it deviates was seen.
    (desk / "d.json").write_text("[10, 0.25]")
    declare(program, desk, atol=20)
    code, result = resume(program, desk, wrong)
    assert (code, result["verdict"], result["post_hoc"]) == (3, "pass", True)
    assert "resumed from the same uninterrupted one" in result["post_hoc_because"], result["post_hoc_because"]


def test_a_column_that_holds_texts_is_named_and_nothing_is_called_equal_bit_for_bit_with_it(program, tmp_path):
    for name, loss in (("r.csv", "2.31"), ("c.csv", "nan")):
        (tmp_path / name).write_text("step,lr,loss\n" + "".join(f"{s},0.1,tensor({loss})\n" for s in range(1, 9)))
    result = explore(program, tmp_path, "r.csv", "c.csv")
    notes = " ".join(result["notes"])
    assert "has a number for them: loss" in notes and "every scalar that was compared" in notes, notes


def test_a_log_with_a_column_anew_in_every_line_is_refused_before_memory_is_full(program, tmp_path):
    (tmp_path / "r.jsonl").write_text("".join(json.dumps({"step": i, f"k{i}": 1}) + "\n" for i in range(9000)))
    ended = fascicolo(program, "compare", "r.jsonl", "r.jsonl", "--criterion", "trajectory", "--explore", "--json", cwd=tmp_path)
    assert ended.returncode == 3 and "numbers and gaps" in ended.stdout, ended.stdout


def test_a_checkpoint_that_was_not_written_is_noticed_even_where_an_old_one_lies(program, desk):
    declare(program, desk)
    form = FORM.replace("10 - c.json", "10 - -")
    for prepare in (lambda: None, lambda: (desk / "c.json").write_text("[10, 0.5]")):
        prepare()
        code, result = resume(program, desk, form)
        kinds = [o["kind"] for o in result["structure"]["obstacles"]]
        assert (code, result["verdict"], kinds[0]) == (3, "not_comparable", "checkpoint_not_written")
        assert result["resume"]["resumed"] is None and not (desk / "rest.csv").exists()


@pytest.mark.parametrize("state, begins", [("[5, 0.5]", 6), ("[12, 0.5]", 13), ("[0, 1.0]", 1)])
def test_a_resumed_part_that_begins_elsewhere_than_where_the_checkpoint_ended_is_not_comparable(program, desk, state, begins):
    declare(program, desk)
    (desk / "other.json").write_text(state)
    code, result = resume(program, desk, FORM.replace("20 c.json", "20 other.json"))
    first = result["structure"]["obstacles"][0]
    assert (code, result["verdict"], first["kind"]) == (3, "not_comparable", "not_resumed")
    assert f"begins at step {begins}" in first["message"] and "not at step 11" in first["message"]


def test_a_resumed_command_that_fails_or_logs_nothing_ends_the_cell_and_its_run_is_kept(program, desk):
    declare(program, desk)
    for change, kind in ((("20 c.json -", "20 nothing.json -"), "command_failed"), (("rest.csv 20", "elsewhere.csv 20"), "output_not_written")):
        code, error = resume(program, desk, FORM.replace(*change))
        assert (code, error["error"]["kind"]) == (1, kind), error
        assert "[resumed]" in error["error"]["message"]
    entries = [json.loads(line) for line in (desk / "session.fascicolo/entries.jsonl").read_text().splitlines()]
    parts = [e["body"].get("part") for e in entries if e["kind"] == "fact"]
    assert parts == [None, "first", "resumed", "first", "resumed"]


def test_scalars_missing_in_one_part_and_others_in_their_place_are_not_comparable(program, desk):
    declare(program, desk)
    other = (desk / "train.py").read_text().replace("step,loss,lr", "step,loss,rate")
    (desk / "other.py").write_text(other)
    code, result = resume(program, desk, FORM.replace("train.py rest", "other.py rest"))
    first = result["structure"]["obstacles"][0]
    assert (code, result["verdict"], first["kind"]) == (3, "not_comparable", "columns_differ")
    assert "`lr`" in first["message"] and "`rate`" in first["message"] and "[resumed]" in first["message"]


def test_a_script_that_appends_to_its_log_is_joined_as_one_that_writes_two(program, desk):
    declare(program, desk)
    form = FORM.replace("rest.csv 20 c.json -", "first.csv 20 c.json - append").replace('log = "rest.csv"', 'log = "first.csv"')
    code, result = resume(program, desk, form)
    assert (code, result["verdict"]) == (0, "pass"), result
    assert result["resume"]["resumed"]["first_step"] == 11


def test_a_resumed_part_that_saves_over_its_checkpoint_is_told_and_leaves_no_stale_data_behind(program, desk):
    declare(program, desk)
    code, result = resume(program, desk, FORM.replace("20 c.json -", "20 c.json c.json"))
    assert (code, result["verdict"]) == (0, "pass") and result["resume"]["checkpoint"]["changed_afterwards"] is True
    status = fascicolo(program, "dossier", "status", cwd=desk).stdout
    assert "The data are those that were read: holds" in status, status


def test_a_training_that_does_not_repeat_itself_is_told_beside_the_verdict(program, desk):
    declare(program, desk)
    form = FORM + f'[repeat]\ncommand = "PYTHON train.py again.csv 20 - -"\nlog = "again.csv"\n'
    code, result = resume(program, desk, form, env={**os.environ, "NOISE_OF_TEST": "1e-3"})
    assert (code, result["verdict"]) == (1, "fail")
    assert result["resume"]["repeat"]["verdict"] == "fail" and result["resume"]["repeat"]["equal"] is False
    assert any("does not repeat under this criterion" in note for note in result["notes"])
    assert [h["cause"] for h in result["hints"]] == ["before_interruption"]
    code, result = resume(program, desk, form)
    assert code == 0 and result["resume"]["repeat"]["equal"] is True and result["resume"]["repeat"]["verdict"] == "pass"


def test_the_picture_of_each_forgotten_part_is_hinted_at_without_a_scalar_that_names_it(program, desk):
    declare(program, desk)
    (desk / "other.json").write_text("[10, 0.5]")
    code, result = resume(program, desk, FORM.replace("20 c.json", "20 other.json"))
    assert (code, [h["cause"] for h in result["hints"]]) == (1, ["data_or_rng"])
    (desk / "other.json").write_text("[10, 1.0]")
    code, result = resume(program, desk, FORM.replace("20 c.json", "20 other.json"))
    assert (code, [h["cause"] for h in result["hints"]]) == (1, ["model"]), "as the first steps were"
