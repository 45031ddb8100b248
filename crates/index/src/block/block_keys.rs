//! Keys: unsigned integers in the order of the values, with the same width as the values.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use hyperslab_array::Result;
use hyperslab_predicate::order_key;

use crate::block::not_indexed::not_indexed;

/// An unsigned integer that is used as a key.
pub(crate) trait Key: Copy + Ord + Default + Into<u64> + Send + Sync {
    /// Width in bytes.
    const WIDTH: usize;
    /// The key with these bits; bits beyond its width are dropped.
    fn from_u64(bits: u64) -> Self;
    /// Writes the key to `slot` in native byte order.
    fn store(self, slot: &mut [u8]);
    /// The buffer for keys of this width.
    fn of(keys: &mut KeyBuffers) -> &mut Vec<Self>;
}

macro_rules! keys {
    ($($type:ty: $buffer:ident),*) => {
        $(impl Key for $type {
            const WIDTH: usize = size_of::<$type>();
            fn from_u64(bits: u64) -> Self {
                bits as $type
            }
            fn store(self, slot: &mut [u8]) {
                if let Some(slot) = slot.first_chunk_mut() {
                    *slot = self.to_ne_bytes();
                }
            }
            fn of(keys: &mut KeyBuffers) -> &mut Vec<Self> {
                &mut keys.$buffer
            }
        })*
    };
}
keys!(u8: one, u16: two, u32: four, u64: eight);

/// One buffer of keys for each width; reused from block to block.
#[derive(Default)]
pub(crate) struct KeyBuffers {
    one: Vec<u8>,
    two: Vec<u16>,
    four: Vec<u32>,
    eight: Vec<u64>,
}

impl KeyBuffers {
    /// Fills the buffer that matches the width of the array's values with their keys and returns the width in bytes.
    /// The key of a null is arbitrary; the keys of NaN lie outside the range of the infinities.
    pub fn fill(&mut self, array: &ArrayRef) -> Result<usize> {
        fn put<T: ArrowPrimitiveType, K: Key>(keys: &mut KeyBuffers, array: &ArrayRef, key: impl Fn(T::Native) -> K) -> usize {
            let keys = K::of(keys);
            keys.clear();
            keys.extend(array.as_primitive::<T>().values().iter().map(|value| key(*value)));
            K::WIDTH
        }
        Ok(match array.data_type() {
            DataType::Boolean => {
                self.one.clear();
                self.one.extend(array.as_boolean().values().iter().map(u8::from));
                1
            }
            DataType::UInt8 => put::<UInt8Type, _>(self, array, |v| v),
            DataType::UInt16 => put::<UInt16Type, _>(self, array, |v| v),
            DataType::UInt32 => put::<UInt32Type, _>(self, array, |v| v),
            DataType::UInt64 => put::<UInt64Type, _>(self, array, |v| v),
            DataType::Int8 => put::<Int8Type, _>(self, array, order_key::signed8),
            DataType::Int16 => put::<Int16Type, _>(self, array, order_key::signed16),
            DataType::Int32 => put::<Int32Type, _>(self, array, order_key::signed32),
            DataType::Int64 => put::<Int64Type, _>(self, array, order_key::signed64),
            DataType::Timestamp(TimeUnit::Second, _) => put::<TimestampSecondType, _>(self, array, order_key::signed64),
            DataType::Timestamp(TimeUnit::Millisecond, _) => put::<TimestampMillisecondType, _>(self, array, order_key::signed64),
            DataType::Timestamp(TimeUnit::Microsecond, _) => put::<TimestampMicrosecondType, _>(self, array, order_key::signed64),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => put::<TimestampNanosecondType, _>(self, array, order_key::signed64),
            DataType::Float16 => put::<Float16Type, _>(self, array, order_key::float16),
            DataType::Float32 => put::<Float32Type, _>(self, array, order_key::float32),
            DataType::Float64 => put::<Float64Type, _>(self, array, order_key::float64),
            other => return Err(not_indexed(other)),
        })
    }
}

/// The key at `position`, which must be less than the number of keys; the caller has checked this for the whole block.
pub(crate) fn key_at<K: Key>(keys: &[K], position: u16) -> K {
    keys.get(usize::from(position)).copied().unwrap_or_default()
}
