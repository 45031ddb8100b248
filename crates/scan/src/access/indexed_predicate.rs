//! The parts of a predicate that indexes can answer.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::Schema;
use hyperslab_array::{Cancellation, Datatype, Error, Result, Selection};
use hyperslab_columns::{Column, Decoding};
use hyperslab_formats::FilterDescription;
use hyperslab_predicate::{Condition, Predicate, ValueSet};

use super::cost_model::SLOW_FILTERS;
use crate::pruner::{ColumnIndex, CountBounds, Level, Matches, RowSelection, pruner_of};
use crate::table::mapping::RowMapping;
use crate::table::segment::{Segment, SegmentColumn, Source};

/// A part of a predicate that indexes can answer: a condition on one column, or the disjunction of several.
pub(crate) struct IndexedPredicate {
    /// At least one, each of another column; the part holds if one of them does.
    pub(super) terms: Vec<ColumnTerm>,
}

/// A condition on one column, and the column's index.
pub(super) struct ColumnTerm {
    pub column: String,
    pub index: Arc<dyn ColumnIndex>,
    pub condition: Condition,
    /// Maps rows to the dataset's elements; `None` if the rows are the elements.
    mapping: Option<Arc<RowMapping>>,
    /// Whether reading the column is cheap compared with a look-up, because its data are not filtered or are read anyway.
    pub is_cheap_to_read: bool,
    /// Whether looking up rows is cheaper than reading the column at any selectivity: the column is not wanted, and single
    /// values can be looked up.
    pub prefers_lookup: bool,
}

/// The conjuncts that indexes can answer, and whether that is all of them. Conjuncts on the same column are combined into
/// one: `1 < x && x < 2` may leave few values, although each half alone leaves many.
pub(crate) fn indexed_predicates(segment: &Segment, table: &Schema, conjuncts: &[&Predicate], wanted: &[String]) -> (Vec<IndexedPredicate>, bool) {
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
        ColumnTerm::new(segment, table, &condition, &column, wanted)
    };
    Some(IndexedPredicate { terms: by_column.into_iter().map(of_column).collect::<Option<_>>()? })
}

impl ColumnTerm {
    fn new(segment: &Segment, table: &Schema, predicate: &Predicate, column: &str, wanted: &[String]) -> Option<Self> {
        let member = if segment.column(column).is_none() { member_of(segment, column) } else { None };
        let SegmentColumn { field, source } = member.as_ref().or_else(|| segment.column(column))?;
        let (index, mapping) = index_of(segment, source)?;
        // A member is a column of its own for its index.
        let bound = if member.is_some() { predicate.bind(&Schema::new(vec![field.clone()])) } else { predicate.bind(table) };
        let condition = Condition::new(&bound.ok()?, field)?;
        // All members of a record are read together.
        let wanted = wanted.iter().any(|name| name == column || segment.column(name).is_some_and(|other| is_of_same_records(source, &other.source)));
        let filtered = filters(segment, source, |filters| !filters.is_empty());
        // Decoding slow filters costs more than looking rows up in an index of level X, even if the column is wanted.
        let inflated = filters(segment, source, |filters| filters.iter().any(|filter| SLOW_FILTERS.contains(&filter.id)));
        let is_cheap_to_read = !filtered || (wanted && !(inflated && index.level() == Level::Exact));
        let prefers_lookup = !wanted
            && match index.level() {
                Level::Exact => true,
                Level::Positions => !filtered && mapping.as_ref().map_or(&segment.file, |mapping| &mapping.file).array_file().is_stored(),
                _ => false,
            };
        Some(Self { column: column.to_owned(), index, condition, mapping, is_cheap_to_read, prefers_lookup })
    }

    /// The elements of the index's dataset for `rows`.
    pub fn selection<'a>(&self, rows: &'a Selection) -> Result<Cow<'a, Selection>> {
        mapped_selection(self.mapping.as_ref(), rows)
    }
}

/// Whether both are values of the records of one compound dataset.
fn is_of_same_records(one: &Source, other: &Source) -> bool {
    let Source::Member { dataset, .. } = one else { return false };
    matches!(other, Source::Member { dataset: theirs, .. } | Source::Variable { dataset: theirs, per_row: None, .. } if theirs == dataset)
}

/// The member that a name such as `records.energy` means, as a column: of a column with whole compound elements.
fn member_of(segment: &Segment, name: &str) -> Option<SegmentColumn> {
    let (head, tail) = name.rmatch_indices('.').map(|(dot, _)| (name.get(..dot), name.get(dot + 1..))).find_map(|(head, tail)| {
        let (head, tail) = (head?, tail?);
        Some((segment.column(head)?, tail))
    })?;
    let Source::Variable { dataset, column, per_row: None } = &head.source else { return None };
    let Datatype::Compound { members, .. } = column.datatype() else { return None };
    let (number, member) = members.iter().enumerate().find(|(_, member)| member.name == tail)?;
    let column = Column::new(name, &member.datatype, &[], Decoding::Raw).ok()?;
    Some(SegmentColumn { field: column.field().clone(), source: Source::Member { dataset: *dataset, member: number, column: Arc::new(column) } })
}

/// Whether `holds` is true for the filters of a column's dataset.
pub(super) fn filters(segment: &Segment, source: &Source, holds: impl Fn(&[FilterDescription]) -> bool) -> bool {
    match source {
        Source::Mapped { dataset, mapping, .. } => mapping.file.dataset(*dataset).is_ok_and(|dataset| holds(&dataset.filters)),
        Source::Variable { dataset, .. } | Source::Member { dataset, .. } => segment.file.dataset(*dataset).is_ok_and(|dataset| holds(&dataset.filters)),
        _ => false,
    }
}

/// An index, and how the segment's rows map to its dataset (`None`: the rows are the elements).
type MappedIndex = (Arc<dyn ColumnIndex>, Option<Arc<RowMapping>>);

/// The index of a column's values.
pub(crate) fn index_of(segment: &Segment, source: &Source) -> Option<MappedIndex> {
    let pruner = pruner_of(segment.file.session())?;
    match source {
        // An index covers the dataset's own elements, not text that is assembled from them.
        Source::Variable { dataset, column, per_row: None } if segment.file.dataset(*dataset).is_ok_and(|d| d.datatype.size() == column.datatype().size()) => {
            Some((pruner.column(&segment.file, *dataset, column)?, None))
        }
        Source::Mapped { dataset, column, mapping } => Some((pruner.column(&mapping.file, *dataset, column)?, Some(mapping.clone()))),
        Source::Member { dataset, member, column } => Some((pruner.member(&segment.file, *dataset, *member, column)?, None)),
        _ => None,
    }
}

/// The elements of a dataset for rows of a segment, in the same order: dimensions that the rows do not have are fixed at one
/// index.
pub(crate) fn mapped_selection<'a>(mapping: Option<&Arc<RowMapping>>, rows: &'a Selection) -> Result<Cow<'a, Selection>> {
    let Some(mapping) = mapping else { return Ok(Cow::Borrowed(rows)) };
    let shape: Vec<u64> = mapping.axes(rows.axes())?.iter().map(|axis| axis.index(axis.count().saturating_sub(1)).map_or(0, |last| last + 1)).collect();
    Ok(Cow::Owned(Selection::new(mapping.axes(rows.axes())?, &shape)?))
}

impl IndexedPredicate {
    /// The lowest level of its indexes.
    pub(crate) fn level(&self) -> Level {
        self.terms.iter().map(|term| term.index.level()).min().unwrap_or(Level::Zone)
    }

    /// The values of `column` for which it holds; `None` if it uses other columns.
    pub(crate) fn values_of(&self, column: &str) -> Option<&ValueSet> {
        let [term] = self.terms.as_slice() else { return None };
        term.condition.values().filter(|_| term.column == column)
    }

    /// Its only term, if that is a condition on `column` whose index holds the values.
    pub(super) fn exact_on(&self, column: &str) -> Option<&ColumnTerm> {
        let [term] = self.terms.as_slice() else { return None };
        (term.column == column && term.index.level() == Level::Exact).then_some(term)
    }

    /// The rows of the blocks that the zones of its indexes do not rule out; `None` if they rule out none, or do not say.
    pub(crate) fn zone_rows(&self, rows: &Selection) -> Result<Option<RowSelection>> {
        let mut left: Option<RowSelection> = None;
        for term in &self.terms {
            let Some(here) = term.index.zone_rows(&*term.selection(rows)?, &term.condition)? else { return Ok(None) };
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
            let selection = term.selection(rows)?;
            let here = match among {
                Some(among) => term.index.count_among(&selection, &term.condition, among, cancellation)?,
                None => term.index.count(&selection, &term.condition, cancellation)?,
            };
            bounds = CountBounds { lower: bounds.lower.max(here.lower), upper: bounds.upper.saturating_add(here.upper) };
        }
        Ok(CountBounds { upper: bounds.upper.min(rows.element_count()?), ..bounds })
    }

    /// The `rows` for which it holds or may hold. If `among` is given, the answer is complete for these rows only.
    pub(crate) fn rows(&self, rows: &Selection, among: Option<&RowSelection>, cancellation: &Cancellation) -> Result<Matches> {
        let mut known: Option<Matches> = None;
        for term in &self.terms {
            let selection = term.selection(rows)?;
            let here = match among {
                Some(among) => term.index.rows_among(&selection, &term.condition, among, cancellation)?,
                None => term.index.rows(&selection, &term.condition, cancellation)?,
            };
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
