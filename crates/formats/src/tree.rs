//! The tree of a file: its objects, their attributes and the links between them, each parsed when it is asked for.

use std::borrow::Cow;
use std::sync::Arc;

use hyperslab_array::{Error, ErrorKind, Result};

use crate::{Attributes, CreationOrder, Dataset, Dimension, DimensionScale, Link, Links, Object, ObjectId, ObjectProperties};

/// Determines the path of an object.
pub type PathOf<'a> = dyn Fn(ObjectId) -> Result<String> + 'a;

/// What a file contains, without its values. Nothing is parsed before it is asked for, and what was parsed is kept within a
/// bound, so that the cost of opening a file does not depend on the number of its objects.
///
/// Errors state what is wrong and at which offset; callers know the path of the object. A damaged object is an error when it
/// is used, and does not affect others.
pub trait Tree: Send + Sync {
    /// The root group.
    fn root(&self) -> ObjectId;
    /// What the object is.
    ///
    /// # Errors
    /// `Corrupt`, `Unsupported`, `LimitExceeded` or `Io` if its header cannot be parsed; `Internal` for an ID of another file.
    fn object(&self, id: ObjectId) -> Result<Object>;
    /// The attributes of an object.
    ///
    /// # Errors
    /// As of [`Tree::object`], if they cannot be listed. One whose value cannot be read holds its own error.
    fn attributes(&self, id: ObjectId) -> Result<Arc<Attributes>>;
    /// Whether an object has an attribute with one of these names. Does not read values.
    ///
    /// # Errors
    /// As of [`Tree::attributes`].
    fn has_attribute(&self, id: ObjectId, names: &[&str]) -> Result<bool> {
        let attributes = self.attributes(id)?;
        Ok(names.iter().any(|name| attributes.get(name).is_some()))
    }
    /// The attributes of an object whose names are `wanted`. Does not read the values of others.
    ///
    /// # Errors
    /// As of [`Tree::attributes`].
    fn attributes_where(&self, id: ObjectId, wanted: &dyn Fn(&str) -> bool) -> Result<Attributes> {
        let all = self.attributes(id)?;
        Ok(Attributes::new(all.iter().filter(|attribute| wanted(&attribute.name)).cloned().collect(), all.tracked))
    }
    /// All links of a group; none of an object that is not a group.
    ///
    /// # Errors
    /// As of [`Tree::object`], if they cannot be listed.
    fn links(&self, group: ObjectId) -> Result<Arc<Links>>;
    /// One link of a group, found without listing the others.
    ///
    /// # Errors
    /// As of [`Tree::links`].
    fn link(&self, group: ObjectId, name: &str) -> Result<Option<Link>> {
        Ok(self.links(group)?.get(name).cloned())
    }
    /// Up to `max` links of a group that are cheap to find, in any order: fewer than `max` does not mean that there are no more.
    ///
    /// # Errors
    /// As of [`Tree::links`].
    fn first_links(&self, group: ObjectId, max: usize) -> Result<Vec<Link>> {
        Ok(self.links(group)?.iter().take(max).cloned().collect())
    }
    /// Number of links of a group.
    ///
    /// # Errors
    /// As of [`Tree::links`].
    fn link_count(&self, group: ObjectId) -> Result<u64> {
        Ok(self.links(group)?.as_slice().len() as u64)
    }
    /// Whether a group tracks the order in which its links were created.
    ///
    /// # Errors
    /// As of [`Tree::links`].
    fn tracks_links(&self, group: ObjectId) -> Result<bool> {
        Ok(self.links(group)?.is_tracked())
    }
    /// What the file says of an object beyond its content. Nothing of it is kept.
    ///
    /// # Errors
    /// As of [`Tree::object`].
    fn properties(&self, id: ObjectId) -> Result<ObjectProperties> {
        let attribute_order = CreationOrder::of(self.attributes(id)?.tracked);
        Ok(ObjectProperties { link_order: CreationOrder::of(self.tracks_links(id)?), attribute_order, ..ObjectProperties::default() })
    }
    /// Names and coordinates of a dataset's dimensions, one for each. `path_of` determines the path of a dimension scale
    /// that has no name of its own.
    ///
    /// # Errors
    /// Those of the dataset. A scale that cannot be read is left out.
    fn dimensions(&self, dataset: ObjectId, path_of: &PathOf<'_>) -> Result<Arc<[DimensionScale]>>;
    /// netCDF dimensions that a group declares; none in plain HDF5.
    ///
    /// # Errors
    /// As of [`Tree::object`].
    fn declared_dimensions(&self, group: ObjectId) -> Result<Arc<[Dimension]>>;
    /// HDF5: address of the object's header, relative to the base address, which object references hold.
    fn address(&self, id: ObjectId) -> Option<u64>;
    /// The object with this address, if it is one of this tree. An object may have an ID although no hard link leads to it:
    /// see [`Tree::path`].
    fn at_address(&self, address: u64) -> Option<ObjectId>;
    /// The absolute path of an object, if the tree knows it without a search.
    fn path(&self, id: ObjectId) -> Option<Cow<'_, str>>;
}

/// The dataset with this ID; `Internal` for another object.
pub(crate) fn dataset(tree: &dyn Tree, id: ObjectId) -> Result<Arc<Dataset>> {
    match tree.object(id)? {
        Object::Dataset(dataset) => Ok(dataset),
        other => Err(Error::internal(format!("a dataset is expected, this is {}", other.kind()))),
    }
}

/// What was parsed; `None` if it is damaged or not supported, which is an error when it is used itself.
pub(crate) fn unless_damaged<T>(parsed: Result<T>) -> Result<Option<T>> {
    match parsed {
        Ok(parsed) => Ok(Some(parsed)),
        Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported) => Ok(None),
        Err(error) => Err(error),
    }
}
