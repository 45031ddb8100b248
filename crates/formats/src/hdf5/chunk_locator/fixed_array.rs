//! Fixed array: an entry for each chunk of a dataset that cannot grow (VII.C).

use hyperslab_array::{Error, Result};

use super::numbering::Numbering;
use super::{Found, parse_entry};
use crate::hdf5::{Source, checksum};

pub(super) fn locate(source: &Source, address: u64, touched: &[Vec<u64>], found: &mut Found<'_>) -> Result<()> {
    let header_bytes = 8 + u64::from(source.length_size) + u64::from(source.offset_size) + 4;
    let header = source.read(address, header_bytes)?;
    let place = source.absolute(address)?;
    let mut cursor = source.cursor(&header, address);
    cursor.signature(b"FAHD")?;
    checksum::verify(&header, place, "a fixed array header")?;
    cursor.skip(1)?;
    let filtered = cursor.u8()? == 1;
    let entry_bytes = u64::from(cursor.u8()?);
    let page_bits = u32::from(cursor.u8()?);
    let entries = cursor.length()?;
    let Some(block) = cursor.address()? else { return Ok(()) };
    if entry_bytes < u64::from(source.offset_size) || page_bits >= 64 {
        return Err(Error::corrupt("impossible sizes in a fixed array header").at_offset(place));
    }
    let array = Array { source, block, entries, entry_bytes, page_entries: 1 << page_bits, filtered };
    let numbering = Numbering::row_major(found.layout)?;
    let mut wanted = touched.iter().map(|origin| numbering.number(origin)).collect::<Result<Vec<_>>>()?;
    wanted.sort_unstable();
    array.read(&wanted, found)
}

struct Array<'a> {
    source: &'a Source,
    block: u64,
    entries: u64,
    entry_bytes: u64,
    page_entries: u64,
    filtered: bool,
}

impl Array<'_> {
    fn read(&self, wanted: &[(u64, Vec<u64>)], found: &mut Found<'_>) -> Result<()> {
        let (source, block) = (self.source, self.block);
        if wanted.last().is_some_and(|(number, _)| *number >= self.entries) {
            return Err(Error::corrupt(format!("a fixed array of {} chunks is too short for its dataset", self.entries))
                .at_offset(source.absolute(block)?));
        }
        let beyond = || Error::corrupt("a fixed array beyond 64 bits");
        let prefix = 6 + u64::from(source.offset_size);
        if self.entries <= self.page_entries {
            let length = self.entries.checked_mul(self.entry_bytes).ok_or_else(beyond)?;
            let bytes = source.read(block, prefix.checked_add(length).and_then(|n| n.checked_add(4)).ok_or_else(beyond)?)?;
            source.cursor(&bytes, block).signature(b"FADB")?;
            checksum::verify(&bytes, source.absolute(block)?, "a fixed array data block")?;
            return self.take(&bytes, block, prefix, 0, wanted, found);
        }
        // Pages follow the prefix; a bit tells which were ever written.
        let pages = self.entries.div_ceil(self.page_entries);
        let head_bytes = prefix + pages.div_ceil(8) + 4;
        let head = source.read(block, head_bytes)?;
        let mut cursor = source.cursor(&head, block);
        cursor.signature(b"FADB")?;
        checksum::verify(&head, source.absolute(block)?, "a fixed array data block")?;
        cursor.skip(2)?;
        cursor.address()?;
        let bitmap = cursor.take_u64(pages.div_ceil(8))?;
        let page_bytes = self.page_entries.checked_mul(self.entry_bytes).and_then(|n| n.checked_add(4)).ok_or_else(beyond)?;
        for group in wanted.chunk_by(|a, b| a.0 / self.page_entries == b.0 / self.page_entries) {
            let page = group.first().map_or(0, |(number, _)| number / self.page_entries);
            let byte = usize::try_from(page / 8).ok().and_then(|at| bitmap.get(at)).copied().unwrap_or(0);
            if byte & (0x80 >> (page % 8)) == 0 {
                continue;
            }
            let first = page * self.page_entries;
            let count = self.page_entries.min(self.entries - first);
            let at = page.checked_mul(page_bytes).and_then(|n| n.checked_add(block + head_bytes)).ok_or_else(beyond)?;
            let bytes = source.read(at, count * self.entry_bytes + 4)?;
            checksum::verify(&bytes, source.absolute(at)?, "a fixed array page")?;
            self.take(&bytes, at, 0, first, group, found)?;
        }
        Ok(())
    }

    /// Takes wanted entries from `bytes`, whose entry `first` begins at `start`.
    fn take(&self, bytes: &[u8], at: u64, start: u64, first: u64, wanted: &[(u64, Vec<u64>)], found: &mut Found<'_>) -> Result<()> {
        for (number, position) in wanted {
            let mut cursor = self.source.cursor(bytes, at);
            cursor.take_u64(start + (number - first) * self.entry_bytes)?;
            let entry_bytes = usize::try_from(self.entry_bytes).unwrap_or(usize::MAX);
            if let Some((address, length, mask)) = parse_entry(&mut cursor, found.layout, self.filtered, entry_bytes)? {
                found.add(self.source, position.clone(), address, length, mask)?;
            }
        }
        Ok(())
    }
}
