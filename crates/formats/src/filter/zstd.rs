//! Zstandard (32015).

use std::io::Read;

use hyperslab_array::{Error, Result};

/// A frame that is this much smaller than its content is inflated piece by piece: its buffer then
/// grows with what is really there.
const TRUSTED_EXPANSION: usize = 1024;

pub(super) fn decode(input: &[u8], max_bytes: usize, out: &mut Vec<u8>) -> Result<()> {
    let damaged = |error: std::io::Error| Error::corrupt(format!("the compressed bytes are damaged or too long: {error}"));
    if max_bytes / TRUSTED_EXPANSION > input.len() {
        out.clear();
        let limit = u64::try_from(max_bytes).unwrap_or(u64::MAX).saturating_add(1);
        zstd::Decoder::new(input).map_err(damaged)?.take(limit).read_to_end(out).map_err(damaged)?;
        return if out.len() > max_bytes { Err(Error::corrupt("more bytes than the chunk holds")) } else { Ok(()) };
    }
    out.resize(max_bytes, 0);
    let written = zstd::bulk::decompress_to_buffer(input, out.as_mut_slice()).map_err(damaged)?;
    out.truncate(written);
    Ok(())
}

/// Compresses at a level of zstd's.
pub(super) fn encode(input: &[u8], level: u32) -> Result<Vec<u8>> {
    let level = i32::from_le_bytes(level.to_le_bytes());
    let range = zstd::compression_level_range();
    if !range.contains(&level) {
        return Err(Error::invalid_input(format!("level {level} of zstd: give {} to {}", range.start(), range.end())));
    }
    zstd::bulk::compress(input, level).map_err(|error| Error::internal(format!("zstd: {error}")))
}
