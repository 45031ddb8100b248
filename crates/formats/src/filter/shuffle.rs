//! Shuffle (2): the first bytes of all elements, then the second bytes, …

use hyperslab_array::{Error, Result, join_planes};

/// Undoes the shuffle; what was in `out` is lost. Bytes at the end that do not fill an element were never shuffled.
pub(super) fn decode(input: &[u8], element: usize, out: &mut Vec<u8>) -> Result<()> {
    if element <= 1 || input.len() < element {
        out.clear();
        out.extend_from_slice(input);
        return Ok(());
    }
    out.resize(input.len(), 0);
    decode_into(input, element, out)
}

/// Undoes the shuffle from one buffer into another of the same length.
pub(super) fn decode_into(input: &[u8], element: usize, out: &mut [u8]) -> Result<()> {
    if input.len() != out.len() {
        return Err(Error::internal(format!("shuffle: {} bytes for {}", input.len(), out.len())));
    }
    let count = input.len().checked_div(element).unwrap_or(0);
    if element <= 1 || count <= 1 {
        out.copy_from_slice(input);
        return Ok(());
    }
    let (planes, tail) = input.split_at(count * element);
    let (elements, plain) = out.split_at_mut(count * element);
    plain.copy_from_slice(tail);
    join_planes(planes, element, 0, elements).ok_or_else(|| Error::internal("shuffle: planes that do not fit their elements"))
}

/// Shuffles. Bytes at the end that do not fill an element stay as they are.
pub(super) fn encode(input: &[u8], element: usize) -> Vec<u8> {
    if element <= 1 || input.len() < 2 * element {
        return input.to_vec();
    }
    let count = input.len() / element;
    let (elements, tail) = input.split_at(count * element);
    let mut out = vec![0; input.len()];
    let (planes, plain) = out.split_at_mut(count * element);
    match element {
        2 => spread::<2>(elements, planes),
        4 => spread::<4>(elements, planes),
        8 => spread::<8>(elements, planes),
        _ => {
            for (byte, plane) in planes.chunks_exact_mut(count).enumerate() {
                for (to, from) in plane.iter_mut().zip(elements.iter().skip(byte).step_by(element)) {
                    *to = *from;
                }
            }
        }
    }
    plain.copy_from_slice(tail);
    out
}

/// Elements of a width that is known when this is compiled, a few at a time so that their bytes stay near.
fn spread<const WIDTH: usize>(elements: &[u8], planes: &mut [u8]) {
    /// Elements that the nearest memory holds.
    const BLOCK_ELEMENTS: usize = 1024;
    let (elements, _) = elements.as_chunks::<WIDTH>();
    let count = elements.len();
    for (index, near) in elements.chunks(BLOCK_ELEMENTS).enumerate() {
        for (byte, plane) in planes.chunks_exact_mut(count).enumerate() {
            let Some(plane) = plane.get_mut(index * BLOCK_ELEMENTS..) else { continue };
            for (to, from) in plane.iter_mut().zip(near) {
                *to = from.get(byte).copied().unwrap_or(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyperslab_array::interleave::STRIP;
    use proptest::prelude::*;

    /// The shuffle as its definition says it.
    fn shuffled(input: &[u8], element: usize) -> Vec<u8> {
        let count = input.len() / element;
        let mut out: Vec<u8> =
            (0..element).flat_map(|byte| (0..count).map(move |n| (byte, n))).filter_map(|(byte, n)| input.get(n * element + byte).copied()).collect();
        out.extend(input.iter().skip(count * element));
        out
    }

    proptest! {
        #[test]
        fn unshuffling_gives_back_what_was_shuffled(
            (element, input) in (1usize..20).prop_flat_map(|element| {
                // Strips, and elements and bytes left over.
                (Just(element), proptest::collection::vec(any::<u8>(), 0..STRIP * element * if cfg!(miri) { 1 } else { 3 }))
            }),
        ) {
            let mut out = Vec::new();
            prop_assert!(decode(&shuffled(&input, element), element, &mut out).is_ok());
            prop_assert_eq!(&out, &input);
            prop_assert_eq!(encode(&input, element), shuffled(&input, element));
        }
    }

    #[test]
    fn every_width_up_to_33_comes_back_in_whole_strips() {
        for element in if cfg!(miri) { 7..=9 } else { 1..=33 } {
            let input: Vec<u8> = (0..element * (STRIP * 2 + 3)).map(|n| (n * 31 + n / 251).to_le_bytes()[0]).collect();
            let mut out = vec![9; 7];
            assert!(decode(&shuffled(&input, element), element, &mut out).is_ok());
            assert_eq!(out, input, "elements of {element} bytes");
        }
    }
}
