//! New objects of an existing file, and how many hard links an object has.

use hyperslab_array::{Dataspace, Datatype, Error, Result};

use super::file::FileEdit;
use super::header::EditedHeader;
use super::space::PageKind;
use crate::hdf5::layout::Locator;
use crate::hdf5::message::layout::LayoutMessage;
use crate::hdf5::message::{dataspace, datatype, fill_value, filter_pipeline, group_info, layout, link_info};
use crate::hdf5::object_header::{self, ObjectHeader, kind};
use crate::hdf5::writer::{NewDataset, NewStorage};
use crate::hdf5::{group, virtual_dataset};
use crate::{AllocationTime, CreationOrder, LinkTarget, ObjectId};

/// Flag: the message never changes.
const CONSTANT: u8 = 1;
/// Flag: the message's body is where to find it.
const SHARED: u8 = 1 << 1;
/// Flag: the message stays where it is.
const NOT_TO_SHARE: u8 = 1 << 2;
/// Free bytes in the header of a new group for links, and of another object for attributes.
const GROUP_ROOM: usize = 240;
const OBJECT_ROOM: usize = 120;

/// Creates a group without links, to which nothing leads yet. It may record the order in which its links, and its attributes, are created.
///
/// # Errors
/// `Unsupported` for a file that cannot become that large; `Io`.
pub fn create_group(file: &FileEdit<'_>, tracks_links: bool, tracks_attributes: bool) -> Result<ObjectId> {
    let messages = vec![
        (kind::LINK_INFO, 0, link_info::encode_in(tracks_links.then_some(0), tracks_links, None, file.widths())),
        (kind::GROUP_INFO, 0, group_info::encode()),
    ];
    put(file, messages, GROUP_ROOM, tracks_attributes)
}

/// Whether a group records the order in which its links are created.
///
/// # Errors
/// `Corrupt` or `Io`.
pub fn tracks_links(file: &FileEdit<'_>, object: ObjectId) -> Result<bool> {
    let source = file.source();
    group::is_tracked(&source, &ObjectHeader::read(&source, object.0)?)
}

/// Commits a datatype, to which nothing leads yet.
///
/// # Errors
/// As [`create_group`]; `Unsupported` for a datatype that HDF5 cannot store.
pub fn create_datatype(file: &FileEdit<'_>, datatype: &Datatype) -> Result<ObjectId> {
    put(file, vec![(kind::DATATYPE, CONSTANT | NOT_TO_SHARE, datatype::encode(&file.stored_datatype(datatype)?)?)], OBJECT_ROOM, false)
}

/// Creates a dataset without values, to which nothing leads yet. Its datatype may be a committed one, which counts it.
///
/// # Errors
/// As [`create_group`]; `InvalidInput` or `Unsupported` for what HDF5 cannot store.
pub fn create_dataset(file: &FileEdit<'_>, dataset: &NewDataset, committed: Option<ObjectId>, tracked: bool) -> Result<ObjectId> {
    let (stored, widths) = (file.stored_datatype(&dataset.datatype)?, file.widths());
    let element_size = stored.size();
    if dataset.fill_value.as_ref().is_some_and(|value| value.len() as u64 != element_size) {
        return Err(Error::invalid_input(format!("a fill value that is not an element of {element_size} bytes")));
    }
    if dataset.fill_value.is_some() && stored.has_references() && file.has_narrow_addresses() {
        return Err(Error::unsupported("fill values that are references in a file whose addresses have fewer than 8 bytes"));
    }
    let can_grow = match &dataset.dataspace {
        Dataspace::Simple { shape, max_shape } => shape.iter().zip(max_shape).any(|(extent, max_extent)| *max_extent != Some(*extent)),
        _ => false,
    };
    let (message, allocation) = match &dataset.storage {
        NewStorage::Contiguous(_) if can_grow || !dataset.filters.filters.is_empty() => {
            return Err(Error::invalid_input("a dataset that can grow or has filters needs chunks"));
        }
        NewStorage::Contiguous(address) => {
            let size = dataset.dataspace.element_count()?.checked_mul(element_size);
            let size = size.ok_or_else(|| Error::unsupported("a dataset beyond 64 bits"))?;
            (LayoutMessage::Contiguous { address: *address, size: Some(size) }, AllocationTime::Late)
        }
        NewStorage::Compact(bytes) => (LayoutMessage::Compact(bytes.as_slice().into()), AllocationTime::Early),
        NewStorage::Chunked { chunk_shape, .. } => {
            let chunk_shape = chunk_shape.clone();
            (LayoutMessage::Chunked { chunk_shape, element_size, unfiltered_partial_edges: false, locator: Locator::None }, AllocationTime::Incremental)
        }
        NewStorage::Virtual(mappings) => {
            let block = virtual_dataset::encode(mappings, widths)?;
            let mut place = None;
            file.put_heap(|heap| {
                place = Some(heap.insert(&block));
                Ok(())
            })?;
            (LayoutMessage::Virtual(place), AllocationTime::Incremental)
        }
    };
    let datatype = match committed {
        None => (kind::DATATYPE, CONSTANT, datatype::encode(&stored)?),
        Some(committed) => {
            count_link(file, committed)?;
            (kind::DATATYPE, CONSTANT | SHARED, object_header::committed_reference(committed.0, widths))
        }
    };
    let time = fill_value::stored_time(&stored, dataset.fill_value.is_some(), dataset.is_fill_undefined, dataset.fill_time);
    let extent = dataspace::encode_in(&dataset.dataspace, matches!(message, LayoutMessage::Chunked { .. }), widths)?;
    let mut messages = vec![
        (kind::DATASPACE, 0, extent),
        datatype,
        (kind::FILL_VALUE, CONSTANT, fill_value::encode(&dataset.fill_message(dataset.fill_value.clone(), time), allocation)?),
        (kind::LAYOUT, 0, layout::encode_in(&message, widths)?),
    ];
    if !dataset.filters.filters.is_empty() {
        messages.push((kind::FILTER_PIPELINE, CONSTANT, filter_pipeline::encode(&dataset.filters)?));
    }
    put(file, messages, OBJECT_ROOM, tracked)
}

/// Replaces the fill value of a dataset that was created here with one of as many bytes.
///
/// # Errors
/// `Internal` for a dataset without such a fill value; `Corrupt` or `Io`.
pub fn replace_fill_value(file: &FileEdit<'_>, dataset: ObjectId, value: &[u8]) -> Result<()> {
    let source = file.source();
    let mut header = EditedHeader::read(&source, dataset.0)?;
    let message = header.own(kind::FILL_VALUE, "a fill value")?.ok_or_else(|| Error::internal("a new dataset without a fill value message"))?;
    let at = fill_value::value_place(header.body(message)?, value.len()).ok_or_else(|| Error::internal("a fill value of another length"))?;
    header.patch(message, at, value)?;
    header.store(file.space)
}

/// One more hard link leads to an object.
///
/// # Errors
/// `Unsupported` for 2³² links; `Corrupt` or `Io`.
pub fn count_link(file: &FileEdit<'_>, object: ObjectId) -> Result<()> {
    let source = file.source();
    let mut header = EditedHeader::read(&source, object.0)?;
    let count = header.reference_count()?.checked_add(1).ok_or_else(|| Error::unsupported("2³² links to one object"))?;
    header.set_reference_count(file.space, count)?;
    header.store(file.space)
}

/// The committed datatype that a dataset has.
///
/// # Errors
/// `Corrupt` or `Io`.
pub fn committed_datatype(file: &FileEdit<'_>, object: ObjectId) -> Result<Option<ObjectId>> {
    let source = file.source();
    let header = ObjectHeader::read(&source, object.0)?;
    let message = header.find(kind::DATATYPE).filter(|message| message.flags & SHARED != 0);
    message.map_or(Ok(None), |message| object_header::committed_place(&source, message)).map(|address| address.map(ObjectId))
}

/// Whether a link leads to `object` itself.
pub(super) fn leads_to(target: &LinkTarget) -> Option<ObjectId> {
    match target {
        LinkTarget::Hard(object) => Some(*object),
        _ => None,
    }
}

/// Writes an object header with free room.
fn put(file: &FileEdit<'_>, mut messages: Vec<(u16, u8, Vec<u8>)>, room: usize, tracked: bool) -> Result<ObjectId> {
    messages.push((kind::NIL, 0, vec![0; room]));
    let header = object_header::encode(&messages, CreationOrder::of(tracked), None)?;
    let address = file.space.allocate(PageKind::Metadata, header.len() as u64)?;
    file.space.write(address, &header)?;
    Ok(ObjectId(address))
}
