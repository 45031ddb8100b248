//! One heap, tree or header by itself, in a file whose other bytes need not make sense.

use hyperslab_array::{Error, HeapObjects, HeapReference, Result, Selection};

use super::source;
use crate::hdf5::heap::{FractalHeap, GlobalHeap, LocalHeap};
use crate::hdf5::layout::{ChunkedLayout, Locator};
use crate::hdf5::object_header::ObjectHeader;
use crate::hdf5::{Source, btree, chunk_locator, group};
use crate::{ChunkLocation, Limits};

/// A file in memory, for parsers that begin at an address.
pub struct Structures(Source);

/// A chunked dataset, as a layout message and a dataspace describe it.
pub struct ChunkedArray {
    /// Chunk indexing type; 0 is the version-1 B-tree.
    pub indexing: u8,
    /// Address of the chunk index.
    pub address: u64,
    /// Extent of each dimension.
    pub shape: Vec<u64>,
    /// Maximum extent of each dimension; `None` is unlimited.
    pub max_shape: Vec<Option<u64>>,
    /// Extent of a chunk.
    pub chunk_shape: Vec<u64>,
    /// Bytes of an element.
    pub element_size: u64,
}

impl Structures {
    /// `bytes` with addresses and lengths of 8 bytes.
    pub fn new(bytes: &[u8], limits: &Limits) -> Self {
        Self(source(bytes, limits))
    }

    /// The messages of the object header at `address`.
    pub fn object_header(&self, address: u64) -> Result<usize> {
        Ok(ObjectHeader::read(&self.0, address)?.messages.len())
    }

    /// The text at an offset of a local heap; each is the end of the one that begins a byte before.
    pub fn local_heap(&self, address: u64, offset: u64) -> Result<String> {
        let heap = LocalHeap::read(&self.0, address)?;
        let text = heap.text(offset)?;
        if text.is_ascii() && !text.is_empty() && heap.text(offset.saturating_add(1)).ok().as_deref() != text.get(1..) {
            return Err(Error::internal(format!("the text {text:?} of a local heap has another end")));
        }
        Ok(text)
    }

    /// The objects `1..=count` of a global heap's collection; one by one as all at once.
    pub fn global_heap(&self, address: u64, count: u32) -> Result<u64> {
        let references: Vec<HeapReference> = (1..=count).map(|index| HeapReference { address, index }).collect();
        let mut all = HeapObjects::limited(self.0.limits.heap_bytes);
        GlobalHeap::fetch(&self.0, &references, &mut all)?;
        for reference in &references {
            let mut one = HeapObjects::limited(self.0.limits.heap_bytes);
            GlobalHeap::fetch(&self.0, std::slice::from_ref(reference), &mut one)?;
            if one.object(*reference).ok() != all.object(*reference).ok() {
                return Err(Error::internal("an object of the global heap that depends on what else is asked for"));
            }
        }
        Ok(all.iter().map(|(_, bytes)| bytes.len() as u64).sum())
    }

    /// The object of a heap ID in a fractal heap.
    pub fn fractal_heap(&self, address: u64, id: &[u8]) -> Result<Vec<u8>> {
        Ok(FractalHeap::open(&self.0, address)?.object(id)?.into_owned())
    }

    /// `length` bytes at `offset` of a fractal heap, which must equal the bytes of its two halves.
    pub fn managed_object(&self, address: u64, offset: u64, length: u64) -> Result<Vec<u8>> {
        let mut heap = FractalHeap::open(&self.0, address)?;
        let whole = heap.managed_at(offset, length)?.into_owned();
        let half = length / 2;
        let mut halves = heap.managed_at(offset, half)?.into_owned();
        halves.extend_from_slice(&heap.managed_at(offset.saturating_add(half), length - half)?);
        if halves != whole {
            return Err(Error::internal("a managed object whose halves are others"));
        }
        Ok(whole)
    }

    /// The links of a symbol table.
    pub fn group_tree(&self, tree: u64, heap: u64) -> Result<usize> {
        group::symbol_table_links(&self.0, tree, heap)
    }

    /// The links of dense storage.
    pub fn dense_links(&self, tree: u64, heap: u64) -> Result<usize> {
        group::dense_links(&self.0, heap, tree)
    }

    /// The records of a version-2 B-tree of any type, and bytes of each.
    pub fn records(&self, tree: u64) -> Result<(u64, usize)> {
        let (mut count, mut bytes) = (0, 0);
        let types: Vec<u8> = (0..=u8::MAX).collect();
        btree::v2::records(&self.0, tree, &types, &mut |_, record| {
            count += 1;
            bytes = record.len();
            Ok(())
        })?;
        Ok((count, bytes))
    }

    /// The chunks of a dataset by the chunk locator of its chunk indexing type.
    pub fn chunks(&self, array: &ChunkedArray, selection: &Selection) -> Result<Vec<ChunkLocation>> {
        let &ChunkedArray { indexing, address, element_size, .. } = array;
        let locator = match indexing {
            0 => Locator::BtreeV1 { address },
            1 => Locator::Single { address, filtered: None },
            2 => Locator::Implicit { address },
            3 => Locator::FixedArray { address },
            4 => Locator::ExtensibleArray { address },
            _ => Locator::BtreeV2 { address },
        };
        let chunk_bytes = array.chunk_shape.iter().try_fold(element_size, |n, extent| n.checked_mul(*extent));
        let layout = ChunkedLayout {
            shape: array.shape.clone(),
            max_shape: array.max_shape.clone(),
            chunk_shape: array.chunk_shape.clone(),
            chunk_bytes: chunk_bytes.ok_or_else(|| Error::corrupt("a chunk beyond 64 bits"))?,
            unfiltered_partial_edges: false,
            locator,
        };
        chunk_locator::locate(&self.0, &layout, selection)
    }
}
