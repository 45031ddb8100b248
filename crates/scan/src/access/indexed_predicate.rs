//! The parts of a predicate that indexes can answer.

use std::collections::HashMap;

use arrow_schema::Schema;
use hyperslab_array::{Cancellation, Error, Result, Selection};
use hyperslab_predicate::{Predicate, ValueSet};

use super::box_conditions::{CompositeFiles, take_boxes};
use super::indexed_term::{Asked, IndexedTerm};
use crate::pruner::{CountBounds, Level, Matches, RowSelection};
use crate::table::segment::Segment;

/// A part of a predicate that indexes can answer: a condition on one column, the disjunction of several, or a box in several columns.
pub(crate) struct IndexedPredicate {
    /// At least one, each of other columns; the part holds if one of them does.
    pub(super) terms: Vec<IndexedTerm>,
}

/// The conjuncts that indexes can answer, and whether that is all of them. Conjuncts on the same column are combined into
/// one: `1 < x && x < 2` may leave few values, although each half alone leaves many.
pub(crate) fn indexed_predicates(
    segment: &Segment,
    table: &Schema,
    conjuncts: &[&Predicate],
    wanted: &[String],
    files: &CompositeFiles,
) -> (Vec<IndexedPredicate>, bool) {
    let mut groups: Vec<Vec<&Predicate>> = Vec::new();
    let mut group_of: HashMap<String, usize> = HashMap::new();
    for conjunct in conjuncts {
        let names = conjunct.columns();
        let new = groups.len();
        let group = names.first().filter(|_| names.len() == 1).map_or(new, |only| *group_of.entry(only.clone()).or_insert(new));
        match groups.get_mut(group) {
            Some(group) => group.push(conjunct),
            None => groups.push(vec![conjunct]),
        }
    }
    let mut known: Vec<Option<IndexedPredicate>> = Vec::new();
    for term in take_boxes(segment, table, &mut groups, wanted, files) {
        known.push(Some(IndexedPredicate { terms: vec![term] }));
    }
    for group in groups {
        let one = |predicate: &Predicate| indexed_predicate(segment, table, predicate, wanted);
        let together = match group.as_slice() {
            [only] => one(only),
            several => one(&Predicate::all(several.iter().copied().cloned())),
        };
        match together {
            Some(all) => known.push(Some(all)),
            None => known.extend(group.into_iter().map(one)),
        }
    }
    let all = known.iter().all(Option::is_some);
    (known.into_iter().flatten().collect(), all)
}

/// `predicate` with the indexes of its columns; `None` if a column has no index, or if it is not a disjunction of conditions
/// on single columns.
fn indexed_predicate(segment: &Segment, table: &Schema, predicate: &Predicate, wanted: &[String]) -> Option<IndexedPredicate> {
    let mut by_column: Vec<(String, Vec<Predicate>)> = Vec::new();
    let alternatives = match predicate {
        Predicate::Or(parts) if predicate.columns().len() > 1 => parts.as_slice(),
        _ => std::slice::from_ref(predicate),
    };
    for alternative in alternatives {
        let names = alternative.columns();
        let name = names.first().filter(|_| names.len() == 1)?;
        match by_column.iter_mut().find(|(column, _)| column == name) {
            Some((_, mine)) => mine.push(alternative.clone()),
            None => by_column.push((name.clone(), vec![alternative.clone()])),
        }
    }
    let of_column = |(column, mut parts): (String, Vec<Predicate>)| {
        let condition = if parts.len() == 1 { parts.pop()? } else { Predicate::Or(parts) };
        IndexedTerm::new(segment, table, &condition, &column, wanted)
    };
    Some(IndexedPredicate { terms: by_column.into_iter().map(of_column).collect::<Option<_>>()? })
}

impl IndexedPredicate {
    /// The lowest level of its indexes.
    pub(crate) fn level(&self) -> Level {
        self.terms.iter().map(IndexedTerm::level).min().unwrap_or(Level::Zone)
    }

    /// The values of `column` for which it holds; `None` if it uses other columns.
    pub(crate) fn values_of(&self, column: &str) -> Option<&ValueSet> {
        match self.terms.as_slice() {
            [IndexedTerm { column: mine, asked: Asked::Column { condition, .. }, .. }] if mine == column => condition.values(),
            _ => None,
        }
    }

    /// Whether each of its terms asks for intervals of values: indexes that know rows answer these completely.
    pub(super) fn has_value_sets(&self) -> bool {
        self.terms.iter().all(|term| match &term.asked {
            Asked::Column { condition, .. } => condition.values().is_some(),
            Asked::Box { .. } => true,
        })
    }

    /// Its only term, if that is a condition on `column` whose index holds the values.
    pub(super) fn exact_on(&self, column: &str) -> Option<&IndexedTerm> {
        let [term] = self.terms.as_slice() else { return None };
        (term.column == column && term.level() == Level::Exact).then_some(term)
    }

    /// The rows of the blocks that the zones of its indexes do not rule out; `None` if they rule out none, or do not say.
    pub(crate) fn zone_rows(&self, rows: &Selection) -> Result<Option<RowSelection>> {
        let mut left: Option<RowSelection> = None;
        for term in &self.terms {
            let Some(here) = term.zone_rows(rows)? else { return Ok(None) };
            left = Some(match left {
                Some(left) => left.or(&here),
                None => here,
            });
        }
        Ok(left)
    }

    /// Lower and upper bound of the number of `rows` for which it holds; only of the blocks that have any of the rows `among`,
    /// if that is given and the indexes can leave out the others.
    pub(crate) fn count(&self, rows: &Selection, among: Option<&RowSelection>, cancellation: &Cancellation) -> Result<CountBounds> {
        let mut bounds = CountBounds::default();
        for term in &self.terms {
            let here = term.count(rows, among, cancellation)?;
            bounds = CountBounds { lower: bounds.lower.max(here.lower), upper: bounds.upper.saturating_add(here.upper) };
        }
        Ok(CountBounds { upper: bounds.upper.min(rows.element_count()?), ..bounds })
    }

    /// The `rows` for which it holds or may hold. If `among` is given, the answer is complete for these rows only.
    pub(crate) fn rows(&self, rows: &Selection, among: Option<&RowSelection>, cancellation: &Cancellation) -> Result<Matches> {
        let mut known: Option<Matches> = None;
        for term in &self.terms {
            let here = term.rows(rows, among, cancellation)?;
            known = Some(match known {
                None => here,
                Some(known) => {
                    let certain = known.certain.or(&here.certain);
                    Matches { possible: known.possible.or(&here.possible).and_not(&certain), certain }
                }
            });
        }
        known.ok_or_else(|| Error::internal("an indexed predicate without terms"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_predicate_without_terms_is_internal() {
        let rows = IndexedPredicate { terms: Vec::new() }.rows(&Selection::all(&[3]), None, &Cancellation::new());
        assert!(rows.is_err_and(|error| error.kind() == hyperslab_array::ErrorKind::Internal));
    }
}
