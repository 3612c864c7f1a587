"""Whether a notebook still stands for what ran: in a status, in the report that travels, and against the log of a case."""
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import zipfile

import jupyter_client
import nbclient
import nbformat
import pytest

NOTEBOOKS = pathlib.Path(__file__).resolve().parents[2] / "notebooks"
REFERENCE = "data/debian-sections/reference.parquet"


def fascicolo(program, *args, **more):
    return subprocess.run([program, *map(str, args)], capture_output=True, text=True, **more)


@pytest.fixture(scope="module")
def ran(program, tmp_path_factory):
    """The quickstart, run and exported once."""
    folder = tmp_path_factory.mktemp("validity") / "notebooks"
    shutil.copytree(NOTEBOOKS, folder, ignore=shutil.ignore_patterns("*.fascicolo", "*.executed.ipynb"))
    ended = fascicolo(program, "run", folder / "quickstart.ipynb")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    export(program, folder)
    return folder


@pytest.fixture
def work(ran, tmp_path):
    """A copy of it to spoil."""
    folder = tmp_path / "work"
    shutil.copytree(ran, folder)
    return folder


def export(program, folder, *options):
    options = ("--dossier", "quickstart.fascicolo", "dossier", "export", "-o", "case.zip", *options)
    ended = fascicolo(program, *options, cwd=folder)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def status(program, folder, dossier="quickstart.fascicolo"):
    """And its exit status says the same as the badge."""
    ended = fascicolo(program, "dossier", "status", dossier, "--json", cwd=folder)
    validity = json.loads(ended.stdout)["validity"]
    exits = {"valid": 0, "stale": 1, "not_all_could_be_told": 3}
    assert ended.returncode == exits[validity["badge"]], ended.stdout + ended.stderr
    return validity


def answers(validity):
    return {a["question"]: (a["state"], a["reason"]) for a in validity["answers"]}


def rewritten(path, change):
    notebook = nbformat.read(path, as_version=4)
    change(notebook)
    nbformat.write(notebook, path)


def code(notebook, cell_id):
    return next(cell for cell in notebook.cells if cell.id == cell_id)


def test_a_quickstart_that_ran_is_valid_in_the_status_and_for_people(program, work):
    validity = status(program, work)
    assert validity["says"] == "valid", json.dumps(validity, indent=1)
    assert {state for state, _ in answers(validity).values()} == {"holds"}
    assert set(answers(validity)) == {"order", "source", "outputs", "data", "environment"}
    shown = fascicolo(program, "dossier", "status", "quickstart.fascicolo", cwd=work).stdout
    assert "valid: it stands for what ran" in shown and "free text" in shown


def test_an_edited_cell_is_stale_and_named(program, work):
    def edit(notebook):
        code(notebook, "gap").source += "\nprintln!(\"more\");"

    rewritten(work / "quickstart.ipynb", edit)
    validity = status(program, work)
    assert validity["badge"] == "stale" and "code cell 3 (let gap" in validity["says"], validity
    assert answers(validity)["source"][0] == "stale"
    # Free text is bound by nothing.
    shutil.copy(NOTEBOOKS / "quickstart.ipynb", work / "quickstart.ipynb")
    for name in ("quickstart.ipynb", "quickstart.executed.ipynb"):
        rewritten(work / name, lambda notebook: notebook.cells[0].update(source="Other words."))
    assert status(program, work)["badge"] == "valid"


def test_an_edited_executed_copy_is_named_with_its_cell_where_the_notebook_is_taken_instead(program, work):
    def edit(notebook):
        code(notebook, "fails").source += "\n// looks fine"

    rewritten(work / "quickstart.executed.ipynb", edit)
    over = status(program, work)["notebook"]
    assert (over["name"], over["passed_over"]["name"]) == ("quickstart.ipynb", "quickstart.executed.ipynb")
    assert "code cell 7 (%compare" in over["passed_over"]["because"], over
    shown = fascicolo(program, "dossier", "status", "quickstart.fascicolo", cwd=work)
    assert shown.returncode == 3 and "quickstart.executed.ipynb was passed over" in shown.stdout, shown.stdout
    shown = export(program, work)
    assert "quickstart.executed.ipynb was passed over: it is no copy" in shown and "code cell 7" in shown, shown
    # A text cell, a missing cell and a broken copy are named, too.
    for change, named in [
        (lambda notebook: notebook.cells[0].update(source="# Other"), "text cell 1 (# Other)"),
        (lambda notebook: notebook.cells.pop(), "is missing there"),
    ]:
        shutil.copy(work / "quickstart.ipynb", work / "quickstart.executed.ipynb")
        rewritten(work / "quickstart.executed.ipynb", change)
        assert named in status(program, work)["notebook"]["passed_over"]["because"]
    (work / "quickstart.executed.ipynb").write_text("{")
    assert "it is no notebook" in status(program, work)["notebook"]["passed_over"]["because"]


def test_a_redacted_verdict_a_verdict_of_the_reference_with_itself_and_a_typing_error_are_what_they_are_everywhere(program, work):
    def run(*args):
        return fascicolo(program, "--dossier", "quickstart.fascicolo", *args, cwd=work)

    assert run("compare", REFERENCE, REFERENCE, "--criterion", "same-neighbours").returncode == 0
    assert run("compare", REFERENCE, "data/no-such.parquet", "--criterion", "same-neighbours").returncode != 0
    (work / "broken.parquet").write_text("no table")
    assert run("compare", REFERENCE, "broken.parquet", "--criterion", "same-neighbours").returncode == 3
    assert run("declare", "no-such-criterion", "--because", "x").returncode != 0
    log = json.loads(run("dossier", "log", "--json").stdout)
    verdict = next(e for e in log if e["kind"] == "verdict" and "batch-1" in e["summary"])["seq"]
    assert run("dossier", "redact", "--entry", verdict, "--field", "result", "--because", "a test").returncode == 0
    by = json.loads(run("dossier", "log", "--json").stdout)
    by = next(e["seq"] for e in by if e["kind"] == "redact")

    def lines(text):
        return ([l for l in text.splitlines() if "batch-1" in l and "pass" in l and "compare" not in l],
                [l for l in text.splitlines() if "with itself" in l])

    status_text, log_text = run("dossier", "status").stdout, run("dossier", "log").stdout
    for text in (status_text, log_text):
        passes, itself = lines(text)
        assert not passes and itself and not any("✓" in line for line in itself), text
        assert f"redacted by entry {by}" in text, text
    other = next(e["seq"] for e in log if e["kind"] == "verdict" and "avx-off" in e["summary"])
    why = run("why", verdict, other).stdout
    assert f"the verdict of entry {verdict} was redacted by entry {by}" in why and "both verdicts" not in why, why
    shown = export(program, work)
    data = unpack(work / "case.zip", work / "out") / "data"
    page = (data / "report.html").read_text()
    assert f"the verdict of entry {verdict} was redacted by entry {by}" in page
    assert "verdict not recorded" not in page and "no seal in time on record" not in page
    assert "; 1 attempt ended in an error." in page.split("<nav")[0], "one of the three had begun to compare"
    assert page.count("It compared nothing.") == 2
    assert "no-such-criterion" in page and "1 verdict is of the reference with itself" in page
    assert "✓" not in re.search(r"<li[^>]*>(?:(?!</li>).)*reference\.parquet: (?:(?!</li>).)*</li>", page, re.S)[0]
    crate = (data / "ro-crate-metadata.json").read_text()
    assert f"redacted by entry {by}" in crate and "pass of the reference with itself" in crate
    assert fascicolo(program, "verify", work / "case.zip").returncode == 0, shown


def test_a_changed_and_a_missing_data_file_are_stale_and_named(program, work):
    candidate = work / "data/debian-sections/candidates/bf16.parquet"
    candidate.write_bytes(candidate.read_bytes() + b"x")
    (work / "data/debian-sections/candidates/batch-1.parquet").unlink()
    state, reason = answers(status(program, work))["data"]
    assert state == "stale", reason
    details = next(a["details"] for a in status(program, work)["answers"] if a["question"] == "data")
    assert any("bf16.parquet changed" in d for d in details) and any("batch-1.parquet is gone" in d for d in details)


def test_cleared_outputs_are_an_open_question_and_no_tampering(program, work):
    (work / "quickstart.executed.ipynb").unlink()
    validity = status(program, work)
    assert validity["badge"] == "not_all_could_be_told", validity
    assert answers(validity)["outputs"][0] == "cannot_tell" and "cleared" in answers(validity)["outputs"][1]
    export(program, work)
    verified = fascicolo(program, "verify", work / "case.zip", "--json")
    assert verified.returncode == 0, verified.stdout
    assert any("outputs were cleared" in note for note in json.loads(verified.stdout)["notes"]), verified.stdout


def test_an_interpreter_that_is_not_the_recorded_one_is_an_open_question(program, work, tmp_path):
    ended = fascicolo(
        program, "dossier", "status", "quickstart.fascicolo", "--json", cwd=work, env={"PATH": str(tmp_path), "HOME": str(tmp_path)}
    )
    assert ended.returncode == 3, ended.stderr
    state, reason = answers(json.loads(ended.stdout)["validity"])["environment"]
    assert state == "cannot_tell" and "not the interpreter found here" in reason, reason


def executed(folder, cells, name="session", order=None):
    """Runs cells in one kernel, as a front end without cell ids does, and saves the notebook beside the case file."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    client = nbclient.NotebookClient(notebook, kernel_name="fascicolo", timeout=120, resources={"metadata": {"path": str(folder)}})
    with client.setup_kernel():
        for index in order or range(len(cells)):
            client.execute_cell(notebook.cells[index], index)
    nbformat.write(notebook, folder / f"{name}.ipynb")
    return notebook


CELLS = ["%snapshot", "let one = 1;\nprintln!(\"{one}\");\neprintln!(\"two\");", "one + 1"]


def test_jupyters_outputs_are_the_recorded_ones_and_an_order_of_ones_own_is_stale(program, tmp_path):
    notebook = executed(tmp_path, CELLS)
    assert any(o.output_type == "execute_result" for c in notebook.cells for o in c.outputs)
    validity = status(program, tmp_path, "session.fascicolo")
    assert validity["says"] == "valid", json.dumps(validity, indent=1)

    executed(tmp_path, [*CELLS, "println!(\"last\");"], order=[0, 1, 3, 2])
    validity = status(program, tmp_path, "session.fascicolo")
    state, reason = answers(validity)["order"]
    assert state == "stale" and "code cell 4" in reason and "before code cell 3" in reason, validity


def test_a_second_session_that_ran_one_cell_is_stale(program, tmp_path):
    notebook = executed(tmp_path, CELLS)
    client = nbclient.NotebookClient(notebook, kernel_name="fascicolo", timeout=120, resources={"metadata": {"path": str(tmp_path)}})
    with client.setup_kernel():
        client.execute_cell(notebook.cells[1], 1)
    nbformat.write(notebook, tmp_path / "session.ipynb")
    validity = status(program, tmp_path, "session.fascicolo")
    state, reason = answers(validity)["order"]
    assert state == "stale" and "code cell 1 (%snapshot)" in reason and "did not run in the last session" in reason, validity


def test_a_status_and_an_export_in_the_notebook_itself_do_not_spoil_the_badge(program, tmp_path):
    """With the ids that JupyterLab gives: the cell that asks has begun and not ended, and is saved without outputs."""
    cells = [*CELLS, "%dossier status", "// hand it on\n%dossier export -o case.zip"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    manager, client = jupyter_client.manager.start_new_kernel(kernel_name="fascicolo", startup_timeout=60, cwd=str(tmp_path))
    shown = []
    try:
        for n, cell in enumerate(notebook.cells, 1):
            nbformat.write(notebook, tmp_path / "session.ipynb")
            content = {"code": cell.source, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False}
            message = client.session.msg("execute_request", {**content, "stop_on_error": True}, metadata={"cellId": cell.id})
            client.shell_channel.send(message)
            outputs = []
            while True:
                said = client.get_iopub_msg(timeout=60)
                if said["parent_header"].get("msg_id") != message["header"]["msg_id"]:
                    continue
                kind, about = said["msg_type"], said["content"]
                if kind == "status" and about["execution_state"] == "idle":
                    break
                if kind in ("stream", "display_data", "execute_result", "error"):
                    outputs.append(nbformat.v4.output_from_msg(said))
            cell.outputs, cell.execution_count = outputs, n
            shown.append("".join(o.get("data", {}).get("text/plain", "") for o in outputs))
    finally:
        client.stop_channels()
        manager.shutdown_kernel()
    # The export cell had not run when the status was asked for.
    assert "STALE" in shown[3] and "code cell 5" in shown[3], shown[3]
    assert "session.ipynb, valid" in shown[4], shown[4]
    verified = fascicolo(program, "verify", tmp_path / "case.zip", "--json")
    assert verified.returncode == 0, verified.stdout
    nbformat.write(notebook, tmp_path / "session.ipynb")
    assert status(program, tmp_path, "session.fascicolo")["says"] == "valid"


def unpack(path, into):
    with zipfile.ZipFile(path) as archive:
        archive.extractall(into)
    (top,) = into.iterdir()
    return top


def repack(folder, archive):
    """The bag made anew around changed files, as somebody who changed them would: its lists then agree with its files."""
    def sums(paths):
        lines = (f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.relative_to(folder).as_posix()}\n" for p in paths)
        return "".join(lines)

    payload = sorted(p for p in (folder / "data").rglob("*") if p.is_file())
    (folder / "manifest-sha256.txt").write_text(sums(payload))
    oxum = f"Payload-Oxum: {sum(p.stat().st_size for p in payload)}.{len(payload)}"
    info = folder / "bag-info.txt"
    info.write_text(re.sub(r"Payload-Oxum: .*", oxum, info.read_text()))
    tags = sorted(p for p in folder.iterdir() if p.is_file() and p.name != "tagmanifest-sha256.txt")
    (folder / "tagmanifest-sha256.txt").write_text(sums(tags))
    with zipfile.ZipFile(archive, "w") as out:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            out.write(path, f"{folder.name}/{path.relative_to(folder).as_posix()}")
    return archive


def spoiled(program, ran, tmp_path, change):
    """The case after `change(data folder)`, verified: exit status and result."""
    bag = unpack(ran / "case.zip", tmp_path / "out")
    change(bag / "data")
    verified = fascicolo(program, "verify", repack(bag, tmp_path / "again.zip"), "--json")
    return verified.returncode, json.loads(verified.stdout)


def test_an_untouched_case_verifies_and_its_report_carries_the_badge(program, ran, tmp_path):
    code, result = spoiled(program, ran, tmp_path, lambda data: None)
    assert code == 0 and result["faults"] == [], result
    assert any("8 of 8 code cells are bound" in note for note in result["notes"]), result["notes"]
    texts = [c.source.strip().splitlines()[0] for c in nbformat.read(ran / "quickstart.ipynb", as_version=4).cells if c.cell_type == "markdown"]
    assert len(result["text_cells"]) == len(texts) and all(t[:60] in name for t, name in zip(texts, result["text_cells"]))
    shown = fascicolo(program, "verify", tmp_path / "again.zip").stdout.splitlines()
    assert shown[0].startswith("INTEGRITY HOLDS") and "free text, which no run vouches for" in shown[1], shown
    page = (tmp_path / "out/quickstart/data/report.html").read_text()
    section = page.split("<section id=\"validity\">")[1].split("</section>")[0]
    assert "Does this notebook still stand for what ran?" in section and ">VALID<" in section
    assert page.index("id=\"validity\"") < page.index("id=\"reference\"")


def edit_cell(notebook):
    cell = code(notebook, "declare")
    cell.source = cell.source.replace("gap=4.87e-4", "gap=9.87e-4")


def edit_verdict(notebook):
    data = code(notebook, "fails").outputs[0].data
    data["text/plain"] = data["text/plain"].replace("FAIL", "PASS")


def edit_html(notebook):
    data = code(notebook, "holds").outputs[0].data
    data["text/html"] = re.sub(r"\d", "7", data["text/html"], count=1)


def drop_output(notebook):
    code(notebook, "fails").outputs.pop()


def invent_cell(notebook):
    output = nbformat.v4.new_output("stream", name="stdout", text="PASS")
    notebook.cells.append(nbformat.v4.new_code_cell("%compare a b", outputs=[output], execution_count=9))


@pytest.mark.parametrize("change, named", [
    (edit_cell, "code cell 5"), (edit_verdict, "code cell 7"), (edit_html, "code cell 6"), (drop_output, "code cell 7"),
    (invent_cell, "code cell 9"),
])
def test_a_changed_cell_or_output_of_a_case_is_a_fault_that_names_the_cell(program, ran, tmp_path, change, named):
    code, result = spoiled(program, ran, tmp_path, lambda data: rewritten(data / "quickstart.ipynb", change))
    assert code == 1, result
    assert any(f["file"] == "quickstart.ipynb" and named in f["what"] for f in result["faults"]), result["faults"]


@pytest.mark.parametrize("file, old, new", [
    ("VERIFY.md", r"Its (\d+) entries", "Its 7 entries"),
    ("ro-crate-metadata.json", r": pass\"", ": fail\""),
    ("report.html", r"FAIL", "PASS"),
])
def test_a_derived_file_with_one_word_changed_is_a_fault(program, ran, tmp_path, file, old, new):
    def change(data):
        text = (data / file).read_text()
        changed = re.sub(old, new, text, count=1)
        assert changed != text
        (data / file).write_text(changed)

    code, result = spoiled(program, ran, tmp_path, change)
    assert code == 1, result
    assert [f["file"] for f in result["faults"]] == [file], result["faults"]
    assert "from line" in result["faults"][0]["what"]


def test_a_text_cell_changed_after_the_export_is_a_fault_that_names_it_and_a_front_ends_own_metadata_is_none(program, ran, tmp_path):
    def metadata(notebook):
        notebook.metadata["colour"] = "blue"
        for cell in notebook.cells:
            cell.metadata["scrolled"] = True

    code, result = spoiled(program, ran, tmp_path, lambda data: rewritten(data / "quickstart.ipynb", metadata))
    assert code == 0 and result["texts_bound"], result["faults"]
    shown = fascicolo(program, "verify", tmp_path / "again.zip").stdout
    assert f"the log binds it as exported, by entry {result['texts_bound']}" in shown.splitlines()[1], shown
    other = nbformat.v4.new_markdown_cell("All candidates pass.")
    for n, (change, named) in enumerate([
        (lambda notebook: notebook.cells[0].update(source="Other words."), "text cell 1 (Other words.): it is not as it was exported"),
        (lambda notebook: notebook.cells.append(other), "text cell 2 (All candidates pass.)"),
        (lambda notebook: notebook.cells.append(notebook.cells.pop(0)), "text cell 1 ("),
        (lambda notebook: notebook.cells.pop(0), "it has 0 text cells where 1 were exported"),
    ]):
        folder = tmp_path / str(n)
        folder.mkdir()
        code, result = spoiled(program, ran, folder, lambda data: rewritten(data / "quickstart.ipynb", change))
        assert code == 1 and any(named in f["what"] for f in result["faults"]), (named, result["faults"])


def test_a_new_cell_that_never_ran_is_named_and_a_removed_data_file_is_a_fault(program, ran, tmp_path):
    def add(notebook):
        notebook.cells.append(nbformat.v4.new_code_cell("let never = 1;"))

    _, result = spoiled(program, ran, tmp_path, lambda data: rewritten(data / "quickstart.ipynb", add))
    assert any("code cell 9 (let never = 1;)" in note and "never ran" in note for note in result["notes"]), result["notes"]
    # The report said that the notebook stands for what ran, and now it does not.
    assert [f["file"] for f in result["faults"]] == ["report.html"], result["faults"]

    shutil.rmtree(tmp_path / "out")
    remove = lambda data: (data / "data/debian-sections/candidates/f16.parquet").unlink(missing_ok=True)
    gone = lambda data: (data / "data/debian-sections/candidates/bf16.parquet").unlink()
    code, result = spoiled(program, ran, tmp_path, lambda data: (remove(data), gone(data)))
    assert code == 1 and any("bf16.parquet" in f["what"] for f in result["faults"]), result["faults"]


def test_a_derived_file_of_another_version_cannot_be_told_and_is_no_fault(program, ran, tmp_path):
    def change(data):
        page = data / "report.html"
        text = page.read_text()
        version = re.search(r'content="Fascicolo ([^"]+)"', text)[1]
        page.write_text(text.replace(f"Fascicolo {version}", "Fascicolo 99.1.0").replace("What was found", "Findings"))

    code, result = spoiled(program, ran, tmp_path, change)
    assert code == 3 and result["faults"] == [], result
    assert any("report.html: cannot tell" in note and "99.1.0" in note for note in result["notes"]), result["notes"]


def test_a_case_exported_with_files_left_out_says_so_and_can_be_made_again(program, work):
    shown = export(program, work, "--data-limit-mib", "0")
    assert "not all could be told" in shown, shown
    verified = fascicolo(program, "verify", work / "case.zip", "--json")
    assert verified.returncode == 0, verified.stdout


def test_a_notebook_of_another_name_travels_as_the_cases_own(program, work):
    rewritten(work / "quickstart.executed.ipynb", lambda notebook: None)
    shutil.move(work / "quickstart.executed.ipynb", work / "renamed.ipynb")
    assert "quickstart.ipynb, valid" in export(program, work, "--notebook", "renamed.ipynb")
    assert fascicolo(program, "verify", work / "case.zip").returncode == 0
