//! `%dossier import`: another machine's case joins this one. Nothing of it is executed.
//!
//! Its log becomes a parent of this one; its references, criteria, seals and openings are entered here again, in their
//! order, so that they count: a candidate made here is judged under the seal made there, and what was opened there
//! before it was sealed stays opened. Its files go into a folder of their own beside the notebook.

use super::files::{Watching, bytes_digest};
use super::{Done, bound, export, stored};
use crate::failure::Failure;
use crate::front::FrontEnd;
use crate::ledger;
use crate::session::{Place, Session};
use fascicolo_contract::Standing;
use fascicolo_dossier::bundle::{self, Opened};
use fascicolo_dossier::{Dossier, Draft, FileSeen, Kind, View};
use fascicolo_embeddings::Watch;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What of another log is entered here again: what rules are derived from.
const REPEATED: [Kind; 4] = [Kind::Reference, Kind::Criterion, Kind::Declare, Kind::Opened];

pub fn perform(
    session: &mut Session,
    zip: &Path,
    into: Option<&Path>,
    place: &Place,
    front: &dyn FrontEnd,
) -> Result<Done, Failure> {
    front.progress("unpacking and verifying", None);
    let watch =
        Watching { what: "reading the files of the case".to_owned(), front, interrupt: session.interrupt.clone() };
    let path = session.resolve(zip);
    let unpacked = tempfile::tempdir().map_err(|e| io("a temporary folder cannot be made", e))?;
    let opened = bundle::read(&path, unpacked.path(), &bundle::Limits::default())
        .map_err(|error| Failure::from(error).of_case(unpacked.path(), zip).of_case(&path, zip))?;
    bound::must_hold(zip, &opened, "imported")?;
    let log = Dossier::read(&opened.dossier)?;
    let into = into.map_or_else(|| PathBuf::from(&opened.name), Path::to_owned);
    let target = session.resolve(&into);
    let files = files(&opened, &watch)?;
    must_be_free(&target, &files, &watch)?;

    let shown: BTreeMap<String, &str> = files
        .iter()
        .map(|(name, file)| (into.join(name).to_string_lossy().into_owned(), file.sha256.as_str()))
        .collect();
    let result = json!({
        "case": zip.display().to_string(), "name": opened.name, "folder": into.display().to_string(), "files": shown,
        "origin": log.origin(), "entries": log.size(), "root": log.root_hex(),
        "reference": ledger::reference(&log).map(|r| json!({ "name": r.name, "identity": r.identity })),
        "seals": seals(&log), "opened": log.records().filter(|r| r.kind == Kind::Opened && !r.reads.is_empty()).count(),
        "verdicts": log.records().filter(|r| r.kind == Kind::Verdict).count(),
        "signatures": opened.verification.signatures,
    });
    let (sha256, bytes) = bytes_digest(&path, &watch)?;
    let mut draft = Draft {
        private: vec![("case".to_owned(), zip.display().to_string()), ("result".to_owned(), result.to_string())],
        reads: vec![FileSeen { role: "case".to_owned(), sha256, bytes }],
        ..Draft::new(Kind::Import)
    };
    place.mark(&mut draft);
    let imported = session.import(&opened.dossier, &REPEATED, draft).map_err(|failure| {
        let mut failure = failure.of_case(&opened.dossier, zip).of_case(unpacked.path(), zip);
        if failure.kind == "not_importable" {
            failure.next =
                "ask whoever exported it which of the two logs is theirs; nothing was changed here".to_owned();
        }
        failure
    })?;
    for (name, file) in &files {
        let to = target.join(name);
        if !to.exists() {
            let copied =
                to.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::copy(&file.path, &to));
            copied.map_err(|e| io(&format!("{} cannot be written", to.display()), e))?;
        }
    }
    let mut result = stored(&session.dossier, imported.entry)?;
    result["repeated"] = json!(imported.repeated.len());
    result["redacted"] = json!(imported.redacted);
    result["already"] = json!(imported.appended.is_none());
    // One that a reader will want to look at: their last verdict, or else the last entry that counts here.
    let of = |kinds: &[Kind]| log.records().rev().find(|r| r.from.is_none() && kinds.contains(&r.kind)).map(|r| r.seq);
    let example = of(&[Kind::Verdict]).or_else(|| of(&REPEATED)).unwrap_or_default();
    result["prefix"] = json!(super::entry::prefix(&session.dossier, log.origin()));
    result["example"] = json!(example);
    result["dossier"] = json!({ "entry": imported.entry, "root": session.dossier.root_hex() });
    Ok(Done::shown("dossier_import", result))
}

fn io(what: &str, e: std::io::Error) -> Failure {
    Failure {
        standing: Standing::CannotTell,
        ..Failure::refused("import_io", format!("{what}: {e}"), "check space and permissions, then import again")
    }
}

/// A file of the other case.
struct Brought {
    path: PathBuf,
    sha256: String,
}

/// The data and the notebook of a case, by their paths in it.
fn files(opened: &Opened, watch: &dyn Watch) -> Result<BTreeMap<String, Brought>, Failure> {
    let data = opened.folder.join("data");
    let dossier = opened.dossier.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let mut files = BTreeMap::new();
    for name in export::case_files(&data, &dossier) {
        let path = data.join(&name);
        let (sha256, _) = bytes_digest(&path, watch)?;
        files.insert(name, Brought { path, sha256 });
    }
    Ok(files)
}

/// Nothing that is there already is written over.
fn must_be_free(target: &Path, files: &BTreeMap<String, Brought>, watch: &dyn Watch) -> Result<(), Failure> {
    for (name, file) in files {
        let to = target.join(name);
        let same = to.is_file() && bytes_digest(&to, watch)?.0 == file.sha256;
        if to.exists() && !same {
            return Err(Failure {
                place: Some(to.display().to_string()),
                ..Failure::refused(
                    "file_in_the_way",
                    format!("{} is there already, and is not the file that the case brings", to.display()),
                    "name another folder with --into; nothing was imported",
                )
            });
        }
    }
    Ok(())
}

fn seals(log: &View) -> Value {
    log.records()
        .filter(|r| r.kind == Kind::Declare)
        .map(|r| json!({ "entry": r.seq, "criterion": r.body["criterion"], "parameters": r.body["parameters"] }))
        .collect()
}
