//! Restricts the rows of a segment or a window by indexes, before values are read.

use std::collections::HashMap;

use arrow_array::ArrayRef;
use hyperslab_array::{Axis, Cancellation, Error, Result, Selection};

use super::cost_model::{DENSE_ROW_FRACTION, NEIGHBOR_MAX_FRACTION, NEIGHBOR_ROWS, POSITION_MAX_FRACTION, SPARSE_ROW_FRACTION};
use super::indexed_term::{IndexedTerm, filters, index_of, mapped_selection};
use super::segment_scan::SegmentScan;
use super::strategy::AccessStrategy;
use crate::pruner::{CountBounds, Level, Matches, MatchingValues, RowSelection};
use crate::table::segment::Source;
use crate::window::{self, Rows};

/// The rows that remain after indexes were asked.
pub(crate) enum Remaining {
    /// All rows: indexes rule out none, or were not asked.
    All,
    /// Only these rows may match; if `exact`, all of them do.
    Rows { rows: RowSelection, exact: bool },
}

impl SegmentScan {
    /// The rows of `selection` that may match; there are `count` rows in it.
    pub(crate) fn remaining_rows(&self, selection: &Selection, count: u64, cancellation: &Cancellation) -> Result<Remaining> {
        let counters = self.segment.file.session().counters();
        let (mut rows, mut exact): (Option<RowSelection>, bool) = (None, self.is_fully_indexed);
        let zone_rows = self.zone_rows(selection)?;
        if let Some(none) = zone_rows.as_ref().filter(|rows| rows.is_empty()) {
            self.count_blocks_of(selection)?;
            return Ok(Remaining::Rows { rows: none.clone(), exact: true });
        }
        for indexed in self.indexed_predicates.iter() {
            for term in &indexed.terms {
                let blocks = term.blocks(selection)?;
                counters.add_index_blocks(blocks.all, blocks.pruned);
            }
            if self.window_choice(indexed, exact, selection, count, cancellation)?.strategy == AccessStrategy::ScanWindows {
                exact = false;
                continue;
            }
            let Matches { certain, possible } = indexed.rows(selection, rows.as_ref().or(zone_rows.as_ref()), cancellation)?;
            exact &= possible.is_empty();
            let here = if possible.is_empty() { certain } else { certain.or(&possible) };
            let both = match rows {
                Some(rows) => rows.and(&here),
                None => here,
            };
            if both.is_empty() {
                return Ok(Remaining::Rows { rows: both, exact: true });
            }
            rows = Some(both);
        }
        Ok(match rows {
            Some(rows) if rows.len() < count || exact => Remaining::Rows { rows, exact },
            _ => Remaining::All,
        })
    }

    /// Whether the residual predicate uses this column only, and its index holds the values.
    pub(crate) fn index_has_values_of(&self, column: &str) -> bool {
        self.is_fully_indexed && matches!(self.indexed_predicates.as_slice(), [only] if only.exact_on(column).is_some())
    }

    /// The matching values, if `index_has_values_of` holds; see [`matching_values`](crate::pruner::ColumnIndex::matching_values).
    pub(crate) fn matching_values(&self, column: &str, sparse: Option<u64>, cancellation: &Cancellation) -> Result<Option<MatchingValues>> {
        match self.indexed_predicates.as_slice() {
            [only] if let Some(term) = only.exact_on(column) => term.matching_values(&self.selection, sparse, cancellation),
            _ => Ok(None),
        }
    }

    /// The rows of `selection` in those blocks that the zones of no condition rule out. `None` if there is only one condition,
    /// which asks its zones itself, or if zones rule out no block.
    pub(super) fn zone_rows(&self, selection: &Selection) -> Result<Option<RowSelection>> {
        let mut left: Option<RowSelection> = None;
        if self.indexed_predicates.len() < 2 {
            return Ok(left);
        }
        for indexed in self.indexed_predicates.iter() {
            let Some(here) = indexed.zone_rows(selection)? else { continue };
            let both = left.map_or_else(|| here.clone(), |left| left.and(&here));
            if both.is_empty() {
                return Ok(Some(both));
            }
            left = Some(both);
        }
        Ok(left)
    }

    /// Adds the index blocks of the selected rows, and those that are ruled out, to the session's counters.
    pub(crate) fn count_index_blocks(&self) -> Result<()> {
        self.count_blocks_of(&self.selection)
    }

    fn count_blocks_of(&self, selection: &Selection) -> Result<()> {
        for term in self.indexed_predicates.iter().flat_map(|indexed| &indexed.terms) {
            let blocks = term.blocks(selection)?;
            self.segment.file.session().counters().add_index_blocks(blocks.all, blocks.pruned);
        }
        Ok(())
    }

    /// Whether the zones of an index rule out all of `rows`, which must be a box.
    pub(crate) fn is_pruned(&self, rows: Rows) -> Result<bool> {
        let selection = window::select(&self.selection, rows);
        for indexed in self.indexed_predicates.iter() {
            let mut left = indexed.terms.is_empty();
            for term in &indexed.terms {
                let blocks = term.blocks(&selection)?;
                left |= blocks.all == 0 || blocks.pruned < blocks.all;
            }
            if !left {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Lower and upper bound of the number of matching rows, from indexes alone.
    pub(crate) fn bounds(&self, cancellation: &Cancellation) -> Result<CountBounds> {
        let count = self.selection.element_count()?;
        if self.residual.is_none() {
            return Ok(CountBounds::exactly(count));
        }
        let mut bounds = CountBounds { lower: 0, upper: count };
        for indexed in self.indexed_predicates.iter() {
            let here = indexed.count(&self.selection, None, cancellation)?;
            bounds.upper = bounds.upper.min(here.upper);
            if self.is_fully_indexed && self.indexed_predicates.len() == 1 {
                bounds.lower = here.lower;
            }
        }
        Ok(bounds)
    }

    /// The wanted columns whose values at `rows` of `selection` an index gives with less work than reading: those with
    /// filtered data.
    pub(crate) fn values_by_index(&self, selection: &Selection, rows: &RowSelection, cancellation: &Cancellation) -> Result<HashMap<String, ArrayRef>> {
        let (mut columns, mut read_anyway) = (HashMap::new(), None);
        for name in &*self.wanted {
            let Some(source) =
                self.segment.column(name).map(|column| &column.source).filter(|source| filters(&self.segment, source, |filters| !filters.is_empty()))
            else {
                continue;
            };
            // One member without values in an index makes the scan read the whole records.
            if let Source::Member { .. } = source
                && *read_anyway.get_or_insert_with(|| self.reads_records())
            {
                continue;
            }
            let Some((index, place)) = index_of(&self.segment, source).filter(|(index, _)| index.level() == Level::Exact) else { continue };
            if let Some(values) = index.values(&*mapped_selection(place.as_ref(), selection)?, rows, cancellation)? {
                columns.insert(name.clone(), values);
            }
        }
        Ok(columns)
    }

    /// Whether a wanted member of a compound dataset has no index with its values.
    fn reads_records(&self) -> bool {
        let mut members = self.wanted.iter().filter_map(|name| self.segment.column(name)).filter(|column| matches!(column.source, Source::Member { .. }));
        members.any(|column| index_of(&self.segment, &column.source).is_none_or(|(index, _)| index.level() != Level::Exact))
    }

    /// [`narrowed`] for reading these columns.
    pub(crate) fn narrowed(&self, selection: &Selection, rows: &RowSelection, columns: &[String]) -> Result<Option<(Selection, RowSelection)>> {
        let mut sources = columns.iter().filter_map(|name| self.segment.column(name));
        let costly = sources.any(|column| !column.field.data_type().is_primitive() || filters(&self.segment, &column.source, |filters| !filters.is_empty()));
        narrowed(selection, &self.segment.shape, rows, costly)
    }

    /// Describes the indexes that are asked, and how many of their blocks remain.
    pub(crate) fn explain_indexes(&self) -> Result<Vec<String>> {
        let of_column = |term: &IndexedTerm| {
            let blocks = term.blocks(&self.selection)?;
            let left = blocks.all - blocks.pruned;
            Ok(format!("index {} on {}: {left} of {} blocks left", term.level().letter(), term.column, blocks.all))
        };
        let each = self.indexed_predicates.iter().map(|indexed| Ok(indexed.terms.iter().map(of_column).collect::<Result<Vec<String>>>()?.join(" or ")));
        let mut lines = each.collect::<Result<Vec<String>>>()?;
        if let Some(rows) = self.zone_rows(&self.selection)? {
            lines.push(format!("all indexes together leave blocks of {} rows", rows.len()));
        }
        Ok(lines)
    }
}

/// Whether reading all `count` rows of a window is cheaper than reading only the positions of `rows`: there are many, and
/// the gaps between them are too small to skip. There are `below` rows per position. Gaps in `costly` data (filtered chunks,
/// text) are skipped even if there are many rows, as long as these are close together.
fn is_dense(rows: &RowSelection, count: u64, below: u64, costly: bool) -> bool {
    if rows.len() <= SPARSE_ROW_FRACTION.of(count) {
        return false;
    }
    if !costly && rows.len() > DENSE_ROW_FRACTION.of(count) {
        return true;
    }
    let near = (NEIGHBOR_ROWS / below).max(1) * below;
    let (mut touched, mut next) = (0, 0);
    while let Some(row) = rows.iter_from(next).next() {
        touched += 1;
        next = (row / near + 1) * near;
    }
    touched > NEIGHBOR_MAX_FRACTION.of(count.div_ceil(near))
}

/// The selection without the positions that have none of `rows`, along its first dimension with more than one position; and
/// `rows` renumbered for it. `None` if that is not worth it: see [`is_dense`] and [`POSITION_MAX_FRACTION`].
fn narrowed(selection: &Selection, shape: &[u64], rows: &RowSelection, costly: bool) -> Result<Option<(Selection, RowSelection)>> {
    let extents = selection.shape();
    let Some(cut) = extents.iter().position(|count| *count > 1) else { return Ok(None) };
    let below: u64 = extents.iter().skip(cut + 1).product::<u64>().max(1);
    let (Some(axis), Some(&positions)) = (selection.axes().get(cut), extents.get(cut)) else { return Ok(None) };
    if is_dense(rows, extents.iter().product(), below, costly) {
        return Ok(None);
    }
    let mut kept: Vec<u64> = Vec::new();
    let mut numbers: Vec<u64> = Vec::new();
    for row in rows.iter() {
        let position = row / below;
        if kept.last() != Some(&position) {
            if kept.len() as u64 >= POSITION_MAX_FRACTION.of(positions) {
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
    let rows = RowSelection::from_sorted(numbers).ok_or_else(|| Error::internal("rows out of order"))?;
    Ok(Some((Selection::new(axes, shape)?, rows)))
}
