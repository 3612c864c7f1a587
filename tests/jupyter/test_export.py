"""A case as one file, checked by stock tools: sha256sum, bagit, ssh-keygen; and run again from what was unpacked."""
import hashlib
import json
import os
import re
import shutil
import subprocess
import zipfile

import bagit
import nbformat
import pytest

from conftest import export, fascicolo, unpack


def test_stock_tools_accept_an_export_and_reject_it_after_one_flipped_byte(program, bag, tmp_path):
    for manifest in ("manifest-sha256.txt", "tagmanifest-sha256.txt"):
        subprocess.run(["sha256sum", "-c", "--quiet", manifest], cwd=bag, check=True)
    bagit.Bag(str(bag)).validate()
    log = bag / "data" / "quickstart.fascicolo"
    assert fascicolo(program, "dossier", "verify", log).returncode == 0
    for path, tool in ((bag / "data" / "VERIFY.md", "bag"), (log / "entries.jsonl", "log")):
        whole = path.read_bytes()
        path.write_bytes(whole[:40] + bytes([whole[40] ^ 1]) + whole[41:])
        with pytest.raises(bagit.BagError):
            bagit.Bag(str(bag)).validate()
        assert subprocess.run(["sha256sum", "-c", "--quiet", "manifest-sha256.txt"], cwd=bag, capture_output=True).returncode != 0
        if tool == "log":
            assert fascicolo(program, "dossier", "verify", log).returncode == 1
        path.write_bytes(whole)


def test_verify_md_tells_commands_that_work(bag):
    """The leaf hash and the tree of VERIFY.md, by hashlib alone."""
    lines = (bag / "data" / "quickstart.fascicolo" / "entries.jsonl").read_bytes().splitlines()
    leaves = [hashlib.sha256(b"\0" + line).digest() for line in lines]
    for line, before in zip(lines[1:], leaves):
        assert json.loads(line)["prev"] == before.hex()

    def root(hashes):
        if len(hashes) == 1:
            return hashes[0]
        split = 1
        while split * 2 < len(hashes):
            split *= 2
        return hashlib.sha256(b"\1" + root(hashes[:split]) + root(hashes[split:])).digest()

    page = (bag / "data" / "VERIFY.md").read_text()
    assert root(leaves).hex() in page
    shown = subprocess.run(
        ["sh", "-c", "(printf '\\0'; sed -n 2p data/quickstart.fascicolo/entries.jsonl | tr -d '\\n') | sha256sum"],
        cwd=bag, capture_output=True, text=True, check=True,
    ).stdout
    assert shown.split()[0] == leaves[1].hex()

    def run(command):
        return subprocess.run(["sh", "-c", command], cwd=bag, capture_output=True, text=True, check=True).stdout

    # As they stand in the page: the root of the checkpoint in hexadecimal, and the loop over all leaves.
    (in_hexadecimal,) = re.findall(r"`(sed -n 3p .*)`", page)
    assert run(in_hexadecimal) == root(leaves).hex()
    (loop,) = re.findall(r"```sh\n(.*?)```", page, re.S)
    before = set(bag.iterdir())
    assert run(loop) == root(leaves).hex() + "\n"
    entries = bag / "data/quickstart.fascicolo/entries.jsonl"
    entries.write_bytes(b"\n".join([*lines[:3], lines[3].replace(b'"session":"', b'"session":"x', 1), *lines[4:]]) + b"\n")
    told = run(loop).splitlines()
    assert told[0] == "entry 4 does not name the leaf hash of the entry before it" and told[1] != root(leaves).hex()
    assert set(bag.iterdir()) == before, "it leaves nothing behind"


def test_a_second_export_differs_from_the_first_in_what_the_log_gained_and_in_nothing_else(program, archive, case):
    """No clock, no order of a folder and no chance gets into an archive: what differs is the log, and what tells of it."""
    folder, dossier = case
    again = export(program, folder, dossier, "case.zip")
    with zipfile.ZipFile(archive) as one, zipfile.ZipFile(again) as two:
        log = ("/entries.jsonl", "/checkpoint", "/report.html", "/VERIFY.md", "/ro-crate-metadata.json", "bag-info.txt", "manifest-sha256.txt")
        grown = ("/data/log/", "/disclosures/", "/blobs/")
        kept = [n for n in one.namelist() if not n.endswith(log) and not any(part in n for part in grown)]
        assert any(n.endswith(".parquet") for n in kept) and any(n.endswith(".ipynb") for n in kept)
        assert all(one.read(name) == two.read(name) for name in kept)
        times = {info.date_time for archived in (one, two) for info in archived.infolist()}
        assert len(times) == 1, "the archive tells when it was written"
        crates = [json.loads(z.read("quickstart/data/ro-crate-metadata.json")) for z in (one, two)]
        for crate in crates:
            (root,) = [e for e in crate["@graph"] if e["@id"] == "./"]
            del root["datePublished"]
        assert crates[0] == crates[1]


def test_an_unpacked_case_runs_again_with_the_same_verdicts(program, bag, tmp_path):
    again = tmp_path / "again"
    shutil.copytree(bag / "data", again)
    ended = fascicolo(program, "run", again / "quickstart.ipynb", "--json")
    result = json.loads(ended.stdout)
    assert ended.returncode == 0, ended.stdout
    assert [v["verdict"] for v in result["verdicts"]] == ["pass", "pass", "fail", "fail"]
    assert not any(v["post_hoc"] for v in result["verdicts"])


def test_what_was_planted_of_secrets_home_user_and_host_is_in_no_member_of_an_export(program, notebooks):
    user, host = "lovelace", "analytical-engine"
    home = notebooks.parent / f"home-of-{user}"
    work = home / "case"
    work.mkdir(parents=True)
    shutil.copytree(notebooks / "data", work / "data")
    token = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtz\n-----END OPENSSH PRIVATE KEY-----"
    cells = [
        f"%%reference new r\ngoal = 'values'\n[output]\npath = 'data/debian-sections/reference.parquet'\n[[weights]]\nname = 'w'\naccess = 'https://ada:{token}@example.org/w, or ask {user}'",
        f"%declare cosine --set floor=0.5 --because 'token {token}, see https://ada:hunter2hunter2@example.org, by {user} on {host}'",
        f"%compare {work}/data/debian-sections/reference.parquet data/debian-sections/candidates/f16.parquet --criterion cosine",
        f'println!("{{}}", r#"{key}"#);',
        'println!("{}@{}:/scratch/{0}$ lovelaces", std::env::var("USER").unwrap(), std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim());',
        f'let lovelace_set = "{user}"; lovelace_set',
        f"%compare data/debian-sections/reference.parquet /scratch/{user}/absent.parquet --criterion cosine",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    notebook.cells.insert(0, nbformat.v4.new_markdown_cell(f"By {user}@{host}, in {home}"))
    notebook.metadata["author"] = {
        "password": "correct horse", f"{home}/x": f"{user}", f"https://ada:{token}@example.org": 1, f"{user}@{host}": [host],
    }
    nbformat.write(notebook, work / "n.ipynb")

    # A machine of this name, and its user: the name of a host is one per UTS namespace.
    own = ["unshare", "--uts"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--uts"]
    own += ["sh", "-c", f'echo {host} >/proc/sys/kernel/hostname && exec "$@"', "sh", program]
    env = {**os.environ, "HOME": str(home), "USER": user, "LOGNAME": user}
    env.setdefault("CARGO_HOME", os.path.expanduser("~/.cargo"))
    env.setdefault("RUSTUP_HOME", os.path.expanduser("~/.rustup"))
    ended = subprocess.run([*own, "run", work / "n.ipynb"], env=env, capture_output=True, text=True)
    assert ended.returncode != 0 and "absent.parquet" in ended.stderr, ended.stdout + ended.stderr
    shutil.copy(work / "n.executed.ipynb", work / "n.ipynb")
    ended = subprocess.run(
        [*own, "--dossier", work / "n.fascicolo", "dossier", "export", "-o", "n.zip"], cwd=work, env=env, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    everything = b""
    with zipfile.ZipFile(work / "n.zip") as archive:
        for name in archive.namelist():
            content = archive.read(name)
            for planted in (token, "hunter2hunter2", "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ", "correct horse", str(home)):
                assert planted.encode() not in content, f"{planted} in {name}"
            for planted in (user, host):
                found = re.search(rb"(?<!\w)" + planted.encode() + rb"(?!\w)", content)
                assert not found, f"{planted} in {name}: {content[max(0, found.start() - 80):found.end() + 20]}"
            everything += content
        shared = nbformat.reads(archive.read("n/data/n.ipynb").decode(), as_version=4)
    nbformat.validate(shared)
    assert b"<user>@<host>:/scratch/<user>$ lovelaces" in everything, "placeholders, and words that only begin so stay"
    assert "let lovelace_set" in shared.cells[6].source, "code stays code"
    assert shared.metadata["author"] == {
        "password": "***", "~/x": "<user>", "https://***@example.org": 1, "<user>@<host>": ["<host>"],
    }


def test_the_report_loads_nothing_and_runs_nothing(program, bag, tmp_path):
    page = (bag / "data" / "report.html").read_text()
    assert "<script" not in page.lower()
    for attribute in ('src="http', "src='http", "url(http", "@import", "<link"):
        assert attribute not in page
    for word in ("debian-sections", "same-neighbours", "libapache-opennlp-java", "not a promise of identity"):
        assert word in page, word


def test_a_signature_by_the_users_ssh_key_is_what_ssh_keygen_accepts(program, case, tmp_path):
    folder, dossier = case
    key = tmp_path / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "ada", "-f", key], check=True)
    ended = fascicolo(program, "--dossier", dossier, "dossier", "sign", "--ssh", key, "--json", cwd=folder)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    public = key.with_suffix(".pub").read_text().split()
    signers = tmp_path / "signers"
    signers.write_text(f"ada@example.org {public[0]} {public[1]}\n")
    (signed,) = (dossier / "signatures").glob("*.checkpoint")
    (signature,) = (dossier / "signatures").glob("*.sshsig")
    with signed.open("rb") as message:
        checked = subprocess.run(
            ["ssh-keygen", "-Y", "verify", "-f", signers, "-I", "ada@example.org", "-n", "fascicolo-checkpoint@v0", "-s", signature],
            stdin=message, capture_output=True, text=True,
        )
    assert checked.returncode == 0, checked.stderr
    verified = fascicolo(program, "dossier", "verify", dossier, "--allowed-signers", signers, "--json")
    assert verified.returncode == 0, verified.stdout
    (report,) = json.loads(verified.stdout)["signatures"]
    assert report["valid"] is True and report["known"] == "ada@example.org"
    assert key.read_text().splitlines()[1] not in "".join(
        p.read_text(errors="replace") for p in dossier.rglob("*") if p.is_file()
    ), "the key is in the case file"


def test_a_witness_who_kept_an_earlier_checkpoint_finds_a_log_written_anew(program, case, tmp_path):
    folder, dossier = case
    witness = tmp_path / "checkpoint"
    shutil.copy(dossier / "checkpoint", witness)

    def write_on():
        ended = fascicolo(program, "--dossier", dossier, "snapshot", cwd=folder)
        assert ended.returncode == 0, ended.stderr

    write_on()
    assert fascicolo(program, "dossier", "verify", dossier, "--witness", witness).returncode == 0
    shutil.rmtree(dossier)
    while not dossier.exists() or len((dossier / "entries.jsonl").read_bytes().splitlines()) < int(witness.read_text().splitlines()[1]):
        write_on()
    assert fascicolo(program, "dossier", "verify", dossier).returncode == 0, "alone it looks whole"
    assert fascicolo(program, "dossier", "verify", dossier, "--witness", witness).returncode == 1


def test_a_redacted_value_is_gone_and_every_proof_still_verifies(program, case):
    folder, dossier = case
    log = json.loads(fascicolo(program, "dossier", "log", dossier, "--json").stdout)
    entry = next(e["seq"] for e in log if e["kind"] == "declare")
    before = fascicolo(program, "dossier", "show", dossier, "--entry", entry).stdout
    assert "nearest neighbour only" in before
    ended = fascicolo(
        program, "--dossier", dossier, "dossier", "redact", "--entry", entry, "--field", "result", "--because", "a test", cwd=folder
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert fascicolo(program, "dossier", "verify", dossier).returncode == 0
    assert "nearest neighbour only" not in fascicolo(program, "dossier", "show", dossier, "--entry", entry).stdout


def test_a_replay_in_an_empty_folder_gives_the_same_verdicts_and_figures(program, archive, tmp_path):
    refused = fascicolo(program, "replay", archive, "--into", tmp_path / "no", stdin=subprocess.DEVNULL)
    assert refused.returncode == 4 and not (tmp_path / "no").exists(), refused.stderr
    ended = fascicolo(program, "replay", archive, "--into", tmp_path / "again", "--yes", "--json")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    result = json.loads(ended.stdout)
    assert result["verdicts"] == 4 and result["differences"] == []
    assert "landlock" in result["isolation"] or "not proved" in result["isolation"]
    assert fascicolo(program, "dossier", "verify", tmp_path / "again" / "quickstart.fascicolo").returncode == 0


def test_a_replay_fails_by_the_name_of_the_forgotten_file_and_of_the_old_variable(program, notebooks, tmp_path):
    reference = "%%reference new r\ngoal = 'values'\n[output]\npath = 'data/debian-sections/reference.parquet'"
    outside = tmp_path / "forgotten.parquet"
    shutil.copy(notebooks / "data/debian-sections/candidates/f16.parquet", outside)
    cases = {
        "forgotten.parquet": [reference, f"%compare data/debian-sections/reference.parquet {outside} --explore"],
        "from_an_old_session": [reference, 'println!("{}", from_an_old_session);'],
    }
    for named, cells in cases.items():
        work = tmp_path / f"case-of-{named}"
        work.mkdir()
        shutil.copytree(notebooks / "data", work / "data")
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
        nbformat.write(notebook, work / "n.ipynb")
        fascicolo(program, "run", work / "n.ipynb")
        archive = export(program, work, work / "n.fascicolo", "n.zip")
        ended = fascicolo(program, "replay", archive, "--into", work / "again", "--yes")
        assert ended.returncode == 1, ended.stdout + ended.stderr
        assert named in ended.stderr, ended.stderr


def repack(folder, archive):
    """The bag made anew around changed files, as somebody who changed them would."""
    bag = bagit.Bag(str(folder))
    bag.save(manifests=True)
    with zipfile.ZipFile(archive, "w") as out:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            out.write(path, f"{folder.name}/{path.relative_to(folder).as_posix()}")


def test_data_and_report_are_bound_by_the_log_and_not_by_lists_that_anybody_can_renew(program, archive, tmp_path):
    assert fascicolo(program, "verify", archive).returncode == 0
    for n, (changed, content) in enumerate({
        "data/report.html": lambda old: old.replace(b"FAIL", b"PASS"),
        "data/data/debian-sections/candidates/bf16.parquet": lambda old: old + b"x",
        "data/evil.sh": lambda old: b"rm",
    }.items()):
        bag = unpack(archive, tmp_path / f"out{n}")
        path = bag / changed
        path.write_bytes(content(path.read_bytes() if path.exists() else b""))
        again = tmp_path / f"again{n}.zip"
        repack(bag, again)
        verified = fascicolo(program, "verify", again, "--json")
        assert verified.returncode == 1, (changed, verified.stdout)
        faults = json.loads(verified.stdout)["faults"]
        assert any(changed.removeprefix("data/") in fault["file"] for fault in faults), (changed, faults)


def test_an_export_takes_no_other_files_place_and_no_secret_of_a_data_file_along(program, case):
    folder, dossier = case
    for output in ("quickstart.ipynb", "quickstart.fascicolo/entries.jsonl", "quickstart.fascicolo/new.zip"):
        ended = fascicolo(program, "--dossier", dossier, "dossier", "export", "-o", output, cwd=folder)
        assert ended.returncode == 4, ended.stdout + ended.stderr
    assert fascicolo(program, "dossier", "verify", dossier).returncode == 0
    nbformat.read(folder / "quickstart.ipynb", as_version=4)

    token = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    (folder / "train.py").write_text(f"TOKEN = '{token}'\n")
    form = "goal = 'values'\n[output]\npath = './data/debian-sections/reference.parquet'\n[code]\npath = 'train.py'\n"
    ended = fascicolo(program, "--dossier", dossier, "reference", "new", "again", cwd=folder, input=form)
    assert ended.returncode == 0, ended.stderr
    archive = export(program, folder, dossier, "case.zip")
    with zipfile.ZipFile(archive) as members:
        assert not any(token.encode() in members.read(name) for name in members.namelist())
        assert any(name.endswith("debian-sections/reference.parquet") for name in members.namelist())


def test_faults_of_one_cause_are_told_as_one_with_the_cause_first_and_the_rest_counted(program, archive, tmp_path):
    log = "data/quickstart.fascicolo"

    def remove(bag):
        (bag / log / "disclosures/values.jsonl").unlink()

    def change(name, old, new):
        def act(bag):
            text = (bag / name).read_bytes()
            assert old in text
            (bag / name).write_bytes(text.replace(old, new, 1))
        return act

    for n, (spoil, first) in enumerate([
        (change(f"{log}/entries.jsonl", b'"gap":0.000487', b'"gap":0.000987'), "entries.jsonl"),
        (remove, f"{log}/disclosures/values.jsonl"),
        (change("data/data/debian-sections/candidates/bf16.parquet", b"PAR1", b"PAR2"), "data/debian-sections/candidates/bf16.parquet"),
        (change("data/quickstart.ipynb", b"4.87e-4", b"9.87e-4"), "quickstart.ipynb"),
    ]):
        bag = unpack(archive, tmp_path / f"out{n}")
        spoil(bag)
        ended = fascicolo(program, "verify", bag, "--json")
        faults = json.loads(ended.stdout)["faults"]
        assert ended.returncode == 1 and faults[0]["file"] == first and len(faults) > 1, faults
        assert [f["follows"] for f in faults] == [None] + [0] * (len(faults) - 1), faults
        shown = fascicolo(program, "verify", bag).stdout
        assert shown.count("✗") == 1 and f"and {len(faults) - 1} more of the same cause" in shown, shown
    # Two things that were changed are two causes.
    change("data/report.html", b"FAIL", b"PASS")(bag)
    assert fascicolo(program, "verify", bag).stdout.count("✗") == 2
