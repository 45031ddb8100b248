//! The attributes of an object, as far as they can be read.

use std::collections::HashSet;

use hyperslab_array::name::compare;
use hyperslab_array::{Attribute, Error, ErrorKind, Result};

use super::heap;
use super::log::Log;
use super::structure::{Purpose, StructureKind};
use super::tree_v2;
use crate::hdf5::attributes::resolve;
use crate::hdf5::message::{attribute, attribute_info};
use crate::hdf5::object_header::{ObjectHeader, kind};
use crate::hdf5::shared_messages;

/// Record types of the trees by name and by order of creation.
const BY_NAME: u8 = 8;
const BY_ORDER: u8 = 9;
/// Flag of a record whose attribute is in the shared message heap.
const SHARED: u8 = 1 << 1;

/// The attributes of the object with this header, each with its creation order, and whether they are all. One whose value
/// cannot be read holds its error.
pub(super) fn of_object(log: &mut Log<'_>, header: &ObjectHeader<'_>) -> Result<(Vec<(u32, Attribute)>, bool)> {
    log.for_purpose(Purpose::Attributes, |log| {
        let source = log.source;
        let (mut found, mut is_whole) = (Vec::new(), true);
        for message in header.all(kind::ATTRIBUTE) {
            let parsed = message.parse(source, |cursor| attribute::parse(source, cursor));
            match log.noted(StructureKind::ObjectHeader, message.address, message.body.len() as u64, parsed)? {
                Some(raw) => found.push((message.creation_order.into(), resolve(source, raw))),
                None => is_whole = false,
            }
        }
        if let Some(message) = header.find(kind::ATTRIBUTE_INFO) {
            let parsed = message.parse(source, attribute_info::parse);
            match log.noted(StructureKind::ObjectHeader, message.address, message.body.len() as u64, parsed)? {
                Some(info) => is_whole &= dense(log, &info, &mut found)?,
                None => is_whole = false,
            }
        }
        for (_, attribute) in &found {
            if let Err(error) = &attribute.value
                && error.kind() != ErrorKind::Unsupported
            {
                let address = log.object.unwrap_or_default();
                let error = Error::new(error.kind(), format!("the value of attribute {:?}: {}", attribute.name, error.message()))
                    .at_offset(error.offset().unwrap_or_else(|| source.base_address.saturating_add(address)));
                log.damage(StructureKind::GlobalHeap, address, 0, error)?;
            }
        }
        found.sort_by(|(_, a), (_, b)| compare(&a.name, &b.name));
        if header.tracks_attributes {
            found.sort_by_key(|(order, _)| *order);
        }
        Ok((found, is_whole))
    })
}

fn dense(log: &mut Log<'_>, info: &attribute_info::AttributeInfo, found: &mut Vec<(u32, Attribute)>) -> Result<bool> {
    let source = log.source;
    let Some((heap, name_tree)) = info.heap.zip(info.name_tree) else { return Ok(true) };
    let opened = heap::fractal(log, heap)?;
    let has_all_blocks = opened.as_ref().is_some_and(|(_, is_whole)| *is_whole);
    let mut heap = opened.map(|(heap, _)| heap);
    let mut read = |log: &mut Log<'_>, tree: u64, record_type: u8, keep: bool, found: &mut Vec<(u32, Attribute)>| -> Result<bool> {
        let mut is_readable = true;
        let is_whole = tree_v2::records(log, tree, &[record_type], &mut |log, _, record| {
            let Some(heap) = heap.as_mut() else { return Ok(()) };
            let mut cursor = source.cursor(record, tree);
            let parsed = (|| {
                let id = cursor.take(heap.id_bytes())?;
                let flags = cursor.u8()?;
                let order = cursor.u32()?;
                let object = match flags & SHARED {
                    0 => heap.object(id)?,
                    _ => shared_messages::body(source, kind::ATTRIBUTE, id)?.into(),
                };
                Ok((order, attribute::parse(source, &mut source.cursor(&object, tree))?))
            })();
            match parsed {
                Ok((order, raw)) if keep => found.push((order, resolve(source, raw))),
                Ok(_) => {}
                Err(error) => {
                    is_readable = false;
                    // Damage of the blocks that hold them is recorded already.
                    if has_all_blocks {
                        log.damage(StructureKind::HeapDirectBlock, tree, 0, error)?;
                    }
                }
            }
            Ok(())
        })?;
        Ok(is_whole && is_readable)
    };
    let by_name = read(log, name_tree, BY_NAME, true, found)?;
    let mut by_order = true;
    if let Some(tree) = info.order_tree {
        // The other tree helps out if the first is damaged.
        let mut others = Vec::new();
        by_order = read(log, tree, BY_ORDER, !by_name, &mut others)?;
        let known: HashSet<String> = found.iter().map(|(_, attribute)| attribute.name.clone()).collect();
        found.extend(others.into_iter().filter(|(_, attribute)| !known.contains(&attribute.name)));
    }
    Ok(has_all_blocks && by_name && by_order)
}
