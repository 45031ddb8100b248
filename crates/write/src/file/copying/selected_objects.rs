//! Which objects a copy has, if not all: the chosen ones, and what they need.

use std::collections::{HashMap, HashSet, VecDeque};

use hyperslab_array::name::is_of_links;
use hyperslab_array::{Cancellation, Error, Result, Selection};
use hyperslab_formats::{LinkTarget, Object, ObjectId};
use hyperslab_reader::File;

use super::choice::{Choice, above};
use super::references::name_references;
use super::source_file::{CopiedAttribute, SourceFile};
use crate::file::references::targets::{Referenced, Target};

/// Finds what is copied: the chosen objects, all below them, the groups above them, and, again and again, the dimension scales and the
/// targets of references of what was found. Groups come before their members.
///
/// # Errors
/// `NotFound` for a chosen path that does not exist; `Unsupported` for something that is excluded and needed; errors of an object that cannot be
/// read.
pub(crate) fn selected_objects(file: &File, choice: &Choice, cancellation: &Cancellation) -> Result<Vec<(String, ObjectId, Object)>> {
    let all = SourceFile::new(file, cancellation)?;
    let known = all.objects().iter().map(|(path, id, _)| (path.as_str(), *id)).collect();
    let mut search = Search { file, all: &all, known, choice, found: Vec::new(), seen: HashMap::new() };
    // All below a group that is chosen is found with it.
    for path in choice.outermost() {
        if let Some(id) = search.linked(path)?.filter(|_| !choice.is_excluded(path)) {
            search.add(path, id)?;
        } else {
            search.add_groups_above(path)?;
        }
    }
    // What is found meanwhile needs something, too.
    let mut next = 0;
    while let Some((path, id)) = search.found.get(next).cloned() {
        search.add_needed(&path, id).map_err(|error| error.at_object(path))?;
        next += 1;
    }
    let mut objects = search.found.into_iter().map(|(path, id)| Ok((path, id, file.array_file().tree().object(id)?))).collect::<Result<Vec<_>>>()?;
    objects.sort_by_cached_key(|(path, ..)| if path == "/" { 0 } else { path.matches('/').count() });
    Ok(objects)
}

struct Search<'a> {
    file: &'a File,
    /// The file with all of its objects.
    all: &'a SourceFile<'a>,
    /// The objects by their first paths.
    known: HashMap<&'a str, ObjectId>,
    choice: &'a Choice,
    found: Vec<(String, ObjectId)>,
    /// The path of each object that was found.
    seen: HashMap<ObjectId, String>,
}

impl Search<'_> {
    /// As [`linked`].
    fn linked(&self, path: &str) -> Result<Option<ObjectId>> {
        self.known.get(path).map_or_else(|| linked(self.file, path), |id| Ok(Some(*id)))
    }

    fn put(&mut self, path: &str, id: ObjectId) -> bool {
        let is_new = !self.seen.contains_key(&id);
        if is_new {
            self.seen.insert(id, path.to_owned());
            self.found.push((path.to_owned(), id));
        }
        is_new
    }

    /// The groups above a path, without their other members.
    fn add_groups_above(&mut self, path: &str) -> Result<()> {
        self.put("/", self.file.root());
        let mut groups: Vec<&str> = above(path).skip(1).collect();
        groups.reverse();
        for group in groups {
            let id = self.linked(group)?.ok_or_else(|| Error::internal("a group above an object that is none"))?;
            self.put(group, id);
        }
        Ok(())
    }

    /// An object, with all below it and the groups above it.
    fn add(&mut self, path: &str, id: ObjectId) -> Result<()> {
        self.add_groups_above(path)?;
        // A group that was found above another object has its members only now.
        self.put(path, id);
        let mut pending = VecDeque::from([(path.to_owned(), id)]);
        let mut entered = HashSet::new();
        while let Some((path, id)) = pending.pop_front() {
            if !entered.insert(id) || !matches!(self.file.array_file().tree().object(id)?, Object::Group) {
                continue;
            }
            for link in &*self.file.links(id)? {
                let place = format!("{}/{}", path.trim_end_matches('/'), link.name);
                let LinkTarget::Hard(member) = link.target else { continue };
                if !self.choice.is_excluded(&place) {
                    self.put(&place, member);
                    pending.push_back((place, member));
                }
            }
        }
        Ok(())
    }

    /// What an object cannot be without.
    fn add_needed(&mut self, path: &str, id: ObjectId) -> Result<()> {
        let mut needed: Vec<String> = Vec::new();
        let of_targets = |targets: &[Target], needed: &mut Vec<String>| {
            needed.extend(targets.iter().filter_map(|target| if let Referenced::Path(path) = &target.object { Some(absolute(path)) } else { None }));
        };
        for attribute in self.file.attributes(id)?.iter() {
            match self.all.attribute(attribute)? {
                CopiedAttribute::Value(_) | CopiedAttribute::ScaleOf(..) => {}
                CopiedAttribute::Referring(_, targets) => of_targets(&targets, &mut needed),
                CopiedAttribute::References(references) => needed.extend(references.parts().1.iter().flatten().map(|path| absolute(path))),
                CopiedAttribute::Scales(_, scales) => needed.extend(scales.into_values().flatten().filter_map(|id| self.all.path(id).map(ToOwned::to_owned))),
            }
        }
        if let Object::Dataset(dataset) = self.file.array_file().tree().object(id)?
            && dataset.datatype.has_references()
            && dataset.virtual_mappings.is_empty()
        {
            let mut values = self.file.read(id, &Selection::all(dataset.dataspace.shape()), &Cancellation::new())?;
            of_targets(&name_references(self.all, &mut values)?, &mut needed);
        }
        for other in needed {
            let id = self.linked(&other)?.ok_or_else(|| Error::internal("a reference to what is no object"))?;
            if self.seen.contains_key(&id) {
                continue;
            }
            if self.choice.is_excluded(&other) {
                return Err(Error::unsupported(format!("{path} needs {other}, a dimension scale or the target of a reference, which is excluded")));
            }
            self.add(&other, id)?;
        }
        Ok(())
    }
}

/// The path that the writer has, without its slash, as the file has it.
fn absolute(path: &str) -> String {
    if is_of_links(path) { format!("/{path}") } else { path.to_owned() }
}

/// The object at an absolute path of hard links; `None` for a link of another kind.
///
/// # Errors
/// `NotFound` if there is no such link.
fn linked(file: &File, path: &str) -> Result<Option<ObjectId>> {
    let mut id = file.root();
    let mut parts = path.split('/').filter(|part| !part.is_empty()).peekable();
    while let Some(part) = parts.next() {
        let missing = || Error::not_found("there is no such object in the file").at_object(path.to_owned());
        let links = file.links(id)?;
        let link = links.iter().find(|link| link.name == part).ok_or_else(missing)?;
        match link.target {
            LinkTarget::Hard(member) => id = member,
            _ if parts.peek().is_none() => return Ok(None),
            _ => return Err(missing()),
        }
    }
    Ok(Some(id))
}
