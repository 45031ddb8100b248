//! The chunks of a dataset, as far as their index can be read: a damaged node, block or page costs the chunks that it lists.

use hyperslab_array::{Error, Result};

use super::found_chunks::{ChunkEvidence, Found, SurveyedChunk};
use super::links::NodeSizes;
use super::log::Log;
use super::structure::{Purpose, StructureKind};
use super::{extensible_array, fixed_array, tree_v2};
use crate::hdf5::Source;
use crate::hdf5::chunk_locator::entry::parse_entry;
use crate::hdf5::chunk_locator::numbering::Numbering;
use crate::hdf5::layout::{ChunkedLayout, Locator};
use crate::hdf5::visited::Visited;

/// The chunks that `layout` leads to, and whether its index is whole.
pub(super) fn of_layout(log: &mut Log<'_>, layout: &ChunkedLayout, sizes: NodeSizes) -> Result<(Vec<SurveyedChunk>, bool)> {
    log.for_purpose(Purpose::ChunkIndex, |log| {
        let mut found = Found::new(layout, ChunkEvidence::Index);
        let is_whole = match &layout.locator {
            Locator::None => true,
            Locator::BtreeV1 { address } => tree_v1(log, *address, sizes, &mut found)?,
            Locator::Single { address, filtered } => {
                let (length, mask) = filtered.unwrap_or((layout.chunk_bytes, 0));
                found.add(log, vec![0; layout.shape.len()], *address, length, mask)?;
                true
            }
            Locator::Implicit { address } => implicit(log, *address, &mut found)?,
            Locator::FixedArray { address } => fixed_array::chunks(log, *address, &mut found)?,
            Locator::ExtensibleArray { address } => extensible_array::chunks(log, *address, &mut found)?,
            Locator::BtreeV2 { address } => tree_of_chunks(log, *address, &mut found)?,
        };
        let is_unique = is_unique(log, &found.chunks)?;
        Ok((found.chunks, is_whole && is_unique))
    })
}

/// Whether no chunk is listed twice, which is damage.
fn is_unique(log: &mut Log<'_>, chunks: &[SurveyedChunk]) -> Result<bool> {
    log.source.budget.charge((chunks.len() * size_of::<&[u64]>()) as u64)?;
    let mut positions: Vec<&[u64]> = chunks.iter().map(|chunk| chunk.position.as_slice()).collect();
    if positions.is_sorted_by(|a, b| a < b) {
        return Ok(true);
    }
    positions.sort_unstable();
    let twice = positions.windows(2).find_map(|pair| if let [a, b] = pair { (a == b).then_some(*a) } else { None });
    let Some(twice) = twice else { return Ok(true) };
    let error = Error::corrupt(format!("the chunk {twice:?} is listed twice"));
    let address = log.object.unwrap_or_default();
    log.damage(StructureKind::ChunkTree, address, 0, error).map(|()| false)
}

/// The key of a chunk in a version-1 B-tree.
pub(super) struct Key {
    pub length: u64,
    pub filter_mask: u32,
    /// Element coordinates, with the coordinate within an element's bytes at the end.
    pub offsets: Vec<u64>,
}

/// A node of a version-1 B-tree of chunks.
pub(super) struct ChunkNode {
    pub level: u8,
    /// Keys, one more than children.
    pub keys: Vec<Key>,
    pub children: Vec<u64>,
    pub left: Option<u64>,
    pub right: Option<u64>,
}

impl ChunkNode {
    /// Reads the node at `address` of a dataset with `ndim` dimensions.
    pub fn read(source: &Source, address: u64, ndim: usize) -> Result<Self> {
        let offset_size = u64::from(source.offset_size);
        let (head_bytes, key_bytes) = (8 + 2 * offset_size, 8 + 8 * (ndim as u64 + 1));
        let head = source.read(address, head_bytes)?;
        let mut cursor = source.cursor(&head, address);
        cursor.signature(b"TREE")?;
        if cursor.u8()? != 1 {
            return Err(cursor.corrupt("a chunk B-tree of another type than 1"));
        }
        let level = cursor.u8()?;
        let entries = u64::from(cursor.u16()?);
        let (left, right) = (cursor.address()?, cursor.address()?);
        let bytes = source.read(address, head_bytes + entries * (key_bytes + offset_size) + key_bytes)?;
        let mut cursor = source.cursor(&bytes, address);
        cursor.take_u64(head_bytes)?;
        source.budget.charge(entries.saturating_mul((size_of::<Key>() + 8) as u64 + key_bytes))?;
        let (mut keys, mut children) = (Vec::new(), Vec::new());
        for entry in 0..=entries {
            let (length, filter_mask) = (cursor.u32()?.into(), cursor.u32()?);
            let offsets = (0..=ndim).map(|_| cursor.u64()).collect::<Result<Vec<_>>>()?;
            keys.push(Key { length, filter_mask, offsets });
            if entry < entries {
                children.push(cursor.defined_address("a chunk or B-tree node")?);
            }
        }
        Ok(Self { level, keys, children, left, right })
    }

    /// The positions of its chunks with their keys and addresses. `Corrupt` for keys that no leaf of such a dataset has.
    pub fn leaf_chunks(&self, chunk_shape: &[u64]) -> Result<Vec<(Vec<u64>, &Key, u64)>> {
        let mut chunks = Vec::new();
        for (pair, address) in self.keys.windows(2).zip(&self.children) {
            let [key, next] = pair else { continue };
            let is_aligned = key.offsets.iter().zip(chunk_shape).all(|(offset, chunk)| offset % chunk == 0) && key.offsets.last() == Some(&0);
            if key.offsets >= next.offsets || !is_aligned {
                return Err(Error::corrupt(format!("a chunk B-tree with the key {:?} out of order or between chunks", key.offsets)));
            }
            let position = key.offsets.iter().zip(chunk_shape).map(|(offset, chunk)| offset / chunk).collect();
            chunks.push((position, key, *address));
        }
        Ok(chunks)
    }
}

/// Bytes of a full node.
pub(super) fn node_bytes(source: &Source, ndim: usize, sizes: NodeSizes) -> u64 {
    let offset_size = u64::from(source.offset_size);
    let key_bytes = 8 + 8 * (ndim as u64 + 1);
    8 + 2 * offset_size + sizes.chunk_children * (key_bytes + offset_size) + key_bytes
}

/// What a node's parent says of it: its level, and the keys around it.
type Above = (u8, Vec<u64>, Vec<u64>);

fn tree_v1(log: &mut Log<'_>, root: u64, sizes: NodeSizes, found: &mut Found<'_>) -> Result<bool> {
    let source = log.source;
    let (ndim, chunk_shape) = (found.layout.shape.len(), found.layout.chunk_shape.clone());
    let length = node_bytes(source, ndim, sizes);
    let kind = StructureKind::ChunkTree;
    let mut pending = vec![(root, None::<Above>)];
    let mut seen = Visited::default();
    let mut is_whole = true;
    while let Some((address, above)) = pending.pop() {
        let node = match seen.insert(address) {
            true => ChunkNode::read(source, address, ndim),
            false => Err(Error::corrupt("a chunk B-tree that leads back into itself")),
        };
        let node = node.and_then(|node| check_node(node, above.as_ref()));
        let Some(node) = log.noted(kind, address, length, node)? else {
            is_whole = false;
            continue;
        };
        log.claim(kind, address, length)?;
        if node.level == 0 {
            let chunks = node.leaf_chunks(&chunk_shape);
            let Some(chunks) = log.noted(kind, address, length, chunks)? else {
                is_whole = false;
                continue;
            };
            for (position, key, chunk) in chunks {
                found.add(log, position, chunk, key.length, key.filter_mask)?;
            }
            continue;
        }
        for (pair, child) in node.keys.windows(2).zip(&node.children) {
            if let [first, end] = pair {
                pending.push((*child, Some((node.level, first.offsets.clone(), end.offsets.clone()))));
            }
        }
    }
    Ok(is_whole)
}

/// The node, if its level and keys are those that its parent says.
fn check_node(node: ChunkNode, above: Option<&Above>) -> Result<ChunkNode> {
    let Some((level, first, end)) = above else { return Ok(node) };
    if node.level.checked_add(1) != Some(*level) {
        return Err(Error::corrupt("a B-tree node that is not one level below its parent"));
    }
    let is_inside = node.keys.iter().take(node.children.len()).all(|key| first <= &key.offsets && &key.offsets < end);
    if !is_inside || !node.keys.is_sorted_by(|a, b| a.offsets < b.offsets) {
        return Err(Error::corrupt("a chunk B-tree node whose keys are out of order, or not those that its parent says"));
    }
    Ok(node)
}

fn implicit(log: &mut Log<'_>, address: u64, found: &mut Found<'_>) -> Result<bool> {
    let layout = found.layout;
    let counts: Vec<u64> = layout.shape.iter().zip(&layout.chunk_shape).map(|(extent, chunk)| extent.div_ceil(*chunk)).collect();
    let numbering = log.noted(StructureKind::ObjectHeader, address, 0, Numbering::row_major(layout))?;
    let Some(numbering) = numbering else { return Ok(false) };
    let count = counts.iter().try_fold(1u64, |n, count| n.checked_mul(*count));
    log.source.limits.check_read_chunks(count.unwrap_or(u64::MAX), log.source.storage.len())?;
    let mut position = vec![0u64; counts.len()];
    for _ in 0..count.unwrap_or(0) {
        let origin: Vec<u64> = position.iter().zip(&layout.chunk_shape).map(|(number, chunk)| number.saturating_mul(*chunk)).collect();
        let place = numbering.number(&origin)?.checked_mul(layout.chunk_bytes).and_then(|start| start.checked_add(address));
        let place = place.ok_or_else(|| Error::corrupt("an implicit chunk beyond 64 bits"));
        let Some(place) = log.noted(StructureKind::Chunk, address, 0, place)? else { return Ok(false) };
        found.add(log, position.clone(), place, layout.chunk_bytes, 0)?;
        for (number, count) in position.iter_mut().zip(&counts).rev() {
            *number += 1;
            if *number < *count {
                break;
            }
            *number = 0;
        }
    }
    Ok(true)
}

fn tree_of_chunks(log: &mut Log<'_>, address: u64, found: &mut Found<'_>) -> Result<bool> {
    let source = log.source;
    let ndim = found.layout.shape.len();
    let (mut is_ordered, mut last) = (true, None::<Vec<u64>>);
    let is_whole = tree_v2::records(log, address, &[10, 11], &mut |log, kind, record| {
        let mut cursor = source.cursor(record, address);
        let entry = record.len().saturating_sub(8 * ndim);
        let chunk = (|| {
            let chunk = parse_entry(&mut cursor, found.layout, kind == 11, entry)?;
            let position = (0..ndim).map(|_| cursor.u64()).collect::<Result<Vec<_>>>()?;
            if last.as_ref().is_some_and(|last| *last >= position) {
                return Err(Error::corrupt(format!("a chunk B-tree with the chunk {position:?} out of order")));
            }
            Ok((chunk, position))
        })();
        match log.noted(StructureKind::TreeNode, address, 0, chunk)? {
            Some((chunk, position)) => {
                if let Some((address, length, mask)) = chunk {
                    found.add(log, position.clone(), address, length, mask)?;
                }
                last = Some(position);
            }
            None => is_ordered = false,
        }
        Ok(())
    })?;
    Ok(is_whole && is_ordered)
}
