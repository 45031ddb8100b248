//! What a file is made of: objects, the links between them, their attributes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use super::blob::Arena;
use super::fault::{Result, fault};
use super::folder::Folder;
use super::kind::Kind;
use super::ranks::Ranks;
use super::shape::Space;
use super::table::Table;

/// Locks without fear of a panic elsewhere: what a lock guards is whole between any two statements here.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Which object; the root group is 1. A token carries it.
pub(crate) type ObjectId = u64;
pub(crate) const ROOT: ObjectId = 1;

/// A datatype as HDF5 encodes it, and as the storage sees it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Datatype {
    /// `H5Tencode`'s bytes.
    pub(crate) encoded: Vec<u8>,
    pub(crate) kind: Kind,
    /// The committed datatype that it was made from.
    pub(crate) committed: Option<ObjectId>,
}

/// What a link leads to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Target {
    Hard(ObjectId),
    Soft(String),
    /// A class of link that a program or HDF5 defines (64: external), and its value.
    User(i32, Vec<u8>),
}

/// A link of a group.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Link {
    pub(crate) order: i64,
    pub(crate) utf8: bool,
    pub(crate) target: Target,
}

/// An attribute's value, shared by those that have it open.
#[derive(Debug)]
pub(crate) struct AttributeValue {
    pub(crate) name: String,
    pub(crate) object: ObjectId,
    pub(crate) datatype: Datatype,
    pub(crate) space: Space,
    /// The elements in their form in the file.
    pub(crate) bytes: Vec<u8>,
    /// Keeps what blob names point at.
    pub(crate) arenas: Vec<Arc<Arena>>,
    pub(crate) order: i64,
    pub(crate) utf8: bool,
}

impl std::fmt::Debug for Arena {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Arena")
    }
}

/// An attribute.
pub(crate) type Attribute = Arc<Mutex<AttributeValue>>;

/// A dataset's extent and values.
#[derive(Debug)]
pub(crate) struct Extent {
    pub(crate) space: Space,
    /// Loaded when first asked for.
    pub(crate) table: Option<Table>,
    /// The file that holds the values as last published.
    pub(crate) file: Option<String>,
    /// The columns of a plain file that are the values.
    pub(crate) plain: Option<super::plain::Values>,
}

/// A dataset, shared by those that have it open.
#[derive(Debug)]
pub(crate) struct Dataset {
    pub(crate) datatype: Datatype,
    pub(crate) extent: Mutex<Extent>,
}

impl Dataset {
    /// Calls `work` on the values; `fill` says what one element holds that was never written.
    pub(crate) fn with_table<T>(&self, folder: &Folder, ranks: Option<&Arc<Ranks>>, fill: impl FnOnce() -> Result<Vec<u8>>, work: impl FnOnce(&mut Table, &Space) -> Result<T>) -> Result<T> {
        let mut extent = lock(&self.extent);
        let Extent { space, table, file, plain } = &mut *extent;
        if table.is_none() {
            *table = Some(match (plain, file) {
                (Some(plain), _) => plain.table(&self.datatype.kind)?,
                (None, Some(name)) => Table::open(&self.datatype.kind, space, folder, name, fill()?)?,
                (None, None) => Table::create(&self.datatype.kind, space, folder, ranks, fill()?)?,
            });
            table.iter_mut().for_each(|table| table.share(ranks));
        }
        work(table.as_mut().ok_or_else(|| fault!("no values"))?, space)
    }
}

/// What an object is.
#[derive(Debug, Clone)]
pub(crate) enum Body {
    Group { links: BTreeMap<String, Link>, next_order: i64, tracked: bool },
    Dataset(Arc<Dataset>),
    Datatype(Datatype),
}

/// A group, dataset or committed datatype.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    pub(crate) body: Body,
    pub(crate) attributes: BTreeMap<String, Attribute>,
    pub(crate) next_attribute: i64,
    /// Whether the order in which attributes were made may be asked for.
    pub(crate) attributes_tracked: bool,
    /// `H5Pencode2`'s bytes of the creation property list.
    pub(crate) creation: Vec<u8>,
    pub(crate) comment: Option<String>,
    /// What an element of a dataset of variable length holds that was never written, as the value of an attribute.
    pub(crate) fill: Option<Attribute>,
    /// What `H5Oincr_refcount` added.
    pub(crate) extra_references: i64,
    /// Seconds since 1970; 0: not tracked.
    pub(crate) born: i64,
}

impl Object {
    /// An object without attributes.
    pub(crate) fn new(body: Body, creation: Vec<u8>) -> Self {
        Self { body, attributes: BTreeMap::new(), next_attribute: 0, attributes_tracked: false, creation, comment: None, fill: None, extra_references: 0, born: 0 }
    }

    /// An empty group.
    pub(crate) fn group(creation: Vec<u8>, tracked: bool) -> Self {
        Self::new(Body::Group { links: BTreeMap::new(), next_order: 0, tracked }, creation)
    }
}

/// A selection that an old reference names by a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Region {
    /// `H5Sencode2`'s bytes.
    pub(crate) selection: Vec<u8>,
}

/// Everything in one file.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) objects: BTreeMap<ObjectId, Object>,
    pub(crate) next: ObjectId,
    /// `H5Pencode2`'s bytes of the file's creation property list.
    pub(crate) creation: Vec<u8>,
    /// How many objects may have no link any more.
    pub(crate) unlinked: usize,
    /// What old references select, from number 1 on.
    pub(crate) regions: Vec<Region>,
}

impl Tree {
    /// One with a root group only.
    pub(crate) fn new(creation: Vec<u8>, root: Object) -> Self {
        Self { objects: BTreeMap::from([(ROOT, root)]), next: ROOT + 1, creation, unlinked: 0, regions: Vec::new() }
    }

    /// The number of a selection; one that is there already is not kept twice.
    pub(crate) fn add_region(&mut self, region: Region) -> u32 {
        let place = self.regions.iter().rposition(|known| *known == region).unwrap_or_else(|| {
            self.regions.push(region);
            self.regions.len() - 1
        });
        u32::try_from(place + 1).unwrap_or(0)
    }

    /// The selection of a number.
    pub(crate) fn region(&self, number: u32) -> Option<&Region> {
        self.regions.get(usize::try_from(number.checked_sub(1)?).ok()?)
    }

    /// Takes an object in, without a link.
    pub(crate) fn add(&mut self, object: Object) -> ObjectId {
        let id = self.next;
        self.next += 1;
        self.objects.insert(id, object);
        id
    }

    /// The object.
    pub(crate) fn object(&self, id: ObjectId) -> Result<&Object> {
        self.objects.get(&id).ok_or_else(|| fault!("the object was deleted"))
    }

    /// The object, to be changed.
    pub(crate) fn object_mut(&mut self, id: ObjectId) -> Result<&mut Object> {
        self.objects.get_mut(&id).ok_or_else(|| fault!("the object was deleted"))
    }

    /// The links of a group.
    pub(crate) fn links(&self, id: ObjectId) -> Result<&BTreeMap<String, Link>> {
        match &self.object(id)?.body {
            Body::Group { links, .. } => Ok(links),
            _ => Err(fault!("the object is no group")),
        }
    }

    /// Adds a link; there must be none of this name.
    pub(crate) fn link(&mut self, group: ObjectId, name: &str, utf8: bool, target: Target) -> Result<()> {
        match &mut self.object_mut(group)?.body {
            Body::Group { links, next_order, .. } => {
                if name.is_empty() || name == "." {
                    return Err(fault!("'{name}' is no name for a link"));
                }
                if links.contains_key(name) {
                    return Err(fault!("there is a link '{name}' already"));
                }
                links.insert(name.to_owned(), Link { order: *next_order, utf8, target });
                *next_order += 1;
                Ok(())
            }
            _ => Err(fault!("the object is no group")),
        }
    }

    /// Removes a link.
    pub(crate) fn unlink(&mut self, group: ObjectId, name: &str) -> Result<Link> {
        let removed = match &mut self.object_mut(group)?.body {
            Body::Group { links, next_order, .. } => {
                let removed = links.remove(name);
                if links.is_empty() {
                    *next_order = 0;
                }
                removed
            }
            _ => return Err(fault!("the object is no group")),
        };
        let removed = removed.ok_or_else(|| fault!("there is no link '{name}'"))?;
        if let Target::Hard(_) = removed.target {
            self.unlinked += 1;
        }
        Ok(removed)
    }

    /// How many hard links lead to an object, and what `H5Oincr_refcount` added.
    pub(crate) fn references(&self, id: ObjectId) -> u32 {
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

    /// The objects that hard links lead to from the root, and those kept by a count of references, each with the
    /// first path that leads there.
    pub(crate) fn reachable(&self) -> BTreeMap<ObjectId, String> {
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
