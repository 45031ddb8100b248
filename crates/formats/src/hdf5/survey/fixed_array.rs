//! Fixed arrays, page by page.

use hyperslab_array::Result;

use super::found_chunks::{Entries, Found, Pages, array_block, entry_bytes, has_bit};
use super::log::Log;
use super::structure::StructureKind;
use crate::hdf5::Source;
use crate::hdf5::chunk_locator::fixed_array::PAGE_BITS;
use crate::hdf5::chunk_locator::fixed_header::FixedHeader;
use crate::hdf5::chunk_locator::numbering::Numbering;
use crate::hdf5::layout::ChunkedLayout;

/// An array as its header describes it.
struct Array {
    header: u64,
    is_filtered: bool,
    entry_bytes: u64,
    page_entries: u64,
    entries: u64,
    numbering: Numbering,
}

/// Adds the chunks of the array at `address`; returns whether all pages are right.
pub(super) fn chunks(log: &mut Log<'_>, address: u64, found: &mut Found<'_>) -> Result<bool> {
    let source = log.source;
    let header_bytes = FixedHeader::bytes(source);
    let header = header(source, address, found.layout);
    let Some((array, block)) = log.noted(StructureKind::FixedArray, address, header_bytes, header)? else { return Ok(false) };
    log.claim(StructureKind::FixedArray, address, header_bytes)?;
    match block {
        Some(block) => array.block(log, block, found),
        None => Ok(true),
    }
}

/// Adds the chunks of the data blocks at `places`, which name the array at `address` as theirs. If its header is lost, assumes
/// the header that all writers make; the checksums of the blocks say whether that is right.
pub(super) fn orphans(log: &mut Log<'_>, address: u64, places: &[u64], is_filtered: bool, found: &mut Found<'_>) -> Result<()> {
    let source = log.source;
    let arrays = match header(source, address, found.layout) {
        Ok((array, _)) => vec![array],
        Err(_) => {
            entry_bytes(source, found.layout, is_filtered).into_iter().filter_map(|bytes| Array::usual(address, is_filtered, bytes, found.layout)).collect()
        }
    };
    for array in arrays {
        for place in places {
            array.block(log, *place, found)?;
        }
        if !found.chunks.is_empty() {
            break;
        }
    }
    Ok(())
}

fn header(source: &Source, address: u64, layout: &ChunkedLayout) -> Result<(Array, Option<u64>)> {
    let FixedHeader { is_filtered, entry_bytes, page_entries, entries, block } = FixedHeader::read(source, address)?;
    let numbering = Numbering::row_major(layout)?;
    Ok((Array { header: address, is_filtered, entry_bytes, page_entries, entries, numbering }, block))
}

impl Array {
    /// An array as all writers make it for such a dataset.
    fn usual(header: u64, is_filtered: bool, entry_bytes: u64, layout: &ChunkedLayout) -> Option<Self> {
        let chunks = |(max, chunk): (&Option<u64>, &u64)| max.map(|max| max.div_ceil((*chunk).max(1)));
        let entries = layout.max_shape.iter().zip(&layout.chunk_shape).map(chunks).try_fold(1u64, |n, chunks| n.checked_mul(chunks?))?;
        entries.checked_mul(entry_bytes)?;
        let numbering = Numbering::row_major(layout).ok()?;
        Some(Self { header, is_filtered, entry_bytes, page_entries: 1 << PAGE_BITS, entries, numbering })
    }

    /// Adds the chunks of the data block at `block`.
    fn block(&self, log: &mut Log<'_>, block: u64, found: &mut Found<'_>) -> Result<bool> {
        let source = log.source;
        let kind = StructureKind::FixedArrayBlock;
        let prefix = 6 + u64::from(source.offset_size);
        let is_paged = self.entries > self.page_entries;
        let pages = if is_paged { self.entries.div_ceil(self.page_entries) } else { 0 };
        let entry_bytes = self.entries * self.entry_bytes;
        let head_bytes = (prefix + 4).saturating_add(if is_paged { pages.div_ceil(8) } else { entry_bytes });
        let whole = head_bytes.saturating_add(if is_paged { entry_bytes.saturating_add(pages.saturating_mul(4)) } else { 0 });
        let head = (|| {
            let head = source.read(block, head_bytes)?;
            array_block(source, &head, block, b"FADB", self.header, self.is_filtered)?;
            Ok(head)
        })();
        let head = log.noted(kind, block, whole, head)?;
        if head.is_some() {
            log.claim(kind, block, whole)?;
        }
        let content = head.as_deref().and_then(|head| head.get(usize::try_from(prefix).unwrap_or(usize::MAX)..));
        if is_paged {
            let is_written = content.map(|content| move |page: u64| has_bit(content, page));
            let pages = Pages {
                kind,
                address: block.saturating_add(head_bytes),
                first: 0,
                entries: self.entries,
                page_entries: self.page_entries,
                entry_bytes: self.entry_bytes,
                is_filtered: self.is_filtered,
                is_written: is_written.as_ref().map(|is_written| is_written as &dyn Fn(u64) -> bool),
            };
            return pages.add(log, &self.numbering, &|_, count| count, found);
        }
        let Some(content) = content else { return Ok(false) };
        let entries = Entries { bytes: content, address: block, first: 0, count: self.entries, entry_bytes: self.entry_bytes, is_filtered: self.is_filtered };
        entries.add(log, &self.numbering, found)?;
        Ok(true)
    }
}
