//! Adaptive entropy coding (CCSDS 121.0-B, "extended Rice"): what szip is underneath.
//!
//! Samples come in blocks, blocks in intervals. Each block names the coding that suited it. With
//! prediction, an interval begins with a sample as it is, and the others are the folded distances
//! to the one before.

use hyperslab_array::{Error, Result};

use crate::filter::bits::BitReader;

/// A run of zero blocks of this length goes to the end of the interval or of its 64 blocks.
pub(super) const REST_OF_SEGMENT: u64 = 5;
pub(super) const SEGMENT_BLOCKS: usize = 64;
/// The highest sum of two samples in the second extension.
pub(super) const MAX_PAIR_SUM: u32 = 12;

/// How samples were coded.
pub(super) struct Coding {
    /// 1 to 32.
    pub sample_bits: u32,
    /// Samples in a block: even.
    pub block: usize,
    /// Blocks between two samples that are stored as they are.
    pub blocks: usize,
    /// Whether samples are distances to the one before.
    pub predicted: bool,
}

impl Coding {
    /// Bits that name the coding of a block.
    pub fn id_bits(&self) -> u32 {
        match self.sample_bits {
            ..=8 => 3,
            9..=16 => 4,
            _ => 5,
        }
    }
}

/// A stream that is being decoded.
pub(super) struct Decoder<'a> {
    coding: Coding,
    /// Bits that name the coding of a block.
    id_bits: u32,
    bits: BitReader<'a>,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(coding: Coding, stream: &'a [u8]) -> Self {
        let id_bits = coding.id_bits();
        Self { coding, id_bits, bits: BitReader::new(stream) }
    }

    /// The next interval, or if that has more than `wanted` samples, the blocks that hold those. What
    /// fills up a line is less than a block, so the next line follows; a shorter line is the last.
    pub(super) fn interval(&mut self, wanted: usize, samples: &mut Vec<u32>) -> Result<()> {
        samples.clear();
        let whole = self.coding.block.saturating_mul(self.coding.blocks);
        while samples.len() < wanted.min(whole) {
            self.block(whole, samples)?;
        }
        if self.coding.predicted {
            self.unpredict(samples);
        }
        Ok(())
    }

    /// One block, or a run of blocks of zeros.
    fn block(&mut self, whole: usize, samples: &mut Vec<u32>) -> Result<()> {
        let short = || Error::corrupt("an incomplete stream");
        let coding = self.bits.take(self.id_bits).ok_or_else(short)?;
        let first = self.coding.predicted && samples.is_empty();
        let rest = self.coding.block - usize::from(first);
        if coding == (1 << self.id_bits) - 1 {
            // The first sample of a predicted interval is among them.
            for _ in 0..self.coding.block {
                samples.push(self.sample().ok_or_else(short)?);
            }
            return Ok(());
        }
        if let Some(low_bits) = coding.checked_sub(1) {
            return self.split(low_bits, rest, first, samples).ok_or_else(short);
        }
        let pairs = self.bits.take(1).ok_or_else(short)? == 1;
        if first {
            samples.push(self.sample().ok_or_else(short)?);
        }
        if pairs { self.pairs(first, samples) } else { self.zero_blocks(whole, first, samples) }
    }

    /// A sample as it is.
    fn sample(&mut self) -> Option<u32> {
        u32::try_from(self.bits.take(self.coding.sample_bits)?).ok()
    }

    /// The high parts of all samples as runs of zeros, then the low bits of all.
    fn split(&mut self, low_bits: u64, rest: usize, first: bool, samples: &mut Vec<u32>) -> Option<()> {
        if first {
            samples.push(self.sample()?);
        }
        let low_bits = u32::try_from(low_bits).ok()?;
        let start = samples.len();
        for _ in 0..rest {
            // Only damage makes runs that do not fit; what they become then does not matter.
            let high = u32::try_from(self.bits.take_zeros()?).ok()?;
            samples.push(high.wrapping_shl(low_bits));
        }
        if low_bits > 0 {
            for sample in samples.get_mut(start..)? {
                *sample |= u32::try_from(self.bits.take(low_bits)?).ok()?;
            }
        }
        Some(())
    }

    /// The second extension: a number for two samples. The sum of the two counts the triangle's rows.
    fn pairs(&mut self, first: bool, samples: &mut Vec<u32>) -> Result<()> {
        for pair in 0..self.coding.block / 2 {
            let number = self.bits.take_zeros().ok_or_else(|| Error::corrupt("an incomplete stream"))?;
            let mut second = u32::try_from(number).unwrap_or(u32::MAX);
            let mut sum = 0;
            while second > sum {
                second -= sum + 1;
                sum += 1;
                if sum > MAX_PAIR_SUM {
                    return Err(Error::corrupt(format!("number {number} for a pair of samples")));
                }
            }
            // The sample as it is takes the place of the first of a pair.
            if !(first && pair == 0) {
                samples.push(sum - second);
            }
            samples.push(second);
        }
        Ok(())
    }

    fn zero_blocks(&mut self, whole: usize, first: bool, samples: &mut Vec<u32>) -> Result<()> {
        let run = self.bits.take_zeros().ok_or_else(|| Error::corrupt("an incomplete stream"))? + 1;
        let done = samples.len() / self.coding.block;
        let blocks = match run.cmp(&REST_OF_SEGMENT) {
            std::cmp::Ordering::Less => run,
            std::cmp::Ordering::Equal => {
                let to_segment_end = SEGMENT_BLOCKS - done % SEGMENT_BLOCKS;
                u64::try_from(to_segment_end.min(self.coding.blocks - done)).unwrap_or(u64::MAX)
            }
            std::cmp::Ordering::Greater => run - 1,
        };
        let zeros = usize::try_from(blocks).unwrap_or(usize::MAX).saturating_mul(self.coding.block) - usize::from(first);
        if zeros > whole - samples.len() {
            return Err(Error::corrupt(format!("{blocks} blocks of zeros reach past the end of their interval")));
        }
        samples.resize(samples.len() + zeros, 0);
        Ok(())
    }

    /// Distances become samples. They are folded: small ones alternate in sign, and after the
    /// nearer end of the range they go on in one direction.
    fn unpredict(&self, samples: &mut [u32]) {
        let highest = u32::MAX >> (32 - self.coding.sample_bits);
        let half = highest / 2 + 1;
        let mut samples = samples.iter_mut();
        let Some(mut before) = samples.next().map(|first| *first) else { return };
        for sample in samples {
            let folded = *sample;
            let room = if before & half != 0 { highest ^ before } else { before };
            before = if folded.div_ceil(2) <= room {
                let distance = folded >> 1;
                before.wrapping_add(if folded & 1 == 1 { !distance } else { distance }) & highest
            } else if before & half != 0 {
                highest ^ folded
            } else {
                folded
            };
            *sample = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(sample_bits: u32, blocks: usize, predicted: bool, stream: &[u8], wanted: usize) -> Result<Vec<u32>> {
        let mut samples = Vec::new();
        Decoder::new(Coding { sample_bits, block: 8, blocks, predicted }, stream).interval(wanted, &mut samples)?;
        Ok(samples)
    }

    #[test]
    fn each_coding_is_undone() {
        // 111, then eight bytes as they are.
        let stream = [0b1110_0000, 0b0010_0000, 0b0100_0000, 0b0110_0000, 0b1000_0000, 0b1010_0000, 0b1100_0000, 0b1110_0001, 0];
        assert_eq!(decoded(8, 1, false, &stream, 8).ok(), Some(vec![1, 2, 3, 4, 5, 6, 7, 8]));
        // 010, runs of 0 1 2 0 0 0 0 0 zeros, low bits 1 0 1 0 0 0 0 0.
        assert_eq!(decoded(8, 1, false, &[0b0101_0100, 0b1111_1110, 0b1000_0000], 8).ok(), Some(vec![1, 2, 5, 0, 0, 0, 0, 0]));
        // 000 1, pairs 0 1 2 3: (0, 0) (1, 0) (0, 1) (2, 0).
        assert_eq!(decoded(8, 1, false, &[0b0001_1010, 0b0100_0100], 8).ok(), Some(vec![0, 0, 1, 0, 0, 1, 2, 0]));
        // 000 0, four zeros: all 70 blocks but the ones after the first 64.
        assert_eq!(decoded(8, 70, false, &[0b0000_0000, 0b1000_0000], 8).ok(), Some(vec![0; 64 * 8]));
        // 000 0, first sample 9, one block of zeros: nothing changes.
        assert_eq!(decoded(8, 1, true, &[0b0000_0000, 0b1001_1000], 8).ok(), Some(vec![9; 8]));
    }

    #[test]
    fn damage_is_corrupt() {
        assert!(decoded(8, 1, false, &[], 8).is_err());
        assert!(decoded(8, 1, false, &[0b1110_0000], 8).is_err());
        // Two blocks of zeros in an interval of one.
        assert!(decoded(8, 1, false, &[0b0000_0100], 8).is_err());
        // A pair with a sum of 13.
        let mut stream = [0; 16];
        assert!(decoded(8, 1, false, &stream, 8).is_err());
        stream[0] = 0b0001_0000;
        stream[12] = 0b0001_0000;
        assert!(decoded(8, 1, false, &stream, 8).is_err());
    }
}
