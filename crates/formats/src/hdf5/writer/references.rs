//! References in values: visited in elements, and encoded when the addresses of their objects are known.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use hyperslab_array::name::bytes_of;
use hyperslab_array::{Datatype, Elements, Error, HeapReference, Member, ReferenceKind, Result};

use super::description::{NewTarget, TargetObject};
use super::target_part::TargetPart;
use crate::hdf5::heap::HeapWriter;

/// Types of references of HDF5 1.12.
const OBJECT: u8 = 2;
const REGION: u8 = 3;
const ATTRIBUTE: u8 = 4;
/// Flag: the object is in another file.
const EXTERNAL: u8 = 1;
/// Bytes of an object's address, as all files that are written have.
const TOKEN_BYTES: u8 = 8;
/// The heap address of sequences whose references were replaced. No heap object of a file is there.
const REPLACED: u64 = u64::MAX - 1;

/// What references may point at.
#[derive(Debug, Clone, Copy)]
pub struct Pointed<'a> {
    /// Addresses of the objects by number.
    pub objects: &'a [u64],
    /// The targets of [`super::NewFile`].
    pub targets: &'a [NewTarget],
}

/// Gets the kind and the bytes of a reference, which it may change.
pub type EachReference<'a> = dyn FnMut(ReferenceKind, &mut [u8]) -> Result<()> + 'a;

/// Where the items of sequences of variable length come from, and where their changed items go.
pub struct Sequences<'a> {
    /// The items of a sequence.
    pub resolve: &'a dyn Fn(HeapReference) -> Result<&'a [u8]>,
    /// Takes the place of a sequence and its changed items; returns their new place.
    pub put: &'a mut dyn FnMut(HeapReference, Vec<u8>) -> Result<HeapReference>,
}

/// Calls `each` with every reference in `bytes`, elements of `datatype`, except those in sequences of variable length.
///
/// # Errors
/// That of `each`; `Internal` for bytes that are not whole elements.
pub fn each_reference(datatype: &Datatype, bytes: &mut [u8], each: &mut EachReference<'_>) -> Result<()> {
    visit(datatype, bytes, None, each)
}

/// The same with those in sequences of variable length.
///
/// # Errors
/// As [`each_reference`]; errors of `sequences`; `Corrupt` for a sequence that is shorter than it says; `Unsupported` for elements of
/// variable length of other than 16 bytes.
pub fn each_nested_reference(datatype: &Datatype, bytes: &mut [u8], sequences: &mut Sequences<'_>, each: &mut EachReference<'_>) -> Result<()> {
    visit(datatype, bytes, Some(sequences), each)
}

fn visit(datatype: &Datatype, bytes: &mut [u8], mut sequences: Option<&mut Sequences<'_>>, each: &mut EachReference<'_>) -> Result<()> {
    if !datatype.has_references() {
        return Ok(());
    }
    let size = usize::try_from(datatype.size()).unwrap_or(usize::MAX).max(1);
    for element in bytes.chunks_exact_mut(size) {
        match datatype {
            Datatype::Reference { kind, .. } => each(*kind, element)?,
            Datatype::Array { base, .. } => visit(base, element, sequences.as_deref_mut(), each)?,
            Datatype::Compound { members, .. } => {
                for member in members.iter() {
                    visit(&member.datatype, part(element, member)?, sequences.as_deref_mut(), each)?;
                }
            }
            Datatype::Sequence { base, .. } => {
                let Some(sequences) = sequences.as_deref_mut() else { continue };
                let (count, Some(place)) = HeapReference::parse(element)? else { continue };
                let bytes = u64::from(count).checked_mul(base.size()).and_then(|bytes| usize::try_from(bytes).ok());
                let stored = (sequences.resolve)(place)?;
                let items = bytes.and_then(|bytes| stored.get(..bytes));
                let mut items = items.ok_or_else(|| Error::corrupt(format!("a sequence of {count} items in {} bytes", stored.len())))?.to_vec();
                visit(base, &mut items, Some(&mut *sequences), each)?;
                set_place(element, (sequences.put)(place, items)?)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Replaces all references in `elements` by what `each` makes of them, in sequences of variable length, too.
///
/// # Errors
/// As [`each_nested_reference`].
pub fn replace_references(elements: &mut Elements, each: &mut EachReference<'_>) -> Result<()> {
    let mut replaced: Vec<Arc<[u8]>> = Vec::new();
    let heap = &elements.heap;
    let mut put = |_, items: Vec<u8>| {
        let index = u32::try_from(replaced.len()).map_err(|_| Error::unsupported("2³² sequences of references at a time"))?;
        replaced.push(items.into());
        Ok(HeapReference { address: REPLACED, index })
    };
    let mut sequences = Sequences { resolve: &|place| heap.object(place), put: &mut put };
    each_nested_reference(&elements.datatype, &mut elements.bytes, &mut sequences, each)?;
    for (index, items) in (0..).zip(replaced) {
        elements.heap.insert(HeapReference { address: REPLACED, index }, items);
    }
    Ok(())
}

/// Replaces the references in `elements` by the numbers of their targets, from 1 on, and returns these; null references are 0. `targets`
/// returns the targets of some references of one kind and size.
///
/// # Errors
/// As [`check_references`] and [`each_nested_reference`]; errors of `targets`.
pub fn number_references<T: Clone + Eq + Hash>(
    elements: &mut Elements,
    mut targets: impl FnMut(ReferenceKind, usize, &[u8]) -> Result<Vec<Option<T>>>,
) -> Result<Vec<T>> {
    check_references(&elements.datatype)?;
    let mut found: HashMap<(ReferenceKind, usize), Vec<u8>> = HashMap::new();
    // Visited twice: all references of a kind are read together.
    replace_references(elements, &mut |kind, element| {
        found.entry((kind, element.len())).or_default().extend_from_slice(element);
        Ok(())
    })?;
    let mut listed: Vec<T> = Vec::new();
    let mut numbers: HashMap<T, u64> = HashMap::new();
    let mut numbered = HashMap::new();
    for ((kind, size), references) in found {
        let of_kind = targets(kind, size, &references)?.into_iter().map(|target| {
            target.map_or(0, |target| {
                *numbers.entry(target).or_insert_with_key(|target| {
                    listed.push(target.clone());
                    listed.len() as u64
                })
            })
        });
        numbered.insert((kind, size), of_kind.collect::<Vec<_>>().into_iter());
    }
    replace_references(elements, &mut |kind, element| {
        let next = numbered.get_mut(&(kind, element.len())).and_then(Iterator::next);
        let number = next.ok_or_else(|| Error::internal("a reference that was not found before"))?;
        element.fill(0);
        element.get_mut(..8).ok_or_else(|| Error::internal("a reference of fewer than 8 bytes"))?.copy_from_slice(&number.to_le_bytes());
        Ok(())
    })?;
    Ok(listed)
}

/// Checks that all references in this datatype can be written: references in files whose addresses do not have 8 bytes have other lengths.
///
/// # Errors
/// `Unsupported` if they have.
pub fn check_references(datatype: &Datatype) -> Result<()> {
    match datatype {
        Datatype::Reference { kind, size } => {
            let expected = match kind {
                ReferenceKind::Object => 8,
                ReferenceKind::Region => 12,
                ReferenceKind::Standard => 18,
            };
            if *size == expected {
                return Ok(());
            }
            Err(Error::unsupported(format!("writing references of {size} bytes: in files with addresses of 8 bytes they have {expected}")))
        }
        Datatype::Sequence { base, .. } | Datatype::Array { base, .. } => check_references(base),
        Datatype::Compound { members, .. } => members.iter().try_for_each(|member| check_references(&member.datatype)),
        _ => Ok(()),
    }
}

/// Sets the place in an element of variable length.
pub(super) fn set_place(element: &mut [u8], place: HeapReference) -> Result<()> {
    let stored: &mut [u8; 16] = element.try_into().map_err(|_| Error::unsupported("writing variable-length elements of other than 16 bytes"))?;
    let (_, target) = stored.split_at_mut(4);
    let (address, index) = target.split_at_mut(8);
    address.copy_from_slice(&place.address.to_le_bytes());
    index.copy_from_slice(&place.index.to_le_bytes());
    Ok(())
}

/// The bytes of a member of a compound.
pub(super) fn part<'a>(element: &'a mut [u8], member: &Member) -> Result<&'a mut [u8]> {
    let start = usize::try_from(member.offset).unwrap_or(usize::MAX);
    let size = usize::try_from(member.datatype.size()).unwrap_or(usize::MAX);
    let part = start.checked_add(size).and_then(|end| element.get_mut(start..end));
    part.ok_or_else(|| Error::internal("a member outside of its compound"))
}

/// Puts the stored form of a reference in the place of its number, and what it needs into `heap`.
pub(super) fn place_reference(kind: ReferenceKind, element: &mut [u8], heap: &mut HeapWriter, pointed: Pointed<'_>) -> Result<()> {
    let number = element.iter().take(8).rev().fold(0u64, |n, byte| n << 8 | u64::from(*byte));
    let Some(number) = number.checked_sub(1) else {
        element.fill(0);
        return Ok(());
    };
    let number = usize::try_from(number).unwrap_or(usize::MAX);
    let nothing = || Error::internal("a reference to an object that is not there");
    let address_of = |object: usize| pointed.objects.get(object).copied().ok_or_else(nothing);
    let (file, address, target_part) = match number.checked_sub(pointed.objects.len()) {
        None => (None, address_of(number)?, &TargetPart::Object),
        Some(target) => {
            let target = pointed.targets.get(target).ok_or_else(nothing)?;
            match &target.object {
                TargetObject::Nothing => return Err(nothing()),
                TargetObject::Number(object) => (None, address_of(*object)?, &target.part),
                TargetObject::Address { file, address } => (file.as_deref(), *address, &target.part),
            }
        }
    };
    let stored = match (kind, target_part) {
        (ReferenceKind::Object, TargetPart::Object) if file.is_none() => address.to_le_bytes().to_vec(),
        (ReferenceKind::Region, TargetPart::Region { selection, .. }) if file.is_none() => {
            let mut value = address.to_le_bytes().to_vec();
            value.extend_from_slice(selection);
            placed(heap, &value).to_vec()
        }
        (ReferenceKind::Standard, part) => standard(file, address, part, element.len(), heap)?,
        _ => return Err(Error::invalid_input("a reference to a part of an object, or to another file, of a datatype that has no such references")),
    };
    if element.len() != stored.len() {
        return Err(Error::unsupported(format!("writing references of {} bytes: this kind has {} in the files that are written", element.len(), stored.len())));
    }
    element.copy_from_slice(&stored);
    Ok(())
}

/// Puts a value into the heap; its place as references store it.
fn placed(heap: &mut HeapWriter, value: &[u8]) -> [u8; 12] {
    let place = heap.insert(value);
    let mut stored = [0; 12];
    let (address, index) = stored.split_at_mut(8);
    address.copy_from_slice(&place.address.to_le_bytes());
    index.copy_from_slice(&place.index.to_le_bytes());
    stored
}

/// A reference of HDF5 1.12 of `length` bytes.
fn standard(file: Option<&str>, address: u64, part: &TargetPart, length: usize, heap: &mut HeapWriter) -> Result<Vec<u8>> {
    let kind = match part {
        TargetPart::Object => OBJECT,
        TargetPart::Region { .. } => REGION,
        TargetPart::Attribute(_) => ATTRIBUTE,
    };
    let mut value = vec![TOKEN_BYTES];
    value.extend_from_slice(&address.to_le_bytes());
    if kind == OBJECT && file.is_none() {
        let mut stored = [&[kind, 0], value.as_slice()].concat();
        stored.resize(stored.len().max(length), 0);
        return Ok(stored);
    }
    if let Some(file) = file {
        value.extend(text(file)?);
    }
    match part {
        TargetPart::Object => {}
        TargetPart::Attribute(name) => value.extend(text(name)?),
        TargetPart::Region { ndim, selection } => {
            let bytes = u32::try_from(selection.len()).map_err(|_| Error::unsupported("a selection of 4 GiB"))?;
            value.extend_from_slice(&bytes.to_le_bytes());
            value.extend_from_slice(&ndim.to_le_bytes());
            value.extend_from_slice(selection);
        }
    }
    // Readers compare this with the size of the object in the heap.
    let bytes = u32::try_from(value.len()).map_err(|_| Error::unsupported("a reference of 4 GiB"))?;
    let flags = if file.is_some() { EXTERNAL } else { 0 };
    Ok([&[kind, flags], bytes.to_le_bytes().as_slice(), &placed(heap, &value)].concat())
}

/// Text with its length in two bytes.
fn text(text: &str) -> Result<Vec<u8>> {
    let bytes = bytes_of(text);
    let length = u16::try_from(bytes.len()).map_err(|_| Error::unsupported("a name of 64 KiB in a reference"))?;
    Ok([length.to_le_bytes().as_slice(), &bytes].concat())
}
