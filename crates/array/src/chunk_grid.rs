//! Chunk grid: how a dataset's box is cut into equal chunks.

use crate::{Error, Result, Selection};

/// A box of `shape` cut into chunks of `chunk_shape`; the last chunk of a dimension may hang over.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ChunkGrid {
    shape: Vec<u64>,
    chunk_shape: Vec<u64>,
}

impl ChunkGrid {
    /// A grid; `chunk_shape` has the ndim of `shape` and no zero.
    pub fn new(shape: Vec<u64>, chunk_shape: Vec<u64>) -> Result<Self> {
        if shape.len() != chunk_shape.len() || chunk_shape.contains(&0) {
            return Err(Error::corrupt(format!(
                "a chunk shape of {chunk_shape:?} does not fit a dataset of shape {shape:?}"
            )));
        }
        Ok(Self { shape, chunk_shape })
    }
    /// Extent of the dataset.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }
    /// Extent of one chunk.
    pub fn chunk_shape(&self) -> &[u64] {
        &self.chunk_shape
    }
    /// Number of chunks along each dimension.
    pub fn chunk_counts(&self) -> Vec<u64> {
        self.shape.iter().zip(&self.chunk_shape).map(|(n, c)| n.div_ceil(*c)).collect()
    }
    /// Origins (element coordinates) of the chunks that `selection` touches, row-major.
    pub fn touched(&self, selection: &Selection) -> Vec<Vec<u64>> {
        // Nothing of one dimension may be asked for, and of the others more than can be listed.
        if selection.is_empty() {
            return Vec::new();
        }
        let per_axis: Vec<Vec<u64>> = selection
            .axes()
            .iter()
            .zip(&self.chunk_shape)
            .map(|(axis, &chunk)| axis.touched_chunks(chunk).into_iter().map(|c| c * chunk).collect())
            .collect();
        let mut origins = vec![Vec::with_capacity(per_axis.len())];
        for starts in &per_axis {
            origins = origins
                .iter()
                .flat_map(|prefix: &Vec<u64>| {
                    starts.iter().map(move |&start| {
                        let mut origin = prefix.clone();
                        origin.push(start);
                        origin
                    })
                })
                .collect();
        }
        origins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_that_is_empty_along_one_dimension_touches_nothing_however_long_it_is() {
        let shape = vec![1 << 40, 1 << 40, 0];
        let grid = ChunkGrid::new(shape.clone(), vec![1; 3]);
        assert!(grid.is_ok_and(|grid| grid.touched(&Selection::all(&shape)).is_empty()));
    }
}
