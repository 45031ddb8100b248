//! All objects of a file.

use std::collections::{BTreeMap, BTreeSet};

use super::link::{Link, ObjectId, ROOT, Target};
use super::object::{Body, Object};
use crate::error::{Result, error};
use crate::lock;

/// The selection of a region reference (`H5R_DATASET_REGION1`), which refers to it by number.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Region {
    /// The bytes of `H5Sencode2`.
    pub selection: Vec<u8>,
}

impl Region {
    /// A selection in the encoding of `H5Sencode2`.
    pub fn new(selection: Vec<u8>) -> Self {
        Self { selection }
    }
}

/// The objects of a file and their links.
#[derive(Debug, Default)]
pub struct Tree {
    /// All objects.
    pub objects: BTreeMap<ObjectId, Object>,
    pub(crate) next: ObjectId,
    /// The file creation property list, encoded by `H5Pencode2`.
    pub creation: Vec<u8>,
    /// Upper bound of the number of objects without a link.
    pub unlinked: usize,
    /// The selections of region references, numbered from 1.
    pub(crate) regions: Vec<Region>,
}

impl Tree {
    /// A tree with only a root group.
    pub(crate) fn new(creation: Vec<u8>, root: Object) -> Self {
        Self { objects: BTreeMap::from([(ROOT, root)]), next: ROOT + 1, creation, unlinked: 0, regions: Vec::new() }
    }

    /// Stores a selection and returns its number; an equal one is reused.
    pub fn add_region(&mut self, region: Region) -> u32 {
        let place = self.regions.iter().rposition(|known| *known == region).unwrap_or_else(|| {
            self.regions.push(region);
            self.regions.len() - 1
        });
        u32::try_from(place + 1).unwrap_or(0)
    }

    /// The selection with this number.
    pub fn region(&self, number: u32) -> Option<&Region> {
        self.regions.get(usize::try_from(number.checked_sub(1)?).ok()?)
    }

    /// Adds an object that has no link yet.
    pub fn add(&mut self, object: Object) -> ObjectId {
        let id = self.next;
        self.next += 1;
        self.objects.insert(id, object);
        id
    }

    /// The object with this ID.
    ///
    /// # Errors
    /// If it was deleted.
    pub fn object(&self, id: ObjectId) -> Result<&Object> {
        self.objects.get(&id).ok_or_else(|| error!("the object was deleted"))
    }

    /// The object with this ID, mutable.
    ///
    /// # Errors
    /// If it was deleted.
    pub fn object_mut(&mut self, id: ObjectId) -> Result<&mut Object> {
        self.objects.get_mut(&id).ok_or_else(|| error!("the object was deleted"))
    }

    /// The links of a group.
    ///
    /// # Errors
    /// If the object was deleted or is not a group.
    pub fn links(&self, id: ObjectId) -> Result<&BTreeMap<String, Link>> {
        match &self.object(id)?.body {
            Body::Group { links, .. } => Ok(links),
            _ => Err(error!("the object is not a group")),
        }
    }

    /// Adds a link.
    ///
    /// # Errors
    /// If `group` is not a group, it has a link of this name, or the name is empty or `.`.
    pub fn link(&mut self, group: ObjectId, name: &str, utf8: bool, target: Target) -> Result<()> {
        match &mut self.object_mut(group)?.body {
            Body::Group { links, next_order, .. } => {
                if name.is_empty() || name == "." {
                    return Err(error!("'{name}' is not a valid name for a link"));
                }
                if links.contains_key(name) {
                    return Err(error!("the link '{name}' already exists"));
                }
                links.insert(name.to_owned(), Link { order: *next_order, utf8, target });
                *next_order += 1;
                Ok(())
            }
            _ => Err(error!("the object is not a group")),
        }
    }

    /// Removes a link and returns it.
    ///
    /// # Errors
    /// If `group` is not a group, or has no such link.
    pub fn unlink(&mut self, group: ObjectId, name: &str) -> Result<Link> {
        let removed = match &mut self.object_mut(group)?.body {
            Body::Group { links, next_order, .. } => {
                let removed = links.remove(name);
                if links.is_empty() {
                    *next_order = 0;
                }
                removed
            }
            _ => return Err(error!("the object is not a group")),
        };
        let removed = removed.ok_or_else(|| error!("link '{name}' not found"))?;
        if let Target::Hard(_) = removed.target {
            self.unlinked += 1;
        }
        Ok(removed)
    }

    /// The reference count of an object: hard links, uses of a committed datatype, and `H5Oincr_refcount`.
    pub fn references(&self, id: ObjectId) -> u32 {
        let hard = Target::Hard(id);
        let links = self.objects.values().filter_map(|object| match &object.body {
            Body::Group { links, .. } => Some(links.values().filter(|link| link.target == hard).count()),
            _ => None,
        });
        let uses = self.objects.values().map(|object| {
            let own = matches!(&object.body, Body::Dataset(dataset) if dataset.datatype.committed == Some(id));
            usize::from(own) + object.attributes.values().filter(|attribute| lock(attribute).datatype.committed == Some(id)).count()
        });
        let uses = if matches!(self.objects.get(&id).map(|object| &object.body), Some(Body::Datatype(_))) { uses.sum::<usize>() as i64 } else { 0 };
        let extra = self.objects.get(&id).map_or(0, |object| object.extra_references);
        let root = i64::from(id == ROOT);
        u32::try_from(links.sum::<usize>() as i64 + uses + extra + root).unwrap_or(0)
    }

    /// The objects to which nothing leads: those whose [`references`](Self::references) are 0. One pass over all of them.
    pub fn unreferenced(&self) -> BTreeSet<ObjectId> {
        let mut counts: BTreeMap<ObjectId, i64> = self.objects.iter().map(|(id, object)| (*id, object.extra_references + i64::from(*id == ROOT))).collect();
        let mut count = |id: ObjectId| {
            if let Some(count) = counts.get_mut(&id) {
                *count += 1;
            }
        };
        for object in self.objects.values() {
            match &object.body {
                Body::Group { links, .. } => links.values().for_each(|link| {
                    if let Target::Hard(to) = link.target {
                        count(to);
                    }
                }),
                Body::Dataset(dataset) => dataset.datatype.committed.into_iter().for_each(&mut count),
                Body::Datatype(_) => {}
            }
            object.attributes.values().filter_map(|attribute| lock(attribute).datatype.committed).for_each(&mut count);
        }
        counts.into_iter().filter(|(_, count)| *count <= 0).map(|(id, _)| id).collect()
    }

    /// The objects that hard links reach from the root, and those that `H5Oincr_refcount` keeps, each with the first path
    /// that leads to it.
    pub fn reachable(&self) -> BTreeMap<ObjectId, String> {
        let mut found = BTreeMap::from([(ROOT, "/".to_owned())]);
        let mut pending = std::collections::VecDeque::from([ROOT]);
        for (id, object) in &self.objects {
            if object.extra_references > 0 && *id != ROOT {
                found.insert(*id, String::new());
                pending.push_back(*id);
            }
        }
        while let Some(id) = pending.pop_front() {
            let Ok(links) = self.links(id) else { continue };
            let base = found.get(&id).cloned().unwrap_or_default();
            for (name, link) in links {
                if let Target::Hard(to) = link.target {
                    let path = if base == "/" { format!("/{name}") } else { format!("{base}/{name}") };
                    let new = found.get(&to).is_none_or(|old| old.is_empty() && base.starts_with('/'));
                    if new {
                        found.insert(to, path);
                        pending.push_back(to);
                    }
                }
            }
        }
        found
    }
}
