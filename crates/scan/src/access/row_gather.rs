//! Gather: values at rows that indexes tell, from where they lie in the file or from the index itself, in memory that is
//! used again. No window is read around them, and no batch is made of them.

use arrow_array::{ArrayRef, make_array};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use hyperslab_array::{Cancellation, Error, Result};
use hyperslab_reader::{PooledBuffer, Session};
use rayon::prelude::*;

use crate::pruner::{MatchingValues, Piece};
use super::cost_model::{INDEX_VALUES_MAX_ROW_FRACTION, TASK_PIECES};
use super::raw_column::{RawColumnReader, beyond};
use super::segment_scan::SegmentScan;

/// A column whose values can be had one by one.
pub(crate) struct GatherColumn {
    pub data_type: DataType,
    width: usize,
    raw: Option<RawColumnReader>,
    /// Whether it is the condition's only column, and its index has the values.
    in_own_index: bool,
}

/// What is to be done with the values of a column.
pub(crate) enum ValueSource {
    /// These, from the column's in_own_index index.
    Index(MatchingValues),
    /// The file.
    File,
}

impl SegmentScan {
    /// How the values of a column can be had one by one; `None` where they cannot, or where indexes do not tell the rows.
    pub(crate) fn gather_column(&self, name: &str) -> Result<Option<GatherColumn>> {
        if self.can_resolve_by_index() { self.single_value_column(name) } else { Ok(None) }
    }

    /// How the values of a column can be had one by one, at rows of the whole segment.
    pub(crate) fn single_value_column(&self, name: &str) -> Result<Option<GatherColumn>> {
        if self.segment.shape.is_empty() {
            return Ok(None);
        }
        let Some(column) = self.segment.column(name) else { return Ok(None) };
        let data_type = column.field.data_type().clone();
        let Some(width) = data_type.primitive_width().filter(|width| matches!(width, 1 | 2 | 4 | 8)) else { return Ok(None) };
        let raw = RawColumnReader::of(&self.segment, &column.source, width)?;
        let in_own_index = self.index_has_values_of(name);
        Ok((raw.is_some() || in_own_index).then_some(GatherColumn { data_type, width, raw, in_own_index }))
    }

    /// Values from the column's in_own_index index, or the word that they are to be read; `None` where they can be neither.
    pub(crate) fn value_source(&self, name: &str, column: &GatherColumn, cancellation: &Cancellation) -> Result<Option<ValueSource>> {
        if column.in_own_index
            && let Some(passing) = self.matching_values(name, column.raw.is_some().then_some(INDEX_VALUES_MAX_ROW_FRACTION.denominator()), cancellation)?
        {
            return Ok(Some(ValueSource::Index(passing)));
        }
        Ok(column.raw.is_some().then_some(ValueSource::File))
    }
}

impl GatherColumn {
    /// Whether the values lie one by one in the file.
    pub fn is_stored(&self) -> bool {
        self.raw.is_some()
    }

    fn raw(&self) -> Result<&RawColumnReader> {
        self.raw.as_ref().ok_or_else(|| Error::internal("values that are not stored"))
    }

    /// The values of one piece's rows.
    pub fn of_piece(&self, piece: &Piece<'_>, session: &Session) -> Result<ArrayRef> {
        let mut bytes = session.values().take(piece.count * self.width)?;
        let raw = self.raw()?;
        raw.take(piece, &mut raw.scratch(session)?, &mut bytes)?;
        self.array(MatchingValues { bytes, count: piece.count })
    }

    /// The values of rows, in order.
    pub fn values(&self, pieces: &[Piece<'_>], session: &Session, cancellation: &Cancellation) -> Result<MatchingValues> {
        let count: usize = pieces.iter().map(|piece| piece.count).sum();
        let length = count.checked_mul(self.width).ok_or_else(|| Error::limit_exceeded("values beyond memory"))?;
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

    /// What `work` makes of the values of rows, a piece after the other in each task.
    pub fn fold<T: Send>(
        &self,
        pieces: &[Piece<'_>],
        session: &Session,
        cancellation: &Cancellation,
        new: &(impl Fn() -> T + Sync),
        work: &(impl Fn(&mut T, &DataType, &[u8]) -> Result<()> + Sync),
    ) -> Result<Vec<T>> {
        let raw = self.raw()?;
        // A few tasks for each thread: each has its in_own_index result.
        let tasks = pieces.len().div_ceil(session.thread_count()?.max(1) * 8).max(1);
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
            pieces.par_chunks(tasks).map(of_task).collect()
        })
    }

    /// As an array.
    pub fn array(&self, values: MatchingValues) -> Result<ArrayRef> {
        let data = ArrayData::builder(self.data_type.clone()).len(values.count).add_buffer(values.bytes.into_buffer()).align_buffers(true);
        Ok(make_array(data.build().map_err(|error| Error::internal(error.to_string()))?))
    }
}

/// Columns whose values are taken side by side, and memory for those of a piece.
pub(crate) struct ColumnGroup<'a> {
    columns: Vec<(&'a GatherColumn, &'a RawColumnReader)>,
    scratch: Vec<PooledBuffer>,
    out: Vec<PooledBuffer>,
}

impl<'a> ColumnGroup<'a> {
    /// Of columns that are raw.
    pub fn new(columns: &'a [GatherColumn], session: &Session) -> Result<Self> {
        let columns = columns.iter().map(|column| Ok((column, column.raw()?))).collect::<Result<Vec<_>>>()?;
        let memory = || columns.iter().map(|(_, raw)| raw.scratch(session)).collect::<Result<Vec<PooledBuffer>>>();
        Ok(Self { scratch: memory()?, out: memory()?, columns })
    }

    /// The values of a piece's rows, column by column.
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
