//! Table: the blocks of one dataset, and where each of them is in the segments.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use hyperslab_array::{Error, Result, Selection};
use hyperslab_formats::ChunkLocation;
use hyperslab_scan::pruner::Level;

use crate::build::block_grid::{BlockBox, BlockGrid};
use crate::store::index_reader::{Segment, StoredRow};
use super::rank_query::Edges;

/// One block of a dataset.
pub(crate) struct Entry {
    pub place: BlockBox,
    /// Segment and row; `None` where the index has none: the block is to be read.
    pub row: Option<(usize, usize)>,
    /// Row-major number of its first element, where its elements follow each other in the dataset.
    pub first: Option<u64>,
    /// Where its values are stored one by one, once that was asked; `None` in it where they are not.
    pub stored: OnceLock<Option<Vec<ChunkLocation>>>,
    /// Ranks that values of the data have told.
    pub edges: Edges,
}

/// The blocks of a dataset in order.
pub(crate) struct Table {
    pub shape: Vec<u64>,
    pub level: Level,
    grid: BlockGrid,
    entries: Vec<Entry>,
    by_origin: HashMap<Vec<u64>, usize>,
    segments: Vec<Arc<Segment>>,
}

impl Table {
    /// The table of a dataset of `shape`; later segments come before earlier ones.
    pub fn new(grid: BlockGrid, shape: Vec<u64>, level: Level, segments: Vec<Arc<Segment>>) -> Result<Self> {
        let places = grid.all(&shape)?;
        let by_origin: HashMap<Vec<u64>, usize> = places.iter().enumerate().map(|(number, place)| (place.origin.clone(), number)).collect();
        let mut entries: Vec<Entry> = places
            .into_iter()
            .map(|place| {
                let first = linear(&place, &shape);
                Entry { place, row: None, first, stored: OnceLock::new(), edges: Edges::default() }
            })
            .collect();
        for (number, segment) in segments.iter().enumerate() {
            for (row, stored) in segment.rows.iter().enumerate() {
                let entry = by_origin.get(&stored.place.origin).and_then(|place| entries.get_mut(*place));
                if let Some(entry) = entry.filter(|entry| entry.place == stored.place && u64::from(stored.zone.elements()) == stored.place.elements()) {
                    entry.row = Some((number, row));
                }
            }
        }
        Ok(Self { shape, level, grid, entries, by_origin, segments })
    }

    /// All blocks.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// A block's row in its segment.
    pub fn row(&self, entry: &Entry) -> Option<(&Segment, &StoredRow)> {
        let (segment, row) = entry.row?;
        let segment = self.segments.get(segment)?;
        Some((segment, segment.rows.get(row)?))
    }

    /// The row of the block with this place.
    pub fn at(&self, place: &BlockBox) -> Option<&StoredRow> {
        let entry = self.entries.get(*self.by_origin.get(&place.origin)?)?;
        self.row(entry).map(|(_, row)| row).filter(|row| row.place == *place)
    }

    /// The whole chunks that a block lies in.
    pub fn around(&self, block: &BlockBox) -> BlockBox {
        self.grid.around(block, &self.shape)
    }

    /// The blocks that a selection touches.
    pub fn touched(&self, selection: &Selection) -> Result<Vec<&Entry>> {
        if self.is_whole(selection) {
            return Ok(self.entries.iter().collect());
        }
        let places = self.grid.touched(&self.shape, selection)?;
        let entry = |place: BlockBox| self.by_origin.get(&place.origin).and_then(|number| self.entries.get(*number));
        places.into_iter().map(|place| entry(place).ok_or_else(|| Error::internal("a block that is not in its table"))).collect()
    }

    /// Whether a selection is of all elements.
    pub fn is_whole(&self, selection: &Selection) -> bool {
        selection.axes().iter().zip(&self.shape).all(|(axis, extent)| *axis == hyperslab_array::Axis::all(*extent))
    }

    /// Whether a selection has all of a block's elements.
    pub fn covers(&self, selection: &Selection, place: &BlockBox) -> bool {
        let axes = selection.axes().iter().zip(place.origin.iter().zip(&place.shape));
        axes.into_iter().all(|(axis, (start, count))| axis.positions_within(*start, start + count).1 == *count)
    }
}

/// The row-major number of a box's first element, where its elements follow each other.
fn linear(place: &BlockBox, shape: &[u64]) -> Option<u64> {
    let (mut number, mut stride, mut whole, mut single) = (0u64, 1u64, true, true);
    for ((start, count), extent) in place.origin.iter().zip(&place.shape).zip(shape).rev() {
        // From the fastest dimension on: whole ones, one in part, then single indexes.
        if !whole && *count > 1 {
            single = false;
        }
        whole &= count == extent;
        number = number.checked_add(start.checked_mul(stride)?)?;
        stride = stride.checked_mul(*extent)?;
    }
    single.then_some(number)
}
