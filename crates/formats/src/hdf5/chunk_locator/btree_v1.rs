//! Version-1 B-tree of node type 1 (III.A.1).

use std::collections::HashSet;

use hyperslab_array::{Error, Result};

use super::Found;
use crate::hdf5::Source;

/// What a node's parent says of it.
struct Above {
    level: u8,
    /// The keys around it.
    first: Vec<u64>,
    end: Vec<u64>,
}

pub(super) fn locate(source: &Source, root: u64, found: &mut Found<'_>) -> Result<()> {
    let ndim = found.layout.shape.len();
    let chunk_shape = found.layout.chunk_shape.clone();
    let key_bytes = 8 + 8 * (ndim as u64 + 1);
    let offset_size = u64::from(source.offset_size);
    let mut seen = HashSet::new();
    let mut pending = vec![(root, None::<Above>)];
    while let Some((address, above)) = pending.pop() {
        let place = source.absolute(address)?;
        if !seen.insert(address) {
            return Err(Error::corrupt("a chunk B-tree that leads back into itself").at_offset(place));
        }
        let head_bytes = 8 + 2 * offset_size;
        let head = source.read(address, head_bytes)?;
        let mut cursor = source.cursor(&head, address);
        cursor.signature(b"TREE")?;
        if cursor.u8()? != 1 {
            return Err(Error::corrupt("a chunk B-tree of another type than 1").at_offset(place));
        }
        let level = cursor.u8()?;
        if above.as_ref().is_some_and(|above| level >= above.level) {
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
        for (child, pair) in children.into_iter().zip(keys.windows(2)) {
            let [(length, mask, offsets), (_, _, next)] = pair else { continue };
            let position = |offsets: &[u64]| -> Vec<u64> {
                offsets.iter().zip(&chunk_shape).map(|(offset, chunk)| offset / chunk).collect()
            };
            // The library finds a chunk by its keys: one outside of them, or behind one out of order, is lost to it.
            let inside = above.as_ref().is_none_or(|above| above.first <= *offsets && *offsets < above.end);
            if offsets >= next || !inside || (level == 0 && offsets.last() != Some(&0)) {
                return Err(Error::corrupt(format!("a chunk B-tree with the key {offsets:?} out of order")).at_offset(place));
            }
            if level > 0 {
                // Keys bound a subtree in row-major order, so the slowest dimension tells what to skip.
                let slowest = |offsets: &[u64]| position(offsets).first().copied().unwrap_or(0);
                let (low, high) = found.bounds.first().copied().unwrap_or((0, u64::MAX));
                if slowest(next) >= low && slowest(offsets) <= high {
                    let end = above.as_ref().map_or(next, |above| next.min(&above.end)).clone();
                    pending.push((child, Some(Above { level, first: offsets.clone(), end })));
                }
                continue;
            }
            let aligned = offsets.iter().zip(&chunk_shape).all(|(offset, chunk)| offset % chunk == 0);
            if !aligned {
                return Err(Error::corrupt(format!("a chunk at {offsets:?}, between the chunks")).at_offset(place));
            }
            found.add(source, position(offsets), child, *length, *mask)?;
        }
    }
    Ok(())
}
