//! Block grid: divides a dataset into blocks of at most 65,536 elements along its chunks.
//!
//! A large chunk is cut into several blocks; several small chunks form one block. The grid depends on the chunk shape and on
//! the extents of all dimensions but the slowest, which may grow: existing blocks of a dataset that has grown stay the same.
//!
//! Example: a dataset of 1000 x 1000 elements with chunks of 10 x 10 has blocks of 60 x 1000: 6 rows of 100 chunks each.

use hyperslab_array::{ChunkGrid, Error, Region, Result, Selection};
use hyperslab_reader::decoding_memory_bound;
use serde::{Deserialize, Serialize};

/// Maximum number of elements in a block: positions have 16 bits.
pub(crate) const BLOCK_ELEMENTS: u64 = 1 << 16;
/// Most blocks that are listed, and the bytes that one takes.
const MAX_BLOCKS: u64 = 1 << 26;
const BLOCK_BYTES: u64 = 128;

/// Describes how a dataset is cut into blocks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BlockGrid {
    /// Extents of a box of whole chunks, which blocks do not cross: multiples of the chunk's extents.
    pub outer: Vec<u64>,
    /// Extents of the blocks in such a box; at most the extents of `outer`.
    pub inner: Vec<u64>,
}

/// Number of elements of a block.
pub(crate) fn block_elements(block: &Region) -> Result<u64> {
    block.elements().ok_or_else(|| Error::internal("a block with more elements than 64 bits can count"))
}

impl BlockGrid {
    /// The grid of a dataset with these chunks. `is_chunked` is false if the chunk grid only divides contiguous data.
    pub fn new(chunks: &ChunkGrid, is_chunked: bool) -> Self {
        let shape = chunks.shape();
        if !is_chunked {
            // The data are contiguous: cut them in row-major order.
            let inner = cut(shape, BLOCK_ELEMENTS);
            return Self { outer: inner.clone(), inner };
        }
        let mut outer = chunks.chunk_shape().to_vec();
        let elements = |shape: &[u64]| shape.iter().fold(1u64, |n, extent| n.saturating_mul(*extent));
        if elements(&outer) > BLOCK_ELEMENTS {
            let inner = cut(&outer, BLOCK_ELEMENTS);
            // Use parts of equal size rather than large parts and a small rest.
            let inner = inner.iter().zip(&outer).map(|(part, whole)| whole.div_ceil(whole.div_ceil(*part))).collect();
            return Self { outer, inner };
        }
        // Combine small chunks, along the fastest dimension first. The slowest dimension may grow, so that its extent is
        // ignored.
        let mut all = elements(&outer);
        for (dimension, (mine, extent)) in outer.iter_mut().zip(shape).enumerate().rev() {
            let chunk = (*mine).max(1);
            let others = all / chunk;
            let fits = (BLOCK_ELEMENTS / others.max(1) / chunk).max(1);
            let there = if dimension == 0 { u64::MAX } else { extent.div_ceil(chunk).max(1) };
            *mine = chunk * fits.min(there);
            all = others * *mine;
            if fits < there {
                break;
            }
        }
        Self { inner: outer.clone(), outer }
    }

    /// Number of boxes of whole chunks (`outer`) along each dimension.
    fn counts(&self, shape: &[u64]) -> Vec<u64> {
        shape.iter().zip(&self.outer).map(|(extent, outer)| extent.div_ceil((*outer).max(1))).collect()
    }

    /// The blocks that `selection` of a dataset of `shape` touches, in row-major order of `outer`, then of the blocks within.
    /// `LimitExceeded` for more than 2^26 blocks, or more than the process has memory for.
    pub fn touched(&self, shape: &[u64], selection: &Selection) -> Result<Vec<Region>> {
        let most = MAX_BLOCKS.min(decoding_memory_bound() / BLOCK_BYTES);
        let exceeded = || Error::limit_exceeded(format!("an index or a query of more than {most} blocks; select fewer elements"));
        // A file may claim any shape: counted before anything is listed.
        let touched = selection.axes().iter().zip(self.counts(shape)).map(|(axis, count)| axis.count().min(count));
        if touched.fold(1, u64::saturating_mul) > most {
            return Err(exceeded());
        }
        let outer: Vec<Vec<u64>> = selection.axes().iter().zip(&self.outer).map(|(axis, extent)| axis.touched_chunks((*extent).max(1))).collect();
        let mut boxes = Vec::new();
        product(&outer, &mut |place| {
            let origin: Vec<u64> = place.iter().zip(&self.outer).map(|(index, extent)| index * extent).collect();
            let limit: Vec<u64> = origin.iter().zip(&self.outer).zip(shape).map(|((start, extent), all)| (start + extent).min(*all)).collect();
            let within: Vec<Vec<u64>> = selection
                .axes()
                .iter()
                .zip(&self.inner)
                .zip(origin.iter().zip(&limit))
                .map(|((axis, inner), (start, end))| {
                    let inner = (*inner).max(1);
                    let part = axis.clip(*start, *end);
                    let mut starts: Vec<u64> = Vec::new();
                    if (end - start) <= inner {
                        if part.count() > 0 {
                            starts.push(*start);
                        }
                    } else {
                        let mut at = *start;
                        while at < *end {
                            if part.positions_within(at, (at + inner).min(*end)).1 > 0 {
                                starts.push(at);
                            }
                            at += inner;
                        }
                    }
                    starts
                })
                .collect();
            product(&within, &mut |starts| {
                let count = starts.iter().zip(&self.inner).zip(&limit).map(|((start, extent), end)| (*extent).min(end - start)).collect();
                boxes.push(Region { start: starts.to_vec(), count });
                Ok(())
            })?;
            if boxes.len() as u64 > most {
                return Err(exceeded());
            }
            Ok(())
        })?;
        Ok(boxes)
    }

    /// All blocks.
    pub fn all(&self, shape: &[u64]) -> Result<Vec<Region>> {
        self.touched(shape, &Selection::all(shape))
    }

    /// The box of whole chunks that contains a block.
    pub fn around(&self, block: &Region, shape: &[u64]) -> Region {
        let origin: Vec<u64> = block.start.iter().zip(&self.outer).map(|(start, outer)| start / (*outer).max(1) * outer).collect();
        let count = origin.iter().zip(&self.outer).zip(shape).map(|((start, outer), extent)| (*outer).min(extent.saturating_sub(*start))).collect();
        Region { start: origin, count }
    }

    /// Number of boxes of whole chunks; used for estimates.
    pub fn outer_count(&self, shape: &[u64]) -> u64 {
        self.counts(shape).iter().fold(1, |n, count| n.saturating_mul(*count))
    }
}

/// The largest box of at most `max` elements that is contiguous in row-major order: extent 1 in the leading dimensions, a
/// part of one dimension, and the full extent of the rest.
fn cut(shape: &[u64], max: u64) -> Vec<u64> {
    let mut block: Vec<u64> = shape.iter().map(|extent| (*extent).max(1)).collect();
    let mut below = 1u64;
    let mut full = false;
    for extent in block.iter_mut().rev() {
        if full {
            *extent = 1;
            continue;
        }
        let whole = below.saturating_mul(*extent);
        if whole > max {
            *extent = (max / below).max(1);
            full = true;
        }
        below = below.saturating_mul(*extent);
    }
    block
}

/// Calls `visit` with each combination of one number from each list; the last list varies fastest.
fn product(lists: &[Vec<u64>], visit: &mut impl FnMut(&[u64]) -> Result<()>) -> Result<()> {
    if lists.iter().any(Vec::is_empty) {
        return Ok(());
    }
    let mut at = vec![0usize; lists.len()];
    loop {
        let place: Vec<u64> = at.iter().zip(lists).filter_map(|(position, list)| list.get(*position)).copied().collect();
        visit(&place)?;
        let mut dimension = lists.len();
        loop {
            let Some(lower) = dimension.checked_sub(1) else { return Ok(()) };
            dimension = lower;
            let (Some(position), Some(list)) = (at.get_mut(dimension), lists.get(dimension)) else { return Ok(()) };
            *position += 1;
            if *position < list.len() {
                break;
            }
            *position = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blocks_cover_each_element_once_and_no_chunk_is_crossed_by_half(dims in proptest::collection::vec((1u64..70, 1u64..40), 1..4), scale in 1u64..60, chunked: bool) {
            let mut shape: Vec<u64> = dims.iter().map(|d| d.0).collect();
            if let Some(last) = shape.last_mut() { *last *= scale; }
            let mut chunk: Vec<u64> = dims.iter().map(|d| d.1).collect();
            if let Some(last) = chunk.last_mut() { *last *= scale; }
            let grid = ChunkGrid::new(shape.clone(), chunk.clone()).map_err(|e| TestCaseError::fail(e.to_string()))?;
            let blocks = BlockGrid::new(&grid, chunked);
            let all = blocks.all(&shape).map_err(|e| TestCaseError::fail(e.to_string()))?;
            let total: u64 = all.iter().filter_map(Region::elements).sum();
            prop_assert_eq!(total, shape.iter().product::<u64>());
            let distinct: std::collections::HashSet<_> = all.iter().map(|b| b.start.clone()).collect();
            prop_assert_eq!(distinct.len(), all.len());
            for block in &all {
                prop_assert!(block.elements().is_some_and(|elements| elements <= BLOCK_ELEMENTS && elements > 0));
                if chunked {
                    for (((start, count), chunk), extent) in block.dimensions().zip(&chunk).zip(&shape) {
                        // Either within one chunk, or made of whole chunks.
                        let within = start / chunk == (start + count - 1) / chunk;
                        let whole = start % chunk == 0 && ((start + count) % chunk == 0 || start + count == *extent);
                        prop_assert!(within || whole, "{:?} {:?} {:?}", block, chunk, shape);
                    }
                }
            }
        }
    }
}
