//! Adaptive entropy coding (CCSDS 121.0-B), applied: the shortest of splitting at some bit, a block of zeros, and samples as
//! they are. Runs of zero blocks and the second extension are not used.

use super::aec::Coding;
use crate::filter::bits::BitWriter;

/// Codes the samples of one interval, filled up to whole blocks with their last one.
pub(super) fn interval(coding: &Coding, samples: &[u32], out: &mut BitWriter) {
    let mut samples = samples.to_vec();
    let last = samples.last().copied().unwrap_or(0);
    samples.resize(coding.block.saturating_mul(coding.blocks), last);
    if coding.predicted {
        predict(coding.sample_bits, &mut samples);
    }
    for (number, block) in samples.chunks(coding.block).enumerate() {
        self::block(coding, block, coding.predicted && number == 0, out);
    }
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

/// Encodes one block. If `first`, its first sample is stored verbatim, as the reference.
fn block(coding: &Coding, samples: &[u32], first: bool, out: &mut BitWriter) {
    let (id_bits, sample_bits) = (coding.id_bits(), coding.sample_bits);
    let (reference, rest) = match samples.split_first() {
        Some((reference, rest)) if first => (Some(*reference), rest),
        _ => (None, samples),
    };
    let put_reference = |out: &mut BitWriter| reference.iter().for_each(|reference| out.put((*reference).into(), sample_bits));
    if rest.iter().all(|sample| *sample == 0) {
        // One block of zeros.
        out.put(0, id_bits + 1);
        put_reference(out);
        out.put(1, 1);
        return;
    }
    let plain = u64::from(sample_bits) * rest.len() as u64;
    let max_split = (1u32 << id_bits) - 3;
    let split = |bits: u32| rest.iter().map(|sample| u64::from(sample >> bits) + 1 + u64::from(bits)).sum::<u64>();
    let best = (0..=max_split.min(sample_bits)).map(|bits| (split(bits), bits)).min();
    match best.filter(|(length, _)| *length < plain) {
        Some((_, bits)) => {
            out.put(u64::from(bits) + 1, id_bits);
            put_reference(out);
            for sample in rest {
                out.put(0, sample >> bits);
                out.put(1, 1);
            }
            if bits > 0 {
                rest.iter().for_each(|sample| out.put((*sample).into(), bits));
            }
        }
        None => {
            out.put((1 << id_bits) - 1, id_bits);
            samples.iter().for_each(|sample| out.put((*sample).into(), sample_bits));
        }
    }
}
