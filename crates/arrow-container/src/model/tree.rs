//! All objects of a file.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::link::{Link, ObjectId, ROOT, Target};
use super::object::{Body, Object};
use crate::error::{Result, error};

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
    /// Number of hard links to each object. Objects without an entry have none.
    hard_links: HashMap<ObjectId, u32>,
    /// Objects that have lost a link, or never had one.
    unlinked: BTreeSet<ObjectId>,
    /// The selections of region references, numbered from 1.
    pub(crate) regions: Vec<Region>,
}

impl Tree {
    /// A tree with only a root group.
    pub(crate) fn new(creation: Vec<u8>, root: Object) -> Self {
        Self { objects: BTreeMap::from([(ROOT, root)]), next: ROOT + 1, creation, ..Self::default() }
    }

    /// A tree without objects, whose next object gets the ID `next`.
    pub(crate) fn without_objects(next: ObjectId, creation: Vec<u8>, regions: Vec<Region>) -> Self {
        Self { next, creation, regions, ..Self::default() }
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
                links.insert(name.to_owned(), Link { order: *next_order, utf8, target: target.clone() });
                *next_order += 1;
            }
            _ => return Err(error!("the object is not a group")),
        }
        self.count_link(&target);
        Ok(())
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
        self.uncount_link(&removed.target);
        Ok(removed)
    }

    /// Adds a link that another tree or a file has, with its order. The group has no link of this name.
    ///
    /// # Errors
    /// If `group` is not a group.
    pub fn restore_link(&mut self, group: ObjectId, name: String, link: Link) -> Result<()> {
        let target = link.target.clone();
        match self.objects.get_mut(&group).map(|object| &mut object.body) {
            Some(Body::Group { links, .. }) => links.insert(name, link),
            _ => return Err(error!("the group of a link does not exist")),
        };
        self.count_link(&target);
        Ok(())
    }

    fn count_link(&mut self, target: &Target) {
        if let Target::Hard(id) = target {
            *self.hard_links.entry(*id).or_default() += 1;
        }
    }

    fn uncount_link(&mut self, target: &Target) {
        if let Target::Hard(id) = target {
            if let Some(count) = self.hard_links.get_mut(id) {
                *count = count.saturating_sub(1);
            }
            self.unlinked.insert(*id);
        }
    }

    /// The reference count of an object: hard links, uses of a committed datatype, and `H5Oincr_refcount`.
    pub fn references(&self, id: ObjectId) -> u32 {
        let links = self.hard_links.get(&id).map_or(0, |count| i64::from(*count));
        let uses = || {
            let uses = self.objects.values().map(|object| object.committed_datatypes().filter(|used| *used == id).count());
            uses.sum::<usize>() as i64
        };
        let object = self.objects.get(&id);
        // Only datatypes are used by other objects: this looks at all of them.
        let uses = if matches!(object.map(|object| &object.body), Some(Body::Datatype(_))) { uses() } else { 0 };
        let extra = object.map_or(0, |object| object.extra_references);
        u32::try_from(links + uses + extra + i64::from(id == ROOT)).unwrap_or(0)
    }

    /// Records that an object may have no reference: [`Tree::remove_unreferenced`] then looks at it.
    pub fn suspect(&mut self, id: ObjectId) {
        self.unlinked.insert(id);
    }

    /// Removes unreachable objects, except open ones. Looks only at objects that have lost a link or
    /// were [suspected](Self::suspect), not at all of them.
    pub fn remove_unreferenced(&mut self, is_open: impl Fn(ObjectId) -> bool) {
        let mut pending = std::mem::take(&mut self.unlinked);
        while let Some(id) = pending.pop_first() {
            if !self.objects.contains_key(&id) || self.references(id) > 0 {
                continue;
            }
            if is_open(id) {
                self.unlinked.insert(id);
                continue;
            }
            let Some(object) = self.objects.remove(&id) else { continue };
            self.hard_links.remove(&id);
            // What it led to may have no other reference.
            pending.extend(object.committed_datatypes());
            if let Body::Group { links, .. } = &object.body {
                for link in links.values() {
                    self.uncount_link(&link.target);
                    if let Target::Hard(to) = link.target {
                        self.unlinked.remove(&to);
                        pending.insert(to);
                    }
                }
            }
        }
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
