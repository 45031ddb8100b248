//! What a file says of an object beyond its content: comment, times, orders of creation, and which committed datatypes are shared.

use hyperslab_array::Result;

use super::heap::FractalHeap;
use super::message::{attribute, attribute_info, link_info, times};
use super::object_header::{ObjectHeader, committed_place, kind, prefix};
use super::{Source, btree, shared_messages};
use crate::{ObjectId, ObjectProperties};

/// Flag: the message's body is a reference to a shared message.
const SHARED: u8 = 1 << 1;

/// The properties of the object whose header lies at `address`.
pub(super) fn read(source: &Source, address: u64) -> Result<ObjectProperties> {
    let header = ObjectHeader::read(source, address)?;
    let prefix = prefix(source, address)?;
    let mut properties = ObjectProperties { times: prefix.times, attribute_order: prefix.attribute_order, links: prefix.links, ..ObjectProperties::default() };
    if let Some(message) = header.find(kind::REFERENCE_COUNT) {
        properties.links = Some(message.parse(source, |cursor| {
            cursor.skip(1)?;
            cursor.u32()
        })?);
    }
    properties.links.get_or_insert(1);
    if let Some(message) = header.find(kind::LINK_INFO) {
        properties.link_order = message.parse(source, link_info::parse)?.creation_order();
    }
    if let Some(message) = header.find(kind::COMMENT) {
        properties.comment = Some(message.parse(source, |cursor| {
            let text = cursor.take(cursor.remaining())?;
            Ok(text.split(|byte| *byte == 0).next().unwrap_or_default().to_vec())
        })?);
    }
    if properties.times.is_none() {
        properties.times = match (header.find(kind::MODIFICATION_TIME), header.find(kind::MODIFICATION_TIME_OLD)) {
            (Some(message), _) => Some(message.parse(source, times::parse)?),
            (None, Some(message)) => Some(message.parse(source, times::parse_old)?),
            (None, None) => None,
        };
    }
    if let Some(message) = header.find(kind::DATATYPE).filter(|message| message.flags & SHARED != 0) {
        properties.committed = committed_place(source, message)?.map(ObjectId);
    }
    attributes(source, &header, &mut properties)?;
    Ok(properties)
}

/// Names of attributes in the order in which they are stored, and the committed datatypes that they share.
fn attributes(source: &Source, header: &ObjectHeader<'_>, properties: &mut ObjectProperties) -> Result<()> {
    let mut add = |(name, committed): (String, Option<u64>)| {
        if let Some(address) = committed {
            properties.committed_of_attributes.insert(name.clone(), ObjectId(address));
        }
        properties.stored_attributes.push(name);
    };
    for message in header.all(kind::ATTRIBUTE) {
        add(message.parse(source, |cursor| attribute::committed(source, cursor))?);
    }
    let Some(message) = header.find(kind::ATTRIBUTE_INFO) else { return Ok(()) };
    let info = message.parse(source, attribute_info::parse)?;
    let (Some(heap), Some(tree)) = (info.heap, info.name_tree) else { return Ok(()) };
    let mut heap = FractalHeap::open(source, heap)?;
    btree::v2::records(source, tree, &[8], &mut |_, record| {
        let mut cursor = source.cursor(record, tree);
        let id = cursor.take(heap.id_bytes())?;
        let object = match cursor.u8()? & SHARED {
            0 => heap.object(id)?,
            _ => shared_messages::body(source, kind::ATTRIBUTE, id)?.into(),
        };
        add(attribute::committed(source, &mut source.cursor(&object, tree))?);
        Ok(())
    })
}
