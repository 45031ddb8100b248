//! Data: the keys of single values of a block, from the file itself.

use std::cell::OnceCell;

use hyperslab_array::{Cancellation, Error, Result};
use hyperslab_formats::{ChunkLocation, ChunkSource, StorageLayout};
use hyperslab_predicate::KeyType;

use crate::build::block_grid::BlockBox;
use super::block_directory::Entry;
use super::column::{IndexedColumn, is_valid};

/// The values of a block as they are looked up one by one.
pub(crate) struct Data<'a> {
    column: &'a IndexedColumn,
    entry: &'a Entry,
    place: &'a BlockBox,
    /// All values: of filtered data, or such that are shown otherwise than stored.
    read: OnceCell<Vec<Option<u64>>>,
}

impl<'a> Data<'a> {
    pub fn new(column: &'a IndexedColumn, entry: &'a Entry) -> Self {
        Self { column, entry, place: &entry.place, read: OnceCell::new() }
    }

    /// The key of the value at a position of the block, which must be a number.
    pub fn key(&self, position: u16) -> Result<u64> {
        let stored = match self.entry.stored.get() {
            Some(stored) => stored,
            None => {
                let found = self.locate()?;
                self.entry.stored.get_or_init(|| found)
            }
        };
        if let Some(chunks) = stored {
            return self.stored(chunks, position);
        }
        let keys = match self.read.get() {
            Some(keys) => keys,
            None => {
                let keys = self.read_all()?;
                self.read.get_or_init(|| keys)
            }
        };
        keys.get(usize::from(position)).copied().flatten().ok_or_else(stale)
    }

    /// Where single values can be read; `None` where they cannot.
    fn locate(&self) -> Result<Option<Vec<ChunkLocation>>> {
        let (file, id) = (&self.column.file, self.column.dataset);
        let dataset = file.dataset(id)?;
        let plain = !file.is_foreign()
            && dataset.filters.is_empty()
            && matches!(dataset.storage, StorageLayout::Contiguous | StorageLayout::Chunked)
            && dataset.written_shape.is_none()
            && self.column.column.is_as_stored();
        if !plain {
            return Ok(None);
        }
        let chunks = file.array_file().locate(id, &self.place.selection(dataset.dataspace.shape())?)?.chunks;
        Ok(chunks.iter().all(|chunk| matches!(chunk.source, ChunkSource::Stored { .. })).then_some(chunks))
    }

    fn read_all(&self) -> Result<Vec<Option<u64>>> {
        let (file, id) = (&self.column.file, self.column.dataset);
        let selection = self.place.selection(file.dataset(id)?.dataspace.shape())?;
        let elements = file.read(id, &selection, &Cancellation::new())?;
        let array = self.column.column.to_arrow(&elements.bytes, &elements.heap)?;
        let key_type = self.column.key_type.ok_or_else(|| Error::internal("keys of text"))?;
        let keys = key_type.keys(&array)?;
        Ok(keys.into_iter().enumerate().map(|(row, key)| key.filter(|_| is_valid(&array, row))).collect())
    }

    fn stored(&self, chunks: &[ChunkLocation], position: u16) -> Result<u64> {
        let key_type = self.column.key_type.ok_or_else(|| Error::internal("keys of text"))?;
        let width = key_type.width();
        // The element's number within a chunk, if it is in there.
        let within = |chunk: &ChunkLocation| {
            let (mut rest, mut stride, mut number) = (u64::from(position), 1u64, 0u64);
            let dimensions = self.place.origin.iter().zip(&self.place.shape).zip(chunk.origin.iter().zip(&chunk.shape));
            for ((start, extent), (chunk_start, chunk_extent)) in dimensions.rev() {
                let index = start + rest % extent;
                rest /= extent;
                let inside = index.checked_sub(*chunk_start).filter(|inside| inside < chunk_extent)?;
                number += inside * stride;
                stride *= chunk_extent;
            }
            Some(number)
        };
        let found = chunks.iter().find_map(|chunk| match chunk.source {
            ChunkSource::Stored { offset, .. } => Some((offset, within(chunk)?)),
            _ => None,
        });
        let (offset, number) = found.ok_or_else(|| Error::internal("a value in no chunk"))?;
        let mut bytes = [0; 8];
        let slot = bytes.get_mut(..width).ok_or_else(|| Error::internal("width of a key"))?;
        self.column.file.array_file().storage().read_exact_at(offset + number * width as u64, slot)?;
        Ok(key_of_bits(key_type, u64::from_le_bytes(bytes)))
    }
}

fn stale() -> Error {
    Error::corrupt("the index has a number where the data has none")
}

/// The key of a stored value.
fn key_of_bits(key_type: KeyType, bits: u64) -> u64 {
    let sign = 1u64 << (8 * key_type.width() - 1);
    match key_type {
        // Whatever is not zero is true.
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
