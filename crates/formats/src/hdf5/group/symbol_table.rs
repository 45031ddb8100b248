//! Symbol table: an old group's links in a version-1 B-tree of type 0 (III.A.1, III.B, III.C).

use std::collections::HashSet;

use hyperslab_array::{Error, Result};

use super::{add, check_count};
use crate::hdf5::Source;
use crate::hdf5::heap::LocalHeap;
use crate::hdf5::message::link::RawTarget;

/// Cache type of a symbolic link's entry.
const SOFT: u32 = 2;

pub(super) fn read(source: &Source, tree: u64, heap: u64, links: &mut Vec<(String, RawTarget)>) -> Result<()> {
    let heap = LocalHeap::read(source, heap)?;
    // A node seen twice is a cycle: each address is read at most once.
    let mut seen = HashSet::new();
    let mut pending = vec![(tree, None::<u8>)];
    while let Some((address, parent_level)) = pending.pop() {
        if !seen.insert(address) {
            return Err(Error::corrupt("a group's B-tree that leads back into itself").at_offset(source.absolute(address)?));
        }
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
        for _ in 0..entries {
            cursor.length()?;
            let child = cursor.defined_address("a B-tree node")?;
            if level == 0 {
                if !seen.insert(child) {
                    return Err(Error::corrupt("a symbol table node that is in its group twice").at_offset(source.absolute(child)?));
                }
                node(source, child, &heap, links)?;
                check_count(source, links.len())?;
            } else {
                pending.push((child, Some(level)));
            }
        }
    }
    Ok(())
}

fn node(source: &Source, address: u64, heap: &LocalHeap, links: &mut Vec<(String, RawTarget)>) -> Result<()> {
    let head = source.read(address, 8)?;
    let mut cursor = source.cursor(&head, address);
    cursor.signature(b"SNOD")?;
    cursor.skip(2)?;
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
        let target = if cache == SOFT {
            RawTarget::Soft(heap.text(u64::from(scratch.u32()?))?)
        } else {
            let undefined = || Error::corrupt("a link to an undefined address").at_offset(place);
            RawTarget::Hard(header.ok_or_else(undefined)?)
        };
        add(source, links, (heap.text(name)?, target))?;
    }
    Ok(())
}
