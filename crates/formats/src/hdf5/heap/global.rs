//! Global heap: collections of variable-length values (specification III.E).

use std::borrow::Cow;
use std::collections::HashMap;

use hyperslab_array::{Datatype, HeapObjects, HeapReference, Result};

use crate::array_file::resolve_heap;
use crate::hdf5::Source;

/// Budget charged for skipping an object of a collection, and the number of a collection's bytes that cost as much
/// as one byte of a value. Collections may overlap, so the file's length does not bound their total size.
const OBJECT_COST: u64 = 2;
const BYTES_AT_COST: u64 = 16;
/// Bytes of a collection that the HDF5 library makes for short values.
const SMALL_COLLECTION_BYTES: u64 = 4 << 10;

/// Reads global heap collections on demand.
pub(crate) struct GlobalHeap;

impl GlobalHeap {
    /// Fetches `references` into `objects`, each collection once.
    pub fn fetch(source: &Source, references: &[HeapReference], objects: &mut HeapObjects) -> Result<()> {
        let is_missing = |reference: &HeapReference| objects.is_empty() || !objects.contains(*reference);
        let mut missing: Vec<HeapReference> = references.iter().copied().filter(is_missing).collect();
        missing.sort_unstable();
        if missing.len() > 1 {
            let mut addresses: Vec<u64> = missing.iter().map(|reference| reference.address).collect();
            addresses.dedup();
            source.prefetch(addresses.into_iter().map(|address| (address, SMALL_COLLECTION_BYTES)))?;
        }
        for wanted in missing.chunk_by(|a, b| a.address == b.address) {
            let Some(HeapReference { address, .. }) = wanted.first().copied() else { continue };
            let bytes = collection(source, address)?;
            let mut cost = bytes.len() as u64 / BYTES_AT_COST;
            let mut found = Vec::with_capacity(wanted.len());
            visit(source, address, &bytes, &mut |index, _, bytes| {
                cost = cost.saturating_add(OBJECT_COST);
                if wanted.binary_search(&HeapReference { address, index }).is_ok() {
                    found.push((index, bytes));
                }
            })?;
            objects.insert_collection(address, found);
            objects.charge(cost)?;
        }
        Ok(())
    }

    /// Addresses of the bytes of `references`.
    pub fn offsets(source: &Source, references: &[HeapReference]) -> Result<HashMap<HeapReference, u64>> {
        let mut wanted = references.to_vec();
        wanted.sort_unstable();
        wanted.dedup();
        let mut found = HashMap::with_capacity(wanted.len());
        for of_collection in wanted.chunk_by(|a, b| a.address == b.address) {
            let Some(HeapReference { address, .. }) = of_collection.first().copied() else { continue };
            let bytes = collection(source, address)?;
            visit(source, address, &bytes, &mut |index, offset, _| {
                let place = HeapReference { address, index };
                if of_collection.binary_search(&place).is_ok() {
                    found.insert(place, address + offset as u64);
                }
            })?;
        }
        Ok(found)
    }

    /// The heap objects that `bytes` (elements of `datatype`) point at, charged to the file's metadata budget.
    pub fn resolve(source: &Source, datatype: &Datatype, bytes: &[u8]) -> Result<HeapObjects> {
        let before = source.limits.heap_budget(source.storage.len()).min(source.budget.left());
        let mut objects = HeapObjects::limited(before);
        resolve_heap(datatype, bytes, &mut objects, &mut |references, objects| Self::fetch(source, references, objects))?;
        source.budget.charge(before.saturating_sub(objects.left()))?;
        Ok(objects)
    }
}

/// Both kinds of headers are padded to eight bytes.
fn header_bytes(source: &Source) -> u64 {
    (8 + u64::from(source.length_size)).next_multiple_of(8)
}

/// The bytes of the collection at `address`.
fn collection(source: &Source, address: u64) -> Result<Cow<'_, [u8]>> {
    // Most collections are as small as this.
    let start = source.read_up_to(address, SMALL_COLLECTION_BYTES)?;
    let header = start.get(..usize::try_from(header_bytes(source)).unwrap_or(usize::MAX)).unwrap_or(&start);
    let mut cursor = source.cursor(header, address);
    cursor.signature(b"GCOL")?;
    let version = cursor.u8()?;
    if version != 1 {
        return Err(cursor.corrupt(format!("version {version} of a global heap collection")));
    }
    cursor.skip(3)?;
    let size = cursor.length()?;
    match usize::try_from(size).ok().filter(|size| *size == start.len()) {
        Some(_) => Ok(start),
        None => source.read(address, size),
    }
}

/// Visits the objects of a collection of these bytes: index of each, where its value begins in the collection, and the value.
fn visit<'a>(source: &'a Source, address: u64, bytes: &'a [u8], visit: &mut dyn FnMut(u32, usize, &'a [u8])) -> Result<()> {
    let mut cursor = source.cursor(bytes, address);
    cursor.take_u64(header_bytes(source))?;
    let padding = usize::from(source.length_size).next_multiple_of(8) - usize::from(source.length_size);
    let object_header = 8 + usize::from(source.length_size) + padding;
    while cursor.remaining() >= object_header {
        let index = cursor.u16()?;
        cursor.skip(6)?;
        let length = cursor.length()?;
        cursor.skip(padding)?;
        if index == 0 {
            // Object 0 is the free space that ends the collection.
            break;
        }
        let offset = cursor.position();
        let object = cursor.take_u64(length)?;
        visit(u32::from(index), offset, object);
        let rest = length.next_multiple_of(8) - length;
        cursor.take_u64(rest.min(cursor.remaining() as u64))?;
    }
    Ok(())
}

/// Largest and smallest size in bytes of the collections that we write.
const MAX_COLLECTION_BYTES: usize = 1 << 16;
const MIN_COLLECTION_BYTES: usize = 4096;
/// Objects of a collection: their numbers have two bytes.
const MAX_OBJECTS: u16 = 60_000;
const HEADER_BYTES: usize = 16;

/// Packs values into consecutive collections, to be written at a given address.
#[derive(Debug, Clone)]
pub struct HeapWriter {
    at: u64,
    bytes: Vec<u8>,
    /// Where in `bytes` the collection begins that is being filled, and its objects.
    open: Option<(usize, u16)>,
    /// Page size of a paged file, in which a collection smaller than a page does not cross a page boundary.
    page_bytes: Option<u64>,
}

impl HeapWriter {
    /// Collections that will lie at address `at`, a multiple of 8.
    pub fn new(at: u64) -> Self {
        Self::in_pages(at, None)
    }

    /// The same for a paged file with this page size in bytes.
    pub fn in_pages(at: u64, page_bytes: Option<u64>) -> Self {
        Self { at, bytes: Vec::new(), open: None, page_bytes }
    }

    /// Bytes up to the end of the page that a place in `bytes` is in; `None` if it is the beginning of one, or there are none.
    fn rest_of_page(&self, place: usize) -> Option<usize> {
        let page_bytes = self.page_bytes?;
        let within = (self.at + place as u64) % page_bytes;
        (within > 0).then(|| usize::try_from(page_bytes - within).unwrap_or(usize::MAX))
    }

    /// Adds a value; returns its reference.
    pub fn insert(&mut self, value: &[u8]) -> HeapReference {
        let length = value.len().next_multiple_of(8);
        let full = |start: usize| self.rest_of_page(start).map_or(MAX_COLLECTION_BYTES, |rest| rest.min(MAX_COLLECTION_BYTES));
        if self.open.is_some_and(|(start, count)| count >= MAX_OBJECTS || self.bytes.len() - start + HEADER_BYTES + length > full(start)) {
            self.close();
        }
        let (start, count) = self.open.unwrap_or_else(|| {
            // The free-space object may exceed the minimum size by 8 bytes.
            let needed = (2 * HEADER_BYTES + length).max(MIN_COLLECTION_BYTES + 8);
            let skipped = self.rest_of_page(self.bytes.len()).filter(|rest| *rest < needed);
            let start = self.bytes.len() + skipped.unwrap_or(0);
            self.bytes.resize(start, 0);
            self.bytes.extend(b"GCOL\x01\0\0\0");
            self.bytes.extend([0; 8]);
            (start, 0)
        });
        let index = count + 1;
        self.open = Some((start, index));
        self.bytes.extend(index.to_le_bytes());
        self.bytes.extend([0; 6]);
        self.bytes.extend((value.len() as u64).to_le_bytes());
        self.bytes.extend_from_slice(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        HeapReference { address: self.at + start as u64, index: u32::from(index) }
    }

    fn close(&mut self) {
        let Some((start, _)) = self.open.take() else { return };
        let used = self.bytes.len() - start;
        let mut size = used.max(MIN_COLLECTION_BYTES);
        if size - used == 8 {
            // Too short for the free object that must follow.
            size += 8;
        }
        let free = size - used;
        if free > 0 {
            self.bytes.extend([0; 8]);
            self.bytes.extend((free as u64).to_le_bytes());
            self.bytes.resize(start + size, 0);
        }
        if let Some(place) = self.bytes.get_mut(start + 8..start + 16) {
            place.copy_from_slice(&(size as u64).to_le_bytes());
        }
        // Nothing shares the last page of a collection that is larger than one.
        if self.page_bytes.is_some_and(|page_bytes| size as u64 >= page_bytes) {
            let rest = self.rest_of_page(self.bytes.len()).unwrap_or(0);
            self.bytes.resize(self.bytes.len() + rest, 0);
        }
    }

    /// Whether the values, and `more` bytes of another one, lie in one collection of the least size.
    pub fn is_small(&self, more: usize) -> bool {
        let first = self.open.is_none_or(|(start, _)| start == 0);
        first && self.bytes.len().saturating_add(HEADER_BYTES + 8).saturating_add(more) <= MIN_COLLECTION_BYTES
    }

    /// The bytes of all collections.
    pub fn finish(mut self) -> Vec<u8> {
        self.close();
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Limits;
    use hyperslab_storage::Memory;

    #[test]
    fn an_object_that_claims_more_than_its_collection_is_corrupt() {
        let mut bytes = b"GCOL\x01\0\0\0".to_vec();
        bytes.extend(40u64.to_le_bytes());
        bytes.extend([1, 0, 1, 0, 0, 0, 0, 0]);
        bytes.extend(u64::MAX.to_le_bytes());
        bytes.resize(40, 0);
        let source = Source {
            storage: Arc::new(Memory::new("m", bytes)),
            base_address: 0,
            offset_size: 8,
            length_size: 8,
            limits: Limits::default(),
            shared_messages: Arc::default(),
            budget: Arc::new(crate::budget::Budget::new(40, 0)),
        };
        let result = GlobalHeap::fetch(&source, &[HeapReference { address: 0, index: 1 }], &mut HeapObjects::limited(1000));
        assert!(matches!(result, Err(e) if e.kind() == hyperslab_array::ErrorKind::Corrupt));
    }
}
