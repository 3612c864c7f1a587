"""What a replay compares: each cell's outputs under the policy that its tag declares."""
import json
import shutil
import subprocess

import nbformat

from conftest import REPOSITORY

CELLS = {
    "same": ("println!(\"rows {}\", 393); 1.5_f64.sqrt()", None),
    "clock": ('println!("at {:?}", std::time::SystemTime::now());', "fascicolo:ignore"),
    "noise": ('println!("loss {}", 0.5 + 1e-12 * (std::process::id() as f64));', "fascicolo:tolerance=1e-3"),
    "picture": (
        # One red pixel, by its PNG in base64.
        'println!("EVCXR_BEGIN_CONTENT image/png\\n{}\\nEVCXR_END_CONTENT", "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==");',
        "fascicolo:image",
    ),
}


def case(program, folder, cells):
    folder.mkdir()
    notebook = nbformat.v4.new_notebook()
    for name, (source, tag) in cells.items():
        cell = nbformat.v4.new_code_cell(source, id=name)
        if tag:
            cell.metadata["tags"] = [tag]
        notebook.cells.append(cell)
    nbformat.write(notebook, folder / "n.ipynb")
    for command in (["run", "n.ipynb"], ["--dossier", "n.fascicolo", "dossier", "export", "-o", "n.zip"]):
        ended = subprocess.run([program, *command], cwd=folder, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stdout + ended.stderr
    return folder / "n.zip"


def replay(program, case, into):
    ended = subprocess.run([program, "replay", case, "--into", into, "--yes", "--json"], capture_output=True, text=True)
    return ended.returncode, json.loads(ended.stdout.splitlines()[-1])


def test_each_cell_is_compared_under_the_policy_of_its_tag(program, tmp_path):
    code, result = replay(program, case(program, tmp_path / "a", CELLS), tmp_path / "again")
    assert code == 0, result
    assert [cell["differs"] for cell in result["outputs"]] == [None] * 4
    assert len({cell["policy"] for cell in result["outputs"]}) == 4
    assert result["isolation"] == "landlock" and result["network"] is False


def test_an_output_that_changed_without_leave_fails_the_replay_naming_the_cell(program, tmp_path):
    cells = {"same": CELLS["same"], "clock": (CELLS["clock"][0], None)}
    code, result = replay(program, case(program, tmp_path / "a", cells), tmp_path / "again")
    assert code == 1 and not result["holds"]
    (difference,) = result["differences"]
    assert difference.startswith("code cell 2: stdout") and "must be the same" in difference


def test_a_tag_that_is_no_policy_is_told_before_anything_runs(program, tmp_path):
    cells = {"look": ("%snapshot", "fascicolo:roughly")}
    code, result = replay(program, case(program, tmp_path / "a", cells), tmp_path / "again")
    assert code == 2 and "roughly" in result["error"]["message"], result
    assert not (tmp_path / "again").exists()


def test_the_plan_lists_what_would_run_with_what_and_nothing_runs_unasked(program, tmp_path):
    zipped = case(program, tmp_path / "a", {"look": ("%snapshot", "fascicolo:ignore")})
    ended = subprocess.run([program, "replay", zipped, "--into", tmp_path / "again"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert ended.returncode == 4 and not (tmp_path / "again").exists()
    for words in ("%snapshot", "interpreters: /", "network: closed", "outputs are not compared", "criteria, in a sandbox"):
        assert words in ended.stdout, (words, ended.stdout)


def test_the_plan_shows_every_line_that_would_run_and_what_is_missing_unbound_or_redacted(program, tmp_path):
    folder = tmp_path / "a"
    rust = "let five = 2 + 3;\n// in the open\nprintln!(\"\\u{1b}[2J{five}\");"
    case(program, folder, {"sum": (rust, None), "secret": ('println!("{}", "planted-words-here");', None)})

    def run(*command, **more):
        return subprocess.run([program, "--dossier", "n.fascicolo", *command], cwd=folder, capture_output=True, text=True, **more)

    (folder / "x.tsv").write_text("a row\n")
    shutil.copy(REPOSITORY / "notebooks/data/debian-sections/reference.parquet", folder)
    form = "goal = 'values'\n[output]\npath = 'reference.parquet'\n[[data]]\npath = 'x.tsv'\n"
    assert run("reference", "new", "r", input=form).returncode == 0
    secret = next(e["seq"] for e in json.loads(run("dossier", "log", "--json").stdout) if "planted" in (e["summary"] or ""))
    assert run("dossier", "redact", "--entry", str(secret), "--field", "ran", "--because", "a test").returncode == 0
    executed = nbformat.read(folder / "n.executed.ipynb", as_version=4)
    executed.cells.append(nbformat.v4.new_code_cell('println!("never ran \x1b[2J");', id="new"))
    nbformat.write(executed, folder / "more.ipynb")
    (folder / "x.tsv").unlink()
    assert run("dossier", "export", "-o", "n.zip", "--notebook", "more.ipynb").returncode == 0
    ended = run("replay", "n.zip", "--into", "again", stdin=subprocess.DEVNULL)
    plan = ended.stdout
    for line in ("let five = 2 + 3;", "// in the open", "Rust with the rights of this user", "code cell 2 was redacted",
                 "x.tsv (SHA-256 ", "not bound by the log", "it never ran, and nothing binds it", "it may write: again"):
        assert line in plan, (line, plan)
    assert "planted" not in plan and "\x1b" not in plan, "no cell steers the terminal, no redacted word is there"
    readable = next(line for line in plan.splitlines() if line.startswith("it may read: ")).split(": ")[1].split(", ")
    assert len(readable) == len(set(readable)), readable
    assert ended.returncode == 4 and "no terminal" in ended.stderr and "add --yes" in ended.stderr, ended.stderr
    piped = run("replay", "n.zip", "--into", "again", input="y\n")
    assert piped.returncode == 4 and "echo y |" in piped.stderr and not (folder / "again").exists(), piped.stderr
