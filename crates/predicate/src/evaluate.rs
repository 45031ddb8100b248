//! Evaluation on a record batch: null as in SQL, NaN as in IEEE 754.
//!
//! Arrow's own comparison kernels order floats totally (NaN equals NaN and is the greatest); an
//! array's user expects numpy's answers, so floats are compared here.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{DataType, TimeUnit};
use hyperslab_array::{Error, Result};

use super::bind::Bound;
use super::bits::{bits, bits_of_pairs};
use super::column::{column, misbound, plain_text};
use super::value_test::Test;
use super::word::Words;
use super::{Comparison, compute};

pub(super) fn evaluate(bound: &Bound, batch: &RecordBatch) -> Result<BooleanArray> {
    let mask = three_valued(bound, batch)?;
    Ok(match mask.nulls() {
        None => mask,
        Some(nulls) => BooleanArray::new(mask.values() & nulls.inner(), None),
    })
}

fn three_valued(bound: &Bound, batch: &RecordBatch) -> Result<BooleanArray> {
    let kernel = |error: arrow_schema::ArrowError| Error::internal(error.to_string());
    let constant = |value| BooleanArray::new(if value { BooleanBuffer::new_set(batch.num_rows()) } else { BooleanBuffer::new_unset(batch.num_rows()) }, None);
    match bound {
        Bound::And(parts) => {
            parts.iter().try_fold(constant(true), |mask, part| arrow_arith::boolean::and_kleene(&mask, &three_valued(part, batch)?).map_err(kernel))
        }
        Bound::Or(parts) => {
            parts.iter().try_fold(constant(false), |mask, part| arrow_arith::boolean::or_kleene(&mask, &three_valued(part, batch)?).map_err(kernel))
        }
        Bound::Xor(parts) => parts.iter().try_fold(constant(false), |mask, part| {
            let part = three_valued(part, batch)?;
            Ok(BooleanArray::new(mask.values() ^ part.values(), NullBuffer::union(mask.nulls(), part.nulls())))
        }),
        Bound::Not(part) => arrow_arith::boolean::not(&three_valued(part, batch)?).map_err(kernel),
        Bound::IsNull(path) => {
            let (column, nulls) = column(batch, path)?;
            Ok(match nulls {
                Some(nulls) => BooleanArray::new(!nulls.inner(), None),
                None => BooleanArray::new(BooleanBuffer::new_unset(column.len()), None),
            })
        }
        Bound::Test(path, test) => {
            let (column, nulls) = column(batch, path)?;
            Ok(BooleanArray::new(tested(&column, test)?, nulls))
        }
        Bound::In(path, set) => {
            let (column, nulls) = column(batch, path)?;
            Ok(BooleanArray::new(set.test(&column)?, nulls))
        }
        Bound::Columns(left, comparison, right) => {
            let ((left, left_nulls), (right, right_nulls)) = (column(batch, left)?, column(batch, right)?);
            let values = compared(&left, *comparison, &right)?;
            Ok(BooleanArray::new(values, NullBuffer::union(left_nulls.as_ref(), right_nulls.as_ref())))
        }
        Bound::Computed(number, test) => compute::tested(number, test, batch),
        Bound::Numbers(left, comparison, right) => compute::compared(left, *comparison, right, batch),
        Bound::Like(path, pattern) => {
            let (column, nulls) = column(batch, path)?;
            let pattern = arrow_array::Scalar::new(arrow_array::StringArray::from(vec![pattern.as_str()]));
            let alike = arrow_string::like::like(&plain_text(&column)?, &pattern).map_err(kernel)?;
            Ok(BooleanArray::new(alike.values().clone(), nulls))
        }
        Bound::Match(path, words) => {
            let (column, nulls) = column(batch, path)?;
            Ok(BooleanArray::new(matched(&column, words)?, nulls))
        }
    }
}

/// The texts that contain all of the words, ignoring nulls.
fn matched(array: &ArrayRef, words: &Words) -> Result<BooleanBuffer> {
    match array.as_any_dictionary_opt() {
        // Each text of a dictionary is tested once.
        Some(dictionary) if !dictionary.values().is_empty() => {
            let of_values = matched(dictionary.values(), words)?;
            let keys = dictionary.normalized_keys();
            Ok(BooleanBuffer::collect_bool(keys.len(), |row| keys.get(row).is_some_and(|key| of_values.value(*key))))
        }
        _ => {
            let (array, mut scratch) = (plain_text(array)?, words.scratch());
            let array = array.as_string_opt::<i32>().ok_or_else(|| misbound(array.data_type()))?;
            Ok(BooleanBuffer::collect_bool(array.len(), |row| words.are_in(array.value(row), &mut scratch)))
        }
    }
}

fn tested(array: &ArrayRef, test: &Test) -> Result<BooleanBuffer> {
    match test {
        Test::Between { low, high } => integers(array, *low, *high),
        Test::Outside { low, high } => Ok(!&integers(array, *low, *high)?),
        Test::Float(comparison, literal) => match array.data_type() {
            DataType::Float16 => Ok(floats::<Float16Type>(array, *comparison, *literal)),
            DataType::Float32 => Ok(floats::<Float32Type>(array, *comparison, *literal)),
            DataType::Float64 => Ok(floats::<Float64Type>(array, *comparison, *literal)),
            other => Err(misbound(other)),
        },
        Test::Text(comparison, literal) => {
            let array = plain_text(array)?;
            let array = array.as_string_opt::<i32>().ok_or_else(|| misbound(array.data_type()))?;
            Ok(BooleanBuffer::collect_bool(array.len(), |row| comparison.holds(Some(array.value(row).as_bytes().cmp(literal.as_bytes())))))
        }
        Test::Boolean(comparison, literal) => {
            let array = array.as_boolean_opt().ok_or_else(|| misbound(array.data_type()))?;
            Ok(BooleanBuffer::collect_bool(array.len(), |row| comparison.holds(Some(array.value(row).cmp(literal)))))
        }
    }
}

/// Floats against a literal. A double holds every one of them exactly; NaN differs from all and is no more
/// and no less than any.
fn floats<T: ArrowPrimitiveType>(array: &ArrayRef, comparison: Comparison, literal: f64) -> BooleanBuffer
where
    T::Native: Into<f64>,
{
    let values = array.as_primitive::<T>().values();
    match comparison {
        Comparison::Equal => bits(values, |value| value.into() == literal),
        Comparison::NotEqual => bits(values, |value| value.into() != literal),
        Comparison::Less => bits(values, |value| value.into() < literal),
        Comparison::LessOrEqual => bits(values, |value| value.into() <= literal),
        Comparison::Greater => bits(values, |value| value.into() > literal),
        Comparison::GreaterOrEqual => bits(values, |value| value.into() >= literal),
    }
}

/// The values within `low..=high`, compared in their own type.
fn within<T: ArrowPrimitiveType>(array: &ArrayRef, low: i128, high: i128) -> BooleanBuffer
where
    T::Native: Into<i128> + TryFrom<i128> + PartialOrd,
{
    let values = array.as_primitive::<T>().values();
    // Bounds outside of the type are not bounds on that side, or exclude everything.
    match (T::Native::try_from(low), T::Native::try_from(high)) {
        (Ok(low), Ok(high)) => bits(values, |value| (value >= low) & (value <= high)),
        _ => bits(values, |value| (low..=high).contains(&value.into())),
    }
}

fn integers(array: &ArrayRef, low: i128, high: i128) -> Result<BooleanBuffer> {
    Ok(match array.data_type() {
        DataType::Int8 => within::<Int8Type>(array, low, high),
        DataType::Int16 => within::<Int16Type>(array, low, high),
        DataType::Int32 => within::<Int32Type>(array, low, high),
        DataType::Int64 => within::<Int64Type>(array, low, high),
        DataType::UInt8 => within::<UInt8Type>(array, low, high),
        DataType::UInt16 => within::<UInt16Type>(array, low, high),
        DataType::UInt32 => within::<UInt32Type>(array, low, high),
        DataType::UInt64 => within::<UInt64Type>(array, low, high),
        DataType::Timestamp(TimeUnit::Second, _) => within::<TimestampSecondType>(array, low, high),
        DataType::Timestamp(TimeUnit::Millisecond, _) => within::<TimestampMillisecondType>(array, low, high),
        DataType::Timestamp(TimeUnit::Microsecond, _) => within::<TimestampMicrosecondType>(array, low, high),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => within::<TimestampNanosecondType>(array, low, high),
        other => return Err(misbound(other)),
    })
}

fn compared(left: &ArrayRef, comparison: Comparison, right: &ArrayRef) -> Result<BooleanBuffer> {
    let (a, b) = (left.data_type(), right.data_type());
    let rows = left.len();
    let cast = |array: &ArrayRef, to: &DataType| arrow_cast::cast(array, to).map_err(|error| Error::internal(error.to_string()));
    if matches!(a, DataType::Utf8 | DataType::Dictionary(..)) {
        let (left, right) = (plain_text(left)?, plain_text(right)?);
        let (left, right) = (left.as_string::<i32>(), right.as_string::<i32>());
        return Ok(BooleanBuffer::collect_bool(rows, |row| comparison.holds(Some(left.value(row).cmp(right.value(row))))));
    }
    match (a, b) {
        (DataType::Float32, DataType::Float32) => return Ok(pairs::<Float32Type>(left, comparison, right)),
        (DataType::Float64, DataType::Float64) => return Ok(pairs::<Float64Type>(left, comparison, right)),
        _ => {}
    }
    if a.is_floating() || b.is_floating() {
        let (left, right) = (cast(left, &DataType::Float64)?, cast(right, &DataType::Float64)?);
        return Ok(pairs::<Float64Type>(&left, comparison, &right));
    }
    if *a == DataType::Boolean {
        let (left, right) = (left.as_boolean(), right.as_boolean());
        return Ok(BooleanBuffer::collect_bool(rows, |row| comparison.holds(Some(left.value(row).cmp(&right.value(row))))));
    }
    let (left, right) = (wide(left)?, wide(right)?);
    Ok(left.into_iter().zip(right).map(|(l, r)| comparison.holds(Some(l.cmp(&r)))).collect())
}

/// Floats of one type against each other, as numpy compares them.
fn pairs<T: ArrowPrimitiveType>(left: &ArrayRef, comparison: Comparison, right: &ArrayRef) -> BooleanBuffer {
    let (left, right) = (left.as_primitive::<T>().values(), right.as_primitive::<T>().values());
    match comparison {
        Comparison::Equal => bits_of_pairs(left, right, |left, right| left == right),
        Comparison::NotEqual => bits_of_pairs(left, right, |left, right| left != right),
        Comparison::Less => bits_of_pairs(left, right, |left, right| left < right),
        Comparison::LessOrEqual => bits_of_pairs(left, right, |left, right| left <= right),
        Comparison::Greater => bits_of_pairs(left, right, |left, right| left > right),
        Comparison::GreaterOrEqual => bits_of_pairs(left, right, |left, right| left >= right),
    }
}

/// Integers and times of any width.
fn wide(array: &ArrayRef) -> Result<Vec<i128>> {
    if *array.data_type() == DataType::UInt64 {
        return Ok(array.as_primitive::<UInt64Type>().values().iter().map(|v| i128::from(*v)).collect());
    }
    let array = arrow_cast::cast(array, &DataType::Int64).map_err(|error| Error::internal(error.to_string()))?;
    Ok(array.as_primitive::<Int64Type>().values().iter().map(|v| i128::from(*v)).collect())
}
