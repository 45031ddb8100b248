//! The chunks that a locator has found, in row-major order.

use hyperslab_array::{Error, Result};

use crate::hdf5::Source;
use crate::hdf5::layout::ChunkedLayout;

/// Chunks found so far: a slot for each wanted one, in row-major order.
pub(super) struct Found<'a> {
    pub layout: &'a ChunkedLayout,
    /// The wanted chunk numbers along each dimension, increasing.
    pub wanted: Vec<Vec<u64>>,
    pub slots: Vec<Option<StoredAt>>,
}

/// Where a chunk's bytes are.
#[derive(Clone, Copy)]
pub(super) struct StoredAt {
    pub offset: u64,
    pub length: u64,
    pub filter_mask: u32,
}

impl Found<'_> {
    /// The slot of the chunk with these numbers, one along each dimension, if it is wanted.
    fn slot(&self, number: &[u64]) -> Option<usize> {
        let mut slot = 0usize;
        for (number, wanted) in number.iter().zip(&self.wanted) {
            let (first, last) = wanted.first().zip(wanted.last())?;
            let within = number.checked_sub(*first).and_then(|n| usize::try_from(n).ok())?;
            // Most often all between the first and the last are wanted.
            let along = match wanted.get(within) {
                Some(there) if there == number => within,
                _ if number > last => return None,
                _ => wanted.binary_search(number).ok()?,
            };
            slot = slot.checked_mul(wanted.len())?.checked_add(along)?;
        }
        Some(slot)
    }

    /// Keeps the chunk with these numbers, if it is wanted.
    pub fn add(&mut self, source: &Source, number: &[u64], address: u64, length: u64, filter_mask: u32) -> Result<()> {
        match self.slot(number) {
            Some(slot) => self.put(source, slot, address, length, filter_mask),
            None => Ok(()),
        }
    }

    /// Keeps a chunk. Its bytes must lie in the file; an unfiltered one has the chunk's size.
    pub fn put(&mut self, source: &Source, slot: usize, address: u64, length: u64, filter_mask: u32) -> Result<()> {
        let offset = source.absolute(address)?;
        if !offset.checked_add(length).is_some_and(|end| source.storage.reaches(end)) {
            return Err(Error::corrupt(format!("a chunk of {length} bytes lies here but the file ends at byte {}: it is truncated", source.storage.len()))
                .at_offset(offset));
        }
        if length > source.limits.chunk_bytes {
            return Err(Error::limit_exceeded(format!("a chunk of {length} bytes")).at_offset(offset));
        }
        let place = self.slots.get_mut(slot).ok_or_else(|| Error::internal("a chunk without a slot"))?;
        if place.replace(StoredAt { offset, length, filter_mask }).is_some() {
            return Err(Error::corrupt("one chunk is stored twice").at_offset(offset));
        }
        Ok(())
    }
}
