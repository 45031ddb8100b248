//! Chunk grid: how a dataset's box is divided into equal chunks.

use crate::{Error, Result, Selection};

/// Most origins for which memory is reserved in advance.
const MAX_RESERVED: usize = 1 << 20;

/// A box of `shape` divided into chunks of `chunk_shape`; the last chunk of a dimension may extend beyond the box.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ChunkGrid {
    shape: Vec<u64>,
    chunk_shape: Vec<u64>,
}

impl ChunkGrid {
    /// A grid; `chunk_shape` has the ndim of `shape` and no zero.
    pub fn new(shape: Vec<u64>, chunk_shape: Vec<u64>) -> Result<Self> {
        if shape.len() != chunk_shape.len() || chunk_shape.contains(&0) {
            return Err(Error::corrupt(format!("a chunk shape of {chunk_shape:?} does not fit a dataset of shape {shape:?}")));
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
        // An empty selection may have too many indexes to list in its other dimensions.
        if selection.is_empty() {
            return Vec::new();
        }
        // One chunk, as most small datasets have.
        if self.shape.iter().zip(&self.chunk_shape).all(|(extent, chunk)| extent <= chunk) {
            return vec![vec![0; self.shape.len()]];
        }
        let per_axis: Vec<Vec<u64>> =
            selection.axes().iter().zip(&self.chunk_shape).map(|(axis, &chunk)| axis.touched_chunks(chunk).into_iter().map(|c| c * chunk).collect()).collect();
        let total = per_axis.iter().fold(1usize, |total, starts| total.saturating_mul(starts.len()));
        let mut origins = Vec::with_capacity(total.min(MAX_RESERVED));
        // The index of the current start of each axis; the last axis varies fastest.
        let mut at = vec![0usize; per_axis.len()];
        for _ in 0..total {
            origins.push(per_axis.iter().zip(&at).map(|(starts, &at)| starts.get(at).copied().unwrap_or(0)).collect());
            for (at, starts) in at.iter_mut().zip(&per_axis).rev() {
                *at += 1;
                if *at < starts.len() {
                    break;
                }
                *at = 0;
            }
        }
        origins
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Axis;
    use proptest::prelude::*;

    #[test]
    fn a_box_that_is_empty_along_one_dimension_touches_nothing_however_long_it_is() {
        let shape = vec![1 << 40, 1 << 40, 0];
        let grid = ChunkGrid::new(shape.clone(), vec![1; 3]);
        assert!(grid.is_ok_and(|grid| grid.touched(&Selection::all(&shape)).is_empty()));
    }

    fn dimension() -> impl Strategy<Value = (u64, u64, Axis)> {
        (0u64..12, 1u64..6, 0u64..12, 0u64..6, 1u64..5).prop_map(|(extent, chunk, start, count, step)| {
            let fits = (0..count).take_while(|position| start + position * step < extent).count() as u64;
            (extent, chunk, Axis::Range { start, count: fits, step })
        })
    }

    proptest! {
        #[test]
        fn touched_chunks_are_those_of_every_selected_element(dimensions in proptest::collection::vec(dimension(), 0..4)) {
            let shape: Vec<u64> = dimensions.iter().map(|d| d.0).collect();
            let grid = ChunkGrid::new(shape.clone(), dimensions.iter().map(|d| d.1).collect());
            let grid = grid.map_err(|e| TestCaseError::fail(e.to_string()))?;
            let selection = Selection::new(dimensions.iter().map(|d| d.2.clone()).collect(), &shape);
            let selection = selection.map_err(|e| TestCaseError::fail(e.to_string()))?;
            let mut naive = vec![Vec::new()];
            for (_, chunk, axis) in &dimensions {
                let starts: std::collections::BTreeSet<u64> =
                    (0..axis.count()).filter_map(|position| axis.index(position)).map(|index| index / chunk * chunk).collect();
                naive = naive.iter().flat_map(|prefix| starts.iter().map(|start| [prefix.as_slice(), &[*start]].concat())).collect();
            }
            prop_assert_eq!(grid.touched(&selection), naive);
        }
    }
}
