"""Installs the kernel of the program named by FASCICOLO into a folder of its own, and starts every test in an empty one."""
import os
import pathlib
import shutil
import subprocess
import zipfile

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


def copy_of_notebooks(target):
    shutil.copytree(REPOSITORY / "notebooks", target, ignore=shutil.ignore_patterns("*.fascicolo", "*.executed.ipynb"))
    return target


@pytest.fixture
def notebooks(tmp_path):
    """A copy of the notebooks and their data, so that a run leaves nothing in the repository."""
    return copy_of_notebooks(tmp_path / "notebooks")


def fascicolo(program, *args, **more):
    return subprocess.run([program, *map(str, args)], capture_output=True, text=True, **more)


def export(program, folder, dossier, name, *options):
    ended = fascicolo(program, "--dossier", dossier, "dossier", "export", "-o", name, *options, cwd=folder)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return folder / name


def unpack(path, into):
    with zipfile.ZipFile(path) as archive:
        archive.extractall(into)
    (top,) = into.iterdir()
    return top


@pytest.fixture(scope="session")
def executed(program, tmp_path_factory):
    """The quickstart, executed once for all tests, and exported: its folder and the archive. To be copied, not changed."""
    folder = copy_of_notebooks(tmp_path_factory.mktemp("executed") / "notebooks")
    ended = fascicolo(program, "run", folder / "quickstart.ipynb")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    archive = export(program, folder, folder / "quickstart.fascicolo", "case.zip")
    return folder, archive.rename(folder.parent / "case.zip")


@pytest.fixture
def case(executed, tmp_path):
    """A copy of the executed quickstart: its folder and its case file."""
    folder = tmp_path / "notebooks"
    shutil.copytree(executed[0], folder)
    return folder, folder / "quickstart.fascicolo"


@pytest.fixture
def archive(executed, tmp_path):
    """A copy of the exported quickstart."""
    return shutil.copy(executed[1], tmp_path / "case.zip")


@pytest.fixture
def bag(archive, tmp_path):
    """The exported quickstart, unpacked."""
    return unpack(archive, tmp_path / "out")
