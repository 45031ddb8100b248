//! Version-1 B-tree of node type 1 (III.A.1).

use std::collections::{HashSet, VecDeque};

use hyperslab_array::{Error, Result};

use super::found::Sink;
use crate::hdf5::writer::{Space, StoredChunk};
use crate::hdf5::{Encoder, Source};

/// What a node's parent says of it.
struct Above {
    level: u8,
    /// The keys around it.
    first: Vec<u64>,
    end: Vec<u64>,
}

pub(super) fn locate(source: &Source, root: u64, found: &mut impl Sink) -> Result<()> {
    let ndim = found.layout().shape.len();
    let chunk_shape = found.layout().chunk_shape.clone();
    let key_bytes = bytes_of_key(ndim);
    let offset_size = u64::from(source.offset_size);
    let mut seen = HashSet::new();
    let node_bytes = 8 + 2 * offset_size + MAX_CHILDREN as u64 * (key_bytes + offset_size) + key_bytes;
    // Level by level, so that the nodes of a level can be fetched together.
    let mut pending = VecDeque::from([(root, None::<Above>)]);
    let mut left_of_level = 0;
    while let Some((address, above)) = pending.pop_front() {
        if left_of_level == 0 {
            left_of_level = pending.len() + 1;
            if left_of_level > 1 {
                source.prefetch(pending.iter().map(|(address, _)| *address).chain([address]).map(|address| (address, node_bytes)))?;
            }
        }
        left_of_level -= 1;
        let place = source.absolute(address)?;
        if !seen.insert(address) {
            return Err(Error::corrupt("a chunk B-tree that leads back into itself").at_offset(place));
        }
        let Node { level, keys, children } = Node::read(source, address, ndim, above.as_ref())?;
        for (child, pair) in children.into_iter().zip(keys.windows(2)) {
            let [(length, mask, offsets), (_, _, next)] = pair else { continue };
            let position = |offsets: &[u64]| -> Vec<u64> { offsets.iter().zip(&chunk_shape).map(|(offset, chunk)| offset / chunk).collect() };
            // The library finds a chunk by its keys: it does not find one outside of them, or after one out of order.
            let inside = above.as_ref().is_none_or(|above| above.first <= *offsets && *offsets < above.end);
            if offsets >= next || !inside || (level == 0 && offsets.last() != Some(&0)) {
                return Err(Error::corrupt(format!("a chunk B-tree with the key {offsets:?} out of order")).at_offset(place));
            }
            if level > 0 {
                // Keys bound a subtree in row-major order, so the slowest dimension tells what to skip.
                let slowest = |offsets: &[u64]| position(offsets).first().copied().ok_or_else(|| Error::internal("a chunked dataset without dimensions"));
                let (low, high) = found.slowest();
                if slowest(next)? >= low && slowest(offsets)? <= high {
                    let end = above.as_ref().map_or(next, |above| next.min(&above.end)).clone();
                    pending.push_back((child, Some(Above { level, first: offsets.clone(), end })));
                }
                continue;
            }
            let aligned = offsets.iter().zip(&chunk_shape).all(|(offset, chunk)| offset % chunk == 0);
            if !aligned {
                return Err(Error::corrupt(format!("a chunk at {offsets:?}, between the chunks")).at_offset(place));
            }
            found.add(source, &position(offsets), child, *length, *mask)?;
        }
    }
    Ok(())
}

/// Bytes of a key: the length of a chunk, its filter mask, and its offsets, one more than dimensions.
fn bytes_of_key(ndim: usize) -> u64 {
    8 + 8 * (ndim as u64 + 1)
}

/// A node with its keys, one more than children.
struct Node {
    level: u8,
    /// Length, filter mask and offsets of a chunk.
    keys: Vec<(u64, u32, Vec<u64>)>,
    children: Vec<u64>,
}

impl Node {
    fn read(source: &Source, address: u64, ndim: usize, above: Option<&Above>) -> Result<Self> {
        let (key_bytes, offset_size, place) = (bytes_of_key(ndim), u64::from(source.offset_size), source.absolute(address)?);
        let head_bytes = 8 + 2 * offset_size;
        let head = source.read(address, head_bytes)?;
        let mut cursor = source.cursor(&head, address);
        cursor.signature(b"TREE")?;
        if cursor.u8()? != 1 {
            return Err(Error::corrupt("a chunk B-tree of another type than 1").at_offset(place));
        }
        let level = cursor.u8()?;
        if above.is_some_and(|above| level >= above.level) {
            return Err(Error::corrupt("a B-tree node that is not below its parent").at_offset(place));
        }
        let entries = u64::from(cursor.u16()?);
        let bytes = source.read(address, head_bytes + entries * (key_bytes + offset_size) + key_bytes)?;
        let mut cursor = source.cursor(&bytes, address);
        cursor.take_u64(head_bytes)?;
        let mut keys = Vec::new();
        let mut children = Vec::new();
        for entry in 0..=entries {
            let (length, mask) = (cursor.u32()?, cursor.u32()?);
            let offsets = (0..=ndim).map(|_| cursor.u64()).collect::<Result<Vec<_>>>()?;
            keys.push((u64::from(length), mask, offsets));
            if entry < entries {
                children.push(cursor.defined_address("a chunk or B-tree node")?);
            }
        }

        Ok(Self { level, keys, children })
    }
}

/// Children of a full node: twice the library's default, which a superblock of version 2 implies.
const MAX_CHILDREN: usize = 64;

/// What a node's parent needs of it.
struct Encoded {
    address: u64,
    /// The keys on its left and right.
    first: Vec<u8>,
    end: Vec<u8>,
}

/// Puts a tree of `chunks`, in row-major order and not none, into `space`; gives its address.
pub(super) fn encode(space: &mut Space, chunks: &[&StoredChunk], chunk_shape: &[u64], element_size: u64) -> Result<u64> {
    let extents: Vec<u64> = chunk_shape.iter().copied().chain([element_size]).collect();
    let key = |chunk: &StoredChunk, beyond: u64| {
        let mut encoder = Encoder::default();
        let length = u32::try_from(chunk.length).map_err(|_| Error::unsupported("a chunk of 4 GiB or more"))?;
        let (length, mask) = if beyond == 0 { (length, chunk.filter_mask) } else { (0, 0) };
        encoder.u32(length);
        encoder.u32(mask);
        let position = chunk.position.iter().copied().chain([0]);
        for (index, extent) in position.zip(&extents) {
            let offset = index.checked_add(beyond).and_then(|index| index.checked_mul(*extent));
            encoder.u64(offset.ok_or_else(|| Error::unsupported("a dataset beyond 64 bits"))?);
        }
        Ok::<_, Error>(encoder.finish())
    };
    let mut below = Vec::with_capacity(chunks.len());
    for (index, chunk) in chunks.iter().enumerate() {
        let end = match chunks.get(index + 1) {
            Some(next) => key(next, 0)?,
            None => key(chunk, 1)?,
        };
        below.push(Encoded { address: chunk.address, first: key(chunk, 0)?, end });
    }
    let key_bytes = 8 + 8 * extents.len();
    let node_bytes = 24 + MAX_CHILDREN * (key_bytes + 8) + key_bytes;
    for level in 0..=u8::MAX {
        let nodes = below.len().div_ceil(MAX_CHILDREN);
        let addresses: Vec<u64> = (0..nodes).map(|_| space.reserve(node_bytes)).collect();
        let mut above = Vec::with_capacity(nodes);
        for (index, children) in below.chunks(MAX_CHILDREN).enumerate() {
            let (Some(first), Some(last)) = (children.first(), children.last()) else { continue };
            let sibling = |index: Option<usize>| index.and_then(|index| addresses.get(index).copied());
            let Some(address) = sibling(Some(index)) else { continue };
            let mut encoder = Encoder::signed(b"TREE");
            encoder.bytes(&[1, level]);
            encoder.u16(u16::try_from(children.len()).map_err(|_| Error::internal("a node of a chunk B-tree is too full"))?);
            encoder.address(sibling(index.checked_sub(1)));
            encoder.address(sibling(index.checked_add(1)));
            for child in children {
                encoder.bytes(&child.first);
                encoder.u64(child.address);
            }
            encoder.bytes(&last.end);
            encoder.pad_to(node_bytes);
            space.fill(address, &encoder.finish())?;
            above.push(Encoded { address, first: first.first.clone(), end: last.end.clone() });
        }
        if let [root] = above.as_slice() {
            return Ok(root.address);
        }
        below = above;
    }
    Err(Error::internal("a chunk B-tree without a root"))
}
