//! What the conventions keep in attributes: texts, numbers, and references to dimension scales.

use hyperslab_array::name::name_of;
use hyperslab_array::{Attribute, Datatype, Elements, HeapReference, ReferenceKind};

/// The attribute called `name`.
pub(super) fn find<'a>(attributes: &'a [Attribute], name: &str) -> Option<&'a Attribute> {
    attributes.iter().find(|attribute| attribute.name == name)
}

fn value<'a>(attributes: &'a [Attribute], name: &str) -> Option<&'a Elements> {
    find(attributes, name)?.value.as_ref().ok()
}

/// The text of a string attribute, without padding.
pub(super) fn text(attributes: &[Attribute], name: &str) -> Option<String> {
    texts(attributes, name)?.into_iter().next()
}

/// The texts of a string attribute.
pub(super) fn texts(attributes: &[Attribute], name: &str) -> Option<Vec<String>> {
    let value = value(attributes, name)?;
    let size = usize::try_from(value.datatype.size()).ok().filter(|size| *size > 0)?;
    let plain = |bytes: &[u8]| {
        let text = bytes.split(|&b| b == 0).next().unwrap_or_default();
        name_of(text).trim_end_matches(' ').to_owned()
    };
    match &value.datatype {
        Datatype::FixedString { .. } => Some(value.bytes.chunks_exact(size).map(plain).collect()),
        Datatype::VariableString { .. } => value.bytes.chunks_exact(size).map(|element| value.heap.value(element, 1).ok().map(plain)).collect(),
        _ => None,
    }
}

/// The integers of an integer attribute.
pub(super) fn integers(attributes: &[Attribute], name: &str) -> Option<Vec<u64>> {
    let value = value(attributes, name)?;
    let Datatype::Integer { size, order, .. } = &value.datatype else { return None };
    let size = usize::try_from(*size).ok().filter(|size| (1..=8).contains(size))?;
    let fold = |n: u64, b: &u8| (n << 8) | u64::from(*b);
    let number = |bytes: &[u8]| match order {
        hyperslab_array::ByteOrder::Little => bytes.iter().rev().fold(0, fold),
        hyperslab_array::ByteOrder::Big => bytes.iter().fold(0, fold),
    };
    Some(value.bytes.chunks_exact(size).map(number).collect())
}

/// For each dimension, the object addresses of its scales (`DIMENSION_LIST`).
pub(super) fn references(attributes: &[Attribute], name: &str) -> Option<Vec<Vec<u64>>> {
    let value = value(attributes, name)?;
    let Datatype::Sequence { size, base } = &value.datatype else { return None };
    // References of HDF5 1.12 have a type, flags and the size of the address before it.
    let skip = match **base {
        Datatype::Reference { kind: ReferenceKind::Standard, .. } => 3,
        Datatype::Reference { .. } => 0,
        _ => return None,
    };
    let size = usize::try_from(*size).ok().filter(|size| *size > 0)?;
    let width = usize::try_from(base.size()).ok().filter(|width| *width > 0)?;
    // Between the number of references and that of their object in the heap is an address, which tells how many bytes addresses have.
    let address_bytes = if skip == 0 { size.saturating_sub(8) } else { 8 };
    let address = |bytes: &[u8]| bytes.iter().skip(skip).take(address_bytes).rev().fold(0u64, |n, &b| (n << 8) | u64::from(b));
    let scales = value.bytes.chunks_exact(size).map(|element| match HeapReference::parse(element) {
        Ok((_, None)) => Vec::new(),
        _ => value.heap.value(element, base.size()).unwrap_or_default().chunks_exact(width).map(address).collect(),
    });
    Some(scales.collect())
}
