//! Looks up, links, moves and removes objects of the file that is being written.

use hyperslab_array::{Dataspace, Datatype, Error, ReferenceKind, Result};

use super::definition::DatasetDefinition;
use super::file_writer::FileWriter;
use super::object::{AttributeEntry, ObjectEntry};
use super::references::links::Link;
use super::references::object_path::normalized_path;
use super::references::object_references::REFERENCE_BYTES;

/// Maximum number of links followed to resolve a path.
const MAX_LINKS: u32 = 64;

/// Kind of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "HDF5 has no other objects")]
pub enum ObjectKind {
    /// A group.
    Group,
    /// A dataset.
    Dataset,
    /// A committed datatype.
    Datatype,
}

/// An object of the file that is being written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObjectInfo {
    /// Its kind.
    pub kind: ObjectKind,
    /// Unique in the file; not reused after the object is removed.
    pub id: u64,
    /// Absolute path without the leading `/`, with links resolved.
    pub path: String,
}

impl FileWriter {
    /// The object at a path.
    ///
    /// # Errors
    /// `NotFound` if it does not exist.
    pub fn look_up(&self, path: &str) -> Result<ObjectInfo> {
        let path = self.resolve(path)?;
        let object = self.objects.get(&path).ok_or_else(|| Error::internal("an object that was removed"))?;
        let kind = match (object.dataset.is_some() || object.references.is_some(), &object.datatype) {
            (true, _) => ObjectKind::Dataset,
            (false, Some(_)) => ObjectKind::Datatype,
            (false, None) => ObjectKind::Group,
        };
        Ok(ObjectInfo { kind, id: object.id, path })
    }

    /// The datatype that is committed at a path; `None` if there is an object of another kind.
    ///
    /// # Errors
    /// `NotFound` if there is no such object.
    pub fn datatype(&mut self, path: &str) -> Result<Option<Datatype>> {
        Ok(self.object(path)?.datatype.clone())
    }

    /// The definition of a dataset that [`Self::create_references`] made; `None` if there is another object.
    ///
    /// # Errors
    /// `NotFound` if there is no such object.
    pub fn references(&mut self, path: &str) -> Result<Option<DatasetDefinition>> {
        let datatype = Datatype::Reference { size: REFERENCE_BYTES, kind: ReferenceKind::Object };
        let references = self.object(path)?.references.as_ref();
        Ok(references.map(|references| DatasetDefinition::new(datatype, Dataspace::fixed(references.parts().0.to_vec()))))
    }

    /// Whether a dataset is virtual.
    ///
    /// # Errors
    /// `NotFound` if there is no such dataset.
    pub fn is_virtual(&mut self, path: &str) -> Result<bool> {
        Ok(self.dataset(path)?.is_virtual())
    }

    /// The path of the object with this id; `None` if it was removed.
    pub fn path_of(&self, id: u64) -> Option<String> {
        self.objects.iter().find(|(_, object)| object.id == id && object.link.is_none()).map(|(path, _)| format!("/{path}"))
    }

    /// Names of the members of a group, with their targets if they are links: in the order of creation if the group records it, else in
    /// the order of the names, as readers list them.
    ///
    /// # Errors
    /// `NotFound` if there is no such object; `InvalidInput` if it is not a group.
    pub fn members(&self, path: &str) -> Result<Vec<(String, Option<Link>)>> {
        let prefix = self.prefix_of_members(path)?;
        let mut members: Vec<(u64, &str, &ObjectEntry)> = Vec::new();
        for (name, object) in self.objects.range(prefix.clone()..) {
            let Some(name) = name.strip_prefix(&prefix) else { break };
            if !name.is_empty() && !name.contains('/') {
                members.push((object.created, name, object));
            }
        }
        if self.objects.get(prefix.trim_end_matches('/')).is_some_and(|group| group.tracked) {
            members.sort_by_key(|(created, ..)| *created);
        }
        Ok(members.into_iter().map(|(_, name, object)| (name.to_owned(), object.link.clone())).collect())
    }

    /// The member of this name, as [`Self::members`] lists it; `None` if the group has none.
    ///
    /// # Errors
    /// As of [`Self::members`].
    pub fn member(&self, path: &str, name: &str) -> Result<Option<(String, Option<Link>)>> {
        let prefix = self.prefix_of_members(path)?;
        let found = Some(name).filter(|name| !name.is_empty() && !name.contains('/')).and_then(|name| self.objects.get(&format!("{prefix}{name}")));
        Ok(found.map(|object| (name.to_owned(), object.link.clone())))
    }

    /// What the paths of a group's members begin with.
    fn prefix_of_members(&self, path: &str) -> Result<String> {
        let path = self.resolve(path)?;
        if !self.objects.get(&path).is_some_and(ObjectEntry::is_group) {
            return Err(self.error_at(&path, Error::invalid_input("this is not a group")));
        }
        Ok(if path.is_empty() { path } else { format!("{path}/") })
    }

    /// Creates a link.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid path, or one that has another object; `Unsupported` for what HDF5 cannot store.
    pub fn create_link(&mut self, path: &str, link: Link) -> Result<()> {
        let link = link.checked().map_err(|error| self.error_at(path.trim_start_matches('/'), error))?;
        self.define(path, ObjectEntry { link: Some(link), ..ObjectEntry::default() })
    }

    /// Resolves all links in a path; `NotFound` if there is no such object.
    pub(crate) fn resolve(&self, path: &str) -> Result<String> {
        let path = normalized_path(path)?;
        if self.objects.get(&path).is_some_and(|object| object.link.is_none()) {
            return Ok(path);
        }
        self.follow(&path, MAX_LINKS)?.ok_or_else(|| self.error_at(&path, Error::not_found("there is no such object in the file that is written")))
    }

    /// Resolves links in the parent of a path, but not the last name.
    pub(crate) fn resolve_parent(&self, path: &str) -> Result<String> {
        let path = normalized_path(path)?;
        let Some((above, name)) = path.rsplit_once('/') else { return Ok(path) };
        if self.objects.contains_key(above) && self.objects.get(above).is_some_and(|object| object.link.is_none()) {
            return Ok(path);
        }
        // Groups that do not exist yet contain no links.
        let mut known = above;
        loop {
            if let Some(found) = self.follow(known, MAX_LINKS)? {
                let rest = path.get(known.len()..).unwrap_or_default();
                return normalized_path(&format!("{found}/{rest}"));
            }
            if self.objects.contains_key(known) {
                return Err(self.error_at(&path, Error::not_found(format!("/{known} is a dangling link"))));
            }
            known = match known.rsplit_once('/') {
                Some((above, _)) => above,
                None if known.is_empty() => return Ok(format!("{above}/{name}")),
                None => "",
            };
        }
    }

    /// Resolves all links in a path; `None` if there is no such object.
    fn follow(&self, path: &str, links_left: u32) -> Result<Option<String>> {
        let mut found = String::new();
        let mut parts = path.split('/').filter(|part| !part.is_empty());
        while let Some(part) = parts.next() {
            let next = if found.is_empty() { part.to_owned() } else { format!("{found}/{part}") };
            let Some(object) = self.objects.get(&next) else { return Ok(None) };
            let Some(link) = &object.link else {
                found = next;
                continue;
            };
            let Some(links_left) = links_left.checked_sub(1) else {
                return Err(self.error_at(&next, Error::invalid_input("a link that leads to itself")));
            };
            let target = match link {
                Link::Hard(target) => target.clone(),
                Link::Soft(target) if target.starts_with('/') => target.clone(),
                Link::Soft(target) => format!("{found}/{target}"),
                Link::External { .. } => return Err(self.error_at(&next, Error::unsupported("following a link to another file while this one is written"))),
            };
            let rest: Vec<&str> = parts.collect();
            let target = target.split('/').filter(|part| *part != ".").collect::<Vec<_>>().join("/");
            return self.follow(&format!("{target}/{}", rest.join("/")), links_left);
        }
        Ok(Some(found))
    }

    /// Paths of an object and of everything in it.
    fn subtree(&self, path: &str) -> Vec<String> {
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        let own = self.objects.get_key_value(path).map(|(path, _)| path.clone());
        let inside = self.objects.range(prefix.clone()..).map(|(path, _)| path).filter(|inner| *inner != path).take_while(|path| path.starts_with(&prefix));
        own.into_iter().chain(inside.cloned()).collect()
    }

    /// Removes a name, and the object if it has no other name. Members of a removed group that have other names are kept under
    /// those. References and dimension scales to a removed object become null. The space of its values in the file is not
    /// reused.
    ///
    /// # Errors
    /// `NotFound` if there is no such object; `InvalidInput` for the root group.
    pub fn remove(&mut self, path: &str) -> Result<()> {
        let path = self.existing_path(path)?;
        self.remove_name(&path);
        Ok(())
    }

    /// Resolves the parent of an existing path other than the root.
    fn existing_path(&self, path: &str) -> Result<String> {
        let path = self.resolve_parent(path)?;
        if path.is_empty() {
            return Err(self.error_at(&path, Error::invalid_input("the root group cannot be moved or removed")));
        }
        if !self.objects.contains_key(&path) {
            return Err(self.error_at(&path, Error::not_found("there is no such object in the file that is written")));
        }
        Ok(path)
    }

    fn remove_name(&mut self, path: &str) {
        if self.objects.get(path).is_some_and(|object| object.link.is_none()) {
            let inside = format!("{path}/");
            let leads_here =
                |(name, object): &(&String, &ObjectEntry)| matches!(&object.link, Some(Link::Hard(target)) if target == path) && !name.starts_with(&inside);
            let other = self.objects.iter().find(leads_here).map(|(name, object)| (name.clone(), object.created));
            if let Some((other, created)) = other {
                // The object is kept under another of its names.
                self.objects.remove(&other);
                self.move_subtree(path, &other);
                if let Some(object) = self.objects.get_mut(&other) {
                    object.created = created;
                }
                return;
            }
            let members: Vec<String> =
                self.subtree(path).into_iter().filter(|name| name.strip_prefix(&inside).is_some_and(|name| !name.contains('/'))).collect();
            for member in members {
                self.remove_name(&member);
            }
            // Hard links to the object from inside of it were removed with its members.
            self.clear_references_to(path);
        }
        self.objects.remove(path);
    }

    /// Sets references and dimension scales to this object to null.
    pub(crate) fn clear_references_to(&mut self, path: &str) {
        for object in self.objects.values_mut() {
            object.scales.retain(|_, scales| {
                scales.retain(|scale| scale.path != path);
                !scales.is_empty()
            });
            if let Some(dataset) = &mut object.dataset {
                dataset.recommit(|committed| (committed != path).then(|| committed.to_owned()));
            }
        }
        self.for_each_reference(|target| *target = target.take().filter(|target| target != path));
    }

    /// Calls `each` with the target path of each reference; `each` may change it.
    fn for_each_reference(&mut self, mut each: impl FnMut(&mut Option<String>)) {
        self.targets.for_each_path(&mut each);
        for object in self.objects.values_mut() {
            object.references.iter_mut().for_each(|references| references.for_each_path(&mut each));
            for attribute in object.attributes.values_mut() {
                if let AttributeEntry::References(references) = attribute {
                    references.for_each_path(&mut each);
                }
            }
        }
    }

    /// Moves an object to another path and creates the parent groups of that path.
    ///
    /// # Errors
    /// `NotFound` if there is no such object; `InvalidInput` if the other path is taken or inside of it.
    pub fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        let (from, to) = (self.existing_path(from)?, self.resolve_parent(to)?);
        if self.objects.contains_key(&to) {
            return Err(self.error_at(&to, Error::invalid_input("there is an object of this name already")));
        }
        if to.starts_with(&format!("{from}/")) {
            return Err(self.error_at(&from, Error::invalid_input(format!("a group cannot be moved into itself, to /{to}"))));
        }
        let above = to.rsplit_once('/').map_or("", |(above, _)| above).to_owned();
        self.create_group(&above)?;
        self.move_subtree(&from, &to);
        let order = self.new_object().created;
        if let Some(object) = self.objects.get_mut(&to) {
            object.created = order;
        }
        Ok(())
    }

    /// Lets the members of a group have been created in the order of `names`; names that the group does not have are left out.
    pub(crate) fn order_members<'n>(&mut self, path: &str, names: impl Iterator<Item = &'n str>) -> Result<()> {
        let prefix = self.prefix_of_members(path)?;
        let places: Vec<String> = names.map(|name| format!("{prefix}{name}")).filter(|place| self.objects.contains_key(place)).collect();
        let mut order: Vec<u64> = places.iter().filter_map(|place| self.objects.get(place).map(|object| object.created)).collect();
        order.sort_unstable();
        for (place, created) in places.iter().zip(order) {
            if let Some(object) = self.objects.get_mut(place) {
                object.created = created;
            }
        }
        Ok(())
    }

    /// Moves an object and everything in it to a free path, and updates all links and references to them.
    fn move_subtree(&mut self, from: &str, to: &str) {
        let prefix = format!("{from}/");
        let moved = |path: &str| match path.strip_prefix(&prefix) {
            Some(rest) => Some(format!("{to}/{rest}")),
            None => (path == from).then(|| to.to_owned()),
        };
        for path in self.subtree(from) {
            if let (Some(new), Some(object)) = (moved(&path), self.objects.remove(&path)) {
                self.objects.insert(new, object);
            }
        }
        for object in self.objects.values_mut() {
            if let Some(Link::Hard(target)) = &mut object.link
                && let Some(new) = moved(target)
            {
                *target = new;
            }
            for scale in object.scales.values_mut().flatten() {
                if let Some(new) = moved(&scale.path) {
                    scale.path = new;
                }
            }
            if let Some(dataset) = &mut object.dataset {
                dataset.recommit(|committed| moved(committed).or_else(|| Some(committed.to_owned())));
            }
        }
        self.for_each_reference(|target| {
            if let Some(new) = target.as_deref().and_then(moved) {
                *target = Some(new);
            }
        });
    }
}
