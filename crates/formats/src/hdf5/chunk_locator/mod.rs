//! Chunk locators: what finds a chunk. One file each (specification III.A.1, III.A.2, VII).

mod btree_v1;
mod btree_v2;
mod encode;
pub(crate) mod extensible_array;
pub(crate) mod fixed_array;
mod implicit;
mod numbering;
mod single;

use hyperslab_array::{ChunkGrid, Error, Result, Selection};

pub(crate) use encode::encode;

use super::Cursor;
use super::Source;
use super::layout::{ChunkedLayout, Locator};
use crate::{ChunkLocation, ChunkSource};

/// Chunks that were never written and one read may ask for: each costs memory here and none in the file.
const UNWRITTEN_CHUNKS: u64 = 1 << 24;

/// Chunks found so far: a slot for each wanted one, in row-major order.
struct Found<'a> {
    layout: &'a ChunkedLayout,
    /// The wanted chunk numbers along each dimension, increasing.
    wanted: Vec<Vec<u64>>,
    slots: Vec<Option<StoredAt>>,
}

/// Where a chunk's bytes are.
#[derive(Clone, Copy)]
struct StoredAt {
    offset: u64,
    length: u64,
    filter_mask: u32,
}

/// The chunks of `layout` that `selection` touches, row-major by origin, each exactly once; a chunk
/// without storage is `ChunkSource::Fill`. `selection` was checked against `layout.shape`.
pub(crate) fn locate(source: &Source, layout: &ChunkedLayout, selection: &Selection) -> Result<Vec<ChunkLocation>> {
    let grid = ChunkGrid::new(layout.shape.clone(), layout.chunk_shape.clone())?;
    // Nothing of one dimension may be asked for, and of the others more than can be listed.
    if selection.is_empty() {
        return Ok(Vec::new());
    }
    let counts = selection.axes().iter().zip(grid.chunk_counts()).map(|(axis, chunks)| axis.count().min(chunks));
    let count = counts.fold(1u64, u64::saturating_mul);
    // A stored chunk takes some bytes of the file, so of more than these most were never written.
    let most = source.limits.chunks.min(source.storage.len().saturating_add(UNWRITTEN_CHUNKS));
    if count > most {
        return Err(Error::limit_exceeded(format!("a read of {count} chunks, more than {most}: read in parts")));
    }
    let touched = grid.touched(selection);
    let wanted = selection.axes().iter().zip(&layout.chunk_shape).map(|(axis, &chunk)| axis.touched_chunks(chunk)).collect();
    let mut found = Found { layout, wanted, slots: vec![None; touched.len()] };
    match &layout.locator {
        Locator::None => {}
        Locator::BtreeV1 { address } => btree_v1::locate(source, *address, &mut found)?,
        Locator::Single { address, filtered } => single::locate(source, *address, *filtered, &mut found)?,
        Locator::Implicit { address } => implicit::locate(source, *address, &touched, &mut found)?,
        Locator::FixedArray { address } => fixed_array::locate(source, *address, &touched, &mut found)?,
        Locator::ExtensibleArray { address } => extensible_array::locate(source, *address, &touched, &mut found)?,
        Locator::BtreeV2 { address } => btree_v2::locate(source, *address, &mut found)?,
    }
    let locations = touched.into_iter().zip(found.slots).map(|(origin, slot)| {
        match slot {
            Some(StoredAt { offset, length, filter_mask }) => {
                let source = ChunkSource::Stored { offset, length, filter_mask };
                ChunkLocation { origin, shape: layout.chunk_shape.clone(), source }
            }
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
    /// The slot of the chunk with these numbers, one along each dimension, if it is wanted.
    fn slot(&self, number: &[u64]) -> Option<usize> {
        let mut slot = 0usize;
        for (number, wanted) in number.iter().zip(&self.wanted) {
            let (first, last) = wanted.first().zip(wanted.last())?;
            let within = number.checked_sub(*first).and_then(|n| usize::try_from(n).ok())?;
            // Most often all between the first and the last are wanted.
            let along = match wanted.get(within) {
                Some(there) if there == number => within,
                _ if number > last => return None,
                _ => wanted.binary_search(number).ok()?,
            };
            slot = slot.checked_mul(wanted.len())?.checked_add(along)?;
        }
        Some(slot)
    }

    /// Keeps the chunk with these numbers, if it is wanted.
    fn add(&mut self, source: &Source, number: &[u64], address: u64, length: u64, filter_mask: u32) -> Result<()> {
        match self.slot(number) {
            Some(slot) => self.put(source, slot, address, length, filter_mask),
            None => Ok(()),
        }
    }

    /// Keeps a chunk. Its bytes must lie in the file; an unfiltered one has the chunk's size.
    fn put(&mut self, source: &Source, slot: usize, address: u64, length: u64, filter_mask: u32) -> Result<()> {
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
        let place = self.slots.get_mut(slot).ok_or_else(|| Error::internal("a chunk without a slot"))?;
        if place.replace(StoredAt { offset, length, filter_mask }).is_some() {
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
