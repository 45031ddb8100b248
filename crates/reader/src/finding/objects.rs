//! The objects of a file with their attributes, links and dimensions. Each is parsed when it is asked for; errors name the
//! object and the file.

use std::sync::Arc;

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_formats::{Attributes, Dimension, DimensionScale, Link, Links, Object, ObjectId, Tree};

use crate::File;
use crate::opening::live_file::{being_written, retry_while_torn, unfinished_if_locked};

impl File {
    /// The root group.
    pub fn root(&self) -> ObjectId {
        self.tree().root()
    }
    /// What an object is.
    ///
    /// # Errors
    /// Those of an object that is damaged (`Corrupt`), or needs an unsupported feature.
    pub fn object(&self, id: ObjectId) -> Result<Object> {
        self.parsed(id, || self.tree().object(id))
    }
    /// The attributes of an object.
    ///
    /// # Errors
    /// Those of attributes that cannot be listed. One whose value cannot be read holds its own error.
    pub fn attributes(&self, id: ObjectId) -> Result<Arc<Attributes>> {
        self.parsed(id, || self.tree().attributes(id))
    }
    /// The links of a group; none of another object.
    ///
    /// # Errors
    /// Those of a group that is damaged, or has more links than the limits allow.
    pub fn links(&self, group: ObjectId) -> Result<Arc<Links>> {
        self.parsed(group, || self.tree().links(group))
    }
    /// Number of links of a group, without listing them where the file states it; 0 of another object.
    ///
    /// # Errors
    /// As of [`File::links`].
    pub fn link_count(&self, group: ObjectId) -> Result<u64> {
        self.parsed(group, || self.tree().link_count(group))
    }
    /// One link of a group, found without listing the others.
    ///
    /// # Errors
    /// As of [`File::links`].
    pub fn link(&self, group: ObjectId, name: &str) -> Result<Option<Link>> {
        self.parsed(group, || self.tree().link(group, name))
    }
    /// Names and coordinates of a dataset's dimensions, one for each.
    ///
    /// # Errors
    /// Those of the dataset itself. A dimension scale that cannot be read is left out.
    pub fn dimensions(&self, dataset: ObjectId) -> Result<Arc<[DimensionScale]>> {
        let path_of = |id| self.path_near(id, dataset);
        self.parsed(dataset, || self.tree().dimensions(dataset, &path_of))
    }
    /// The netCDF dimensions that a group declares; none in plain HDF5.
    ///
    /// # Errors
    /// Those of the group.
    pub fn declared_dimensions(&self, group: ObjectId) -> Result<Arc<[Dimension]>> {
        self.parsed(group, || self.tree().declared_dimensions(group))
    }
    /// Whether an object records the order in which its attributes, or the members of a group, were created.
    ///
    /// # Errors
    /// Those of attributes or links that cannot be listed.
    pub fn is_tracked(&self, id: ObjectId) -> Result<bool> {
        Ok(self.attributes(id)?.tracked || self.links(id)?.is_tracked())
    }
    /// Everything in the file except the values, as the format has it.
    pub(crate) fn tree(&self) -> &dyn Tree {
        self.array_file().tree()
    }
    /// `error` with the path of `object` and the name of this file. `Corrupt` becomes `Conflict` if the file was written since it was opened.
    pub fn place(&self, object: ObjectId, error: Error) -> Error {
        let error = if error.kind() == ErrorKind::Corrupt { self.unless_changed(error) } else { error };
        // A search for the path would cost more than the error is worth.
        let error = match self.known_path(object) {
            Some(path) => error.at_object(&*path),
            None => error,
        };
        error.in_file(self.name())
    }

    /// `error`, or the one for a file that is not the one that was opened.
    fn unless_changed(&self, error: Error) -> Error {
        let is_ours = error.file().is_none_or(|file| file == self.name());
        if !is_ours || !self.array_file().storage().has_changed() {
            return error;
        }
        Error::new(ErrorKind::Conflict, format!("the file has changed since it was opened: open it again ({})", error.message()))
    }

    /// Parses something of an object, again while a writer changes it.
    fn parsed<T>(&self, id: ObjectId, parse: impl Fn() -> Result<T>) -> Result<T> {
        self.check_open()?;
        let is_torn =
            |parsed: &Result<T>| matches!(parsed, Err(error) if error.kind() == ErrorKind::Corrupt) && being_written(self.array_file().storage().as_ref());
        let parsed = retry_while_torn(|| Ok(parse()), is_torn)?;
        let is_edited = self.array_file().storage().is_edited();
        parsed.map_err(|error| self.place(id, if is_edited { error } else { unfinished_if_locked(self.path(), error) }))
    }
}
