//! An object under way: what is known of it before the file ends.

use std::collections::BTreeMap;

use hyperslab_array::Datatype;

use super::dataset::DatasetWriter;
use super::definition::AttributeValue;
use super::links::Link;
use super::object_references::ObjectReferences;
use super::ordered::Ordered;

/// The value of an attribute.
#[derive(Debug, Clone)]
pub(crate) enum AttributeEntry {
    Value(AttributeValue),
    /// References to objects.
    References(ObjectReferences),
}

#[derive(Debug, Default)]
pub(crate) struct ObjectEntry {
    /// How many objects and names were defined before its name.
    pub(crate) created: u64,
    /// Identifies the object, whatever its name.
    pub(crate) id: u64,
    /// Whether the file records the order of its attributes and, of a group, of its members.
    pub(crate) tracked: bool,
    pub(crate) attributes: Ordered<AttributeEntry>,
    pub(crate) dataset: Option<DatasetWriter>,
    /// References to objects instead of values.
    pub(crate) references: Option<ObjectReferences>,
    /// A link instead of an object.
    pub(crate) link: Option<Link>,
    /// A committed datatype instead of a group.
    pub(crate) datatype: Option<Datatype>,
    /// Paths of the dimension scales of a dataset, by dimension.
    pub(crate) scales: BTreeMap<u32, String>,
}

impl ObjectEntry {
    /// Whether it is a group.
    pub(crate) fn is_group(&self) -> bool {
        self.dataset.is_none() && self.link.is_none() && self.references.is_none() && self.datatype.is_none()
    }
}
