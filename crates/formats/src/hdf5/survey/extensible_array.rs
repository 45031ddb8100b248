//! Extensible arrays, block by block.

use std::borrow::Cow;

use hyperslab_array::Result;

use super::found_chunks::{Entries, Found, Pages, array_block, entry_bytes, has_bit};
use super::log::Log;
use super::structure::StructureKind;
use crate::hdf5::Source;
use crate::hdf5::chunk_locator::extensible_array::{CREATION, Level, level};
use crate::hdf5::chunk_locator::extensible_header::ExtensibleHeader;
use crate::hdf5::chunk_locator::numbering::Numbering;
use crate::hdf5::layout::ChunkedLayout;

const KIND: StructureKind = StructureKind::ExtensibleArrayBlock;

/// An array as its header describes it.
struct Array {
    header: u64,
    is_filtered: bool,
    entry_bytes: u64,
    bits: u32,
    index_entries: u64,
    min_block_entries: u64,
    min_pointers: u64,
    page_entries: u64,
    /// Entries from this one on were never written.
    entries_set: u64,
    numbering: Numbering,
}

/// Adds the chunks of the array at `address`; returns whether all blocks are right.
pub(super) fn chunks(log: &mut Log<'_>, address: u64, found: &mut Found<'_>) -> Result<bool> {
    let source = log.source;
    let header_bytes = ExtensibleHeader::bytes(source);
    let header = header(source, address, found);
    let Some((array, index)) = log.noted(StructureKind::ExtensibleArray, address, header_bytes, header)? else { return Ok(false) };
    log.claim(StructureKind::ExtensibleArray, address, header_bytes)?;
    match index {
        Some(index) => array.index_block(log, index, found),
        None => Ok(true),
    }
}

/// Adds the chunks of the blocks at `places`, which name the array at `address` as theirs. If its header is lost, it is taken for that
/// of an array as all writers make it; the checksums of the blocks say whether it was.
pub(super) fn orphans(log: &mut Log<'_>, address: u64, places: &[u64], is_filtered: bool, found: &mut Found<'_>) -> Result<()> {
    let source = log.source;
    let arrays = match header(source, address, found) {
        Ok((array, index)) => {
            let has_index = index.is_some_and(|index| array.index_bytes(source, index).is_ok());
            vec![(array, has_index)]
        }
        Err(_) => {
            let usual = entry_bytes(source, found.layout, is_filtered).into_iter().filter_map(|bytes| Array::usual(address, is_filtered, bytes, found.layout));
            usual.map(|array| (array, false)).collect()
        }
    };
    for (array, has_index) in arrays {
        array.orphans(log, places, has_index, found)?;
        if !found.chunks.is_empty() {
            break;
        }
    }
    Ok(())
}

/// Where a data block belongs: the super block of its level, and its number in that.
type Place = (u32, u64);

/// How writers number data blocks that the index block leads to.
#[derive(Clone, Copy, PartialEq)]
enum Offsets {
    /// The HDF5 library adds the blocks of all levels before, counted as blocks of this one.
    Library,
    /// By their first entry, as in the specification.
    Plain,
}

fn header(source: &Source, address: u64, found: &Found<'_>) -> Result<(Array, Option<u64>)> {
    let header = ExtensibleHeader::read(source, address)?;
    let ExtensibleHeader { is_filtered, entry_bytes, bits, index_entries, min_block_entries, min_pointers, page_entries, entries_set, index } = header;
    let numbering = Numbering::unlimited_first(found.layout)?;
    let array = Array { header: address, is_filtered, entry_bytes, bits, index_entries, min_block_entries, min_pointers, page_entries, entries_set, numbering };
    Ok((array, index))
}

impl Array {
    /// An array as all writers make it for such a dataset.
    fn usual(header: u64, is_filtered: bool, entry_bytes: u64, layout: &ChunkedLayout) -> Option<Self> {
        let [bits, index_entries, min_pointers, min_block_entries, page_bits] = CREATION;
        Some(Self {
            header,
            is_filtered,
            entry_bytes,
            bits: bits.into(),
            index_entries: index_entries.into(),
            min_block_entries: min_block_entries.into(),
            min_pointers: min_pointers.into(),
            page_entries: 1 << page_bits,
            entries_set: u64::MAX,
            numbering: Numbering::unlimited_first(layout).ok()?,
        })
    }

    /// Adds the chunks of the blocks at `places`. Of a data block whose place is ambiguous, nothing is added. With `has_index`, the index
    /// block is right, and not among them.
    fn orphans(&self, log: &mut Log<'_>, places: &[u64], has_index: bool, found: &mut Found<'_>) -> Result<()> {
        let source = log.source;
        let mut data_blocks = Vec::new();
        // Levels whose super blocks are there, or which the index block leads to: all of their data blocks are known.
        let direct_levels = 0..2 * self.min_pointers.ilog2();
        let mut known_levels: Vec<u32> = if has_index { direct_levels.clone().collect() } else { Vec::new() };
        for place in places {
            let Ok(head) = source.read(*place, self.prefix(source)) else { continue };
            let mut cursor = source.cursor(&head, *place);
            let (Ok(signature), Ok(())) = (cursor.take(4), cursor.skip(2 + usize::from(source.offset_size))) else { continue };
            let first = cursor.uint(usize::try_from(self.bits.div_ceil(8)).unwrap_or(8)).unwrap_or(u64::MAX);
            match signature {
                b"EAIB" if self.index_bytes(source, *place).is_ok() => {
                    self.index_block(log, *place, found)?;
                    known_levels.extend(direct_levels.clone());
                }
                b"EASB" => {
                    let numbered = (0..u64::BITS).map_while(|number| Some((number, level(number, self.min_block_entries)?)));
                    let Some((number, level)) = numbered.take_while(|(_, level)| level.first_entry <= first).find(|(_, level)| level.first_entry == first)
                    else {
                        continue;
                    };
                    let before = found.chunks.len();
                    if self.super_block(log, &level, *place, found)? || found.chunks.len() > before {
                        known_levels.push(number);
                    }
                }
                b"EADB" => data_blocks.push((*place, first)),
                _ => {}
            }
        }
        let candidates: Vec<(u64, Vec<(Offsets, Place)>)> =
            data_blocks.into_iter().map(|(place, first)| (place, self.candidates(source, place, first, &known_levels))).collect();
        // One block that only one way of numbering explains says which one the writer has used.
        let says = |offsets: Offsets| candidates.iter().any(|(_, list)| !list.is_empty() && list.iter().all(|(one, _)| *one == offsets));
        let excluded = match (says(Offsets::Library), says(Offsets::Plain)) {
            (true, false) => Some(Offsets::Plain),
            (false, true) => Some(Offsets::Library),
            _ => None,
        };
        for (place, list) in candidates {
            let mut likely: Vec<Place> = list.into_iter().filter(|(offsets, _)| Some(*offsets) != excluded).map(|(_, at)| at).collect();
            likely.sort_unstable();
            likely.dedup();
            if let [(number, block)] = likely.as_slice()
                && let Some(level) = level(*number, self.min_block_entries)
            {
                self.data_block(log, &level, *block, place, None, found)?;
            }
        }
        Ok(())
    }

    /// The places that the data block at `place` may have, by the offset that it states, its length and its checksum.
    fn candidates(&self, source: &Source, place: u64, first: u64, known_levels: &[u32]) -> Vec<(Offsets, Place)> {
        let first_super = 2 * self.min_pointers.ilog2();
        let mut found = Vec::new();
        for (number, level) in (0..u64::BITS).map_while(|number| Some((number, level(number, self.min_block_entries)?))) {
            if level.first_entry > first {
                break;
            }
            let is_direct = number < first_super;
            if known_levels.contains(&number) {
                continue;
            }
            let numbers = (first - level.first_entry) / level.block_entries;
            let blocks = [(Offsets::Library, numbers.checked_sub(if is_direct { level.first_block } else { 0 })), (Offsets::Plain, Some(numbers))];
            for (offsets, block) in blocks {
                let Some(block) = block.filter(|block| *block < level.blocks && (first - level.first_entry).is_multiple_of(level.block_entries)) else {
                    continue;
                };
                let first_entry = self.index_entries.saturating_add(level.first_entry).saturating_add(block.saturating_mul(level.block_entries));
                if first_entry < self.entries_set && self.is_data_block(source, place, &level) {
                    found.push((offsets, (number, block)));
                }
            }
        }
        found
    }

    /// Whether the data block at `place` has the length of data blocks of a level.
    fn is_data_block(&self, source: &Source, place: u64, level: &Level) -> bool {
        let entries = if level.block_entries > self.page_entries { 0 } else { level.block_entries.saturating_mul(self.entry_bytes) };
        let bytes = source.read(place, self.prefix(source).saturating_add(entries).saturating_add(4));
        bytes.is_ok_and(|bytes| array_block(source, &bytes, place, b"EADB", self.header, self.is_filtered).is_ok())
    }

    /// Bytes of the index block, and the numbers of its addresses of data blocks and of super blocks.
    fn index_parts(&self, address_bytes: u64) -> (u64, u64, u64) {
        let supers = u64::from(1 + self.bits - self.min_block_entries.ilog2());
        let direct = 2 * (self.min_pointers - 1);
        let super_pointers = supers.saturating_sub(u64::from(2 * self.min_pointers.ilog2()));
        let length = 6 + address_bytes + self.index_entries * self.entry_bytes + (direct + super_pointers) * address_bytes + 4;
        (length, direct, super_pointers)
    }

    /// The index block at `index`, which is checked.
    fn index_bytes<'s>(&self, source: &'s Source, index: u64) -> Result<Cow<'s, [u8]>> {
        let bytes = source.read(index, self.index_parts(source.offset_size.into()).0)?;
        array_block(source, &bytes, index, b"EAIB", self.header, self.is_filtered)?;
        Ok(bytes)
    }

    /// Adds the chunks of the index block at `index`, and the chunks of all blocks to which it leads.
    fn index_block(&self, log: &mut Log<'_>, index: u64, found: &mut Found<'_>) -> Result<bool> {
        let source = log.source;
        let o = u64::from(source.offset_size);
        let (length, direct, super_pointers) = self.index_parts(o);
        let block = self.index_bytes(source, index).and_then(|bytes| {
            let mut cursor = array_block(source, &bytes, index, b"EAIB", self.header, self.is_filtered)?;
            let entries = cursor.take_u64(self.index_entries * self.entry_bytes)?.to_vec();
            let addresses = (0..direct + super_pointers).map(|_| cursor.address()).collect::<Result<Vec<_>>>()?;
            Ok((entries, addresses))
        });
        let Some((entries, addresses)) = log.noted(KIND, index, length, block)? else { return Ok(false) };
        log.claim(KIND, index, length)?;
        self.entries(&entries, index, 0, self.index_entries).add(log, &self.numbering, found)?;
        let (blocks, supers) = addresses.split_at(usize::try_from(direct).unwrap_or(usize::MAX).min(addresses.len()));
        let mut is_whole = true;
        let first_super = 2 * self.min_pointers.ilog2();
        for number in 0..first_super {
            let Some(level) = level(number, self.min_block_entries) else { break };
            for block in 0..level.blocks {
                let address = usize::try_from(level.first_block + block).ok().and_then(|at| blocks.get(at)).copied().flatten();
                if let Some(address) = address {
                    is_whole &= self.data_block(log, &level, block, address, None, found)?;
                }
            }
        }
        for (number, address) in (first_super..).zip(supers) {
            let (Some(level), Some(address)) = (level(number, self.min_block_entries), address) else { continue };
            is_whole &= self.super_block(log, &level, *address, found)?;
        }
        Ok(is_whole)
    }

    /// The entries in `bytes`, from number `first` on, without those that were never written.
    fn entries<'a>(&self, bytes: &'a [u8], address: u64, first: u64, count: u64) -> Entries<'a> {
        let count = count.min(self.entries_set.saturating_sub(first));
        Entries { bytes, address, first, count, entry_bytes: self.entry_bytes, is_filtered: self.is_filtered }
    }

    fn prefix(&self, source: &Source) -> u64 {
        6 + u64::from(source.offset_size) + u64::from(self.bits.div_ceil(8))
    }

    fn super_block(&self, log: &mut Log<'_>, level: &Level, address: u64, found: &mut Found<'_>) -> Result<bool> {
        let source = log.source;
        let o = u64::from(source.offset_size);
        let pages = if level.block_entries > self.page_entries { level.block_entries / self.page_entries } else { 0 };
        let bitmap_bytes = level.blocks.saturating_mul(pages.div_ceil(8));
        let length = self.prefix(source).saturating_add(bitmap_bytes).saturating_add(level.blocks.saturating_mul(o)).saturating_add(4);
        let block = (|| {
            let bytes = source.read(address, length)?;
            let mut cursor = array_block(source, &bytes, address, b"EASB", self.header, self.is_filtered)?;
            cursor.take_u64(self.bits.div_ceil(8).into())?;
            let bitmap = cursor.take_u64(bitmap_bytes)?.to_vec();
            Ok((bitmap, (0..level.blocks).map(|_| cursor.address()).collect::<Result<Vec<_>>>()?))
        })();
        let Some((bitmap, addresses)) = log.noted(KIND, address, length, block)? else { return Ok(false) };
        log.claim(KIND, address, length)?;
        let mut is_whole = true;
        for (block, address) in (0u64..).zip(addresses) {
            if let Some(address) = address {
                is_whole &= self.data_block(log, level, block, address, Some(&bitmap), found)?;
            }
        }
        Ok(is_whole)
    }

    /// Adds the chunks of a data block. `bitmap` says which pages of a super block's data blocks were written.
    fn data_block(&self, log: &mut Log<'_>, level: &Level, block: u64, address: u64, bitmap: Option<&[u8]>, found: &mut Found<'_>) -> Result<bool> {
        let source = log.source;
        let prefix = self.prefix(source);
        let first = self.index_entries.saturating_add(level.first_entry).saturating_add(block * level.block_entries);
        let is_paged = level.block_entries > self.page_entries;
        let pages = if is_paged { level.block_entries / self.page_entries } else { 0 };
        // Without pages, their size is whatever the header says.
        let page_bytes = self.page_entries.saturating_mul(self.entry_bytes).saturating_add(4);
        let head_bytes = (prefix + 4).saturating_add(if is_paged { 0 } else { level.block_entries.saturating_mul(self.entry_bytes) });
        let whole = head_bytes.saturating_add(pages.saturating_mul(page_bytes));
        let head = (|| {
            let bytes = source.read(address, head_bytes)?;
            let mut cursor = array_block(source, &bytes, address, b"EADB", self.header, self.is_filtered)?;
            cursor.take_u64(self.bits.div_ceil(8).into())?;
            Ok(cursor.take(cursor.remaining().saturating_sub(4))?.to_vec())
        })();
        let entries = log.noted(KIND, address, whole, head)?;
        if entries.is_some() {
            log.claim(KIND, address, whole)?;
        }
        if !is_paged {
            let Some(entries) = entries else { return Ok(false) };
            self.entries(&entries, address, first, level.block_entries).add(log, &self.numbering, found)?;
            return Ok(true);
        }
        let is_written = bitmap.map(|bitmap| move |page: u64| has_bit(bitmap, block * pages + page));
        let pages = Pages {
            kind: KIND,
            address: address.saturating_add(head_bytes),
            first,
            entries: level.block_entries,
            page_entries: self.page_entries,
            entry_bytes: self.entry_bytes,
            is_filtered: self.is_filtered,
            is_written: is_written.as_ref().map(|is_written| is_written as &dyn Fn(u64) -> bool),
        };
        let is_whole = pages.add(log, &self.numbering, &|first, count| count.min(self.entries_set.saturating_sub(first)), found)?;
        Ok(is_whole && entries.is_some())
    }
}
