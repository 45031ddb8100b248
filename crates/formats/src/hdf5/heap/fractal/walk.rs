//! Visits all blocks of a fractal heap, past those that are damaged.

use hyperslab_array::{Error, Result};

use super::{FractalHeap, log2};
use crate::hdf5::visited::Visited;

/// A block that was visited.
pub(crate) struct HeapBlock {
    pub is_direct: bool,
    pub address: u64,
    /// Bytes in the file.
    pub length: u64,
    /// Whether it is right.
    pub state: Result<()>,
}

/// Takes a block.
type TakeBlock<'a> = dyn FnMut(HeapBlock) -> Result<()> + 'a;

impl FractalHeap<'_> {
    /// Bytes of the header.
    pub fn header_bytes(&self) -> u64 {
        self.header_bytes
    }
    /// Address of the tree of huge objects.
    pub fn huge_tree(&self) -> Option<u64> {
        self.huge_tree
    }
    /// Address of the manager of the free space in its blocks.
    pub fn free_space(&self) -> Option<u64> {
        self.free_space
    }
    /// Gives each block to `take`; what lies below a damaged indirect block is left out.
    pub fn each_block(&mut self, take: &mut TakeBlock<'_>) -> Result<()> {
        let Some(root) = self.root else { return Ok(()) };
        let mut seen = Visited::default();
        if self.root_rows == 0 {
            let filtered = self.filters.as_ref().map(|filters| (filters.root_bytes, filters.root_mask));
            return self.visit_direct(root, self.start_block, filtered, take);
        }
        self.visit_indirect(root, u32::from(self.root_rows), self.source.limits.depth, &mut seen, take)
    }

    fn visit_direct(&mut self, address: u64, size: u64, filtered: Option<(u64, u32)>, take: &mut TakeBlock<'_>) -> Result<()> {
        let state = self.direct(address, size, filtered).map(drop);
        // They are many, and each is visited once.
        self.blocks.direct.remove(&address);
        take(HeapBlock { is_direct: true, address, length: filtered.map_or(size, |(stored, _)| stored), state })
    }

    // Recursion is bounded by `depth`.
    fn visit_indirect(&mut self, address: u64, rows: u32, depth: u32, seen: &mut Visited, take: &mut TakeBlock<'_>) -> Result<()> {
        let direct_rows = log2(self.max_direct) - log2(self.start_block) + 2;
        let length = self.indirect_bytes(rows, direct_rows);
        let block = |state| HeapBlock { is_direct: false, address, length, state };
        if depth == 0 || !seen.insert(address) {
            return take(block(Err(Error::corrupt("a fractal heap block that leads back into itself"))));
        }
        let entries = match self.indirect(address, rows, direct_rows) {
            Ok(entries) => entries,
            Err(error) => return take(block(Err(error))),
        };
        take(block(Ok(())))?;
        for (number, entry) in (0u64..).zip(entries.iter()) {
            let Some(child) = entry.address else { continue };
            let row = u32::try_from(number / self.width).unwrap_or(u32::MAX);
            let size = self.block_bytes(row)?;
            if row < direct_rows {
                self.visit_direct(child, size, entry.filtered, take)?;
                continue;
            }
            let below = (log2(size) + 1).checked_sub(log2(self.start_block) + log2(self.width)).filter(|rows| *rows > 0);
            match below {
                Some(rows) => self.visit_indirect(child, rows, depth - 1, seen, take)?,
                None => {
                    let state = Err(Error::corrupt("a fractal heap block of no rows"));
                    take(HeapBlock { is_direct: false, address: child, length: 0, state })?;
                }
            }
        }
        Ok(())
    }
}
