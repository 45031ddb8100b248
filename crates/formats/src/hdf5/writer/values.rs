//! Variable-length values: copies heap objects into the heap of the file that is written.

use std::collections::HashMap;
use std::sync::Arc;

use hyperslab_array::{Datatype, Error, HeapObjects, HeapReference, ReferenceKind, Result};
use hyperslab_storage::Storage;

use crate::Limits;
use crate::array_file::resolve_heap;
use crate::budget::Budget;
use crate::hdf5::Source;
use crate::hdf5::heap::{GlobalHeap, HeapWriter};

use super::references::{EachReference, Pointed, each_reference, part, place_reference, set_place};

/// What variable-length parts point at, by reference.
type Resolve<'a> = &'a dyn Fn(HeapReference) -> Result<&'a [u8]>;

/// A file that is being written, as a source of values that are in it already.
fn source_of(storage: Arc<dyn Storage>, base_address: u64) -> Source {
    let limits = Limits { metadata_block_bytes: u64::MAX, ..Limits::default() };
    let budget = Arc::new(Budget::new(storage.len(), limits.metadata_bytes));
    Source { storage, base_address, offset_size: 8, length_size: 8, limits, shared_messages: Arc::default(), budget }
}

/// The heap objects that the elements in `bytes` point at. The file has a user block of `base_address` bytes; only its heaps and
/// values need be written yet.
///
/// # Errors
/// `Corrupt` or `Io` if an object cannot be read.
pub fn stored_values(storage: Arc<dyn Storage>, base_address: u64, datatype: &Datatype, bytes: &[u8]) -> Result<HeapObjects> {
    let source = source_of(storage, base_address);
    let mut objects = HeapObjects::limited(u64::MAX);
    resolve_heap(datatype, bytes, &mut objects, &mut |references, objects| GlobalHeap::fetch(&source, references, objects))?;
    Ok(objects)
}

/// Addresses of the bytes of these heap objects in a file as in [`stored_values`].
///
/// # Errors
/// `Corrupt` or `Io` if a collection cannot be read.
pub fn stored_offsets(storage: Arc<dyn Storage>, base_address: u64, places: &[HeapReference]) -> Result<HashMap<HeapReference, u64>> {
    GlobalHeap::offsets(&source_of(storage, base_address), places)
}

/// Takes a reference in a value and the heap that the value is stored in.
type PlaceReference<'a> = dyn FnMut(ReferenceKind, &mut [u8], &mut HeapWriter) -> Result<()> + 'a;

/// Copies the heap objects that the elements in `bytes` point at into `heap`, and updates the elements.
///
/// # Errors
/// That of `resolve`; `Unsupported` for a value that is too long, and for references that are not null.
pub fn store_values<'a>(datatype: &Datatype, bytes: &mut [u8], resolve: Resolve<'a>, heap: &mut HeapWriter) -> Result<()> {
    place_values(datatype, bytes, resolve, heap, None)
}

/// As [`store_values`]. References are what `each` makes of them, in sequences of variable length, too.
///
/// # Errors
/// Those of `resolve` and `each`; `Unsupported` for a value that is too long.
pub fn store_values_with<'a>(datatype: &Datatype, bytes: &mut [u8], resolve: Resolve<'a>, heap: &mut HeapWriter, each: &mut EachReference<'_>) -> Result<()> {
    place_all(datatype, bytes, resolve, heap, &mut |kind, element, _| each(kind, element))
}

/// Puts stored references in the place of their numbers, except in sequences of variable length, and what they need into `heap`.
///
/// # Errors
/// `Internal` for a number that nothing has; `InvalidInput` or `Unsupported` for a reference that its datatype cannot be.
pub fn place_references(datatype: &Datatype, bytes: &mut [u8], heap: &mut HeapWriter, pointed: Pointed<'_>) -> Result<()> {
    each_reference(datatype, bytes, &mut |kind, element| place_reference(kind, element, heap, pointed))
}

/// As [`store_values`], with what references may point at, by number.
///
/// # Errors
/// As [`store_values`] and [`place_references`].
pub fn place_values<'a>(datatype: &Datatype, bytes: &mut [u8], resolve: Resolve<'a>, heap: &mut HeapWriter, pointed: Option<Pointed<'_>>) -> Result<()> {
    place_all(datatype, bytes, resolve, heap, &mut |kind, element, heap| match pointed {
        Some(pointed) => place_reference(kind, element, heap, pointed),
        None if element.iter().all(|byte| *byte == 0) => Ok(()),
        None => Err(Error::unsupported("writing references in datasets")),
    })
}

fn place_all<'a>(datatype: &Datatype, bytes: &mut [u8], resolve: Resolve<'a>, heap: &mut HeapWriter, references: &mut PlaceReference<'_>) -> Result<()> {
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

fn place<'a>(datatype: &Datatype, element: &mut [u8], resolve: Resolve<'a>, heap: &mut HeapWriter, references: &mut PlaceReference<'_>) -> Result<()> {
    match datatype {
        Datatype::VariableString { .. } => variable(None, element, resolve, heap, references),
        Datatype::Sequence { base, .. } => variable(Some(base), element, resolve, heap, references),
        Datatype::Compound { members, .. } => {
            for member in members.iter() {
                place_all(&member.datatype, part(element, member)?, resolve, heap, references)?;
            }
            Ok(())
        }
        Datatype::Array { base, .. } => place_all(base, element, resolve, heap, references),
        Datatype::Reference { kind, .. } => references(*kind, element, heap),
        _ => Ok(()),
    }
}

fn variable<'a>(base: Option<&Datatype>, element: &mut [u8], resolve: Resolve<'a>, heap: &mut HeapWriter, references: &mut PlaceReference<'_>) -> Result<()> {
    let (count, reference) = HeapReference::parse(element)?;
    let Some(reference) = reference else {
        // An empty value that lies in a heap is not the same as none: the library reads "" and NULL.
        if count == 0 && element.len() == 16 && element.get(4..).map_or(Ok(None), HeapReference::parse_place)?.is_some() {
            return set_place(element, heap.insert(&[]));
        }
        element.fill(0);
        return if element.len() == 16 { Ok(()) } else { Err(Error::unsupported("writing variable-length elements of other than 16 bytes")) };
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
    set_place(element, place)
}
