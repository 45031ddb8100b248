//! Resolves matching rows from indexes. If an index leaves only a few candidates, reads and tests those individually.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema};
use hyperslab_array::{Cancellation, Error, Result};
use rayon::prelude::*;

use super::row_gather::GatherColumn;
use super::segment_scan::SegmentScan;
use super::strategy::{AccessStrategy, CountAccess, RowAccess, can_test_candidates, is_testing_cheaper};
use crate::pruner::{Piece, RowSelection};

impl SegmentScan {
    /// The matching rows, numbered over the selected rows; `None` if indexes do not determine them and leave too many
    /// candidates to test individually.
    pub(crate) fn matching_rows(&self, cancellation: &Cancellation) -> Result<Option<RowSelection>> {
        self.look_up(self.row_access(cancellation)?, cancellation)
    }

    /// As [`SegmentScan::matching_rows`], but numbered over the whole segment; `None` also if only part of it is selected.
    pub(crate) fn matching_positions(&self, cancellation: &Cancellation) -> Result<Option<RowSelection>> {
        self.look_up(self.position_access(cancellation)?, cancellation)
    }

    /// Number of matching rows; `None` if indexes and a few candidates do not determine it.
    pub(crate) fn count_by_index(&self, cancellation: &Cancellation) -> Result<Option<u64>> {
        let count = match self.count_access(cancellation)? {
            CountAccess::Counted { count, .. } => Some(count),
            CountAccess::Rows(access) => self.look_up(access, cancellation)?.map(|rows| rows.len()),
        };
        if count.is_some() {
            self.count_index_blocks()?;
        }
        Ok(count)
    }

    /// The matching rows by the strategy of `access`; `None` if that is to scan windows, or if the indexes' answers leave
    /// more candidates than expected.
    fn look_up(&self, access: RowAccess<'_>, cancellation: &Cancellation) -> Result<Option<RowSelection>> {
        let RowAccess { choice, lookups, zone_rows, candidate_columns } = access;
        if zone_rows.as_ref().is_some_and(RowSelection::is_empty) {
            return Ok(zone_rows);
        }
        let all = self.selection.element_count()?;
        let mut tests_candidates = choice.strategy == AccessStrategy::TestCandidates;
        let (mut remaining, mut uncertain): (Option<RowSelection>, RowSelection) = (None, RowSelection::new());
        for (upper, indexed) in lookups {
            if let Some(rows) = &remaining {
                if rows.is_empty() {
                    return Ok(remaining);
                }
                if candidate_columns.is_some() && is_testing_cheaper(rows.len(), upper, all) {
                    tests_candidates = true;
                    continue;
                }
            }
            // Blocks without a row that is left are not asked.
            let known = indexed.rows(&self.selection, remaining.as_ref().or(zone_rows.as_ref()), cancellation)?;
            let here = if known.possible.is_empty() { known.certain } else { known.certain.or(&known.possible) };
            uncertain = if uncertain.is_empty() { known.possible } else { uncertain.or(&known.possible) };
            remaining = Some(match remaining {
                Some(rows) => rows.and(&here),
                None => here,
            });
        }
        let Some(remaining) = remaining else { return Ok(None) };
        let candidates = match (tests_candidates, uncertain.is_empty()) {
            (true, _) => remaining.clone(),
            (false, true) => return Ok(Some(remaining)),
            (false, false) => uncertain.and(&remaining),
        };
        if candidates.is_empty() {
            return Ok(Some(remaining));
        }
        let candidate_columns = if candidate_columns.is_some() { candidate_columns } else { self.candidate_columns()? };
        let Some(candidate_columns) = candidate_columns.filter(|_| can_test_candidates(candidates.len(), all)) else { return Ok(None) };
        let passed = self.test_candidates(&candidates, &candidate_columns, cancellation)?;
        Ok(Some(remaining.and_not(&candidates).or(&passed)))
    }

    /// The columns of the residual predicate, if the values of all of them can be read at single rows.
    pub(super) fn candidate_columns(&self) -> Result<Option<Vec<GatherColumn>>> {
        let Some((_, needed)) = self.residual.as_ref().filter(|_| self.is_whole()) else { return Ok(None) };
        needed.iter().map(|name| Ok(self.single_value_column(name)?.filter(GatherColumn::is_stored))).collect()
    }

    /// The rows for which the residual predicate holds, by the values of its columns.
    fn test_candidates(&self, rows: &RowSelection, columns: &[GatherColumn], cancellation: &Cancellation) -> Result<RowSelection> {
        let (predicate, needed) = self.residual.as_ref().ok_or_else(|| Error::internal("no residual predicate"))?;
        let fields: Vec<Field> = needed.iter().zip(columns).map(|(name, column)| Field::new(name, column.data_type.clone(), true)).collect();
        let (schema, session) = (Arc::new(Schema::new(fields)), self.segment.file.session());
        let of_piece = |piece: &Piece<'_>| {
            cancellation.check()?;
            let arrays = columns.iter().map(|column| column.of_piece(piece, session)).collect::<Result<Vec<_>>>()?;
            let batch = RecordBatch::try_new(schema.clone(), arrays).map_err(|error| Error::internal(format!("a batch of few rows: {error}")))?;
            let mask = predicate.evaluate_cancellable(&batch, cancellation)?;
            let matching = piece.row_numbers().zip(mask.values().iter()).filter(|(_, matches)| *matches).map(|(row, _)| row);
            RowSelection::from_sorted(matching).ok_or_else(|| Error::internal("rows out of order"))
        };
        let pieces: Vec<Piece<'_>> = rows.pieces().collect();
        let kept = session.compute(|| pieces.par_iter().map(of_piece).collect::<Result<Vec<RowSelection>>>())?;
        let mut all = RowSelection::new();
        kept.into_iter().for_each(|rows| all.append(rows));
        Ok(all)
    }
}
