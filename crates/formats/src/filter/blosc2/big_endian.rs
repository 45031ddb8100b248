//! Big-endian numbers, as frames store them.

/// The number that begins at byte `at`.
pub(super) fn big_endian<const N: usize>(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..)?.first_chunk::<N>()?;
    Some(bytes.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte))).and_then(|n| usize::try_from(n).ok())
}
