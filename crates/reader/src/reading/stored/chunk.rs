//! Chunks in memory: their size, and the fill value; from which size on they are worth several threads.

use hyperslab_formats::{ChunkLocation, Dataset};

/// Minimum bytes for a parallel read; the calling thread reads less itself, because waking other threads costs more.
pub(crate) const MIN_PARALLEL_BYTES: u64 = 256 << 10;

/// Decoded bytes of a chunk.
pub(super) fn bytes_of(chunk: &ChunkLocation, description: &Dataset) -> u64 {
    chunk.region.count.iter().fold(description.datatype.size(), |bytes, &extent| bytes.saturating_mul(extent))
}

/// Fills `out` with the fill value of elements of `size` bytes, or with zeros if there is none.
pub(crate) fn fill_value(value: Option<&[u8]>, size: usize, out: &mut [u8]) {
    match value {
        Some(value) if value.len() == size && value.iter().any(|&b| b != 0) => {
            out.chunks_exact_mut(size).for_each(|element| element.copy_from_slice(value));
        }
        _ => out.fill(0),
    }
}
