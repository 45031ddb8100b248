//! Decoded values in Arrow: missing ones and those out of range are null, times are timestamps in UTC.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float32Type, Float64Type, Int16Type};
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::DataType;
use hyperslab_array::Result;

use super::stated::{cast, wide};
use super::{Decoding, Kind};
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

    pub(super) fn has_missing(&self) -> bool {
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
        // Each step rounds in the result's own type, as numpy does.
        Ok(match (array.data_type(), &to) {
            // The usual ones without a copy.
            (DataType::Int16, DataType::Float32) => singles::<Int16Type>(array, |value| f32::from(value) * scale as f32 + offset as f32),
            (DataType::Int16, DataType::Float64) => doubles::<Int16Type>(array, |value| f64::from(value) * scale + offset),
            (_, DataType::Float32) => singles::<Float32Type>(&cast(array, &to)?, |value| value * scale as f32 + offset as f32),
            _ => doubles::<Float64Type>(&cast(array, &to)?, |value| value * scale + offset),
        })
    }
}

fn singles<T: ArrowPrimitiveType>(array: &ArrayRef, of: impl Fn(T::Native) -> f32) -> ArrayRef {
    Arc::new(array.as_primitive::<T>().unary::<_, Float32Type>(of))
}

fn doubles<T: ArrowPrimitiveType>(array: &ArrayRef, of: impl Fn(T::Native) -> f64) -> ArrayRef {
    Arc::new(array.as_primitive::<T>().unary::<_, Float64Type>(of))
}

/// The same bits as another integer type of the same width.
fn bits_as(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let data = array.to_data().into_builder().data_type(to.clone()).build().map_err(arrow)?;
    Ok(arrow_array::make_array(data))
}
