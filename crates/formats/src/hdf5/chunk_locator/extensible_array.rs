//! Extensible array: entries in an index block, data blocks and super blocks that double in size;
//! for datasets with one unlimited dimension (VII.D).

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use hyperslab_array::{Error, Result};

use super::entry::{EntryForm, check_array_block, parse_entry};
use super::extensible_header::ExtensibleHeader;
use super::found::{Found, Sink};
use super::numbering::Numbering;
use crate::hdf5::layout::ChunkedLayout;
use crate::hdf5::writer::{Space, StoredChunk};
use crate::hdf5::{Encoder, Source, checksum};

pub(super) fn locate(source: &Source, address: u64, touched: &[Vec<u64>], found: &mut Found<'_>) -> Result<()> {
    let Some(mut array) = Array::open(source, address)? else { return Ok(()) };
    let numbering = Numbering::unlimited_first(found.layout)?;
    for (slot, origin) in touched.iter().enumerate() {
        let number = numbering.number(origin)?;
        if let Some((address, length, mask)) = array.entry(number, found.layout)? {
            found.put(source, slot, address, length, mask)?;
        }
    }
    Ok(())
}

/// Gives all stored chunks to `sink`. Blocks and pages that were never written cost nothing.
pub(super) fn each_stored(source: &Source, address: u64, sink: &mut impl Sink) -> Result<()> {
    let Some(mut array) = Array::open(source, address)? else { return Ok(()) };
    let numbering = Numbering::unlimited_first(sink.layout())?;
    let mut number = 0;
    while number < array.entries_set {
        let adjacent = array.adjacent(number)?;
        if let Some((block, first)) = &adjacent.place {
            for number in number..adjacent.numbers.end.min(array.entries_set) {
                let entry = first + (number - adjacent.numbers.start);
                let Some((address, length, mask)) = array.parse(block, entry, sink.layout())? else { continue };
                if let Some(position) = numbering.position(number) {
                    sink.add(source, &position, address, length, mask)?;
                }
            }
            array.forget();
        }
        number = adjacent.numbers.end;
    }
    Ok(())
}

struct Array<'a> {
    source: &'a Source,
    /// Address of the header.
    header: u64,
    filtered: bool,
    entry_bytes: u64,
    bits: u32,
    index_entries: u64,
    min_block_entries: u64,
    min_pointers: u64,
    page_entries: u64,
    /// Entries from this index on were never written.
    entries_set: u64,
    index: Block,
    /// Blocks read so far, by address.
    blocks: HashMap<u64, Block>,
    /// The entries around the previous one: the next one is usually among them.
    recent: Option<Adjacent>,
}

/// Entries that lie side by side.
#[derive(Clone)]
struct Adjacent {
    numbers: Range<u64>,
    /// Their block and the number of the first of them in it; `None` if they were never written.
    place: Option<(Block, u64)>,
}

/// A block's bytes and where its entries or addresses begin.
#[derive(Clone)]
struct Block {
    address: u64,
    bytes: Arc<[u8]>,
    start: u64,
}

/// Where an entry is among the data blocks.
struct Spot {
    super_number: u32,
    level: Level,
    /// Number of its data block in the super block, and of its page in that.
    block: u64,
    page: u64,
    /// Number of pages of a data block; `None` if it is not divided.
    pages: Option<u64>,
}

/// A data block, as its super block describes it.
struct DataBlock {
    /// `None` if it was never written.
    address: Option<u64>,
    /// Whether the page of the entry was written.
    is_written: bool,
}

/// What is the same for all data blocks of one super block.
pub(crate) struct Level {
    /// Data blocks of the super block.
    pub blocks: u64,
    /// Entries of each.
    pub block_entries: u64,
    /// Number of the first entry, counted from the end of the index block's own entries.
    pub first_entry: u64,
    /// Number of the first data block over all.
    pub first_block: u64,
}

pub(crate) fn level(number: u32, min_block_entries: u64) -> Option<Level> {
    let blocks = 1u64.checked_shl(number / 2)?;
    let block_entries = min_block_entries.checked_mul(1u64.checked_shl(number.div_ceil(2))?)?;
    let (mut first_entry, mut first_block) = (0u64, 0u64);
    for below in 0..number {
        let count = 1u64.checked_shl(below / 2)?;
        let entries = min_block_entries.checked_mul(1u64.checked_shl(below.div_ceil(2))?)?;
        first_entry = first_entry.checked_add(count.checked_mul(entries)?)?;
        first_block = first_block.checked_add(count)?;
    }
    Some(Level { blocks, block_entries, first_entry, first_block })
}

impl<'a> Array<'a> {
    fn open(source: &'a Source, address: u64) -> Result<Option<Self>> {
        let o = u64::from(source.offset_size);
        let header = ExtensibleHeader::read(source, address)?;
        let ExtensibleHeader { is_filtered, entry_bytes, bits, index_entries, min_block_entries, min_pointers, page_entries, entries_set, index } = header;
        let Some(index) = index else { return Ok(None) };
        let supers = u64::from(1 + bits - min_block_entries.ilog2());
        let direct = 2 * (min_pointers - 1);
        let super_pointers = supers.saturating_sub(u64::from(2 * min_pointers.ilog2()));
        let start = 6 + o;
        let length = start + index_entries * entry_bytes + (direct + super_pointers) * o + 4;
        let bytes = source.read(index, length)?;
        let what = "an extensible array index block";
        let mut cursor = source.cursor(&bytes, index);
        cursor.signature(b"EAIB")?;
        checksum::verify(&bytes, source.absolute(index)?, what)?;
        check_array_block(&mut cursor, is_filtered, address, what)?;
        Ok(Some(Self {
            source,
            header: address,
            filtered: is_filtered,
            entry_bytes,
            bits,
            index_entries,
            min_block_entries,
            min_pointers,
            page_entries,
            entries_set,
            index: Block { address: index, bytes: bytes.into(), start },
            blocks: HashMap::new(),
            recent: None,
        }))
    }

    fn corrupt(&self, message: &str) -> Error {
        Error::corrupt(message).at_offset(self.source.base_address.saturating_add(self.index.address))
    }

    /// The entry of the chunk with this number.
    fn entry(&mut self, number: u64, layout: &ChunkedLayout) -> Result<Option<(u64, u64, u32)>> {
        if number >= self.entries_set {
            return Ok(None);
        }
        if self.recent.as_ref().is_none_or(|recent| !recent.numbers.contains(&number)) {
            self.recent = Some(self.adjacent(number)?);
        }
        match &self.recent {
            Some(Adjacent { numbers, place: Some((block, first)) }) => self.parse(block, first + (number - numbers.start), layout),
            _ => Ok(None),
        }
    }

    /// Forgets the blocks that were read, for those who go through all of them once.
    fn forget(&mut self) {
        self.blocks.retain(|_, block| block.bytes.starts_with(b"EASB"));
    }

    /// The entries around one.
    fn adjacent(&mut self, number: u64) -> Result<Adjacent> {
        if number < self.index_entries {
            return Ok(Adjacent { numbers: 0..self.index_entries, place: Some((self.index.clone(), 0)) });
        }
        let spot = self.spot(number - self.index_entries)?;
        let Some(DataBlock { address, is_written }) = self.data_block(&spot)? else {
            let level = &spot.level;
            return Ok(Adjacent { numbers: self.numbers(level.first_entry, level.blocks.saturating_mul(level.block_entries)), place: None });
        };
        let first = spot.level.first_entry + spot.block * spot.level.block_entries;
        let of_block = self.numbers(first, spot.level.block_entries);
        let of_page = self.numbers(first + spot.page * self.page_entries, self.page_entries);
        let Some(address) = address else { return Ok(Adjacent { numbers: of_block, place: None }) };
        if !is_written {
            return Ok(Adjacent { numbers: of_page, place: None });
        }
        let start = 6 + u64::from(self.source.offset_size) + u64::from(self.bits.div_ceil(8));
        if spot.pages.is_none() {
            let length = start + spot.level.block_entries * self.entry_bytes + 4;
            self.load(address, length, start, b"EADB", "an extensible array data block")?;
            return Ok(Adjacent { numbers: of_block, place: Some((self.loaded(address)?.clone(), 0)) });
        }
        let page = self.page(address, start, spot.page)?;
        Ok(Adjacent { numbers: of_page, place: Some((page, 0)) })
    }

    /// Numbers of the entries from `first` on, which is counted from the end of the index block's own entries.
    fn numbers(&self, first: u64, count: u64) -> Range<u64> {
        let first = self.index_entries.saturating_add(first);
        first..first.saturating_add(count)
    }

    /// Where an entry is, whose number is counted from the end of the index block's own entries.
    fn spot(&self, number: u64) -> Result<Spot> {
        let super_number = (number / self.min_block_entries + 1).ilog2();
        let level = level(super_number, self.min_block_entries).ok_or_else(|| self.corrupt("a chunk number beyond its array"))?;
        let within = number - level.first_entry;
        let (block, entry) = (within / level.block_entries, within % level.block_entries);
        let pages = (level.block_entries > self.page_entries).then(|| level.block_entries / self.page_entries);
        Ok(Spot { super_number, level, block, page: entry / self.page_entries, pages })
    }

    /// The data block of an entry; `None` if not even its super block exists.
    fn data_block(&mut self, spot: &Spot) -> Result<Option<DataBlock>> {
        let o = u64::from(self.source.offset_size);
        let addresses = self.index.start + self.index_entries * self.entry_bytes;
        // The index block has the addresses of the data blocks of the first super blocks itself.
        let direct_supers = 2 * self.min_pointers.ilog2();
        if spot.super_number < direct_supers {
            let address = self.address(&self.index, addresses + (spot.level.first_block + spot.block) * o)?;
            return Ok(Some(DataBlock { address, is_written: true }));
        }
        let direct = 2 * (self.min_pointers - 1);
        let at = addresses + (direct + u64::from(spot.super_number - direct_supers)) * o;
        match self.address(&self.index, at)? {
            Some(super_block) => self.in_super_block(super_block, spot).map(Some),
            None => Ok(None),
        }
    }

    /// What a super block says of the data block of an entry.
    fn in_super_block(&mut self, super_block: u64, spot: &Spot) -> Result<DataBlock> {
        let (o, level, pages) = (u64::from(self.source.offset_size), &spot.level, spot.pages.unwrap_or(0));
        // Page bits (whole bytes per data block), then the addresses of the data blocks. The bits are
        // numbered consecutively across data blocks: with 4 pages per block, the pages of the second block begin
        // within the first byte.
        let bitmap_bytes = pages.div_ceil(8);
        let start = 6 + o + u64::from(self.bits.div_ceil(8));
        let length =
            level.blocks.checked_mul(bitmap_bytes + o).and_then(|n| n.checked_add(start + 4)).ok_or_else(|| self.corrupt("a super block beyond 64 bits"))?;
        let is_new = !self.blocks.contains_key(&super_block);
        self.load(super_block, length, start, b"EASB", "an extensible array super block")?;
        let loaded = self.loaded(super_block)?;
        if is_new && self.source.storage.is_remote() {
            let block_bytes = 6 + o + u64::from(self.bits.div_ceil(8)) + level.block_entries.saturating_mul(self.entry_bytes) + 4 * (pages + 1);
            let addresses = (0..level.blocks).map_while(|block| self.address(loaded, start + level.blocks * bitmap_bytes + block * o).ok()).flatten();
            self.source.prefetch(addresses.map(|address| (address, block_bytes)))?;
        }
        let is_written = if spot.pages.is_some() {
            let bit = spot.block * pages + spot.page;
            let at = usize::try_from(start + bit / 8).ok();
            let byte = at.and_then(|at| loaded.bytes.get(at));
            let byte = byte.ok_or_else(|| Error::internal("a page beyond the page bits of its super block"))?;
            byte & (0x80 >> (bit % 8)) != 0
        } else {
            true
        };
        let address = self.address(loaded, start + level.blocks * bitmap_bytes + spot.block * o)?;
        Ok(DataBlock { address, is_written })
    }

    /// A page of the data block at `address`, whose pages begin after a head of `start` bytes and a checksum.
    fn page(&mut self, address: u64, start: u64, page: u64) -> Result<Block> {
        let page_bytes = self.page_entries * self.entry_bytes + 4;
        let at = page.checked_mul(page_bytes).and_then(|n| n.checked_add(address)?.checked_add(start + 4));
        let at = at.ok_or_else(|| self.corrupt("a page beyond 64 bits"))?;
        if !self.blocks.contains_key(&at) {
            let bytes = self.source.read(at, page_bytes)?;
            checksum::verify(&bytes, self.source.absolute(at)?, "an extensible array page")?;
            self.blocks.insert(at, Block { address: at, bytes: bytes.into(), start: 0 });
        }
        Ok(self.loaded(at)?.clone())
    }

    fn load(&mut self, address: u64, length: u64, start: u64, signature: &[u8; 4], what: &str) -> Result<()> {
        if self.blocks.contains_key(&address) {
            return Ok(());
        }
        let bytes = self.source.read(address, length)?;
        let mut cursor = self.source.cursor(&bytes, address);
        cursor.signature(signature)?;
        checksum::verify(&bytes, self.source.absolute(address)?, what)?;
        check_array_block(&mut cursor, self.filtered, self.header, what)?;
        self.blocks.insert(address, Block { address, bytes: bytes.into(), start });
        Ok(())
    }

    fn loaded(&self, address: u64) -> Result<&Block> {
        self.blocks.get(&address).ok_or_else(|| Error::internal("a block was not loaded"))
    }

    fn address(&self, block: &Block, at: u64) -> Result<Option<u64>> {
        let mut cursor = self.source.cursor(&block.bytes, block.address);
        cursor.take_u64(at)?;
        cursor.address()
    }

    fn parse(&self, block: &Block, entry: u64, layout: &ChunkedLayout) -> Result<Option<(u64, u64, u32)>> {
        let mut cursor = self.source.cursor(&block.bytes, block.address);
        cursor.take_u64(block.start + entry * self.entry_bytes)?;
        let entry_bytes = usize::try_from(self.entry_bytes).unwrap_or(usize::MAX);
        parse_entry(&mut cursor, layout, self.filtered, entry_bytes)
    }
}

/// What the layout message says of an array that we write, the library's own choice: bits of an entry's
/// number, entries of the index block, least addresses of a super block, least entries of a data block, bits
/// of a page.
pub(crate) const CREATION: [u8; 5] = [32, 4, 4, 16, 10];
/// The same in the order of the array's header, least entries before least addresses.
const HEADER: [u8; 5] = [32, 4, 16, 4, 10];

/// Writes an array with `entries` to `space` and returns its address. Empty blocks are omitted.
pub(super) fn encode(space: &mut Space, entries: &BTreeMap<u64, &StoredChunk>, form: EntryForm) -> Result<u64> {
    Writer::new(space, entries, form).array()
}

const HEADER_BYTES: usize = 72;
const INDEX_ENTRIES: u64 = 4;
const MIN_BLOCK_ENTRIES: u64 = 16;
/// Super blocks whose data blocks the index block has the addresses of, and those in all.
const DIRECT_LEVELS: u32 = 4;
const LEVELS: u32 = 29;
const PAGE_ENTRIES: u64 = 1 << 10;

struct Writer<'a> {
    space: &'a mut Space,
    entries: &'a BTreeMap<u64, &'a StoredChunk>,
    form: EntryForm,
    class: u8,
    header: u64,
    /// How many blocks there are and their bytes: super blocks, data blocks.
    supers: (u64, u64),
    data: (u64, u64),
    /// Number of entries in allocated blocks.
    realized: u64,
}

impl<'a> Writer<'a> {
    fn new(space: &'a mut Space, entries: &'a BTreeMap<u64, &'a StoredChunk>, form: EntryForm) -> Self {
        let header = space.reserve(HEADER_BYTES);
        let class = u8::from(form.filtered());
        Self { space, entries, form, class, header, supers: (0, 0), data: (0, 0), realized: INDEX_ENTRIES }
    }

    fn array(mut self) -> Result<u64> {
        let count = self.entries.last_key_value().map_or(0, |(last, _)| last + 1);
        if count > 1 << 32 {
            return Err(Error::unsupported("more than 2³² chunks in a dataset"));
        }
        let mut index = self.block(b"EAIB");
        self.put_entries(&mut index, 0, INDEX_ENTRIES);
        for number in 0..LEVELS {
            let level = level(number, MIN_BLOCK_ENTRIES).ok_or_else(|| Error::internal("a level beyond 64 bits"))?;
            if number < DIRECT_LEVELS {
                for block in 0..level.blocks {
                    let address = self.data_block(&level, block)?;
                    index.address(address);
                }
            } else {
                let address = self.super_block(&level)?;
                index.address(address);
            }
        }
        let index = self.space.put(&index.finish_with_checksum());
        let mut encoder = Encoder::signed(b"EAHD");
        encoder.bytes(&[0, self.class, self.form.bytes()]);
        encoder.bytes(&HEADER);
        for count in [self.supers.0, self.supers.1, self.data.0, self.data.1, count, self.realized, index] {
            encoder.u64(count);
        }
        self.space.fill(self.header, &encoder.finish_with_checksum())?;
        Ok(self.header)
    }

    fn block(&self, signature: &[u8; 4]) -> Encoder {
        let mut encoder = Encoder::signed(signature);
        encoder.bytes(&[0, self.class]);
        encoder.u64(self.header);
        encoder
    }

    /// The entries from number `first` on.
    fn put_entries(&self, encoder: &mut Encoder, first: u64, count: u64) {
        for number in first..first + count {
            self.form.put(self.entries.get(&number).copied(), encoder);
        }
    }

    fn is_empty(&self, first: u64, count: u64) -> bool {
        self.entries.range(first..first + count).next().is_none()
    }

    /// Writes a data block with all of its pages and returns its address; `None` if it would be empty.
    fn data_block(&mut self, level: &Level, block: u64) -> Result<Option<u64>> {
        let offset = level.first_entry + block * level.block_entries;
        let first = INDEX_ENTRIES + offset;
        if self.is_empty(first, level.block_entries) {
            return Ok(None);
        }
        let mut encoder = self.block(b"EADB");
        encoder.uint(offset, 4);
        let bytes = if level.block_entries <= PAGE_ENTRIES {
            self.put_entries(&mut encoder, first, level.block_entries);
            encoder.finish_with_checksum()
        } else {
            let pages = level.block_entries / PAGE_ENTRIES;
            let mut bytes = encoder.finish_with_checksum();
            for page in 0..pages {
                let mut encoded = Encoder::default();
                self.put_entries(&mut encoded, first + page * PAGE_ENTRIES, PAGE_ENTRIES);
                bytes.extend(encoded.finish_with_checksum());
            }
            bytes
        };
        self.data = (self.data.0 + 1, self.data.1 + bytes.len() as u64);
        self.realized += level.block_entries;
        Ok(Some(self.space.put(&bytes)))
    }

    fn super_block(&mut self, level: &Level) -> Result<Option<u64>> {
        if self.is_empty(INDEX_ENTRIES + level.first_entry, level.blocks * level.block_entries) {
            return Ok(None);
        }
        let pages = if level.block_entries > PAGE_ENTRIES { level.block_entries / PAGE_ENTRIES } else { 0 };
        // Whole bytes of page bits for each data block, numbered through all of them.
        let bitmap_bytes = usize::try_from(level.blocks.saturating_mul(pages.div_ceil(8))).unwrap_or(usize::MAX);
        let mut bitmap = vec![0u8; bitmap_bytes];
        let mut addresses = Encoder::default();
        for block in 0..level.blocks {
            let address = self.data_block(level, block)?;
            for bit in (block * pages..(block + 1) * pages).filter(|_| address.is_some()) {
                if let Some(byte) = usize::try_from(bit / 8).ok().and_then(|at| bitmap.get_mut(at)) {
                    *byte |= 0x80 >> (bit % 8);
                }
            }
            addresses.address(address);
        }
        let mut encoder = self.block(b"EASB");
        encoder.uint(level.first_entry, 4);
        encoder.bytes(&bitmap);
        encoder.bytes(&addresses.finish());
        let bytes = encoder.finish_with_checksum();
        self.supers = (self.supers.0 + 1, self.supers.1 + bytes.len() as u64);
        Ok(Some(self.space.put(&bytes)))
    }
}
