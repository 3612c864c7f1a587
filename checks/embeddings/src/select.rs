//! Finds the id, vector and label columns in a schema.

use std::path::Path;

use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use parquet::basic::LogicalType;
use parquet::schema::types::SchemaDescriptor;

use crate::texts::{Family, family};
use crate::typename::type_name;
use crate::{Columns, Error, Role};

/// How many columns an error lists.
const LISTED: usize = 20;

/// One column to read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chosen {
    /// Its (dotted) name.
    pub name: String,
    /// Field names from the root to it.
    pub path: Vec<String>,
    /// Its type in pyarrow's notation.
    pub type_name: String,
    /// Its Arrow type.
    pub data_type: DataType,
    /// What its texts are, for ids and labels.
    pub family: Option<Family>,
    /// Indices of its Parquet leaf columns.
    pub leaves: Vec<usize>,
}

/// The columns to read of one file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Selection {
    /// The ids.
    pub id: Chosen,
    /// The vectors.
    pub vector: Chosen,
    /// The labels, if named and wanted.
    pub label: Option<Chosen>,
}

/// Applies `columns` to the schema of the file at `path`; labels only where `with_labels`.
pub(crate) fn select(
    path: &Path,
    fields: &Fields,
    leaves: &SchemaDescriptor,
    columns: &Columns,
    with_labels: bool,
) -> Result<Selection, Error> {
    let schema = SchemaOf { path, fields, leaves };
    let vector = schema.vector(columns.vector.as_deref())?;
    let id = schema.texts(Role::Id, columns.id.as_deref())?;
    let label = match &columns.label {
        Some(name) if with_labels => Some(schema.texts(Role::Label, Some(name))?),
        _ => None,
    };
    Ok(Selection { id, vector, label })
}

struct SchemaOf<'a> {
    path: &'a Path,
    fields: &'a Fields,
    leaves: &'a SchemaDescriptor,
}

impl SchemaOf<'_> {
    fn vector(&self, name: Option<&str>) -> Result<Chosen, Error> {
        if let Some(name) = name {
            let chosen = self.named(Role::Vector, name)?;
            return match element(&chosen.data_type) {
                Some(inner) if plain_number(inner) => Ok(chosen),
                _ => Err(self.unsupported(Role::Vector, chosen)),
            };
        }
        let holding = |accept: fn(&DataType) -> bool| -> Vec<String> {
            let of_vectors = |f: &&FieldRef| element(f.data_type()).is_some_and(accept);
            self.fields.iter().filter(of_vectors).map(|f| f.name().clone()).collect()
        };
        let floats = holding(DataType::is_floating);
        let found = if floats.is_empty() { holding(plain_number) } else { floats };
        match found.as_slice() {
            [] => Err(Error::NoVectorColumn {
                path: self.path.to_path_buf(),
                seen: self.seen(),
                nested: nested_vectors(self.fields, ""),
            }),
            [only] => self.named(Role::Vector, only),
            _ => Err(Error::ManyVectorColumns { path: self.path.to_path_buf(), names: found }),
        }
    }

    fn texts(&self, role: Role, name: Option<&str>) -> Result<Chosen, Error> {
        let chosen = match name {
            Some(name) => self.named(role, name)?,
            None if self.fields.iter().any(|f| f.name() == "id") => self.named(role, "id")?,
            None => return Err(Error::NoIdColumn { path: self.path.to_path_buf(), seen: self.seen() }),
        };
        let accepted = match chosen.family {
            Some(Family::Text | Family::Integer) => true,
            Some(Family::Binary | Family::Uuid) => role == Role::Id,
            None => false,
        };
        if accepted { Ok(chosen) } else { Err(self.unsupported(role, chosen)) }
    }

    fn named(&self, role: Role, name: &str) -> Result<Chosen, Error> {
        let path = || self.path.to_path_buf();
        let mut trail = Vec::new();
        let Some(field) = resolve(self.fields, name, &mut trail) else {
            return Err(Error::NoSuchColumn { path: path(), role, name: name.into(), seen: self.seen() });
        };
        if repeated(self.fields, &trail) {
            return Err(Error::RepeatedColumn { path: path(), role, name: name.into() });
        }
        let under = |parts: &[String]| parts.starts_with(&trail);
        let leaves: Vec<usize> =
            (0..self.leaves.num_columns()).filter(|i| under(self.leaves.column(*i).path().parts())).collect();
        let uuid = leaves
            .first()
            .is_some_and(|leaf| matches!(self.leaves.column(*leaf).logical_type_ref(), Some(LogicalType::Uuid)));
        let data_type = field.data_type().clone();
        let family = family(&data_type, uuid);
        let type_name =
            if family == Some(Family::Uuid) { "extension<arrow.uuid>".into() } else { type_name(&data_type) };
        Ok(Chosen { name: name.into(), path: trail, type_name, data_type, family, leaves })
    }

    fn unsupported(&self, role: Role, chosen: Chosen) -> Error {
        Error::UnsupportedType { path: self.path.to_path_buf(), role, name: chosen.name, found: chosen.type_name }
    }

    fn seen(&self) -> String {
        let one = |f: &FieldRef| format!("`{}` {}", f.name(), type_name(f.data_type()));
        let mut list = self.fields.iter().take(LISTED).map(one).collect::<Vec<_>>().join(", ");
        if self.fields.len() > LISTED {
            list.push_str(&format!(" and {} more", self.fields.len() - LISTED));
        }
        if list.is_empty() { "none".into() } else { list }
    }
}

/// Finds the field a name means: the column of that very name, else a struct's field behind a dot. Leaves the field
/// names on the way in `trail`.
fn resolve<'a>(fields: &'a Fields, name: &str, trail: &mut Vec<String>) -> Option<&'a Field> {
    if let Some(field) = fields.iter().find(|f| f.name() == name) {
        trail.push(name.to_owned());
        return Some(field);
    }
    for (dot, _) in name.match_indices('.') {
        let (head, rest) = (&name[..dot], &name[dot + 1..]);
        let Some(DataType::Struct(inner)) = fields.iter().find(|f| f.name() == head).map(|f| f.data_type()) else {
            continue;
        };
        trail.push(head.to_owned());
        if let Some(field) = resolve(inner, rest, trail) {
            return Some(field);
        }
        trail.pop();
    }
    None
}

/// True if any name on the way stands twice among its siblings, so that it could mean either.
fn repeated(fields: &Fields, trail: &[String]) -> bool {
    let Some((head, rest)) = trail.split_first() else { return false };
    let mut same = fields.iter().filter(|f| f.name() == head);
    let first = same.next();
    if same.next().is_some() {
        return true;
    }
    match first.map(|f| f.data_type()) {
        Some(DataType::Struct(inner)) => repeated(inner, rest),
        _ => false,
    }
}

/// The element type of a list.
pub(crate) fn element(data_type: &DataType) -> Option<&DataType> {
    match data_type {
        DataType::List(f) | DataType::LargeList(f) | DataType::FixedSizeList(f, _) => Some(f.data_type()),
        _ => None,
    }
}

/// Floats and integers, not decimals.
fn plain_number(data_type: &DataType) -> bool {
    data_type.is_floating() || data_type.is_integer()
}

/// Dotted names of the vectors inside structs.
fn nested_vectors(fields: &Fields, prefix: &str) -> Vec<String> {
    let mut names = Vec::new();
    for field in fields {
        let name = format!("{prefix}{}", field.name());
        match field.data_type() {
            DataType::Struct(inner) => names.extend(nested_vectors(inner, &format!("{name}."))),
            other if element(other).is_some_and(plain_number) && !prefix.is_empty() => names.push(name),
            _ => {}
        }
    }
    names
}
