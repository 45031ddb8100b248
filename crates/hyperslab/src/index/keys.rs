//! Keys of a block's values, as wide as the values.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use hyperslab_array::{Error, Result};

use crate::scan::pruner::key;

/// An unsigned number that is a key.
pub(super) trait Key: Copy + Ord + Default + Into<u64> + Send + Sync {
    /// Bytes.
    const WIDTH: usize;
    /// The key of these bits; higher ones are lost.
    fn from_u64(bits: u64) -> Self;
    /// The buffer for keys of this width.
    fn of(buffers: &mut Buffers) -> &mut Vec<Self>;
}

/// Memory for keys of each width, used again from block to block.
#[derive(Default)]
pub(super) struct Buffers {
    one: Vec<u8>,
    two: Vec<u16>,
    four: Vec<u32>,
    eight: Vec<u64>,
}

macro_rules! keys {
    ($($type:ty: $buffer:ident),*) => {
        $(impl Key for $type {
            const WIDTH: usize = size_of::<$type>();
            fn from_u64(bits: u64) -> Self {
                bits as $type
            }
            fn of(buffers: &mut Buffers) -> &mut Vec<Self> {
                &mut buffers.$buffer
            }
        })*
    };
}
keys!(u8: one, u16: two, u32: four, u64: eight);

/// Keys of any width.
pub(super) enum Keys {
    /// Of one byte.
    One(Vec<u8>),
    /// Of two.
    Two(Vec<u16>),
    /// Of four.
    Four(Vec<u32>),
    /// Of eight.
    Eight(Vec<u64>),
}

fn of<T: ArrowPrimitiveType, K>(array: &ArrayRef, key: impl Fn(T::Native) -> K) -> Vec<K> {
    array.as_primitive::<T>().values().iter().map(|value| key(*value)).collect()
}

impl Keys {
    /// Of an array's values, whatever is null; NaN have keys beyond those of the infinities.
    pub fn of(array: &ArrayRef) -> Result<Self> {
        Ok(match array.data_type() {
            DataType::Boolean => Self::One(array.as_boolean().values().iter().map(u8::from).collect()),
            DataType::UInt8 => Self::One(of::<UInt8Type, _>(array, |v| v)),
            DataType::UInt16 => Self::Two(of::<UInt16Type, _>(array, |v| v)),
            DataType::UInt32 => Self::Four(of::<UInt32Type, _>(array, |v| v)),
            DataType::UInt64 => Self::Eight(of::<UInt64Type, _>(array, |v| v)),
            DataType::Int8 => Self::One(of::<Int8Type, _>(array, key::signed8)),
            DataType::Int16 => Self::Two(of::<Int16Type, _>(array, key::signed16)),
            DataType::Int32 => Self::Four(of::<Int32Type, _>(array, key::signed32)),
            DataType::Int64 => Self::Eight(of::<Int64Type, _>(array, key::signed64)),
            DataType::Timestamp(TimeUnit::Second, _) => Self::Eight(of::<TimestampSecondType, _>(array, key::signed64)),
            DataType::Timestamp(TimeUnit::Millisecond, _) => Self::Eight(of::<TimestampMillisecondType, _>(array, key::signed64)),
            DataType::Timestamp(TimeUnit::Microsecond, _) => Self::Eight(of::<TimestampMicrosecondType, _>(array, key::signed64)),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => Self::Eight(of::<TimestampNanosecondType, _>(array, key::signed64)),
            DataType::Float16 => Self::Two(of::<Float16Type, _>(array, key::float16)),
            DataType::Float32 => Self::Four(of::<Float32Type, _>(array, key::float32)),
            DataType::Float64 => Self::Eight(of::<Float64Type, _>(array, key::float64)),
            other => return Err(Error::unsupported(format!("an index of {other}"))),
        })
    }
}
