"""An exported case, checked by validators and verifiers that others wrote; each rejects it after one changed byte.

The RO-Crate by CRS4's validator; the log's tiles and checkpoint by a client of C2SP logs and by a library of Merkle
trees; the signed note by that client and by OpenSSL.
"""
import base64
import hashlib
import io
import json
import pathlib
import shutil
import subprocess
import sys

import pymerkle
import pytest
import requests
import requests_cache
import urllib3
from cryptography.exceptions import InvalidSignature
from tlog_scales.backend import LocalBackend
from tlog_scales.reader import TilesReader
from tlog_scales.signing import Vkey
from tlog_scales.tiles import leaf_hash
from tlog_scales.tlog import Checkpoint, InclusionProofInvalid

from conftest import REPOSITORY, export, fascicolo, unpack

CONTEXT = "https://w3id.org/ro/crate/1.1/context"

# What the validator recommends and a case cannot say: the log knows nobody's name.
UNKNOWN = {"agent", "author", "publisher"}


class OneDocument(requests.adapters.HTTPAdapter):
    """The published context, from the copy in the repository."""

    def send(self, request, **_):
        body = io.BytesIO((REPOSITORY / "tests/ro-crate/context-1.1.jsonld").read_bytes())
        headers = {"Content-Type": "application/ld+json"}
        raw = urllib3.HTTPResponse(body, headers, 200, preload_content=False, request_url=request.url)
        return self.build_response(request, raw)


@pytest.fixture(scope="module")
def validate(tmp_path_factory):
    """The validator, without a network: its cache holds the one document that it asks for."""
    folder = tmp_path_factory.mktemp("rocrate-validator")
    session = requests_cache.CachedSession(cache_name=str(folder / "cache"), backend="sqlite", expire_after=-1)
    session.mount(CONTEXT, OneDocument())
    session.get(CONTEXT)
    session.close()

    def run(crate, profile):
        report = folder / "report.json"
        report.unlink(missing_ok=True)
        ended = subprocess.run(
            [
                pathlib.Path(sys.executable).with_name("rocrate-validator"), "--no-interactive", "--disable-color", "validate",
                "--offline", "--cache-path", folder / "cache", "--no-paging", "--output-format", "json", "--output-file", report,
                "--profile-identifier", profile, "--requirement-severity", "recommended", crate,
            ],
            capture_output=True, text=True,
        )
        if not report.exists():
            return ended.returncode, [{"severity": "REQUIRED", "message": ended.stdout + ended.stderr}]
        return ended.returncode, json.loads(report.read_text())["issues"]

    return run


@pytest.mark.parametrize("profile", ["ro-crate-1.1", "process-run-crate-0.5"])
def test_the_crate_validator_finds_all_that_is_required_and_all_that_is_recommended_and_known(validate, bag, profile):
    _, issues = validate(bag / "data", profile)
    assert not [i for i in issues if i["severity"] == "REQUIRED"], issues
    missing = {i.get("violatingProperty", "").rsplit("/", 1)[-1] for i in issues}
    assert missing <= UNKNOWN, issues


def test_the_crate_validator_rejects_broken_json_and_a_missing_entity_and_a_missing_file(validate, bag):
    metadata = bag / "data" / "ro-crate-metadata.json"
    whole = metadata.read_text()
    without = lambda id: json.dumps({**json.loads(whole), "@graph": [e for e in json.loads(whole)["@graph"] if e["@id"] != id]})
    for changed in (whole.replace("{", "[", 1), without("./"), without("https://crates.io/crates/fascicolo")):
        metadata.write_text(changed)
        code, issues = validate(bag / "data", "process-run-crate-0.5")
        assert code != 0 and any(i["severity"] == "REQUIRED" for i in issues), changed[:200]
    metadata.write_text(whole)
    (bag / "data" / "report.html").unlink()
    code, issues = validate(bag / "data", "process-run-crate-0.5")
    assert code != 0 and any("report.html" in i["message"] for i in issues), issues


def test_the_crate_tells_each_comparison_as_the_log_does(program, bag):
    """What a validator cannot know: that the actions are those that took place."""
    graph = {e["@id"]: e for e in json.loads((bag / "data/ro-crate-metadata.json").read_text())["@graph"]}
    lines = (bag / "data/quickstart.fascicolo/entries.jsonl").read_text().splitlines()
    verdicts = [r for r in map(json.loads, lines) if r["kind"] == "verdict"]
    assert len(verdicts) == 4 and len(graph["./"]["mentions"]) == 4
    for verdict, mention in zip(verdicts, graph["./"]["mentions"]):
        action = graph[mention["@id"]]
        program_used = graph[action["instrument"]["@id"]]
        assert program_used["@type"] == "SoftwareApplication" and program_used["name"] == "Fascicolo"
        assert program_used["version"] == fascicolo(program, "--version").stdout.split()[-1]
        files = [bag / "data" / o["@id"] for o in action["object"] if graph[o["@id"]]["@type"] == "File"]
        assert {hashlib.sha256(f.read_bytes()).hexdigest() for f in files} == {r["sha256"] for r in verdict["reads"]}
        said = [graph[r["@id"]] for r in action["result"]]
        assert [s.get("value") for s in said] == [verdict["body"]["verdict"], None] and said[1]["@id"] == "report.html"
        start = json.loads(lines[verdict["start"]])
        assert (action["startTime"], action["endTime"]) == tuple(r["wall"].replace("Z", "+00:00") for r in (start, verdict))


@pytest.fixture(scope="module")
def signed(program, executed, tmp_path_factory):
    """The quickstart signed with an Ed25519 key and exported: the archive and the key's 32 bytes."""
    folder = tmp_path_factory.mktemp("signed")
    shutil.copytree(executed[0], folder / "notebooks")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "ada", "-f", folder / "id"], check=True)
    notebooks = folder / "notebooks"
    ended = fascicolo(program, "--dossier", notebooks / "quickstart.fascicolo", "dossier", "sign", "--ssh", folder / "id", cwd=notebooks)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    blob = base64.b64decode((folder / "id.pub").read_text().split()[1])
    return export(program, notebooks, notebooks / "quickstart.fascicolo", "case.zip"), blob[-32:]


@pytest.fixture
def signed_data(signed, tmp_path):
    """`data/` of the signed case, unpacked; the note; the key."""
    data = unpack(signed[0], tmp_path / "out") / "data"
    (note,) = (data / "quickstart.fascicolo" / "signatures").glob("*.note")
    return data, note, signed[1]


def checkpoint_of(data):
    """Origin, size and root of the checkpoint over the whole log."""
    origin, size, root = (data / "log" / "checkpoint").read_text().splitlines()[:3]
    return origin, int(size), base64.b64decode(root)


def flipped(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def openssl_verifies(text, signature, key, folder):
    """Whether OpenSSL takes the signature; the key in the form of RFC 8410."""
    der = bytes.fromhex("302a300506032b6570032100") + key
    (folder / "key.pem").write_text(f"-----BEGIN PUBLIC KEY-----\n{base64.b64encode(der).decode()}\n-----END PUBLIC KEY-----\n")
    (folder / "text").write_bytes(text)
    (folder / "signature").write_bytes(signature)
    command = "openssl pkeyutl -verify -pubin -inkey key.pem -rawin -in text -sigfile signature"
    return subprocess.run(command.split(), cwd=folder, capture_output=True).returncode == 0


def test_openssl_takes_the_signed_note_and_nothing_else(signed_data, tmp_path):
    """The text, the line and the key's hash as C2SP's signed-note says."""
    _, path, key = signed_data
    text, _, line = path.read_bytes().rpartition(b"\n\n")
    text += b"\n"
    dash, name, encoded = line.decode().split()
    blob = base64.b64decode(encoded, validate=True)
    assert dash == "\u2014" and len(blob) == 4 + 64
    assert name == text.decode().splitlines()[0], "the origin signs"
    assert blob[:4] == hashlib.sha256(name.encode() + b"\n" + b"\x01" + key).digest()[:4]
    assert openssl_verifies(text, blob[4:], key, tmp_path)
    for at in range(len(text)):
        if at % 9 == 0:
            changed = text[:at] + bytes([text[at] ^ 1]) + text[at + 1:]
            assert not openssl_verifies(changed, blob[4:], key, tmp_path), at
    assert not openssl_verifies(text, blob[4:-1] + bytes([blob[-1] ^ 1]), key, tmp_path)
    assert not openssl_verifies(text, blob[4:], bytes([key[0] ^ 1]) + key[1:], tmp_path)


def test_a_client_of_tlogs_takes_note_checkpoint_tiles_and_entries(signed_data):
    data, path, key = signed_data
    note = Checkpoint.from_text(path.read_text())
    note.verify(Vkey(note.origin, None, 1, key))
    origin, size, root = checkpoint_of(data)
    assert origin == note.origin and size >= note.size
    reader = TilesReader(LocalBackend(data / "log"))
    reader.set_size(size)
    assert reader.calculate_root_hash() == root
    reader.get_consistency_proof(note.size, size).check(note.root_hash, root)
    lines = (data / "quickstart.fascicolo" / "entries.jsonl").read_bytes().splitlines()
    assert len(lines) == size
    for index, line in enumerate(lines):
        assert reader.get_entry(index) == line
        reader.get_inclusion_proof(index, size).check(leaf_hash(line), root)


def test_a_client_of_tlogs_rejects_a_changed_note_tile_and_entry(signed_data):
    data, path, key = signed_data
    _, size, root = checkpoint_of(data)
    vkey = Vkey(Checkpoint.from_text(path.read_text()).origin, None, 1, key)
    whole = path.read_text()
    number = whole.splitlines()[1]
    for changed in (whole.replace(f"\n{number}\n", f"\n{int(number) + 1}\n"), whole.replace(vkey.name, vkey.name + "x")):
        with pytest.raises((InvalidSignature, RuntimeError)):
            Checkpoint.from_text(changed).verify(vkey)

    def reader():
        reader = TilesReader(LocalBackend(data / "log"))
        reader.set_size(size)
        return reader

    (entries,) = (data / "log/tile/entries").rglob("*.p/*")
    flipped(entries, 40)
    first = reader().get_entry(0)
    with pytest.raises(InclusionProofInvalid):
        reader().get_inclusion_proof(0, size).check(leaf_hash(first), root)
    (hashes,) = (data / "log/tile/0").rglob("*.p/*")
    flipped(hashes, 40)
    assert reader().calculate_root_hash() != root


def test_a_library_of_merkle_trees_and_hashlib_find_the_checkpoints_root_from_the_entries(signed_data):
    data, note, _ = signed_data
    _, size, root = checkpoint_of(data)

    def leaves():
        """Entries of the bundles: each its length in two bytes, then itself."""
        found = []
        for bundle in sorted(p for p in (data / "log/tile/entries").rglob("*") if p.is_file()):
            content = io.BytesIO(bundle.read_bytes())
            while length := content.read(2):
                found.append(content.read(int.from_bytes(length, "big")))
        return found

    def by_pymerkle(entries):
        tree = pymerkle.InmemoryTree(algorithm="sha256")
        tree.append_entries(entries)
        return tree.get_root()

    def by_hashlib(entries):
        """RFC 6962, section 2.1."""
        if len(entries) == 1:
            return hashlib.sha256(b"\0" + entries[0]).digest()
        split = 1 << ((len(entries) - 1).bit_length() - 1)
        return hashlib.sha256(b"\1" + by_hashlib(entries[:split]) + by_hashlib(entries[split:])).digest()

    entries = leaves()
    assert len(entries) == size
    _, signed_size, signed_root = note.read_text().splitlines()[:3]
    for find in (by_pymerkle, by_hashlib):
        assert find(entries) == root
        assert base64.b64encode(find(entries[: int(signed_size)])).decode() == signed_root
    (bundle,) = (p for p in (data / "log/tile/entries").rglob("*") if p.is_file())
    flipped(bundle, bundle.stat().st_size - 1)
    changed = leaves()
    assert by_pymerkle(changed) != root and by_hashlib(changed) != root
