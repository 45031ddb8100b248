//! Removal of objects: an object without hard links frees its space, and decrements the counts of the objects that it refers to.

use std::collections::HashSet;

use hyperslab_array::{Error, Result};

use super::btree_v1;
use super::btree_v2::RecordTree;
use super::file::FileEdit;
use super::header::EditedHeader;
use super::object::{committed_datatype, leads_to};
use super::space::PageKind;
use crate::hdf5::layout::{Layout, Locator};
use crate::hdf5::object_header::{ObjectHeader, kind};
use crate::hdf5::{Source, chunk_locator, dataset, group};
use crate::{Link, ObjectId};

/// Record types of chunks in a version 2 B-tree.
const CHUNKS: [u8; 2] = [10, 11];

/// One hard link less leads to an object. If it was the last one, the object is removed, with all that only it led to. Returns what was removed.
///
/// # Errors
/// `Unsupported` for an object that cannot be removed; `Corrupt` or `Io`.
pub fn release_link(file: &FileEdit<'_>, object: ObjectId) -> Result<Vec<ObjectId>> {
    let (mut pending, mut removed, mut seen) = (vec![object], Vec::new(), HashSet::new());
    while let Some(object) = pending.pop() {
        let source = file.source();
        if object == file.root() {
            return Err(Error::unsupported("a file without its root group"));
        }
        let mut header = EditedHeader::read(&source, object.0)?;
        let count = header.reference_count()?;
        if count > 1 {
            header.set_reference_count(file.space, count - 1)?;
            header.store(file.space)?;
            continue;
        }
        // A count that is too low must not free anything twice.
        if !seen.insert(object) {
            return Err(Error::corrupt("an object with more links than it counts").at_offset(source.absolute(object.0)?));
        }
        let parsed = ObjectHeader::read(&source, object.0)?;
        if group::is_group(&parsed) {
            pending.extend(group::links(&source, &parsed)?.links.into_iter().filter_map(|link| leads_to(&Link::from(link).target)));
            super::group::free_structures(file, &source, &parsed)?;
        } else if parsed.find(kind::LAYOUT).is_some() {
            pending.extend(committed_datatype(file, object)?);
            free_values(file, &source, &parsed)?;
        }
        header.places().try_for_each(|(address, length)| file.space.free(PageKind::Metadata, address, length))?;
        removed.push(object);
    }
    Ok(removed)
}

/// Frees the values of a dataset. Values of variable length stay: others may share their heap.
fn free_values(file: &FileEdit<'_>, source: &Source, header: &ObjectHeader<'_>) -> Result<()> {
    let (dataset, stored) = dataset::parse(source, header)?;
    match &stored.layout {
        Layout::Contiguous { address: Some(address), size } => file.space.free(PageKind::Raw, *address, *size),
        Layout::Chunked(layout) => {
            let base = source.base_address;
            chunk_locator::each_stored(source, layout, &mut |offset, length| {
                file.space.free(PageKind::Raw, offset.checked_sub(base).ok_or_else(|| Error::internal("a chunk in front of the superblock"))?, length)
            })?;
            match layout.locator {
                Locator::BtreeV1 { address } => {
                    let extents = layout.chunk_shape.iter().copied().chain([dataset.datatype.size()]).collect();
                    btree_v1::ChunkTree { source, space: file.space, extents, max_children: file.max_chunk_children }.free(address)
                }
                Locator::BtreeV2 { address } => RecordTree::open(source, file.space, address, &CHUNKS)?.free(),
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}
