//! Variable-length values: copies heap objects into the heap of the file that is written.

use std::sync::Arc;

use hyperslab_array::{Datatype, Error, HeapObjects, HeapReference, Member, ReferenceKind, Result};
use hyperslab_storage::Storage;

use crate::Limits;
use crate::array_file::resolve_heap;
use crate::budget::Budget;
use crate::hdf5::Source;
use crate::hdf5::heap::{GlobalHeap, HeapWriter};

/// What variable-length parts point at, by reference.
type Resolve<'a> = &'a dyn Fn(HeapReference) -> Result<&'a [u8]>;

/// The heap objects that the elements in `bytes` point at. The file has a user block of `base_address` bytes; only its heaps and
/// values need be written yet.
///
/// # Errors
/// `Corrupt` or `Io` if an object cannot be read.
pub fn stored_values(storage: Arc<dyn Storage>, base_address: u64, datatype: &Datatype, bytes: &[u8]) -> Result<HeapObjects> {
    let limits = Limits { metadata_block_bytes: u64::MAX, ..Limits::default() };
    let budget = Arc::new(Budget::new(storage.len(), limits.metadata_bytes));
    let source = Source { storage, base_address, offset_size: 8, length_size: 8, limits, shared_messages: Arc::default(), budget };
    let mut objects = HeapObjects::limited(u64::MAX);
    resolve_heap(datatype, bytes, &mut objects, &mut |references, objects| GlobalHeap::fetch(&source, references, objects))?;
    Ok(objects)
}

/// Copies the heap objects that the elements in `bytes` point at into `heap`, and updates the references.
///
/// # Errors
/// That of `resolve`; `Unsupported` for a value that is too long.
pub fn store_values<'a>(datatype: &Datatype, bytes: &mut [u8], resolve: Resolve<'a>, heap: &mut HeapWriter) -> Result<()> {
    place_values(datatype, bytes, resolve, heap, None)
}

/// What references may point at.
#[derive(Debug, Clone, Copy)]
pub struct Pointed<'a> {
    /// Addresses of the objects by number.
    pub objects: &'a [u64],
    /// The regions of [`super::NewFile`].
    pub regions: &'a [(Option<usize>, Vec<u8>)],
}

/// What references in values hold.
#[derive(Debug, Clone, Copy)]
enum References<'a> {
    /// They are refused.
    Refused,
    /// Addresses of objects, as they are stored.
    Addresses,
    /// Numbers of what may be pointed at.
    Numbers(Pointed<'a>),
}

/// As [`store_values`]. References to objects are addresses of the file already.
///
/// # Errors
/// As [`store_values`]; `Unsupported` for other references.
pub fn store_values_with_addresses<'a>(datatype: &Datatype, bytes: &mut [u8], resolve: Resolve<'a>, heap: &mut HeapWriter) -> Result<()> {
    place_all(datatype, bytes, resolve, heap, References::Addresses)
}

/// Calls `each` with every reference in `bytes`, elements of `datatype`, but for those in sequences of variable length.
///
/// # Errors
/// That of `each`; `Internal` for bytes that are not whole elements.
pub fn each_reference(datatype: &Datatype, bytes: &mut [u8], each: &mut dyn FnMut(ReferenceKind, &mut [u8]) -> Result<()>) -> Result<()> {
    if !datatype.has_references() {
        return Ok(());
    }
    let size = usize::try_from(datatype.size()).unwrap_or(usize::MAX).max(1);
    for element in bytes.chunks_exact_mut(size) {
        match datatype {
            Datatype::Reference { kind, .. } => each(*kind, element)?,
            Datatype::Array { base, .. } => each_reference(base, element, each)?,
            Datatype::Compound { members, .. } => {
                for member in members.iter() {
                    each_reference(&member.datatype, part(element, member)?, each)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Puts addresses in the place of the numbers of references, and what regions need into `heap`.
///
/// # Errors
/// `Internal` for a number that nothing has.
pub fn place_references(datatype: &Datatype, bytes: &mut [u8], heap: &mut HeapWriter, pointed: Pointed<'_>) -> Result<()> {
    each_reference(datatype, bytes, &mut |kind, element| place_reference(kind, element, heap, References::Numbers(pointed)))
}

fn place_reference(kind: ReferenceKind, element: &mut [u8], heap: &mut HeapWriter, references: References<'_>) -> Result<()> {
    if let References::Addresses = references {
        let is_null = element.iter().all(|byte| *byte == 0);
        return match kind {
            ReferenceKind::Object if element.len() == size_of::<u64>() => Ok(()),
            _ if is_null => Ok(()),
            _ => Err(Error::unsupported("references to regions, and those of HDF5 1.12, cannot be written into an existing file yet")),
        };
    }
    let number = element.iter().take(8).rev().fold(0u64, |n, byte| n << 8 | u64::from(*byte));
    let Some(number) = number.checked_sub(1) else {
        element.fill(0);
        return Ok(());
    };
    let number = usize::try_from(number).unwrap_or(usize::MAX);
    let References::Numbers(pointed) = references else { return Err(Error::unsupported("writing references in datasets")) };
    let nothing = || Error::internal("a reference to an object that is not there");
    let stored = match kind {
        ReferenceKind::Object => pointed.objects.get(number).ok_or_else(nothing)?.to_le_bytes().to_vec(),
        ReferenceKind::Region => {
            let (object, selection) = number.checked_sub(pointed.objects.len()).and_then(|number| pointed.regions.get(number)).ok_or_else(nothing)?;
            let address = object.and_then(|object| pointed.objects.get(object)).ok_or_else(nothing)?;
            let mut value = address.to_le_bytes().to_vec();
            value.extend_from_slice(selection);
            let place = heap.insert(&value);
            let mut stored = place.address.to_le_bytes().to_vec();
            stored.extend_from_slice(&place.index.to_le_bytes());
            stored
        }
        ReferenceKind::Standard => return Err(Error::unsupported("writing references of HDF5 1.12")),
    };
    if element.len() != stored.len() {
        return Err(Error::internal(format!("a reference of {} bytes", element.len())));
    }
    element.copy_from_slice(&stored);
    Ok(())
}

/// The bytes of a member of a compound.
fn part<'a>(element: &'a mut [u8], member: &Member) -> Result<&'a mut [u8]> {
    let start = usize::try_from(member.offset).unwrap_or(usize::MAX);
    let size = usize::try_from(member.datatype.size()).unwrap_or(usize::MAX);
    let part = start.checked_add(size).and_then(|end| element.get_mut(start..end));
    part.ok_or_else(|| Error::internal("a member outside of its compound"))
}

/// As [`store_values`], with what references may point at, by number.
///
/// # Errors
/// As [`store_values`] and [`place_references`].
pub fn place_values<'a>(datatype: &Datatype, bytes: &mut [u8], resolve: Resolve<'a>, heap: &mut HeapWriter, objects: Option<Pointed<'_>>) -> Result<()> {
    place_all(datatype, bytes, resolve, heap, objects.map_or(References::Refused, References::Numbers))
}

fn place_all<'a>(datatype: &Datatype, bytes: &mut [u8], resolve: Resolve<'a>, heap: &mut HeapWriter, references: References<'_>) -> Result<()> {
    if !datatype.uses_heap() && !datatype.has_references() {
        return Ok(());
    }
    let size = usize::try_from(datatype.size()).unwrap_or(usize::MAX).max(1);
    if !bytes.len().is_multiple_of(size) {
        return Err(Error::internal(format!("{} bytes in elements of {size}", bytes.len())));
    }
    for element in bytes.chunks_exact_mut(size) {
        place(datatype, element, resolve, heap, references)?;
    }
    Ok(())
}

fn place<'a>(datatype: &Datatype, element: &mut [u8], resolve: Resolve<'a>, heap: &mut HeapWriter, references: References<'_>) -> Result<()> {
    match datatype {
        Datatype::VariableString { .. } => variable(None, element, resolve, heap, references),
        Datatype::Sequence { base, .. } => variable(Some(base), element, resolve, heap, references),
        Datatype::Compound { members, .. } => {
            for member in members.iter() {
                let part = part(element, member)?;
                place_all(&member.datatype, part, resolve, heap, references)?;
            }
            Ok(())
        }
        Datatype::Array { base, .. } => place_all(base, element, resolve, heap, references),
        Datatype::Reference { kind, .. } => place_reference(*kind, element, heap, references),
        _ => Ok(()),
    }
}

fn variable<'a>(base: Option<&Datatype>, element: &mut [u8], resolve: Resolve<'a>, heap: &mut HeapWriter, references: References<'_>) -> Result<()> {
    let (count, reference) = HeapReference::parse(element)?;
    let stored: &mut [u8; 16] = element.try_into().map_err(|_| Error::unsupported("writing variable-length elements of other than 16 bytes"))?;
    let Some(reference) = reference else {
        *stored = [0; 16];
        return Ok(());
    };
    let bytes = u64::from(count).checked_mul(base.map_or(1, Datatype::size));
    let value = resolve(reference)?;
    let value = bytes.and_then(|bytes| value.get(..usize::try_from(bytes).ok()?));
    let value = value.ok_or_else(|| Error::invalid_input(format!("a variable-length value of {count} items is shorter than that")))?;
    let place = match base.filter(|base| base.uses_heap() || base.has_references()) {
        None => heap.insert(value),
        Some(base) => {
            let mut value = value.to_vec();
            place_all(base, &mut value, resolve, heap, references)?;
            heap.insert(&value)
        }
    };
    let (_, target) = stored.split_at_mut(4);
    let (address, index) = target.split_at_mut(8);
    address.copy_from_slice(&place.address.to_le_bytes());
    index.copy_from_slice(&place.index.to_le_bytes());
    Ok(())
}
