//! Entries of an extensible array of chunks: blocks that an entry needs are created.

use hyperslab_array::{Error, Result};

use super::entry::{Entries, patched, seal};
use super::space::{PageKind, Space};
use crate::hdf5::chunk_locator::extensible_array::{Level, level};
use crate::hdf5::writer::StoredChunk;
use crate::hdf5::{Encoder, Source, checksum};

/// Entries of an array are numbered with fewer bits in files of the library.
const MAX_BITS: u32 = 63;

/// An extensible array, whose header exists.
pub(super) struct ExtensibleArray<'a> {
    source: &'a Source,
    space: &'a dyn Space,
    address: u64,
    header: Header,
}

/// The content of the header.
#[derive(Debug, Clone)]
struct Header {
    entries: Entries,
    bits: u8,
    index_entries: u8,
    min_block_entries: u8,
    min_pointers: u8,
    page_bits: u8,
    /// Super blocks and their bytes, data blocks and their bytes.
    blocks: [u64; 4],
    /// Number of the last entry that was ever set, and one.
    entries_set: u64,
    /// Entries in blocks.
    realized: u64,
    index: Option<u64>,
}

impl<'a> ExtensibleArray<'a> {
    /// Creates the header of an array with the parameters of the layout message: bits, entries of the index block, least addresses of
    /// a super block, least entries of a data block, bits of a page.
    pub fn create(
        source: &'a Source,
        space: &'a dyn Space,
        entries: Entries,
        [bits, index_entries, min_pointers, min_block_entries, page_bits]: [u8; 5],
    ) -> Result<Self> {
        let header =
            Header { entries, bits, index_entries, min_block_entries, min_pointers, page_bits, blocks: [0; 4], entries_set: 0, realized: 0, index: None };
        let bytes = header.encode(source)?;
        let address = space.allocate(PageKind::Metadata, bytes.len() as u64)?;
        space.write(address, &bytes)?;
        Self::open(source, space, address)
    }

    /// The array whose header is at `address`.
    pub fn open(source: &'a Source, space: &'a dyn Space, address: u64) -> Result<Self> {
        let bytes = source.read(address, 12 + 6 * u64::from(source.length_size) + u64::from(source.offset_size) + 4)?;
        let mut cursor = source.cursor(&bytes, address);
        cursor.signature(b"EAHD")?;
        checksum::verify(&bytes, source.absolute(address)?, "an extensible array header")?;
        cursor.skip(1)?;
        let is_filtered = cursor.u8()? == 1;
        let entries = Entries { bytes: u64::from(cursor.u8()?), is_filtered };
        let (bits, index_entries, min_block_entries, min_pointers, page_bits) = (cursor.u8()?, cursor.u8()?, cursor.u8()?, cursor.u8()?, cursor.u8()?);
        let blocks = [cursor.length()?, cursor.length()?, cursor.length()?, cursor.length()?];
        let (entries_set, realized, index) = (cursor.length()?, cursor.length()?, cursor.address()?);
        let header = Header { entries, bits, index_entries, min_block_entries, min_pointers, page_bits, blocks, entries_set, realized, index };
        let is_sane = min_block_entries.is_power_of_two() && min_pointers.is_power_of_two() && u32::from(bits) <= MAX_BITS && u32::from(page_bits) <= MAX_BITS;
        if !is_sane || u32::from(bits) < min_block_entries.ilog2() {
            return Err(Error::corrupt("impossible sizes in an extensible array header").at_offset(source.absolute(address)?));
        }
        Ok(Self { source, space, address, header })
    }

    /// The address of its header.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Sets the entry with this number.
    pub fn set(&mut self, number: u64, chunk: Option<&StoredChunk>) -> Result<()> {
        let entry = self.header.entries.encode(self.source, chunk)?;
        let before = u64::from(self.header.index_entries);
        let index = self.index()?;
        if number < before {
            let mut bytes = self.block(index, self.index_bytes())?;
            patched(&mut bytes, self.prefix() + number * self.header.entries.bytes, &entry)?;
            self.space.write(index, &bytes)?;
        } else {
            self.set_in_block(index, number - before, &entry)?;
        }
        self.header.entries_set = self.header.entries_set.max(number + 1);
        self.space.write(self.address, &self.header.encode(self.source)?)
    }

    /// Sets an entry that is not in the index block, counted from the end of those that are.
    fn set_in_block(&mut self, index: u64, number: u64, entry: &[u8]) -> Result<()> {
        let beyond = || Error::corrupt("a chunk number beyond its array");
        let least = u64::from(self.header.min_block_entries);
        let super_number = (number / least + 1).ilog2();
        let level = level(super_number, least).filter(|_| super_number < self.levels()).ok_or_else(beyond)?;
        let within = number - level.first_entry;
        let (block, entry_number) = (within / level.block_entries, within % level.block_entries);
        let o = u64::from(self.source.offset_size);
        let addresses = self.prefix() + u64::from(self.header.index_entries) * self.header.entries.bytes;
        let direct_levels = 2 * self.header.min_pointers.ilog2();
        let is_paged = level.block_entries > self.page_entries();
        // Where the address of the data block stands, and in which block of what length.
        let (holder, holder_bytes, at, bitmap) = if super_number < direct_levels {
            (index, self.index_bytes(), addresses + (level.first_block + block) * o, None)
        } else {
            let direct = 2 * (u64::from(self.header.min_pointers) - 1);
            let at = addresses + (direct + u64::from(super_number - direct_levels)) * o;
            let super_block = self.super_block(index, at, &level)?;
            let bitmap = self.prefix() + self.offset_bytes();
            let start = bitmap + level.blocks * self.bitmap_bytes(&level);
            (super_block, self.super_block_bytes(&level), start + block * o, is_paged.then_some(bitmap))
        };
        let mut held = self.block(holder, holder_bytes)?;
        let data_block = match self.address_at(&held, at)? {
            Some(address) => address,
            None => {
                let address = self.create_data_block(&level, block)?;
                self.put_address(&mut held, at, address)?;
                self.space.write(holder, &held)?;
                address
            }
        };
        let start = self.prefix() + self.offset_bytes();
        if !is_paged {
            let mut bytes = self.block(data_block, start + level.block_entries * self.header.entries.bytes + 4)?;
            patched(&mut bytes, start + entry_number * self.header.entries.bytes, entry)?;
            return self.space.write(data_block, &bytes);
        }
        let bitmap = bitmap.ok_or_else(|| Error::corrupt("an extensible array with pages in its first blocks"))?;
        let (page, pages) = (entry_number / self.page_entries(), level.block_entries / self.page_entries());
        let bit = block * pages + page;
        let page_bytes = self.page_entries() * self.header.entries.bytes + 4;
        let place = page.checked_mul(page_bytes).and_then(|at| at.checked_add(data_block.checked_add(start + 4)?)).ok_or_else(beyond)?;
        let flags = usize::try_from(bitmap + bit / 8).ok().and_then(|at| held.get_mut(at)).ok_or_else(|| Error::internal("a page without its bit"))?;
        let mask = 0x80u8 >> (bit % 8);
        let mut bytes = if *flags & mask == 0 {
            *flags |= mask;
            seal(&mut held)?;
            self.space.write(holder, &held)?;
            [self.header.entries.empty(self.source, self.page_entries())?, vec![0; 4]].concat()
        } else {
            self.block(place, page_bytes)?
        };
        patched(&mut bytes, entry_number % self.page_entries() * self.header.entries.bytes, entry)?;
        self.space.write(place, &bytes)
    }

    /// The address of the index block, which is created if there is none.
    fn index(&mut self) -> Result<u64> {
        if let Some(index) = self.header.index {
            return Ok(index);
        }
        let mut bytes = self.begin(b"EAIB");
        bytes.extend(self.header.entries.empty(self.source, self.header.index_entries.into())?);
        bytes.resize(usize::try_from(self.index_bytes() - 4).map_err(|_| Error::internal("a block beyond memory"))?, u8::MAX);
        let index = self.put(bytes)?;
        self.header.index = Some(index);
        self.header.realized = self.header.index_entries.into();
        Ok(index)
    }

    /// The address of a super block, which stands at `at` of the index block; it is created if there is none.
    fn super_block(&mut self, index: u64, at: u64, level: &Level) -> Result<u64> {
        let mut held = self.block(index, self.index_bytes())?;
        if let Some(address) = self.address_at(&held, at)? {
            return Ok(address);
        }
        let mut bytes = self.begin(b"EASB");
        self.put_offset(&mut bytes, level.first_entry);
        let bitmap = level.blocks * self.bitmap_bytes(level);
        bytes.resize(bytes.len() + usize::try_from(bitmap).map_err(|_| Error::internal("a block beyond memory"))?, 0);
        let length = self.super_block_bytes(level);
        bytes.resize(usize::try_from(length - 4).map_err(|_| Error::internal("a block beyond memory"))?, u8::MAX);
        let address = self.put(bytes)?;
        self.header.blocks[0] += 1;
        self.header.blocks[1] += length;
        self.put_address(&mut held, at, address)?;
        self.space.write(index, &held)?;
        Ok(address)
    }

    fn create_data_block(&mut self, level: &Level, block: u64) -> Result<u64> {
        let mut bytes = self.begin(b"EADB");
        self.put_offset(&mut bytes, level.first_entry + block * level.block_entries);
        let is_paged = level.block_entries > self.page_entries();
        if !is_paged {
            bytes.extend(self.header.entries.empty(self.source, level.block_entries)?);
        }
        bytes.extend([0; 4]);
        seal(&mut bytes)?;
        let pages = if is_paged { level.block_entries / self.page_entries() * (self.page_entries() * self.header.entries.bytes + 4) } else { 0 };
        let length = bytes.len() as u64 + pages;
        let address = self.space.allocate(PageKind::Metadata, length)?;
        self.space.write(address, &bytes)?;
        self.header.blocks[2] += 1;
        self.header.blocks[3] += length;
        self.header.realized += level.block_entries;
        Ok(address)
    }

    fn begin(&self, signature: &[u8; 4]) -> Vec<u8> {
        let mut encoder = Encoder::signed(signature);
        encoder.bytes(&[0, u8::from(self.header.entries.is_filtered)]);
        encoder.uint(self.address, self.source.offset_size.into());
        encoder.finish()
    }

    /// Allocates and writes a block, after which its checksum goes.
    fn put(&self, mut bytes: Vec<u8>) -> Result<u64> {
        bytes.extend([0; 4]);
        seal(&mut bytes)?;
        let address = self.space.allocate(PageKind::Metadata, bytes.len() as u64)?;
        self.space.write(address, &bytes)?;
        Ok(address)
    }

    fn put_offset(&self, bytes: &mut Vec<u8>, offset: u64) {
        let width = usize::try_from(self.offset_bytes()).unwrap_or(8);
        bytes.extend(offset.to_le_bytes().get(..width).unwrap_or_default());
    }

    fn put_address(&self, block: &mut [u8], at: u64, address: u64) -> Result<()> {
        patched(block, at, address.to_le_bytes().get(..usize::from(self.source.offset_size)).unwrap_or_default())
    }

    fn address_at(&self, block: &[u8], at: u64) -> Result<Option<u64>> {
        let mut cursor = self.source.cursor(block, 0);
        cursor.take_u64(at)?;
        cursor.address()
    }

    fn block(&self, address: u64, length: u64) -> Result<Vec<u8>> {
        let bytes = self.source.read(address, length)?.into_owned();
        checksum::verify(&bytes, self.source.absolute(address)?, "a block of an extensible array")?;
        Ok(bytes)
    }

    fn prefix(&self) -> u64 {
        6 + u64::from(self.source.offset_size)
    }
    /// Bytes of the number of a block's first entry.
    fn offset_bytes(&self) -> u64 {
        u64::from(self.header.bits.div_ceil(8))
    }
    fn page_entries(&self) -> u64 {
        1 << self.header.page_bits
    }
    fn levels(&self) -> u32 {
        1 + u32::from(self.header.bits) - self.header.min_block_entries.ilog2()
    }
    /// Bytes of page bits for each data block.
    fn bitmap_bytes(&self, level: &Level) -> u64 {
        if level.block_entries > self.page_entries() { (level.block_entries / self.page_entries()).div_ceil(8) } else { 0 }
    }
    fn super_block_bytes(&self, level: &Level) -> u64 {
        self.prefix() + self.offset_bytes() + level.blocks * (self.bitmap_bytes(level) + u64::from(self.source.offset_size)) + 4
    }
    fn index_bytes(&self) -> u64 {
        let direct = 2 * (u64::from(self.header.min_pointers) - 1);
        let super_pointers = u64::from(self.levels().saturating_sub(2 * self.header.min_pointers.ilog2()));
        self.prefix() + u64::from(self.header.index_entries) * self.header.entries.bytes + (direct + super_pointers) * u64::from(self.source.offset_size) + 4
    }
}

impl Header {
    fn encode(&self, source: &Source) -> Result<Vec<u8>> {
        let mut encoder = Encoder::signed(b"EAHD");
        let entry_bytes = u8::try_from(self.entries.bytes).map_err(|_| Error::internal("an entry of 256 bytes"))?;
        encoder.bytes(&[0, u8::from(self.entries.is_filtered), entry_bytes]);
        encoder.bytes(&[self.bits, self.index_entries, self.min_block_entries, self.min_pointers, self.page_bits]);
        for count in self.blocks.iter().chain([&self.entries_set, &self.realized]) {
            encoder.uint(*count, source.length_size.into());
        }
        encoder.uint(self.index.unwrap_or(u64::MAX), source.offset_size.into());
        Ok(encoder.finish_with_checksum())
    }
}
