//! Prune: what is left of a window's rows by what the session's pruner knows, before values are read.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::Schema;
use hyperslab_array::{Cancellation, Result, Selection};
use hyperslab_formats::FilterDescription;
use hyperslab_predicate::{BoundPredicate, Condition, Predicate, ValueSet};

use crate::pruner::{ColumnIndex, CountBounds, Level, Matches, pruner_of};
use crate::table::segment::{RowMapping, Segment, Source};
use super::cost_model::SLOW_FILTERS;

/// One part of a predicate that indexes know of: a condition on one column, or several of which one at least must hold.
pub(crate) struct IndexedPredicate {
    pub(super) terms: Vec<ColumnTerm>,
}

/// A condition on one column, and the column's index.
pub(super) struct ColumnTerm {
    pub column: String,
    pub index: Arc<dyn ColumnIndex>,
    pub condition: Condition,
    /// Where the rows lie in the dataset, if they are not all of it.
    mapping: Option<Arc<RowMapping>>,
    /// Whether reading the column costs next to nothing beside a look-up: it lies there as it is shown.
    pub is_cheap_to_read: bool,
    /// Whether rows are told with less work than reading the column, which nobody wants, at any selectivity: by positions
    /// in order, where single values can be looked up.
    pub prefers_lookup: bool,
}

/// What indexes know of conditions that must all hold, and whether that is all of them. Those of one column are looked up as
/// one: of `1 < x && x < 2` few values are left, of each alone perhaps half.
pub(crate) fn indexed_predicates(segment: &Segment, table: &Schema, conjuncts: &[&Predicate], wanted: &[String]) -> (Vec<IndexedPredicate>, bool) {
    let mut groups: Vec<Vec<&Predicate>> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for conjunct in conjuncts {
        let names = conjunct.columns();
        let new = groups.len();
        let mapping = names.first().filter(|_| names.len() == 1).map_or(new, |only| *places.entry(only.clone()).or_insert(new));
        match groups.get_mut(mapping) {
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

/// What indexes know of `predicate`, whose columns are those of `table`; `None` where one of its columns has no index, or
/// where it is more than one condition a column.
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
        ColumnTerm::new(segment, &condition.bind(table).ok()?, &column, wanted.contains(&column))
    };
    Some(IndexedPredicate { terms: by_column.into_iter().map(of_column).collect::<Option<_>>()? })
}

impl ColumnTerm {
    fn new(segment: &Segment, bound: &BoundPredicate, column: &str, wanted: bool) -> Option<Self> {
        let found = segment.column(column)?;
        let (index, mapping) = index_of(segment, &found.source)?;
        let condition = Condition::new(bound, &found.field)?;
        let filtered = filters(segment, &found.source, |filters| !filters.is_empty());
        // What an index of level X tells of data is not read where inflating them costs more than to look rows up.
        let inflated = filters(segment, &found.source, |filters| filters.iter().any(|filter| SLOW_FILTERS.contains(&filter.id)));
        let is_cheap_to_read = !filtered || (wanted && !(inflated && index.level() == Level::Exact));
        let prefers_lookup = !wanted && match index.level() {
            Level::Exact => true,
            Level::Positions => !filtered && !mapping.as_ref().map_or(&segment.file, |mapping| &mapping.file).is_foreign(),
            _ => false,
        };
        Some(Self { column: column.to_owned(), index, condition, mapping, is_cheap_to_read, prefers_lookup })
    }

    /// The elements of the index's dataset that `rows` are.
    pub fn selection<'a>(&self, rows: &'a Selection) -> Result<Cow<'a, Selection>> {
        mapped_selection(self.mapping.as_ref(), rows)
    }
}

/// Whether something holds of the filters that a column's values are read through.
pub(super) fn filters(segment: &Segment, source: &Source, holds: impl Fn(&[FilterDescription]) -> bool) -> bool {
    match source {
        Source::Mapped { dataset, mapping, .. } => mapping.file.dataset(*dataset).is_ok_and(|dataset| holds(&dataset.filters)),
        Source::Variable { dataset, .. } => segment.file.dataset(*dataset).is_ok_and(|dataset| holds(&dataset.filters)),
        _ => false,
    }
}

/// An index, and where the segment's rows lie in the dataset that it is of (`None`: they are all of it).
type MappedIndex = (Arc<dyn ColumnIndex>, Option<Arc<RowMapping>>);

/// The index of the values of a column.
pub(crate) fn index_of(segment: &Segment, source: &Source) -> Option<MappedIndex> {
    let pruner = pruner_of(segment.file.session())?;
    match source {
        // An index is of the dataset's own elements, not of text that is put together from them.
        Source::Variable { dataset, column, per_row: None } if segment.file.dataset(*dataset).is_ok_and(|d| d.datatype.size() == column.datatype().size()) => {
            Some((pruner.column(&segment.file, *dataset, column)?, None))
        }
        Source::Mapped { dataset, column, mapping } => Some((pruner.column(&mapping.file, *dataset, column)?, Some(mapping.clone()))),
        _ => None,
    }
}

/// The elements of a dataset that rows of a segment are. They are numbered as the rows are: dimensions that
/// all rows share have one index.
pub(crate) fn mapped_selection<'a>(mapping: Option<&Arc<RowMapping>>, rows: &'a Selection) -> Result<Cow<'a, Selection>> {
    let Some(mapping) = mapping else { return Ok(Cow::Borrowed(rows)) };
    let shape: Vec<u64> = mapping.axes(rows.axes())?.iter().map(|axis| axis.index(axis.count().saturating_sub(1)).map_or(0, |last| last + 1)).collect();
    Ok(Cow::Owned(Selection::new(mapping.axes(rows.axes())?, &shape)?))
}

impl IndexedPredicate {
    /// The least that an index of it knows.
    pub(crate) fn level(&self) -> Level {
        self.terms.iter().map(|term| term.index.level()).min().unwrap_or(Level::Zone)
    }

    /// The set of values that the condition leaves of `column`, where it is of that column alone.
    pub(crate) fn values_of(&self, column: &str) -> Option<&ValueSet> {
        let [term] = self.terms.as_slice() else { return None };
        term.condition.values().filter(|_| term.column == column)
    }

    /// The index of the column that the condition is of, where it is of `column` alone and the index has its values.
    pub(super) fn exact_on(&self, column: &str) -> Option<&ColumnTerm> {
        let [term] = self.terms.as_slice() else { return None };
        (term.column == column && term.index.level() == Level::Exact).then_some(term)
    }

    /// At least and at most so many of `rows` pass.
    pub(crate) fn count(&self, rows: &Selection, cancellation: &Cancellation) -> Result<CountBounds> {
        let mut bounds = CountBounds::default();
        for term in &self.terms {
            let here = term.index.count(&*term.selection(rows)?, &term.condition, cancellation)?;
            bounds = CountBounds { lower: bounds.lower.max(here.lower), upper: bounds.upper.saturating_add(here.upper) };
        }
        Ok(CountBounds { upper: bounds.upper.min(rows.element_count()?), ..bounds })
    }

    /// Which of `rows` pass.
    pub(crate) fn rows(&self, rows: &Selection, cancellation: &Cancellation) -> Result<Matches> {
        let mut known: Option<Matches> = None;
        for term in &self.terms {
            let here = term.index.rows(&*term.selection(rows)?, &term.condition, cancellation)?;
            known = Some(match known {
                None => here,
                Some(known) => {
                    let certain = known.certain.or(&here.certain);
                    Matches { possible: known.possible.or(&here.possible).and_not(&certain), certain }
                }
            });
        }
        Ok(known.unwrap_or_default())
    }
}
