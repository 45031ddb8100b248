//! Shuffle (2): the first bytes of all elements, then the second bytes, …

/// Undoes the shuffle; what was in `out` is lost. Bytes at the end that do not fill an element were never shuffled.
pub(super) fn decode(input: &[u8], element: usize, out: &mut Vec<u8>) {
    let count = input.len().checked_div(element).unwrap_or(0);
    if element <= 1 || count <= 1 {
        out.clear();
        out.extend_from_slice(input);
        return;
    }
    let (planes, tail) = input.split_at(count * element);
    out.resize(planes.len(), 0);
    match element {
        2 => fixed::<2>(planes, count, out),
        4 => fixed::<4>(planes, count, out),
        8 => fixed::<8>(planes, count, out),
        _ => {
            for (byte, plane) in planes.chunks_exact(count).enumerate() {
                for (to, from) in out.iter_mut().skip(byte).step_by(element).zip(plane) {
                    *to = *from;
                }
            }
        }
    }
    out.extend_from_slice(tail);
}

/// Elements that are put together in one go; a compiler makes SIMD of loops of a known length.
const BLOCK: usize = 32;

/// The widths of numbers: a whole element is put together at a time.
fn fixed<const N: usize>(planes: &[u8], count: usize, out: &mut [u8]) {
    let mut plane = planes.chunks_exact(count);
    let planes: [(&[[u8; BLOCK]], &[u8]); N] = std::array::from_fn(|_| plane.next().unwrap_or_default().as_chunks());
    let (elements, _) = out.as_chunks_mut::<N>();
    let (blocks, rest) = elements.as_chunks_mut::<BLOCK>();
    for (number, block) in blocks.iter_mut().enumerate() {
        let bytes: [[u8; BLOCK]; N] = planes.map(|(blocks, _)| blocks.get(number).copied().unwrap_or([0; BLOCK]));
        for (place, element) in block.iter_mut().enumerate() {
            *element = bytes.each_ref().map(|plane| plane.get(place).copied().unwrap_or(0));
        }
    }
    for (number, element) in rest.iter_mut().enumerate() {
        *element = planes.map(|(_, rest)| rest.get(number).copied().unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
            input in proptest::collection::vec(any::<u8>(), 0..300),
            element in 1usize..20,
        ) {
            let mut out = Vec::new();
            decode(&shuffled(&input, element), element, &mut out);
            prop_assert_eq!(out, input);
        }
    }
}
