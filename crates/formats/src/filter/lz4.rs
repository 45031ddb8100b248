//! LZ4 (32004): a header with the total and the block size, big endian, then blocks.

use hyperslab_array::{Error, Result};

use super::lz4_block;

pub(super) fn decode(input: &[u8], max_bytes: usize, out: &mut Vec<u8>) -> Result<()> {
    let short = || Error::corrupt("an incomplete stream");
    let (total, rest) = input.split_first_chunk::<8>().ok_or_else(short)?;
    let (block, mut rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
    let total = usize::try_from(u64::from_be_bytes(*total)).unwrap_or(usize::MAX);
    // LZ4 makes at most 255 bytes of one.
    if total > max_bytes || total / 256 > input.len() {
        return Err(Error::corrupt(format!("a stream of {total} bytes where {max_bytes} belong")));
    }
    let block = usize::try_from(u32::from_be_bytes(*block)).unwrap_or(usize::MAX);
    if block == 0 && total > 0 {
        return Err(Error::corrupt("blocks of 0 bytes"));
    }
    out.resize(total, 0);
    for target in out.chunks_mut(block.clamp(1, total.max(1))) {
        let (length, tail) = rest.split_first_chunk::<4>().ok_or_else(short)?;
        let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
        let (stored, tail) = tail.split_at_checked(length).ok_or_else(short)?;
        rest = tail;
        if length == target.len() {
            // Incompressible blocks are stored as they are.
            target.copy_from_slice(stored);
            continue;
        }
        let written = lz4_block::decode(stored, target)?;
        if written != target.len() {
            return Err(Error::corrupt(format!("a block of {written} bytes where {} belong", target.len())));
        }
    }
    Ok(())
}

/// Most bytes of a block: what its length can say.
const MAX_BLOCK_BYTES: usize = 1 << 30;

/// Compresses in blocks of `block` bytes; 0 is as large as they may be.
pub(super) fn encode(input: &[u8], block: u32) -> Result<Vec<u8>> {
    let block = usize::try_from(block).unwrap_or(MAX_BLOCK_BYTES);
    let block = if block == 0 { MAX_BLOCK_BYTES } else { block.min(MAX_BLOCK_BYTES) }.min(input.len().max(1));
    let number = |count: usize| u32::try_from(count).map_err(|_| Error::internal("a block of 4 GiB"));
    let mut out = Vec::with_capacity(input.len() / 2 + 16);
    out.extend((input.len() as u64).to_be_bytes());
    out.extend(number(block)?.to_be_bytes());
    for part in input.chunks(block) {
        let compressed = lz4_flex::block::compress(part);
        let stored = if compressed.len() < part.len() { compressed.as_slice() } else { part };
        out.extend(number(stored.len())?.to_be_bytes());
        out.extend_from_slice(stored);
    }
    Ok(out)
}
