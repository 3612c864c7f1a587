"""The quickstart under nbclient and under `fascicolo run`: the same verdicts, valid notebooks, a case file that verifies."""
import json
import re
import subprocess

import nbclient
import nbformat


def verdicts(notebook, form="text/plain"):
    """Every verdict in one of its forms, without dossier roots and times."""
    texts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if data.get("text/plain", "").startswith(("PASS", "FAIL")):
                text = re.sub(r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "when", data.get(form, ""))
                text = re.sub(r"(root\W*(<[^>]*>)*)[0-9a-f]{12,64}", r"\1", text)
                texts.append(text)
    return texts


def without_history(texts):
    """What stays the same when a notebook runs again on its case file: not the entries' numbers, not the attempts."""
    texts = [re.sub(r"entry \d+", "entry", text) for text in texts]
    return ["\n".join(line for line in text.splitlines() if not line.strip().startswith("attempts")) for text in texts]


def run(program, notebook, *options):
    return subprocess.run([program, "run", str(notebook), *options], capture_output=True, text=True)


def test_nbclient_and_fascicolo_run_give_the_same_verdicts_and_valid_notebooks(program, case, tmp_path):
    notebooks, dossier = case
    ours = nbformat.read(notebooks / "quickstart.executed.ipynb", as_version=4)
    nbformat.validate(ours)
    assert (ours.nbformat, ours.nbformat_minor) == (4, 5)

    other = tmp_path / "other"
    other.mkdir()
    (notebooks / "data").rename(other / "data")
    theirs = nbformat.read(notebooks / "quickstart.ipynb", as_version=4)
    client = nbclient.NotebookClient(theirs, kernel_name="fascicolo", timeout=120, resources={"metadata": {"path": str(other)}})
    client.execute()
    nbformat.validate(theirs)

    assert [v.split()[0] for v in verdicts(ours)] == ["PASS", "PASS", "FAIL", "FAIL"]
    for form in ("text/plain", "text/html", "image/svg+xml"):
        assert verdicts(ours, form) == verdicts(theirs, form), form
    assert all(verdicts(ours, "image/svg+xml"))
    for dossier in (dossier, other / "session.fascicolo"):
        checked = subprocess.run([program, "dossier", "verify", str(dossier), "--json"], capture_output=True, text=True)
        assert checked.returncode == 0, checked.stdout
        assert json.loads(checked.stdout)["unproved_tail"] == 0


def test_running_twice_gives_the_same_verdicts_because_the_earliest_seal_is_kept(program, case, tmp_path):
    notebooks, _ = case
    ended = run(program, notebooks / "quickstart.ipynb", "--output", str(tmp_path / "again.ipynb"))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    first, again = (nbformat.read(path, as_version=4) for path in (notebooks / "quickstart.executed.ipynb", tmp_path / "again.ipynb"))
    assert without_history(verdicts(first)) == without_history(verdicts(again))
    assert len(verdicts(again)) == 4 and not any("POST HOC" in text for text in verdicts(again))


def cells(tmp_path, *sources):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in sources])
    path = tmp_path / "cells.ipynb"
    nbformat.write(notebook, path)
    return path


def test_a_refusal_stops_a_run_with_4_and_a_failing_verdict_does_not(program, notebooks):
    reference = "%%reference new r\ngoal = 'values'\n[output]\npath = 'data/debian-sections/reference.parquet'"
    compare = "%compare data/debian-sections/reference.parquet data/debian-sections/candidates/bf16.parquet --criterion cosine"
    refused = run(program, cells(notebooks, reference, compare, "println!(\"after\");"))
    assert refused.returncode == 4, refused.stdout + refused.stderr
    assert "was not declared" in refused.stderr and "after" not in refused.stdout

    declare = "%declare cosine --set floor=0.9999999 --because 'a test'"
    failed = run(program, cells(notebooks, declare, compare, "println!(\"after\");"))
    assert failed.returncode == 1, failed.stdout + failed.stderr
    assert "\nafter\n" in failed.stdout
    assert "0 of 1 as expected" in failed.stdout and "cell 2, fail where pass was expected" in failed.stdout

    counted = json.loads(run(program, cells(notebooks, declare, compare + " --expect fail"), "--json").stdout)
    assert counted["exit"] == 0 and counted["verdicts"][0]["met"] is True, counted


def test_parameters_reach_the_cell_after_the_one_that_is_tagged(program, tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[
        nbformat.v4.new_code_cell("let rows = 1; let name = \"a\".to_string();", metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell("println!(\"{} {name}\", rows + 1);"),
    ])
    path = tmp_path / "p.ipynb"
    nbformat.write(notebook, path)
    ended = run(program, path, "-p", "rows", "41", "-p", "name", "it's")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "42 it's" in ended.stdout
    executed = nbformat.read(tmp_path / "p.executed.ipynb", as_version=4)
    nbformat.validate(executed)
    assert executed.cells[1].metadata.tags == ["injected-parameters"]


def test_a_panic_a_crash_and_a_quit_leave_the_kernel_running(program, tmp_path):
    path = cells(
        tmp_path,
        "let kept = 7;",
        "panic!(\"on purpose\");",
        "std::process::abort();",
        ":quit",
        "!echo from the host's shell",
        "%compre",
        "println!(\"still {}\", 6 * 7);",
    )
    ended = run(program, path, "--allow-errors")
    assert "still 42" in ended.stdout, ended.stdout + ended.stderr
    executed = nbformat.read(tmp_path / "cells.executed.ipynb", as_version=4)
    errors = [o.ename for c in executed.cells for o in c.outputs if o.output_type == "error"]
    assert len(errors) == 5, errors
    assert "from the host" not in ended.stdout.replace("!echo from the host's shell", "")


CRITERION = """%%criterion {name}
{head}criterion! {{
    meaning: "the smallest cosine is at least the floor",
    parameters: {{ floor["unitless"] "smallest cosine accepted" }},
    sees: {{ cosine }},
    state: {{ least: Lowest }},
    row: |state, row, _p| {{ {row}; state.least.add(row.cosine, row.id); }},
    verdict: |state, p| {{ pass_if(state.least.value() >= p.floor).figure("cosine.min", "unitless", &state.least) }},
}}"""


def test_criteria_that_loop_eat_memory_or_read_files_end_their_cell_and_not_the_kernel(program, notebooks):
    files = "data/debian-sections/reference.parquet data/debian-sections/candidates/f16.parquet"
    sources = ["%%reference new r\ngoal = 'values'\n[output]\npath = 'data/debian-sections/reference.parquet'"]
    for name, row in (("endless", "loop {}"), ("hungry", "std::hint::black_box(vec![1u8; 1 << 30])")):
        sources.append(CRITERION.format(name=name, head="", row=row))
        sources.append(f"%declare {name} --set floor=0 --because 'a test'")
        sources.append(f"%compare {files} --criterion {name}")
    sources.append(CRITERION.format(name="reader", head='const X: &str = include_str!("/etc/hostname");\n', row="()"))
    sources.append(CRITERION.format(name="other-reader", head='include!("/etc/passwd");\n', row="()"))
    sources.append(CRITERION.format(name="good", head="", row="()"))
    sources.append("%declare good --set floor=0 --because 'a test'")
    sources.append(f"%compare {files} --criterion good --accept-post-hoc")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in sources])
    client = nbclient.NotebookClient(
        notebook, kernel_name="fascicolo", timeout=120, allow_errors=True, resources={"metadata": {"path": str(notebooks)}}
    )
    client.execute()
    errors = [(o.ename, o.evalue) for c in notebook.cells for o in c.outputs if o.output_type == "error"]
    assert [name for name, _ in errors] == ["OutOfFuel", "OverLimit", "ReadsFiles", "ReadsFiles"], errors
    assert "endless" in errors[0][1] and "hungry" in errors[1][1]
    assert "root:" not in json.dumps(notebook)
    assert verdicts(notebook)[-1].startswith("PASS"), "the kernel lived on"
