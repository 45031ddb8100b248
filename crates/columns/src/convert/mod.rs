//! Conversion: whole elements in the file's layout to one Arrow array, without nulls.

mod numbers;
mod strings;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, FixedSizeBinaryArray, FixedSizeListArray, Int32Array, ListArray, StringArray, StructArray, make_array,
};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::Fields;
use hyperslab_array::{ByteOrder, Datatype, EnumMember, Error, FloatFormat, HeapObjects, Member, ReferenceKind, Result};

use crate::types::{array_item, field, length};

/// Converts `bytes`, whole elements of `datatype`.
pub(super) fn convert(datatype: &Datatype, bytes: &[u8], heap: &HeapObjects) -> Result<ArrayRef> {
    let size = usize::try_from(datatype.size()).map_err(|_| Error::corrupt("an element exceeds memory"))?;
    if size == 0 {
        return Err(Error::unsupported("a datatype of no bytes"));
    }
    if !bytes.len().is_multiple_of(size) {
        return Err(Error::internal(format!("{} bytes are not whole elements of {size}", bytes.len())));
    }
    match datatype {
        Datatype::Integer { .. } | Datatype::Bitfield { .. } | Datatype::Float { .. } => numbers::convert(datatype, bytes, size),
        Datatype::Time { size, order, encoding } => numbers::times(*size, *order, *encoding, bytes),
        Datatype::FixedString { padding, character_set, .. } => strings::fixed(bytes, size, *padding, *character_set),
        Datatype::VariableString { padding, character_set, .. } => strings::variable(bytes, size, *padding, *character_set, heap),
        Datatype::Reference { kind, .. } => references(*kind, bytes, size, heap),
        Datatype::Opaque { .. } => {
            let width = length(datatype.size())?;
            let array = FixedSizeBinaryArray::try_new(width, Buffer::from_vec(bytes.to_vec()), None);
            Ok(Arc::new(array.map_err(arrow)?))
        }
        Datatype::Enum { base, members } => enumeration(datatype, base, members, bytes, size),
        Datatype::Compound { members, .. } => compound(members, bytes, size, heap),
        Datatype::Sequence { base, .. } => sequence(base, bytes, size, heap),
        Datatype::Array { base, shape } => array(base, shape, bytes, size, heap),
        Datatype::Unsupported { class, .. } => Err(Error::unsupported(format!("datatype class {class}"))),
    }
}

/// An array that uses the bytes in place, if they are numbers in native byte order and layout.
pub(super) fn in_place(datatype: &Datatype, bytes: &Buffer) -> Result<Option<ArrayRef>> {
    let native = if cfg!(target_endian = "little") { ByteOrder::Little } else { ByteOrder::Big };
    let ordinary = match datatype {
        Datatype::Integer { order, size, bit_offset: 0, bit_precision, .. } => *order == native && u64::from(*bit_precision) == size.saturating_mul(8),
        Datatype::Float { order, format: FloatFormat::Ieee, .. } => *order == native,
        _ => false,
    };
    let to = super::types::arrow_type(datatype)?;
    let Some(width) = to.primitive_width().filter(|width| ordinary && *width as u64 == datatype.size()) else { return Ok(None) };
    if bytes.as_ptr().align_offset(width) != 0 || !bytes.len().is_multiple_of(width) {
        return Ok(None);
    }
    let data = ArrayData::try_new(to, bytes.len() / width, None, 0, vec![bytes.clone()], Vec::new()).map_err(arrow)?;
    Ok(Some(make_array(data)))
}

/// A compound as a struct, member by member.
fn compound(members: &[Member], bytes: &[u8], size: usize, heap: &HeapObjects) -> Result<ArrayRef> {
    let mut columns = Vec::with_capacity(members.len());
    for member in members {
        let outside = || Error::corrupt(format!("member {} lies outside of its compound", member.name));
        let start = usize::try_from(member.offset).map_err(|_| outside())?;
        let width = usize::try_from(member.datatype.size()).map_err(|_| outside())?;
        let end = start.checked_add(width).filter(|end| *end <= size).ok_or_else(outside)?;
        let mut packed = Vec::with_capacity(bytes.len() / size * width);
        for element in bytes.chunks_exact(size) {
            packed.extend_from_slice(element.get(start..end).ok_or_else(outside)?);
        }
        columns.push(convert(&member.datatype, &packed, heap)?);
    }
    let fields: Fields = members.iter().zip(&columns).map(|(m, c)| field(&m.name, &m.datatype, c.data_type().clone())).collect();
    let array = StructArray::try_new_with_length(fields, columns, None, bytes.len() / size);
    Ok(Arc::new(array.map_err(arrow)?))
}

/// Sequences as lists.
fn sequence(base: &Datatype, bytes: &[u8], size: usize, heap: &HeapObjects) -> Result<ArrayRef> {
    let width = usize::try_from(base.size()).ok().filter(|n| *n > 0).ok_or_else(|| Error::corrupt("a sequence of elements of no size"))?;
    let (mut values, mut offsets) = (Vec::new(), vec![0i32]);
    for element in bytes.chunks_exact(size) {
        values.extend_from_slice(heap.value(element, base.size())?);
        let end = i32::try_from(values.len() / width);
        offsets.push(end.map_err(|_| Error::limit_exceeded("2^31 list items in one batch; ask for fewer rows a batch"))?);
    }
    let values = convert(base, &values, heap)?;
    let field = Arc::new(field("item", base, values.data_type().clone()));
    let array = ListArray::try_new(field, OffsetBuffer::new(ScalarBuffer::from(offsets)), values, None);
    Ok(Arc::new(array.map_err(arrow)?))
}

/// An array as nested fixed-size lists, one level per dimension.
fn array(base: &Datatype, shape: &[u64], bytes: &[u8], size: usize, heap: &HeapObjects) -> Result<ArrayRef> {
    if size == 0 {
        return Err(Error::unsupported("an array datatype of no elements"));
    }
    let mut values = convert(base, bytes, heap)?;
    for (depth, &extent) in shape.iter().rev().enumerate() {
        let field = Arc::new(array_item(base, values.data_type().clone(), depth));
        values = Arc::new(FixedSizeListArray::try_new(field, length(extent)?, values, None).map_err(arrow)?);
    }
    Ok(values)
}

/// The text of resolved references; null for null references.
fn references(kind: ReferenceKind, bytes: &[u8], size: usize, heap: &HeapObjects) -> Result<ArrayRef> {
    let texts = bytes.chunks_exact(size).map(|element| heap.name(kind, element)).collect::<Result<Vec<_>>>()?;
    let total: usize = texts.iter().flatten().map(|text| text.len()).sum();
    if i32::try_from(total).is_err() {
        return Err(Error::limit_exceeded("2 GiB of text in one batch; ask for fewer rows a batch"));
    }
    Ok(Arc::new(StringArray::from(texts)))
}

/// Names by value. A value without a name is shown as a number; a boolean that is neither FALSE nor TRUE is true, as in
/// numpy.
fn enumeration(datatype: &Datatype, base: &Datatype, members: &[EnumMember], bytes: &[u8], size: usize) -> Result<ArrayRef> {
    if datatype.is_boolean() {
        return Ok(Arc::new(bytes.chunks_exact(size).map(|element| Some(element.iter().any(|byte| *byte != 0))).collect::<BooleanArray>()));
    }
    let (mut keys_of, mut names) = (HashMap::<i128, i32>::new(), Vec::<String>::new());
    for member in members {
        if let std::collections::hash_map::Entry::Vacant(free) = keys_of.entry(member.value) {
            free.insert(i32::try_from(names.len()).map_err(|_| Error::unsupported("an enum of 2 Gi names"))?);
            names.push(member.name.clone());
        }
    }
    let mut keys = Vec::with_capacity(bytes.len() / size);
    for element in bytes.chunks_exact(size) {
        let value = numbers::integer_value(base, element)?;
        let next = i32::try_from(names.len()).map_err(|_| Error::unsupported("an enum of 2 Gi values"))?;
        keys.push(*keys_of.entry(value).or_insert_with(|| {
            names.push(value.to_string());
            next
        }));
    }
    let names = StringArray::from(names);
    Ok(Arc::new(DictionaryArray::try_new(Int32Array::from(keys), Arc::new(names) as Arc<dyn Array>).map_err(arrow)?))
}

pub(super) fn arrow(error: arrow_schema::ArrowError) -> Error {
    Error::internal(error.to_string())
}
