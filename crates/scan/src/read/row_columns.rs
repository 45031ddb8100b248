//! The wanted columns at the rows that pass, whole, where indexes tell these rows.

use std::sync::Arc;

use arrow_array::{ArrayRef, UInt64Array, make_array};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use hyperslab_array::{Cancellation, Error, Result};
use rayon::prelude::*;

use crate::access::cost_model::TASK_MIN_BYTES;
use crate::access::row_gather::{ColumnGroup, ValueSource, GatherColumn};
use crate::access::segment_scan::SegmentScan;
use crate::plan::Plan;
use crate::pruner::{Piece, RowSelection};

/// A part, and its wanted columns.
type SegmentColumns<'a> = (&'a SegmentScan, Vec<GatherColumn>);

impl Plan {
    /// The wanted columns where their values can be had one by one, part by part; `None` where one cannot.
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

    /// The wanted columns, where indexes tell which rows pass and the values of these can be had one by one.
    pub fn matching_columns(&self, cancellation: &Cancellation) -> Result<Option<Vec<ArrayRef>>> {
        let Some(gather_columns) = self.gather_columns()? else { return Ok(None) };
        let mut columns: Vec<Vec<ArrayRef>> = vec![Vec::new(); self.schema.fields().len()];
        for (part, matching_columns) in gather_columns {
            let mut rows: Option<RowSelection> = None;
            for ((field, column), arrays) in self.schema.fields().iter().zip(matching_columns).zip(&mut columns) {
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

    /// As `positions`, in arrays.
    pub fn position_arrays(&self, cancellation: &Cancellation) -> Result<Vec<ArrayRef>> {
        let matching_rows = self.parts().map(|part| if part.can_resolve_by_index() { part.matching_rows(cancellation) } else { Ok(None) });
        let Some(matching_rows) = matching_rows.collect::<Result<Option<Vec<RowSelection>>>>()? else {
            let positions = self.positions(cancellation)?;
            return Ok(positions.into_iter().map(|rows| Arc::new(UInt64Array::from(rows)) as ArrayRef).collect());
        };
        self.parts().try_for_each(SegmentScan::count_index_blocks)?;
        let array = |rows: RowSelection| {
            let count = usize::try_from(rows.len()).map_err(|_| Error::limit_exceeded("rows beyond memory"))?;
            let data = ArrayData::builder(DataType::UInt64).len(count).add_buffer(rows.to_values(&self.session)?.into_buffer()).align_buffers(true);
            Ok(make_array(data.build().map_err(|error| Error::internal(error.to_string()))?))
        };
        matching_rows.into_iter().map(array).collect()
    }

    /// What `work` makes of the bytes of the only wanted column's values, in tasks whose results are returned; `None` as
    /// in `matching_columns`.
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

    /// What `work` makes of the bytes of the wanted columns' values in each window that has rows, a piece of these after the
    /// other, handed to `take` in row order, as `for_batches` does; whether it could, as `matching_columns`.
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
        let windows = matching_rows.iter().flat_map(|(windows, columns, rows)| windows.clone().map(move |window| (columns, rows.within(&(window.start..window.end)))));
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
