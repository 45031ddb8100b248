//! LZF (32000): h5py's own fast codec, Marc Lehmann's LibLZF stream.

use hyperslab_array::{Error, Result};

use super::matches;

/// Maximum bytes made of one byte, since a match of 264 bytes takes three: a small damaged chunk cannot request a large buffer.
const MAX_EXPANSION: usize = 88;

pub(super) fn decode(input: &[u8], max_bytes: usize, out: &mut Vec<u8>) -> Result<()> {
    let short = || Error::corrupt("an incomplete stream");
    let too_long = || Error::corrupt("more bytes than the chunk holds");
    out.resize(max_bytes.min(input.len().saturating_mul(MAX_EXPANSION)), 0);
    let mut filled = 0;
    let mut bytes = input;
    let mut next = |count: usize| -> Option<&[u8]> {
        let (taken, rest) = bytes.split_at_checked(count)?;
        bytes = rest;
        Some(taken)
    };
    while let Some([control]) = next(1) {
        let control = usize::from(*control);
        if control < 32 {
            // A run of literals.
            let literals = next(control + 1).ok_or_else(short)?;
            let place = out.get_mut(filled..filled + literals.len()).ok_or_else(too_long)?;
            place.copy_from_slice(literals);
            filled += literals.len();
            continue;
        }
        let mut length = (control >> 5) + 2;
        if length == 9 {
            length += next(1).and_then(|b| b.first()).map(|b| usize::from(*b)).ok_or_else(short)?;
        }
        let low = next(1).and_then(|b| b.first()).map(|b| usize::from(*b)).ok_or_else(short)?;
        let distance = ((control & 0x1f) << 8) + low + 1;
        if distance > filled {
            return Err(Error::corrupt("a match before the beginning"));
        }
        matches::repeat(out, filled, distance, length).ok_or_else(too_long)?;
        filled += length;
    }
    out.truncate(filled);
    Ok(())
}

/// Distances that a match may have.
const MAX_DISTANCE: usize = 1 << 13;
/// Bytes of a match.
const MAX_MATCH: usize = 264;
/// Literals of a run.
const MAX_LITERALS: usize = 32;
const HASH_BITS: u32 = 14;

/// The inverse of `decode`. What does not get shorter comes out longer, by a byte in 32.
pub(super) fn encode(input: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(input.len());
    // The last place of three bytes with this hash, and one; 0 is none.
    let mut places = vec![0usize; 1 << HASH_BITS];
    let (mut at, mut literals) = (0, 0);
    while let Some(&[a, b, c]) = input.get(at..at + 3).and_then(|three| <&[u8; 3]>::try_from(three).ok()) {
        let hash = u32::from_le_bytes([a, b, c, 0]).wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS);
        let before = usize::try_from(hash).ok().and_then(|hash| places.get_mut(hash)).map_or(0, |place| std::mem::replace(place, at + 1));
        let found = before.checked_sub(1).filter(|from| at - from <= MAX_DISTANCE && input.get(*from..from + 3) == Some(&[a, b, c]));
        let Some(from) = found else {
            at += 1;
            continue;
        };
        let (earlier, here) = (input.get(from..).unwrap_or_default(), input.get(at..).unwrap_or_default());
        let length = earlier.iter().zip(here).take(MAX_MATCH).take_while(|(a, b)| a == b).count();
        put_literals(input.get(literals..at).unwrap_or_default(), &mut out);
        let distance = (at - from - 1).to_le_bytes();
        let high = distance.get(1).copied().unwrap_or(0);
        match u8::try_from(length - 2).ok().filter(|short| *short < 7) {
            Some(short) => out.push(short << 5 | high),
            None => out.extend([7 << 5 | high, u8::try_from(length - 9).unwrap_or(u8::MAX)]),
        }
        out.push(distance.first().copied().unwrap_or(0));
        at += length;
        literals = at;
    }
    put_literals(input.get(literals..).unwrap_or_default(), &mut out);
    out
}

fn put_literals(bytes: &[u8], out: &mut Vec<u8>) {
    for run in bytes.chunks(MAX_LITERALS) {
        out.push(u8::try_from(run.len() - 1).unwrap_or(0));
        out.extend_from_slice(run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded(pieces in proptest::collection::vec((proptest::collection::vec(0u8..4, 0..40), 1usize..400), 0..20)) {
            let input: Vec<u8> = pieces.iter().flat_map(|(piece, times)| piece.repeat(*times)).collect();
            let encoded = encode(&input);
            let mut out = Vec::new();
            decode(&encoded, input.len(), &mut out).map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert_eq!(out, input);
        }
    }
}
