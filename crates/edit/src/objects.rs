//! Objects and links of an existing file: created, renamed and removed.

use hyperslab_array::{Datatype, Elements, Error, HeapObjects, Result};
use hyperslab_formats::hdf5::edit::{
    FileEdit, count_link, create_dataset, create_datatype, create_group, insert_link, release_link, remove_link, tracks_links,
};
use hyperslab_formats::hdf5::writer::NewDataset;
use hyperslab_formats::{LinkTarget, ObjectId};
use hyperslab_reader::File;

use crate::editor::Editor;
use crate::heap::{self, OpenCollection, References};

impl Editor {
    /// Creates a group at `path`, and the groups above it that are not there. A `tracked` one records the order in which its links and
    /// attributes are created.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid name, or one that is there; `Unsupported` for a group that cannot be edited.
    pub fn create_group(&mut self, path: &str, tracked: bool) -> Result<ObjectId> {
        self.add(path, |file, _| create_group(file, tracked, tracked))
    }

    /// Creates a dataset at `path` without values, and the groups above it that are not there. Its datatype may be the one that is committed at
    /// another path. A fill value of variable length points at objects of `fill`.
    ///
    /// # Errors
    /// As [`Editor::create_group`]; `Unsupported` for what HDF5 cannot store.
    pub fn create_dataset(&mut self, path: &str, dataset: &NewDataset, fill: &HeapObjects, committed: Option<&str>, tracked: bool) -> Result<ObjectId> {
        let committed = committed.map(|committed| self.find(committed)).transpose()?;
        let mut open = self.heap.clone();
        let made = self.add(path, |file, _| create_filled(file, dataset, fill, &mut open, committed, tracked))?;
        self.heap = open;
        Ok(made)
    }

    /// Commits a datatype at `path`.
    ///
    /// # Errors
    /// As [`Editor::create_dataset`].
    pub fn create_datatype(&mut self, path: &str, datatype: &Datatype) -> Result<ObjectId> {
        self.add(path, |file, _| create_datatype(file, datatype))
    }

    /// Creates a link at `path`, and the groups above it that are not there. The object of a hard link gets one more name.
    ///
    /// # Errors
    /// As [`Editor::create_group`].
    pub fn create_link(&mut self, path: &str, target: &LinkTarget) -> Result<()> {
        self.change_at(path, |_, file, view| {
            let (group, name) = parent(file, view, path)?;
            if let LinkTarget::Hard(object) = target {
                count_link(file, *object)?;
            }
            insert_link(file, group, name, target)
        })
    }

    /// Removes the link at `path`. An object to which no other hard link leads is removed, with all that only it led to. Returns the objects that
    /// were removed.
    ///
    /// # Errors
    /// `NotFound`; `Unsupported` for a group or an object that cannot be edited.
    pub fn remove(&mut self, path: &str) -> Result<Vec<ObjectId>> {
        self.change_at(path, |_, file, view| {
            let (group, name) = existing_parent(view, path)?;
            match remove_link(file, group, name)? {
                LinkTarget::Hard(object) => release_link(file, object),
                _ => Ok(Vec::new()),
            }
        })
    }

    /// Gives the link at `path` another name, and creates the groups above it that are not there.
    ///
    /// # Errors
    /// `NotFound`; as [`Editor::create_group`].
    pub fn rename(&mut self, path: &str, to: &str) -> Result<()> {
        let (plain, plain_to) = (normal(path), normal(to));
        self.change_at(path, |_, file, view| {
            let (from_group, from_name) = existing_parent(view, path)?;
            let link = view.link(from_group, from_name)?.ok_or_else(|| Error::not_found("there is no link of this name"))?;
            if plain == plain_to {
                return Ok(());
            }
            if plain_to.starts_with(&format!("{plain}/")) && matches!(link.target, LinkTarget::Hard(object) if view.object(object)?.is_group()) {
                return Err(Error::invalid_input(format!("a group cannot be moved into itself: {to:?}")));
            }
            let (group, name) = parent(file, view, to)?;
            insert_link(file, group, name, &link.target)?;
            remove_link(file, from_group, from_name).map(drop)
        })
    }

    pub(crate) fn add(&mut self, path: &str, make: impl FnOnce(&FileEdit<'_>, &File) -> Result<ObjectId>) -> Result<ObjectId> {
        self.change_at(path, |_, file, view| {
            let (group, name) = parent(file, view, path)?;
            // A name that is there is found before anything is made.
            if view.link(group, name).is_ok_and(|link| link.is_some()) {
                return Err(Error::invalid_input(format!("there is an object of the name {name:?} already")));
            }
            let object = make(file, view)?;
            insert_link(file, group, name, &LinkTarget::Hard(object))?;
            Ok(object)
        })
    }
}

/// Creates a dataset whose fill value points at objects of `fill`.
pub(crate) fn create_filled(
    file: &FileEdit<'_>,
    dataset: &NewDataset,
    fill: &HeapObjects,
    open: &mut OpenCollection,
    committed: Option<ObjectId>,
    tracked: bool,
) -> Result<ObjectId> {
    let Some(bytes) = dataset.fill_value.as_ref().filter(|_| dataset.datatype.uses_heap() || dataset.datatype.has_references()) else {
        return create_dataset(file, dataset, committed, tracked);
    };
    let elements = Elements { datatype: dataset.datatype.clone(), bytes: bytes.clone(), heap: fill.clone() };
    let stored = heap::store(file, &elements, References::Named, open)?;
    create_dataset(file, &NewDataset { fill_value: Some(stored), ..dataset.clone() }, committed, tracked)
}

/// The parts of a path.
fn parts(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !part.is_empty() && *part != ".").collect()
}

fn normal(path: &str) -> String {
    format!("/{}", parts(path).join("/"))
}

/// The group above `path`, and the name in it.
fn existing_parent<'p>(view: &File, path: &'p str) -> Result<(ObjectId, &'p str)> {
    let mut above = parts(path);
    let name = above.pop().ok_or_else(|| Error::invalid_input("the root group has no name that could change"))?;
    let found = view.find(&format!("/{}", above.join("/")))?;
    if found.file != *view {
        return Err(Error::unsupported("this group lies in another file: open that for editing"));
    }
    Ok((found.object, name))
}

/// The group above `path`, which is created if it is not there, and the name in it.
pub(crate) fn parent<'p>(file: &FileEdit<'_>, view: &File, path: &'p str) -> Result<(ObjectId, &'p str)> {
    let mut above = parts(path);
    let name = above.pop().ok_or_else(|| Error::invalid_input("the root group is there already"))?;
    let mut group = view.root();
    for (number, part) in above.iter().enumerate() {
        if view.link(group, part)?.is_none() {
            return above
                .iter()
                .skip(number)
                .try_fold(group, |group, part| {
                    // As in HDF5, it tracks the order of links if the group above does.
                    let made = create_group(file, tracks_links(file, group)?, false)?;
                    insert_link(file, group, part, &LinkTarget::Hard(made))?;
                    Ok(made)
                })
                .map(|group| (group, name));
        }
        let here = format!("/{}", above.get(..=number).unwrap_or_default().join("/"));
        let found = view.find(&here)?;
        if found.file != *view {
            return Err(Error::unsupported(format!("{here} lies in another file: open that for editing")));
        }
        if !view.object(found.object)?.is_group() {
            return Err(Error::invalid_input(format!("{here} is not a group")));
        }
        group = found.object;
    }
    Ok((group, name))
}
