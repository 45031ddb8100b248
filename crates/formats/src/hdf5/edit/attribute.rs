//! Attributes of an object that is edited: in its header, or in dense storage.

use hyperslab_array::{Dataspace, Datatype, Error, Result};

use super::dense::{DenseEdit, DenseKind};
use super::file::FileEdit;
use super::header::{EditedHeader, MessageId};
use crate::ObjectId;
use crate::hdf5::Source;
use crate::hdf5::message::{attribute, attribute_info};
use crate::hdf5::object_header::kind;

/// Attributes that stand in an object's header at most, if it may have others; more go into dense storage.
const MAX_COMPACT: usize = 64;
/// Bytes of an attribute in a header at most: a message has less than 64 KiB.
const MAX_COMPACT_BYTES: usize = 65_000;
/// Place of the next creation order in an attribute info message that has one.
const NEXT_ORDER_PLACE: usize = 2;
/// Flags of that message: it has a creation order, and an index by it.
const TRACKED: u8 = 1;
const INDEXED: u8 = 2;
/// The creation order in dense storage that does not track it.
const NO_ORDER: u16 = u16::MAX;

/// Sets an attribute of an object, or replaces it. `value` holds the stored bytes.
///
/// # Errors
/// `Unsupported` for shared attributes, and attributes of 64 KiB or more in an object of an old kind; `Corrupt` or `Io`.
pub fn set_attribute(file: &FileEdit<'_>, id: ObjectId, name: &str, datatype: &Datatype, dataspace: &Dataspace, value: &[u8]) -> Result<()> {
    let source = file.source();
    let body = attribute::encode_in(name, &file.stored_datatype(datatype)?, None, dataspace, value, file.widths())?;
    let mut header = EditedHeader::read(&source, id.0)?;
    if let Some(storage) = dense(file, &source, &header)? {
        storage.remove(name)?;
        let order = next_order(file, &mut header)?;
        header.store(file.space)?;
        return storage.insert(name, order.unwrap_or(NO_ORDER).into(), &body);
    }
    if let Some(old) = find(&source, &header, name)? {
        header.delete(old)?;
    }
    if !header.is_version2() {
        header.add(file.space, kind::ATTRIBUTE, 0, &body)?;
        return header.store(file.space);
    }
    let order = next_order(file, &mut header)?;
    if body.len() <= MAX_COMPACT_BYTES && header.all(kind::ATTRIBUTE).len() < MAX_COMPACT {
        header.add(file.space, kind::ATTRIBUTE, order.unwrap_or_default(), &body)?;
        return header.store(file.space);
    }
    let storage = make_dense(file, &source, &mut header)?;
    header.store(file.space)?;
    storage.insert(name, order.unwrap_or(NO_ORDER).into(), &body)
}

/// Deletes an attribute of an object.
///
/// # Errors
/// `NotFound` if there is none; as [`set_attribute`].
pub fn delete_attribute(file: &FileEdit<'_>, id: ObjectId, name: &str) -> Result<()> {
    let source = file.source();
    let missing = || Error::not_found(format!("there is no attribute {name:?}"));
    let mut header = EditedHeader::read(&source, id.0)?;
    if let Some(storage) = dense(file, &source, &header)? {
        return storage.remove(name)?.map(drop).ok_or_else(missing);
    }
    let found = find(&source, &header, name)?.ok_or_else(missing)?;
    header.delete(found)?;
    header.store(file.space)
}

/// Objects of version 2 have a message that says where their attributes are: without it, the library counts none of them. Returns the
/// creation order of a new attribute, which is counted there if it is tracked.
fn next_order(file: &FileEdit<'_>, header: &mut EditedHeader<'_>) -> Result<Option<u16>> {
    let Some(info) = header.own(kind::ATTRIBUTE_INFO, "attribute info")? else {
        let tracked = header.is_tracked();
        header.add(file.space, kind::ATTRIBUTE_INFO, 0, &attribute_info::encode_in(tracked.then_some(1), tracked, None, file.widths()))?;
        return Ok(tracked.then_some(0));
    };
    match *header.body(info)? {
        [_, flags, low, high, ..] if flags & TRACKED != 0 => {
            let order = u16::from_le_bytes([low, high]);
            let next = order.checked_add(1).ok_or_else(|| Error::unsupported("65536 attributes of one object whose order is tracked"))?;
            header.patch(info, NEXT_ORDER_PLACE, &next.to_le_bytes())?;
            Ok(Some(order))
        }
        _ => Ok(None),
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

/// The dense storage of an object.
fn dense<'a>(file: &'a FileEdit<'_>, source: &'a Source, header: &EditedHeader<'_>) -> Result<Option<DenseEdit<'a>>> {
    let Some(info) = header.own(kind::ATTRIBUTE_INFO, "attribute info")? else { return Ok(None) };
    let info = attribute_info::parse(&mut source.cursor(header.body(info)?, 0))?;
    let found = info.heap.zip(info.name_tree);
    Ok(found.map(|(heap, name_tree)| DenseEdit { source, space: file.space, kind: DenseKind::Attributes, heap, name_tree, order_tree: info.order_tree }))
}

/// Moves the attributes of a header into dense storage.
fn make_dense<'a>(file: &'a FileEdit<'_>, source: &'a Source, header: &mut EditedHeader<'_>) -> Result<DenseEdit<'a>> {
    let info = header.own(kind::ATTRIBUTE_INFO, "attribute info")?.ok_or_else(|| Error::internal("an object without its attribute info"))?;
    let flags = header.body(info)?.get(1).copied().unwrap_or_default();
    let storage = DenseEdit::create(source, file.space, DenseKind::Attributes, flags & INDEXED != 0)?;
    for id in header.all(kind::ATTRIBUTE) {
        let body = header.body(id)?.to_vec();
        let order = if flags & TRACKED == 0 { NO_ORDER } else { header.creation_order(id)? };
        storage.insert(&attribute::name(&mut source.cursor(&body, 0))?, order.into(), &body)?;
        header.delete(id)?;
    }
    let at = if flags & TRACKED == 0 { NEXT_ORDER_PLACE } else { NEXT_ORDER_PLACE + 2 };
    let width = usize::from(source.offset_size);
    for (number, address) in [Some(storage.heap), Some(storage.name_tree), storage.order_tree].into_iter().flatten().enumerate() {
        header.patch(info, at + number * width, address.to_le_bytes().get(..width).unwrap_or_default())?;
    }
    Ok(storage)
}
