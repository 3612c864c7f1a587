"""Installs the kernel of the program named by FASCICOLO into a folder of its own, and starts every test in an empty one."""
import os
import pathlib
import subprocess
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def program():
    return os.environ["FASCICOLO"]


@pytest.fixture(scope="session", autouse=True)
def kernelspec(program, tmp_path_factory):
    data = tmp_path_factory.mktemp("jupyter-data")
    os.environ["JUPYTER_DATA_DIR"] = str(data)
    os.environ["JUPYTER_RUNTIME_DIR"] = str(tmp_path_factory.mktemp("jupyter-runtime"))
    os.environ.pop("FASCICOLO_DOSSIER", None)
    subprocess.run([program, "install", "--user"], check=True, stdout=subprocess.DEVNULL)
    yield data
    subprocess.run([program, "uninstall", "--user"], check=True, stdout=subprocess.DEVNULL)
    assert not list(data.rglob("kernel.json")), "uninstall left a kernelspec"


@pytest.fixture
def notebooks(tmp_path):
    """A copy of the notebooks and their data, so that a run leaves nothing in the repository."""
    import shutil

    target = tmp_path / "notebooks"
    shutil.copytree(REPOSITORY / "notebooks", target, ignore=shutil.ignore_patterns("*.fascicolo", "*.executed.ipynb"))
    return target
