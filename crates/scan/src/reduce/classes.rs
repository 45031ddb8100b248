//! Classes: which indexes along a dimension have equal values.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use hyperslab_array::{Error, Result};

/// The classes along a dimension.
pub(super) struct Classes {
    /// For each index its class; 0 if it is not in use.
    pub of_indexes: Arc<[u32]>,
    /// For each class the first index that is in it.
    pub first: Vec<u64>,
}

/// A value as a key of groups: NaN equals NaN, 0.0 equals -0.0, and null equals null.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Null,
    Integer(i64),
    Bits(u64),
    Text(String),
}

/// Whether values of a type can be keys.
pub(super) fn is_key(data_type: &DataType) -> bool {
    data_type.is_integer() || data_type.is_floating() || matches!(data_type, DataType::Boolean | DataType::Timestamp(..) | DataType::Utf8)
}

impl Classes {
    /// The classes of the indexes in use, whose values are equal in all columns; `None` if there are more than `max`.
    pub fn of(columns: &[ArrayRef], extent: usize, used: impl Iterator<Item = u64>, max: usize) -> Result<Option<Self>> {
        let columns = columns.iter().map(keys).collect::<Result<Vec<_>>>()?;
        let mut known: HashMap<Vec<Key>, u32> = HashMap::new();
        let (mut of_indexes, mut first) = (vec![0u32; extent], Vec::new());
        for index in used {
            let beyond = || Error::internal("an index beyond its dimension");
            let at = usize::try_from(index).map_err(|_| beyond())?;
            let key = columns.iter().map(|keys| keys.get(at).cloned()).collect::<Option<Vec<Key>>>().ok_or_else(beyond)?;
            let next = u32::try_from(first.len()).map_err(|_| Error::limit_exceeded("more than 32 bits of classes"))?;
            let class = *known.entry(key).or_insert(next);
            if class == next {
                first.push(index);
            }
            if first.len() > max {
                return Ok(None);
            }
            *of_indexes.get_mut(at).ok_or_else(beyond)? = class;
        }
        Ok(Some(Self { of_indexes: of_indexes.into(), first }))
    }
}

fn keys(values: &ArrayRef) -> Result<Vec<Key>> {
    let cast = |to: &DataType| arrow_cast::cast(values, to).map_err(|error| Error::internal(error.to_string()));
    let valid = |at: usize, key: Key| if values.is_valid(at) { key } else { Key::Null };
    let keys = 0..values.len();
    Ok(match values.data_type() {
        DataType::Utf8 => {
            let texts = values.as_string::<i32>();
            keys.map(|at| if texts.is_valid(at) { Key::Text(texts.value(at).to_owned()) } else { Key::Null }).collect()
        }
        DataType::UInt64 => {
            let numbers = values.as_primitive::<arrow_array::types::UInt64Type>().values();
            numbers.iter().enumerate().map(|(at, number)| valid(at, Key::Bits(*number))).collect()
        }
        floating if floating.is_floating() => {
            let numbers = cast(&DataType::Float64)?;
            let numbers = numbers.as_primitive::<arrow_array::types::Float64Type>().values();
            numbers.iter().enumerate().map(|(at, number)| valid(at, Key::Bits(float_key(*number)))).collect()
        }
        other if is_key(other) => {
            let numbers = cast(&DataType::Int64)?;
            let numbers = numbers.as_primitive::<arrow_array::types::Int64Type>().values();
            numbers.iter().enumerate().map(|(at, number)| valid(at, Key::Integer(*number))).collect()
        }
        other => return Err(Error::unsupported(format!("groups by values of {other}"))),
    })
}

/// The same bits for equal numbers.
fn float_key(number: f64) -> u64 {
    match number {
        number if number.is_nan() => f64::NAN.to_bits(),
        // Both zeros become 0.0.
        number => (number + 0.0).to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Float32Array, StringArray};

    fn classes(columns: &[ArrayRef], used: &[u64]) -> Result<Option<(Vec<u32>, Vec<u64>)>> {
        let found = Classes::of(columns, columns.first().map_or(0, |column| column.len()), used.iter().copied(), 5)?;
        Ok(found.map(|found| (found.of_indexes.to_vec(), found.first)))
    }

    #[test]
    fn equal_values_are_one_class() -> Result<()> {
        let floats: ArrayRef = Arc::new(Float32Array::from(vec![Some(0.0), Some(f32::NAN), None, Some(-0.0), Some(-f32::NAN), None, Some(1.5)]));
        assert_eq!(classes(std::slice::from_ref(&floats), &[0, 1, 2, 3, 4, 5, 6])?, Some((vec![0, 1, 2, 0, 1, 2, 3], vec![0, 1, 2, 6])));
        assert_eq!(classes(std::slice::from_ref(&floats), &[3, 4, 6])?, Some((vec![0, 0, 0, 0, 1, 0, 2], vec![3, 4, 6])), "indexes in use only");
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), Some("a"), None, Some("b"), Some("a"), None, None]));
        assert_eq!(classes(&[texts, floats], &[0, 1, 2, 3, 4, 5, 6])?, Some((vec![0, 1, 2, 3, 1, 2, 4], vec![0, 1, 2, 3, 6])), "equal in both columns");
        let numbers: ArrayRef = Arc::new(arrow_array::UInt64Array::from_iter_values(0..7));
        assert_eq!(classes(&[numbers], &[0, 1, 2, 3, 4, 5, 6])?, None, "too many");
        Ok(())
    }
}
