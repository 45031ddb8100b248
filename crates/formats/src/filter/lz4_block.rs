//! A block of LZ4: runs of literals, and matches of what was there before ("LZ4 Block Format Description").
//!
//! Shuffled and bit-shuffled numbers become short runs and short matches. Away from both ends such a one is
//! copied as a whole number of bytes that the compiler knows, more than it has; the next one writes over the rest.

use hyperslab_array::{Error, Result};

use super::matches;

/// A length of this many goes on in further bytes.
const LONG: usize = 15;
const LEAST_MATCH: usize = 4;
/// What is copied of a short run, and of the beginning of a short match.
const WIDE: usize = 16;
/// A run up to this length is copied in steps whose length the compiler knows.
const MEDIUM: usize = 128;
/// The longest short match: 14 + 4.
const REST: usize = 2;
/// So many bytes must be left of both sides for a short run and a short match: a token, the run, a distance;
/// the run and the match.
const ROOM_IN: usize = 1 + WIDE + 2;
const ROOM_OUT: usize = WIDE + WIDE + REST;

/// Decodes into the beginning of `out`; how many bytes it has become. More than there is room for is `Corrupt`.
pub(super) fn decode(input: &[u8], out: &mut [u8]) -> Result<usize> {
    let damaged = || Error::corrupt("a compressed block is damaged");
    let (mut at, mut filled) = (0usize, 0usize);
    loop {
        while let Some((taken, made)) = short(input, at, out, filled) {
            at += taken;
            filled += made;
        }
        let token = usize::from(*input.get(at).ok_or_else(damaged)?);
        at += 1;
        let run = length(token >> 4, input, &mut at).ok_or_else(damaged)?;
        literals(input, at, out, filled, run).ok_or_else(damaged)?;
        at += run;
        filled += run;
        // Literals end a block.
        if at == input.len() {
            return Ok(filled);
        }
        let distance: &[u8; 2] = input.get(at..).and_then(|rest| rest.first_chunk()).ok_or_else(damaged)?;
        at += 2;
        let length = length(token & LONG, input, &mut at).and_then(|length| length.checked_add(LEAST_MATCH)).ok_or_else(damaged)?;
        matches::repeat(out, filled, usize::from(u16::from_le_bytes(*distance)), length).ok_or_else(damaged)?;
        filled += length;
    }
}

/// A short run and a short match that begin at `at`: how many bytes they take and make. `None` where they are
/// long, near an end, or overlap themselves: nothing is decided then, and nothing written that does not come
/// to be written over.
#[inline(always)]
fn short(input: &[u8], at: usize, out: &mut [u8], filled: usize) -> Option<(usize, usize)> {
    let from: &[u8; ROOM_IN] = input.get(at..)?.first_chunk()?;
    if out.len().checked_sub(filled)? < ROOM_OUT {
        return None;
    }
    let (token, from) = from.split_first()?;
    let (run, length) = (usize::from(*token >> 4), usize::from(*token) & LONG);
    if run == LONG || length == LONG {
        return None;
    }
    let distance = usize::from(u16::from_le_bytes(*from.get(run..)?.first_chunk()?));
    let place = filled + run;
    let start = place.checked_sub(distance)?;
    if distance < 8 {
        return None;
    }
    let literals: &[u8; WIDE] = from.first_chunk()?;
    *out.get_mut(filled..)?.first_chunk_mut()? = *literals;
    if distance >= WIDE {
        copy::<WIDE>(out, start, place)?;
    } else {
        copy::<8>(out, start, place)?;
        copy::<8>(out, start + 8, place + 8)?;
    }
    copy::<REST>(out, start + WIDE, place + WIDE)?;
    Some((1 + run + 2, run + length + LEAST_MATCH))
}

/// Copies a run of any length.
#[inline]
fn literals(input: &[u8], at: usize, out: &mut [u8], filled: usize, run: usize) -> Option<()> {
    let (from, to) = (input.get(at..)?, out.get_mut(filled..)?);
    let wide = run.next_multiple_of(WIDE);
    if run <= MEDIUM && from.len().min(to.len()) >= wide {
        let (from, to) = (from.get(..wide)?.as_chunks::<WIDE>().0, to.get_mut(..wide)?.as_chunks_mut::<WIDE>().0);
        to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        return Some(());
    }
    to.get_mut(..run)?.copy_from_slice(from.get(..run)?);
    Some(())
}

#[inline(always)]
fn copy<const N: usize>(out: &mut [u8], from: usize, to: usize) -> Option<()> {
    let bytes: [u8; N] = *out.get(from..)?.first_chunk()?;
    *out.get_mut(to..)?.first_chunk_mut()? = bytes;
    Some(())
}

/// A length that began with four bits, with its further bytes.
fn length(bits: usize, input: &[u8], at: &mut usize) -> Option<usize> {
    let mut length = bits;
    if bits == LONG {
        loop {
            let byte = *input.get(*at)?;
            *at += 1;
            length = length.checked_add(usize::from(byte))?;
            if byte != u8::MAX {
                break;
            }
        }
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bytes with repeats near and far, of every length.
    fn data() -> impl Strategy<Value = Vec<u8>> {
        let piece = (0usize..40, 1usize..300, 0usize..300, any::<u8>());
        proptest::collection::vec(piece, 0..if cfg!(miri) { 4 } else { 60 }).prop_map(|pieces| {
            let mut bytes = vec![1, 2, 3];
            for (literals, distance, length, value) in pieces {
                bytes.extend((0..literals).map(|n| value.wrapping_mul(37).wrapping_add((n * n * 7).to_le_bytes()[0])));
                for _ in 0..length / 4 {
                    bytes.push(bytes[bytes.len().saturating_sub(distance)]);
                }
            }
            bytes
        })
    }

    proptest! {
        #[test]
        fn what_was_compressed_comes_back(bytes in data()) {
            let block = lz4_flex::block::compress(&bytes);
            let mut out = vec![0xee; bytes.len()];
            prop_assert_eq!(decode(&block, &mut out).ok(), Some(bytes.len()));
            prop_assert_eq!(&out, &bytes);
            if let Some(less) = bytes.len().checked_sub(1) {
                prop_assert!(decode(&block, &mut out[..less]).is_err());
            }
        }

        #[test]
        fn damaged_blocks_decode_as_with_another_decoder(bytes in data(), place in any::<prop::sample::Index>(), value in any::<u8>(), cut in 0usize..4) {
            let mut block = lz4_flex::block::compress(&bytes);
            let at = place.index(block.len());
            block[at] = value;
            block.truncate(block.len() - cut.min(block.len() - 1));
            let (mut ours, mut theirs) = (vec![0; bytes.len() + 20], vec![0; bytes.len() + 20]);
            if let Ok(count) = decode(&block, &mut ours) {
                if let Ok(other) = lz4_flex::block::decompress_into(&block, &mut theirs) {
                    prop_assert_eq!(count, other);
                    prop_assert_eq!(&ours[..count], &theirs[..count]);
                }
            }
        }
    }

    #[test]
    fn a_match_before_the_beginning_or_of_no_distance_is_corrupt() {
        let mut out = [0; 64];
        assert!(decode(&[0x10, b'a', 2, 0, 0], &mut out).is_err());
        assert!(decode(&[0x10, b'a', 0, 0, 0], &mut out).is_err());
        assert!(decode(&[], &mut out).is_err());
        assert!(decode(&[0xf0, 255, 255], &mut out).is_err());
        assert_eq!(decode(&[0x10, b'a', 1, 0, 0x00], &mut out).ok(), Some(5));
        assert_eq!(out[..5], *b"aaaaa");
        assert_eq!(decode(&[0], &mut out).ok(), Some(0));
    }
}
