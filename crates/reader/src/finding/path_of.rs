//! Finds the path of an object: one that is known, the path of the first hard link that leads to it, or its address.

use std::sync::Arc;

use hyperslab_array::name::{is_of_links, path_of_address};
use hyperslab_array::{Error, Result};
use hyperslab_formats::ObjectId;

use crate::File;

impl File {
    /// An absolute path of an object: the one by which it was found first. Searches the file if it was not found by path. The path of
    /// an object that only references lead to is made of its address: see [`path_of_address`].
    ///
    /// # Errors
    /// `NotFound` for an object without name and address.
    pub fn path_of(&self, id: ObjectId) -> Result<Arc<str>> {
        if let Some(path) = self.known_path(id) {
            return Ok(path);
        }
        let path = self.paths().get_or_search(id, || self.walk().map(|walked| (walked.id, Arc::from(walked.path))).collect());
        let by_address = || self.tree().address(id).map(|address| Arc::from(path_of_address(address)));
        path.or_else(by_address).ok_or_else(|| Error::not_found("no hard link leads to this object").in_file(self.name()))
    }

    /// Says that an object was reached by this absolute path, for errors about it and for [`File::path_of`].
    pub fn add_path(&self, id: ObjectId, path: &str) {
        self.paths().add(id, path);
    }

    /// The path of an object if it is known without a search.
    pub(crate) fn known_path(&self, id: ObjectId) -> Option<Arc<str>> {
        match self.tree().path(id) {
            Some(path) => Some(Arc::from(path.as_ref())),
            None => self.paths().get(id),
        }
    }

    /// The path of an object that is probably a member of the group of `neighbor`, or of a group above it.
    pub(crate) fn path_near(&self, id: ObjectId, neighbor: ObjectId) -> Result<String> {
        if let Some(path) = self.known_path(id) {
            return Ok(path.to_string());
        }
        let near = self.known_path(neighbor);
        let mut group = near.as_deref().and_then(|path| path.rsplit_once('/')).map(|(group, _)| group);
        while let Some(path) = group {
            let found = self.find(if path.is_empty() { "/" } else { path })?;
            if found.file == *self
                && let Some(link) = self.links(found.object)?.iter().find(|link| link.object() == Some(id))
            {
                let path = format!("{path}/{}", link.name);
                self.paths().add(id, &path);
                return Ok(path);
            }
            group = path.rsplit_once('/').map(|(above, _)| above);
        }
        Ok(self.path_of(id)?.to_string())
    }

    /// The object whose header lies at `address`. It needs no name: an object exists if it can be read, and a damaged one if a link
    /// leads to it.
    pub(crate) fn at_address(&self, address: u64) -> Option<ObjectId> {
        let id = self.tree().at_address(address)?;
        let is_named = || self.path_of(id).is_ok_and(|path| is_of_links(&path));
        (self.known_path(id).is_some() || self.tree().object(id).is_ok() || is_named()).then_some(id)
    }
}
