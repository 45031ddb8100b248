//! Heaps: local, fractal and global ones.

use std::collections::HashMap;

use hyperslab_array::{Error, Result};

use super::free_space;
use super::log::Log;
use super::structure::StructureKind;
use super::tree_v2;
use crate::hdf5::Source;
use crate::hdf5::heap::{FractalHeap, HeapBlock};

/// Bytes of the blocks in which files lose bytes: sectors of disks, and pages of file systems.
const LOST_BLOCK_BYTES: usize = 4096;
/// Marks the end of a local heap's list of free blocks.
const NO_FREE: u64 = 1;

/// A local heap's data segment, as far as it lies in the file.
pub(super) struct LocalTexts {
    address: u64,
    bytes: Vec<u8>,
}

impl LocalTexts {
    /// The text at `offset`; `None` if it has no end.
    pub fn text(&self, offset: u64) -> Option<&[u8]> {
        let tail = self.bytes.get(usize::try_from(offset).ok()?..)?;
        tail.get(..tail.iter().position(|byte| *byte == 0)?)
    }
    /// Address of the data segment.
    pub fn address(&self) -> u64 {
        self.address
    }
    /// Its bytes.
    pub fn length(&self) -> u64 {
        self.bytes.len() as u64
    }
}

/// Reads the local heap at `address`; `None` if it cannot be read.
pub(super) fn local(log: &mut Log<'_>, address: u64) -> Result<Option<LocalTexts>> {
    let source = log.source;
    let header_bytes = 8 + 2 * u64::from(source.length_size) + u64::from(source.offset_size);
    let header = (|| {
        let header = source.read(address, header_bytes)?;
        let mut cursor = source.cursor(&header, address);
        cursor.signature(b"HEAP")?;
        cursor.version(0, "a local heap")?;
        cursor.skip(3)?;
        let (length, free) = (cursor.length()?, cursor.length()?);
        Ok((length, free, cursor.defined_address("a local heap's data segment")?))
    })();
    let Some((length, free, data)) = log.noted(StructureKind::LocalHeap, address, header_bytes, header)? else { return Ok(None) };
    log.claim(StructureKind::LocalHeap, address, header_bytes)?;
    let bytes = source.read(data, length).map(std::borrow::Cow::into_owned);
    let Some(bytes) = log.noted(StructureKind::LocalHeapData, data, length, bytes)? else { return Ok(None) };
    log.claim(StructureKind::LocalHeapData, data, length)?;
    let list = free_list(source, data, &bytes, free);
    log.noted(StructureKind::LocalHeapData, data, length, list)?;
    Ok(Some(LocalTexts { address: data, bytes }))
}

/// Checks the list of free blocks of a data segment.
fn free_list(source: &Source, address: u64, bytes: &[u8], first: u64) -> Result<()> {
    let mut next = first;
    let undefined = u64::MAX >> (64 - 8 * u32::from(source.length_size.clamp(1, 8)));
    // Each block has at least a pair of lengths.
    for _ in 0..=bytes.len() / 4 {
        if next == NO_FREE || next == undefined {
            return Ok(());
        }
        let block = usize::try_from(next).ok().and_then(|next| bytes.get(next..));
        let block = block.ok_or_else(|| Error::corrupt(format!("a free block at {next}, outside of its local heap")))?;
        let mut cursor = source.cursor(block, address.saturating_add(next));
        let (after, length) = (cursor.length()?, cursor.length()?);
        if length > block.len() as u64 {
            return Err(Error::corrupt(format!("a free block of {length} bytes that ends outside of its local heap")));
        }
        next = after;
    }
    Err(Error::corrupt("a local heap whose list of free blocks goes in a circle"))
}

/// Walks the fractal heap at `address`; `None` if its header cannot be read. Also returns whether all blocks are right.
pub(super) fn fractal<'s>(log: &mut Log<'s>, address: u64) -> Result<Option<(FractalHeap<'s>, bool)>> {
    let source = log.source;
    let opened = FractalHeap::open(source, address);
    let Some(mut heap) = log.noted(StructureKind::FractalHeap, address, 0, opened)? else { return Ok(None) };
    if !log.claim(StructureKind::FractalHeap, address, heap.header_bytes())? {
        let error = Error::corrupt("a fractal heap that belongs to several objects");
        log.damage(StructureKind::FractalHeap, address, heap.header_bytes(), error)?;
        return Ok(Some((heap, false)));
    }
    let mut is_whole = true;
    heap.each_block(&mut |HeapBlock { is_direct, address, length, state, .. }| {
        let kind = if is_direct { StructureKind::HeapDirectBlock } else { StructureKind::HeapIndirectBlock };
        let right = log.noted(kind, address, length, state)?.is_some();
        is_whole &= right;
        if right {
            log.claim(kind, address, length)?;
        }
        Ok(())
    })?;
    if let Some(tree) = heap.huge_tree() {
        is_whole &= tree_v2::records(log, tree, &[1, 2, 3, 4], &mut |log, _, record| {
            let mut cursor = source.cursor(record, tree);
            let place = cursor.defined_address("a huge heap object").and_then(|address| Ok((address, cursor.length()?)));
            if let Some((address, length)) = log.noted(StructureKind::HugeObject, tree, 0, place)? {
                log.extent(StructureKind::HugeObject, address, length)?;
            }
            Ok(())
        })?;
    }
    if let Some(manager) = heap.free_space() {
        free_space::manager(log, manager, false)?;
    }
    Ok(Some((heap, is_whole)))
}

/// Walks the objects of the global heap collection at `address`; records the collection if it is right.
pub(super) fn collection(log: &mut Log<'_>, address: u64) -> Result<()> {
    let source = log.source;
    match collection_bytes(source, address) {
        Ok(length) => log.claim(StructureKind::GlobalHeap, address, length).map(drop),
        Err(error) => log.damage(StructureKind::GlobalHeap, address, 0, error),
    }
}

/// Bytes of the collection at `address`, whose objects are checked.
pub(super) fn collection_bytes(source: &Source, address: u64) -> Result<u64> {
    collection_objects(source, address, &mut |_, _, _| {})
}

/// An object of a global heap collection that may be damaged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FoundObject {
    /// Bytes.
    pub length: u64,
    /// Whether it has a part of a block of the file that has zeros only, as if it was lost.
    pub is_zeroed: bool,
}

/// The objects in the collection at `address`, by number.
pub(crate) fn collection_found(source: &Source, address: u64) -> Result<HashMap<u32, FoundObject>> {
    let mut found = HashMap::new();
    let start = source.base_address.saturating_add(address);
    collection_objects(source, address, &mut |number, bytes, (first, end)| {
        // The block in which the collection begins has its header. That in which it ends counts as far as it goes.
        let width = LOST_BLOCK_BYTES as u64;
        let mut blocks = (start + first) / width..(start + end).div_ceil(width);
        let is_zeroed = end > first
            && blocks.any(|block| {
                let from = (block * width).checked_sub(start).and_then(|from| usize::try_from(from).ok());
                let block = from.and_then(|from| bytes.get(from..)).map(|rest| rest.get(..LOST_BLOCK_BYTES).unwrap_or(rest));
                block.is_some_and(|block| block.iter().all(|byte| *byte == 0))
            });
        found.insert(number, FoundObject { length: end - first, is_zeroed });
    })?;
    Ok(found)
}

/// What takes an object: its number, the bytes of the collection, and where it begins and ends in them.
type TakeObject<'a> = dyn FnMut(u32, &[u8], (u64, u64)) + 'a;

/// Walks the objects of the collection at `address`; returns its bytes.
fn collection_objects(source: &Source, address: u64, take: &mut TakeObject<'_>) -> Result<u64> {
    let width = usize::from(source.length_size);
    let header_bytes = (8 + width as u64).next_multiple_of(8);
    let header = source.read(address, header_bytes)?;
    let mut cursor = source.cursor(&header, address);
    cursor.signature(b"GCOL")?;
    cursor.version(1, "a global heap collection")?;
    cursor.skip(3)?;
    let length = cursor.length()?;
    if length < header_bytes {
        return Err(Error::corrupt(format!("a global heap collection of {length} bytes")));
    }
    let bytes = source.read(address, length)?;
    let mut cursor = source.cursor(&bytes, address);
    cursor.take_u64(header_bytes)?;
    let padding = width.next_multiple_of(8) - width;
    while cursor.remaining() >= 8 + width + padding {
        let index = cursor.u16()?;
        cursor.skip(6)?;
        let length = cursor.length()?;
        cursor.skip(padding)?;
        if index == 0 {
            break;
        }
        if length > cursor.remaining() as u64 {
            return Err(cursor.corrupt(format!("heap object {index} of {length} bytes exceeds its collection")));
        }
        let first = (bytes.len() - cursor.remaining()) as u64;
        cursor.take_u64(length)?;
        take(index.into(), &bytes, (first, first + length));
        cursor.take_u64((length.next_multiple_of(8) - length).min(cursor.remaining() as u64))?;
    }
    Ok(length)
}
