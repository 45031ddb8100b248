//! Chooses and writes the chunk locator of a dataset.

use std::collections::BTreeMap;

use hyperslab_array::{Error, Result};

use super::entry::EntryForm;
use super::numbering::Numbering;
use super::{btree_v1, extensible_array, fixed_array};
use crate::hdf5::layout::{ChunkedLayout, Locator};
use crate::hdf5::writer::{LibraryVersion, Space, StoredChunk};

/// Unwritten entries that an array may have in addition to three for each written one; with more, chunks go into a B-tree.
const SPARE_ENTRIES: u64 = 4096;
/// Most chunks per step along the unlimited dimension, so that an extensible array can hold a million steps.
const MAX_CHUNKS_OF_A_STEP: u64 = 1 << 12;
/// Entries above which the HDF5 library reads a fixed array, or blocks of an extensible one, in parts. In a file of pages these
/// may cross page borders, and the library with a page buffer fails to read them.
const MAX_FIXED_IN_PAGES: u64 = 1 << 10;
const MAX_EXTENSIBLE_IN_PAGES: u64 = 1 << 16;
/// Largest chunk size in bytes that a B-tree and older readers support.
const MAX_CHUNK_BYTES: u64 = u32::MAX as u64;

/// Writes the locator of `chunks` to `space`: a fixed array if no dimension is unlimited, an extensible array if one is,
/// and a version-1 B-tree if more are, if an array would be mostly empty, or if it would be too large in a paged file. A
/// dataset of a single chunk needs no structure. HDF5 1.8 knows the B-tree only. Ignores `layout.locator`.
pub(crate) fn encode(
    space: &mut Space,
    layout: &ChunkedLayout,
    element_size: u64,
    filtered: bool,
    chunks: &[StoredChunk],
    newest: LibraryVersion,
) -> Result<Locator> {
    if layout.chunk_bytes > MAX_CHUNK_BYTES {
        return Err(Error::unsupported(format!("chunks of {} bytes: HDF5 allows less than 4 GiB", layout.chunk_bytes)));
    }
    let mut ordered: Vec<&StoredChunk> = chunks.iter().collect();
    ordered.sort_by(|a, b| a.position.cmp(&b.position));
    if ordered.windows(2).any(|pair| matches!(pair, [a, b] if a.position == b.position)) {
        return Err(Error::internal("one chunk was written twice"));
    }
    if !filtered && chunks.iter().any(|chunk| chunk.length != layout.chunk_bytes) {
        return Err(Error::internal("a chunk without filters of another size"));
    }
    let Some(first) = ordered.first() else { return Ok(Locator::None) };
    if newest < LibraryVersion::V110 {
        return tree(space, layout, element_size, &ordered);
    }
    let unlimited = layout.max_shape.iter().filter(|max_extent| max_extent.is_none()).count();
    let fixed: Vec<Option<u64>> = layout.shape.iter().copied().map(Some).collect();
    if layout.max_shape == fixed && layout.shape == layout.chunk_shape {
        return Ok(Locator::Single { address: first.address, filtered: filtered.then_some((first.length, first.filter_mask)) });
    }
    let form = EntryForm::new(layout, filtered);
    let numbering = match unlimited {
        0 => Numbering::row_major(layout),
        1 => Numbering::unlimited_first(layout),
        _ => return tree(space, layout, element_size, &ordered),
    };
    // Numbers beyond 64 bits are of arrays that would be mostly empty.
    let Ok(numbering) = numbering else { return tree(space, layout, element_size, &ordered) };
    let mut numbered = BTreeMap::new();
    for chunk in &ordered {
        let origin: Vec<u64> = chunk.position.iter().zip(&layout.chunk_shape).map(|(number, extent)| number.saturating_mul(*extent)).collect();
        numbered.insert(numbering.number(&origin)?, *chunk);
    }
    // Chunks of a step along the unlimited dimension: HDF5 numbers no more than 2^32 in an extensible array.
    let others = layout.max_shape.iter().zip(&layout.chunk_shape).filter_map(|(max_extent, chunk)| Some(max_extent.as_ref()?.div_ceil((*chunk).max(1))));
    let can_grow = others.fold(1, u64::saturating_mul) <= MAX_CHUNKS_OF_A_STEP;
    let enough = (chunks.len() as u64).saturating_mul(4).saturating_add(SPARE_ENTRIES);
    let last = numbered.last_key_value().map_or(0, |(last, _)| *last);
    let in_pages = space.page_bytes().is_some();
    if unlimited == 1 && can_grow && (!in_pages || last < MAX_EXTENSIBLE_IN_PAGES) && last < enough && last < 1 << 32 {
        return Ok(Locator::ExtensibleArray { address: extensible_array::encode(space, &numbered, form)? });
    }
    // `None` if a dimension is unlimited.
    let counts = layout.max_shape.iter().zip(&layout.chunk_shape).map(|(max_extent, chunk)| Some(max_extent.as_ref()?.div_ceil((*chunk).max(1))));
    let count = counts.collect::<Option<Vec<u64>>>().map(|counts| counts.into_iter().fold(1, u64::saturating_mul));
    if let Some(count) = count.filter(|count| *count <= enough && (!in_pages || *count <= MAX_FIXED_IN_PAGES)) {
        let entries: Vec<Option<&StoredChunk>> = (0..count).map(|number| numbered.get(&number).copied()).collect();
        return Ok(Locator::FixedArray { address: fixed_array::encode(space, &entries, form)? });
    }
    tree(space, layout, element_size, &ordered)
}

fn tree(space: &mut Space, layout: &ChunkedLayout, element_size: u64, ordered: &[&StoredChunk]) -> Result<Locator> {
    Ok(Locator::BtreeV1 { address: btree_v1::encode(space, ordered, &layout.chunk_shape, element_size)? })
}
