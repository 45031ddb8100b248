//! netCDF conventions of one variable: fill and missing values, valid range, packing, `_Unsigned`,
//! CF time (CF Conventions 2.5.1, 4.4, 8.1; NetCDF Users Guide, "Attribute Conventions").

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Float32Array, Float64Array};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::DataType;
use hyperslab_array::{Attribute, Error, Result};

use super::convert::{arrow, convert};
use super::time::{ModelDates, TimeUnits};

/// How a variable's attributes say to decode its stored values.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Convention {
    /// Type of the stored values, after `_Unsigned`.
    stored: DataType,
    /// Whether `_Unsigned` gives the stored bits the other sign.
    has_other_sign: bool,
    missing: Vec<Number>,
    valid_min: Option<Number>,
    valid_max: Option<Number>,
    scale: Option<f64>,
    offset: Option<f64>,
    /// Type of unpacked values.
    unpacked: Option<DataType>,
    time: Option<TimeUnits>,
}

/// An attribute's number; integers exactly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    Integer(i128),
    Float(f64),
}

/// The value that the netCDF library writes for unwritten values (`NC_FILL_…` of netcdf.h). Types of
/// one byte have none here: every one of their values may be meant (NetCDF Users Guide, "_FillValue").
pub(super) fn default_fill(stored: &DataType) -> Option<Number> {
    Some(match stored {
        DataType::Int16 => Number::Integer(-32_767),
        DataType::UInt16 => Number::Integer(65_535),
        DataType::Int32 => Number::Integer(-2_147_483_647),
        DataType::UInt32 => Number::Integer(4_294_967_295),
        DataType::Int64 => Number::Integer(-9_223_372_036_854_775_806),
        DataType::UInt64 => Number::Integer(18_446_744_073_709_551_614),
        DataType::Float32 | DataType::Float64 => Number::Float(9.969_209_968_386_869e36),
        _ => return None,
    })
}

impl Convention {
    /// The convention of a variable whose values are `stored`; `None` if it changes nothing.
    /// `default_fill` marks unwritten values if there is no `_FillValue`.
    pub fn of(stored: &DataType, attributes: &[Attribute], default_fill: Option<Number>) -> Result<Option<Self>> {
        if !stored.is_numeric() || matches!(stored, DataType::Decimal128(..)) {
            return Ok(None);
        }
        let find = |name: &str| attributes.iter().find(|attribute| attribute.name == name);
        let meant = with_sign(stored, find("_Unsigned").and_then(text).as_deref());
        let has_other_sign = meant != *stored;
        // The library's mark of unwritten unsigned values is -1 as a signed one, which is a value like others.
        let default_fill = default_fill.filter(|_| !(has_other_sign && meant.is_signed_integer()));
        let stored = meant;
        let list = |name: &str| match find(name) {
            Some(attribute) => numbers(attribute).map(|list| list.into_iter().map(|n| reinterpret(n, &stored, has_other_sign)).collect()),
            None => Ok(Vec::new()),
        };
        let one = |name: &str| list(name).map(|list: Vec<Number>| list.first().copied());
        let mut missing: Vec<Number> = list("_FillValue")?;
        if missing.is_empty() {
            missing.extend(default_fill.map(|fill| reinterpret(fill, &stored, has_other_sign)));
        }
        missing.extend(list("missing_value")?);
        // Ignore limits that the stored type cannot hold: usually they refer to unpacked or unsigned values.
        let limit = |name: &str| one(name).map(|limit| limit.filter(|limit| is_held(limit, &stored)));
        let range: Vec<Number> = list("valid_range")?;
        let (low, high) = match range.as_slice() {
            [low, high] if is_held(low, &stored) && is_held(high, &stored) => (Some(*low), Some(*high)),
            _ => (None, None),
        };
        let factor = |name: &str| match find(name) {
            Some(attribute) => Ok::<_, Error>(numbers(attribute)?.first().map(|n| n.as_f64())),
            None => Ok(None),
        };
        let (scale, offset) = (factor("scale_factor")?, factor("add_offset")?);
        let unpacked = (scale.is_some() || offset.is_some()).then(|| {
            let single = ["scale_factor", "add_offset"].iter().filter_map(|name| find(name)).all(is_single);
            let short = matches!(stored, DataType::Int8 | DataType::UInt8 | DataType::Int16 | DataType::UInt16 | DataType::Float16 | DataType::Float32);
            if single && short { DataType::Float32 } else { DataType::Float64 }
        });
        let time = find("units").and_then(text).and_then(|units| match (find("month_lengths"), find("calendar")) {
            // A calendar of the file's own (CF 4.4.2), or one that cannot be read, is not the standard one.
            (Some(_), _) => None,
            (None, Some(calendar)) => TimeUnits::parse(&units, Some(&text(calendar)?)),
            (None, None) => TimeUnits::parse(&units, None),
        });
        let convention = Self {
            valid_min: low.or(limit("valid_min")?),
            valid_max: high.or(limit("valid_max")?),
            stored: stored.clone(),
            has_other_sign,
            missing,
            scale,
            offset,
            unpacked,
            time,
        };
        let changes = has_other_sign || convention.can_be_null() || convention.unpacked.is_some() || convention.time.is_some();
        Ok(changes.then_some(convention))
    }

    /// Type of the decoded values.
    pub fn data_type(&self) -> DataType {
        match (&self.time, &self.unpacked) {
            (Some(time), _) => time.data_type(),
            (None, Some(unpacked)) => unpacked.clone(),
            (None, None) => self.stored.clone(),
        }
    }

    /// The marker of a column of text that stands for dates.
    pub fn model_dates(&self) -> Option<ModelDates> {
        self.time.and_then(|time| time.model_dates())
    }

    /// Whether a value can be missing.
    pub fn can_be_null(&self) -> bool {
        !self.missing.is_empty()
            || self.valid_min.is_some()
            || self.valid_max.is_some()
            || (self.time.is_some() && (self.stored.is_floating() || self.unpacked.is_some()))
    }

    /// Decodes values as stored.
    pub fn decode(&self, array: &ArrayRef) -> Result<ArrayRef> {
        let array = if self.has_other_sign { bits_as(array, &self.stored)? } else { array.clone() };
        let mut nulls = self.valid(&array)?;
        let array = match &self.unpacked {
            Some(to) => self.unpack(&array, to)?,
            None => array,
        };
        let Some(time) = &self.time else {
            let data = array.to_data().into_builder().nulls(nulls).build().map_err(arrow)?;
            return Ok(arrow_array::make_array(data));
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

    fn unpack(&self, array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
        let (scale, offset) = (self.scale.unwrap_or(1.0), self.offset.unwrap_or(0.0));
        let values = cast(array, to)?;
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
        if self.missing.is_empty() && self.valid_min.is_none() && self.valid_max.is_none() {
            return Ok(None);
        }
        let valid: BooleanBuffer = if array.data_type().is_floating() {
            // Constants are compared in the column's type: a double 1e20 marks a float 1e20.
            let single = *array.data_type() == DataType::Float32;
            let same = |n: &Number| if single { f64::from(n.as_f64() as f32) } else { n.as_f64() };
            let missing: Vec<f64> = self.missing.iter().map(same).collect();
            let (low, high) = (self.valid_min.as_ref().map(same), self.valid_max.as_ref().map(same));
            let values = cast(array, &DataType::Float64)?;
            let valid = |value: &f64| {
                !missing.iter().any(|m| m == value || (m.is_nan() && value.is_nan()))
                    && low.is_none_or(|low| *value >= low || value.is_nan())
                    && high.is_none_or(|high| *value <= high || value.is_nan())
            };
            values.as_primitive::<Float64Type>().values().iter().map(valid).collect()
        } else {
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
                !self.missing.iter().any(|m| above(m, *value) && below(m, *value))
                    && self.valid_min.as_ref().is_none_or(|low| above(low, *value))
                    && self.valid_max.as_ref().is_none_or(|high| below(high, *value))
            };
            values.iter().map(valid).collect()
        };
        Ok(Some(NullBuffer::new(valid)))
    }
}

impl Number {
    fn as_f64(self) -> f64 {
        match self {
            Self::Integer(value) => value as f64,
            Self::Float(value) => value,
        }
    }
}

fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    arrow_cast::cast(array, to).map_err(arrow)
}

/// Integers of any width.
fn wide(array: &ArrayRef) -> Result<Vec<i128>> {
    if *array.data_type() == DataType::UInt64 {
        return Ok(array.as_primitive::<UInt64Type>().values().iter().map(|v| i128::from(*v)).collect());
    }
    let array = cast(array, &DataType::Int64)?;
    Ok(array.as_primitive::<Int64Type>().values().iter().map(|v| i128::from(*v)).collect())
}

/// The type of stored integers by their attribute `_Unsigned`.
fn with_sign(stored: &DataType, unsigned: Option<&str>) -> DataType {
    let is_unsigned = match unsigned {
        Some(text) if text.eq_ignore_ascii_case("true") => true,
        Some(text) if text.eq_ignore_ascii_case("false") => false,
        _ => return stored.clone(),
    };
    match (stored, is_unsigned) {
        (DataType::Int8, true) => DataType::UInt8,
        (DataType::Int16, true) => DataType::UInt16,
        (DataType::Int32, true) => DataType::UInt32,
        (DataType::Int64, true) => DataType::UInt64,
        (DataType::UInt8, false) => DataType::Int8,
        (DataType::UInt16, false) => DataType::Int16,
        (DataType::UInt32, false) => DataType::Int32,
        (DataType::UInt64, false) => DataType::Int64,
        (other, _) => other.clone(),
    }
}

/// The same bits as another integer type of the same width.
fn bits_as(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let data = array.to_data().into_builder().data_type(to.clone()).build().map_err(arrow)?;
    Ok(arrow_array::make_array(data))
}

/// Whether a limit is a value of the stored type; for floats, which round it, whether it is not NaN.
fn is_held(limit: &Number, stored: &DataType) -> bool {
    let Some(bits) = stored.primitive_width().filter(|_| stored.is_integer()).map(|width| 8 * width) else {
        return !limit.as_f64().is_nan();
    };
    let values = if stored.is_signed_integer() { -(1i128 << (bits - 1))..1i128 << (bits - 1) } else { 0..1i128 << bits };
    match limit {
        Number::Integer(value) => values.contains(value),
        Number::Float(value) => value.fract() == 0.0 && (values.start as f64..values.end as f64).contains(value),
    }
}

/// A constant with the sign of the stored type stands for its bits, if `_Unsigned` gives the values the other sign.
fn reinterpret(number: Number, stored: &DataType, has_other_sign: bool) -> Number {
    match (number, stored.primitive_width()) {
        (Number::Integer(value), Some(width)) if has_other_sign && stored.is_unsigned_integer() && value < 0 => Number::Integer(value + (1i128 << (8 * width))),
        (Number::Integer(value), Some(width)) if has_other_sign && stored.is_signed_integer() && value >= 1i128 << (8 * width - 1) => {
            Number::Integer(value - (1i128 << (8 * width)))
        }
        _ => number,
    }
}

fn array_of(attribute: &Attribute) -> Option<ArrayRef> {
    let value = attribute.value.as_ref().ok()?;
    convert(&value.datatype, &value.bytes, &value.heap).ok()
}

fn is_single(attribute: &Attribute) -> bool {
    array_of(attribute).is_some_and(|array| *array.data_type() == DataType::Float32)
}

fn text(attribute: &Attribute) -> Option<String> {
    let array = array_of(attribute)?;
    let strings = array.as_string_opt::<i32>()?;
    (strings.len() == 1).then(|| strings.value(0).trim().to_owned())
}

/// The attribute's numbers; text instead of numbers is ignored, as in the netCDF library.
fn numbers(attribute: &Attribute) -> Result<Vec<Number>> {
    let Some(array) = array_of(attribute) else { return Ok(Vec::new()) };
    if array.data_type().is_integer() {
        return Ok(wide(&array)?.into_iter().map(Number::Integer).collect());
    }
    if array.data_type().is_floating() {
        let values = cast(&array, &DataType::Float64)?;
        return Ok(values.as_primitive::<Float64Type>().values().iter().map(|v| Number::Float(*v)).collect());
    }
    Ok(Vec::new())
}
