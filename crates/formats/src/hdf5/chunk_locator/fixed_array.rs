//! Fixed array: an entry for each chunk of a dataset that cannot grow (VII.C).

use hyperslab_array::{Error, Result};

use super::entry::{EntryForm, check_array_block, parse_entry};
use super::fixed_header::FixedHeader;
use super::found::{Found, Sink};
use super::numbering::Numbering;
use crate::hdf5::writer::{Space, StoredChunk};
use crate::hdf5::{Cursor, Encoder, Source, checksum};

pub(super) fn locate(source: &Source, address: u64, touched: &[Vec<u64>], found: &mut Found<'_>) -> Result<()> {
    let Some(array) = Array::open(source, address)? else { return Ok(()) };
    let numbering = Numbering::row_major(found.layout)?;
    let numbered = touched.iter().enumerate().map(|(slot, origin)| Ok((numbering.number(origin)?, slot)));
    let mut wanted = numbered.collect::<Result<Vec<_>>>()?;
    wanted.sort_unstable();
    array.read(&wanted, found)
}

/// Gives all stored chunks to `sink`. Pages that were never written cost nothing.
pub(super) fn each_stored(source: &Source, address: u64, sink: &mut impl Sink) -> Result<()> {
    let Some(array) = Array::open(source, address)? else { return Ok(()) };
    let numbering = Numbering::row_major(sink.layout())?;
    let entry_bytes = usize::try_from(array.entry_bytes).unwrap_or(usize::MAX);
    array.each_page(None, &mut |page| {
        let mut cursor = source.cursor(page.bytes, page.address);
        cursor.take_u64(page.start)?;
        for number in page.first..page.first + page.count {
            let mut entry = source.cursor(cursor.take(entry_bytes)?, page.address);
            let Some((address, length, mask)) = parse_entry(&mut entry, sink.layout(), array.filtered, entry_bytes)? else { continue };
            if let Some(position) = numbering.position(number) {
                sink.add(source, &position, address, length, mask)?;
            }
        }
        Ok(())
    })
}

struct Array<'a> {
    source: &'a Source,
    /// Addresses of the header and of the data block.
    header: u64,
    block: u64,
    entries: u64,
    entry_bytes: u64,
    page_entries: u64,
    filtered: bool,
}

/// Entries that lie side by side.
struct Page<'a> {
    bytes: &'a [u8],
    address: u64,
    /// Where in `bytes` the entries begin, the number of the first one, and how many there are.
    start: u64,
    first: u64,
    count: u64,
}

impl<'a> Array<'a> {
    /// `None`: no chunk was ever written.
    fn open(source: &'a Source, address: u64) -> Result<Option<Self>> {
        let FixedHeader { is_filtered: filtered, entry_bytes, page_entries, entries, block } = FixedHeader::read(source, address)?;
        Ok(block.map(|block| Self { source, header: address, block, entries, entry_bytes, page_entries, filtered }))
    }

    /// Reads the wanted entries, each a number and the slot that it fills.
    fn read(&self, wanted: &[(u64, usize)], found: &mut Found<'_>) -> Result<()> {
        if wanted.last().is_some_and(|(number, _)| *number >= self.entries) {
            let place = self.source.absolute(self.block)?;
            return Err(Error::corrupt(format!("a fixed array of {} chunks is too short for its dataset", self.entries)).at_offset(place));
        }
        let of = |page: u64| {
            let first = page.saturating_mul(self.page_entries);
            let from = wanted.partition_point(|(number, _)| *number < first);
            let until = wanted.partition_point(|(number, _)| *number < first.saturating_add(self.page_entries));
            wanted.get(from..until).unwrap_or_default()
        };
        let mut pages: Vec<u64> = wanted.iter().map(|(number, _)| number / self.page_entries).collect();
        pages.dedup();
        self.each_page(Some(&pages), &mut |page| self.take(page, of(page.first / self.page_entries), found))
    }

    /// Calls `take` with each written page, or with the `wanted` pages only; all entries of a small array are one page.
    fn each_page(&self, wanted: Option<&[u64]>, take: &mut dyn FnMut(&Page<'_>) -> Result<()>) -> Result<()> {
        let (source, block) = (self.source, self.block);
        let beyond = || Error::corrupt("a fixed array beyond 64 bits");
        let prefix = 6 + u64::from(source.offset_size);
        if self.entries <= self.page_entries {
            let length = self.entries.checked_mul(self.entry_bytes).ok_or_else(beyond)?;
            let bytes = source.read(block, prefix.checked_add(length).and_then(|n| n.checked_add(4)).ok_or_else(beyond)?)?;
            self.check_block(&mut source.cursor(&bytes, block), &bytes)?;
            return take(&Page { bytes: &bytes, address: block, start: prefix, first: 0, count: self.entries });
        }
        // Pages follow the prefix; a bit per page says whether it was written.
        let pages = self.entries.div_ceil(self.page_entries);
        let head_bytes = prefix + pages.div_ceil(8) + 4;
        let head = source.read(block, head_bytes)?;
        let mut cursor = source.cursor(&head, block);
        self.check_block(&mut cursor, &head)?;
        let bitmap = cursor.take_u64(pages.div_ceil(8))?;
        let page_bytes = self.page_entries.checked_mul(self.entry_bytes).and_then(|n| n.checked_add(4)).ok_or_else(beyond)?;
        let page_place = |page: u64| Some((page.checked_mul(page_bytes)?.checked_add(block.checked_add(head_bytes)?)?, page_bytes));
        source.prefetch(wanted.unwrap_or_default().iter().copied().filter_map(page_place))?;
        let mut all = 0..pages;
        let mut some = wanted.unwrap_or_default().iter().copied();
        let numbers: &mut dyn Iterator<Item = u64> = if wanted.is_some() { &mut some } else { &mut all };
        for page in numbers {
            let byte = usize::try_from(page / 8).ok().and_then(|at| bitmap.get(at));
            let byte = byte.ok_or_else(|| Error::internal("a page beyond the page bits of its fixed array"))?;
            if byte & (0x80 >> (page % 8)) == 0 {
                continue;
            }
            let first = page * self.page_entries;
            let count = self.page_entries.min(self.entries - first);
            let at = page.checked_mul(page_bytes).and_then(|n| n.checked_add(block + head_bytes)).ok_or_else(beyond)?;
            let bytes = source.read(at, count * self.entry_bytes + 4)?;
            checksum::verify(&bytes, source.absolute(at)?, "a fixed array page")?;
            take(&Page { bytes: &bytes, address: at, start: 0, first, count })?;
        }
        Ok(())
    }

    /// Checks how the data block begins; `bytes` end with its checksum.
    fn check_block(&self, cursor: &mut Cursor<'_>, bytes: &[u8]) -> Result<()> {
        const WHAT: &str = "a fixed array data block";
        cursor.signature(b"FADB")?;
        checksum::verify(bytes, self.source.absolute(self.block)?, WHAT)?;
        check_array_block(cursor, self.filtered, self.header, WHAT)
    }

    /// Takes the wanted entries of a page.
    fn take(&self, page: &Page<'_>, wanted: &[(u64, usize)], found: &mut Found<'_>) -> Result<()> {
        for (number, slot) in wanted {
            let mut cursor = self.source.cursor(page.bytes, page.address);
            cursor.take_u64(page.start + (number - page.first) * self.entry_bytes)?;
            let entry_bytes = usize::try_from(self.entry_bytes).unwrap_or(usize::MAX);
            if let Some((address, length, mask)) = parse_entry(&mut cursor, found.layout, self.filtered, entry_bytes)? {
                found.put(self.source, *slot, address, length, mask)?;
            }
        }
        Ok(())
    }
}

/// Base-2 logarithm of the entries per page in arrays that we write, as in the library's.
pub(crate) const PAGE_BITS: u8 = 10;

/// Writes an array of `entries` (`None`: never written) to `space` and returns its address.
pub(super) fn encode(space: &mut Space, entries: &[Option<&StoredChunk>], form: EntryForm) -> Result<u64> {
    const HEADER_BYTES: usize = 28;
    let page_entries = 1usize << PAGE_BITS;
    let class = u8::from(form.filtered());
    let header = space.reserve(HEADER_BYTES);
    let mut block = Encoder::signed(b"FADB");
    block.bytes(&[0, class]);
    block.u64(header);
    let bytes = if entries.len() <= page_entries {
        entries.iter().for_each(|entry| form.put(*entry, &mut block));
        block.finish_with_checksum()
    } else {
        let pages = entries.len().div_ceil(page_entries);
        let mut bitmap = vec![0u8; pages.div_ceil(8)];
        // Every page is written, so every bit is set.
        for page in 0..pages {
            if let Some(byte) = bitmap.get_mut(page / 8) {
                *byte |= 0x80 >> (page % 8);
            }
        }
        block.bytes(&bitmap);
        let mut bytes = block.finish_with_checksum();
        for page in entries.chunks(page_entries) {
            let mut encoded = Encoder::default();
            page.iter().for_each(|entry| form.put(*entry, &mut encoded));
            bytes.extend(encoded.finish_with_checksum());
        }
        bytes
    };
    let block = space.put(&bytes);
    let mut encoder = Encoder::signed(b"FAHD");
    encoder.bytes(&[0, class, form.bytes(), PAGE_BITS]);
    encoder.u64(entries.len() as u64);
    encoder.u64(block);
    space.fill(header, &encoder.finish_with_checksum())?;
    Ok(header)
}
