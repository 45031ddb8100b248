//! Entries of a fixed array of chunks.

use hyperslab_array::{Error, Result};

use super::entry::{Entries, patched, seal};
use super::space::{PageKind, Space};
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
        let header = space.allocate(PageKind::Metadata, bytes.len() as u64)?;
        space.write(header, &bytes)?;
        Ok(Self { source, space, header })
    }

    /// Sets the entry with this number.
    pub fn set(&self, number: u64, chunk: Option<&StoredChunk>) -> Result<()> {
        let source = self.source;
        let header = self.read_header()?;
        let (entries, count) = (header.entries, header.count);
        if number >= count {
            return Err(Error::corrupt(format!("a fixed array of {count} chunks is too short for its dataset")));
        }
        let sizes = header.sizes(source)?;
        let (block, mut head) = match header.block {
            Some(block) => (block, source.read(block, sizes.head)?.into_owned()),
            None => self.allocate_block(header, &sizes)?,
        };
        checksum::verify(&head, source.absolute(block)?, "a fixed array data block")?;
        let entry = entries.encode(source, chunk)?;
        let Some(pages) = sizes.pages else {
            patched(&mut head, sizes.prefix + number * entries.bytes, &entry)?;
            return self.space.write(block, &head);
        };
        let page = number / pages.entries;
        let in_page = pages.entries.min(count - page * pages.entries);
        let place = page.checked_mul(pages.bytes).and_then(|at| at.checked_add(block.checked_add(sizes.head)?)).ok_or_else(beyond)?;
        let bit = head.get_mut(usize::try_from(sizes.prefix + page / 8).map_err(|_| beyond())?).ok_or_else(|| Error::internal("a page without its bit"))?;
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
        patched(&mut bytes, number % pages.entries * entries.bytes, &entry)?;
        self.space.write(place, &bytes)
    }

    fn read_header(&self) -> Result<Header> {
        let source = self.source;
        let header_bytes = 8 + u64::from(source.length_size) + u64::from(source.offset_size) + 4;
        let bytes = source.read(self.header, header_bytes)?.into_owned();
        let mut cursor = source.cursor(&bytes, self.header);
        cursor.signature(b"FAHD")?;
        checksum::verify(&bytes, source.absolute(self.header)?, "a fixed array header")?;
        cursor.skip(1)?;
        let is_filtered = cursor.u8()? == 1;
        let entries = Entries { bytes: u64::from(cursor.u8()?), is_filtered };
        let page_bits = u32::from(cursor.u8()?);
        let count = cursor.length()?;
        let block = cursor.address()?;
        let page_entries = 1u64.checked_shl(page_bits).ok_or_else(beyond)?;
        Ok(Header { bytes, entries, count, page_entries, block })
    }

    /// Allocates the data block of an array without one, in which no chunk is, and enters it into the header. Returns its address, and its bytes
    /// before the pages.
    fn allocate_block(&self, mut header: Header, sizes: &Sizes) -> Result<(u64, Vec<u8>)> {
        let (source, entries, count) = (self.source, header.entries, header.count);
        let pages_bytes = match &sizes.pages {
            Some(pages) => {
                let last = count.saturating_sub(pages.count.saturating_sub(1) * pages.entries);
                (pages.count - 1).checked_mul(pages.bytes).and_then(|bytes| bytes.checked_add(last * entries.bytes + 4)).ok_or_else(beyond)?
            }
            None => 0,
        };
        let block = self.space.allocate(PageKind::Metadata, sizes.head.checked_add(pages_bytes).ok_or_else(beyond)?)?;
        let mut encoder = Encoder::signed(b"FADB");
        encoder.bytes(&[0, u8::from(entries.is_filtered)]);
        encoder.uint(self.header, source.offset_size.into());
        let mut head = encoder.finish();
        head.extend(match &sizes.pages {
            Some(pages) => vec![0; usize::try_from(pages.count.div_ceil(8)).map_err(|_| beyond())?],
            None => entries.empty(source, count)?,
        });
        head.extend([0; 4]);
        seal(&mut head)?;
        self.space.write(block, &head)?;
        patched(&mut header.bytes, 8 + u64::from(source.length_size), block.to_le_bytes().get(..usize::from(source.offset_size)).unwrap_or_default())?;
        self.space.write(self.header, &header.bytes)?;
        Ok((block, head))
    }
}

/// The header of a fixed array.
struct Header {
    bytes: Vec<u8>,
    entries: Entries,
    count: u64,
    /// Entries of a page, and the most of a data block without pages.
    page_entries: u64,
    /// The data block; `None` if no chunk was ever written.
    block: Option<u64>,
}

impl Header {
    fn sizes(&self, source: &Source) -> Result<Sizes> {
        let (count, entry_bytes) = (self.count, self.entries.bytes);
        let page_count = (count > self.page_entries).then(|| count.div_ceil(self.page_entries));
        let prefix = 6 + u64::from(source.offset_size);
        let head = match page_count {
            Some(pages) => prefix + pages.div_ceil(8) + 4,
            None => prefix + count.checked_mul(entry_bytes).ok_or_else(beyond)? + 4,
        };
        let page_bytes = self.page_entries.checked_mul(entry_bytes).and_then(|bytes| bytes.checked_add(4)).ok_or_else(beyond)?;
        Ok(Sizes { prefix, head, pages: page_count.map(|count| Pages { count, entries: self.page_entries, bytes: page_bytes }) })
    }
}

/// Sizes of a data block in bytes.
struct Sizes {
    /// What comes before the entries or the bits of the pages.
    prefix: u64,
    /// The block without its pages.
    head: u64,
    pages: Option<Pages>,
}

/// Pages of a data block that has many entries.
struct Pages {
    count: u64,
    /// Entries of each but the last.
    entries: u64,
    /// Bytes of each but the last.
    bytes: u64,
}

fn beyond() -> Error {
    Error::corrupt("a fixed array beyond 64 bits")
}
