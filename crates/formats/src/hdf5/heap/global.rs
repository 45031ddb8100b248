//! Global heap: collections of variable-length values (specification III.E).

use std::collections::HashMap;
use std::sync::Arc;

use hyperslab_array::{HeapObjects, HeapReference, Result};

use crate::hdf5::Source;

/// What it costs to pass by an object of a collection, and how many of its bytes cost as much as one of a
/// value: collections may overlap, so that there are more of them than the file's length justifies.
const OBJECT_COST: u64 = 2;
const BYTES_AT_COST: u64 = 16;

/// Reads global heap collections on demand.
pub(crate) struct GlobalHeap;

impl GlobalHeap {
    /// Fetches `references` into `objects`, each collection once.
    pub fn fetch(source: &Source, references: &[HeapReference], objects: &mut HeapObjects) -> Result<()> {
        let mut by_collection: HashMap<u64, Vec<u32>> = HashMap::new();
        for reference in references.iter().filter(|r| !objects.contains(**r)) {
            by_collection.entry(reference.address).or_default().push(reference.index);
        }
        let mut addresses: Vec<u64> = by_collection.keys().copied().collect();
        addresses.sort_unstable();
        for address in addresses {
            let wanted: std::collections::HashSet<u32> =
                by_collection.get(&address).into_iter().flatten().copied().collect();
            let mut cost = 0u64;
            let size = collection(source, address, &mut |index, bytes| {
                cost = cost.saturating_add(OBJECT_COST);
                if wanted.contains(&index) {
                    objects.insert(HeapReference { address, index }, Arc::from(bytes));
                }
            })?;
            objects.charge(cost.saturating_add(size / BYTES_AT_COST))?;
        }
        Ok(())
    }
}

/// Visits the objects of a collection; its length in bytes.
fn collection(source: &Source, address: u64, visit: &mut dyn FnMut(u32, &[u8])) -> Result<u64> {
    // Both kinds of headers are padded to eight bytes.
    let header_bytes = (8 + u64::from(source.length_size)).next_multiple_of(8);
    let header = source.read(address, header_bytes)?;
    let mut cursor = source.cursor(&header, address);
    cursor.signature(b"GCOL")?;
    let version = cursor.u8()?;
    if version != 1 {
        return Err(cursor.corrupt(format!("version {version} of a global heap collection")));
    }
    cursor.skip(3)?;
    let size = cursor.length()?;
    let bytes = source.read(address, size)?;
    let mut cursor = source.cursor(&bytes, address);
    cursor.take_u64(header_bytes)?;
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
        let object = cursor.take_u64(length)?;
        visit(u32::from(index), object);
        let rest = length.next_multiple_of(8) - length;
        cursor.take_u64(rest.min(cursor.remaining() as u64))?;
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
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
            shared_messages: Arc::new([]),
            budget: Arc::new(crate::hdf5::budget::Budget::new(40, 0)),
        };
        let result = GlobalHeap::fetch(&source, &[HeapReference { address: 0, index: 1 }], &mut HeapObjects::limited(1000));
        assert!(matches!(result, Err(e) if e.kind() == hyperslab_array::ErrorKind::Corrupt));
    }
}
