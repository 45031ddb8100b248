//! Chunk locators: what finds a chunk. One file each (specification III.A.1, III.A.2, VII).

mod btree_v1;
mod btree_v2;
mod encode;
pub(crate) mod extensible_array;
pub(crate) mod fixed_array;
mod implicit;
mod numbering;
mod single;

use std::collections::HashMap;

use hyperslab_array::{ChunkGrid, Error, Result, Selection};

pub(crate) use encode::encode;

use super::Cursor;
use super::Source;
use super::layout::{ChunkedLayout, Locator};
use crate::{ChunkLocation, ChunkSource};

/// Chunks that were never written and one read may ask for: each costs memory here and none in the file.
const UNWRITTEN_CHUNKS: u64 = 1 << 24;

/// Chunks found so far, by origin in chunk numbers along each dimension.
struct Found<'a> {
    layout: &'a ChunkedLayout,
    /// First and last wanted chunk number along each dimension.
    bounds: Vec<(u64, u64)>,
    chunks: HashMap<Vec<u64>, ChunkSource>,
}

/// The chunks of `layout` that `selection` touches, row-major by origin, each exactly once; a chunk
/// without storage is `ChunkSource::Fill`. `selection` was checked against `layout.shape`.
pub(crate) fn locate(source: &Source, layout: &ChunkedLayout, selection: &Selection) -> Result<Vec<ChunkLocation>> {
    let grid = ChunkGrid::new(layout.shape.clone(), layout.chunk_shape.clone())?;
    let counts = selection.axes().iter().zip(grid.chunk_counts()).map(|(axis, chunks)| axis.count().min(chunks));
    let count = counts.fold(1u64, u64::saturating_mul);
    // A stored chunk takes some bytes of the file, so of more than these most were never written.
    let most = source.limits.chunks.min(source.storage.len().saturating_add(UNWRITTEN_CHUNKS));
    if count > most {
        return Err(Error::limit_exceeded(format!("a read of {count} chunks, more than {most}: read in parts")));
    }
    let touched = grid.touched(selection);
    let numbers = |axis: usize| {
        let chunk = layout.chunk_shape.get(axis).copied().unwrap_or(1);
        let along = touched.iter().filter_map(|origin| origin.get(axis)).map(|start| start / chunk);
        along.fold((u64::MAX, 0), |(low, high), n| (low.min(n), high.max(n)))
    };
    let bounds = (0..layout.shape.len()).map(numbers).collect();
    let mut found = Found { layout, bounds, chunks: HashMap::new() };
    match &layout.locator {
        Locator::None => {}
        Locator::BtreeV1 { address } => btree_v1::locate(source, *address, &mut found)?,
        Locator::Single { address, filtered } => single::locate(source, *address, *filtered, &mut found)?,
        Locator::Implicit { address } => implicit::locate(source, *address, &touched, &mut found)?,
        Locator::FixedArray { address } => fixed_array::locate(source, *address, &touched, &mut found)?,
        Locator::ExtensibleArray { address } => extensible_array::locate(source, *address, &touched, &mut found)?,
        Locator::BtreeV2 { address } => btree_v2::locate(source, *address, &mut found)?,
    }
    let locations = touched.into_iter().map(|origin| {
        let number: Vec<u64> = origin.iter().zip(&layout.chunk_shape).map(|(start, chunk)| start / chunk).collect();
        match found.chunks.remove(&number) {
            Some(source) => ChunkLocation { origin, shape: layout.chunk_shape.clone(), source },
            // What was never written is no larger than the dataset, whatever the chunk's shape says.
            None => {
                let extents = layout.chunk_shape.iter().zip(&layout.shape).zip(&origin);
                let shape = extents.map(|((&chunk, &n), &start)| chunk.min(n.saturating_sub(start))).collect();
                ChunkLocation { origin, shape, source: ChunkSource::Fill }
            }
        }
    });
    Ok(locations.collect())
}

impl Found<'_> {
    /// Whether the chunk lies in the wanted box.
    fn wants(&self, number: &[u64]) -> bool {
        number.iter().zip(&self.bounds).all(|(n, (low, high))| low <= n && n <= high)
    }

    /// Keeps a chunk. Its bytes must lie in the file; an unfiltered one has the chunk's size.
    fn add(&mut self, source: &Source, number: Vec<u64>, address: u64, length: u64, filter_mask: u32) -> Result<()> {
        if !self.wants(&number) {
            return Ok(());
        }
        let offset = source.absolute(address)?;
        if !offset.checked_add(length).is_some_and(|end| source.storage.reaches(end)) {
            return Err(Error::corrupt(format!(
                "a chunk of {length} bytes lies here but the file ends at byte {}: it is truncated",
                source.storage.len()
            ))
            .at_offset(offset));
        }
        if length > source.limits.chunk_bytes {
            return Err(Error::limit_exceeded(format!("a chunk of {length} bytes")).at_offset(offset));
        }
        if self.chunks.insert(number, ChunkSource::Stored { offset, length, filter_mask }).is_some() {
            return Err(Error::corrupt("one chunk is stored twice").at_offset(offset));
        }
        Ok(())
    }
}

/// The entry of a chunk in an array or version-2 B-tree: address, and size and mask where filters
/// apply. `entry_bytes` is the whole entry. `None`: no storage.
fn parse_entry(
    cursor: &mut Cursor<'_>,
    layout: &ChunkedLayout,
    filtered: bool,
    entry_bytes: usize,
) -> Result<Option<(u64, u64, u32)>> {
    let address = cursor.address()?;
    let (length, mask) = if filtered {
        let width = entry_bytes.checked_sub(usize::from(cursor.offset_size()) + 4);
        let width = width.ok_or_else(|| cursor.corrupt("a chunk entry that is too short"))?;
        (cursor.uint(width)?, cursor.u32()?)
    } else {
        (layout.chunk_bytes, 0)
    };
    Ok(address.map(|address| (address, length, mask)))
}
