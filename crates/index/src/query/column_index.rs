//! Column index: answers the questions of scans and queries from the index of a column.

use std::borrow::Cow;

use arrow_array::ArrayRef;
use hyperslab_array::{Cancellation, Result, Selection};
use hyperslab_predicate::{Condition, KeyType};
use hyperslab_scan::pruner::{
    Blocks, CHUNK_ROWS, CHUNK_WORDS, ColumnIndex, CountBounds, Edge, KeyRange, Level, Matches, MatchingValues, PieceRows, RowSelection,
};

use super::audit::audit_decisions;
use super::counts::{block_count, counts_below};
use super::indexed_column::IndexedColumn;
use super::matching_positions::matching_positions;
use super::matching_values::matching_values;
use super::quantile::key_at_rank;
use super::row_collector::{MatchingPositions, RowCollector};
use super::row_values::row_values;
use crate::block::block_runs::row_range;
use crate::store::block_directory::BlockEntry;

impl ColumnIndex for IndexedColumn {
    fn level(&self) -> Level {
        self.directory.level
    }

    fn key_type(&self) -> Option<KeyType> {
        self.key_type
    }

    fn rows(&self, selection: &Selection, condition: &Condition, cancellation: &Cancellation) -> Result<Matches> {
        self.rows_of_blocks(selection, condition, None, cancellation)
    }

    fn zone_rows(&self, selection: &Selection, condition: &Condition) -> Result<Option<RowSelection>> {
        let touched = self.directory.touched(selection)?;
        let left = self.candidate_blocks(touched.clone(), condition);
        if left.len() == touched.len() {
            return Ok(None);
        }
        audit_decisions(self, &touched, condition)?;
        let (mut rows, mut last) = (RowSelection::new(), 0..0);
        for entry in left {
            let Some(here) = row_range(&entry.region, selection) else { return Ok(None) };
            if here.start == last.end {
                last.end = here.end;
            } else {
                rows.insert_range(std::mem::replace(&mut last, here));
            }
        }
        rows.insert_range(last);
        Ok(Some(rows))
    }

    fn rows_among(&self, selection: &Selection, condition: &Condition, among: &RowSelection, cancellation: &Cancellation) -> Result<Matches> {
        self.rows_of_blocks(selection, condition, Some(among), cancellation)
    }

    fn count_among(&self, selection: &Selection, condition: &Condition, among: &RowSelection, cancellation: &Cancellation) -> Result<CountBounds> {
        self.count_of_blocks(selection, condition, Some(among), cancellation)
    }

    fn count(&self, selection: &Selection, condition: &Condition, cancellation: &Cancellation) -> Result<CountBounds> {
        self.count_of_blocks(selection, condition, None, cancellation)
    }

    fn below(&self, selection: &Selection, edges: &[Edge], cancellation: &Cancellation) -> Result<Option<Vec<CountBounds>>> {
        match self.whole_blocks(selection)? {
            Some(entries) => counts_below(self, &entries, edges, Level::Exact, cancellation),
            None => Ok(None),
        }
    }

    fn ranked(&self, selection: &Selection, rank: u64, cancellation: &Cancellation) -> Result<Option<u64>> {
        match self.whole_blocks(selection)? {
            Some(entries) => key_at_rank(self, &entries, rank, cancellation),
            None => Ok(None),
        }
    }

    fn extremes(&self, selection: &Selection) -> Result<Option<KeyRange>> {
        let entries = self.directory.touched(selection)?;
        let is_whole = self.directory.is_whole(selection);
        let mut found: Option<KeyRange> = None;
        for entry in entries {
            let Some((_, row)) = self.directory.row(entry).filter(|_| self.key_type.is_some()) else { return Ok(None) };
            let is_covered = is_whole || self.directory.covers(selection, &entry.region);
            if row.zone.numbers > 0 {
                let here = KeyRange { min: row.zone.min, max: row.zone.max, exact: is_covered };
                found = Some(found.map_or(here, |sum| KeyRange { min: sum.min.min(here.min), max: sum.max.max(here.max), exact: sum.exact && here.exact }));
            }
        }
        Ok(found)
    }

    fn counts(&self, selection: &Selection) -> Result<Option<(u64, u64, u64)>> {
        let Some(entries) = self.whole_blocks(selection)? else { return Ok(None) };
        let zones = entries.into_iter().filter_map(|entry| self.directory.row(entry)).map(|(_, row)| row.zone);
        Ok(Some(
            zones.fold((0, 0, 0), |(numbers, nans, nulls), zone| {
                (numbers + u64::from(zone.numbers), nans + u64::from(zone.nans), nulls + u64::from(zone.nulls))
            }),
        ))
    }

    fn values(&self, selection: &Selection, rows: &RowSelection, cancellation: &Cancellation) -> Result<Option<ArrayRef>> {
        row_values(self, selection, rows, cancellation)
    }

    fn matching_values(
        &self,
        selection: &Selection,
        condition: &Condition,
        sparse: Option<u64>,
        cancellation: &Cancellation,
    ) -> Result<Option<MatchingValues>> {
        matching_values(self, selection, condition, sparse, cancellation)
    }

    fn blocks(&self, selection: &Selection, condition: &Condition) -> Result<Blocks> {
        let entries = self.directory.touched(selection)?;
        let all = entries.len() as u64;
        Ok(Blocks { all, pruned: all - self.candidate_blocks(entries, condition).len() as u64 })
    }
}

/// The positions of a block that are among rows of the dataset; `None` if all are, or if its elements do not form a chunk of rows.
fn positions_among<'a>(entry: &BlockEntry, among: &'a RowSelection) -> Option<Cow<'a, [u64; CHUNK_WORDS]>> {
    let first = entry.first.filter(|first| first.is_multiple_of(CHUNK_ROWS))?;
    match among.rows_of_chunk(first / CHUNK_ROWS)? {
        PieceRows::All => None,
        PieceRows::Bits(bits) => Some(Cow::Borrowed(bits)),
        PieceRows::Listed(rows) => {
            let mut bits = [0; CHUNK_WORDS];
            rows.iter().for_each(|row| bits[usize::from(row >> 6)] |= 1 << (row & 63));
            Some(Cow::Owned(bits))
        }
    }
}

impl IndexedColumn {
    /// The blocks that may have matching rows, of those that the selection touches and that have any of the rows `among`.
    fn blocks_to_ask(&self, selection: &Selection, condition: &Condition, among: Option<&RowSelection>) -> Result<Vec<&BlockEntry>> {
        let touched = self.directory.touched(selection)?;
        audit_decisions(self, &touched, condition)?;
        let mut entries = self.candidate_blocks(touched, condition);
        if let Some(among) = among {
            entries.retain(|entry| row_range(&entry.region, selection).is_none_or(|rows| among.touches(&rows)));
        }
        Ok(entries)
    }

    /// The rows for which the condition holds, of the blocks that have any of the rows `among`; rows that are not among these may be left out.
    fn rows_of_blocks(&self, selection: &Selection, condition: &Condition, among: Option<&RowSelection>, cancellation: &Cancellation) -> Result<Matches> {
        let entries = self.blocks_to_ask(selection, condition, among)?;
        let is_whole = self.directory.is_whole(selection);
        let parts = self.for_each_block(&entries, cancellation, |sum: &mut (RowCollector, RowCollector), entry, scratch| {
            let kept = among.filter(|_| is_whole).and_then(|among| positions_among(entry, among));
            let MatchingPositions { certain, possible } = matching_positions(self, entry, condition, kept.as_deref(), scratch)?;
            match entry.first.filter(|_| is_whole) {
                Some(first) => {
                    sum.0.add_run(certain, first)?;
                    sum.1.add_run(possible, first)?;
                }
                None => {
                    sum.0.add_selected(certain, &entry.region, selection)?;
                    sum.1.add_selected(possible, &entry.region, selection)?;
                }
            }
            Ok(())
        })?;
        let (certain, possible): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        Ok(Matches { certain: RowCollector::join(certain), possible: RowCollector::join(possible) })
    }

    /// Bounds of the number of rows for which the condition holds, of the blocks that have any of the rows `among`.
    fn count_of_blocks(&self, selection: &Selection, condition: &Condition, among: Option<&RowSelection>, cancellation: &Cancellation) -> Result<CountBounds> {
        let entries = self.blocks_to_ask(selection, condition, among)?;
        let parts = self.for_each_block(&entries, cancellation, |sum: &mut CountBounds, entry, scratch| {
            *sum = *sum + block_count(self, entry, selection, condition, scratch)?;
            Ok(())
        })?;
        Ok(parts.into_iter().fold(CountBounds::default(), |sum, part| sum + part))
    }
}
