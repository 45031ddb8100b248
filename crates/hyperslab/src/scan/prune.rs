//! Prune: what is left of a window's rows by what the session's pruner knows, before values are read.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::ArrayRef;
use hyperslab_array::{Axis, Error, Result, Selection};
use hyperslab_formats::FilterDescription;

use super::plan::Part;
use super::predicate::BoundPredicate;
use super::pruner::{Bounds, ColumnIndex, Condition, Known, Level, RowSet};
use super::segment::{Place, Segment, Source};
use crate::Cancellation;

/// One in so many rows: where more pass, testing values that are read anyway costs less than looking rows up.
const DENSE: u64 = 16;
/// Filters whose data take longer to inflate than values to be looked up in an index: deflate, bzip2.
const SLOW: [u16; 2] = [1, 307];

/// One part of a predicate that an index knows of.
pub(super) struct Pruning {
    pub column: String,
    pub index: Arc<dyn ColumnIndex>,
    pub condition: Condition,
    /// Where the rows lie in the dataset, if they are not all of it.
    place: Option<Arc<Place>>,
    /// Whether reading the column costs next to nothing beside a look-up: it lies there as it is shown.
    cheap: bool,
}

/// What of the rows is left.
pub(super) enum Left {
    /// Nothing is known of them.
    All,
    /// Rows that may pass, and whether all of them do.
    Rows { rows: RowSet, exact: bool },
}

/// The index of the one column that a part of a predicate speaks of.
pub(super) fn pruning(segment: &Segment, bound: &BoundPredicate, column: &str, wanted: bool) -> Option<Pruning> {
    let found = segment.column(column)?;
    let (index, place) = index_of(segment, &found.source)?;
    let condition = Condition::new(bound, &found.field)?;
    let filtered = filters(segment, &found.source, |filters| !filters.is_empty());
    // What an index of level X tells of data is not read where inflating them costs more than to look rows up.
    let inflated = filters(segment, &found.source, |filters| filters.iter().any(|filter| SLOW.contains(&filter.id)));
    let cheap = !filtered || (wanted && !(inflated && index.level() == Level::Exact));
    Some(Pruning { column: column.to_owned(), index, condition, place, cheap })
}

/// Whether something holds of the filters that a column's values are read through.
fn filters(segment: &Segment, source: &Source, holds: impl Fn(&[FilterDescription]) -> bool) -> bool {
    match source {
        Source::Placed { dataset, place, .. } => place.file.dataset(*dataset).is_ok_and(|dataset| holds(&dataset.filters)),
        Source::Variable { dataset, .. } => segment.file.dataset(*dataset).is_ok_and(|dataset| holds(&dataset.filters)),
        _ => false,
    }
}

/// An index, and where the segment's rows lie in the dataset that it is of (`None`: they are all of it).
type PlacedIndex = (Arc<dyn ColumnIndex>, Option<Arc<Place>>);

/// The index of the values of a column.
pub(super) fn index_of(segment: &Segment, source: &Source) -> Option<PlacedIndex> {
    let pruner = segment.file.session().pruner();
    match source {
        Source::Variable { dataset, column, per_row: None } => Some((pruner.column(&segment.file, *dataset, column)?, None)),
        Source::Placed { dataset, column, place } => Some((pruner.column(&place.file, *dataset, column)?, Some(place.clone()))),
        _ => None,
    }
}

/// The elements of a dataset that rows of a segment are. They are numbered as the rows are: dimensions that
/// all rows share have one index.
pub(super) fn placed<'a>(place: Option<&Arc<Place>>, rows: &'a Selection) -> Result<Cow<'a, Selection>> {
    let Some(place) = place else { return Ok(Cow::Borrowed(rows)) };
    let shape: Vec<u64> = place.axes(rows.axes())?.iter().map(|axis| axis.index(axis.count().saturating_sub(1)).map_or(0, |last| last + 1)).collect();
    Ok(Cow::Owned(Selection::new(place.axes(rows.axes())?, &shape)?))
}

impl Pruning {
    /// The elements of the index's dataset that `rows` are.
    fn selection<'a>(&self, rows: &'a Selection) -> Result<Cow<'a, Selection>> {
        placed(self.place.as_ref(), rows)
    }
}

impl Part {
    /// What is left of the selected rows, `count` of them.
    pub(super) fn left(&self, selection: &Selection, count: u64, cancellation: &Cancellation) -> Result<Left> {
        let counters = self.segment.file.session().counters();
        let (mut rows, mut exact): (Option<RowSet>, bool) = (None, self.all_pruned);
        let of_rows = selection;
        for pruning in &self.prunings {
            let selection = &*pruning.selection(of_rows)?;
            let blocks = pruning.index.blocks(selection, &pruning.condition)?;
            counters.add_index_blocks(blocks.all, blocks.pruned);
            if pruning.index.level() >= Level::Keys && pruning.cheap {
                let bounds = pruning.index.count(selection, &pruning.condition, cancellation)?;
                if bounds.least > count / DENSE {
                    exact = false;
                    continue;
                }
            }
            let Known { hits, candidates } = pruning.index.rows(selection, &pruning.condition, cancellation)?;
            exact &= candidates.is_empty();
            let here = if candidates.is_empty() { hits } else { hits.or(&candidates) };
            let both = match rows {
                Some(rows) => rows.and(&here),
                None => here,
            };
            if both.is_empty() {
                return Ok(Left::Rows { rows: both, exact: true });
            }
            rows = Some(both);
        }
        Ok(match rows {
            Some(rows) if rows.len() < count || exact => Left::Rows { rows, exact },
            _ => Left::All,
        })
    }

    /// At least and at most so many rows pass, by indexes alone.
    pub(super) fn bounds(&self, cancellation: &Cancellation) -> Result<Bounds> {
        let count = self.selection.element_count()?;
        if self.residual.is_none() {
            return Ok(Bounds::exactly(count));
        }
        let mut bounds = Bounds { least: 0, most: count };
        for pruning in &self.prunings {
            let here = pruning.index.count(&*pruning.selection(&self.selection)?, &pruning.condition, cancellation)?;
            bounds.most = bounds.most.min(here.most);
            if self.all_pruned && self.prunings.len() == 1 {
                bounds.least = here.least;
            }
        }
        Ok(bounds)
    }

    /// How many of all rows pass, where indexes alone tell.
    pub(super) fn count_by_index(&self, cancellation: &Cancellation) -> Result<Option<u64>> {
        if !self.all_pruned || self.prunings.is_empty() {
            return Ok(None);
        }
        if let [only] = self.prunings.as_slice()
            && let Some(count) = only.index.count(&*only.selection(&self.selection)?, &only.condition, cancellation)?.exact()
        {
            return Ok(Some(count));
        }
        Ok(self.rows_by_index(cancellation)?.map(|rows| rows.len()))
    }

    /// Numbers of the selected rows that pass, where indexes alone tell.
    pub(super) fn rows_by_index(&self, cancellation: &Cancellation) -> Result<Option<RowSet>> {
        if !self.all_pruned || self.prunings.iter().any(|pruning| pruning.index.level() < Level::Positions) {
            return Ok(None);
        }
        let mut rows: Option<RowSet> = None;
        for pruning in &self.prunings {
            let known = pruning.index.rows(&*pruning.selection(&self.selection)?, &pruning.condition, cancellation)?;
            if !known.candidates.is_empty() {
                return Ok(None);
            }
            rows = Some(match rows {
                Some(rows) => rows.and(&known.hits),
                None => known.hits,
            });
        }
        Ok(rows)
    }

    /// The wanted columns, at `rows` of `selection`, that indexes tell with less work than reading: of filtered data.
    pub(super) fn values_by_index(&self, selection: &Selection, rows: &RowSet, cancellation: &Cancellation) -> Result<HashMap<String, ArrayRef>> {
        let mut told = HashMap::new();
        for name in &self.wanted {
            let Some(source) = self.segment.column(name).map(|column| &column.source).filter(|source| filters(&self.segment, source, |filters| !filters.is_empty())) else { continue };
            let Some((index, place)) = index_of(&self.segment, source).filter(|(index, _)| index.level() == Level::Exact) else { continue };
            if let Some(values) = index.values(&*placed(place.as_ref(), selection)?, rows, cancellation)? {
                told.insert(name.clone(), values);
            }
        }
        Ok(told)
    }

    /// For people: which indexes are asked, and what they leave.
    pub(super) fn explain_prunings(&self) -> Result<Vec<String>> {
        self.prunings.iter().map(|pruning| {
            let blocks = pruning.index.blocks(&*pruning.selection(&self.selection)?, &pruning.condition)?;
            let left = blocks.all - blocks.pruned;
            Ok(format!("index {} on {}: {left} of {} blocks left", pruning.index.level().letter(), pruning.column, blocks.all))
        }).collect()
    }
}

/// A selection of rows without those positions, along its first dimension of more than one, that have none of
/// `rows`; and `rows` as they are numbered then. `None` where that leaves more than half.
pub(super) fn narrowed(selection: &Selection, shape: &[u64], rows: &RowSet) -> Result<Option<(Selection, RowSet)>> {
    let extents = selection.shape();
    let Some(cut) = extents.iter().position(|count| *count > 1) else { return Ok(None) };
    let below: u64 = extents.iter().skip(cut + 1).product::<u64>().max(1);
    let (Some(axis), Some(&positions)) = (selection.axes().get(cut), extents.get(cut)) else { return Ok(None) };
    let mut kept: Vec<u64> = Vec::new();
    let mut numbers: Vec<u64> = Vec::new();
    for row in rows.iter() {
        let position = row / below;
        if kept.last() != Some(&position) {
            if kept.len() as u64 >= positions / 2 {
                return Ok(None);
            }
            kept.push(position);
        }
        numbers.push((kept.len() as u64 - 1) * below + row % below);
    }
    let indices = kept.iter().map(|position| axis.index(*position).ok_or_else(|| Error::internal("a row beyond its window"))).collect::<Result<Vec<_>>>()?;
    let mut axes = selection.axes().to_vec();
    if let Some(axis) = axes.get_mut(cut) {
        *axis = Axis::Indices(indices);
    }
    let rows = RowSet::from_sorted(numbers).ok_or_else(|| Error::internal("rows out of order"))?;
    Ok(Some((Selection::new(axes, shape)?, rows)))
}
