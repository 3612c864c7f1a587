//! Gathers what `%dossier status` puts beside the log: the saved notebook, the files that the case names, the machine.
//!
//! Only looks: a case file may be anybody's, so no program is started because its log names one. An interpreter that the
//! log names is asked only in the session that recorded it.

use super::files::bytes_digest;
use crate::validity::{self, EnvironmentNow, FileNow, Presented};
use fascicolo_dossier::{Record, View};
use fascicolo_embeddings::Watch;
use fascicolo_environment::redaction;
use fascicolo_environment::snapshot::{Request, Snapshot};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Where a status is asked for.
pub struct Here<'a> {
    /// The folders that the paths of the log may start from; never empty.
    pub folders: Vec<PathBuf>,
    /// The session that asks, if it is one of this log.
    pub session: Option<String>,
    /// Who is told how far the reading of files is, and may stop it.
    pub watch: &'a dyn Watch,
}

/// The five answers about the notebook beside the case file, and which notebook that is.
pub fn validity(log: &View, here: &Here<'_>) -> Value {
    let beside = validity::beside(log.path());
    let path = &beside.path;
    let (notebook, missing) = match read(path) {
        Ok(notebook) => (Some(notebook), None),
        Err(why) => (None, Some(why)),
    };
    let named = super::export::named_files(log);
    let files = named.into_iter().map(|(path, sha256)| (path.clone(), file_now(&path, &sha256, here))).collect();
    let environment = match validity::last_snapshot(log, notebook.as_ref(), true) {
        Some(snapshot) => environment(log, snapshot, here),
        // Nothing to compare with.
        None => EnvironmentNow::NotAsked,
    };
    let mut result = validity::judge(log, &Presented { notebook: notebook.as_ref(), files, environment, here: true });
    let saved = std::fs::metadata(path).and_then(|about| about.modified()).ok();
    let saved = saved
        .map(|time| chrono::DateTime::<chrono::Utc>::from(time).to_rfc3339_opts(chrono::SecondsFormat::Secs, true));
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let texts = notebook.as_ref().map(validity::texts).unwrap_or_default();
    result["texts"] = texts.iter().map(|text| crate::session::mask(&text.name)).collect();
    result["notebook"] = json!({
        "name": name, "saved": saved.filter(|_| missing.is_none()), "missing": missing, "passed_over": beside.told(),
    });
    result
}

fn read(path: &Path) -> Result<Value, String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    serde_json::from_str(&text).map_err(|e| format!("it is no notebook: {e}"))
}

fn file_now(path: &str, sha256: &str, here: &Here<'_>) -> FileNow {
    // Where nothing is found the first folder is as good as any.
    let full = below_home(path).unwrap_or_else(|| {
        let all = here.folders.iter().map(|folder| folder.join(path));
        let there = all.clone().find(|full| full.exists());
        there.or_else(|| all.into_iter().next()).unwrap_or_else(|| PathBuf::from(path))
    });
    if !full.exists() {
        return FileNow::Gone;
    }
    match bytes_digest(&full, here.watch) {
        Ok((found, _)) if found == sha256 => FileNow::AsRead,
        Ok(_) => FileNow::Changed,
        Err(failure) => FileNow::Unknown(failure.message),
    }
}

/// Where a path lies that the log gives as one below the home folder.
fn below_home(path: &str) -> Option<PathBuf> {
    Some(redaction::home()?.join(path.strip_prefix("~/")?))
}

/// A snapshot of now, of the interpreter that the earlier one looked into.
fn environment(log: &View, then: &Record, here: &Here<'_>) -> EnvironmentNow {
    let told = log.value(then.seq, "result").ok().flatten();
    let then_read: Value = told.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let executable = |snapshot: &Value| snapshot["interpreter"]["value"]["executable"].as_str().map(str::to_owned);
    let folder = here.folders.first().cloned().unwrap_or_default();
    let found = match take(None, &folder) {
        Ok(found) => found,
        Err(why) => return EnvironmentNow::NotTaken(why),
    };
    match (executable(&then_read), executable(&found)) {
        (Some(then_asked), now) if now.as_ref() != Some(&then_asked) => {
            let own = here.session.as_deref() == Some(then.session.as_str());
            let full = below_home(&then_asked).unwrap_or_else(|| PathBuf::from(&then_asked));
            if own {
                return take(Some(full), &folder).map_or_else(EnvironmentNow::NotTaken, EnvironmentNow::Taken);
            }
            EnvironmentNow::NotTaken(format!(
                "the snapshot of entry {} looked into {then_asked}, which is not the interpreter found here: ask in its notebook",
                then.seq
            ))
        }
        _ => EnvironmentNow::Taken(found),
    }
}

fn take(python: Option<PathBuf>, folder: &Path) -> Result<Value, String> {
    let snapshot = Snapshot::take(&Request { python, folder: folder.to_owned() });
    let mut value = serde_json::to_value(&snapshot).map_err(|e| format!("a snapshot of now has no JSON form: {e}"))?;
    crate::session::conceal(&mut value);
    Ok(value)
}
