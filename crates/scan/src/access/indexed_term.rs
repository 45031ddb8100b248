//! Indexed terms: conditions on columns with the indexes that answer them.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_schema::Schema;
use hyperslab_array::{Cancellation, Datatype, Result, Selection};
use hyperslab_columns::{Column, Conventions};
use hyperslab_formats::FilterDescription;
use hyperslab_predicate::{Condition, Predicate};

use super::cost_model::SLOW_FILTERS;
use crate::pruner::{Blocks, BoxSide, ColumnIndex, CompositeIndex, CountBounds, Level, Matches, MatchingValues, RowSelection, pruner_of};
use crate::table::mapping::RowMapping;
use crate::table::segment::{Segment, SegmentColumn, Source};

/// A condition that one index answers.
pub(super) struct IndexedTerm {
    /// The column, or the columns of a box: `x, y`.
    pub column: String,
    pub asked: Asked,
    /// Maps rows to the dataset's elements; `None` if the rows are the elements.
    mapping: Option<Arc<RowMapping>>,
    /// Whether reading the column is cheap compared with a look-up, because its data are not filtered or are read anyway.
    pub is_cheap_to_read: bool,
    /// Whether looking up rows is cheaper than reading the column at any selectivity: the column is not wanted, and single
    /// values can be looked up.
    pub prefers_lookup: bool,
}

/// An index, and what it is asked.
pub(super) enum Asked {
    /// A condition on its column.
    Column { index: Arc<dyn ColumnIndex>, condition: Condition },
    /// The rows in a box.
    Box { index: Arc<dyn CompositeIndex>, sides: Vec<BoxSide> },
}

/// A condition on one column, with the column's values.
pub(super) struct ColumnCondition<'a> {
    pub name: String,
    pub source: Cow<'a, Source>,
    pub condition: Condition,
    /// Whether the column's values, or others of the same records, are wanted.
    is_wanted: bool,
    is_filtered: bool,
    /// Whether decoding the column's filters takes longer than most look-ups.
    is_inflated: bool,
}

impl<'a> ColumnCondition<'a> {
    /// The condition of a predicate that uses only this column; `None` if indexes cannot answer it.
    pub fn new(segment: &'a Segment, table: &Schema, predicate: &Predicate, name: &str, wanted: &[String]) -> Option<Self> {
        let (field, source, bound) = match segment.column(name) {
            Some(column) => (column.field.clone(), Cow::Borrowed(&column.source), predicate.bind(table)),
            None => {
                // A member is a column of its own for its index.
                let SegmentColumn { field, source } = member_of(segment, name)?;
                let bound = predicate.bind(&Schema::new(vec![field.clone()]));
                (field, Cow::Owned(source), bound)
            }
        };
        let condition = Condition::new(&bound.ok()?, &field)?;
        // All members of a record are read together.
        let is_wanted = wanted.iter().any(|other| other == name || segment.column(other).is_some_and(|other| is_of_same_records(&source, &other.source)));
        let is_filtered = filters(segment, &source, |filters| !filters.is_empty());
        // Decoding slow filters costs more than looking rows up in an index that holds the values, even if the column is wanted.
        let is_inflated = filters(segment, &source, |filters| filters.iter().any(|filter| SLOW_FILTERS.contains(&filter.id)));
        Some(Self { name: name.to_owned(), source, condition, is_wanted, is_filtered, is_inflated })
    }

    /// Whether reading the column is cheap compared with a look-up in an index, which may hold the values.
    pub fn is_cheap_to_read(&self, index_holds_values: bool) -> bool {
        !self.is_filtered || (self.is_wanted && !(self.is_inflated && index_holds_values))
    }

    pub fn is_wanted(&self) -> bool {
        self.is_wanted
    }
}

impl IndexedTerm {
    pub fn new(segment: &Segment, table: &Schema, predicate: &Predicate, column: &str, wanted: &[String]) -> Option<Self> {
        let of_column = ColumnCondition::new(segment, table, predicate, column, wanted)?;
        let (index, mapping) = index_of(segment, &of_column.source)?;
        let is_cheap_to_read = of_column.is_cheap_to_read(index.level() == Level::Exact);
        let prefers_lookup = !of_column.is_wanted
            && match index.level() {
                Level::Exact => true,
                Level::Positions => !of_column.is_filtered && mapping.as_ref().map_or(&segment.file, |mapping| &mapping.file).array_file().is_stored(),
                _ => false,
            };
        Some(Self { column: column.to_owned(), asked: Asked::Column { index, condition: of_column.condition }, mapping, is_cheap_to_read, prefers_lookup })
    }

    /// The rows in a box of these columns.
    pub fn of_box(column: String, index: Arc<dyn CompositeIndex>, sides: Vec<BoxSide>, mapping: Option<Arc<RowMapping>>, cheap: bool, prefers: bool) -> Self {
        Self { column, asked: Asked::Box { index, sides }, mapping, is_cheap_to_read: cheap, prefers_lookup: prefers }
    }

    /// The elements of the index's dataset for `rows`.
    fn selection<'a>(&self, rows: &'a Selection) -> Result<Cow<'a, Selection>> {
        mapped_selection(self.mapping.as_ref(), rows)
    }

    /// The level of its index.
    pub fn level(&self) -> Level {
        match &self.asked {
            Asked::Column { index, .. } => index.level(),
            Asked::Box { .. } => Level::Composite,
        }
    }

    /// How many blocks of the index it rules out.
    pub fn blocks(&self, rows: &Selection) -> Result<Blocks> {
        let selection = self.selection(rows)?;
        match &self.asked {
            Asked::Column { index, condition } => index.blocks(&selection, condition),
            Asked::Box { index, sides } => index.blocks(&selection, sides),
        }
    }

    /// See [`ColumnIndex::zone_rows`]; nothing for a box, whose look-up asks the zones.
    pub fn zone_rows(&self, rows: &Selection) -> Result<Option<RowSelection>> {
        match &self.asked {
            Asked::Column { index, condition } => index.zone_rows(&*self.selection(rows)?, condition),
            Asked::Box { .. } => Ok(None),
        }
    }

    pub fn count(&self, rows: &Selection, among: Option<&RowSelection>, cancellation: &Cancellation) -> Result<CountBounds> {
        let selection = self.selection(rows)?;
        match (&self.asked, among) {
            (Asked::Column { index, condition }, Some(among)) => index.count_among(&selection, condition, among, cancellation),
            (Asked::Column { index, condition }, None) => index.count(&selection, condition, cancellation),
            (Asked::Box { index, sides }, among) => index.count(&selection, sides, among, cancellation),
        }
    }

    pub fn rows(&self, rows: &Selection, among: Option<&RowSelection>, cancellation: &Cancellation) -> Result<Matches> {
        let selection = self.selection(rows)?;
        match (&self.asked, among) {
            (Asked::Column { index, condition }, Some(among)) => index.rows_among(&selection, condition, among, cancellation),
            (Asked::Column { index, condition }, None) => index.rows(&selection, condition, cancellation),
            (Asked::Box { index, sides }, among) => index.rows(&selection, sides, among, cancellation),
        }
    }

    /// See [`ColumnIndex::matching_values`]; `None` for a box.
    pub fn matching_values(&self, rows: &Selection, sparse: Option<u64>, cancellation: &Cancellation) -> Result<Option<MatchingValues>> {
        match &self.asked {
            Asked::Column { index, condition } => index.matching_values(&*self.selection(rows)?, condition, sparse, cancellation),
            Asked::Box { .. } => Ok(None),
        }
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
    let column = Column::new(name, &member.datatype, &[], Conventions::Raw).ok()?;
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
