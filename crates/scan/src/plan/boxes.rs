//! Cuts arrays into boxes along their first two dimensions, for rows that are too wide for one task.

use std::ops::Range;

use hyperslab_array::{Error, Result};

use super::split::Split;
use super::{MAX_SPLITS, Plan};
use crate::request::DimensionRange;
use crate::table::segment::Source;
use crate::window::Rows;

/// The cells of a box of an array. All dimensions after the first one make the columns.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BoxSplit {
    /// Reads the cells in row-major order.
    pub split: Split,
    /// Indexes of the first dimension, numbered through all arrays of the plan.
    pub rows: Range<u64>,
    /// Elements of each row.
    pub columns: Range<u64>,
}

impl Plan {
    /// In a plan of whole rows, the bytes of the chunks of a range of rows, if these are several along the second dimension: the
    /// maximum over the arrays, and 0 if there is no such array.
    ///
    /// # Errors
    /// `Io` or `Corrupt` if the metadata cannot be read.
    pub fn chunk_row_bytes(&self) -> Result<u64> {
        let mut max_bytes = 0;
        for part in self.parts.iter() {
            for column in &part.segment.columns {
                let Source::Variable { dataset, per_row: Some(per_row), column, .. } = &column.source else { continue };
                let description = part.segment.file.dataset(*dataset)?;
                let grid = &description.chunk_grid;
                let [rows, columns] = [0, 1].map(|dimension| Some((*grid.shape().get(dimension)?, *grid.chunk_shape().get(dimension)?)));
                let (Some((rows, chunk_rows)), Some((columns, chunk_columns))) = (rows, columns) else { continue };
                let bytes = rows.min(chunk_rows).saturating_mul(*per_row).saturating_mul(column.datatype().size());
                if chunk_columns < columns {
                    max_bytes = bytes.max(max_bytes);
                }
            }
        }
        Ok(max_bytes)
    }

    /// Cuts a plan of all cells into boxes of about `target_bytes` along the first two dimensions, at chunk borders: row by row of chunks, and from
    /// the first column to the last.
    ///
    /// # Errors
    /// `InvalidInput` for a plan with a condition or a limit, or for arrays of one dimension; `LimitExceeded` for too many boxes; as [`Plan::split`].
    pub fn split_boxes(&self, target_bytes: u64) -> Result<Vec<BoxSplit>> {
        if self.request.predicate.is_some() || self.request.limit.is_some() {
            return Err(Error::invalid_input("only whole arrays are cut into boxes"));
        }
        let mut boxes = Vec::new();
        let mut first_row = 0;
        for part in self.parts.iter() {
            let (shape, chunk) = (&part.segment.shape, &part.segment.chunk_shape);
            let (&[rows, columns, ref rest @ ..], &[chunk_rows, chunk_columns, ..]) = (shape.as_slice(), chunk.as_slice()) else {
                return Err(Error::invalid_input("an array of one dimension has no columns to cut").at_object(&part.segment.path));
            };
            let inner = rest.iter().fold(1, |n: u64, extent| n.saturating_mul(*extent));
            let cells = target_bytes / part.row_bytes(&part.columns_read()).saturating_mul(inner).max(1);
            let row_step = whole_chunks(cells / columns.max(1), chunk_rows);
            let column_step = whole_chunks(cells / row_step.min(rows).max(1), chunk_columns);
            if (boxes.len() as u64).saturating_add(rows.div_ceil(row_step).saturating_mul(columns.div_ceil(column_step))) > MAX_SPLITS {
                return Err(Error::limit_exceeded(format!("the array is more than {MAX_SPLITS} boxes of {target_bytes} bytes: ask for fewer")));
            }
            let split = Split::new(part, &self.schema, &self.request)?;
            for row in ranges(rows, row_step) {
                for column in ranges(columns, column_step) {
                    let width = (column.end - column.start).saturating_mul(inner);
                    let numbers = Rows { start: row.start.saturating_mul(width), end: row.end.saturating_mul(width) };
                    boxes.push(BoxSplit {
                        split: split.of_box(DimensionRange { dimension: 1, indexes: column.clone() }, numbers),
                        rows: first_row + row.start..first_row + row.end,
                        columns: column.start.saturating_mul(inner)..column.end.saturating_mul(inner),
                    });
                }
            }
            first_row += rows;
        }
        Ok(boxes)
    }
}

/// The largest multiple of `chunk` up to `wanted`, and at least one chunk.
fn whole_chunks(wanted: u64, chunk: u64) -> u64 {
    (wanted / chunk.max(1)).max(1).saturating_mul(chunk.max(1))
}

fn ranges(extent: u64, step: u64) -> impl Iterator<Item = Range<u64>> {
    (0..extent.div_ceil(step)).map(move |index| index * step..(index * step + step).min(extent))
}
