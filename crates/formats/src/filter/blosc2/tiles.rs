//! Tiles of an array (blosc2's "b2nd"): each block of a chunk is one, filled up at the array's edges.

use hyperslab_array::{Error, Result};

use super::big_endian::big_endian;
use super::chunk::Chunk;

/// Maximum number of tiles in a chunk if they are smaller than [`MIN_TILE_BYTES`].
const MAX_SMALL_TILES: usize = 1 << 20;
const MIN_TILE_BYTES: usize = 64;

const MAX_DIMENSIONS: usize = 16;
/// Tiles may stand out at the edges, but a chunk that is mostly edge is a lie.
const MAX_PADDING: usize = 64;
const MIN_CHECKED_BYTES: usize = 1 << 20;

/// How tiles lie in the array.
pub(super) struct Tiles {
    /// From the slowest dimension.
    dimensions: Vec<Dimension>,
    item_bytes: usize,
    array_bytes: usize,
    tile_bytes: usize,
    padded_bytes: usize,
}

struct Dimension {
    size: usize,
    tile: usize,
    /// Tiles side by side.
    tiles: usize,
}

/// What a tile covers in one dimension.
struct Span {
    first: usize,
    count: usize,
    tile_stride: usize,
    array_stride: usize,
}

impl Tiles {
    /// Reads shape, chunk shape and tile shape: msgpack numbers of 8, 4 and 4 bytes after a tag each.
    pub(super) fn parse(layer: &[u8], item_bytes: usize, max_bytes: usize) -> Result<Self> {
        let damaged = || Error::corrupt("the tiles' shapes are damaged");
        let ndim = big_endian::<1>(layer, 2).filter(|ndim| (1..=MAX_DIMENSIONS).contains(ndim)).ok_or_else(damaged)?;
        // Each shape begins with a tag of its own.
        let (shape, chunk_shape, tile_shape) = (4, 4 + 9 * ndim + 1, 4 + 9 * ndim + 1 + 5 * ndim + 1);
        let dimension = |index: usize| {
            let size = big_endian::<8>(layer, shape + 9 * index + 1)?;
            let chunk = big_endian::<4>(layer, chunk_shape + 5 * index + 1)?;
            let tile = big_endian::<4>(layer, tile_shape + 5 * index + 1)?;
            Some((size, chunk, tile))
        };
        let mut dimensions = Vec::new();
        for index in 0..ndim {
            let (size, chunk, tile) = dimension(index).ok_or_else(damaged)?;
            if size != chunk || tile == 0 || tile > size {
                return Err(Error::corrupt(format!("tiles of {tile} in chunks of {chunk} of {size}")));
            }
            dimensions.push(Dimension { size, tile, tiles: size.div_ceil(tile) });
        }
        let product = |extent: fn(&Dimension) -> usize| dimensions.iter().try_fold(item_bytes, |bytes, dimension| bytes.checked_mul(extent(dimension)));
        let array_bytes = product(|d| d.size).filter(|bytes| *bytes <= max_bytes && *bytes > 0);
        let tile_bytes = product(|d| d.tile);
        let padded_bytes = product(|d| d.tiles * d.tile);
        let (Some(array_bytes), Some(tile_bytes), Some(padded_bytes)) = (array_bytes, tile_bytes, padded_bytes) else {
            return Err(Error::corrupt(format!("tiles of more than the {max_bytes} bytes that belong there")));
        };
        if padded_bytes / MAX_PADDING > array_bytes.max(MIN_CHECKED_BYTES) {
            return Err(Error::corrupt(format!("tiles of {padded_bytes} bytes for {array_bytes}")));
        }
        // Each tile costs a walk over all dimensions.
        if tile_bytes < MIN_TILE_BYTES && padded_bytes / tile_bytes.max(1) > MAX_SMALL_TILES {
            return Err(Error::limit_exceeded(format!("{padded_bytes} bytes in tiles of {tile_bytes}")));
        }
        Ok(Self { dimensions, item_bytes, array_bytes, tile_bytes, padded_bytes })
    }

    /// Bytes without what stands out.
    pub(super) fn array_bytes(&self) -> usize {
        self.array_bytes
    }

    pub(super) fn decode(&self, chunk: &Chunk<'_>, out: &mut Vec<u8>) -> Result<()> {
        if chunk.total != self.padded_bytes || chunk.block != self.tile_bytes {
            return Err(Error::corrupt(format!(
                "a chunk of {} bytes in blocks of {} where {} in tiles of {} belong",
                chunk.total, chunk.block, self.padded_bytes, self.tile_bytes
            )));
        }
        out.resize(self.array_bytes, 0);
        chunk.each_block(&mut |index, tile| place(&self.spans(index), tile, out).ok_or_else(|| Error::corrupt("a tile outside of its array")))
    }

    /// Where the tile `index` lies, from the slowest dimension.
    fn spans(&self, index: usize) -> Vec<Span> {
        let (mut index, mut tile_stride, mut array_stride) = (index, self.item_bytes, self.item_bytes);
        let mut spans: Vec<Span> = self
            .dimensions
            .iter()
            .rev()
            .map(|dimension| {
                let first = index % dimension.tiles * dimension.tile;
                index /= dimension.tiles;
                let span = Span { first, count: dimension.tile.min(dimension.size - first), tile_stride, array_stride };
                tile_stride *= dimension.tile;
                array_stride *= dimension.size;
                span
            })
            .collect();
        spans.reverse();
        spans
    }
}

/// Copies what a tile has of the array, row by row.
fn place(spans: &[Span], tile: &[u8], array: &mut [u8]) -> Option<()> {
    let (span, rest) = spans.split_first()?;
    let array = array.get_mut(span.first * span.array_stride..)?;
    if rest.is_empty() {
        let bytes = span.count * span.tile_stride;
        array.get_mut(..bytes)?.copy_from_slice(tile.get(..bytes)?);
        return Some(());
    }
    for index in 0..span.count {
        place(rest, tile.get(index * span.tile_stride..)?, array.get_mut(index * span.array_stride..)?)?;
    }
    Some(())
}
