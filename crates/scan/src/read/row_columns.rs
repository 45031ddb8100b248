//! The wanted columns at the matching rows as whole arrays, if indexes find these rows.

use std::sync::Arc;

use arrow_array::{ArrayRef, UInt64Array, make_array};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use hyperslab_array::{Cancellation, Error, Result};
use rayon::prelude::*;

use crate::access::cost_model::TASK_MIN_BYTES;
use crate::access::row_gather::{ColumnGroup, GatherColumn, ValueSource};
use crate::access::segment_scan::SegmentScan;
use crate::plan::Plan;
use crate::pruner::{Piece, RowSelection};

/// A segment and its wanted columns.
type SegmentColumns<'a> = (&'a SegmentScan, Vec<GatherColumn>);

impl Plan {
    /// The wanted columns of each segment, if all their values can be read at single rows.
    fn gather_columns(&self) -> Result<Option<Vec<SegmentColumns<'_>>>> {
        let names = self.schema.fields();
        if names.is_empty() || self.request.limit.is_some() {
            return Ok(None);
        }
        self.parts()
            .map(|part| {
                let columns = names.iter().map(|field| part.gather_column(field.name())).collect::<Result<Option<Vec<GatherColumn>>>>()?;
                Ok(columns.map(|columns| (part, columns)))
            })
            .collect()
    }

    /// The wanted columns at the matching rows, if indexes find these rows and all values can be read at single rows.
    ///
    /// # Errors
    /// `Io`, `Corrupt`, `Unsupported` or `LimitExceeded` if values cannot be read; `Cancelled`.
    pub fn matching_columns(&self, cancellation: &Cancellation) -> Result<Option<Vec<ArrayRef>>> {
        let Some(gather_columns) = self.gather_columns()? else { return Ok(None) };
        let mut columns: Vec<Vec<ArrayRef>> = vec![Vec::new(); self.schema.fields().len()];
        for (part, part_columns) in gather_columns {
            let mut rows: Option<RowSelection> = None;
            for ((field, column), arrays) in self.schema.fields().iter().zip(part_columns).zip(&mut columns) {
                let values = match part.value_source(field.name(), &column, cancellation)? {
                    Some(ValueSource::Index(values)) => values,
                    Some(ValueSource::File) => {
                        let matching_rows = match rows.take() {
                            Some(rows) => rows,
                            None => match part.matching_rows(cancellation)? {
                                Some(rows) => rows,
                                None => return Ok(None),
                            },
                        };
                        let pieces: Vec<Piece<'_>> = matching_rows.pieces().collect();
                        let values = column.values(&pieces, &self.session, cancellation)?;
                        drop(pieces);
                        rows = Some(matching_rows);
                        values
                    }
                    None => return Ok(None),
                };
                arrays.push(column.array(values)?);
            }
            part.count_index_blocks()?;
        }
        let whole = |arrays: Vec<ArrayRef>| {
            if let [one] = arrays.as_slice() {
                return Ok(one.clone());
            }
            let arrays: Vec<&dyn arrow_array::Array> = arrays.iter().map(AsRef::as_ref).collect();
            arrow_select::concat::concat(&arrays).map_err(|error| Error::internal(error.to_string()))
        };
        columns.into_iter().map(whole).collect::<Result<Vec<ArrayRef>>>().map(Some)
    }

    /// As [`Plan::positions`], as arrays of unsigned 64-bit integers.
    ///
    /// # Errors
    /// `Io`, `Corrupt`, `Unsupported` or `LimitExceeded` if values cannot be read; `Cancelled`.
    pub fn position_arrays(&self, cancellation: &Cancellation) -> Result<Vec<ArrayRef>> {
        let matching_rows = self.parts().map(|part| if part.can_resolve_by_index() { part.matching_rows(cancellation) } else { Ok(None) });
        let Some(matching_rows) = matching_rows.collect::<Result<Option<Vec<RowSelection>>>>()? else {
            let positions = self.positions(cancellation)?;
            return Ok(positions.into_iter().map(|rows| Arc::new(UInt64Array::from(rows)) as ArrayRef).collect());
        };
        self.parts().try_for_each(SegmentScan::count_index_blocks)?;
        let array = |rows: RowSelection| {
            let count = usize::try_from(rows.len()).map_err(|_| Error::limit_exceeded("the rows exceed memory"))?;
            let data = ArrayData::builder(DataType::UInt64).len(count).add_buffer(rows.to_values(&self.session)?.into_buffer()).align_buffers(true);
            Ok(make_array(data.build().map_err(|error| Error::internal(error.to_string()))?))
        };
        matching_rows.into_iter().map(array).collect()
    }

    /// Folds the bytes of the only wanted column's values at the matching rows: each task begins with `new()` and calls
    /// `work`; returns the tasks' results. `None` as in [`Plan::matching_columns`].
    ///
    /// # Errors
    /// That of `work`. `Io`, `Corrupt`, `Unsupported` or `LimitExceeded` if values cannot be read; `Cancelled`.
    pub fn fold_matching_values<T: Send>(
        &self,
        cancellation: &Cancellation,
        new: impl Fn() -> T + Sync,
        work: impl Fn(&mut T, &DataType, &[u8]) -> Result<()> + Sync,
    ) -> Result<Option<Vec<T>>> {
        let fields = self.schema.fields();
        let [field] = &**fields else { return Ok(None) };
        let Some(gather_columns) = self.gather_columns()? else { return Ok(None) };
        let mut found = Vec::new();
        for (part, columns) in gather_columns {
            let Some(column) = columns.first() else { return Ok(None) };
            match part.value_source(field.name(), column, cancellation)? {
                Some(ValueSource::Index(values)) => {
                    let share = values.bytes.len().div_ceil(self.session.thread_count()?.max(1)).next_multiple_of(8).max(TASK_MIN_BYTES);
                    let of_share = |bytes: &[u8]| {
                        let mut sum = new();
                        work(&mut sum, &column.data_type, bytes)?;
                        Ok(sum)
                    };
                    found.extend(self.session.compute(|| values.bytes.par_chunks(share).map(of_share).collect::<Result<Vec<T>>>())?);
                }
                Some(ValueSource::File) => {
                    let Some(rows) = part.matching_rows(cancellation)? else { return Ok(None) };
                    let pieces: Vec<Piece<'_>> = rows.pieces().collect();
                    found.extend(column.fold(&pieces, &self.session, cancellation, &new, &work)?);
                }
                None => return Ok(None),
            }
            part.count_index_blocks()?;
        }
        Ok(Some(found))
    }

    /// Folds the bytes of the wanted columns' values at the matching rows, window by window: `work` is called for each piece
    /// of a window's rows, `take` with the windows' results in row order, as in [`Plan::for_batches`]. Returns `false`, and
    /// calls nothing, if that is not possible, as in [`Plan::matching_columns`].
    ///
    /// # Errors
    /// Those of `work` and `take`. `Io`, `Corrupt`, `Unsupported` or `LimitExceeded` if values cannot be read;
    /// `Cancelled`.
    pub fn for_matching_pieces<T: Send>(
        &self,
        cancellation: &Cancellation,
        new: impl Fn() -> T + Sync,
        work: impl Fn(&mut T, usize, &[(&DataType, &[u8])]) -> Result<()> + Sync,
        mut take: impl FnMut(T) -> Result<()> + Send,
    ) -> Result<bool> {
        let Some(gather_columns) = self.gather_columns()?.filter(|parts| parts.iter().all(|(_, columns)| columns.iter().all(GatherColumn::is_stored))) else {
            return Ok(false);
        };
        let mut matching_rows = Vec::with_capacity(gather_columns.len());
        for (part, columns) in &gather_columns {
            let Some(rows) = part.matching_rows(cancellation)? else { return Ok(false) };
            part.count_index_blocks()?;
            matching_rows.push((part.windows(&part.columns_read())?, columns, rows));
        }
        let windows =
            matching_rows.iter().flat_map(|(windows, columns, rows)| windows.clone().map(move |window| (columns, rows.within(&(window.start..window.end)))));
        let mut windows = windows.filter(|(_, rows)| !rows.is_empty());
        let of_window = |(columns, rows): &(&&Vec<GatherColumn>, RowSelection)| {
            let (mut sum, mut group) = (new(), ColumnGroup::new(columns, &self.session)?);
            for piece in rows.pieces() {
                cancellation.check()?;
                work(&mut sum, piece.count, &group.take(&piece)?)?;
            }
            Ok(sum)
        };
        self.session.compute(|| {
            let several = self.session.thread_count()?.saturating_mul(4).max(1);
            loop {
                let next: Vec<_> = windows.by_ref().take(several).collect();
                if next.is_empty() {
                    return Ok(true);
                }
                let made: Vec<Result<T>> = next.par_iter().map(of_window).collect();
                made.into_iter().try_for_each(|made| take(made?))?;
            }
        })
    }
}
