//! Attributes. Their values are always in memory.

use std::sync::{Arc, Mutex};

use super::datatype::StoredDatatype;
use super::link::ObjectId;
use crate::elements::blob::Arena;
use crate::elements::dataspace::Dataspace;

/// The name, datatype and value of an attribute.
#[derive(Debug)]
#[non_exhaustive]
pub struct AttributeValue {
    /// The attribute's name.
    pub name: String,
    /// The object that it belongs to.
    pub object: ObjectId,
    /// The datatype of its elements.
    pub datatype: StoredDatatype,
    /// Its dataspace.
    pub space: Dataspace,
    /// The elements in file form, contiguous.
    pub bytes: Vec<u8>,
    /// Keeps alive the blobs that `bytes` names.
    pub arenas: Vec<Arc<Arena>>,
    /// Its position in creation order.
    pub order: i64,
    /// Whether its name is UTF-8 (otherwise ASCII).
    pub utf8: bool,
}

impl AttributeValue {
    /// An attribute of `object`, with its elements in file form.
    pub fn new(name: impl Into<String>, object: ObjectId, datatype: StoredDatatype, space: Dataspace, bytes: Vec<u8>) -> Self {
        Self { name: name.into(), object, datatype, space, bytes, arenas: Vec::new(), order: 0, utf8: false }
    }
}

/// An attribute, shared by all handles that have it open.
pub type Attribute = Arc<Mutex<AttributeValue>>;
