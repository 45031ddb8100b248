//! Where the chunks of a file are, as far as reads have asked: a small read need not search the chunk locator again.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, TryLockError};

use hyperslab_array::{Axis, ChunkGrid, Region, Result, Selection};
use hyperslab_formats::{ChunkLocation, ChunkSource, ObjectId};

/// Most chunks of a read whose places are looked up here, and of the block of chunks that is located around a missing one:
/// neighbors are likely to be asked for next, and stand in the same node of the locator.
const MAX_CHUNKS: u64 = 64;
/// Most places that are kept of each of two generations; one takes about 60 bytes.
const MAX_PLACES: usize = 1 << 15;

/// The number of a dataset and of a chunk in it.
type Key = (ObjectId, u64);

/// Where the bytes of a chunk are. Small, and without the chunk's box, which its number tells.
#[derive(Debug, Clone, Copy)]
enum Place {
    Stored {
        offset: u64,
        length: u64,
        filter_mask: u32,
        /// Whether its bytes are without what lies beyond the dataset.
        is_clipped: bool,
    },
    Fill,
}

/// Places asked for recently, and those before.
type Generations = (HashMap<Key, Place>, HashMap<Key, Place>);

/// Places of chunks of one file.
#[derive(Default)]
pub(crate) struct ChunkPlaces {
    kept: Mutex<Generations>,
}

impl ChunkPlaces {
    /// The chunks that `selection` touches, as `locate` gives them; the chunks of small selections are kept. The file must be
    /// unchanged since it was opened.
    pub fn locate(
        &self,
        dataset: ObjectId,
        grid: &ChunkGrid,
        selection: &Selection,
        locate: impl Fn(&Selection) -> Result<Vec<ChunkLocation>>,
    ) -> Result<Vec<ChunkLocation>> {
        let counts = selection.axes().iter().zip(grid.dimensions()).map(|(axis, (extent, chunk))| axis.count().min(extent.div_ceil(chunk)));
        if counts.fold(1, u64::saturating_mul) > MAX_CHUNKS {
            return locate(selection);
        }
        let origins = grid.touched(selection)?;
        if let Some(known) = self.known(dataset, grid, &origins)? {
            return Ok(known);
        }
        // A damaged neighbor must not spoil this chunk.
        if let Some(block) = around(grid, &origins).and_then(|block| locate(&block).ok()) {
            self.keep(dataset, grid, &block);
            let is_touched = |chunk: &ChunkLocation| origins.binary_search(&chunk.region.start).is_ok();
            return Ok(block.into_iter().filter(is_touched).collect());
        }
        let located = locate(selection)?;
        self.keep(dataset, grid, &located);
        Ok(located)
    }

    /// The chunks at these origins if the places of all of them are known.
    fn known(&self, dataset: ObjectId, grid: &ChunkGrid, origins: &[Vec<u64>]) -> Result<Option<Vec<ChunkLocation>>> {
        let Some(mut kept) = self.kept() else { return Ok(None) };
        let (young, old) = &mut *kept;
        let mut known = Vec::with_capacity(origins.len());
        for origin in origins {
            let Some(number) = grid.number(origin) else { return Ok(None) };
            let key = (dataset, number);
            let place = match young.get(&key) {
                Some(place) => *place,
                None => {
                    let Some(place) = old.remove(&key) else { return Ok(None) };
                    young.insert(key, place);
                    place
                }
            };
            known.push(match place {
                Place::Stored { offset, length, filter_mask, is_clipped } => ChunkLocation {
                    region: match is_clipped {
                        true => grid.clipped(origin.clone())?,
                        false => Region { start: origin.clone(), count: grid.chunk_shape().to_vec() },
                    },
                    source: ChunkSource::Stored { offset, length, filter_mask },
                },
                Place::Fill => ChunkLocation { region: grid.clipped(origin.clone())?, source: ChunkSource::Fill },
            });
        }
        Ok(Some(known))
    }

    fn keep(&self, dataset: ObjectId, grid: &ChunkGrid, located: &[ChunkLocation]) {
        let Some(mut kept) = self.kept() else { return };
        let (young, old) = &mut *kept;
        if young.len() + located.len() > MAX_PLACES {
            *old = std::mem::take(young);
        }
        for chunk in located {
            let is_whole = chunk.region.count == grid.chunk_shape();
            if !is_whole && grid.clipped(chunk.region.start.clone()).ok().as_ref() != Some(&chunk.region) {
                continue;
            }
            let place = match chunk.source {
                ChunkSource::Stored { offset, length, filter_mask } => Place::Stored { offset, length, filter_mask, is_clipped: !is_whole },
                ChunkSource::Fill => Place::Fill,
                ChunkSource::Inline(_) => continue,
            };
            if let Some(number) = grid.number(&chunk.region.start) {
                young.insert((dataset, number), place);
            }
        }
    }

    /// Never waits: the process may have been forked while a thread of its parent held the lock.
    fn kept(&self) -> Option<MutexGuard<'_, Generations>> {
        match self.kept.try_lock() {
            Ok(kept) => Some(kept),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// A block of at most [`MAX_CHUNKS`] neighbors that has the chunks at `origins`; `None` if they lie too far apart. Blocks are
/// aligned, so that reads in order ask for each once.
fn around(grid: &ChunkGrid, origins: &[Vec<u64>]) -> Option<Selection> {
    let (first, last) = (origins.first()?, origins.last()?);
    let mut axes = Vec::with_capacity(first.len());
    let mut left = MAX_CHUNKS;
    for (axis, (extent, chunk)) in grid.dimensions().enumerate().rev() {
        // Origins are in row-major order: only the slowest dimension is sorted.
        let along = |origin: &Vec<u64>| origin.get(axis).map(|start| start / chunk);
        let (low, high) = match axis {
            0 => (along(first)?, along(last)?),
            _ => (origins.iter().filter_map(along).min()?, origins.iter().filter_map(along).max()?),
        };
        let count = extent.div_ceil(chunk);
        let (from, to) = match count <= left {
            true => (0, count),
            false => (low / left * left, (high / left).checked_add(1)?.checked_mul(left)?.min(count)),
        };
        if to - from > left {
            // Beyond a border of blocks: no more than what is wanted.
            if high - low >= left {
                return None;
            }
            axes.push(Axis::range(low * chunk, (high + 1).checked_mul(chunk)?.min(extent)));
            left /= high - low + 1;
        } else {
            axes.push(Axis::range(from * chunk, to.checked_mul(chunk)?.min(extent)));
            left /= to - from;
        }
    }
    axes.reverse();
    Selection::new(axes, grid.shape()).ok()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use hyperslab_array::Error;
    use proptest::prelude::*;

    use super::*;

    /// Chunks that lie at 1,000 times their number; every third was never written.
    fn locate(grid: &ChunkGrid, selection: &Selection) -> Result<Vec<ChunkLocation>> {
        let located = grid.touched(selection)?.into_iter().map(|origin| {
            let number = grid.number(&origin).ok_or_else(|| Error::internal("no number"))?;
            if number % 3 == 2 {
                return Ok(ChunkLocation { region: grid.clipped(origin)?, source: ChunkSource::Fill });
            }
            let source = ChunkSource::Stored { offset: number * 1000, length: number, filter_mask: 0 };
            // As formats have it whose chunks end with the dataset.
            if number % 5 == 0 {
                return Ok(ChunkLocation { region: grid.clipped(origin)?, source });
            }
            Ok(ChunkLocation { region: Region { start: origin, count: grid.chunk_shape().to_vec() }, source })
        });
        located.collect()
    }

    fn dimension() -> impl Strategy<Value = (u64, u64, Axis)> {
        (1u64..400, 1u64..9).prop_flat_map(|(extent, chunk)| {
            let range = (0..extent, 1u64..40, 1u64..20).prop_map(move |(start, count, step)| {
                let fits = (0..count).take_while(|position| start + position * step < extent).count() as u64;
                Axis::Range { start, count: fits, step }
            });
            let indices = proptest::collection::btree_set(0..extent, 1..12).prop_map(|set| Axis::Indices(set.into_iter().collect()));
            (Just(extent), Just(chunk), prop_oneof![range, indices])
        })
    }

    proptest! {
        #[test]
        fn places_are_those_of_the_locator_the_first_time_and_later(dimensions in proptest::collection::vec(dimension(), 1..4)) {
            let failed = |error: Error| TestCaseError::fail(error.to_string());
            let shape: Vec<u64> = dimensions.iter().map(|dimension| dimension.0).collect();
            let grid = ChunkGrid::new(shape.clone(), dimensions.iter().map(|dimension| dimension.1).collect()).map_err(failed)?;
            let selection = Selection::new(dimensions.iter().map(|dimension| dimension.2.clone()).collect(), &shape).map_err(failed)?;
            let places = ChunkPlaces::default();
            let expected = locate(&grid, &selection).map_err(failed)?;
            for _ in 0..2 {
                prop_assert_eq!(&places.locate(ObjectId(1), &grid, &selection, |selection| locate(&grid, selection)).map_err(failed)?, &expected);
            }
            prop_assert!(places.kept().is_some_and(|kept| kept.0.len() as u64 <= MAX_CHUNKS));
        }
    }

    #[test]
    fn neighbors_are_located_at_once_and_a_damaged_one_spoils_nothing() -> Result<()> {
        let grid = ChunkGrid::new(vec![1000, 30], vec![10, 10])?;
        let (calls, damaged) = (Cell::new(0), Cell::new(None));
        let places = ChunkPlaces::default();
        let read = |row: u64| {
            let selection = Selection::new(vec![Axis::range(row, row + 1), Axis::all(30)], grid.shape())?;
            places.locate(ObjectId(7), &grid, &selection, |selection| {
                calls.set(calls.get() + 1);
                let located = locate(&grid, selection)?;
                match located
                    .iter()
                    .any(|chunk| Some(chunk.region.start.clone()) == damaged.take().inspect(|origin: &Vec<u64>| damaged.set(Some(origin.clone()))))
                {
                    true => Err(Error::corrupt("a chunk")),
                    false => Ok(located),
                }
            })
        };
        for row in 0..1000 {
            assert_eq!(read(row)?.len(), 3);
        }
        assert_eq!(calls.get(), 5, "21 chunk rows at a time");
        let places_of_all = places.kept().map_or(0, |kept| kept.0.len());
        assert_eq!(places_of_all, 300);
        if let Some(mut kept) = places.kept() {
            *kept = Default::default();
        }
        damaged.set(Some(vec![50, 10]));
        assert_eq!(read(40)?.len(), 3);
        assert!(read(55).is_err());
        Ok(())
    }
}
