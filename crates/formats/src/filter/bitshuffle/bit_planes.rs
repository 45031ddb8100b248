//! Bit planes: the lowest bits of all elements, then the next bits, …; bitshuffle's idea, also in blosc.
//!
//! Undone in two steps: squares of 8 by 8 bits are turned, which gives the bytes of eight elements each, and
//! bytes are put side by side.

use hyperslab_array::interleave::{self, NO_PLANE, Plane, STRIP};

/// Elements of a long strip: a [`Plane`] of each bit.
const ELEMENTS: usize = 8 * STRIP;
/// Bytes of an element that wait to be put together.
const GROUP: usize = 8;

/// Puts elements together from their bit planes. Both sides have the same length, a multiple of
/// 8 elements.
pub(in crate::filter) fn decode(planes: &[u8], element: usize, out: &mut [u8]) {
    let plane = planes.len() / 8 / element.max(1);
    if plane == 0 {
        return;
    }
    // With the widest instructions that the processor has, not only those that all have.
    pulp::Arch::new().dispatch(Undo { planes, plane, element, out });
}

/// [`decode_blocks`], compiled once for each kind of processor.
struct Undo<'a> {
    planes: &'a [u8],
    /// Bytes of a plane.
    plane: usize,
    element: usize,
    out: &'a mut [u8],
}

impl pulp::NullaryFnOnce for Undo<'_> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let Self { planes, plane, element, out } = self;
        strips(planes, plane, element, out);
    }
}

#[inline(always)]
fn strips(planes: &[u8], plane: usize, element: usize, out: &mut [u8]) {
    let mut at = 0;
    let mut strips = out.chunks_exact_mut(ELEMENTS * element);
    for strip in &mut strips {
        match element {
            1 => long_strip::<1>(planes, plane, at, element, strip),
            2 => long_strip::<2>(planes, plane, at, element, strip),
            4 => long_strip::<4>(planes, plane, at, element, strip),
            _ => long_strip::<GROUP>(planes, plane, at, element, strip),
        }
        at += STRIP;
    }
    squares(planes, plane, at, element, strips.into_remainder());
}

/// The bit planes of elements, the inverse of [`decode_blocks`].
pub(in crate::filter) fn make(elements: &[u8], element: usize, planes: &mut [u8]) {
    let plane = elements.len() / 8 / element.max(1);
    if plane == 0 {
        return;
    }
    for (byte, planes) in planes.chunks_exact_mut(plane * 8).enumerate() {
        for (index, elements) in elements.chunks_exact(element * 8).enumerate() {
            let mut bytes = elements.iter().skip(byte).step_by(element);
            let rows: [u8; 8] = std::array::from_fn(|_| bytes.next().copied().unwrap_or(0));
            let columns = square(u64::from_le_bytes(rows)).to_le_bytes();
            for (to, from) in planes.iter_mut().skip(index).step_by(plane).zip(columns) {
                *to = from;
            }
        }
    }
}

/// Elements whose bits begin at byte `at` of each plane, `N` bytes of them at a time.
#[inline(always)]
fn long_strip<const N: usize>(planes: &[u8], plane: usize, at: usize, element: usize, out: &mut [u8]) {
    let mut bytes = [[0; ELEMENTS]; N];
    for first in (0..element).step_by(N) {
        let width = N.min(element - first);
        for (byte, bytes) in (first..element).zip(&mut bytes) {
            let rows = |bit: usize| planes.get((byte * 8 + bit) * plane + at..).and_then(|rest| rest.first_chunk());
            let turned = turned(std::array::from_fn(|bit| *rows(bit).unwrap_or(&NO_PLANE)));
            interleave::eights(turned.each_ref(), interleave::all(bytes));
        }
        for (index, out) in out.chunks_exact_mut(STRIP * element).enumerate() {
            let plane = |byte: usize| bytes.get(byte).and_then(|bytes| bytes.as_chunks().0.get(index)).unwrap_or(&NO_PLANE);
            interleave::strip(plane, width, element, first, out);
        }
    }
}

/// The bytes of the first of eight elements, of the second of eight, …: a square of 8 by 8 bits for each byte
/// of the rows. Swaps squares of 1, 2 and 4 bits.
#[inline(always)]
fn turned(mut rows: [Plane; 8]) -> [Plane; 8] {
    let [a, b, c, d, e, f, g, h] = &mut rows;
    let all = a.iter_mut().zip(b).zip(c.iter_mut().zip(d)).zip(e.iter_mut().zip(f).zip(g.iter_mut().zip(h)));
    for (((a, b), (c, d)), ((e, f), (g, h))) in all {
        for (low, high) in [(&mut *a, &mut *b), (&mut *c, &mut *d), (&mut *e, &mut *f), (&mut *g, &mut *h)] {
            swap::<1>(low, high, 0x55);
        }
        for (low, high) in [(&mut *a, &mut *c), (&mut *b, &mut *d), (&mut *e, &mut *g), (&mut *f, &mut *h)] {
            swap::<2>(low, high, 0x33);
        }
        for (low, high) in [(a, e), (b, f), (c, g), (d, h)] {
            swap::<4>(low, high, 0x0f);
        }
    }
    rows
}

/// The high bits of one for the low bits of the other.
#[inline(always)]
fn swap<const BITS: u32>(low: &mut u8, high: &mut u8, mask: u8) {
    let swapped = (*low >> BITS ^ *high) & mask;
    *high ^= swapped;
    *low ^= swapped << BITS;
}

/// The elements after the long strips, eight at a time.
fn squares(planes: &[u8], plane: usize, at: usize, element: usize, out: &mut [u8]) {
    for (byte, planes) in planes.chunks_exact(plane * 8).enumerate() {
        let mut plane = planes.chunks_exact(plane);
        let plane: [&[u8]; 8] = std::array::from_fn(|_| plane.next().and_then(|plane| plane.get(at..)).unwrap_or_default());
        for (index, elements) in out.chunks_exact_mut(element * 8).enumerate() {
            let rows = plane.map(|plane| plane.get(index).copied().unwrap_or(0));
            let columns = square(u64::from_le_bytes(rows)).to_le_bytes();
            for (to, from) in elements.iter_mut().skip(byte).step_by(element).zip(columns) {
                *to = from;
            }
        }
    }
}

/// A square of 8 by 8 bits, a byte a row: rows become columns.
fn square(mut square: u64) -> u64 {
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

    /// The definition, bit by bit.
    fn planes_of(bytes: &[u8], element: usize) -> Vec<u8> {
        let count = bytes.len() / element;
        let mut planes = vec![0u8; bytes.len()];
        for (place, byte) in bytes.iter().enumerate() {
            let (index, byte_of_element) = (place / element, place % element);
            for bit in 0..8 {
                let at = (byte_of_element * 8 + bit) * (count / 8) + index / 8;
                if let Some(target) = planes.get_mut(at) {
                    *target |= (byte >> bit & 1) << (index % 8);
                }
            }
        }
        planes
    }

    proptest! {
        #[test]
        fn elements_come_back(element in 1usize..12, eights in 1usize..if cfg!(miri) { 8 } else { 200 }, seed in any::<u64>()) {
            let count = eights * 8;
            let bytes: Vec<u8> = (0..count * element).map(|n| seed.rotate_left(u32::try_from(n % 61).unwrap_or(0)).to_le_bytes()[0]).collect();
            let mut out = vec![0; bytes.len()];
            decode(&planes_of(&bytes, element), element, &mut out);
            prop_assert_eq!(&out, &bytes);
            let mut planes = vec![0; bytes.len()];
            make(&bytes, element, &mut planes);
            prop_assert_eq!(planes, planes_of(&bytes, element));
        }
    }

    #[test]
    fn every_width_up_to_33_comes_back_in_long_strips() {
        // Miri takes long for a long strip.
        for element in if cfg!(miri) { 5..=5 } else { 1..=33 } {
            let bytes: Vec<u8> = (0..element * (ELEMENTS + 16)).map(|n| (n * 31 + n / 251).to_le_bytes()[0]).collect();
            let mut out = vec![9; bytes.len()];
            decode(&planes_of(&bytes, element), element, &mut out);
            assert_eq!(out, bytes, "elements of {element} bytes");
        }
    }
}
