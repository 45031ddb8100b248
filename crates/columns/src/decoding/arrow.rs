//! Decoded values in Arrow: missing ones and those out of range are null, times are timestamps in UTC.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Float32Array, Float64Array};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::DataType;
use hyperslab_array::Result;

use super::stated::{cast, wide};
use super::{Decoding, Kind, Number};
use crate::convert::arrow;

impl Decoding {
    /// Whether columns show other values than those that are stored.
    pub fn changes_columns(&self) -> bool {
        self.has_other_sign() || self.can_be_null() || self.is_packed() || matches!(self.kind, Kind::Time(_) | Kind::Boolean)
    }

    /// Arrow type of decoded values. Durations stay numbers: SQL computes with them.
    pub(crate) fn column_type(&self) -> DataType {
        match &self.kind {
            Kind::Time(time) => time.data_type(),
            Kind::Boolean => DataType::Boolean,
            _ if self.is_packed() => self.unpacked_column(),
            _ => self.meant.clone(),
        }
    }

    /// Whether a value can be missing.
    pub(crate) fn can_be_null(&self) -> bool {
        self.has_missing() || (matches!(self.kind, Kind::Time(_)) && (self.stored.is_floating() || self.is_packed()))
    }

    fn has_missing(&self) -> bool {
        !self.missing.is_empty() || self.default_fill.is_some() || self.valid_min.is_some() || self.valid_max.is_some()
    }

    /// As numpy's type, but never fewer digits than the stored numbers have.
    fn unpacked_column(&self) -> DataType {
        let is_short = matches!(self.meant, DataType::Int8 | DataType::UInt8 | DataType::Int16 | DataType::UInt16 | DataType::Float16 | DataType::Float32);
        if is_short { self.unpacked() } else { DataType::Float64 }
    }

    /// Decodes values as stored into a column.
    pub(crate) fn column(&self, array: &ArrayRef) -> Result<ArrayRef> {
        let array = if self.has_other_sign() { bits_as(array, &self.meant)? } else { array.clone() };
        let mut nulls = self.valid(&array)?;
        let array = if self.is_packed() { self.unpack(&array)? } else { array };
        let time = match &self.kind {
            Kind::Time(time) => time,
            Kind::Boolean => {
                let is_true: BooleanBuffer = wide(&array)?.iter().map(|value| *value != 0).collect();
                return Ok(Arc::new(BooleanArray::new(is_true, nulls)));
            }
            _ => {
                let data = array.to_data().into_builder().nulls(nulls).build().map_err(arrow)?;
                return Ok(arrow_array::make_array(data));
            }
        };
        if !array.data_type().is_floating() {
            return time.of_integers(&wide(&array)?, nulls);
        }
        let floats = cast(&array, &DataType::Float64)?;
        let floats = floats.as_primitive::<Float64Type>().values();
        let known: BooleanBuffer = floats.iter().map(|value| !value.is_nan()).collect();
        nulls = NullBuffer::union(nulls.as_ref(), Some(&NullBuffer::new(known)));
        time.of_floats(floats, nulls)
    }

    fn unpack(&self, array: &ArrayRef) -> Result<ArrayRef> {
        let (scale, offset) = (self.scale().unwrap_or(1.0), self.offset().unwrap_or(0.0));
        let to = self.unpacked_column();
        let values = cast(array, &to)?;
        // Each step rounds in the result's own type, as numpy does.
        Ok(match to {
            DataType::Float32 => {
                let (scale, offset) = (scale as f32, offset as f32);
                let values = values.as_primitive::<Float32Type>();
                Arc::new(Float32Array::from_iter_values(values.values().iter().map(|v| v * scale + offset)))
            }
            _ => {
                let values = values.as_primitive::<Float64Type>();
                Arc::new(Float64Array::from_iter_values(values.values().iter().map(|v| v * scale + offset)))
            }
        })
    }

    /// Which stored values are neither missing nor out of range.
    fn valid(&self, array: &ArrayRef) -> Result<Option<NullBuffer>> {
        if !self.has_missing() {
            return Ok(None);
        }
        let missing = self.missing.iter().chain(&self.default_fill);
        let valid: BooleanBuffer = if array.data_type().is_floating() {
            // Constants are compared in the column's type: a double 1e20 marks a float 1e20.
            let single = *array.data_type() == DataType::Float32;
            let same = |n: &Number| if single { f64::from(n.as_f64() as f32) } else { n.as_f64() };
            let missing: Vec<f64> = missing.map(same).collect();
            let (low, high) = (self.valid_min.as_ref().map(same), self.valid_max.as_ref().map(same));
            let values = cast(array, &DataType::Float64)?;
            let valid = |value: &f64| {
                !missing.iter().any(|m| m == value || (m.is_nan() && value.is_nan()))
                    && low.is_none_or(|low| *value >= low || value.is_nan())
                    && high.is_none_or(|high| *value <= high || value.is_nan())
            };
            values.as_primitive::<Float64Type>().values().iter().map(valid).collect()
        } else {
            let missing: Vec<i128> = missing.filter_map(|number| number.whole()).collect();
            let above = |n: &Number, value: i128| match n {
                Number::Integer(bound) => value >= *bound,
                Number::Float(bound) => value as f64 >= *bound,
            };
            let below = |n: &Number, value: i128| match n {
                Number::Integer(bound) => value <= *bound,
                Number::Float(bound) => value as f64 <= *bound,
            };
            let values = wide(array)?;
            let valid = |value: &i128| {
                !missing.contains(value)
                    && self.valid_min.as_ref().is_none_or(|low| above(low, *value))
                    && self.valid_max.as_ref().is_none_or(|high| below(high, *value))
            };
            values.iter().map(valid).collect()
        };
        Ok(Some(NullBuffer::new(valid)))
    }
}

/// The same bits as another integer type of the same width.
fn bits_as(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let data = array.to_data().into_builder().data_type(to.clone()).build().map_err(arrow)?;
    Ok(arrow_array::make_array(data))
}
