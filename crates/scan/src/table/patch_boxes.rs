//! Boxes of cells: rows are cells, box after box and the first index fastest, as on a level of an adaptive mesh.

use arrow_array::{Array, StructArray};
use hyperslab_array::{Axis, Cancellation, Datatype, Error, ErrorKind, Result, Selection};
use hyperslab_columns::{Column, Conventions};
use hyperslab_formats::ObjectId;
use hyperslab_reader::File;

use super::nulls::integers;

/// Most dimensions of a box.
pub(crate) const MAX_DIMENSIONS: usize = 3;
/// Names of the directions in the members of boxes: `lo_i`, `hi_k`.
const DIRECTIONS: [&str; MAX_DIMENSIONS] = ["i", "j", "k"];

/// A box of cells, with its lowest and its highest cell. Directions that it lacks have the index 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "plain data")]
pub struct PatchBox {
    /// Indexes of the lowest cell.
    pub low: [i64; MAX_DIMENSIONS],
    /// Indexes of the highest cell.
    pub high: [i64; MAX_DIMENSIONS],
}

impl PatchBox {
    /// Number of cells along each direction; `None` beyond 64 bits.
    pub fn extents(&self) -> Option<[u64; MAX_DIMENSIONS]> {
        let mut extents = [0; MAX_DIMENSIONS];
        for (extent, (low, high)) in extents.iter_mut().zip(self.low.iter().zip(self.high)) {
            *extent = high.checked_sub(*low).and_then(|last| u64::try_from(last).ok())?.checked_add(1)?;
        }
        Some(extents)
    }

    /// Number of cells with `ghosts` more on each side along each direction; `None` beyond 64 bits.
    pub fn cells(&self, ghosts: [u64; MAX_DIMENSIONS]) -> Option<u64> {
        let grown = |(extent, ghosts): (u64, u64)| extent.checked_add(ghosts.checked_mul(2)?);
        self.extents()?.into_iter().zip(ghosts).map(grown).try_fold(1u64, |cells, extent| cells.checked_mul(extent?))
    }
}

/// The boxes of a level.
#[derive(Debug)]
pub struct PatchBoxes {
    boxes: Vec<PatchBox>,
    /// The first row of each box, and the number of rows.
    starts: Vec<u64>,
    /// The number of each box in its file, increasing; `None` if that is its place in the list.
    numbers: Option<Vec<u64>>,
}

/// Cells of a window that follow each other along `i`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CellRun {
    /// Number of the box.
    pub patch: usize,
    /// The first cell.
    pub first: [i64; MAX_DIMENSIONS],
    pub count: u64,
}

/// Rows that are adjacent in a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BoxPart {
    /// Place of the box.
    pub patch: usize,
    /// Cells of the box before the first one.
    pub first: u64,
    pub count: u64,
}

/// How the flat data of a level is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub components: u64,
    pub ghosts: [u64; MAX_DIMENSIONS],
}

pub(crate) fn corrupt(message: String) -> Error {
    Error::new(ErrorKind::Corrupt, message)
}

impl PatchBoxes {
    /// Reads the boxes of a 1-D compound dataset with the members `lo_i`, `hi_i` and so on, for each of `dimensions` directions.
    ///
    /// # Errors
    /// `Corrupt` for a dataset that has no such members, and for boxes without cells or with too many; `LimitExceeded` for more
    /// boxes than the limit `metadata_bytes` allows; otherwise as [`File::read`].
    pub fn read(file: &File, dataset: ObjectId, dimensions: usize, cancellation: &Cancellation) -> Result<Self> {
        Self::read_unplaced(file, dataset, dimensions, cancellation).map_err(|error| file.place(dataset, error))
    }

    fn read_unplaced(file: &File, dataset: ObjectId, dimensions: usize, cancellation: &Cancellation) -> Result<Self> {
        let description = file.dataset(dataset)?;
        if let Some(refusal) = &description.refusal {
            return Err(refusal.clone());
        }
        let (Datatype::Compound { .. }, [count]) = (&description.datatype, description.dataspace.shape()) else {
            return Err(corrupt(format!("the boxes are not a list of compounds, but of shape {:?}", description.dataspace.shape())));
        };
        let bytes = count.saturating_mul(description.datatype.size().saturating_add(size_of::<PatchBox>() as u64 + 8));
        if bytes > file.session().limits().metadata_bytes {
            return Err(Error::limit_exceeded(format!("{count} boxes exceed the limit metadata_bytes")));
        }
        let elements = file.read(dataset, &Selection::all(&[*count]), cancellation)?;
        let record = Column::new("box", &elements.datatype, &[], Conventions::Raw)?.to_arrow(&elements.bytes, &elements.heap)?;
        let record = record.as_any().downcast_ref::<StructArray>().ok_or_else(|| Error::internal("a compound is not a struct"))?;
        let mut boxes = vec![PatchBox { low: [0; MAX_DIMENSIONS], high: [0; MAX_DIMENSIONS] }; record.len()];
        for (axis, direction) in DIRECTIONS.into_iter().enumerate().take(dimensions) {
            for (is_low, name) in [(true, format!("lo_{direction}")), (false, format!("hi_{direction}"))] {
                let member = record.column_by_name(&name).ok_or_else(|| corrupt(format!("the boxes have no member {name}")))?;
                let numbers = integers(member).map_err(|error| corrupt(format!("the member {name} of the boxes {}", error.message())))?;
                for (patch, number) in boxes.iter_mut().zip(numbers.iter()) {
                    let corner = if is_low { &mut patch.low } else { &mut patch.high };
                    if let Some(slot) = corner.get_mut(axis) {
                        *slot = *number;
                    }
                }
            }
        }
        Self::new(boxes)
    }

    /// From boxes.
    pub(super) fn new(boxes: Vec<PatchBox>) -> Result<Self> {
        let (mut starts, mut end) = (Vec::with_capacity(boxes.len() + 1), 0u64);
        starts.push(0);
        for (number, patch) in boxes.iter().enumerate() {
            if patch.low.iter().zip(patch.high).any(|(low, high)| *low > high) {
                return Err(corrupt(format!("box {number} begins at {:?} and ends before it, at {:?}", patch.low, patch.high)));
            }
            // Rows are counted in 63 bits.
            let next = patch.cells([0; MAX_DIMENSIONS]).and_then(|cells| end.checked_add(cells)).filter(|end| i64::try_from(*end).is_ok());
            end = next.ok_or_else(|| corrupt(format!("the boxes up to number {number} have more cells than 63 bits can count")))?;
            starts.push(end);
        }
        Ok(Self { boxes, starts, numbers: None })
    }

    /// With the number of each box in its file.
    pub(super) fn with_numbers(self, numbers: Vec<u64>) -> Result<Self> {
        if numbers.len() != self.boxes.len() || !numbers.is_sorted_by(|one, next| one < next) {
            return Err(Error::internal("the numbers of other boxes"));
        }
        Ok(Self { numbers: Some(numbers), ..self })
    }

    /// The number of a box in its file.
    pub fn number(&self, place: usize) -> Option<u64> {
        match &self.numbers {
            Some(numbers) => numbers.get(place).copied(),
            None => (place < self.boxes.len()).then_some(place as u64),
        }
    }

    /// The boxes.
    pub fn boxes(&self) -> &[PatchBox] {
        &self.boxes
    }

    /// The first row of each box, and that after its last one.
    pub(crate) fn row_ranges(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.starts.iter().copied().zip(self.starts.iter().copied().skip(1))
    }

    /// The first row of a box; for the number of boxes the number of rows.
    pub fn first_row(&self, place: usize) -> Option<u64> {
        self.starts.get(place).copied()
    }

    /// Number of cells of all boxes.
    pub fn cells(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Number of elements of flat data with `components` components and `ghosts` around each box; `None` beyond 64 bits.
    pub fn elements(&self, components: u64, ghosts: [u64; MAX_DIMENSIONS]) -> Option<u64> {
        self.boxes.iter().try_fold(0u64, |sum, patch| sum.checked_add(patch.cells(ghosts)?.checked_mul(components)?))
    }

    /// Compares offsets into flat data with the boxes: the first element of each box, and one past the last.
    ///
    /// # Errors
    /// `Corrupt` for other offsets.
    pub fn check_offsets(&self, offsets: &[i64], components: u64, ghosts: [u64; MAX_DIMENSIONS]) -> Result<()> {
        if offsets.len() != self.boxes.len() + 1 {
            return Err(corrupt(format!("there are {} offsets for {} boxes, not one more", offsets.len(), self.boxes.len())));
        }
        let mut start = Some(0u64);
        for (number, offset) in offsets.iter().enumerate() {
            if start.is_none_or(|start| u64::try_from(*offset) != Ok(start)) {
                let start = start.map_or_else(|| "more than 64 bits of".to_owned(), |start| start.to_string());
                return Err(corrupt(format!("offset {number} is {offset}, but the boxes before it have {start} elements")));
            }
            let elements = self.boxes.get(number).map_or(Some(0), |patch| patch.cells(ghosts).and_then(|cells| cells.checked_mul(components)));
            start = start.zip(elements).and_then(|(start, elements)| start.checked_add(elements));
        }
        Ok(())
    }

    fn patch(&self, number: usize) -> Result<&PatchBox> {
        self.boxes.get(number).ok_or_else(|| Error::internal("no such box"))
    }

    /// The cells of the rows that `axis` selects.
    pub(crate) fn runs(&self, axis: &Axis) -> Result<Vec<CellRun>> {
        let mut runs = Vec::new();
        for part in self.parts(axis)? {
            let patch = self.patch(part.patch)?;
            let [nx, ny, _] = patch.extents().ok_or_else(|| Error::internal("a box beyond 64 bits"))?;
            let (mut i, mut j, mut k) = (part.first % nx, (part.first / nx) % ny, part.first / nx / ny);
            let mut left = part.count;
            let [x, y, z] = patch.low;
            while left > 0 {
                let count = (nx - i).min(left);
                // Within the box, whose corners are 64-bit numbers.
                let first = [x.wrapping_add_unsigned(i), y.wrapping_add_unsigned(j), z.wrapping_add_unsigned(k)];
                runs.push(CellRun { patch: part.patch, first, count });
                (i, j, left) = (0, j + 1, left - count);
                if j == ny {
                    (j, k) = (0, k + 1);
                }
            }
        }
        Ok(runs)
    }

    /// The rows that `axis` selects, cut at the borders of boxes.
    pub(crate) fn parts(&self, axis: &Axis) -> Result<Vec<BoxPart>> {
        let (mut parts, mut number) = (Vec::new(), 0usize);
        for run in axis.runs_within(0, u64::MAX) {
            let (mut row, end) = (run.source, run.source + run.count);
            while row < end {
                let is_here =
                    |number: usize| self.starts.get(number).zip(self.starts.get(number + 1)).is_some_and(|(start, end)| (*start..*end).contains(&row));
                // Rows come in order: mostly the box is the same as for the row before, or the next one.
                if !is_here(number) {
                    number = if is_here(number + 1) { number + 1 } else { self.starts.partition_point(|start| *start <= row).saturating_sub(1) };
                }
                let ends = self.starts.get(number).zip(self.starts.get(number + 1)).filter(|_| is_here(number));
                let (start, after) = ends.ok_or_else(|| Error::internal("a row beyond the boxes"))?;
                let count = end.min(*after) - row;
                parts.push(BoxPart { patch: number, first: row - start, count });
                row += count;
            }
        }
        Ok(parts)
    }

    /// For each row that `axis` selects, of rows that are the boxes themselves, its number of cells.
    pub(crate) fn cells_of(&self, axis: &Axis) -> Result<Vec<i64>> {
        let cells = |position: u64| {
            let number = axis.index(position).and_then(|number| usize::try_from(number).ok());
            let (start, end) =
                number.and_then(|number| self.starts.get(number).zip(self.starts.get(number + 1))).ok_or_else(|| Error::internal("no such box"))?;
            i64::try_from(end - start).map_err(|_| Error::internal("cells beyond 63 bits"))
        };
        (0..axis.count()).map(cells).collect()
    }

    /// The elements of a component for the rows that `axis` selects. They increase, because rows and elements have the same order.
    pub(crate) fn elements_of(&self, axis: &Axis, starts: &[u64], layout: Layout, number: u64) -> Result<Axis> {
        let beyond = || Error::internal("an element beyond the data of its level");
        let first_of = |patch: usize, within: u64| {
            let component = self.patch(patch)?.cells(layout.ghosts).and_then(|cells| cells.checked_mul(number)).ok_or_else(beyond)?;
            let start = starts.get(patch).and_then(|start| start.checked_add(component)).and_then(|first| first.checked_add(within));
            start.ok_or_else(beyond)
        };
        if layout.ghosts == [0; MAX_DIMENSIONS] {
            let parts = self.parts(axis)?.into_iter().map(|part| Ok((first_of(part.patch, part.first)?, part.count)));
            return Axis::of_runs(parts.collect::<Result<Vec<_>>>()?);
        }
        let runs = self.runs(axis)?.into_iter().map(|run| {
            let patch = self.patch(run.patch)?;
            let extents = patch.extents().ok_or_else(beyond)?;
            let mut within = 0u64;
            for axis in (0..MAX_DIMENSIONS).rev() {
                let (Some(extent), Some(ghosts), Some((first, low))) =
                    (extents.get(axis), layout.ghosts.get(axis), run.first.get(axis).zip(patch.low.get(axis)))
                else {
                    return Err(beyond());
                };
                let index = first.abs_diff(*low).checked_add(*ghosts);
                within = within.checked_mul(extent + 2 * ghosts).zip(index).and_then(|(outer, index)| outer.checked_add(index)).ok_or_else(beyond)?;
            }
            Ok((first_of(run.patch, within)?, run.count))
        });
        Axis::of_runs(runs.collect::<Result<Vec<_>>>()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(low: [i64; 3], high: [i64; 3]) -> PatchBox {
        PatchBox { low, high }
    }

    #[test]
    fn rows_are_cells_of_boxes_and_elements_of_data_with_ghosts() -> Result<()> {
        let boxes = PatchBoxes::new(vec![patch([-1, 2, 0], [1, 3, 0]), patch([5, 5, 0], [6, 5, 0])])?;
        assert_eq!(boxes.cells(), 8);
        let runs = boxes.runs(&Axis::range(1, 8))?;
        let wanted = [(0, [0, 2, 0], 2), (0, [-1, 3, 0], 3), (1, [5, 5, 0], 2)];
        assert_eq!(runs, wanted.map(|(patch, first, count)| CellRun { patch, first, count }));
        assert_eq!(boxes.runs(&Axis::Indices(vec![0, 2, 7]))?.len(), 3);
        assert!(boxes.runs(&Axis::range(7, 9)).is_err());
        let layout = Layout { components: 2, ghosts: [1, 0, 0] };
        assert_eq!(boxes.elements(2, layout.ghosts), Some(28));
        let axis = boxes.elements_of(&Axis::range(1, 8), &[0, 20, 28], layout, 1)?;
        assert_eq!(axis, Axis::of_runs([(12, 2), (16, 3), (25, 2)])?);
        let plain = boxes.elements_of(&Axis::range(1, 8), &[0, 12, 16], Layout { components: 2, ghosts: [0; 3] }, 0)?;
        assert_eq!(plain, Axis::of_runs([(1, 5), (12, 2)])?);
        assert_eq!(boxes.cells_of(&Axis::range(0, 2))?, [6, 2]);
        Ok(())
    }

    #[test]
    fn boxes_without_cells_or_with_too_many_are_errors() {
        assert!(PatchBoxes::new(vec![patch([0, 2, 0], [0, 1, 0])]).is_err());
        assert!(PatchBoxes::new(vec![patch([i64::MIN, 0, 0], [i64::MAX, 0, 0])]).is_err());
        let wide = patch([0, 0, 0], [i64::MAX - 1, 0, 0]);
        assert!(PatchBoxes::new(vec![wide]).is_ok() && PatchBoxes::new(vec![wide, wide]).is_err());
        assert_eq!(wide.cells([u64::MAX, 0, 0]), None);
    }
}
