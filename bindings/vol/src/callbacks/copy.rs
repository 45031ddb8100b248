//! `H5Ocopy`, and copying of links.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use super::group::link_at;
use super::location::{Located, walking};
use super::references::{Holds, Mapping};
use crate::datatype;
use crate::ffi::*;
use crate::host::Host;
use hyperslab_arrow_container::container::{Container, Place};
use hyperslab_arrow_container::error::{Result, error};
use hyperslab_arrow_container::lock;
use hyperslab_arrow_container::model::{Attribute, AttributeValue, Body, Dataset, Link, Object, ObjectId, StoredDatatype, Target};

const SHALLOW: u32 = 1;
const EXPAND_SOFT: u32 = 2;
const EXPAND_EXTERNAL: u32 = 4;
const EXPAND_REFERENCES: u32 = 8;
const WITHOUT_ATTRIBUTES: u32 = 16;

/// The target of a copied link.
pub(crate) fn copy_link(from: &Place, to: &Place, link: &Link) -> Result<Target> {
    match &link.target {
        Target::Hard(_) if !Arc::ptr_eq(&from.container, &to.container) => {
            Err(error!("a hard link cannot lead into another file; copy the object, or make an external link"))
        }
        target => Ok(target.clone()),
    }
}

struct Copy<'a> {
    host: &'static Host,
    target: &'a Arc<Container>,
    flags: u32,
    done: BTreeMap<(u64, ObjectId), ObjectId>,
}

impl Copy<'_> {
    fn datatype(datatype: &StoredDatatype) -> StoredDatatype {
        // As in HDF5, a copy does not refer to the committed datatype of the original.
        StoredDatatype::new(datatype.encoded.clone(), datatype.decoded.clone())
    }

    fn attribute(&self, from: &Place, attribute: &Attribute, owner: ObjectId) -> Attribute {
        let old = lock(attribute);
        let mut new = AttributeValue::new(old.name.clone(), owner, Self::datatype(&old.datatype), old.space.clone(), old.bytes.clone());
        (new.order, new.utf8) = (old.order, old.utf8);
        new.arenas.clone_from(&old.arenas);
        new.arenas.push(Arc::clone(&from.container.arena));
        Arc::new(Mutex::new(new))
    }

    fn dataset(&self, from: &Place, dataset: &Dataset, object: &Object) -> Result<Dataset> {
        let fill = || super::dataset::fill_of(self.host, &from.container, object, &dataset.datatype);
        let (mut table, space) = dataset.with_table(&from.container.folder, from.container.ranks.get(), fill, |table, space| {
            Ok((table.duplicate(space, &self.target.folder, self.target.ranks.get())?, space.clone()))
        })?;
        table.keep(&from.container.arena);
        let copy = Dataset::new(Self::datatype(&dataset.datatype), space, table);
        copy.written.store(dataset.written.load(Ordering::Relaxed), Ordering::Relaxed);
        Ok(copy)
    }

    /// The references in a datatype that must be mapped.
    fn references(&self, from: &Place, datatype: &StoredDatatype) -> Result<Holds> {
        if Arc::ptr_eq(&from.container, self.target) && self.flags & EXPAND_REFERENCES == 0 {
            return Ok(Holds::Nothing);
        }
        Holds::of(self.host, datatype::decode(self.host, &datatype.encoded)?.id, &datatype.decoded)
    }

    /// Maps the references in elements: with `H5O_COPY_EXPAND_REFERENCE_FLAG` to copies of their objects; otherwise they are
    /// cleared, because object IDs mean different objects in another file.
    fn map_references(&mut self, from: &Place, holds: &Holds, elements: &mut [u8], width: usize, depth: usize) -> Result<()> {
        let (source, target) = (Arc::clone(&from.container), Arc::clone(self.target));
        let expand = self.flags & EXPAND_REFERENCES != 0;
        let mut object = |object: ObjectId| -> Result<Option<ObjectId>> {
            let place = Place::new(Arc::clone(&source), object);
            if !expand || lock(&source.tree).object(object).is_err() {
                return Ok(None);
            }
            let new = !self.done.contains_key(&(source.number, object));
            let copied = self.object(&place, depth + 1)?;
            if new {
                // It has no link: a reference count keeps it.
                lock(&target.tree).object_mut(copied)?.extra_references += 1;
            }
            Ok(Some(copied))
        };
        let region = |number: u32| {
            let region = lock(&source.tree).region(number).cloned();
            region.map_or(0, |region| lock(&target.tree).add_region(region))
        };
        let mut mapping = Mapping { object: &mut object, region: &region, arena: &target.arena };
        elements.chunks_exact_mut(width.max(1)).try_for_each(|element| holds.map(element, &mut mapping))
    }

    fn map_values(&mut self, from: &Place, dataset: &Dataset, depth: usize) -> Result<()> {
        let holds = self.references(from, &dataset.datatype)?;
        if let Holds::Nothing = holds {
            return Ok(());
        }
        let width = dataset.datatype.decoded.bytes();
        let Some(mut table) = lock(&dataset.extent).table.take() else { return Ok(()) };
        let parts = table.all_parts();
        let count = lock(&dataset.extent).space.count().unwrap_or(0);
        for at in (0..count).step_by(4096) {
            let now = (count - at).min(4096) as usize;
            let mut elements = vec![0; now * width];
            table.read(&parts, at, now, &mut elements, width)?;
            self.map_references(from, &holds, &mut elements, width, depth)?;
            table.write(&parts, at, now, &elements, width)?;
        }
        table.keep(&self.target.arena);
        lock(&dataset.extent).table = Some(table);
        Ok(())
    }

    fn map_attribute(&mut self, from: &Place, attribute: &Attribute, depth: usize) -> Result<()> {
        let (datatype, mut bytes) = {
            let attribute = lock(attribute);
            (attribute.datatype.clone(), attribute.bytes.clone())
        };
        let holds = self.references(from, &datatype)?;
        if let Holds::Nothing = holds {
            return Ok(());
        }
        self.map_references(from, &holds, &mut bytes, datatype.decoded.bytes(), depth)?;
        lock(attribute).bytes = bytes;
        Ok(())
    }

    fn object(&mut self, from: &Place, depth: usize) -> Result<ObjectId> {
        let key = (from.container.number, from.object);
        if let Some(done) = self.done.get(&key) {
            return Ok(*done);
        }
        if depth > 1024 {
            return Err(error!("groups are nested more than 1024 levels deep"));
        }
        let old = lock(&from.container.tree).object(from.object)?.clone();
        let body = match &old.body {
            Body::Group { tracked, next_order, .. } => Body::Group { links: BTreeMap::new(), next_order: *next_order, tracked: *tracked },
            Body::Dataset(dataset) => Body::Dataset(Arc::new(self.dataset(from, dataset, &old)?)),
            Body::Datatype(datatype) => Body::Datatype(datatype.clone()),
        };
        let mut new = Object::new(body, old.creation.clone());
        (new.attributes_tracked, new.next_attribute, new.born) = (old.attributes_tracked, old.next_attribute, old.born);
        new.comment.clone_from(&old.comment);
        let id = lock(&self.target.tree).add(new);
        self.done.insert(key, id);
        let copied = lock(&self.target.tree).object(id)?.body.clone();
        if let Body::Dataset(dataset) = &copied {
            self.map_values(from, dataset, depth)?;
        }
        if let Some(fill) = &old.fill {
            let copied = self.attribute(from, fill, id);
            self.map_attribute(from, &copied, depth)?;
            lock(&self.target.tree).object_mut(id)?.fill = Some(copied);
        }
        if self.flags & WITHOUT_ATTRIBUTES == 0 {
            for (name, attribute) in &old.attributes {
                let copied = self.attribute(from, attribute, id);
                self.map_attribute(from, &copied, depth)?;
                lock(&self.target.tree).object_mut(id)?.attributes.insert(name.clone(), copied);
            }
        }
        let Body::Group { links, .. } = &old.body else { return Ok(id) };
        if self.flags & SHALLOW != 0 && depth > 0 {
            return Ok(id);
        }
        for (name, link) in links {
            let expand = match link.target {
                Target::Hard(_) => true,
                Target::Soft(_) => self.flags & EXPAND_SOFT != 0,
                Target::User(..) => self.flags & EXPAND_EXTERNAL != 0,
            };
            // A dangling link is copied unchanged.
            let below = if expand { walking(self.host, 0, |walk| walk.follow(from, name, link)).ok() } else { None };
            let target = match below {
                Some(place) => Target::Hard(self.object(&place, depth + 1)?),
                None => link.target.clone(),
            };
            lock(&self.target.tree).restore_link(id, name.clone(), Link::new(link.order, link.utf8, target))?;
        }
        Ok(id)
    }
}

/// Copies an object, with everything below it, to a path.
pub(crate) fn object(host: &'static Host, from: &Located, to: &Located, path: &str, ocpypl: hid_t, lcpl: hid_t) -> Result<()> {
    let mut flags = 0;
    if ocpypl > 0 {
        // SAFETY: a valid output pointer.
        unsafe { (host.call.H5Pget_copy_object)(ocpypl, &raw mut flags) };
    }
    link_at(host, to, path, lcpl, |parent| Copy { host, target: &parent.container, flags, done: BTreeMap::new() }.object(&from.place, 0))?;
    Ok(())
}
