//! Number types that have bins.

use arrow_schema::DataType;

/// Expands `$each!(type, value => value as f64)` for the type of `$data_type`; returns `false` for a type without bins.
macro_rules! for_numbers {
    ($data_type:expr, $each:ident) => {
        match $data_type {
            DataType::Int8 => $each!(i8, v => f64::from(v)),
            DataType::Int16 => $each!(i16, v => f64::from(v)),
            DataType::Int32 => $each!(i32, v => f64::from(v)),
            DataType::Int64 => $each!(i64, v => v as f64),
            DataType::UInt8 => $each!(u8, v => f64::from(v)),
            DataType::UInt16 => $each!(u16, v => f64::from(v)),
            DataType::UInt32 => $each!(u32, v => f64::from(v)),
            DataType::UInt64 => $each!(u64, v => v as f64),
            DataType::Float32 => $each!(f32, v => f64::from(v)),
            DataType::Float64 => $each!(f64, v => v),
            _ => return false,
        }
    };
}
pub(super) use for_numbers;

/// Whether values of this type are put into bins as they are stored, without a cast.
pub(super) fn is_countable(data_type: &DataType) -> bool {
    data_type.is_integer() || matches!(data_type, DataType::Float32 | DataType::Float64)
}
