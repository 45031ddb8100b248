//! Normalizes Arrow arrays: dictionaries are expanded, offsets become 64-bit, nulls among numbers are replaced.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType};
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, Int8Array, LargeBinaryArray, LargeListArray, LargeStringArray, PrimitiveArray, StructArray, UInt8Array, make_array,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, Fields};
use arrow_select::take::take;

use super::form::Form;
use crate::error::{Error, Result, error};

fn unexpected(array: &dyn Array) -> Error {
    error!("the column has the type {}, but its schema says otherwise", array.data_type())
}

/// Converts an array to the Arrow type of its form.
pub(super) fn normal(form: &Form, array: &ArrayRef) -> Result<ArrayRef> {
    if let DataType::Dictionary(..) = array.data_type() {
        let dictionary = array.as_any_dictionary_opt().ok_or_else(|| unexpected(array))?;
        return normal(form, &take(dictionary.values(), dictionary.keys(), None)?);
    }
    match form {
        Form::Integer { bytes, signed } => numbers(array, *bytes, integer_type(*bytes, *signed), form.stand_in().as_deref(), true),
        Form::Float { bytes } => numbers(array, *bytes, array.data_type().clone(), form.stand_in().as_deref(), false),
        Form::Opaque { bytes } => numbers(array, *bytes, DataType::FixedSizeBinary(i32::try_from(*bytes).unwrap_or(i32::MAX)), None, false),
        Form::Flag { nulls } => {
            let flags = array.as_boolean_opt().ok_or_else(|| unexpected(array))?;
            if !nulls && flags.null_count() > 0 {
                return Err(error!("the column has nulls, but its file says that it has none"));
            }
            Ok(Arc::new(flags.iter().map(|flag| Some(flag.map_or(2, i8::from))).collect::<Int8Array>()))
        }
        Form::Text => text(array),
        Form::Bytes => {
            let bytes: LargeBinaryArray = match array.data_type() {
                DataType::Binary => array.as_binary::<i32>().iter().collect(),
                DataType::LargeBinary => array.as_binary::<i64>().clone(),
                DataType::BinaryView => array.as_binary_view().iter().collect(),
                _ => return Err(unexpected(array)),
            };
            let (offsets, values, nulls) = bytes.into_parts();
            let values: ArrayRef = Arc::new(UInt8Array::new(ScalarBuffer::from(values), None));
            list(offsets, values, nulls)
        }
        Form::List(element) => {
            let (offsets, values): (Vec<i64>, ArrayRef) = match array.data_type() {
                DataType::List(_) => {
                    (array.as_list::<i32>().value_offsets().iter().map(|offset| i64::from(*offset)).collect(), Arc::clone(array.as_list::<i32>().values()))
                }
                DataType::LargeList(_) => (array.as_list::<i64>().value_offsets().to_vec(), Arc::clone(array.as_list::<i64>().values())),
                DataType::Map(..) => {
                    (array.as_map().value_offsets().iter().map(|offset| i64::from(*offset)).collect(), Arc::new(array.as_map().entries().clone()))
                }
                _ => return Err(unexpected(array)),
            };
            list(OffsetBuffer::new(ScalarBuffer::from(offsets)), normal(element, &values)?, array.nulls().cloned())
        }
        Form::Array(count, element) => {
            let lists = array.as_fixed_size_list_opt().ok_or_else(|| unexpected(array))?;
            let size = lists.value_length();
            let nulls = lists.nulls().filter(|nulls| nulls.null_count() > 0).map(|nulls| nulls.expand(*count));
            let values = normal(element, &with_nulls(lists.values(), nulls.as_ref())?)?;
            let field = Arc::new(Field::new("item", values.data_type().clone(), true));
            Ok(Arc::new(FixedSizeListArray::try_new_with_length(field, size, values, None, lists.len())?))
        }
        Form::Struct(members) => {
            let parts = array.as_struct_opt().filter(|parts| parts.num_columns() == members.len()).ok_or_else(|| unexpected(array))?;
            let mut columns = Vec::with_capacity(members.len());
            for ((_, member), column) in members.iter().zip(parts.columns()) {
                columns.push(normal(member, &with_nulls(column, parts.nulls())?)?);
            }
            let fields: Fields = members.iter().zip(&columns).map(|((name, _), column)| Field::new(name, column.data_type().clone(), true)).collect();
            Ok(Arc::new(StructArray::try_new_with_length(fields, columns, None, array.len())?))
        }
    }
}

fn integer_type(bytes: usize, signed: bool) -> DataType {
    match (bytes, signed) {
        (1, true) => DataType::Int8,
        (2, true) => DataType::Int16,
        (4, true) => DataType::Int32,
        (_, true) => DataType::Int64,
        (1, false) => DataType::UInt8,
        (2, false) => DataType::UInt16,
        (4, false) => DataType::UInt32,
        (_, false) => DataType::UInt64,
    }
}

/// Adds the nulls of the parent array to a child array.
fn with_nulls(array: &ArrayRef, around: Option<&NullBuffer>) -> Result<ArrayRef> {
    let Some(around) = around.filter(|nulls| nulls.null_count() > 0) else { return Ok(Arc::clone(array)) };
    let nulls = NullBuffer::union(Some(around), array.nulls());
    Ok(make_array(array.to_data().into_builder().nulls(nulls).build()?))
}

/// Converts fixed-size values. A null becomes `stand_in`, or zeros without one. `exact`: it is an error if another value
/// equals `stand_in`.
fn numbers(array: &ArrayRef, width: usize, to: DataType, stand_in: Option<&[u8]>, exact: bool) -> Result<ArrayRef> {
    let data = array.to_data();
    if data.buffers().len() != 1 || !data.child_data().is_empty() {
        return Err(unexpected(array));
    }
    let start = data.offset().checked_mul(width).ok_or_else(|| unexpected(array))?;
    let mut values = data.buffers()[0].get(start..start + data.len() * width).ok_or_else(|| unexpected(array))?.to_vec();
    if let Some(nulls) = data.nulls().filter(|nulls| nulls.null_count() > 0) {
        let zeros = vec![0; width];
        let stand_in = stand_in.unwrap_or(&zeros);
        for (value, valid) in values.chunks_exact_mut(width).zip(nulls.iter()) {
            if !valid {
                value.copy_from_slice(stand_in);
            } else if exact && value == stand_in {
                return Err(error!("the column has nulls, and also a value equal to the fill value that would replace them; read it as Arrow"));
            }
        }
    }
    Ok(make_array(ArrayData::builder(to).len(data.len()).add_buffer(Buffer::from_vec(values)).align_buffers(true).build()?))
}

fn decimals<T: DecimalType>(array: &PrimitiveArray<T>, precision: u8, scale: i8) -> ArrayRef {
    Arc::new(array.iter().map(|value| value.map(|value| T::format_decimal(value, precision, scale))).collect::<LargeStringArray>())
}

fn text(array: &ArrayRef) -> Result<ArrayRef> {
    Ok(match array.data_type() {
        DataType::LargeUtf8 => Arc::clone(array),
        DataType::Utf8 => Arc::new(array.as_string::<i32>().iter().collect::<LargeStringArray>()),
        DataType::Utf8View => Arc::new(array.as_string_view().iter().collect::<LargeStringArray>()),
        DataType::Decimal32(precision, scale) => decimals(array.as_primitive::<Decimal32Type>(), *precision, *scale),
        DataType::Decimal64(precision, scale) => decimals(array.as_primitive::<Decimal64Type>(), *precision, *scale),
        DataType::Decimal128(precision, scale) => decimals(array.as_primitive::<Decimal128Type>(), *precision, *scale),
        DataType::Decimal256(precision, scale) => decimals(array.as_primitive::<Decimal256Type>(), *precision, *scale),
        _ => return Err(unexpected(array)),
    })
}

fn list(offsets: OffsetBuffer<i64>, values: ArrayRef, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let field = Arc::new(Field::new("item", values.data_type().clone(), true));
    Ok(Arc::new(LargeListArray::try_new(field, offsets, values, nulls)?))
}
