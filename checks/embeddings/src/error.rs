//! What can stand in the way of reading two files at all. What is wrong with *readable* files is no error but an
//! obstacle in the structure.

use std::path::PathBuf;

use fascicolo_contract::{Explain, Standing};

/// What a column is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The id that matches rows.
    Id,
    /// The embeddings.
    Vector,
    /// The label of the reference's rows.
    Label,
}

impl Role {
    /// The option that names such a column.
    pub fn option(self) -> &'static str {
        match self {
            Role::Id => "--id",
            Role::Vector => "--vector",
            Role::Label => "--label",
        }
    }

    /// What columns of this role may hold.
    fn accepts(self) -> &'static str {
        match self {
            Role::Id => "texts, integers or binary values",
            Role::Vector => "lists of numbers",
            Role::Label => "texts or integers",
        }
    }
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Role::Id => "id",
            Role::Vector => "vector",
            Role::Label => "label",
        })
    }
}

/// Why two files could not be read, or their rows not be handed out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing stands at the path.
    #[error("there is no file `{}`", path.display())]
    Missing {
        /// The path asked for.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("cannot read `{}`: {source}", path.display())]
    Unreadable {
        /// The path asked for.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// A pipe, a socket or a device.
    #[error("`{}` is neither a regular file nor a folder", path.display())]
    NotAFile {
        /// The path asked for.
        path: PathBuf,
    },
    /// A folder without parts.
    #[error("the folder `{}` holds no *.parquet file", path.display())]
    EmptyFolder {
        /// The folder.
        path: PathBuf,
    },
    /// Something in a folder of parts that is neither a part nor a known sidecar.
    #[error("`{}` stands in a folder of parts and is no *.parquet file: its rows, if any, would be missed", path.display())]
    StrayEntry {
        /// The entry.
        path: PathBuf,
    },
    /// A folder where a part should be.
    #[error("`{}` is a folder in a folder of parts: nested folders are not supported yet", path.display())]
    FolderPart {
        /// The inner folder.
        path: PathBuf,
    },
    /// The leading magic number is missing.
    #[error("`{}` is not a Parquet file: its {bytes} bytes do not begin with PAR1", path.display())]
    NotParquet {
        /// The file.
        path: PathBuf,
        /// Its length.
        bytes: u64,
    },
    /// It begins as a Parquet file and does not end as one.
    #[error("`{}` is a truncated Parquet file: its footer is missing, {bytes} bytes end without PAR1", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Its length.
        bytes: u64,
    },
    /// The whole footer is encrypted.
    #[error("`{}` is an encrypted Parquet file", path.display())]
    Encrypted {
        /// The file.
        path: PathBuf,
    },
    /// The footer or a page does not decode.
    #[error("`{}` is a damaged or unsupported Parquet file: {source}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What the Parquet reader said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// No column holds lists of numbers.
    #[error("`{}` has no vector column (a list of numbers) among its columns: {seen}", path.display())]
    NoVectorColumn {
        /// The file.
        path: PathBuf,
        /// Its columns with their types.
        seen: String,
        /// Vector columns inside structs, by their dotted names.
        nested: Vec<String>,
    },
    /// Several columns hold vectors and none was named.
    #[error("`{}` has {} vector columns: {}", path.display(), names.len(), quoted(names))]
    ManyVectorColumns {
        /// The file.
        path: PathBuf,
        /// The columns.
        names: Vec<String>,
    },
    /// There is no column `id` and none was named.
    #[error("`{}` has no column `id` among its columns: {seen}", path.display())]
    NoIdColumn {
        /// The file.
        path: PathBuf,
        /// Its columns with their types.
        seen: String,
    },
    /// A named column is absent.
    #[error("`{}` has no {role} column `{name}` among its columns: {seen}", path.display())]
    NoSuchColumn {
        /// The file.
        path: PathBuf,
        /// What it was to be read for.
        role: Role,
        /// The name given.
        name: String,
        /// The file's columns with their types.
        seen: String,
    },
    /// Two columns share the wanted name.
    #[error("`{}` has more than one column `{name}`", path.display())]
    RepeatedColumn {
        /// The file.
        path: PathBuf,
        /// What it was to be read for.
        role: Role,
        /// The name.
        name: String,
    },
    /// The column's type cannot serve.
    #[error("`{}` has {found} in the {role} column `{name}`, which must hold {}", path.display(), role.accepts())]
    UnsupportedType {
        /// The file.
        path: PathBuf,
        /// What it was to be read for.
        role: Role,
        /// The column.
        name: String,
        /// Its type.
        found: String,
    },
    /// The parts of a folder are not one table.
    #[error(
        "the parts of a folder differ: the {role} column is {found} in `{}`, but {first} in `{}`",
        path.display(),
        first_path.display()
    )]
    PartsDiffer {
        /// The part that differs.
        path: PathBuf,
        /// The first part.
        first_path: PathBuf,
        /// What the column is read for.
        role: Role,
        /// Name and type of the differing part's column.
        found: String,
        /// Name and type of the first part's column.
        first: String,
    },
    /// A 64-bit integer that float64 would round.
    #[error("`{}` has {value} in row {row} of column `{name}`, an integer that float64 cannot hold exactly", path.display())]
    InexactInteger {
        /// The file.
        path: PathBuf,
        /// The vector column.
        name: String,
        /// Row of the whole table, from 0.
        row: u64,
        /// The integer.
        value: i128,
    },
    /// One id or label alone exceeds what a batch can address.
    #[error("the id or label of row {row} is {bytes} bytes long; a batch of rows addresses at most {}", u32::MAX)]
    TextTooLong {
        /// Row of the reference, from 0.
        row: u64,
        /// Length of the text in UTF-8.
        bytes: u64,
    },
    /// A label column with more different texts than classes can be.
    #[error("the label column has more than {} different labels, `{label}` among them", crate::centroids::CLASSES)]
    TooManyClasses {
        /// The one that was too many.
        label: String,
    },
    /// A training log that cannot be read as one.
    #[error("`{}` cannot be read as a training log: {what}", path.display())]
    Log {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, with the line or byte.
        what: String,
        /// What the reader can do.
        next: String,
    },
    /// Rows were asked for although the structure has obstacles.
    #[error("the files are not comparable: {obstacles} obstacles, first: {first}")]
    NotComparable {
        /// How many obstacles there are.
        obstacles: usize,
        /// The message of the first.
        first: String,
    },
    /// The watcher asked to stop.
    #[error("reading was interrupted after {done} of {total} units")]
    Interrupted {
        /// Rows or bytes done.
        done: u64,
        /// Rows or bytes in all.
        total: u64,
    },
}

/// Names in backquotes, separated by commas.
fn quoted(names: &[String]) -> String {
    names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
}

impl Error {
    fn path(&self) -> Option<&PathBuf> {
        match self {
            Error::Missing { path }
            | Error::Unreadable { path, .. }
            | Error::NotAFile { path }
            | Error::EmptyFolder { path }
            | Error::StrayEntry { path }
            | Error::FolderPart { path }
            | Error::NotParquet { path, .. }
            | Error::Truncated { path, .. }
            | Error::Encrypted { path }
            | Error::Damaged { path, .. }
            | Error::NoVectorColumn { path, .. }
            | Error::ManyVectorColumns { path, .. }
            | Error::NoIdColumn { path, .. }
            | Error::NoSuchColumn { path, .. }
            | Error::RepeatedColumn { path, .. }
            | Error::UnsupportedType { path, .. }
            | Error::PartsDiffer { path, .. }
            | Error::InexactInteger { path, .. }
            | Error::Log { path, .. } => Some(path),
            Error::TextTooLong { .. }
            | Error::TooManyClasses { .. }
            | Error::NotComparable { .. }
            | Error::Interrupted { .. } => None,
        }
    }

    fn column(&self) -> Option<&str> {
        match self {
            Error::NoSuchColumn { name, .. }
            | Error::RepeatedColumn { name, .. }
            | Error::UnsupportedType { name, .. }
            | Error::InexactInteger { name, .. } => Some(name),
            _ => None,
        }
    }
}

impl Explain for Error {
    fn kind(&self) -> &'static str {
        match self {
            Error::Missing { .. } => "missing_file",
            Error::Unreadable { .. } => "unreadable_file",
            Error::NotAFile { .. } => "not_a_file",
            Error::EmptyFolder { .. } => "empty_folder",
            Error::StrayEntry { .. } => "stray_entry",
            Error::FolderPart { .. } => "folder_part",
            Error::NotParquet { .. } => "not_parquet",
            Error::Truncated { .. } => "truncated_file",
            Error::Encrypted { .. } => "encrypted_file",
            Error::Damaged { .. } => "damaged_file",
            Error::NoVectorColumn { .. } => "no_vector_column",
            Error::ManyVectorColumns { .. } => "many_vector_columns",
            Error::NoIdColumn { .. } => "no_id_column",
            Error::NoSuchColumn { .. } => "no_such_column",
            Error::RepeatedColumn { .. } => "repeated_column",
            Error::UnsupportedType { .. } => "unsupported_type",
            Error::PartsDiffer { .. } => "parts_differ",
            Error::InexactInteger { .. } => "inexact_integer",
            Error::TextTooLong { .. } => "text_too_long",
            Error::TooManyClasses { .. } => "too_many_classes",
            Error::Log { .. } => "log_unreadable",
            Error::NotComparable { .. } => "not_comparable",
            Error::Interrupted { .. } => "interrupted",
        }
    }

    fn place(&self) -> Option<String> {
        let path = self.path()?.display();
        Some(match self.column() {
            Some(column) => format!("{path}, column {column}"),
            None => path.to_string(),
        })
    }

    fn next_step(&self) -> String {
        match self {
            Error::Missing { .. } => "check the path; it is taken from the folder the command runs in".into(),
            Error::Unreadable { .. } => "make the file readable, then compare again".into(),
            Error::NotAFile { .. } => "give a Parquet file, or a folder of *.parquet parts".into(),
            Error::EmptyFolder { .. } => "give the folder that holds the *.parquet parts, or a Parquet file".into(),
            Error::StrayEntry { .. } => {
                "move it elsewhere or, if it belongs to the table, write it as *.parquet files beside the others".into()
            }
            Error::FolderPart { .. } => {
                "give the inner folder if it is the table, or move its files into the folder itself".into()
            }
            Error::NotParquet { .. } => "write the embeddings as Parquet, or give the file that holds them".into(),
            Error::Truncated { .. } => "let the sample run finish writing, or copy the file again".into(),
            Error::Encrypted { .. } => "decrypt the file first; encrypted files are not read".into(),
            Error::Damaged { .. } => {
                "write or copy the file again, and read it with another program to see more".into()
            }
            Error::NoVectorColumn { nested, .. } => match nested.first() {
                Some(name) => format!("name the field of the struct with a dot: --vector {name}"),
                None => "write the embeddings as a list or fixed-size list of floats, one list a row".into(),
            },
            Error::ManyVectorColumns { names, .. } => format!("name one of them: --vector {}", shell_choice(names)),
            Error::NoIdColumn { .. } => "name the column that identifies a row: --id NAME".into(),
            Error::NoSuchColumn { role, .. } => format!("name one of the columns: {} NAME", role.option()),
            Error::RepeatedColumn { .. } => "write the file with unique column names".into(),
            Error::UnsupportedType { role, .. } => {
                format!("name a column of {}: {} NAME", role.accepts(), role.option())
            }
            Error::PartsDiffer { .. } => "write all parts with the same columns and types".into(),
            Error::InexactInteger { .. } => "write the vectors as floats".into(),
            Error::TextTooLong { .. } => "name a column of shorter texts".into(),
            Error::TooManyClasses { .. } => "name a column of classes: --label NAME".into(),
            Error::Log { next, .. } => next.clone(),
            Error::NotComparable { .. } => "resolve the obstacles of the structure first".into(),
            Error::Interrupted { .. } => "start the command again when it may run to its end".into(),
        }
    }

    fn standing(&self) -> Standing {
        Standing::CannotTell
    }
}

/// `a|b` for a sentence that asks to choose.
fn shell_choice(names: &[String]) -> String {
    names.join("|")
}
