//! From a place and a path to an object: hard, soft and external links.

use std::sync::Arc;

use super::state::Container;
use crate::error::{Result, error};
use crate::lock;
use crate::model::{Link, ObjectId, ROOT, Target, path_names};

/// HDF5's class of external links.
pub(crate) const EXTERNAL: i32 = 64;

/// An object of an open file.
#[derive(Debug, Clone)]
pub struct Place {
    /// The file.
    pub container: Arc<Container>,
    /// The object in it.
    pub object: ObjectId,
}

/// Opens the file that an external link names: (the file that the link is in, the name in the link).
pub type OpenExternal<'a> = &'a dyn Fn(&Arc<Container>, &str) -> Result<Arc<Container>>;

/// How to follow links.
pub struct Walk<'a> {
    /// How many soft and external links may yet be followed.
    pub links_left: usize,
    /// Opens files that external links name.
    pub open: OpenExternal<'a>,
}

/// The file and the path in the value of an external link.
pub(crate) fn external_parts(value: &[u8]) -> Option<(&str, &str)> {
    let mut words = value.get(1..)?.split(|byte| *byte == 0);
    Some((std::str::from_utf8(words.next()?).ok()?, std::str::from_utf8(words.next()?).ok()?))
}

/// Makes a group of this name that is missing on the way.
pub(crate) type Missing<'a> = Option<&'a mut dyn FnMut(&Place, &str) -> Result<()>>;

impl Walk<'_> {
    /// Where a link leads from the group that it is in.
    pub fn follow(&mut self, from: &Place, name: &str, link: &Link) -> Result<Place> {
        let mut spend = || -> Result<()> {
            self.links_left = self.links_left.checked_sub(1).ok_or_else(|| error!("too many soft links one after the other at '{name}'"))?;
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

    /// The object at a path.
    pub fn resolve(&mut self, from: &Place, path: &str) -> Result<Place> {
        let mut at = from.clone();
        if path.starts_with('/') {
            at.object = ROOT;
        }
        for name in path_names(path) {
            let link = lock(&at.container.tree).links(at.object)?.get(name).cloned();
            let link = link.ok_or_else(|| error!("there is no link '{name}' (in '{path}')"))?;
            at = self.follow(&at, name, &link)?;
        }
        Ok(at)
    }

    /// The group in which a path ends, and the last name; `missing` makes groups that are not there.
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
            let link = link.ok_or_else(|| error!("there is no link '{name}' (in '{path}')"))?;
            at = self.follow(&at, name, &link)?;
        }
        Err(error!("'{path}' names no link"))
    }
}
