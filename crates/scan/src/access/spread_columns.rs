//! Reads values that several rows share: along some dimensions of the rows, and of runs of rows.

use arrow_array::{Array, ArrayRef, Int64Array, UInt64Array, new_null_array};
use arrow_schema::Field;
use hyperslab_array::{Axis, Error, Result};

use super::window_columns::Window;
use crate::table::elements::Elements;

impl Window<'_> {
    /// For each row of the window, the value at its indexes along `axes`.
    pub(super) fn spread(&self, values: &Elements, axes: &[usize]) -> Result<ArrayRef> {
        let missing = || Error::internal("no such axis");
        let own = axes.iter().map(|axis| self.selection.axes().get(*axis).cloned().ok_or_else(missing)).collect::<Result<Vec<Axis>>>()?;
        let read = self.elements(values, &own)?;
        let shape = self.selection.shape();
        let mut strides = vec![0u64; shape.len()];
        let mut stride = 1u64;
        for (axis, mine) in axes.iter().zip(&own).rev() {
            *strides.get_mut(*axis).ok_or_else(missing)? = stride;
            stride = stride.saturating_mul(mine.count());
        }
        if axes.iter().copied().eq(0..shape.len()) {
            return Ok(read);
        }
        let mut positions = vec![0u64];
        for (extent, stride) in shape.iter().zip(&strides) {
            positions = positions.iter().flat_map(|position| (0..*extent).map(move |index| position + index * stride)).collect();
        }
        take(&read, &UInt64Array::from(positions))
    }

    /// For each row of the window, the number of its run, or the value of the run. `starts` has the first row of each run.
    pub(super) fn runs(&self, field: &Field, starts: &[i64], values: Option<&Elements>) -> Result<ArrayRef> {
        let [rows] = self.selection.axes() else { return Err(Error::internal("runs in rows of several dimensions")) };
        let run_of = |position: u64| {
            let row = rows.index(position).ok_or_else(|| Error::internal("axis position"))?;
            // If several runs begin at the same row, all but the last are empty.
            Ok(starts.partition_point(|start| u64::try_from(*start).is_ok_and(|start| start <= row)).checked_sub(1).map(|run| run as u64))
        };
        let runs = (0..rows.count()).map(run_of).collect::<Result<Vec<Option<u64>>>>()?;
        let Some(values) = values else {
            return Ok(std::sync::Arc::new(runs.iter().map(|run| run.map(u64::cast_signed)).collect::<Int64Array>()));
        };
        // Rows increase, so runs do.
        let (Some(first), Some(last)) = (runs.iter().flatten().min(), runs.iter().flatten().max()) else {
            return Ok(new_null_array(field.data_type(), runs.len()));
        };
        let read = self.elements(values, &[Axis::range(*first, last + 1)])?;
        take(&read, &runs.iter().map(|run| run.map(|run| run - first)).collect::<UInt64Array>())
    }
}

fn take(values: &dyn Array, positions: &UInt64Array) -> Result<ArrayRef> {
    arrow_select::take::take(values, positions, None).map_err(|error| Error::internal(error.to_string()))
}
