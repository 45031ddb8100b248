//! Entries of a version 1 B-tree of chunks: changed where they are, or inserted, with splits from the leaf up. The root stays where it is.

use hyperslab_array::{Error, Result};

use super::space::{PageKind, Space};
use crate::hdf5::writer::StoredChunk;
use crate::hdf5::{Encoder, Source};

/// Deepest tree: more levels than 64-bit numbers of chunks need.
const MAX_LEVELS: u8 = 32;

/// A tree of chunks.
pub(super) struct ChunkTree<'a> {
    pub source: &'a Source,
    pub space: &'a dyn Space,
    /// Extents of a chunk, and bytes of an element.
    pub extents: Vec<u64>,
    /// Children of a full node.
    pub max_children: usize,
}

/// Left or right of a child: stored bytes and filter mask of the chunk on its right, and where that begins.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Key {
    length: u32,
    filter_mask: u32,
    /// Offset along each dimension, and 0 for the bytes of an element.
    offsets: Vec<u64>,
}

struct Node {
    address: u64,
    level: u8,
    left: Option<u64>,
    right: Option<u64>,
    /// The key on the left of each child.
    children: Vec<(Key, u64)>,
    /// The key on the right of the last one.
    end: Key,
}

impl ChunkTree<'_> {
    /// Creates a tree of one chunk; returns its address.
    pub fn create(&self, chunk: &StoredChunk) -> Result<u64> {
        let node = Node {
            address: self.space.allocate(PageKind::Metadata, self.node_bytes())?,
            level: 0,
            left: None,
            right: None,
            children: vec![(self.key(chunk, 0)?, chunk.address)],
            end: self.key(chunk, 1)?,
        };
        self.write(&node)?;
        Ok(node.address)
    }

    /// Sets the entry of a chunk.
    pub fn set(&self, root: u64, chunk: &StoredChunk) -> Result<()> {
        let (node, Some(right)) = self.insert(root, None, chunk, MAX_LEVELS)? else { return Ok(()) };
        // The root was split: its left part moves, and the root becomes the parent of both.
        let left = Node { address: self.space.allocate(PageKind::Metadata, self.node_bytes())?, right: Some(right.address), left: None, ..node };
        let right = Node { left: Some(left.address), ..right };
        let level = left.level.checked_add(1).ok_or_else(|| Error::unsupported("a chunk B-tree of 256 levels"))?;
        let children = [&left, &right].iter().map(|node| Ok((node.first()?.clone(), node.address))).collect::<Result<_>>()?;
        let parent = Node { address: root, level, left: None, right: None, children, end: right.end.clone() };
        for node in [&left, &right, &parent] {
            self.write(node)?;
        }
        Ok(())
    }

    /// Frees the nodes of the tree. Its chunks stay.
    pub fn free(&self, root: u64) -> Result<()> {
        self.free_below(root, MAX_LEVELS)
    }

    // Recursion is bounded: each step lowers `levels`.
    fn free_below(&self, address: u64, levels: u8) -> Result<()> {
        let levels = levels.checked_sub(1).ok_or_else(|| Error::corrupt("a chunk B-tree that is too deep"))?;
        let node = self.read(address)?;
        if node.level > 0 {
            node.children.iter().try_for_each(|(_, child)| self.free_below(*child, levels))?;
        }
        self.space.free(PageKind::Metadata, address, self.node_bytes())
    }

    /// Sets an entry below the node at `address`, whose right neighbor begins with the key `next`. Returns the changed node, and
    /// the new node on its right if it was split. Both are written.
    fn insert(&self, address: u64, next: Option<&Key>, chunk: &StoredChunk, levels: u8) -> Result<(Node, Option<Node>)> {
        let levels = levels
            .checked_sub(1)
            .ok_or_else(|| Error::corrupt("a chunk B-tree that is too deep").at_offset(self.source.absolute(address).unwrap_or(address)))?;
        let mut node = self.read(address)?;
        let key = self.key(chunk, 0)?;
        // The last child whose key is not after the new one; the first if all are.
        let found = node.children.partition_point(|(first, _)| first.offsets <= key.offsets);
        let at = found.saturating_sub(1);
        if node.level > 0 {
            let child = node.children.get(at).ok_or_else(|| Error::corrupt("an inner node of a chunk B-tree without children"))?.1;
            let after = node.children.get(at + 1).map(|(key, _)| key.clone()).or_else(|| next.cloned());
            let (below, split) = self.insert(child, after.as_ref(), chunk, levels)?;
            if let Some((first, _)) = node.children.get_mut(at) {
                *first = below.first()?.clone();
            }
            let end = split.as_ref().map_or(&below.end, |split| &split.end).clone();
            if let Some(split) = split {
                node.children.insert(at + 1, (split.first()?.clone(), split.address));
            }
            if node.end.offsets < end.offsets {
                node.end = end;
            }
        } else {
            match node.children.get_mut(at).filter(|(first, _)| first.offsets == key.offsets) {
                Some(entry) => *entry = (key, chunk.address),
                None => {
                    if node.end.offsets <= key.offsets {
                        node.end = next.cloned().map_or_else(|| self.key(chunk, 1), Ok)?;
                    }
                    node.children.insert(found, (key, chunk.address));
                }
            }
        }
        let split = self.split(&mut node)?;
        self.write(&node)?;
        Ok((node, split))
    }

    /// Splits a node that has too many children; the new one on its right is written.
    fn split(&self, node: &mut Node) -> Result<Option<Node>> {
        if node.children.len() <= self.max_children {
            return Ok(None);
        }
        // Chunks usually come in order: then full nodes do not change again.
        let is_appended = node.right.is_none();
        let kept = if is_appended { self.max_children } else { self.max_children.div_ceil(2) };
        let children = node.children.split_off(kept);
        let address = self.space.allocate(PageKind::Metadata, self.node_bytes())?;
        let right = Node { address, level: node.level, left: Some(node.address), right: node.right, children, end: node.end.clone() };
        if let Some(neighbor) = node.right {
            let neighbor = Node { left: Some(address), ..self.read(neighbor)? };
            self.write(&neighbor)?;
        }
        node.right = Some(address);
        node.end = right.first()?.clone();
        self.write(&right)?;
        Ok(Some(right))
    }

    /// The key of a chunk, or of the one after it along all dimensions.
    fn key(&self, chunk: &StoredChunk, beyond: u64) -> Result<Key> {
        let position = chunk.position.iter().copied().chain([0]).zip(&self.extents);
        let offset = |(index, extent): (u64, &u64)| index.checked_add(beyond)?.checked_mul(*extent);
        let offsets = position.map(offset).collect::<Option<Vec<u64>>>().ok_or_else(|| Error::unsupported("a dataset beyond 64 bits"))?;
        let length = u32::try_from(chunk.length).map_err(|_| Error::unsupported("a chunk of 4 GiB or more"))?;
        Ok(if beyond == 0 { Key { length, filter_mask: chunk.filter_mask, offsets } } else { Key { length: 0, filter_mask: 0, offsets } })
    }

    fn key_bytes(&self) -> u64 {
        8 + 8 * self.extents.len() as u64
    }

    fn node_bytes(&self) -> u64 {
        let child = self.key_bytes() + u64::from(self.source.offset_size);
        8 + 2 * u64::from(self.source.offset_size) + self.max_children as u64 * child + self.key_bytes()
    }

    fn read(&self, address: u64) -> Result<Node> {
        let bytes = self.source.read(address, self.node_bytes())?;
        let mut cursor = self.source.cursor(&bytes, address);
        cursor.signature(b"TREE")?;
        if cursor.u8()? != 1 {
            return Err(cursor.corrupt("a chunk B-tree of another type than 1"));
        }
        let level = cursor.u8()?;
        let count = usize::from(cursor.u16()?);
        if count > self.max_children {
            return Err(cursor.corrupt(format!("a node of a chunk B-tree with {count} children of at most {}", self.max_children)));
        }
        let (left, right) = (cursor.address()?, cursor.address()?);
        let key = |cursor: &mut crate::hdf5::Cursor<'_>| {
            let (length, filter_mask) = (cursor.u32()?, cursor.u32()?);
            Ok::<_, Error>(Key { length, filter_mask, offsets: self.extents.iter().map(|_| cursor.u64()).collect::<Result<_>>()? })
        };
        let mut children = Vec::with_capacity(count + 1);
        for _ in 0..count {
            children.push((key(&mut cursor)?, cursor.defined_address("a chunk or B-tree node")?));
        }
        let end = key(&mut cursor)?;
        Ok(Node { address, level, left, right, children, end })
    }

    fn write(&self, node: &Node) -> Result<()> {
        let width = usize::from(self.source.offset_size);
        let mut encoder = Encoder::signed(b"TREE");
        encoder.bytes(&[1, node.level]);
        encoder.u16(u16::try_from(node.children.len()).map_err(|_| Error::internal("a node of a chunk B-tree is too full"))?);
        let address = |encoder: &mut Encoder, address: Option<u64>| encoder.uint(address.unwrap_or(u64::MAX), width);
        address(&mut encoder, node.left);
        address(&mut encoder, node.right);
        let key = |encoder: &mut Encoder, key: &Key| {
            encoder.u32(key.length);
            encoder.u32(key.filter_mask);
            key.offsets.iter().for_each(|offset| encoder.u64(*offset));
        };
        for (first, child) in &node.children {
            key(&mut encoder, first);
            address(&mut encoder, Some(*child));
        }
        key(&mut encoder, &node.end);
        encoder.pad_to(usize::try_from(self.node_bytes()).map_err(|_| Error::internal("a node beyond memory"))?);
        self.space.write(node.address, &encoder.finish())
    }
}

impl Node {
    fn first(&self) -> Result<&Key> {
        self.children.first().map(|(first, _)| first).ok_or_else(|| Error::internal("a node of a chunk B-tree without children"))
    }
}
