//! Windows: a scan's rows cut into boxes that fit memory and follow the chunks.
//!
//! Rows are numbered row-major over the selected positions. A window is an interval of these
//! numbers that is also a box: single positions of the leading dimensions, a range of one, all of
//! the rest.

use hyperslab_array::{Axis, Result, Selection};

/// Bytes of decoded values that one window aims for. A few of them are alive at once.
pub(super) const WINDOW_BYTES: u64 = 8 << 20;
/// How far a window may outgrow its aim to end at a chunk's border, so that no chunk is decoded twice.
const STRETCH: u64 = 8;

/// Half-open interval of row numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Rows {
    pub start: u64,
    pub end: u64,
}

impl Rows {
    pub fn count(self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

/// Cuts the selected rows into windows in order. `chunk_shape` is of the row dimensions;
/// `row_bytes` are a row's bytes over all columns that will be read.
pub(super) fn windows(selection: &Selection, chunk_shape: &[u64], row_bytes: u64, aim_bytes: u64) -> Result<Vec<Rows>> {
    let shape = selection.shape();
    let total = selection.element_count()?;
    if total == 0 {
        return Ok(Vec::new());
    }
    // The slowest dimension whose single position fits the aim is the one that is cut.
    let mut cut = 0;
    let mut below = total / shape.first().copied().unwrap_or(1).max(1);
    while cut + 1 < shape.len() && below.saturating_mul(row_bytes) > aim_bytes {
        cut += 1;
        below /= shape.get(cut).copied().unwrap_or(1).max(1);
    }
    let Some(axis) = selection.axes().get(cut) else {
        return Ok(vec![Rows { start: 0, end: total }]);
    };
    let chunk = chunk_shape.get(cut).copied().unwrap_or(1).max(1);
    let cuts = cut_axis(axis, chunk, aim_bytes / below.saturating_mul(row_bytes).max(1));
    let per_position = below * axis.count();
    let mut windows = Vec::new();
    for leading in 0..total / per_position.max(1) {
        let base = leading * per_position;
        windows.extend(cuts.iter().map(|&(first, count)| Rows {
            start: base + first * below,
            end: base + (first + count) * below,
        }));
    }
    Ok(windows)
}

/// Cuts an axis into (first position, count) of about `aim` positions, at chunk borders where that
/// does not make them more than [`STRETCH`] times longer.
fn cut_axis(axis: &Axis, chunk: u64, aim: u64) -> Vec<(u64, u64)> {
    let aim = aim.max(1);
    let total = axis.count();
    let mut cuts = Vec::new();
    let mut first = 0;
    while first < total {
        let wanted = (first + aim).min(total);
        let mut end = wanted;
        if let Some(last) = axis.index(wanted - 1).filter(|_| wanted < total) {
            let border = |chunk_number: u64| axis.positions_within(0, chunk_number.saturating_mul(chunk)).1;
            let before = border(last / chunk);
            let after = border(last / chunk + 1);
            if after == wanted {
                end = wanted;
            } else if before > first {
                end = before;
            } else if after - first <= aim.saturating_mul(STRETCH) {
                end = after;
            }
        }
        cuts.push((first, end - first));
        first = end;
    }
    cuts
}

/// The selection of a window's rows, and its box.
pub(super) fn select(selection: &Selection, rows: Rows) -> Selection {
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
        fn windows_cover_every_row_once_in_order_and_are_boxes((shape, chunk, axes) in axes(), aim in 1u64..400) {
            let selection = Selection::new(axes, &shape).map_err(|e| TestCaseError::fail(e.to_string()))?;
            let windows = windows(&selection, &chunk, 8, aim).map_err(|e| TestCaseError::fail(e.to_string()))?;
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
    }
}
