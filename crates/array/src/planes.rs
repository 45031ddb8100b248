//! Planes: elements whose first bytes lie together, then their second bytes, … as the shuffle filter leaves them.

use crate::interleave::{self, NO_PLANE, STRIP};

/// Joins `out.len() / size` elements of `size` bytes, from index `first` on, from `planes` of
/// `planes.len() / size` elements. `None` if there are not that many.
pub fn join_planes(planes: &[u8], size: usize, first: usize, out: &mut [u8]) -> Option<()> {
    let total = planes.len().checked_div(size)?;
    let count = out.len() / size;
    let end = first.checked_add(count)?;
    if end > total || !out.len().is_multiple_of(size) || !planes.len().is_multiple_of(size) {
        return None;
    }
    if count == 0 {
        return Some(());
    }
    // A strip's length of each plane, that begins at element `from`.
    let plane = |byte: usize, from: usize| planes.get(byte * total + from..).and_then(|rest| rest.first_chunk());
    let mut strips = out.chunks_exact_mut(STRIP * size);
    let mut from = first;
    for strip in &mut strips {
        interleave::strip(|byte| plane(byte, from).unwrap_or(&NO_PLANE), size, size, 0, strip);
        from += STRIP;
    }
    let rest = strips.into_remainder();
    for (byte, plane) in planes.chunks_exact(total).enumerate() {
        for (to, from) in rest.iter_mut().skip(byte).step_by(size).zip(plane.get(from..end)?) {
            *to = *from;
        }
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
            elements in proptest::collection::vec(any::<[u8; 24]>(), 0..300),
            size in 1usize..=24,
            first in 0usize..300,
            count in 0usize..300,
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
