//! The attributes of an object: messages of its header, or densely stored (specification IV.A.2.m, IV.A.2.v).

use std::sync::Arc;

use hyperslab_array::name::compare;
use hyperslab_array::{Attribute, Elements, Error, Result};
use hyperslab_storage::Storage;

use super::heap::{FractalHeap, GlobalHeap};
use super::message::attribute::{self, RawAttribute};
use super::message::attribute_info;
use super::object_header::{ObjectHeader, kind};
use super::superblock::{Superblock, find_superblock};
use super::{Source, btree, shared_messages};
use crate::Limits;

/// The attributes of the root group alone; `None` for files that are not HDF5. Does not parse other objects.
///
/// # Errors
/// `Corrupt`, `Unsupported`, `LimitExceeded` or `Io` if the metadata cannot be parsed.
pub fn of_root(storage: Arc<dyn Storage>, limits: &Limits) -> Result<Option<Vec<Attribute>>> {
    let Some(place) = find_superblock(storage.as_ref())? else { return Ok(None) };
    let superblock = Superblock::read(storage, place, limits, true)?;
    let header = ObjectHeader::read(&superblock.source, superblock.root)?;
    read(&superblock.source, &header, None).map(Some)
}

/// Whether an attribute of this name is wanted.
type Wanted<'a> = &'a dyn Fn(&str) -> bool;

/// The attributes, compact and dense ones, whose names are `wanted` (all of them without a condition), with their values: in the
/// order of their creation if the object tracks it, else in name order.
pub(super) fn read(source: &Source, header: &ObjectHeader<'_>, wanted: Option<Wanted<'_>>) -> Result<Vec<Attribute>> {
    // Each with its creation order.
    let mut raw: Vec<(u32, RawAttribute)> = Vec::new();
    for message in header.all(kind::ATTRIBUTE) {
        if wanted.map_or(Ok(true), |wanted| message.parse(source, attribute::name).map(|name| wanted(&name)))? {
            raw.push((message.creation_order.into(), message.parse(source, |cursor| attribute::parse(source, cursor))?));
        }
    }
    if let Some(message) = header.find(kind::ATTRIBUTE_INFO) {
        let info = message.parse(source, attribute_info::parse)?;
        if let (Some(heap), Some(tree)) = (info.heap, info.name_tree) {
            dense(source, heap, tree, wanted, &mut raw)?;
        }
    }
    raw.sort_by(|(_, a), (_, b)| compare(&a.name, &b.name));
    if header.tracks_attributes {
        raw.sort_by_key(|(order, _)| *order);
    }
    Ok(raw.into_iter().map(|(_, raw)| resolve(source, raw)).collect())
}

/// Whether one of the attributes in the header has one of these names; `None` if there are others in dense storage.
pub(super) fn has_any(source: &Source, header: &ObjectHeader<'_>, names: &[&str]) -> Result<Option<bool>> {
    for message in header.all(kind::ATTRIBUTE) {
        if names.contains(&message.parse(source, attribute::name)?.as_str()) {
            return Ok(Some(true));
        }
    }
    let info = header.find(kind::ATTRIBUTE_INFO).map(|message| message.parse(source, attribute_info::parse)).transpose()?;
    Ok(if info.is_some_and(|info| info.heap.is_some()) { None } else { Some(false) })
}

fn dense(source: &Source, heap: u64, tree: u64, wanted: Option<Wanted<'_>>, raw: &mut Vec<(u32, RawAttribute)>) -> Result<()> {
    /// Flag of a record whose attribute is in the shared message heap.
    const SHARED: u8 = 1 << 1;
    let mut heap = FractalHeap::open(source, heap)?;
    btree::v2::records(source, tree, &[8], &mut |_, record| {
        let mut cursor = source.cursor(record, tree);
        let id = cursor.take(heap.id_bytes())?;
        let flags = cursor.u8()?;
        let order = cursor.u32()?;
        let object = match flags & SHARED {
            0 => heap.object(id)?,
            _ => shared_messages::body(source, kind::ATTRIBUTE, id)?.into(),
        };
        if wanted.map_or(Ok(true), |wanted| attribute::name(&mut source.cursor(&object, tree)).map(|name| wanted(&name)))? {
            raw.push((order, attribute::parse(source, &mut source.cursor(&object, tree))?));
        }
        Ok(())
    })
}

pub(super) fn resolve(source: &Source, raw: RawAttribute) -> Attribute {
    let RawAttribute { name, value } = raw;
    let (dataspace, value) = match value {
        Ok((datatype, dataspace, bytes)) => {
            let value = match datatype.unsupported_class() {
                Some(class) => Err(Error::unsupported(format!("datatype class {class} of attribute {name}"))),
                None => GlobalHeap::resolve(source, &datatype, &bytes).map(|heap| Elements { datatype, bytes, heap }),
            };
            (dataspace, value)
        }
        Err(error) => (hyperslab_array::Dataspace::Null, Err(error)),
    };
    Attribute { name, dataspace, value }
}
