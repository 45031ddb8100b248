//! Partial chunks: loaded again for further writes, and stored.

use std::collections::BTreeMap;

use hyperslab_array::Result;
use hyperslab_formats::hdf5::writer::{FillObjects, StoredChunk};
use hyperslab_reader::Session;
use rayon::prelude::*;

use super::touched_chunks::filled_with_fill_value;
use crate::file::allocator::Allocator;
use crate::file::definition::DatasetDefinition;
use crate::file::memory_length::memory_length;

/// A decoded chunk that still misses elements.
#[derive(Debug)]
pub(crate) struct PartialChunk {
    pub(crate) bytes: Vec<u8>,
    /// Number of elements written; elements written twice count twice.
    pub(crate) written: u64,
}

/// Loads a chunk for further writes: the stored one, or a new one with fill values.
pub(crate) fn load_partial_chunk(
    position: &[u64],
    stored: &BTreeMap<Vec<u64>, StoredChunk>,
    definition: &DatasetDefinition,
    chunk_bytes: u64,
    allocator: &Allocator,
) -> Result<PartialChunk> {
    let Some(chunk) = stored.get(position) else { return Ok(PartialChunk { bytes: filled_with_fill_value(chunk_bytes, definition)?, written: 0 }) };
    let mut raw = vec![0; memory_length(chunk.length)?];
    allocator.read_at(chunk.address, &mut raw)?;
    let mut bytes = Vec::new();
    definition.filters.decode(&raw, chunk.filter_mask, memory_length(chunk_bytes)?, &mut bytes)?;
    Ok(PartialChunk { bytes, written: 0 })
}

/// Writes a chunk; reuses the space of its previous version if it fits.
pub(crate) fn store_chunk(
    position: Vec<u64>,
    bytes: &[u8],
    filter_mask: u32,
    stored: &mut BTreeMap<Vec<u64>, StoredChunk>,
    allocator: &mut Allocator,
) -> Result<()> {
    let length = bytes.len() as u64;
    let address = match stored.get(&position) {
        Some(old) if old.length >= length => old.address,
        _ => allocator.allocate(length)?,
    };
    allocator.write_at(address, bytes)?;
    stored.insert(position.clone(), StoredChunk { position, address, length, filter_mask });
    Ok(())
}

/// Encodes and writes all partial chunks and removes them from memory.
pub(crate) fn store_partial_chunks(
    partial: &mut BTreeMap<Vec<u64>, PartialChunk>,
    stored: &mut BTreeMap<Vec<u64>, StoredChunk>,
    definition: &DatasetDefinition,
    mut fill: Option<&mut FillObjects>,
    allocator: &mut Allocator,
    session: &Session,
) -> Result<()> {
    let mut chunks: Vec<(Vec<u64>, PartialChunk)> = std::mem::take(partial).into_iter().collect();
    for (_, chunk) in &mut chunks {
        allocator.separate(fill.as_deref_mut(), &mut chunk.bytes)?;
    }
    let encode = |(position, chunk): (Vec<u64>, PartialChunk)| (position, definition.filters.encode(chunk.bytes));
    let encoded: Vec<_> = match chunks.len() {
        // A single chunk is not worth starting threads.
        0 | 1 => chunks.into_iter().map(encode).collect(),
        _ => session.compute(|| Ok(chunks.into_par_iter().map(encode).collect()))?,
    };
    for (position, encoded) in encoded {
        let (bytes, mask) = encoded?;
        store_chunk(position, &bytes, mask, stored, allocator)?;
    }
    Ok(())
}
