//! Targets of references in elements: objects, and regions of datasets. Targets are paths until the file is finished and
//! every object has an address.

use std::collections::{BTreeMap, HashMap};

use hyperslab_array::{Dataspace, Datatype, Elements, Error, HeapObjects, HeapReference, HyperslabAxis, ReferenceKind, Result, StoredSelection};
use hyperslab_formats::hdf5::writer::{NewAttribute, each_reference, encode_selection};

use super::definition::{AttributeValue, check_references};
use super::object_path::normalized_path;
use super::object_references::{ObjectReferences, datatype};

/// The target of a reference.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Target {
    /// Path of the object; `None` if it was removed.
    pub path: Option<String>,
    /// Start, stride, count and block per dimension for a region of a dataset; `None` for the whole object.
    pub region: Option<Vec<[u64; 4]>>,
}

impl Target {
    /// Parses a target: the path, and for a region a NUL and four little-endian 64-bit values per dimension.
    fn parse(value: &[u8]) -> Result<Self> {
        let bad = || Error::invalid_input("a reference that cannot be read");
        let (path, region) = match value.iter().position(|byte| *byte == 0) {
            None => (value, None),
            Some(end) => (value.get(..end).unwrap_or_default(), value.get(end + 1..)),
        };
        let path = normalized_path(std::str::from_utf8(path).map_err(|_| bad())?)?;
        let parse_u64 = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |n, byte| n << 8 | u64::from(*byte));
        let region = region.map(|bytes| {
            let axes = bytes.chunks(32).map(|axis| {
                let mut numbers = axis.chunks(8).map(parse_u64);
                Some([numbers.next()?, numbers.next()?, numbers.next()?, numbers.next()?]).filter(|_| axis.len() == 32)
            });
            axes.collect::<Option<Vec<_>>>().ok_or_else(bad)
        });
        Ok(Self { path: Some(path), region: region.transpose()? })
    }

    fn selection(&self) -> Option<StoredSelection> {
        let axes = self.region.as_ref()?;
        if axes.is_empty() {
            return Some(StoredSelection::All);
        }
        if axes.iter().any(|[_, _, count, block]| *count == 0 || *block == 0) {
            return Some(StoredSelection::None);
        }
        let axis =
            |[start, stride, count, block]: &[u64; 4]| HyperslabAxis { start: *start, stride: *stride, count: Some(*count), block: Some(*block), limit: None };
        Some(StoredSelection::Hyperslab(axes.iter().map(axis).collect()))
    }
}

/// Targets of all references in a file. Elements hold the id of the target, from 1 on; 0 is a null reference.
#[derive(Debug, Default)]
pub(crate) struct ReferenceTargets {
    targets: Vec<Target>,
    ids: HashMap<Target, u64>,
}

impl ReferenceTargets {
    fn id_of(&mut self, target: Target) -> u64 {
        let next = self.targets.len() as u64 + 1;
        let targets = &mut self.targets;
        *self.ids.entry(target).or_insert_with_key(|target| {
            targets.push(target.clone());
            next
        })
    }

    pub fn get(&self, id: u64) -> Option<&Target> {
        self.targets.get(usize::try_from(id.checked_sub(1)?).ok()?)
    }

    /// Calls `each` with the path of each target; `each` may change it.
    pub fn for_each_path(&mut self, mut each: impl FnMut(&mut Option<String>)) {
        self.targets.iter_mut().for_each(|target| each(&mut target.path));
        // From now on an old path may name another object.
        self.ids.clear();
    }

    /// Registers the targets of references in elements: replaces heap indexes, which `resolve` resolves, with target ids.
    pub fn register_references<'a>(&mut self, datatype: &Datatype, bytes: &mut [u8], resolve: &'a dyn Fn(HeapReference) -> Result<&'a [u8]>) -> Result<()> {
        each_reference(datatype, bytes, &mut |_, element| {
            let id = match u32::try_from(target_id_in(element)) {
                Ok(0) => 0,
                Ok(index) => self.id_of(Target::parse(resolve(HeapReference { address: 1, index })?)?),
                Err(_) => return Err(Error::invalid_input("a reference without a value")),
            };
            put_target_id(element, id)
        })
    }

    /// Object references as elements with target ids.
    pub fn value_of(&mut self, references: &ObjectReferences) -> AttributeValue {
        let (shape, paths) = references.parts();
        let id = |path: &Option<String>| path.clone().map_or(0, |path| self.id_of(Target { path: Some(path), region: None }));
        let bytes = paths.iter().map(id).flat_map(u64::to_le_bytes).collect();
        AttributeValue { dataspace: Dataspace::fixed(shape.to_vec()), value: Elements { datatype: datatype(), bytes, heap: HeapObjects::default() } }
    }

    /// Like [`ReferenceTargets::register_references`], for an attribute.
    pub fn register_attribute(&mut self, mut value: AttributeValue) -> Result<AttributeValue> {
        let elements = &mut value.value;
        check_references(&elements.datatype)?;
        let heap = std::mem::take(&mut elements.heap);
        self.register_references(&elements.datatype, &mut elements.bytes, &|reference| heap.object(reference))?;
        elements.heap = heap;
        Ok(value)
    }

    /// Object index and encoded selection of each target, for [`NewFile`].
    pub fn regions(&self, object_indexes: &BTreeMap<&str, usize>) -> Result<Vec<(Option<usize>, Vec<u8>)>> {
        let region = |target: &Target| {
            let object = target.path.as_ref().and_then(|path| object_indexes.get(path.as_str())).copied();
            let selection = target.selection().map(|selection| encode_selection(&selection)).transpose()?;
            Ok((object, selection.unwrap_or_default()))
        };
        self.targets.iter().map(region).collect()
    }

    /// Replaces target ids in elements with the indexes of [`NewFile`]: objects first, then regions.
    pub fn translate(&self, datatype: &Datatype, bytes: &mut [u8], regions: &[(Option<usize>, Vec<u8>)], objects: usize) -> Result<()> {
        each_reference(datatype, bytes, &mut |kind, element| {
            let id = target_id_in(element);
            let Some(index) = id.checked_sub(1) else { return Ok(()) };
            let (object, _) =
                usize::try_from(index).ok().and_then(|index| regions.get(index)).ok_or_else(|| Error::internal("a reference without a target"))?;
            let path = usize::try_from(index).ok().and_then(|index| self.targets.get(index)?.path.as_ref());
            let reference = match (object, kind) {
                (None, _) if path.is_none() => 0,
                (None, _) => {
                    return Err(Error::not_found(format!(
                        "a reference to /{}, which is neither a group nor a dataset of this file",
                        path.map_or("", String::as_str)
                    )));
                }
                (Some(object), ReferenceKind::Object) => *object as u64 + 1,
                (Some(_), _) => objects as u64 + id,
            };
            put_target_id(element, reference)
        })
    }

    /// Encodes an attribute of references.
    pub fn attribute(&self, name: &str, value: &AttributeValue, object_indexes: &BTreeMap<&str, usize>) -> Result<NewAttribute> {
        let mut value = value.clone();
        self.translate(&value.value.datatype, &mut value.value.bytes, &self.regions(object_indexes)?, object_indexes.len())?;
        Ok(NewAttribute { name: name.to_owned(), dataspace: value.dataspace, value: value.value })
    }
}

fn target_id_in(element: &[u8]) -> u64 {
    element.iter().take(8).rev().fold(0, |n, byte| n << 8 | u64::from(*byte))
}

fn put_target_id(element: &mut [u8], id: u64) -> Result<()> {
    element.fill(0);
    element.get_mut(..8).ok_or_else(|| Error::internal("a reference of fewer than 8 bytes"))?.copy_from_slice(&id.to_le_bytes());
    Ok(())
}
