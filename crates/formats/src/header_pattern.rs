//! Header pattern: recognizes the headers of datasets that differ only in where their values are.

use std::ops::Range;

/// Computes the checksum of a header.
pub(crate) type Checksum = fn(&[u8]) -> u32;

/// The header of a dataset with contiguous values, as the headers of others like it are in the file: all of its bytes but the
/// address of the values are the same. What the header says except for that address is then the same, too, because parsing
/// depends on nothing but these bytes and what they refer to.
///
/// A million cells of MATLAB have a few patterns. Comparing bytes takes a fraction of the time of parsing a header.
#[derive(Debug)]
pub struct HeaderPattern {
    /// A header of this pattern, without its checksum.
    pub(crate) bytes: Vec<u8>,
    /// Where the address of the values is in it, least significant byte first.
    pub(crate) address: Range<usize>,
    /// Computes the four bytes that follow, least significant byte first.
    pub(crate) checksum: Option<Checksum>,
    /// Absolute offset that addresses are relative to.
    pub(crate) base_address: u64,
}

impl HeaderPattern {
    /// Bytes of a header.
    pub fn length(&self) -> usize {
        self.bytes.len() + if self.checksum.is_some() { size_of::<u32>() } else { 0 }
    }

    /// The absolute offset of the values, if the header `bytes` has this pattern. `None` also if no values are stored.
    pub fn values_at(&self, bytes: &[u8]) -> Option<u64> {
        let (header, checksum) = bytes.split_at_checked(self.bytes.len())?;
        let same = |range: Range<usize>| header.get(range.clone()).is_some_and(|own| self.bytes.get(range).is_some_and(|known| own == known));
        if bytes.len() != self.length() || !same(self.address.end..self.bytes.len()) || !same(0..self.address.start) {
            return None;
        }
        let address = header.get(self.address.clone())?;
        if address.iter().all(|byte| *byte == u8::MAX) || self.checksum.is_some_and(|compute| compute(header).to_le_bytes() != checksum) {
            return None;
        }
        let address = address.iter().rev().fold(0, |address: u64, byte| (address << 8) | u64::from(*byte));
        self.base_address.checked_add(address)
    }
}
