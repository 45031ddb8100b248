//! Stated: what the attributes of conventions say, as numbers and texts.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use hyperslab_array::{Attribute, Result};

use crate::convert::{arrow, convert};

/// A number that an attribute states; integers exactly.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "there are no other numbers")]
pub enum Number {
    /// A whole number.
    Integer(i128),
    /// A floating-point number.
    Float(f64),
}

impl Number {
    /// The nearest double.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Integer(value) => value as f64,
            Self::Float(value) => value,
        }
    }

    /// The same number as an integer, if it is whole.
    pub(super) fn whole(self) -> Option<i128> {
        match self {
            Self::Integer(value) => Some(value),
            // Larger ones are values of no integer type.
            Self::Float(value) => (value.fract() == 0.0 && value.abs() < 1e30).then_some(value as i128),
        }
    }

    /// Whether a limit is a value of the stored type; for floats, which round it, whether it is not NaN.
    pub(super) fn is_held(self, stored: &DataType) -> bool {
        let Some(bits) = stored.primitive_width().filter(|_| stored.is_integer()).map(|width| 8 * width) else {
            return !self.as_f64().is_nan();
        };
        let values = if stored.is_signed_integer() { -(1i128 << (bits - 1))..1i128 << (bits - 1) } else { 0..1i128 << bits };
        self.whole().is_some_and(|value| values.contains(&value))
    }

    /// A constant with the sign of the stored type stands for its bits, if `_Unsigned` gives the values the other sign.
    pub(super) fn with_sign_of(self, meant: &DataType) -> Self {
        match (self, meant.primitive_width()) {
            (Self::Integer(value), Some(width)) if meant.is_unsigned_integer() && value < 0 => Self::Integer(value + (1i128 << (8 * width))),
            (Self::Integer(value), Some(width)) if meant.is_signed_integer() && value >= 1i128 << (8 * width - 1) => {
                Self::Integer(value - (1i128 << (8 * width)))
            }
            _ => self,
        }
    }
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

/// The type of stored integers by their attribute `_Unsigned`.
pub(super) fn with_sign(stored: &DataType, unsigned: Option<&str>) -> DataType {
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

/// A factor of packed numbers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Factor {
    pub value: f64,
    pub data_type: DataType,
}

/// The factor that an attribute states.
pub(super) fn factor(attribute: &Attribute) -> Result<Factor, String> {
    let array = array_of(attribute).filter(|array| array.len() == 1 && (array.data_type().is_integer() || array.data_type().is_floating()));
    let refused = || format!("its attribute {} is {}, not a number", attribute.name, crate::attribute_text(attribute).unwrap_or_default());
    let array = array.ok_or_else(refused)?;
    let value = numbers_of(&array).ok().and_then(|numbers| numbers.first().copied()).ok_or_else(refused)?;
    Ok(Factor { value: value.as_f64(), data_type: array.data_type().clone() })
}

/// The text of an attribute, without spaces around it.
pub(super) fn text(attribute: &Attribute) -> Option<String> {
    let texts = texts(attribute);
    (texts.len() == 1).then(|| texts.into_iter().next()).flatten()
}

/// The texts of an attribute, without spaces around them.
pub(super) fn texts(attribute: &Attribute) -> Vec<String> {
    let Some(array) = array_of(attribute) else { return Vec::new() };
    let Some(strings) = array.as_string_opt::<i32>() else { return Vec::new() };
    (0..strings.len()).map(|index| strings.value(index).trim().to_owned()).collect()
}

/// The attribute's numbers; text instead of numbers is ignored, as in the netCDF library.
pub(super) fn numbers(attribute: &Attribute) -> Result<Vec<Number>> {
    array_of(attribute).map_or_else(|| Ok(Vec::new()), |array| numbers_of(&array))
}

fn numbers_of(array: &ArrayRef) -> Result<Vec<Number>> {
    if array.data_type().is_integer() {
        return Ok(wide(array)?.into_iter().map(Number::Integer).collect());
    }
    if array.data_type().is_floating() {
        let values = cast(array, &DataType::Float64)?;
        return Ok(values.as_primitive::<Float64Type>().values().iter().map(|v| Number::Float(*v)).collect());
    }
    Ok(Vec::new())
}

fn array_of(attribute: &Attribute) -> Option<ArrayRef> {
    let value = attribute.value.as_ref().ok()?;
    convert(&value.datatype, &value.bytes, &value.heap).ok()
}

pub(super) fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    arrow_cast::cast(array, to).map_err(arrow)
}

/// Integers of any width.
pub(super) fn wide(array: &ArrayRef) -> Result<Vec<i128>> {
    if *array.data_type() == DataType::UInt64 {
        return Ok(array.as_primitive::<UInt64Type>().values().iter().map(|v| i128::from(*v)).collect());
    }
    let array = cast(array, &DataType::Int64)?;
    Ok(array.as_primitive::<Int64Type>().values().iter().map(|v| i128::from(*v)).collect())
}
