//! Blosc (32001), format 2: a header, where each block starts, and blocks of one stream or one per
//! byte of an element.

use hyperslab_array::{Error, Result};

use crate::filter::block::{BlockCodec, BlockDecoder};
use crate::filter::{bitshuffle::bit_planes, shuffle};

const HEADER_BYTES: usize = 16;
const SHUFFLED: u8 = 1;
const COPIED: u8 = 2;
const BIT_SHUFFLED: u8 = 4;
const RESERVED: u8 = 8;
const NOT_SPLIT: u8 = 16;
/// Blocks with wider elements, or fewer of them, are never split.
const MAX_SPLITS: usize = 16;
const MIN_SPLIT_BYTES: usize = 128;

/// What the header says.
struct Header {
    flags: u8,
    element: usize,
    total: usize,
    block: usize,
}

pub(in crate::filter) fn decode(input: &[u8], max_bytes: usize, out: &mut Vec<u8>) -> Result<()> {
    let short = || Error::corrupt("an incomplete stream");
    let (header, body) = input.split_first_chunk::<HEADER_BYTES>().ok_or_else(short)?;
    let &[version, _, flags, element, header @ ..] = header;
    let [total, block, stored] = words(&header);
    if version != 2 {
        return Err(Error::unsupported(format!("blosc filter (number 32001) of format {version}")));
    }
    let header = Header { flags, element: element.into(), total, block };
    if total > max_bytes || stored > input.len() {
        return Err(Error::corrupt(format!("{stored} bytes for {total} where {} are for {max_bytes}", input.len())));
    }
    if flags & RESERVED != 0 || header.element == 0 || (block == 0 && total > 0) {
        return Err(Error::corrupt(format!("flags {flags}, elements of {element} bytes and blocks of {block}")));
    }
    if flags & COPIED != 0 {
        out.clear();
        out.extend_from_slice(body.get(..total).ok_or_else(short)?);
        return Ok(());
    }
    let codec = match flags >> 5 {
        0 => BlockCodec::BloscLz,
        1 => BlockCodec::Lz4,
        2 => BlockCodec::Snappy,
        3 => BlockCodec::Zlib,
        4 => BlockCodec::Zstd,
        other => return Err(Error::unsupported(format!("blosc filter (number 32001) with codec {other}"))),
    };
    if total / codec.max_expansion() > input.len() {
        return Err(Error::corrupt(format!("{} bytes cannot be a stream of {total}", input.len())));
    }
    out.resize(total, 0);
    header.decode_blocks(input, body, codec, out)
}

/// Little-endian numbers side by side.
fn words(bytes: &[u8; 12]) -> [usize; 3] {
    let (words, _) = bytes.as_chunks::<4>();
    let mut words = words.iter().map(|word| usize::try_from(u32::from_le_bytes(*word)).unwrap_or(usize::MAX));
    std::array::from_fn(|_| words.next().unwrap_or(0))
}

impl Header {
    fn decode_blocks(&self, input: &[u8], starts: &[u8], codec: BlockCodec, out: &mut [u8]) -> Result<()> {
        let short = || Error::corrupt("an incomplete stream");
        let mut decoder = BlockDecoder::new(codec);
        let mut starts = starts.as_chunks::<4>().0.iter();
        let mut coded = vec![0; if self.is_shuffled() { self.block.min(self.total) } else { 0 }];
        for block in out.chunks_mut(self.block.max(1)) {
            let start = starts.next().ok_or_else(short)?;
            let start = usize::try_from(u32::from_le_bytes(*start)).unwrap_or(usize::MAX);
            let stream = input.get(start..).ok_or_else(short)?;
            if !self.is_shuffled() {
                self.decode_streams(stream, &mut decoder, block)?;
                continue;
            }
            let coded = coded.get_mut(..block.len()).ok_or_else(short)?;
            self.decode_streams(stream, &mut decoder, coded)?;
            if self.flags & SHUFFLED != 0 && self.element > 1 {
                shuffle::decode_into(coded, self.element, block)?;
            } else if (block.len() / self.element).is_multiple_of(8) {
                // Other numbers of elements are left alone, and so are bytes at the end.
                let elements = block.len() / self.element * self.element;
                let (planes, tail) = coded.split_at(elements);
                let (elements, plain) = block.split_at_mut(elements);
                bit_planes::decode(planes, self.element, elements);
                plain.copy_from_slice(tail);
            } else {
                block.copy_from_slice(coded);
            }
        }
        Ok(())
    }

    /// Whether what the streams give has to be put together.
    fn is_shuffled(&self) -> bool {
        (self.flags & SHUFFLED != 0 && self.element > 1) || self.flags & BIT_SHUFFLED != 0
    }

    /// The streams of a block: a length and its bytes each.
    fn decode_streams(&self, mut stream: &[u8], decoder: &mut BlockDecoder, coded: &mut [u8]) -> Result<()> {
        let short = || Error::corrupt("an incomplete stream");
        let splits = self.flags & NOT_SPLIT == 0 && self.element <= MAX_SPLITS && self.block / self.element >= MIN_SPLIT_BYTES && coded.len() == self.block;
        let size = if splits { self.block / self.element } else { coded.len() };
        if !coded.len().is_multiple_of(size) {
            return Err(Error::corrupt(format!("blocks of {} bytes in elements of {}", self.block, self.element)));
        }
        for part in coded.chunks_exact_mut(size) {
            let (length, tail) = stream.split_first_chunk::<4>().ok_or_else(short)?;
            let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
            let (stored, tail) = tail.split_at_checked(length).ok_or_else(short)?;
            stream = tail;
            if stored.len() == size {
                // Incompressible streams are stored as they are.
                part.copy_from_slice(stored);
            } else {
                decoder.decode(stored, part)?;
            }
        }
        Ok(())
    }
}
