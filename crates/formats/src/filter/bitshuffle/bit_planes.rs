//! Bit planes: the lowest bits of all elements, then the next bits, …; bitshuffle's idea, also in blosc.

/// Puts elements together from their bit planes. Both sides have the same length, a multiple of
/// 8 elements.
pub(in crate::filter) fn undo(planes: &[u8], element: usize, out: &mut [u8]) {
    let plane = planes.len() / 8 / element.max(1);
    if plane == 0 {
        return;
    }
    for (byte, planes) in planes.chunks_exact(plane * 8).enumerate() {
        let mut plane = planes.chunks_exact(plane);
        let plane: [&[u8]; 8] = std::array::from_fn(|_| plane.next().unwrap_or_default());
        for (number, elements) in out.chunks_exact_mut(element * 8).enumerate() {
            let rows = plane.map(|plane| plane.get(number).copied().unwrap_or(0));
            let columns = transposed(u64::from_le_bytes(rows)).to_le_bytes();
            for (to, from) in elements.iter_mut().skip(byte).step_by(element).zip(columns) {
                *to = from;
            }
        }
    }
}

/// A square of 8 by 8 bits, a byte a row: rows become columns. Swaps squares of 1, 2 and 4 bits.
fn transposed(mut square: u64) -> u64 {
    for (distance, mask) in [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)] {
        let swapped = (square ^ square >> distance) & mask;
        square ^= swapped ^ swapped << distance;
    }
    square
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn elements_come_back(element in 1usize..12, eights in 1usize..6, seed in any::<u64>()) {
            let count = eights * 8;
            let bytes: Vec<u8> = (0..count * element).map(|n| seed.rotate_left(u32::try_from(n % 61).unwrap_or(0)).to_le_bytes()[0]).collect();
            // The definition, bit by bit.
            let mut planes = vec![0u8; bytes.len()];
            for (place, byte) in bytes.iter().enumerate() {
                let (number, byte_of_element) = (place / element, place % element);
                for bit in 0..8 {
                    let at = (byte_of_element * 8 + bit) * (count / 8) + number / 8;
                    if let Some(target) = planes.get_mut(at) {
                        *target |= (byte >> bit & 1) << (number % 8);
                    }
                }
            }
            let mut out = vec![0; bytes.len()];
            undo(&planes, element, &mut out);
            prop_assert_eq!(out, bytes);
        }
    }
}
