//! Columns that have one value for each index along a dimension of the rows, from which callers make classes.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};
use hyperslab_array::{Cancellation, Error, Result};

use crate::access::segment_scan::SegmentScan;
use crate::plan::Plan;
use crate::table::segment::{SegmentColumn, Source};

/// The most indexes along a dimension that are put into classes: longer coordinates cost as much as the rows.
pub(super) const MAX_INDEXES: u64 = 1 << 20;

/// The rows of a segment, and the columns that do not depend on all of its dimensions.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Dimensions {
    /// Extents of the dimensions of the rows.
    pub shape: Vec<u64>,
    /// For each dimension the names of the columns along it.
    pub along: Vec<Vec<String>>,
    /// Names of the columns that have one value in the whole segment.
    pub constant: Vec<String>,
}

impl Plan {
    /// The dimensions of each segment.
    ///
    /// # Errors
    /// `Unsupported` for a limited number of rows, which do not follow from dimensions.
    pub fn dimensions(&self) -> Result<Vec<Dimensions>> {
        if self.request.limit.is_some() {
            return Err(Error::unsupported("a reduction of a limited number of rows"));
        }
        let of_part = |part: &SegmentScan| {
            let shape = part.segment.shape.clone();
            let mut found = Dimensions { along: vec![Vec::new(); shape.len()], shape, constant: Vec::new() };
            for column in &part.segment.columns {
                let name = column.field.name().clone();
                match axis_of(column, found.shape.len()) {
                    Some(Some(axis)) => found.along.get_mut(axis).into_iter().for_each(|names| names.push(name.clone())),
                    Some(None) => found.constant.push(name),
                    None => {}
                }
            }
            found
        };
        Ok(self.parts().map(of_part).collect())
    }

    /// The values of columns along a dimension of a segment, or with `None` of those that have one value.
    ///
    /// # Errors
    /// `LimitExceeded` for a dimension of very many indexes; `NotFound` for a column that is not along it. `Io`, `Corrupt`, `Unsupported`
    /// or `LimitExceeded` if values cannot be read; `Cancelled`.
    pub fn along(&self, segment: usize, axis: Option<usize>, names: &[String], cancellation: &Cancellation) -> Result<RecordBatch> {
        let part = self.parts.get(segment).ok_or_else(|| Error::invalid_input("a plan has fewer segments"))?;
        let shape = &part.segment.shape;
        let extent = axis.map_or(Some(1), |axis| shape.get(axis).copied()).ok_or_else(|| Error::invalid_input("a segment has fewer dimensions"))?;
        if extent > MAX_INDEXES {
            return Err(Error::limit_exceeded(format!("{extent} indexes along a dimension, more than {MAX_INDEXES}")));
        }
        let rows = usize::try_from(extent).map_err(|_| Error::internal("an extent"))?;
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        for name in names {
            let column = part.segment.column(name).filter(|column| axis_of(column, shape.len()) == Some(axis));
            let column = column.ok_or_else(|| Error::not_found(format!("there is no column {name:?} along this dimension")))?;
            let values = values_along(part, column, extent, cancellation)?;
            if values.len() < rows {
                return Err(Error::internal("a dimension is longer than its coordinates"));
            }
            fields.push(Field::new(name, values.data_type().clone(), true).with_metadata(column.field.metadata().clone()));
            columns.push(values.slice(0, rows));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options).map_err(|error| Error::internal(error.to_string()))
    }
}

/// The dimension on which alone a column depends; `Some(None)` if it depends on none.
pub(super) fn axis_of(column: &SegmentColumn, dimensions: usize) -> Option<Option<usize>> {
    match &column.source {
        Source::Index { axis } | Source::Coordinate { axis, .. } | Source::Along { axis, .. } => Some(Some(*axis)),
        Source::Row if dimensions == 1 => Some(Some(0)),
        Source::File | Source::Constant(_) => Some(None),
        _ => None,
    }
}

pub(super) fn values_along(part: &SegmentScan, column: &SegmentColumn, extent: u64, cancellation: &Cancellation) -> Result<ArrayRef> {
    match &column.source {
        Source::Coordinate { dataset, column, .. } => match part.coordinates.get(dataset) {
            Some(values) => Ok(values.clone()),
            None => part.segment.coordinate(*dataset, column, cancellation),
        },
        Source::Along { values, .. } => values.all(extent).ok_or_else(|| Error::limit_exceeded("values of a long regular dimension")),
        Source::Constant(value) => Ok(value.clone()),
        Source::File => Ok(part.segment.file_name()),
        _ => Ok(Arc::new(Int64Array::from_iter_values((0..extent).map(u64::cast_signed)))),
    }
}
