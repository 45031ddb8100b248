//! A tree that is in memory as a whole: for formats whose header describes everything (netCDF classic), and for arrays of a
//! program.

use std::borrow::Cow;
use std::sync::Arc;

use hyperslab_array::{Attribute, Error, Result};

use crate::tree::PathOf;
use crate::{Attributes, Dataset, Dimension, DimensionScale, Link, Links, Object, ObjectId, Tree};

/// The objects of a tree while it is put together. The root group has index 0, and [`ObjectId`]s are indexes.
#[derive(Debug, Clone, Default)]
pub struct TreeBuilder {
    /// The objects.
    pub nodes: Vec<Node>,
}

/// An object of a [`TreeBuilder`].
#[derive(Debug, Clone)]
pub struct Node {
    /// The first absolute path found by which it can be reached (`/` for the root).
    pub path: String,
    /// Attributes in the order of their creation if the object tracks it, else in name order.
    pub attributes: Vec<Attribute>,
    /// Whether the object tracks the order in which its attributes were created.
    pub attributes_tracked: bool,
    /// What it is.
    pub content: Content,
}

/// The kind of an object and what belongs to it.
#[derive(Debug, Clone)]
pub enum Content {
    /// A group.
    Group(Group),
    /// A dataset and its dimensions.
    Dataset(Box<Dataset>, Vec<DimensionScale>),
}

/// A group's members.
#[derive(Debug, Clone, Default)]
pub struct Group {
    /// Links in the order of their creation if the group tracks it, else in any order; each name once.
    pub links: Vec<Link>,
    /// Whether the group tracks the order in which its links were created.
    pub links_tracked: bool,
    /// netCDF dimensions defined here; empty for plain HDF5.
    pub dimensions: Vec<Dimension>,
}

impl ObjectId {
    /// The object with this index of a [`TreeBuilder`].
    pub fn of_index(index: usize) -> Self {
        Self(index as u64)
    }
    /// The index in a [`TreeBuilder`].
    pub fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl Node {
    /// An object without attributes.
    pub fn new(path: impl Into<String>, content: Content) -> Self {
        Self { path: path.into(), attributes: Vec::new(), attributes_tracked: false, content }
    }
}

impl TreeBuilder {
    /// The finished tree.
    pub fn build(self) -> TreeInMemory {
        TreeInMemory { entries: self.nodes.into_iter().map(Entry::from).collect() }
    }
}

/// A finished tree.
pub struct TreeInMemory {
    entries: Vec<Entry>,
}

struct Entry {
    path: String,
    object: Object,
    attributes: Arc<Attributes>,
    links: Arc<Links>,
    dimensions: Arc<[DimensionScale]>,
    declared: Arc<[Dimension]>,
}

impl From<Node> for Entry {
    fn from(node: Node) -> Self {
        let Node { path, attributes, attributes_tracked, content } = node;
        let attributes = Arc::new(Attributes::new(attributes, attributes_tracked));
        let mut entry = Self { path, object: Object::Group, attributes, links: Arc::default(), dimensions: Arc::default(), declared: Arc::default() };
        match content {
            Content::Group(group) => {
                entry.links = Arc::new(Links::new(group.links, group.links_tracked));
                entry.declared = group.dimensions.into();
            }
            Content::Dataset(dataset, dimensions) => {
                entry.object = Object::Dataset(Arc::new(*dataset));
                entry.dimensions = dimensions.into();
            }
        }
        entry
    }
}

impl TreeInMemory {
    fn entry(&self, id: ObjectId) -> Result<&Entry> {
        self.entries.get(id.index()).ok_or_else(|| Error::internal(format!("no object {}", id.0)))
    }
}

impl Tree for TreeInMemory {
    fn root(&self) -> ObjectId {
        ObjectId(0)
    }
    fn object(&self, id: ObjectId) -> Result<Object> {
        Ok(self.entry(id)?.object.clone())
    }
    fn attributes(&self, id: ObjectId) -> Result<Arc<Attributes>> {
        Ok(self.entry(id)?.attributes.clone())
    }
    fn links(&self, group: ObjectId) -> Result<Arc<Links>> {
        Ok(self.entry(group)?.links.clone())
    }
    fn dimensions(&self, dataset: ObjectId, _: &PathOf<'_>) -> Result<Arc<[DimensionScale]>> {
        Ok(self.entry(dataset)?.dimensions.clone())
    }
    fn declared_dimensions(&self, group: ObjectId) -> Result<Arc<[Dimension]>> {
        Ok(self.entry(group)?.declared.clone())
    }
    fn address(&self, _: ObjectId) -> Option<u64> {
        None
    }
    fn at_address(&self, _: u64) -> Option<ObjectId> {
        None
    }
    fn path(&self, id: ObjectId) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(&self.entry(id).ok()?.path))
    }
}
