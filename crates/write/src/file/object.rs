//! State of an object before the file is finished.

use std::collections::BTreeMap;

use hyperslab_array::Datatype;
use hyperslab_formats::hdf5::writer::NewProperties;

use super::dataset::state::DatasetWriter;
use super::definition::AttributeValue;
use super::ordered::Ordered;
use super::references::links::Link;
use super::references::object_references::ObjectReferences;

/// The value of an attribute.
#[derive(Debug, Clone)]
pub(crate) enum AttributeEntry {
    Value(Box<AttributeValue>),
    /// References to objects.
    References(ObjectReferences),
    /// The place of a `DIMENSION_LIST` or `REFERENCE_LIST` among the attributes, with its datatype in the file that it was copied from. Its value is
    /// made of the scales that are attached when the file is finished.
    OfScales(Datatype),
}

/// A dimension scale that is attached to a dataset.
#[derive(Debug, Clone)]
pub(crate) struct AttachedScale {
    pub(crate) path: String,
    /// The scale lists its dimensions in this order.
    pub(crate) order: u64,
}

impl AsRef<str> for AttachedScale {
    fn as_ref(&self) -> &str {
        &self.path
    }
}

#[derive(Debug, Default)]
pub(crate) struct ObjectEntry {
    /// Number of objects and names defined before its name.
    pub(crate) created: u64,
    /// Identifies the object independently of its name.
    pub(crate) id: u64,
    /// Whether the file records the creation order of its attributes and, for a group, of its members.
    pub(crate) tracked: bool,
    /// What a copied object had beyond its content.
    pub(crate) copied: Option<Box<NewProperties>>,
    pub(crate) attributes: Ordered<AttributeEntry>,
    pub(crate) dataset: Option<DatasetWriter>,
    /// Set if the object is a dataset of references to objects.
    pub(crate) references: Option<ObjectReferences>,
    /// Set if this is a link, not an object.
    pub(crate) link: Option<Link>,
    /// Set if the object is a committed datatype.
    pub(crate) datatype: Option<Datatype>,
    /// A dataset's dimension scales, by dimension.
    pub(crate) scales: BTreeMap<u32, Vec<AttachedScale>>,
}

impl ObjectEntry {
    /// What the file says of the object beyond its content.
    pub(crate) fn properties(&self) -> NewProperties {
        self.copied.as_deref().cloned().unwrap_or_else(|| NewProperties::tracked(self.tracked))
    }

    /// Whether this is a group: nothing else is set.
    pub(crate) fn is_group(&self) -> bool {
        self.dataset.is_none() && self.link.is_none() && self.references.is_none() && self.datatype.is_none()
    }
}
