//! Finding objects by path: through hard, soft and external links.

use std::borrow::Cow;
use std::sync::Arc;

use hyperslab_array::name::{address_in_path, path_of_address};
use hyperslab_array::shown::shown;
use hyperslab_array::suggest::suggestion;
use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_formats::{Dataset, LinkTarget, Links, Object, ObjectId};

use crate::File;

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
    pub fn dataset(&self) -> Result<Arc<Dataset>> {
        self.file.dataset(self.object)
    }
    /// The absolute path of the object in its file.
    ///
    /// # Errors
    /// As of [`File::path_of`].
    pub fn path(&self) -> Result<Arc<str>> {
        self.file.path_of(self.object)
    }
}

/// One search for a path.
struct Search {
    /// Soft and external links that may still be followed.
    links_left: u32,
    /// Whether the error for a missing name suggests similar ones, which are all listed for that.
    suggests: bool,
}

/// The place that a search has reached.
struct Place {
    file: File,
    object: ObjectId,
    /// Path of the object in its file, without a slash at the end: empty for the root.
    path: String,
}

impl File {
    /// Finds an object by absolute path, following hard, soft and external links.
    ///
    /// # Errors
    /// `NotFound`, which names the missing part and similar names; `Unsupported` for a user-defined link, or if the
    /// path policy forbids a linked file; `LimitExceeded` for too many links.
    pub fn find(&self, path: &str) -> Result<Found> {
        self.search(path, true)
    }

    /// As [`File::find`], for searches of many paths: the error for a missing name suggests no similar ones, which costs a walk over all names.
    ///
    /// # Errors
    /// As [`File::find`].
    pub fn find_without_suggestions(&self, path: &str) -> Result<Found> {
        self.search(path, false)
    }

    /// Whether there is an object with this absolute path. A link that leads nowhere leads to no object.
    ///
    /// # Errors
    /// Those of groups and links on the way that cannot be read.
    pub fn exists(&self, path: &str) -> Result<bool> {
        match self.search(path, false) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn search(&self, path: &str, suggests: bool) -> Result<Found> {
        self.check_open()?;
        let mut search = Search { links_left: self.session().limits().links_followed, suggests };
        let root = Place { file: self.clone(), object: self.root(), path: String::new() };
        let found = root.find(path, &mut search).map_err(|error| error.at_object(shown(path)).in_file(self.name()))?;
        let Place { file, object, path } = found;
        file.paths().add(object, if path.is_empty() { "/" } else { &path });
        Ok(Found { file, object })
    }
}

impl Place {
    fn find(self, path: &str, search: &mut Search) -> Result<Self> {
        let mut place = match path.starts_with('/') {
            true => Self { object: self.file.root(), path: String::new(), ..self },
            false => self,
        };
        for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
            place = place.step(part, search)?;
        }
        Ok(place)
    }

    fn step(mut self, name: &str, search: &mut Search) -> Result<Self> {
        fn here(path: &str) -> Cow<'_, str> {
            shown(if path.is_empty() { "/" } else { path })
        }
        // An object without a name, in the path that `File::path_of` gives it.
        if self.path.is_empty()
            && let Some(address) = address_in_path(name)
        {
            let object = self.file.at_address(address).ok_or_else(|| Error::not_found(format!("there is no object at the address {address:#x}")))?;
            return Ok(Self { object, path: path_of_address(address), ..self });
        }
        match self.file.object(self.object).map_err(|error| error.at_object(&self.path))? {
            Object::Group => {}
            _ => return Err(Error::not_found(format!("{} is not a group, so it has no {:?}", here(&self.path), shown(name)))),
        }
        let Some(link) = self.file.link(self.object, name)? else {
            let links = if search.suggests { self.file.links(self.object).ok() } else { None };
            return Err(Error::not_found(missing(name, &here(&self.path), links.as_deref())));
        };
        if !matches!(link.target, LinkTarget::Hard(_)) {
            search.links_left = search.links_left.checked_sub(1).ok_or_else(|| Error::limit_exceeded("too many links to follow: do they go in a circle?"))?;
        }
        match link.target {
            LinkTarget::Hard(object) => {
                self.path.push('/');
                self.path.push_str(name);
                Ok(Self { object, ..self })
            }
            LinkTarget::Soft(path) => self.find(&path, search),
            LinkTarget::External { file, path } => {
                let other = self.file.linked_file(&file)?;
                let root = Self { object: other.root(), file: other.clone(), path: String::new() };
                root.find(&path, search).map_err(|error| error.in_file(other.name()))
            }
            LinkTarget::UserDefined(class) => Err(Error::unsupported(format!("user-defined link of class {class} at {name:?}"))),
        }
    }
}

fn missing(name: &str, group: &str, links: Option<&Links>) -> String {
    let suggest = |links: &Links| match links.as_slice() {
        [] => ", which is empty".to_owned(),
        links => suggestion(name, links.iter().map(|link| link.name.as_str()), 5),
    };
    format!("there is no {:?} in {group}{}", shown(name), links.map(suggest).unwrap_or_default())
}
