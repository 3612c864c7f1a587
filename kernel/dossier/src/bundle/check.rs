//! An unpacked bag against its manifests, and the tiles in it against the dossier.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::bag::{self, BagFault, PAYLOAD};
use super::error::BundleError;
use super::plan;
use super::write::LOG;
use crate::checkpoint::Checkpoint;
use crate::disk;
use crate::layout::{CHECKPOINT, ENTRIES, at};
use crate::tree::{Hash, to_hex};

/// Largest text of the bag that is read into memory; a manifest of a million files is smaller.
const TEXT_BYTES: u64 = 256 << 20;

/// What a file of the bag is.
struct Present {
    sha256: Hash,
    bytes: u64,
}

/// Checks an unpacked bag. Returns its dossier, and what is not as it was written.
pub(super) fn check(folder: &Path) -> Result<(PathBuf, Vec<BagFault>), BundleError> {
    if !at(folder, bag::BAGIT).is_file() {
        return Err(BundleError::NotABag { path: folder.to_path_buf(), why: "it has no bagit.txt" });
    }
    let mut present = BTreeMap::new();
    hash_all(folder, "", &mut present)?;
    let mut faults = Vec::new();
    let mut fault = |file: &str, what: String| faults.push(BagFault { file: file.to_owned(), what });

    let mut text = |name: &str| -> Result<String, BundleError> {
        let path = at(folder, name);
        match present.get(name) {
            None => fault(name, "is missing".to_owned()),
            Some(file) if file.bytes > TEXT_BYTES => fault(name, format!("has {} bytes", file.bytes)),
            Some(_) => match String::from_utf8(fs::read(&path).map_err(BundleError::io("read", &path))?) {
                Ok(text) => return Ok(text),
                Err(_) => fault(name, "is not in UTF-8".to_owned()),
            },
        }
        Ok(String::new())
    };
    let (declaration, info) = (text(bag::BAGIT)?, text(bag::INFO)?);
    let (manifest, tags) = (text(bag::MANIFEST)?, text(bag::TAGS)?);
    if declaration != bag::DECLARATION {
        fault(bag::BAGIT, "does not declare BagIt 1.0 in UTF-8".to_owned());
    }
    let is_payload = |path: &str| path.strip_prefix(PAYLOAD).is_some_and(|rest| rest.starts_with('/'));
    let payload = present.iter().filter(|(path, _)| is_payload(path));
    let (bytes, files) = payload.fold((0, 0), |(bytes, files), (_, file)| (bytes + file.bytes, files + 1));
    listed(bag::MANIFEST, &manifest, &present, is_payload, &mut faults);
    listed(bag::TAGS, &tags, &present, |path| !is_payload(path) && path != bag::TAGS, &mut faults);
    // Last: which file it was says more than that their sum differs.
    let mut fault = |what: String| faults.push(BagFault { file: bag::INFO.to_owned(), what });
    match bag::info_value(&info, bag::OXUM) {
        Some(oxum) if oxum == format!("{bytes}.{files}") => {}
        Some(oxum) => fault(format!("says {oxum} bytes.files of payload, there are {bytes}.{files}")),
        None => fault(format!("does not give {} once", bag::OXUM)),
    }

    let dossier = dossier(folder, &info)?;
    tiles(folder, &dossier, &present, &mut faults)?;
    Ok((dossier, faults))
}

/// Hashes every file, by its path in the bag.
fn hash_all(folder: &Path, below: &str, present: &mut BTreeMap<String, Present>) -> Result<(), BundleError> {
    for item in fs::read_dir(folder).map_err(BundleError::io("list", folder))? {
        let item = item.map_err(BundleError::io("list", folder))?;
        // Names come from the zip, in UTF-8.
        let name = format!("{below}{}", item.file_name().to_string_lossy());
        let path = item.path();
        if item.file_type().map_err(BundleError::io("look at", &path))?.is_dir() {
            hash_all(&path, &format!("{name}/"), present)?;
        } else {
            let digest = File::open(&path).and_then(plan::digest);
            let (sha256, bytes) = digest.map_err(BundleError::io("read", &path))?;
            present.insert(name, Present { sha256, bytes });
        }
    }
    Ok(())
}

/// Compares a manifest with the files that it is to list.
fn listed(
    name: &str,
    text: &str,
    present: &BTreeMap<String, Present>,
    belongs: impl Fn(&str) -> bool,
    faults: &mut Vec<BagFault>,
) {
    let mut fault = |file: &str, what: String| faults.push(BagFault { file: file.to_owned(), what });
    let Some(lines) = bag::parse_manifest(text) else {
        return fault(name, "has a line that is not a SHA-256, two spaces and a path".to_owned());
    };
    let mut seen = BTreeSet::new();
    for (digest, path) in lines {
        if !seen.insert(path) {
            fault(path, format!("is listed twice in {name}"));
        }
        match present.get(path) {
            _ if !belongs(path) => fault(path, format!("is listed in {name}, where it does not belong")),
            None => fault(path, format!("is listed in {name} and missing")),
            Some(file) if file.sha256 != digest => {
                fault(
                    path,
                    format!("was changed: its SHA-256 is {}, {name} says {}", to_hex(&file.sha256), to_hex(&digest)),
                );
            }
            Some(_) => {}
        }
    }
    for path in present.keys().filter(|path| belongs(path) && !seen.contains(path.as_str())) {
        fault(path, format!("is not listed in {name}"));
    }
}

/// The one dossier of the payload, or the one that the bag's own text names.
fn dossier(folder: &Path, info: &str) -> Result<PathBuf, BundleError> {
    let data = at(folder, PAYLOAD);
    let mut found: Vec<String> = disk::names(&data)?;
    found.retain(|name| data.join(name).join(ENTRIES).is_file());
    if let [one] = found.as_slice() {
        return Ok(data.join(one));
    }
    // Compared with what is there, never made a path of.
    let named = bag::info_value(info, bag::DOSSIER);
    match found.iter().find(|name| Some(name.as_str()) == named) {
        Some(name) => Ok(data.join(name)),
        None => Err(BundleError::NoDossier { path: folder.to_path_buf(), found: found.len() }),
    }
}

/// Computes the tiles again from the dossier's entries.
fn tiles(
    folder: &Path,
    dossier: &Path,
    present: &BTreeMap<String, Present>,
    faults: &mut Vec<BagFault>,
) -> Result<(), BundleError> {
    let mut fault = |file: &str, what: String| faults.push(BagFault { file: file.to_owned(), what });
    let prefix = format!("{PAYLOAD}/{LOG}/");
    let entries = at(dossier, ENTRIES);
    let log = match plan::scan(&entries).map_err(BundleError::io("read", &entries))? {
        Ok(log) => log,
        Err(why) => {
            fault(&prefix, format!("cannot be compared with the dossier: {why}"));
            return Ok(());
        }
    };
    let path = format!("{prefix}{CHECKPOINT}");
    let text = disk::read_from(&at(folder, &path), 0)?;
    match text.as_deref().and_then(Checkpoint::parse) {
        None => fault(&path, "is missing or cannot be read".to_owned()),
        Some(checkpoint) if checkpoint.size != log.size => {
            fault(&path, format!("covers {} entries, the dossier has {}", checkpoint.size, log.size));
        }
        Some(checkpoint) if checkpoint.root != log.root => fault(&path, "has another root than the entries".to_owned()),
        Some(_) if text != disk::read_from(&at(dossier, CHECKPOINT), 0)? => {
            fault(&path, "is not the dossier's checkpoint".to_owned());
        }
        Some(_) => {}
    }
    let mut expected = BTreeSet::from([path]);
    for tile in log.files {
        let path = format!("{prefix}{}", tile.path);
        match present.get(&path) {
            None => fault(&path, "is missing".to_owned()),
            Some(file) if (file.sha256, file.bytes) != (tile.sha256, tile.bytes) => {
                fault(&path, "does not hold what the dossier's entries give".to_owned());
            }
            Some(_) => {}
        }
        expected.insert(path);
    }
    for path in present.keys().filter(|path| path.starts_with(&prefix) && !expected.contains(*path)) {
        fault(path, format!("is no tile of a log of {} entries", log.size));
    }
    Ok(())
}
