//! Whatever stands in a dossier's folder, verifying and reading end without a panic, agree with each other, and change
//! nothing.
#![no_main]

use std::sync::LazyLock;

use arbitrary::Arbitrary;
use fascicolo_dossier::{Dossier, verify};
use fascicolo_dossier_fuzz::{Edit, Files, apply, collect, cover, relink, scratch, template, unpack, write};
use libfuzzer_sys::fuzz_target;

/// What is done to the valid dossier.
#[derive(Debug, Arbitrary)]
struct Change {
    relinked: bool,
    covered: bool,
    edits: Vec<Edit>,
}

static TEMPLATE: LazyLock<Files> = LazyLock::new(template);
static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(scratch);

fuzz_target!(|input: &[u8]| {
    let Some((how, rest)) = input.split_first() else { return };
    let files = if how % 2 == 0 {
        unpack(rest, &TEMPLATE)
    } else {
        let Ok(change) = Change::arbitrary_take_rest(arbitrary::Unstructured::new(rest)) else { return };
        let mut files = TEMPLATE.clone();
        apply(&mut files, &change.edits);
        if change.relinked {
            relink(&mut files);
        }
        if change.covered {
            cover(&mut files);
        }
        files
    };
    let path = FOLDER.path().join("d.fascicolo");
    write(&path, &files);
    let mut before = Files::new();
    collect(&path, "", &mut before);
    let read = Dossier::read(&path);
    if let Ok(found) = verify(&path) {
        assert_eq!(found.integrity, found.faults.is_empty());
        for fault in &found.faults {
            let _ = (fault.place(), fault.to_string());
        }
        if found.integrity {
            let view = read.as_ref().unwrap_or_else(|e| panic!("it verifies, but cannot be read: {e}"));
            assert_eq!(Some(view.root_hex()), found.root);
            assert_eq!(view.size(), found.entries);
            for record in view.records() {
                for field in record.committed.keys() {
                    let value = view.value(record.seq, field);
                    assert!(value.is_ok(), "it verifies, but a value cannot be had: {value:?}");
                }
                for blob in record.blobs.values() {
                    assert!(view.blob(&blob.blob).is_ok(), "it verifies, but a blob cannot be had");
                }
            }
        }
    }
    if let Err(error) = &read {
        assert!(!error.to_string().is_empty() && !error.next_step().is_empty());
    }
    let mut after = Files::new();
    collect(&path, "", &mut after);
    assert!(before == after, "looking at it changed it");
});
