//! Many small objects at once: what the references of cell arrays point at. Objects with the same description share one buffer,
//! so that a million cells cost a few arrays and not a million.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyperslab_array::name::is_of_links;
use hyperslab_array::{Cancellation, Dataspace, Datatype, Elements, Error, ErrorKind, Result, Selection};
use hyperslab_formats::{Attributes, Object, ObjectId};
use rayon::prelude::*;

use super::alike::Alike;
use crate::File;

/// Larger values are left to reads of their own, which use all threads and share nothing.
const MAX_GATHERED_BYTES: u64 = 64 << 10;
/// Objects that one thread takes at a time.
const OBJECTS_PER_PIECE: usize = 2048;

/// Objects of one kind, datatype and shape with the same attributes and names of members.
#[derive(Debug)]
#[non_exhaustive]
pub struct Gathered {
    /// One of the objects.
    pub object: Object,
    /// Its attributes. Only those that were asked for are the same in all objects.
    pub attributes: Arc<Attributes>,
    /// The names of the members of groups.
    pub names: Vec<String>,
    /// Positions of the objects in the list that was asked for.
    pub positions: Vec<u64>,
    /// The members of each group, in the order of `names`.
    pub members: Vec<ObjectId>,
    /// The values of each dataset. `None` for datasets that must be read one by one, because they are large or have parts in
    /// a heap.
    pub values: Option<Vec<u8>>,
}

/// What objects have in common that are gathered together.
#[derive(PartialEq, Eq, Hash)]
struct Description {
    kind: Kind,
    attributes: Vec<Option<AttributeContent>>,
    names: Vec<String>,
    has_values: bool,
}

/// Extent and bytes of an attribute.
type AttributeContent = (Option<Vec<u64>>, Vec<u8>);

#[derive(PartialEq, Eq, Hash)]
enum Kind {
    Group,
    Datatype,
    Dataset(Datatype, Option<Vec<u64>>),
}

impl File {
    /// Describes objects and reads the values of small datasets. `attributes` names those that tell objects apart.
    ///
    /// # Errors
    /// Those of an object that cannot be read, with its path if there is one; `Unsupported` for a group with soft or external
    /// links; `Cancelled`.
    pub fn gather(&self, objects: &[ObjectId], attributes: &[String], cancellation: &Cancellation) -> Result<Vec<Gathered>> {
        // No two datasets of an honest file share bytes, so this is reached by values that were compressed or never written.
        let budget = AtomicU64::new(self.session().limits().heap_budget(self.array_file().storage().len()));
        let gather = |(piece, objects): (usize, &[ObjectId])| self.gather_piece(piece * OBJECTS_PER_PIECE, objects, attributes, &budget, cancellation);
        let pieces: Vec<Vec<(Description, Gathered)>> = match objects.len() {
            0..=64 => vec![gather((0, objects))?],
            _ => self.session().compute(|| objects.par_chunks(OBJECTS_PER_PIECE).enumerate().map(gather).collect::<Result<_>>())?,
        };
        let mut joined = Groups::default();
        for (description, gathered) in pieces.into_iter().flatten() {
            joined.add(description, gathered);
        }
        Ok(joined.list)
    }

    fn gather_piece(
        &self,
        first: usize,
        objects: &[ObjectId],
        attributes: &[String],
        budget: &AtomicU64,
        cancellation: &Cancellation,
    ) -> Result<Vec<(Description, Gathered)>> {
        let mut groups = Groups::default();
        let (mut alike, mut bytes_read) = (Alike::new(self), 0);
        for (index, &id) in objects.iter().enumerate() {
            cancellation.check()?;
            let position = (first + index) as u64;
            if let Some(found) = alike.as_mut().and_then(|alike| alike.find(self, id))
                && pay(budget, found.values.len() as u64)
            {
                bytes_read += found.values.len() as u64;
                groups.append(found.place, position, found.values)?;
                continue;
            }
            let one = self.gather_one(position, id, attributes, budget, cancellation);
            let (description, gathered) = one.map_err(|error| self.place_found(id, error))?;
            let value_bytes = gathered.values.as_ref().map(Vec::len);
            let place = groups.add(description, gathered);
            if let Some((alike, value_bytes)) = alike.as_mut().zip(value_bytes) {
                alike.learn(self, id, place, value_bytes);
            }
        }
        self.session().counters().add_bytes_read(bytes_read);
        groups.into_list()
    }

    fn gather_one(&self, position: u64, id: ObjectId, names: &[String], budget: &AtomicU64, cancellation: &Cancellation) -> Result<(Description, Gathered)> {
        let object = self.object(id)?;
        let attributes = self.attributes(id)?;
        let common = names.iter().map(|name| {
            attributes
                .get(name)
                .map(|attribute| {
                    let value = attribute.value.as_ref().map_err(Clone::clone)?;
                    Ok((extent(&attribute.dataspace), plain_bytes(value)?))
                })
                .transpose()
        });
        let common = common.collect::<Result<Vec<_>>>()?;
        let mut gathered = Gathered { object: object.clone(), attributes, names: Vec::new(), positions: vec![position], members: Vec::new(), values: None };
        let kind = match &object {
            Object::Datatype(_) => Kind::Datatype,
            Object::Group => {
                for link in &*self.links(id)? {
                    let member = link.object().ok_or_else(|| Error::unsupported(format!("the member {:?} of this group is a link to a path", link.name)))?;
                    gathered.names.push(link.name.clone());
                    gathered.members.push(member);
                }
                Kind::Group
            }
            Object::Dataset(dataset) => {
                let bytes = dataset.value_bytes().filter(|bytes| *bytes <= MAX_GATHERED_BYTES);
                let is_plain = dataset.refusal.is_none() && dataset.virtual_mappings.is_empty() && !dataset.datatype.uses_heap();
                if is_plain && dataset.dataspace != Dataspace::Null && bytes.is_some_and(|bytes| pay(budget, bytes)) {
                    gathered.values = Some(self.read_bytes(id, &Selection::all(dataset.dataspace.shape()), cancellation)?);
                }
                Kind::Dataset(dataset.datatype.clone(), extent(&dataset.dataspace))
            }
        };
        let description = Description { kind, attributes: common, names: gathered.names.clone(), has_values: gathered.values.is_some() };
        Ok((description, gathered))
    }

    /// `error` with the path of `object`, found by a search.
    fn place_found(&self, object: ObjectId, error: Error) -> Error {
        if error.kind() == ErrorKind::Cancelled || error.object().is_some() {
            return error;
        }
        match self.path_of(object) {
            Ok(path) if is_of_links(&path) => error.at_object(&*path),
            // Callers know what refers to it.
            _ => error,
        }
    }
}

/// Pays for `bytes` of values; false if too few are left.
fn pay(budget: &AtomicU64, bytes: u64) -> bool {
    budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes)).is_ok()
}

/// Extent of each dimension; `None` for a null dataspace.
fn extent(dataspace: &Dataspace) -> Option<Vec<u64>> {
    (*dataspace != Dataspace::Null).then(|| dataspace.shape().to_vec())
}

/// The bytes of an attribute's elements, with values of a heap in place of where they are.
fn plain_bytes(value: &Elements) -> Result<Vec<u8>> {
    let base = match &value.datatype {
        Datatype::Sequence { base, .. } => base.size(),
        Datatype::VariableString { .. } => 1,
        _ => return Ok(value.bytes.clone()),
    };
    let size = usize::try_from(value.datatype.size()).unwrap_or(usize::MAX).max(1);
    let mut bytes = Vec::new();
    for element in value.bytes.chunks_exact(size) {
        let value = value.heap.value(element, base)?;
        bytes.extend((value.len() as u64).to_le_bytes());
        bytes.extend(value);
    }
    Ok(bytes)
}

/// Gathered objects by their description, in the order in which the descriptions came.
#[derive(Default)]
struct Groups {
    list: Vec<Gathered>,
    by_description: HashMap<Description, usize>,
}

impl Groups {
    /// Adds objects to the group with the same description; returns the index of that group in the list.
    fn add(&mut self, description: Description, mut gathered: Gathered) -> usize {
        let place = self.by_description.get(&description).copied().unwrap_or(self.list.len());
        let Some(known) = self.list.get_mut(place) else {
            self.by_description.insert(description, place);
            self.list.push(gathered);
            return place;
        };
        known.positions.append(&mut gathered.positions);
        known.members.append(&mut gathered.members);
        if let Some((known, values)) = known.values.as_mut().zip(gathered.values) {
            known.extend_from_slice(&values);
        }
        place
    }

    /// Adds a dataset that is like the others at `place`.
    fn append(&mut self, place: usize, position: u64, values: &[u8]) -> Result<()> {
        let known = self.list.get_mut(place).ok_or_else(|| Error::internal("an object like one that is not there"))?;
        known.positions.push(position);
        let all = known.values.as_mut().ok_or_else(|| Error::internal("values like those of an object without"))?;
        all.extend_from_slice(values);
        Ok(())
    }

    fn into_list(self) -> Result<Vec<(Description, Gathered)>> {
        let mut descriptions: Vec<Option<Description>> = std::iter::repeat_with(|| None).take(self.list.len()).collect();
        for (description, index) in self.by_description {
            if let Some(slot) = descriptions.get_mut(index) {
                *slot = Some(description);
            }
        }
        let pair = |(description, gathered): (Option<Description>, Gathered)| description.map(|description| (description, gathered));
        descriptions.into_iter().zip(self.list).map(pair).collect::<Option<_>>().ok_or_else(|| Error::internal("objects without a description"))
    }
}
