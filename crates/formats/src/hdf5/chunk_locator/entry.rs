//! The entry of a chunk in a fixed array, an extensible array or a version-2 B-tree (specification VII).

use hyperslab_array::{Error, Result};

use crate::hdf5::encoder::{WIDTH, width_of};
use crate::hdf5::layout::ChunkedLayout;
use crate::hdf5::writer::StoredChunk;
use crate::hdf5::{Cursor, Encoder};

/// Checks version and client ID of an array's header; returns whether its entries are for filtered chunks.
pub(in crate::hdf5) fn parse_array_header(cursor: &mut Cursor<'_>, what: &str) -> Result<bool> {
    cursor.version(0, what)?;
    let place = cursor.offset_in_file();
    match cursor.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        client => Err(Error::unsupported(format!("client ID {client} of {what}: 0 and 1 are those of chunks")).at_offset(place)),
    }
}

/// Checks the fields that follow the signature of every block of an array: version, client ID and the header's address.
pub(in crate::hdf5) fn check_array_block(cursor: &mut Cursor<'_>, filtered: bool, header: u64, what: &str) -> Result<()> {
    cursor.version(0, what)?;
    let client = cursor.u8()?;
    if client != u8::from(filtered) {
        return Err(cursor.corrupt(format!("client ID {client} of {what}, whose header has {}", u8::from(filtered))));
    }
    if cursor.address()? != Some(header) {
        return Err(cursor.corrupt(format!("{what} of another array")));
    }
    Ok(())
}

/// The entry of a chunk in an array or version-2 B-tree: address, and size and mask where filters
/// apply. `entry_bytes` is the whole entry. `None`: no storage.
pub(in crate::hdf5) fn parse_entry(cursor: &mut Cursor<'_>, layout: &ChunkedLayout, filtered: bool, entry_bytes: usize) -> Result<Option<(u64, u64, u32)>> {
    let address = cursor.address()?;
    let (length, mask) = if filtered {
        let width = entry_bytes.checked_sub(usize::from(cursor.offset_size()) + 4);
        let width = width.ok_or_else(|| cursor.corrupt("a chunk entry that is too short"))?;
        (cursor.uint(width)?, cursor.u32()?)
    } else {
        (layout.chunk_bytes, 0)
    };
    Ok(address.map(|address| (address, length, mask)))
}

/// The layout of an array's entries.
#[derive(Debug, Clone, Copy)]
pub(super) struct EntryForm {
    /// Bytes of a stored chunk's size where filters apply.
    size_width: Option<usize>,
}

impl EntryForm {
    pub(super) fn new(layout: &ChunkedLayout, filtered: bool) -> Self {
        // A byte more than the unfiltered size needs: filters may make a chunk longer.
        Self { size_width: filtered.then(|| (1 + width_of(layout.chunk_bytes)).min(8)) }
    }
    pub(super) fn filtered(self) -> bool {
        self.size_width.is_some()
    }
    /// Bytes of an entry.
    pub(super) fn bytes(self) -> u8 {
        u8::try_from(WIDTH + self.size_width.map_or(0, |width| width + 4)).unwrap_or(u8::MAX)
    }
    pub(super) fn put(self, chunk: Option<&StoredChunk>, encoder: &mut Encoder) {
        encoder.address(chunk.map(|chunk| chunk.address));
        if let Some(width) = self.size_width {
            encoder.uint(chunk.map_or(0, |chunk| chunk.length), width);
            encoder.u32(chunk.map_or(0, |chunk| chunk.filter_mask));
        }
    }
}
