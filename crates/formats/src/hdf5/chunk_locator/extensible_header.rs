//! Header of an extensible array (specification VII.D).

use hyperslab_array::{Error, Result};

use super::entry::parse_array_header;
use crate::hdf5::{Source, checksum};

/// An extensible array as its header describes it.
pub(in crate::hdf5) struct ExtensibleHeader {
    /// Whether entries are for filtered chunks.
    pub is_filtered: bool,
    /// Bytes of an entry.
    pub entry_bytes: u64,
    /// Bits of the largest number of entries.
    pub bits: u32,
    /// Entries in the index block.
    pub index_entries: u64,
    /// Entries of the smallest data block; a power of two.
    pub min_block_entries: u64,
    /// Data block pointers of the smallest super block; a power of two.
    pub min_pointers: u64,
    /// Entries of a page of a large data block.
    pub page_entries: u64,
    /// Entries from this one on were never written.
    pub entries_set: u64,
    /// Address of the index block; `None` if no chunk was ever written.
    pub index: Option<u64>,
}

impl ExtensibleHeader {
    /// Bytes of a header.
    pub fn bytes(source: &Source) -> u64 {
        12 + 6 * u64::from(source.length_size) + u64::from(source.offset_size) + 4
    }

    /// The header at `address`.
    ///
    /// # Errors
    /// `Corrupt` for another checksum and for sizes that no array can have.
    pub fn read(source: &Source, address: u64) -> Result<Self> {
        let bytes = source.read(address, Self::bytes(source))?;
        let place = source.absolute(address)?;
        let mut cursor = source.cursor(&bytes, address);
        cursor.signature(b"EAHD")?;
        checksum::verify(&bytes, place, "an extensible array header")?;
        let is_filtered = parse_array_header(&mut cursor, "an extensible array header")?;
        let entry_bytes = u64::from(cursor.u8()?);
        let bits = u32::from(cursor.u8()?);
        let index_entries = u64::from(cursor.u8()?);
        let min_block_entries = u64::from(cursor.u8()?);
        let min_pointers = u64::from(cursor.u8()?);
        let page_bits = u32::from(cursor.u8()?);
        // Numbers and bytes of super blocks and data blocks, which readers do not need.
        for _ in 0..4 {
            cursor.length()?;
        }
        let entries_set = cursor.length()?;
        cursor.length()?;
        let index = cursor.address()?;
        let is_sane = entry_bytes >= u64::from(source.offset_size)
            && (1..=64).contains(&bits)
            && min_block_entries.is_power_of_two()
            && min_pointers.is_power_of_two()
            && page_bits < 64
            && min_block_entries.ilog2() <= bits;
        if !is_sane {
            return Err(Error::corrupt("impossible sizes in an extensible array header").at_offset(place));
        }
        Ok(Self { is_filtered, entry_bytes, bits, index_entries, min_block_entries, min_pointers, page_entries: 1 << page_bits, entries_set, index })
    }
}
