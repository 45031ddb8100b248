//! Header of a fixed array (specification VII.C).

use hyperslab_array::{Error, Result};

use super::entry::parse_array_header;
use crate::hdf5::{Source, checksum};

/// A fixed array as its header describes it.
pub(in crate::hdf5) struct FixedHeader {
    /// Whether entries are for filtered chunks.
    pub is_filtered: bool,
    /// Bytes of an entry; the bytes of all entries fit 64 bits.
    pub entry_bytes: u64,
    /// Entries of a page of a large data block.
    pub page_entries: u64,
    /// Entries.
    pub entries: u64,
    /// Address of the data block; `None` if no chunk was ever written.
    pub block: Option<u64>,
}

impl FixedHeader {
    /// Bytes of a header.
    pub fn bytes(source: &Source) -> u64 {
        8 + u64::from(source.length_size) + u64::from(source.offset_size) + 4
    }

    /// The header at `address`.
    ///
    /// # Errors
    /// `Corrupt` for another checksum and for sizes that no array can have.
    pub fn read(source: &Source, address: u64) -> Result<Self> {
        let bytes = source.read(address, Self::bytes(source))?;
        let place = source.absolute(address)?;
        let mut cursor = source.cursor(&bytes, address);
        cursor.signature(b"FAHD")?;
        checksum::verify(&bytes, place, "a fixed array header")?;
        let is_filtered = parse_array_header(&mut cursor, "a fixed array header")?;
        let entry_bytes = u64::from(cursor.u8()?);
        let page_bits = u32::from(cursor.u8()?);
        let entries = cursor.length()?;
        let block = cursor.address()?;
        if entry_bytes < u64::from(source.offset_size) || page_bits >= 64 || entries.checked_mul(entry_bytes).is_none() {
            return Err(Error::corrupt("impossible sizes in a fixed array header").at_offset(place));
        }
        Ok(Self { is_filtered, entry_bytes, page_entries: 1 << page_bits, entries, block })
    }
}
