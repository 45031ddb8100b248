//! Gather: values at rows that indexes tell, from where they lie in the file or from the index itself, in memory that is
//! used again. No window is read around them, and no batch is made of them.

use arrow_array::{ArrayRef, make_array};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use hyperslab_array::{Cancellation, Error, Result};
use hyperslab_reader::{PooledBuffer, Session};
use rayon::prelude::*;

use crate::pruner::{Passing, Piece};
use super::cost_model::{INDEX_VALUES_MAX_ROW_FRACTION, TASK_PIECES};
use super::raw_column::{RawColumnReader, beyond};
use super::segment_scan::SegmentScan;

/// A column whose values can be had one by one.
pub(crate) struct GatherColumn {
    pub data_type: DataType,
    width: usize,
    stored: Option<RawColumnReader>,
    /// Whether it is the condition's only column, and its index has the values.
    own: bool,
}

/// What is to be done with the values of a column.
pub(crate) enum Found {
    Passing(Passing),
    RawColumnReader,
}

impl SegmentScan {
    /// How the values of a column can be had one by one; `None` where they cannot, or where indexes do not tell the rows.
    pub(crate) fn gathered(&self, name: &str) -> Result<Option<GatherColumn>> {
        if self.can_resolve_by_index() { self.one_by_one(name) } else { Ok(None) }
    }

    /// How the values of a column can be had one by one, at rows of the whole segment.
    pub(crate) fn one_by_one(&self, name: &str) -> Result<Option<GatherColumn>> {
        if self.segment.shape.is_empty() {
            return Ok(None);
        }
        let Some(column) = self.segment.column(name) else { return Ok(None) };
        let data_type = column.field.data_type().clone();
        let Some(width) = data_type.primitive_width().filter(|width| matches!(width, 1 | 2 | 4 | 8)) else { return Ok(None) };
        let stored = RawColumnReader::of(&self.segment, &column.source, width)?;
        let own = self.has_values_of(name);
        Ok((stored.is_some() || own).then_some(GatherColumn { data_type, width, stored, own }))
    }

    /// Values from the column's own index, or the word that they are to be read; `None` where they can be neither.
    pub(crate) fn found(&self, name: &str, column: &GatherColumn, cancellation: &Cancellation) -> Result<Option<Found>> {
        if column.own
            && let Some(passing) = self.passing_values(name, column.stored.is_some().then_some(INDEX_VALUES_MAX_ROW_FRACTION.denominator()), cancellation)?
        {
            return Ok(Some(Found::Passing(passing)));
        }
        Ok(column.stored.is_some().then_some(Found::RawColumnReader))
    }
}

impl GatherColumn {
    /// Whether the values lie one by one in the file.
    pub fn is_stored(&self) -> bool {
        self.stored.is_some()
    }

    fn stored(&self) -> Result<&RawColumnReader> {
        self.stored.as_ref().ok_or_else(|| Error::internal("values that are not stored"))
    }

    /// The values of one piece's rows.
    pub fn of_piece(&self, piece: &Piece<'_>, session: &Session) -> Result<ArrayRef> {
        let mut bytes = session.values().take(piece.count * self.width)?;
        let stored = self.stored()?;
        stored.take(piece, &mut stored.scratch(session)?, &mut bytes)?;
        self.array(Passing { bytes, count: piece.count })
    }

    /// The values of rows, in order.
    pub fn values(&self, pieces: &[Piece<'_>], session: &Session, cancellation: &Cancellation) -> Result<Passing> {
        let count: usize = pieces.iter().map(|piece| piece.count).sum();
        let length = count.checked_mul(self.width).ok_or_else(|| Error::limit_exceeded("values beyond memory"))?;
        let mut bytes = session.values().take(length)?;
        let stored = self.stored()?;
        let mut rest: &mut [u8] = &mut bytes;
        let mut slots = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let (mine, others) = std::mem::take(&mut rest).split_at_mut_checked(piece.count * self.width).ok_or_else(beyond)?;
            rest = others;
            slots.push((piece, mine));
        }
        session.compute(|| {
            slots.par_chunks_mut(TASK_PIECES).try_for_each(|slots| {
                let mut scratch = stored.scratch(session)?;
                slots.iter_mut().try_for_each(|(piece, out)| {
                    cancellation.check()?;
                    stored.take(piece, &mut scratch, out)
                })
            })
        })?;
        Ok(Passing { bytes, count })
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
        let stored = self.stored()?;
        // A few tasks for each thread: each has its own result.
        let tasks = pieces.len().div_ceil(session.thread_count()?.max(1) * 8).max(1);
        session.compute(|| {
            let of_task = |pieces: &[Piece<'_>]| {
                let (mut sum, mut scratch, mut all) = (new(), stored.scratch(session)?, stored.scratch(session)?);
                for piece in pieces {
                    cancellation.check()?;
                    let out = all.get_mut(..piece.count * self.width).ok_or_else(beyond)?;
                    stored.take(piece, &mut scratch, out)?;
                    work(&mut sum, &self.data_type, out)?;
                }
                Ok(sum)
            };
            pieces.par_chunks(tasks).map(of_task).collect()
        })
    }

    /// As an array.
    pub fn array(&self, values: Passing) -> Result<ArrayRef> {
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
    /// Of columns that are stored.
    pub fn new(columns: &'a [GatherColumn], session: &Session) -> Result<Self> {
        let columns = columns.iter().map(|column| Ok((column, column.stored()?))).collect::<Result<Vec<_>>>()?;
        let memory = || columns.iter().map(|(_, stored)| stored.scratch(session)).collect::<Result<Vec<PooledBuffer>>>();
        Ok(Self { scratch: memory()?, out: memory()?, columns })
    }

    /// The values of a piece's rows, column by column.
    pub fn take(&mut self, piece: &Piece<'_>) -> Result<Vec<(&'a DataType, &[u8])>> {
        let memory = self.scratch.iter_mut().zip(&mut self.out);
        let taken = self.columns.iter().zip(memory).map(|((column, stored), (scratch, out))| {
            let out = out.get_mut(..piece.count * column.width).ok_or_else(beyond)?;
            stored.take(piece, scratch, out)?;
            Ok((&column.data_type, &*out))
        });
        taken.collect()
    }
}
