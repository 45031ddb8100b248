//! Chunks of which some elements are missing: taken up again and stored.

use std::collections::BTreeMap;

use hyperslab_array::Result;
use hyperslab_formats::hdf5::writer::StoredChunk;
use hyperslab_reader::Session;
use rayon::prelude::*;

use super::allocator::Allocator;
use super::definition::DatasetDefinition;
use super::memory_length::memory_length;
use super::touched_chunks::filled_with_fill_value;

/// A chunk of which some elements are missing.
#[derive(Debug)]
pub(crate) struct PartialChunk {
    pub(crate) bytes: Vec<u8>,
    /// Elements written, as if none was written twice.
    pub(crate) written: u64,
}

/// A chunk to be written to further: as it was stored, or empty.
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

/// Writes a chunk, in its old place where it fits there.
pub(crate) fn store_chunk(position: Vec<u64>, bytes: &[u8], filter_mask: u32, stored: &mut BTreeMap<Vec<u64>, StoredChunk>, allocator: &mut Allocator) -> Result<()> {
    let length = bytes.len() as u64;
    let address = match stored.get(&position) {
        Some(old) if old.length >= length => old.address,
        _ => allocator.allocate(length)?,
    };
    allocator.write_at(address, bytes)?;
    stored.insert(position.clone(), StoredChunk { position, address, length, filter_mask });
    Ok(())
}

/// Writes unfinished chunks and forgets them.
pub(crate) fn store_partial_chunks(
    partial: &mut BTreeMap<Vec<u64>, PartialChunk>,
    stored: &mut BTreeMap<Vec<u64>, StoredChunk>,
    definition: &DatasetDefinition,
    allocator: &mut Allocator,
    session: &Session,
) -> Result<()> {
    let chunks: Vec<(Vec<u64>, PartialChunk)> = std::mem::take(partial).into_iter().collect();
    let encode = |(position, chunk): (Vec<u64>, PartialChunk)| (position, definition.filters.encode(chunk.bytes));
    let encoded: Vec<_> = match chunks.len() {
        // Other threads are not started for one chunk.
        0 | 1 => chunks.into_iter().map(encode).collect(),
        _ => session.compute(|| Ok(chunks.into_par_iter().map(encode).collect()))?,
    };
    for (position, encoded) in encoded {
        let (bytes, mask) = encoded?;
        store_chunk(position, &bytes, mask, stored, allocator)?;
    }
    Ok(())
}
