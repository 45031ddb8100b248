//! Scatter: copies the selected elements of one decoded chunk to their places in the output.

use crate::axis_runs::Run;
use crate::interleave::STRIP;
use crate::{Arrangement, DecodedChunk, Error, Region, Result, Selection, join_planes};

/// Copies the selected elements of a chunk into `out`: [`Placement::new`] and [`Placement::copy`] in one.
///
/// # Errors
/// `Internal` as in [`Placement::new`] and [`Placement::copy`].
pub fn scatter(chunk: DecodedChunk<'_>, source: &Region, selection: &Selection, out: &mut [u8], target: &Region, element_size: usize) -> Result<()> {
    match Placement::new(source, selection, target, element_size)? {
        Some(placement) => placement.copy(chunk, out),
        None => Ok(()),
    }
}

/// Where the elements of one chunk go in the output.
#[derive(Debug)]
pub struct Placement {
    dimensions: Vec<PlacedDimension>,
    row: Row,
    /// Elements of the chunk, whether wanted or not.
    chunk_elements: u64,
}

/// One dimension of a placement.
#[derive(Debug)]
struct PlacedDimension {
    /// Extent of the chunk.
    source: u64,
    /// Extent of the output.
    target: u64,
    /// The selected rows.
    runs: Vec<Run>,
}

impl Placement {
    /// The placement of a chunk's selected elements; `None` if there are none.
    ///
    /// * `source`: the elements of the dataset that the chunk holds, row-major;
    /// * `target`: the positions in the selection that the output holds, row-major; others are left alone;
    /// * `element_size`: bytes of one element.
    ///
    /// # Errors
    /// `Internal` if the boxes and the selection differ in ndim, or a row exceeds memory.
    pub fn new(source: &Region, selection: &Selection, target: &Region, element_size: usize) -> Result<Option<Self>> {
        let ndim = selection.axes().len();
        if [source.start.len(), source.count.len(), target.start.len(), target.count.len()] != [ndim; 4] {
            return Err(Error::internal("scatter: the boxes differ in ndim"));
        }
        let mut dimensions = Vec::with_capacity(ndim);
        for ((axis, (from, extent)), (first, count)) in selection.axes().iter().zip(source.dimensions()).zip(target.dimensions()) {
            let runs = axis.runs_within(from, from.saturating_add(extent)).into_iter();
            // Those of the target, from its first position on.
            let end = first.saturating_add(count);
            let clipped = runs.filter(|run| run.target < end && run.target + run.count > first).map(|run| {
                let (begin, end) = (run.target.max(first), (run.target + run.count).min(end));
                Run { source: run.source + (begin - run.target), target: begin - first, count: end - begin }
            });
            let runs = clipped.collect::<Vec<Run>>();
            dimensions.push(PlacedDimension { source: extent, target: count, runs });
        }
        if dimensions.iter().any(|dimension| dimension.runs.is_empty()) {
            return Ok(None);
        }
        // Merge trailing dimensions that are copied whole on both sides into one run.
        let mut bytes = element_size;
        while let Some(PlacedDimension { source, target, runs }) = dimensions.last() {
            let whole = matches!(runs.as_slice(), [Run { source: 0, target: 0, count }] if count == source && count == target);
            if !whole {
                break;
            }
            bytes = usize::try_from(*source).ok().and_then(|n| n.checked_mul(bytes)).ok_or_else(|| Error::internal("scatter: a row exceeds memory"))?;
            dimensions.pop();
        }
        let row = Row { bytes, element: element_size };
        // Only compared with the number of wanted elements.
        let chunk_elements = source.elements().unwrap_or(u64::MAX);
        Ok(Some(Self { dimensions, row, chunk_elements }))
    }

    /// Whether many elements of the chunk are selected, in rows too short to join planes fast while copying:
    /// then [`ChunkBuffer::join`](crate::ChunkBuffer::join) all of it first.
    pub fn is_in_short_rows(&self) -> bool {
        let elements_of_row = self.row.bytes.checked_div(self.row.element).unwrap_or(0) as u64;
        let counts = |dimension: &PlacedDimension| dimension.runs.iter().map(|run| run.count).sum::<u64>();
        let longest = self.dimensions.last().map_or(1, |last| last.runs.iter().map(|run| run.count).max().unwrap_or(0));
        let wanted = self.dimensions.iter().map(counts).fold(elements_of_row, u64::saturating_mul);
        longest.saturating_mul(elements_of_row) < STRIP as u64 && wanted >= self.chunk_elements / MIN_WANTED_FRACTION
    }

    /// Copies the elements of `chunk` to their places in `out`.
    ///
    /// # Errors
    /// `Internal` if the chunk or `out` is smaller than its shape.
    pub fn copy(&self, chunk: DecodedChunk<'_>, out: &mut [u8]) -> Result<()> {
        copy(chunk, out, &self.dimensions, self.row, 0, 0)
    }
}

/// If at least this fraction of a chunk (1/8) is selected, joining all of its planes costs less than joining the
/// selected elements one by one.
const MIN_WANTED_FRACTION: u64 = 8;

/// The unit of copying: an element, or several that are adjacent on both sides.
#[derive(Debug, Clone, Copy)]
struct Row {
    bytes: usize,
    /// Bytes of one element.
    element: usize,
}

fn copy(chunk: DecodedChunk<'_>, out: &mut [u8], dimensions: &[PlacedDimension], row: Row, source_row: u64, target_row: u64) -> Result<()> {
    let outside = || Error::internal("scatter: a chunk is smaller than its shape says");
    let Some((dimension, deeper)) = dimensions.split_first() else {
        return copy_rows(chunk, out, source_row, target_row, 1, row).ok_or_else(outside);
    };
    for run in &dimension.runs {
        let source = source_row * dimension.source + run.source;
        let target = target_row * dimension.target + run.target;
        if deeper.is_empty() {
            copy_rows(chunk, out, source, target, run.count, row).ok_or_else(outside)?;
        } else {
            for k in 0..run.count {
                copy(chunk, out, deeper, row, source + k, target + k)?;
            }
        }
    }
    Ok(())
}

fn copy_rows(chunk: DecodedChunk<'_>, out: &mut [u8], source: u64, target: u64, count: u64, row: Row) -> Option<()> {
    let (source, target, count) = (usize::try_from(source).ok()?, usize::try_from(target).ok()?, usize::try_from(count).ok()?);
    let length = count.checked_mul(row.bytes)?;
    let source = source.checked_mul(row.bytes)?;
    let target = target.checked_mul(row.bytes)?;
    let to = out.get_mut(target..target.checked_add(length)?)?;
    match chunk.arrangement {
        Arrangement::Elements => to.copy_from_slice(chunk.bytes.get(source..source.checked_add(length)?)?),
        Arrangement::Planes => join_planes(chunk.bytes, row.element, source / row.element, to)?,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, ChunkBuffer, ChunkGrid};
    use proptest::prelude::*;

    fn axis(extent: u64) -> BoxedStrategy<Axis> {
        prop_oneof![
            (0..extent, 1u64..4, 0..=extent).prop_map(move |(start, step, n)| Axis::Range { start, count: n.min((extent - start).div_ceil(step)), step }),
            proptest::collection::btree_set(0..extent, 0..6).prop_map(|set| Axis::Indices(set.into_iter().collect())),
        ]
        .boxed()
    }

    fn case() -> impl Strategy<Value = (Vec<u64>, Vec<u64>, Vec<Axis>)> {
        proptest::collection::vec((1u64..9, 1u64..6), 1..4).prop_flat_map(|dims| {
            let (shape, chunk): (Vec<u64>, Vec<u64>) = dims.into_iter().unzip();
            let axes: Vec<_> = shape.iter().map(|&n| axis(n)).collect();
            (Just(shape), Just(chunk), axes)
        })
    }

    /// Row-major position in `shape` of the element at `index`.
    fn number(index: &[u64], shape: &[u64]) -> u64 {
        index.iter().zip(shape).fold(0, |n, (i, extent)| n * extent + i)
    }

    fn every_index(shape: &[u64]) -> Vec<Vec<u64>> {
        shape
            .iter()
            .fold(vec![vec![]], |all, &extent| all.iter().flat_map(|prefix: &Vec<u64>| (0..extent).map(move |i| [prefix.as_slice(), &[i]].concat())).collect())
    }

    proptest! {
        #[test]
        fn chunks_scattered_into_a_hyperslab_equal_nested_loops((shape, chunk_shape, axes) in case(), shuffled in any::<bool>(), joined in any::<bool>()) {
            let selection = Selection::new(axes.clone(), &shape).map_err(|e| TestCaseError::fail(e.to_string()))?;
            let grid = ChunkGrid::new(shape.clone(), chunk_shape.clone()).map_err(|e| TestCaseError::fail(e.to_string()))?;
            let wanted = selection.shape();
            let count = wanted.iter().product::<u64>() as usize;
            let mut out = vec![0xffu8; count * 2];
            for origin in grid.touched(&selection).map_err(|e| TestCaseError::fail(e.to_string()))? {
                let chunk: Vec<u8> = every_index(&chunk_shape)
                    .iter()
                    .flat_map(|local| {
                        let global: Vec<u64> = local.iter().zip(&origin).map(|(l, o)| l + o).collect();
                        (number(&global, &shape) as u16).to_le_bytes()
                    })
                    .collect();
                let planes: Vec<u8> = [0, 1].iter().flat_map(|byte| chunk.iter().skip(*byte).step_by(2).copied()).collect();
                let mut buffer = match shuffled {
                    true => ChunkBuffer { bytes: planes, arrangement: Arrangement::Planes },
                    false => ChunkBuffer { bytes: chunk, arrangement: Arrangement::Elements },
                };
                if joined {
                    buffer.join(2, &mut Vec::new()).map_err(|e| TestCaseError::fail(e.to_string()))?;
                }
                scatter(buffer.chunk(), &Region { start: origin, count: chunk_shape.clone() }, &selection, &mut out, &Region::all(&wanted), 2)
                    .map_err(|e| TestCaseError::fail(e.to_string()))?;
            }
            let expected: Vec<u8> = every_index(&wanted)
                .iter()
                .flat_map(|position| {
                    let global: Vec<u64> =
                        position.iter().zip(&axes).map(|(&p, a)| a.index(p).unwrap_or(u64::MAX)).collect();
                    (number(&global, &shape) as u16).to_le_bytes()
                })
                .collect();
            prop_assert_eq!(out, expected);
        }
    }
}
