//! Fractal heaps to be written, with all their objects at once (specification III.G).

use hyperslab_array::{Error, Result};

use crate::hdf5::writer::Space;
use crate::hdf5::{Encoder, Widths, btree};

/// Blocks in a row of the doubling table, and its first rows, as the library begins it.
const WIDTH: u16 = 4;
const START_ROWS: u16 = 1;
/// Bytes of an object that is managed in a block at most; larger ones are "huge" for the library.
pub(crate) const MAX_MANAGED_BYTES: u32 = 4096;
/// Bytes of a block that the library makes directly at most.
const MAX_DIRECT_BYTES: u64 = 64 << 10;
/// Flag: direct blocks have checksums.
const CHECKSUMS: u8 = 2;

/// A heap in the file: the address of its header, and the ID of each object.
pub(crate) struct HeapIds {
    pub heap: u64,
    pub ids: Vec<Vec<u8>>,
}

/// The doubling table and what is in it.
#[derive(Default)]
struct Managed {
    start_block: u64,
    max_direct: u64,
    heap_bits: u16,
    root: Option<u64>,
    objects: u64,
}

/// What a heap knows of its huge objects.
#[derive(Default)]
struct Huge {
    tree: Option<u64>,
    bytes: u64,
    objects: u64,
}

fn header(id_bytes: u16, managed: &Managed, huge: &Huge, widths: Widths) -> Result<Vec<u8>> {
    let mut header = Encoder::of(widths);
    header.bytes(b"FRHP\0");
    header.u16(id_bytes);
    // No filters.
    header.u16(0);
    header.u8(CHECKSUMS);
    header.u32(MAX_MANAGED_BYTES);
    // The number of the last huge object.
    header.length(huge.objects)?;
    header.address(huge.tree);
    // No manager of free space: the library makes one when it needs it.
    header.length(0)?;
    header.address(None);
    let block = if managed.root.is_some() { managed.start_block } else { 0 };
    // Managed space, what of it is allocated, where the next block begins; objects; bytes and number of huge objects, of
    // tiny ones.
    for value in [block, block, block, managed.objects, huge.bytes, huge.objects, 0, 0] {
        header.length(value)?;
    }
    header.u16(WIDTH);
    header.length(managed.start_block)?;
    header.length(managed.max_direct)?;
    header.u16(managed.heap_bits);
    header.u16(START_ROWS);
    header.address(managed.root);
    // The root is a direct block.
    header.u16(0);
    Ok(header.finish_with_checksum())
}

/// The header of a heap without objects, as the library begins it.
///
/// # Errors
/// `Unsupported` for lengths of 2 bytes, which cannot hold that of the largest block.
pub(crate) fn encode_empty(id_bytes: u16, widths: Widths) -> Result<Vec<u8>> {
    const START_BLOCK: u64 = 512;
    let heap_bits = 8 * id_bytes.saturating_sub(3);
    header(id_bytes, &Managed { start_block: START_BLOCK, max_direct: MAX_DIRECT_BYTES, heap_bits, root: None, objects: 0 }, &Huge::default(), widths)
}

/// Puts a heap into `space` whose objects all lie in one block.
pub(crate) fn encode_managed<'a>(space: &mut Space, id_bytes: u16, objects: impl Iterator<Item = &'a [u8]> + Clone) -> Result<HeapIds> {
    /// As the library begins heaps of links.
    const HEAP_BITS: u16 = 32;
    const START_BLOCK: u64 = 512;
    /// Signature, version, header's address, offset in the heap, checksum.
    const PREFIX: u64 = 4 + 1 + 8 + 4 + 4;
    /// Bytes before the checksum, which covers all of the block, itself as zeros.
    const CHECKSUM_AT: usize = 17;
    /// The library's limit for direct blocks.
    const MAX_BLOCK: u64 = 1 << 31;
    let total = objects.clone().fold(PREFIX, |total, object| total + object.len() as u64);
    let start_block = total.max(START_BLOCK).checked_next_power_of_two().filter(|bytes| *bytes <= MAX_BLOCK);
    let start_block = start_block.ok_or_else(|| Error::unsupported("a group with more than 2 GiB of links"))?;
    let heap = space.reserve(header(id_bytes, &Managed::default(), &Huge::default(), Widths::WIDE)?.len());
    let mut block = Encoder::signed(b"FHDB");
    block.u8(0);
    block.u64(heap);
    block.uint(0, 4);
    block.u32(0);
    let mut ids = Vec::new();
    for object in objects {
        let length = object.len() as u64;
        if length > MAX_MANAGED_BYTES.into() {
            return Err(Error::internal("a huge object as one that a heap's block manages"));
        }
        let mut id = Encoder::default();
        // The ID of a managed object: offset in the heap and length.
        id.u8(0);
        id.uint(block.len() as u64, usize::from(HEAP_BITS / 8));
        id.uint(length, 2);
        id.pad_to(id_bytes.into());
        ids.push(id.finish());
        block.bytes(object);
    }
    block.pad_to(usize::try_from(start_block).map_err(|_| Error::limit_exceeded("a heap block beyond memory"))?);
    let mut block = block.finish();
    let checksum = crate::hdf5::checksum::lookup3(&block);
    if let Some(place) = block.get_mut(CHECKSUM_AT..CHECKSUM_AT + 4) {
        place.copy_from_slice(&checksum.to_le_bytes());
    }
    let root = Some(space.put(&block));
    let max_direct = start_block.max(MAX_DIRECT_BYTES);
    let managed = Managed { start_block, max_direct, heap_bits: HEAP_BITS, root, objects: ids.len() as u64 };
    space.fill(heap, &header(id_bytes, &managed, &Huge::default(), Widths::WIDE)?)?;
    Ok(HeapIds { heap, ids })
}

/// Puts a heap into `space` whose objects lie in the file each by itself, whatever their size.
pub(crate) fn encode_huge<'a>(space: &mut Space, id_bytes: u16, objects: impl Iterator<Item = &'a [u8]>) -> Result<HeapIds> {
    const HUGE_OBJECTS: u8 = 1;
    let (mut records, mut ids) = (Vec::new(), Vec::new());
    let mut bytes = 0u64;
    for (number, object) in (1u64..).zip(objects) {
        let mut record = Encoder::default();
        record.u64(space.put_raw(object));
        record.u64(object.len() as u64);
        record.u64(number);
        records.push(record.finish());
        let mut id = Encoder::default();
        // The type of a huge object, then its number.
        id.u8(1 << 4);
        id.uint(number, usize::from(id_bytes) - 1);
        ids.push(id.finish());
        bytes += object.len() as u64;
    }
    let tree = Some(btree::encode(space, HUGE_OBJECTS, &records)?);
    // For objects that the library adds: an ID has room for a byte, an offset and two bytes of length.
    let heap_bits = 8 * id_bytes.saturating_sub(3);
    let managed = Managed { start_block: 1024, max_direct: MAX_DIRECT_BYTES, heap_bits, root: None, objects: 0 };
    let huge = Huge { tree, bytes, objects: ids.len() as u64 };
    Ok(HeapIds { heap: space.put(&header(id_bytes, &managed, &huge, Widths::WIDE)?), ids })
}
