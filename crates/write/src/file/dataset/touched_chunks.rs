//! The chunks that a region touches, and which part of each.

use hyperslab_array::{Error, Result};

use crate::file::definition::DatasetDefinition;
use crate::file::memory_length::memory_length;
use crate::file::regions::region::{Region, copy};

/// A chunk that a region touches; `origin` and `part` are in coordinates of the dataset.
pub(crate) struct TouchedChunk {
    pub position: Vec<u64>,
    pub origin: Vec<u64>,
    pub part: Region,
    /// Whether `part` covers the whole chunk, as far as it is in the dataset.
    pub whole: bool,
}

/// Row-major index of a chunk in an array of `shape`.
pub(crate) fn chunk_index(position: &[u64], shape: &[u64], chunk_shape: &[u64]) -> u64 {
    let axes = position.iter().zip(shape.iter().zip(chunk_shape));
    axes.fold(0, |number: u64, (position, (extent, chunk))| number.saturating_mul(extent.div_ceil(*chunk)).saturating_add(*position))
}

/// The chunks that `region` touches, in row-major order. `shape` is the current or maximum shape of the dataset.
pub(crate) fn touched_chunks<'a>(region: &'a Region, shape: &'a [u64], chunk_shape: &'a [u64]) -> impl Iterator<Item = TouchedChunk> + 'a {
    let first: Vec<u64> = region.start.iter().zip(chunk_shape).map(|(start, extent)| start / extent).collect();
    let ends = region.start.iter().zip(&region.count).zip(chunk_shape);
    let last: Vec<u64> = ends.map(|((start, count), extent)| (start + count).saturating_sub(1) / extent).collect();
    let mut next = Some(first.clone()).filter(|_| !region.count.contains(&0));
    std::iter::from_fn(move || {
        let position = next.take()?;
        let mut after = position.clone();
        for axis in (0..position.len()).rev() {
            if after[axis] < last[axis] {
                after[axis] += 1;
                next = Some(after);
                break;
            }
            after[axis] = first[axis];
        }
        let origin: Vec<u64> = position.iter().zip(chunk_shape).map(|(number, extent)| number * extent).collect();
        let extents = origin.iter().zip(chunk_shape).zip(shape);
        let chunk = Region { start: origin.clone(), count: extents.map(|((origin, extent), n)| (*extent).min(n - origin)).collect() };
        let part = chunk.shared(region)?;
        let whole = part == chunk;
        Some(TouchedChunk { position, origin, part, whole })
    })
}

/// The bytes of a whole chunk, if they are contiguous in `bytes`.
pub(crate) fn contiguous_chunk<'a>(chunk: &TouchedChunk, chunk_shape: &[u64], region: &Region, bytes: &'a [u8], size: usize) -> Option<&'a [u8]> {
    if chunk.part.count != chunk_shape || chunk.part.count.get(1..) != region.count.get(1..) {
        return None;
    }
    let row = region.count.iter().skip(1).try_fold(size, |n, count| n.checked_mul(usize::try_from(*count).ok()?))?;
    let before = usize::try_from(chunk.part.start.first()?.checked_sub(*region.start.first()?)?).ok()?;
    let length = usize::try_from(*chunk.part.count.first()?).ok()?.checked_mul(row)?;
    let start = before.checked_mul(row)?;
    bytes.get(start..start.checked_add(length)?)
}

/// `chunk_bytes` bytes of fill values.
pub(crate) fn filled_with_fill_value(chunk_bytes: u64, definition: &DatasetDefinition) -> Result<Vec<u8>> {
    let length = memory_length(chunk_bytes)?;
    Ok(match &definition.fill_value {
        Some(fill) => fill.repeat(length / fill.len().max(1)),
        None => vec![0; length],
    })
}

/// Copies the elements of a chunk from `bytes`, the elements of `region`, into `target`.
pub(crate) fn copy_into_chunk(target: &mut [u8], chunk: &TouchedChunk, chunk_shape: &[u64], region: &Region, bytes: &[u8], size: usize) -> Result<()> {
    let (from, to) = (chunk.part.start_from(&region.start)?, chunk.part.start_from(&chunk.origin)?);
    if copy(&chunk.part.count, size, (bytes, &region.count, &from), (target, chunk_shape, &to)) {
        return Ok(());
    }
    Err(Error::internal("a chunk's part outside of its array"))
}
