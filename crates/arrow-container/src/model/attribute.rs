//! Attributes, whose values are in memory.

use std::sync::{Arc, Mutex};

use super::datatype::StoredDatatype;
use super::link::ObjectId;
use crate::elements::blob::Arena;
use crate::elements::dataspace::Dataspace;

/// An attribute's value, shared by those that have it open.
#[derive(Debug)]
pub struct AttributeValue {
    /// The attribute's name.
    pub name: String,
    /// The object that has it.
    pub object: ObjectId,
    /// The datatype of its elements.
    pub datatype: StoredDatatype,
    /// Its dataspace.
    pub space: Dataspace,
    /// The elements in their form in the file.
    pub bytes: Vec<u8>,
    /// Keeps what blob names point at.
    pub arenas: Vec<Arc<Arena>>,
    /// Its position in the order of creation.
    pub order: i64,
    /// Whether its name is UTF-8, not ASCII.
    pub utf8: bool,
}

/// An attribute.
pub type Attribute = Arc<Mutex<AttributeValue>>;
