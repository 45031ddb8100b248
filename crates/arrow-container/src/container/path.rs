//! Resolves paths: hard, soft and external links.

use std::sync::Arc;

use super::state::Container;
use crate::error::{Result, error};
use crate::lock;
use crate::model::{Link, ObjectId, ROOT, Target, path_names};

/// HDF5's link class of external links.
pub(crate) const EXTERNAL: i32 = 64;

/// An object of an open container.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Place {
    /// The container.
    pub container: Arc<Container>,
    /// The object in it.
    pub object: ObjectId,
}

/// Opens the target file of an external link. Arguments: the container that has the link, and the file name in the link.
pub type OpenExternal<'a> = &'a dyn Fn(&Arc<Container>, &str) -> Result<Arc<Container>>;

/// Follows links.
#[non_exhaustive]
pub struct Walk<'a> {
    /// How many more soft and external links may be followed.
    pub links_left: usize,
    /// Opens the target files of external links.
    pub open: OpenExternal<'a>,
}

/// The file name and the path in the value of an external link.
pub fn external_parts(value: &[u8]) -> Option<(&str, &str)> {
    let mut words = value.get(1..)?.split(|byte| *byte == 0);
    Some((std::str::from_utf8(words.next()?).ok()?, std::str::from_utf8(words.next()?).ok()?))
}

/// Creates a missing intermediate group of this name.
pub(crate) type Missing<'a> = Option<&'a mut dyn FnMut(&Place, &str) -> Result<()>>;

impl Place {
    /// An object of an open container.
    pub fn new(container: Arc<Container>, object: ObjectId) -> Self {
        Self { container, object }
    }
}

impl<'a> Walk<'a> {
    /// Allows `links_left` soft and external links; `open` opens the target files of external links.
    pub fn new(links_left: usize, open: OpenExternal<'a>) -> Self {
        Self { links_left, open }
    }
}

impl Walk<'_> {
    /// Follows a link in the group `from`.
    ///
    /// # Errors
    /// If the target does not exist, too many links were followed, or a program defines the class of the link.
    pub fn follow(&mut self, from: &Place, name: &str, link: &Link) -> Result<Place> {
        let mut spend = || -> Result<()> {
            self.links_left = self.links_left.checked_sub(1).ok_or_else(|| error!("too many soft links in a row at '{name}'"))?;
            Ok(())
        };
        match &link.target {
            Target::Hard(object) => Ok(Place { container: Arc::clone(&from.container), object: *object }),
            Target::Soft(path) => {
                spend()?;
                self.resolve(from, path)
            }
            Target::User(EXTERNAL, value) => {
                spend()?;
                let (file, path) = external_parts(value).ok_or_else(|| error!("the external link '{name}' is damaged"))?;
                let container = (self.open)(&from.container, file)?;
                self.resolve(&Place { container, object: ROOT }, path)
            }
            Target::User(class, _) => Err(error!("the link '{name}' is of class {class}, which a program defines; this connector cannot follow it")),
        }
    }

    /// The object at a path, which may be absolute or relative to `from`.
    ///
    /// # Errors
    /// As for [`Walk::follow`].
    pub fn resolve(&mut self, from: &Place, path: &str) -> Result<Place> {
        let mut at = from.clone();
        if path.starts_with('/') {
            at.object = ROOT;
        }
        for name in path_names(path) {
            let link = lock(&at.container.tree).links(at.object)?.get(name).cloned();
            let link = link.ok_or_else(|| error!("link '{name}' not found (in '{path}')"))?;
            at = self.follow(&at, name, &link)?;
        }
        Ok(at)
    }

    /// The parent group of a path, and the last name in it. `missing` creates intermediate groups that do not exist.
    ///
    /// # Errors
    /// As for [`Walk::follow`], or if the path has no names.
    pub fn parent<'p>(&mut self, from: &Place, path: &'p str, mut missing: Missing<'_>) -> Result<(Place, &'p str)> {
        let mut at = from.clone();
        if path.starts_with('/') {
            at.object = ROOT;
        }
        let mut all = path_names(path).peekable();
        while let Some(name) = all.next() {
            if all.peek().is_none() {
                return Ok((at, name));
            }
            let mut link = lock(&at.container.tree).links(at.object)?.get(name).cloned();
            if let (None, Some(make)) = (&link, &mut missing) {
                make(&at, name)?;
                link = lock(&at.container.tree).links(at.object)?.get(name).cloned();
            }
            let link = link.ok_or_else(|| error!("link '{name}' not found (in '{path}')"))?;
            at = self.follow(&at, name, &link)?;
        }
        Err(error!("the path '{path}' does not name a link"))
    }
}
