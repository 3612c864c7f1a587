//! From two tables to the [`Structure`] of both: every figure, and every obstacle in the order of its kind.

use fascicolo_contract::{Obstacle, ObstacleKind, Side, Structure};

use crate::matching::{Matching, match_rows, unmatched};
use crate::select::Selection;
use crate::table::Table;
use crate::vectors::Shape;

/// How many ids or rows a sentence names; the obstacle's list names more.
const NAMED: usize = 5;

/// The structure of both tables, and the row of the candidate for each row of the reference if they are comparable.
pub(crate) fn examine(
    reference: (&Selection, &Table),
    candidate: (&Selection, &Table),
) -> (Structure, Option<Vec<usize>>) {
    let of = [Examined::new(Side::Reference, reference), Examined::new(Side::Candidate, candidate)];
    let [r, c] = &of;
    let same_family = r.selection.id.family == c.selection.id.family;
    let ids = (&r.table.ids, &c.table.ids);
    let matching = if same_family { match_rows(ids.0, ids.1) } else { unmatched(ids.0, ids.1) };

    let mut obstacles = Vec::new();
    obstacles.extend(of.iter().filter_map(Examined::no_rows));
    obstacles.extend(of.iter().filter_map(Examined::no_dimensions));
    obstacles.extend(of.iter().filter_map(Examined::ragged));
    obstacles.extend(dimensions_differ(r, c));
    if !same_family {
        obstacles.push(id_types_differ(r, c));
    }
    obstacles.extend(of.iter().filter_map(Examined::null_id));
    obstacles.extend(of.iter().filter_map(Examined::null_vector));
    for (side, twice) in [(Side::Reference, &matching.twice_reference), (Side::Candidate, &matching.twice_candidate)] {
        obstacles.extend(of_ids(ObstacleKind::DuplicateId, side, twice, |ids| match ids {
            1 => format!("1 id stands more than once in the {side}"),
            _ => format!("{ids} ids stand more than once in the {side}"),
        }));
    }
    obstacles.extend(of_ids(ObstacleKind::MissingRows, Side::Candidate, &matching.missing, |ids| match ids {
        1 => "1 id of the reference has no row in the candidate".into(),
        _ => format!("{ids} ids of the reference have no row in the candidate"),
    }));
    obstacles.extend(of_ids(ObstacleKind::ExtraRows, Side::Candidate, &matching.extra, |ids| match ids {
        1 => "1 id of the candidate has no row in the reference".into(),
        _ => format!("{ids} ids of the candidate have no row in the reference"),
    }));
    obstacles.extend(of.iter().filter_map(Examined::non_finite));

    let structure = Structure {
        rows_reference: r.rows(),
        rows_candidate: c.rows(),
        matched: matching.matched,
        missing: owned(&matching.missing),
        extra: owned(&matching.extra),
        duplicate_ids: duplicates(&matching),
        reordered: matching.reordered,
        dims_reference: r.dims(),
        dims_candidate: c.dims(),
        type_reference: r.selection.vector.type_name.clone(),
        type_candidate: c.selection.vector.type_name.clone(),
        null_values: r.nulls() + c.nulls(),
        nonfinite_values: r.nonfinite() + c.nonfinite(),
        obstacles,
    };
    let rows = structure.obstacles.is_empty().then_some(matching.candidate_rows);
    (structure, rows)
}

/// One of the two tables under examination.
struct Examined<'a> {
    side: Side,
    selection: &'a Selection,
    table: &'a Table,
    shape: Shape,
}

impl<'a> Examined<'a> {
    fn new(side: Side, (selection, table): (&'a Selection, &'a Table)) -> Self {
        Examined { side, selection, table, shape: table.vectors.shape() }
    }

    fn rows(&self) -> u64 {
        self.table.ids.rows() as u64
    }

    fn dims(&self) -> u64 {
        match self.shape {
            Shape::Dims(dims) => dims,
            Shape::None | Shape::Ragged { .. } => 0,
        }
    }

    fn nulls(&self) -> u64 {
        let flaws = &self.table.vectors.flaws;
        (self.table.ids.nulls.len() + flaws.null_rows.len()) as u64 + flaws.null_elements
    }

    fn nonfinite(&self) -> u64 {
        self.table.vectors.flaws.nan + self.table.vectors.flaws.infinite
    }

    fn no_rows(&self) -> Option<Obstacle> {
        let message = format!("the {} has no rows", self.side);
        (self.rows() == 0).then(|| self.obstacle(ObstacleKind::NoRows, &[], message))
    }

    fn no_dimensions(&self) -> Option<Obstacle> {
        let rows = self.rows() - self.table.vectors.flaws.null_rows.len() as u64;
        let message = format!("the {}'s vectors have zero dimensions, in {}", self.side, count(rows, "row"));
        (self.shape == Shape::Dims(0))
            .then(|| Obstacle { rows, ..self.obstacle(ObstacleKind::NoDimensions, &[], message) })
    }

    fn ragged(&self) -> Option<Obstacle> {
        let Shape::Ragged { common, rows, odd } = &self.shape else { return None };
        let examples: Vec<String> = odd
            .iter()
            .take(NAMED)
            .map(|row| format!("{} at {}", self.table.vectors.length(*row as usize), self.name(*row)))
            .collect();
        let message = format!(
            "the {}'s vectors differ in length: {common} values in {}, but {}",
            self.side,
            count(*rows, "row"),
            listed(&examples, odd.len())
        );
        Some(self.obstacle(ObstacleKind::Ragged, odd, message))
    }

    fn null_id(&self) -> Option<Obstacle> {
        let nulls = &self.table.ids.nulls;
        let rows: Vec<String> = nulls.iter().take(NAMED).map(u64::to_string).collect();
        let message = format!(
            "the {} has {} at row {} (counted from 0)",
            self.side,
            count(nulls.len() as u64, "null id"),
            listed(&rows, nulls.len())
        );
        (!nulls.is_empty()).then(|| self.obstacle(ObstacleKind::NullId, nulls, message))
    }

    fn null_vector(&self) -> Option<Obstacle> {
        let flaws = &self.table.vectors.flaws;
        let rows = merged(&flaws.null_rows, &flaws.null_element_rows);
        let what = both(
            (flaws.null_rows.len() as u64, "null vector", "null vectors"),
            (flaws.null_elements, "null element", "null elements"),
        );
        self.of_rows(ObstacleKind::NullVector, &rows, &what)
    }

    fn non_finite(&self) -> Option<Obstacle> {
        let flaws = &self.table.vectors.flaws;
        let what = both((flaws.nan, "NaN value", "NaN values"), (flaws.infinite, "infinite value", "infinite values"));
        self.of_rows(ObstacleKind::NonFinite, &flaws.nonfinite_rows, &what)
    }

    fn of_rows(&self, kind: ObstacleKind, rows: &[u64], what: &str) -> Option<Obstacle> {
        let names: Vec<String> = rows.iter().take(NAMED).map(|row| self.name(*row)).collect();
        let message = format!(
            "the {} has {what} in {}: {}",
            self.side,
            count(rows.len() as u64, "row"),
            listed(&names, rows.len())
        );
        (!rows.is_empty()).then(|| self.obstacle(kind, rows, message))
    }

    /// An obstacle of these rows of this table.
    fn obstacle(&self, kind: ObstacleKind, rows: &[u64], message: String) -> Obstacle {
        let named = rows.iter().map(|row| *row as usize).filter(|row| !self.table.ids.is_null(*row));
        let mut ids: Vec<&str> = named.map(|row| self.table.ids.get(row)).collect();
        ids.sort_unstable();
        ids.dedup();
        ids.truncate(Obstacle::IDS);
        Obstacle { kind, side: Some(self.side), rows: rows.len() as u64, ids: owned(&ids), message }
    }

    /// A row's id for a sentence, or its number if the id is null.
    fn name(&self, row: u64) -> String {
        match self.table.ids.is_null(row as usize) {
            true => format!("row {row}"),
            false => format!("`{}`", self.table.ids.get(row as usize)),
        }
    }
}

fn dimensions_differ(r: &Examined, c: &Examined) -> Option<Obstacle> {
    let (Shape::Dims(in_reference @ 1..), Shape::Dims(in_candidate @ 1..)) = (&r.shape, &c.shape) else { return None };
    (in_reference != in_candidate).then(|| Obstacle {
        kind: ObstacleKind::DimensionsDiffer,
        side: None,
        rows: c.rows(),
        ids: Vec::new(),
        message: format!("the reference's vectors have {in_reference} values, the candidate's {in_candidate}"),
    })
}

fn id_types_differ(r: &Examined, c: &Examined) -> Obstacle {
    let (of_reference, of_candidate) = (&r.selection.id, &c.selection.id);
    Obstacle {
        kind: ObstacleKind::IdTypesDiffer,
        side: None,
        rows: c.rows(),
        ids: Vec::new(),
        message: format!(
            "ids cannot be matched: `{}` is {} in the reference, `{}` is {} in the candidate",
            of_reference.name, of_reference.type_name, of_candidate.name, of_candidate.type_name
        ),
    }
}

/// An obstacle of ids (sorted, each once) rather than rows.
fn of_ids(kind: ObstacleKind, side: Side, ids: &[&str], what: impl Fn(u64) -> String) -> Option<Obstacle> {
    let names: Vec<String> = ids.iter().take(NAMED).map(|id| format!("`{id}`")).collect();
    let message = format!("{}: {}", what(ids.len() as u64), listed(&names, ids.len()));
    let first = &ids[..ids.len().min(Obstacle::IDS)];
    (!ids.is_empty()).then(|| Obstacle { kind, side: Some(side), rows: ids.len() as u64, ids: owned(first), message })
}

fn duplicates(matching: &Matching) -> Vec<String> {
    let mut all: Vec<&str> = [matching.twice_reference.as_slice(), &matching.twice_candidate].concat();
    all.sort_unstable();
    all.dedup();
    owned(&all)
}

/// Two ascending lists as one, each row once.
fn merged(a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut all = [a, b].concat();
    all.sort_unstable();
    all.dedup();
    all
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|t| (*t).to_owned()).collect()
}

/// `1 row`, `2 rows`.
fn count(number: u64, of: &str) -> String {
    format!("{number} {of}{}", if number == 1 { "" } else { "s" })
}

/// Two counts in one phrase, the zero ones left out.
fn both(a: (u64, &str, &str), b: (u64, &str, &str)) -> String {
    let phrase = |(number, one, many): (u64, &str, &str)| match number {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{number} {many}")),
    };
    [phrase(a), phrase(b)].into_iter().flatten().collect::<Vec<_>>().join(" and ")
}

/// The first of `total` names, and how many more there are.
fn listed(names: &[String], total: usize) -> String {
    let list = names.join(", ");
    match total - names.len() {
        0 => list,
        more => format!("{list} and {more} more"),
    }
}
