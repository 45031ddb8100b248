//! Blosc2 (32026): a contiguous frame with one chunk, whose blocks may be tiles of an array.
//!
//! A frame is a header with metalayers, the chunk, and a chunk of the chunks' places.

use hyperslab_array::{Error, Result};

use super::big_endian::big_endian;
use super::chunk::Chunk;
use super::tiles::Tiles;

const MAGIC: &[u8; 10] = b"\x9e\xa8b2frame\0";
const UNCOMPRESSED_BYTES: usize = 0x1e;
const COMPRESSED_BYTES: usize = 0x27;
const ITEM_BYTES: usize = 0x30;
const METALAYERS: usize = 0x5c;

pub(in crate::filter) fn decode(input: &[u8], max_bytes: usize, out: &mut Vec<u8>) -> Result<()> {
    let short = || Error::corrupt("an incomplete stream");
    if !input.starts_with(MAGIC) {
        return Err(Error::corrupt("no blosc2 frame"));
    }
    let header_bytes = big_endian::<4>(input, 0x0b).ok_or_else(short)?;
    let (header, body) = input.split_at_checked(header_bytes).ok_or_else(short)?;
    let total = big_endian::<8>(header, UNCOMPRESSED_BYTES).ok_or_else(short)?;
    let stored = big_endian::<8>(header, COMPRESSED_BYTES).ok_or_else(short)?;
    let item = big_endian::<4>(header, ITEM_BYTES).ok_or_else(short)?;
    let tiles = match metalayer(header)? {
        Some(layer) => Some(Tiles::parse(layer, item, max_bytes)?),
        None => None,
    };
    if tiles.is_none() && total > max_bytes {
        return Err(Error::corrupt(format!("a frame of {total} bytes where {max_bytes} belong")));
    }
    let size = tiles.as_ref().map_or(total, Tiles::array_bytes);

    let mut place = Vec::new();
    let places = Chunk::parse(body.get(stored..).ok_or_else(short)?)?;
    if places.total != 8 {
        return Err(Error::unsupported(format!("blosc2 filter (number 32026) with {} chunks", places.total / 8)));
    }
    places.each_block(&mut |_, block| {
        place.extend_from_slice(block);
        Ok(())
    })?;
    let place = place.first_chunk::<8>().copied().ok_or_else(short)?;
    if place[7] & 0x80 != 0 {
        // The chunk has one value throughout and is not there.
        return match place[7] & 7 {
            1 | 4 => {
                out.resize(size, 0);
                Ok(())
            }
            kind => Err(Error::unsupported(format!("blosc2 filter (number 32026) with absent chunks of kind {kind}"))),
        };
    }
    let place = usize::try_from(u64::from_le_bytes(place)).unwrap_or(usize::MAX);
    let chunk = Chunk::parse(body.get(place..).ok_or_else(short)?)?;
    match tiles {
        Some(tiles) => tiles.decode(&chunk, out),
        None if chunk.total > max_bytes => Err(Error::corrupt(format!("a chunk of {} bytes where {max_bytes} belong", chunk.total))),
        None => {
            out.reserve_exact(chunk.total);
            chunk.each_block(&mut |_, block| {
                out.extend_from_slice(block);
                Ok(())
            })
        }
    }
}

/// The content of the metalayer that describes tiles, if there is one.
fn metalayer(header: &[u8]) -> Result<Option<&[u8]>> {
    let damaged = || Error::corrupt("the frame's metalayers are damaged");
    let count = big_endian::<2>(header, METALAYERS).ok_or_else(damaged)?;
    let mut entries = header.get(METALAYERS + 2..).ok_or_else(damaged)?;
    for _ in 0..count {
        let (length, rest) = entries.split_first().ok_or_else(damaged)?;
        let (name, rest) = rest.split_at_checked(usize::from(length & 0x1f)).ok_or_else(damaged)?;
        let (offset, rest) = rest.split_at_checked(5).ok_or_else(damaged)?;
        entries = rest;
        match name {
            b"b2nd" => {
                let at = big_endian::<4>(offset, 1).ok_or_else(damaged)?;
                // The type and the length of the content come first.
                return header.get(at..).and_then(|layer| layer.get(5..)).map(Some).ok_or_else(damaged);
            }
            b"caterva" => return Err(Error::unsupported("blosc2 filter (number 32026) with caterva tiles")),
            _ => {}
        }
    }
    Ok(None)
}
