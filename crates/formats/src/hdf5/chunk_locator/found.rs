//! The chunks that a locator has found: the wanted ones in row-major order, or all stored ones.

use hyperslab_array::{Error, Result};
use hyperslab_storage::IF_DAMAGED;

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

/// What a B-tree's stored chunks are given to.
pub(super) trait Sink {
    fn layout(&self) -> &ChunkedLayout;
    /// The first and the last chunk number along the slowest dimension that are wanted.
    fn slowest(&self) -> (u64, u64);
    /// Takes the chunk with these numbers, one along each dimension, if it is wanted.
    fn add(&mut self, source: &Source, number: &[u64], address: u64, length: u64, filter_mask: u32) -> Result<()>;
}

/// Gives every stored chunk of a dataset to a function, in no order.
pub(super) struct Stored<'a> {
    pub layout: &'a ChunkedLayout,
    pub each: &'a mut dyn FnMut(StoredAt) -> Result<()>,
}

impl Sink for Stored<'_> {
    fn layout(&self) -> &ChunkedLayout {
        self.layout
    }
    fn slowest(&self) -> (u64, u64) {
        (0, u64::MAX)
    }
    fn add(&mut self, source: &Source, number: &[u64], address: u64, length: u64, filter_mask: u32) -> Result<()> {
        // Chunks beyond the dataset, as after it was made smaller, do not belong to it.
        let within = |((number, chunk), extent): ((&u64, &u64), &u64)| number.checked_mul(*chunk).is_some_and(|start| start < *extent);
        match number.iter().zip(&self.layout.chunk_shape).zip(&self.layout.shape).all(within) {
            true => (self.each)(stored_at(source, address, length, filter_mask)?),
            false => Ok(()),
        }
    }
}

impl Sink for Found<'_> {
    fn layout(&self) -> &ChunkedLayout {
        self.layout
    }
    fn slowest(&self) -> (u64, u64) {
        let wanted = self.wanted.first();
        wanted.and_then(|wanted| Some((*wanted.first()?, *wanted.last()?))).unwrap_or((0, u64::MAX))
    }
    fn add(&mut self, source: &Source, number: &[u64], address: u64, length: u64, filter_mask: u32) -> Result<()> {
        match self.slot(number) {
            Some(slot) => self.put(source, slot, address, length, filter_mask),
            None => Ok(()),
        }
    }
}

/// Where a chunk's bytes are, which must lie in the file.
fn stored_at(source: &Source, address: u64, length: u64, filter_mask: u32) -> Result<StoredAt> {
    let offset = source.absolute(address)?;
    if !offset.checked_add(length).is_some_and(|end| source.storage.reaches(end)) {
        return Err(Error::corrupt(format!(
            "a chunk of {length} bytes lies here but the file ends at byte {}: it is truncated; {IF_DAMAGED}",
            source.storage.len()
        ))
        .at_offset(offset));
    }
    if length > source.limits.chunk_bytes {
        return Err(Error::limit_exceeded(format!("a chunk of {length} bytes")).at_offset(offset));
    }
    Ok(StoredAt { offset, length, filter_mask })
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

    /// Keeps a chunk. Its bytes must lie in the file; an unfiltered one has the chunk's size.
    pub fn put(&mut self, source: &Source, slot: usize, address: u64, length: u64, filter_mask: u32) -> Result<()> {
        let stored = stored_at(source, address, length, filter_mask)?;
        let place = self.slots.get_mut(slot).ok_or_else(|| Error::internal("a chunk without a slot"))?;
        if place.replace(stored).is_some() {
            return Err(Error::corrupt("one chunk is stored twice").at_offset(stored.offset));
        }
        Ok(())
    }
}
