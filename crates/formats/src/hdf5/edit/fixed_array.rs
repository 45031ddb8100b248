//! Entries of a fixed array of chunks.

use hyperslab_array::{Error, Result};

use super::entry::{Entries, patched, seal};
use super::space::Space;
use crate::hdf5::writer::StoredChunk;
use crate::hdf5::{Encoder, Source, checksum};

/// A fixed array, whose header exists.
pub(super) struct FixedArray<'a> {
    pub source: &'a Source,
    pub space: &'a dyn Space,
    pub header: u64,
}

/// What the layout message and the dataset say of a new array.
pub(super) struct NewFixedArray {
    pub entries: Entries,
    pub page_bits: u8,
    pub count: u64,
}

impl<'a> FixedArray<'a> {
    /// Creates the header of an array.
    pub fn create(source: &'a Source, space: &'a dyn Space, new: &NewFixedArray) -> Result<Self> {
        let mut encoder = Encoder::signed(b"FAHD");
        let entry_bytes = u8::try_from(new.entries.bytes).map_err(|_| Error::internal("an entry of 256 bytes"))?;
        encoder.bytes(&[0, u8::from(new.entries.is_filtered), entry_bytes, new.page_bits]);
        encoder.uint(new.count, source.length_size.into());
        encoder.uint(u64::MAX, source.offset_size.into());
        let bytes = encoder.finish_with_checksum();
        let header = space.allocate(bytes.len() as u64)?;
        space.write(header, &bytes)?;
        Ok(Self { source, space, header })
    }

    /// Sets the entry with this number.
    pub fn set(&self, number: u64, chunk: Option<&StoredChunk>) -> Result<()> {
        let (source, o) = (self.source, u64::from(self.source.offset_size));
        let header_bytes = 8 + u64::from(source.length_size) + o + 4;
        let mut header = source.read(self.header, header_bytes)?.into_owned();
        let mut cursor = source.cursor(&header, self.header);
        cursor.signature(b"FAHD")?;
        checksum::verify(&header, source.absolute(self.header)?, "a fixed array header")?;
        cursor.skip(1)?;
        let is_filtered = cursor.u8()? == 1;
        let entries = Entries { bytes: u64::from(cursor.u8()?), is_filtered };
        let page_bits = u32::from(cursor.u8()?);
        let count = cursor.length()?;
        let block = cursor.address()?;
        let beyond = || Error::corrupt("a fixed array beyond 64 bits");
        let page_entries = 1u64.checked_shl(page_bits).ok_or_else(beyond)?;
        if number >= count {
            return Err(Error::corrupt(format!("a fixed array of {count} chunks is too short for its dataset")));
        }
        let is_paged = count > page_entries;
        let pages = if is_paged { count.div_ceil(page_entries) } else { 0 };
        let prefix = 6 + o;
        let head_bytes = if is_paged { prefix + pages.div_ceil(8) + 4 } else { prefix + count.checked_mul(entries.bytes).ok_or_else(beyond)? + 4 };
        let page_bytes = page_entries.checked_mul(entries.bytes).and_then(|bytes| bytes.checked_add(4)).ok_or_else(beyond)?;
        let (block, mut head) = match block {
            Some(block) => (block, source.read(block, head_bytes)?.into_owned()),
            None => {
                let last = count.saturating_sub(pages.saturating_sub(1) * page_entries);
                let of_pages = if is_paged {
                    (pages - 1).checked_mul(page_bytes).and_then(|bytes| bytes.checked_add(last * entries.bytes + 4)).ok_or_else(beyond)?
                } else {
                    0
                };
                let block = self.space.allocate(head_bytes.checked_add(of_pages).ok_or_else(beyond)?)?;
                let mut encoder = Encoder::signed(b"FADB");
                encoder.bytes(&[0, u8::from(is_filtered)]);
                encoder.uint(self.header, source.offset_size.into());
                let mut head = encoder.finish();
                head.extend(if is_paged { vec![0; usize::try_from(pages.div_ceil(8)).map_err(|_| beyond())?] } else { entries.empty(source, count)? });
                head.extend([0; 4]);
                seal(&mut head)?;
                self.space.write(block, &head)?;
                patched(&mut header, 8 + u64::from(source.length_size), block.to_le_bytes().get(..usize::from(source.offset_size)).unwrap_or_default())?;
                self.space.write(self.header, &header)?;
                (block, head)
            }
        };
        checksum::verify(&head, source.absolute(block)?, "a fixed array data block")?;
        let entry = entries.encode(source, chunk)?;
        if !is_paged {
            patched(&mut head, prefix + number * entries.bytes, &entry)?;
            return self.space.write(block, &head);
        }
        let page = number / page_entries;
        let in_page = page_entries.min(count - page * page_entries);
        let place = page.checked_mul(page_bytes).and_then(|at| at.checked_add(block.checked_add(head_bytes)?)).ok_or_else(beyond)?;
        let bit = head.get_mut(usize::try_from(prefix + page / 8).map_err(|_| beyond())?).ok_or_else(|| Error::internal("a page without its bit"))?;
        let mask = 0x80u8 >> (page % 8);
        let mut bytes = if *bit & mask == 0 {
            *bit |= mask;
            seal(&mut head)?;
            self.space.write(block, &head)?;
            [entries.empty(source, in_page)?, vec![0; 4]].concat()
        } else {
            let bytes = source.read(place, in_page * entries.bytes + 4)?.into_owned();
            checksum::verify(&bytes, source.absolute(place)?, "a fixed array page")?;
            bytes
        };
        patched(&mut bytes, number % page_entries * entries.bytes, &entry)?;
        self.space.write(place, &bytes)
    }
}
