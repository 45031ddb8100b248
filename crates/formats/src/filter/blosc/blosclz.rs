//! BloscLZ, blosc's own codec: runs of literals, and matches as in FastLZ.

use hyperslab_array::{Error, Result};

use crate::filter::matches;

/// Maximum distance of a match in bytes without a further 16 bits for the distance.
const MAX_SHORT_DISTANCE: usize = 8191;

/// Fills the front of `target` and returns how far; bytes after that may change.
pub(in crate::filter) fn decode(stored: &[u8], target: &mut [u8]) -> Result<usize> {
    let short = || Error::corrupt("an incomplete stream");
    let too_long = || Error::corrupt("a block decodes to more bytes than it has");
    let mut rest = stored;
    let mut filled = 0usize;
    let byte = |rest: &mut &[u8]| -> Option<usize> {
        let (first, tail) = rest.split_first()?;
        *rest = tail;
        Some(usize::from(*first))
    };
    // The first control can only be literals; its high bits were a version once.
    let mut control = byte(&mut rest).map(|first| first & 31);
    while let Some(kind) = control {
        if kind < 32 {
            let (literals, tail) = rest.split_at_checked(kind + 1).ok_or_else(short)?;
            target.get_mut(filled..filled + literals.len()).ok_or_else(too_long)?.copy_from_slice(literals);
            filled += literals.len();
            rest = tail;
        } else {
            let mut length = (kind >> 5) + 2;
            if length == 9 {
                loop {
                    let more = byte(&mut rest).ok_or_else(short)?;
                    length = length.saturating_add(more);
                    if more != 255 {
                        break;
                    }
                }
            }
            let mut distance = ((kind & 31) << 8) + byte(&mut rest).ok_or_else(short)?;
            if distance == MAX_SHORT_DISTANCE {
                let (high, low) = (byte(&mut rest).ok_or_else(short)?, byte(&mut rest).ok_or_else(short)?);
                distance += high << 8 | low;
            }
            if distance >= filled {
                return Err(Error::corrupt("a match before the beginning"));
            }
            matches::repeat(target, filled, distance + 1, length).ok_or_else(too_long)?;
            filled += length;
        }
        control = byte(&mut rest);
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_matches() {
        let mut target = [0; 16];
        // Three literals; a match of 7 bytes, 3 back; a match of 4 bytes, 1 back.
        let stored = [2, b'a', b'b', b'c', 5 << 5, 2, 2 << 5, 0];
        assert_eq!(decode(&stored, &mut target).ok(), Some(14));
        assert_eq!(&target, b"abcabcabcaaaaa\0\0");
        assert!(decode(&stored, &mut target[..13]).is_err());
        assert!(decode(&[0, b'a', 2 << 5, 1], &mut target).is_err());
        assert!(decode(&[7, b'a'], &mut target).is_err());
    }
}
