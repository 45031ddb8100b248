//! Rows: the record batch of one window.

use std::collections::HashMap;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::SchemaRef;
use hyperslab_array::{Cancellation, Error, Result, Selection};

use crate::table::chunk_count;
use crate::window::Rows;
use super::index_pruning::Remaining;
use super::segment_scan::SegmentScan;
use super::window_columns::{Window, batch};

impl SegmentScan {
    /// The wanted columns of the window's rows, tested where a predicate is left.
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
            let mut matching_rows = if exact { self.values_by_index(&window.selection, &rows, cancellation)? } else { HashMap::new() };
            let read: Vec<String> = self.wanted.iter().filter(|name| !matching_rows.contains_key(*name)).cloned().collect();
            if exact && read.is_empty() && !matching_rows.is_empty() {
                self.count_skipped(self.columns_read().iter(), &window.selection)?;
                let columns = self.wanted.iter().filter_map(|name| matching_rows.get(name).cloned()).collect();
                return batch(schema.clone(), columns, usize::try_from(rows.len()).unwrap_or(usize::MAX));
            }
            let here = if exact { read.clone() } else { self.columns_read() };
            if let Some((selection, fewer)) = self.narrowed(&window.selection, &rows, &here)? {
                window.count = usize::try_from(selection.element_count()?).map_err(|_| Error::limit_exceeded("a window exceeds memory"))?;
                (window.selection, rows) = (selection, fewer);
            }
            if exact {
                let mut columns = window.columns(&read)?;
                if rows.len() < window.count as u64 {
                    let mask = BooleanArray::new(rows.mask(0, window.count), None);
                    for column in &mut columns {
                        *column = arrow_select::filter::filter(column, &mask).map_err(|e| Error::internal(e.to_string()))?;
                    }
                }
                matching_rows.extend(read.into_iter().zip(columns));
                let columns = self.wanted.iter().filter_map(|name| matching_rows.get(name).cloned()).collect();
                return batch(schema.clone(), columns, usize::try_from(rows.len()).unwrap_or(usize::MAX));
            }
        }
        let candidate_columns = window.batch_of(needed)?;
        let mask = predicate.evaluate_cancellable(&candidate_columns, cancellation)?;
        // Columns that are not part of the test are read only where it left something.
        if mask.true_count() == 0 {
            self.count_skipped(self.wanted.iter().filter(|name| !needed.contains(name)), &window.selection)?;
            return Ok(RecordBatch::new_empty(schema.clone()));
        }
        let rest: Vec<String> = self.wanted.iter().filter(|name| !needed.contains(name)).cloned().collect();
        let mut by_name: HashMap<&str, ArrayRef> = HashMap::new();
        for (name, column) in rest.iter().zip(window.columns(&rest)?) {
            by_name.insert(name, column);
        }
        for (name, column) in needed.iter().zip(candidate_columns.columns()) {
            by_name.insert(name, column.clone());
        }
        let columns: Option<Vec<ArrayRef>> = self.wanted.iter().map(|name| by_name.get(name.as_str()).cloned()).collect();
        let columns = columns.ok_or_else(|| Error::internal("a column was not read"))?;
        let all = batch(schema.clone(), columns, window.count)?;
        arrow_select::filter::filter_record_batch(&all, &mask).map_err(|e| Error::internal(e.to_string()))
    }

    /// Counts the chunks of columns that are not read for the rows of `selection`.
    fn count_skipped<'a>(&self, unread: impl Iterator<Item = &'a String>, selection: &Selection) -> Result<()> {
        let chunks = chunk_count::within(&self.segment, unread, selection)?;
        self.segment.file.session().counters().add_skipped_chunks(chunks);
        Ok(())
    }

    /// Numbers, in the segment, of the window's rows that pass the rest of the predicate, in order.
    pub(crate) fn passing(&self, rows: Rows, cancellation: &Cancellation) -> Result<Vec<u64>> {
        let mut window = Window::new(self, rows, cancellation)?;
        // Rows of a whole segment have the numbers that they have in the selection.
        let plain = self.selection.shape() == self.segment.shape;
        let number = |selection: &Selection, row: u64| if plain { Ok(rows.start + row) } else { self.row_of(selection, row) };
        let Some((predicate, needed)) = &self.residual else {
            return (0..rows.count()).map(|row| number(&window.selection, row)).collect();
        };
        let mut plain_window = true;
        if let Remaining::Rows { rows: left, exact } = self.remaining_rows(&window.selection, window.count as u64, cancellation)? {
            if exact {
                return left.iter().map(|row| number(&window.selection, row)).collect();
            }
            if let Some((selection, _)) = self.narrowed(&window.selection, &left, needed)? {
                window.count = usize::try_from(selection.element_count()?).map_err(|_| Error::limit_exceeded("a window exceeds memory"))?;
                window.selection = selection;
                plain_window = false;
            }
        }
        let mask = predicate.evaluate_cancellable(&window.batch_of(needed)?, cancellation)?;
        let passed = mask.values().set_indices().map(|row| row as u64);
        passed.map(|row| if plain_window { number(&window.selection, row) } else { self.row_of(&window.selection, row) }).collect()
    }

    /// The number in the segment of a row of a selection.
    fn row_of(&self, selection: &Selection, mut number: u64) -> Result<u64> {
        let (mut row, mut stride) = (0u64, 1u64);
        for (axis, extent) in selection.axes().iter().zip(&self.segment.shape).rev() {
            let count = axis.count().max(1);
            let index = axis.index(number % count).ok_or_else(|| Error::internal("axis position"))?;
            number /= count;
            row = row.saturating_add(index.saturating_mul(stride));
            stride = stride.saturating_mul(*extent);
        }
        Ok(row)
    }

    /// How many of the window's rows pass the rest of the predicate.
    pub(crate) fn matching(&self, rows: Rows, cancellation: &Cancellation) -> Result<u64> {
        match &self.residual {
            None => Ok(rows.count()),
            Some((predicate, needed)) => {
                let mut window = Window::new(self, rows, cancellation)?;
                if let Remaining::Rows { rows, exact } = self.remaining_rows(&window.selection, window.count as u64, cancellation)? {
                    if exact {
                        return Ok(rows.len());
                    }
                    if let Some((selection, _)) = self.narrowed(&window.selection, &rows, needed)? {
                        window.count = usize::try_from(selection.element_count()?).map_err(|_| Error::limit_exceeded("a window exceeds memory"))?;
                        window.selection = selection;
                    }
                }
                let candidate_columns = window.batch_of(needed)?;
                Ok(predicate.evaluate_cancellable(&candidate_columns, cancellation)?.true_count() as u64)
            }
        }
    }
}
