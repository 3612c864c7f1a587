//! Matches the rows of two tables by id.

use std::collections::HashMap;

use crate::texts::TextColumn;

/// No row yet.
const NONE: usize = usize::MAX;

/// How the ids of two tables stand to each other. Null ids match nothing. Lists are sorted bytewise, each id once.
#[derive(Debug, Default)]
pub(crate) struct Matching<'a> {
    /// Ids that stand in both.
    pub matched: u64,
    /// Ids of the reference alone.
    pub missing: Vec<&'a str>,
    /// Ids of the candidate alone.
    pub extra: Vec<&'a str>,
    /// Ids that stand more than once in the reference.
    pub twice_reference: Vec<&'a str>,
    /// Ids that stand more than once in the candidate.
    pub twice_candidate: Vec<&'a str>,
    /// True if the matched ids come in another order in the candidate (each by its first row).
    pub reordered: bool,
    /// For each distinct matched id in the reference's order, the row of the candidate. The row of the reference is the
    /// place in the list, if nothing is missing, double or null.
    pub candidate_rows: Vec<usize>,
}

/// Matches every id of the reference with the same id of the candidate.
pub(crate) fn match_rows<'a>(reference: &'a TextColumn, candidate: &'a TextColumn) -> Matching<'a> {
    let mut result = Matching::default();
    let mut row_in_candidate: HashMap<&str, usize> = HashMap::with_capacity(reference.rows());
    for id in present(reference).map(|(_, id)| id) {
        if row_in_candidate.insert(id, NONE).is_some() {
            result.twice_reference.push(id);
        }
    }
    for (row, id) in present(candidate) {
        match row_in_candidate.get_mut(id) {
            Some(first) if *first == NONE => *first = row,
            Some(_) => result.twice_candidate.push(id),
            None => result.extra.push(id),
        }
    }
    result.extra.sort_unstable();
    for pair in result.extra.windows(2) {
        if pair[0] == pair[1] {
            result.twice_candidate.push(pair[0]);
        }
    }
    result.extra.dedup();

    for (_, id) in present(reference) {
        // Taking the id out lets a second row of it pass by.
        match row_in_candidate.remove(id) {
            Some(NONE) => result.missing.push(id),
            Some(row) => result.candidate_rows.push(row),
            None => {}
        }
    }
    result.matched = result.candidate_rows.len() as u64;
    result.reordered = !result.candidate_rows.is_sorted();
    for list in [&mut result.missing, &mut result.twice_reference, &mut result.twice_candidate] {
        list.sort_unstable();
        list.dedup();
    }
    result
}

/// What can be said of two tables whose ids are of different families: only which ids stand twice in their own table.
pub(crate) fn unmatched<'a>(reference: &'a TextColumn, candidate: &'a TextColumn) -> Matching<'a> {
    Matching { twice_reference: twice(reference), twice_candidate: twice(candidate), ..Matching::default() }
}

fn twice(ids: &TextColumn) -> Vec<&str> {
    let mut all: Vec<&str> = present(ids).map(|(_, id)| id).collect();
    all.sort_unstable();
    let mut double: Vec<&str> = all.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
    double.dedup();
    double
}

/// The rows whose id is not null.
fn present(ids: &TextColumn) -> impl Iterator<Item = (usize, &str)> {
    let mut nulls = ids.nulls.iter().peekable();
    (0..ids.rows()).filter(move |row| nulls.next_if_eq(&&(*row as u64)).is_none()).map(|row| (row, ids.get(row)))
}

#[cfg(test)]
mod tests {
    use arrow::array::{Array, StringArray};

    use super::*;

    fn ids(texts: &[Option<&str>]) -> TextColumn {
        let array = StringArray::from(texts.to_vec());
        let mut column = TextColumn::default();
        column.append(&array, array.nulls(), false);
        column
    }

    fn some(texts: &[&'static str]) -> Vec<Option<&'static str>> {
        texts.iter().copied().map(Some).collect()
    }

    #[test]
    fn rows_are_matched_by_id_and_not_by_place() {
        let (r, c) = (ids(&some(&["c", "a", "b"])), ids(&some(&["a", "b", "c"])));
        let m = match_rows(&r, &c);
        assert_eq!((m.matched, m.reordered, m.candidate_rows), (3, true, vec![2, 0, 1]));
        assert!(m.missing.is_empty() && m.extra.is_empty());
    }

    #[test]
    fn lists_are_complete_sorted_bytewise_and_name_each_id_once() {
        let r = ids(&some(&["z", "Z", "é", "k", "k", "k", "m"]));
        let c = ids(&some(&["y", "x", "y", "y", "m", "m", "k"]));
        let m = match_rows(&r, &c);
        assert_eq!(m.missing, ["Z", "z", "é"]);
        assert_eq!(m.extra, ["x", "y"]);
        assert_eq!((m.twice_reference, m.twice_candidate), (vec!["k"], vec!["m", "y"]));
        assert_eq!((m.matched, m.reordered), (2, true));
    }

    #[test]
    fn absent_rows_alone_are_no_reordering() {
        let (r, c) = (ids(&some(&["a", "b", "c", "d"])), ids(&some(&["b", "e", "d"])));
        let m = match_rows(&r, &c);
        assert_eq!((m.matched, m.reordered), (2, false));
    }

    #[test]
    fn null_ids_match_nothing_not_even_the_empty_id() {
        let (r, c) = (ids(&[None, Some(""), None]), ids(&[None, None]));
        let m = match_rows(&r, &c);
        assert_eq!((m.matched, m.missing, m.extra.len(), m.twice_candidate.len()), (0, vec![""], 0, 0));
    }
}
