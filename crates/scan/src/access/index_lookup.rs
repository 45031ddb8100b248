//! Told: which rows pass, where indexes tell it, and where these leave so few that they are read one by one and tested.

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
    /// Whether indexes may tell what passes in a whole segment, with less work than reading columns.
    pub(crate) fn can_resolve_by_index(&self) -> bool {
        self.residual.is_some() && self.is_whole() && self.indexed_predicates.iter().any(|indexed| indexed.level() >= Level::Positions)
    }

    fn is_whole(&self) -> bool {
        self.selection.shape() == self.segment.shape
    }

    /// Numbers of the selected rows that pass; `None` where indexes do not tell them, and leave more than a few to be tested.
    pub(crate) fn matching_rows(&self, cancellation: &Cancellation) -> Result<Option<RowSelection>> {
        let all = self.selection.element_count()?;
        // From the condition that leaves least.
        let telling = self.indexed_predicates.iter().filter(|indexed| indexed.level() >= Level::Positions);
        let mut asked: Vec<(u64, &IndexedPredicate)> = match self.indexed_predicates.as_slice() {
            [_] if self.is_fully_indexed => telling.map(|only| (all, only)).collect(),
            _ => telling.map(|indexed| Ok((indexed.count(&self.selection, cancellation)?.upper, indexed))).collect::<Result<_>>()?,
        };
        asked.sort_by_key(|(upper, _)| *upper);
        let Some((fewest, _)) = asked.first() else { return Ok(None) };
        let mut is_tested = !self.is_fully_indexed || asked.len() < self.indexed_predicates.len();
        if is_tested && *fewest > CANDIDATE_MAX_ROW_FRACTION.of(all) {
            return Ok(None);
        }
        let candidate_columns = if is_tested || asked.len() > 1 { self.candidate_columns()? } else { None };
        if is_tested && candidate_columns.is_none() {
            return Ok(None);
        }
        let (mut left, mut vague): (Option<RowSelection>, RowSelection) = (None, RowSelection::new());
        for (upper, indexed) in asked {
            if let Some(rows) = &left {
                if rows.is_empty() {
                    return Ok(left);
                }
                if candidate_columns.is_some() && rows.len() <= upper.min(all.saturating_sub(upper)) / LOOKUP_ROWS_PER_CANDIDATE {
                    is_tested = true;
                    continue;
                }
            }
            let known = indexed.rows(&self.selection, cancellation)?;
            let here = if known.possible.is_empty() { known.certain } else { known.certain.or(&known.possible) };
            vague = if vague.is_empty() { known.possible } else { vague.or(&known.possible) };
            left = Some(match left {
                Some(rows) => rows.and(&here),
                None => here,
            });
        }
        let Some(left) = left else { return Ok(None) };
        let open = match (is_tested, vague.is_empty()) {
            (true, _) => left.clone(),
            (false, true) => return Ok(Some(left)),
            (false, false) => vague.and(&left),
        };
        if open.is_empty() {
            return Ok(Some(left));
        }
        let Some(candidate_columns) = (if candidate_columns.is_some() { candidate_columns } else { self.candidate_columns()? }).filter(|_| open.len() <= CANDIDATE_MAX_ROW_FRACTION.of(all)) else { return Ok(None) };
        let passed = self.passed(&open, &candidate_columns, cancellation)?;
        Ok(Some(left.and_not(&open).or(&passed)))
    }

    /// The columns that the rest of the predicate speaks of, where all their values can be had one by one.
    fn candidate_columns(&self) -> Result<Option<Vec<GatherColumn>>> {
        let Some((_, needed)) = self.residual.as_ref().filter(|_| self.is_whole()) else { return Ok(None) };
        needed.iter().map(|name| Ok(self.single_value_column(name)?.filter(GatherColumn::is_stored))).collect()
    }

    /// Which of `rows` pass the rest of the predicate, by the values of its columns.
    fn passed(&self, rows: &RowSelection, columns: &[GatherColumn], cancellation: &Cancellation) -> Result<RowSelection> {
        let (predicate, needed) = self.residual.as_ref().ok_or_else(|| Error::internal("no predicate is left"))?;
        let fields: Vec<Field> = needed.iter().zip(columns).map(|(name, column)| Field::new(name, column.data_type.clone(), true)).collect();
        let (schema, session) = (Arc::new(Schema::new(fields)), self.segment.file.session());
        let of_piece = |piece: &Piece<'_>| {
            cancellation.check()?;
            let arrays = columns.iter().map(|column| column.of_piece(piece, session)).collect::<Result<Vec<_>>>()?;
            let batch = RecordBatch::try_new(schema.clone(), arrays).map_err(|error| Error::internal(format!("a batch of few rows: {error}")))?;
            let mask = predicate.evaluate_cancellable(&batch, cancellation)?;
            let mut kept = RowSelection::new();
            let passes = |index: &usize| mask.values().value(*index);
            kept.insert_sorted((0..).zip(piece.numbers()).filter(|(index, _)| passes(index)).map(|(_, row)| row));
            Ok(kept)
        };
        let pieces: Vec<Piece<'_>> = rows.pieces().collect();
        let kept = session.compute(|| pieces.par_iter().map(of_piece).collect::<Result<Vec<RowSelection>>>())?;
        let mut all = RowSelection::new();
        kept.into_iter().for_each(|kept| all.append(kept));
        Ok(all)
    }
}
