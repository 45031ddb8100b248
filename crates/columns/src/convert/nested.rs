//! Nested values: compounds as structs, sequences as lists, arrays as fixed-size lists.

use std::sync::Arc;

use arrow_array::{ArrayRef, FixedSizeListArray, ListArray, StructArray};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::Fields;
use hyperslab_array::{Datatype, Error, HeapObjects, Member, Result};

use crate::types::{array_item, field, length};
use super::{arrow, convert};

pub(super) fn compound(members: &[Member], bytes: &[u8], size: usize, heap: &HeapObjects) -> Result<ArrayRef> {
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
    let fields: Fields =
        members.iter().zip(&columns).map(|(m, c)| field(&m.name, &m.datatype, c.data_type().clone())).collect();
    let array = StructArray::try_new_with_length(fields, columns, None, bytes.len() / size);
    Ok(Arc::new(array.map_err(arrow)?))
}

pub(super) fn sequence(base: &Datatype, bytes: &[u8], size: usize, heap: &HeapObjects) -> Result<ArrayRef> {
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

pub(super) fn array(base: &Datatype, shape: &[u64], bytes: &[u8], size: usize, heap: &HeapObjects) -> Result<ArrayRef> {
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
