//! Interleaves planes of bytes to elements: unshuffle, and one half of un-bitshuffle.
//!
//! Planes are merged in pairs, fours and eights, a strip at a time. Each step is a loop of constant length over
//! numbers twice as wide, which the compiler vectorizes without explicit SIMD.

/// Elements that are interleaved at a time.
pub const STRIP: usize = 64;

/// The bytes number n of the elements of a strip.
pub type Plane = [u8; STRIP];

/// Stands for a missing plane.
pub static NO_PLANE: Plane = [0; STRIP];

/// Puts `width` bytes of each element of a strip together in `out`, from byte `first` of the elements on:
/// `plane` gives the plane of each, counted from there.
#[inline(always)]
pub fn strip<'a>(plane: impl Fn(usize) -> &'a Plane, width: usize, element: usize, first: usize, out: &mut [u8]) {
    // Where elements are whole, the length is known to the compiler.
    match (width, element) {
        (2, 2) => _ = out.first_chunk_mut().map(|out: &mut [u8; 2 * STRIP]| twos(std::array::from_fn(plane), all(out))),
        (4, 4) => _ = out.first_chunk_mut().map(|out: &mut [u8; 4 * STRIP]| fours(std::array::from_fn(plane), all(out))),
        (8, 8) => _ = out.first_chunk_mut().map(|out: &mut [u8; 8 * STRIP]| eights(std::array::from_fn(plane), all(out))),
        _ => {
            let mut byte = 0;
            while byte + 8 <= width {
                eights(std::array::from_fn(|n| plane(byte + n)), parts(element, first + byte, out));
                byte += 8;
            }
            if byte + 4 <= width {
                fours(std::array::from_fn(|n| plane(byte + n)), parts(element, first + byte, out));
                byte += 4;
            }
            if byte + 2 <= width {
                twos(std::array::from_fn(|n| plane(byte + n)), parts(element, first + byte, out));
                byte += 2;
            }
            if byte < width {
                for (to, from) in parts::<1>(element, first + byte, out).zip(plane(byte)) {
                    *to = [*from];
                }
            }
        }
    }
}

/// Elements of `W` bytes.
#[inline(always)]
pub fn all<const W: usize, const BYTES: usize>(out: &mut [u8; BYTES]) -> impl Iterator<Item = &mut [u8; W]> {
    out.as_chunks_mut().0.iter_mut()
}

/// Bytes `first..first + W` of each element.
#[inline(always)]
fn parts<const W: usize>(element: usize, first: usize, out: &mut [u8]) -> impl Iterator<Item = &mut [u8; W]> {
    out.chunks_exact_mut(element).filter_map(move |element| element.get_mut(first..)?.first_chunk_mut())
}

/// Interleaves eight planes.
#[inline(always)]
pub fn eights<'a>(planes: [&Plane; 8], out: impl Iterator<Item = &'a mut [u8; 8]>) {
    let [a, b, c, d, e, f, g, h] = planes;
    let (low, high) = (four([a, b, c, d]), four([e, f, g, h]));
    for ((to, low), high) in out.zip(&low).zip(&high) {
        *to = (u64::from(*low) | u64::from(*high) << 32).to_le_bytes();
    }
}

#[inline(always)]
fn fours<'a>([a, b, c, d]: [&Plane; 4], out: impl Iterator<Item = &'a mut [u8; 4]>) {
    let (low, high) = (two([a, b]), two([c, d]));
    for ((to, low), high) in out.zip(&low).zip(&high) {
        *to = (u32::from(*low) | u32::from(*high) << 16).to_le_bytes();
    }
}

#[inline(always)]
fn twos<'a>([low, high]: [&Plane; 2], out: impl Iterator<Item = &'a mut [u8; 2]>) {
    for ((to, low), high) in out.zip(low).zip(high) {
        *to = (u16::from(*low) | u16::from(*high) << 8).to_le_bytes();
    }
}

#[inline(always)]
fn four([a, b, c, d]: [&Plane; 4]) -> [u32; STRIP] {
    let (low, high) = (two([a, b]), two([c, d]));
    let mut words = [0; STRIP];
    for ((word, low), high) in words.iter_mut().zip(&low).zip(&high) {
        *word = u32::from(*low) | u32::from(*high) << 16;
    }
    words
}

#[inline(always)]
fn two([low, high]: [&Plane; 2]) -> [u16; STRIP] {
    let mut words = [0; STRIP];
    for ((word, low), high) in words.iter_mut().zip(low).zip(high) {
        *word = u16::from(*low) | u16::from(*high) << 8;
    }
    words
}
