//! Numbers: integers of any width to 64 bits, IEEE floats, and custom floats that fit exactly.

use std::sync::Arc;

use arrow_array::types::*;
use arrow_array::{ArrayRef, PrimitiveArray};
use arrow_schema::DataType;
use hyperslab_array::{ByteOrder, Datatype, Error, FloatFormat, FloatLayout, Result, TimeEncoding};

use crate::types::arrow_type;

macro_rules! plain {
    ($native:ty, $arrow:ty, $bytes:expr, $order:expr) => {{
        let (chunks, _) = $bytes.as_chunks::<{ size_of::<$native>() }>();
        let values: Vec<$native> = match $order {
            ByteOrder::Little => chunks.iter().map(|c| <$native>::from_le_bytes(*c)).collect(),
            ByteOrder::Big => chunks.iter().map(|c| <$native>::from_be_bytes(*c)).collect(),
        };
        Ok(Arc::new(PrimitiveArray::<$arrow>::new(values.into(), None)) as ArrayRef)
    }};
}

macro_rules! odd {
    ($native:ty, $arrow:ty, $datatype:expr, $bytes:expr, $size:expr) => {{
        let values = $bytes
            .chunks_exact($size)
            .map(|e| <$native>::try_from(integer_value($datatype, e)?).map_err(|_| Error::internal("an integer outgrew its type")))
            .collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(PrimitiveArray::<$arrow>::new(values.into(), None)) as ArrayRef)
    }};
}

pub(super) fn convert(datatype: &Datatype, bytes: &[u8], size: usize) -> Result<ArrayRef> {
    let to = arrow_type(datatype)?;
    let (order, ordinary) = match datatype {
        Datatype::Integer { order, bit_offset, bit_precision, .. } => (*order, *bit_offset == 0 && usize::from(*bit_precision) == size * 8),
        Datatype::Bitfield { order, .. } => (*order, true),
        Datatype::Float { order, format, .. } => (*order, *format == FloatFormat::Ieee),
        _ => return Err(Error::internal("not a number")),
    };
    if let Datatype::Float { format, .. } = datatype
        && !ordinary
    {
        let values = bytes.chunks_exact(size).map(|e| custom(raw(e, order)?, format)).collect::<Result<Vec<f64>>>()?;
        return Ok(match to {
            DataType::Float32 => {
                let narrow: Vec<f32> = values.iter().map(|v| *v as f32).collect();
                Arc::new(PrimitiveArray::<Float32Type>::new(narrow.into(), None))
            }
            _ => Arc::new(PrimitiveArray::<Float64Type>::new(values.into(), None)),
        });
    }
    if ordinary && to.primitive_width() == Some(size) {
        return match to {
            DataType::Int8 => plain!(i8, Int8Type, bytes, order),
            DataType::Int16 => plain!(i16, Int16Type, bytes, order),
            DataType::Int32 => plain!(i32, Int32Type, bytes, order),
            DataType::Int64 => plain!(i64, Int64Type, bytes, order),
            DataType::UInt8 => plain!(u8, UInt8Type, bytes, order),
            DataType::UInt16 => plain!(u16, UInt16Type, bytes, order),
            DataType::UInt32 => plain!(u32, UInt32Type, bytes, order),
            DataType::UInt64 => plain!(u64, UInt64Type, bytes, order),
            DataType::Float16 => plain!(half::f16, Float16Type, bytes, order),
            DataType::Float32 => plain!(f32, Float32Type, bytes, order),
            DataType::Float64 => plain!(f64, Float64Type, bytes, order),
            other => Err(Error::internal(format!("{other} is not a number"))),
        };
    }
    match to {
        DataType::Int8 => odd!(i8, Int8Type, datatype, bytes, size),
        DataType::Int16 => odd!(i16, Int16Type, datatype, bytes, size),
        DataType::Int32 => odd!(i32, Int32Type, datatype, bytes, size),
        DataType::Int64 => odd!(i64, Int64Type, datatype, bytes, size),
        DataType::UInt8 => odd!(u8, UInt8Type, datatype, bytes, size),
        DataType::UInt16 => odd!(u16, UInt16Type, datatype, bytes, size),
        DataType::UInt32 => odd!(u32, UInt32Type, datatype, bytes, size),
        DataType::UInt64 => odd!(u64, UInt64Type, datatype, bytes, size),
        other => Err(Error::internal(format!("{other} is not an integer"))),
    }
}

/// Times: integers as stored, or seconds.
pub(super) fn times(size: u64, order: ByteOrder, encoding: TimeEncoding, bytes: &[u8]) -> Result<ArrayRef> {
    match (encoding, size) {
        (TimeEncoding::Stored, 4) => plain!(i32, Int32Type, bytes, order),
        (TimeEncoding::Stored, 8) => plain!(i64, Int64Type, bytes, order),
        (TimeEncoding::SecondsAndMicroseconds, 8) => {
            let (chunks, _) = bytes.as_chunks::<8>();
            let seconds = |chunk: &[u8; 8]| {
                let stored = match order {
                    ByteOrder::Little => i64::from_le_bytes(*chunk),
                    ByteOrder::Big => i64::from_be_bytes(*chunk),
                };
                // In this order PyTables computes, too, so that values are the same to the bit.
                1e-6 * f64::from(stored as i32) + (stored >> 32) as f64
            };
            Ok(Arc::new(PrimitiveArray::<Float64Type>::new(chunks.iter().map(seconds).collect::<Vec<f64>>().into(), None)))
        }
        (_, size) => Err(Error::internal(format!("a time of {size} bytes"))),
    }
}

fn raw(element: &[u8], order: ByteOrder) -> Result<u128> {
    if element.len() > 16 {
        return Err(Error::unsupported(format!("a number of {} bytes", element.len())));
    }
    let add = |n: u128, b: &u8| (n << 8) | u128::from(*b);
    Ok(match order {
        ByteOrder::Little => element.iter().rev().fold(0, add),
        ByteOrder::Big => element.iter().fold(0, add),
    })
}

fn bits(raw: u128, from: u32, count: u32) -> u128 {
    let mask = 1u128.checked_shl(count).map_or(u128::MAX, |top| top - 1);
    raw.checked_shr(from).unwrap_or(0) & mask
}

/// One integer element's value: bits outside of the precision ignored, sign extended.
pub(super) fn integer_value(datatype: &Datatype, element: &[u8]) -> Result<i128> {
    let (order, signed, offset, precision) = match datatype {
        Datatype::Integer { order, signed, bit_offset, bit_precision, .. } => (*order, *signed, *bit_offset, *bit_precision),
        Datatype::Bitfield { order, size } => (*order, false, 0, u16::try_from(size.saturating_mul(8)).unwrap_or(u16::MAX)),
        _ => return Err(Error::corrupt("an enum over something that is not an integer")),
    };
    if precision == 0 || precision > 64 {
        return Err(Error::unsupported(format!("an integer of {precision} bits")));
    }
    let value = bits(raw(element, order)?, u32::from(offset), u32::from(precision)).cast_signed();
    let negative = signed && (value >> (precision - 1)) & 1 == 1;
    Ok(if negative { value - (1i128 << precision) } else { value })
}

/// The value of a custom float that `arrow_type` found to be exact in a double.
fn custom(raw: u128, format: &FloatFormat) -> Result<f64> {
    let FloatFormat::Custom(FloatLayout { sign_location, exponent_location, exponent_size, mantissa_location, mantissa_size, exponent_bias, .. }) = *format
    else {
        return Err(Error::internal("an IEEE float is not a custom one"));
    };
    let exponent = bits(raw, exponent_location.into(), exponent_size.into()) as i64;
    let fraction = bits(raw, mantissa_location.into(), mantissa_size.into());
    let all_ones = (1i64 << exponent_size) - 1;
    let size = if exponent == all_ones {
        if fraction == 0 { f64::INFINITY } else { f64::NAN }
    } else {
        let implied = if exponent == 0 { 0 } else { 1u128 << mantissa_size };
        let power = exponent.max(1) - i64::from(exponent_bias) - i64::from(mantissa_size);
        (fraction | implied) as f64 * power_of_two(power)
    };
    Ok(if bits(raw, sign_location.into(), 1) == 1 { -size } else { size })
}

fn power_of_two(power: i64) -> f64 {
    match power {
        -1022..=1023 => f64::from_bits(((power + 1023) as u64) << 52),
        -1074..=-1023 => f64::from_bits(1 << (power + 1074)),
        _ => f64::NAN,
    }
}
