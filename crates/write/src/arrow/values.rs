//! Values: elements of a file, as a container stores them. References lead to the objects of the container.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use hyperslab_array::{Dataspace, Datatype, Error, HeapObjects, HeapReference, ReferenceKind, ReferencedPart, Result};
use hyperslab_arrow_container::elements::Arena;
use hyperslab_arrow_container::lock;
use hyperslab_arrow_container::model::{Region, Tree};
use hyperslab_container_format::Form;
use hyperslab_formats::{ObjectId, hdf5};
use hyperslab_reader::File;

use super::references;

/// What values of one file become in a container.
pub(super) struct Values<'a> {
    pub file: &'a File,
    /// The objects of the container by the objects of the file.
    pub ids: &'a HashMap<ObjectId, u64>,
    pub tree: &'a std::sync::Mutex<Tree>,
    /// Holds values of variable length.
    pub arena: Arc<Arena>,
    /// Whether there were texts that are empty and not null. The container has null for both.
    pub empty_texts: Cell<bool>,
}

/// Bytes of the length in front of the place of a value of variable length.
const LENGTH_BYTES: usize = 4;

fn ends_early() -> Error {
    Error::internal("an element that ends too early")
}

fn usize_of(size: u64) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}

impl Values<'_> {
    /// Converts elements of `datatype`, whose values of variable length are in `heap`, to elements as the container stores them.
    pub fn stored(&self, datatype: &Datatype, form: &Form, bytes: &[u8], heap: &HeapObjects) -> Result<Vec<u8>> {
        if !form.has_heap() && !datatype.has_references() {
            return Ok(bytes.to_vec());
        }
        let (size, stored_size) = (usize_of(datatype.size()).max(1), form.stored().bytes());
        let mut out = vec![0; bytes.len() / size * stored_size];
        for (element, stored) in bytes.chunks_exact(size).zip(out.chunks_exact_mut(stored_size.max(1))) {
            self.convert(datatype, form, element, stored, heap)?;
        }
        Ok(out)
    }

    fn convert(&self, datatype: &Datatype, form: &Form, element: &[u8], out: &mut [u8], heap: &HeapObjects) -> Result<()> {
        match (datatype, form) {
            (Datatype::Reference { kind, size }, Form::Plain(_)) => self.reference(*kind, usize_of(*size), element, out),
            (Datatype::Reference { kind, size }, Form::Reference) => self.standard_reference(*kind, usize_of(*size), element, out),
            (Datatype::Reference { kind, size }, Form::MemoryReference) => self.memory_reference(*kind, usize_of(*size), element, out),
            (_, Form::Plain(_)) => {
                out.copy_from_slice(element.get(..out.len()).ok_or_else(ends_early)?);
                Ok(())
            }
            (Datatype::VariableString { .. }, Form::Text) => {
                let value = heap.value(element, 1)?;
                let place = element.get(LENGTH_BYTES..).ok_or_else(ends_early)?;
                if value.is_empty() && HeapReference::parse_place(place)?.is_some() {
                    self.empty_texts.set(true);
                }
                self.put(value.len(), value, out)
            }
            (Datatype::Sequence { base, .. }, Form::Sequence(inner)) => {
                let value = heap.value(element, base.size())?;
                let stored = self.stored(base, inner, value, heap)?;
                self.put(value.len() / usize_of(base.size()).max(1), &stored, out)
            }
            (Datatype::Array { base, .. }, Form::Array { element: inner, .. }) => {
                let (size, stored_size) = (usize_of(base.size()).max(1), inner.stored().bytes().max(1));
                element.chunks_exact(size).zip(out.chunks_exact_mut(stored_size)).try_for_each(|(one, out)| self.convert(base, inner, one, out, heap))
            }
            (Datatype::Compound { members, .. }, Form::Compound { members: forms, .. }) => {
                for form in forms {
                    let member =
                        members.iter().find(|member| member.name == form.name).ok_or_else(|| Error::internal("a member that is not in its compound"))?;
                    let start = usize_of(member.offset);
                    let from = element.get(start..start.saturating_add(usize_of(member.datatype.size()))).ok_or_else(ends_early)?;
                    let to = out.get_mut(form.stored_offset..form.stored_offset + form.form.stored().bytes()).ok_or_else(ends_early)?;
                    self.convert(&member.datatype, &form.form, from, to, heap)?;
                }
                Ok(())
            }
            _ => Err(Error::unsupported("values of this datatype in a container")),
        }
    }

    /// Stores a value of `count` elements outside of its element, and names it there. An empty value is null.
    fn put(&self, count: usize, value: &[u8], out: &mut [u8]) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        let count = u32::try_from(count).map_err(|_| Error::unsupported("a value of variable length of 4 Gi elements"))?;
        let name = self.arena.put(value).map_err(|error| Error::internal(error.message))?;
        let (length, rest) = out.split_at_mut_checked(4).ok_or_else(ends_early)?;
        length.copy_from_slice(&count.to_le_bytes());
        rest.get_mut(..name.len()).ok_or_else(ends_early)?.copy_from_slice(&name);
        Ok(())
    }

    /// The object of the container that a reference leads to, its dataset in the file, and the part that is meant; `None` for a null reference.
    fn target(&self, kind: ReferenceKind, size: usize, element: &[u8]) -> Result<Option<(u64, ObjectId, ReferencedPart)>> {
        let found = self.file.array_file().references(kind, size, element)?;
        let Some(reference) = found.into_iter().next().flatten() else { return Ok(None) };
        if reference.file.is_some() {
            return Err(Error::unsupported("copying a reference to an object of another file"));
        }
        let target = self.file.array_file().tree().at_address(reference.address);
        let (source, id) = target
            .and_then(|target| Some((target, *self.ids.get(&target)?)))
            .ok_or_else(|| Error::unsupported("copying a reference to an object that is not in the file"))?;
        Ok(Some((id, source, reference.part)))
    }

    fn space(&self, source: ObjectId) -> Result<Dataspace> {
        Ok(self.file.dataset(source)?.dataspace.clone())
    }

    /// A reference of HDF5 before 1.12: the object, and the number of its region.
    fn reference(&self, kind: ReferenceKind, size: usize, element: &[u8], out: &mut [u8]) -> Result<()> {
        let Some((id, source, part)) = self.target(kind, size, element)? else { return Ok(()) };
        let number = match &part {
            ReferencedPart::Object => None,
            ReferencedPart::Region(selection) => Some(lock(self.tree).add_region(Region::new(hdf5::encode_selection(&self.space(source)?, selection)?))),
            ReferencedPart::Attribute(_) => return Err(Error::internal("a reference to an attribute of an older form")),
        };
        let (object, rest) = out.split_at_mut_checked(8).ok_or_else(ends_early)?;
        object.copy_from_slice(&id.to_le_bytes());
        if let Some(number) = number {
            rest.get_mut(..4).ok_or_else(ends_early)?.copy_from_slice(&number.to_le_bytes());
        }
        Ok(())
    }

    /// A reference of HDF5 1.12: its type and flags, and its token; one of a region or attribute is stored outside of its element.
    fn standard_reference(&self, kind: ReferenceKind, size: usize, element: &[u8], out: &mut [u8]) -> Result<()> {
        let Some((id, source, part)) = self.target(kind, size, element)? else { return Ok(()) };
        let (target, encoded) = references::encode(id, &part, || self.space(source))?;
        let (head, rest) = out.split_at_mut_checked(2).ok_or_else(ends_early)?;
        head.copy_from_slice(&[target, 0]);
        if part == ReferencedPart::Object {
            rest.get_mut(..encoded.len()).ok_or_else(ends_early)?.copy_from_slice(&encoded);
            return Ok(());
        }
        self.put(encoded.len(), &encoded, rest)
    }

    /// The same in a sequence, where HDF5 keeps references as they are in memory.
    fn memory_reference(&self, kind: ReferenceKind, size: usize, element: &[u8], out: &mut [u8]) -> Result<()> {
        let Some((id, source, part)) = self.target(kind, size, element)? else { return Ok(()) };
        if part != ReferencedPart::Object {
            return Err(Error::unsupported("references to regions or attributes in sequences of variable length, in a container"));
        }
        let (target, encoded) = references::encode(id, &part, || self.space(source))?;
        let (head, rest) = out.split_at_mut_checked(2).ok_or_else(ends_early)?;
        head.copy_from_slice(&[target, 0]);
        rest.get_mut(..encoded.len()).ok_or_else(ends_early)?.copy_from_slice(&encoded);
        Ok(())
    }
}
