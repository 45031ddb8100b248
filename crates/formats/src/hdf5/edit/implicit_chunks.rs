//! Chunks that have no index: all of them were allocated when the dataset was created, and their numbers imply where they are.

use hyperslab_array::{Error, Result};

use super::dataset::DatasetEdit;
use crate::hdf5::chunk_locator::numbering::Numbering;
use crate::hdf5::layout::{ChunkedLayout, Layout, Locator};

impl DatasetEdit<'_> {
    /// Whether chunks have places that their index implies, so that they are overwritten where they are.
    pub fn has_fixed_chunks(&self) -> bool {
        matches!(&self.layout, Layout::Chunked(ChunkedLayout { locator: Locator::Implicit { .. }, .. }))
    }

    /// Calls `each` with the addresses of the chunks that have fixed places and lie outside of the extent `before`. What the file holds there was never
    /// written, or is left of a larger extent.
    ///
    /// # Errors
    /// `Corrupt` for places outside of the file; that of `each`.
    pub fn each_fixed_chunk_beyond(&self, before: &[u64], each: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        let Layout::Chunked(layout) = &self.layout else { return Ok(()) };
        let Locator::Implicit { address } = &layout.locator else { return Ok(()) };
        let outside = || Error::corrupt("implicit chunks outside of the file");
        let counts: Vec<u64> = layout.shape.iter().zip(&layout.chunk_shape).map(|(extent, chunk)| extent.div_ceil(*chunk)).collect();
        let total = counts.iter().try_fold(1u64, |total, count| total.checked_mul(*count)).ok_or_else(outside)?;
        let bytes = total.checked_mul(layout.chunk_bytes).ok_or_else(outside)?;
        if !self.file.space.holds(*address, bytes)? {
            return Err(outside());
        }
        let numbering = Numbering::row_major(layout)?;
        let mut origin = vec![0; counts.len()];
        for index in 0..total {
            let mut rest = index;
            for ((start, count), chunk) in origin.iter_mut().zip(&counts).zip(&layout.chunk_shape).rev() {
                *start = (rest % count).saturating_mul(*chunk);
                rest /= count;
            }
            if origin.iter().zip(before).any(|(start, extent)| start >= extent) {
                let place = numbering.number(&origin)?.checked_mul(layout.chunk_bytes).and_then(|at| at.checked_add(*address));
                each(place.ok_or_else(outside)?)?;
            }
        }
        Ok(())
    }
}
