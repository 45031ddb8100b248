//! Reads the values of the cells of blocks: of a 4-D array of block, then the cells along `k`, `j` and `i`.

use arrow_array::{Array, ArrayRef, BooleanArray, new_empty_array};
use arrow_buffer::BooleanBufferBuilder;
use hyperslab_array::{Axis, Error, Result, Selection};

use super::window_columns::Window;
use crate::table::elements::Elements;
use crate::table::patch_boxes::{BoxPart, PatchBoxes, corrupt};

/// Bytes of blocks that are read whole at a time, and the most bytes of a block that is read whole.
const BLOCK_BYTES: u64 = 16 << 20;

impl Window<'_> {
    /// The values of `rows`. Blocks that have any of the rows are read whole, unless they are large: of those lines of cells along `i`.
    pub(super) fn of_blocks(&self, values: &Elements, boxes: &PatchBoxes, rows: &Axis) -> Result<ArrayRef> {
        let shape = values.shape()?;
        let [_, nz, ny, nx] = *shape.as_slice() else { return Err(Error::internal("blocks that are not of three dimensions")) };
        let blocks = Blocks { values, boxes, shape: &shape, extents: [nx, ny, nz] };
        let (cells, parts) = (blocks.cells()?, boxes.parts(rows)?);
        if parts.iter().any(|part| part.first + part.count > cells) {
            return Err(values.place(corrupt(format!("has blocks of {cells} cells, but the boxes have more"))));
        }
        let at_once = BLOCK_BYTES / cells.saturating_mul(values.width()).max(1);
        let mut read: Vec<ArrayRef> = Vec::new();
        let mut rest = parts.as_slice();
        while let Some(first) = rest.first() {
            self.check()?;
            // The parts of as many blocks as are read at once.
            let mut count = 0u64;
            let mut before = None;
            let length = rest.iter().take_while(|part| {
                count += u64::from(before != Some(part.patch));
                before = Some(part.patch);
                count <= at_once
            });
            match length.count() {
                0 => {
                    read.push(self.lines(&blocks, first)?);
                    rest = rest.get(1..).unwrap_or_default();
                }
                length => {
                    let (here, after) = rest.split_at_checked(length).ok_or_else(|| Error::internal("more parts of blocks than there are"))?;
                    read.push(self.whole(&blocks, here, cells)?);
                    rest = after;
                }
            }
        }
        match read.as_slice() {
            [] => Ok(new_empty_array(values.column.field().data_type())),
            [only] => Ok(only.clone()),
            several => joined(several),
        }
    }

    /// The rows of some blocks, each of which is read whole.
    fn whole(&self, blocks: &Blocks<'_>, parts: &[BoxPart], cells: u64) -> Result<ArrayRef> {
        let (mut touched, mut kept, mut rows) = (Vec::new(), BooleanBufferBuilder::new(0), 0u64);
        // The block of the last part, and where that ended in it.
        let mut last: Option<(usize, u64)> = None;
        for part in parts {
            let from = match last {
                Some((patch, end)) if patch == part.patch => end,
                _ => {
                    kept.append_n(size(last.map_or(0, |(_, end)| cells - end))?, false);
                    touched.push((blocks.number(part)?, 1));
                    0
                }
            };
            kept.append_n(size(part.first.saturating_sub(from))?, false);
            kept.append_n(size(part.count)?, true);
            rows += part.count;
            last = Some((part.patch, part.first + part.count));
        }
        kept.append_n(size(last.map_or(0, |(_, end)| cells - end))?, false);
        let axes = std::iter::once(Axis::of_runs(touched)?).chain(blocks.shape.iter().skip(1).map(|extent| Axis::all(*extent)));
        let read = self.shared_elements(blocks.values, &Selection::new(axes.collect(), blocks.shape)?)?;
        if read.len() as u64 == rows {
            return Ok(read);
        }
        let kept = BooleanArray::new(kept.finish(), None);
        arrow_select::filter::filter(&read, &kept).map_err(|error| Error::internal(error.to_string()))
    }

    /// The rows of a large block: line by line.
    fn lines(&self, blocks: &Blocks<'_>, part: &BoxPart) -> Result<ArrayRef> {
        let ([nx, ny, _], block) = (blocks.extents, blocks.number(part)?);
        let (mut read, mut next, end) = (Vec::new(), part.first, part.first + part.count);
        while next < end {
            self.check()?;
            let (i, j, k) = (next % nx, next / nx % ny, next / nx / ny);
            // Whole lines of a plane together.
            let (lines, count) = if i == 0 && end - next >= nx { (((end - next) / nx).min(ny - j), nx) } else { (1, (nx - i).min(end - next)) };
            let axes = vec![Axis::range(block, block + 1), Axis::range(k, k + 1), Axis::range(j, j + lines), Axis::range(i, i + count)];
            read.push(self.shared_elements(blocks.values, &Selection::new(axes, blocks.shape)?)?);
            next += lines * count;
        }
        joined(&read)
    }
}

/// Blocks of a 4-D array.
struct Blocks<'a> {
    values: &'a Elements,
    boxes: &'a PatchBoxes,
    shape: &'a [u64],
    /// Cells along `i`, `j` and `k`.
    extents: [u64; 3],
}

impl Blocks<'_> {
    fn cells(&self) -> Result<u64> {
        let cells = self.extents.into_iter().try_fold(1u64, u64::checked_mul).filter(|cells| *cells > 0);
        cells.ok_or_else(|| self.values.place(corrupt(format!("has blocks of {:?} cells", self.extents))))
    }

    fn number(&self, part: &BoxPart) -> Result<u64> {
        self.boxes.number(part.patch).ok_or_else(|| Error::internal("no such box"))
    }
}

fn size(count: u64) -> Result<usize> {
    usize::try_from(count).map_err(|_| Error::limit_exceeded("a window exceeds memory"))
}

fn joined(arrays: &[ArrayRef]) -> Result<ArrayRef> {
    let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
    arrow_select::concat::concat(&arrays).map_err(|error| Error::internal(error.to_string()))
}
