//! What can go wrong with a dossier, and what to do then.

use std::path::PathBuf;

use crate::fault::Fault;

/// Why a dossier could not be opened, read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The folder holds no log.
    #[error("{} is not a dossier: {why}", path.display())]
    NotADossier {
        /// The folder.
        path: PathBuf,
        /// What is missing or in the way.
        why: &'static str,
    },
    /// Something is not as it was written.
    #[error("the dossier was changed after it was written: {fault}{}", more(*.others))]
    Tampered {
        /// The first fault.
        fault: Fault,
        /// How many more there are.
        others: usize,
    },
    /// The log no longer begins with what this writer knows of it.
    #[error("{} was cut or replaced while it was open: {what}", path.display())]
    ChangedUnderneath {
        /// The file.
        path: PathBuf,
        /// Figures.
        what: String,
    },
    /// A leaf would be larger than the format allows. Nothing was written.
    #[error("the entry would take {bytes} bytes, the limit is {limit}")]
    LeafTooLarge {
        /// Bytes of the leaf.
        bytes: usize,
        /// Most bytes allowed.
        limit: usize,
    },
    /// The record cannot be read back as it would be written, e.g. because it nests too deeply. Nothing was written.
    #[error("the entry could not be read back: it {why}")]
    Unreadable {
        /// What the reader says.
        why: String,
    },
    /// Two values were given under one field. Nothing was written.
    #[error("field `{field}` is given twice")]
    DuplicateField {
        /// The field.
        field: String,
    },
    /// `start` names no earlier `start` entry, or an `end` names none. Nothing was written.
    #[error("the entry belongs to no `start` entry: {}", named(*.start))]
    NoSuchStart {
        /// The number given.
        start: Option<u64>,
    },
    /// The kinds `log`, `recover`, `redact`, `sign`, `fork` and `import` are written by the log itself. Nothing was written.
    #[error("an entry of kind `{kind}` is written by the log itself only")]
    ReservedKind {
        /// The kind's name.
        kind: &'static str,
    },
    /// What was named cannot be redacted. Nothing was written.
    #[error("`{field}` of entry {seq} cannot be redacted: {why}")]
    NotRedactable {
        /// The entry.
        seq: u64,
        /// The field.
        field: String,
        /// Why not.
        why: &'static str,
    },
    /// The entry repeats one of an imported log, which holds the value as well. Nothing was written.
    #[error("`{field}` of entry {seq} repeats a value of the imported log {origin}, whose copy holds it as well")]
    RedactAtItsSource {
        /// The entry.
        seq: u64,
        /// The field.
        field: String,
        /// The imported log.
        origin: String,
    },
    /// The value was redacted before. Nothing was written.
    #[error("`{field}` of entry {seq} is already redacted")]
    AlreadyRedacted {
        /// The entry.
        seq: u64,
        /// The field.
        field: String,
    },
    /// The checkpoint is of another log.
    #[error("the checkpoint is of the log {checkpoint}, this one is {log}")]
    OtherLog {
        /// The origin that the checkpoint names.
        checkpoint: String,
        /// The origin of this log.
        log: String,
    },
    /// The log cannot be joined to this one. Nothing was written.
    #[error("{} cannot be imported: {why}", path.display())]
    NotImportable {
        /// Its folder.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// The log is an earlier state of one that was joined before. Nothing was written.
    #[error("{} holds {given} entries of a log of which {known} were joined before", path.display())]
    OlderThanJoined {
        /// Its folder.
        path: PathBuf,
        /// Entries in it.
        given: u64,
        /// Entries that stand here.
        known: u64,
    },
    /// The signer did not give a signature that can be used. Nothing was written.
    #[error("no signature by {key}: {why}")]
    Signing {
        /// The key, or the file that holds it.
        key: String,
        /// What went wrong.
        why: String,
    },
    /// A sync failed: what the system had buffered may be lost, and trying again could hide it.
    #[error("the system could not make {} durable", path.display())]
    NotDurable {
        /// The file or folder.
        path: PathBuf,
        /// The system's word.
        source: std::io::Error,
    },
    /// An earlier sync failed; this writer writes no more.
    #[error("this session writes no more to the dossier: {first}")]
    Stopped {
        /// The failure that stopped it.
        first: String,
    },
    /// There is no such entry.
    #[error("there is no entry {seq}, the log has {size} entries")]
    NoSuchEntry {
        /// The number asked for.
        seq: u64,
        /// Entries of the log.
        size: u64,
    },
    /// The entry commits to no such field.
    #[error("entry {seq} has no value `{field}`; {}", fields(.has))]
    NoSuchValue {
        /// The entry.
        seq: u64,
        /// The field.
        field: String,
        /// The fields that it has.
        has: Vec<String>,
    },
    /// A committed value cannot be given back.
    #[error("value `{field}` of entry {seq} {what}")]
    ValueLost {
        /// The entry.
        seq: u64,
        /// The field.
        field: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A blob is missing or not what its name says.
    #[error("blob {digest} {what}")]
    BlobLost {
        /// Its name.
        digest: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Reading or writing failed.
    #[error("cannot {what} {}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's word.
        source: std::io::Error,
    },
    /// The system gave no random bytes.
    #[error("the system gave no random bytes for a salt")]
    NoRandomness(#[source] getrandom::Error),
    /// A record could not be written as JSON.
    #[error("the entry has no JSON form")]
    Encoding(#[source] serde_json::Error),
}

fn more(others: usize) -> String {
    if others == 0 { String::new() } else { format!(" (and {others} more)") }
}

fn fields(has: &[String]) -> String {
    if has.is_empty() { "it has none".to_owned() } else { format!("it has {}", has.join(", ")) }
}

fn named(start: Option<u64>) -> String {
    start.map_or_else(|| "none is named".to_owned(), |seq| format!("entry {seq} is not one"))
}

impl Error {
    /// A stable snake_case name for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Error::NotADossier { .. } => "not_a_dossier",
            Error::Tampered { .. } => "dossier_tampered",
            Error::ChangedUnderneath { .. } => "dossier_changed_underneath",
            Error::LeafTooLarge { .. } => "entry_too_large",
            Error::Unreadable { .. } => "entry_unreadable",
            Error::DuplicateField { .. } => "duplicate_field",
            Error::NoSuchStart { .. } => "no_such_start",
            Error::ReservedKind { .. } => "reserved_kind",
            Error::NotRedactable { .. } => "not_redactable",
            Error::AlreadyRedacted { .. } => "already_redacted",
            Error::OtherLog { .. } => "other_log",
            Error::NotImportable { .. } => "not_importable",
            Error::OlderThanJoined { .. } => "older_than_joined",
            Error::RedactAtItsSource { .. } => "redact_at_its_source",
            Error::Signing { .. } => "signing_failed",
            Error::NotDurable { .. } => "not_durable",
            Error::Stopped { .. } => "writer_stopped",
            Error::NoSuchEntry { .. } => "no_such_entry",
            Error::NoSuchValue { .. } => "no_such_value",
            Error::ValueLost { .. } => "value_lost",
            Error::BlobLost { .. } => "blob_lost",
            Error::Io { .. } => "dossier_io",
            Error::NoRandomness(_) => "no_randomness",
            Error::Encoding(_) => "entry_encoding",
        }
    }

    /// The file, entry or field it is about, if there is one.
    pub fn place(&self) -> Option<String> {
        match self {
            Error::NotADossier { path, .. }
            | Error::ChangedUnderneath { path, .. }
            | Error::NotDurable { path, .. }
            | Error::NotImportable { path, .. }
            | Error::OlderThanJoined { path, .. }
            | Error::Io { path, .. } => Some(path.display().to_string()),
            Error::Tampered { fault, .. } => Some(fault.place()),
            Error::NoSuchEntry { seq, .. } => Some(format!("entry {seq}")),
            Error::NoSuchValue { seq, field, .. }
            | Error::ValueLost { seq, field, .. }
            | Error::NotRedactable { seq, field, .. }
            | Error::RedactAtItsSource { seq, field, .. }
            | Error::AlreadyRedacted { seq, field } => Some(format!("entry {seq}, field `{field}`")),
            Error::BlobLost { digest, .. } => Some(crate::layout::blob_name(digest)),
            Error::Signing { key, .. } => Some(key.clone()),
            Error::DuplicateField { field } => Some(format!("field `{field}`")),
            Error::NoSuchStart { start } => start.map(|seq| format!("entry {seq}")),
            Error::LeafTooLarge { .. }
            | Error::Unreadable { .. }
            | Error::ReservedKind { .. }
            | Error::Stopped { .. }
            | Error::OtherLog { .. }
            | Error::NoRandomness(_)
            | Error::Encoding(_) => None,
        }
    }

    /// What the reader can do now: one sentence in the imperative.
    pub fn next_step(&self) -> String {
        match self {
            Error::NotADossier { .. } => {
                "name the folder of a dossier, NAME.fascicolo, or a path that does not exist yet"
            }
            Error::Tampered { .. } => {
                "verify the dossier for the full list of faults, and restore it from a copy; as it is, nothing is added"
            }
            Error::ChangedUnderneath { .. } => {
                "find out what replaced the dossier, then open it again; the session's later entries are not in it"
            }
            Error::LeafTooLarge { .. } => "move large facts out of the body into values or blobs",
            Error::Unreadable { .. } => "flatten the facts in the body",
            Error::DuplicateField { .. } => "give every value and blob of an entry a field of its own",
            Error::NoSuchStart { .. } => "append the `start` entry first and pass its number",
            Error::ReservedKind { .. } => {
                "choose another kind; redactions, signatures, forks and imports have calls of their own"
            }
            Error::NotRedactable { .. } => {
                "keep the dossier to yourself if it must not be seen; next time give the content as a private value"
            }
            Error::RedactAtItsSource { .. } => {
                "ask its sender to redact it there and to export again; importing that takes the value out here, too"
            }
            Error::OlderThanJoined { .. } => "leave it: all that it holds stands here already, and nothing was changed",
            Error::NotImportable { .. } => "ask the sender for a fresh export; nothing was changed here",
            Error::OtherLog { .. } => {
                "compare it with the dossier that it was taken from; a rebuilt or forked one has another origin"
            }
            Error::Signing { .. } => {
                "name an SSH key of type ed25519, ecdsa-p256 or rsa that ssh-keygen can use, load it into the agent if it \
                 has a passphrase, and sign again"
            }
            Error::AlreadyRedacted { .. } => "leave it: the value is gone",
            Error::NotDurable { .. } | Error::Stopped { .. } => {
                "check the disk and its free space, then open the dossier in a new session, which logs what it recovers"
            }
            Error::NoSuchEntry { .. } => "list the log to see its entries",
            Error::NoSuchValue { .. } => "name one of the entry's fields",
            Error::ValueLost { .. } | Error::BlobLost { .. } => {
                "verify the dossier, and restore the file named from a copy"
            }
            Error::Io { .. } => "check that the folder exists, that it may be written, and that the disk has room",
            Error::NoRandomness(_) => "check the system's random source",
            Error::Encoding(_) => "give the facts in the body as plain JSON",
        }
        .to_owned()
    }
}
