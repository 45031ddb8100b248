//! Packed keys: sorted keys as differences, 64 of them in as many bits as the greatest needs.
//!
//! Group j holds the keys numbered 64 j to 64 j + 63. The first of each is a *sample*, kept apart.
//! A group of w-bit differences is w words of 64 bits (little endian), the difference of key n to its
//! predecessor in bits n·w up; that of the first is 0. Apart from the words are the *starts*, the numbers
//! of the groups' first words, 16 bits each.

use arrow_buffer::Buffer;

use crate::build::block_keys::Key;

/// Keys of a group.
pub(crate) const GROUP: usize = 64;

/// Each `step`th key, little endian.
pub(crate) fn samples<K: Key>(sorted: &[K], step: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(sorted.len().div_ceil(step) * K::WIDTH);
    for key in sorted.iter().step_by(step) {
        bytes.extend_from_slice(Into::<u64>::into(*key).to_le_bytes().get(..K::WIDTH).unwrap_or_default());
    }
    bytes
}

/// Packs rising keys: the numbers of the groups' first words, and the words.
pub(crate) fn pack<K: Key>(sorted: &[K]) -> (Vec<u8>, Buffer) {
    let groups = sorted.len().div_ceil(GROUP);
    let mut starts = Vec::with_capacity(groups * 2);
    let mut words: Vec<u64> = Vec::new();
    for group in sorted.chunks(GROUP) {
        // 1,023 groups before the last have 64 words each at most.
        starts.extend_from_slice(&(words.len() as u16).to_le_bytes());
        let mut differences = [0u64; GROUP];
        let mut all = 0;
        for (slot, pair) in differences.iter_mut().skip(1).zip(group.windows(2)) {
            if let [before, key] = pair {
                *slot = Into::<u64>::into(*key) - Into::<u64>::into(*before);
                all |= *slot;
            }
        }
        let width = u64::BITS - all.leading_zeros();
        let (mut word, mut filled) = (0u64, 0);
        if width == 64 {
            words.extend_from_slice(&differences);
        } else if width > 0 {
            for difference in differences {
                word |= difference << filled;
                filled += width;
                if filled >= 64 {
                    words.push(word);
                    filled -= 64;
                    word = if filled == 0 { 0 } else { difference >> (width - filled) };
                }
            }
        }
    }
    words.iter_mut().for_each(|word| *word = word.to_le());
    (starts, Buffer::from_vec(words))
}

/// Where the words of a group lie among words of `length` bytes: a range of bytes. `None` for bytes that are no
/// packed keys.
pub(crate) fn group_range(starts: &[u8], group: usize, length: usize) -> Option<std::ops::Range<usize>> {
    let start = |number: usize| Some(usize::from(u16::from_le_bytes(*starts.get(number * 2..)?.first_chunk::<2>()?)));
    let first = start(group)?;
    let end = start(group + 1).unwrap_or(length / 8);
    (first <= end && end - first <= 64).then_some(first * 8..end * 8)
}

/// The keys of one group, of which `sample` is the first, from its words.
pub(crate) fn unpack(sample: u64, words: &[u8], keys: &mut [u64; GROUP]) {
    let width = words.len() / 8;
    let (words, _) = words.as_chunks::<8>();
    let mut buffer = [0u64; 65];
    for (slot, word) in buffer.iter_mut().zip(words.iter().take(64)) {
        *slot = u64::from_le_bytes(*word);
    }
    let mask = if width >= 64 { u64::MAX } else { (1u64 << width) - 1 };
    let mut key = sample;
    for (number, slot) in keys.iter_mut().enumerate() {
        let bit = number * width;
        let (word, shift) = ((bit / 64).min(63), bit % 64);
        let low = buffer[word] >> shift;
        let high = if shift == 0 { 0 } else { buffer[word + 1] << (64 - shift) };
        key = key.wrapping_add((low | high) & mask);
        *slot = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(mut keys: Vec<u64>) -> Result<(), TestCaseError> {
        keys.sort_unstable();
        let (samples, (starts, packed)) = (samples(&keys, GROUP), pack(&keys));
        for (number, group) in keys.chunks(GROUP).enumerate() {
            let sample = u64::from_le_bytes(samples[number * 8..][..8].try_into().map_err(|_| TestCaseError::fail("sample"))?);
            let words = group_range(&starts, number, packed.len()).ok_or_else(|| TestCaseError::fail("range"))?;
            let mut found = [0; GROUP];
            unpack(sample, &packed[words], &mut found);
            prop_assert_eq!(&found[..group.len()], group);
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn keys_come_back(wide in proptest::collection::vec(any::<u64>(), 0..300), close in proptest::collection::vec(0u64..1000, 0..300), bits in 0u32..64) {
            check(wide.iter().map(|key| key >> bits).collect())?;
            check(close)?;
            check(wide)?;
            check(vec![0, u64::MAX])?;
        }
    }
}
