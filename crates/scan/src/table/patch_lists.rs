//! How arrays tell the boxes of a level.

use std::fmt::Display;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_schema::DataType;
use hyperslab_array::{Axis, Cancellation, Error, Result, Selection};
use hyperslab_columns::{Column, Conventions};
use hyperslab_formats::ObjectId;
use hyperslab_reader::File;
use serde::{Deserialize, Serialize};

use super::array_part::ArrayPart;
use super::elements::Elements;
use super::need::{Mapping, Need};
use super::nulls::integers;
use super::patch_boxes::{MAX_DIMENSIONS, PatchBox, PatchBoxes, corrupt};

/// Blocks of one level lie at multiples of their width from an origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockGrid {
    /// Doubles as bits, so that they are the same in a split.
    origin: [u64; MAX_DIMENSIONS],
    width: [u64; MAX_DIMENSIONS],
    cells: [u64; MAX_DIMENSIONS],
}

impl BlockGrid {
    /// Blocks of `cells` cells with this width along each direction. Directions that they lack have one cell and the width 1.
    pub fn new(origin: [f64; MAX_DIMENSIONS], width: [f64; MAX_DIMENSIONS], cells: [u64; MAX_DIMENSIONS]) -> Self {
        Self { origin: origin.map(f64::to_bits), width: width.map(f64::to_bits), cells }
    }

    /// The cells of the block between these bounds along the first directions; the others have the index 0.
    fn patch(&self, number: usize, bounds: &[(f64, f64)]) -> Result<PatchBox> {
        let mut patch = PatchBox { low: [0; MAX_DIMENSIONS], high: [0; MAX_DIMENSIONS] };
        for (axis, (begin, end)) in bounds.iter().enumerate() {
            let (Some(origin), Some(width), Some(cells)) = (self.origin.get(axis), self.width.get(axis), self.cells.get(axis)) else { break };
            let (origin, width) = (f64::from_bits(*origin), f64::from_bits(*width));
            let (place, extent) = ((begin - origin) / width, (end - begin) / width);
            // Programs store bounds in single precision, too.
            let fits = (extent - 1.0).abs() < 0.25 && (place - place.round()).abs() < 0.25 && place.abs() < f64::from(u32::MAX);
            if !fits {
                return Err(corrupt(format!("block {number} is from {begin} to {end}, which is not a block of width {width} from {origin} on")));
            }
            #[expect(clippy::cast_possible_truncation, reason = "compared with 32 bits above")]
            let first = i64::try_from(*cells).ok().and_then(|cells| (place.round() as i64).checked_mul(cells));
            let last = first.zip(cells.checked_sub(1)).and_then(|(first, more)| first.checked_add_unsigned(more));
            let corners = first.zip(last).zip(patch.low.get_mut(axis).zip(patch.high.get_mut(axis)));
            let Some(((first, last), (low, high))) = corners else { return Err(corrupt(format!("block {number} has indexes beyond 64 bits"))) };
            (*low, *high) = (first, last);
        }
        Ok(patch)
    }
}

/// The boxes of a level, with their arrays: as defined, or as resolved.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "data models make them")]
pub enum BoxList<A = ArrayPart> {
    /// A 1-D compound dataset with the lowest and the highest cell of each box: `lo_i`, `lo_j`, `hi_i`, `hi_j`.
    Members(A),
    /// Rows of a 2-D dataset of six integers: the lowest and the highest cell along `i`, then along `j`, then along `k`.
    Pairs {
        /// The whole dataset.
        array: A,
        /// The row of the first box.
        first: u64,
        /// Number of boxes.
        count: u64,
    },
    /// Blocks with equally many cells. The boxes are the blocks of one level.
    Blocks {
        /// A 3-D dataset of numbers: for each block and direction, where it begins and ends.
        bounds: A,
        /// A 1-D dataset: the level of each block.
        levels: A,
        /// The level.
        level: i64,
        /// Where blocks may lie.
        grid: BlockGrid,
    },
}

/// What distinguishes lists of boxes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListKey(String, ObjectId, (u64, u64), usize);

impl<A> BoxList<A> {
    /// The same boxes with other arrays.
    pub(super) fn try_map<B>(&self, map: Mapping<'_, A, B>) -> Result<BoxList<B>> {
        Ok(match self {
            Self::Members(array) => BoxList::Members(map(array, Need::RawList(None))?),
            Self::Pairs { array, first, count } => BoxList::Pairs { array: map(array, Need::RawWhole)?, first: *first, count: *count },
            Self::Blocks { bounds, levels, level, grid } => {
                let levels = map(levels, Need::RawList(None))?;
                BoxList::Blocks { bounds: map(bounds, Need::RawWhole)?, levels, level: *level, grid: *grid }
            }
        })
    }
}

impl BoxList<Elements> {
    pub(super) fn arrays(&self) -> Vec<&Elements> {
        match self {
            Self::Members(array) | Self::Pairs { array, .. } => vec![array],
            Self::Blocks { bounds, levels, .. } => vec![bounds, levels],
        }
    }

    /// The array to name in errors.
    pub(super) fn first(&self) -> &Elements {
        match self {
            Self::Members(array) | Self::Pairs { array, .. } => array,
            Self::Blocks { bounds, .. } => bounds,
        }
    }

    pub(super) fn key(&self, dimensions: usize) -> ListKey {
        let part = match self {
            Self::Members(_) => (0, 0),
            Self::Pairs { first, count, .. } => (*first, *count),
            Self::Blocks { level, .. } => (level.cast_unsigned(), u64::MAX),
        };
        ListKey(self.first().mapping.file.name(), self.first().dataset, part, dimensions)
    }

    pub(super) fn read(&self, dimensions: usize, cancellation: &Cancellation) -> Result<PatchBoxes> {
        let file = |array: &Elements| array.mapping.file.clone();
        match self {
            Self::Members(array) => PatchBoxes::read(&file(array), array.dataset, dimensions, cancellation),
            Self::Pairs { array, first, count } => PatchBoxes::of_pairs(&file(array), array.dataset, (*first, *count), cancellation),
            Self::Blocks { bounds, levels, level, grid } => {
                let levels = (file(levels), levels.dataset);
                PatchBoxes::of_blocks((&file(bounds), bounds.dataset), (&levels.0, levels.1), *level, grid, dimensions, cancellation)
            }
        }
    }
}

/// Fails if this number of boxes exceeds the memory for metadata.
fn check_count(file: &File, count: u64, bytes: u64) -> Result<()> {
    if count.saturating_mul(bytes.saturating_add(size_of::<PatchBox>() as u64 + 8)) > file.session().limits().metadata_bytes {
        return Err(Error::limit_exceeded(format!("{count} boxes exceed the limit metadata_bytes")));
    }
    Ok(())
}

fn values(file: &File, dataset: ObjectId, selection: &Selection, cancellation: &Cancellation) -> Result<ArrayRef> {
    let description = file.dataset(dataset)?;
    if let Some(refusal) = &description.refusal {
        return Err(refusal.clone());
    }
    let elements = file.read(dataset, selection, cancellation)?;
    Column::new("box", &elements.datatype, &[], Conventions::Raw)?.to_arrow(&elements.bytes, &elements.heap)
}

impl PatchBoxes {
    /// Reads some rows, from `first` on `count`, of a 2-D dataset of six integers: the lowest and the highest cell of each box along `i`, along
    /// `j` and along `k`.
    ///
    /// # Errors
    /// As [`PatchBoxes::read`], and `Corrupt` for a dataset of another shape or fewer rows.
    pub fn of_pairs(file: &File, dataset: ObjectId, (first, count): (u64, u64), cancellation: &Cancellation) -> Result<Self> {
        let read = || {
            let description = file.dataset(dataset)?;
            let shape = description.dataspace.shape().to_vec();
            let end = first.checked_add(count);
            let end = end.filter(|end| matches!(shape.as_slice(), [rows, 6] if end <= rows));
            let Some(end) = end else { return Err(corrupt(format!("the boxes are not {count} rows of six from row {first} on, but of shape {shape:?}"))) };
            check_count(file, count, description.datatype.size().saturating_mul(6))?;
            let read = values(file, dataset, &Selection::new(vec![Axis::range(first, end), Axis::all(6)], &shape)?, cancellation)?;
            let numbers = integers(&read)?;
            let patch = |corners: &[i64]| {
                let [low_i, high_i, low_j, high_j, low_k, high_k] = <[i64; 6]>::try_from(corners).map_err(|_| Error::internal("a box without six corners"))?;
                Ok(PatchBox { low: [low_i, low_j, low_k], high: [high_i, high_j, high_k] })
            };
            Self::new(numbers.chunks(6).map(patch).collect::<Result<_>>()?)
        };
        read().map_err(|error| file.place(dataset, error))
    }

    /// Reads the blocks of one level. `bounds` is a 3-D dataset with the begin and the end of each block along each direction, `levels` a 1-D
    /// dataset with the level of each block.
    ///
    /// # Errors
    /// As [`PatchBoxes::read`], and `Corrupt` for datasets of other shapes, and for blocks that are not on the grid.
    pub fn of_blocks(
        (bounds_file, bounds): (&File, ObjectId),
        (levels_file, levels): (&File, ObjectId),
        level: i64,
        grid: &BlockGrid,
        dimensions: usize,
        cancellation: &Cancellation,
    ) -> Result<Self> {
        let read_levels = || {
            let shape = levels_file.dataset(levels)?.dataspace.shape().to_vec();
            let [count] = shape.as_slice() else { return Err(corrupt(format!("the levels of blocks have shape {shape:?}, not one dimension"))) };
            check_count(levels_file, *count, 64)?;
            integers(&values(levels_file, levels, &Selection::all(&shape), cancellation)?)
        };
        let all = read_levels().map_err(|error| levels_file.place(levels, error))?;
        let read = || {
            let shape = bounds_file.dataset(bounds)?.dataspace.shape().to_vec();
            let directions = match shape.as_slice() {
                [count, directions, 2] if *count == all.len() as u64 && (dimensions as u64..=3).contains(directions) => *directions,
                _ => return Err(corrupt(format!("the bounds of {} blocks have shape {shape:?}", all.len()))),
            };
            let read = values(bounds_file, bounds, &Selection::all(&shape), cancellation)?;
            let internal = |error: &dyn Display| Error::internal(error.to_string());
            if !read.data_type().is_floating() {
                return Err(corrupt(format!("the bounds of blocks are {}, not floats", read.data_type())));
            }
            let doubles = arrow_cast::cast(&read, &DataType::Float64).map_err(|error| internal(&error))?;
            let each = usize::try_from(directions.saturating_mul(2)).map_err(|error| internal(&error))?;
            let (mut boxes, mut numbers) = (Vec::new(), Vec::new());
            for ((number, bounds), own) in doubles.as_primitive::<Float64Type>().values().chunks(each).enumerate().zip(all.iter()) {
                if *own == level {
                    let pairs: Vec<(f64, f64)> = bounds.chunks(2).take(dimensions).filter_map(|pair| Some((*pair.first()?, *pair.get(1)?))).collect();
                    boxes.push(grid.patch(number, &pairs)?);
                    numbers.push(number as u64);
                }
            }
            Self::new(boxes)?.with_numbers(numbers)
        };
        read().map_err(|error| bounds_file.place(bounds, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_lie_on_their_grid_or_are_errors() -> Result<()> {
        let grid = BlockGrid::new([-1.0, 0.0, 0.0], [0.5, 0.25, 1.0], [8, 4, 1]);
        let patch = grid.patch(3, &[(0.500_000_1, 1.0), (-0.25, 0.0)])?;
        assert_eq!((patch.low, patch.high), ([24, -4, 0], [31, -1, 0]));
        for bounds in [(0.3, 0.8), (0.5, 1.5), (f64::NAN, 1.0), (1e300, 1e300), (f64::NEG_INFINITY, 0.0)] {
            assert!(grid.patch(0, &[bounds]).is_err(), "{bounds:?}");
        }
        assert!(BlockGrid::new([0.0; 3], [1.0; 3], [u64::MAX; 3]).patch(0, &[(1.0, 2.0)]).is_err());
        Ok(())
    }
}
