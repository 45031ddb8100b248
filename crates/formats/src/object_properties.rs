//! What a file says of an object beyond its content: facts that no value depends on, and that a copy keeps.

use std::collections::HashMap;

use crate::ObjectId;

/// Whether a list of links or attributes records the order of their creation, and whether it has an index of that order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::exhaustive_structs, reason = "HDF5 has no other flags")]
pub struct CreationOrder {
    /// Whether the order is recorded.
    pub is_tracked: bool,
    /// Whether it is indexed.
    pub is_indexed: bool,
}

impl CreationOrder {
    /// Recorded with an index, or not recorded.
    pub fn of(is_tracked: bool) -> Self {
        Self { is_tracked, is_indexed: is_tracked }
    }
}

/// When an object was accessed, modified, changed and created, in seconds since 1970; 0 if it is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::exhaustive_structs, reason = "HDF5 has no other times")]
pub struct ObjectTimes {
    /// Last access.
    pub access: u32,
    /// Last change of the values.
    pub modification: u32,
    /// Last change of the object.
    pub change: u32,
    /// Creation.
    pub birth: u32,
}

/// What a file says of an object beyond its content.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ObjectProperties {
    /// The comment, as its bytes.
    pub comment: Option<Vec<u8>>,
    /// The times, if they are recorded.
    pub times: Option<ObjectTimes>,
    /// Order of the links of a group.
    pub link_order: CreationOrder,
    /// Order of the attributes.
    pub attribute_order: CreationOrder,
    /// The committed datatype that a dataset shares.
    pub committed: Option<ObjectId>,
    /// The committed datatypes that attributes share, by name of the attribute.
    pub committed_of_attributes: HashMap<String, ObjectId>,
    /// Names of the attributes in the order in which they are stored.
    pub stored_attributes: Vec<String>,
    /// Number of hard links that the object says it has.
    pub links: Option<u32>,
}
