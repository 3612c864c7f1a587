//! Writes the first inputs below a folder, by target: `cargo run --example seeds -- corpus`. All are made from the
//! template; a folder that holds inputs already keeps them.

use std::fs;
use std::path::Path;

use fascicolo_dossier::bundle::{self, Case, CaseFile, Source};
use fascicolo_dossier_fuzz::{pack, template, write};

fn main() {
    let corpus = std::env::args().nth(1).unwrap_or_else(|| "corpus".to_owned());
    let put = |target: &str, name: &str, input: &[u8]| {
        let folder = Path::new(&corpus).join(target);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(name), input).unwrap();
    };
    let files = template();
    // The first byte says how the rest is taken: 0 as files, 1 as edits of the template.
    put("reader", "whole", &[&[0], &pack(&files)[..]].concat());
    for without in ["checkpoint", "signatures", "disclosures", "quarantine"] {
        let mut some = files.clone();
        some.retain(|name, _| !name.starts_with(without));
        put("reader", &format!("without-{without}"), &[&[0], &pack(&some)[..]].concat());
    }
    let noise: Vec<u8> = (0..512u32).flat_map(|i| i.wrapping_mul(0x9e37_79b9).to_be_bytes()).collect();
    for (n, edits) in noise.chunks(64).enumerate() {
        put("reader", &format!("edits-{n}"), &[&[1], edits].concat());
        put("importer", &format!("edits-{n}"), &[&[1], edits].concat());
    }
    for (n, line) in files["entries.jsonl"].split(|b| *b == b'\n').filter(|line| !line.is_empty()).enumerate() {
        put("record", &format!("entry-{n}"), line);
    }
    let folder = tempfile::tempdir().unwrap();
    let (dossier, zip) = (folder.path().join("case.fascicolo"), folder.path().join("case.zip"));
    write(&dossier, &files);
    fs::create_dir_all(dossier.join("blobs/tmp")).unwrap();
    let file = CaseFile { path: "case.ipynb".into(), source: Source::Bytes(b"{}".to_vec()) };
    bundle::write(&zip, &Case { name: "case".into(), dossier, files: vec![file], info: vec![] }).unwrap();
    put("importer", "whole", &[&[0], &fs::read(&zip).unwrap()[..]].concat());
}
