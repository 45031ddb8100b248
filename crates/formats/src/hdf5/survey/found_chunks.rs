//! Chunks that a survey has found, and the parts of arrays that list them.

use std::borrow::Cow;

use hyperslab_array::Result;

use super::log::Log;
use super::structure::{Purpose, StructureKind};
use crate::hdf5::chunk_locator::entry::{check_array_block, parse_entry};
use crate::hdf5::chunk_locator::numbering::Numbering;
use crate::hdf5::layout::ChunkedLayout;
use crate::hdf5::{Cursor, Source, checksum};

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
}

/// The chunks found so far.
pub(super) struct Found<'l> {
    pub layout: &'l ChunkedLayout,
    pub chunks: Vec<SurveyedChunk>,
}

impl Found<'_> {
    /// Adds a chunk, whose bytes may lie outside of the file.
    pub fn add(&mut self, log: &mut Log<'_>, position: Vec<u64>, address: u64, length: u64, filter_mask: u32) -> Result<()> {
        log.source.budget.charge((size_of::<SurveyedChunk>() + 8 * position.len()) as u64)?;
        log.for_purpose(Purpose::Data, |log| log.extent(StructureKind::Chunk, address, length))?;
        let offset = log.source.absolute(address)?;
        self.chunks.push(SurveyedChunk { position, offset, length, filter_mask });
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
