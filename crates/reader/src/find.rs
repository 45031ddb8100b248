//! Finding objects by path: through hard, soft and external links.

use std::collections::HashMap;

use hyperslab_array::shown::shown;
use hyperslab_array::suggest::suggestion;
use hyperslab_array::{Error, Result};
use hyperslab_formats::{Content, Dataset, Group, Link, LinkTarget, ObjectId};

use crate::File;

/// Groups of up to this many links are searched linearly.
const HASHED_LINKS_MIN: usize = 32;

/// Where a link leads.
enum Step {
    /// To an object of the same file.
    Here(ObjectId),
    /// To one that a soft or external link names, perhaps in another file.
    Far(Found),
}

/// An object found by path, and the file that holds it (another one after an external link).
#[derive(Clone)]
#[non_exhaustive]
pub struct Found {
    /// The file.
    pub file: File,
    /// The object in that file.
    pub object: ObjectId,
}

impl Found {
    /// The object `object` of `file`.
    pub fn new(file: File, object: ObjectId) -> Self {
        Self { file, object }
    }
    /// The dataset.
    ///
    /// # Errors
    /// `InvalidInput` if the object is something else; the object's own error if it cannot be read.
    pub fn dataset(&self) -> Result<&Dataset> {
        self.file.dataset(self.object)
    }
}

impl File {
    /// Finds an object by absolute path, following hard, soft and external links.
    ///
    /// # Errors
    /// `NotFound`, which names the missing part and similar names; `Unsupported` for a user-defined link, or if the
    /// path policy forbids a linked file; `LimitExceeded` for too many links.
    pub fn find(&self, path: &str) -> Result<Found> {
        let mut budget = self.session().limits().links_followed;
        self.find_from(ObjectId(0), path, &mut budget).map_err(|error| error.at_object(shown(path)).in_file(self.name()))
    }

    fn find_from(&self, group: ObjectId, path: &str, budget: &mut u32) -> Result<Found> {
        let mut object = if path.starts_with('/') { ObjectId(0) } else { group };
        // Set after the path has led to another file.
        let mut other: Option<Self> = None;
        for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
            match other.as_ref().unwrap_or(self).step(object, part, budget)? {
                Step::Here(next) => object = next,
                Step::Far(found) => (other, object) = (Some(found.file), found.object),
            }
        }
        Ok(Found { file: other.unwrap_or_else(|| self.clone()), object })
    }

    fn step(&self, group: ObjectId, name: &str, budget: &mut u32) -> Result<Step> {
        let object = self.object(group)?;
        let Some(members) = self.tree().group(group) else {
            if let Content::Unreadable(error) = &object.content {
                return Err(error.clone().at_object(&object.path));
            }
            return Err(Error::not_found(format!("{} is no group, so it has no {:?}", shown(&object.path), shown(name))));
        };
        let Some(link) = self.link(group, members, name) else {
            return Err(Error::not_found(missing(name, &object.path, &members.links)));
        };
        if !matches!(link.target, LinkTarget::Hard(_)) {
            *budget = budget.checked_sub(1).ok_or_else(|| Error::limit_exceeded("too many links to follow: do they go in a circle?"))?;
        }
        match &link.target {
            LinkTarget::Hard(object) => Ok(Step::Here(*object)),
            LinkTarget::Soft(path) => self.find_from(group, path, budget).map(Step::Far),
            LinkTarget::External { file, path } => {
                let other = self.linked_file(file)?;
                let found = other.find_from(ObjectId(0), path, budget);
                found.map(Step::Far).map_err(|error| error.in_file(other.name()))
            }
            LinkTarget::UserDefined(class) => Err(Error::unsupported(format!("user-defined link of class {class} at {name:?}"))),
        }
    }

    /// The link called `name` of a group; hashed for large groups.
    fn link<'a>(&self, group: ObjectId, members: &'a Group, name: &str) -> Option<&'a Link> {
        if members.links.len() <= HASHED_LINKS_MIN {
            return members.link(name);
        }
        let links = self.link_names(|| {
            let groups = self.tree().objects.iter().enumerate().filter_map(|(index, object)| match &object.content {
                Content::Group(group) if group.links.len() > HASHED_LINKS_MIN => Some((ObjectId(index), group)),
                _ => None,
            });
            let by_name = |group: &Group| {
                let mut names = HashMap::with_capacity(group.links.len());
                group.links.iter().enumerate().for_each(|(index, link)| {
                    names.entry(link.name.clone()).or_insert(index);
                });
                names
            };
            groups.map(|(id, group)| (id, by_name(group))).collect()
        });
        members.links.get(*links.get(&group)?.get(name)?)
    }
}

fn missing(name: &str, group: &str, links: &[Link]) -> String {
    let near = suggestion(name, links.iter().map(|link| link.name.as_str()), 5);
    let empty = if links.is_empty() { ", which is empty" } else { "" };
    format!("there is no {:?} in {}{empty}{near}", shown(name), shown(group))
}
