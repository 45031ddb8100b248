//! Matches of codecs of the Lempel-Ziv family: bytes that were there before, once more.

/// Bytes copied at once.
const COPY_BYTES: usize = 16;
/// Maximum bytes of a match that is copied in steps of a constant length.
const MEDIUM: usize = 128;

/// Copies `length` bytes from `distance` bytes before `filled` to there, and may change bytes after them. A match
/// may overlap what it writes. `None` if it begins before the beginning or ends after the end.
#[inline]
pub(super) fn repeat(out: &mut [u8], filled: usize, distance: usize, length: usize) -> Option<()> {
    let start = filled.checked_sub(distance)?;
    let end = filled.checked_add(length).filter(|end| *end <= out.len() && distance > 0)?;
    if length <= MEDIUM && distance >= COPY_BYTES && out.len() - filled >= length.next_multiple_of(COPY_BYTES) {
        for step in (0..length).step_by(COPY_BYTES) {
            let bytes: [u8; COPY_BYTES] = *out.get(start + step..)?.first_chunk()?;
            *out.get_mut(filled + step..)?.first_chunk_mut()? = bytes;
        }
        return Some(());
    }
    if distance == 1 {
        let byte = *out.get(start)?;
        out.get_mut(filled..end)?.fill(byte);
        return Some(());
    }
    // What can be copied at once doubles with every step.
    let mut filled = filled;
    while filled < end {
        let step = (filled - start).min(end - filled);
        out.copy_within(start..start + step, filled);
        filled += step;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_match_is_copied_as_byte_by_byte(
            before in proptest::collection::vec(any::<u8>(), 1..60),
            distance in 0usize..64,
            length in 0usize..200,
            room in 0usize..200,
        ) {
            let filled = before.len();
            let mut out = before.clone();
            out.resize(filled + room, 0xee);
            let copied = repeat(&mut out, filled, distance, length);
            let possible = distance > 0 && distance <= filled && length <= room;
            prop_assert_eq!(copied.is_some(), possible);
            if possible {
                let mut expected = before;
                for at in filled..filled + length {
                    expected.push(expected.get(at - distance).copied().unwrap_or_default());
                }
                out.truncate(filled + length);
                prop_assert_eq!(out, expected);
            }
        }
    }
}
