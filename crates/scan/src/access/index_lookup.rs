//! Resolves matching rows from indexes. If an index leaves only a few candidates, reads and tests those individually.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema};
use hyperslab_array::{Cancellation, Error, Result};
use rayon::prelude::*;

use crate::pruner::{Level, Piece, RowSelection};
use super::cost_model::{CANDIDATE_MAX_ROW_FRACTION, LOOKUP_ROWS_PER_CANDIDATE};
use super::indexed_predicate::IndexedPredicate;
use super::row_gather::GatherColumn;
use super::segment_scan::SegmentScan;

impl SegmentScan {
    /// Whether indexes may find the matching rows of the whole segment with less work than reading columns.
    pub(crate) fn can_resolve_by_index(&self) -> bool {
        self.residual.is_some() && self.is_whole() && self.indexed_predicates.iter().any(|indexed| indexed.level() >= Level::Positions)
    }

    fn is_whole(&self) -> bool {
        self.selection.shape() == self.segment.shape
    }

    /// The matching rows, numbered over the selected rows; `None` if indexes do not determine them and leave too many
    /// candidates to test individually.
    pub(crate) fn matching_rows(&self, cancellation: &Cancellation) -> Result<Option<RowSelection>> {
        let all = self.selection.element_count()?;
        // Start with the condition that leaves fewest rows.
        let with_positions = self.indexed_predicates.iter().filter(|indexed| indexed.level() >= Level::Positions);
        let mut asked: Vec<(u64, &IndexedPredicate)> = match self.indexed_predicates.as_slice() {
            [_] if self.is_fully_indexed => with_positions.map(|only| (all, only)).collect(),
            _ => with_positions.map(|indexed| Ok((indexed.count(&self.selection, cancellation)?.upper, indexed))).collect::<Result<_>>()?,
        };
        asked.sort_by_key(|(upper, _)| *upper);
        let Some((fewest, _)) = asked.first() else { return Ok(None) };
        let mut tests_candidates = !self.is_fully_indexed || asked.len() < self.indexed_predicates.len();
        if tests_candidates && *fewest > CANDIDATE_MAX_ROW_FRACTION.of(all) {
            return Ok(None);
        }
        let candidate_columns = if tests_candidates || asked.len() > 1 { self.candidate_columns()? } else { None };
        if tests_candidates && candidate_columns.is_none() {
            return Ok(None);
        }
        let (mut remaining, mut uncertain): (Option<RowSelection>, RowSelection) = (None, RowSelection::new());
        for (upper, indexed) in asked {
            if let Some(rows) = &remaining {
                if rows.is_empty() {
                    return Ok(remaining);
                }
                if candidate_columns.is_some() && rows.len() <= upper.min(all.saturating_sub(upper)) / LOOKUP_ROWS_PER_CANDIDATE {
                    tests_candidates = true;
                    continue;
                }
            }
            let known = indexed.rows(&self.selection, cancellation)?;
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
        let Some(candidate_columns) = (if candidate_columns.is_some() { candidate_columns } else { self.candidate_columns()? }).filter(|_| candidates.len() <= CANDIDATE_MAX_ROW_FRACTION.of(all)) else { return Ok(None) };
        let passed = self.test_candidates(&candidates, &candidate_columns, cancellation)?;
        Ok(Some(remaining.and_not(&candidates).or(&passed)))
    }

    /// The columns of the residual predicate, if the values of all of them can be read at single rows.
    fn candidate_columns(&self) -> Result<Option<Vec<GatherColumn>>> {
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
