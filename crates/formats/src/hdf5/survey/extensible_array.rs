//! Extensible arrays, block by block.

use hyperslab_array::{Error, Result};

use super::found_chunks::{Entries, Found, array_block, checked_page, has_bit};
use super::log::Log;
use super::structure::StructureKind;
use crate::hdf5::chunk_locator::entry::parse_array_header;
use crate::hdf5::chunk_locator::extensible_array::{Level, level};
use crate::hdf5::chunk_locator::numbering::Numbering;
use crate::hdf5::{Source, checksum};

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
    let (o, l) = (u64::from(source.offset_size), u64::from(source.length_size));
    let header_bytes = 12 + 6 * l + o + 4;
    let header = header(source, address, header_bytes, found);
    let Some((array, index)) = log.noted(StructureKind::ExtensibleArray, address, header_bytes, header)? else { return Ok(false) };
    log.claim(StructureKind::ExtensibleArray, address, header_bytes)?;
    let Some(index) = index else { return Ok(true) };
    let supers = u64::from(1 + array.bits - array.min_block_entries.ilog2());
    let direct = 2 * (array.min_pointers - 1);
    let super_pointers = supers.saturating_sub(u64::from(2 * array.min_pointers.ilog2()));
    let length = 6 + o + array.index_entries * array.entry_bytes + (direct + super_pointers) * o + 4;
    let block = (|| {
        let bytes = source.read(index, length)?;
        let mut cursor = array_block(source, &bytes, index, b"EAIB", address, array.is_filtered)?;
        let entries = cursor.take_u64(array.index_entries * array.entry_bytes)?.to_vec();
        let addresses = (0..direct + super_pointers).map(|_| cursor.address()).collect::<Result<Vec<_>>>()?;
        Ok((entries, addresses))
    })();
    let Some((entries, addresses)) = log.noted(KIND, index, length, block)? else { return Ok(false) };
    log.claim(KIND, index, length)?;
    array.entries(&entries, index, 0, array.index_entries).add(log, &array.numbering, found)?;
    let (blocks, supers) = addresses.split_at(usize::try_from(direct).unwrap_or(usize::MAX).min(addresses.len()));
    let mut is_whole = true;
    let first_super = 2 * array.min_pointers.ilog2();
    for number in 0..first_super {
        let Some(level) = level(number, array.min_block_entries) else { break };
        for block in 0..level.blocks {
            let address = usize::try_from(level.first_block + block).ok().and_then(|at| blocks.get(at)).copied().flatten();
            if let Some(address) = address {
                is_whole &= array.data_block(log, &level, block, address, None, found)?;
            }
        }
    }
    for (number, address) in (first_super..).zip(supers) {
        let (Some(level), Some(address)) = (level(number, array.min_block_entries), address) else { continue };
        is_whole &= array.super_block(log, &level, *address, found)?;
    }
    Ok(is_whole)
}

fn header(source: &Source, address: u64, header_bytes: u64, found: &Found<'_>) -> Result<(Array, Option<u64>)> {
    let bytes = source.read(address, header_bytes)?;
    let mut cursor = source.cursor(&bytes, address);
    cursor.signature(b"EAHD")?;
    checksum::verify(&bytes, source.absolute(address)?, "an extensible array header")?;
    let is_filtered = parse_array_header(&mut cursor, "an extensible array header")?;
    let entry_bytes = u64::from(cursor.u8()?);
    let bits = u32::from(cursor.u8()?);
    let index_entries = u64::from(cursor.u8()?);
    let min_block_entries = u64::from(cursor.u8()?);
    let min_pointers = u64::from(cursor.u8()?);
    let page_bits = u32::from(cursor.u8()?);
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
        && page_bits < 32
        && min_block_entries.ilog2() <= bits;
    if !is_sane {
        return Err(Error::corrupt("impossible sizes in an extensible array header"));
    }
    let numbering = Numbering::unlimited_first(found.layout)?;
    let page_entries = 1 << page_bits;
    let array = Array { header: address, is_filtered, entry_bytes, bits, index_entries, min_block_entries, min_pointers, page_entries, entries_set, numbering };
    Ok((array, index))
}

impl Array {
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
        let page_bytes = self.page_entries * self.entry_bytes + 4;
        let head_bytes = prefix + 4 + if is_paged { 0 } else { level.block_entries * self.entry_bytes };
        let whole = head_bytes.saturating_add(pages.saturating_mul(page_bytes));
        let head = (|| {
            let bytes = source.read(address, head_bytes)?;
            let mut cursor = array_block(source, &bytes, address, b"EADB", self.header, self.is_filtered)?;
            cursor.take_u64(self.bits.div_ceil(8).into())?;
            Ok(cursor.take(cursor.remaining().saturating_sub(4))?.to_vec())
        })();
        let Some(entries) = log.noted(KIND, address, whole, head)? else { return Ok(false) };
        log.claim(KIND, address, whole)?;
        if !is_paged {
            self.entries(&entries, address, first, level.block_entries).add(log, &self.numbering, found)?;
            return Ok(true);
        }
        let mut is_whole = true;
        for page in 0..pages {
            if bitmap.is_some_and(|bitmap| !has_bit(bitmap, block * pages + page)) {
                continue;
            }
            let at = address.saturating_add(head_bytes).saturating_add(page * page_bytes);
            let bytes = checked_page(source, at, page_bytes, "an extensible array page");
            match log.noted(KIND, at, page_bytes, bytes)? {
                Some(bytes) => {
                    let first = first.saturating_add(page * self.page_entries);
                    self.entries(&bytes, at, first, self.page_entries).add(log, &self.numbering, found)?;
                }
                None => is_whole = false,
            }
        }
        Ok(is_whole)
    }
}
