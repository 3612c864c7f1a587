"""The criteria of notebooks/criteria, which were written from the help text alone, give numpy's figures and verdicts."""
import pathlib
import subprocess
import sys

import pytest

from conftest import REPOSITORY

EXAMPLES = sorted(path.stem for path in (REPOSITORY / "notebooks" / "criteria").glob("*.rs"))


@pytest.fixture(scope="module")
def judged(program, tmp_path_factory):
    script = pathlib.Path(__file__).with_name("example_criteria.py")
    ended = subprocess.run([sys.executable, script, program, tmp_path_factory.mktemp("examples")], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-4000:]
    return [line.split()[1:3] for line in ended.stdout.splitlines() if line.startswith("ok ")]


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_passes_at_its_bound_and_fails_beyond_with_numpys_figures(judged, name):
    assert {"pass", "fail"} <= {verdict for example, verdict in judged if example == name}
