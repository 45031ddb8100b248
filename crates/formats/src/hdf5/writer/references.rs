//! References in values: visited in elements, and encoded when the addresses of their objects are known.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;
use std::sync::Arc;

use hyperslab_array::name::bytes_of;
use hyperslab_array::{Datatype, Elements, Error, HeapReference, Member, ReferenceKind, Result};

use super::address_width::{WIDE, reference_bytes};
use super::description::{NewTarget, TargetObject};
use super::target_part::TargetPart;
use crate::hdf5::heap::HeapWriter;

/// Types of references of HDF5 1.12.
const OBJECT: u8 = 2;
const REGION: u8 = 3;
const ATTRIBUTE: u8 = 4;
/// Flag: the object is in another file.
const EXTERNAL: u8 = 1;

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
/// As [`each_reference`]; errors of `sequences`; `Corrupt` for a sequence that is shorter than it says; `Unsupported` for a place that an element has
/// no room for.
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
                    visit(&member.datatype, part_mut(element, member)?, sequences.as_deref_mut(), each)?;
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
    // The heap address of sequences whose references were replaced. No heap object of a file is there.
    let address = (u64::MAX >> (8 * WIDE.saturating_sub(sequence_width(&elements.datatype).unwrap_or(WIDE)))) - 1;
    let mut put = |_, items: Vec<u8>| {
        let index = u32::try_from(replaced.len()).map_err(|_| Error::unsupported("2³² sequences of references at a time"))?;
        replaced.push(items.into());
        Ok(HeapReference { address, index })
    };
    let mut sequences = Sequences { resolve: &|place| heap.object(place), put: &mut put };
    each_nested_reference(&elements.datatype, &mut elements.bytes, &mut sequences, each)?;
    for (index, items) in (0..).zip(replaced) {
        elements.heap.insert(HeapReference { address, index }, items);
    }
    Ok(())
}

/// Bytes of the addresses of sequences.
fn sequence_width(datatype: &Datatype) -> Option<u64> {
    match datatype {
        Datatype::Sequence { size, .. } => size.checked_sub(WIDE).filter(|width| (1..=WIDE).contains(width)),
        Datatype::Array { base, .. } => sequence_width(base),
        Datatype::Compound { members, .. } => members.iter().find_map(|member| sequence_width(&member.datatype)),
        _ => None,
    }
}

/// Replaces the references in `elements` by the numbers of their targets, from 1 on, and returns these; null references are 0. `targets`
/// returns the targets of some references of one kind and size.
///
/// # Errors
/// As [`each_nested_reference`]; errors of `targets`; `Unsupported` for more targets than references can number.
pub fn number_references<T: Clone + Eq + Hash>(
    elements: &mut Elements,
    mut targets: impl FnMut(ReferenceKind, usize, &[u8]) -> Result<Vec<Option<T>>>,
) -> Result<Vec<T>> {
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
        let width = element.len().min(size_of_val(&number));
        if width < size_of_val(&number) && number >> (8 * width) != 0 {
            return Err(Error::unsupported(format!("{number} targets of references of {width} bytes at a time")));
        }
        element.fill(0);
        element.iter_mut().zip(number.to_le_bytes()).for_each(|(to, byte)| *to = byte);
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
            let expected = reference_bytes(*kind, WIDE);
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
    let unknown = || Error::internal("a variable-length element that holds no place");
    let (_, target) = element.split_at_mut_checked(4).ok_or_else(unknown)?;
    let (address, index) = target.split_last_chunk_mut::<4>().ok_or_else(unknown)?;
    put_address(address, place.address)?;
    index.copy_from_slice(&place.index.to_le_bytes());
    Ok(())
}

/// Puts an address into as many bytes as the file has for it.
fn put_address(target: &mut [u8], address: u64) -> Result<()> {
    let bytes = address.to_le_bytes();
    if !matches!(target.len(), 2 | 4 | 8) || bytes.get(target.len()..).unwrap_or_default().iter().any(|byte| *byte != 0) {
        return Err(Error::unsupported(format!("the address {address} in {} bytes", target.len())));
    }
    target.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
    Ok(())
}

fn place_of_part(member: &Member) -> Option<Range<usize>> {
    let start = usize::try_from(member.offset).ok()?;
    Some(start..start.checked_add(usize::try_from(member.datatype.size()).ok()?)?)
}

/// The bytes of a member of a compound.
pub(super) fn part<'a>(element: &'a [u8], member: &Member) -> Result<&'a [u8]> {
    place_of_part(member).and_then(|place| element.get(place)).ok_or_else(|| Error::internal("a member outside of its compound"))
}

/// The same, to change them.
pub(super) fn part_mut<'a>(element: &'a mut [u8], member: &Member) -> Result<&'a mut [u8]> {
    place_of_part(member).and_then(|place| element.get_mut(place)).ok_or_else(|| Error::internal("a member outside of its compound"))
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
    // The length of a reference says how many bytes addresses have.
    let width = (element.len() as u64).checked_sub(reference_bytes(kind, 0)).and_then(|width| usize::try_from(width).ok());
    let width = width.ok_or_else(|| Error::unsupported(format!("writing references of {} bytes", element.len())))?;
    let token = stored_address(address, width)?;
    let stored = match (kind, target_part) {
        (ReferenceKind::Object, TargetPart::Object) if file.is_none() => token,
        (ReferenceKind::Region, TargetPart::Region { selection, .. }) if file.is_none() => placed(heap, &[token.as_slice(), selection].concat(), width)?,
        (ReferenceKind::Standard, part) => standard(file, &token, part, element.len(), heap)?,
        _ => return Err(Error::invalid_input("a reference to a part of an object, or to another file, of a datatype that has no such references")),
    };
    if element.len() != stored.len() {
        return Err(Error::unsupported(format!("writing references of {} bytes: this kind has {} in the files that are written", element.len(), stored.len())));
    }
    element.copy_from_slice(&stored);
    Ok(())
}

/// Puts a value into the heap; its place as references store it.
fn placed(heap: &mut HeapWriter, value: &[u8], width: usize) -> Result<Vec<u8>> {
    let place = heap.insert(value);
    Ok([stored_address(place.address, width)?.as_slice(), &place.index.to_le_bytes()].concat())
}

/// An address in `width` bytes.
fn stored_address(address: u64, width: usize) -> Result<Vec<u8>> {
    let mut stored = vec![0; width];
    put_address(&mut stored, address)?;
    Ok(stored)
}

/// A reference of HDF5 1.12 of `length` bytes to an object with this address.
fn standard(file: Option<&str>, address: &[u8], part: &TargetPart, length: usize, heap: &mut HeapWriter) -> Result<Vec<u8>> {
    let kind = match part {
        TargetPart::Object => OBJECT,
        TargetPart::Region { .. } => REGION,
        TargetPart::Attribute(_) => ATTRIBUTE,
    };
    let mut value = vec![u8::try_from(address.len()).unwrap_or(u8::MAX)];
    value.extend_from_slice(address);
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
    let place = placed(heap, &value, address.len())?;
    Ok([&[kind, flags], bytes.to_le_bytes().as_slice(), &place].concat())
}

/// Text with its length in two bytes.
fn text(text: &str) -> Result<Vec<u8>> {
    let bytes = bytes_of(text);
    let length = u16::try_from(bytes.len()).map_err(|_| Error::unsupported("a name of 64 KiB in a reference"))?;
    Ok([length.to_le_bytes().as_slice(), &bytes].concat())
}
