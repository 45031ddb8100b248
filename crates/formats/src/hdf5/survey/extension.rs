//! The superblock extension: sizes of nodes, shared messages, free-space managers, the image of the metadata cache.

use hyperslab_array::{Error, Result};

use super::links::NodeSizes;
use super::log::Log;
use super::start::Start;
use super::structure::{Purpose, StructureKind};
use super::{free_space, header, heap, tree_v2};
use crate::hdf5::object_header::kind;
use crate::hdf5::{Cursor, checksum};

/// Type of the message with the sizes of B-tree nodes.
const TREE_SIZES: u16 = 0x13;
/// Record type of the tree of shared messages.
const SHARED_MESSAGES: u8 = 7;
/// Strategy of version 0 of the file space message in which free space is kept.
const ALL_PERSIST: u8 = 1;

/// Walks the extension; returns how large nodes are.
pub(super) fn walk(log: &mut Log<'_>, start: &Start) -> Result<NodeSizes> {
    let mut sizes = NodeSizes {
        leaf_links: start.group_leaf_k.saturating_mul(2),
        group_children: start.group_internal_k.saturating_mul(2),
        chunk_children: start.chunk_k.saturating_mul(2),
    };
    let Some(extension) = start.extension else { return Ok(sizes) };
    let Some(found) = header::read(log, extension)? else { return Ok(sizes) };
    let source = log.source;
    for message in &found.header.messages {
        let length = message.body.len() as u64;
        let mut cursor = source.cursor(&message.body, message.address);
        let outcome = match message.kind {
            TREE_SIZES => tree_sizes(&mut cursor).map(|read| sizes = read),
            kind::SHARED_MESSAGE_TABLE => shared_messages(log, &mut cursor),
            kind::FILE_SPACE_INFO => log.for_purpose(Purpose::FreeSpace, |log| file_space(log, &mut cursor)),
            kind::METADATA_CACHE_IMAGE => cache_image(log, &mut cursor),
            _ => Ok(()),
        };
        log.noted(StructureKind::ObjectHeader, message.address, length, outcome)?;
    }
    Ok(sizes)
}

fn tree_sizes(cursor: &mut Cursor<'_>) -> Result<NodeSizes> {
    cursor.version(0, "the B-tree sizes message")?;
    let chunk = u64::from(cursor.u16()?);
    let (internal, leaf) = (u64::from(cursor.u16()?), u64::from(cursor.u16()?));
    Ok(NodeSizes { leaf_links: 2 * leaf, group_children: 2 * internal, chunk_children: 2 * chunk })
}

fn cache_image(log: &mut Log<'_>, cursor: &mut Cursor<'_>) -> Result<()> {
    cursor.skip(1)?;
    let (address, length) = (cursor.address()?, cursor.length()?);
    match address.filter(|_| length > 0) {
        Some(address) => log.claim(StructureKind::CacheImage, address, length).map(drop),
        None => Ok(()),
    }
}

/// Number of managers in a file: one for each kind of data in version 0, two sets of six in version 1.
fn file_space(log: &mut Log<'_>, cursor: &mut Cursor<'_>) -> Result<()> {
    let version = cursor.u8()?;
    let managers = match version {
        0 => {
            let strategy = cursor.u8()?;
            cursor.length()?;
            if strategy == ALL_PERSIST { 6 } else { 0 }
        }
        1 => {
            cursor.skip(1)?;
            let persists = cursor.u8()? != 0;
            cursor.length()?;
            cursor.length()?;
            cursor.skip(2)?;
            cursor.address()?;
            if persists { 12 } else { 0 }
        }
        _ => return Err(Error::unsupported(format!("version {version} of the file space info message"))),
    };
    for _ in 0..managers {
        if let Some(address) = cursor.address()? {
            free_space::manager(log, address, true)?;
        }
    }
    Ok(())
}

fn shared_messages(log: &mut Log<'_>, cursor: &mut Cursor<'_>) -> Result<()> {
    cursor.skip(1)?;
    let (table, count) = (cursor.defined_address("the shared message table")?, cursor.u8()?);
    let source = log.source;
    log.for_purpose(Purpose::SharedMessages, |log| {
        let each = 1 + 1 + 2 + 4 + 2 + 2 + 2 + 2 * u64::from(source.offset_size);
        let length = 4 + u64::from(count) * each + 4;
        let indexes = (|| {
            let bytes = source.read(table, length)?;
            checksum::verify(&bytes, source.absolute(table)?, "the shared message table")?;
            let mut cursor = source.cursor(&bytes, table);
            cursor.signature(b"SMTB")?;
            let mut indexes = Vec::new();
            for _ in 0..count {
                cursor.skip(1)?;
                let is_tree = cursor.u8()? == 1;
                cursor.skip(2 + 4)?;
                let max_listed = u64::from(cursor.u16()?);
                cursor.skip(2)?;
                let messages = u64::from(cursor.u16()?);
                indexes.push((is_tree, max_listed, messages, cursor.address()?, cursor.address()?));
            }
            Ok(indexes)
        })();
        let Some(indexes) = log.noted(StructureKind::SharedMessageTable, table, length, indexes)? else { return Ok(()) };
        log.claim(StructureKind::SharedMessageTable, table, length)?;
        for (is_tree, max_listed, messages, index, heap) in indexes {
            match index {
                Some(index) if is_tree => drop(tree_v2::records(log, index, &[SHARED_MESSAGES], &mut |_, _, _| Ok(()))?),
                Some(index) => list(log, index, max_listed, messages)?,
                None => {}
            }
            if let Some(heap) = heap {
                heap::fractal(log, heap)?;
            }
        }
        Ok(())
    })
}

fn list(log: &mut Log<'_>, address: u64, max_listed: u64, messages: u64) -> Result<()> {
    let source = log.source;
    // Location and hash, and the larger of a place in the heap and one in an object header.
    let entry = 1 + 4 + (4 + 8).max(4 + u64::from(source.offset_size));
    let whole = 4 + max_listed * entry + 4;
    let checked = (|| {
        let bytes = source.read(address, 4 + messages * entry + 4)?;
        source.cursor(&bytes, address).signature(b"SMLI")?;
        checksum::verify(&bytes, source.absolute(address)?, "a list of shared messages")
    })();
    if log.noted(StructureKind::SharedMessageList, address, whole, checked)?.is_some() {
        log.claim(StructureKind::SharedMessageList, address, whole)?;
    }
    Ok(())
}
