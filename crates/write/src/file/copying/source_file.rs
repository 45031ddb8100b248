//! Reads objects of an existing file in the form in which they are written into another.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};

use hyperslab_array::{Attribute, ByteOrder, Cancellation, Dataspace, Datatype, Elements, Error, Member, ReferenceKind, Result, Selection, StoredReference};
use hyperslab_formats::hdf5::writer::{widened, widened_datatype};
use hyperslab_formats::{Dataset, LinkTarget, Object, ObjectId, ObjectProperties};
use hyperslab_reader::File;

use super::choice::Choice;
use super::references::{ReferencedObjects, name_references};
use super::scales::ScaledDimension;
use crate::file::definition::AttributeValue;
use crate::file::references::links::Link;
use crate::file::references::object_references::ObjectReferences;
use crate::file::references::targets::Target;

/// An attribute, as it is written into the other file.
pub(crate) enum CopiedAttribute {
    Value(AttributeValue),
    /// With references that are numbers of the targets, from 1 on.
    Referring(AttributeValue, Vec<Target>),
    References(ObjectReferences),
    /// A `DIMENSION_LIST` of this datatype: the dimension scales, by dimension.
    Scales(Datatype, BTreeMap<u32, Vec<ObjectId>>),
    /// A `REFERENCE_LIST`: what the scale is attached to. The attribute is derived from each `DIMENSION_LIST`; only its order comes from the other file.
    ScaleOf(Datatype, Vec<ScaledDimension>),
}

/// An existing file with all of its objects.
pub(crate) struct SourceFile<'a> {
    file: &'a File,
    /// The objects with their paths, groups before their members.
    objects: Vec<(String, ObjectId, Object)>,
    /// Index of each object.
    by_id: HashMap<ObjectId, usize>,
    /// If some objects are not copied: which, and how many references to them and to others became null references.
    lenient: Option<Lenient>,
    /// What is copied, if not all.
    choice: Option<&'a Choice>,
}

/// What is not copied.
#[derive(Default)]
struct Lenient {
    missing: RefCell<HashSet<ObjectId>>,
    dangling: Cell<u64>,
    /// Number of references that could not be read.
    unreadable: Cell<u64>,
}

impl<'a> SourceFile<'a> {
    /// Finds all objects, also those that only references lead to.
    ///
    /// # Errors
    /// Those of an object that cannot be read; `Cancelled`.
    pub fn new(file: &'a File, cancellation: &Cancellation) -> Result<Self> {
        let unnamed = file.unnamed_objects(cancellation)?;
        let objects = file.walk().chain(unnamed).map(|walked| Ok((walked.path, walked.id, walked.object?))).collect::<Result<Vec<_>>>()?;
        let by_id = objects.iter().enumerate().map(|(index, (_, id, _))| (*id, index)).collect();
        Ok(Self { file, objects, by_id, lenient: None, choice: None })
    }

    /// Only these objects, which are chosen or needed by others of them.
    pub fn of_objects(file: &'a File, objects: Vec<(String, ObjectId, Object)>, choice: &'a Choice) -> Self {
        let by_id = objects.iter().enumerate().map(|(index, (_, id, _))| (*id, index)).collect();
        Self { file, objects, by_id, lenient: None, choice: Some(choice) }
    }

    /// The same; references to objects that are not in the file, or that cannot be copied, become null references.
    pub fn lenient(self) -> Self {
        Self { lenient: Some(Lenient::default()), ..self }
    }

    /// An object that cannot be copied.
    pub fn set_missing(&self, id: ObjectId) {
        if let Some(lenient) = &self.lenient {
            lenient.missing.borrow_mut().insert(id);
        }
    }

    /// Whether an object cannot be copied.
    pub fn is_missing(&self, id: ObjectId) -> bool {
        self.lenient.as_ref().is_some_and(|lenient| lenient.missing.borrow().contains(&id))
    }

    /// Number of references that became null references since the last call.
    pub fn take_dangling(&self) -> u64 {
        self.lenient.as_ref().map_or(0, |lenient| lenient.dangling.take())
    }

    /// Number of references that could not be read, and became null references, since the last call.
    pub fn take_unreadable(&self) -> u64 {
        self.lenient.as_ref().map_or(0, |lenient| lenient.unreadable.take())
    }

    /// All objects with their paths, groups before their members.
    pub fn objects(&self) -> &[(String, ObjectId, Object)] {
        &self.objects
    }

    /// The path of an object.
    pub fn path(&self, id: ObjectId) -> Option<&str> {
        let (path, _, _) = self.objects.get(*self.by_id.get(&id)?)?;
        Some(path)
    }

    /// The object that a reference points to; `None` for a null reference.
    fn target(&self, reference: &[u8]) -> Result<Option<ObjectId>> {
        let address = reference.iter().rev().try_fold(0u64, |n, byte| n.checked_mul(256)?.checked_add(u64::from(*byte)));
        match address {
            Some(0) => Ok(None),
            // No object has an address beyond 64 bits.
            address => self.copied_object(address.unwrap_or(u64::MAX)),
        }
    }

    /// The object at an address; `None` if it is not copied.
    fn copied_object(&self, address: u64) -> Result<Option<ObjectId>> {
        let id = self.file.array_file().tree().at_address(address);
        let id = id.filter(|id| !self.is_missing(*id) && self.by_id.contains_key(id));
        if let (None, Some(lenient)) = (id, &self.lenient) {
            lenient.dangling.set(lenient.dangling.get() + 1);
            return Ok(None);
        }
        id.map(Some).ok_or_else(|| Error::unsupported("copying a reference to an object that is not in the file"))
    }

    /// The paths of dimension scales, without the leading `/`.
    pub fn paths_of(&self, scales: &BTreeMap<u32, Vec<ObjectId>>) -> Result<BTreeMap<u32, Vec<&str>>> {
        let path = |id: &ObjectId| Ok(self.path(*id).ok_or_else(|| Error::internal("a dimension scale of no object"))?.trim_start_matches('/'));
        scales.iter().map(|(dimension, scales)| Ok((*dimension, scales.iter().map(path).collect::<Result<_>>()?))).collect()
    }

    fn object_references(&self, shape: &[u64], bytes: &[u8]) -> Result<ObjectReferences> {
        let owned = |reference| self.target(reference).map(|id| id.and_then(|id| self.path(id)).map(ToOwned::to_owned));
        let targets = bytes.chunks_exact(8).map(owned).collect::<Result<Vec<_>>>()?;
        ObjectReferences::new(shape.to_vec(), &targets)
    }

    /// Whether a dataset holds object references.
    pub fn is_of_references(&self, dataset: &Dataset) -> bool {
        is_reference(&dataset.datatype) && !matches!(dataset.dataspace, Dataspace::Null)
    }

    /// The values of a dataset of object references; `None` for other datasets.
    pub fn references(&self, id: ObjectId) -> Result<Option<ObjectReferences>> {
        let dataset = self.file.dataset(id)?;
        if !self.is_of_references(&dataset) {
            return Ok(None);
        }
        let shape = dataset.dataspace.shape();
        let values = self.file.read(id, &Selection::all(shape), &Cancellation::new())?;
        self.object_references(shape, &values.bytes).map(Some)
    }

    /// Converts an attribute; references become paths.
    pub fn attribute(&self, attribute: &Attribute) -> Result<CopiedAttribute> {
        let mut value = attribute.value.clone()?;
        check_lengths(&value)?;
        if attribute.name == "REFERENCE_LIST" && value.datatype.has_references() {
            let dimensions = self.scaled_dimensions(&value);
            return Ok(CopiedAttribute::ScaleOf(widened_datatype(&value.datatype), dimensions));
        }
        if attribute.name == "DIMENSION_LIST" && value.datatype.has_references() {
            let scales = self.scales(&value)?;
            if !scales.is_empty() {
                return Ok(CopiedAttribute::Scales(widened_datatype(&value.datatype), scales));
            }
            // A list of no scales holds no references.
            return Ok(CopiedAttribute::Referring(AttributeValue::new(attribute.dataspace.clone(), widened(value)?), Vec::new()));
        }
        if is_reference(&value.datatype) {
            return self.object_references(attribute.dataspace.shape(), &value.bytes).map(CopiedAttribute::References);
        }
        if value.datatype.has_references() {
            let in_attribute = |error: Error| Error::new(error.kind(), format!("attribute {:?}: {}", attribute.name, error.message()));
            let targets = name_references(self, &mut value).map_err(in_attribute)?;
            return Ok(CopiedAttribute::Referring(AttributeValue::new(attribute.dataspace.clone(), widened(value)?), targets));
        }
        Ok(CopiedAttribute::Value(AttributeValue::new(attribute.dataspace.clone(), widened(value)?)))
    }

    /// The dimensions in a `REFERENCE_LIST`, which only tells their order: none if it cannot be read, and none for what is not in the file.
    fn scaled_dimensions(&self, value: &Elements) -> Vec<ScaledDimension> {
        let Datatype::Compound { size, members } = &value.datatype else { return Vec::new() };
        let (Some(dataset), Some(dimension)) = (members.first(), members.get(1)) else { return Vec::new() };
        let (Datatype::Reference { kind, size: reference_size }, Ok(size)) = (&dataset.datatype, usize::try_from(*size)) else { return Vec::new() };
        let elements = || value.bytes.chunks_exact(size.max(1));
        let references: Vec<u8> = elements().filter_map(|element| member_bytes(element, dataset)).flatten().copied().collect();
        let found = usize::try_from(*reference_size).ok().and_then(|size| self.file.array_file().references(*kind, size, &references).ok());
        let scaled = |(element, reference): (&[u8], Option<StoredReference>)| {
            let dataset = self.file.array_file().tree().at_address(reference?.address)?;
            let number = member_bytes(element, dimension)?.try_into().ok()?;
            let dimension = match dimension.datatype {
                Datatype::Integer { order: ByteOrder::Big, .. } => u32::from_be_bytes(number),
                _ => u32::from_le_bytes(number),
            };
            Some(ScaledDimension { dataset, dimension })
        };
        elements().zip(found.unwrap_or_default()).filter_map(scaled).collect()
    }

    /// The scales in a `DIMENSION_LIST`, each once for a dimension.
    fn scales(&self, value: &Elements) -> Result<BTreeMap<u32, Vec<ObjectId>>> {
        let mut scales: BTreeMap<u32, Vec<ObjectId>> = BTreeMap::new();
        let Datatype::Sequence { base, .. } = &value.datatype else { return Err(Error::corrupt("a list of dimension scales that is no list")) };
        let Datatype::Reference { kind, size } = **base else { return Err(Error::corrupt("a list of dimension scales that are no references")) };
        let size = usize::try_from(size).unwrap_or(usize::MAX).max(1);
        let list_bytes = usize::try_from(value.datatype.size()).unwrap_or(usize::MAX).max(1);
        for (dimension, element) in (0..).zip(value.bytes.chunks_exact(list_bytes)) {
            let (count, references) = hyperslab_array::HeapReference::parse(element)?;
            let Some(references) = references else { continue };
            let items = value.heap.object(references)?;
            let length = usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(size);
            let items = items.get(..length).ok_or_else(|| Error::corrupt("a list of dimension scales that is shorter than it states"))?;
            let mut known = HashSet::new();
            for reference in self.stored_references(kind, size, items)?.into_iter().flatten() {
                if reference.file.is_some() {
                    return Err(Error::unsupported("a dimension scale in another file"));
                }
                if known.insert(reference.address)
                    && let Some(scale) = self.copied_object(reference.address)?
                {
                    scales.entry(dimension).or_default().push(scale);
                }
            }
        }
        Ok(scales)
    }

    /// Paths and targets of the links of a group, without the first name of each object.
    pub fn links(&self, path: &str, group: ObjectId) -> Result<Vec<(String, Link)>> {
        let mut links = Vec::new();
        for link in &*self.file.links(group)? {
            let place = format!("{}/{}", path.trim_end_matches('/'), link.name);
            let target = match &link.target {
                LinkTarget::Hard(id) if self.is_missing(*id) => continue,
                // Needed by something that was chosen.
                LinkTarget::Hard(id) if self.path(*id) == Some(place.as_str()) => continue,
                _ if self.choice.is_some_and(|choice| !choice.has(&place)) => continue,
                LinkTarget::Hard(id) => {
                    let target = self.path(*id).ok_or_else(|| Error::internal("a link to an object that was not found"))?;
                    Link::Hard(target.to_owned())
                }
                LinkTarget::Soft(path) => Link::Soft(path.clone()),
                LinkTarget::External { file, path } => Link::External { file: file.clone(), path: path.clone() },
                LinkTarget::UserDefined(class) => return Err(Error::unsupported(format!("copying a link of class {class}")).at_object(place)),
            };
            links.push((place, target.checked()?));
        }
        Ok(links)
    }

    /// What the file says of an object beyond its content.
    pub fn properties(&self, id: ObjectId) -> Result<ObjectProperties> {
        self.file.array_file().tree().properties(id)
    }

    /// Path of the committed datatype that an object shares, if it has one.
    pub fn committed(&self, id: ObjectId) -> Result<Option<String>> {
        Ok(self.properties(id)?.committed.and_then(|committed| self.path(committed)).map(ToOwned::to_owned))
    }
}

impl ReferencedObjects for SourceFile<'_> {
    fn path_at(&self, address: u64) -> Result<Option<String>> {
        self.copied_object(address).map(|id| id.and_then(|id| self.path(id)).map(ToOwned::to_owned))
    }

    fn ndim_at(&self, address: u64) -> Result<usize> {
        let id = self.file.array_file().tree().at_address(address).ok_or_else(|| Error::corrupt("a reference to a region of an object that does not exist"))?;
        Ok(self.file.dataset(id)?.dataspace.shape().len())
    }

    fn stored_references(&self, kind: ReferenceKind, size: usize, bytes: &[u8]) -> Result<Vec<Option<StoredReference>>> {
        let read = self.file.array_file().references(kind, size, bytes);
        let (Err(_), Some(lenient), true) = (&read, &self.lenient, size > 0) else { return read };
        // What one of them needs of the heap may be lost, and the others have theirs.
        let one = |element: &[u8]| {
            let found = self.file.array_file().references(kind, size, element).ok().and_then(|found| found.into_iter().next());
            found.unwrap_or_else(|| {
                lenient.unreadable.set(lenient.unreadable.get() + 1);
                None
            })
        };
        Ok(bytes.chunks_exact(size).map(one).collect())
    }
}

/// The bytes of a member of a compound element.
fn member_bytes<'e>(element: &'e [u8], member: &Member) -> Option<&'e [u8]> {
    let start = usize::try_from(member.offset).ok()?;
    element.get(start..)?.get(..usize::try_from(member.datatype.size()).ok()?)
}

fn is_reference(datatype: &Datatype) -> bool {
    matches!(datatype, Datatype::Reference { kind: ReferenceKind::Object, size: 8 })
}

/// Whether each value of variable length has as many items as it states.
fn check_lengths(value: &Elements) -> Result<()> {
    hyperslab_formats::collect_heap_references(&value.datatype, &value.bytes, &mut |base, element, reference| {
        let (count, _) = hyperslab_array::HeapReference::parse(element)?;
        let needed = u64::from(count).checked_mul(base.map_or(1, Datatype::size));
        let there = value.heap.object(reference)?.len() as u64;
        match needed.is_some_and(|needed| needed <= there) {
            true => Ok(()),
            false => Err(Error::corrupt(format!("a value of {count} items in {there} bytes"))),
        }
    })
}
