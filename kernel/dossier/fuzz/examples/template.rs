//! Makes `template/` anew: `cargo run --example template`. Needs ssh-keygen; its key is thrown away.

use std::fs;
use std::process::Command;

use fascicolo_dossier::sign::SshKeygen;
use fascicolo_dossier::{CellRef, Dossier, Draft, FileSeen, Kind, verify};
use fascicolo_dossier_fuzz::template_folder;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("case.fascicolo");
    let mut dossier = Dossier::open(&path, "one").unwrap();
    let cell = CellRef { id: Some("a1b2".into()), n: 1 };
    let start = Draft {
        cell: Some(cell.clone()),
        private: vec![("ran".into(), "let x = \"\u{e9}\n\";".into()), ("note".into(), "small".into())],
        ..Draft::new(Kind::Start)
    };
    let start = dossier.append(start).unwrap().seq;
    let criterion =
        Draft { blobs: vec![("component".into(), b"\0asm \xff\xfe".to_vec())], ..Draft::new(Kind::Criterion) };
    dossier.append(criterion).unwrap();
    dossier.redact(start, "note", "private").unwrap();
    let verdict = Draft {
        private: vec![("shown".into(), "x".repeat(4_100)), ("path".into(), "a.parquet".into())],
        reads: vec![FileSeen { role: "candidate".into(), sha256: "ab".repeat(32), bytes: 10 }],
        ..Draft::new(Kind::Verdict)
    };
    dossier.append(verdict).unwrap();
    let end = Draft { start: Some(start), cell: Some(cell), status: Some("ok".into()), ..Draft::new(Kind::End) };
    dossier.append(end).unwrap();
    drop(dossier);
    // A torn tail and a copy: entries that tell of recovery and of a fork.
    let log = path.join("entries.jsonl");
    let content = fs::read_to_string(&log).unwrap();
    fs::write(folder.path().join("copy"), content + "{\"v\":1").unwrap();
    fs::rename(folder.path().join("copy"), &log).unwrap();
    let mut dossier = Dossier::open(&path, "two").unwrap();
    for (name, kind) in [("ed", "ed25519"), ("ec", "ecdsa")] {
        let key = folder.path().join(name);
        let made = Command::new("ssh-keygen").args(["-q", "-N", "", "-C", name, "-t", kind, "-f"]).arg(&key).status();
        assert!(made.unwrap().success());
        dossier.sign(&SshKeygen::new(&key)).unwrap();
    }
    dossier.write_checkpoint().unwrap();
    let found = verify(&path).unwrap();
    assert!(found.integrity && found.signatures.len() == 2, "{found:?}");
    let mut files = fascicolo_dossier_fuzz::Files::new();
    fascicolo_dossier_fuzz::collect(&path, "", &mut files);
    files.retain(|name, content| !matches!(name.as_str(), "lock" | "place") && !content.is_empty());
    fascicolo_dossier_fuzz::write(&template_folder(), &files);
    println!("{} files, {} bytes", files.len(), files.values().map(Vec::len).sum::<usize>());
}
