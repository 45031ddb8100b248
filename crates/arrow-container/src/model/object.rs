//! Objects: groups, datasets and committed datatypes.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::attribute::Attribute;
use super::dataset::Dataset;
use super::datatype::StoredDatatype;
use super::link::Link;

/// What an object is.
#[derive(Debug, Clone)]
pub enum Body {
    /// A group.
    Group {
        /// Its links by name.
        links: BTreeMap<String, Link>,
        /// The position in the order of creation that the next link gets.
        next_order: i64,
        /// Whether the order of creation may be asked for.
        tracked: bool,
    },
    /// A dataset.
    Dataset(Arc<Dataset>),
    /// A committed datatype.
    Datatype(StoredDatatype),
}

/// A group, dataset or committed datatype.
#[derive(Debug, Clone)]
pub struct Object {
    /// What it is.
    pub body: Body,
    /// Its attributes by name.
    pub attributes: BTreeMap<String, Attribute>,
    /// The position in the order of creation that the next attribute gets.
    pub next_attribute: i64,
    /// Whether the order in which attributes were made may be asked for.
    pub attributes_tracked: bool,
    /// `H5Pencode2`'s bytes of the creation property list.
    pub creation: Vec<u8>,
    /// `H5Oset_comment`'s text.
    pub comment: Option<String>,
    /// What an element of a dataset of variable length holds that was never written, as the value of an attribute.
    pub fill: Option<Attribute>,
    /// What `H5Oincr_refcount` added.
    pub extra_references: i64,
    /// Seconds since 1970; 0: not tracked.
    pub born: i64,
}

impl Object {
    /// An object without attributes.
    pub fn new(body: Body, creation: Vec<u8>) -> Self {
        Self { body, attributes: BTreeMap::new(), next_attribute: 0, attributes_tracked: false, creation, comment: None, fill: None, extra_references: 0, born: 0 }
    }

    /// An empty group.
    pub fn group(creation: Vec<u8>, tracked: bool) -> Self {
        Self::new(Body::Group { links: BTreeMap::new(), next_order: 0, tracked }, creation)
    }
}
