//! The pattern of a header in the file.

use hyperslab_array::Result;

use super::{ObjectHeader, START_BYTES, kind};
use crate::HeaderPattern;
use crate::hdf5::{Source, checksum};
use crate::header_pattern::Checksum;

/// Layout messages from this version on begin with a version and a class, of one byte each.
const MIN_VERSION: u8 = 3;
const CLASS_BYTES: usize = 2;
const CONTIGUOUS: u8 = 1;

/// The pattern of the header at `address`; `None` unless it belongs to a contiguous dataset whose header is short and in one
/// piece.
pub(crate) fn pattern(source: &Source, address: u64) -> Result<Option<HeaderPattern>> {
    let header = ObjectHeader::read(source, address)?;
    let Some(layout) = header.find(kind::LAYOUT).filter(|layout| layout.flags & super::SHARED == 0) else { return Ok(None) };
    let is_contiguous = matches!(*layout.body, [version, CONTIGUOUS, ..] if version >= MIN_VERSION);
    if !is_contiguous || header.find(kind::CONTINUATION).is_some() {
        return Ok(None);
    }
    let start = source.read_up_to(address, START_BYTES)?;
    let place = layout.address.checked_sub(address).and_then(|place| usize::try_from(place).ok()).and_then(|place| place.checked_add(CLASS_BYTES));
    let (Some((bytes, checksum)), Some(place)) = (whole(&start), place) else { return Ok(None) };
    let address = place..place.saturating_add(source.offset_size.into());
    Ok((address.end <= bytes.len()).then(|| HeaderPattern { bytes: bytes.to_vec(), address, checksum, base_address: source.base_address }))
}

/// The header that begins with `start` without its checksum, and what computes that; `None` for one that is longer.
fn whole(start: &[u8]) -> Option<(&[u8], Option<Checksum>)> {
    let uint = |place: usize, width: usize| -> Option<usize> {
        let bytes = start.get(place..place.checked_add(width)?)?;
        usize::try_from(bytes.iter().rev().fold(0, |value: u64, byte| (value << 8) | u64::from(*byte))).ok()
    };
    match start {
        [b'O', b'H', b'D', b'R', _, flags, ..] => {
            let (prefix, width) = (super::version2::prefix_bytes(*flags), 1 << (flags & 3));
            let end = uint(prefix, width)?.checked_add(prefix + width)?;
            start.get(..end.checked_add(size_of::<u32>())?)?;
            Some((start.get(..end)?, Some(checksum::lookup3)))
        }
        [1, ..] => Some((start.get(..uint(8, 4)?.checked_add(super::version1::PREFIX_BYTES)?)?, None)),
        _ => None,
    }
}
