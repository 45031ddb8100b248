//! Bitmaps of tests: one bit for each value, computed without branches.

use arrow_buffer::{BooleanBuffer, Buffer};

/// Values that are tested before their bits are packed.
const BLOCK: usize = 64;

/// Bit n is `test` of value n. The compiler vectorizes a test without branches.
pub(super) fn bits<T: Copy>(values: &[T], test: impl Fn(T) -> bool) -> BooleanBuffer {
    let (blocks, rest) = values.as_chunks::<BLOCK>();
    let mut words: Vec<u64> = Vec::with_capacity(blocks.len() + 1);
    words.extend(blocks.iter().map(|block| packed(&block.map(|value| u8::from(test(value))))));
    if !rest.is_empty() {
        words.push(rest.iter().enumerate().fold(0, |word, (place, value)| word | u64::from(test(*value)) << place).to_le());
    }
    BooleanBuffer::new(Buffer::from_vec(words), 0, values.len())
}

/// Bit n is `test` of the values n of both.
pub(super) fn bits_of_pairs<T: Copy>(left: &[T], right: &[T], test: impl Fn(T, T) -> bool) -> BooleanBuffer {
    let ((left_blocks, left_rest), (right_blocks, right_rest)) = (left.as_chunks::<BLOCK>(), right.as_chunks::<BLOCK>());
    let mut words: Vec<u64> = Vec::with_capacity(left_blocks.len() + 1);
    words.extend(left_blocks.iter().zip(right_blocks).map(|(left, right)| {
        let mut flags = [0; BLOCK];
        flags.iter_mut().zip(left.iter().zip(right)).for_each(|(flag, (left, right))| *flag = u8::from(test(*left, *right)));
        packed(&flags)
    }));
    if !left_rest.is_empty() {
        let pairs = left_rest.iter().zip(right_rest).enumerate();
        words.push(pairs.fold(0, |word, (place, (left, right))| word | u64::from(test(*left, *right)) << place).to_le());
    }
    BooleanBuffer::new(Buffer::from_vec(words), 0, left.len().min(right.len()))
}

/// The lowest bits of 64 bytes, the first one lowest, in the byte order of Arrow's bitmaps.
fn packed(flags: &[u8; BLOCK]) -> u64 {
    // Moves bit 0 of byte n to bit 56 + n; the partial products do not overlap.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let (eights, _) = flags.as_chunks::<8>();
    let mut bytes = [0; 8];
    for (byte, eight) in bytes.iter_mut().zip(eights) {
        *byte = (u64::from_le_bytes(*eight).wrapping_mul(GATHER) >> 56) as u8;
    }
    u64::from_ne_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bits_are_the_tests_one_by_one(values in proptest::collection::vec(any::<u8>(), 0..400), least in any::<u8>()) {
            let wanted: Vec<bool> = values.iter().map(|value| *value >= least).collect();
            let found: Vec<bool> = bits(&values, |value| value >= least).iter().collect();
            prop_assert_eq!(found, wanted);
        }

        #[test]
        fn bits_of_pairs_are_the_tests_one_by_one(pairs in proptest::collection::vec(any::<(u8, u8)>(), 0..400)) {
            let (left, right): (Vec<u8>, Vec<u8>) = pairs.iter().copied().unzip();
            let wanted: Vec<bool> = pairs.iter().map(|(left, right)| left < right).collect();
            let found: Vec<bool> = bits_of_pairs(&left, &right, |left, right| left < right).iter().collect();
            prop_assert_eq!(found, wanted);
        }
    }
}
