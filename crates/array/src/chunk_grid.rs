//! Chunk grid: how a dataset's box is divided into equal chunks.

use crate::{Axis, Error, Region, Result, Selection};

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
    ///
    /// # Errors
    /// `Corrupt` if `chunk_shape` has another ndim than `shape`, or a zero.
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
    /// Extent of the dataset and of one chunk along each dimension.
    pub fn dimensions(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + ExactSizeIterator + Clone {
        self.shape.iter().copied().zip(self.chunk_shape.iter().copied())
    }
    /// Number of chunks along each dimension.
    pub fn chunk_counts(&self) -> Vec<u64> {
        self.dimensions().map(|(extent, chunk)| extent.div_ceil(chunk)).collect()
    }
    /// The row-major number of the chunk at `origin` (element coordinates); `None` beyond 64 bits.
    pub fn number(&self, origin: &[u64]) -> Option<u64> {
        origin
            .iter()
            .zip(self.dimensions())
            .try_fold(0u64, |number, (start, (extent, chunk))| number.checked_mul(extent.div_ceil(chunk))?.checked_add(start / chunk))
    }
    /// The chunk at `origin` (element coordinates), without what lies beyond the box.
    ///
    /// # Errors
    /// `Internal` if `origin` is outside of the box, or has another ndim.
    pub fn clipped(&self, origin: Vec<u64>) -> Result<Region> {
        let outside = || Error::internal(format!("a chunk at {origin:?} of a dataset of shape {:?}", self.shape));
        if origin.len() != self.shape.len() {
            return Err(outside());
        }
        let mut count = Vec::with_capacity(origin.len());
        for (start, (extent, chunk)) in origin.iter().zip(self.dimensions()) {
            count.push(extent.checked_sub(*start).ok_or_else(outside)?.min(chunk));
        }
        Ok(Region { start: origin, count })
    }
    /// Upper bound of the number of chunks that `selection` touches, without listing them; exact if no axis has gaps.
    pub fn max_touched(&self, selection: &Selection) -> u64 {
        let counts = selection.axes().iter().zip(&self.chunk_shape).map(|(axis, chunk)| axis.max_touched_chunks(*chunk));
        counts.fold(1, u64::saturating_mul)
    }
    /// Origins (element coordinates) of the chunks that `selection` touches, row-major.
    ///
    /// # Errors
    /// `Internal` if the selection has another ndim than the grid.
    pub fn touched(&self, selection: &Selection) -> Result<Vec<Vec<u64>>> {
        if selection.axes().len() != self.shape.len() {
            return Err(Error::internal(format!("a selection of {} dimensions in a grid of {}", selection.axes().len(), self.shape.len())));
        }
        // An empty selection may have too many indexes to list in its other dimensions.
        if selection.is_empty() {
            return Ok(Vec::new());
        }
        // One chunk, as most small datasets have.
        if self.dimensions().all(|(extent, chunk)| extent <= chunk) {
            return Ok(vec![vec![0; self.shape.len()]]);
        }
        let touched = |(axis, chunk): (&Axis, &u64)| -> Vec<u64> { axis.touched_chunks(*chunk).into_iter().map(|index| index * chunk).collect() };
        let per_axis: Vec<Vec<u64>> = selection.axes().iter().zip(&self.chunk_shape).map(touched).collect();
        let total = per_axis.iter().fold(1usize, |total, starts| total.saturating_mul(starts.len()));
        let mut origins = Vec::with_capacity(total.min(MAX_RESERVED));
        // The starts of each axis from the current one on; the last axis varies fastest.
        let mut left: Vec<&[u64]> = per_axis.iter().map(Vec::as_slice).collect();
        for _ in 0..total {
            let mut origin = Vec::with_capacity(left.len());
            origin.extend(left.iter().filter_map(|starts| starts.first()));
            origins.push(origin);
            for (left, starts) in left.iter_mut().zip(&per_axis).rev() {
                match left {
                    [_, rest @ ..] if !rest.is_empty() => {
                        *left = rest;
                        break;
                    }
                    _ => *left = starts,
                }
            }
        }
        Ok(origins)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_box_that_is_empty_along_one_dimension_touches_nothing_however_long_it_is() {
        let shape = vec![1 << 40, 1 << 40, 0];
        let grid = ChunkGrid::new(shape.clone(), vec![1; 3]);
        assert_eq!(grid.and_then(|grid| grid.touched(&Selection::all(&shape))).unwrap_or(vec![vec![0]]), Vec::<Vec<u64>>::new());
    }

    #[test]
    fn another_number_of_dimensions_is_an_internal_error() -> Result<()> {
        let grid = ChunkGrid::new(vec![4, 4], vec![2, 2])?;
        let is_internal = |error: Option<Error>| error.is_some_and(|error| error.kind() == crate::ErrorKind::Internal);
        assert!(is_internal(grid.touched(&Selection::all(&[4])).err()));
        assert!(is_internal(grid.clipped(vec![0]).err()) && is_internal(grid.clipped(vec![0, 6]).err()));
        Ok(())
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
            let touched = grid.touched(&selection).map_err(|e| TestCaseError::fail(e.to_string()))?;
            let all = grid.touched(&Selection::all(&shape)).map_err(|e| TestCaseError::fail(e.to_string()))?;
            for origin in &touched {
                let number = grid.number(origin).and_then(|number| usize::try_from(number).ok());
                prop_assert_eq!(number.and_then(|number| all.get(number)), Some(origin));
                let clipped = grid.clipped(origin.clone()).map_err(|e| TestCaseError::fail(e.to_string()))?;
                prop_assert!(clipped.fits(&shape) && !clipped.count.contains(&0));
            }
            prop_assert_eq!(touched, naive);
        }
    }
}
