//! Symbol table: an old group's links in a version-1 B-tree of type 0 (III.A.1, III.B, III.C).

use std::cmp::Ordering;

use hyperslab_array::name::bytes_of;
use hyperslab_array::{Error, Result};

use super::limits::check_count;
use crate::hdf5::heap::{self, LocalHeap};
use crate::hdf5::message::link::{LINK_COST, RawLink, RawTarget};
use crate::hdf5::visited::Visited;
use crate::hdf5::writer::Space;
use crate::hdf5::{Encoder, Source};

/// Cache type of a symbolic link's entry.
const SOFT: u32 = 2;

/// Adds all links.
pub(super) fn read(source: &Source, tree: u64, heap: u64, links: &mut Vec<RawLink>) -> Result<()> {
    let heap = LocalHeap::read(source, heap)?;
    read_until(source, tree, &heap, usize::MAX, links)
}

/// Adds links until there are `max` or a few more.
pub(super) fn read_first(source: &Source, tree: u64, heap: u64, max: usize, links: &mut Vec<RawLink>) -> Result<()> {
    let heap = LocalHeap::read_for_few(source, heap)?;
    read_until(source, tree, &heap, max, links)
}

fn read_until(source: &Source, tree: u64, heap: &LocalHeap<'_>, max: usize, links: &mut Vec<RawLink>) -> Result<()> {
    // A node seen twice is a cycle: each address is read at most once.
    let mut seen = Visited::default();
    let mut pending = vec![(tree, None::<u8>)];
    let fetches_all = max == usize::MAX && source.storage.is_remote();
    if fetches_all {
        prefetch(source, tree)?;
    }
    while let Some((address, parent_level)) = pending.pop() {
        if !seen.insert(address) {
            return Err(Error::corrupt("a group's B-tree that leads back into itself").at_offset(source.absolute(address)?));
        }
        let node = Node::read(source, address, parent_level)?;
        if fetches_all {
            // What `prefetch` has not fetched or what was not kept.
            source.prefetch(node.children.iter().map(|(_, child)| (*child, LEAF_GUESS_BYTES)))?;
        }
        for (_, child) in node.children {
            if node.level == 0 {
                if !seen.insert(child) {
                    return Err(Error::corrupt("a symbol table node that is in its group twice").at_offset(source.absolute(child)?));
                }
                leaf(source, child, &mut |entry| {
                    links.push(entry.link(source, heap)?);
                    Ok(false)
                })?;
                check_count(source, links.len())?;
                if links.len() >= max {
                    return Ok(());
                }
            } else {
                pending.push((child, Some(node.level)));
            }
        }
    }
    Ok(())
}

/// Bytes of a symbol table node with the library's default size: 8 entries of 40 bytes.
const LEAF_GUESS_BYTES: u64 = 328;

/// Fetches a tree level by level, each in one round. Damage is left for those who read the nodes, and so is their budget.
fn prefetch(source: &Source, tree: u64) -> Result<()> {
    let source = &source.with_own_budget();
    let mut level = vec![tree];
    for _ in 0..source.limits.depth {
        let (mut below, mut are_inner) = (Vec::new(), false);
        for address in level {
            let Ok(node) = Node::read(source, address, None) else { return Ok(()) };
            are_inner = node.level > 0;
            below.extend(node.children.into_iter().map(|(_, child)| child));
            if below.len() >= MAX_PREFETCHED_NODES {
                break;
            }
        }
        source.prefetch(below.iter().map(|address| (*address, LEAF_GUESS_BYTES)))?;
        if !are_inner {
            break;
        }
        level = below;
    }
    Ok(())
}

/// Most nodes of a level that are fetched together.
const MAX_PREFETCHED_NODES: usize = 1 << 16;

/// The link called `name`: the keys of the B-tree and the entries of a symbol table node are in the order of the names.
pub(super) fn find(source: &Source, tree: u64, heap: u64, name: &str) -> Result<Option<RawLink>> {
    let heap = LocalHeap::read_for_few(source, heap)?;
    let name = &*bytes_of(name);
    let (mut address, mut parent_level) = (tree, None);
    loop {
        let node = Node::read(source, address, parent_level)?;
        // A child's names come after its key and include the next one.
        let mut failed = None;
        let is_before = |(last, _): &(u64, u64)| {
            heap.compare(*last, name).map_or_else(
                |error| {
                    failed = Some(error);
                    false
                },
                Ordering::is_lt,
            )
        };
        let found = node.children.partition_point(is_before);
        if let Some(error) = failed {
            return Err(error);
        }
        let Some((_, child)) = node.children.get(found) else { return Ok(None) };
        if node.level > 0 {
            // The level falls with each step, which bounds their number.
            (address, parent_level) = (*child, Some(node.level));
            continue;
        }
        let mut link = None;
        leaf(source, *child, &mut |entry| {
            if heap.compare(entry.name, name)? == Ordering::Equal {
                link = Some(entry.link(source, &heap)?);
            }
            Ok(link.is_some())
        })?;
        return Ok(link);
    }
}

/// A node of the B-tree.
struct Node {
    level: u8,
    /// The heap offset of each child's last name, and the child's address.
    children: Vec<(u64, u64)>,
}

impl Node {
    fn read(source: &Source, address: u64, parent_level: Option<u8>) -> Result<Self> {
        let head_bytes = 8 + 2 * u64::from(source.offset_size);
        let head = source.read(address, head_bytes)?;
        let mut cursor = source.cursor(&head, address);
        cursor.signature(b"TREE")?;
        if cursor.u8()? != 0 {
            return Err(cursor.corrupt("a group's B-tree of another type than 0"));
        }
        let level = cursor.u8()?;
        if parent_level.is_some_and(|parent| level >= parent) {
            return Err(cursor.corrupt("a B-tree node that is not below its parent"));
        }
        let entries = u64::from(cursor.u16()?);
        let (key, child) = (u64::from(source.length_size), u64::from(source.offset_size));
        let bytes = source.read(address, head_bytes + entries * (key + child) + key)?;
        let mut cursor = source.cursor(&bytes, address);
        cursor.take_u64(head_bytes)?;
        cursor.length()?;
        let children = (0..entries).map(|_| {
            let child = cursor.defined_address("a B-tree node")?;
            Ok((cursor.length()?, child))
        });
        Ok(Self { level, children: children.collect::<Result<_>>()? })
    }
}

/// An entry of a symbol table node.
struct Entry {
    /// Offset of the name in the heap.
    name: u64,
    header: Option<u64>,
    /// Offset of a soft link's path in the heap.
    soft: Option<u32>,
    place: u64,
}

impl Entry {
    fn link(&self, source: &Source, heap: &LocalHeap<'_>) -> Result<RawLink> {
        source.budget.charge(LINK_COST as u64)?;
        let target = match self.soft {
            Some(path) => RawTarget::Soft(heap.text(path.into())?),
            None => RawTarget::Hard(self.header.ok_or_else(|| Error::corrupt("a link to an undefined address").at_offset(self.place))?),
        };
        Ok(RawLink { name: heap.text(self.name)?, target, is_utf8: false, creation_order: None })
    }
}

/// Calls `visit` with the entries of a symbol table node until it returns true.
fn leaf(source: &Source, address: u64, visit: &mut dyn FnMut(Entry) -> Result<bool>) -> Result<()> {
    let head = source.read(address, 8)?;
    let mut cursor = source.cursor(&head, address);
    cursor.signature(b"SNOD")?;
    cursor.version(1, "a symbol table node")?;
    cursor.skip(1)?;
    let count = u64::from(cursor.u16()?);
    let entry_bytes = u64::from(source.length_size) + u64::from(source.offset_size) + 24;
    let bytes = source.read(address, 8 + count * entry_bytes)?;
    let mut cursor = source.cursor(&bytes, address);
    cursor.skip(8)?;
    for _ in 0..count {
        // An offset in the heap; the specification says that it is as wide as addresses, files that it
        // is as wide as lengths.
        let name = cursor.length()?;
        let place = cursor.offset_in_file();
        let header = cursor.address()?;
        let cache = cursor.u32()?;
        cursor.skip(4)?;
        let mut scratch = source.cursor(cursor.take(16)?, 0);
        let soft = if cache == SOFT { Some(scratch.u32()?) } else { None };
        if visit(Entry { name, header, soft, place })? {
            return Ok(());
        }
    }
    Ok(())
}

/// Links of a full leaf, and children of a full node: twice the library's defaults, which a superblock of
/// version 2 implies.
const MAX_LINKS_PER_NODE: usize = 8;
const MAX_CHILDREN: usize = 32;
const LEAF_BYTES: usize = 8 + MAX_LINKS_PER_NODE * 40;
const NODE_BYTES: usize = 24 + MAX_CHILDREN * 16 + 8;

/// Puts the hard links of a large group, in name order, into `space`; gives the addresses of tree and heap.
pub(super) fn encode(space: &mut Space, links: &[(&str, u64)]) -> Result<(u64, u64)> {
    let names: Vec<&str> = links.iter().map(|(name, _)| *name).collect();
    let (heap, offsets) = heap::encode_local(space, &names)?;
    let too_many = || Error::internal("a node of a group's B-tree is too full");
    // Address and last name of each part below.
    let mut below = Vec::new();
    for (links, offsets) in links.chunks(MAX_LINKS_PER_NODE).zip(offsets.chunks(MAX_LINKS_PER_NODE)) {
        let mut encoder = Encoder::signed(b"SNOD");
        encoder.bytes(&[1, 0]);
        encoder.u16(u16::try_from(links.len()).map_err(|_| too_many())?);
        for ((_, address), offset) in links.iter().zip(offsets) {
            encoder.u64(*offset);
            encoder.u64(*address);
            // Nothing is cached.
            encoder.u32(0);
            encoder.bytes(&[0; 20]);
        }
        encoder.pad_to(LEAF_BYTES);
        let last = offsets.last().copied().ok_or_else(|| Error::internal("a symbol table node without links"))?;
        below.push((space.put(&encoder.finish()), last));
    }
    for level in 0..=u8::MAX {
        let nodes: Vec<u64> = below.chunks(MAX_CHILDREN).map(|_| space.reserve(NODE_BYTES)).collect();
        let mut above = Vec::with_capacity(nodes.len());
        let mut before = 0u64;
        for (index, children) in below.chunks(MAX_CHILDREN).enumerate() {
            let node = |index: Option<usize>| index.and_then(|index| nodes.get(index).copied());
            let Some(address) = node(Some(index)) else { continue };
            let mut encoder = Encoder::signed(b"TREE");
            encoder.bytes(&[0, level]);
            encoder.u16(u16::try_from(children.len()).map_err(|_| too_many())?);
            encoder.address(node(index.checked_sub(1)));
            encoder.address(node(index.checked_add(1)));
            // A key is the last name on its left; the first of all is the empty name.
            encoder.u64(before);
            for (child, last) in children {
                encoder.u64(*child);
                encoder.u64(*last);
                before = *last;
            }
            encoder.pad_to(NODE_BYTES);
            space.fill(address, &encoder.finish())?;
            above.push((address, before));
        }
        if let [(root, _)] = above.as_slice() {
            return Ok((*root, heap));
        }
        below = above;
    }
    Err(Error::internal("a group's B-tree without a root"))
}
