//! A chunk of blosc2: blosc's, with a longer header, a list of filters, and short forms for runs.

use hyperslab_array::{Error, Result};

use crate::filter::block::{BlockCodec, BlockDecoder};
use crate::filter::{bitshuffle::bit_planes, shuffle};

const HEADER_BYTES: usize = 32;
const COPIED: u8 = 2;
const NOT_SPLIT: u8 = 16;
/// Both shuffles: the header is the longer one.
const EXTENDED: u8 = 1 | 4;
/// Dictionaries, a still longer header, chunks elsewhere, measurements of codecs.
const REFUSED: u8 = 1 | 2 | 8 | 128;

/// A chunk that is not decoded yet.
pub(super) struct Chunk<'a> {
    /// With the header.
    bytes: &'a [u8],
    flags: u8,
    element: usize,
    /// Decoded bytes.
    pub total: usize,
    /// Decoded bytes of a block; the last may have fewer.
    pub block: usize,
    content: Content,
    /// Kind and parameter, in the order in which they were applied.
    filters: [(u8, u8); 6],
}

enum Content {
    Streams(BlockCodec),
    Copied,
    /// These bytes, again and again.
    Repeated(Vec<u8>),
}

impl<'a> Chunk<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self> {
        let short = || Error::corrupt("an incomplete chunk");
        let header = bytes.first_chunk::<HEADER_BYTES>().ok_or_else(short)?;
        let &[version, _, flags, element, a, b, c, d, e, f, g, h, i, j, k, l, header @ ..] = header;
        let word = |word| usize::try_from(u32::from_le_bytes(word)).unwrap_or(usize::MAX);
        let (total, block, stored) = (word([a, b, c, d]), word([e, f, g, h]), word([i, j, k, l]));
        let [f0, f1, f2, f3, f4, f5, _, _, m0, m1, m2, m3, m4, m5, more_flags, chunk_flags] = header;
        let filters = [(f0, m0), (f1, m1), (f2, m2), (f3, m3), (f4, m4), (f5, m5)];
        if flags & EXTENDED != EXTENDED || !(3..=6).contains(&version) || chunk_flags & REFUSED != 0 || more_flags != 0 {
            return Err(Error::unsupported(format!("blosc2 filter (number 32026) of format {version} with flags {flags}, {chunk_flags} and {more_flags}")));
        }
        let bytes = bytes.get(..stored).filter(|bytes| bytes.len() >= HEADER_BYTES).ok_or_else(short)?;
        let block = block.min(total);
        if element == 0 || (block == 0 && total > 0) {
            return Err(Error::corrupt(format!("elements of {element} bytes and blocks of {block}")));
        }
        let special = chunk_flags >> 4 & 7;
        let content = match (special, element) {
            (0, _) if flags & COPIED != 0 => Content::Copied,
            (0, _) => Content::Streams(codec(flags >> 5)?),
            (1 | 4, _) => Content::Repeated(vec![0]),
            (2, 4) => Content::Repeated(f32::NAN.to_le_bytes().to_vec()),
            (2, 8) => Content::Repeated(f64::NAN.to_le_bytes().to_vec()),
            (3, _) if stored > HEADER_BYTES => Content::Repeated(bytes.get(HEADER_BYTES..).unwrap_or_default().to_vec()),
            _ => return Err(Error::corrupt(format!("a chunk of kind {special} with elements of {element} bytes"))),
        };
        let mut before = false;
        for (kind, _) in filters {
            // The reference of a delta is the decoded chunk, so the delta must have come first.
            if kind > 4 || (kind == 3 && before) {
                return Err(Error::unsupported(format!("blosc2 filter (number 32026) with filter {kind} of its own")));
            }
            before |= matches!(kind, 1..=3);
        }
        Ok(Self { bytes, flags, element: element.into(), total, block, content, filters })
    }

    /// Decodes one block after the other and gives each to `sink` with its index.
    pub(super) fn each_block(&self, sink: &mut dyn FnMut(usize, &[u8]) -> Result<()>) -> Result<()> {
        let short = || Error::corrupt("an incomplete chunk");
        let body = self.bytes.get(HEADER_BYTES..).ok_or_else(short)?;
        let sizes = (0..self.total).step_by(self.block.max(1)).map(|start| (self.total - start).min(self.block));
        match &self.content {
            Content::Copied => {
                let body = body.get(..self.total).ok_or_else(short)?;
                body.chunks(self.block.max(1)).enumerate().try_for_each(|(index, block)| sink(index, block))
            }
            Content::Repeated(value) => {
                let block: Vec<u8> = value.iter().copied().cycle().take(self.block).collect();
                sizes.enumerate().try_for_each(|(index, size)| sink(index, block.get(..size).ok_or_else(short)?))
            }
            Content::Streams(codec) => {
                let starts = body.as_chunks::<4>().0;
                if starts.len() < self.total.div_ceil(self.block.max(1)) {
                    return Err(short());
                }
                let mut decoder = BlockDecoder::new(*codec);
                let (mut block, mut spare, mut reference) = (Vec::new(), Vec::new(), Vec::new());
                for (index, (size, start)) in sizes.zip(starts).enumerate() {
                    let start = usize::try_from(u32::from_le_bytes(*start)).unwrap_or(usize::MAX);
                    let stream = self.bytes.get(start..).ok_or_else(short)?;
                    block.resize(size, 0);
                    self.decode_streams(stream, &mut decoder, &mut block)?;
                    self.decode_filters(index, &mut block, &mut spare, &reference)?;
                    if index == 0 {
                        reference.clone_from(&block);
                    }
                    sink(index, &block)?;
                }
                Ok(())
            }
        }
    }

    /// The streams of a block: a length, or the sign of a run, and bytes.
    fn decode_streams(&self, mut stream: &[u8], decoder: &mut BlockDecoder, block: &mut [u8]) -> Result<()> {
        let short = || Error::corrupt("an incomplete chunk");
        let splits = self.flags & NOT_SPLIT == 0 && block.len() == self.block;
        let count = if splits { self.element } else { 1 };
        let size = block.len() / count;
        if size == 0 || !block.len().is_multiple_of(count) {
            return Err(Error::corrupt(format!("blocks of {} bytes in {count} streams", block.len())));
        }
        for part in block.chunks_exact_mut(size) {
            let (length, tail) = stream.split_first_chunk::<4>().ok_or_else(short)?;
            let length = i32::from_le_bytes(*length);
            let Ok(length) = usize::try_from(length) else {
                // A run of one byte, whose value is the length's opposite.
                let (token, tail) = tail.split_first().ok_or_else(short)?;
                let value = u8::try_from(length.unsigned_abs()).ok().filter(|_| token & 1 == 1);
                part.fill(value.ok_or_else(|| Error::corrupt(format!("a stream of {length} bytes, kind {token}")))?);
                stream = tail;
                continue;
            };
            let (stored, tail) = tail.split_at_checked(length).ok_or_else(short)?;
            stream = tail;
            if stored.len() == size {
                part.copy_from_slice(stored);
            } else if !stored.is_empty() {
                decoder.decode(stored, part)?;
            } else {
                // A run of zeros.
                part.fill(0);
            }
        }
        Ok(())
    }

    fn decode_filters(&self, index: usize, block: &mut Vec<u8>, spare: &mut Vec<u8>, reference: &[u8]) -> Result<()> {
        for (kind, parameter) in self.filters.iter().rev() {
            match kind {
                1 => {
                    let element = if *parameter == 0 { self.element } else { usize::from(*parameter) };
                    shuffle::decode(block, element, spare)?;
                    std::mem::swap(block, spare);
                }
                2 => {
                    // Bytes that do not fill 8 elements are as they were.
                    let elements = block.len() / self.element / 8 * 8 * self.element;
                    spare.clone_from(block);
                    let (planes, _) = spare.split_at(elements);
                    let (elements, _) = block.split_at_mut(elements);
                    bit_planes::decode(planes, self.element, elements);
                }
                3 => decode_delta(self.element, block, (index > 0).then_some(reference)),
                // Cut precision stays cut.
                _ => {}
            }
        }
        Ok(())
    }
}

fn codec(number: u8) -> Result<BlockCodec> {
    match number {
        0 => Ok(BlockCodec::BloscLz),
        1 => Ok(BlockCodec::Lz4),
        3 => Ok(BlockCodec::Zlib),
        4 => Ok(BlockCodec::Zstd),
        other => Err(Error::unsupported(format!("blosc2 filter (number 32026) with codec {other}"))),
    }
}

/// Elements were combined with the one before, in other blocks with the same one of the first block.
fn decode_delta(element: usize, block: &mut [u8], reference: Option<&[u8]>) {
    let width = match element {
        1 | 2 | 4 | 8 => element,
        wide if wide.is_multiple_of(8) => 8,
        _ => 1,
    };
    let whole = block.len() / width * width;
    let mut elements = block.get_mut(..whole).unwrap_or_default().chunks_exact_mut(width);
    match reference {
        Some(reference) => {
            for (element, before) in elements.zip(reference.chunks_exact(width)) {
                element.iter_mut().zip(before).for_each(|(byte, before)| *byte ^= before);
            }
        }
        None => {
            let Some(mut before) = elements.next() else { return };
            for element in elements {
                element.iter_mut().zip(before.iter()).for_each(|(byte, before)| *byte ^= before);
                before = element;
            }
        }
    }
}
