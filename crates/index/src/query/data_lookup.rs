//! Data lookup: reads the keys of single values of a block from the data file.

use std::cell::OnceCell;

use arrow_array::Array;
use hyperslab_array::{Cancellation, Error, Result};
use hyperslab_formats::{ChunkLocation, ChunkSource, StorageLayout};
use hyperslab_predicate::KeyType;
use hyperslab_reader::File;

use crate::freshness::indexed_values::IndexedValues;
use crate::store::block_directory::BlockEntry;

/// Reads keys of one block by position.
pub(crate) struct DataLookup<'a> {
    pub file: &'a File,
    pub values: &'a IndexedValues,
    pub key_type: KeyType,
    pub entry: &'a BlockEntry,
    /// The keys of all values, read at once if single values cannot be read: filtered data, or values that must be decoded.
    pub all: OnceCell<Vec<Option<u64>>>,
}

impl DataLookup<'_> {
    /// The key of the value at a position of the block, which must be a number.
    pub fn key(&self, position: u16) -> Result<u64> {
        self.number(position)?.ok_or_else(|| Error::corrupt("the index has a number where the data have none"))
    }

    /// The key of the value at a position of the block; `None` if there is no number.
    pub fn number(&self, position: u16) -> Result<Option<u64>> {
        let stored = match self.entry.stored.get() {
            Some(stored) => stored,
            None => {
                let found = self.locate()?;
                self.entry.stored.get_or_init(|| found)
            }
        };
        if let Some(chunks) = stored {
            return self.read_one(chunks, position).map(Some);
        }
        let keys = match self.all.get() {
            Some(keys) => keys,
            None => {
                let keys = self.read_all()?;
                self.all.get_or_init(|| keys)
            }
        };
        Ok(keys.get(usize::from(position)).copied().flatten())
    }

    /// The chunks of the block, if single values can be read from them.
    fn locate(&self) -> Result<Option<Vec<ChunkLocation>>> {
        let dataset = self.file.dataset(self.values.dataset)?;
        let is_plain = self.file.array_file().is_stored()
            && dataset.filters.is_empty()
            && matches!(dataset.storage, StorageLayout::Contiguous | StorageLayout::Chunked)
            && dataset.written_shape.is_none()
            && self.values.column.is_as_stored();
        if !is_plain {
            return Ok(None);
        }
        let chunks = self.file.array_file().locate(self.values.dataset, &self.entry.region.selection(dataset.dataspace.shape())?)?.chunks;
        Ok(chunks.iter().all(|chunk| matches!(chunk.source, ChunkSource::Stored { .. })).then_some(chunks))
    }

    fn read_all(&self) -> Result<Vec<Option<u64>>> {
        let dataset = self.file.dataset(self.values.dataset)?;
        let array = self.values.read(self.file, &self.entry.region, dataset.dataspace.shape(), &Cancellation::new())?;
        let keys = self.key_type.keys(&array)?;
        Ok(keys.into_iter().enumerate().map(|(row, key)| key.filter(|_| array.is_valid(row))).collect())
    }

    fn read_one(&self, chunks: &[ChunkLocation], position: u16) -> Result<u64> {
        let width = self.key_type.width();
        let region = &self.entry.region;
        // The row-major index of the element within a chunk, if the chunk contains it.
        let index_in = |chunk: &ChunkLocation| {
            let (mut rest, mut stride, mut index) = (u64::from(position), 1u64, 0u64);
            let dimensions = region.dimensions().zip(chunk.region.dimensions());
            for ((start, extent), (chunk_start, chunk_extent)) in dimensions.rev() {
                let coordinate = start + rest % extent;
                rest /= extent;
                let inside = coordinate.checked_sub(chunk_start).filter(|inside| *inside < chunk_extent)?;
                index += inside * stride;
                stride *= chunk_extent;
            }
            Some(index)
        };
        let found = chunks.iter().find_map(|chunk| match chunk.source {
            ChunkSource::Stored { offset, .. } => Some((offset, index_in(chunk)?)),
            _ => None,
        });
        let (offset, index) = found.ok_or_else(|| Error::internal("no chunk contains an element of its block"))?;
        let mut bytes = [0; 8];
        let slot = bytes.get_mut(..width).ok_or_else(|| Error::internal("a key is wider than 8 bytes"))?;
        let (stride, first) = self.values.stride();
        let place = index.checked_mul(stride).and_then(|bytes| offset.checked_add(bytes)?.checked_add(first));
        let place = place.ok_or_else(|| Error::internal("a value beyond the address space"))?;
        self.file.array_file().storage().read_exact_at(place, slot)?;
        Ok(key_of_bits(self.key_type, u64::from_le_bytes(bytes)))
    }
}

/// The key of a stored value with these bits.
fn key_of_bits(key_type: KeyType, bits: u64) -> u64 {
    let sign = 1u64 << (8 * key_type.width() - 1);
    match key_type {
        // Any value but zero is true.
        KeyType::Boolean => u64::from(bits != 0),
        KeyType::Unsigned(_) => bits,
        KeyType::Signed(_) => bits ^ sign,
        KeyType::Float(_) if bits & sign == 0 => bits | sign,
        KeyType::Float(_) => !bits & (sign | (sign - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyperslab_predicate::order_key;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn stored_bits_have_the_keys_of_their_values(a in any::<f32>(), b in any::<f64>(), c in any::<i16>(), d in any::<i64>()) {
            prop_assert_eq!(key_of_bits(KeyType::Float(4), a.to_bits().into()), u64::from(order_key::float32(a)));
            prop_assert_eq!(key_of_bits(KeyType::Float(8), b.to_bits()), order_key::float64(b));
            prop_assert_eq!(key_of_bits(KeyType::Signed(2), u64::from(c.cast_unsigned())), u64::from(order_key::signed16(c)));
            prop_assert_eq!(key_of_bits(KeyType::Signed(8), d.cast_unsigned()), order_key::signed64(d));
            for (kind, bits) in [(KeyType::Float(4), a.to_bits().into()), (KeyType::Float(8), b.to_bits()), (KeyType::Signed(8), d.cast_unsigned()), (KeyType::Unsigned(8), b.to_bits())] {
                prop_assert_eq!(kind.bits(key_of_bits(kind, bits)), bits);
            }
        }
    }
}
