//! Chunk indexes of arrays: row-major over the *maximum* extent of the dataset, so that growing does not
//! change them.

use hyperslab_array::{Error, Result};

use crate::hdf5::layout::ChunkedLayout;

/// How many chunk numbers one step along each dimension is.
pub(crate) struct Numbering {
    strides: Vec<u64>,
    /// The dimension treated as the slowest: the unlimited one of an extensible array.
    first: usize,
    chunk_shape: Vec<u64>,
}

impl Numbering {
    /// Row-major over the largest extents.
    pub fn row_major(layout: &ChunkedLayout) -> Result<Self> {
        Self::with_first(layout, 0)
    }

    /// Row-major with the unlimited dimension moved to the front.
    pub fn unlimited_first(layout: &ChunkedLayout) -> Result<Self> {
        let unlimited = layout.max_shape.iter().position(Option::is_none);
        Self::with_first(layout, unlimited.ok_or_else(|| Error::corrupt("an extensible array without an unlimited dimension"))?)
    }

    fn with_first(layout: &ChunkedLayout, first: usize) -> Result<Self> {
        let order = order(layout.shape.len(), first);
        let mut strides = vec![0; order.len()];
        let mut stride = 1u64;
        for &axis in order.iter().rev() {
            if let Some(place) = strides.get_mut(axis) {
                *place = stride;
            }
            if axis == first && first != 0 || axis == 0 && first == 0 {
                // Nothing counts more slowly; the extent of this one may be unlimited.
                break;
            }
            let extent = layout.max_shape.get(axis).copied().flatten();
            let extent = extent.ok_or_else(|| Error::corrupt("a chunk array over a second unlimited dimension"))?;
            let chunk = layout.chunk_shape.get(axis).copied().filter(|chunk| *chunk > 0);
            let chunks = extent.div_ceil(chunk.ok_or_else(|| Error::internal("a dataset and its chunks of different numbers of dimensions"))?);
            stride = stride.checked_mul(chunks).ok_or_else(|| Error::corrupt("more chunks than 64 bits can number"))?;
        }
        Ok(Self { strides, first, chunk_shape: layout.chunk_shape.clone() })
    }

    /// The number of the chunk at `origin` (element coordinates).
    pub fn number(&self, origin: &[u64]) -> Result<u64> {
        let position = origin.iter().zip(&self.chunk_shape).map(|(start, chunk)| start / chunk);
        let number = position.zip(&self.strides).try_fold(0u64, |n, (p, stride)| n.checked_add(p.checked_mul(*stride)?));
        debug_assert!(self.first < self.strides.len().max(1));
        number.ok_or_else(|| Error::corrupt("more chunks than 64 bits can number"))
    }

    /// The numbers along each dimension of the chunk with this number: the inverse of [`Self::number`]. `None` if a dimension
    /// has no chunks.
    pub fn position(&self, number: u64) -> Option<Vec<u64>> {
        let mut position = vec![0; self.strides.len()];
        let mut rest = number;
        for axis in order(self.strides.len(), self.first) {
            let stride = *self.strides.get(axis)?;
            *position.get_mut(axis)? = rest.checked_div(stride)?;
            rest = rest.checked_rem(stride)?;
        }
        Some(position)
    }
}

/// Dimensions from slowest to fastest.
fn order(ndim: usize, first: usize) -> Vec<usize> {
    std::iter::once(first).chain((0..ndim).filter(|&axis| axis != first)).take(ndim).collect()
}
