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
pub(crate) use for_numbers;

/// Whether values of this type are put into bins as they are stored, without a cast.
pub fn is_countable(data_type: &DataType) -> bool {
    data_type.is_integer() || matches!(data_type, DataType::Float32 | DataType::Float64)
}

/// Appends numbers as doubles; returns whether they are numbers.
pub fn append_doubles(data_type: &DataType, bytes: &[u8], all: &mut Vec<f64>) -> bool {
    macro_rules! extend {
        ($type:ty, $value:ident => $double:expr) => {
            all.extend(bytes.as_chunks().0.iter().map(|bytes| {
                let $value = <$type>::from_ne_bytes(*bytes);
                $double
            }))
        };
    }
    for_numbers!(data_type, extend);
    true
}
