//! Masks and codes as Arrow values.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, PrimitiveArray, make_array};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::DataType;
use hyperslab_array::{Error, ErrorKind, Result};

/// `values`, null where a flag is set.
pub(crate) fn masked(values: &ArrayRef, flags: &BooleanArray) -> Result<ArrayRef> {
    let valid = NullBuffer::new(!flags.values());
    let nulls = NullBuffer::union(values.logical_nulls().as_ref(), Some(&valid));
    let data = values.to_data().into_builder().nulls(nulls).build();
    data.map(make_array).map_err(|error| Error::internal(error.to_string()))
}

/// A mask: booleans, or integers, where 0 is false.
pub(crate) fn flags(array: &ArrayRef) -> Result<BooleanArray> {
    match array.data_type() {
        DataType::Boolean => Ok(array.as_boolean().clone()),
        _ => Ok(integers(array)?.iter().map(|flag| Some(*flag != 0)).collect()),
    }
}

/// Integers of any width. `Corrupt` for values beyond 63 bits, nulls, and other types.
pub(crate) fn integers(array: &ArrayRef) -> Result<ScalarBuffer<i64>> {
    if !array.data_type().is_integer() {
        return Err(Error::new(ErrorKind::Corrupt, format!("holds {}, not integers", array.data_type())));
    }
    let cast: ArrayRef = arrow_cast::cast(array, &DataType::Int64).map_err(|error| Error::internal(error.to_string()))?;
    if cast.null_count() > 0 {
        return Err(Error::new(ErrorKind::Corrupt, "holds a value that is missing or beyond 63 bits"));
    }
    let numbers: &PrimitiveArray<Int64Type> = cast.as_any().downcast_ref::<Int64Array>().ok_or_else(|| Error::internal("a cast to another type"))?;
    Ok(numbers.values().clone())
}
