//! Objects: groups, datasets and committed datatypes.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::attribute::Attribute;
use super::dataset::Dataset;
use super::datatype::StoredDatatype;
use super::link::{Link, ObjectId};
use crate::lock;

/// The type of an object. HDF5 has these three and no others, so matches may be exhaustive.
#[derive(Debug, Clone)]
pub enum Body {
    /// A group.
    Group {
        /// Its links by name.
        links: BTreeMap<String, Link>,
        /// The creation-order position of the next link.
        next_order: i64,
        /// Whether creation order is tracked.
        tracked: bool,
    },
    /// A dataset.
    Dataset(Arc<Dataset>),
    /// A committed datatype.
    Datatype(StoredDatatype),
}

/// A group, dataset or committed datatype.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Object {
    /// Its type, with what belongs to it.
    pub body: Body,
    /// Its attributes by name.
    pub attributes: BTreeMap<String, Attribute>,
    /// The creation-order position of the next attribute.
    pub next_attribute: i64,
    /// Whether the creation order of attributes is tracked.
    pub attributes_tracked: bool,
    /// The creation property list, encoded by `H5Pencode2`.
    pub creation: Vec<u8>,
    /// The comment that `H5Oset_comment` sets.
    pub comment: Option<String>,
    /// The fill value of a dataset with a variable-length datatype, as the value of an attribute.
    pub fill: Option<Attribute>,
    /// References added by `H5Oincr_refcount`.
    pub extra_references: i64,
    /// Creation time in seconds since 1970; 0: not tracked.
    pub born: i64,
    /// Times of access, modification, change and creation that a copied object has in seconds since 1970.
    pub times: Option<[u32; 4]>,
}

impl Object {
    /// An object without attributes.
    pub fn new(body: Body, creation: Vec<u8>) -> Self {
        Self {
            body,
            attributes: BTreeMap::new(),
            next_attribute: 0,
            attributes_tracked: false,
            creation,
            comment: None,
            fill: None,
            extra_references: 0,
            born: 0,
            times: None,
        }
    }

    /// The committed datatypes that it uses: of its values, and of its attributes.
    pub(crate) fn committed_datatypes(&self) -> impl Iterator<Item = ObjectId> {
        let own = match &self.body {
            Body::Dataset(dataset) => dataset.datatype.committed,
            _ => None,
        };
        own.into_iter().chain(self.attributes.values().filter_map(|attribute| lock(attribute).datatype.committed))
    }

    /// An empty group.
    pub fn group(creation: Vec<u8>, tracked: bool) -> Self {
        Self::new(Body::Group { links: BTreeMap::new(), next_order: 0, tracked }, creation)
    }
}
