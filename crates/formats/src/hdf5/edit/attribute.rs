//! Attributes of an object that is edited: those in its header.

use hyperslab_array::{Dataspace, Datatype, Error, Result};

use super::file::FileEdit;
use super::header::{EditedHeader, MessageId};
use crate::ObjectId;
use crate::hdf5::Source;
use crate::hdf5::message::{attribute, attribute_info};
use crate::hdf5::object_header::{ObjectHeader, kind};

/// Place of the next creation order in an attribute info message that has one.
const NEXT_ORDER_PLACE: usize = 2;

/// Sets an attribute of an object, or replaces it. `value` holds the stored bytes.
///
/// # Errors
/// `Unsupported` for attributes in dense storage, shared ones, and those of 64 KiB or more; `Corrupt` or `Io`.
pub fn set_attribute(file: &FileEdit<'_>, id: ObjectId, name: &str, datatype: &Datatype, dataspace: &Dataspace, value: &[u8]) -> Result<()> {
    let source = file.source();
    let body = attribute::encode(name, datatype, dataspace, value)?;
    let mut header = EditedHeader::read(&source, id.0)?;
    check_compact(&source, id)?;
    let old = find(&source, &header, name)?;
    if let Some(old) = old {
        header.delete(old)?;
    }
    let order = if header.is_version2() { next_order(file, &mut header)? } else { 0 };
    header.add(file.space, kind::ATTRIBUTE, order, &body)?;
    header.store(file.space)
}

/// Deletes an attribute of an object.
///
/// # Errors
/// `NotFound` if there is none; as [`set_attribute`].
pub fn delete_attribute(file: &FileEdit<'_>, id: ObjectId, name: &str) -> Result<()> {
    let source = file.source();
    let mut header = EditedHeader::read(&source, id.0)?;
    check_compact(&source, id)?;
    let found = find(&source, &header, name)?.ok_or_else(|| Error::not_found(format!("there is no attribute {name:?}")))?;
    header.delete(found)?;
    header.store(file.space)
}

/// Objects of version 2 have a message that says where their attributes are: without it, the library counts none of them. Returns the
/// creation order of a new attribute, which is counted there if it is tracked.
fn next_order(file: &FileEdit<'_>, header: &mut EditedHeader<'_>) -> Result<u16> {
    let Some(info) = header.own(kind::ATTRIBUTE_INFO, "attribute info")? else {
        let tracked = header.is_tracked();
        let mut body = if tracked { vec![0, 1, 1, 0] } else { vec![0, 0] };
        body.resize(body.len() + 2 * usize::from(file.source().offset_size), u8::MAX);
        header.add(file.space, kind::ATTRIBUTE_INFO, 0, &body)?;
        return Ok(0);
    };
    match *header.body(info)? {
        [_, flags, low, high, ..] if flags & 1 != 0 => {
            let order = u16::from_le_bytes([low, high]);
            let next = order.checked_add(1).ok_or_else(|| Error::unsupported("65536 attributes of one object whose order is tracked"))?;
            header.patch(info, NEXT_ORDER_PLACE, &next.to_le_bytes())?;
            Ok(order)
        }
        _ => Ok(0),
    }
}

/// The message of the attribute called `name`.
fn find(source: &Source, header: &EditedHeader<'_>, name: &str) -> Result<Option<MessageId>> {
    for id in header.all(kind::ATTRIBUTE) {
        if header.is_shared(id)? {
            return Err(Error::unsupported("attributes of an object that shares some with others cannot be edited yet"));
        }
        if attribute::name(&mut source.cursor(header.body(id)?, 0))? == name {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// `Unsupported` for attributes in dense storage.
fn check_compact(source: &Source, id: ObjectId) -> Result<()> {
    let header = ObjectHeader::read(source, id.0)?;
    let info = header.find(kind::ATTRIBUTE_INFO).map(|message| message.parse(source, attribute_info::parse)).transpose()?;
    match info.is_some_and(|info| info.heap.is_some()) {
        true => Err(Error::unsupported("attributes in dense storage (more than 8 of one object, or a large one) cannot be edited yet")),
        false => Ok(()),
    }
}
