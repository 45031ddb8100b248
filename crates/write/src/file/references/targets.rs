//! Targets of references in elements: objects, and regions of datasets. Targets are paths until the file is finished and
//! every object has an address.

use std::collections::{BTreeMap, HashMap};

use hyperslab_array::{Dataspace, Datatype, Elements, Error, HeapObjects, HeapReference, HyperslabAxis, Result, StoredSelection};
use hyperslab_formats::hdf5::writer::{
    HeapWriter, NewAttribute, NewTarget, Pointed, Sequences, TargetObject, TargetPart, check_references, each_nested_reference, each_reference,
    parse_selection, place_references, replace_references,
};

use super::object_path::normalized_path;
use super::object_references::{ObjectReferences, datatype};
use crate::file::definition::AttributeValue;

/// The target of a reference.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Target {
    pub(crate) object: Referenced,
    pub(crate) part: TargetPart,
}

/// The object that a reference leads to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Referenced {
    /// The object at a path of the file that is written.
    Path(String),
    /// One that was removed: the reference is null.
    Removed,
    /// The object at an address of another file.
    Other { file: String, address: u64 },
}

impl Target {
    /// Parses a target: the path, and for a part of the object a NUL and what [`TargetPart::parse`] takes.
    fn parse(value: &[u8]) -> Result<Self> {
        let (path, part) = match value.iter().position(|byte| *byte == 0) {
            None => (value, TargetPart::Object),
            Some(end) => (value.get(..end).unwrap_or_default(), TargetPart::parse(value.get(end + 1..).unwrap_or_default())?),
        };
        let path = std::str::from_utf8(path).ok().filter(|path| !path.is_empty());
        let path = path.ok_or_else(|| Error::invalid_input("a reference that cannot be read"))?;
        Ok(Self { object: Referenced::Path(normalized_path(path)?), part })
    }

    /// A whole object.
    fn whole(path: String) -> Self {
        Self { object: Referenced::Path(path), part: TargetPart::Object }
    }

    /// Path of the object; `None` if it was removed.
    ///
    /// # Errors
    /// `Unsupported` for a reference to another file, which only copies of other files have.
    pub fn path(&self) -> Result<Option<&str>> {
        match &self.object {
            Referenced::Other { .. } => Err(Error::unsupported("reading back a reference to another file while this one is written")),
            Referenced::Path(path) => Ok(Some(path)),
            Referenced::Removed => Ok(None),
        }
    }

    /// The name of the attribute; `None` for other parts of the object, and for the object itself.
    pub fn attribute(&self) -> Option<&str> {
        match &self.part {
            TargetPart::Attribute(name) => Some(name),
            TargetPart::Object | TargetPart::Region { .. } => None,
        }
    }

    /// The elements of the dataset; `None` for other parts of the object, and for the object itself. All of them is a hyperslab without
    /// dimensions, and none of them a hyperslab of zero elements.
    ///
    /// # Errors
    /// `Corrupt` for a selection that cannot be read.
    pub fn region(&self) -> Result<Option<StoredSelection>> {
        let TargetPart::Region { ndim, selection } = &self.part else { return Ok(None) };
        let nothing = HyperslabAxis { start: 0, stride: 1, count: Some(0), block: Some(1), limit: None };
        Ok(Some(match parse_selection(selection)? {
            StoredSelection::All => StoredSelection::Hyperslab(Vec::new()),
            StoredSelection::None => StoredSelection::Hyperslab(vec![nothing; *ndim as usize]),
            other => other,
        }))
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
        for target in &mut self.targets {
            if let Referenced::Path(path) = &target.object {
                let mut path = Some(path.clone());
                each(&mut path);
                target.object = path.map_or(Referenced::Removed, Referenced::Path);
            }
        }
        // From now on an old path may name another object.
        self.ids.clear();
    }

    /// Registers the target of a reference that was given as a number, which `named` knows: the element gets the id of the target.
    pub fn register(&mut self, element: &mut [u8], named: &dyn Fn(u32) -> Result<Target>) -> Result<()> {
        let id = match u32::try_from(target_id_in(element)) {
            Ok(0) => 0,
            Ok(index) => self.id_of(named(index)?),
            Err(_) => return Err(Error::invalid_input("a reference without a value")),
        };
        put_target_id(element, id)
    }

    /// Object references as elements with target ids.
    pub fn value_of(&mut self, references: &ObjectReferences) -> AttributeValue {
        let (shape, paths) = references.parts();
        let id = |path: &Option<String>| path.clone().map_or(0, |path| self.id_of(Target::whole(path)));
        let bytes = paths.iter().map(id).flat_map(u64::to_le_bytes).collect();
        AttributeValue::new(Dataspace::fixed(shape.to_vec()), Elements { datatype: datatype(), bytes, heap: HeapObjects::default() })
    }

    /// Registers all references of an attribute, see [`ReferenceTargets::register`].
    pub fn register_attribute(&mut self, mut value: AttributeValue, named: &dyn Fn(u32) -> Result<Target>) -> Result<AttributeValue> {
        check_references(&value.value.datatype)?;
        replace_references(&mut value.value, &mut |_, element| self.register(element, named))?;
        Ok(value)
    }

    /// The targets as [`NewFile`] lists them.
    pub fn listed(&self, object_indexes: &BTreeMap<&str, usize>) -> Vec<NewTarget> {
        let target = |target: &Target| {
            let object = match &target.object {
                Referenced::Path(path) => object_indexes.get(path.as_str()).map_or(TargetObject::Nothing, |index| TargetObject::Number(*index)),
                Referenced::Removed => TargetObject::Nothing,
                Referenced::Other { file, address } => TargetObject::Address { file: Some(file.clone()), address: *address },
            };
            NewTarget { object, part: target.part.clone() }
        };
        self.targets.iter().map(target).collect()
    }

    /// Replaces the target id in a reference with the number of [`NewAttribute`].
    fn translate(&self, element: &mut [u8], listed: &[NewTarget], objects: usize) -> Result<()> {
        let id = target_id_in(element);
        let Some(index) = id.checked_sub(1).map(|index| usize::try_from(index).unwrap_or(usize::MAX)) else { return Ok(()) };
        let found = self.targets.get(index).zip(listed.get(index));
        let (target, new) = found.ok_or_else(|| Error::internal("a reference without a target"))?;
        let number = match (&target.object, &new.object, &new.part) {
            (Referenced::Removed, ..) => 0,
            (Referenced::Path(path), TargetObject::Nothing, _) => {
                return Err(Error::not_found(format!("a reference to /{path}, which is neither a group nor a dataset of this file")));
            }
            (_, TargetObject::Number(object), TargetPart::Object) => *object as u64 + 1,
            _ => objects as u64 + id,
        };
        put_target_id(element, number)
    }

    /// Encodes an attribute of references.
    pub fn attribute(&self, name: &str, value: &AttributeValue, object_indexes: &BTreeMap<&str, usize>) -> Result<NewAttribute> {
        let (mut value, listed) = (value.clone(), self.listed(object_indexes));
        replace_references(&mut value.value, &mut |_, element| self.translate(element, &listed, object_indexes.len()))?;
        Ok(NewAttribute { name: name.to_owned(), committed: None, dataspace: value.dataspace, value: value.value })
    }

    /// Replaces the target ids in elements with the numbers of [`NewAttribute`], except in sequences of variable length.
    pub fn number(&self, datatype: &Datatype, bytes: &mut [u8], listed: &[NewTarget], objects: usize) -> Result<()> {
        each_reference(datatype, bytes, &mut |_, element| self.translate(element, listed, objects))
    }

    /// Puts stored references in the place of the target ids in the elements of a dataset, and what they need into `heap`. Sequences
    /// of variable length stay in their places, which `put` gets with their new items.
    pub fn place<'a>(
        &self,
        datatype: &Datatype,
        bytes: &mut [u8],
        resolve: &'a dyn Fn(HeapReference) -> Result<&'a [u8]>,
        put: &'a mut dyn FnMut(HeapReference, Vec<u8>) -> Result<HeapReference>,
        heap: &mut HeapWriter,
        pointed: Pointed<'_>,
    ) -> Result<()> {
        each_nested_reference(datatype, bytes, &mut Sequences { resolve, put }, &mut |kind, element| {
            self.translate(element, pointed.targets, pointed.objects.len())?;
            place_references(&Datatype::Reference { kind, size: element.len() as u64 }, element, heap, pointed)
        })
    }
}

/// The target of a reference by the index of its text in the heap.
pub(crate) fn in_heap<'a>(resolve: &dyn Fn(HeapReference) -> Result<&'a [u8]>, index: u32) -> Result<Target> {
    Target::parse(resolve(HeapReference { address: 1, index })?)
}

/// The target of a reference by its number in a list.
pub(crate) fn in_list(targets: &[Target], number: u32) -> Result<Target> {
    let found = usize::try_from(number).ok().and_then(|number| targets.get(number.checked_sub(1)?));
    found.cloned().ok_or_else(|| Error::internal("a reference to no target of a list"))
}

fn target_id_in(element: &[u8]) -> u64 {
    element.iter().take(8).rev().fold(0, |n, byte| n << 8 | u64::from(*byte))
}

fn put_target_id(element: &mut [u8], id: u64) -> Result<()> {
    element.fill(0);
    element.get_mut(..8).ok_or_else(|| Error::internal("a reference of fewer than 8 bytes"))?.copy_from_slice(&id.to_le_bytes());
    Ok(())
}
