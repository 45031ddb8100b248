//! One object, from its header: what it is, and the messages from which its attributes and links are read later.

use std::sync::Arc;

use hyperslab_array::{Error, Result};

use super::layout::StoredDataset;
use super::object_header::{ObjectHeader, kind};
use super::{Source, dataset, group};
use crate::Object;

/// Kinds of the messages that are kept.
const KEPT: [u16; 5] = [kind::LINK_INFO, kind::LINK, kind::ATTRIBUTE, kind::SYMBOL_TABLE, kind::ATTRIBUTE_INFO];

/// A parsed object.
pub(super) struct ParsedObject {
    pub object: Object,
    /// How a dataset is stored; `None` for other objects.
    pub stored: Option<StoredDataset>,
    /// The messages about attributes and links.
    pub header: ObjectHeader<'static>,
}

/// Parses the object whose header lies at `address`. Errors state that offset unless they know a better one.
pub(super) fn parse(source: &Source, address: u64) -> Result<ParsedObject> {
    parse_at(source, address).map_err(|error| match source.absolute(address) {
        Ok(offset) => error.at_offset(offset),
        Err(_) => error,
    })
}

fn parse_at(source: &Source, address: u64) -> Result<ParsedObject> {
    let header = ObjectHeader::read(source, address)?;
    let (object, stored) = content(source, &header)?;
    Ok(ParsedObject { object, stored, header: header.kept(&KEPT) })
}

pub(super) fn content(source: &Source, header: &ObjectHeader<'_>) -> Result<(Object, Option<StoredDataset>)> {
    if header.find(kind::LAYOUT).is_some() {
        let (dataset, stored) = dataset::parse(source, header)?;
        return Ok((Object::Dataset(Arc::new(dataset)), Some(stored)));
    }
    if group::is_group(header) {
        return Ok((Object::Group, None));
    }
    match header.find(kind::DATATYPE) {
        Some(message) if header.find(kind::DATASPACE).is_none() => Ok((Object::Datatype(Arc::new(message.datatype(source)?)), None)),
        _ => Err(Error::unsupported("an object that is not a group, dataset or committed datatype")),
    }
}
