//! A copy that goes on elsewhere is a fork; a witness tells an extension from another log.

#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::fs;

use common::{copy, small};
use fascicolo_dossier::{
    Checkpoint, Dossier, Draft, Error, Kind, leaf_hash, verify, verify_consistency, verify_inclusion,
};

fn kept(path: &std::path::Path) -> Checkpoint {
    Checkpoint::parse(&fs::read(path.join("checkpoint")).unwrap()).unwrap()
}

#[test]
fn a_copy_that_goes_on_is_a_fork_and_no_origin_has_two_checkpoints_of_one_size() {
    let folder = tempfile::tempdir().unwrap();
    let original = folder.path().join("a.fascicolo");
    small(&original);
    let common = kept(&original);
    let paths = ["a", "b", "c"].map(|name| folder.path().join(format!("{name}.fascicolo")));
    copy(&original, &paths[1]);
    let mut states: BTreeMap<(String, u64), [u8; 32]> = BTreeMap::new();
    let mut sessions = Vec::new();
    for round in 0..3 {
        if round == 1 {
            // A copy of the copy, which its session still has open.
            copy(&paths[1], &paths[2]);
        }
        for path in &paths[..if round == 0 { 2 } else { 3 }] {
            let mut dossier = Dossier::open(path, format!("round {round}")).unwrap();
            dossier.append(Draft::new(Kind::Start)).unwrap();
            dossier.write_checkpoint().unwrap();
            let written = kept(path);
            assert_eq!(written, dossier.checkpoint());
            let before = states.insert((written.origin.clone(), written.size), written.root);
            assert!(before.is_none_or(|root| root == written.root));
            assert!(dossier.extends(&common).unwrap());
            sessions.push(dossier);
        }
    }
    let forks = |path| {
        let view = Dossier::read(path).unwrap();
        view.records().filter(|r| r.kind == Kind::Fork).map(|r| r.body.clone()).collect::<Vec<_>>()
    };
    assert_eq!(paths.each_ref().map(|path| forks(path).len()), [0, 1, 2]);
    let parent = &forks(&paths[1])[0]["parent"];
    assert_eq!((parent["origin"].as_str(), parent["size"].as_u64()), (Some(&*common.origin), Some(common.size)));
    assert_eq!(parent["root"], fascicolo_dossier::to_hex(&common.root));
    let origins: std::collections::BTreeSet<String> = paths.each_ref().map(|path| kept(path).origin).into();
    assert_eq!(origins.len(), 3);
    for path in &paths {
        let found = verify(path).unwrap();
        assert!(found.integrity && found.unproved_tail == 0, "{found:?}");
        assert_eq!(found.origin.unwrap(), kept(path).origin);
    }
    // The original does not extend the fork, nor the other way round.
    let views = paths.each_ref().map(|path| Dossier::read(path).unwrap());
    assert_eq!(views[0].extends(&kept(&paths[1])).unwrap_err().kind(), "other_log");
    assert!(!views[1].extends(&kept(&paths[0])).unwrap());
}

#[test]
fn a_moved_folder_is_no_fork_and_one_without_a_place_is() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (folder.path().join("old.fascicolo"), folder.path().join("new.fascicolo"));
    small(&old);
    let origin = Dossier::read(&old).unwrap().origin().to_owned();
    fs::rename(&old, &new).unwrap();
    assert_eq!(Dossier::open(&new, "s").unwrap().origin(), origin);
    // As in a fresh checkout, where git keeps no `place`.
    fs::remove_file(new.join("place")).unwrap();
    let dossier = Dossier::open(&new, "s").unwrap();
    assert_eq!(dossier.records().filter(|r| r.kind == Kind::Fork).count(), 1);
    assert!(dossier.origin() != origin && new.join("place").exists());
    let origin = dossier.origin().to_owned();
    drop(dossier);
    assert_eq!(Dossier::open(&new, "s").unwrap().origin(), origin);
    // A changed one leads to a fork, not to a fault.
    fs::write(new.join("place"), "1 2\n").unwrap();
    assert!(verify(&new).unwrap().integrity);
    assert_ne!(Dossier::open(&new, "s").unwrap().origin(), origin);
    assert!(verify(&new).unwrap().integrity);
}

/// The folder is replaced by a copy of itself while a session has it open.
#[test]
fn a_session_whose_folder_becomes_a_copy_forks_too() {
    let folder = tempfile::tempdir().unwrap();
    let (path, away) = (folder.path().join("d.fascicolo"), folder.path().join("away.fascicolo"));
    small(&path);
    let mut dossier = Dossier::open(&path, "s").unwrap();
    let origin = dossier.origin().to_owned();
    fs::rename(&path, &away).unwrap();
    copy(&away, &path);
    let appended = dossier.append(Draft::new(Kind::Start)).unwrap();
    assert_eq!(dossier.record(appended.seq - 1).unwrap().kind, Kind::Fork);
    assert_ne!(dossier.origin(), origin);
    assert_eq!(Dossier::open(&away, "s").unwrap().origin(), origin);
    assert!(verify(&path).unwrap().integrity && verify(&away).unwrap().integrity);
}

#[test]
fn a_torn_copy_names_the_parent_as_it_was_found() {
    let folder = tempfile::tempdir().unwrap();
    let (path, fork) = (folder.path().join("d.fascicolo"), folder.path().join("fork.fascicolo"));
    small(&path);
    copy(&path, &fork);
    let log = fs::read_to_string(fork.join("entries.jsonl")).unwrap();
    fs::write(fork.join("entries.jsonl"), log + "{\"v\":0").unwrap();
    let mut dossier = Dossier::open(&fork, "s").unwrap();
    let kinds: Vec<Kind> = dossier.records().skip(8).map(|r| r.kind).collect();
    assert_eq!(kinds, [Kind::Recover, Kind::Fork]);
    assert_eq!(dossier.record(9).unwrap().body["parent"]["size"], 8);
    dossier.write_checkpoint().unwrap();
    assert!(verify(&fork).unwrap().integrity);
}

/// A checkpoint with the parent's origin over entries of the fork, and a fork that lies about its parent.
#[test]
fn the_origin_of_a_checkpoint_must_be_the_one_in_force() {
    let folder = tempfile::tempdir().unwrap();
    let (path, fork) = (folder.path().join("d.fascicolo"), folder.path().join("fork.fascicolo"));
    small(&path);
    copy(&path, &fork);
    let mut dossier = Dossier::open(&fork, "s").unwrap();
    dossier.append(Draft::new(Kind::Start)).unwrap();
    dossier.write_checkpoint().unwrap();
    let true_one = kept(&fork);
    let parent = kept(&path).origin;
    fs::write(fork.join("checkpoint"), Checkpoint { origin: parent, ..true_one.clone() }.to_text()).unwrap();
    let found = verify(&fork).unwrap();
    assert_eq!((found.faults.len(), found.faults[0].file.as_str()), (1, "checkpoint"), "{found:?}");
    fs::remove_file(fork.join("checkpoint")).unwrap();
    // The whole log rebuilt with another parent: the chain holds, the parent does not.
    let text = fs::read_to_string(fork.join("entries.jsonl")).unwrap();
    let (mut rebuilt, mut prev) = (String::new(), "0".repeat(64));
    for line in text.lines() {
        let mut record = fascicolo_dossier::Record::from_leaf(line.as_bytes()).unwrap();
        record.prev = prev;
        if record.kind == Kind::Fork {
            record.body["parent"]["size"] = 7.into();
        }
        let leaf = record.to_leaf().unwrap();
        prev = fascicolo_dossier::to_hex(&leaf_hash(&leaf));
        rebuilt += &format!("{}\n", String::from_utf8(leaf).unwrap());
    }
    fs::write(fork.join("entries.jsonl"), rebuilt).unwrap();
    let found = verify(&fork).unwrap();
    assert_eq!(found.faults.iter().map(|f| f.entry).collect::<Vec<_>>(), [Some(8)], "{found:?}");
}

#[test]
fn a_witness_who_kept_a_checkpoint_tells_an_extension_from_a_rewritten_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.fascicolo");
    small(&path);
    let earlier = kept(&path);
    let mut dossier = Dossier::open(&path, "s").unwrap();
    for _ in 0..5 {
        dossier.append(Draft::new(Kind::Start)).unwrap();
    }
    assert!(dossier.extends(&earlier).unwrap() && dossier.extends(&dossier.checkpoint()).unwrap());
    let elsewhere = Checkpoint { origin: "fascicolo/00".into(), ..earlier.clone() };
    assert!(matches!(dossier.extends(&elsewhere), Err(Error::OtherLog { .. })));
    for other in [
        Checkpoint { size: 7, ..earlier.clone() },
        Checkpoint { size: 99, ..earlier.clone() },
        Checkpoint { size: 0, ..earlier.clone() },
        Checkpoint { root: [7; 32], ..earlier.clone() },
    ] {
        assert!(!dossier.extends(&other).unwrap(), "{other:?}");
    }
    // The same by proofs, for somebody who does not have the log.
    let new = dossier.checkpoint();
    let proof = dossier.consistency_proof(earlier.size, new.size).unwrap();
    assert!(verify_consistency(earlier.size, &earlier.root, new.size, &new.root, &proof));
    assert!(dossier.consistency_proof(9, 99).is_err() && dossier.consistency_proof(9, 8).is_err());
    for seq in 0..dossier.size() {
        let leaf = leaf_hash(&dossier.record(seq).unwrap().to_leaf().unwrap());
        assert_eq!(dossier.leaf_hash(seq), Some(leaf));
        let proof = dossier.inclusion_proof(seq).unwrap();
        assert!(verify_inclusion(&leaf, seq, new.size, &proof, &new.root));
    }
    assert!(dossier.inclusion_proof(new.size).is_err() && dossier.leaf_hash(new.size).is_none());
    // A log that was rebuilt verifies, but the witness knows better.
    fs::remove_dir_all(&path).unwrap();
    small(&path);
    assert!(verify(&path).unwrap().integrity && Dossier::read(&path).unwrap().extends(&earlier).is_err());
    let taken = Checkpoint { origin: Dossier::read(&path).unwrap().origin().to_owned(), ..earlier };
    assert!(!Dossier::read(&path).unwrap().extends(&taken).unwrap());
}
