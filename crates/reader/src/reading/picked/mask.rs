//! Mask: the elements at which an array of truth values is true, read in slabs of rows.
//!
//! A slab is read as the outer product of the indexes that occur along each dimension, and its true elements are copied out of
//! that, unless they are all of it.

use std::ops::Range;

use arrow_buffer::{BooleanBuffer, Buffer};
use hyperslab_array::{Axis, Cancellation, Error, Result, Selection};
use hyperslab_formats::{Dataset, ObjectId, StorageLayout, poison};
use rayon::prelude::*;

use super::index_list::axis_of;
use super::slabs;
use crate::File;
use crate::reading::dataset_read::Keep;
use crate::reading::read::fill;
use crate::reading::stored::MIN_PARALLEL_BYTES;

/// Bytes of a slab's box. Slabs are read side by side.
const SLAB_BYTES: u64 = 4 << 20;
/// The sources of a virtual dataset have chunks that the mask does not know: fewer slabs cut fewer of them.
const VIRTUAL_SLAB_BYTES: u64 = 32 << 20;
/// If at least this fraction of the indexes between the first and the last is wanted (1/4), all are read.
const MIN_WANTED_FRACTION: usize = 4;

/// An array of truth values.
#[derive(Debug, Clone)]
pub struct Mask {
    shape: Vec<u64>,
    selected: BooleanBuffer,
    count: u64,
}

impl Mask {
    /// A mask of `shape` from its elements in row-major order, eight in a byte, the first in the lowest bit.
    ///
    /// # Errors
    /// `InvalidInput` if there are not enough bytes for the shape.
    pub fn new(shape: Vec<u64>, packed: Vec<u8>) -> Result<Self> {
        let length = shape.iter().try_fold(1u64, |length, extent| length.checked_mul(*extent)).and_then(|length| usize::try_from(length).ok());
        let Some(length) = length.filter(|length| length.div_ceil(8) <= packed.len()) else {
            return Err(Error::invalid_input(format!("{} bytes for the bits of a mask of shape {shape:?}", packed.len())));
        };
        let selected = BooleanBuffer::new(Buffer::from_vec(packed), 0, length);
        let count = selected.count_set_bits() as u64;
        Ok(Self { shape, selected, count })
    }

    /// Number of elements, true or not.
    pub(super) fn len(&self) -> u64 {
        self.selected.len() as u64
    }

    /// Number of true elements.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The indexes of the true elements of a mask of one dimension.
    pub(super) fn axis(&self) -> Axis {
        let indexes: Vec<u64> = self.selected.set_slices().flat_map(|(start, end)| start as u64..end as u64).collect();
        axis_of(&indexes)
    }
}

/// Fills `out` with the elements of a mask; `out` has room for all of them.
pub(super) fn fill_mask(file: &File, dataset: ObjectId, description: &Dataset, mask: &Mask, out: &mut [u8], cancellation: &Cancellation) -> Result<()> {
    let shape = description.dataspace.shape();
    if mask.shape != shape {
        return Err(Error::invalid_input(format!("a mask of shape {:?} does not fit shape {shape:?}", mask.shape)));
    }
    if out.is_empty() {
        let none = shape.iter().map(|_| Axis::range(0, 0)).collect();
        return fill(file, dataset, description, &Selection::new(none, shape)?, out, cancellation, Keep::Nothing);
    }
    poison(out);
    let size = usize::try_from(description.datatype.size()).map_err(|_| Error::internal("element size"))?;
    let rows = shape.first().copied().unwrap_or(1);
    let row = mask.selected.len().checked_div(usize::try_from(rows).unwrap_or(usize::MAX)).unwrap_or(0);
    let (chunk, at_once) = match description.storage {
        StorageLayout::Virtual => (1, VIRTUAL_SLAB_BYTES),
        _ => (description.chunk_grid.chunk_shape().first().copied().unwrap_or(1), SLAB_BYTES),
    };
    let mut rest = out;
    let mut parts = Vec::new();
    for rows in slabs::of_rows(rows, chunk, (row as u64).saturating_mul(size as u64), at_once) {
        let slab = Slab::new(mask, rows, row)?;
        let bytes = slab.selected.count_set_bits().checked_mul(size);
        let (here, later) = bytes.and_then(|bytes| std::mem::take(&mut rest).split_at_mut_checked(bytes)).ok_or_else(too_many)?;
        rest = later;
        if !here.is_empty() {
            parts.push((slab, here));
        }
    }
    let read = |(slab, out): (Slab<'_>, &mut [u8]), keep| {
        cancellation.check()?;
        slab.read(file, dataset, description, size, out, cancellation, keep)
    };
    let work = mask.len().saturating_mul(size as u64);
    match parts.len() {
        1 => parts.into_iter().try_for_each(|part| read(part, Keep::Chunks)),
        _ if work < MIN_PARALLEL_BYTES || file.session().thread_count()? == 1 => parts.into_iter().try_for_each(|part| read(part, Keep::Nothing)),
        _ => file.session().compute(|| parts.into_par_iter().try_for_each(|part| read(part, Keep::Nothing))),
    }
}

fn too_many() -> Error {
    Error::internal("a mask has more elements than its result")
}

/// Some rows of a mask.
struct Slab<'a> {
    shape: &'a [u64],
    rows: Range<u64>,
    selected: BooleanBuffer,
    /// Elements of a row of the last dimension.
    inner: usize,
}

/// The indexes of a dimension that occur in a slab.
struct Projection {
    axis: Axis,
    /// For each index from `first` on its position in the axis.
    first: usize,
    places: Vec<usize>,
}

impl Projection {
    fn place(&self, index: usize) -> Option<usize> {
        self.places.get(index.checked_sub(self.first)?).copied()
    }
}

impl<'a> Slab<'a> {
    /// The rows `rows` of a mask whose rows have `row` elements.
    fn new(mask: &'a Mask, rows: Range<u64>, row: usize) -> Result<Self> {
        let bits = |rows: u64| usize::try_from(rows).ok().and_then(|rows| rows.checked_mul(row));
        let (start, length) = bits(rows.start).zip(bits(rows.end - rows.start)).ok_or_else(too_many)?;
        let selected = mask.selected.slice(start, length);
        let inner = match mask.shape.as_slice() {
            [] | [_] => length,
            [.., last] => usize::try_from(*last).map_err(|_| too_many())?,
        };
        Ok(Self { shape: &mask.shape, rows, selected, inner: inner.max(1) })
    }

    /// The runs of true elements, each within one row of the last dimension: the number of that row, and indexes in it.
    fn runs(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        let inner = self.inner;
        self.selected.set_slices().flat_map(move |(start, end)| {
            let rows = start / inner..end.div_ceil(inner);
            rows.map(move |row| (row, start.saturating_sub(row * inner)..(end - row * inner).min(inner)))
        })
    }

    /// The extents of the slab's dimensions, and the first index of each. A scalar is an array of one element.
    fn dimensions(&self) -> Vec<(u64, usize)> {
        let whole = self.shape.iter().skip(1).map(|extent| (0, usize::try_from(*extent).unwrap_or(usize::MAX)));
        std::iter::once((self.rows.start, usize::try_from(self.rows.end - self.rows.start).unwrap_or(usize::MAX))).chain(whole).collect()
    }

    /// The indexes that occur along each dimension.
    fn projections(&self) -> Vec<Projection> {
        let dimensions = self.dimensions();
        let mut marks: Vec<Vec<bool>> = dimensions.iter().map(|(_, extent)| vec![false; *extent]).collect();
        let mut known = None;
        for (row, inside) in self.runs() {
            let Some((last, outer)) = marks.split_last_mut() else { break };
            if let Some(marks) = last.get_mut(inside) {
                marks.fill(true);
            }
            if known != Some(row) {
                known = Some(row);
                let mut rest = row;
                for marks in outer.iter_mut().rev() {
                    let extent = marks.len().max(1);
                    if let Some(mark) = marks.get_mut(rest % extent) {
                        *mark = true;
                    }
                    rest /= extent;
                }
            }
        }
        dimensions.iter().zip(marks).map(|((start, _), marks)| projection(*start, &marks)).collect()
    }

    /// Reads the slab's true elements into `out`.
    #[expect(clippy::too_many_arguments, reason = "a read of a dataset, and what the slab does not know")]
    fn read(&self, file: &File, dataset: ObjectId, description: &Dataset, size: usize, out: &mut [u8], cancellation: &Cancellation, keep: Keep) -> Result<()> {
        let projections = self.projections();
        let axes = projections.iter().take(self.shape.len()).map(|projection| projection.axis.clone());
        let selection = Selection::new(axes.collect(), description.dataspace.shape())?;
        let bytes = selection.element_count()?.checked_mul(size as u64).and_then(|bytes| usize::try_from(bytes).ok()).ok_or_else(too_many)?;
        if bytes == out.len() {
            return fill(file, dataset, description, &selection, out, cancellation, keep);
        }
        let mut values = file.session().values().take(bytes)?;
        fill(file, dataset, description, &selection, &mut values, cancellation, keep)?;
        self.copy(&projections, &values, size, out).ok_or_else(too_many)
    }

    /// Copies the true elements out of the values of the projections' product.
    fn copy(&self, projections: &[Projection], values: &[u8], size: usize, out: &mut [u8]) -> Option<()> {
        let (last, outer) = projections.split_last()?;
        let extents: Vec<usize> = self.dimensions().into_iter().map(|(_, extent)| extent.max(1)).collect();
        let inner = usize::try_from(last.axis.count()).ok()?;
        let mut known = None;
        let mut done = 0;
        for (row, inside) in self.runs() {
            let start = match known {
                Some((known, start)) if known == row => start,
                _ => {
                    let (mut rest, mut place, mut stride) = (row, 0, inner);
                    for (projection, extent) in outer.iter().zip(&extents).rev() {
                        place += projection.place(rest % extent)? * stride;
                        stride *= usize::try_from(projection.axis.count()).ok()?;
                        rest /= extent;
                    }
                    known = Some((row, place));
                    place
                }
            };
            // Indexes that are side by side have places that are side by side.
            let from = (start + last.place(inside.start)?).checked_mul(size)?;
            let length = inside.len().checked_mul(size)?;
            out.get_mut(done..done + length)?.copy_from_slice(values.get(from..from.checked_add(length)?)?);
            done += length;
        }
        (done == out.len()).then_some(())
    }
}

/// The marked indexes of a dimension. The first mark belongs to index `start`.
fn projection(start: u64, marks: &[bool]) -> Projection {
    let first = marks.iter().position(|mark| *mark).unwrap_or(0);
    let end = marks.iter().rposition(|mark| *mark).map_or(0, |last| last + 1);
    let wanted = marks.get(first..end).unwrap_or_default();
    let count = wanted.iter().filter(|mark| **mark).count();
    if count.saturating_mul(MIN_WANTED_FRACTION) >= wanted.len() {
        return Projection { axis: Axis::range(start + first as u64, start + end as u64), first, places: (0..wanted.len()).collect() };
    }
    let mut places = Vec::with_capacity(wanted.len());
    let mut indexes = Vec::with_capacity(count);
    for (index, mark) in (start + first as u64..).zip(wanted) {
        places.push(indexes.len());
        if *mark {
            indexes.push(index);
        }
    }
    Projection { axis: axis_of(&indexes), first, places }
}
