//! Scans one window: reads its columns, tests the residual predicate, and returns the matching rows.

use std::collections::HashMap;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::SchemaRef;
use hyperslab_array::{Cancellation, Error, Result, Selection};

use super::index_pruning::Remaining;
use super::segment_scan::SegmentScan;
use super::window_columns::{Window, batch};
use crate::pruner::RowSelection;
use crate::table::chunk_count;
use crate::window::Rows;

impl SegmentScan {
    /// The wanted columns at the window's matching rows.
    pub(crate) fn read(&self, rows: Rows, schema: &SchemaRef, cancellation: &Cancellation) -> Result<RecordBatch> {
        let mut window = Window::new(self, rows, cancellation)?;
        let Some((predicate, needed)) = &self.residual else {
            let columns = window.columns(&self.wanted)?;
            return batch(schema.clone(), columns, window.count);
        };
        if let Remaining::Rows { mut rows, exact } = self.remaining_rows(&window.selection, window.count as u64, cancellation)? {
            if rows.is_empty() {
                self.count_skipped(self.columns_read().iter(), &window.selection)?;
                return Ok(RecordBatch::new_empty(schema.clone()));
            }
            let mut columns_by_name = if exact { self.values_by_index(&window.selection, &rows, cancellation)? } else { HashMap::new() };
            let read: Vec<String> = self.wanted.iter().filter(|name| !columns_by_name.contains_key(*name)).cloned().collect();
            if exact && read.is_empty() && !columns_by_name.is_empty() {
                self.count_skipped(self.columns_read().iter(), &window.selection)?;
                return batch(schema.clone(), self.in_order(&columns_by_name)?, row_count(rows.len())?);
            }
            let here = if exact { read.clone() } else { self.columns_read() };
            if let Some((selection, fewer)) = self.narrowed(&window.selection, &rows, &here)? {
                window.narrow_to(selection)?;
                rows = fewer;
            }
            if exact {
                let mut columns = window.columns(&read)?;
                if rows.len() < window.count as u64 {
                    let mask = BooleanArray::new(rows.mask(0, window.count), None);
                    for column in &mut columns {
                        *column = arrow_select::filter::filter(column, &mask).map_err(|e| Error::internal(e.to_string()))?;
                    }
                }
                columns_by_name.extend(read.into_iter().zip(columns));
                return batch(schema.clone(), self.in_order(&columns_by_name)?, row_count(rows.len())?);
            }
        }
        let tested = window.batch_of(needed)?;
        let mask = predicate.evaluate_cancellable(&tested, cancellation)?;
        // Columns that the predicate does not use are read only if there are matching rows.
        if mask.true_count() == 0 {
            self.count_skipped(self.wanted.iter().filter(|name| !needed.contains(name)), &window.selection)?;
            return Ok(RecordBatch::new_empty(schema.clone()));
        }
        let rest: Vec<String> = self.wanted.iter().filter(|name| !needed.contains(name)).cloned().collect();
        let others = window.columns(&rest)?;
        let mut by_name: HashMap<String, ArrayRef> = needed.iter().cloned().zip(tested.columns().iter().cloned()).collect();
        by_name.extend(rest.into_iter().zip(others));
        let all = batch(schema.clone(), self.in_order(&by_name)?, window.count)?;
        arrow_select::filter::filter_record_batch(&all, &mask).map_err(|e| Error::internal(e.to_string()))
    }

    /// The wanted columns at `rows` of a window, numbered from its start, without a test.
    pub(crate) fn read_rows(&self, window: Rows, mut rows: RowSelection, schema: &SchemaRef, cancellation: &Cancellation) -> Result<RecordBatch> {
        let mut window = Window::new(self, window, cancellation)?;
        if let Some((selection, fewer)) = self.narrowed(&window.selection, &rows, &self.wanted)? {
            window.narrow_to(selection)?;
            rows = fewer;
        }
        let mask = BooleanArray::new(rows.mask(0, window.count), None);
        let columns = window.columns(&self.wanted)?;
        let kept = columns.iter().map(|column| arrow_select::filter::filter(column, &mask).map_err(|e| Error::internal(e.to_string())));
        batch(schema.clone(), kept.collect::<Result<_>>()?, row_count(rows.len())?)
    }

    /// The wanted columns, in order.
    fn in_order(&self, columns: &HashMap<String, ArrayRef>) -> Result<Vec<ArrayRef>> {
        self.wanted.iter().map(|name| columns.get(name).cloned().ok_or_else(|| Error::internal("a column was not read"))).collect()
    }

    /// Adds the chunks of `unread` columns that the rows of `selection` would have needed to the session's counters.
    fn count_skipped<'a>(&self, unread: impl Iterator<Item = &'a String>, selection: &Selection) -> Result<()> {
        let chunks = chunk_count::within(&self.segment, unread, selection)?;
        self.segment.file.session().counters().add_skipped_chunks(chunks);
        Ok(())
    }

    /// The window's matching rows, numbered over the whole segment, in order.
    pub(crate) fn matching_in_window(&self, rows: Rows, cancellation: &Cancellation) -> Result<Vec<u64>> {
        let mut window = Window::new(self, rows, cancellation)?;
        // If the whole segment is selected, its row numbers equal the row numbers of the selection.
        let plain = self.selection.shape() == self.segment.shape;
        let number = |selection: &Selection, row: u64| if plain { Ok(rows.start + row) } else { self.row_of(selection, row) };
        let Some((predicate, needed)) = &self.residual else {
            return (0..rows.count()).map(|row| number(&window.selection, row)).collect();
        };
        let mut is_whole_window = true;
        if let Remaining::Rows { rows: remaining, exact } = self.remaining_rows(&window.selection, window.count as u64, cancellation)? {
            if exact {
                return remaining.iter().map(|row| number(&window.selection, row)).collect();
            }
            if let Some((selection, _)) = self.narrowed(&window.selection, &remaining, needed)? {
                window.narrow_to(selection)?;
                is_whole_window = false;
            }
        }
        let mask = predicate.evaluate_cancellable(&window.batch_of(needed)?, cancellation)?;
        let passed = mask.values().set_indices().map(|row| row as u64);
        passed.map(|row| if is_whole_window { number(&window.selection, row) } else { self.row_of(&window.selection, row) }).collect()
    }

    /// The number in the segment of row `number` of a selection.
    fn row_of(&self, selection: &Selection, mut number: u64) -> Result<u64> {
        // `None` once it exceeds 64 bits: then only index 0 has a number.
        let (mut row, mut stride) = (0u64, Some(1u64));
        for (axis, extent) in selection.axes().iter().zip(&self.segment.shape).rev() {
            let count = axis.count().max(1);
            let index = axis.index(number % count).ok_or_else(|| Error::internal("axis position"))?;
            number /= count;
            if index > 0 {
                let offset = stride.and_then(|stride: u64| stride.checked_mul(index));
                row = offset.and_then(|offset| offset.checked_add(row)).ok_or_else(|| Error::unsupported("row numbers beyond 64 bits"))?;
            }
            stride = stride.and_then(|stride| stride.checked_mul(*extent));
        }
        Ok(row)
    }

    /// Number of the window's matching rows.
    pub(crate) fn count_in_window(&self, rows: Rows, cancellation: &Cancellation) -> Result<u64> {
        match &self.residual {
            None => Ok(rows.count()),
            Some((predicate, needed)) => {
                let mut window = Window::new(self, rows, cancellation)?;
                if let Remaining::Rows { rows, exact } = self.remaining_rows(&window.selection, window.count as u64, cancellation)? {
                    if exact {
                        return Ok(rows.len());
                    }
                    if let Some((selection, _)) = self.narrowed(&window.selection, &rows, needed)? {
                        window.narrow_to(selection)?;
                    }
                }
                let tested = window.batch_of(needed)?;
                Ok(predicate.evaluate_cancellable(&tested, cancellation)?.true_count() as u64)
            }
        }
    }
}

fn row_count(rows: u64) -> Result<usize> {
    usize::try_from(rows).map_err(|_| Error::limit_exceeded("a window exceeds memory"))
}
