//! Numeric conversion from the type of a source to the type of the virtual dataset, if both are integers of whole bytes or IEEE
//! floats.
//!
//! The rules are those that the HDF5 library documents for its conversions: integers saturate, fractions are truncated,
//! values beyond the largest finite float become infinite, all others round to the nearest float, ties to even. NaN
//! becomes the integer 0. Accidental deviations of the library are not reproduced
//! (docs/decisions/0009-numeric-conversion.md).

use half::f16;
use hyperslab_array::{ByteOrder, Datatype, Error, FloatFormat, Result};

/// A kind of number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    Integer { bytes: usize, signed: bool },
    Float { bytes: usize },
}

#[derive(Debug, Clone, Copy)]
enum Value {
    Integer(i128),
    Float(f64),
}

/// Converts numbers of one datatype to another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Conversion {
    from: (Number, ByteOrder),
    to: (Number, ByteOrder),
}

impl Conversion {
    /// The conversion between two datatypes; `None` if one of them is not an ordinary number.
    pub fn between(from: &Datatype, to: &Datatype) -> Option<Self> {
        Some(Self { from: number(from)?, to: number(to)? })
    }

    /// Converts whole elements.
    pub fn convert(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        let ((from, from_order), (to, to_order)) = (self.from, self.to);
        let (width, new_width) = (from.bytes(), to.bytes());
        let length = (bytes.len() / width).checked_mul(new_width);
        let mut out = Vec::with_capacity(length.ok_or_else(|| Error::limit_exceeded("converted values beyond memory"))?);
        for element in bytes.chunks_exact(width) {
            let add = |bits: u64, byte: &u8| (bits << 8) | u64::from(*byte);
            let stored = match from_order {
                ByteOrder::Little => element.iter().rev().fold(0, add),
                ByteOrder::Big => element.iter().fold(0, add),
            };
            let wanted = if from == to { stored } else { to.bits(from.value(stored)) };
            // Only the last `new_width` bytes of the big-endian form belong to the number.
            let mut bytes = wanted.to_be_bytes();
            let Some(bytes) = bytes.get_mut(8 - new_width..) else {
                return Err(Error::internal("a number of more than 8 bytes"));
            };
            if to_order == ByteOrder::Little {
                bytes.reverse();
            }
            out.extend_from_slice(bytes);
        }
        Ok(out)
    }
}

fn number(datatype: &Datatype) -> Option<(Number, ByteOrder)> {
    match *datatype {
        Datatype::Integer { size, signed, order, bit_offset: 0, bit_precision } if u64::from(bit_precision) == size * 8 => {
            let bytes = usize::try_from(size).ok().filter(|n| (1..=8).contains(n))?;
            Some((Number::Integer { bytes, signed }, order))
        }
        Datatype::Float { size, order, format: FloatFormat::Ieee } => {
            let bytes = usize::try_from(size).ok().filter(|n| matches!(n, 2 | 4 | 8))?;
            Some((Number::Float { bytes }, order))
        }
        _ => None,
    }
}

impl Number {
    fn bytes(self) -> usize {
        match self {
            Self::Integer { bytes, .. } | Self::Float { bytes } => bytes,
        }
    }

    /// The value of a number's bits.
    fn value(self, bits: u64) -> Value {
        match self {
            Self::Integer { bytes, signed: true } => {
                let unused = 64 - 8 * bytes as u32;
                Value::Integer(i128::from((bits << unused).cast_signed() >> unused))
            }
            Self::Integer { .. } => Value::Integer(i128::from(bits)),
            Self::Float { bytes: 2 } => Value::Float(f16::from_bits(bits as u16).to_f64()),
            Self::Float { bytes: 4 } => Value::Float(f64::from(f32::from_bits(bits as u32))),
            Self::Float { .. } => Value::Float(f64::from_bits(bits)),
        }
    }

    /// The bits of the number that stands for a value.
    fn bits(self, value: Value) -> u64 {
        match (self, value) {
            (Self::Integer { bytes, signed }, value) => {
                let whole = match value {
                    Value::Integer(value) => value,
                    // Cuts the fraction off, keeps to the range of i128, and makes 0 of what is not a number.
                    Value::Float(value) => value as i128,
                };
                let bits = 8 * bytes as u32;
                let (min, max) = if signed { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
                whole.clamp(min, max) as u64
            }
            (Self::Float { bytes: 2 }, Value::Integer(value)) => u64::from(to_half(value as f64)),
            (Self::Float { bytes: 2 }, Value::Float(value)) => u64::from(to_half(value)),
            (Self::Float { bytes: 4 }, Value::Integer(value)) => u64::from((value as f32).to_bits()),
            (Self::Float { bytes: 4 }, Value::Float(value)) => u64::from(to_single(value).to_bits()),
            (Self::Float { .. }, Value::Integer(value)) => (value as f64).to_bits(),
            (Self::Float { .. }, Value::Float(value)) => value.to_bits(),
        }
    }
}

/// The nearest `f32`. Values beyond the largest finite one are infinite, even if that one would be nearer.
fn to_single(value: f64) -> f32 {
    if value.abs() > f64::from(f32::MAX) { f32::INFINITY.copysign(value as f32) } else { value as f32 }
}

/// The bits of the nearest binary16, by the same rule. Going through `f32` would round twice.
fn to_half(value: f64) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let size = value.abs();
    let magnitude = if size.is_nan() {
        0x7e00
    } else if size > f16::MAX.to_f64() {
        0x7c00
    } else {
        // The exponent, but no lower than the exponent of subnormal numbers, which are multiples of 2^-24.
        let exponent = ((size.to_bits() >> 52) as i32 - 1023).max(-14);
        let multiples = (size * 2f64.powi(10 - exponent)).round_ties_even() as u16;
        // A multiple of 1024 or more has its leading bit in the exponent, one of 2048 carries into it.
        multiples + ((exponent + 14) as u16) * 1024
    };
    sign | magnitude
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The nearest of all halves, ties to the even one, by looking at each.
    fn naive_half(value: f64) -> u16 {
        if value.is_nan() {
            return 0x7e00 | if value.is_sign_negative() { 0x8000 } else { 0 };
        }
        if value.abs() > 65504.0 {
            return if value < 0.0 { 0xfc00 } else { 0x7c00 };
        }
        let sign = if value.is_sign_negative() { 0x8000u16 } else { 0 };
        let distance = |bits: u16| (f16::from_bits(bits).to_f64() - value.abs()).abs();
        let nearest = (0u16..0x7c00).min_by(|a, b| distance(*a).total_cmp(&distance(*b)).then((a % 2).cmp(&(b % 2))));
        sign | nearest.unwrap_or(0)
    }

    fn convert<const N: usize, const M: usize>(from: &Datatype, to: &Datatype, bytes: [u8; N]) -> Option<[u8; M]> {
        Conversion::between(from, to)?.convert(&bytes).ok()?.try_into().ok()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn halves_are_the_nearest(bits: u64, small in -70000.0f64..70000.0, power in -30i32..17) {
            for value in [f64::from_bits(bits), small, small * 1e-10, small * 2f64.powi(power - 17), 2f64.powi(power) * 1.5] {
                prop_assert_eq!(to_half(value), naive_half(value), "{}", value);
            }
        }
        #[test]
        fn a_value_halfway_between_two_halves_goes_to_the_even_one(bits in 0u16..0x7bff) {
            let middle = (f16::from_bits(bits).to_f64() + f16::from_bits(bits + 1).to_f64()) / 2.0;
            prop_assert_eq!(to_half(middle), bits + bits % 2);
        }
        #[test]
        fn integers_are_clamped(value: i64) {
            let (big, little) = (ByteOrder::Big, ByteOrder::Little);
            let from = Datatype::integer(8, true, big);
            let to = Datatype::integer(2, false, little);
            let wanted = u16::try_from(value).unwrap_or(if value < 0 { 0 } else { u16::MAX });
            prop_assert_eq!(convert(&from, &to, value.to_be_bytes()).map(u16::from_le_bytes), Some(wanted));
            let to = Datatype::integer(4, true, big);
            let wanted = i32::try_from(value).unwrap_or(if value < 0 { i32::MIN } else { i32::MAX });
            prop_assert_eq!(convert(&from, &to, value.to_be_bytes()).map(i32::from_be_bytes), Some(wanted));
        }
        #[test]
        fn floats_are_cut_and_clamped(bits: u64, small in -300.0f64..300.0) {
            for value in [f64::from_bits(bits), small, small * 1e8, small * 1e17, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                // As Rust casts: cut, clamped, and 0 for what is not a number.
                let from = Datatype::float(8, ByteOrder::Little);
                let to = |size, signed| Datatype::integer(size, signed, ByteOrder::Little);
                prop_assert_eq!(convert(&from, &to(1, true), value.to_le_bytes()).map(i8::from_le_bytes), Some(value as i8));
                prop_assert_eq!(convert(&from, &to(4, false), value.to_le_bytes()).map(u32::from_le_bytes), Some(value as u32));
                prop_assert_eq!(convert(&from, &to(8, true), value.to_le_bytes()).map(i64::from_le_bytes), Some(value as i64));
                prop_assert_eq!(convert(&from, &to(8, false), value.to_le_bytes()).map(u64::from_le_bytes), Some(value as u64));
            }
        }
        #[test]
        fn integers_are_rounded_once(value: u64) {
            let from = Datatype::integer(8, false, ByteOrder::Little);
            let single = convert(&from, &Datatype::float(4, ByteOrder::Little), value.to_le_bytes());
            prop_assert_eq!(single.map(f32::from_le_bytes), Some(value as f32));
            let double = convert(&from, &Datatype::float(8, ByteOrder::Big), value.to_le_bytes());
            prop_assert_eq!(double.map(f64::from_be_bytes), Some(value as f64));
        }
    }

    #[test]
    fn what_is_no_ordinary_number_is_not_converted() {
        let number = Datatype::integer(4, true, ByteOrder::Little);
        let odd = Datatype::Integer { size: 4, signed: true, order: ByteOrder::Little, bit_offset: 0, bit_precision: 24 };
        let bits = Datatype::Bitfield { size: 4, order: ByteOrder::Little };
        for other in [odd, bits, Datatype::integer(16, true, ByteOrder::Little)] {
            assert!(Conversion::between(&number, &other).is_none());
            assert!(Conversion::between(&other, &number).is_none());
        }
    }
}
