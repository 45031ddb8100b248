//! Datasets whose chunk shape is chosen once their size is known.
//!
//! Chunks are stored whole, so a large chunk would waste space for a small dataset. Values stay in memory until there are
//! enough of them, or until the file is finished.

use hyperslab_array::{Error, Result};

use super::touched_chunks::filled_with_fill_value;
use crate::file::definition::DatasetDefinition;
use crate::file::memory_length::memory_length;
use crate::file::regions::region::{Region, copy};

/// Bytes of values above which the chunk shape is chosen.
const MAX_WAITING_BYTES: u64 = 2 << 20;
/// Maximum bytes of a chosen chunk.
const CHUNK_BYTES: u64 = 512 << 10;
/// Minimum bytes of a chunk of a small dataset, because other programs may append to it.
const MIN_CHUNK_BYTES: u64 = 1 << 10;
/// Bytes of a chunk of an empty dataset. No chunk is stored yet.
const EMPTY_CHUNK_BYTES: u64 = 4 << 10;

/// Values of a dataset without a chunk shape.
#[derive(Debug, Default)]
pub(crate) struct GrowingValues {
    /// Shape of the array in `bytes`.
    shape: Vec<u64>,
    bytes: Vec<u8>,
}

impl GrowingValues {
    /// Whether a dataset of this shape is small enough to stay in memory.
    pub fn can_hold(shape: &[u64], element_bytes: u64) -> bool {
        shape.iter().try_fold(element_bytes, |n, extent| n.checked_mul(*extent)).is_some_and(|bytes| bytes <= MAX_WAITING_BYTES)
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Writes the elements of `region`. The dataset must satisfy [`GrowingValues::can_hold`].
    pub fn write(&mut self, region: &Region, bytes: &[u8], definition: &DatasetDefinition) -> Result<()> {
        self.extend(definition)?;
        let zeros = vec![0; self.shape.len()];
        whole(copy(&region.count, memory_length(definition.datatype.size())?, (bytes, &region.count, &zeros), (&mut self.bytes, &self.shape, &region.start)))
    }

    /// Reads the elements of `region` into `out`; leaves elements beyond the array unchanged.
    pub fn read(&self, region: &Region, definition: &DatasetDefinition, out: &mut [u8]) -> Result<()> {
        let all = Region { start: vec![0; region.start.len()], count: self.shape.clone() };
        let Some(known) = region.shared(&all).filter(|_| !self.is_empty()) else { return Ok(()) };
        let within = known.start_from(&region.start)?;
        whole(copy(&known.count, memory_length(definition.datatype.size())?, (&self.bytes, &self.shape, &known.start), (out, &region.count, &within)))
    }

    /// Extends the array to the current shape of the dataset.
    fn extend(&mut self, definition: &DatasetDefinition) -> Result<()> {
        let shape = definition.dataspace.shape();
        if self.shape == shape {
            return Ok(());
        }
        let length = shape.iter().fold(definition.datatype.size(), |n, extent| n.saturating_mul(*extent));
        if !self.is_empty() && self.shape.get(1..) == shape.get(1..) {
            // Only rows are added: append them.
            let more = filled_with_fill_value(length.saturating_sub(self.bytes.len() as u64), definition)?;
            self.bytes.extend_from_slice(&more);
            self.shape = shape.to_vec();
            return Ok(());
        }
        let mut bytes = filled_with_fill_value(length, definition)?;
        if !self.is_empty() {
            let zeros = vec![0; shape.len()];
            whole(copy(&self.shape, memory_length(definition.datatype.size())?, (&self.bytes, &self.shape, &zeros), (&mut bytes, shape, &zeros)))?;
        }
        (self.shape, self.bytes) = (shape.to_vec(), bytes);
        Ok(())
    }

    /// Drops elements outside of the dataset's shape.
    pub fn cut(&mut self, definition: &DatasetDefinition) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let shape: Vec<u64> = definition.dataspace.shape().iter().zip(&self.shape).map(|(extent, known)| *extent.min(known)).collect();
        let mut bytes = filled_with_fill_value(shape.iter().fold(definition.datatype.size(), |n, extent| n.saturating_mul(*extent)), definition)?;
        let zeros = vec![0; shape.len()];
        whole(copy(&shape, memory_length(definition.datatype.size())?, (&self.bytes, &self.shape, &zeros), (&mut bytes, &shape, &zeros)))?;
        (self.shape, self.bytes) = (shape, bytes);
        Ok(())
    }
}

fn whole(copied: bool) -> Result<()> {
    if copied { Ok(()) } else { Err(Error::internal("elements outside of a growing dataset")) }
}

/// Chooses the chunk shape of a dataset of this shape that may grow. A dataset of up to `CHUNK_BYTES` is one chunk. Larger
/// ones have chunks of as many whole rows as fit; a row is one step along the growing dimensions.
pub(crate) fn chunk_shape(shape: &[u64], max_shape: &[Option<u64>], element_bytes: u64) -> Vec<u64> {
    let bytes = |chunk: &[u64]| chunk.iter().fold(element_bytes.max(1), |n, extent| n.saturating_mul(*extent));
    let grows = |axis: usize| max_shape.get(axis) != shape.get(axis).map(|extent| Some(*extent)).as_ref();
    let room = |axis: usize| max_shape.get(axis).copied().flatten().unwrap_or(u64::MAX).max(1);
    let mut chunk: Vec<u64> = shape.iter().map(|extent| (*extent).max(1)).collect();
    if bytes(&chunk) > CHUNK_BYTES {
        for axis in (0..chunk.len()).filter(|axis| grows(*axis)) {
            chunk[axis] = 1;
        }
        while bytes(&chunk) > CHUNK_BYTES {
            let Some(largest) = chunk.iter_mut().max().filter(|extent| **extent > 1) else { break };
            *largest = largest.div_ceil(2);
        }
    }
    let (aim, within) = match (bytes(&chunk), shape.contains(&0)) {
        (_, true) => (EMPTY_CHUNK_BYTES, false),
        (now, false) if now < MIN_CHUNK_BYTES && shape.iter().zip(&chunk).all(|(extent, chunk)| extent <= chunk) => (MIN_CHUNK_BYTES, false),
        _ => (CHUNK_BYTES, true),
    };
    // Extend the growing axes in turns.
    loop {
        let mut longer = false;
        for axis in (0..chunk.len()).filter(|axis| grows(*axis)) {
            let limit = if within { shape.get(axis).copied().unwrap_or(1).max(1) } else { room(axis) };
            let mut next = chunk.clone();
            next[axis] = chunk[axis].saturating_mul(2).min(limit);
            if next[axis] > chunk[axis] && bytes(&next) <= aim {
                chunk = next;
                longer = true;
            }
        }
        if !longer {
            break;
        }
    }
    // If the last chunk would reach far beyond the values, divide the axis evenly instead.
    for (axis, (extent, length)) in shape.iter().zip(&mut chunk).enumerate() {
        let count = extent.div_ceil(*length).max(1);
        if within && grows(axis) && count.saturating_mul(*length) > extent.saturating_add(extent / 8) {
            *length = extent.div_ceil(count).max(1);
        }
    }
    chunk
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(shape: &[u64], max_shape: &[Option<u64>], size: u64) -> Vec<u64> {
        let chunk = chunk_shape(shape, max_shape, size);
        assert!(chunk.iter().all(|extent| *extent > 0), "{chunk:?}");
        chunk
    }

    #[test]
    fn chunks_fit_what_there_is() {
        assert_eq!(chosen(&[5], &[None], 8), [80]);
        assert_eq!(chosen(&[100_000], &[None], 4), [100_000]);
        assert_eq!(chosen(&[1_000_000], &[None], 8), [65_536]);
        assert_eq!(chosen(&[10], &[Some(20)], 8), [20]);
        assert_eq!(chosen(&[3, 4], &[None, Some(4)], 4), [48, 4]);
        assert_eq!(chosen(&[100, 180, 360], &[None, Some(180), Some(360)], 4), [2, 180, 360]);
        assert_eq!(chosen(&[100, 1000, 1000], &[None, Some(1000), Some(1000)], 8), [1, 250, 250]);
        assert_eq!(chosen(&[600, 900], &[None, None], 8), [200, 225]);
        assert_eq!(chosen(&[513, 513], &[None, None], 8), [171, 171]);
        assert_eq!(chosen(&[0], &[None], 8), [512]);
        assert_eq!(chosen(&[0, 180, 360], &[None, Some(180), Some(360)], 4), [1, 180, 360]);
        assert_eq!(chosen(&[5], &[None], 1 << 30), [1]);
    }

    #[test]
    fn chunks_of_any_dataset_take_little_more_than_its_values() {
        for rows in [1u64, 2, 7, 63, 64, 65, 1000, 4097, 65_537, 300_000] {
            for columns in [1u64, 2, 3, 17, 1000] {
                for growing in [[None, Some(columns)], [Some(rows), None], [None, None]] {
                    let chunk = chosen(&[rows, columns], &growing, 8);
                    let stored = rows.div_ceil(chunk[0]) * chunk[0] * columns.div_ceil(chunk[1]) * chunk[1] * 8;
                    assert!(stored <= (rows * columns * 8 * 8 / 5).max(MIN_CHUNK_BYTES), "{rows} x {columns} in {chunk:?}: {stored}");
                    assert!(chunk[0] * chunk[1] * 8 <= CHUNK_BYTES, "{rows} x {columns} in {chunk:?}");
                }
            }
        }
    }
}
