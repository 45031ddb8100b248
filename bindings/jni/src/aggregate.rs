//! Aggregate: counts, minima, maxima and sums of one split, as rows that Spark combines with the rows of other splits. The
//! core computes them by Spark's rules; this module converts the results to columns of Spark's types.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, UInt8Type, UInt16Type,
    UInt32Type,
};
use arrow_array::{Array, ArrayRef, Int64Array, PrimitiveArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use hyperslab::scan::{Batches, Groups, Measured, Number, Rule, Summary};
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

/// An aggregate: one column of the result.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Aggregate {
    /// The name of the result.
    name: String,
    function: Function,
    /// `None` for `count(*)`.
    column: Option<String>,
    /// Whether an overflowing sum of integers wraps around (Spark without ANSI mode) instead of failing.
    #[serde(default)]
    wraps: bool,
}

/// Parses a JSON list of the columns by which rows are grouped; `null` means that they are not grouped.
pub(crate) fn parse_keys(json: &str) -> Result<Option<Vec<String>>> {
    serde_json::from_str(json).map_err(|e| Error::invalid_input(format!("invalid keys: {e}")))
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

    /// The results of groups, from their numbers of rows and the summaries of each column.
    fn results(&self, rows: &[u64], summaries: &BTreeMap<String, Vec<Summary>>, schema: &Schema) -> Result<ArrayRef> {
        let counts = |counts: &mut dyn Iterator<Item = u64>| {
            let count = |n: u64| i64::try_from(n).map_err(|_| Error::internal("the number of rows does not fit a signed 64-bit integer"));
            Ok(Arc::new(Int64Array::from(counts.map(count).collect::<Result<Vec<i64>>>()?)) as ArrayRef)
        };
        let Some(name) = &self.column else { return counts(&mut rows.iter().copied()) };
        let summaries = summaries.get(name).ok_or_else(|| Error::internal(format!("column {name:?} was not read")))?;
        let rule = Rule::Spark { wraps: self.wraps };
        let of_group = |summary: &Summary| match self.function {
            Function::Min => Ok(summary.minimum(rule)),
            Function::Max => Ok(summary.maximum(rule)),
            Function::Count | Function::Sum => summary.sum(rule).map_err(|error| Error::new(error.kind(), format!("column {name:?}: {}", error.message()))),
        };
        match self.function {
            Function::Count => counts(&mut rows.iter().zip(summaries).map(|(rows, summary)| rows - summary.nulls)),
            _ => column_of(&summaries.iter().map(of_group).collect::<Result<Vec<_>>>()?, &self.data_type(schema)?),
        }
    }

    /// The results if each row of a batch is a group of its own.
    fn results_of_rows(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        let Some(name) = &self.column else { return Ok(Arc::new(Int64Array::from(vec![1; batch.num_rows()]))) };
        let column = batch.column_by_name(name).ok_or_else(|| Error::internal(format!("column {name:?} was not read")))?;
        match self.function {
            Function::Count => {
                let nulls = column.logical_nulls();
                let is_valid = |row: usize| i64::from(nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)));
                Ok(Arc::new((0..column.len()).map(is_valid).collect::<Int64Array>()))
            }
            _ => arrow_cast::cast(column, &self.data_type(batch.schema_ref())?).map_err(|error| Error::internal(error.to_string())),
        }
    }
}

/// Reads all batches and returns one row with a column for each aggregate.
pub(crate) fn aggregate(batches: &mut Batches, aggregates: &[Aggregate], schema: &Schema) -> Result<RecordBatch> {
    let mut rows = 0u64;
    let measured = measured(aggregates);
    let mut found: Vec<Summary> = vec![Summary::default(); measured.len()];
    while let Some(batch) = batches.next_batch().transpose()? {
        rows += batch.num_rows() as u64;
        for (found, measured) in found.iter_mut().zip(&measured) {
            let column = batch.column_by_name(&measured.column);
            let column = column.ok_or_else(|| Error::internal(format!("column {:?} was not read", measured.column)))?;
            match measured.sum || measured.extremes {
                true => *found = found.and(summary(column)?)?,
                false => found.nulls += column.null_count() as u64,
            }
        }
    }
    let summaries = measured.into_iter().map(|measured| measured.column).zip(found.into_iter().map(|found| vec![found])).collect();
    let columns = aggregates.iter().map(|aggregate| aggregate.results(&[rows], &summaries, schema)).collect::<Result<Vec<_>>>()?;
    RecordBatch::try_new(schema_of(aggregates, schema)?, columns).map_err(|e| Error::internal(e.to_string()))
}

/// What the core has to compute for aggregates: each column once.
pub(crate) fn measured(aggregates: &[Aggregate]) -> Vec<Measured> {
    let mut measured: BTreeMap<&String, Measured> = BTreeMap::new();
    for aggregate in aggregates {
        if let Some(name) = &aggregate.column {
            let of_column = measured.entry(name).or_insert_with(|| Measured::new(name.clone(), false, false));
            of_column.sum |= aggregate.function == Function::Sum;
            of_column.extremes |= matches!(aggregate.function, Function::Min | Function::Max);
        }
    }
    measured.into_values().collect()
}

/// Columns of keys followed by the aggregates, with a row for each group; `measured` is what was computed.
pub(crate) fn of_groups(groups: Groups, measured: Vec<Measured>, aggregates: &[Aggregate]) -> Result<RecordBatch> {
    let summaries = measured.into_iter().map(|measured| measured.column).zip(groups.summaries).collect();
    let columns = aggregates.iter().map(|aggregate| aggregate.results(&groups.rows, &summaries, &groups.schema)).collect::<Result<Vec<_>>>()?;
    joined(&groups.keys, columns, aggregates, &groups.schema)
}

/// Columns of keys followed by the aggregates, with each row of a batch as a group of its own.
pub(crate) fn of_rows(batch: &RecordBatch, keys: &[String], aggregates: &[Aggregate]) -> Result<RecordBatch> {
    let columns = aggregates.iter().map(|aggregate| aggregate.results_of_rows(batch)).collect::<Result<Vec<_>>>()?;
    let indexes = keys.iter().map(|name| batch.schema_ref().index_of(name)).collect::<std::result::Result<Vec<_>, _>>();
    let keys = indexes.and_then(|indexes| batch.project(&indexes)).map_err(|e| Error::internal(e.to_string()))?;
    joined(&keys, columns, aggregates, batch.schema_ref())
}

fn joined(keys: &RecordBatch, columns: Vec<ArrayRef>, aggregates: &[Aggregate], schema: &Schema) -> Result<RecordBatch> {
    let fields = keys.schema_ref().fields().iter().chain(schema_of(aggregates, schema)?.fields()).cloned().collect::<Vec<_>>();
    let options = RecordBatchOptions::new().with_row_count(Some(keys.num_rows()));
    let columns = keys.columns().iter().cloned().chain(columns).collect();
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options).map_err(|e| Error::internal(e.to_string()))
}

/// The schema of the aggregates for columns of `schema`.
pub(crate) fn schema_of(aggregates: &[Aggregate], schema: &Schema) -> Result<SchemaRef> {
    let field = |aggregate: &Aggregate| Ok(Field::new(&aggregate.name, aggregate.data_type(schema)?, aggregate.function != Function::Count));
    Ok(Arc::new(Schema::new(aggregates.iter().map(field).collect::<Result<Vec<_>>>()?)))
}

/// The schema of keys followed by aggregates.
pub(crate) fn grouped_schema(keys: &[String], aggregates: &[Aggregate], schema: &Schema) -> Result<SchemaRef> {
    let keys = keys.iter().map(|name| schema.field_with_name(name).cloned().map(Arc::new)).collect::<std::result::Result<Vec<_>, _>>();
    let keys = keys.map_err(|e| Error::internal(e.to_string()))?;
    Ok(Arc::new(Schema::new(keys.into_iter().chain(schema_of(aggregates, schema)?.fields().iter().cloned()).collect::<Vec<_>>())))
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

/// A column of values. They came from a column of the same type, so the conversion is exact.
fn column_of(numbers: &[Option<Number>], data_type: &DataType) -> Result<ArrayRef> {
    fn column<T: ArrowPrimitiveType>(numbers: &[Option<Number>], of: impl Fn(Number) -> Option<T::Native>) -> Option<ArrayRef> {
        let values = numbers.iter().map(|number| number.map_or(Some(None), |number| of(number).map(Some)));
        Some(Arc::new(values.collect::<Option<PrimitiveArray<T>>>()?))
    }
    fn integers<T: ArrowPrimitiveType>(numbers: &[Option<Number>]) -> Option<ArrayRef>
    where
        T::Native: TryFrom<i128>,
    {
        column::<T>(numbers, |number| match number {
            Number::Integer(value) => T::Native::try_from(value).ok(),
            Number::Float(_) => None,
        })
    }
    let float = |number: Number| match number {
        Number::Float(value) => Some(value),
        Number::Integer(_) => None,
    };
    let column = match data_type {
        DataType::Int8 => integers::<Int8Type>(numbers),
        DataType::Int16 => integers::<Int16Type>(numbers),
        DataType::Int32 => integers::<Int32Type>(numbers),
        DataType::Int64 => integers::<Int64Type>(numbers),
        DataType::UInt8 => integers::<UInt8Type>(numbers),
        DataType::UInt16 => integers::<UInt16Type>(numbers),
        DataType::UInt32 => integers::<UInt32Type>(numbers),
        DataType::Timestamp(TimeUnit::Microsecond, None) => integers::<TimestampMicrosecondType>(numbers),
        DataType::Float16 => column::<Float16Type>(numbers, |number| float(number).map(<Float16Type as ArrowPrimitiveType>::Native::from_f64)),
        DataType::Float32 => column::<Float32Type>(numbers, |number| float(number).map(|value| value as f32)),
        DataType::Float64 => column::<Float64Type>(numbers, float),
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
            let column = column_of(&[Some(Number::Integer(7))], &data_type)?;
            assert_eq!((column.data_type(), column.null_count()), (&data_type, 0));
            assert_eq!(column_of(&[None], &data_type)?.null_count(), 1);
        }
        let half = column_of(&[Some(Number::Float(0.5))], &DataType::Float16)?;
        assert_eq!(half.as_primitive::<Float16Type>().value(0).to_f64(), 0.5);
        assert!(column_of(&[Some(Number::Integer(300))], &DataType::Int8).is_err());
        assert!(column_of(&[None], &DataType::Utf8).is_err());
        Ok(())
    }
}
