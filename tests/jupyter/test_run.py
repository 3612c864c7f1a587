"""Commands and Python programs on record: `%run`, `%%python` and the same as subcommands."""
import hashlib
import json
import os
import subprocess
import sys
import time
import zipfile

import jupyter_client
import nbclient
import nbformat
import numpy as np
import pytest

from conftest import fascicolo
from test_standard import write


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def run(program, folder, *args, **more):
    ended = fascicolo(program, "run", "--json", *args, cwd=folder, **more)
    return ended.returncode, json.loads(ended.stdout), ended.stderr


def sh(program, folder, script, *options, **more):
    return run(program, folder, *options, "--", "sh", "-c", script, **more)


def test_a_command_is_recorded_with_its_declared_files_by_digest_its_ending_and_its_times(program, tmp_path):
    (tmp_path / "in.txt").write_text("what it reads\n")
    (tmp_path / "deep").mkdir()
    work = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; sleep 0.3; cat ../in.txt > out.txt; pwd; echo gone >&2"
    code, result, stderr = sh(program, tmp_path, work, "--in", "deep", "--reads", "in.txt", "--writes", "deep/out.txt")
    assert code == 0, stderr
    assert result["ending"] == {"status": 0, "signal": None, "interrupted": False}
    assert result["reads"] == [{"path": "in.txt", "sha256": sha256(tmp_path / "in.txt"), "bytes": 14, "files": None, "changed": False, "sha256_after": None}]
    assert result["writes"][0]["sha256"] == sha256(tmp_path / "deep/out.txt") == result["reads"][0]["sha256"]
    assert result["wall_ms"] >= 300 and 10 <= result["processor_ms"] < result["wall_ms"]
    assert result["stderr"]["sha256"] == hashlib.sha256(b"gone\n").hexdigest()
    # Nothing orders two streams.
    assert sorted(stderr.splitlines()) == sorted([str(tmp_path / "deep"), "gone"]), "with --json both go to standard error"
    assert "not observed" in result["observation"]

    lines = [json.loads(line) for line in (tmp_path / "session.fascicolo/entries.jsonl").read_text().splitlines()]
    (fact,) = [entry for entry in lines if entry["kind"] == "fact"]
    assert fact["body"]["what"] == "run" and fact["body"]["status"] == 0
    assert [f["role"] for f in fact["reads"]] == ["input"] and [f["role"] for f in fact["writes"]] == ["output"]
    # What stands in the entry for good holds no path and no word of the command.
    assert "in.txt" not in json.dumps(fact) and "sleep" not in json.dumps(fact)
    (end,) = [entry for entry in lines if entry["kind"] == "end"]
    assert {"stdout", "stderr"} <= set(end["committed"])


def test_how_a_command_ended_is_told_and_a_status_other_than_0_does_not_hold(program, tmp_path):
    code, result, _ = sh(program, tmp_path, "exit 3")
    assert (code, result["ending"]["status"]) == (1, 3)
    code, result, _ = sh(program, tmp_path, "kill -SEGV $$")
    assert (code, result["ending"]["signal_name"]) == (1, "SIGSEGV")
    code, error, _ = run(program, tmp_path, "--", "no-such-program")
    assert (code, error["error"]["kind"]) == (2, "command_not_started")
    code, error, _ = run(program, tmp_path, "--in", "nowhere", "--", "true")
    assert (code, error["error"]["kind"]) == (2, "no_folder")
    code, error, _ = run(program, tmp_path, "--reads", "nothing.txt", "--", "touch", "ran")
    assert (code, error["error"]["kind"]) == (3, "unreadable")
    assert not (tmp_path / "ran").exists()


def test_a_declared_output_that_was_not_written_is_no_success_even_where_an_old_one_lies(program, tmp_path):
    code, result, _ = sh(program, tmp_path, "true", "--writes", "out.txt")
    assert code == 1 and result["writes"] == [{"path": "out.txt", "written": False}]
    (tmp_path / "out.txt").write_text("old")
    ended = fascicolo(program, "run", "--writes", "out.txt", "--", "true", cwd=tmp_path)
    assert ended.returncode == 1 and "an older file is still there" in ended.stderr and "OUTPUT MISSING" in ended.stdout
    code, result, _ = sh(program, tmp_path, "printf old > out.txt", "--writes", "out.txt")
    assert code == 0 and result["writes"][0]["sha256"] == sha256(tmp_path / "out.txt"), "the same content, written anew"


def test_an_input_that_changes_while_the_command_runs_is_told(program, tmp_path):
    (tmp_path / "in.txt").write_text("before")
    code, result, _ = sh(program, tmp_path, "echo after > in.txt", "--reads", "in.txt")
    assert code == 0 and result["reads"][0]["changed"] is True
    assert result["reads"][0]["sha256"] == hashlib.sha256(b"before").hexdigest()
    assert result["reads"][0]["sha256_after"] == hashlib.sha256(b"after\n").hexdigest()


def test_the_kernels_own_variables_do_not_reach_a_command_and_others_do(program, tmp_path):
    given = {"JPY_SESSION_NAME": "n.ipynb", "EVCXR_OF_TEST": "1", "FASCICOLO_OF_TEST": "1", "OF_TEST": "1"}
    environment = {**os.environ, **given}
    environment.pop("PYTHONUNBUFFERED", None)
    code, result, stderr = sh(program, tmp_path, "env", env=environment)
    names = {line.split("=")[0] for line in stderr.splitlines()}
    assert code == 0 and "OF_TEST" in names and "PYTHONUNBUFFERED" in names
    assert not {name for name in names if name.startswith(("EVCXR_", "FASCICOLO_", "JPY_"))}
    assert set(result["environment"]["removed"]) >= {"EVCXR_OF_TEST", "FASCICOLO_OF_TEST", "JPY_SESSION_NAME"}


def test_no_secret_of_a_command_line_stands_in_the_case_file_or_in_the_answer(program, tmp_path):
    given = ["--password", "hunter2secret", "--api-key=abcdef123456secret", "https://user:pwsecret@host/x", "--token", "hf_abcdefghijklmnopqrstuvwxyz012345"]
    ended = fascicolo(program, "run", "--json", "--", "true", *given, cwd=tmp_path)
    assert ended.returncode == 0 and "true --password '***'" in ended.stdout, ended.stdout
    kept = b"".join(path.read_bytes() for path in (tmp_path / "session.fascicolo").rglob("*") if path.is_file()).decode()
    for secret in ("hunter2secret", "abcdef123456secret", "pwsecret", "hf_abc"):
        assert secret not in kept + ended.stdout, secret


def test_a_flood_of_output_is_counted_whole_and_fills_neither_memory_nor_notebook(program, tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("%run -- sh -c 'yes 0123456 | head -c 800000000; echo; echo the end'")])
    nbformat.write(notebook, tmp_path / "n.ipynb")
    measured = "import resource, subprocess, sys; e = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL); print(e.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    ended = subprocess.run([sys.executable, "-c", measured, program, "run", str(tmp_path / "n.ipynb")], capture_output=True, text=True)
    code, peak_kib = map(int, ended.stdout.split())
    assert code == 0, ended.stderr
    assert peak_kib < 400 * 1024, f"{peak_kib} KiB"
    executed = nbformat.read(tmp_path / "n.executed.ipynb", as_version=4)
    streamed = "".join(o.text for o in executed.cells[0].outputs if o.output_type == "stream")
    assert len(streamed) < 600_000 and streamed.endswith("the end\n")
    assert "800,000,009 bytes of stdout" in executed.cells[0].outputs[-1].data["text/plain"]


PHASES = {
    "while loading data": "import json\nrows = json.loads(open('texts.json').read())",
    "while transferring to a device": "class Tensor:\n    def to(self, device):\n        raise RuntimeError('out of memory')\nx = Tensor().to('cuda:0')",
    "in an operation": "def multiply(a, b):\n    return a @ b\nmultiply(1, 2)",
    "while importing": "import a_module_that_is_not_there",
}


@pytest.mark.parametrize("phase", PHASES)
def test_the_first_error_of_a_program_is_kept_with_its_phase(program, tmp_path, phase):
    body = PHASES[phase]
    ended = fascicolo(program, "python", "--python", sys.executable, "--json", cwd=tmp_path, input=body)
    result = json.loads(ended.stdout)
    assert ended.returncode == 1
    error = result["first_error"]
    assert error["phase"] == phase, error
    assert error["frames"][0]["source"] in body and error["frames"][0]["file"] == "<stdin>"
    assert "Traceback" in ended.stderr, "the whole output is shown"


def test_a_program_runs_in_the_named_interpreter_and_in_the_given_folder_with_nothing_of_a_cell_before(program, tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/helper.py").write_text("value = 41\n")
    cells = [
        f"%%python --python {sys.executable} --in deep --writes deep/out.txt\nimport helper, os, sys\nx = helper.value + 1\nprint(sys.executable, os.getcwd())\nopen('out.txt', 'w').write(str(x))",
        f"%%python --python {sys.executable}\nprint('x' in globals())",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(notebook, kernel_name="fascicolo", timeout=60, resources={"metadata": {"path": str(tmp_path)}}).execute()
    first, second = ("".join(o.text for o in cell.outputs if o.output_type == "stream") for cell in notebook.cells)
    assert first.split() == [sys.executable, str(tmp_path / "deep")] and second == "False\n"
    assert (tmp_path / "deep/out.txt").read_text() == "42"
    text = notebook.cells[0].outputs[-1].data["text/plain"]
    assert text.startswith("RAN") and hashlib.sha256(b"42").hexdigest()[:12] in text


def test_an_interpreter_that_is_not_there_is_refused_before_anything_runs(program, tmp_path):
    ended = fascicolo(program, "python", "--python", "no/such/python", "--json", cwd=tmp_path, input="print(1)")
    assert ended.returncode == 2 and json.loads(ended.stdout)["error"]["kind"] == "no_interpreter"


def test_commands_are_refused_after_a_probe_that_did_not_find_what_was_required(program, tmp_path):
    assert fascicolo(program, "probe", "--require", "rocm", cwd=tmp_path).returncode == 1
    for args in (["run", "--", "touch", "ran"], ["python"], ["resume"]):
        ended = fascicolo(program, "--json", *args, cwd=tmp_path, input="open('ran', 'w')")
        assert ended.returncode == 4 and json.loads(ended.stdout)["error"]["kind"] == "probe_not_passed", ended.stdout
    assert not (tmp_path / "ran").exists()


def test_an_interrupt_ends_a_command_with_all_that_it_started_and_the_kernel_lives_on(tmp_path):
    manager, client = jupyter_client.manager.start_new_kernel(kernel_name="fascicolo", cwd=str(tmp_path))
    try:
        client.execute("%run -- sh -c 'sleep 300 & echo $! > child; echo begun; wait'")
        while True:
            message = client.get_iopub_msg(timeout=30)
            if message["msg_type"] == "stream" and "begun" in message["content"]["text"]:
                break
        child = int((tmp_path / "child").read_text())
        began = time.monotonic()
        manager.interrupt_kernel()
        reply = client.get_shell_msg(timeout=30)["content"]
        assert (reply["status"], reply["ename"]) == ("error", "Interrupted")
        assert time.monotonic() - began < 5
        for _ in range(40):
            try:
                dead = ") Z " in open(f"/proc/{child}/stat").read()
            except FileNotFoundError:
                dead = True
            if dead:
                break
            time.sleep(0.05)
        assert dead, "the grandchild lives on"
        reply = client.execute_interactive("%run -- echo still here", timeout=30, output_hook=lambda _: None)["content"]
        assert reply["status"] == "ok"
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    entries = [json.loads(line) for line in (tmp_path / "session.fascicolo/entries.jsonl").read_text().splitlines()]
    assert [e["body"].get("interrupted") for e in entries if e["kind"] == "fact"] == [True, False]


def test_a_program_that_hangs_tells_at_its_interrupt_in_which_phase_it_hung(tmp_path):
    os.mkfifo(tmp_path / "never-written")
    manager, client = jupyter_client.manager.start_new_kernel(kernel_name="fascicolo", cwd=str(tmp_path))
    try:
        client.execute(f"%%python --python {sys.executable}\nprint('begun')\nrows = open('never-written').read()\n")
        while True:
            message = client.get_iopub_msg(timeout=30)
            if message["msg_type"] == "stream" and "begun" in message["content"]["text"]:
                break
        time.sleep(0.3)
        manager.interrupt_kernel()
        reply = client.get_shell_msg(timeout=30)["content"]
        assert reply["ename"] == "Interrupted" and "while loading data (<stdin>, line 2)" in reply["evalue"], reply
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_run_takes_a_notebook_or_behind_dashes_a_command_and_says_so(program, tmp_path):
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("%run -- echo from a notebook")]), tmp_path / "n.ipynb")
    assert "from a notebook" in fascicolo(program, "run", "n.ipynb", cwd=tmp_path).stdout
    assert fascicolo(program, "run", "--", "echo", "n.ipynb", cwd=tmp_path).stdout.startswith("n.ipynb\n")
    for wrong in (["run"], ["run", "n.ipynb", "--", "echo"], ["run", "n.ipynb", "--reads", "n.ipynb"], ["run", "--allow-errors", "--", "true"]):
        assert fascicolo(program, *wrong, cwd=tmp_path).returncode == 2, wrong
    usage = fascicolo(program, "run", "--help", cwd=tmp_path).stdout
    assert "run [OPTIONS] NOTEBOOK" in usage and "run [OPTIONS] -- CMD" in usage


def test_what_a_command_read_and_wrote_travels_with_an_export(program, tmp_path):
    (tmp_path / "in.txt").write_text("1 2 3\n")
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("%run --reads in.txt --writes out.txt -- cp in.txt out.txt")]), tmp_path / "n.ipynb")
    assert fascicolo(program, "run", "n.ipynb", cwd=tmp_path).returncode == 0
    ended = fascicolo(program, "--dossier", "n.fascicolo", "dossier", "export", "-o", "case.zip", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    names = zipfile.ZipFile(tmp_path / "case.zip").namelist()
    assert any(name.endswith("data/in.txt") for name in names) and any(name.endswith("data/out.txt") for name in names)
    assert fascicolo(program, "verify", "case.zip", cwd=tmp_path).returncode == 0


def test_a_command_that_read_the_candidate_has_opened_it(program, tmp_path):
    r = np.arange(12, dtype=np.float32).reshape(4, 3) + 1
    write(tmp_path / "r.parquet", r), write(tmp_path / "c.parquet", r + 2), write(tmp_path / "d.parquet", r + 2.5)
    form = "goal = 'values'\n[output]\npath = 'r.parquet'\n"
    assert fascicolo(program, "reference", "new", "sample", cwd=tmp_path, input=form).returncode == 0
    assert sh(program, tmp_path, "wc -c c.parquet", "--reads", "c.parquet")[0] == 0
    assert fascicolo(program, "declare", "abs", "--set", "most=4", "--because", "after a look", cwd=tmp_path).returncode == 0
    for name, expected in (("c.parquet", (3, "pass", True)), ("d.parquet", (0, "pass", False))):
        ended = fascicolo(program, "compare", "r.parquet", name, "--criterion", "abs", "--json", cwd=tmp_path)
        result = json.loads(ended.stdout)
        assert (ended.returncode, result["verdict"], result["post_hoc"]) == expected, (name, ended.stdout)
    assert fascicolo(program, "dossier", "verify", cwd=tmp_path).returncode == 0
