//! What can go wrong with a bundle, and what to do then.

use std::path::PathBuf;

use zip::result::ZipError;

/// Why a bundle could not be written or opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    /// A name that a bundle may not hold.
    #[error("the name {name:?} is refused: {problem}")]
    Name {
        /// The name, as given or as the zip has it.
        name: String,
        /// What is wrong with it.
        problem: NameProblem,
    },
    /// A file to be exported is a symbolic link.
    #[error("{} is a symbolic link", path.display())]
    LinkedSource {
        /// The file.
        path: PathBuf,
    },
    /// Something to be exported is neither file nor folder, or a folder where a file is due.
    #[error("{} is not a regular file", path.display())]
    NotAFile {
        /// What it is.
        path: PathBuf,
    },
    /// A file changed between its hashing and its writing. Nothing is left of the bundle.
    #[error("{name:?} changed while it was exported")]
    SourceChanged {
        /// Its path in the bag.
        name: String,
    },
    /// The checkpoint does not state the log that it stands beside.
    #[error("the checkpoint does not cover the dossier {}: {what}", path.display())]
    NotCovered {
        /// The dossier.
        path: PathBuf,
        /// Figures.
        what: String,
    },
    /// A line of `bag-info.txt` that cannot be written.
    #[error("the label {label:?} of bag-info.txt {why}")]
    BadInfo {
        /// The label.
        label: String,
        /// What is wrong with label or value.
        why: &'static str,
    },
    /// The file is no zip, or one whose parts contradict each other.
    #[error("{} is not a sound zip: {what}", path.display())]
    NotAZip {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// An entry is a symbolic link.
    #[error("the entry {entry:?} is a symbolic link")]
    Link {
        /// Its name.
        entry: String,
    },
    /// An entry is a device, a pipe or a socket, or a folder with content.
    #[error("the entry {entry:?} is neither a file nor an empty folder")]
    Special {
        /// Its name.
        entry: String,
    },
    /// An entry is encrypted.
    #[error("the entry {entry:?} is encrypted")]
    Encrypted {
        /// Its name.
        entry: String,
    },
    /// An entry is compressed by a method that no bundle uses.
    #[error("the entry {entry:?} is compressed by method {method}, only 0 (stored) and 8 (deflate) are read")]
    Unsupported {
        /// Its name.
        entry: String,
        /// The number of the method.
        method: u16,
    },
    /// An entry grows more than is plausible when it is unpacked.
    #[error("the entry {entry:?} would grow from {packed} to {bytes} bytes, more than {limit} times")]
    Ratio {
        /// Its name.
        entry: String,
        /// Its size in the zip.
        packed: u64,
        /// Its size unpacked, as declared.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// The entries are too large together.
    #[error("with the entry {entry:?} the bundle holds {bytes} bytes, the limit is {limit}")]
    TooLarge {
        /// The entry with which the limit is passed.
        entry: String,
        /// Bytes up to and with it.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// There are too many entries.
    #[error("the bundle has {entries} entries, the limit is {limit}")]
    TooManyEntries {
        /// How many.
        entries: u64,
        /// The limit.
        limit: u64,
    },
    /// An entry stands outside the one folder of the bundle.
    #[error("the entry {entry:?} stands outside the folder {folder:?} of the bundle")]
    Outside {
        /// Its name.
        entry: String,
        /// The folder of the first entry.
        folder: String,
    },
    /// An entry does not unpack to what the zip says of it.
    #[error("the entry {entry:?} does not unpack to the {bytes} bytes that the zip says it holds")]
    BadContent {
        /// Its name.
        entry: String,
        /// Its size, as declared.
        bytes: u64,
        /// What the decoder says.
        source: std::io::Error,
    },
    /// The folder to unpack into holds something, or is no folder.
    #[error("{} is not an empty folder", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// What was unpacked is no BagIt bag.
    #[error("{} is not a BagIt bag: {why}", path.display())]
    NotABag {
        /// The unpacked folder.
        path: PathBuf,
        /// What is missing.
        why: &'static str,
    },
    /// The bag holds no dossier, or several and does not say which is the case's.
    #[error("the bag {} holds {found} dossiers and does not say which is the one of the case", path.display())]
    NoDossier {
        /// The unpacked folder.
        path: PathBuf,
        /// How many were found.
        found: usize,
    },
    /// The dossier in the bag cannot be examined.
    #[error(transparent)]
    Dossier(#[from] crate::Error),
    /// The zip could not be written.
    #[error("cannot write the zip {}", path.display())]
    Zip {
        /// The file.
        path: PathBuf,
        /// What the writer says.
        source: ZipError,
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
}

/// What is wrong with a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameProblem {
    /// `..` or `.` in it.
    #[error("it leads out of its folder or stays in place by `..` or `.`")]
    Traversal,
    /// It begins with a slash.
    #[error("it is absolute")]
    Absolute,
    /// A backslash in it.
    #[error("it has a backslash, which some systems take for a slash")]
    Backslash,
    /// It begins with a drive letter.
    #[error("it begins with a drive letter")]
    DriveLetter,
    /// Not every system can have a file of this name.
    #[error("not every system can have it: {0}")]
    NotPortable(&'static str),
    /// The zip gives it in no encoding that is certain.
    #[error("it is not in UTF-8, or the zip gives it in two ways")]
    Encoding,
    /// Another file has the very same name.
    #[error("it is there twice")]
    Duplicate,
    /// Another name differs by case only.
    #[error("it differs from {other:?} by case only")]
    Case {
        /// The other name.
        other: String,
    },
    /// One name is a file, and the folder of another.
    #[error("it is a file and a folder at once")]
    FileAndFolder,
    /// The dossier or the log stands there.
    #[error("the bundle itself has the folder {folder:?}")]
    Reserved {
        /// The folder.
        folder: String,
    },
}

impl NameProblem {
    fn kind(&self) -> &'static str {
        match self {
            NameProblem::Traversal => "name_traversal",
            NameProblem::Absolute => "name_absolute",
            NameProblem::Backslash => "name_backslash",
            NameProblem::DriveLetter => "name_drive_letter",
            NameProblem::NotPortable(_) => "name_not_portable",
            NameProblem::Encoding => "name_encoding",
            NameProblem::Duplicate => "name_duplicate",
            NameProblem::Case { .. } => "name_case",
            NameProblem::FileAndFolder => "name_file_and_folder",
            NameProblem::Reserved { .. } => "name_reserved",
        }
    }
}

impl BundleError {
    /// A stable snake_case name for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            BundleError::Name { problem, .. } => problem.kind(),
            BundleError::LinkedSource { .. } => "source_is_link",
            BundleError::NotAFile { .. } => "source_not_a_file",
            BundleError::SourceChanged { .. } => "source_changed",
            BundleError::NotCovered { .. } => "checkpoint_does_not_cover",
            BundleError::BadInfo { .. } => "bad_bag_info",
            BundleError::NotAZip { .. } => "not_a_zip",
            BundleError::Link { .. } => "entry_is_link",
            BundleError::Special { .. } => "entry_is_special",
            BundleError::Encrypted { .. } => "entry_encrypted",
            BundleError::Unsupported { .. } => "entry_unsupported",
            BundleError::Ratio { .. } => "entry_grows_too_much",
            BundleError::TooLarge { .. } => "bundle_too_large",
            BundleError::TooManyEntries { .. } => "bundle_too_many_entries",
            BundleError::Outside { .. } => "entry_outside_folder",
            BundleError::BadContent { .. } => "entry_bad_content",
            BundleError::NotEmpty { .. } => "folder_not_empty",
            BundleError::NotABag { .. } => "not_a_bag",
            BundleError::NoDossier { .. } => "no_dossier_in_bundle",
            BundleError::Dossier(error) => error.kind(),
            BundleError::Zip { .. } => "bundle_zip",
            BundleError::Io { .. } => "bundle_io",
        }
    }

    /// The file, entry or folder it is about, if there is one.
    pub fn place(&self) -> Option<String> {
        match self {
            BundleError::Name { name, .. } | BundleError::SourceChanged { name } => Some(name.clone()),
            BundleError::Link { entry }
            | BundleError::Special { entry }
            | BundleError::Encrypted { entry }
            | BundleError::Unsupported { entry, .. }
            | BundleError::Ratio { entry, .. }
            | BundleError::TooLarge { entry, .. }
            | BundleError::Outside { entry, .. }
            | BundleError::BadContent { entry, .. } => Some(entry.clone()),
            BundleError::LinkedSource { path }
            | BundleError::NotAFile { path }
            | BundleError::NotCovered { path, .. }
            | BundleError::NotAZip { path, .. }
            | BundleError::NotEmpty { path }
            | BundleError::NotABag { path, .. }
            | BundleError::NoDossier { path, .. }
            | BundleError::Zip { path, .. }
            | BundleError::Io { path, .. } => Some(path.display().to_string()),
            BundleError::BadInfo { label, .. } => Some(label.clone()),
            BundleError::Dossier(error) => error.place(),
            BundleError::TooManyEntries { .. } => None,
        }
    }

    /// What the reader can do now: one sentence in the imperative.
    pub fn next_step(&self) -> String {
        match self {
            BundleError::Name { .. } => {
                "rename the file if you are exporting; do not unpack the zip by other means if you received it"
            }
            BundleError::LinkedSource { .. } => "export the file that the link leads to",
            BundleError::NotAFile { .. } => "export regular files only",
            BundleError::SourceChanged { .. } => "let what writes to the file finish, then export again",
            BundleError::NotCovered { .. } => {
                "write a checkpoint, then export again; if that fails, verify the dossier"
            }
            BundleError::BadInfo { .. } => {
                "give labels and values of one line, and leave out what the bundle itself says"
            }
            BundleError::NotAZip { .. } => "fetch the file again, and compare its SHA-256 with the sender's",
            BundleError::Link { .. }
            | BundleError::Special { .. }
            | BundleError::Encrypted { .. }
            | BundleError::Unsupported { .. }
            | BundleError::Outside { .. } => {
                "do not unpack it by other means: no export looks so; ask the sender for the export itself"
            }
            BundleError::Ratio { .. } | BundleError::TooLarge { .. } | BundleError::TooManyEntries { .. } => {
                "raise the limit if you trust the sender and the disk has room"
            }
            BundleError::BadContent { .. } => "fetch the file again: it was damaged or changed",
            BundleError::NotEmpty { .. } => "name an empty folder, or one that does not exist yet",
            BundleError::NotABag { .. } | BundleError::NoDossier { .. } => "ask the sender for an export of a dossier",
            BundleError::Dossier(error) => return error.next_step(),
            BundleError::Zip { .. } | BundleError::Io { .. } => {
                "check that the files exist and may be read, that the folder may be written, and that the disk has room"
            }
        }
        .to_owned()
    }

    /// For `map_err`: says what was tried with which file.
    pub(super) fn io(what: &'static str, path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| BundleError::Io { what, path, source }
    }
}
