//! Version-2 B-tree (specification III.A.2): visits every record in key order, or searches for those with one key.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::slice::ChunksExact;

use hyperslab_array::{Error, Result};

use crate::hdf5::visited::Visited;
use crate::hdf5::{Cursor, Source, checksum};

/// Signature, version, type and checksum of a node.
pub(crate) const NODE_OVERHEAD: u64 = 10;

/// What the nodes of one tree have in common.
pub(crate) struct Shape {
    pub record_type: u8,
    pub node_bytes: u64,
    pub record_bytes: u64,
    /// For each depth: most records of a node, and most records below it.
    levels: Vec<Level>,
}

#[derive(Clone, Copy)]
pub(crate) struct Level {
    pub max_records: u64,
    pub max_below: u64,
}

/// A node and what its parent says of it.
pub(in crate::hdf5) struct Child {
    pub address: u64,
    pub records: u64,
    pub depth: u16,
}

/// Bytes that hold every number up to `value`.
fn width(value: u64) -> usize {
    usize::try_from((64 - value.leading_zeros()).div_ceil(8).max(1)).unwrap_or(8)
}

/// A tree as its header describes it.
pub(in crate::hdf5) struct Tree {
    pub shape: Shape,
    pub root: Child,
    /// Records of all nodes.
    pub total: u64,
    /// Where the header is.
    place: u64,
}

/// Calls `visit` with the record type and bytes of each record of the tree whose header lies at
/// `address`, in key order. Another type than `record_types` is `Corrupt`.
pub(crate) fn records(source: &Source, address: u64, record_types: &[u8], visit: &mut dyn FnMut(u8, &[u8]) -> Result<()>) -> Result<()> {
    let Some(Tree { shape, root, total, place }) = open(source, address, record_types)? else { return Ok(()) };
    let mut seen = 0u64;
    shape.walk(source, &root, &mut Visited::default(), &mut |record| {
        seen += 1;
        if seen > total {
            return Err(Error::corrupt(format!("a B-tree holds more than the {total} records it promises")).at_offset(place));
        }
        visit(shape.record_type, record)
    })?;
    if seen != total {
        return Err(Error::corrupt(format!("a B-tree promises {total} records and holds {seen}")).at_offset(place));
    }
    Ok(())
}

/// How many records the tree whose header lies at `address` promises.
pub(crate) fn count(source: &Source, address: u64, record_types: &[u8]) -> Result<u64> {
    Ok(open(source, address, record_types)?.map_or(0, |tree| tree.total))
}

/// Calls `visit` with each record that `compare` finds equal to the wanted key, in key order, until it returns true.
/// `compare` tells how a record's key is ordered relative to the wanted one. Reads one node of each level, and more only
/// where equal records lie in several.
pub(crate) fn search(
    source: &Source,
    address: u64,
    record_types: &[u8],
    compare: &mut dyn FnMut(&[u8]) -> Result<Ordering>,
    visit: &mut dyn FnMut(&[u8]) -> Result<bool>,
) -> Result<()> {
    match open(source, address, record_types)? {
        Some(tree) => tree.shape.search(source, &tree.root, &mut Visited::default(), compare, visit).map(drop),
        None => Ok(()),
    }
}

/// Bytes of a tree's header.
pub(in crate::hdf5) fn header_bytes(source: &Source) -> u64 {
    4 + 2 + 4 + 2 + 2 + 2 + u64::from(source.offset_size) + 2 + u64::from(source.length_size) + 4
}

/// Reads the header at `address`; `None` for a tree without records.
pub(in crate::hdf5) fn open(source: &Source, address: u64, record_types: &[u8]) -> Result<Option<Tree>> {
    let bytes = source.read(address, header_bytes(source))?;
    let place = source.absolute(address)?;
    let mut cursor = source.cursor(&bytes, address);
    cursor.signature(b"BTHD")?;
    checksum::verify(&bytes, place, "a version-2 B-tree header")?;
    let version = cursor.u8()?;
    if version != 0 {
        return Err(Error::unsupported(format!("version {version} of the version-2 B-tree")).at_offset(place));
    }
    let record_type = cursor.u8()?;
    if !record_types.contains(&record_type) {
        return Err(Error::corrupt(format!("a B-tree of record type {record_type}, not one of {record_types:?}")).at_offset(place));
    }
    let node_bytes = u64::from(cursor.u32()?);
    let record_bytes = u64::from(cursor.u16()?);
    let depth = cursor.u16()?;
    cursor.skip(2)?;
    let root = cursor.address()?;
    let records = u64::from(cursor.u16()?);
    let total = cursor.length()?;
    if u32::from(depth) > source.limits.depth || record_bytes == 0 || node_bytes <= NODE_OVERHEAD + record_bytes {
        return Err(Error::corrupt("impossible sizes in a version-2 B-tree header").at_offset(place));
    }
    let Some(address) = root.filter(|_| total > 0) else { return Ok(None) };
    let shape = Shape::new(record_type, node_bytes, record_bytes, depth, source.offset_size.into())?;
    Ok(Some(Tree { shape, root: Child { address, records, depth }, total, place }))
}

impl Shape {
    /// Nodes of a tree of this depth in a file with addresses of `address_bytes`.
    pub fn new(record_type: u8, node_bytes: u64, record_bytes: u64, depth: u16, address_bytes: usize) -> Result<Self> {
        let leaf = (node_bytes - NODE_OVERHEAD) / record_bytes;
        let mut shape = Self { record_type, node_bytes, record_bytes, levels: vec![Level { max_records: leaf, max_below: leaf }] };
        for depth in 1..=depth {
            let pointer = shape.pointer_bytes(address_bytes, depth) as u64;
            let max_records = (node_bytes - NODE_OVERHEAD).saturating_sub(pointer) / (record_bytes + pointer);
            let below = shape.level(depth - 1)?.max_below;
            let max_below = max_records.saturating_add(1).saturating_mul(below).saturating_add(max_records);
            shape.levels.push(Level { max_records, max_below });
        }
        Ok(shape)
    }
    pub fn level(&self, depth: u16) -> Result<Level> {
        let level = self.levels.get(usize::from(depth)).copied();
        level.ok_or_else(|| Error::corrupt("a B-tree node lies deeper than its tree"))
    }
    /// Bytes of a child pointer in a node at `depth`.
    fn pointer_bytes(&self, address_bytes: usize, depth: u16) -> usize {
        address_bytes + self.count_bytes() + self.below_bytes(depth)
    }
    pub fn count_bytes(&self) -> usize {
        width(self.levels.first().map_or(0, |leaf| leaf.max_records))
    }
    pub fn below_bytes(&self, depth: u16) -> usize {
        if depth < 2 {
            return 0;
        }
        width(self.levels.get(usize::from(depth) - 1).map_or(0, |level| level.max_below))
    }

    // Recursion is bounded: each step lowers the depth, which the header's check bounded.
    fn walk(&self, source: &Source, node: &Child, seen: &mut Visited, visit: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let bytes = self.read(source, node, seen)?;
        let (mut records, mut cursor) = self.parts(source, node, &bytes)?;
        if node.depth == 0 {
            return records.try_for_each(visit);
        }
        let children = (0..=node.records).map(|_| self.child(&mut cursor, node.depth)).collect::<Result<Vec<_>>>()?;
        source.prefetch(children.iter().map(|child| (child.address, self.node_bytes)))?;
        for child in children {
            self.walk(source, &child, seen, visit)?;
            if let Some(record) = records.next() {
                visit(record)?;
            }
        }
        Ok(())
    }

    /// Returns whether `visit` has ended the search.
    fn search(
        &self,
        source: &Source,
        node: &Child,
        seen: &mut Visited,
        compare: &mut dyn FnMut(&[u8]) -> Result<Ordering>,
        visit: &mut dyn FnMut(&[u8]) -> Result<bool>,
    ) -> Result<bool> {
        let bytes = self.read(source, node, seen)?;
        let (records, mut cursor) = self.parts(source, node, &bytes)?;
        let records: Vec<&[u8]> = records.collect();
        // The first record that is not below the key, and the first after that one which is above it.
        let mut failed = None;
        let mut below = |record: &&[u8], orders: &[Ordering]| {
            compare(record).map_or_else(
                |error| {
                    failed = Some(error);
                    false
                },
                |order| orders.contains(&order),
            )
        };
        let first = records.partition_point(|record| below(record, &[Ordering::Less]));
        let end = records.partition_point(|record| below(record, &[Ordering::Less, Ordering::Equal]));
        if let Some(error) = failed {
            return Err(error);
        }
        let equal = records.get(first..end).unwrap_or_default();
        if node.depth == 0 {
            for record in equal {
                if visit(record)? {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        // Child i lies before record i: those around the equal records may hold more of them.
        for _ in 0..first {
            self.child(&mut cursor, node.depth)?;
        }
        for between in 0..=equal.len() {
            let child = self.child(&mut cursor, node.depth)?;
            if self.search(source, &child, seen, compare, visit)? {
                return Ok(true);
            }
            if let Some(record) = equal.get(between)
                && visit(record)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The used bytes of a node, checked. A node is below one parent only: each is read once.
    pub fn read<'a>(&self, source: &'a Source, node: &Child, seen: &mut Visited) -> Result<Cow<'a, [u8]>> {
        let place = source.absolute(node.address)?;
        if !seen.insert(node.address) {
            return Err(Error::corrupt("a B-tree node that is in its tree twice").at_offset(place));
        }
        let level = self.level(node.depth)?;
        if node.records > level.max_records {
            return Err(Error::corrupt(format!("{} records in a B-tree node that holds {}", node.records, level.max_records)).at_offset(place));
        }
        let pointer = if node.depth == 0 { 0 } else { self.pointer_bytes(source.offset_size.into(), node.depth) as u64 };
        let children = if node.depth == 0 { 0 } else { node.records + 1 };
        let used = NODE_OVERHEAD + node.records * self.record_bytes + children * pointer;
        if used > self.node_bytes {
            return Err(Error::corrupt("a B-tree node is longer than its size").at_offset(place));
        }
        let bytes = source.read(node.address, used)?;
        checksum::verify(&bytes, place, "a version-2 B-tree node")?;
        Ok(bytes)
    }

    /// The records of a node, and a cursor at its child pointers.
    pub fn parts<'a>(&self, source: &'a Source, node: &Child, bytes: &'a [u8]) -> Result<(ChunksExact<'a, u8>, Cursor<'a>)> {
        let mut cursor = source.cursor(bytes, node.address);
        cursor.signature(if node.depth == 0 { b"BTLF" } else { b"BTIN" })?;
        if cursor.u8()? != 0 || cursor.u8()? != self.record_type {
            return Err(Error::corrupt("a B-tree node of another tree").at_offset(source.absolute(node.address)?));
        }
        let records = cursor.take_u64(node.records * self.record_bytes)?;
        let record_bytes = usize::try_from(self.record_bytes).map_err(|_| Error::internal("a B-tree record beyond memory"))?;
        Ok((records.chunks_exact(record_bytes), cursor))
    }

    /// The next child pointer of a node at `depth`.
    pub fn child(&self, cursor: &mut Cursor<'_>, depth: u16) -> Result<Child> {
        let address = cursor.defined_address("a B-tree node")?;
        let records = cursor.uint(self.count_bytes())?;
        cursor.skip(self.below_bytes(depth))?;
        Ok(Child { address, records, depth: depth.saturating_sub(1) })
    }
}
