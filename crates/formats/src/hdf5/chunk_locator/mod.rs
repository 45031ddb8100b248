//! Chunk locators: the structures that index a dataset's chunks, one file each (specification III.A.1, III.A.2, VII).

mod btree_v1;
mod btree_v2;
mod encode;
pub(in crate::hdf5) mod entry;
pub(crate) mod extensible_array;
pub(in crate::hdf5) mod extensible_header;
pub(crate) mod fixed_array;
pub(in crate::hdf5) mod fixed_header;
mod found;
mod implicit;
pub(crate) mod numbering;
mod single;

use hyperslab_array::{ChunkGrid, Region, Result, Selection};

pub(crate) use encode::encode;

use self::found::{Found, Stored, StoredAt};
use super::Source;
use super::layout::{ChunkedLayout, Locator};
use super::writer::StoredChunk;
use crate::{ChunkLocation, ChunkSource};

/// The chunks of `layout` that `selection` touches, row-major by origin, each exactly once; a chunk
/// without storage is `ChunkSource::Fill`. `selection` was checked against `layout.shape`.
pub(crate) fn locate(source: &Source, layout: &ChunkedLayout, selection: &Selection) -> Result<Vec<ChunkLocation>> {
    let grid = ChunkGrid::new(layout.shape.clone(), layout.chunk_shape.clone())?;
    // Nothing of one dimension may be asked for, and of the others more than can be listed.
    if selection.is_empty() {
        return Ok(Vec::new());
    }
    source.limits.check_read_chunks(grid.max_touched(selection), source.storage.len())?;
    let touched = grid.touched(selection)?;
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
                Ok(ChunkLocation { region: Region { start: origin, count: layout.chunk_shape.clone() }, source })
            }
            // An unwritten chunk is clipped to the dataset: the chunk shape alone could claim any size.
            None => Ok(ChunkLocation { region: grid.clipped(origin)?, source: ChunkSource::Fill }),
        }
    });
    locations.collect()
}

/// Bytes of the dataset's chunks in the file, without looking at chunks that were never written: a dataset may claim any
/// number of those.
pub(crate) fn stored_bytes(source: &Source, layout: &ChunkedLayout) -> Result<u64> {
    let mut sum = 0u64;
    let mut each = |chunk: StoredAt| {
        sum = sum.saturating_add(chunk.length);
        Ok(())
    };
    let sink = &mut Stored { layout, each: &mut each };
    match &layout.locator {
        Locator::None => {}
        Locator::BtreeV1 { address } => btree_v1::locate(source, *address, sink)?,
        Locator::Single { address, filtered } => single::locate(source, *address, *filtered, sink)?,
        Locator::Implicit { address } => return implicit::stored_bytes(source, *address, layout),
        Locator::FixedArray { address } => fixed_array::each_stored(source, *address, sink)?,
        Locator::ExtensibleArray { address } => extensible_array::each_stored(source, *address, sink)?,
        Locator::BtreeV2 { address } => btree_v2::locate(source, *address, sink)?,
    }
    Ok(sum)
}

/// Calls `each` with the place in the file and the length of each run of stored chunks, in any order.
pub(crate) fn each_stored(source: &Source, layout: &ChunkedLayout, each: &mut dyn FnMut(u64, u64) -> Result<()>) -> Result<()> {
    let mut stored = |chunk: StoredAt| each(chunk.offset, chunk.length);
    let sink = &mut Stored { layout, each: &mut stored };
    match &layout.locator {
        Locator::None => Ok(()),
        Locator::BtreeV1 { address } => btree_v1::locate(source, *address, sink),
        Locator::Single { address, filtered } => single::locate(source, *address, *filtered, sink),
        Locator::FixedArray { address } => fixed_array::each_stored(source, *address, sink),
        Locator::ExtensibleArray { address } => extensible_array::each_stored(source, *address, sink),
        Locator::BtreeV2 { address } => btree_v2::locate(source, *address, sink),
        Locator::Implicit { address } => each(source.absolute(*address)?, implicit::stored_bytes(source, *address, layout)?),
    }
}

/// All chunks that are stored, in any order.
pub(crate) fn stored_chunks(source: &Source, layout: &ChunkedLayout) -> Result<Vec<StoredChunk>> {
    let all = locate(source, layout, &Selection::all(&layout.shape))?;
    let stored = all.into_iter().filter_map(|chunk| {
        let ChunkSource::Stored { offset, length, filter_mask } = chunk.source else { return None };
        let position = chunk.region.start.iter().zip(&layout.chunk_shape).map(|(start, extent)| start / extent).collect();
        Some(StoredChunk { position, address: offset.checked_sub(source.base_address)?, length, filter_mask })
    });
    Ok(stored.collect())
}
