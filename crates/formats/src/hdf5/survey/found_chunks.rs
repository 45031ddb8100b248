//! Chunks that a survey has found, and the parts of arrays that list them.

use std::borrow::Cow;

use hyperslab_array::Result;

use super::log::Log;
use super::structure::{Purpose, StructureKind};
use crate::hdf5::chunk_locator::entry::{check_array_block, parse_entry};
use crate::hdf5::chunk_locator::numbering::Numbering;
use crate::hdf5::encoder::width_of;
use crate::hdf5::layout::ChunkedLayout;
use crate::hdf5::{Cursor, Source, checksum};

/// What says where a chunk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChunkEvidence {
    /// The index of its dataset.
    Index,
    /// An unreachable block of that index. It names the index as its owner, and its checksum is right.
    OwnedBlock,
    /// An unreachable part of some index, whose entries fit no other dataset.
    Fit,
}

/// A stored chunk that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SurveyedChunk {
    /// Its number along each dimension.
    pub position: Vec<u64>,
    /// Absolute offset of its bytes.
    pub offset: u64,
    /// Stored bytes.
    pub length: u64,
    /// Filters that were skipped: bit i for filter i.
    pub filter_mask: u32,
    /// What says so.
    pub evidence: ChunkEvidence,
}

/// The chunks found so far.
pub(super) struct Found<'l> {
    pub layout: &'l ChunkedLayout,
    pub chunks: Vec<SurveyedChunk>,
    /// What says where the next ones are.
    pub evidence: ChunkEvidence,
}

impl<'l> Found<'l> {
    pub fn new(layout: &'l ChunkedLayout, evidence: ChunkEvidence) -> Self {
        Self { layout, chunks: Vec::new(), evidence }
    }

    /// Adds a chunk, whose bytes may lie outside of the file.
    pub fn add(&mut self, log: &mut Log<'_>, position: Vec<u64>, address: u64, length: u64, filter_mask: u32) -> Result<()> {
        log.source.budget.charge((size_of::<SurveyedChunk>() + 8 * position.len()) as u64)?;
        log.for_purpose(Purpose::Data, |log| log.extent(StructureKind::Chunk, address, length))?;
        let offset = log.source.absolute(address)?;
        self.chunks.push(SurveyedChunk { position, offset, length, filter_mask, evidence: self.evidence });
        Ok(())
    }
}

/// An entry of an array: the chunk with this number.
pub(super) struct Entries<'a> {
    pub bytes: &'a [u8],
    pub address: u64,
    pub first: u64,
    pub count: u64,
    pub entry_bytes: u64,
    pub is_filtered: bool,
}

impl Entries<'_> {
    /// Adds the chunks of these entries.
    pub fn add(&self, log: &mut Log<'_>, numbering: &Numbering, found: &mut Found<'_>) -> Result<()> {
        let source = log.source;
        let entry_bytes = usize::try_from(self.entry_bytes).unwrap_or(usize::MAX);
        for (number, entry) in (self.first..self.first.saturating_add(self.count)).zip(self.bytes.chunks_exact(entry_bytes)) {
            let parsed = parse_entry(&mut source.cursor(entry, self.address), found.layout, self.is_filtered, entry_bytes);
            let Some(Some((address, length, mask))) = log.noted(StructureKind::FixedArrayBlock, self.address, 0, parsed)? else { continue };
            if let Some(position) = numbering.position(number) {
                found.add(log, position, address, length, mask)?;
            }
        }
        Ok(())
    }
}

/// Whether bit `index` is set, counted from the highest bit of the first byte.
pub(super) fn has_bit(bits: &[u8], index: u64) -> bool {
    let byte = usize::try_from(index / 8).ok().and_then(|at| bits.get(at));
    byte.is_some_and(|byte| byte & (0x80 >> (index % 8)) != 0)
}

/// A page and its checksum.
pub(super) fn checked_page<'a>(source: &'a Source, address: u64, length: u64, what: &str) -> Result<Cow<'a, [u8]>> {
    let bytes = source.read(address, length)?;
    checksum::verify(&bytes, source.absolute(address)?, what)?;
    Ok(bytes)
}

/// A cursor after the signature, version, client and header address of an array's block, which is checked.
pub(super) fn array_block<'a>(source: &'a Source, bytes: &'a [u8], address: u64, signature: &[u8; 4], header: u64, is_filtered: bool) -> Result<Cursor<'a>> {
    const WHAT: &str = "an extensible array block";
    let mut cursor = source.cursor(bytes, address);
    cursor.signature(signature)?;
    checksum::verify(bytes, source.absolute(address)?, WHAT)?;
    check_array_block(&mut cursor, is_filtered, header, WHAT)?;
    Ok(cursor)
}

/// Bytes that the entry of a chunk in an array or a version-2 B-tree may have: the size of a chunk takes as many bytes as its unfiltered
/// size needs and one more, or 8 in layouts of version 5.
pub(super) fn entry_bytes(source: &Source, layout: &ChunkedLayout, is_filtered: bool) -> Vec<u64> {
    let address_bytes = u64::from(source.offset_size);
    if !is_filtered {
        return vec![address_bytes];
    }
    let size_bytes = (1 + width_of(layout.chunk_bytes)).min(8) as u64;
    let mut found = vec![address_bytes + size_bytes + 4, address_bytes + 8 + 4];
    found.dedup();
    found
}

/// Adds the chunks of the pages of an array's block, from entry `first` on. If it is not known which pages were written, `is_written`
/// is `None`, and those count whose checksum is right.
pub(super) struct Pages<'a> {
    pub kind: StructureKind,
    pub address: u64,
    pub first: u64,
    /// Entries of all pages.
    pub entries: u64,
    pub page_entries: u64,
    pub entry_bytes: u64,
    pub is_filtered: bool,
    pub is_written: Option<&'a dyn Fn(u64) -> bool>,
}

impl Pages<'_> {
    /// Returns whether all written pages are right. `trim` says how many entries from a number on count.
    pub fn add(&self, log: &mut Log<'_>, numbering: &Numbering, trim: &dyn Fn(u64, u64) -> u64, found: &mut Found<'_>) -> Result<bool> {
        let source = log.source;
        let mut is_whole = self.is_written.is_some();
        let evidence = if is_whole { found.evidence } else { ChunkEvidence::OwnedBlock };
        let before = std::mem::replace(&mut found.evidence, evidence);
        for page in 0..self.entries.div_ceil(self.page_entries) {
            if self.is_written.is_some_and(|is_written| !is_written(page)) {
                continue;
            }
            let start = page.saturating_mul(self.page_entries);
            let count = self.page_entries.min(self.entries - start);
            let at = self.address.saturating_add(page.saturating_mul(self.page_entries.saturating_mul(self.entry_bytes).saturating_add(4)));
            let length = count.saturating_mul(self.entry_bytes).saturating_add(4);
            let bytes = checked_page(source, at, length, "a page of a chunk array");
            let bytes = match self.is_written {
                Some(_) => log.noted(self.kind, at, length, bytes)?,
                None => bytes.ok(),
            };
            let Some(bytes) = bytes else {
                is_whole = false;
                continue;
            };
            let first = self.first.saturating_add(start);
            let count = trim(first, count);
            Entries { bytes: &bytes, address: at, first, count, entry_bytes: self.entry_bytes, is_filtered: self.is_filtered }.add(log, numbering, found)?;
        }
        found.evidence = before;
        Ok(is_whole)
    }
}
