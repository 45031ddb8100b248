//! Links of an old group: entries of symbol table nodes below a version 1 B-tree, with names in a local heap. Full nodes are split, and empty
//! ones are removed. The root of the tree keeps its address.

use std::cmp::Ordering;

use hyperslab_array::name::bytes_of;
use hyperslab_array::{Error, Result};

use super::local_heap::LocalHeapEdit;
use super::space::{PageKind, Space};
use crate::hdf5::message::link::RawTarget;
use crate::hdf5::{Encoder, Source};

/// Deepest tree: the level of a node has one byte, and each level holds many links.
const MAX_LEVELS: u8 = 32;
/// Cache type of a symbolic link's entry.
const SOFT: u32 = 2;

/// Numbers of entries in full nodes, as the file has them.
#[derive(Debug, Clone, Copy)]
pub(super) struct GroupForm {
    pub max_links: usize,
    pub max_children: usize,
}

/// A symbol table that is edited.
pub(super) struct SymbolTableEdit<'a> {
    pub source: &'a Source,
    pub space: &'a dyn Space,
    pub form: GroupForm,
    /// Root of the tree.
    pub tree: u64,
    /// Header of the local heap.
    pub heap: u64,
}

struct Node {
    address: u64,
    level: u8,
    left: Option<u64>,
    right: Option<u64>,
    /// Heap offsets of the names on the left and on the right of each child.
    keys: Vec<u64>,
    children: Vec<u64>,
}

/// Entries of a leaf: the heap offset of each name, and the bytes that follow.
struct Leaf {
    address: u64,
    entries: Vec<(u64, Vec<u8>)>,
}

/// What a change below a node has done.
#[derive(Default)]
struct Below {
    /// A new node on the right, and the key between.
    split: Option<(u64, u64)>,
    /// The new key on the right, if it has changed.
    end: Option<u64>,
    /// Nothing is left: the node is gone.
    is_gone: bool,
}

/// What the removal of an entry from a leaf has done.
struct RemovedEntry {
    /// Heap offset of the name.
    offset: u64,
    /// Whether nothing is left in the leaf.
    is_empty: bool,
}

impl SymbolTableEdit<'_> {
    /// Adds a link, whose name no other one has.
    pub fn insert(&self, name: &str, target: &RawTarget) -> Result<()> {
        let mut heap = LocalHeapEdit::open(self.source, self.space, self.heap)?;
        let offset = heap.insert(&bytes_of(name))?;
        let (o, undefined) = (usize::from(self.source.offset_size), u64::MAX);
        let mut rest = Encoder::default();
        match target {
            RawTarget::Hard(address) => {
                rest.uint(*address, o);
                // Nothing is cached.
                rest.bytes(&[0; 24]);
            }
            RawTarget::Soft(path) => {
                let path = heap.insert(&bytes_of(path))?;
                rest.uint(undefined, o);
                rest.u32(SOFT);
                rest.u32(0);
                rest.u32(u32::try_from(path).map_err(|_| Error::unsupported("a local heap of 4 GiB"))?);
                rest.bytes(&[0; 12]);
            }
            _ => return Err(Error::internal("a symbol table holds hard and soft links only")),
        }
        let below = self.insert_below(self.tree, &heap, (offset, rest.finish()), MAX_LEVELS)?;
        if let Some((right, between)) = below.split {
            self.split_root(right, between)?;
        }
        heap.store()
    }

    /// Removes the link called `name`; whether there was one.
    pub fn remove(&self, name: &str) -> Result<bool> {
        let mut heap = LocalHeapEdit::open(self.source, self.space, self.heap)?;
        let mut gone = Vec::new();
        let Some(below) = self.remove_below(self.tree, &heap, &bytes_of(name), &mut gone, MAX_LEVELS)? else { return Ok(false) };
        if below.is_gone {
            // The root stays, as the root of an empty group.
            self.write(&Node { address: self.tree, level: 0, left: None, right: None, keys: vec![0], children: Vec::new() })?;
        }
        gone.into_iter().try_for_each(|offset| heap.remove(offset))?;
        heap.store()?;
        Ok(true)
    }

    /// Frees tree and heap.
    pub fn free(&self) -> Result<()> {
        self.free_below(self.tree, MAX_LEVELS)?;
        LocalHeapEdit::open(self.source, self.space, self.heap)?.free()
    }

    // Recursion is bounded here and below: each step lowers `levels`.
    fn free_below(&self, address: u64, levels: u8) -> Result<()> {
        let (node, levels) = (self.read(address)?, next_level(levels)?);
        for child in &node.children {
            if node.level == 0 { self.space.free(PageKind::Metadata, *child, self.leaf_bytes())? } else { self.free_below(*child, levels)? }
        }
        self.space.free(PageKind::Metadata, address, self.node_bytes())
    }

    fn insert_below(&self, address: u64, heap: &LocalHeapEdit<'_>, entry: (u64, Vec<u8>), levels: u8) -> Result<Below> {
        let (mut node, levels) = (self.read(address)?, next_level(levels)?);
        let name = heap.text(entry.0)?.to_vec();
        if node.children.is_empty() {
            if node.level > 0 {
                return Err(Error::corrupt("an inner node of a group's B-tree without children"));
            }
            let leaf = Leaf { address: self.space.allocate(PageKind::Metadata, self.leaf_bytes())?, entries: vec![entry] };
            self.write_leaf(&leaf)?;
            let end = leaf.entries.first().map(|(offset, _)| *offset);
            (node.children, node.keys) = (vec![leaf.address], [Some(0), end].into_iter().flatten().collect());
            self.write(&node)?;
            return Ok(Below { end, ..Below::default() });
        }
        let at = self.child_of(&node, heap, &name)?.min(node.children.len() - 1);
        let child = node.child(at)?;
        let below = if node.level == 0 { self.insert_into_leaf(child, heap, entry, &name)? } else { self.insert_below(child, heap, entry, levels)? };
        let is_last = at + 1 == node.children.len();
        // A name within the node's range leaves the key on its right.
        let end = match below.end {
            Some(end) if heap.text(node.key(at + 1)?)? < name.as_slice() => Some(end),
            _ => None,
        };
        if let Some(end) = end {
            *node.keys.get_mut(at + 1).ok_or_else(missing)? = end;
        }
        if let Some((right, between)) = below.split {
            node.children.insert(at + 1, right);
            node.keys.insert(at + 1, between);
        }
        let mut split = None;
        if node.children.len() > self.form.max_children {
            let kept = node.children.len().div_ceil(2);
            let children = node.children.split_off(kept);
            let keys = node.keys.get(kept..).unwrap_or_default().to_vec();
            node.keys.truncate(kept + 1);
            let right = Node {
                address: self.space.allocate(PageKind::Metadata, self.node_bytes())?,
                level: node.level,
                left: Some(address),
                right: node.right,
                keys,
                children,
            };
            if let Some(neighbor) = node.right {
                self.write(&Node { left: Some(right.address), ..self.read(neighbor)? })?;
            }
            node.right = Some(right.address);
            self.write(&right)?;
            split = Some((right.address, node.key(kept)?));
        }
        self.write(&node)?;
        Ok(Below { split, end: end.filter(|_| is_last), is_gone: false })
    }

    fn insert_into_leaf(&self, address: u64, heap: &LocalHeapEdit<'_>, entry: (u64, Vec<u8>), name: &[u8]) -> Result<Below> {
        let mut leaf = self.read_leaf(address)?;
        let (offset, at) = (entry.0, leaf.place(heap, name)?.0);
        leaf.entries.insert(at, entry);
        let mut split = None;
        if leaf.entries.len() > self.form.max_links {
            let entries = leaf.entries.split_off(leaf.entries.len().div_ceil(2));
            let right = Leaf { address: self.space.allocate(PageKind::Metadata, self.leaf_bytes())?, entries };
            self.write_leaf(&right)?;
            let between = leaf.entries.last().map(|(offset, _)| *offset).ok_or_else(missing)?;
            split = Some((right.address, between));
        }
        self.write_leaf(&leaf)?;
        Ok(Below { split, end: Some(offset), is_gone: false })
    }

    /// The root was split: its left part moves, and the root becomes the parent of both.
    fn split_root(&self, right: u64, between: u64) -> Result<()> {
        let root = self.read(self.tree)?;
        let right = self.read(right)?;
        let left = Node { address: self.space.allocate(PageKind::Metadata, self.node_bytes())?, ..root };
        let right = Node { left: Some(left.address), ..right };
        let level = left.level.checked_add(1).filter(|level| *level < MAX_LEVELS).ok_or_else(|| Error::unsupported("a group's B-tree of 32 levels"))?;
        let keys = vec![left.key(0)?, between, right.keys.last().copied().ok_or_else(missing)?];
        let parent = Node { address: self.tree, level, left: None, right: None, keys, children: vec![left.address, right.address] };
        [&left, &right, &parent].into_iter().try_for_each(|node| self.write(node))
    }

    /// Removes an entry below a node. `gone` gets the heap offsets of unused texts.
    fn remove_below(&self, address: u64, heap: &LocalHeapEdit<'_>, name: &[u8], gone: &mut Vec<u64>, levels: u8) -> Result<Option<Below>> {
        let (mut node, levels) = (self.read(address)?, next_level(levels)?);
        let at = self.child_of(&node, heap, name)?;
        let Some(child) = node.children.get(at).copied() else { return Ok(None) };
        let is_last = at + 1 == node.children.len();
        // The key on the right of the last child is one of other nodes, too, unless the node is the root.
        let is_own_key = !is_last || address == self.tree;
        let mut unused = None;
        let is_gone = if node.level == 0 {
            let end = is_own_key.then_some(at + 1);
            let Some(removed) = self.remove_from_leaf(child, heap, name, gone, (&mut node, end))? else { return Ok(None) };
            unused = Some(removed.offset);
            removed.is_empty
        } else {
            let Some(below) = self.remove_below(child, heap, name, gone, levels)? else { return Ok(None) };
            below.is_gone
        };
        if is_gone {
            node.children.remove(at);
            // The range of the node stays, if other nodes know it.
            node.keys.remove(if is_own_key { at + 1 } else { at });
        }
        // A name that is a key is still looked at.
        gone.extend(unused.filter(|offset| !node.keys.contains(offset)));
        if !is_gone {
            return Ok(Some(Below::default()));
        }
        if !node.children.is_empty() {
            self.write(&node)?;
            return Ok(Some(Below::default()));
        }
        self.close_gap(&node)?;
        if address != self.tree {
            self.space.free(PageKind::Metadata, address, self.node_bytes())?;
        }
        Ok(Some(Below { is_gone: true, ..Below::default() }))
    }

    /// Removes an entry of the leaf at `child`. `gone` gets the heap offset of the path of a symbolic link. The node above is `above`, with the index
    /// of the key on the right of the leaf if no other node has that key, too: a key that was the removed name becomes the last name that is left.
    fn remove_from_leaf(
        &self,
        child: u64,
        heap: &LocalHeapEdit<'_>,
        name: &[u8],
        gone: &mut Vec<u64>,
        (above, end): (&mut Node, Option<usize>),
    ) -> Result<Option<RemovedEntry>> {
        let mut leaf = self.read_leaf(child)?;
        let (place, true) = leaf.place(heap, name)? else { return Ok(None) };
        let (offset, rest) = leaf.entries.remove(place);
        let o = usize::from(self.source.offset_size);
        let mut cursor = self.source.cursor(&rest, child);
        cursor.skip(o)?;
        if cursor.u32()? == SOFT {
            cursor.skip(4)?;
            gone.push(cursor.u32()?.into());
        }
        match leaf.entries.last() {
            None => self.space.free(PageKind::Metadata, child, self.leaf_bytes())?,
            Some((last, _)) => {
                if let Some(end) = end
                    && above.key(end)? == offset
                {
                    *above.keys.get_mut(end).ok_or_else(missing)? = *last;
                    self.write(above)?;
                }
                self.write_leaf(&leaf)?;
            }
        }
        Ok(Some(RemovedEntry { offset, is_empty: leaf.entries.is_empty() }))
    }

    /// Makes the neighbors of a node that goes away neighbors of each other.
    fn close_gap(&self, node: &Node) -> Result<()> {
        for (neighbor, is_left) in [(node.left, true), (node.right, false)] {
            if let Some(neighbor) = neighbor {
                let mut neighbor = self.read(neighbor)?;
                if is_left {
                    neighbor.right = node.right
                } else {
                    neighbor.left = node.left
                }
                self.write(&neighbor)?;
            }
        }
        Ok(())
    }

    /// The child whose range has `name`: the first whose key on the right is not before it.
    fn child_of(&self, node: &Node, heap: &LocalHeapEdit<'_>, name: &[u8]) -> Result<usize> {
        for (at, key) in node.keys.iter().skip(1).enumerate() {
            if heap.text(*key)? >= name {
                return Ok(at);
            }
        }
        Ok(node.children.len())
    }

    fn node_bytes(&self) -> u64 {
        let (o, l) = (u64::from(self.source.offset_size), u64::from(self.source.length_size));
        8 + 2 * o + self.form.max_children as u64 * (o + l) + l
    }

    fn entry_bytes(&self) -> usize {
        usize::from(self.source.length_size) + usize::from(self.source.offset_size) + 24
    }

    fn leaf_bytes(&self) -> u64 {
        8 + (self.form.max_links * self.entry_bytes()) as u64
    }

    fn read(&self, address: u64) -> Result<Node> {
        let bytes = self.source.read(address, self.node_bytes())?;
        let mut cursor = self.source.cursor(&bytes, address);
        cursor.signature(b"TREE")?;
        if cursor.u8()? != 0 {
            return Err(cursor.corrupt("a group's B-tree of another type than 0"));
        }
        let level = cursor.u8()?;
        let count = usize::from(cursor.u16()?);
        if count > self.form.max_children {
            return Err(cursor.corrupt(format!("a node of a group's B-tree with {count} children of at most {}", self.form.max_children)));
        }
        let (left, right) = (cursor.address()?, cursor.address()?);
        let (mut keys, mut children) = (vec![cursor.length()?], Vec::new());
        for _ in 0..count {
            children.push(cursor.defined_address("a B-tree node")?);
            keys.push(cursor.length()?);
        }
        Ok(Node { address, level, left, right, keys, children })
    }

    fn write(&self, node: &Node) -> Result<()> {
        let (o, l) = (usize::from(self.source.offset_size), usize::from(self.source.length_size));
        let mut encoder = Encoder::signed(b"TREE");
        encoder.bytes(&[0, node.level]);
        encoder.u16(u16::try_from(node.children.len()).map_err(|_| Error::internal("a node of a group's B-tree is too full"))?);
        encoder.uint(node.left.unwrap_or(u64::MAX), o);
        encoder.uint(node.right.unwrap_or(u64::MAX), o);
        encoder.uint(node.key(0)?, l);
        for (at, child) in node.children.iter().enumerate() {
            encoder.uint(*child, o);
            encoder.uint(node.key(at + 1)?, l);
        }
        encoder.pad_to(usize::try_from(self.node_bytes()).map_err(|_| Error::internal("a node beyond memory"))?);
        self.space.write(node.address, &encoder.finish())
    }

    fn read_leaf(&self, address: u64) -> Result<Leaf> {
        let bytes = self.source.read(address, self.leaf_bytes())?;
        let mut cursor = self.source.cursor(&bytes, address);
        cursor.signature(b"SNOD")?;
        cursor.version(1, "a symbol table node")?;
        cursor.skip(1)?;
        let count = usize::from(cursor.u16()?);
        if count > self.form.max_links {
            return Err(cursor.corrupt(format!("a symbol table node with {count} links of at most {}", self.form.max_links)));
        }
        let rest = self.entry_bytes() - usize::from(self.source.length_size);
        let entries = (0..count).map(|_| Ok((cursor.length()?, cursor.take(rest)?.to_vec()))).collect::<Result<_>>()?;
        Ok(Leaf { address, entries })
    }

    fn write_leaf(&self, leaf: &Leaf) -> Result<()> {
        let mut encoder = Encoder::signed(b"SNOD");
        encoder.bytes(&[1, 0]);
        encoder.u16(u16::try_from(leaf.entries.len()).map_err(|_| Error::internal("a symbol table node is too full"))?);
        for (name, rest) in &leaf.entries {
            encoder.uint(*name, self.source.length_size.into());
            encoder.bytes(rest);
        }
        encoder.pad_to(usize::try_from(self.leaf_bytes()).map_err(|_| Error::internal("a node beyond memory"))?);
        self.space.write(leaf.address, &encoder.finish())
    }
}

impl Node {
    fn child(&self, at: usize) -> Result<u64> {
        self.children.get(at).copied().ok_or_else(missing)
    }
    fn key(&self, at: usize) -> Result<u64> {
        self.keys.get(at).copied().ok_or_else(missing)
    }
}

impl Leaf {
    /// The place of the first entry whose name is not before `name`, and whether it is that name.
    fn place(&self, heap: &LocalHeapEdit<'_>, name: &[u8]) -> Result<(usize, bool)> {
        for (at, (offset, _)) in self.entries.iter().enumerate() {
            match heap.text(*offset)?.cmp(name) {
                Ordering::Less => {}
                order => return Ok((at, order == Ordering::Equal)),
            }
        }
        Ok((self.entries.len(), false))
    }
}

fn missing() -> Error {
    Error::internal("a node of a group's B-tree without a child or a key")
}

fn next_level(levels: u8) -> Result<u8> {
    levels.checked_sub(1).ok_or_else(|| Error::corrupt("a group's B-tree that is too deep"))
}
