//! Which stored values are neither missing nor out of range, at the speed at which they are read: values that are all valid, which
//! nearly all are, cost a comparison each.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};
use arrow_schema::DataType;
use half::f16;
use hyperslab_array::{Error, Result};

use super::{Decoding, Number};

/// Values that are tested together.
const BLOCK: usize = 512;

impl Decoding {
    /// Which stored values are neither missing nor out of range; `None` if all are valid.
    pub(super) fn valid(&self, array: &ArrayRef) -> Result<Option<NullBuffer>> {
        if !self.has_missing() {
            return Ok(None);
        }
        Ok(match array.data_type() {
            DataType::Int8 => self.valid_of::<Int8Type>(array),
            DataType::Int16 => self.valid_of::<Int16Type>(array),
            DataType::Int32 => self.valid_of::<Int32Type>(array),
            DataType::Int64 => self.valid_of::<Int64Type>(array),
            DataType::UInt8 => self.valid_of::<UInt8Type>(array),
            DataType::UInt16 => self.valid_of::<UInt16Type>(array),
            DataType::UInt32 => self.valid_of::<UInt32Type>(array),
            DataType::UInt64 => self.valid_of::<UInt64Type>(array),
            DataType::Float16 => self.valid_of::<Float16Type>(array),
            DataType::Float32 => self.valid_of::<Float32Type>(array),
            DataType::Float64 => self.valid_of::<Float64Type>(array),
            other => return Err(Error::internal(format!("missing values of {other}"))),
        })
    }

    fn valid_of<T: ArrowPrimitiveType>(&self, array: &ArrayRef) -> Option<NullBuffer>
    where
        T::Native: Tested,
    {
        let values = array.as_primitive::<T>().values();
        let missing: Vec<T::Native> = self.missing.iter().chain(&self.default_fill).filter_map(T::Native::same).collect();
        let (low, high) = (self.valid_min.as_ref(), self.valid_max.as_ref());
        let is_nan_missing = missing.iter().any(|value| value.is_nan());
        match (missing.as_slice(), low, high) {
            ([], None, None) => None,
            ([one], None, None) if !is_nan_missing => buffer(values, |value| value != *one),
            ([one, other], None, None) if !is_nan_missing => buffer(values, |value| (value != *one) & (value != *other)),
            _ => {
                let is_missing = |value: T::Native| missing.contains(&value) || (is_nan_missing && value.is_nan());
                let is_inside = |value: T::Native| low.is_none_or(|low| value.is_at_least(low)) && high.is_none_or(|high| value.is_at_most(high));
                buffer(values, |value| !is_missing(value) && is_inside(value))
            }
        }
    }
}

/// A bit for each value; `None` if all are set.
fn buffer<T: Copy>(values: &[T], is_valid: impl Fn(T) -> bool) -> Option<NullBuffer> {
    let mut found: Option<BooleanBufferBuilder> = None;
    for (number, block) in values.chunks(BLOCK).enumerate() {
        // Without an early end, so that it is compiled to instructions for several values.
        if block.iter().fold(true, |all, value| all & is_valid(*value)) {
            if let Some(found) = &mut found {
                found.append_n(block.len(), true);
            }
            continue;
        }
        let found = found.get_or_insert_with(|| {
            let mut bits = BooleanBufferBuilder::new(values.len());
            bits.append_n(number * BLOCK, true);
            bits
        });
        block.iter().for_each(|value| found.append(is_valid(*value)));
    }
    found.map(|mut bits| NullBuffer::new(bits.finish()))
}

/// A type of stored values.
trait Tested: Copy + PartialEq {
    /// A constant in this type: a double 1e20 marks a float 1e20. `None` if no value equals it.
    fn same(number: &Number) -> Option<Self>;
    fn is_nan(self) -> bool;
    /// Also true for NaN.
    fn is_at_least(self, bound: &Number) -> bool;
    /// Also true for NaN.
    fn is_at_most(self, bound: &Number) -> bool;
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Tested for $type {
            fn same(number: &Number) -> Option<Self> {
                number.whole().and_then(|value| Self::try_from(value).ok())
            }
            fn is_nan(self) -> bool {
                false
            }
            fn is_at_least(self, bound: &Number) -> bool {
                match bound {
                    Number::Integer(bound) => i128::from(self) >= *bound,
                    Number::Float(bound) => self as f64 >= *bound,
                }
            }
            fn is_at_most(self, bound: &Number) -> bool {
                match bound {
                    Number::Integer(bound) => i128::from(self) <= *bound,
                    Number::Float(bound) => self as f64 <= *bound,
                }
            }
        }
    )*};
}

integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! floats {
    ($($type:ty, $number:ident => $same:expr);*) => {$(
        impl Tested for $type {
            fn same($number: &Number) -> Option<Self> {
                Some($same)
            }
            fn is_nan(self) -> bool {
                self != self
            }
            fn is_at_least(self, bound: &Number) -> bool {
                Self::same(bound).is_none_or(|bound| self >= bound || self.is_nan())
            }
            fn is_at_most(self, bound: &Number) -> bool {
                Self::same(bound).is_none_or(|bound| self <= bound || self.is_nan())
            }
        }
    )*};
}

floats!(f32, number => number.as_f64() as f32; f64, number => number.as_f64());

impl Tested for f16 {
    fn same(number: &Number) -> Option<Self> {
        let value = number.as_f64();
        Some(f16::from_f64(value)).filter(|half| value.is_nan() || f64::from(*half) == value)
    }
    fn is_nan(self) -> bool {
        f16::is_nan(self)
    }
    fn is_at_least(self, bound: &Number) -> bool {
        f64::from(self).is_at_least(bound)
    }
    fn is_at_most(self, bound: &Number) -> bool {
        f64::from(self).is_at_most(bound)
    }
}
