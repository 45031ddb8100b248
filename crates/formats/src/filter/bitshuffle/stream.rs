//! Bitshuffle (32008): bit planes of blocks of elements, each compressed with LZ4, Zstandard or not.

use hyperslab_array::{Error, Result};

use super::bit_planes;
use crate::filter::block::{BlockCodec, BlockDecoder};

/// Default size of a block in bytes, approximately.
const BLOCK_BYTES: usize = 8192;
/// Minimum number of elements in a block of the default size.
const BLOCK_ELEMENTS: usize = 128;

pub(in crate::filter) fn decode(input: &[u8], parameters: &[u32], max_bytes: usize, out: &mut Vec<u8>) -> Result<()> {
    let parameter = |place: usize| parameters.get(place).map(|word| usize::try_from(*word).unwrap_or(usize::MAX));
    let element = parameter(2).filter(|size| *size > 0);
    let element = element.ok_or_else(|| Error::corrupt("no size of elements in the parameters"))?;
    let codec = match parameters.get(4).copied().unwrap_or(0) {
        0 => None,
        2 => Some(BlockCodec::Lz4),
        3 => Some(BlockCodec::Zstd),
        other => return Err(Error::unsupported(format!("bitshuffle filter (number 32008) with compression {other}"))),
    };
    let Some(codec) = codec else {
        let blocks = Blocks::new(input.len(), element, parameter(3).unwrap_or(0), max_bytes)?;
        out.resize(input.len(), 0);
        let (planes, tail) = input.split_at(input.len() - blocks.tail);
        let (elements, plain) = out.split_at_mut(planes.len());
        for (planes, elements) in planes.chunks(blocks.size).zip(elements.chunks_mut(blocks.size)) {
            bit_planes::decode(planes, element, elements);
        }
        plain.copy_from_slice(tail);
        return Ok(());
    };
    let short = || Error::corrupt("an incomplete stream");
    let (total, rest) = input.split_first_chunk::<8>().ok_or_else(short)?;
    let (block, mut rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
    let total = usize::try_from(u64::from_be_bytes(*total)).unwrap_or(usize::MAX);
    let block = usize::try_from(u32::from_be_bytes(*block)).unwrap_or(usize::MAX);
    if total / codec.max_expansion() > input.len() {
        return Err(Error::corrupt(format!("{} bytes cannot be a stream of {total}", input.len())));
    }
    let blocks = Blocks::new(total, element, block / element, max_bytes)?;
    out.resize(total, 0);
    let mut decoder = BlockDecoder::new(codec);
    let mut planes = vec![0; blocks.size.min(total)];
    let (elements, plain) = out.split_at_mut(total - blocks.tail);
    for elements in elements.chunks_mut(blocks.size) {
        let (length, tail) = rest.split_first_chunk::<4>().ok_or_else(short)?;
        let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
        let (stored, tail) = tail.split_at_checked(length).ok_or_else(short)?;
        rest = tail;
        let planes = planes.get_mut(..elements.len()).ok_or_else(short)?;
        decoder.decode(stored, planes)?;
        bit_planes::decode(planes, element, elements);
    }
    plain.copy_from_slice(rest.get(..blocks.tail).ok_or_else(short)?);
    Ok(())
}

/// Cuts, turns and compresses with the parameters of the dataset.
pub(in crate::filter) fn encode(input: &[u8], parameters: &[u32]) -> Result<Vec<u8>> {
    let parameter = |place: usize| parameters.get(place).map(|word| usize::try_from(*word).unwrap_or(usize::MAX));
    let element = parameter(2).filter(|size| *size > 0);
    let element = element.ok_or_else(|| Error::invalid_input("no size of elements in the parameters"))?;
    let codec = parameters.get(4).copied().unwrap_or(0);
    let blocks = Blocks::new(input.len(), element, parameter(3).unwrap_or(0), usize::MAX)?;
    let (elements, tail) = input.split_at(input.len() - blocks.tail);
    let number = |count: usize| u32::try_from(count).map_err(|_| Error::internal("a block of 4 GiB"));
    let mut out = Vec::with_capacity(input.len() / 2 + 16);
    if codec != 0 {
        out.extend((input.len() as u64).to_be_bytes());
        out.extend(number(blocks.size)?.to_be_bytes());
    }
    let mut planes = vec![0; blocks.size.min(input.len())];
    for part in elements.chunks(blocks.size) {
        let Some(planes) = planes.get_mut(..part.len()) else { continue };
        bit_planes::make(part, element, planes);
        let compressed = match codec {
            0 => {
                out.extend_from_slice(planes);
                continue;
            }
            2 => lz4_flex::block::compress(planes),
            3 => zstd::bulk::compress(planes, 3).map_err(|error| Error::internal(format!("zstd: {error}")))?,
            other => return Err(Error::unsupported(format!("bitshuffle filter (number 32008) with compression {other}"))),
        };
        out.extend(number(compressed.len())?.to_be_bytes());
        out.extend(compressed);
    }
    out.extend_from_slice(tail);
    Ok(out)
}

/// How a chunk is cut.
struct Blocks {
    /// Bytes of a block; the last may have fewer.
    size: usize,
    /// Bytes at the end, of fewer than 8 elements, that are as they were.
    tail: usize,
}

impl Blocks {
    /// `block` is in elements; 0 means the default.
    fn new(total: usize, element: usize, block: usize, max_bytes: usize) -> Result<Self> {
        if total > max_bytes || !total.is_multiple_of(element) {
            return Err(Error::corrupt(format!("{total} bytes in elements of {element} where {max_bytes} belong")));
        }
        let block = if block == 0 { (BLOCK_BYTES / element / 8 * 8).max(BLOCK_ELEMENTS) } else { block };
        if block % 8 != 0 {
            return Err(Error::corrupt(format!("blocks of {block} elements, which is not a multiple of 8")));
        }
        Ok(Self { size: block.saturating_mul(element), tail: total / element % 8 * element })
    }
}
