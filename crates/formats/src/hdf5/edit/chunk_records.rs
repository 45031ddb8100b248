//! Chunks in a version 2 B-tree, the index of datasets with two or more unlimited dimensions.

use hyperslab_array::{Error, Result};

use super::btree_v2::{RecordTree, TreeForm};
use super::entry::Entries;
use super::space::Space;
use crate::hdf5::Source;
use crate::hdf5::writer::StoredChunk;

/// Record types of chunks without and with filters.
const PLAIN: u8 = 10;
const FILTERED: u8 = 11;
/// Bytes of a position along one dimension.
const POSITION_BYTES: usize = 8;

/// A chunk index that is edited.
pub(super) struct ChunkRecords<'a> {
    source: &'a Source,
    tree: RecordTree<'a>,
    entries: Entries,
    ndim: usize,
}

impl<'a> ChunkRecords<'a> {
    /// The index of a dataset with `ndim` dimensions.
    pub fn open(source: &'a Source, space: &'a dyn Space, address: u64, ndim: usize) -> Result<Self> {
        let tree = RecordTree::open(source, space, address, &[PLAIN, FILTERED])?;
        let bytes = usize::from(tree.record_bytes()).checked_sub(POSITION_BYTES * ndim).filter(|bytes| *bytes >= usize::from(source.offset_size));
        let bytes = bytes.ok_or_else(|| Error::corrupt("a chunk B-tree whose records are too short"))?;
        let entries = Entries { bytes: bytes as u64, is_filtered: tree.record_type() == FILTERED };
        Ok(Self { source, tree, entries, ndim })
    }

    /// Creates an index without chunks. `parameters` come from the storage layout: bytes of a node, and the percentages at which nodes are
    /// split and merged.
    pub fn create(source: &'a Source, space: &'a dyn Space, entries: Entries, ndim: usize, parameters: [u8; 6]) -> Result<Self> {
        let [a, b, c, d, split_percent, merge_percent] = parameters;
        let record_bytes = usize::try_from(entries.bytes).ok().and_then(|bytes| u16::try_from(bytes + POSITION_BYTES * ndim).ok());
        let form = TreeForm {
            record_type: if entries.is_filtered { FILTERED } else { PLAIN },
            node_bytes: u32::from_le_bytes([a, b, c, d]),
            record_bytes: record_bytes.ok_or_else(|| Error::internal("a chunk record of 64 KiB"))?,
            split_percent,
            merge_percent,
        };
        Ok(Self { source, tree: RecordTree::create(source, space, form)?, entries, ndim })
    }

    /// Address of its header.
    pub fn address(&self) -> u64 {
        self.tree.address()
    }

    /// Sets the entry of a chunk.
    pub fn set(&mut self, chunk: &StoredChunk) -> Result<()> {
        let mut record = self.entries.encode(self.source, Some(chunk))?;
        chunk.position.iter().for_each(|at| record.extend(at.to_le_bytes()));
        let (source, ndim) = (self.source, self.ndim);
        self.tree.set(&record, &mut |other| Ok(position(source, other, ndim)?.cmp(&chunk.position)))?;
        Ok(())
    }

    /// Takes a chunk out.
    pub fn remove(&mut self, wanted: &[u64]) -> Result<()> {
        let (source, ndim) = (self.source, self.ndim);
        self.tree.remove(&mut |other| Ok(position(source, other, ndim)?.as_slice().cmp(wanted)))?;
        Ok(())
    }
}

/// Which chunk a record is of, along each dimension.
fn position(source: &Source, record: &[u8], ndim: usize) -> Result<Vec<u64>> {
    let mut cursor = source.cursor(record, 0);
    cursor.skip(record.len().saturating_sub(POSITION_BYTES * ndim))?;
    (0..ndim).map(|_| cursor.u64()).collect()
}
