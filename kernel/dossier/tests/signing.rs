//! Signatures made by the stock tool are checked here and by the stock tool; every changed byte is named.

#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{copy, small};
use fascicolo_dossier::sign::{AllowedSigners, NAMESPACE, SshKeygen, note_verifier_key};
use fascicolo_dossier::{Dossier, Draft, Error, Kind, verify, verify_signed};

fn key(folder: &Path, name: &str, arguments: &[&str]) -> PathBuf {
    let path = folder.join(name);
    let arguments = [&["-q", "-N", "", "-C", name, "-f", path.to_str().unwrap()], arguments].concat();
    assert!(Command::new("ssh-keygen").args(arguments).status().unwrap().success());
    path
}

/// `ssh-keygen -Y verify`, with nothing of this crate.
fn stock_tool_accepts(allowed: &Path, signature: &Path, checkpoint: &Path) -> bool {
    let mut command = Command::new("ssh-keygen");
    command.args(["-Y", "verify", "-I", "ada", "-n", NAMESPACE, "-f"]).arg(allowed).arg("-s").arg(signature);
    command.stdin(fs::File::open(checkpoint).unwrap()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().unwrap().success()
}

#[test]
fn keys_of_each_type_sign_and_both_verifiers_agree() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.fascicolo");
    small(&path);
    let mut dossier = Dossier::open(&path, "s").unwrap();
    let mut lines = String::new();
    let mut files = Vec::new();
    let types =
        [("ed", &["-t", "ed25519"][..]), ("ec", &["-t", "ecdsa", "-b", "256"]), ("rsa", &["-t", "rsa", "-b", "2048"])];
    for (name, arguments) in types {
        let key = key(folder.path(), name, arguments);
        lines += &format!("ada namespaces=\"fascicolo-*\" {}", fs::read_to_string(key.with_extension("pub")).unwrap());
        let signed = dossier.sign(&SshKeygen::new(&key)).unwrap();
        assert_eq!(signed.checkpoint, dossier.checkpoint());
        assert_eq!(signed.files.len(), if name == "ed" { 3 } else { 2 });
        let record = dossier.record(signed.appended.seq).unwrap();
        assert_eq!((record.kind, record.body["namespace"].as_str()), (Kind::Sign, Some(NAMESPACE)));
        assert_eq!(record.body["fingerprint"], signed.fingerprint);
        let shown = Command::new("ssh-keygen").arg("-lf").arg(&key).output().unwrap().stdout;
        assert!(String::from_utf8(shown).unwrap().contains(&signed.fingerprint));
        files.push(signed.files);
        dossier.append(Draft::new(Kind::Start)).unwrap();
    }
    dossier.write_checkpoint().unwrap();
    let allowed = folder.path().join("allowed");
    fs::write(&allowed, &lines).unwrap();
    for files in &files {
        let (checkpoint, signature) = (path.join(&files[0]), path.join(&files[1]));
        assert!(stock_tool_accepts(&allowed, &signature, &checkpoint));
        assert!(!stock_tool_accepts(&allowed, &signature, &path.join("checkpoint")));
    }
    let found = verify_signed(&path, Some(&AllowedSigners::parse(&lines))).unwrap();
    assert!(found.integrity && found.unproved_tail == 0, "{found:?}");
    assert_eq!(found.signatures.iter().map(|s| s.size).collect::<Vec<_>>(), [9, 11, 13]);
    assert!(found.signatures.iter().all(|s| s.valid && s.known.as_deref() == Some("ada")), "{found:?}");
    // Without the file the signatures hold, but nobody is named.
    let found = verify(&path).unwrap();
    assert!(found.integrity && found.signatures.iter().all(|s| s.valid && s.known.is_none()));
    let ed = &found.signatures[0];
    let verifier = note_verifier_key(dossier.origin(), &ed.key).unwrap();
    assert!(ed.note && verifier.starts_with(&format!("{}+", dossier.origin())));
    assert!(note_verifier_key("x", &found.signatures[2].key).is_none());
    // No key material is in the dossier.
    for file in common::files(&path) {
        assert!(!String::from_utf8_lossy(&fs::read(file).unwrap()).contains("PRIVATE KEY"));
    }
}

#[test]
fn one_byte_changed_in_a_signature_file_is_found_and_its_entry_named() {
    let folder = tempfile::tempdir().unwrap();
    for (name, arguments) in [("ed", &["-t", "ed25519"][..]), ("ec", &["-t", "ecdsa", "-b", "256"])] {
        let path = folder.path().join(format!("{name}.fascicolo"));
        let mut dossier = Dossier::open(&path, "s").unwrap();
        let signed = dossier.sign(&SshKeygen::new(key(folder.path(), name, arguments))).unwrap();
        dossier.append(Draft::new(Kind::Start)).unwrap();
        dossier.write_checkpoint().unwrap();
        for file in &signed.files {
            let original = fs::read(path.join(file)).unwrap();
            let mut changed = original.clone();
            for at in 0..original.len() {
                for flip in [0x01, 0x04, 0x20, 0x80] {
                    changed[at] = original[at] ^ flip;
                    fs::write(path.join(file), &changed).unwrap();
                    let found = verify(&path).unwrap();
                    assert_eq!(found.faults.len(), 1, "{file}, byte {at} ^ {flip:#x}: {found:?}");
                    assert_eq!(
                        (found.faults[0].entry, &found.faults[0].file),
                        (Some(1), file),
                        "byte {at} ^ {flip:#x}"
                    );
                    assert!(!found.integrity && !found.signatures[0].valid);
                }
                changed[at] = original[at];
            }
            fs::write(path.join(file), [&original[..], b"\n"].concat()).unwrap();
            assert!(!verify(&path).unwrap().integrity, "{file}");
            fs::remove_file(path.join(file)).unwrap();
            let found = verify(&path).unwrap();
            assert_eq!((found.faults[0].entry, &found.faults[0].file), (Some(1), file), "{found:?}");
            assert!(found.faults[0].what.starts_with("is missing"), "{found:?}");
            fs::write(path.join(file), &original).unwrap();
        }
        assert!(verify(&path).unwrap().integrity);
    }
}

/// A log whose end was rebuilt, its checkpoint too, no longer meets what was signed; nor does one that was cut.
#[test]
fn a_signature_is_a_witness_against_a_log_that_was_rebuilt_or_cut() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.fascicolo");
    let mut dossier = Dossier::open(&path, "s").unwrap();
    for _ in 0..4 {
        dossier.append(Draft::new(Kind::Start)).unwrap();
    }
    let cut = folder.path().join("cut.fascicolo");
    copy(&path, &cut);
    fs::remove_file(cut.join("place")).unwrap();
    dossier.append(Draft::new(Kind::Start)).unwrap();
    let signed = dossier.sign(&SshKeygen::new(key(folder.path(), "k", &["-t", "ed25519"]))).unwrap();
    assert_eq!(signed.checkpoint.size, 7);
    for file in &signed.files {
        fs::copy(path.join(file), cut.join(file)).unwrap();
    }
    // Five of seven entries are left; the signed checkpoint tells.
    let found = verify(&cut).unwrap();
    assert_eq!(found.faults.iter().map(|f| f.entry).collect::<Vec<_>>(), [Some(5)], "{found:?}");
    assert!(matches!(Dossier::open(&cut, "s"), Err(Error::Tampered { fault, .. }) if fault.entry == Some(5)));
    assert!(matches!(Dossier::read(&cut), Err(Error::Tampered { .. })));
    // Rebuilt behind the cut, without the `sign` entry.
    for file in &signed.files {
        fs::remove_file(cut.join(file)).unwrap();
    }
    let mut rebuilt = Dossier::open(&cut, "s").unwrap();
    for _ in 0..5 {
        rebuilt.append(Draft::new(Kind::Start)).unwrap();
    }
    rebuilt.write_checkpoint().unwrap();
    for file in &signed.files {
        fs::copy(path.join(file), cut.join(file)).unwrap();
    }
    let found = verify(&cut).unwrap();
    assert_eq!(found.faults.len(), 1, "{found:?}");
    assert_eq!((found.faults[0].entry, &found.faults[0].file), (Some(6), &signed.files[0]), "{found:?}");
    assert!(verify(&path).unwrap().integrity);
}

#[cfg(unix)]
#[test]
fn keys_with_a_passphrase_and_keys_of_an_agent_sign_through_the_stock_tool() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let script = |name: &str, text: String| {
        let path = folder.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    let mut dossier = Dossier::open(folder.path().join("d.fascicolo"), "s").unwrap();
    let locked = folder.path().join("locked");
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "secret", "-f"]).arg(&locked).status();
    assert!(made.unwrap().success());
    let asking = script("ask", "echo secret".to_owned());
    let with_passphrase = script(
        "with-passphrase",
        format!("SSH_ASKPASS={} SSH_ASKPASS_REQUIRE=force exec ssh-keygen \"$@\"", asking.display()),
    );
    let signed = dossier.sign(&SshKeygen::new(&locked).with_program(&with_passphrase)).unwrap();
    assert_eq!(signed.files.len(), 2, "an encrypted key gives no note");
    // The user gives the wrong one, or there is no such key: nothing is written.
    let size = dossier.size();
    let wrong = script("wrong", "SSH_ASKPASS=false SSH_ASKPASS_REQUIRE=force exec ssh-keygen \"$@\"".to_owned());
    assert_eq!(dossier.sign(&SshKeygen::new(&locked).with_program(&wrong)).unwrap_err().kind(), "signing_failed");
    assert_eq!(dossier.sign(&SshKeygen::new(folder.path().join("none"))).unwrap_err().kind(), "signing_failed");
    assert_eq!(dossier.size(), size);

    let held = key(folder.path(), "held", &["-t", "ed25519"]);
    let socket = folder.path().join("agent");
    let mut agent = Command::new("ssh-agent").args(["-D", "-a"]).arg(&socket).stdout(Stdio::null()).spawn().unwrap();
    let added = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        let mut add = Command::new("ssh-add");
        add.env("SSH_AUTH_SOCK", &socket).arg("-q").arg(&held).stderr(Stdio::null()).status().unwrap().success()
    });
    fs::remove_file(&held).unwrap();
    let with_agent = script("with-agent", format!("SSH_AUTH_SOCK={} exec ssh-keygen \"$@\"", socket.display()));
    let signed = dossier.sign(&SshKeygen::new(held.with_extension("pub")).with_program(&with_agent));
    agent.kill().unwrap();
    agent.wait().unwrap();
    assert!(added && signed.unwrap().files.len() == 2);
    let found = verify(dossier.path()).unwrap();
    assert!(found.integrity && found.signatures.len() == 2 && found.signatures.iter().all(|s| s.valid), "{found:?}");
}

/// Redacted, forked and signed: each byte of those entries and of what is still disclosed.
#[test]
fn one_byte_changed_in_a_redacted_forked_and_signed_log_is_found_and_its_entry_named() {
    let folder = tempfile::tempdir().unwrap();
    let (first, path) = (folder.path().join("first.fascicolo"), folder.path().join("d.fascicolo"));
    small(&first);
    Dossier::open(&first, "s").unwrap().redact(1, "note", "private").unwrap();
    copy(&first, &path);
    let mut dossier = Dossier::open(&path, "s").unwrap();
    dossier.redact(4, "shown", "large").unwrap();
    dossier.sign(&SshKeygen::new(key(folder.path(), "k", &["-t", "ed25519"]))).unwrap();
    let private = vec![("ran".to_owned(), "last".to_owned())];
    dossier.append(Draft { private, ..Draft::new(Kind::Start) }).unwrap();
    dossier.write_checkpoint().unwrap();
    let kinds: Vec<Kind> = dossier.records().skip(8).map(|r| r.kind).collect();
    assert_eq!(kinds, [Kind::Redact, Kind::Fork, Kind::Redact, Kind::Sign, Kind::Start]);
    assert!(verify(&path).unwrap().integrity);
    for name in ["entries.jsonl", "disclosures/values.jsonl", "checkpoint"] {
        let original = fs::read(path.join(name)).unwrap();
        let mut changed = original.clone();
        let lines: Vec<&[u8]> = original.split(|b| *b == b'\n').collect();
        let seq = |line: usize| serde_json::from_slice::<serde_json::Value>(lines.get(line)?).ok()?["seq"].as_u64();
        for at in 0..original.len() {
            let line = common::line_of(&original, at);
            if name == "entries.jsonl" && line < 8 {
                continue;
            }
            for flip in [0x01, 0x04, 0x20, 0x80] {
                changed[at] = original[at] ^ flip;
                fs::write(path.join(name), &changed).unwrap();
                let found = verify(&path).unwrap();
                let may = if name == "checkpoint" { vec![Some(12)] } else { vec![seq(line), seq(line + 1)] };
                let may = if original[at] == b'\n' { &may[..] } else { &may[..1] };
                let named: Vec<Option<u64>> = found.faults.iter().map(|f| f.entry).collect();
                assert!(named.contains(&may[0]), "{name}, byte {at} ^ {flip:#x}: {found:#?}");
                assert!(named.iter().all(|n| may.contains(n)), "{name}, byte {at} ^ {flip:#x}: {found:#?}");
            }
            changed[at] = original[at];
        }
        fs::write(path.join(name), &original).unwrap();
    }
    assert!(verify(&path).unwrap().integrity);
}
