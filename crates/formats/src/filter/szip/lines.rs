//! Szip (4): the decoded size, then scan lines in adaptive entropy coding (CCSDS 121.0-B).
//!
//! The coding itself is in [`super::aec`]. Here is what szip adds: numbers of 32 and 64 bits are
//! coded byte plane by byte plane, and each scan line is filled up to whole blocks.

use hyperslab_array::{Error, Result};

use super::aec;
use crate::filter::shuffle;

const MSB: u32 = 16;
const NEAREST_NEIGHBOR: u32 = 32;
/// More than a byte of a stream can stand for: 64 blocks of 32 samples of 4 bytes, and a few bits.
const MAX_EXPANSION: usize = 1 << 14;

pub(in crate::filter) fn decode(input: &[u8], parameters: &[u32], max_bytes: usize, out: &mut Vec<u8>) -> Result<()> {
    let &[options, block, pixel_bits, line, ..] = parameters else {
        return Err(Error::corrupt(format!("{} parameters where 4 belong", parameters.len())));
    };
    let (total, stream) = input.split_first_chunk::<4>().ok_or_else(|| Error::corrupt("an incomplete stream"))?;
    let total = usize::try_from(u32::from_le_bytes(*total)).unwrap_or(usize::MAX);
    if total > max_bytes || total / MAX_EXPANSION > stream.len() {
        return Err(Error::corrupt(format!("a stream of {total} bytes where {max_bytes} belong")));
    }
    if block == 0 || block > 32 || block % 2 == 1 || line == 0 {
        return Err(Error::corrupt(format!("blocks of {block} pixels in lines of {line}")));
    }
    let (planes, sample_bits) = match pixel_bits {
        32 => (4, 8),
        64 => (8, 8),
        1..32 => (1, pixel_bits),
        _ => return Err(Error::corrupt(format!("{pixel_bits} bits per pixel"))),
    };
    let sample_bytes = match sample_bits {
        1..=8 => 1,
        9..=16 => 2,
        _ => 4,
    };
    if total % (sample_bytes * planes) != 0 {
        return Err(Error::corrupt(format!("{total} bytes are not whole pixels of {pixel_bits} bits")));
    }
    let coding = aec::Coding {
        sample_bits,
        block: usize::try_from(block).unwrap_or(usize::MAX),
        blocks: usize::try_from(line.div_ceil(block)).unwrap_or(usize::MAX),
        predicted: options & NEAREST_NEIGHBOR != 0,
    };
    let line = usize::try_from(line).unwrap_or(usize::MAX);
    let mut decoder = aec::Decoder::new(coding, stream);
    let mut samples = Vec::new();
    let mut left = total / sample_bytes;
    out.reserve_exact(total);
    while left > 0 {
        let wanted = line.min(left);
        decoder.interval(wanted, &mut samples)?;
        let kept = samples.iter().take(wanted);
        match (sample_bytes, options & MSB != 0) {
            (1, _) => out.extend(kept.map(|sample| sample.to_le_bytes()[0])),
            (2, false) => kept.for_each(|sample| out.extend(sample.to_le_bytes().iter().take(2))),
            (2, true) => kept.for_each(|sample| out.extend(sample.to_be_bytes().iter().skip(2))),
            (_, false) => kept.for_each(|sample| out.extend(sample.to_le_bytes())),
            (_, true) => kept.for_each(|sample| out.extend(sample.to_be_bytes())),
        }
        left -= wanted;
    }
    if planes > 1 {
        let coded = std::mem::take(out);
        shuffle::decode(&coded, planes, out)?;
    }
    Ok(())
}
