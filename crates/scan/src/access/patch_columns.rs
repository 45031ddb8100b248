//! Reads the columns of the cells of boxes.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array};
use arrow_buffer::BooleanBufferBuilder;
use hyperslab_array::{Axis, Error, Result, Selection};
use hyperslab_reader::SCAN_CACHE_BYTES;

use super::window_columns::Window;
use crate::table::elements::Elements;
use crate::table::patch_boxes::{CellRun, PatchBox, PatchBoxes};
use crate::table::patch_cover::spans;
use crate::table::patches::{LoadedPatches, PatchValues, Patched, center, layout};

impl Window<'_> {
    /// The values of a column of the cells of boxes at the window's rows.
    pub(super) fn patched(&self, patched: &Patched<Elements>, loaded: &LoadedPatches) -> Result<ArrayRef> {
        let [rows] = self.selection.axes() else { return Err(Error::internal("cells of boxes in rows of several dimensions")) };
        Ok(match &patched.what {
            PatchValues::Cells => Arc::new(Int64Array::from(loaded.boxes.cells_of(rows)?)),
            PatchValues::Number => Arc::new(rows.indexes().map(|place| number(&loaded.boxes, place)).collect::<Result<Int64Array>>()?),
            PatchValues::Own { values } => {
                let numbers = rows.indexes().map(|place| Ok((number(&loaded.boxes, place)?.cast_unsigned(), 1))).collect::<Result<Vec<_>>>()?;
                let selection = Selection::new(vec![Axis::of_runs(numbers)?], &values.shape()?).map_err(|error| values.place(error))?;
                self.shared_elements(values, &selection)?
            }
            PatchValues::Low { axis } | PatchValues::High { axis } => {
                let is_low = matches!(patched.what, PatchValues::Low { .. });
                let corner = |place: u64| {
                    let patch = usize::try_from(place).ok().and_then(|place| loaded.boxes.boxes().get(place));
                    let corner = patch.map(|patch| if is_low { &patch.low } else { &patch.high });
                    corner.and_then(|corner| corner.get(*axis)).copied().ok_or_else(|| Error::internal("no such box"))
                };
                Arc::new(rows.indexes().map(corner).collect::<Result<Int64Array>>()?)
            }
            PatchValues::Box => {
                let mut numbers = Vec::with_capacity(self.count);
                for part in loaded.boxes.parts(rows)? {
                    let count = usize::try_from(part.count).map_err(|_| Error::limit_exceeded("a window exceeds memory"))?;
                    numbers.resize(numbers.len() + count, number(&loaded.boxes, part.patch as u64)?);
                }
                Arc::new(Int64Array::from(numbers))
            }
            PatchValues::Block { values } => self.of_blocks(values, &loaded.boxes, rows)?,
            PatchValues::Index { axis } => Arc::new(Int64Array::from(self.indexes(loaded.boxes.runs(rows)?, *axis)?)),
            PatchValues::Center { axis, origin, spacing } => {
                Arc::new(Float64Array::from(self.centers(loaded.boxes.runs(rows)?, *axis, (*origin, *spacing))?))
            }
            PatchValues::Covered { .. } => Arc::new(self.covered(loaded, rows)?),
            PatchValues::Component { values, number, count, ghosts, .. } => {
                let starts = loaded.starts.as_ref().ok_or_else(|| Error::internal("the elements of boxes were not loaded"))?;
                let selection = Selection::new(vec![loaded.boxes.elements_of(rows, starts, layout(*count, ghosts), *number)?], &values.shape()?)?;
                self.shared_elements(values, &selection)?
            }
        })
    }

    /// The indexes of the cells of runs along an axis.
    fn indexes(&self, runs: Vec<CellRun>, axis: usize) -> Result<Vec<i64>> {
        let mut indexes: Vec<i64> = Vec::with_capacity(self.count);
        for run in runs {
            let first = *run.first.get(axis).ok_or_else(no_axis)?;
            match axis {
                0 => indexes.extend((0..run.count).map(|further| first.wrapping_add_unsigned(further))),
                _ => indexes.resize(indexes.len() + length(&run)?, first),
            }
        }
        Ok(indexes)
    }

    /// The centers of the cells of runs along an axis.
    fn centers(&self, runs: Vec<CellRun>, axis: usize, (origin, spacing): (f64, f64)) -> Result<Vec<f64>> {
        let mut centers: Vec<f64> = Vec::with_capacity(self.count);
        for run in runs {
            let first = *run.first.get(axis).ok_or_else(no_axis)?;
            match axis {
                0 => centers.extend((0..run.count).map(|further| center(first.wrapping_add_unsigned(further), origin, spacing))),
                _ => centers.resize(centers.len() + length(&run)?, center(first, origin, spacing)),
            }
        }
        Ok(centers)
    }

    /// Whether boxes of the next level cover the cells of boxes.
    fn covered(&self, loaded: &LoadedPatches, rows: &Axis) -> Result<BooleanArray> {
        let cover = loaded.cover.as_ref().ok_or_else(|| Error::internal("the boxes of the next level were not loaded"))?;
        let mut flags = BooleanBufferBuilder::new(self.count);
        // The finer boxes over the box of the last run.
        let mut over: Option<(usize, Vec<PatchBox>)> = None;
        for run in loaded.boxes.runs(rows)? {
            if over.as_ref().is_none_or(|(patch, _)| *patch != run.patch) {
                self.check()?;
                let patch = loaded.boxes.boxes().get(run.patch).ok_or_else(|| Error::internal("no such box"))?;
                over = Some((run.patch, cover.over(patch)));
            }
            let boxes = over.as_ref().map_or(&[][..], |(_, boxes)| boxes.as_slice());
            mark(&mut flags, &run, boxes)?;
        }
        Ok(BooleanArray::new(flags.finish(), None))
    }

    /// Windows share chunks: each holds parts of several components or blocks.
    pub(super) fn shared_elements(&self, values: &Elements, selection: &Selection) -> Result<ArrayRef> {
        let file = &values.mapping.file;
        let description = file.dataset(values.dataset)?;
        let chunk = description.chunk_grid.chunk_shape().iter().fold(description.datatype.size(), |bytes, extent| bytes.saturating_mul(*extent));
        let shared = (!description.filters.is_empty() && chunk <= SCAN_CACHE_BYTES).then(|| self.with_kept_chunks(file));
        let (bytes, heap) = self.read_of(shared.as_ref().unwrap_or(file), values.dataset, selection, values.column.datatype())?;
        values.column.take_arrow(bytes.into_buffer(), &heap).map_err(|error| values.place(error))
    }
}

fn no_axis() -> Error {
    Error::internal("no such axis")
}

/// The number of a box in its file.
fn number(boxes: &PatchBoxes, place: u64) -> Result<i64> {
    let number = usize::try_from(place).ok().and_then(|place| boxes.number(place)).and_then(|number| i64::try_from(number).ok());
    number.ok_or_else(|| Error::internal("no such box"))
}

/// Appends to `flags` whether `boxes` cover the cells of a run.
fn mark(flags: &mut BooleanBufferBuilder, run: &CellRun, boxes: &[PatchBox]) -> Result<()> {
    let [first, ..] = run.first;
    let mut done = 0;
    if !boxes.is_empty() {
        let size = |count: u64| usize::try_from(count).map_err(|_| Error::limit_exceeded("a window exceeds memory"));
        for (low, high) in spans(boxes, run.first, first.saturating_add_unsigned(run.count - 1)) {
            let (begin, end) = (low.abs_diff(first), high.abs_diff(first) + 1);
            flags.append_n(size(begin - done)?, false);
            flags.append_n(size(end - begin)?, true);
            done = end;
        }
    }
    flags.append_n(length(&CellRun { count: run.count - done, ..*run })?, false);
    Ok(())
}

fn length(run: &CellRun) -> Result<usize> {
    usize::try_from(run.count).map_err(|_| Error::limit_exceeded("a window exceeds memory"))
}
