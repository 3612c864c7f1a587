//! A leaf that is read is written as the same bytes.
#![no_main]

use fascicolo_dossier::{LEAF_BYTES, Record};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|leaf: &[u8]| {
    if let Ok(record) = Record::from_leaf(leaf) {
        assert_eq!(record.to_leaf().unwrap(), leaf);
        assert!(leaf.len() <= LEAF_BYTES && !leaf.contains(&b'\n'));
        let _ = (record.redactions(), record.origin());
    }
});
