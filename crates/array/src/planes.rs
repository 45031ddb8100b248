//! Planes: elements whose first bytes lie together, then their second bytes, … as the shuffle filter leaves them.

/// Elements that are put together in one go; a compiler makes SIMD of loops of a known length.
const BLOCK: usize = 32;

/// Puts `out.len() / size` elements of `size` bytes together, from number `first` on; `planes` are those
/// of `planes.len() / size` elements. `None` where these are not that many.
pub fn join_planes(planes: &[u8], size: usize, first: usize, out: &mut [u8]) -> Option<()> {
    let total = planes.len().checked_div(size)?;
    let count = out.len() / size;
    let end = first.checked_add(count)?;
    if end > total || out.len() % size != 0 || planes.len() % size != 0 {
        return None;
    }
    if count == 0 {
        return Some(());
    }
    match size {
        2 => fixed::<2>(planes, total, first..end, out),
        4 => fixed::<4>(planes, total, first..end, out),
        8 => fixed::<8>(planes, total, first..end, out),
        _ => {
            for (byte, plane) in planes.chunks_exact(total).enumerate() {
                for (to, from) in out.iter_mut().skip(byte).step_by(size).zip(plane.get(first..end)?) {
                    *to = *from;
                }
            }
            Some(())
        }
    }
}

/// The widths of numbers: whole elements are put together.
fn fixed<const N: usize>(planes: &[u8], total: usize, wanted: std::ops::Range<usize>, out: &mut [u8]) -> Option<()> {
    let mut plane = planes.chunks_exact(total);
    let planes: [&[u8]; N] = std::array::from_fn(|_| plane.next().and_then(|plane| plane.get(wanted.clone())).unwrap_or_default());
    let planes = planes.map(|plane| plane.as_chunks::<BLOCK>());
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
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn joined_planes_are_the_elements_that_were_taken_apart(
            elements in proptest::collection::vec(any::<[u8; 24]>(), 0..200),
            size in 1usize..=24,
            first in 0usize..200,
            count in 0usize..200,
        ) {
            let planes: Vec<u8> = (0..size).flat_map(|byte| elements.iter().map(move |element| element[byte])).collect();
            let fits = first + count <= elements.len();
            let mut out = vec![0xee; count * size];
            let joined = join_planes(&planes, size, first, &mut out);
            prop_assert_eq!(joined.is_some(), fits);
            if fits {
                let wanted: Vec<u8> = elements[first..first + count].iter().flat_map(|element| element[..size].to_vec()).collect();
                prop_assert_eq!(out, wanted);
            }
        }
    }
}
