//! Variable-length values: copies heap objects into the heap of the file that is written.

use std::collections::HashMap;
use std::sync::Arc;

use hyperslab_array::{Datatype, Elements, Error, HeapObjects, HeapReference, ReferenceKind, Result};
use hyperslab_storage::Storage;

use crate::Limits;
use crate::array_file::resolve_heap;
use crate::budget::Budget;
use crate::hdf5::Source;
use crate::hdf5::heap::{GlobalHeap, HeapWriter};

use super::address_width::{WIDE_ADDRESS_BYTES, with_addresses};
use super::references::{EachReference, Pointed, each_reference, part, part_mut, place_reference, set_place};

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

/// The elements in `bytes` as a file stores them whose addresses have `address_bytes`, with the heap objects that they point at in `heap`. References
/// are numbers of what is `pointed` at, or stay as they are.
///
/// # Errors
/// As [`place_values`]; `Unsupported` for references of a file with addresses of another size that stay as they are.
pub fn values_in_file<'a>(
    datatype: &Datatype,
    bytes: &[u8],
    resolve: Resolve<'a>,
    heap: &mut HeapWriter,
    address_bytes: u8,
    pointed: Option<Pointed<'_>>,
) -> Result<Vec<u8>> {
    let stored = with_addresses(datatype, address_bytes);
    let mut references = |kind, element: &mut [u8], heap: &mut HeapWriter| match pointed {
        Some(pointed) => place_reference(kind, element, heap, pointed),
        None => Ok(()),
    };
    elements(datatype, &stored, bytes, &mut InFile { resolve, heap, references: &mut references })
}

/// Where values of variable length come from and go to, and what references become.
trait Placing {
    /// A value of variable length; of a sequence with the datatype of its items, as given and as stored.
    fn variable(&mut self, base: Option<(&Datatype, &Datatype)>, element: &[u8], out: &mut [u8]) -> Result<()>;
    /// A reference, which is as long as it is stored.
    fn reference(&mut self, kind: ReferenceKind, out: &mut [u8]) -> Result<()>;
}

/// Into the heap of a file.
struct InFile<'p, 'a> {
    resolve: Resolve<'a>,
    heap: &'p mut HeapWriter,
    references: &'p mut PlaceReference<'p>,
}

fn place_all<'a>(datatype: &Datatype, bytes: &mut [u8], resolve: Resolve<'a>, heap: &mut HeapWriter, references: &mut PlaceReference<'_>) -> Result<()> {
    if !datatype.uses_heap() && !datatype.has_references() {
        return Ok(());
    }
    if with_addresses(datatype, WIDE_ADDRESS_BYTES) != *datatype {
        return Err(Error::unsupported("writing values of variable length, or references, of a file whose addresses do not have 8 bytes"));
    }
    let placed = elements(datatype, datatype, bytes, &mut InFile { resolve, heap, references: &mut |kind, element, heap| references(kind, element, heap) })?;
    bytes.copy_from_slice(&placed);
    Ok(())
}

fn bytes_of(datatype: &Datatype) -> usize {
    usize::try_from(datatype.size()).unwrap_or(usize::MAX).max(1)
}

/// Elements of `datatype` as `stored`, which differs from it in the size of addresses only.
fn elements(datatype: &Datatype, stored: &Datatype, bytes: &[u8], placing: &mut dyn Placing) -> Result<Vec<u8>> {
    let (size, stored_size) = (bytes_of(datatype), bytes_of(stored));
    if !bytes.len().is_multiple_of(size) {
        return Err(Error::internal(format!("{} bytes in elements of {size}", bytes.len())));
    }
    if !datatype.uses_heap() && !datatype.has_references() {
        return Ok(bytes.to_vec());
    }
    let total = (bytes.len() / size).checked_mul(stored_size).ok_or_else(|| Error::limit_exceeded("values beyond the address space"))?;
    let mut out = vec![0; total];
    for (element, target) in bytes.chunks_exact(size).zip(out.chunks_exact_mut(stored_size)) {
        place(datatype, stored, element, target, placing)?;
    }
    Ok(out)
}

fn place(datatype: &Datatype, stored: &Datatype, element: &[u8], out: &mut [u8], placing: &mut dyn Placing) -> Result<()> {
    if element.len() == out.len() {
        // With what lies between the members.
        out.copy_from_slice(element);
    }
    match (datatype, stored) {
        (Datatype::VariableString { .. }, _) => placing.variable(None, element, out),
        (Datatype::Sequence { base, .. }, Datatype::Sequence { base: stored, .. }) => placing.variable(Some((base, stored)), element, out),
        (Datatype::Compound { members, .. }, Datatype::Compound { members: stored, .. }) => {
            for (member, target) in members.iter().zip(stored.iter()) {
                let value = elements(&member.datatype, &target.datatype, part(element, member)?, placing)?;
                part_mut(out, target)?.copy_from_slice(&value);
            }
            Ok(())
        }
        (Datatype::Array { base, .. }, Datatype::Array { base: stored, .. }) => {
            let value = elements(base, stored, element, placing)?;
            if out.len() != value.len() {
                return Err(Error::internal("an array of another length"));
            }
            out.copy_from_slice(&value);
            Ok(())
        }
        (Datatype::Reference { kind, .. }, _) => {
            if element.len() != out.len() {
                // A number, which is small.
                let shared = element.len().min(out.len());
                let (number, rest) = element.split_at_checked(shared).ok_or_else(|| Error::internal("a reference shorter than itself"))?;
                if rest.iter().any(|byte| *byte != 0) {
                    return Err(Error::unsupported("references of a file whose addresses have another size"));
                }
                out.iter_mut().zip(number).for_each(|(to, byte)| *to = *byte);
            }
            placing.reference(*kind, out)
        }
        _ => Ok(()),
    }
}

impl Placing for InFile<'_, '_> {
    fn variable(&mut self, base: Option<(&Datatype, &Datatype)>, element: &[u8], out: &mut [u8]) -> Result<()> {
        let (count, reference) = HeapReference::parse(element)?;
        out.fill(0);
        let Some(reference) = reference else {
            // An empty value that lies in a heap is not the same as none: the library reads "" and NULL.
            if count == 0 && element.len() == 16 && element.get(4..).map_or(Ok(None), HeapReference::parse_place)?.is_some() {
                return set_place(out, self.heap.insert(&[]));
            }
            return Ok(());
        };
        let value = items(count, base, (self.resolve)(reference)?)?;
        let place = match base.filter(|(base, _)| base.uses_heap() || base.has_references()) {
            None => self.heap.insert(value),
            Some((base, stored)) => {
                let value = elements(base, stored, value, self)?;
                self.heap.insert(&value)
            }
        };
        set_count(out, count)?;
        set_place(out, place)
    }

    fn reference(&mut self, kind: ReferenceKind, out: &mut [u8]) -> Result<()> {
        (self.references)(kind, out, self.heap)
    }
}

/// The bytes of a value of `count` items in its heap object.
fn items<'v>(count: u32, base: Option<(&Datatype, &Datatype)>, value: &'v [u8]) -> Result<&'v [u8]> {
    let bytes = u64::from(count).checked_mul(base.map_or(1, |(base, _)| base.size()));
    let value = bytes.and_then(|bytes| value.get(..usize::try_from(bytes).ok()?));
    value.ok_or_else(|| Error::invalid_input(format!("a variable-length value of {count} items is shorter than that")))
}

fn set_count(element: &mut [u8], count: u32) -> Result<()> {
    let (target, _) = element.split_first_chunk_mut::<4>().ok_or_else(|| Error::internal("a value of variable length without a count"))?;
    target.copy_from_slice(&count.to_le_bytes());
    Ok(())
}

/// Address of the heap objects that [`widened`] makes: no file whose addresses have fewer bytes than 8 has it.
const MADE_ADDRESS: u64 = u64::MAX - 1;

/// Elements of a file whose addresses have fewer than 8 bytes, as files that are created have them. References must be numbers.
///
/// # Errors
/// `Corrupt` for values that are not in the heap; `Unsupported` for references that are not numbers.
pub fn widened(mut given: Elements) -> Result<Elements> {
    let datatype = with_addresses(&given.datatype, WIDE_ADDRESS_BYTES);
    if datatype == given.datatype {
        return Ok(given);
    }
    let mut placing = Widened { heap: &given.heap, made: Vec::new(), known: HashMap::new() };
    let bytes = elements(&given.datatype, &datatype, &given.bytes, &mut placing)?;
    for (reference, items) in placing.made {
        given.heap.insert(reference, items.into());
    }
    Ok(Elements { datatype, bytes, heap: given.heap })
}

/// In the heap objects where they are; sequences whose items have addresses become other objects.
struct Widened<'h> {
    heap: &'h HeapObjects,
    made: Vec<(HeapReference, Vec<u8>)>,
    known: HashMap<(HeapReference, u32), HeapReference>,
}

impl Placing for Widened<'_> {
    fn variable(&mut self, base: Option<(&Datatype, &Datatype)>, element: &[u8], out: &mut [u8]) -> Result<()> {
        let place = HeapReference::parse_place(element.get(4..).unwrap_or_default())?;
        let (count, reference) = HeapReference::parse(element)?;
        out.fill(0);
        set_count(out, count)?;
        let place = match (reference, base.filter(|(base, stored)| base != stored)) {
            (Some(reference), Some((base, stored))) => Some(match self.known.get(&(reference, count)) {
                Some(made) => *made,
                None => {
                    let value = elements(base, stored, items(count, Some((base, stored)), self.heap.object(reference)?)?, self)?;
                    let index = u32::try_from(self.made.len()).map_err(|_| Error::limit_exceeded("more than 2³² sequences at a time"))?;
                    let made = HeapReference { address: MADE_ADDRESS, index };
                    self.made.push((made, value));
                    self.known.insert((reference, count), made);
                    made
                }
            }),
            _ => place,
        };
        place.map_or(Ok(()), |place| set_place(out, place))
    }

    fn reference(&mut self, _: ReferenceKind, _: &mut [u8]) -> Result<()> {
        Ok(())
    }
}
