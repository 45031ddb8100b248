//! References (specification IV.A.2.d, class 7, and the appendix on reference encodings): an object's
//! address, a place in the global heap, or the typed form of HDF5 1.12 (`H5T_STD_REF`), which is
//!
//! ```text
//! type (1 byte) | flags (1) | token        an object of the same file
//! type (1 byte) | flags (1) | size (4) | place in the global heap, whose object holds
//!     token | name of the file, if it is another | selection, or name of the attribute
//! ```

use hyperslab_array::name::name_of;
use hyperslab_array::{Error, HeapReference, ReferenceKind, ReferenceTarget, ReferencedPart, Result, StoredReference};

use super::heap::GlobalHeap;
use super::message::selection;
use super::{Cursor, Source};

/// Flag: the object is in another file.
const EXTERNAL: u8 = 1;

/// An element, as far as it can be read without the heap.
enum Element {
    Null,
    Whole(StoredReference),
    /// An address and a selection, in the heap.
    Region(HeapReference),
    /// The rest of a typed reference, in the heap.
    Typed {
        target: ReferenceTarget,
        external: bool,
        size: u32,
        place: HeapReference,
    },
}

/// Parses the references in `bytes`, elements of `size` bytes; heap objects are read once for all of them.
pub(super) fn read(source: &Source, kind: ReferenceKind, size: usize, bytes: &[u8]) -> Result<Vec<Option<StoredReference>>> {
    if size == 0 || !bytes.len().is_multiple_of(size) {
        return Err(Error::corrupt(format!("{} bytes of references of {size} bytes", bytes.len())));
    }
    let elements = bytes.chunks_exact(size).map(|element| parse(source, kind, element)).collect::<Result<Vec<_>>>()?;
    let mut places: Vec<HeapReference> = elements
        .iter()
        .filter_map(|element| match element {
            Element::Region(place) | Element::Typed { place, .. } => Some(*place),
            Element::Null | Element::Whole(_) => None,
        })
        .collect();
    places.sort_unstable();
    places.dedup();
    let mut objects = source.heap_objects();
    GlobalHeap::fetch(source, &places, &mut objects)?;
    let resolve = |element| -> Result<Option<StoredReference>> {
        match element {
            Element::Null => Ok(None),
            Element::Whole(reference) => Ok(Some(reference)),
            Element::Region(place) => {
                let mut cursor = source.cursor(objects.object(place)?, place.address);
                let address = cursor.defined_address("the dataset of a region reference")?;
                Ok(Some(StoredReference { file: None, address, part: ReferencedPart::Region(selection::parse(&mut cursor)?) }))
            }
            Element::Typed { target, external, size, place } => {
                let object = objects.object(place)?;
                let object = usize::try_from(size)
                    .ok()
                    .and_then(|size| object.get(..size))
                    .ok_or_else(|| Error::corrupt(format!("a reference of {size} bytes lies in a heap object of {}", object.len())).at_offset(place.address))?;
                let mut cursor = source.cursor(object, place.address);
                let reference = typed(&mut cursor, target, external)?;
                // The library gives selections more room than they need.
                if target != ReferenceTarget::Region && cursor.remaining() > 0 {
                    return Err(cursor.corrupt(format!("{} bytes are left of a reference", cursor.remaining())));
                }
                Ok(Some(reference))
            }
        }
    };
    elements.into_iter().map(resolve).collect()
}

fn parse(source: &Source, kind: ReferenceKind, element: &[u8]) -> Result<Element> {
    Ok(match kind {
        // Items of a sequence have the size of references in memory, whatever the addresses of the file have: the rest means nothing.
        ReferenceKind::Object => match object_address(element.get(..usize::from(source.offset_size)).unwrap_or(element))? {
            None => Element::Null,
            Some(address) => Element::Whole(StoredReference { file: None, address, part: ReferencedPart::Object }),
        },
        ReferenceKind::Region => {
            let place = element.get(..usize::from(source.offset_size) + 4).unwrap_or(element);
            HeapReference::parse_place(place)?.map_or(Element::Null, Element::Region)
        }
        ReferenceKind::Standard => {
            let Some(target) = target(kind, element)? else { return Ok(Element::Null) };
            let mut cursor = source.cursor(element, 0);
            let (_, flags) = (cursor.u8()?, cursor.u8()?);
            if flags & !EXTERNAL != 0 {
                return Err(Error::corrupt(format!("flags {flags:#x} of a reference")));
            }
            let external = flags & EXTERNAL != 0;
            if target == ReferenceTarget::Object && !external {
                return typed(&mut cursor, target, external).map(Element::Whole);
            }
            let size = cursor.u32()?;
            let place = HeapReference::parse_place(cursor.take(usize::from(source.offset_size) + 4)?)?;
            let place = place.ok_or_else(|| Error::corrupt("a reference of HDF5 1.12 whose place in the heap is undefined"))?;
            Element::Typed { target, external, size, place }
        }
    })
}

/// The kind of target of an element, from its bytes alone; `None` for a null reference.
///
/// # Errors
/// `Corrupt` for bytes that are not a reference of this kind.
pub fn target(kind: ReferenceKind, element: &[u8]) -> Result<Option<ReferenceTarget>> {
    Ok(match kind {
        ReferenceKind::Object => object_address(element)?.map(|_| ReferenceTarget::Object),
        ReferenceKind::Region => HeapReference::parse_place(element)?.map(|_| ReferenceTarget::Region),
        ReferenceKind::Standard => match element.first() {
            Some(0) if element.iter().all(|byte| *byte == 0) => None,
            // Type 0 is never written: the heap address tells that the reference is null.
            Some(0) if element.get(6..).is_some_and(|place| matches!(HeapReference::parse_place(place), Ok(None))) => None,
            Some(2) => Some(ReferenceTarget::Object),
            Some(3) => Some(ReferenceTarget::Region),
            Some(4) => Some(ReferenceTarget::Attribute),
            Some(other) => return Err(Error::corrupt(format!("a reference of type {other}"))),
            None => return Err(Error::corrupt("a reference without bytes")),
        },
    })
}

/// The address of an object reference; `None` if it is 0 or undefined.
fn object_address(element: &[u8]) -> Result<Option<u64>> {
    if element.is_empty() || element.iter().all(|byte| *byte == 0) || element.iter().all(|byte| *byte == u8::MAX) {
        return Ok(None);
    }
    let address = element.iter().rev().try_fold(0u64, |n, &byte| Some(n.checked_mul(256)? | u64::from(byte)));
    address.map(Some).ok_or_else(|| Error::corrupt(format!("an object reference of {} bytes", element.len())))
}

/// The part of a typed reference that begins with the object's token.
pub(super) fn typed(cursor: &mut Cursor<'_>, target: ReferenceTarget, external: bool) -> Result<StoredReference> {
    let size = cursor.u8()?;
    if size == 0 || size > 8 {
        return Err(Error::unsupported(format!("a reference to an object by a token of {size} bytes")));
    }
    let address = cursor.uint(usize::from(size))?;
    let file = if external { Some(text(cursor)?) } else { None };
    let part = match target {
        ReferenceTarget::Object => ReferencedPart::Object,
        ReferenceTarget::Attribute => ReferencedPart::Attribute(text(cursor)?),
        ReferenceTarget::Region => {
            let bytes = cursor.u32()?;
            let ndim = cursor.u32()?;
            // The heap object may be longer than what is in it.
            let end = usize::try_from(bytes).ok().and_then(|bytes| cursor.position().checked_add(bytes));
            let room = cursor.position().saturating_add(cursor.remaining());
            let Some(end) = end.filter(|end| *end <= room) else {
                return Err(cursor.corrupt(format!("a selection of {bytes} bytes in {}", cursor.remaining())));
            };
            let selection = selection::parse(cursor)?;
            if cursor.position() > end {
                return Err(cursor.corrupt(format!("a selection longer than its {bytes} bytes")));
            }
            if selection.ndim().is_some_and(|own| own != u64::from(ndim)) {
                return Err(cursor.corrupt(format!("a selection of another number of dimensions than {ndim}")));
            }
            ReferencedPart::Region(selection)
        }
    };
    Ok(StoredReference { file, address, part })
}

/// Text with a length prefix of two bytes.
fn text(cursor: &mut Cursor<'_>) -> Result<String> {
    let length = cursor.u16()?;
    Ok(name_of(cursor.take(usize::from(length))?))
}
