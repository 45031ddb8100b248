//! Version-2 B-trees, node by node: a damaged node costs its records and those below it.

use hyperslab_array::{Error, Result};

use super::log::Log;
use super::structure::StructureKind;
use crate::hdf5::btree::v2::{self, Child, Shape};
use crate::hdf5::visited::Visited;

/// Takes the record type and the bytes of a record.
pub(super) type TakeRecord<'a, 's> = dyn FnMut(&mut Log<'s>, u8, &[u8]) -> Result<()> + 'a;

/// Gives each record of the tree whose header lies at `address` to `take`, in key order. Returns whether all of them are there.
pub(super) fn records<'s>(log: &mut Log<'s>, address: u64, record_types: &[u8], take: &mut TakeRecord<'_, 's>) -> Result<bool> {
    let source = log.source;
    let header_bytes = v2::header_bytes(source);
    let opened = v2::open(source, address, record_types);
    let Some(tree) = log.noted(StructureKind::TreeHeader, address, header_bytes, opened)? else { return Ok(false) };
    if !log.claim(StructureKind::TreeHeader, address, header_bytes)? {
        let error = Error::corrupt("a B-tree that belongs to several objects");
        return log.damage(StructureKind::TreeHeader, address, header_bytes, error).map(|()| false);
    }
    let Some(tree) = tree else { return Ok(true) };
    let mut walk = Walk { shape: &tree.shape, seen: Visited::default(), found: 0, take };
    let is_whole = walk.node(log, &tree.root)?;
    let found = walk.found;
    if is_whole && found != tree.total {
        let error = Error::corrupt(format!("a B-tree promises {} records and holds {found}", tree.total));
        return log.damage(StructureKind::TreeHeader, address, header_bytes, error).map(|()| false);
    }
    Ok(is_whole)
}

struct Walk<'a, 'b, 's> {
    shape: &'a Shape,
    seen: Visited,
    found: u64,
    take: &'a mut TakeRecord<'b, 's>,
}

impl<'s> Walk<'_, '_, 's> {
    // Recursion is bounded: each step lowers the depth, which the header's check bounded.
    fn node(&mut self, log: &mut Log<'s>, node: &Child) -> Result<bool> {
        let source = log.source;
        let length = self.shape.node_bytes;
        let bytes = self.shape.read(source, node, &mut self.seen);
        let Some(bytes) = log.noted(StructureKind::TreeNode, node.address, length, bytes)? else { return Ok(false) };
        let parts = self.shape.parts(source, node, &bytes);
        let Some((mut records, mut cursor)) = log.noted(StructureKind::TreeNode, node.address, length, parts)? else { return Ok(false) };
        log.claim(StructureKind::TreeNode, node.address, length)?;
        let children = if node.depth == 0 { 0 } else { node.records.saturating_add(1) };
        let mut is_whole = true;
        for _ in 0..children {
            let child = self.shape.child(&mut cursor, node.depth);
            match log.noted(StructureKind::TreeNode, node.address, length, child)? {
                Some(child) => is_whole &= self.node(log, &child)?,
                None => is_whole = false,
            }
            if let Some(record) = records.next() {
                self.record(log, record)?;
            }
        }
        for record in records {
            self.record(log, record)?;
        }
        Ok(is_whole)
    }

    fn record(&mut self, log: &mut Log<'s>, record: &[u8]) -> Result<()> {
        self.found = self.found.saturating_add(1);
        (self.take)(log, self.shape.record_type, record)
    }
}
