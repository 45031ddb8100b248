//! Adaptive entropy coding (CCSDS 121.0-B), applied: each block takes the shortest coding among splitting at some bit, the
//! second extension (pairs), and samples as they are. Adjacent blocks of zeros share one code.

use super::aec::{Coding, MAX_PAIR_SUM, REST_OF_SEGMENT, SEGMENT_BLOCKS};
use crate::filter::bits::BitWriter;

/// Encodes the samples of one interval. A short interval is filled up to whole blocks with what costs least: the last sample
/// again if distances are stored, otherwise zeros.
pub(super) fn interval(coding: &Coding, samples: &[u32], out: &mut BitWriter) {
    let mut samples = samples.to_vec();
    let padding = samples.last().copied().filter(|_| coding.predicted).unwrap_or(0);
    samples.resize(coding.block.saturating_mul(coding.blocks), padding);
    let mut first_reference = None;
    if coding.predicted {
        predict(coding.sample_bits, &mut samples);
        // The reference is stored apart from its block and counts there as a distance of zero.
        first_reference = samples.first_mut().map(std::mem::take);
    }
    let mut zeros: Option<ZeroRun> = None;
    for (index, block) in samples.chunks(coding.block).enumerate() {
        let reference = first_reference.filter(|_| index == 0);
        if block.iter().any(|sample| *sample != 0) {
            if let Some(run) = zeros.take() {
                run.put(coding, false, out);
            }
            self::block(coding, block, reference, out);
            continue;
        }
        let run = zeros.get_or_insert(ZeroRun { blocks: 0, reference });
        run.blocks += 1;
        let done = index + 1;
        if done == coding.blocks || done.is_multiple_of(SEGMENT_BLOCKS) {
            run.put(coding, true, out);
            zeros = None;
        }
    }
}

/// Adjacent blocks of zeros within one segment.
struct ZeroRun {
    blocks: u64,
    /// The first sample of the interval if the run begins there and distances are stored.
    reference: Option<u32>,
}

impl ZeroRun {
    /// Encodes the run. `to_end` says that it reaches the end of its segment or interval.
    fn put(&self, coding: &Coding, to_end: bool, out: &mut BitWriter) {
        out.put(0, coding.id_bits() + 1);
        put_reference(coding, self.reference, out);
        // The number of this code stands for the rest of the segment, so that numbers from there on are one higher.
        let number = match self.blocks {
            blocks if blocks < REST_OF_SEGMENT => blocks,
            _ if to_end => REST_OF_SEGMENT,
            blocks => blocks + 1,
        };
        put_zeros(number - 1, out);
    }
}

fn put_reference(coding: &Coding, reference: Option<u32>, out: &mut BitWriter) {
    if let Some(reference) = reference {
        out.put(reference.into(), coding.sample_bits);
    }
}

/// `count` zero bits and a one.
fn put_zeros(count: u64, out: &mut BitWriter) {
    out.put(0, u32::try_from(count).unwrap_or(u32::MAX));
    out.put(1, 1);
}

/// Distances from the sample before each, folded to be small, in the place of all samples but the first.
fn predict(sample_bits: u32, samples: &mut [u32]) {
    let highest = u32::MAX >> (32 - sample_bits);
    let half = highest / 2 + 1;
    let mut samples = samples.iter_mut();
    let Some(mut before) = samples.next().map(|first| *first) else { return };
    for sample in samples {
        let value = *sample;
        let is_high = before & half != 0;
        let room = if is_high { highest ^ before } else { before };
        let distance = value.abs_diff(before);
        *sample = if distance > room {
            if is_high { highest ^ value } else { value }
        } else if value >= before {
            distance << 1
        } else {
            (distance << 1) - 1
        };
        before = value;
    }
}

/// What the second extension stores: one number for each two samples. `None` if two of them are too large for it.
fn pair_numbers(samples: &[u32]) -> Option<Vec<u64>> {
    let number = |pair: &[u32; 2]| {
        let [first, second] = pair;
        let sum = first.checked_add(*second).filter(|sum| *sum <= MAX_PAIR_SUM)?;
        Some(u64::from(sum * (sum + 1) / 2 + second))
    };
    samples.as_chunks::<2>().0.iter().map(number).collect()
}

/// Encodes one block that is not all zeros. If there is a reference, it takes the place of the first sample.
fn block(coding: &Coding, samples: &[u32], reference: Option<u32>, out: &mut BitWriter) {
    let (id_bits, sample_bits) = (coding.id_bits(), coding.sample_bits);
    let rest = samples.get(usize::from(reference.is_some())..).unwrap_or_default();
    let verbatim_bits = u64::from(sample_bits) * rest.len() as u64;
    let max_split = (1u32 << id_bits) - 3;
    let split_bits = |low: u32| rest.iter().map(|sample| u64::from(sample >> low) + 1 + u64::from(low)).sum::<u64>();
    let split = (0..=max_split.min(sample_bits)).map(|low| (split_bits(low), low)).min();
    // The second extension has one bit more to name it.
    let pairs = pair_numbers(samples).map(|numbers| (numbers.iter().map(|number| number + 1).sum::<u64>() + 1, numbers));
    let shortest = split.map_or(verbatim_bits, |(bits, _)| bits.min(verbatim_bits));
    if let Some((_, numbers)) = pairs.filter(|(bits, _)| *bits < shortest) {
        out.put(1, id_bits + 1);
        put_reference(coding, reference, out);
        numbers.iter().for_each(|number| put_zeros(*number, out));
        return;
    }
    match split.filter(|(bits, _)| *bits < verbatim_bits) {
        Some((_, low)) => {
            out.put(u64::from(low) + 1, id_bits);
            put_reference(coding, reference, out);
            rest.iter().for_each(|sample| put_zeros((sample >> low).into(), out));
            if low > 0 {
                rest.iter().for_each(|sample| out.put((*sample).into(), low));
            }
        }
        None => {
            out.put((1 << id_bits) - 1, id_bits);
            put_reference(coding, reference, out);
            rest.iter().for_each(|sample| out.put((*sample).into(), sample_bits));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::filter::szip::aec::Decoder;

    /// Bytes of an interval, and what the decoder makes of them.
    fn encoded(coding: &Coding, samples: &[u32]) -> (Vec<u8>, Vec<u32>) {
        let mut bits = BitWriter::default();
        interval(coding, samples, &mut bits);
        let (bytes, mut back) = (bits.finish().0, Vec::new());
        let Coding { sample_bits, block, blocks, predicted } = *coding;
        let outcome = Decoder::new(Coding { sample_bits, block, blocks, predicted }, &bytes).interval(samples.len(), &mut back);
        assert!(outcome.is_ok(), "{outcome:?}");
        back.truncate(samples.len());
        (bytes, back)
    }

    #[test]
    fn zero_blocks_share_a_code_up_to_the_end_of_their_segment() {
        let coding = |blocks| Coding { sample_bits: 8, block: 8, blocks, predicted: false };
        // 000 0 and zeros before a one: 4 of them stand for the rest of a segment, more for as many blocks.
        for (blocks, expected) in [
            (1, &[0b0000_1000][..]),
            (4, &[0b0000_0001]),
            (5, &[0b0000_0000, 0b1000_0000]),
            (64, &[0b0000_0000, 0b1000_0000]),
            (66, &[0b0000_0000, 0b1000_0010]),
            (128, &[0b0000_0000, 0b1000_0000, 0b0100_0000]),
        ] {
            let zeros = vec![0; 8 * blocks];
            assert_eq!(encoded(&coding(blocks), &zeros), (expected.to_vec(), zeros), "{blocks} blocks");
        }
        // Five blocks before one that is not zeros: 000 0, five zeros and a one, then the second extension.
        let samples: Vec<u32> = (0..48).map(|index| u32::from(index == 40)).collect();
        assert_eq!(encoded(&coding(6), &samples), (vec![0b0000_0000, 0b0100_0101, 0b1110_0000], samples));
    }

    proptest! {
        #[test]
        fn runs_of_zeros_come_back(
            runs in proptest::collection::vec((0usize..70, 0usize..3, 1u32..40), 0..8),
            half in 1usize..17, blocks in 1usize..129, sample_bits in 1u32..=32, predicted: bool,
        ) {
            let block = 2 * half;
            let highest = u32::MAX >> (32 - sample_bits);
            let mut samples: Vec<u32> = runs.iter().flat_map(|(zero_blocks, others, value)| {
                std::iter::repeat_n(0, zero_blocks * block + others).chain(std::iter::repeat_n(value & highest, *others))
            }).collect();
            samples.truncate(block * blocks);
            prop_assert_eq!(encoded(&Coding { sample_bits, block, blocks, predicted }, &samples).1, samples);
        }
    }
}
