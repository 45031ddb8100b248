//! Records of a version 2 B-tree: inserted, replaced and removed. Full nodes are split, and sparse ones are merged with a neighbor.
//! The header keeps its address.

use std::cmp::Ordering;

use hyperslab_array::{Error, Result};

use super::space::{PageKind, Space};
use crate::hdf5::btree::v2::{NODE_OVERHEAD, Shape};
use crate::hdf5::{Encoder, Source, checksum};

/// How a record is ordered relative to the wanted one.
pub(super) type Compare<'c> = dyn FnMut(&[u8]) -> Result<Ordering> + 'c;

/// Deepest tree.
const MAX_DEPTH: u16 = 64;

/// What a tree is like, as its header says.
#[derive(Debug, Clone, Copy)]
pub(super) struct TreeForm {
    pub record_type: u8,
    pub node_bytes: u32,
    pub record_bytes: u16,
    /// Percentages of the records of a full node.
    pub split_percent: u8,
    pub merge_percent: u8,
}

/// A tree that is edited.
pub(super) struct RecordTree<'a> {
    source: &'a Source,
    space: &'a dyn Space,
    header: u64,
    form: TreeForm,
    shape: Shape,
    depth: u16,
    root: Option<Child>,
}

/// A node as its parent knows it.
#[derive(Debug, Clone, Copy)]
struct Child {
    address: u64,
    /// Its own records, and all in it and below.
    records: u64,
    total: u64,
}

struct Node {
    address: u64,
    depth: u16,
    records: Vec<Vec<u8>>,
    children: Vec<Child>,
}

/// A node after an insertion.
struct Inserted {
    node: Child,
    /// The record between it and the new node on its right, if it was split.
    split: Option<(Vec<u8>, Child)>,
    replaced: Option<Vec<u8>>,
}

impl Node {
    fn as_child(&self) -> Child {
        let records = self.records.len() as u64;
        Child { address: self.address, records, total: self.children.iter().fold(records, |sum, child| sum.saturating_add(child.total)) }
    }

    /// The place of the first record that is not before the wanted one, and whether they are equal.
    fn place(&self, compare: &mut Compare<'_>) -> Result<(usize, bool)> {
        let (mut low, mut high) = (0, self.records.len());
        while low < high {
            let middle = low.midpoint(high);
            match compare(self.records.get(middle).map(Vec::as_slice).unwrap_or_default())? {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Ok((middle, true)),
                Ordering::Greater => high = middle,
            }
        }
        Ok((low, false))
    }
}

fn missing() -> Error {
    Error::corrupt("a version-2 B-tree node with too few children")
}

impl<'a> RecordTree<'a> {
    /// The tree whose header lies at `header`.
    pub fn open(source: &'a Source, space: &'a dyn Space, header: u64, record_types: &[u8]) -> Result<Self> {
        // Also checks checksum and sizes.
        crate::hdf5::btree::v2::count(source, header, record_types)?;
        let bytes = source.read(header, header_bytes(source))?;
        let mut cursor = source.cursor(&bytes, header);
        cursor.skip(5)?;
        let record_type = cursor.u8()?;
        let (node_bytes, record_bytes, depth) = (cursor.u32()?, cursor.u16()?, cursor.u16()?);
        let (split_percent, merge_percent) = (cursor.u8()?, cursor.u8()?);
        let (root, records, total) = (cursor.address()?, u64::from(cursor.u16()?), cursor.length()?);
        let form = TreeForm { record_type, node_bytes, record_bytes, split_percent, merge_percent };
        let root = root.filter(|_| total > 0).map(|address| Child { address, records, total });
        let mut tree = Self { source, space, header, form, shape: shape(source, form, 0)?, depth: if root.is_some() { depth } else { 0 }, root };
        tree.reshape()?;
        Ok(tree)
    }

    /// Creates an empty tree.
    pub fn create(source: &'a Source, space: &'a dyn Space, form: TreeForm) -> Result<Self> {
        let header = space.allocate(PageKind::Metadata, header_bytes(source))?;
        let tree = Self { source, space, header, form, shape: shape(source, form, 0)?, depth: 0, root: None };
        tree.write_header()?;
        Ok(tree)
    }

    /// Address of its header.
    pub fn address(&self) -> u64 {
        self.header
    }

    /// Type of its records.
    pub fn record_type(&self) -> u8 {
        self.form.record_type
    }

    /// Bytes of a record.
    pub fn record_bytes(&self) -> u16 {
        self.form.record_bytes
    }

    /// Inserts a record, or replaces the one that `compare` finds equal to it; returns that.
    pub fn set(&mut self, record: &[u8], compare: &mut Compare<'_>) -> Result<Option<Vec<u8>>> {
        if record.len() != usize::from(self.form.record_bytes) {
            return Err(Error::unsupported(format!("a record of {} bytes in a B-tree of records of {}", record.len(), self.form.record_bytes)));
        }
        let Some(root) = self.root else {
            let node = Node { address: self.new_node()?, depth: 0, records: vec![record.to_vec()], children: Vec::new() };
            self.write(&node)?;
            self.root = Some(node.as_child());
            self.write_header()?;
            return Ok(None);
        };
        let Inserted { node, split, replaced } = self.insert(root, self.depth, record, compare)?;
        self.root = Some(node);
        if let Some((between, right)) = split {
            self.depth = self.depth.checked_add(1).filter(|depth| *depth < MAX_DEPTH).ok_or_else(|| Error::unsupported("a B-tree of more than 64 levels"))?;
            self.reshape()?;
            let root = Node { address: self.new_node()?, depth: self.depth, records: vec![between], children: vec![node, right] };
            self.write(&root)?;
            self.root = Some(root.as_child());
        }
        self.write_header()?;
        Ok(replaced)
    }

    /// Removes the record that `compare` finds equal, and returns it.
    pub fn remove(&mut self, compare: &mut Compare<'_>) -> Result<Option<Vec<u8>>> {
        let Some(root) = self.root else { return Ok(None) };
        let Some((removed, node)) = self.remove_below(root, self.depth, Some(compare))? else { return Ok(None) };
        self.root = Some(node);
        if node.records == 0 {
            let only = if self.depth == 0 { None } else { Some(self.read(node, self.depth)?.children.first().copied().ok_or_else(missing)?) };
            self.space.free(PageKind::Metadata, node.address, self.form.node_bytes.into())?;
            (self.root, self.depth) = (only, self.depth.saturating_sub(1));
        }
        self.write_header()?;
        Ok(Some(removed))
    }

    /// Frees all nodes and the header.
    pub fn free(self) -> Result<()> {
        if let Some(root) = self.root {
            self.free_below(root, self.depth)?;
        }
        self.space.free(PageKind::Metadata, self.header, header_bytes(self.source))
    }

    // Recursion is bounded here and below: each step lowers the depth.
    fn free_below(&self, child: Child, depth: u16) -> Result<()> {
        if depth > 0 {
            self.read(child, depth)?.children.iter().try_for_each(|child| self.free_below(*child, depth - 1))?;
        }
        self.space.free(PageKind::Metadata, child.address, self.form.node_bytes.into())
    }

    fn insert(&self, child: Child, depth: u16, record: &[u8], compare: &mut Compare<'_>) -> Result<Inserted> {
        let mut node = self.read(child, depth)?;
        let (at, is_equal) = node.place(compare)?;
        let mut replaced = None;
        if is_equal {
            replaced = node.records.get_mut(at).map(|old| std::mem::replace(old, record.to_vec()));
        } else if depth == 0 {
            node.records.insert(at, record.to_vec());
        } else {
            let below = node.children.get(at).copied().ok_or_else(missing)?;
            let inserted = self.insert(below, depth - 1, record, compare)?;
            replaced = inserted.replaced;
            if let Some(child) = node.children.get_mut(at) {
                *child = inserted.node;
            }
            if let Some((between, right)) = inserted.split {
                node.records.insert(at, between);
                node.children.insert(at + 1, right);
            }
        }
        let mut split = None;
        if node.records.len() > self.max_records(depth)? {
            let kept = node.records.len() / 2;
            let records = node.records.split_off(kept + 1);
            let children = if depth == 0 { Vec::new() } else { node.children.split_off(kept + 1) };
            let between = node.records.pop().ok_or_else(|| Error::internal("a B-tree node that is split has records"))?;
            let right = Node { address: self.new_node()?, depth, records, children };
            self.write(&right)?;
            split = Some((between, right.as_child()));
        }
        self.write(&node)?;
        Ok(Inserted { node: node.as_child(), split, replaced })
    }

    /// Removes a record below a node: the last one without a comparison.
    fn remove_below(&self, child: Child, depth: u16, compare: Option<&mut Compare<'_>>) -> Result<Option<(Vec<u8>, Child)>> {
        let mut node = self.read(child, depth)?;
        let Some(compare) = compare else {
            let removed = if depth == 0 {
                node.records.pop().ok_or_else(|| Error::corrupt("a B-tree leaf without records"))?
            } else {
                let at = node.children.len().saturating_sub(1);
                let last = node.children.get(at).copied().ok_or_else(missing)?;
                let Some((removed, updated)) = self.remove_below(last, depth - 1, None)? else { return Ok(None) };
                self.replace_child(&mut node, at, updated)?;
                removed
            };
            self.write(&node)?;
            return Ok(Some((removed, node.as_child())));
        };
        let (at, is_equal) = node.place(compare)?;
        let removed = match (depth, is_equal) {
            (0, false) => return Ok(None),
            (0, true) => node.records.remove(at),
            (_, is_equal) => {
                let below = node.children.get(at).copied().ok_or_else(missing)?;
                let Some((mut removed, updated)) = self.remove_below(below, depth - 1, if is_equal { None } else { Some(compare) })? else {
                    return Ok(None);
                };
                if is_equal && let Some(record) = node.records.get_mut(at) {
                    std::mem::swap(record, &mut removed);
                }
                self.replace_child(&mut node, at, updated)?;
                removed
            }
        };
        self.write(&node)?;
        Ok(Some((removed, node.as_child())))
    }

    /// Takes in that a child has changed. One with few records is merged with a neighbor, or gets some of the neighbor's.
    fn replace_child(&self, node: &mut Node, at: usize, updated: Child) -> Result<()> {
        *node.children.get_mut(at).ok_or_else(missing)? = updated;
        let depth = node.depth.saturating_sub(1);
        let max_records = self.max_records(depth)?;
        let min_records = (max_records * usize::from(self.form.merge_percent.min(50)) / 100).max(1);
        if updated.records >= min_records as u64 || node.children.len() < 2 {
            return Ok(());
        }
        let first = at.saturating_sub(1);
        let pair = node.children.get(first).copied().zip(node.children.get(first + 1).copied());
        let (left, right) = pair.ok_or_else(missing)?;
        let (mut left, mut right) = (self.read(left, depth)?, self.read(right, depth)?);
        let between = node.records.get(first).cloned().ok_or_else(missing)?;
        left.records.push(between);
        left.records.append(&mut right.records);
        left.children.append(&mut right.children);
        if left.records.len() <= max_records {
            self.space.free(PageKind::Metadata, right.address, self.form.node_bytes.into())?;
            node.records.remove(first);
            node.children.remove(first + 1);
        } else {
            let kept = left.records.len() / 2;
            right.records = left.records.split_off(kept + 1);
            if depth > 0 {
                right.children = left.children.split_off(kept + 1);
            }
            let between = left.records.pop().ok_or_else(|| Error::internal("a B-tree node that is split has records"))?;
            *node.records.get_mut(first).ok_or_else(missing)? = between;
            self.write(&right)?;
            *node.children.get_mut(first + 1).ok_or_else(missing)? = right.as_child();
        }
        self.write(&left)?;
        *node.children.get_mut(first).ok_or_else(missing)? = left.as_child();
        Ok(())
    }

    fn max_records(&self, depth: u16) -> Result<usize> {
        let max_records = usize::try_from(self.shape.level(depth)?.max_records).unwrap_or(usize::MAX);
        if max_records < 3 { Err(Error::unsupported("a version-2 B-tree whose nodes have fewer than 3 records cannot be edited yet")) } else { Ok(max_records) }
    }

    fn new_node(&self) -> Result<u64> {
        self.space.allocate(PageKind::Metadata, self.form.node_bytes.into())
    }

    fn reshape(&mut self) -> Result<()> {
        self.shape = shape(self.source, self.form, self.depth)?;
        Ok(())
    }

    fn read(&self, child: Child, depth: u16) -> Result<Node> {
        let place = self.source.absolute(child.address)?;
        if !self.space.holds(child.address, self.form.node_bytes.into())? {
            return Err(Error::corrupt("a B-tree node that ends after the end of the file").at_offset(place));
        }
        let bytes = self.source.read(child.address, self.form.node_bytes.into())?;
        let max_records = self.shape.level(depth)?.max_records;
        if child.records > max_records {
            return Err(Error::corrupt(format!("{} records in a B-tree node that holds {max_records}", child.records)).at_offset(place));
        }
        let mut cursor = self.source.cursor(&bytes, child.address);
        cursor.signature(if depth == 0 { b"BTLF" } else { b"BTIN" })?;
        if cursor.u8()? != 0 || cursor.u8()? != self.form.record_type {
            return Err(Error::corrupt("a B-tree node of another tree").at_offset(place));
        }
        let records = (0..child.records).map(|_| cursor.take(self.form.record_bytes.into()).map(<[u8]>::to_vec)).collect::<Result<_>>()?;
        let mut children = Vec::new();
        if depth > 0 {
            for _ in 0..=child.records {
                let address = cursor.defined_address("a B-tree node")?;
                let records = cursor.uint(self.shape.count_bytes())?;
                let total = if depth > 1 { cursor.uint(self.shape.below_bytes(depth))? } else { records };
                children.push(Child { address, records, total });
            }
        }
        let used = cursor.position() + size_of::<u32>();
        checksum::verify(bytes.get(..used).unwrap_or_default(), place, "a version-2 B-tree node")?;
        Ok(Node { address: child.address, depth, records, children })
    }

    fn write(&self, node: &Node) -> Result<()> {
        let mut encoder = Encoder::signed(if node.depth == 0 { b"BTLF" } else { b"BTIN" });
        encoder.bytes(&[0, self.form.record_type]);
        node.records.iter().for_each(|record| encoder.bytes(record));
        for child in &node.children {
            encoder.uint(child.address, self.source.offset_size.into());
            encoder.uint(child.records, self.shape.count_bytes());
            if node.depth > 1 {
                encoder.uint(child.total, self.shape.below_bytes(node.depth));
            }
        }
        let mut bytes = encoder.finish_with_checksum();
        let length = usize::try_from(self.form.node_bytes).unwrap_or(usize::MAX);
        if bytes.len() > length || (bytes.len() as u64) < NODE_OVERHEAD {
            return Err(Error::internal("a B-tree node beyond its size"));
        }
        bytes.resize(length, 0);
        self.space.write(node.address, &bytes)
    }

    fn write_header(&self) -> Result<()> {
        let width = usize::from(self.source.offset_size);
        let TreeForm { record_type, node_bytes, record_bytes, split_percent, merge_percent } = self.form;
        let mut encoder = Encoder::signed(b"BTHD");
        encoder.bytes(&[0, record_type]);
        encoder.u32(node_bytes);
        encoder.u16(record_bytes);
        encoder.u16(self.depth);
        encoder.bytes(&[split_percent, merge_percent]);
        encoder.uint(self.root.map_or(u64::MAX, |root| root.address), width);
        encoder.u16(u16::try_from(self.root.map_or(0, |root| root.records)).map_err(|_| Error::internal("a B-tree node of 65536 records"))?);
        encoder.uint(self.root.map_or(0, |root| root.total), self.source.length_size.into());
        self.space.write(self.header, &encoder.finish_with_checksum())
    }
}

fn header_bytes(source: &Source) -> u64 {
    16 + u64::from(source.offset_size) + 2 + u64::from(source.length_size) + 4
}

fn shape(source: &Source, form: TreeForm, depth: u16) -> Result<Shape> {
    Shape::new(form.record_type, form.node_bytes.into(), form.record_bytes.into(), depth, source.offset_size.into())
}
