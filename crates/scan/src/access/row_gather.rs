//! Gathers values at rows that an index found, from the file or from the index itself, into reused memory, without reading
//! windows or making batches.

use arrow_array::{ArrayRef, make_array};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use hyperslab_array::{Cancellation, Error, Result};
use hyperslab_reader::{PooledBuffer, Session};
use rayon::prelude::*;

use super::cost_model::{INDEX_VALUES_MAX_ROW_FRACTION, TASK_PIECES};
use super::raw_column::{RawColumnReader, beyond};
use super::segment_scan::SegmentScan;
use crate::pruner::{MatchingValues, Piece};

/// A column whose values can be read at single rows.
pub(crate) struct GatherColumn {
    pub data_type: DataType,
    width: usize,
    /// Reads values from the file; `None` if they must be decoded.
    raw: Option<RawColumnReader>,
    /// Whether the predicate uses this column only, and its index holds the values.
    is_in_index: bool,
}

/// Where the values of a column at the matching rows come from.
pub(crate) enum ValueSource {
    /// From the column's index, which has returned them.
    Index(MatchingValues),
    /// From the file.
    File,
}

impl SegmentScan {
    /// A column for gathering; `None` if its values cannot be read at single rows, or indexes do not find the rows.
    pub(crate) fn gather_column(&self, name: &str) -> Result<Option<GatherColumn>> {
        if self.can_resolve_by_index() { self.single_value_column(name) } else { Ok(None) }
    }

    /// A column whose values are read at single rows of the whole segment; `None` if that is not possible.
    pub(crate) fn single_value_column(&self, name: &str) -> Result<Option<GatherColumn>> {
        if self.segment.shape.is_empty() {
            return Ok(None);
        }
        let Some(column) = self.segment.column(name) else { return Ok(None) };
        let data_type = column.field.data_type().clone();
        let Some(width) = data_type.primitive_width().filter(|width| matches!(width, 1 | 2 | 4 | 8)) else { return Ok(None) };
        let raw = RawColumnReader::of(&self.segment, &column.source, width)?;
        let is_in_index = self.index_has_values_of(name);
        Ok((raw.is_some() || is_in_index).then_some(GatherColumn { data_type, width, raw, is_in_index }))
    }

    /// Where to get the column's values at the matching rows; `None` if neither index nor file can give them.
    pub(crate) fn value_source(&self, name: &str, column: &GatherColumn, cancellation: &Cancellation) -> Result<Option<ValueSource>> {
        if column.is_in_index
            && let Some(values) = self.matching_values(name, column.raw.is_some().then_some(INDEX_VALUES_MAX_ROW_FRACTION.denominator()), cancellation)?
        {
            return Ok(Some(ValueSource::Index(values)));
        }
        Ok(column.raw.is_some().then_some(ValueSource::File))
    }
}

impl GatherColumn {
    /// Whether the values can be read from the file.
    pub fn is_stored(&self) -> bool {
        self.raw.is_some()
    }

    fn raw(&self) -> Result<&RawColumnReader> {
        self.raw.as_ref().ok_or_else(|| Error::internal("values that cannot be read at single rows"))
    }

    /// The values at one piece's rows, as an array.
    pub fn of_piece(&self, piece: &Piece<'_>, session: &Session) -> Result<ArrayRef> {
        let mut bytes = session.values().take(piece.count * self.width)?;
        let raw = self.raw()?;
        raw.take(piece, &mut raw.scratch(session)?, &mut bytes)?;
        self.array(MatchingValues { bytes, count: piece.count })
    }

    /// The values at rows, in order.
    pub fn values(&self, pieces: &[Piece<'_>], session: &Session, cancellation: &Cancellation) -> Result<MatchingValues> {
        let count: usize = pieces.iter().map(|piece| piece.count).sum();
        let length = count.checked_mul(self.width).ok_or_else(|| Error::limit_exceeded("the values exceed memory"))?;
        let mut bytes = session.values().take(length)?;
        let raw = self.raw()?;
        let mut rest: &mut [u8] = &mut bytes;
        let mut slots = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let (mine, others) = std::mem::take(&mut rest).split_at_mut_checked(piece.count * self.width).ok_or_else(beyond)?;
            rest = others;
            slots.push((piece, mine));
        }
        session.compute(|| {
            slots.par_chunks_mut(TASK_PIECES).try_for_each(|slots| {
                let mut scratch = raw.scratch(session)?;
                slots.iter_mut().try_for_each(|(piece, out)| {
                    cancellation.check()?;
                    raw.take(piece, &mut scratch, out)
                })
            })
        })?;
        Ok(MatchingValues { bytes, count })
    }

    /// Folds the values at rows: each task begins with `new()` and calls `work` for one piece after another. Returns the
    /// tasks' results in row order.
    pub fn fold<T: Send>(
        &self,
        pieces: &[Piece<'_>],
        session: &Session,
        cancellation: &Cancellation,
        new: &(impl Fn() -> T + Sync),
        work: &(impl Fn(&mut T, &DataType, &[u8]) -> Result<()> + Sync),
    ) -> Result<Vec<T>> {
        let raw = self.raw()?;
        // A few tasks per thread: each has its own result.
        let task_pieces = pieces.len().div_ceil(session.thread_count()?.max(1) * 8).max(1);
        session.compute(|| {
            let of_task = |pieces: &[Piece<'_>]| {
                let (mut sum, mut scratch, mut all) = (new(), raw.scratch(session)?, raw.scratch(session)?);
                for piece in pieces {
                    cancellation.check()?;
                    let out = all.get_mut(..piece.count * self.width).ok_or_else(beyond)?;
                    raw.take(piece, &mut scratch, out)?;
                    work(&mut sum, &self.data_type, out)?;
                }
                Ok(sum)
            };
            pieces.par_chunks(task_pieces).map(of_task).collect()
        })
    }

    /// Values as an array of the column's type.
    pub fn array(&self, values: MatchingValues) -> Result<ArrayRef> {
        let data = ArrayData::builder(self.data_type.clone()).len(values.count).add_buffer(values.bytes.into_buffer()).align_buffers(true);
        Ok(make_array(data.build().map_err(|error| Error::internal(error.to_string()))?))
    }
}

/// Columns whose values are gathered side by side, with buffers for the values of a piece.
pub(crate) struct ColumnGroup<'a> {
    columns: Vec<(&'a GatherColumn, &'a RawColumnReader)>,
    scratch: Vec<PooledBuffer>,
    out: Vec<PooledBuffer>,
}

impl<'a> ColumnGroup<'a> {
    /// A group of columns that can be read from the file.
    pub fn new(columns: &'a [GatherColumn], session: &Session) -> Result<Self> {
        let columns = columns.iter().map(|column| Ok((column, column.raw()?))).collect::<Result<Vec<_>>>()?;
        let memory = || columns.iter().map(|(_, raw)| raw.scratch(session)).collect::<Result<Vec<PooledBuffer>>>();
        Ok(Self { scratch: memory()?, out: memory()?, columns })
    }

    /// The values at a piece's rows, column by column.
    pub fn take(&mut self, piece: &Piece<'_>) -> Result<Vec<(&'a DataType, &[u8])>> {
        let memory = self.scratch.iter_mut().zip(&mut self.out);
        let taken = self.columns.iter().zip(memory).map(|((column, raw), (scratch, out))| {
            let out = out.get_mut(..piece.count * column.width).ok_or_else(beyond)?;
            raw.take(piece, scratch, out)?;
            Ok((&column.data_type, &*out))
        });
        taken.collect()
    }
}
