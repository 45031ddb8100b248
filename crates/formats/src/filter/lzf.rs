//! LZF (32000): h5py's own fast codec, Marc Lehmann's LibLZF stream.

use hyperslab_array::{Error, Result};

use super::matches;

/// A match of 264 bytes takes three, so a small lie cannot ask for a large buffer.
const MOST_EXPANSION: usize = 88;

pub(super) fn decode(input: &[u8], most: usize, out: &mut Vec<u8>) -> Result<()> {
    let short = || Error::corrupt("an incomplete stream");
    let too_long = || Error::corrupt("more bytes than the chunk holds");
    out.resize(most.min(input.len().saturating_mul(MOST_EXPANSION)), 0);
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
