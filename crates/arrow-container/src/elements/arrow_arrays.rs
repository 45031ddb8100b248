//! Converts elements between their file form and Arrow arrays, one by one. Variable-length data, references and arrays of
//! compounds need this. Plain numbers are copied by `table` instead, without an Arrow array in between.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, FixedSizeListArray, LargeBinaryArray, LargeListArray, LargeStringArray, StructArray, cast::AsArray, make_array};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, Fields};

use super::blob::{Arena, BlobName, is_null, with_blob};
use super::datatype::{Datatype, HEAP_NAME_BYTES, REFERENCE_BYTES};
use crate::error::{Error, Result, error};

/// Reads a blob's length and name from the element at `at`, after `skip` bytes that precede them.
fn heap_entry(bytes: &[u8], at: usize, skip: usize) -> Result<(usize, BlobName)> {
    let entry = bytes.get(at + skip..at + skip + HEAP_NAME_BYTES).ok_or_else(|| error!("an element is truncated"))?;
    let (length, name) = entry.split_at(4);
    let length = u32::from_le_bytes(length.try_into().unwrap_or_default()) as usize;
    Ok((length, name.try_into().unwrap_or_default()))
}

/// Whether a reference is stored entirely in its element. References to objects of the same file are (`H5R_OBJECT2`
/// without `H5R_IS_EXTERNAL`); the element of any other reference names a blob. `head` is the first two bytes.
pub fn is_whole(head: &[u8]) -> bool {
    matches!(head, [2, flags] if flags & 1 == 0)
}

/// Reverses the byte order of numbers of `bytes` bytes, in place.
pub(crate) fn swap(values: &mut [u8], bytes: usize) {
    if bytes > 1 {
        values.chunks_exact_mut(bytes).for_each(<[u8]>::reverse);
    }
}

fn packed(bytes: &[u8], stride: usize, count: usize, width: usize) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(count.saturating_mul(width));
    for i in 0..count {
        out.extend_from_slice(bytes.get(i * stride..i * stride + width).ok_or_else(|| error!("an element is truncated"))?);
    }
    Ok(out)
}

/// Converts `count` elements, `stride` bytes apart, to an Arrow array.
pub(crate) fn to_arrow(datatype: &Datatype, bytes: &[u8], stride: usize, count: usize) -> Result<ArrayRef> {
    match datatype {
        Datatype::Integer { bytes: width, swapped, .. } | Datatype::Float { bytes: width, swapped } => {
            let mut values = packed(bytes, stride, count, *width)?;
            if *swapped {
                swap(&mut values, *width);
            }
            Ok(make_array(ArrayData::builder(datatype.data_type()).len(count).add_buffer(Buffer::from_vec(values)).align_buffers(true).build()?))
        }
        Datatype::Fixed(width) => {
            let values = packed(bytes, stride, count, *width)?;
            Ok(make_array(ArrayData::builder(datatype.data_type()).len(count).add_buffer(Buffer::from_vec(values)).build()?))
        }
        Datatype::Compound { members, .. } => {
            let mut arrays = Vec::with_capacity(members.len());
            for member in members {
                arrays.push(to_arrow(&member.datatype, bytes.get(member.offset..).unwrap_or_default(), stride, count)?);
            }
            let fields: Fields = members.iter().zip(&arrays).map(|(m, a)| Field::new(&m.name, a.data_type().clone(), true)).collect();
            Ok(Arc::new(StructArray::try_new_with_length(fields, arrays, None, count)?))
        }
        Datatype::Array { count: inner, element } => {
            let values = packed(bytes, stride, count, datatype.bytes())?;
            let values = to_arrow(element, &values, element.bytes(), count * inner)?;
            let field = Arc::new(Field::new("item", values.data_type().clone(), true));
            let size = i32::try_from(*inner).map_err(|_| error!("an array datatype of {inner} elements exceeds the limit of {}", i32::MAX))?;
            Ok(Arc::new(FixedSizeListArray::try_new_with_length(field, size, values, None, count)?))
        }
        Datatype::Text | Datatype::Reference => texts_to_arrow(bytes, stride, count, head_bytes(datatype)),
        Datatype::Sequence(element) => sequences_to_arrow(element, bytes, stride, count),
    }
}

/// Bytes of an element of text or of a reference before those that name a blob.
fn head_bytes(datatype: &Datatype) -> usize {
    if matches!(datatype, Datatype::Text) { 0 } else { REFERENCE_BYTES - HEAP_NAME_BYTES }
}

/// Converts text, or references, whose elements have `own` bytes before those that name a blob.
fn texts_to_arrow(bytes: &[u8], stride: usize, count: usize, own: usize) -> Result<ArrayRef> {
    let mut offsets = vec![0i64];
    let mut present = Vec::with_capacity(count);
    let mut values = Vec::new();
    for i in 0..count {
        let element = bytes.get(i * stride..i * stride + own).unwrap_or_default();
        if is_whole(element) {
            // The length of the token and the token follow.
            let token = bytes.get(i * stride + own).map_or(0, |length| usize::from(*length)).min(HEAP_NAME_BYTES - 1);
            values.extend_from_slice(bytes.get(i * stride..i * stride + own + 1 + token).ok_or_else(|| error!("an element is truncated"))?);
            present.push(true);
            offsets.push(values.len() as i64);
            continue;
        }
        let (length, name) = heap_entry(bytes, i * stride, own)?;
        let head = bytes.get(i * stride..i * stride + own).unwrap_or_default();
        let there = !is_null(&name) || head.iter().any(|byte| *byte != 0);
        if there {
            values.extend_from_slice(head);
        }
        if !is_null(&name) {
            with_blob(&name, length, |blob| values.extend_from_slice(blob))?;
        }
        present.push(there);
        offsets.push(values.len() as i64);
    }
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    let nulls = Some(NullBuffer::from(present)).filter(|nulls| nulls.null_count() > 0);
    if own == 0
        && std::str::from_utf8(&values).is_ok()
        && let Ok(text) = LargeStringArray::try_new(offsets.clone(), Buffer::from_vec(values.clone()), nulls.clone())
    {
        return Ok(Arc::new(text));
    }
    Ok(Arc::new(LargeBinaryArray::try_new(offsets, Buffer::from_vec(values), nulls)?))
}

/// Converts sequences of `element`.
fn sequences_to_arrow(element: &Datatype, bytes: &[u8], stride: usize, count: usize) -> Result<ArrayRef> {
    let width = element.bytes();
    let mut offsets = vec![0i64];
    let mut present = Vec::with_capacity(count);
    let mut values = Vec::new();
    for i in 0..count {
        let (length, name) = heap_entry(bytes, i * stride, 0)?;
        if !is_null(&name) {
            with_blob(&name, length * width, |blob| values.extend_from_slice(blob))?;
        }
        present.push(!is_null(&name));
        offsets.push((values.len() / width.max(1)) as i64);
    }
    let values = to_arrow(element, &values, width, values.len() / width.max(1))?;
    let field = Arc::new(Field::new("item", values.data_type().clone(), true));
    let nulls = Some(NullBuffer::from(present)).filter(|nulls| nulls.null_count() > 0);
    Ok(Arc::new(LargeListArray::try_new(field, OffsetBuffer::new(ScalarBuffer::from(offsets)), values, nulls)?))
}

fn unexpected(datatype: &Datatype, array: &dyn Array) -> Error {
    error!("a column is {}, but its datatype needs {}", array.data_type(), datatype.data_type())
}

/// Converts an Arrow array to contiguous elements in file form. The blobs that these name live as long as `arenas`.
pub(crate) fn from_arrow(datatype: &Datatype, array: &dyn Array, arenas: &mut Vec<Arc<Arena>>) -> Result<Vec<u8>> {
    let count = array.len();
    match datatype {
        Datatype::Integer { .. } | Datatype::Float { .. } | Datatype::Fixed(_) => {
            if *array.data_type() != datatype.data_type() {
                return Err(unexpected(datatype, array));
            }
            let data = array.to_data();
            let width = datatype.bytes();
            let values = data.buffers().first().and_then(|b| b.get(data.offset() * width..(data.offset() + count) * width));
            let mut values = values.ok_or_else(|| unexpected(datatype, array))?.to_vec();
            if let Datatype::Integer { swapped: true, .. } | Datatype::Float { swapped: true, .. } = datatype {
                swap(&mut values, width);
            }
            Ok(values)
        }
        Datatype::Compound { bytes: width, members } => {
            let parts = array.as_struct_opt().filter(|s| s.num_columns() == members.len()).ok_or_else(|| unexpected(datatype, array))?;
            let mut out = vec![0; width * count];
            for (member, part) in members.iter().zip(parts.columns()) {
                let values = from_arrow(&member.datatype, part, arenas)?;
                let size = member.datatype.bytes();
                for (row, value) in out.chunks_exact_mut((*width).max(1)).zip(values.chunks_exact(size.max(1))) {
                    if let Some(place) = row.get_mut(member.offset..member.offset + size) {
                        place.copy_from_slice(value);
                    }
                }
            }
            Ok(out)
        }
        Datatype::Array { count: inner, element } => {
            let list = array.as_fixed_size_list_opt().filter(|l| l.value_length() as usize == *inner).ok_or_else(|| unexpected(datatype, array))?;
            let values = list.values().slice(list.offset() * inner, count * inner);
            from_arrow(element, &values, arenas)
        }
        Datatype::Text | Datatype::Reference => texts_from_arrow(datatype, array, arenas),
        Datatype::Sequence(element) => sequences_from_arrow(datatype, element, array, arenas),
    }
}

/// Converts text or references to elements that name blobs in the values of `array`.
fn texts_from_arrow(datatype: &Datatype, array: &dyn Array, arenas: &mut Vec<Arc<Arena>>) -> Result<Vec<u8>> {
    let (count, own) = (array.len(), head_bytes(datatype));
    let (offsets, values): (&[i64], Buffer) = match array.data_type() {
        DataType::LargeUtf8 => (array.as_string::<i64>().value_offsets(), array.as_string::<i64>().values().clone()),
        DataType::LargeBinary => (array.as_binary::<i64>().value_offsets(), array.as_binary::<i64>().values().clone()),
        _ => return Err(unexpected(datatype, array)),
    };
    let arena = Arena::over(values.clone());
    let mut out = Vec::with_capacity(count * (own + HEAP_NAME_BYTES));
    for (i, pair) in offsets.windows(2).enumerate() {
        let &[start, end] = pair else { continue };
        let (start, end) = (start as u64, end as u64);
        let length = (end - start).saturating_sub(own as u64);
        if array.is_null(i) {
            out.extend(std::iter::repeat_n(0, own + HEAP_NAME_BYTES));
            continue;
        }
        let head = values.get(start as usize..start as usize + own).ok_or_else(|| unexpected(datatype, array))?;
        out.extend_from_slice(head);
        if is_whole(head) {
            let token =
                values.get(start as usize + own..end as usize).filter(|token| token.len() <= HEAP_NAME_BYTES).ok_or_else(|| unexpected(datatype, array))?;
            out.extend_from_slice(token);
            out.extend(std::iter::repeat_n(0, HEAP_NAME_BYTES - token.len()));
            continue;
        }
        out.extend_from_slice(&u32::try_from(length).map_err(|_| error!("a value of {length} bytes exceeds the limit of {}", u32::MAX))?.to_le_bytes());
        out.extend_from_slice(&if own > 0 && length == 0 { [0; 16] } else { arena.name(start + own as u64) });
    }
    arenas.push(arena);
    Ok(out)
}

/// Converts sequences of `element`, whose values become a blob.
fn sequences_from_arrow(datatype: &Datatype, element: &Datatype, array: &dyn Array, arenas: &mut Vec<Arc<Arena>>) -> Result<Vec<u8>> {
    let list = array.as_list_opt::<i64>().ok_or_else(|| unexpected(datatype, array))?;
    let width = element.bytes() as u64;
    let arena = Arena::over(Buffer::from_vec(from_arrow(element, list.values(), arenas)?));
    let mut out = Vec::with_capacity(array.len() * HEAP_NAME_BYTES);
    for (i, pair) in list.value_offsets().windows(2).enumerate() {
        let &[start, end] = pair else { continue };
        let length = u32::try_from(end - start).map_err(|_| error!("a sequence of {} elements exceeds the limit of {}", end - start, u32::MAX))?;
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&if array.is_null(i) { [0; 16] } else { arena.name(start as u64 * width) });
    }
    arenas.push(arena);
    Ok(out)
}
