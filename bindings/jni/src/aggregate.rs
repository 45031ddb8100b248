//! Aggregate: counts, minima, maxima and sums of one split, as one row that Spark combines with the rows of other splits. The
//! core computes them by Spark's rules; this module converts the results to columns of Spark's types.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type,
};
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, PrimitiveArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use hyperslab::scan::{Batches, Number, Rule, Summary};
use hyperslab::{Error, Result};
use serde::Deserialize;

/// An aggregate function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Function {
    Count,
    Min,
    Max,
    Sum,
}

/// An aggregate: one column (`a0`, `a1` …) of the result.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Aggregate {
    function: Function,
    /// `None` for `count(*)`.
    column: Option<String>,
    /// Whether an overflowing sum of integers wraps around (Spark without ANSI mode) instead of failing.
    #[serde(default)]
    wraps: bool,
}

impl Aggregate {
    /// Parses a JSON list; an empty list means that rows are read instead.
    pub fn parse(json: &str) -> Result<Vec<Self>> {
        serde_json::from_str(json).map_err(|e| Error::invalid_input(format!("invalid aggregates: {e}")))
    }

    /// The type of the result for columns of `schema`.
    fn data_type(&self, schema: &Schema) -> Result<DataType> {
        let Some(name) = self.column.as_ref().filter(|_| self.function != Function::Count) else { return Ok(DataType::Int64) };
        let of_column = schema.field_with_name(name).map_err(|e| Error::internal(e.to_string()))?.data_type();
        Ok(match self.function {
            Function::Sum if of_column.is_floating() => DataType::Float64,
            Function::Sum => DataType::Int64,
            _ => of_column.clone(),
        })
    }

    fn result(&self, rows: u64, found: &BTreeMap<String, Found>, schema: &Schema) -> Result<ArrayRef> {
        let rule = Rule::Spark { wraps: self.wraps };
        let count = |n: u64| i64::try_from(n).map_err(|_| Error::internal("the number of rows does not fit a signed 64-bit integer"));
        let Some(name) = &self.column else { return Ok(Arc::new(Int64Array::from(vec![count(rows)?]))) };
        let found = found.get(name).ok_or_else(|| Error::internal(format!("column {name:?} was not read")))?;
        let number = match self.function {
            Function::Count => return Ok(Arc::new(Int64Array::from(vec![count(rows - found.nulls)?]))),
            Function::Min => found.summary.minimum(rule),
            Function::Max => found.summary.maximum(rule),
            Function::Sum => found.summary.sum(rule).map_err(|error| Error::new(error.kind(), format!("column {name:?}: {}", error.message())))?,
        };
        column_of(number, &self.data_type(schema)?)
    }
}

/// The running aggregates of a column.
#[derive(Default)]
struct Found {
    nulls: u64,
    summary: Summary,
}

/// Reads all batches and returns one row with a column for each aggregate.
pub(crate) fn aggregate(batches: &mut Batches, aggregates: &[Aggregate], schema: &Schema) -> Result<RecordBatch> {
    let mut rows = 0u64;
    let mut found: BTreeMap<String, Found> = BTreeMap::new();
    while let Some(batch) = batches.next_batch().transpose()? {
        rows += batch.num_rows() as u64;
        for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            let is_of_column = |aggregate: &&Aggregate| aggregate.column.as_ref() == Some(field.name());
            if aggregates.iter().any(|aggregate| is_of_column(&aggregate)) {
                let found = found.entry(field.name().clone()).or_default();
                found.nulls += column.null_count() as u64;
                if aggregates.iter().filter(is_of_column).any(|aggregate| aggregate.function != Function::Count) {
                    found.summary = found.summary.and(summary(column)?)?;
                }
            }
        }
    }
    for aggregate in aggregates {
        // If there was no batch, the columns have no entries yet.
        if let Some(name) = &aggregate.column {
            found.entry(name.clone()).or_default();
        }
    }
    let columns = aggregates.iter().map(|aggregate| aggregate.result(rows, &found, schema)).collect::<Result<Vec<_>>>()?;
    RecordBatch::try_new(schema_of(aggregates, schema)?, columns).map_err(|e| Error::internal(e.to_string()))
}

/// The schema of the result for columns of `schema`.
pub(crate) fn schema_of(aggregates: &[Aggregate], schema: &Schema) -> Result<SchemaRef> {
    let fields = aggregates
        .iter()
        .enumerate()
        .map(|(index, aggregate)| Ok(Field::new(format!("a{index}"), aggregate.data_type(schema)?, aggregate.function != Function::Count)));
    Ok(Arc::new(Schema::new(fields.collect::<Result<Vec<_>>>()?)))
}

/// The summary of a column. Times are compared as integers.
fn summary(column: &ArrayRef) -> Result<Summary> {
    match column.data_type() {
        DataType::Timestamp(TimeUnit::Microsecond, None) => {
            let integers: PrimitiveArray<Int64Type> = column.as_primitive::<TimestampMicrosecondType>().reinterpret_cast();
            Summary::of(&(Arc::new(integers) as ArrayRef))
        }
        _ => Summary::of(column),
    }
}

/// A column of one value. The value came from a column of the same type, so the conversion is exact.
fn column_of(number: Option<Number>, data_type: &DataType) -> Result<ArrayRef> {
    fn integer<T: ArrowPrimitiveType>(number: Option<Number>) -> Option<ArrayRef>
    where
        T::Native: TryFrom<i128>,
    {
        let value = match number {
            Some(Number::Integer(value)) => Some(T::Native::try_from(value).ok()?),
            Some(Number::Float(_)) => return None,
            None => None,
        };
        Some(Arc::new(PrimitiveArray::<T>::from_iter([value])))
    }
    let float = match number {
        Some(Number::Float(value)) => Some(value),
        _ => None,
    };
    let column = match data_type {
        DataType::Int8 => integer::<Int8Type>(number),
        DataType::Int16 => integer::<Int16Type>(number),
        DataType::Int32 => integer::<Int32Type>(number),
        DataType::Int64 => integer::<Int64Type>(number),
        DataType::UInt8 => integer::<UInt8Type>(number),
        DataType::UInt16 => integer::<UInt16Type>(number),
        DataType::UInt32 => integer::<UInt32Type>(number),
        DataType::Timestamp(TimeUnit::Microsecond, None) => integer::<TimestampMicrosecondType>(number),
        DataType::Float16 => {
            let half = float.map(<Float16Type as ArrowPrimitiveType>::Native::from_f64);
            Some(Arc::new(PrimitiveArray::<Float16Type>::from_iter([half])) as ArrayRef)
        }
        DataType::Float32 => Some(Arc::new(PrimitiveArray::<Float32Type>::from_iter([float.map(|value| value as f32)])) as ArrayRef),
        DataType::Float64 => Some(Arc::new(Float64Array::from(vec![float])) as ArrayRef),
        other => return Err(Error::unsupported(format!("aggregates of Arrow type {other} are not supported"))),
    };
    column.ok_or_else(|| Error::internal("a minimum or maximum does not fit the type of its column"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extreme_has_the_type_of_its_column() -> Result<()> {
        for data_type in [DataType::Int8, DataType::UInt32, DataType::Int64, DataType::Timestamp(TimeUnit::Microsecond, None)] {
            let column = column_of(Some(Number::Integer(7)), &data_type)?;
            assert_eq!((column.data_type(), column.null_count()), (&data_type, 0));
            assert_eq!(column_of(None, &data_type)?.null_count(), 1);
        }
        let half = column_of(Some(Number::Float(0.5)), &DataType::Float16)?;
        assert_eq!(half.as_primitive::<Float16Type>().value(0).to_f64(), 0.5);
        assert!(column_of(Some(Number::Integer(300)), &DataType::Int8).is_err());
        assert!(column_of(None, &DataType::Utf8).is_err());
        Ok(())
    }
}
