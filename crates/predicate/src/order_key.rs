//! Order keys: unsigned integers in the order of a column's values.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray};
use arrow_schema::{DataType, TimeUnit};
use half::f16;
use hyperslab_array::{Error, Result};

/// The types of values that have keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[expect(clippy::exhaustive_enums, reason = "keys of each kind of values are made in a way of their own")]
pub enum KeyType {
    /// Unsigned integers of this many bytes.
    Unsigned(u8),
    /// Signed integers of this many bytes, including times.
    Signed(u8),
    /// IEEE floats of this many bytes. The key of −0.0 is one below the key of 0.0, although they are equal; NaN has no key.
    Float(u8),
    /// `false` 0, `true` 1.
    Boolean,
}

/// Calls a macro's closure-like body with the Arrow type of integers and floats.
macro_rules! with_keys {
    ($array:expr, $keys:ident, $nan:ident, $type:ty, $bits:ty, $value:ident => $key:expr, $is_nan:expr) => {{
        for $value in $array.as_primitive::<$type>().values().iter() {
            $nan(&mut $keys, $is_nan, $key);
        }
    }};
}

impl KeyType {
    /// The key type of a column's Arrow type; `None` for text, lists and other types without keys.
    pub fn of(data_type: &DataType) -> Option<Self> {
        Some(match data_type {
            DataType::Boolean => Self::Boolean,
            DataType::UInt8 => Self::Unsigned(1),
            DataType::UInt16 => Self::Unsigned(2),
            DataType::UInt32 => Self::Unsigned(4),
            DataType::UInt64 => Self::Unsigned(8),
            DataType::Int8 => Self::Signed(1),
            DataType::Int16 => Self::Signed(2),
            DataType::Int32 => Self::Signed(4),
            DataType::Int64 | DataType::Timestamp(..) => Self::Signed(8),
            DataType::Float16 => Self::Float(2),
            DataType::Float32 => Self::Float(4),
            DataType::Float64 => Self::Float(8),
            _ => return None,
        })
    }

    /// Bytes of a key.
    pub fn width(self) -> usize {
        match self {
            Self::Unsigned(width) | Self::Signed(width) | Self::Float(width) => width.into(),
            Self::Boolean => 1,
        }
    }

    /// Smallest and largest key of a value (infinities are values, NaN is not).
    pub fn range(self) -> (u64, u64) {
        match self {
            Self::Boolean => (0, 1),
            Self::Float(_) => (self.of_float(f64::NEG_INFINITY), self.of_float(f64::INFINITY)),
            Self::Unsigned(_) | Self::Signed(_) => (0, u64::MAX >> (64 - 8 * self.width())),
        }
    }

    /// The key of an integer that the type can hold.
    fn of_integer(self, value: i128) -> u64 {
        let sign = match self {
            Self::Signed(width) => 1i128 << (8 * u32::from(width) - 1),
            _ => 0,
        };
        u64::try_from(value + sign).unwrap_or_default()
    }

    /// The key of a float that the type represents exactly.
    fn of_float(self, value: f64) -> u64 {
        match self {
            Self::Float(2) => float16(f16::from_f64(value)).into(),
            Self::Float(4) => float32(value as f32).into(),
            _ => float64(value),
        }
    }

    /// The value of a key as a double: exact for floats and integers up to 53 bits.
    pub fn float(self, key: u64) -> f64 {
        match self {
            Self::Float(2) => {
                let key = key as u16;
                f16::from_bits(if key >> 15 == 1 { key & !(1 << 15) } else { !key }).into()
            }
            Self::Float(4) => {
                let key = key as u32;
                f32::from_bits(if key >> 31 == 1 { key & !(1 << 31) } else { !key }).into()
            }
            Self::Float(_) => f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key }),
            _ => self.integer(key) as f64,
        }
    }

    /// The bits of the value of a key.
    pub fn bits(self, key: u64) -> u64 {
        let sign = 1u64 << (8 * self.width() - 1);
        match self {
            Self::Boolean | Self::Unsigned(_) => key,
            Self::Signed(_) => key ^ sign,
            Self::Float(_) if key & sign != 0 => key ^ sign,
            Self::Float(_) => !key & (sign | (sign - 1)),
        }
    }

    /// The bits of a NaN; 0 for types that have none.
    pub fn nan(self) -> u64 {
        match self {
            Self::Float(2) => f16::NAN.to_bits().into(),
            Self::Float(4) => f32::NAN.to_bits().into(),
            Self::Float(_) => f64::NAN.to_bits(),
            _ => 0,
        }
    }

    /// The value of a key that is an integer, exactly (booleans are 0 and 1).
    pub fn integer(self, key: u64) -> i128 {
        match self {
            Self::Signed(width) => i128::from(key) - (1i128 << (8 * u32::from(width) - 1)),
            _ => i128::from(key),
        }
    }

    /// The smallest key of a value that is at least `bound`; `None` if there is none. `bound` is not rounded; NaN is above
    /// every value.
    pub fn at_least(self, bound: f64) -> Option<u64> {
        self.first(|key| self.float_is(key, bound, |order| order.is_ge()))
    }

    /// The smallest key of a value above `bound`.
    pub fn above(self, bound: f64) -> Option<u64> {
        self.first(|key| self.float_is(key, bound, |order| order.is_gt()))
    }

    fn float_is(self, key: u64, bound: f64, holds: impl Fn(std::cmp::Ordering) -> bool) -> bool {
        let order = match self {
            Self::Float(_) => self.float(key).partial_cmp(&bound),
            _ => compare_integer(self.integer(key), bound),
        };
        order.is_some_and(holds)
    }

    /// The smallest key for which `holds`, which changes from false to true at most once as keys increase.
    fn first(self, holds: impl Fn(u64) -> bool) -> Option<u64> {
        let (mut low, last) = self.range();
        if !holds(last) {
            return None;
        }
        let mut high = last;
        while low < high {
            let middle = low + (high - low) / 2;
            if holds(middle) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Some(low)
    }

    /// The keys of the integers within `low..=high`; `None` if the type has none of them.
    pub fn integers(self, low: i128, high: i128) -> Option<(u64, u64)> {
        let (first, last) = self.range();
        let (low, high) = (low.max(self.integer(first)), high.min(self.integer(last)));
        (low <= high).then(|| (self.of_integer(low), self.of_integer(high)))
    }

    /// The keys of an array's values, ignoring nulls; `None` for NaN.
    ///
    /// # Errors
    /// `Internal` if the array is of another type.
    pub fn keys(self, array: &ArrayRef) -> Result<Vec<Option<u64>>> {
        let mut keys = Vec::with_capacity(array.len());
        let push = |keys: &mut Vec<Option<u64>>, nan: bool, key: u64| keys.push((!nan).then_some(key));
        match (self, array.data_type()) {
            (Self::Boolean, DataType::Boolean) => keys.extend(array.as_boolean().values().iter().map(|value| Some(u64::from(value)))),
            (Self::Unsigned(_), DataType::UInt8) => with_keys!(array, keys, push, UInt8Type, u8, v => u64::from(*v), false),
            (Self::Unsigned(_), DataType::UInt16) => with_keys!(array, keys, push, UInt16Type, u16, v => u64::from(*v), false),
            (Self::Unsigned(_), DataType::UInt32) => with_keys!(array, keys, push, UInt32Type, u32, v => u64::from(*v), false),
            (Self::Unsigned(_), DataType::UInt64) => with_keys!(array, keys, push, UInt64Type, u64, v => *v, false),
            (Self::Signed(_), DataType::Int8) => with_keys!(array, keys, push, Int8Type, u8, v => signed8(*v).into(), false),
            (Self::Signed(_), DataType::Int16) => with_keys!(array, keys, push, Int16Type, u16, v => signed16(*v).into(), false),
            (Self::Signed(_), DataType::Int32) => with_keys!(array, keys, push, Int32Type, u32, v => signed32(*v).into(), false),
            (Self::Signed(_), DataType::Int64) => with_keys!(array, keys, push, Int64Type, u64, v => signed64(*v), false),
            (Self::Signed(_), DataType::Timestamp(..)) => {
                let counts = arrow_cast::cast(array, &DataType::Int64).map_err(arrow)?;
                with_keys!(counts, keys, push, Int64Type, u64, v => signed64(*v), false);
            }
            (Self::Float(_), DataType::Float16) => with_keys!(array, keys, push, Float16Type, u16, v => float16(*v).into(), v.is_nan()),
            (Self::Float(_), DataType::Float32) => with_keys!(array, keys, push, Float32Type, u32, v => float32(*v).into(), v.is_nan()),
            (Self::Float(_), DataType::Float64) => with_keys!(array, keys, push, Float64Type, u64, v => float64(*v), v.is_nan()),
            (_, other) => return Err(Error::internal(format!("keys of {other} as {self:?}"))),
        }
        Ok(keys)
    }

    /// The values of keys (`None` for NaN) as an array of `data_type`, which must be of this kind.
    ///
    /// # Errors
    /// `Internal` if `data_type` is of another kind, or a key is out of its range.
    pub fn array(self, keys: &[Option<u64>], data_type: &DataType) -> Result<ArrayRef> {
        let integers = || keys.iter().map(|key| self.integer(key.unwrap_or_default()));
        macro_rules! integer {
            ($type:ty) => {
                Arc::new(PrimitiveArray::<$type>::from_iter_values(integers().map(|v| v as _)))
            };
        }
        let floats = || keys.iter().map(|key| key.map_or(f64::NAN, |key| self.float(key)));
        Ok(match data_type {
            DataType::Boolean => Arc::new(BooleanArray::from_iter(keys.iter().map(|key| Some(*key == Some(1))))),
            DataType::UInt8 => integer!(UInt8Type),
            DataType::UInt16 => integer!(UInt16Type),
            DataType::UInt32 => integer!(UInt32Type),
            DataType::UInt64 => integer!(UInt64Type),
            DataType::Int8 => integer!(Int8Type),
            DataType::Int16 => integer!(Int16Type),
            DataType::Int32 => integer!(Int32Type),
            DataType::Int64 => integer!(Int64Type),
            DataType::Timestamp(TimeUnit::Second | TimeUnit::Millisecond | TimeUnit::Microsecond | TimeUnit::Nanosecond, _) => {
                let counts: ArrayRef = integer!(Int64Type);
                return arrow_cast::cast(&counts, data_type).map_err(arrow);
            }
            DataType::Float16 => Arc::new(PrimitiveArray::<Float16Type>::from_iter_values(floats().map(f16::from_f64))),
            DataType::Float32 => Arc::new(PrimitiveArray::<Float32Type>::from_iter_values(floats().map(|v| v as f32))),
            DataType::Float64 => Arc::new(PrimitiveArray::<Float64Type>::from_iter_values(floats())),
            other => return Err(Error::internal(format!("values of {other} from keys"))),
        })
    }
}

fn arrow(error: arrow_schema::ArrowError) -> Error {
    Error::internal(error.to_string())
}

/// Compares an integer with a double without rounding either; `None` for NaN.
fn compare_integer(value: i128, bound: f64) -> Option<std::cmp::Ordering> {
    if bound.is_nan() {
        return None;
    }
    // Integers of columns have at most 65 bits: a larger bound saturates beyond all of them.
    let floor = bound.floor();
    let order = value.cmp(&(floor as i128));
    Some(if order.is_eq() && bound > floor { std::cmp::Ordering::Less } else { order })
}

macro_rules! signed_keys {
    ($($name:ident($signed:ty) -> $key:ty;)*) => {
        $(
            /// The key of an integer: keys are ordered as the values are.
            #[inline]
            pub fn $name(value: $signed) -> $key {
                value.cast_unsigned() ^ (1 << (<$key>::BITS - 1))
            }
        )*
    };
}

signed_keys! {
    signed8(i8) -> u8;
    signed16(i16) -> u16;
    signed32(i32) -> u32;
    signed64(i64) -> u64;
}

/// The key of a half-precision number: keys are ordered as the values are, -0 before 0.
#[inline]
pub fn float16(value: f16) -> u16 {
    let bits = value.to_bits();
    bits ^ ((bits.cast_signed() >> 15).cast_unsigned() | (1 << 15))
}
/// The key of a single-precision number: keys are ordered as the values are, -0 before 0.
#[inline]
pub fn float32(value: f32) -> u32 {
    let bits = value.to_bits();
    bits ^ ((bits.cast_signed() >> 31).cast_unsigned() | (1 << 31))
}
/// The key of a double-precision number: keys are ordered as the values are, -0 before 0.
#[inline]
pub fn float64(value: f64) -> u64 {
    let bits = value.to_bits();
    bits ^ ((bits.cast_signed() >> 63).cast_unsigned() | (1 << 63))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Float32Array, Int64Array, UInt64Array};
    use proptest::prelude::*;

    #[test]
    fn edges_between_integers_are_not_rounded() {
        let signed = KeyType::Signed(8);
        assert_eq!(signed.at_least(2.5).map(|key| signed.integer(key)), Some(3));
        assert_eq!(signed.above(-3.0).map(|key| signed.integer(key)), Some(-2));
        assert_eq!(signed.at_least(1e300), None);
        assert_eq!(signed.at_least(f64::NAN), None);
        assert_eq!(signed.at_least(f64::NEG_INFINITY), Some(0));
        assert_eq!(KeyType::Unsigned(8).above(9_007_199_254_740_992.0), Some(9_007_199_254_740_993));
    }

    proptest! {
        #[test]
        fn keys_are_in_the_order_of_the_values(a in any::<f32>(), b in any::<f32>(), c in any::<i64>(), d in any::<i64>(), e in any::<u64>()) {
            if !a.is_nan() && !b.is_nan() && a != b {
                prop_assert_eq!(float32(a) < float32(b), a < b);
            }
            prop_assert_eq!(signed64(c).cmp(&signed64(d)), c.cmp(&d));
            let array: ArrayRef = Arc::new(Float32Array::from(vec![a, b]));
            let keys = KeyType::Float(4).keys(&array).map_err(|e| TestCaseError::fail(e.to_string()))?;
            let back = KeyType::Float(4).array(&keys, &DataType::Float32).map_err(|e| TestCaseError::fail(e.to_string()))?;
            for (was, is) in [a, b].iter().zip(back.as_primitive::<Float32Type>().values()) {
                prop_assert!(was.to_bits() == is.to_bits() || (was.is_nan() && is.is_nan()));
            }
            let array: ArrayRef = Arc::new(Int64Array::from(vec![c, d, i64::MIN, i64::MAX]));
            let keys = KeyType::Signed(8).keys(&array).map_err(|e| TestCaseError::fail(e.to_string()))?;
            let back = KeyType::Signed(8).array(&keys, &DataType::Int64).map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert_eq!(&back, &array);
            let array: ArrayRef = Arc::new(UInt64Array::from(vec![e, 0, u64::MAX]));
            let keys = KeyType::Unsigned(8).keys(&array).map_err(|e| TestCaseError::fail(e.to_string()))?;
            let back = KeyType::Unsigned(8).array(&keys, &DataType::UInt64).map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert_eq!(&back, &array);
        }
        #[test]
        fn an_edge_parts_the_floats_as_comparison_does(values in proptest::collection::vec(any::<f32>(), 1..40), bound in any::<f64>()) {
            let kind = KeyType::Float(4);
            for value in values.into_iter().filter(|v| !v.is_nan()) {
                let key = u64::from(float32(value));
                prop_assert_eq!(kind.at_least(bound).is_some_and(|edge| key >= edge), f64::from(value) >= bound);
                prop_assert_eq!(kind.above(bound).is_some_and(|edge| key >= edge), f64::from(value) > bound);
                let near = f64::from(value);
                prop_assert_eq!(kind.at_least(near).is_some_and(|edge| key >= edge), true);
                prop_assert_eq!(kind.above(near).is_some_and(|edge| key >= edge), false);
            }
        }
    }
}
