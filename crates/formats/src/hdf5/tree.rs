//! The tree of a file: every object that hard links reach, parsed once, breadth first.

use std::collections::HashMap;
use std::sync::Arc;

use hyperslab_array::{Attribute, Elements, Error, Result};
use hyperslab_storage::Storage;

use super::heap::{FractalHeap, GlobalHeap};
use super::layout::StoredDataset;
use super::message::attribute::{self, RawAttribute};
use super::message::link::{RawLink, RawTarget};
use super::message::{attribute_info, datatype};
use super::object_header::{ObjectHeader, kind};
use super::superblock::{Superblock, find_superblock};
use super::{Source, btree, dataset, group, shared_messages};
use crate::{Content, Group, Limits, Link, LinkTarget, Object, ObjectId, Tree};

/// Parses all objects from the root on. An object that cannot be read is kept with its reason; only
/// an unreadable root makes the file unreadable.
pub(super) fn build(superblock: &Superblock) -> Result<(Tree, Vec<Option<StoredDataset>>)> {
    let source = &superblock.source;
    let mut builder = Builder { source, tree: Tree::default(), stored: Vec::new(), ids: HashMap::new() };
    builder.add(superblock.root, || "/".to_owned())?;
    // Objects found during parsing are appended.
    let mut next = 0;
    while next < builder.tree.objects.len() {
        builder.parse(ObjectId(next))?;
        next += 1;
    }
    match builder.tree.objects.first().map(|root| &root.content) {
        Some(Content::Group(_)) => {}
        Some(Content::Unreadable(error)) => return Err(error.clone()),
        _ => return Err(Error::corrupt("the root is no group")),
    }
    Ok((builder.tree, builder.stored))
}

/// The attributes of the root group alone; `None` for files that are not HDF5. Does not parse other objects.
///
/// # Errors
/// `Corrupt`, `Unsupported`, `LimitExceeded` or `Io` if the metadata cannot be parsed.
pub fn root_attributes(storage: Arc<dyn Storage>, limits: &Limits) -> Result<Option<Vec<Attribute>>> {
    let Some(place) = find_superblock(storage.as_ref())? else { return Ok(None) };
    let superblock = Superblock::read(storage, place, limits)?;
    let header = ObjectHeader::read(&superblock.source, superblock.root)?;
    attributes(&superblock.source, &header).map(Some)
}

/// Trees of up to this many objects are searched linearly: most files have no more.
const MAX_UNHASHED_OBJECTS: usize = 16;

/// Budget charged for an attribute in addition to its message, in bytes.
const ATTRIBUTE_COST: u64 = 300;

struct Builder<'a> {
    source: &'a Source,
    tree: Tree,
    stored: Vec<Option<StoredDataset>>,
    /// By address, once there are more than a few.
    ids: HashMap<u64, ObjectId>,
}

impl Builder<'_> {
    /// The object at `address`: a known one, or a new one that `path` leads to.
    fn add(&mut self, address: u64, path: impl FnOnce() -> String) -> Result<ObjectId> {
        let known = match self.ids.is_empty() {
            true => self.tree.at_address(address),
            false => self.ids.get(&address).copied(),
        };
        if let Some(id) = known {
            return Ok(id);
        }
        let id = ObjectId(self.tree.objects.len());
        if id.0 as u64 >= self.source.limits.objects {
            return Err(Error::limit_exceeded(format!("more than {} objects in one file", self.source.limits.objects)));
        }
        // Replaced when the object is parsed.
        let content = Content::Group(Group::default());
        self.tree.objects.push(Object {
            path: path(),
            address: Some(address),
            attributes: Vec::new(),
            attributes_tracked: false,
            attributes_error: None,
            content,
        });
        self.stored.push(None);
        if !self.ids.is_empty() {
            self.ids.insert(address, id);
        } else if self.tree.objects.len() > MAX_UNHASHED_OBJECTS {
            let numbered = self.tree.objects.iter().enumerate();
            self.ids = numbered.filter_map(|(index, object)| Some((object.address?, ObjectId(index)))).collect();
        }
        Ok(id)
    }

    fn parse(&mut self, id: ObjectId) -> Result<()> {
        let taken = self.tree.objects.get_mut(id.0).and_then(|o| Some((std::mem::take(&mut o.path), o.address?)));
        let Some((path, address)) = taken else {
            return Err(Error::internal("an object without address"));
        };
        let parsed = ObjectHeader::read(self.source, address).and_then(|header| {
            // Damaged attributes do not make the object's values unreadable.
            Ok((self.content(&path, &header)?, attributes(self.source, &header), header.tracks_attributes))
        });
        let (content, stored, attributes, tracked) = match parsed {
            Ok(((content, stored), attributes, tracked)) => (content, stored, attributes, tracked),
            Err(error) => {
                let error = match self.source.absolute(address) {
                    Ok(offset) => error.at_offset(offset),
                    Err(_) => error,
                };
                (Content::Unreadable(error.at_object(&path)), None, Ok(Vec::new()), false)
            }
        };
        if let Some(object) = self.tree.objects.get_mut(id.0) {
            object.content = content;
            object.attributes_tracked = tracked;
            match attributes {
                Ok(attributes) => object.attributes = attributes,
                Err(error) => object.attributes_error = Some(error.at_object(&path)),
            }
            object.path = path;
        }
        if let Some(place) = self.stored.get_mut(id.0) {
            *place = stored;
        }
        Ok(())
    }

    fn content(&mut self, path: &str, header: &ObjectHeader) -> Result<(Content, Option<StoredDataset>)> {
        if header.find(kind::LAYOUT).is_some() {
            let (dataset, stored) = dataset::parse(self.source, header)?;
            return Ok((Content::Dataset(Box::new(dataset)), Some(stored)));
        }
        if let Some(raw) = group::links(self.source, header)? {
            let links = raw.links.into_iter().map(|link| self.link(path, link));
            let links = links.collect::<Result<Vec<_>>>()?;
            return Ok((Content::Group(Group { links, links_tracked: raw.tracked, dimensions: Vec::new() }), None));
        }
        match header.find(kind::DATATYPE) {
            Some(message) if header.find(kind::DATASPACE).is_none() => {
                Ok((Content::Datatype(message.parse(self.source, |cursor| datatype::parse(cursor, self.source.limits.depth))?), None))
            }
            _ => Err(Error::unsupported("an object that is no group, dataset or committed datatype")),
        }
    }

    fn link(&mut self, group: &str, link: RawLink) -> Result<Link> {
        let RawLink { name, target, .. } = link;
        let target = match target {
            RawTarget::Hard(address) => {
                let separator = if group.ends_with('/') { "" } else { "/" };
                LinkTarget::Hard(self.add(address, || [group, separator, &name].concat())?)
            }
            RawTarget::Soft(path) => LinkTarget::Soft(path),
            RawTarget::External { file, path } => LinkTarget::External { file, path },
            RawTarget::UserDefined(class) => LinkTarget::UserDefined(class),
        };
        Ok(Link { name, target })
    }
}

/// The attributes, compact and dense ones, with their values: in the order of their creation if the object tracks it,
/// else in name order.
fn attributes(source: &Source, header: &ObjectHeader) -> Result<Vec<Attribute>> {
    // Each with its creation order.
    let mut raw: Vec<(u32, RawAttribute)> = Vec::new();
    for message in header.all(kind::ATTRIBUTE) {
        raw.push((message.creation_order.into(), message.parse(source, |cursor| attribute::parse(source, cursor))?));
    }
    if let Some(message) = header.find(kind::ATTRIBUTE_INFO) {
        let info = message.parse(source, attribute_info::parse)?;
        if let (Some(heap), Some(tree)) = (info.heap, info.name_tree) {
            dense(source, heap, tree, &mut raw)?;
        }
    }
    raw.sort_by(|(_, a), (_, b)| a.name.as_bytes().cmp(b.name.as_bytes()));
    if header.tracks_attributes {
        raw.sort_by_key(|(order, _)| *order);
    }
    Ok(raw.into_iter().map(|(_, raw)| resolve(source, raw)).collect())
}

fn dense(source: &Source, heap: u64, tree: u64, raw: &mut Vec<(u32, RawAttribute)>) -> Result<()> {
    /// Flag of a record whose attribute is in the shared message heap.
    const SHARED: u8 = 1 << 1;
    let mut heap = FractalHeap::open(source, heap)?;
    btree::v2::records(source, tree, &[8], &mut |_, record| {
        let mut cursor = source.cursor(record, tree);
        let id = cursor.take(heap.id_bytes())?;
        let flags = cursor.u8()?;
        let order = cursor.u32()?;
        let object = match flags & SHARED {
            0 => heap.object(id)?,
            _ => shared_messages::body(source, kind::ATTRIBUTE, id)?.into(),
        };
        source.budget.charge((object.len() as u64).saturating_add(ATTRIBUTE_COST))?;
        raw.push((order, attribute::parse(source, &mut source.cursor(&object, tree))?));
        Ok(())
    })
}

fn resolve(source: &Source, raw: RawAttribute) -> Attribute {
    let RawAttribute { name, value } = raw;
    let (dataspace, value) = match value {
        Ok((datatype, dataspace, bytes)) => {
            let value = match datatype.unsupported_class() {
                Some(class) => Err(Error::unsupported(format!("datatype class {class} of attribute {name}"))),
                None => GlobalHeap::resolve(source, &datatype, &bytes).map(|heap| Elements { datatype, bytes, heap }),
            };
            (dataspace, value)
        }
        Err(error) => (hyperslab_array::Dataspace::Null, Err(error)),
    };
    Attribute { name, dataspace, value }
}
