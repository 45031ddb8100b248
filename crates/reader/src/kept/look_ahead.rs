//! Look-ahead: notices small reads that go through the chunks of a dataset in order.

use std::collections::HashMap;
use std::sync::{Mutex, TryLockError};

use hyperslab_array::{Axis, ChunkGrid, Selection};
use hyperslab_formats::ObjectId;

/// Most datasets of a file that are watched; beyond that, all are watched afresh.
const MAX_DATASETS: usize = 1 << 10;

/// First and last number of the touched chunks along each dimension.
type Chunks = Vec<(u64, u64)>;

/// The chunks that the last small read of each dataset touched.
#[derive(Default)]
pub(crate) struct LookAhead {
    last: Mutex<HashMap<ObjectId, Chunks>>,
}

impl LookAhead {
    /// Notes a read. If it entered new chunks, next to the chunks of the previous read, returns the elements of the next `count()`
    /// chunks in the same direction.
    pub fn next(&self, dataset: ObjectId, grid: &ChunkGrid, selection: &Selection, count: impl FnOnce() -> Option<u64>) -> Option<Selection> {
        // Never waits: the process may have been forked while a thread of its parent held the lock.
        let mut last = match self.last.try_lock() {
            Ok(last) => last,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let Some(before) = last.get_mut(&dataset) else {
            if last.len() >= MAX_DATASETS {
                last.clear();
            }
            last.insert(dataset, touched(grid, selection)?);
            return None;
        };
        if is_same(before, grid, selection) {
            return None;
        }
        let now = touched(grid, selection)?;
        let before = std::mem::replace(before, now.clone());
        drop(last);
        let count = count()?;
        let mut axes = Vec::with_capacity(now.len());
        let mut directions = 0;
        for ((&(first, end), before), (extent, chunk)) in now.iter().zip(before).zip(grid.dimensions()) {
            if (first, end) == before {
                axes.push(Axis::range(first * chunk, (end + 1).saturating_mul(chunk).min(extent)));
                continue;
            }
            let is_next = before.0 <= first && first <= before.1.saturating_add(1) && before.1 < end;
            directions += 1;
            let from = (end + 1).saturating_mul(chunk);
            if !is_next || directions > 1 || from >= extent {
                return None;
            }
            axes.push(Axis::range(from, from.saturating_add(count.saturating_mul(chunk)).min(extent)));
        }
        Selection::new(axes, grid.shape()).ok()
    }
}

fn ends(axis: &Axis, chunk: u64) -> Option<(u64, u64)> {
    Some((axis.index(0)? / chunk, axis.index(axis.count().checked_sub(1)?)? / chunk))
}

fn touched(grid: &ChunkGrid, selection: &Selection) -> Option<Chunks> {
    selection.axes().iter().zip(grid.chunk_shape()).map(|(axis, chunk)| ends(axis, *chunk)).collect()
}

fn is_same(before: &Chunks, grid: &ChunkGrid, selection: &Selection) -> bool {
    selection.axes().iter().zip(grid.chunk_shape()).zip(before).all(|((axis, chunk), before)| ends(axis, *chunk) == Some(*before))
}

#[cfg(test)]
mod tests {
    use hyperslab_array::{Error, Result};

    use super::*;

    #[test]
    fn reads_in_order_are_noticed_at_each_new_chunk() -> Result<()> {
        let grid = ChunkGrid::new(vec![100, 20], vec![10, 10])?;
        let watch = LookAhead::default();
        let read = |first: u64, end: u64| {
            let selection = Selection::new(vec![Axis::range(first, end), Axis::all(20)], grid.shape())?;
            let next = watch.next(ObjectId(3), &grid, &selection, || Some(2));
            Ok::<_, Error>(next.map(|next| next.axes().to_vec()))
        };
        let rows = |first, end| Some(vec![Axis::range(first, end), Axis::range(0, 20)]);
        assert_eq!(read(0, 1)?, None);
        assert_eq!(read(9, 10)?, None, "the same chunks");
        assert_eq!(read(10, 11)?, rows(20, 40));
        assert_eq!(read(11, 12)?, None);
        assert_eq!(read(20, 21)?, rows(30, 50));
        assert_eq!(read(25, 33)?, rows(40, 60), "over a border");
        assert_eq!(read(33, 41)?, rows(50, 70));
        assert_eq!(read(70, 71)?, None, "a jump");
        assert_eq!(read(80, 81)?, rows(90, 100), "no further than the end");
        assert_eq!(read(90, 91)?, None);
        assert_eq!(read(80, 81)?, None, "backwards");
        Ok(())
    }

    #[test]
    fn columns_and_other_datasets_have_an_order_of_their_own() -> Result<()> {
        let grid = ChunkGrid::new(vec![100, 100], vec![10, 10])?;
        let watch = LookAhead::default();
        let read = |dataset: u64, column: u64| {
            let selection = Selection::new(vec![Axis::range(0, 15), Axis::range(column, column + 1)], grid.shape())?;
            Ok::<_, Error>(watch.next(ObjectId(dataset), &grid, &selection, || Some(1)))
        };
        assert_eq!(read(1, 0)?, None);
        assert_eq!(read(2, 10)?, None);
        let expected = Selection::new(vec![Axis::range(0, 20), Axis::range(20, 30)], grid.shape())?;
        assert_eq!(read(1, 10)?, Some(expected));
        assert_eq!(read(2, 30)?, None);
        Ok(())
    }
}
