//! The constants of a list, converted to the type of a column.

use std::collections::HashSet;
use std::sync::OnceLock;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType, TimeUnit};
use hyperslab_array::Result;

use super::Comparison;
use super::column::{misbound, plain_text};
use super::lookup::Lookup;
use super::value_test::Test;
use crate::{KeyType, ValueSet};

/// Values of a column's type.
#[derive(Debug)]
pub(super) enum Set {
    /// Integers or times, sorted.
    Integers {
        numbers: Vec<i128>,
        lookup: Lookup,
        values: OnceLock<ValueSet>,
    },
    /// Floats, sorted, without NaN and −0.0.
    Floats {
        numbers: Vec<f64>,
        lookup: Lookup,
        values: OnceLock<ValueSet>,
    },
    Text(HashSet<String>),
    Boolean {
        with_false: bool,
        with_true: bool,
    },
}

impl Set {
    /// The values that pass one of `tests`, which are all tests for equality on a column of this type.
    pub fn of_tests(data_type: &DataType, tests: impl Iterator<Item = Result<Test>>) -> Result<Self> {
        let (mut integers, mut floats, mut texts, mut booleans) = (Vec::new(), Vec::new(), HashSet::new(), [false; 2]);
        for test in tests {
            match test? {
                Test::Between { low, high } if low == high => integers.push(low),
                Test::Float(Comparison::Equal, value) => floats.push(value),
                Test::Text(Comparison::Equal, text) => {
                    texts.insert(text);
                }
                Test::Boolean(Comparison::Equal, value) => {
                    if let Some(slot) = booleans.get_mut(usize::from(value)) {
                        *slot = true;
                    }
                }
                // No value of the type equals the constant.
                _ => {}
            }
        }
        Ok(match data_type {
            DataType::Boolean => Self::Boolean { with_false: booleans[0], with_true: booleans[1] },
            data_type if data_type.is_floating() => Self::floats(floats),
            data_type if data_type.is_integer() || matches!(data_type, DataType::Timestamp(..)) => Self::integers(data_type, integers),
            _ => Self::Text(texts),
        })
    }

    /// A set of integers for a column of integers or times.
    pub fn integers(data_type: &DataType, mut numbers: Vec<i128>) -> Self {
        numbers.sort_unstable();
        numbers.dedup();
        // Converted to 64 bits the same way as the column's values in `test`.
        let number = |value: &i128| match data_type {
            DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => u64::try_from(*value).ok(),
            _ => i64::try_from(*value).ok().map(i64::cast_unsigned),
        };
        let lookup = Lookup::new(&numbers.iter().filter_map(number).collect::<Vec<u64>>());
        Self::Integers { numbers, lookup, values: OnceLock::new() }
    }

    /// A set of floats; NaN equals nothing.
    pub fn floats(mut numbers: Vec<f64>) -> Self {
        numbers.retain(|number| !number.is_nan());
        numbers.iter_mut().for_each(|number| *number += 0.0);
        numbers.sort_unstable_by(f64::total_cmp);
        numbers.dedup();
        let lookup = Lookup::new(&numbers.iter().copied().map(float).collect::<Vec<u64>>());
        Self::Floats { numbers, lookup, values: OnceLock::new() }
    }

    /// Which values of a column are in the set, ignoring nulls.
    pub fn test(&self, array: &ArrayRef) -> Result<BooleanBuffer> {
        let misfit = || misbound(array.data_type());
        macro_rules! tested {
            ($lookup:expr, $type:ty, $number:expr) => {
                $lookup.test(array.as_primitive_opt::<$type>().ok_or_else(misfit)?.values(), $number)
            };
        }
        Ok(match self {
            Self::Integers { lookup, .. } => match array.data_type() {
                DataType::Int8 => tested!(lookup, Int8Type, |value| i64::from(value).cast_unsigned()),
                DataType::Int16 => tested!(lookup, Int16Type, |value| i64::from(value).cast_unsigned()),
                DataType::Int32 => tested!(lookup, Int32Type, |value| i64::from(value).cast_unsigned()),
                DataType::Int64 => tested!(lookup, Int64Type, i64::cast_unsigned),
                DataType::UInt8 => tested!(lookup, UInt8Type, u64::from),
                DataType::UInt16 => tested!(lookup, UInt16Type, u64::from),
                DataType::UInt32 => tested!(lookup, UInt32Type, u64::from),
                DataType::UInt64 => tested!(lookup, UInt64Type, |value| value),
                DataType::Timestamp(TimeUnit::Second, _) => tested!(lookup, TimestampSecondType, i64::cast_unsigned),
                DataType::Timestamp(TimeUnit::Millisecond, _) => tested!(lookup, TimestampMillisecondType, i64::cast_unsigned),
                DataType::Timestamp(TimeUnit::Microsecond, _) => tested!(lookup, TimestampMicrosecondType, i64::cast_unsigned),
                DataType::Timestamp(TimeUnit::Nanosecond, _) => tested!(lookup, TimestampNanosecondType, i64::cast_unsigned),
                _ => return Err(misfit()),
            },
            Self::Floats { lookup, .. } => match array.data_type() {
                DataType::Float16 => tested!(lookup, Float16Type, |value| float(value.into())),
                DataType::Float32 => tested!(lookup, Float32Type, |value| float(value.into())),
                DataType::Float64 => tested!(lookup, Float64Type, float),
                _ => return Err(misfit()),
            },
            Self::Text(texts) => match array.as_any_dictionary_opt() {
                // Each text of a dictionary is looked up once.
                Some(dictionary) if !dictionary.values().is_empty() => {
                    let of_values = self.test(dictionary.values())?;
                    let keys = dictionary.normalized_keys();
                    BooleanBuffer::collect_bool(keys.len(), |row| keys.get(row).is_some_and(|key| of_values.value(*key)))
                }
                _ => {
                    let array = plain_text(array)?;
                    let array = array.as_string_opt::<i32>().ok_or_else(misfit)?;
                    BooleanBuffer::collect_bool(array.len(), |row| texts.contains(array.value(row)))
                }
            },
            Self::Boolean { with_false, with_true } => {
                let array = array.as_boolean_opt().ok_or_else(misfit)?;
                BooleanBuffer::collect_bool(array.len(), |row| if array.value(row) { *with_true } else { *with_false })
            }
        })
    }

    /// The values, if they are texts.
    pub fn texts(&self) -> Option<&HashSet<String>> {
        match self {
            Self::Text(texts) => Some(texts),
            _ => None,
        }
    }

    /// The same values as keys; `None` for text.
    pub fn value_set(&self, key_type: KeyType) -> Option<ValueSet> {
        let kept = |values: &OnceLock<ValueSet>, all: &dyn Fn() -> ValueSet| match values.get_or_init(all) {
            kept if kept.key_type() == key_type => kept.clone(),
            _ => all(),
        };
        Some(match self {
            Self::Integers { numbers, values, .. } => {
                kept(values, &|| ValueSet::any(key_type, numbers.iter().map(|number| ValueSet::integers(key_type, *number, *number))))
            }
            Self::Floats { numbers, values, .. } => {
                kept(values, &|| ValueSet::any(key_type, numbers.iter().map(|number| ValueSet::compared(key_type, Comparison::Equal, *number))))
            }
            Self::Boolean { with_false, with_true } => {
                let some = [(false, with_false), (true, with_true)].into_iter().filter(|(_, with)| **with);
                ValueSet::any(key_type, some.map(|(value, _)| ValueSet::keys(key_type, value.into(), value.into())))
            }
            Self::Text(_) => return None,
        })
    }
}

/// The bits of a float; −0.0 has the bits of 0.0.
fn float(value: f64) -> u64 {
    (value + 0.0).to_bits()
}
