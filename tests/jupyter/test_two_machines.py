"""Two machines, played by two homes and two folders: A declares and exports, B imports, rebuilds and compares."""
import json
import os
import shutil
import subprocess
import zipfile

import pytest

REFERENCE = """%%reference new words
goal = "values"

[output]
path = "reference.parquet"

[[data]]
path = "texts.tsv"
access = "ask the archive's keeper for a key; the key goes into the variable ARCHIVE_KEY"

[[documentation]]
title = "Building the embeddings"
version = "2.13"
"""


class Machine:
    def __init__(self, program, folder, name, data):
        self.program, self.folder = program, folder / name / "work"
        self.folder.mkdir(parents=True)
        self.dossier = f"{name}.fascicolo"
        for file in data:
            shutil.copy(file, self.folder)
        self.environment = {**os.environ, "HOME": str(folder / name), "FASCICOLO_CACHE": str(folder / "cache"),
                            "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", os.path.expanduser("~/.rustup")),
                            "CARGO_HOME": os.environ.get("CARGO_HOME", os.path.expanduser("~/.cargo"))}

    def run(self, *args, body=None):
        command = [self.program, "--dossier", self.dossier, *map(str, args), "--json"]
        ended = subprocess.run(command, cwd=self.folder, env=self.environment, input=body, capture_output=True, text=True)
        assert ended.stdout, ended.stderr
        return ended.returncode, json.loads(ended.stdout.splitlines()[-1])

    def does(self, *args, body=None):
        code, result = self.run(*args, body=body)
        assert code == 0, (args, result)
        return result

    def declare(self):
        self.does("reference", "new", "words", body=REFERENCE.split("\n", 1)[1])
        return self.does("declare", "cosine", "--set", "floor=0.99", "--because", "half a degree changes no neighbour")

    def compare(self, candidate, *more):
        return self.run("compare", next(self.folder.rglob("reference.parquet")).relative_to(self.folder), candidate,
                        "--criterion", "cosine", *more)

    def export(self):
        self.does("dossier", "export", "-o", f"{self.dossier.split('.')[0]}.zip")
        return self.folder / f"{self.dossier.split('.')[0]}.zip"


@pytest.fixture
def data(notebooks):
    return notebooks / "data" / "debian-sections"


@pytest.fixture
def a(program, tmp_path, data):
    return Machine(program, tmp_path, "a", [data / "reference.parquet", data / "texts.tsv", data / "candidates/avx-off.parquet"])


@pytest.fixture
def b(program, tmp_path, data):
    return Machine(program, tmp_path, "b", [data / "candidates/batch-1.parquet"])


def bring(a, b):
    shutil.copy(a.export(), b.folder)
    return b.does("dossier", "import", "a.zip")


def test_a_candidate_of_b_under_the_seal_of_a_is_not_post_hoc_and_the_case_verifies_as_a_whole(program, a, b, tmp_path):
    a.does("snapshot")
    a.declare()
    assert a.compare("avx-off.parquet")[1]["verdict"] == "pass"
    imported = bring(a, b)
    assert (imported["reference"]["name"], len(imported["seals"]), imported["verdicts"]) == ("words", 1, 1)
    assert (b.folder / "a/reference.parquet").read_bytes() == (a.folder / "reference.parquet").read_bytes()
    b.does("snapshot")
    code, verdict = b.compare("batch-1.parquet")
    assert (code, verdict["verdict"], verdict["post_hoc"]) == (0, "pass", False)

    # The whole case, on a third machine: it verifies, and its report speaks of both.
    case = b.export()
    found = subprocess.run([program, "verify", case, "--json"], capture_output=True, text=True, cwd=tmp_path)
    found = json.loads(found.stdout)
    assert found["holds"] and [p["integrity"] for p in found["parents"]] == [True], found
    with zipfile.ZipFile(case) as archive:
        archive.extractall(tmp_path / "c")
        names = archive.namelist()
    (bag,) = (tmp_path / "c").iterdir()
    report = (bag / "data/report.html").read_text()
    assert "What came from other machines" in report and "avx-off.parquet" in report and "batch-1.parquet" in report
    assert any(name.endswith("data/a/reference.parquet") for name in names)
    whole = b"".join(path.read_bytes() for path in bag.rglob("*") if path.is_file() and path.suffix != ".zip")
    assert str(tmp_path).encode() not in whole

    # One byte of A's log, and the case of B no longer verifies; neither does the copied log on its own.
    (log,) = (bag / "data/b.fascicolo/parents").glob("*/entries.jsonl")
    text = log.read_bytes()
    log.write_bytes(text.replace(b'"floor":0.99', b'"floor":0.09', 1))
    assert log.read_bytes() != text
    for folder in (bag / "data/b.fascicolo", log.parent):
        ended = subprocess.run([program, "dossier", "verify", folder, "--json"], capture_output=True, text=True)
        assert ended.returncode == 1, ended.stdout


def test_what_a_opened_before_it_sealed_stays_post_hoc_on_b(a, b, data):
    a.does("reference", "new", "words", body=REFERENCE.split("\n", 1)[1])
    shutil.copy(data / "candidates/batch-1.parquet", a.folder)
    a.run("compare", "reference.parquet", "batch-1.parquet", "--criterion", "cosine", "--explore", "--set", "floor=0.99")
    a.declare()
    bring(a, b)
    code, verdict = b.compare("batch-1.parquet")
    assert (code, verdict["post_hoc"]) == (3, True)


def test_a_candidate_that_b_opened_before_the_import_is_post_hoc(a, b):
    a.declare()
    shutil.copy(a.folder / "reference.parquet", b.folder)
    shutil.copy(a.folder / "texts.tsv", b.folder)
    b.does("reference", "new", "words", body=REFERENCE.split("\n", 1)[1])
    b.run("compare", "reference.parquet", "batch-1.parquet", "--criterion", "cosine", "--explore", "--set", "floor=0.99")
    bring(a, b)
    code, verdict = b.compare("batch-1.parquet")
    assert (code, verdict["post_hoc"]) == (3, True)
    assert "imported case" in json.dumps(verdict)


def test_why_tells_what_differs_between_a_verdict_of_a_and_one_of_b(a, b):
    a.environment["OMP_NUM_THREADS"], b.environment["OMP_NUM_THREADS"] = "1", "2"
    a.does("snapshot")
    a.declare()
    theirs = a.compare("avx-off.parquet")[1]["dossier"]["entry"]
    origin = bring(a, b)["origin"].removeprefix("fascicolo/")
    b.does("snapshot")
    own = b.compare("batch-1.parquet")[1]["dossier"]["entry"]
    _, told = b.run("why", f"{origin[:8]}/{theirs}", own)
    differs = {c["class"]: [d["what"] for d in c["differences"]] for c in told["classes"] if c["state"] == "differs"}
    assert list(differs) == ["conditions"] and "OMP_NUM_THREADS" in differs["conditions"], told


def test_importing_twice_changes_nothing_and_a_changed_case_is_refused_naming_the_file(a, b):
    a.declare()
    first = bring(a, b)
    again = b.does("dossier", "import", "a.zip")
    assert again["already"] and again["dossier"]["entry"] == first["dossier"]["entry"]
    with zipfile.ZipFile(b.folder / "a.zip") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = next(name for name in members if name.endswith("texts.tsv"))
    members[name] += b"one more\n"
    with zipfile.ZipFile(b.folder / "changed.zip", "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    code, refused = b.run("dossier", "import", "changed.zip")
    assert code == 1 and "texts.tsv" in refused["error"]["message"], refused


def test_a_file_in_the_way_is_never_written_over(a, b):
    a.declare()
    (b.folder / "a").mkdir()
    (b.folder / "a/texts.tsv").write_text("mine")
    shutil.copy(a.export(), b.folder)
    code, refused = b.run("dossier", "import", "a.zip")
    assert code == 4 and "texts.tsv" in refused["error"]["message"], refused
    assert (b.folder / "a/texts.tsv").read_text() == "mine"
    b.does("dossier", "import", "a.zip", "--into", "from-a")
    assert (b.folder / "from-a/reference.parquet").is_file()


def test_access_notes_and_consulted_documentation_are_in_the_export(a, tmp_path):
    a.declare()
    with zipfile.ZipFile(a.export()) as archive:
        text = {name.split("/data/")[-1]: archive.read(name) for name in archive.namelist()}
    for page in ("VERIFY.md", "report.html"):
        assert b"ask the archive" in text[page], page
    assert b"Building the embeddings" in text["report.html"] and b"version 2.13" in text["report.html"]


def test_an_import_tells_how_its_entries_are_named_and_show_takes_that_name(a, b):
    a.declare()
    theirs = a.compare("avx-off.parquet")[1]["dossier"]["entry"]
    result = bring(a, b)
    origin = result["origin"].removeprefix("fascicolo/")
    assert result["example"] == theirs and origin.startswith(result["prefix"]) and len(result["prefix"]) >= 4
    name = f"{result['prefix']}/{theirs}"
    shown = b.does("dossier", "show", "--entry", name)
    assert shown["kind"] == "verdict" and shown["name"] == f"entry {origin[:12]}/{theirs}"
    assert shown["leaf"] == a.does("dossier", "show", "--entry", theirs)["leaf"]
    # What the import entered here again is shown as it stands here, with the name of what it repeats.
    own = next(e for e in b.does("dossier", "log") if e["kind"] == "declare")["seq"]
    assert b.does("dossier", "show", "--entry", own)["repeats"].startswith(result["prefix"] + "/")
    b.does("snapshot")
    verdict = b.compare("batch-1.parquet")[1]["dossier"]["entry"]
    assert b.run("why", name, verdict)[0] in (0, 3)
    again = subprocess.run([b.program, "--dossier", b.dossier, "dossier", "import", "a.zip"],
                           cwd=b.folder, env=b.environment, capture_output=True, text=True).stdout
    assert f"`%dossier show --entry {name}`" in again and "`%snapshot` and `%probe`" in again, again


def test_an_older_export_and_a_wrong_field_are_refused_in_the_users_own_words(a, b):
    a.declare()
    older = shutil.copy(a.export(), b.folder / "older.zip")
    a.compare("avx-off.parquet")
    bring(a, b)
    code, refused = b.run("dossier", "import", older.name)
    error = refused["error"]
    assert code == 3 and error["message"].startswith("older.zip holds ") and error["where"] == "older.zip", error
    assert "stands here already" in error["next"] and "fresh export" not in json.dumps(error), error
    (b.folder / "no.zip").write_bytes((b.folder / "older.zip").read_bytes()[:500])
    _, refused = b.run("dossier", "import", "no.zip")
    assert "no.zip" in refused["error"]["message"] and "/tmp" not in refused["error"]["message"], refused
    b.does("snapshot")
    entry = next(e for e in b.does("dossier", "log") if e["kind"] == "snapshot")["seq"]
    _, refused = b.run("dossier", "redact", "--entry", entry, "--field", "outcome", "--because", "x")
    assert "it has result" in refused["error"]["message"], refused
    assert f"dossier show --entry {entry}" in refused["error"]["next"], refused
