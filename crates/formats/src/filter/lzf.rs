//! LZF (32000): h5py's own fast codec, Marc Lehmann's LibLZF stream.

use hyperslab_array::{Error, Result};

pub(super) fn decode(input: &[u8], most: usize, out: &mut Vec<u8>) -> Result<()> {
    let short = || Error::corrupt("an incomplete stream");
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
            if out.len() + literals.len() > most {
                return Err(Error::corrupt("more bytes than the chunk holds"));
            }
            out.extend_from_slice(literals);
            continue;
        }
        let mut length = (control >> 5) + 2;
        if length == 9 {
            length += next(1).and_then(|b| b.first()).map(|b| usize::from(*b)).ok_or_else(short)?;
        }
        let low = next(1).and_then(|b| b.first()).map(|b| usize::from(*b)).ok_or_else(short)?;
        let distance = ((control & 0x1f) << 8) + low + 1;
        let start = out.len().checked_sub(distance).ok_or_else(|| Error::corrupt("a match before the beginning"))?;
        if out.len() + length > most {
            return Err(Error::corrupt("more bytes than the chunk holds"));
        }
        // A match may overlap what it writes, so it is copied byte by byte.
        for at in start..start + length {
            out.push(out.get(at).copied().ok_or_else(short)?);
        }
    }
    Ok(())
}
