//! Compressed blocks whose decoded size is known: what bitshuffle and blosc are made of.

use hyperslab_array::{Error, Result};

use super::blosc::blosclz;
use super::lz4_block;

/// How one block was compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockCodec {
    BloscLz,
    Lz4,
    Snappy,
    Zlib,
    Zstd,
}

impl BlockCodec {
    /// More bytes than one stored byte can become.
    pub(super) fn max_expansion(self) -> usize {
        match self {
            Self::BloscLz | Self::Lz4 | Self::Snappy => 1 << 8,
            Self::Zlib => 1 << 11,
            // A block that repeats one byte: 128 KiB in 4 bytes.
            Self::Zstd => 1 << 16,
        }
    }
}

/// Decodes blocks one after the other, with the memory that this needs.
pub(super) struct BlockDecoder {
    codec: BlockCodec,
    zlib: Option<flate2::Decompress>,
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

impl BlockDecoder {
    pub(super) fn new(codec: BlockCodec) -> Self {
        Self { codec, zlib: None, zstd: None }
    }

    /// Fills `target` with what `stored` decodes to.
    pub(super) fn decode(&mut self, stored: &[u8], target: &mut [u8]) -> Result<()> {
        let damaged = |error: &dyn std::fmt::Display| Error::corrupt(format!("a compressed block is damaged: {error}"));
        let written = match self.codec {
            BlockCodec::BloscLz => blosclz::decode(stored, target)?,
            BlockCodec::Lz4 => lz4_block::decode(stored, target)?,
            BlockCodec::Snappy => {
                // The decoder says how much it would write, before it writes.
                let length = snap::raw::decompress_len(stored).map_err(|error| damaged(&error))?;
                if length > target.len() {
                    return Err(damaged(&"too long"));
                }
                snap::raw::Decoder::new().decompress(stored, target).map_err(|error| damaged(&error))?
            }
            BlockCodec::Zlib => {
                let state = self.zlib.get_or_insert_with(|| flate2::Decompress::new(true));
                state.reset(true);
                state.decompress(stored, target, flate2::FlushDecompress::Finish).map_err(|error| damaged(&error))?;
                usize::try_from(state.total_out()).unwrap_or(usize::MAX)
            }
            BlockCodec::Zstd => {
                let context = match &mut self.zstd {
                    Some(context) => context,
                    none => none.insert(zstd::bulk::Decompressor::new().map_err(|error| damaged(&error))?),
                };
                context.decompress_to_buffer(stored, target).map_err(|error| damaged(&error))?
            }
        };
        if written == target.len() { Ok(()) } else { Err(Error::corrupt(format!("a block of {written} bytes where {} belong", target.len()))) }
    }
}
