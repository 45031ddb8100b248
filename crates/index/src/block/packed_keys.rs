//! Packed keys: sorted keys stored as differences, in groups of 64. All differences of a group have the same width in bits,
//! the width of the largest one.
//!
//! Group j holds the keys with ranks 64 j to 64 j + 63. Its first key is a *sample* and is stored separately. A group of
//! w-bit differences takes w little-endian words of 64 bits. Bits n·w to n·w + w - 1 hold key n minus key n - 1; the first
//! difference is 0. The *starts* are stored next to the words: the index of each group's first word, 16 bits each.
//!
//! Example: the keys 10, 11, 15 have the sample 10 and the differences 0, 1, 4. These need 3 bits each, so that the group
//! takes 3 words.

use arrow_buffer::Buffer;

use crate::block::block_keys::Key;

/// Number of keys in a group.
pub(crate) const GROUP_KEYS: usize = 64;

/// Every `step`th key, little endian.
pub(crate) fn samples<K: Key>(sorted: &[K], step: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(sorted.len().div_ceil(step) * K::WIDTH);
    for key in sorted.iter().step_by(step) {
        bytes.extend_from_slice(Into::<u64>::into(*key).to_le_bytes().get(..K::WIDTH).unwrap_or_default());
    }
    bytes
}

/// Packs ascending keys. Returns the starts and the words.
pub(crate) fn pack<K: Key>(sorted: &[K]) -> (Vec<u8>, Buffer) {
    let groups = sorted.len().div_ceil(GROUP_KEYS);
    let mut starts = Vec::with_capacity(groups * 2);
    let mut words: Vec<u64> = Vec::new();
    for group in sorted.chunks(GROUP_KEYS) {
        // At most 1,023 groups of at most 64 words come before the last one, so that 16 bits are enough.
        starts.extend_from_slice(&(words.len() as u16).to_le_bytes());
        let mut differences = [0u64; GROUP_KEYS];
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

/// The byte range of a group's words, given the length of all words in bytes. `None` if the starts are invalid.
pub(crate) fn group_range(starts: &[u8], group: usize, length: usize) -> Option<std::ops::Range<usize>> {
    let start = |index: usize| Some(usize::from(u16::from_le_bytes(*starts.get(index * 2..)?.first_chunk::<2>()?)));
    let first = start(group)?;
    let end = start(group + 1).unwrap_or(length / 8);
    (first <= end && end - first <= 64).then_some(first * 8..end * 8)
}

/// Unpacks the keys of a group from its sample, which is the first key, and its words.
pub(crate) fn unpack(sample: u64, words: &[u8], keys: &mut [u64; GROUP_KEYS]) {
    let width = words.len() / 8;
    let (words, _) = words.as_chunks::<8>();
    let mut buffer = [0u64; 65];
    for (slot, word) in buffer.iter_mut().zip(words.iter().take(64)) {
        *slot = u64::from_le_bytes(*word);
    }
    let mask = if width >= 64 { u64::MAX } else { (1u64 << width) - 1 };
    let mut key = sample;
    for (index, slot) in keys.iter_mut().enumerate() {
        let bit = index * width;
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
        let (samples, (starts, packed)) = (samples(&keys, GROUP_KEYS), pack(&keys));
        for (index, group) in keys.chunks(GROUP_KEYS).enumerate() {
            let sample = u64::from_le_bytes(samples[index * 8..][..8].try_into().map_err(|_| TestCaseError::fail("sample"))?);
            let words = group_range(&starts, index, packed.len()).ok_or_else(|| TestCaseError::fail("range"))?;
            let mut found = [0; GROUP_KEYS];
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
