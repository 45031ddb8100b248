//! Aggregate: counts, minima, maxima and sums of one split, as one row that Spark goes on with.
//!
//! As in Spark: null is left out, NaN is above every number, a sum of integers is 64 bits wide, a sum
//! of floats is a double.

use std::sync::Arc;

use arrow_arith::aggregate;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, UInt8Type,
    UInt16Type, UInt32Type,
};
use arrow_array::{Array, ArrayRef, ArrowNumericType, Float64Array, Int64Array, PrimitiveArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use hyperslab::scan::Batches;
use hyperslab::{Error, Result};
use serde::Deserialize;

/// What is asked of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Function {
    Count,
    Min,
    Max,
    Sum,
}

/// One of the columns of the answer, `a0`, `a1` …
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Aggregate {
    function: Function,
    /// None counts every row.
    column: Option<String>,
    /// Whether a sum of integers wraps around instead of being an error (Spark without ANSI).
    #[serde(default)]
    wraps: bool,
}

impl Aggregate {
    /// The list in this JSON text; an empty one asks for the rows themselves.
    pub fn parse(json: &str) -> Result<Vec<Self>> {
        serde_json::from_str(json).map_err(|e| Error::invalid_input(format!("these aggregates are not understood: {e}")))
    }

    fn start(&self, schema: &Schema) -> Result<State> {
        let data_type = match &self.column {
            None => return Ok(State::Count(0)),
            Some(name) => schema.field_with_name(name).map_err(|e| Error::internal(e.to_string()))?.data_type().clone(),
        };
        Ok(match self.function {
            Function::Count => State::Count(0),
            Function::Sum if data_type.is_floating() => State::FloatSum(None),
            Function::Sum => State::IntegerSum(None),
            Function::Min | Function::Max => State::Extreme(arrow_array::new_empty_array(&data_type)),
        })
    }
}

/// What was found so far.
enum State {
    Count(i64),
    IntegerSum(Option<i64>),
    FloatSum(Option<f64>),
    /// One value, or none yet.
    Extreme(ArrayRef),
}

/// Reads all batches; one row with a column for each aggregate.
pub(crate) fn aggregate(batches: &mut Batches, aggregates: &[Aggregate], schema: &Schema) -> Result<RecordBatch> {
    let mut states = aggregates.iter().map(|aggregate| aggregate.start(schema)).collect::<Result<Vec<_>>>()?;
    while let Some(batch) = batches.next_batch().transpose()? {
        for (aggregate, state) in aggregates.iter().zip(&mut states) {
            step(aggregate, state, &batch)?;
        }
    }
    let columns = states.into_iter().map(finish).collect::<Vec<ArrayRef>>();
    RecordBatch::try_new(schema_of(aggregates, schema)?, columns).map_err(|e| Error::internal(e.to_string()))
}

/// The schema of the answer over columns of `schema`.
pub(crate) fn schema_of(aggregates: &[Aggregate], schema: &Schema) -> Result<SchemaRef> {
    let fields = aggregates.iter().enumerate().map(|(number, aggregate)| {
        let array = finish(aggregate.start(schema)?);
        Ok(Field::new(format!("a{number}"), array.data_type().clone(), aggregate.function != Function::Count))
    });
    Ok(Arc::new(Schema::new(fields.collect::<Result<Vec<_>>>()?)))
}

fn finish(state: State) -> ArrayRef {
    match state {
        State::Count(count) => Arc::new(Int64Array::from(vec![count])),
        State::IntegerSum(sum) => Arc::new(Int64Array::from(vec![sum])),
        State::FloatSum(sum) => Arc::new(Float64Array::from(vec![sum])),
        State::Extreme(value) if value.is_empty() => arrow_array::new_null_array(value.data_type(), 1),
        State::Extreme(value) => value,
    }
}

fn step(aggregate: &Aggregate, state: &mut State, batch: &RecordBatch) -> Result<()> {
    let rows = i64::try_from(batch.num_rows()).map_err(|_| Error::internal("rows of a batch"))?;
    let column = match &aggregate.column {
        None => None,
        Some(name) => Some(batch.column_by_name(name).ok_or_else(|| Error::internal(format!("column {name} was not read")))?),
    };
    match (state, column) {
        (State::Count(count), None) => *count += rows,
        (State::Count(count), Some(column)) => *count += rows - i64::try_from(column.null_count()).unwrap_or(rows),
        (State::IntegerSum(sum), Some(column)) => integer_sum(sum, column, aggregate)?,
        (State::FloatSum(sum), Some(column)) => float_sum(sum, column)?,
        (State::Extreme(best), Some(column)) => {
            if let Some(candidate) = extreme(aggregate.function, column)? {
                let both = [best.as_ref(), candidate.as_ref()];
                let both = arrow_select::concat::concat(&both).map_err(|e| Error::internal(e.to_string()))?;
                *best = extreme(aggregate.function, &both)?.ok_or_else(|| Error::internal("an extreme of nothing"))?;
            }
        }
        (_, None) => return Err(Error::internal("an aggregate without a column")),
    }
    Ok(())
}

fn unsupported(column: &ArrayRef) -> Error {
    Error::unsupported(format!("aggregates of {}", column.data_type()))
}

fn integer_sum(sum: &mut Option<i64>, column: &ArrayRef, aggregate: &Aggregate) -> Result<()> {
    // 2^64 values of 64 bits fit 128.
    fn wide<T: ArrowPrimitiveType>(column: &ArrayRef) -> Option<i128>
    where
        T::Native: Into<i128>,
    {
        let array: &PrimitiveArray<T> = column.as_primitive();
        match array.null_count() {
            n if n == array.len() => None,
            0 => Some(array.values().iter().map(|&v| v.into()).sum()),
            _ => Some(array.iter().flatten().map(Into::into).sum()),
        }
    }
    let more = match column.data_type() {
        DataType::Int8 => wide::<Int8Type>(column),
        DataType::Int16 => wide::<Int16Type>(column),
        DataType::Int32 => wide::<Int32Type>(column),
        DataType::Int64 => wide::<Int64Type>(column),
        DataType::UInt8 => wide::<UInt8Type>(column),
        DataType::UInt16 => wide::<UInt16Type>(column),
        DataType::UInt32 => wide::<UInt32Type>(column),
        _ => return Err(unsupported(column)),
    };
    if let Some(more) = more {
        let total = more + i128::from(sum.unwrap_or(0));
        *sum = Some(match i64::try_from(total) {
            Ok(total) => total,
            Err(_) if aggregate.wraps => wrapped(total),
            Err(_) => {
                let column = aggregate.column.as_deref().unwrap_or_default();
                return Err(Error::invalid_input(format!("the sum of {column} is more than 64 bits hold (ARITHMETIC_OVERFLOW)")));
            }
        });
    }
    Ok(())
}

/// The lowest 64 bits.
fn wrapped(total: i128) -> i64 {
    let [a, b, c, d, e, f, g, h, ..] = total.to_le_bytes();
    i64::from_le_bytes([a, b, c, d, e, f, g, h])
}

fn float_sum(sum: &mut Option<f64>, column: &ArrayRef) -> Result<()> {
    fn doubles<T: ArrowPrimitiveType>(column: &ArrayRef) -> Option<f64>
    where
        T::Native: Into<f64>,
    {
        let array: &PrimitiveArray<T> = column.as_primitive();
        match array.null_count() {
            n if n == array.len() => None,
            0 => Some(array.values().iter().map(|&v| v.into()).sum()),
            _ => Some(array.iter().flatten().map(Into::into).sum()),
        }
    }
    let more = match column.data_type() {
        DataType::Float16 => doubles::<Float16Type>(column),
        DataType::Float32 => doubles::<Float32Type>(column),
        DataType::Float64 => doubles::<Float64Type>(column),
        _ => return Err(unsupported(column)),
    };
    if let Some(more) = more {
        *sum = Some(sum.unwrap_or(0.0) + more);
    }
    Ok(())
}

/// The smallest or largest value as an array of one; none where all are null.
fn extreme(function: Function, column: &ArrayRef) -> Result<Option<ArrayRef>> {
    fn ordered<T: ArrowNumericType>(function: Function, column: &ArrayRef) -> Option<ArrayRef> {
        let array: &PrimitiveArray<T> = column.as_primitive();
        let best = if function == Function::Min { aggregate::min(array) } else { aggregate::max(array) }?;
        Some(Arc::new(PrimitiveArray::<T>::from_value(best, 1)))
    }
    fn floating<T: ArrowPrimitiveType>(function: Function, column: &ArrayRef) -> Option<ArrayRef>
    where
        T::Native: Into<f64> + PartialOrd,
    {
        let array: &PrimitiveArray<T> = column.as_primitive();
        // NaN, with either sign, is above all numbers.
        let above = |a: T::Native, b: T::Native| {
            let (x, y): (f64, f64) = (a.into(), b.into());
            if x.is_nan() { !y.is_nan() } else { a > b }
        };
        let best = array.iter().flatten().reduce(|best, value| {
            let better = if function == Function::Min { above(best, value) } else { above(value, best) };
            if better { value } else { best }
        })?;
        Some(Arc::new(PrimitiveArray::<T>::from_value(best, 1)))
    }
    Ok(match column.data_type() {
        DataType::Int8 => ordered::<Int8Type>(function, column),
        DataType::Int16 => ordered::<Int16Type>(function, column),
        DataType::Int32 => ordered::<Int32Type>(function, column),
        DataType::Int64 => ordered::<Int64Type>(function, column),
        DataType::UInt8 => ordered::<UInt8Type>(function, column),
        DataType::UInt16 => ordered::<UInt16Type>(function, column),
        DataType::UInt32 => ordered::<UInt32Type>(function, column),
        DataType::Timestamp(TimeUnit::Microsecond, None) => ordered::<TimestampMicrosecondType>(function, column),
        DataType::Float16 => floating::<Float16Type>(function, column),
        DataType::Float32 => floating::<Float32Type>(function, column),
        DataType::Float64 => floating::<Float64Type>(function, column),
        _ => return Err(unsupported(column)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(function: Function, values: Vec<Option<f64>>) -> Result<Option<f64>> {
        let column: ArrayRef = Arc::new(Float64Array::from(values));
        let best = extreme(function, &column)?;
        Ok(best.map(|best| best.as_primitive::<Float64Type>().value(0)))
    }

    #[test]
    fn nan_is_above_every_number_whatever_its_sign() -> Result<()> {
        for nan in [f64::NAN, -f64::NAN] {
            let values = vec![Some(1.0), Some(nan), None, Some(f64::INFINITY)];
            assert!(one(Function::Max, values.clone())?.is_some_and(f64::is_nan));
            assert_eq!(one(Function::Min, values)?, Some(1.0));
            assert!(one(Function::Min, vec![Some(nan)])?.is_some_and(f64::is_nan));
        }
        assert_eq!(one(Function::Min, vec![None])?, None);
        Ok(())
    }

    #[test]
    fn a_sum_beyond_64_bits_wraps_or_is_an_error() -> Result<()> {
        let column: ArrayRef = Arc::new(Int64Array::from(vec![i64::MAX, 1]));
        let ask = |wraps| Aggregate { function: Function::Sum, column: Some("x".to_owned()), wraps };
        let mut sum = None;
        integer_sum(&mut sum, &column, &ask(true))?;
        assert_eq!(sum, Some(i64::MIN));
        assert!(integer_sum(&mut None, &column, &ask(false)).is_err());
        Ok(())
    }
}
