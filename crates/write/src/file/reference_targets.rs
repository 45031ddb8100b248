//! Targets: what elements of datasets and attributes refer to, objects and parts of datasets, by path until the file ends
//! and everything has its address.

use std::collections::{BTreeMap, HashMap};

use hyperslab_array::{Dataspace, Datatype, Elements, Error, HeapObjects, HeapReference, HyperslabAxis, ReferenceKind, Result, StoredSelection};
use hyperslab_formats::hdf5::writer::{HeapWriter, NewAttribute, NewFile, Pointed, each_reference, encode_selection, place_references};

use super::definition::AttributeValue;
use super::file_writer::{Subfile, normal};
use super::object_references::{Pointers, datatype};

/// What a reference points at.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target {
    /// Path of the object; `None` if it was removed.
    pub path: Option<String>,
    /// Start, stride, count and block of each dimension of the elements of a dataset; `None` is the object.
    pub region: Option<Vec<[u64; 4]>>,
}

impl Target {
    /// The target in a value: the path, and for a region a NUL and four numbers of 8 bytes for each dimension.
    fn parse(value: &[u8]) -> Result<Self> {
        let bad = || Error::invalid_input("a reference that cannot be read");
        let (path, region) = match value.iter().position(|byte| *byte == 0) {
            None => (value, None),
            Some(end) => (value.get(..end).unwrap_or_default(), value.get(end + 1..)),
        };
        let path = normal(std::str::from_utf8(path).map_err(|_| bad())?)?;
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |n, byte| n << 8 | u64::from(*byte));
        let region = region.map(|bytes| {
            let axes = bytes.chunks(32).map(|axis| {
                let mut numbers = axis.chunks(8).map(number);
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
        let axis = |[start, stride, count, block]: &[u64; 4]| HyperslabAxis { start: *start, stride: *stride, count: Some(*count), block: Some(*block), limit: None };
        Some(StoredSelection::Hyperslab(axes.iter().map(axis).collect()))
    }
}

/// What all references of a file point at. A reference in an element is the number of its target, from 1 on; 0 points at
/// nothing.
#[derive(Debug, Default)]
pub(crate) struct Targets {
    known: Vec<Target>,
    numbers: HashMap<Target, u64>,
}

/// An offset in the file and the bytes that belong there.
type Placed = (u64, Vec<u8>);

impl Targets {
    fn number_of(&mut self, target: Target) -> u64 {
        let next = self.known.len() as u64 + 1;
        let known = &mut self.known;
        *self.numbers.entry(target).or_insert_with_key(|target| {
            known.push(target.clone());
            next
        })
    }

    pub fn get(&self, number: u64) -> Option<&Target> {
        self.known.get(usize::try_from(number.checked_sub(1)?).ok()?)
    }

    /// Calls `each` with the path of each target, which it may change.
    pub fn each_path(&mut self, mut each: impl FnMut(&mut Option<String>)) {
        self.known.iter_mut().for_each(|target| each(&mut target.path));
        // What comes under an old path from now on is another object.
        self.numbers.clear();
    }

    /// Numbers the references in elements, which hold the number of a value that `resolve` knows.
    pub fn take_in<'a>(&mut self, datatype: &Datatype, bytes: &mut [u8], resolve: &'a dyn Fn(HeapReference) -> Result<&'a [u8]>) -> Result<()> {
        each_reference(datatype, bytes, &mut |_, element| {
            let number = number_in(element);
            let number = match u32::try_from(number) {
                Ok(0) => 0,
                Ok(index) => self.number_of(Target::parse(resolve(HeapReference { address: 1, index })?)?),
                Err(_) => return Err(Error::invalid_input("a reference that is not there")),
            };
            put_number(element, number)
        })
    }

    /// References to objects as elements with numbers.
    pub fn of_pointers(&mut self, pointers: &Pointers) -> AttributeValue {
        let (shape, paths) = pointers.parts();
        let number = |path: &Option<String>| path.clone().map_or(0, |path| self.number_of(Target { path: Some(path), region: None }));
        let bytes = paths.iter().map(number).flat_map(u64::to_le_bytes).collect();
        AttributeValue { dataspace: Dataspace::fixed(shape.to_vec()), value: Elements { datatype: datatype(), bytes, heap: HeapObjects::default() } }
    }

    /// As [`Targets::take_in`], of an attribute.
    pub fn take_attribute(&mut self, mut value: AttributeValue) -> Result<AttributeValue> {
        let elements = &mut value.value;
        check(&elements.datatype)?;
        let heap = std::mem::take(&mut elements.heap);
        self.take_in(&elements.datatype, &mut elements.bytes, &|reference| heap.object(reference))?;
        elements.heap = heap;
        Ok(value)
    }

    /// Object and selection of each target, for [`NewFile`].
    pub fn regions(&self, numbers: &BTreeMap<&str, usize>) -> Result<Vec<(Option<usize>, Vec<u8>)>> {
        let region = |target: &Target| {
            let object = target.path.as_ref().and_then(|path| numbers.get(path.as_str())).copied();
            let selection = target.selection().map(|selection| encode_selection(&selection)).transpose()?;
            Ok((object, selection.unwrap_or_default()))
        };
        self.known.iter().map(region).collect()
    }

    /// Translates elements to the numbers of [`NewFile`]: objects first, then regions.
    fn translate(&self, datatype: &Datatype, bytes: &mut [u8], regions: &[(Option<usize>, Vec<u8>)], objects: usize) -> Result<()> {
        each_reference(datatype, bytes, &mut |kind, element| {
            let number = number_in(element);
            let Some(place) = number.checked_sub(1) else { return Ok(()) };
            let (object, _) = usize::try_from(place).ok().and_then(|place| regions.get(place)).ok_or_else(|| Error::internal("a reference without a target"))?;
            let path = usize::try_from(place).ok().and_then(|place| self.known.get(place)?.path.as_ref());
            let number = match (object, kind) {
                (None, _) if path.is_none() => 0,
                (None, _) => return Err(Error::not_found(format!("a reference to /{}, which is no group and no dataset of this file", path.map_or("", String::as_str)))),
                (Some(object), ReferenceKind::Object) => *object as u64 + 1,
                (Some(_), _) => objects as u64 + number,
            };
            put_number(element, number)
        })
    }

    /// An attribute of references.
    pub fn attribute(&self, name: &str, value: &AttributeValue, numbers: &BTreeMap<&str, usize>) -> Result<NewAttribute> {
        let mut value = value.clone();
        self.translate(&value.value.datatype, &mut value.value.bytes, &self.regions(numbers)?, numbers.len())?;
        Ok(NewAttribute { name: name.to_owned(), dataspace: value.dataspace, value: value.value })
    }
}

/// Checks that elements have references where they can be placed when the file ends.
pub(crate) fn check(datatype: &Datatype) -> Result<()> {
    match datatype {
        Datatype::Sequence { base, .. } if base.has_references() => Err(Error::unsupported("writing references in sequences of variable length")),
        Datatype::Reference { kind: ReferenceKind::Standard, .. } => Err(Error::unsupported("writing references of HDF5 1.12: give those to objects or regions")),
        Datatype::Array { base, .. } => check(base),
        Datatype::Compound { members, .. } => members.iter().try_for_each(|member| check(&member.datatype)),
        _ => Ok(()),
    }
}

fn number_in(element: &[u8]) -> u64 {
    element.iter().take(8).rev().fold(0, |n, byte| n << 8 | u64::from(*byte))
}

fn put_number(element: &mut [u8], number: u64) -> Result<()> {
    element.fill(0);
    element.get_mut(..8).ok_or_else(|| Error::internal("a reference of fewer than 8 bytes"))?.copy_from_slice(&number.to_le_bytes());
    Ok(())
}

impl Subfile {
    /// What a reference points at, by its number.
    pub fn target_of(&self, number: u64) -> Option<&Target> {
        self.targets.get(number)
    }

    /// Takes room for the regions that datasets point at; where it is.
    pub(crate) fn place_regions(&mut self, file: &NewFile) -> Result<u64> {
        let nowhere = vec![0; file.objects.len()];
        let at = self.blocks.open_end()?;
        let (_, heap) = self.placed(file, at, &nowhere)?;
        let heap = heap.finish();
        if !heap.is_empty() {
            self.blocks.write_open(at, &heap)?;
        }
        Ok(at)
    }

    /// Writes the references of all datasets, now that objects have addresses.
    pub(crate) fn place_references(&mut self, file: &NewFile, regions: u64, addresses: &[u64]) -> Result<()> {
        let (placed, heap) = self.placed(file, regions, addresses)?;
        for (address, bytes) in placed {
            self.blocks.write_at(address, &bytes)?;
        }
        let heap = heap.finish();
        if !heap.is_empty() {
            self.blocks.write_at(regions, &heap)?;
        }
        Ok(())
    }

    /// The elements of all datasets that have references, with the addresses where they lie, and what references to regions
    /// point at, to lie at `at`.
    fn placed(&self, file: &NewFile, at: u64, addresses: &[u64]) -> Result<(Vec<Placed>, HeapWriter)> {
        let pointed = Pointed { objects: addresses, regions: &file.regions };
        let (mut placed, mut heap) = (Vec::new(), HeapWriter::in_pages(at, self.blocks.page_bytes()));
        for (_, dataset) in self.datasets().filter(|(_, dataset)| dataset.definition().datatype.has_references()) {
            let datatype = &dataset.definition().datatype;
            for (address, length) in dataset.places() {
                let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
                self.blocks.read_at(address, &mut bytes)?;
                self.targets.translate(datatype, &mut bytes, &file.regions, file.objects.len())?;
                place_references(datatype, &mut bytes, &mut heap, pointed)?;
                placed.push((address, bytes));
            }
        }
        Ok((placed, heap))
    }
}
