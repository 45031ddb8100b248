//! Audits of a composite index: compare a few rows with what the index says of them, as `audit` does for one dataset.

use std::cell::OnceCell;

use hyperslab_array::{Cancellation, Region, Result};
use hyperslab_formats::StorageLayout;
use hyperslab_reader::File;
use hyperslab_scan::pruner::BoxSide;

use super::audited::{ASK_AGAIN, Audited, FROM_DATA};
use super::composite_index::{IndexedComposite, sides_of};
use super::random::below;
use super::row_collector::{MatchingPositions, Positions};
use crate::block::composite::KeyColumn;
use crate::block::composite_query::Side;
use crate::store::audit_memory::Finding;
use crate::store::block_directory::{BlockDirectory, BlockEntry};

/// Number of rows that an audit tests.
const ROWS: usize = 4;

/// The keys of one block in the data.
struct BlockInData<'a> {
    index: &'a IndexedComposite,
    entry: &'a BlockEntry,
    /// Whether single values can be read without decoding chunks.
    is_plain: bool,
    /// The keys of all rows, if they cannot: chunks are decoded once.
    all: OnceCell<Vec<KeyColumn>>,
}

impl BlockInData<'_> {
    fn read(&self, region: &Region) -> Result<Vec<KeyColumn>> {
        let arrays = self.index.values.read(&self.index.file, region, &self.index.directory.shape, &Cancellation::new())?;
        arrays.iter().map(KeyColumn::of).collect()
    }

    /// The keys of one row; `None` for NaN and null.
    fn keys_at(&self, position: u16) -> Result<Vec<Option<u64>>> {
        let at = |columns: &[KeyColumn], place: usize| columns.iter().map(|column| column.keys.get(place).copied().flatten()).collect();
        if self.is_plain {
            let start = self.entry.region.start.first().copied().unwrap_or_default() + u64::from(position);
            return Ok(at(&self.read(&Region { start: vec![start], count: vec![1] })?, 0));
        }
        if let Some(all) = self.all.get() {
            return Ok(at(all, usize::from(position)));
        }
        let all = self.read(&self.entry.region)?;
        Ok(at(self.all.get_or_init(|| all), usize::from(position)))
    }
}

impl Audited for IndexedComposite {
    fn file(&self) -> &File {
        &self.file
    }
    fn directory(&self) -> &BlockDirectory {
        &self.directory
    }
    fn label(&self) -> Result<String> {
        self.values.label(&self.file)
    }
}

impl IndexedComposite {
    /// Whether single values can be read without decoding chunks.
    fn has_plain_values(&self) -> Result<bool> {
        for values in self.values.iter() {
            let dataset = self.file.dataset(values.dataset)?;
            let is_read_in_place = matches!(dataset.storage, StorageLayout::Contiguous | StorageLayout::Chunked);
            if !is_read_in_place || !dataset.filters.is_empty() || dataset.written_shape.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Compares rows of a random block with what the index says of them. An error says that the index is refuted.
    pub(crate) fn audit_claims(&self) -> Result<()> {
        if !self.file.array_file().is_stored() || self.directory.entries().is_empty() {
            return Ok(());
        }
        if self.directory.has(Finding::Refuted) {
            return Err(self.refuted(FROM_DATA));
        }
        let is_costly = !self.has_plain_values().unwrap_or(false);
        self.audits.spend(self.directory.is_first_audit(), is_costly, || self.judge(self.claims_are_right(), Finding::Claims, FROM_DATA))
    }

    /// Whether some rows of a random block have the keys that the index says, and no others are missing.
    fn claims_are_right(&self) -> Result<bool> {
        let entries = self.directory.entries();
        let start = below(entries.len() as u64) as usize;
        let Some(entry) = entries.iter().cycle().skip(start).take(entries.len()).find(|entry| self.directory.row(entry).is_some()) else { return Ok(true) };
        let data = self.in_data(entry)?;
        let plain = (0..ROWS).map(|_| below(entry.region.elements().unwrap_or_default().min(1 << 16)) as u16);
        let in_data: Vec<(u16, Vec<Option<u64>>)> = plain.map(|position| Ok((position, data.keys_at(position)?))).collect::<Result<_>>()?;
        self.with_block(entry, |block| {
            let mut scratch = Vec::new();
            let groups = block.group_count() as u64;
            for _ in 0..ROWS.min(groups as usize) {
                let group = block.group(below(groups) as usize)?;
                let row = below(group.rows() as u64) as usize;
                let mut position = None;
                block.positions(&group, 1 << row, &mut scratch, |found| position = Some(found))?;
                let Some(position) = position else { return Ok(false) };
                if block.keys_of(&group, row, &mut scratch)? != data.keys_at(position)? {
                    return Ok(false);
                }
            }
            // A row of the data is where its keys are, and with these.
            for (position, keys) in in_data {
                let mut is_there = keys.iter().all(Option::is_none);
                let point: Vec<(usize, (u64, u64))> = keys.iter().enumerate().filter_map(|(column, key)| key.map(|key| (column, (key, key)))).collect();
                let sides: Vec<Side<'_>> = point.iter().map(|(column, key)| Side::of_key(*column, key)).collect();
                block.each(&sides, true, &mut scratch, |group, scratch| group.positions(scratch, |found| is_there |= found == position))?;
                if !is_there {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    /// The keys of a block in the data.
    fn in_data<'a>(&'a self, entry: &'a BlockEntry) -> Result<BlockInData<'a>> {
        Ok(BlockInData { index: self, entry, is_plain: self.has_plain_values()?, all: OnceCell::new() })
    }

    /// Tests some rows of a block that the index lets pass, and some of any. The error, a `Conflict`, ends the query: a part of it may
    /// have used the index already.
    pub(super) fn audit_decisions(&self, touched: &[&BlockEntry], sides: &[BoxSide]) -> Result<()> {
        if touched.is_empty() || !self.file.array_file().is_stored() {
            return Ok(());
        }
        let is_costly = !self.has_plain_values()?;
        // Costly indexes were already checked by `audit_claims`.
        let is_first = !is_costly && self.directory.is_first_decision();
        self.audits.spend(is_first, is_costly, || self.judge(self.decisions_are_right(touched, sides), Finding::Decisions, ASK_AGAIN))
    }

    fn decisions_are_right(&self, touched: &[&BlockEntry], sides: &[BoxSide]) -> Result<bool> {
        let Some(entry) = touched.get(below(touched.len() as u64) as usize) else { return Ok(true) };
        let elements = entry.region.elements().unwrap_or_default().min(1 << 16);
        let MatchingPositions { certain, possible } = match sides_of(sides) {
            Some(sides) => self.positions(entry, &sides, &mut Vec::new())?,
            None => MatchingPositions::known(Positions::None),
        };
        if !matches!(possible, Positions::None) {
            return Ok(true);
        }
        let data = self.in_data(entry)?;
        for position in (0..ROWS).filter_map(|_| certain.any()).chain((0..ROWS).map(|_| below(elements) as u16)) {
            if Self::is_in_box(&data.keys_at(position)?, sides) != certain.has(position) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
