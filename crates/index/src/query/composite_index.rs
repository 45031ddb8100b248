//! Composite index: answers boxes from the index of several datasets of one open file.

use std::sync::Arc;

use hyperslab_array::{Cancellation, Error, ErrorKind, Result, Selection};
use hyperslab_predicate::ValueSet;
use hyperslab_reader::File;
use hyperslab_scan::pruner::{Blocks, BoxSide, CHUNK_WORDS, CompositeIndex, CountBounds, Level, MAX_LISTED_ROWS, Matches, RowSelection};

use super::audit_budget::AuditBudget;
use super::indexed_column::each_block;
use super::row_collector::{MatchingPositions, Positions, RowCollector};
use crate::block::block_grid::block_elements;
use crate::block::block_runs::row_range;
use crate::block::composite_query::{CompositeQuery, Found, Outlook, Side};
use crate::freshness::indexed_parts::IndexedParts;
use crate::store::block_directory::{BlockDirectory, BlockEntry};
use crate::store::index_reader::RowPayload;

/// The indexes of single datasets find boxes with a larger share of the rows faster: there, many rows pass or fail together.
const MAX_SHARE_INSIDE: f64 = 1.0 / 16.0;
/// So are boxes that cut more than this share of the groups, if one side alone leaves less than `MIN_SHARE_OF_SIDE` of the rows: less than
/// one row of each block.
const MAX_SHARE_OF_SLAB: f64 = 1.0 / 64.0;
const MIN_SHARE_OF_SIDE: f64 = 1.0 / 65_536.0;

/// The index of several datasets of one open file together.
pub(crate) struct IndexedComposite {
    pub file: File,
    pub values: IndexedParts,
    pub directory: Arc<BlockDirectory>,
    /// Width of the keys of each dataset, in bytes.
    pub widths: Vec<usize>,
    /// Which audits the session has made.
    pub audits: Arc<AuditBudget>,
}

/// The wanted values of each dataset that has any condition; `None` if no row can have them.
pub(super) fn sides_of(sides: &[BoxSide]) -> Option<Vec<Side<'_>>> {
    sides.iter().map(|BoxSide { place, values }| Side::new(*place, values)).collect()
}

/// Collects positions of a block: a list of few, bits of many.
#[derive(Default)]
struct Collected {
    few: Vec<u16>,
    many: Option<Box<[u64; CHUNK_WORDS]>>,
}

impl Collected {
    /// Adds the rows of a group that are in the box.
    fn add(&mut self, found: &Found<'_>, scratch: &mut Vec<u8>) -> Result<()> {
        if let Some(bits) = &mut self.many {
            return found.positions(scratch, |position| bits[usize::from(position >> 6)] |= 1 << (position & 63));
        }
        found.positions(scratch, |position| self.few.push(position))?;
        if self.few.len() > MAX_LISTED_ROWS {
            let mut bits = Box::new([0; CHUNK_WORDS]);
            self.few.drain(..).for_each(|position| bits[usize::from(position >> 6)] |= 1 << (position & 63));
            self.many = Some(bits);
        }
        Ok(())
    }

    fn positions(self) -> Positions {
        match self.many {
            Some(bits) => Positions::Many(bits),
            None if self.few.is_empty() => Positions::None,
            None => Positions::Few(self.few),
        }
    }
}

impl IndexedComposite {
    /// Calls `work` with a query of a block. `Corrupt` if the index lacks the block or it is damaged.
    pub(super) fn with_block<T>(&self, entry: &BlockEntry, work: impl FnOnce(&CompositeQuery<'_>) -> Result<T>) -> Result<T> {
        let missing = || Error::corrupt("a block is missing from the index");
        let (index_file, row) = self.directory.row(entry).filter(|(_, row)| row.level == Level::Composite).ok_or_else(missing)?;
        let batch = index_file.batch_samples(row)?;
        if !batch.is_intact(row) {
            return Err(Error::corrupt("a checksum of the index does not match"));
        }
        let payload = RowPayload { index_file, row };
        work(&CompositeQuery::new(batch.samples(row), batch.starts(row), &payload, row.zone.elements(), &self.widths)?)
    }

    /// Whether all rows of a block have numbers in all datasets.
    fn is_plain(&self, entry: &BlockEntry) -> bool {
        self.directory.row(entry).is_some_and(|(_, row)| row.zone.numbers == row.zone.elements())
    }

    /// The positions of a block that are in a box; all are possible if the block is damaged.
    pub(super) fn positions(&self, entry: &BlockEntry, sides: &[Side<'_>], scratch: &mut Vec<u8>) -> Result<MatchingPositions> {
        let elements = block_elements(&entry.region)?;
        let found = self.with_block(entry, |block| {
            if self.is_plain(entry) && block.is_inside(sides) {
                return Ok(Positions::All(elements as u32));
            }
            let mut all = Collected::default();
            block.each(sides, true, scratch, |found, scratch| all.add(&found, scratch))?;
            Ok(all.positions())
        });
        match found {
            // The values of a block whose index is damaged are read and tested.
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(MatchingPositions::unknown(elements)),
            found => found.map(MatchingPositions::known),
        }
    }

    /// Bounds of the number of selected rows of a block that are in a box.
    fn count_in(&self, entry: &BlockEntry, selection: &Selection, sides: &[Side<'_>], scratch: &mut Vec<u8>) -> Result<CountBounds> {
        let axes = selection.axes().iter().zip(entry.region.dimensions());
        let selected: u64 = axes.map(|(axis, (start, count))| axis.positions_within(start, start + count).1).product();
        if selected < block_elements(&entry.region)? {
            let MatchingPositions { certain, possible } = self.positions(entry, sides, scratch)?;
            let count = |positions: Positions| -> Result<u64> {
                let mut rows = RowCollector::default();
                rows.add_selected(positions, &entry.region, selection)?;
                Ok(RowCollector::join([rows]).len())
            };
            let lower = count(certain)?;
            return Ok(CountBounds { lower, upper: lower + count(possible)? });
        }
        match self.with_block(entry, |block| block.count(sides, scratch)) {
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(CountBounds { lower: 0, upper: selected }),
            count => count.map(CountBounds::exactly),
        }
    }

    /// Whether the bounds of a block say that it has no row in the box.
    fn is_outside(&self, entry: &BlockEntry, sides: &[Side<'_>]) -> bool {
        self.with_block(entry, |block| Ok(block.is_outside(sides))).unwrap_or(false)
    }

    /// What a box takes, by the first block that is not outside of it; `None` if there is none.
    fn outlook(&self, sides: &[Side<'_>]) -> Option<Outlook> {
        let of_block = |entry| self.with_block(entry, |block| Ok((!block.is_outside(sides)).then(|| block.outlook(sides)))).ok().flatten();
        self.directory.entries().iter().find_map(of_block)
    }

    /// The blocks that the selection touches and that have any of the rows `among`.
    fn blocks_to_ask(&self, selection: &Selection, sides: &[BoxSide], among: Option<&RowSelection>) -> Result<Vec<&BlockEntry>> {
        let mut entries = self.directory.touched(selection)?;
        self.audit_decisions(&entries, sides)?;
        if let Some(among) = among {
            entries.retain(|entry| row_range(&entry.region, selection).is_none_or(|rows| among.touches(&rows)));
        }
        Ok(entries)
    }

    /// Whether a row with these keys is in a box.
    pub(super) fn is_in_box(keys: &[Option<u64>], sides: &[BoxSide]) -> bool {
        let has = |values: &ValueSet, key: Option<&Option<u64>>| key.copied().flatten().is_some_and(|key| values.contains(key));
        sides.iter().all(|BoxSide { place, values }| has(values, keys.get(*place)))
    }
}

impl CompositeIndex for IndexedComposite {
    fn rows(&self, selection: &Selection, sides: &[BoxSide], among: Option<&RowSelection>, cancellation: &Cancellation) -> Result<Matches> {
        let entries = self.blocks_to_ask(selection, sides, among)?;
        let Some(sides) = sides_of(sides) else { return Ok(Matches::default()) };
        let is_whole = self.directory.is_whole(selection);
        let parts = each_block(self.file.session(), &entries, cancellation, |sum: &mut (RowCollector, RowCollector), entry, scratch| {
            let MatchingPositions { certain, possible } = self.positions(entry, &sides, scratch)?;
            match entry.first.filter(|_| is_whole) {
                Some(first) => {
                    sum.0.add_run(certain, first)?;
                    sum.1.add_run(possible, first)
                }
                None => {
                    sum.0.add_selected(certain, &entry.region, selection)?;
                    sum.1.add_selected(possible, &entry.region, selection)
                }
            }
        })?;
        let (certain, possible): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        Ok(Matches { certain: RowCollector::join(certain), possible: RowCollector::join(possible) })
    }

    fn count(&self, selection: &Selection, sides: &[BoxSide], among: Option<&RowSelection>, cancellation: &Cancellation) -> Result<CountBounds> {
        let entries = self.blocks_to_ask(selection, sides, among)?;
        let Some(sides) = sides_of(sides) else { return Ok(CountBounds::exactly(0)) };
        let parts = each_block(self.file.session(), &entries, cancellation, |sum: &mut CountBounds, entry, scratch| {
            *sum = *sum + self.count_in(entry, selection, &sides, scratch)?;
            Ok(())
        })?;
        Ok(parts.into_iter().fold(CountBounds::default(), |sum, part| sum + part))
    }

    fn is_worse_than_single(&self, sides: &[BoxSide]) -> bool {
        let Some(Outlook { inside, touched, narrowest }) = sides_of(sides).and_then(|sides| self.outlook(&sides)) else { return false };
        inside > MAX_SHARE_INSIDE || (touched > MAX_SHARE_OF_SLAB && narrowest < MIN_SHARE_OF_SIDE)
    }

    fn blocks(&self, selection: &Selection, sides: &[BoxSide]) -> Result<Blocks> {
        let entries = self.directory.touched(selection)?;
        let all = entries.len() as u64;
        let Some(sides) = sides_of(sides) else { return Ok(Blocks { all, pruned: all }) };
        let pruned = entries.iter().filter(|entry| self.is_outside(entry, &sides)).count() as u64;
        Ok(Blocks { all, pruned })
    }
}
