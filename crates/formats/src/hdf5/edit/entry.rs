//! The entry of a chunk in an array of a dataset that is edited.

use hyperslab_array::{Error, Result};

use crate::hdf5::writer::StoredChunk;
use crate::hdf5::{Encoder, Source, checksum};

/// How the entries of an array are encoded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entries {
    pub bytes: u64,
    pub is_filtered: bool,
}

impl Entries {
    /// The entry of a chunk, or one of a chunk that was never written.
    pub fn encode(self, source: &Source, chunk: Option<&StoredChunk>) -> Result<Vec<u8>> {
        let mut encoder = Encoder::default();
        let offset_bytes = usize::from(source.offset_size);
        encoder.uint(chunk.map_or(u64::MAX, |chunk| chunk.address), offset_bytes);
        if self.is_filtered {
            let width = usize::try_from(self.bytes).ok().and_then(|bytes| bytes.checked_sub(offset_bytes + 4)).filter(|width| *width <= 8);
            let width = width.ok_or_else(|| Error::corrupt("a chunk entry of an impossible size"))?;
            let length = chunk.map_or(0, |chunk| chunk.length);
            if width < 8 && length >> (8 * width) != 0 {
                return Err(Error::unsupported(format!("a stored chunk of {length} bytes in an index whose sizes have {width}")));
            }
            encoder.uint(length, width);
            encoder.u32(chunk.map_or(0, |chunk| chunk.filter_mask));
        }
        Ok(encoder.finish())
    }

    /// `count` entries of chunks that were never written.
    pub fn empty(self, source: &Source, count: u64) -> Result<Vec<u8>> {
        let count = usize::try_from(count).map_err(|_| Error::unsupported("more entries than memory holds"))?;
        Ok(self.encode(source, None)?.repeat(count))
    }
}

/// Puts `bytes` into a block at `at`, and the checksum at its end.
pub(super) fn patched(block: &mut [u8], at: u64, bytes: &[u8]) -> Result<()> {
    let start = usize::try_from(at).map_err(|_| Error::internal("a place beyond memory"))?;
    let target = block.get_mut(start..start.saturating_add(bytes.len())).ok_or_else(|| Error::internal("a place beyond its block"))?;
    target.copy_from_slice(bytes);
    seal(block)
}

/// Writes the checksum at the end of a block.
pub(super) fn seal(block: &mut [u8]) -> Result<()> {
    let (content, sum) = block.split_last_chunk_mut::<4>().ok_or_else(|| Error::internal("a block without a checksum"))?;
    *sum = checksum::lookup3(content).to_le_bytes();
    Ok(())
}
