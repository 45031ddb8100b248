//! Windows: a scan's rows cut into boxes that fit memory and follow the chunks.
//!
//! Rows are numbered row-major over the selected positions. A window is an interval of these numbers that is also a box: a
//! single position of each leading dimension, a range of one dimension, and all of the rest.

use hyperslab_array::{Axis, Error, Result, Selection};

/// Target size of a window, in bytes of decoded values. Several windows are in memory at a time.
pub(crate) const WINDOW_BYTES: u64 = 8 << 20;
/// How many times its target size a window may reach to end at a chunk border, so that no chunk is decoded twice.
const MAX_STRETCH: u64 = 8;

/// Half-open interval of row numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Rows {
    pub start: u64,
    pub end: u64,
}

impl Rows {
    pub fn count(self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

/// Bytes of decoded chunks that a window shares with other windows, until the last of those is read; `None` if it shares
/// none. `axes` holds for each dimension the window's axis, the axis of all rows, and a chunk's extent.
pub(crate) fn shared_bytes<'a>(axes: impl Iterator<Item = ((&'a Axis, &'a Axis), u64)>, element_bytes: u64) -> Option<u64> {
    let (mut shared, mut bytes) = (false, element_bytes);
    for ((window, all), chunk) in axes {
        let last = window.count().checked_sub(1)?;
        let (first, last) = (window.index(0)? / chunk.max(1), window.index(last)? / chunk.max(1));
        let end = (last + 1).saturating_mul(chunk);
        // After a dimension along which chunks are shared, all chunks are read before the shared ones are needed again.
        let whole = || {
            let end = all.count().checked_sub(1).and_then(|last| all.index(last)).map_or(0, |last| last / chunk.max(1) + 1);
            (end - all.index(0).map_or(0, |first| first / chunk.max(1)).min(end)).min(all.count())
        };
        let chunks = if shared { whole() } else { last + 1 - first };
        bytes = bytes.saturating_mul(chunks.saturating_mul(chunk));
        shared |= all.positions_within(first * chunk, end).1 > window.count();
    }
    shared.then_some(bytes)
}

/// Iterates over the windows of a scan in order. Lazy, because a small file may declare more rows than a list of windows
/// could hold in memory.
#[derive(Debug, Clone)]
pub(crate) struct Windows {
    /// The dimension that is cut; `None` if there is only one row.
    axis: Option<Axis>,
    chunk: u64,
    /// Target number of positions of a window along the axis.
    target: u64,
    /// Maximum number of positions that a window may have in order to end at a chunk border.
    max: u64,
    /// Rows per position along the axis.
    below: u64,
    total: u64,
    /// Row at position 0 of the axis for the next window.
    base: u64,
    /// First position of the next window.
    first: u64,
}

/// Cuts the selected rows into windows in order. `chunk_shape` holds the chunk extents along the row dimensions; `row_bytes`
/// is the size of a row over all columns that will be read.
///
/// `split_bytes` below `target_bytes` cuts finer, but along the same dimension: any interval of the finer windows is a box
/// within each coarser window, and no chunk is cut that the coarser windows keep whole.
pub(crate) fn windows(selection: &Selection, chunk_shape: &[u64], row_bytes: u64, target_bytes: u64, split_bytes: u64) -> Result<Windows> {
    if chunk_shape.len() != selection.shape().len() {
        return Err(Error::internal("chunks have other dimensions than the rows"));
    }
    let shape = selection.shape();
    let total = selection.element_count()?;
    // Cut along the slowest dimension whose single positions fit the target. A scalar has no dimension, but one row.
    let (mut axis, mut chunk, mut below) = (None, 1, total);
    for ((candidate, extent), chunk_extent) in selection.axes().iter().zip(&shape).zip(chunk_shape) {
        (axis, chunk, below) = (Some(candidate.clone()), (*chunk_extent).max(1), below / (*extent).max(1));
        if below.saturating_mul(row_bytes) <= target_bytes {
            break;
        }
    }
    let positions = |bytes: u64| (bytes / below.saturating_mul(row_bytes).max(1)).max(1);
    let (target, max) = (positions(target_bytes.min(split_bytes)), positions(target_bytes).saturating_mul(MAX_STRETCH));
    Ok(Windows { axis, chunk, target, max, below, total, base: 0, first: 0 })
}

impl Iterator for Windows {
    type Item = Rows;

    fn next(&mut self) -> Option<Rows> {
        let positions = self.axis.as_ref().map_or(1, Axis::count);
        if self.first >= positions {
            self.base = self.base.saturating_add(self.below.saturating_mul(positions));
            self.first = 0;
        }
        if self.base >= self.total {
            return None;
        }
        let end = self.axis.as_ref().map_or(1, |axis| cut_axis(axis, self.chunk, self.target, self.max, self.first));
        let rows = Rows { start: self.base + self.first * self.below, end: self.base + end * self.below };
        self.first = end;
        Some(rows)
    }
}

/// End of the window that begins at position `first` of an axis: after about `target` positions, at a chunk border if that
/// does not make it longer than `max`.
fn cut_axis(axis: &Axis, chunk: u64, target: u64, max: u64, first: u64) -> u64 {
    let total = axis.count();
    let wanted = first.saturating_add(target).min(total);
    let Some(last) = axis.index(wanted.saturating_sub(1)).filter(|_| wanted < total) else { return wanted };
    let border = |chunk_index: u64| axis.positions_within(0, chunk_index.saturating_mul(chunk)).1;
    let before = border(last / chunk);
    let after = border(last / chunk + 1);
    if after == wanted {
        wanted
    } else if before > first {
        before
    } else if after - first <= max {
        after
    } else {
        wanted
    }
}

/// Cuts any interval of rows into boxes, in order. A window is a single box.
pub(crate) fn boxes(selection: &Selection, rows: Rows) -> impl Iterator<Item = Rows> + use<> {
    let shape = selection.shape();
    let mut start = rows.start;
    std::iter::from_fn(move || {
        let left = rows.end.checked_sub(start).filter(|left| *left > 0)?;
        // Take whole positions of the slowest dimension that has a position which begins here and fits.
        let mut below: u64 = shape.iter().product();
        let mut count = left;
        for &extent in &shape {
            let around = below.max(1);
            below = around / extent.max(1);
            if below > 0 && start.is_multiple_of(below) && below <= left {
                let positions = (left / below).min((around - start % around) / below);
                count = positions * below;
                break;
            }
        }
        let found = Rows { start, end: start + count };
        start = found.end;
        Some(found)
    })
}

/// The selection of the rows of a window, which must be a box.
pub(crate) fn select(selection: &Selection, rows: Rows) -> Selection {
    let shape = selection.shape();
    let mut narrowed = selection.clone();
    let (mut start, mut count) = (rows.start, rows.count());
    let mut below: u64 = shape.iter().product();
    for (dimension, &extent) in shape.iter().enumerate() {
        below /= extent.max(1);
        let first = start / below.max(1);
        if count >= below {
            let positions = count / below.max(1);
            narrowed = narrowed.narrow(dimension, first, positions);
            if positions > 1 {
                return narrowed;
            }
        } else {
            narrowed = narrowed.narrow(dimension, first, 1);
        }
        start %= below.max(1);
        count = count.min(below);
    }
    narrowed
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn axes() -> impl Strategy<Value = (Vec<u64>, Vec<u64>, Vec<Axis>)> {
        proptest::collection::vec((1u64..12, 1u64..5, 1u64..3), 1..4).prop_map(|dims| {
            let shape: Vec<u64> = dims.iter().map(|d| d.0).collect();
            let chunk = dims.iter().map(|d| d.1).collect();
            let axes = dims.iter().map(|&(extent, _, step)| Axis::Range { start: 0, count: extent.div_ceil(step), step }).collect();
            (shape, chunk, axes)
        })
    }

    proptest! {
        #[test]
        fn any_interval_is_cut_into_boxes_in_order((shape, _, axes) in axes(), from in 0u64..200, length in 0u64..200) {
            let selection = Selection::new(axes, &shape).map_err(|e| TestCaseError::fail(e.to_string()))?;
            let total = selection.element_count().map_err(|e| TestCaseError::fail(e.to_string()))?;
            let rows = Rows { start: from.min(total), end: (from + length).min(total) };
            let mut next = rows.start;
            for part in boxes(&selection, rows) {
                prop_assert_eq!(part.start, next);
                prop_assert_eq!(select(&selection, part).element_count().ok(), Some(part.count()));
                next = part.end;
            }
            prop_assert_eq!(next, rows.end.max(rows.start));
        }
        #[test]
        fn the_first_windows_of_huge_extents_are_made_without_listing_the_others(extent in 1u64 << 50..1 << 62, aim in 1u64..400) {
            let selection = Selection::all(&[extent, 2]);
            let windows = windows(&selection, &[1, 1], 8, aim, aim).map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert_eq!(windows.take(3).map(|rows| rows.start).next(), Some(0));
        }
        #[test]
        fn windows_cover_every_row_once_in_order_and_are_boxes((shape, chunk, axes) in axes(), aim in 1u64..400, split in 1u64..400) {
            let selection = Selection::new(axes, &shape).map_err(|e| TestCaseError::fail(e.to_string()))?;
            let windows = windows(&selection, &chunk, 8, aim, split).map_err(|e| TestCaseError::fail(e.to_string()))?;
            let mut next = 0;
            for rows in windows {
                prop_assert_eq!(rows.start, next);
                prop_assert!(rows.end > rows.start);
                let part = select(&selection, rows);
                prop_assert_eq!(part.element_count().ok(), Some(rows.count()));
                // The box's first element is the row numbered `start`.
                let numbers: Vec<u64> = part.axes().iter().zip(selection.axes()).map(|(p, a)| {
                    (0..a.count()).find(|&k| a.index(k) == p.index(0)).unwrap_or(u64::MAX)
                }).collect();
                let number = numbers.iter().zip(selection.shape()).fold(0, |n, (k, extent)| n * extent + k);
                prop_assert_eq!(number, rows.start);
                next = rows.end;
            }
            prop_assert_eq!(Some(next), selection.element_count().ok());
        }
        #[test]
        fn finer_windows_are_boxes_within_the_others((shape, chunk, axes) in axes(), aim in 1u64..400, split in 1u64..400) {
            let selection = Selection::new(axes, &shape).map_err(|e| TestCaseError::fail(e.to_string()))?;
            let cut = |split| windows(&selection, &chunk, 8, aim, split).map(Iterator::collect::<Vec<Rows>>).map_err(|e| TestCaseError::fail(e.to_string()));
            let (coarse, fine) = (cut(aim)?, cut(split)?);
            for (first, last) in fine.iter().zip(fine.iter().skip(1)) {
                for window in &coarse {
                    let part = Rows { start: window.start.max(first.start), end: window.end.min(last.end) };
                    if part.count() > 0 {
                        prop_assert_eq!(select(&selection, part).element_count().ok(), Some(part.count()));
                    }
                }
            }
        }
    }

    #[test]
    fn chunks_of_other_dimensions_are_internal() {
        let found = windows(&Selection::all(&[4, 5]), &[4], 8, WINDOW_BYTES, WINDOW_BYTES);
        assert!(found.is_err_and(|error| error.kind() == hyperslab_array::ErrorKind::Internal));
    }
}
