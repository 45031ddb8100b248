//! Keys of a block's values, as wide as the values.

use arrow_array::{Array, ArrayRef};
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, Int8Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt16Type, UInt32Type, UInt64Type, UInt8Type};
use arrow_schema::{DataType, TimeUnit};
use hyperslab_array::{Error, Result};
use hyperslab_predicate::order_key;

/// An unsigned number that is a key.
pub(crate) trait Key: Copy + Ord + Default + Into<u64> + Send + Sync {
    /// Bytes.
    const WIDTH: usize;
    /// The key of these bits; higher ones are lost.
    fn from_u64(bits: u64) -> Self;
    /// Writes it in the machine's own form.
    fn store(self, slot: &mut [u8]);
    /// The memory for keys of this width.
    fn of(keys: &mut Keys) -> &mut Vec<Self>;
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
            fn of(keys: &mut Keys) -> &mut Vec<Self> {
                &mut keys.$buffer
            }
        })*
    };
}
keys!(u8: one, u16: two, u32: four, u64: eight);

/// Memory for keys of each width, used again from block to block.
#[derive(Default)]
pub(crate) struct Keys {
    one: Vec<u8>,
    two: Vec<u16>,
    four: Vec<u32>,
    eight: Vec<u64>,
}

impl Keys {
    /// Puts the keys of an array's values into the memory for keys of their width, which is returned; whatever is null
    /// has some key, and NaN have keys beyond those of the infinities.
    pub fn fill(&mut self, array: &ArrayRef) -> Result<usize> {
        fn put<T: ArrowPrimitiveType, K: Key>(keys: &mut Keys, array: &ArrayRef, key: impl Fn(T::Native) -> K) -> usize {
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
            other => return Err(Error::unsupported(format!("an index of {other}"))),
        })
    }
}
