//! Windows: a scan's rows cut into boxes that fit memory and follow the chunks.
//!
//! Rows are numbered row-major over the selected positions. A window is an interval of these
//! numbers that is also a box: single positions of the leading dimensions, a range of one, all of
//! the rest.

use hyperslab_array::{Axis, Result, Selection};

/// Bytes of decoded values that one window aims for. A few of them are alive at once.
pub(crate) const WINDOW_BYTES: u64 = 8 << 20;
/// How far a window may outgrow its aim to end at a chunk's border, so that no chunk is decoded twice.
const STRETCH: u64 = 8;

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

/// Bytes of the decoded chunks that a window shares with others, until the last of these is read; `None` where it
/// shares none. Along each dimension: the window's axis, that of all rows, and a chunk's extent.
pub(crate) fn shared_bytes<'a>(axes: impl Iterator<Item = ((&'a Axis, &'a Axis), u64)>, element_bytes: u64) -> Option<u64> {
    let (mut shared, mut bytes) = (false, element_bytes);
    for ((window, all), chunk) in axes {
        let last = window.count().checked_sub(1)?;
        let (first, last) = (window.index(0)? / chunk.max(1), window.index(last)? / chunk.max(1));
        let end = (last + 1).saturating_mul(chunk);
        // Behind a dimension along which chunks are shared, all of them come before the same ones come again.
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

/// The windows of a scan in order, one after the other: a small file may promise more than memory holds.
#[derive(Debug, Clone)]
pub(crate) struct Windows {
    /// The dimension that is cut; none where there is only one row.
    axis: Option<Axis>,
    chunk: u64,
    /// Positions along the axis that one window aims for.
    aim: u64,
    /// Positions along the axis that a window may have to end at a chunk's border.
    most: u64,
    /// Rows that one position along the axis is.
    below: u64,
    total: u64,
    /// Where the next window begins: number of the row at position 0, and position.
    base: u64,
    first: u64,
}

/// Cuts the selected rows into windows in order. `chunk_shape` is of the row dimensions;
/// `row_bytes` are a row's bytes over all columns that will be read.
///
/// `split_bytes` below `aim_bytes` cuts finer, but along the same dimension: an interval of the finer
/// windows is a box within each of the others, and no chunk is cut that they leave whole.
pub(crate) fn windows(selection: &Selection, chunk_shape: &[u64], row_bytes: u64, aim_bytes: u64, split_bytes: u64) -> Result<Windows> {
    let shape = selection.shape();
    let total = selection.element_count()?;
    // The slowest dimension whose single position fits the aim is the one that is cut.
    let mut cut = 0;
    let mut below = total / shape.first().copied().unwrap_or(1).max(1);
    while cut + 1 < shape.len() && below.saturating_mul(row_bytes) > aim_bytes {
        cut += 1;
        below /= shape.get(cut).copied().unwrap_or(1).max(1);
    }
    let chunk = chunk_shape.get(cut).copied().unwrap_or(1).max(1);
    let positions = |bytes: u64| (bytes / below.saturating_mul(row_bytes).max(1)).max(1);
    let (aim, most) = (positions(aim_bytes.min(split_bytes)), positions(aim_bytes).saturating_mul(STRETCH));
    Ok(Windows { axis: selection.axes().get(cut).cloned(), chunk, aim, most, below, total, base: 0, first: 0 })
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
        let end = self.axis.as_ref().map_or(1, |axis| cut_axis(axis, self.chunk, self.aim, self.most, self.first));
        let rows = Rows { start: self.base + self.first * self.below, end: self.base + end * self.below };
        self.first = end;
        Some(rows)
    }
}

/// Where the part of an axis that begins at position `first` ends: after about `aim` positions, at a
/// chunk border where that does not make it longer than `most`.
fn cut_axis(axis: &Axis, chunk: u64, aim: u64, most: u64, first: u64) -> u64 {
    let total = axis.count();
    let wanted = first.saturating_add(aim).min(total);
    let Some(last) = axis.index(wanted.saturating_sub(1)).filter(|_| wanted < total) else { return wanted };
    let border = |chunk_number: u64| axis.positions_within(0, chunk_number.saturating_mul(chunk)).1;
    let before = border(last / chunk);
    let after = border(last / chunk + 1);
    if after == wanted {
        wanted
    } else if before > first {
        before
    } else if after - first <= most {
        after
    } else {
        wanted
    }
}

/// Any interval of rows as boxes, in order; a window is one already.
pub(crate) fn boxes(selection: &Selection, rows: Rows) -> impl Iterator<Item = Rows> + use<> {
    let shape = selection.shape();
    let mut start = rows.start;
    std::iter::from_fn(move || {
        let left = rows.end.checked_sub(start).filter(|left| *left > 0)?;
        // Of the dimensions with a position that begins here and fits, the slowest.
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

/// The selection of a window's rows, and its box.
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
            let axes = dims
                .iter()
                .map(|&(extent, _, step)| Axis::Range { start: 0, count: extent.div_ceil(step), step })
                .collect();
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
        fn the_first_windows_of_endless_rows_cost_no_more_than_others(extent in 1u64 << 50..1 << 62, aim in 1u64..400) {
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
}
