//! Whatever a bundle holds, unpacking it ends without a panic, writes nowhere else, and makes nothing but plain files.
#![no_main]

use std::fs;
use std::io::{Cursor, Write};
use std::path::Path;
use std::sync::LazyLock;

use arbitrary::Arbitrary;
use fascicolo_dossier::bundle::{self, Case, CaseFile, Limits, Source};
use fascicolo_dossier::{Dossier, sha256, to_hex};
use fascicolo_dossier_fuzz::{Edit, Files, apply, collect, cover, relink, scratch, template_folder};
use libfuzzer_sys::fuzz_target;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const LIMITS: Limits = Limits { entries: 64, total_bytes: 1 << 20, ratio: 100 };

/// What is done to a valid bundle.
#[derive(Debug, Arbitrary)]
enum Change {
    /// Bytes of the zip are edited.
    Zip(Vec<Edit>),
    /// Files of the bag are edited and renamed, and packed as a zip without fault.
    Bag {
        edits: Vec<Edit>,
        renamed: Vec<(u8, String)>,
        relinked: bool,
        covered: bool,
        manifests: bool,
        link: Option<u8>,
    },
}

struct Valid {
    zip: Vec<u8>,
    files: Files,
}

static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(scratch);
static VALID: LazyLock<Valid> = LazyLock::new(|| {
    let folder = scratch();
    let dossier = folder.path().join("case.fascicolo");
    let mut own = Files::new();
    collect(&template_folder(), "", &mut own);
    fascicolo_dossier_fuzz::write(&dossier, &own);
    fs::create_dir_all(dossier.join("blobs/tmp")).unwrap();
    let zip = folder.path().join("case.zip");
    let file = CaseFile { path: "case.ipynb".into(), source: Source::Bytes(b"{\"cells\": []}\n".to_vec()) };
    let case = Case { name: "case".into(), dossier, files: vec![file], info: vec![] };
    bundle::write(&zip, &case).unwrap();
    let opened = bundle::read(&zip, &folder.path().join("into"), &LIMITS).unwrap();
    assert!(opened.integrity(), "{opened:?}");
    let mut files = Files::new();
    collect(&opened.folder, "", &mut files);
    Valid { zip: fs::read(&zip).unwrap(), files }
});

/// The dossier's files within a bag.
const WITHIN: &str = "data/case.fascicolo/";

fn packed(change: &Change) -> Vec<u8> {
    match change {
        Change::Zip(edits) => {
            let mut files = Files::from([("zip".to_owned(), VALID.zip.clone())]);
            apply(&mut files, edits);
            files.remove("zip").unwrap_or_default()
        }
        Change::Bag { edits, renamed, relinked, covered, manifests, link } => {
            let mut files = VALID.files.clone();
            apply(&mut files, edits);
            let mut own: Files = files
                .iter()
                .filter_map(|(name, content)| Some((name.strip_prefix(WITHIN)?.to_owned(), content.clone())))
                .collect();
            if *relinked {
                relink(&mut own);
            }
            if *covered {
                cover(&mut own);
            }
            files.extend(own.into_iter().map(|(name, content)| (format!("{WITHIN}{name}"), content)));
            if *manifests {
                let list = |payload: bool| -> Vec<u8> {
                    let listed = files.iter().filter(|(name, _)| {
                        name.starts_with("data/") == payload && name.as_str() != "tagmanifest-sha256.txt"
                    });
                    listed.flat_map(|(name, c)| format!("{}  {name}\n", to_hex(&sha256(c))).into_bytes()).collect()
                };
                let payload = list(true);
                files.insert("manifest-sha256.txt".into(), payload);
            }
            let mut names: Vec<String> = files.keys().map(|name| format!("case/{name}")).collect();
            for (which, name) in renamed {
                let count = names.len().max(1);
                if let Some(old) = names.get_mut(usize::from(*which) % count) {
                    *old = name.clone();
                }
            }
            let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
            for (n, (name, content)) in names.iter().zip(files.values()).enumerate() {
                let method = if n % 2 == 0 { CompressionMethod::Stored } else { CompressionMethod::Deflated };
                let options = SimpleFileOptions::default().compression_method(method);
                if link.is_some_and(|link| usize::from(link) == n) {
                    let _ = writer.add_symlink(name, "../../outside", options);
                } else if writer.start_file(name, options).is_ok() {
                    let _ = writer.write_all(content);
                }
            }
            writer.finish().map(Cursor::into_inner).unwrap_or_default()
        }
    }
}

/// Only plain files and folders, and no more bytes than allowed.
fn must_be_plain(folder: &Path, bytes: &mut u64) {
    for item in fs::read_dir(folder).unwrap() {
        let item = item.unwrap();
        let kind = item.file_type().unwrap();
        assert!(kind.is_dir() || kind.is_file(), "{} is neither file nor folder", item.path().display());
        if kind.is_dir() {
            must_be_plain(&item.path(), bytes);
        } else {
            *bytes += item.metadata().unwrap().len();
        }
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((how, rest)) = input.split_first() else { return };
    let zip = if how % 2 == 0 {
        rest.to_vec()
    } else {
        match Change::arbitrary_take_rest(arbitrary::Unstructured::new(rest)) {
            Ok(change) => packed(&change),
            Err(_) => return,
        }
    };
    let outer = FOLDER.path().join("outer");
    let _ = fs::remove_dir_all(&outer);
    let into = outer.join("deep/into");
    fs::create_dir_all(outer.join("deep")).unwrap();
    let file = outer.join("z.zip");
    fs::write(&file, &zip).unwrap();
    match bundle::read(&file, &into, &LIMITS) {
        Ok(opened) if opened.integrity() => {
            let view = Dossier::read(&opened.dossier).unwrap_or_else(|e| panic!("it verifies, but is not read: {e}"));
            assert_eq!(view.size(), opened.verification.entries);
        }
        Ok(opened) => assert!(opened.folder.starts_with(&into) && opened.dossier.starts_with(&opened.folder)),
        Err(error) => assert!(!error.to_string().is_empty() && !error.next_step().is_empty()),
    }
    let names = |folder: &Path| -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|item| item.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(&outer), ["deep", "z.zip"]);
    assert!(names(&outer.join("deep")).iter().all(|name| name == "into"));
    assert!(!names(FOLDER.path()).iter().any(|name| name != "outer"));
    assert!(fs::read(&file).unwrap() == zip, "the bundle itself was written to");
    let mut bytes = 0;
    if into.exists() {
        must_be_plain(&into, &mut bytes);
    }
    assert!(bytes <= LIMITS.total_bytes, "{bytes} bytes were unpacked");
});
